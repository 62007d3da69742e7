"""Tests of hooks/pre-push, with real repositories and a real bare remote: python3 examples/gate/test_pre_push.py"""

from __future__ import annotations

import compileall
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Dict, List, NamedTuple, Optional

HERE = os.path.dirname(os.path.realpath(__file__))
TOOLS = ("review_gate.py", "final_message.py", "reviewer_process.py", "prompt_guard.py")
sys.path[:0] = [HERE, os.path.dirname(os.path.dirname(HERE))]

import verdict_check
import verdict_contract
from verdict_contract import APPROVE, diff_token

# Approves what holds no BUG, keeps each prompt that it was given, and reads its stdin to the end.
REVIEWER = """\
prompt=$(mktemp "$LOG/XXXXXX") && cat >"$prompt"
token=$(sed -n 's/^===VERDICT=== <value> //p' "$prompt" | tail -n 1)
if grep -q BUG "$prompt"; then echo "===VERDICT=== REQUEST_CHANGES $token"; else echo "===VERDICT=== APPROVE $token"; fi
"""


class Done(NamedTuple):
    """How a command ended."""

    status: int
    said: str


def write(path: str, text: str) -> str:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


class Case(unittest.TestCase):
    """A clone with one commit on main, its bare remote, and the hook linked in from a copy of the tools elsewhere."""

    made: Optional[str] = None  # the same for every test, so made once

    def setUp(self) -> None:
        parent = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, parent)
        self.root = os.path.join(parent, "r")
        self.remote, self.clone, self.log, self.temporary = (
            os.path.join(self.root, name) for name in ("remote.git", "clone", "prompts", "tmp")
        )
        self.hook = os.path.join(self.root, "tools", "examples", "hooks", "pre-push")
        self.environment = {
            "PATH": os.path.join(self.root, "bin") + os.pathsep + os.environ["PATH"],
            "HOME": self.root,
            "LOG": self.log,
            "TMPDIR": self.temporary,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }
        if Case.made is None:
            os.mkdir(self.root)
            self.make()
            Case.made = tempfile.mkdtemp()
            unittest.addModuleCleanup(shutil.rmtree, Case.made)
            shutil.copytree(self.root, os.path.join(Case.made, "r"), symlinks=True)
        else:
            shutil.copytree(os.path.join(Case.made, "r"), self.root, symlinks=True)

    def make(self) -> None:
        """Fill the root folder. Nothing in it names the root, so that a copy works too."""
        flags = " ".join(f"'-W{option}'" for option in sys.warnoptions)
        python = write(
            os.path.join(self.root, "bin", "python3"), f"#!/bin/sh\nexec '{sys.executable}' {flags} \"$@\"\n"
        )
        os.chmod(python, 0o755)
        os.mkdir(self.log)
        os.mkdir(self.temporary)
        self.install(os.path.join(self.root, "tools"))
        compileall.compile_dir(os.path.join(self.root, "tools"), quiet=2)  # once, and not again in each test
        self.git("init", "-q", "--template=", "--bare", self.remote, cwd=self.root)
        self.git("symbolic-ref", "HEAD", "refs/heads/main", cwd=self.remote)
        self.git("init", "-q", "--template=", self.clone, cwd=self.root)
        self.git("symbolic-ref", "HEAD", "refs/heads/main")
        self.git("remote", "add", "origin", "../remote.git")
        self.commit("first", "old = 1\n")
        self.git("push", "-q", "origin", "main")
        self.git("remote", "set-head", "origin", "main")
        os.makedirs(os.path.join(self.clone, ".git", "hooks"), exist_ok=True)
        os.symlink("../../../tools/examples/hooks/pre-push", os.path.join(self.clone, ".git", "hooks", "pre-push"))
        write(os.path.join(self.root, "reviewer.sh"), REVIEWER)
        self.git("config", "verdict.reviewer", 'sh "$HOME/reviewer.sh"')

    def tearDown(self) -> None:
        self.assertEqual(os.listdir(self.temporary), [], "the hook leaves nothing in the temporary folder")

    def install(self, folder: str) -> str:
        """Copy the tools into a folder, laid out as in this repository; the path of the hook there."""
        os.makedirs(os.path.join(folder, "examples", "hooks"))
        for module in (verdict_contract, verdict_check):
            shutil.copy(module.__file__ or "", folder)
        for name in TOOLS:
            shutil.copy(os.path.join(HERE, name), os.path.join(folder, "examples"))
        return shutil.copy(os.path.join(HERE, "hooks", "pre-push"), os.path.join(folder, "examples", "hooks"))

    def run_in(self, cwd: str, *command: str, text: str = "", **variables: str) -> Done:
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**self.environment, **variables},
            input=text.encode(),
            stdout=-1,
            stderr=-2,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode("utf-8", "backslashreplace"))

    def git(self, *arguments: str, cwd: Optional[str] = None) -> str:
        done = self.run_in(cwd or self.clone, "git", *arguments)
        self.assertEqual(done.status, 0, done.said)
        return done.said.strip()

    def commit(self, message: str, text: str, name: str = "a.py", cwd: Optional[str] = None) -> str:
        write(os.path.join(cwd or self.clone, name), text)
        self.git("add", "-A", cwd=cwd)
        self.git("commit", "-q", "-m", message, cwd=cwd)
        return self.git("rev-parse", "HEAD", cwd=cwd)

    def push(self, *arguments: str, cwd: Optional[str] = None, **variables: str) -> Done:
        return self.run_in(cwd or self.clone, "git", "push", *arguments, **variables)

    def run_hook(self, *lines: str, arguments: tuple[str, ...] = ("origin", "url"), **variables: str) -> Done:
        """The hook as git runs it, with these ref lines."""
        text = "".join(f"{line}\n" for line in lines)
        return self.run_in(self.clone, self.hook, *arguments, text=text, **variables)

    def there(self, ref: str = "refs/heads/main") -> Optional[str]:
        """What the remote has under a ref."""
        done = self.run_in(self.remote, "git", "rev-parse", "--verify", "--quiet", ref)
        return done.said.strip() if done.status == 0 else None

    def prompts(self) -> List[str]:
        """What the reviewer was given, in no order."""
        return [read(os.path.join(self.log, name)).decode() for name in os.listdir(self.log)]

    def assert_blocked(self, done: Done, why: str) -> None:
        self.assertNotEqual(done.status, 0, done.said)
        self.assertRegex(done.said, f"verdict pre-push: blocked: .*{why}")

    def assert_pushed(self, done: Done, ref: str, commit: str) -> None:
        self.assertEqual(done.status, 0, done.said)
        self.assertEqual(self.there(ref), commit)

    def saved_diff(self, *arguments: str) -> bytes:
        """The diff that the hook would have reviewed."""
        path = os.path.join(self.root, "change.diff")
        done = self.run_in(self.clone, "git", "-c", f"verdict.saveDiff={path}", "push", *arguments)
        self.assert_blocked(done, "the diff was saved")
        return read(path)

    def report(self, token: str, name: str = "report.txt") -> str:
        """Store an approval with this token, and have the hook look at it."""
        path = write(os.path.join(self.root, name), f"Read all of it.\n\n===VERDICT=== {APPROVE} {token}\n")
        self.git("config", "--unset-all", "verdict.reviewer")
        self.git("config", "verdict.report", path)
        return path


class PushTest(Case):
    def test_an_approved_change_is_pushed(self) -> None:
        commit = self.commit("second", "old = 2\n")
        self.assert_pushed(self.push("origin", "main"), "refs/heads/main", commit)
        (prompt,) = self.prompts()
        self.assertIn("\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-old = 1\n+old = 2\n", prompt)

    def test_a_change_with_a_finding_is_not(self) -> None:
        before = self.there()
        self.commit("second", "BUG\n")
        self.assert_blocked(self.push("origin", "main"), r"refs/heads/main: not approved \(status 3\)")
        self.assertEqual(self.there(), before)
        self.assertEqual(len(self.prompts()), 1)

    def test_a_reviewer_that_does_not_approve_in_due_form_blocks(self) -> None:
        self.commit("second", "old = 2\n")
        for reviewer in (
            "true",
            "exit 1",
            "kill -9 $$",
            "echo '===VERDICT=== APPROVE'",
        ):
            with self.subTest(reviewer):
                self.git("config", "verdict.reviewer", reviewer)
                self.assert_blocked(self.push("origin", "main"), r"not approved \(status 4\)")

    def test_a_reviewer_that_looks_like_an_option(self) -> None:
        self.commit("second", "old = 2\n")
        for reviewer in ("--help", "--print-prompt"):
            self.git("config", "verdict.reviewer", reviewer)
            self.assert_blocked(self.push("origin", "main"), "not approved")

    def test_skipped_as_git_allows(self) -> None:
        commit = self.commit("second", "BUG\n")
        self.assert_pushed(self.push("--no-verify", "origin", "main"), "refs/heads/main", commit)

    def test_a_deletion_is_not_reviewed(self) -> None:
        self.git("push", "-q", "--no-verify", "origin", "main:old")
        self.git("config", "verdict.reviewer", "exit 1")
        self.assertEqual(self.push("origin", ":old").status, 0)
        self.assertIsNone(self.there("refs/heads/old"))

    def test_a_new_branch_shows_what_it_adds_to_the_default_branch(self) -> None:
        self.git("checkout", "-q", "-b", "topic")
        self.commit("topic", "new = 1\n", "b.py")
        self.git("checkout", "-q", "main")
        self.commit("ahead", "BUG\n")
        self.git("push", "-q", "--no-verify", "origin", "main")
        self.git("checkout", "-q", "topic")
        commit = self.commit("topic, again", "new = 2\n", "b.py")
        self.assert_pushed(self.push("origin", "topic"), "refs/heads/topic", commit)
        (prompt,) = self.prompts()
        self.assertIn("\n+new = 2\n", prompt)

    def test_several_refs_each_on_its_own_diff(self) -> None:
        for name in ("one", "two"):
            self.git("checkout", "-q", "-b", name, "main")
            self.commit(name, f"{name} = 1\n", f"{name}.py")
        self.assertEqual(self.push("origin", "one", "two").status, 0)
        shown = sorted(re.findall(r"\n\+(\w+) = 1\n", prompt) for prompt in self.prompts())
        self.assertEqual(shown, [["one"], ["two"]])
        self.assertEqual(self.there("refs/heads/two"), self.git("rev-parse", "two"))

    def test_one_bad_ref_among_several_blocks_all(self) -> None:
        for name, text in (("one", "fine\n"), ("two", "BUG\n"), ("zwei", "fine\n")):
            self.git("checkout", "-q", "-b", name, "main")
            self.commit(name, text)
        self.assert_blocked(self.push("origin", "one", "two", "zwei", ":main"), "refs/heads/two: not approved")
        for name in ("one", "two", "zwei"):
            self.assertIsNone(self.there(f"refs/heads/{name}"))

    def test_a_forced_push_shows_what_the_remote_loses(self) -> None:
        self.commit("second", "kept = 1\n", "b.py")
        self.assertEqual(self.push("origin", "main").status, 0)
        self.git("reset", "-q", "--hard", "HEAD^")
        commit = self.commit("instead", "other = 1\n", "c.py")
        self.assert_pushed(self.push("--force", "origin", "main"), "refs/heads/main", commit)
        (prompt,) = [prompt for prompt in self.prompts() if "+other" in prompt]
        self.assertIn("\n-kept = 1\n", prompt)

    def test_from_a_linked_worktree(self) -> None:
        tree = os.path.join(self.root, "tree")
        self.git("worktree", "add", "-q", "-b", "topic", tree)
        bad = self.commit("bad", "BUG\n", cwd=tree)
        self.assert_blocked(self.push("origin", "topic", cwd=tree), "refs/heads/topic: not approved")
        good = self.commit("good", "old = 3\n", cwd=tree)
        self.assert_pushed(self.push("origin", "topic", cwd=tree), "refs/heads/topic", good)
        self.assert_blocked(self.push("origin", f"{bad}:refs/heads/bad", cwd=tree), "refs/heads/bad: not approved")

    def test_files_that_stay_as_they_are_need_no_review(self) -> None:
        self.git("config", "verdict.reviewer", "exit 1")
        first = self.git("rev-parse", "HEAD")
        self.assert_pushed(self.push("origin", "main:refs/heads/again"), "refs/heads/again", first)
        self.git("commit", "-q", "--amend", "-m", "other words")
        reworded = self.git("rev-parse", "HEAD")
        self.assert_pushed(self.push("--force", "origin", "main"), "refs/heads/main", reworded)

    def test_a_step_back_to_a_commit_in_between_is_reviewed(self) -> None:
        bad = self.commit("bad", "BUG\n")
        self.git("revert", "--no-edit", "HEAD")
        self.assertEqual(self.push("origin", "main").status, 0)
        self.assert_blocked(self.push("--force", "origin", f"{bad}:main"), "not approved")
        self.assert_pushed(self.push("origin", f"{bad}:refs/heads/known"), "refs/heads/known", bad)  # as is said

    def test_tags(self) -> None:
        commit = self.commit("second", "old = 2\n")
        self.git("tag", "-a", "-m", "annotated", "good")
        self.git("tag", "-a", "-m", "tag of a tag", "better", "good")
        done = self.push("origin", "good", "better")
        self.assert_pushed(done, "refs/tags/better^{commit}", commit)
        self.assertEqual(len(self.prompts()), 2)
        self.commit("third", "BUG\n")
        self.git("tag", "-f", "good")
        self.assert_blocked(self.push("--force", "origin", "good"), "refs/tags/good: not approved")

    def test_what_is_no_commit_blocks(self) -> None:
        self.git("tag", "blob", "HEAD:a.py")
        self.git("tag", "-a", "-m", "x", "tree", "HEAD^{tree}")
        for name in ("blob", "tree"):
            self.assert_blocked(self.push("origin", name), f"refs/tags/{name}: it is no commit")
            self.git("push", "-q", "--no-verify", "origin", name)
        self.git("tag", "-f", "blob", "HEAD")
        self.assert_blocked(self.push("--force", "origin", "blob"), "refs/tags/blob: what the remote has")

    def test_a_commit_given_in_words(self) -> None:
        good = self.commit("good words here", "old = 2\n")
        self.commit("bad words here", "BUG\n")
        self.assert_pushed(self.push("origin", "HEAD^{/good words}:refs/heads/good"), "refs/heads/good", good)
        odd = f"HEAD^{{/bad words}}:refs/heads/{good}"
        self.assert_blocked(self.push("origin", odd), "not approved")

    def test_names_are_not_run(self) -> None:
        name = "$(touch${IFS}ran)`touch${IFS}ran`;'`touch${IFS}ran`;\";touch${IFS}ran;#\u202e"
        self.git("checkout", "-q", "-b", name)
        commit = self.commit("second", "old = 2\n")
        self.assert_pushed(self.push("origin", name), f"refs/heads/{name}", commit)
        bad = self.commit("bad", "BUG\n")
        self.assert_blocked(self.push("origin", name), f"the ref for {bad}: not approved")
        found = [name for folder, _, names in os.walk(self.root) for name in names if name == "ran"]
        self.assertEqual(found, [])

    def test_a_new_ref_without_something_to_compare_with_blocks(self) -> None:
        commit = self.commit("second", "old = 2\n")
        self.git("checkout", "-q", "--orphan", "apart")
        self.commit("apart", "old = 3\n")
        self.assert_blocked(self.push("origin", "apart"), "refs/heads/apart: new, and not comparable")
        self.assert_blocked(self.push(self.remote, "main:new"), "refs/heads/new: new, and not comparable")
        self.git("remote", "set-head", "origin", "--delete")
        self.assert_blocked(self.push("origin", "main:new"), "git remote set-head <remote> --auto")
        self.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/heads/main")
        self.assert_blocked(self.push("origin", "main:new"), "refs/heads/new: new, and not comparable")
        self.assert_pushed(self.push("origin", "main"), "refs/heads/main", commit)

    def test_the_first_push_to_a_remote_without_a_branch(self) -> None:
        self.git("init", "-q", "--template=", "--bare", "empty.git", cwd=self.root)
        self.git("symbolic-ref", "HEAD", "refs/heads/main", cwd=os.path.join(self.root, "empty.git"))
        self.git("remote", "add", "empty", "../empty.git")
        first, bad = self.git("rev-parse", "HEAD"), self.commit("second", "BUG\n")
        done = self.push("empty", "main")
        self.assert_blocked(done, "refs/heads/main: new, and not comparable.* if the remote has no branch yet, first ")
        advice = re.findall(r"git (?:push --no-verify|remote set-head) [^,\n]+", done.said)
        self.assertEqual(len(advice), 2, done.said)
        for command in reversed(advice):  # what has to be done first is said last
            words = command.replace("<first commit>", first).replace("<name>", "main").replace("<remote>", "empty")
            self.git(*words.split()[1:])
        self.assert_blocked(self.push("empty", "main"), r"refs/heads/main: not approved \(status 3\)")
        self.assert_blocked(self.push("empty", f"{bad}:refs/heads/new"), r"refs/heads/new: not approved \(status 3\)")

    def test_a_new_ref_for_another_url_than_is_fetched_from_blocks(self) -> None:
        other = os.path.join(self.root, "other.git")
        self.git("clone", "-q", "--bare", self.remote, other, cwd=self.root)
        commit = self.commit("second", "old = 2\n")
        self.git("config", "remote.origin.pushurl", other)
        self.assert_blocked(self.push("origin", "main:new"), "refs/heads/new: new, and pushed to another URL")
        self.assertEqual(self.push("origin", "main").status, 0)
        self.assertEqual(self.git("rev-parse", "main", cwd=other), commit)
        self.git("config", "remote.origin.pushurl", "../remote.git")
        self.assert_pushed(self.push("origin", "main:new"), "refs/heads/new", commit)

    def test_what_the_remote_has_must_be_here(self) -> None:
        other = os.path.join(self.root, "other")
        self.git("clone", "-q", self.remote, other, cwd=self.root)
        theirs = self.commit("theirs", "old = 9\n", cwd=other)
        self.git("push", "-q", "origin", "HEAD:main", cwd=other)
        self.commit("ours", "old = 2\n")
        self.assert_blocked(self.push("--force", "origin", "main"), "what the remote has is not here, or no commit")
        self.assertEqual(self.there(), theirs)
        self.assertEqual(self.prompts(), [])

    def test_a_push_of_nothing_blocks(self) -> None:
        self.assert_blocked(self.push("origin", "main"), "no refs on standard input")


class ReportTest(Case):
    def test_fresh_then_amended(self) -> None:
        commit = self.commit("second", "old = 2\n")
        self.report(diff_token(self.saved_diff("origin", "main")))
        self.git("commit", "-q", "--amend", "-m", "the same files")
        commit = self.git("rev-parse", "HEAD")
        write(os.path.join(self.clone, "a.py"), "old = 3\n")
        self.git("commit", "-q", "-a", "--amend", "-m", "second")
        self.assert_blocked(self.push("origin", "main"), r"refs/heads/main: not approved \(status 4\)")
        self.assert_pushed(self.push("origin", f"{commit}:main"), "refs/heads/main", commit)
        self.assertEqual(self.prompts(), [])

    def test_one_report_is_of_one_diff(self) -> None:
        for name in ("one", "two"):
            self.git("checkout", "-q", "-b", name, "main")
            self.commit(name, f"{name}\n")
        self.report(diff_token(self.saved_diff("origin", "one")))
        self.assert_blocked(self.push("origin", "one", "two"), "refs/heads/two: not approved")
        self.assertIsNone(self.there("refs/heads/one"))
        self.assertEqual(self.push("origin", "one", "one:same").status, 0)

    def test_reports_that_do_not_pass(self) -> None:
        self.commit("second", "old = 2\n")
        token = diff_token(self.saved_diff("origin", "main"))
        path = self.report(token)
        for text in ("", f"===VERDICT=== REQUEST_CHANGES {token}", "===VERDICT=== APPROVE"):
            with self.subTest(text):
                write(path, text)
                self.assert_blocked(self.push("origin", "main"), "not approved")
        os.remove(path)
        self.assert_blocked(self.push("origin", "main"), r"not approved \(status 1\)")
        for odd in ("-", "--help"):
            self.git("config", "verdict.report", odd)
            self.assert_blocked(self.push("origin", "main"), "not approved")

    def test_a_path_in_the_home_folder_and_one_in_the_work_tree(self) -> None:
        commit = self.commit("second", "old = 2\n")
        path = self.report(diff_token(self.saved_diff("origin", "main")))
        self.git("config", "verdict.report", "~/report.txt")
        self.assert_pushed(self.push("origin", "main"), "refs/heads/main", commit)
        commit = self.commit("third", "old = 3\n")
        write(path, f"===VERDICT=== APPROVE {diff_token(self.saved_diff('origin', 'main'))}\n")
        shutil.move(path, os.path.join(self.clone, "report.txt"))
        self.git("config", "verdict.report", "report.txt")
        os.mkdir(os.path.join(self.clone, "below"))
        self.assert_pushed(
            self.push("origin", "main", cwd=os.path.join(self.clone, "below")), "refs/heads/main", commit
        )


class SettingsTest(Case):
    def setUp(self) -> None:
        super().setUp()
        self.commit("second", "old = 2\n")

    def test_neither(self) -> None:
        self.git("config", "verdict.reviewer", "")
        self.assert_blocked(self.push("origin", "main"), "set one: git config verdict.reviewer COMMAND")
        self.git("config", "--unset", "verdict.reviewer")
        self.assert_blocked(self.push("origin", "main"), "set one: .*; or delete this hook")

    def test_both(self) -> None:
        self.git("config", "verdict.report", "report.txt")
        self.assert_blocked(self.push("origin", "main"), "are both set")

    def test_several_values(self) -> None:
        self.git("config", "--add", "verdict.reviewer", "true")
        self.assert_blocked(self.push("origin", "main"), "verdict.reviewer has several values")
        self.git("config", "--unset-all", "verdict.reviewer")
        for _ in range(2):
            self.git("config", "--add", "verdict.report", "report.txt")
        self.assert_blocked(self.push("origin", "main"), "verdict.report has several values")

    def test_a_reviewer_that_the_tree_chooses(self) -> None:
        self.git("config", "--unset", "verdict.reviewer")
        write(os.path.join(self.clone, "settings"), "[verdict]\nreviewer = \"echo '===VERDICT=== APPROVE'\"\n")
        self.git("config", "include.path", "../settings")
        self.assert_blocked(self.push("origin", "main"), "verdict.reviewer lies in the repository that is pushed")
        os.symlink("../settings", os.path.join(self.clone, ".git", "settings"))
        self.git("config", "include.path", "settings")
        self.assert_blocked(self.push("origin", "main"), "verdict.reviewer lies in the repository that is pushed")

    def test_a_reviewer_of_two_lines_included_from_elsewhere_or_given_once(self) -> None:
        reviewer = self.git("config", "verdict.reviewer")
        self.git("config", "--unset", "verdict.reviewer")
        commit = self.git("rev-parse", "HEAD")
        done = self.run_in(self.clone, "git", "-c", f"verdict.reviewer={reviewer}", "push", "origin", "main:once")
        self.assert_pushed(done, "refs/heads/once", commit)
        self.git("config", "-f", os.path.join(self.root, "settings"), "verdict.reviewer", f"true\n{reviewer}")
        self.git("config", "include.path", "../../settings")
        self.assert_pushed(self.push("origin", "main"), "refs/heads/main", commit)

    def test_settings_that_git_cannot_read(self) -> None:
        line = f"refs/heads/main {self.git('rev-parse', 'HEAD')} refs/heads/main {self.there()}"
        self.assertEqual(self.run_hook(line).status, 0)
        write(os.path.join(self.clone, ".git", "config"), "[verdict\n")
        self.assert_blocked(self.run_hook(line), "the settings cannot be read")

    def test_nothing_to_save(self) -> None:
        path = os.path.join(self.root, "change.diff")
        for refspec in ("origin/main:refs/heads/again", ":main"):
            self.assert_blocked(self.push_saving(path, refspec), "there is no diff to save")
        self.assert_blocked(self.push_saving(os.path.join(self.root, "no", "folder"), "main"), "cannot be saved")

    def push_saving(self, path: str, refspec: str) -> Done:
        return self.run_in(self.clone, "git", "-c", f"verdict.saveDiff={path}", "push", "origin", refspec)


class DiffTest(Case):
    """That neither the tree nor the settings take anything out of the diff."""

    def check(self, *shown: str) -> bytes:
        diff = self.saved_diff("origin", "main")
        for line in shown:
            self.assertIn(b"\n" + line.encode() + b"\n", diff)
        return diff

    def test_attributes_of_the_tree(self) -> None:
        attributes = ("-diff", "binary", "diff=hide", "-text", "linguist-generated", "export-ignore", "filter=hide")
        for name in ("diff.hide.textconv", "diff.hide.command", "diff.hide.binary"):
            self.git("config", name, "true")
        lines = [f"{number}.py {attribute}\n" for number, attribute in enumerate(attributes)]
        write(os.path.join(self.clone, ".gitattributes"), "".join(lines))
        for number in range(len(attributes)):
            write(os.path.join(self.clone, f"{number}.py"), f"evil = {number}\n")
        self.commit("second", "old = 2\n")
        self.check(*(f"+evil = {number}" for number in range(len(attributes))))

    def test_settings_of_the_user(self) -> None:
        lines = ["a = 1", "", "b = 1", ""] * 9
        self.commit("long", "\n".join(lines), "long.py")
        self.git("push", "-q", "--no-verify", "origin", "main")
        lines[9] = lines[18] = "c = 1"
        self.commit("second", "\n".join(lines), "long.py")
        self.commit("third", "a = 1\n", "below/\u00e9 b.py")
        self.git("mv", "a.py", "z.py")
        self.git("commit", "-q", "-m", "moved")
        plain = self.check("+a = 1", "-old = 1", "+old = 1", "--- a/a.py", "+++ b/z.py", "+c = 1", " ")
        self.assertRegex(plain, rb"\nindex [0-9a-f]{40}\.\.[0-9a-f]{40} 100644\n")
        order = write(os.path.join(self.root, "order"), "z.py\n")
        for name, value in (
            ("diff.external", "true"),
            ("diff.noprefix", "true"),
            ("diff.dstPrefix", "x/"),
            ("diff.renames", "copies"),
            ("diff.relative", "true"),
            ("diff.context", "0"),
            ("diff.interHunkContext", "9"),
            ("diff.orderFile", order),
            ("diff.suppressBlankEmpty", "true"),
            ("diff.algorithm", "patience"),
            ("color.ui", "always"),
            ("color.diff", "always"),
            ("core.quotePath", "false"),
            ("core.abbrev", "7"),
            ("core.attributesFile", write(os.path.join(self.root, "attributes"), "* -diff\n")),
            ("core.pager", "true"),
            ("pager.diff-tree", "true"),
            ("alias.diff-tree", "!true"),
        ):
            self.git("config", name, value)
        self.environment.update(GIT_EXTERNAL_DIFF="true", GIT_DIFF_OPTS="-u0", GIT_PAGER="true")
        self.assertEqual(self.saved_diff("origin", "main"), plain)

    def test_a_submodule_that_the_tree_says_to_ignore(self) -> None:
        first = self.git("rev-parse", "HEAD")
        write(os.path.join(self.clone, ".gitmodules"), '[submodule "x"]\npath = x\nurl = ./x\nignore = all\n')
        self.git("add", "-A")
        self.git("update-index", "--add", "--cacheinfo", f"160000,{first},x")
        self.git("commit", "-q", "-m", "submodule")
        self.git("config", "diff.ignoreSubmodules", "all")
        self.git("config", "submodule.x.ignore", "all")
        self.check(f"+Subproject commit {first}")

    def test_objects_that_are_replaced_here_are_pushed_as_they_are(self) -> None:
        bad = self.commit("second", "BUG\n")
        self.git("checkout", "-q", "-b", "harmless", "HEAD^")
        harmless = self.commit("harmless", "old = 2\n")
        self.git("checkout", "-q", "main")
        self.git("replace", bad, harmless)
        self.git("replace", self.git("rev-parse", f"{bad}:a.py"), self.git("rev-parse", f"{harmless}:a.py"))
        self.assert_blocked(self.push("origin", "main"), r"not approved \(status 3\)")

    def test_history_that_is_grafted_here_is_compared_as_it_is(self) -> None:
        main, bad = self.git("rev-parse", "HEAD"), self.commit("second", "BUG\n")
        self.git("config", "advice.graftFileDeprecated", "false")
        write(os.path.join(self.clone, ".git", "info", "grafts"), f"{bad}\n{main} {bad}\n")
        self.assert_blocked(self.push("origin", "main:new"), r"not approved \(status 3\)")

    def test_an_object_that_is_missing(self) -> None:
        self.commit("second", "one\n", "b.py")
        self.commit("third", "two\n", "c.py")
        blob = self.git("rev-parse", "HEAD:c.py")
        line = f"refs/heads/main {self.git('rev-parse', 'HEAD')} refs/heads/main {self.there()}"
        self.assertEqual(self.run_hook(line).status, 0)
        os.remove(os.path.join(self.clone, ".git", "objects", blob[:2], blob[2:]))
        self.assert_blocked(self.run_hook(line), "refs/heads/main: git cannot write its diff")


class RefLinesTest(Case):
    """The hook run with ref lines as git writes them, and as it does not."""

    def setUp(self) -> None:
        super().setUp()
        self.old, self.zero = self.git("rev-parse", "HEAD"), "0" * 40
        self.good = self.commit("good", "old = 2\n")
        self.bad = self.commit("bad", "BUG\n")

    def test_lines_that_git_does_not_write(self) -> None:
        good = f"refs/heads/main {self.good} refs/heads/main {self.old}"
        self.assertEqual(self.run_hook(good).status, 0)
        for line in (
            "",
            self.old,
            f"x {self.old[:-1]} refs/heads/x {self.old}",
            f"x {self.old} refs/heads/x",
            f"x {self.old} refs/heads/x {self.old} ",
            f"x {self.old} heads/x {self.old}",
            f"x {self.old} refs/ {self.old}",
            f"x HEAD refs/heads/x {self.old}",
            f"x {self.old} refs/heads/x --help",
            f"x\t{self.old}\trefs/heads/x\t{self.old}",
            f"x {self.old.upper()} refs/heads/x {self.old}x",
        ):
            with self.subTest(line):
                self.assert_blocked(self.run_hook(line), "is no ref that git pushes")
        self.assert_blocked(self.run_hook(good, line), "is no ref that git pushes")

    def test_the_last_line_counts_without_its_end(self) -> None:
        text = f"a {self.good} refs/heads/a {self.old}\nb {self.bad} refs/heads/b {self.old}"
        self.assert_blocked(
            self.run_in(self.clone, self.hook, "origin", "url", text=text), "refs/heads/b: not approved"
        )

    def test_what_comes_before_the_ids_cannot_stand_for_them(self) -> None:
        forged = f"x {self.old} refs/heads/x {self.old}"
        self.assert_blocked(self.run_hook(f"{forged} {self.bad} refs/heads/y {self.old}"), "refs/heads/y: not approved")

    def test_ids_that_are_not_here(self) -> None:
        unknown = "1" * 40
        self.assert_blocked(self.run_hook(f"x {unknown} refs/heads/x {self.old}"), "it is no commit")
        self.assert_blocked(self.run_hook(f"x {self.good} refs/heads/x {unknown}"), "what the remote has")

    def test_remotes_that_are_none(self) -> None:
        for name in (
            "",
            "origin/../origin",
            "../../refs/remotes/origin",
            "origin/HEAD^{commit}",
            "--help",
            "*",
            "no such",
        ):
            line = f"x {self.good} refs/heads/x {self.zero}"
            with self.subTest(name):
                self.assert_blocked(self.run_hook(line, arguments=(name, "url")), "new, and not comparable")
        self.assert_blocked(self.run_hook(line, arguments=()), "new, and not comparable")

    def test_the_two_commits_of_pre_commit(self) -> None:
        def status(start: str, end: str, *lines: str, arguments: tuple[str, ...] = ()) -> Done:
            return self.run_hook(*lines, arguments=arguments, PRE_COMMIT_FROM_REF=start, PRE_COMMIT_TO_REF=end)

        self.assertEqual(status(self.old, self.good).status, 0)
        self.assertEqual(status("origin/main", "HEAD^").status, 0)
        self.assert_blocked(status(self.old, self.bad), f"{self.bad}: not approved")
        self.assert_blocked(status(self.old, "no-such-ref"), "PRE_COMMIT_FROM_REF or PRE_COMMIT_TO_REF is no commit")
        self.assert_blocked(status("--all", self.good), "is no commit")
        self.assert_blocked(status("HEAD:a.py", self.good), "is no commit")
        self.assert_blocked(status(self.old, ""), "no refs on standard input")
        # A hook that pre-commit runs may itself push: then git gives two arguments, and the lines are what counts.
        line = f"x {self.bad} refs/heads/x {self.old}"
        self.assert_blocked(status(self.old, self.old, line, arguments=("origin", "url")), "refs/heads/x: not approved")

    def test_each_shell_that_is_here(self) -> None:
        options = {"sh": [], "dash": [], "bash": ["--posix"], "busybox": ["sh"], "ksh": [], "zsh": ["--emulate", "sh"]}
        for name in filter(shutil.which, options):
            for commit, status in ((self.good, 0), (self.bad, 1)):
                with self.subTest(name, commit=commit):
                    command = [name, *options[name], self.hook, "origin", "url"]
                    done = self.run_in(self.clone, *command, text=f"x {commit} refs/heads/x {self.old}\n")
                    self.assertEqual(done.status, status, done.said)


class ToolsTest(Case):
    """That what judges is Python, works, and is not part of what is judged."""

    def setUp(self) -> None:
        super().setUp()
        self.line = f"x {self.commit('good', 'old = 2')} refs/heads/x {self.there()}"

    def test_a_python_that_does_nothing_or_is_too_old_is_passed_over(self) -> None:
        folder = os.path.join(self.root, "few")
        os.mkdir(folder)
        for name in ("git", "mktemp", "tr", "cat", "rm", "sh", "sed", "tail", "grep"):
            os.symlink(shutil.which(name) or "", os.path.join(folder, name))
        stubs = {"python3": "exit 0", "python": "echo False", "py": f"shift; exec '{sys.executable}' \"$@\""}
        for name, body in stubs.items():
            os.chmod(write(os.path.join(folder, name), f"#!/bin/sh\n{body}\n"), 0o755)
        done = self.run_hook(self.line, PATH=folder)
        self.assertEqual(done.status, 0, done.said)
        os.remove(os.path.join(folder, "py"))
        self.assert_blocked(self.run_hook(self.line, PATH=folder), "none of python3, python and py -3")

    def test_a_tool_that_is_missing_empty_or_broken(self) -> None:
        tool = os.path.join(self.root, "tools", "examples", "review_gate.py")
        for text in ("", "raise SystemExit(0)\n", "syntax error\n"):
            write(tool, text)
            self.assert_blocked(self.run_hook(self.line), "review_gate.py does not work")
        os.remove(tool)
        self.assert_blocked(self.run_hook(self.line), "review_gate.py is neither beside")

    def test_tools_of_the_tree_that_is_pushed(self) -> None:
        link = os.path.join(self.clone, ".git", "hooks", "pre-push")
        os.remove(link)
        os.symlink(self.install(os.path.join(self.clone, "vendor")), link)
        self.commit("vendored", "old = 3\n")
        self.assert_blocked(self.push("origin", "main"), "lies in the repository that is pushed")
        shutil.rmtree(os.path.join(self.clone, "vendor"))
        os.remove(link)
        self.install(os.path.join(self.clone, "examples-too"))
        for name in TOOLS:
            shutil.copy(os.path.join(HERE, name), self.clone)
        shutil.copy(verdict_contract.__file__ or "", self.clone)
        shutil.copy(self.hook, link)
        self.assert_blocked(self.push("origin", "main"), "lies in the repository that is pushed")

    def link(self, target: str, *path: str) -> None:
        """Make the path, from the root, a link to the target."""
        place = os.path.join(self.root, *path)
        if os.path.lexists(place):
            os.remove(place)
        os.symlink(target, place)

    def test_tools_that_are_links_into_the_tree_that_is_pushed(self) -> None:
        self.install(os.path.join(self.clone, "vendor"))
        vendor, tools = (os.path.join(self.root, *names) for names in (("clone", "vendor"), ("tools",)))
        for name in (*(f"examples/{name}" for name in TOOLS[:3]), "verdict_contract.py"):
            with self.subTest(name):
                self.link(os.path.join(vendor, name), tools, name)
                self.assert_blocked(self.run_hook(self.line), "lies in the repository that is pushed")
                os.remove(os.path.join(tools, name))
                shutil.copy(os.path.join(vendor, name), os.path.join(tools, name))

    def test_tools_of_another_work_tree_of_the_repository(self) -> None:
        tree = os.path.join(self.root, "tree")
        self.git("worktree", "add", "-q", "-b", "topic", tree)
        self.link(self.install(os.path.join(tree, "vendor")), "clone", ".git", "hooks", "pre-push")
        self.assert_blocked(self.push("origin", "main"), "lies in the repository that is pushed")
        shutil.move(os.path.join(tree, "vendor"), os.path.join(self.clone, "vendor"))
        hook = os.path.join(self.clone, "vendor", "examples", "hooks", "pre-push")
        self.link(hook, "clone", ".git", "hooks", "pre-push")
        self.commit("more", "old = 3\n", cwd=tree)
        self.assert_blocked(self.push("origin", "topic", cwd=tree), "lies in the repository that is pushed")

    def test_tools_anywhere_below_a_work_tree(self) -> None:
        tools, tree = os.path.join(self.root, "tools"), os.path.join(self.root, "tree")
        self.git("init", "-q", cwd=tools)
        self.git("add", "-A", cwd=tools)
        self.git("commit", "-q", "-m", "tools", cwd=tools)
        self.git("worktree", "add", "-q", "-b", "topic", tree)
        bare = ("init", "-q", "--bare", "--template=", "../tree/bare")  # content like any other, for git to track
        clone, submodule = ("clone", "-q", tools), ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add")
        rows = (
            ("a folder", ("worktree", "prune"), "folder", True),
            ("a clone", (*clone, "nested"), "nested", True),
            ("a clone in a clone", (*clone, "nested/nested"), "nested/nested", True),
            ("a submodule", (*submodule, "../tools", "submodule"), "submodule", True),
            ("a clone in a linked worktree", (*clone, "../tree/nested"), "../tree/nested", True),
            ("a repository in a linked worktree", bare, "../tree/bare/folder", True),
            ("a clone beside it", (*clone, "../clone-beside"), "../clone-beside", False),
            ("a folder beside it", ("worktree", "prune"), "../clone too", False),
        )
        for name, command, place, blocked in rows:
            with self.subTest(name):
                self.git(*command)
                folder = os.path.normpath(os.path.join(self.clone, place))
                if not os.path.isdir(folder):
                    self.install(folder)
                self.link(os.path.join(folder, "examples", "hooks", "pre-push"), "clone", ".git", "hooks", "pre-push")
                done = self.push("--dry-run", "origin", "main")
                if blocked:
                    self.assert_blocked(done, "lies in the repository that is pushed")
                else:
                    self.assertEqual(done.status, 0, done.said)

    def test_a_change_of_the_tools_in_a_clone_within_the_work_tree(self) -> None:
        before = self.there()
        self.git("clone", "-q", self.clone, "nested")  # of any repository
        self.link(self.install(os.path.join(self.clone, "nested", "vendor")), "clone", ".git", "hooks", "pre-push")
        name = "nested/vendor/examples/argparse.py"
        path = write(os.path.join(self.clone, name), "import sys\nsys.exit(2 * ('--help' in sys.argv))\n")
        blob = self.git("hash-object", "-w", path)
        self.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
        self.git("commit", "-q", "-m", "BUG")
        self.assertIn(name, self.git("ls-files"))
        self.assert_blocked(self.push("origin", "main"), "lies in the repository that is pushed")
        self.assertEqual(self.there(), before)

    def test_tools_of_a_main_work_tree_elsewhere(self) -> None:
        apart, tree = os.path.join(self.root, "apart.git"), os.path.join(self.root, "tree")
        self.git("worktree", "add", "-q", "-b", "topic", tree)
        self.git("init", "-q", f"--separate-git-dir={apart}")
        self.link(self.install(os.path.join(self.clone, "vendor")), apart, "hooks", "pre-push")
        self.commit("more", "old = 3\n", cwd=tree)
        self.assert_blocked(self.push("origin", "topic", cwd=tree), "lies in the repository that is pushed")
        os.remove(os.path.join(self.clone, ".git"))
        self.git("config", "core.worktree", self.clone, cwd=apart)
        self.assert_blocked(self.push("origin", "topic", cwd=tree), "lies in the repository that is pushed")

    def test_tools_beside_the_work_trees_of_a_bare_repository(self) -> None:
        project = os.path.join(self.root, "project")
        bare, tree = os.path.join(project, ".bare"), os.path.join(project, "tree")
        shutil.copytree(os.path.join(self.clone, ".git"), bare, symlinks=True)
        self.git("config", "core.bare", "true", cwd=bare)
        self.git("remote", "set-url", "origin", self.remote, cwd=bare)
        write(os.path.join(project, ".git"), "gitdir: ./.bare\n")
        self.git("worktree", "add", "-q", "-b", "topic", tree, cwd=bare)
        self.link(self.install(os.path.join(project, "tools")), bare, "hooks", "pre-push")
        commit = self.commit("more", "old = 3\n", cwd=tree)
        self.assert_pushed(self.push("origin", "topic", cwd=tree), "refs/heads/topic", commit)
        self.link(self.install(os.path.join(tree, "tools")), bare, "hooks", "pre-push")
        self.assert_blocked(self.push("origin", "topic:again", cwd=tree), "lies in the repository that is pushed")

    def test_tools_of_a_work_tree_that_only_a_variable_names(self) -> None:
        self.install(os.path.join(self.clone, "vendor"))
        apart = os.path.join(self.root, "apart.git")
        shutil.move(os.path.join(self.clone, ".git"), apart)
        self.link(os.path.join(self.clone, "vendor", "examples", "hooks", "pre-push"), apart, "hooks", "pre-push")
        done = self.push("origin", "main", GIT_DIR=apart, GIT_WORK_TREE=self.clone)
        self.assert_blocked(done, "lies in the repository that is pushed")

    def test_tools_in_the_git_folder(self) -> None:
        folder, hooks = (os.path.join(self.clone, ".git", *names) for names in ((), ("hooks",)))
        tools = os.path.join(self.root, "tools")
        os.remove(os.path.join(hooks, "pre-push"))
        shutil.copy(self.hook, hooks)
        for name in TOOLS[:3]:
            shutil.copy(os.path.join(tools, "examples", name), folder)
        self.assert_blocked(self.push("origin", "main"), "review_gate.py or what it loads is not found")
        contract = os.path.join(tools, "verdict_contract.py")
        for name in ("verdict_contract.py", os.path.join("verdict_contract", "__init__.py")):
            os.makedirs(os.path.dirname(os.path.join(self.clone, name)), exist_ok=True)
            shutil.copy(contract, os.path.join(self.clone, name))
            self.assert_blocked(self.push("origin", "main"), "lies in the repository that is pushed")
            self.link(contract, "clone", "verdict_contract.py")  # what is imported next is the package
        shutil.copy(contract, folder)
        self.assertEqual(self.push("origin", "main").status, 0)

    def test_a_stored_report_is_read_with_the_contract_beside_its_tool(self) -> None:
        self.report("0" * 16)
        self.assert_blocked(self.run_hook(self.line), "not approved")
        tools = os.path.join(self.root, "tools")
        shutil.move(os.path.join(tools, "verdict_check.py"), os.path.join(tools, "examples"))
        self.assert_blocked(self.run_hook(self.line), "verdict_check.py or what it loads is not found")

    def test_all_in_one_folder_elsewhere(self) -> None:
        flat = os.path.join(self.root, "flat dir")
        os.mkdir(flat)
        for folder, _, names in os.walk(os.path.join(self.root, "tools")):
            for name in names:
                shutil.copy(os.path.join(folder, name), flat)
        done = self.run_in(self.clone, os.path.join(flat, "pre-push"), "origin", "url", text=self.line)
        self.assertEqual(done.status, 0, done.said)

    def test_modules_of_the_working_folder_and_of_the_environment(self) -> None:
        names = ("verdict_contract.py", "argparse.py", "os.py", "hashlib.py", "importlib/__init__.py")
        for name in (*names, "importlib/machinery.py"):
            write(os.path.join(self.clone, name), "raise SystemExit(0)\n")
        variables: Dict[str, str] = {"PYTHONPATH": self.clone, "PYTHONSTARTUP": os.path.join(self.clone, "os.py")}
        self.commit("modules", "BUG\n")
        self.assert_blocked(self.push("origin", "main", **variables), r"not approved \(status 3\)")


if __name__ == "__main__":
    unittest.main()
