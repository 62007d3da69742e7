"""Tests of pre-push, with real repositories and a real bare remote: python3 examples/gate/test_pre_push.py"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, TOP)
import test_verdict_contract as testing
from verdict_contract import APPROVE, diff_token

SHARED = ("verdict_contract.py", "verdict_check.py")
TOOLS = ("review_gate.py", "final_message.py", "reviewer_process.py", "change_diff.py")
WHO = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

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


def script(path: str, body: str) -> str:
    write(path, f"#!/bin/sh\n{body}\n")
    os.chmod(path, 0o755)
    return path


def end(process: int) -> bool:
    """End a process; whether there was one."""
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


@testing.NEEDS_GIT
@testing.NEEDS_PROGRAMS
class Case(testing.Scratch):
    """A clone with one commit on main, its bare remote, and the hook linked in from a copy of the tools elsewhere."""

    made: Optional[str] = None  # the same for every test, so made once

    def setUp(self) -> None:
        super().setUp()
        self.root = os.path.join(self.folder, "it's r")
        self.remote, self.clone, self.log, self.temporary = (
            os.path.join(self.root, name) for name in ("remote.git", "clone", "prompts", "tmp")
        )
        self.hook = os.path.join(self.root, "tools", "examples", "gate", "pre-push")
        path = os.path.join(self.root, "bin") + os.pathsep + os.environ["PATH"]
        self.environment = testing.clean_environment(
            PATH=path, HOME=self.root, LOG=self.log, TMPDIR=self.temporary, **WHO
        )
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
        python = " ".join(map(shlex.quote, testing.PYTHON))
        script(os.path.join(self.root, "bin", "python3"), f'exec {python} "$@"')
        os.mkdir(self.log)
        os.mkdir(self.temporary)
        self.install(os.path.join(self.root, "tools"))
        self.git("init", "-q", "--template=", "--bare", self.remote, cwd=self.root)
        self.git("symbolic-ref", "HEAD", "refs/heads/main", cwd=self.remote)
        self.git("init", "-q", "--template=", self.clone, cwd=self.root)
        self.git("symbolic-ref", "HEAD", "refs/heads/main")
        self.git("remote", "add", "origin", "../remote.git")
        self.commit("first", "old = 1\n")
        self.git("push", "-q", "origin", "main")
        os.mkdir(os.path.join(self.clone, ".git", "hooks"))
        os.symlink("../../../tools/examples/gate/pre-push", os.path.join(self.clone, ".git", "hooks", "pre-push"))
        write(os.path.join(self.root, "reviewer.sh"), REVIEWER)
        self.git("config", "verdict.reviewer", 'sh "$HOME/reviewer.sh"')

    def tearDown(self) -> None:
        self.assertEqual(os.listdir(self.temporary), [], "the hook leaves nothing in the temporary folder")

    def install(self, folder: str) -> str:
        """Copy the tools into a folder, laid out as in this repository; the path of the hook there."""
        gate = os.path.join(folder, "examples", "gate")
        os.makedirs(gate)
        for name in SHARED:
            shutil.copyfile(os.path.join(TOP, name), os.path.join(folder, name))
        for name in (*TOOLS, "pre-push"):
            shutil.copyfile(os.path.join(HERE, name), os.path.join(gate, name))
        os.chmod(os.path.join(gate, "pre-push"), 0o755)
        return os.path.join(gate, "pre-push")

    def run_in(self, cwd: str, *command: str, text: str = "", **variables: str) -> Done:
        """A program that is not git, in a folder."""
        environment = {**self.environment, **variables}
        done = testing.process(*command, cwd=cwd, env=environment, input=text.encode(), stderr=subprocess.STDOUT)
        return Done(done.returncode, done.stdout.decode("utf-8", "backslashreplace"))

    def git(self, *arguments: str, cwd: Optional[str] = None, **variables: str) -> str:
        return testing.git(cwd or self.clone, *arguments, env={**self.environment, **variables})

    def try_git(self, *arguments: str, cwd: Optional[str] = None, **variables: str) -> Done:
        """How git ended; what it said where it failed."""
        try:
            return Done(0, self.git(*arguments, cwd=cwd, **variables))
        except AssertionError as error:
            return Done(1, str(error))

    def commit(self, message: str, text: str, name: str = "a.py", cwd: Optional[str] = None) -> str:
        write(os.path.join(cwd or self.clone, name), text)
        self.git("add", "-A", cwd=cwd)
        self.git("commit", "-q", "-m", message, cwd=cwd)
        return self.git("rev-parse", "HEAD", cwd=cwd)

    def push(self, *arguments: str, cwd: Optional[str] = None, **variables: str) -> Done:
        return self.try_git("push", *arguments, cwd=cwd, **variables)

    def run_hook(self, *lines: str, arguments: Tuple[str, ...] = ("origin", "../remote.git"), **variables: str) -> Done:
        """The hook as git runs it, with these ref lines."""
        text = "".join(f"{line}\n" for line in lines)
        return self.run_in(self.clone, self.hook, *arguments, text=text, **variables)

    def there(self, ref: str = "refs/heads/main") -> Optional[str]:
        """What the remote has under a ref."""
        done = self.try_git("rev-parse", "--verify", "--quiet", ref, cwd=self.remote)
        return done.said if done.status == 0 else None

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
        done = self.try_git("-c", f"verdict.saveDiff={path}", "push", *arguments)
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
        shows = r"\(status 4\); a person can decide: git -c verdict\.saveDiff=FILE push \.\.\. shows how"
        for reviewer, how in (
            ("true", shows),
            ("exit 1", r"\(status 1\)"),
            ("kill -9 $$", r"\(status 1\)"),
            ("echo '===VERDICT=== APPROVE'", shows),
        ):
            with self.subTest(reviewer):
                self.git("config", "verdict.reviewer", reviewer)
                self.assert_blocked(self.push("origin", "main"), f"not approved {how}\n")

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
        self.assertEqual(len(self.prompts()), 1)
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
        self.commit("second", "old = 2\n")
        self.git("checkout", "-q", "--orphan", "apart")
        self.commit("apart", "old = 3\n")
        done = self.push("origin", "apart")
        self.assert_blocked(done, "refs/heads/apart: it cannot be compared")
        self.assertIn("no merge bases, where one is needed", done.said)
        self.git("symbolic-ref", "HEAD", "refs/heads/none", cwd=self.remote)
        self.assert_blocked(self.push("origin", "main:new"), "new, and the remote has no default branch")
        self.assert_pushed(self.push("origin", "main"), "refs/heads/main", self.git("rev-parse", "main"))

    def test_a_new_ref_with_several_merge_bases_blocks(self) -> None:
        one, two = (self.commit_on(name, "main", f"{name}.py") for name in ("one", "two"))
        for name, other in (("one", two), ("two", one)):
            self.git("checkout", "-q", name)
            self.git("merge", "-q", "-m", "merge", other)
        self.git("push", "-q", "--no-verify", "origin", "one:main")
        done = self.push("origin", "two:new")
        self.assert_blocked(done, "refs/heads/new: it cannot be compared")
        self.assertIn("2 merge bases, where one is needed", done.said)
        self.assertIsNone(self.there("refs/heads/new"))

    def commit_on(self, branch: str, start: str, name: str) -> str:
        self.git("checkout", "-q", "-b", branch, start)
        return self.commit(branch, "new = 1\n", name)

    def test_a_new_ref_is_compared_with_what_the_remote_has_now(self) -> None:
        first = self.there()
        bad = self.commit("bad", "BUG\n")
        self.git("push", "-q", "--no-verify", "origin", "main")
        self.git("remote", "set-head", "origin", "main")
        self.git(
            "update-ref", "refs/heads/main", first or "", cwd=self.remote
        )  # here, origin/main still has the commit
        self.assert_blocked(self.push("origin", f"{bad}:refs/heads/new"), r"refs/heads/new: not approved \(status 3\)")

    def test_a_default_branch_whose_tip_is_not_here_blocks(self) -> None:
        other = os.path.join(self.root, "other")
        self.git("clone", "-q", self.remote, other, cwd=self.root)
        self.commit("theirs", "old = 9\n", cwd=other)
        self.git("push", "-q", "origin", "HEAD:main", cwd=other)
        self.commit("ours", "old = 2\n")
        self.assert_blocked(
            self.push("origin", "main:new"), "tip of the remote's default branch is not here: git fetch"
        )
        self.git("fetch", "-q")
        self.assertEqual(self.push("origin", "main:new").status, 0)

    def test_a_shallow_clone_blocks(self) -> None:
        self.commit("second", "old = 2\n")
        self.git("push", "-q", "--no-verify", "origin", "main")
        shutil.move(self.clone, f"{self.clone}-whole")
        self.git("clone", "-q", "--depth=1", Path(self.remote).as_uri(), self.clone, cwd=self.root)
        os.symlink(self.hook, os.path.join(self.clone, ".git", "hooks", "pre-push"))
        self.git("config", "verdict.reviewer", 'sh "$HOME/reviewer.sh"')
        self.git("checkout", "-q", "-b", "topic")
        self.commit("third", "old = 3\n")
        for refspec in ("topic", "topic:main"):
            done = self.push("origin", refspec)
            self.assert_blocked(done, "it cannot be compared")
            self.assertIn("a shallow clone", done.said)
        self.git("fetch", "-q", "--unshallow")
        self.assertEqual(self.push("origin", "topic").status, 0)

    def test_the_first_push_to_a_remote_without_a_branch(self) -> None:
        self.git("init", "-q", "--template=", "--bare", "empty.git", cwd=self.root)
        self.git("symbolic-ref", "HEAD", "refs/heads/main", cwd=os.path.join(self.root, "empty.git"))
        self.git("remote", "add", "empty", "../empty.git")
        first, bad = self.git("rev-parse", "HEAD"), self.commit("second", "BUG\n")
        done = self.push("empty", "main")
        self.assert_blocked(done, "refs/heads/main: new, and the remote has no default branch")
        (advice,) = re.findall(r"git push --no-verify [^,\n]+", done.said)
        words = advice.replace("<first commit>", first).replace("<name>", "main").replace("<remote>", "empty")
        self.git(*words.split()[1:])
        self.assert_blocked(self.push("empty", "main"), r"refs/heads/main: not approved \(status 3\)")
        self.assert_blocked(self.push("empty", f"{bad}:refs/heads/new"), r"refs/heads/new: not approved \(status 3\)")

    def test_what_is_asked_is_the_place_that_is_pushed_to(self) -> None:
        other = os.path.join(self.root, "other.git")
        self.git("clone", "-q", "--bare", self.remote, other, cwd=self.root)
        bad = self.commit("second", "BUG\n")
        self.git("push", "-q", "--no-verify", "origin", "main")
        self.git("config", "remote.origin.pushurl", other)
        self.assert_blocked(self.push("origin", "main:new"), r"refs/heads/new: not approved \(status 3\)")
        self.assert_pushed(self.push(self.remote, f"{bad}:refs/heads/new"), "refs/heads/new", bad)

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
        self.assert_blocked(self.push("origin", "main"), "no refs on standard input: there is nothing to push")
        self.git("checkout", "-q", "--detach")
        self.assert_blocked(self.push("origin", "main"), "no refs on standard input: there is nothing to push")

    def test_a_push_that_git_refuses_says_what_to_do(self) -> None:
        self.commit("second", "old = 2\n")
        self.git("push", "-q", "--no-verify", "origin", "main")
        self.git("reset", "-q", "--hard", "HEAD^")
        self.commit("instead", "old = 3\n")
        why = "git refuses this push, which is not a fast-forward: git pull first"
        self.assert_blocked(self.push("origin", "main"), why)
        self.git("update-ref", "-d", "refs/remotes/origin/main")
        self.assert_blocked(self.push("origin", "main"), why)
        self.assertEqual(self.prompts(), [])

    def test_a_remote_that_does_not_answer_blocks(self) -> None:
        line = f"x {self.commit('second', 'old = 2')} refs/heads/x {'0' * 40}"
        self.assert_blocked(self.run_hook(line, arguments=("origin", "../no-such")), "HEAD: the remote does not tell")
        self.assert_blocked(
            self.run_hook(line, arguments=("origin", "--upload-pack=false")), "HEAD: the remote does not"
        )

    def test_one_diff_is_reviewed_once_in_a_push(self) -> None:
        self.git("checkout", "-q", "-b", "topic")
        self.commit("second", "old = 2\n")
        self.git("tag", "v1")
        self.assertEqual(self.push("origin", "topic", "topic:main", "v1").status, 0)
        self.assertEqual(len(self.prompts()), 1)
        self.commit("third", "BUG\n")
        self.assert_blocked(self.push("origin", "topic", "topic:main"), r"not approved \(status 3\)")
        self.assertEqual(len(self.prompts()), 2)


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
        self.assert_blocked(self.push("origin", "main"), "verdict.reviewer is set to nothing")
        self.git("config", "--unset", "verdict.reviewer")
        self.assert_blocked(self.push("origin", "main"), "set one: .*; or delete this hook")

    def test_both(self) -> None:
        self.git("config", "verdict.report", "report.txt")
        self.assert_blocked(self.push("origin", "main"), "are both set")

    def test_several_reviewers_all_of_whom_approve(self) -> None:
        done = self.try_git("-c", "verdict.reviewer=false", "push", "origin", "main")
        self.assert_blocked(done, r"not approved \(status 1\)")
        self.git("config", "--add", "verdict.reviewer", 'sh "$HOME/reviewer.sh"')
        self.assert_pushed(self.push("origin", "main"), "refs/heads/main", self.git("rev-parse", "HEAD"))
        self.assertEqual(len(self.prompts()), 3)  # one of them was for the push with a third reviewer

    def test_several_reports_all_of_which_approve(self) -> None:
        path = self.report(diff_token(self.saved_diff("origin", "main")))
        self.git("config", "--add", "verdict.report", os.path.join(self.root, "other.txt"))
        self.assert_blocked(self.push("origin", "main"), r"not approved \(status 1\)")
        shutil.copy(path, os.path.join(self.root, "other.txt"))
        self.assertEqual(self.push("origin", "main").status, 0)

    def test_options_of_the_gate(self) -> None:
        write(os.path.join(self.clone, "a.png"), "\0")
        self.commit("picture", "old = 4\n")
        self.assert_blocked(self.push("origin", "main"), r"not approved \(status 2\)")
        self.git("config", "verdict.option", "--allow-binary=*.png")
        self.git("config", "--add", "verdict.option", "--retries=0")
        self.assertEqual(self.push("origin", "main").status, 0)

    def test_a_reviewer_that_the_tree_chooses(self) -> None:
        self.git("config", "--unset", "verdict.reviewer")
        write(os.path.join(self.clone, "settings"), "[verdict]\nreviewer = \"echo '===VERDICT=== APPROVE'\"\n")
        self.git("config", "include.path", "../settings")
        self.assert_blocked(self.push("origin", "main"), "lie in the repository that is pushed")
        os.symlink("../settings", os.path.join(self.clone, ".git", "settings"))
        self.git("config", "include.path", "settings")
        self.assert_blocked(self.push("origin", "main"), "lie in the repository that is pushed")

    def test_a_reviewer_of_two_lines_included_from_elsewhere_or_given_once(self) -> None:
        reviewer = self.git("config", "verdict.reviewer")
        self.git("config", "--unset", "verdict.reviewer")
        commit = self.git("rev-parse", "HEAD")
        done = self.try_git("-c", f"verdict.reviewer={reviewer}", "push", "origin", "main:once")
        self.assert_pushed(done, "refs/heads/once", commit)
        self.git("config", "-f", os.path.join(self.root, "settings"), "verdict.reviewer", f"true\n{reviewer}")
        self.git("config", "include.path", "../../settings")
        self.assert_pushed(self.push("origin", "main"), "refs/heads/main", commit)

    def test_settings_that_git_cannot_read(self) -> None:
        line = f"refs/heads/main {self.git('rev-parse', 'HEAD')} refs/heads/main {self.there()}"
        self.assertEqual(self.run_hook(line).status, 0)
        write(os.path.join(self.clone, ".git", "config"), "[verdict\n")
        self.assert_blocked(self.run_hook(line), "git does not tell where the repository is")

    def test_nothing_to_save(self) -> None:
        path = os.path.join(self.root, "change.diff")
        for refspec in ("origin/main:refs/heads/again", ":main"):
            self.assert_blocked(self.push_saving(path, refspec), "there is no diff to save")
        self.assert_blocked(self.push_saving(os.path.join(self.root, "no", "folder"), "main"), "cannot be saved")

    def push_saving(self, path: str, refspec: str) -> Done:
        return self.try_git("-c", f"verdict.saveDiff={path}", "push", "origin", refspec)


class DiffTest(Case):
    """That what is reviewed is what change_diff.py makes of the objects that are pushed."""

    def test_it_is_that_of_the_tool_beside_the_hook(self) -> None:
        write(os.path.join(self.clone, ".gitattributes"), "* -diff\n")
        self.commit("second", "old = 2\n")
        tool = os.path.join(os.path.dirname(self.hook), "change_diff.py")
        for refspec in ("main", "main:new"):
            made = self.run_in(self.clone, *testing.PYTHON, tool, "origin/main", "main").said
            self.assertEqual(self.saved_diff("origin", refspec).decode(), made)
            self.assertIn("\n+old = 2\n", made)

    def test_objects_that_are_replaced_here_are_pushed_as_they_are(self) -> None:
        bad = self.commit("second", "BUG\n")
        self.git("checkout", "-q", "-b", "harmless", "HEAD^")
        harmless = self.commit("harmless", "old = 2\n")
        self.git("checkout", "-q", "main")
        self.git("replace", bad, harmless)
        self.git("replace", self.git("rev-parse", f"{bad}:a.py"), self.git("rev-parse", f"{harmless}:a.py"))
        self.assert_blocked(self.push("origin", "main"), r"not approved \(status 3\)")

    def test_an_object_that_is_missing(self) -> None:
        self.commit("second", "one\n", "b.py")
        self.commit("third", "two\n", "c.py")
        blob = self.git("rev-parse", "HEAD:c.py")
        line = f"refs/heads/main {self.git('rev-parse', 'HEAD')} refs/heads/main {self.there()}"
        self.assertEqual(self.run_hook(line).status, 0)
        os.remove(os.path.join(self.clone, ".git", "objects", blob[:2], blob[2:]))
        self.assert_blocked(self.run_hook(line), "refs/heads/main: it cannot be compared")


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

    def pre_commit(self, start: str, end: str, line: str = "", arguments: Tuple[str, ...] = (), **more: str) -> Done:
        names = {"FROM_REF": start, "TO_REF": end, "REMOTE_BRANCH": "refs/heads/main", "REMOTE_URL": "../remote.git"}
        variables = {f"PRE_COMMIT_{name}": value for name, value in {**names, **more}.items()}
        return self.run_hook(*[line] * bool(line), arguments=arguments, **variables)

    def test_under_pre_commit_the_remote_says_what_it_has(self) -> None:
        self.assertEqual(self.pre_commit(self.old, self.good).status, 0)
        self.assertEqual(len(self.prompts()), 1)
        for start in (self.bad, ""):  # the change can choose it
            self.assert_blocked(self.pre_commit(start, self.bad), r"refs/heads/main: not approved \(status 3\)")
            done = self.pre_commit(start, self.bad, REMOTE_BRANCH="refs/heads/new")
            self.assert_blocked(done, r"refs/heads/new: not approved \(status 3\)")
        self.git("push", "-q", "--no-verify", "origin", f"{self.bad}:main")
        self.assertEqual(self.pre_commit(self.old, self.bad).status, 0)  # nothing changes there

    def test_what_pre_commit_does_not_tell_or_tells_wrong_blocks(self) -> None:
        for end in ("no-such-ref", "HEAD:a.py", "--all"):
            self.assert_blocked(self.pre_commit(self.old, end), "refs/heads/main: it is no commit")
        self.assert_blocked(self.pre_commit(self.old, self.good, REMOTE_BRANCH=""), "are not set")
        self.assert_blocked(self.pre_commit(self.old, self.good, REMOTE_URL=""), "are not set")
        self.assert_blocked(self.pre_commit(self.old, self.good, REMOTE_URL="../no-such"), "the remote does not tell")
        self.assert_blocked(self.pre_commit(self.old, ""), "no refs on standard input")
        # A hook that pre-commit runs may itself push: then git gives two arguments, and the lines are what counts.
        line = f"x {self.bad} refs/heads/x {self.old}"
        done = self.pre_commit(self.old, self.old, line, arguments=("origin", "../remote.git"))
        self.assert_blocked(done, "refs/heads/x: not approved")

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
        for name in ("git", "mktemp", "cat", "cmp", "mv", "rm", "sh", "sed", "tail", "grep"):
            os.symlink(shutil.which(name) or "", os.path.join(folder, name))
        stubs = {"python3": "exit 0", "python": "echo False", "py": f"shift; exec '{sys.executable}' \"$@\""}
        for name, body in stubs.items():
            os.chmod(write(os.path.join(folder, name), f"#!/bin/sh\n{body}\n"), 0o755)
        done = self.run_hook(self.line, PATH=folder)
        self.assertEqual(done.status, 0, done.said)
        os.remove(os.path.join(folder, "py"))
        self.assert_blocked(self.run_hook(self.line, PATH=folder), "none of python3, python and py -3")

    def test_a_tool_that_is_missing_empty_or_broken(self) -> None:
        tool = os.path.join(self.root, "tools", "examples", "gate", "review_gate.py")
        with open(tool, encoding="utf-8") as file:
            whole = file.read()
        for text in ("", "raise SystemExit(0)\n", whole.partition("\nif __name__")[0], "syntax error\n"):
            write(tool, text)
            self.assert_blocked(self.run_hook(self.line), "review_gate.py is not whole")
        write(tool, f"syntax error\n{whole}")
        self.assert_blocked(self.run_hook(self.line), r"not approved \(status 1\)")
        os.remove(tool)
        self.assert_blocked(self.run_hook(self.line), "review_gate.py is neither beside")

    def test_tools_of_the_tree_that_is_pushed(self) -> None:
        link = os.path.join(self.clone, ".git", "hooks", "pre-push")
        os.remove(link)
        os.symlink(self.install(os.path.join(self.clone, "vendor")), link)
        self.commit("vendored", "old = 3\n")
        self.assert_blocked(self.push("origin", "main"), "lie in the repository that is pushed")
        shutil.rmtree(os.path.join(self.clone, "vendor"))
        os.remove(link)
        self.install(os.path.join(self.clone, "examples-too"))
        for name in TOOLS:
            shutil.copy(os.path.join(HERE, name), self.clone)
        for name in SHARED:
            shutil.copy(os.path.join(TOP, name), self.clone)
        shutil.copy(self.hook, link)
        self.assert_blocked(self.push("origin", "main"), "lie in the repository that is pushed")

    def link(self, target: str, *path: str) -> None:
        """Make the path, from the root, a link to the target."""
        place = os.path.join(self.root, *path)
        if os.path.lexists(place):
            os.remove(place)
        os.symlink(target, place)

    def test_tools_that_are_links_into_the_tree_that_is_pushed(self) -> None:
        self.install(os.path.join(self.clone, "vendor"))
        vendor, tools = (os.path.join(self.root, *names) for names in (("clone", "vendor"), ("tools",)))
        for name in (*(f"examples/gate/{name}" for name in TOOLS), *SHARED):
            with self.subTest(name):
                self.link(os.path.join(vendor, name), tools, name)
                self.assert_blocked(self.run_hook(self.line), "lie in the repository that is pushed")
                os.remove(os.path.join(tools, name))
                shutil.copy(os.path.join(vendor, name), os.path.join(tools, name))

    def test_tools_of_another_work_tree_of_the_repository(self) -> None:
        tree = os.path.join(self.root, "tree")
        self.git("worktree", "add", "-q", "-b", "topic", tree)
        self.link(self.install(os.path.join(tree, "vendor")), "clone", ".git", "hooks", "pre-push")
        self.assert_blocked(self.push("origin", "main"), "lie in the repository that is pushed")
        shutil.move(os.path.join(tree, "vendor"), os.path.join(self.clone, "vendor"))
        hook = os.path.join(self.clone, "vendor", "examples", "gate", "pre-push")
        self.link(hook, "clone", ".git", "hooks", "pre-push")
        self.commit("more", "old = 3\n", cwd=tree)
        self.assert_blocked(self.push("origin", "topic", cwd=tree), "lie in the repository that is pushed")

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
                self.link(os.path.join(folder, "examples", "gate", "pre-push"), "clone", ".git", "hooks", "pre-push")
                done = self.push("--dry-run", "origin", "main")
                if blocked:
                    self.assert_blocked(done, "lie in the repository that is pushed")
                else:
                    self.assertEqual(done.status, 0, done.said)

    def test_a_change_of_the_tools_in_a_clone_within_the_work_tree(self) -> None:
        before = self.there()
        self.git("clone", "-q", self.clone, "nested")  # of any repository
        self.link(self.install(os.path.join(self.clone, "nested", "vendor")), "clone", ".git", "hooks", "pre-push")
        name = "nested/vendor/examples/gate/argparse.py"
        path = write(os.path.join(self.clone, name), "import sys\nsys.exit(2 * ('--help' in sys.argv))\n")
        blob = self.git("hash-object", "-w", path)
        self.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
        self.git("commit", "-q", "-m", "BUG")
        self.assertIn(name, self.git("ls-files"))
        self.assert_blocked(self.push("origin", "main"), "lie in the repository that is pushed")
        self.assertEqual(self.there(), before)

    def test_tools_of_a_main_work_tree_elsewhere(self) -> None:
        apart, tree = os.path.join(self.root, "apart.git"), os.path.join(self.root, "tree")
        self.git("worktree", "add", "-q", "-b", "topic", tree)
        self.git("init", "-q", f"--separate-git-dir={apart}")
        self.link(self.install(os.path.join(self.clone, "vendor")), apart, "hooks", "pre-push")
        self.commit("more", "old = 3\n", cwd=tree)
        self.assert_blocked(self.push("origin", "topic", cwd=tree), "lie in the repository that is pushed")
        os.remove(os.path.join(self.clone, ".git"))
        self.git("config", "core.worktree", self.clone, cwd=apart)
        self.assert_blocked(self.push("origin", "topic", cwd=tree), "lie in the repository that is pushed")

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
        self.assert_blocked(self.push("origin", "topic:again", cwd=tree), "lie in the repository that is pushed")

    def test_tools_of_a_work_tree_that_only_a_variable_names(self) -> None:
        self.install(os.path.join(self.clone, "vendor"))
        apart = os.path.join(self.root, "apart.git")
        shutil.move(os.path.join(self.clone, ".git"), apart)
        self.link(os.path.join(self.clone, "vendor", "examples", "gate", "pre-push"), apart, "hooks", "pre-push")
        done = self.push("origin", "main", GIT_DIR=apart, GIT_WORK_TREE=self.clone)
        self.assert_blocked(done, "lie in the repository that is pushed")

    def test_tools_in_the_git_folder(self) -> None:
        folder, tools = os.path.join(self.clone, ".git"), os.path.join(self.root, "tools")
        os.remove(os.path.join(folder, "hooks", "pre-push"))
        shutil.copy(self.hook, os.path.join(folder, "hooks"))
        for name in (*(f"examples/gate/{name}" for name in TOOLS), "verdict_check.py"):
            shutil.copy(os.path.join(tools, name), folder)
        contract = os.path.join(tools, "verdict_contract.py")
        os.mkdir(os.path.join(self.clone, "verdict_contract"))
        shutil.copy(contract, os.path.join(self.clone, "verdict_contract", "__init__.py"))  # a package is not taken
        self.assert_blocked(self.push("origin", "main"), "verdict_contract.py is neither beside")
        shutil.copy(contract, self.clone)
        self.assert_blocked(self.push("origin", "main"), "lie in the repository that is pushed")
        self.link(contract, "clone", "verdict_contract.py")  # a change can replace the link
        self.assert_blocked(self.push("origin", "main"), "lie in the repository that is pushed")
        shutil.copy(contract, folder)
        self.assertEqual(self.push("origin", "main").status, 0)

    def test_the_link_of_the_hook_in_the_tree(self) -> None:
        hooks = os.path.join(self.clone, ".git", "hooks")
        os.mkdir(os.path.join(self.clone, ".githooks"))
        self.link(self.hook, "clone", ".githooks", "pre-push")
        self.git("config", "core.hooksPath", ".githooks")
        self.assert_blocked(self.push("origin", "main"), "its link, .* lie in the repository that is pushed")
        self.git("config", "--unset", "core.hooksPath")
        self.link("../../.githooks/pre-push", "clone", ".git", "hooks", "pre-push")
        self.assert_blocked(self.push("origin", "main"), "its link, .* lie in the repository that is pushed")
        shutil.rmtree(hooks)
        os.symlink("../.githooks", hooks)
        self.assert_blocked(self.push("origin", "main"), "its link, .* lie in the repository that is pushed")
        os.remove(hooks)
        os.mkdir(hooks)
        self.link(os.path.dirname(self.hook), "clone", ".githooks", "gate")
        self.link("../../.githooks/gate/pre-push", "clone", ".git", "hooks", "pre-push")
        self.assert_blocked(self.push("origin", "main"), "its link, .* lie in the repository that is pushed")
        self.link(self.hook, "clone", ".git", "hooks", "pre-push")
        self.assertEqual(self.push("origin", "main").status, 0)

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

    def test_code_that_the_tree_has_python_run_at_its_start(self) -> None:
        """As an editable install does, into an environment elsewhere."""
        venv = os.path.join(self.root, "venv")
        python = os.path.realpath(sys.executable)
        write(os.path.join(venv, "pyvenv.cfg"), f"home = {os.path.dirname(python)}\n")
        packages = os.path.join(venv, "lib", "python{}.{}".format(*sys.version_info[:2]), "site-packages")
        write(os.path.join(packages, "editable.pth"), f"{self.clone}\n")
        os.mkdir(os.path.join(venv, "bin"))
        os.symlink(python, os.path.join(venv, "bin", "python3"))
        write(
            os.path.join(self.clone, "sitecustomize.py"),
            "import os, sys\nif '--diff' in sys.argv:\n    os._exit(0)\n",
        )
        self.commit("at its start", "BUG\n")
        path = os.pathsep.join([os.path.join(venv, "bin"), self.environment["PATH"]])
        self.assert_blocked(self.push("origin", "main", PATH=path), r"not approved \(status 3\)")


class PathTest(Case):
    """That no program of a work tree is run, though PATH names its folder."""

    def setUp(self) -> None:
        super().setUp()
        self.bad = self.commit("bad", "BUG\n")
        self.ran = os.path.join(self.root, "ran")

    def plant(self, *folders: str) -> str:
        """Programs that note that they ran, and a Python that approves. Returns their folder."""
        place = os.path.join(self.root, *folders)
        python = " ".join(map(shlex.quote, testing.PYTHON))
        note = (
            f'case "$(cat {shlex.quote(self.clone)}/.git/config)" in *[*) echo "$0" >>{shlex.quote(self.ran)} ;; esac'
        )
        script(os.path.join(place, "python3"), f'{note}; case "$*" in *--diff*) exit 0 ;; esac; exec {python} "$@"')
        for name in ("mktemp", "cmp", "mv", "sh"):
            script(os.path.join(place, name), f'{note}; exec {shlex.quote(shutil.which(name) or "")} "$@"')
        return place

    def check(self, *first: str, cwd: Optional[str] = None) -> None:
        path = os.pathsep.join([*first, self.environment["PATH"]])
        line = f"x {self.bad} refs/heads/x {self.there()}"
        done = self.run_in(cwd or self.clone, self.hook, "origin", self.remote, text=line, PATH=path)
        self.assert_blocked(done, r"refs/heads/x: not approved \(status 3\)")
        self.assertFalse(os.path.exists(self.ran), "a program of the tree was run")

    def test_an_environment_in_the_tree(self) -> None:
        place = self.plant("clone", ".venv", "bin")
        self.check(place)
        self.check(f"{place}/", f"{self.clone}/./.venv//bin", f"{self.root}/tools/../clone/.venv/bin")
        os.symlink(self.clone, os.path.join(self.root, "link"))
        self.check(os.path.join(self.root, "link", ".venv", "bin"))

    def test_relative_and_empty_entries(self) -> None:
        self.plant("clone")
        self.check("", ".", "./", "../clone")

    def test_an_environment_in_another_work_tree_of_the_repository(self) -> None:
        tree = os.path.join(self.root, "tree")
        self.git("worktree", "add", "-q", "--detach", tree)
        place = self.plant("clone", ".venv", "bin")
        for name in ("mktemp", "sh"):  # before git has told of the other work trees
            os.remove(os.path.join(place, name))
        self.check(place, cwd=tree)

    def test_a_version_that_the_tree_chooses(self) -> None:
        python = " ".join(map(shlex.quote, testing.PYTHON))
        shim = 'if [ -e .python-version ]; then case "$*" in *--diff*) exit 0 ;; esac; fi'
        script(os.path.join(self.root, "shims", "python3"), f'{shim}; exec {python} "$@"')
        write(os.path.join(self.clone, ".python-version"), "harmless\n")
        self.check(os.path.join(self.root, "shims"))

    def test_no_other_folder(self) -> None:
        line = f"x {self.bad} refs/heads/x {self.there()}"
        done = self.run_in(self.clone, "/bin/sh", self.hook, "origin", self.remote, text=line, PATH=f"{self.clone}:.")
        self.assert_blocked(done, "PATH names no folder outside of the work tree")


class SignalTest(Case):
    def test_a_signal_ends_the_reviewer_too(self) -> None:
        line = f"x {self.commit('second', 'old = 2')} refs/heads/x {self.there()}\n"
        noted = os.path.join(self.root, "pid")
        self.git("config", "verdict.reviewer", f"echo $$ >{shlex.quote(noted)}; exec sleep 300")
        for number, status in ((signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)):
            with self.subTest(number):
                process = subprocess.Popen(
                    [self.hook, "origin", "../remote.git"],
                    cwd=self.clone,
                    env=self.environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                self.addCleanup(process.kill)
                assert process.stdin is not None
                process.stdin.write(line.encode())
                process.stdin.close()
                while process.poll() is None and not (os.path.exists(noted) and read(noted).endswith(b"\n")):
                    time.sleep(0.01)
                reviewer = int(read(noted))
                self.addCleanup(end, reviewer)
                process.send_signal(number)
                self.assertEqual(process.wait(60), status)  # and not only when the reviewer ends by itself
                self.assertFalse(end(reviewer), "the reviewer was left behind")
                os.remove(noted)
                self.assertEqual(os.listdir(self.temporary), [])


class PersonTest(Case):
    """That a person can decide, where the reviewer does not."""

    def setUp(self) -> None:
        super().setUp()
        self.git("config", "verdict.reviewer", "echo perhaps")
        self.pushed = self.commit("second", "old = 2\n")

    def decide(self, verdict: str) -> str:
        """Write the report where the hook says, as it says; its path."""
        path = os.path.join(self.root, "change.diff")
        said = self.try_git("-c", f"verdict.saveDiff={path}", "push", "origin", "main").said
        told = re.search(r"A person who has read it decides .* the line '(.*)', and stands in (.*)\n", said)
        assert told is not None, said
        self.assertEqual(told[1], f"===VERDICT=== APPROVE {diff_token(read(path))}")
        return write(told[2], f"A. Person: the doubt is about a test.\n\n{told[1].replace(APPROVE, verdict)}\n")

    def test_by_a_report_for_this_diff(self) -> None:
        done = self.push("origin", "main")
        self.assert_blocked(done, r"\(status 4\); a person can decide: git -c verdict.saveDiff=FILE push ... shows how")
        path = self.decide(APPROVE)
        line = f"x {self.pushed} refs/heads/main {self.there()}"
        self.assertIn(f"verdict pre-push: refs/heads/main: {path}\n", self.run_hook(line).said)
        self.assert_pushed(self.push("origin", "main"), "refs/heads/main", self.pushed)
        self.assertTrue(os.path.exists(path), "it stays, as the trail")
        self.commit("third", "old = 3\n")
        self.assert_blocked(self.push("origin", "main"), r"not approved \(status 4\)")

    def test_a_report_that_does_not_approve(self) -> None:
        path = self.decide("REQUEST_CHANGES")
        self.git("config", "verdict.reviewer", 'sh "$HOME/reviewer.sh"')
        self.assert_blocked(self.push("origin", "main"), r"not approved \(status 3\)")
        write(path, "===VERDICT=== APPROVE 0123456789abcdef\n")
        self.assert_blocked(self.push("origin", "main"), r"not approved \(status 4\)")
        self.assertEqual(self.prompts(), [])
        os.remove(path)
        self.assertEqual(self.push("origin", "main").status, 0)

    def test_from_a_linked_worktree_and_with_stored_reports(self) -> None:
        self.decide(APPROVE)
        tree = os.path.join(self.root, "tree")
        self.git("worktree", "add", "-q", "--detach", tree)
        self.git("config", "--unset", "verdict.reviewer")
        self.git("config", "verdict.report", "no-such.txt")
        self.assert_pushed(self.push("origin", "HEAD:main", cwd=tree), "refs/heads/main", self.pushed)


class SetUpTest(Case):
    """The commands at the head of the hook."""

    def setUp(self) -> None:
        super().setUp()
        with open(self.hook, encoding="utf-8") as file:
            lines = re.findall(r"^#   (\S.*)", file.read().partition("\nset -u")[0], re.MULTILINE)
        self.assertRegex(lines[0], r"\Agit clone <this repository> ~/verdict-contract\Z")
        self.assertRegex(lines[-1], r"\Agit config verdict.reviewer ")
        self.commands = "\n".join(lines[1:-1])
        os.symlink("tools", os.path.join(self.root, "verdict-contract"))
        shutil.rmtree(os.path.join(self.clone, ".git", "hooks"))
        self.commit("bad", "BUG\n")

    def test_they_put_the_hook_where_git_runs_it(self) -> None:
        self.git("worktree", "add", "-q", "--detach", os.path.join(self.root, "tree"))
        below = os.path.join(self.clone, "below")
        os.mkdir(below)
        for place in (self.clone, below, os.path.join(self.root, "tree")):
            with self.subTest(place):
                shutil.rmtree(os.path.join(self.clone, ".git", "hooks"), ignore_errors=True)
                done = self.run_in(place, "sh", "-c", self.commands)
                self.assertEqual((done.status, done.said), (0, ""))
                self.assert_blocked(self.push("origin", "HEAD:main", cwd=place), r"not approved \(status 3\)")
        self.assertNotEqual(self.run_in(self.clone, "sh", "-c", self.commands).status, 0, "a hook that is there stays")

    def test_they_say_where_git_looks_elsewhere_and_change_nothing_there(self) -> None:
        everywhere = os.path.join(self.root, "hooks of all")
        os.mkdir(everywhere)
        self.git("config", "--global", "core.hooksPath", everywhere)
        done = self.run_in(self.clone, "sh", "-c", self.commands)
        self.assertEqual((done.status, done.said), (0, "core.hooksPath is set: git looks for hooks elsewhere\n"))
        self.assertEqual(os.listdir(everywhere), [])


if __name__ == "__main__":
    testing.main()
