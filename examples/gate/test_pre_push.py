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
from types import SimpleNamespace
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, TOP)
import test_verdict_contract as testing
from verdict_contract import APPROVE, REQUEST_CHANGES, diff_token

SHARED = ("verdict_contract.py", "verdict_check.py")
TOOLS = ("review_gate.py", "final_message.py", "reviewer_process.py", "change_diff.py")
WHO = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
ZERO = "0" * 40

# Approves what holds no BUG, keeps each prompt that it was given, and reads its stdin to the end.
REVIEWER = """tee "$LOG/$$" | awk '/BUG/ { bad = 1 } sub(/^===VERDICT=== <value> /, "") { token = $0 }
    END { print "===VERDICT===", bad ? "REQUEST_CHANGES" : "APPROVE", token }'"""

# The commits that are there from the start: name, parents, message, and the one file that differs from the first parent.
COMMITS = (
    ("first", (), "first", "a.py", "old = 1\n"),
    ("amended", (), "first in other words", "a.py", "old = 1\n"),
    ("apart", (), "apart", "a.py", "old = 3\n"),
    ("good", ("first",), "good words here", "a.py", "old = 2\n"),
    ("reworded", ("first",), "other words", "a.py", "old = 2\n"),
    ("better", ("good",), "better", "a.py", "old = 3\n"),
    ("bad", ("first",), "bad words here", "a.py", "BUG\n"),
    ("undone", ("bad",), "undone", "a.py", "old = 1\n"),
    ("added", ("first",), "added", "b.py", "kept = 1\n"),
    ("other", ("first",), "other", "c.py", "other = 1\n"),
    ("one", ("added", "other"), "a merge", "c.py", "other = 1\n"),
    ("two", ("other", "added"), "the same merge", "b.py", "kept = 1\n"),
)


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


def link(target: str, path: str) -> None:
    """Make the path, whatever it was, a link to the target."""
    if os.path.lexists(path):
        os.remove(path)
    os.symlink(target, path)


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


def install(folder: str) -> str:
    """Copy the tools into a folder, laid out as in this repository; the path of the hook there."""
    gate = os.path.join(folder, "examples", "gate")
    os.makedirs(gate)
    for name in SHARED:
        shutil.copyfile(os.path.join(TOP, name), os.path.join(folder, name))
    for name in (*TOOLS, "pre-push"):
        shutil.copyfile(os.path.join(HERE, name), os.path.join(gate, name))
    os.chmod(os.path.join(gate, "pre-push"), 0o755)
    return os.path.join(gate, "pre-push")


def line(new: str, ref: str = "refs/heads/new", old: str = ZERO) -> str:
    """What git tells the hook of a ref; a new one if nothing else is said."""
    return f"x {new} {ref} {old}"


@testing.NEEDS_GIT
@testing.NEEDS_PROGRAMS
class Case(testing.Scratch):
    """A clone with COMMITS, a bare remote with the first as main, and the hook linked in from tools elsewhere."""

    made: Optional[str] = None  # the same for every test, so made once, and copied but for the tools
    at: SimpleNamespace  # the ids of COMMITS

    def setUp(self) -> None:
        super().setUp()
        if Case.made is None:
            Case.made = os.path.realpath(tempfile.mkdtemp())
            unittest.addModuleCleanup(shutil.rmtree, Case.made)
            self.place(os.path.join(Case.made, "it's r"))
            self.make()
        self.place(os.path.join(self.folder, "it's r"))
        shutil.copytree(os.path.join(Case.made, "it's r"), self.root, symlinks=True)

    def place(self, root: str) -> None:
        """Take a folder for the root of all that a test uses."""
        self.root = root
        self.remote, self.clone, self.log, self.temporary = (
            os.path.join(root, name) for name in ("remote.git", "clone", "prompts", "tmp")
        )
        made = Case.made or ""
        self.hook = os.path.join(made, "it's", "examples", "gate", "pre-push")
        path = os.path.join(made, "bin") + os.pathsep + os.environ["PATH"]
        self.environment = testing.clean_environment(PATH=path, HOME=root, LOG=self.log, TMPDIR=self.temporary, **WHO)

    def make(self) -> None:
        """Fill the root folder. Nothing in it names the root, so that a copy works too."""
        python = " ".join(map(shlex.quote, testing.PYTHON))
        script(os.path.join(Case.made or "", "bin", "python3"), f'exec {python} "$@"')
        install(os.path.join(Case.made or "", "it's"))
        for folder in (self.root, self.log, self.temporary):
            os.mkdir(folder)
        for folder, kind in ((self.clone, "--quiet"), (self.remote, "--bare")):
            self.git("init", "-q", "-b", "main", "--template=", kind, folder, cwd=self.root)
        ids: Dict[str, str] = {}
        for name, parents, message, file, text in COMMITS:
            ids[name] = self.commit([ids[parent] for parent in parents], {file: text}, message, f"refs/made/{name}")
        Case.at = SimpleNamespace(**ids)
        self.git("repack", "-a", "-d", "-q")
        shutil.rmtree(os.path.join(self.remote, "objects"))
        shutil.copytree(os.path.join(self.clone, ".git", "objects"), os.path.join(self.remote, "objects"))
        self.git("update-ref", "refs/heads/main", self.at.first)
        self.set_there("refs/heads/main", self.at.first)
        self.git("remote", "add", "origin", "../remote.git")
        self.git("config", "verdict.reviewer", REVIEWER)
        os.mkdir(os.path.join(self.clone, ".git", "hooks"))
        os.symlink(self.hook, os.path.join(self.clone, ".git", "hooks", "pre-push"))

    def tearDown(self) -> None:
        self.assertEqual(os.listdir(self.temporary), [], "the hook leaves nothing in the temporary folder")

    def commit(
        self, parents: List[str], files: Dict[str, str], message: str = "x", ref: str = "refs/x", cwd: str = ""
    ) -> str:
        """Write a commit of the first parent's files and these, and set the ref to it; its id. No work tree changes."""
        who = "committer a <a@example.org> 1000000000 +0000"
        text = f"reset {ref}\ncommit {ref}\nmark :1\n{who}\ndata {len(message)}\n{message}\n"
        text += "".join(f"{how} {parent}\n" for how, parent in zip(("from", "merge"), parents))
        text += "".join(f"M 100644 inline {name}\ndata {len(new)}\n{new}\n" for name, new in files.items())
        return self.git("fast-import", "--quiet", "--force", cwd=cwd, text=f"{text}\nget-mark :1\n")

    def run_in(self, cwd: str, *command: str, text: str = "", **variables: str) -> Done:
        """A program that is not git, in a folder."""
        environment = {**self.environment, **variables}
        done = testing.process(*command, cwd=cwd, env=environment, input=text.encode(), stderr=subprocess.STDOUT)
        return Done(done.returncode, done.stdout.decode("utf-8", "backslashreplace"))

    def git(self, *arguments: str, cwd: str = "", text: str = "", **variables: str) -> str:
        environment = {**self.environment, **variables}
        return testing.git(cwd or self.clone, *arguments, env=environment, input=text.encode())

    def set_there(self, ref: str, commit: str) -> None:
        """Set a ref of the remote."""
        self.git("update-ref", ref, commit, cwd=self.remote)

    def try_git(self, *arguments: str, cwd: str = "", **variables: str) -> Done:
        """How git ended; what it said where it failed."""
        try:
            return Done(0, self.git(*arguments, cwd=cwd, **variables))
        except AssertionError as error:
            return Done(1, str(error))

    def push(self, *arguments: str, cwd: str = "", **variables: str) -> Done:
        return self.try_git("push", *arguments, cwd=cwd, **variables)

    def run_hook(self, *lines: str, arguments: Sequence[str] = ("origin", "../remote.git"), **variables: str) -> Done:
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

    def assert_passes(self, done: Done) -> None:
        self.assertEqual(done.status, 0, done.said)

    def saving(self, name: str = "change.diff") -> Dict[str, str]:
        """The variable by which `git -c verdict.saveDiff=FILE` tells its hook of the file."""
        return {"GIT_CONFIG_PARAMETERS": f"'verdict.saveDiff=~/{name}'"}

    def saved(self, done: Done, ref: str = "") -> str:
        """The diff that the hook would have had reviewed, from a run in which it was saved."""
        self.assert_blocked(done, f"{ref}: the diff was saved")
        return read(os.path.join(self.root, "change.diff")).decode()

    def saved_push(self, *arguments: str) -> str:
        return self.saved(self.push(*arguments, **self.saving()))

    def report(self, token: str, name: str = "report.txt") -> str:
        """Store an approval with this token, and have the hook look at it."""
        path = write(os.path.join(self.root, name), f"Read all of it.\n\n===VERDICT=== {APPROVE} {token}\n")
        self.git("config", "--unset-all", "verdict.reviewer")
        self.git("config", "verdict.report", path)
        return path


class PushTest(Case):
    """Pushes, and what of them is reviewed. Where the diff alone matters, it is saved and not reviewed."""

    def test_a_finding_blocks_and_an_approval_is_pushed(self) -> None:
        """Both given in words, which git tells the hook as they are."""
        name = f"refs/heads/{self.at.good}"
        done = self.push("origin", f"{self.at.undone}^{{/bad words}}:{name}")
        self.assert_blocked(done, rf"{name}: not approved \(status 3\)\n")
        self.assertIsNone(self.there(name))
        (prompt,) = self.prompts()
        self.assertIn("\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-old = 1\n+BUG\n", prompt)
        done = self.push("origin", f"{self.at.better}^{{/good words}}:main")
        self.assert_pushed(done, "refs/heads/main", self.at.good)
        self.assertEqual([2, 1], [len(self.prompts()), sum("\n+old = 2\n" in prompt for prompt in self.prompts())])

    def test_a_reviewer_that_does_not_approve_in_due_form_blocks(self) -> None:
        shows = r"\(status 4\); a person can decide: git -c verdict\.saveDiff=FILE push \.\.\. shows how"
        for reviewer, how in (("true", shows), ("kill -9 $$", r"\(status 1\)")):
            with self.subTest(reviewer):
                self.git("config", "verdict.reviewer", reviewer)
                self.assert_blocked(self.run_hook(line(self.at.good)), f"not approved {how}\n")

    def test_a_reviewer_that_looks_like_an_option(self) -> None:
        self.git("config", "verdict.reviewer", "--help")
        self.git("config", "--add", "verdict.reviewer", "--print-prompt")
        self.assert_blocked(self.run_hook(line(self.at.good)), r"not approved \(status 1\)")

    def test_deletions_and_files_that_stay_as_they_are_need_no_review(self) -> None:
        self.git("config", "verdict.reviewer", "exit 1")
        self.set_there("refs/heads/old", self.at.first)
        done = self.push("origin", ":old", f"{self.at.first}:refs/heads/again", f"+{self.at.amended}:main")
        self.assert_pushed(done, "refs/heads/main", self.at.amended)
        self.assertEqual(self.there("refs/heads/again"), self.at.first)
        self.assertIsNone(self.there("refs/heads/old"))

    def test_a_new_branch_shows_what_it_adds_to_the_default_branch(self) -> None:
        self.set_there("refs/heads/main", self.at.bad)
        done = self.push("origin", f"{self.at.better}:refs/heads/topic")
        self.assert_pushed(done, "refs/heads/topic", self.at.better)
        (prompt,) = self.prompts()
        self.assertIn("\n-old = 1\n+old = 3\n", prompt)

    def test_one_bad_ref_among_several_blocks_all(self) -> None:
        new = {"one": self.at.added, "two": self.at.bad, "zwei": self.at.good}
        trace = os.path.join(self.root, "trace")
        refs = [f"{commit}:refs/heads/{name}" for name, commit in new.items()]
        done = self.push("origin", *refs, ":main", GIT_TRACE=trace)
        self.assert_blocked(done, "refs/heads/two: not approved")
        self.assertEqual(
            1, read(trace).count(b"built-in: git ls-remote"), "the remote is asked once, as for a password"
        )
        self.assertEqual([None] * 3, [self.there(f"refs/heads/{name}") for name in new])
        self.assertEqual(self.there(), self.at.first)
        shown = sorted(re.findall(r"\n\+(\w.*)\n", prompt) for prompt in self.prompts())
        self.assertEqual(shown, [["BUG"], ["kept = 1"]], "each on its own diff")

    def test_a_forced_push_shows_what_the_remote_loses(self) -> None:
        self.set_there("refs/heads/main", self.at.added)
        done = self.push("--force", "origin", f"{self.at.other}:main")
        self.assert_pushed(done, "refs/heads/main", self.at.other)
        (prompt,) = self.prompts()
        self.assertIn("\n-kept = 1\n", prompt)
        self.assertIn("\n+other = 1\n", prompt)

    def test_a_step_back_to_a_commit_in_between_is_reviewed(self) -> None:
        bad = self.at.bad
        self.set_there("refs/heads/main", self.at.undone)
        self.assert_blocked(self.push("--force", "origin", f"{bad}:main"), "not approved")
        self.assert_pushed(self.push("origin", f"{bad}:refs/heads/known"), "refs/heads/known", bad)  # as is said

    def test_tags(self) -> None:
        self.git("tag", "-a", "-m", "annotated", "good", self.at.good)
        self.git("tag", "-a", "-m", "tag of a tag", "better", "good")
        done = self.push("origin", "good", "better")
        self.assert_pushed(done, "refs/tags/better^{commit}", self.at.good)
        self.assertEqual(len(self.prompts()), 1)
        self.git("tag", "-f", "good", self.at.bad)
        self.assert_blocked(self.push("--force", "origin", "good"), "refs/tags/good: not approved")

    def test_one_diff_is_reviewed_once_and_names_are_not_run(self) -> None:
        name = "$(touch${IFS}ran)`touch${IFS}ran`;'`touch${IFS}ran`;\";touch${IFS}ran;#" + os.fsdecode(b"\xe2\x80\xae")
        self.git("update-ref", f"refs/heads/{name}", self.at.good)
        self.git("tag", "v1", self.at.good)
        self.assert_passes(self.push("origin", name, f"{name}:main", "v1"))
        for ref in (f"refs/heads/{name}", "refs/heads/main", "refs/tags/v1"):
            self.assertEqual(self.there(ref), self.at.good)
        self.assertEqual(len(self.prompts()), 1)
        self.git("update-ref", f"refs/heads/{name}", self.at.bad)
        done = self.push("--force", "origin", name)
        self.assert_blocked(done, f"the ref for {self.at.bad}: not approved")
        found = [name for folder, _, names in os.walk(self.root) for name in names if name == "ran"]
        self.assertEqual(found, [])

    def test_a_new_ref_without_something_to_compare_with_blocks(self) -> None:
        self.set_there("refs/heads/main", self.at.one)
        for commit, why in (
            (self.at.apart, "no merge bases, where"),
            (self.at.two, "2 merge bases, where one is needed"),
        ):
            done = self.run_hook(line(commit))
            self.assert_blocked(done, "refs/heads/new: it cannot be compared")
            self.assertIn(why, done.said)
        self.git("symbolic-ref", "HEAD", "refs/heads/none", cwd=self.remote)
        self.set_there("refs/heads/x/HEAD", self.at.first)
        self.assert_blocked(self.push("origin", f"{self.at.good}:refs/heads/new"), "new, and the remote has no default")
        self.assertIsNone(self.there("refs/heads/new"))
        self.assert_passes(self.run_hook(line(self.at.two, "refs/heads/main", self.at.one)))

    def test_a_new_ref_is_compared_with_the_default_branch_that_the_remote_has_now(self) -> None:
        self.git("update-ref", "refs/remotes/origin/main", self.at.bad)
        self.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
        self.set_there("refs/heads/x/HEAD", self.at.bad)  # is not the default branch
        done = self.push("origin", f"{self.at.bad}:refs/heads/new", default=self.at.bad, **self.saving())
        self.assertIn("\n+BUG\n", self.saved(done))

    def test_what_is_asked_is_the_place_that_is_pushed_to(self) -> None:
        other = os.path.join(self.root, "other.git")
        shutil.copytree(self.remote, other)
        self.set_there("refs/heads/main", self.at.bad)
        self.git("config", "remote.origin.pushurl", other)
        refspec = f"{self.at.bad}:refs/heads/new"
        self.assertIn("\n+BUG\n", self.saved_push("origin", refspec))
        self.assert_pushed(self.push(self.remote, refspec), "refs/heads/new", self.at.bad)

    def test_what_the_remote_has_must_be_here(self) -> None:
        theirs = self.commit([self.at.first], {"a.py": "old = 9\n"}, ref="refs/heads/main", cwd=self.remote)
        new = f"{self.at.good}:refs/heads/new"
        why = "new, and the tip of the remote's default branch is not here: git fetch"
        self.assert_blocked(self.push("origin", new), why)
        done = self.push("--force", "origin", f"{self.at.good}:main")
        self.assert_blocked(done, "what the remote has is not here, or no commit")
        self.assertEqual(self.there(), theirs)
        self.git("fetch", "-q")
        self.assertIn("\n+old = 2\n", self.saved_push("origin", new))
        self.assertEqual(self.prompts(), [])

    def test_a_shallow_clone_blocks(self) -> None:
        cut = write(os.path.join(self.clone, ".git", "shallow"), f"{self.at.good}\n")
        lines = line(self.at.better), line(self.at.better, "refs/heads/main", self.at.good)
        for ref in lines:
            done = self.run_hook(ref)
            self.assert_blocked(done, "it cannot be compared")
            self.assertIn("a shallow clone", done.said)
        os.remove(cut)
        self.assertIn("\n+old = 3\n", self.saved(self.run_hook(*lines, **self.saving())))

    def test_the_first_push_to_a_remote_without_a_branch(self) -> None:
        self.git("init", "-q", "-b", "main", "--template=", "--bare", "empty.git", cwd=self.root)
        main, new = (f"{self.at.bad}:refs/heads/{name}" for name in ("main", "new"))
        done = self.push("../empty.git", main)
        self.assert_blocked(done, "refs/heads/main: new, and the remote has no default branch")
        (advice,) = re.findall(r"git push --no-verify [^,\n]+", done.said)
        words = advice.replace("<first commit>", self.at.first).replace("<name>", "main")
        self.git(*words.replace("<remote>", "../empty.git").split()[1:])
        for refspec in (main, new):
            self.assertIn("\n+BUG\n", self.saved_push("../empty.git", refspec))

    def test_a_push_without_refs_blocks(self) -> None:
        nothing, refuses = (
            "no refs on standard input: there is nothing to push",
            "git refuses this push, which is not a",
        )
        self.assert_blocked(self.push("origin", "main"), nothing)
        self.git("update-ref", "--no-deref", "HEAD", self.at.first)
        self.assert_blocked(self.push("origin", "main"), nothing)
        self.git("symbolic-ref", "HEAD", "refs/heads/main")
        self.git("update-ref", "refs/heads/main", self.at.other)
        self.set_there("refs/heads/main", self.at.added)
        self.assert_blocked(self.push("origin", "main"), f"{refuses} fast-forward: git pull first")
        self.git("update-ref", "refs/remotes/origin/main", self.at.added)
        self.assert_blocked(self.push("origin", "main"), f"{refuses} fast-forward: git pull first")

    def test_a_remote_that_does_not_answer_blocks(self) -> None:
        for url in ("../no-such", "--upload-pack=false"):
            done = self.run_hook(line(self.at.good), arguments=("origin", url))
            self.assert_blocked(done, "HEAD: the remote does not tell")


class ReportTest(Case):
    """Stored reviews instead of reviewers."""

    def test_one_report_is_of_one_diff(self) -> None:
        self.report(diff_token(self.saved_push("origin", f"{self.at.good}:main").encode()))
        main = f"{self.at.reworded}:main"  # the same files
        done = self.push("origin", main, f"{self.at.better}:refs/heads/two")
        self.assert_blocked(done, r"refs/heads/two: not approved \(status 4\)")
        self.assertEqual(self.there(), self.at.first)
        done = self.push("origin", main, f"{self.at.reworded}:refs/heads/same")
        self.assert_pushed(done, "refs/heads/main", self.at.reworded)
        self.assertEqual(self.prompts(), [])

    def test_reports_that_do_not_pass(self) -> None:
        ref = line(self.at.good)
        token = diff_token(self.saved(self.run_hook(ref, **self.saving())).encode())
        path = self.report(token)
        for text, status in ((f"{REQUEST_CHANGES} {token}", 3), (APPROVE, 4)):
            write(path, f"===VERDICT=== {text}")
            self.assert_blocked(self.run_hook(ref), rf"not approved \(status {status}\)")
        self.git("config", "verdict.report", "-")
        self.git("config", "--add", "verdict.report", "--help")
        self.assert_blocked(self.run_hook(ref), r"not approved \(status 1\)")

    def test_several_in_the_home_folder_and_in_the_work_tree(self) -> None:
        main = f"{self.at.good}:main"
        path = self.report(diff_token(self.saved_push("origin", main).encode()))
        self.git("config", "verdict.report", "~/report.txt")
        self.git("config", "--add", "verdict.report", "report.txt")
        self.assert_blocked(self.push("origin", main), r"not approved \(status 1\)")
        shutil.copy(path, os.path.join(self.clone, "report.txt"))
        below = os.path.join(self.clone, "below")
        os.mkdir(below)
        self.assert_pushed(self.push("origin", main, cwd=below), "refs/heads/main", self.at.good)


class SettingsTest(Case):
    def test_neither_or_both(self) -> None:
        gone = line(ZERO)
        self.git("config", "verdict.report", "report.txt")
        self.assert_blocked(self.run_hook(gone), "are both set")
        self.git("config", "verdict.reviewer", "")
        self.assert_blocked(self.run_hook(gone), "verdict.reviewer is set to nothing")
        self.git("config", "--remove-section", "verdict")
        self.assert_blocked(self.run_hook(gone), "set one: .*; or delete this hook")

    def test_several_reviewers_of_whom_all_have_to_approve(self) -> None:
        main = f"{self.at.good}:main"
        done = self.try_git("-c", "verdict.reviewer=false", "push", "origin", main)
        self.assert_blocked(done, r"not approved \(status 1\)")
        self.assertEqual(len(self.prompts()), 1)
        self.git("config", "--unset", "verdict.reviewer")  # then one of two lines, from elsewhere, and one given once
        self.git("config", "-f", os.path.join(self.root, "settings"), "verdict.reviewer", f"true\n{REVIEWER}")
        self.git("config", "include.path", "../../settings")
        done = self.try_git("-c", f"verdict.reviewer={REVIEWER}", "push", "origin", main)
        self.assert_pushed(done, "refs/heads/main", self.at.good)
        self.assertEqual(len(self.prompts()), 3)

    def test_options_of_the_gate(self) -> None:
        picture = line(self.commit([self.at.first], {"a.png": "\0"}))
        self.assert_blocked(self.run_hook(picture), r"not approved \(status 2\)")
        self.git("config", "verdict.option", "--allow-binary=*.png")
        self.git("config", "--add", "verdict.option", "--retries=0")
        self.assert_passes(self.run_hook(picture))

    def test_a_reviewer_that_the_tree_chooses(self) -> None:
        self.git("config", "--unset", "verdict.reviewer")
        write(os.path.join(self.clone, "settings"), "[verdict]\nreviewer = \"echo '===VERDICT=== APPROVE'\"\n")
        os.symlink("../settings", os.path.join(self.clone, ".git", "settings"))
        for path in ("../settings", "settings"):
            self.git("config", "include.path", path)
            self.assert_blocked(self.run_hook(line(ZERO)), "lie in the repository that is pushed")

    def test_settings_that_git_cannot_read(self) -> None:
        write(os.path.join(self.clone, ".git", "config"), "[verdict\n")
        self.assert_blocked(self.run_hook(line(ZERO)), "git does not tell where the repository is")

    def test_nothing_to_save(self) -> None:
        for new in (f"{self.at.first}:refs/heads/again", ":main"):
            self.assert_blocked(self.push("origin", new, **self.saving()), "there is no diff to save")
        done = self.push("origin", f"{self.at.good}:main", **self.saving("no/folder/x"))
        self.assert_blocked(done, "cannot be saved")


class DiffTest(Case):
    """That what is reviewed is what change_diff.py makes of the objects that are pushed."""

    def test_it_is_that_of_the_tool_beside_the_hook(self) -> None:
        new = self.commit([self.at.first], {"a.py": "old = 2\n", ".gitattributes": "* -diff\n"})
        write(os.path.join(self.clone, ".gitattributes"), "* -diff\n")
        tool = os.path.join(os.path.dirname(self.hook), "change_diff.py")
        made = self.run_in(self.clone, *testing.PYTHON, tool, self.at.first, new).said
        self.assertIn("\n+old = 2\n", made)
        for refspec in (f"{new}:main", f"{new}:refs/heads/new"):
            self.assertEqual(self.saved_push("origin", refspec), made)

    def test_objects_that_are_replaced_here_are_pushed_as_they_are(self) -> None:
        for suffix in ("", ":a.py"):
            self.git("replace", f"{self.at.bad}{suffix}", f"{self.at.good}{suffix}")
        self.assertIn("\n+BUG\n", self.saved_push("origin", f"{self.at.bad}:main"))
        for name, commit in (("marked", self.at.bad), ("other", self.at.good)):
            self.git("tag", "-a", "-m", "x", name, commit)
        self.git("replace", "marked", "other")
        self.assertIn("\n+BUG\n", self.saved_push("origin", "marked"))


class RefLinesTest(Case):
    """The hook run with ref lines as git writes them, and as it does not."""

    def test_lines_that_git_does_not_write(self) -> None:
        old = self.at.first
        odd = (
            "",
            old,
            f"x {old[:-1]} refs/heads/x {old}",
            f"x {old} refs/heads/x",
            f"x {old} refs/heads/x {old} ",
            f"x {old} heads/x {old}",
            f"x {old} refs/ {old}",
            f"x HEAD refs/heads/x {old}",
            f"x {old} refs/heads/x --help",
            f"x\t{old}\trefs/heads/x\t{old}",
            f"x {old.upper()} refs/heads/x {old}x",
        )
        for text in odd:
            with self.subTest(text):
                self.assert_blocked(self.run_hook(text), "is no ref that git pushes")
        done = self.run_hook(line(self.at.first, "refs/heads/main", self.at.amended), text)
        self.assert_blocked(done, "is no ref that git pushes")

    def test_the_last_line_counts_and_what_comes_before_the_ids_cannot_stand_for_them(self) -> None:
        forged = f"{line(self.at.first)} {self.at.bad} refs/heads/y {self.at.first}"
        text = f"{line(ZERO)}\n{forged}"  # without an end
        done = self.run_in(self.clone, self.hook, "origin", "url", text=text, **self.saving())
        self.assertIn("\n+BUG\n", self.saved(done, "refs/heads/y"))

    def test_what_is_no_commit_here_blocks(self) -> None:
        blob, unknown = self.git("rev-parse", f"{self.at.first}:a.py"), "1" * 40
        self.git("tag", "-a", "-m", "x", "tree", f"{self.at.first}^{{tree}}")
        self.git("tag", "blob", blob)
        for name in ("blob", "tree"):
            self.assert_blocked(self.push("origin", name), f"refs/tags/{name}: it is no commit")
        self.assert_blocked(self.run_hook(line(unknown)), "it is no commit")
        for old in (blob, unknown):
            done = self.run_hook(line(self.at.good, "refs/tags/x", old))
            self.assert_blocked(done, "refs/tags/x: what the remote has is not here, or no commit")

    def pre_commit(self, start: str, end: str, *lines: str, arguments: Sequence[str] = (), **more: str) -> Done:
        names = {"FROM_REF": start, "TO_REF": end, "REMOTE_BRANCH": "refs/heads/main", "REMOTE_URL": "../remote.git"}
        variables = {f"PRE_COMMIT_{name}": more.pop(name, value) for name, value in names.items()}
        return self.run_hook(*lines, arguments=arguments, **variables, **more)

    def test_under_pre_commit_the_remote_says_what_it_has(self) -> None:
        first, bad = self.at.first, self.at.bad
        self.assert_passes(self.pre_commit(first, self.at.good))
        self.assertEqual(len(self.prompts()), 1)
        for start, name in ((bad, "main"), ("", "main"), (bad, "new")):  # the change can choose it
            done = self.pre_commit(start, bad, REMOTE_BRANCH=f"refs/heads/{name}", **self.saving())
            self.assertIn("\n+BUG\n", self.saved(done, f"refs/heads/{name}"))
        self.set_there("refs/heads/main", bad)
        self.assert_passes(self.pre_commit(first, bad))  # nothing changes there
        self.assert_blocked(self.pre_commit(first, bad, **self.saving()), "there is no diff to save")

    def test_what_pre_commit_does_not_tell_or_tells_wrong_blocks(self) -> None:
        first = self.at.first
        for name in ("no-such-ref", f"{first}:a.py", "--all"):
            self.assert_blocked(self.pre_commit(first, name), "refs/heads/main: it is no commit")
        good = self.at.good
        self.assert_blocked(self.pre_commit(first, good, REMOTE_BRANCH=""), "are not set")
        self.assert_blocked(self.pre_commit(first, good, REMOTE_URL=""), "are not set")
        self.assert_blocked(self.pre_commit(first, good, REMOTE_URL="../no-such"), "the remote does not tell")
        self.assert_blocked(self.pre_commit(first, ""), "no refs on standard input")
        # A hook that pre-commit runs may itself push: then git gives two arguments, and the lines are what counts.
        ref, arguments = line(self.at.bad, "refs/heads/x", first), ("origin", "../remote.git")
        done = self.pre_commit(first, first, ref, arguments=arguments, **self.saving())
        self.assertIn("\n+BUG\n", self.saved(done, "refs/heads/x"))

    def test_each_shell_that_is_here(self) -> None:
        options = {"sh": [], "dash": [], "bash": ["--posix"], "busybox": ["sh"], "ksh": [], "zsh": ["--emulate", "sh"]}
        here = {os.path.realpath(shutil.which(name) or ""): name for name in options if shutil.which(name)}
        for path, name in here.items():  # sh is often one of the others
            for commit, status in ((self.at.good, 0), (self.at.bad, 1)):
                with self.subTest(path, commit=commit):
                    command = [name, *options[name], self.hook, "origin", "url"]
                    done = self.run_in(self.clone, *command, text=f"{line(commit, old=self.at.first)}\n")
                    self.assertEqual(done.status, status, done.said)


class ToolsTest(Case):
    """That what judges is Python, works, and is not part of what is judged.

    The tools are looked at before any ref, so that most pushes here are of a deletion, which passes.
    """

    def setUp(self) -> None:
        super().setUp()
        self.tools = os.path.join(self.root, "tools")
        self.hook = install(self.tools)
        self.hooks = os.path.join(self.clone, ".git", "hooks")
        self.linked = os.path.join(self.hooks, "pre-push")
        link(self.hook, self.linked)
        self.set_there("refs/heads/old", self.at.first)

    def delete(self, cwd: str = "", **variables: str) -> Done:
        """A push of a deletion."""
        return self.push("--dry-run", "origin", ":old", cwd=cwd, **variables)

    def assert_refused(self, cwd: str = "", why: str = "", **variables: str) -> None:
        done = self.delete(cwd, **variables)
        self.assert_blocked(done, f"{why}lie in the repository that is pushed")

    def test_a_python_that_does_nothing_or_is_too_old_is_passed_over(self) -> None:
        folder = os.path.join(self.root, "few")
        os.mkdir(folder)
        for name in ("git", "mktemp", "cat", "cmp", "mv", "rm", "sh", "tee", "awk"):
            os.symlink(shutil.which(name) or "", os.path.join(folder, name))
        stubs = {"python3": "exit 0", "python": "echo False", "py": f"shift; exec '{sys.executable}' \"$@\""}
        for name, body in stubs.items():
            script(os.path.join(folder, name), body)
        lines = [line(self.at.good, f"refs/heads/{name}", self.at.first) for name in ("a", "b")]
        self.assert_passes(self.run_hook(*lines, PATH=folder))
        os.remove(os.path.join(folder, "py"))
        self.assert_blocked(self.run_hook(*lines, PATH=folder), "none of python3, python and py -3")

    def test_a_tool_that_is_missing_empty_or_broken(self) -> None:
        tool = os.path.join(self.tools, "examples", "gate", "review_gate.py")
        whole = read(tool).decode()
        for text in ("", "raise SystemExit(0)\n", whole.partition("\nif __name__")[0], "syntax error\n"):
            write(tool, text)
            self.assert_blocked(self.run_hook(line(ZERO)), "review_gate.py is not whole")
        write(tool, f"syntax error\n{whole}")
        self.assert_blocked(self.run_hook(line(self.at.good)), r"not approved \(status 1\)")
        os.remove(tool)
        self.assert_blocked(self.run_hook(line(ZERO)), "review_gate.py is neither beside")

    def test_tools_of_the_tree_that_is_pushed(self) -> None:
        vendor = os.path.join(self.clone, "vendor")
        link(install(vendor), self.linked)
        self.assert_refused()
        shutil.rmtree(vendor)
        for path in (*(os.path.join(HERE, name) for name in TOOLS), *(os.path.join(TOP, name) for name in SHARED)):
            shutil.copy(path, self.clone)
        os.remove(self.linked)
        shutil.copy(self.hook, self.linked)
        self.assert_refused()

    def test_tools_that_are_links_into_the_tree_that_is_pushed(self) -> None:
        vendor = os.path.join(self.clone, "vendor")
        install(vendor)
        os.makedirs(os.path.join(self.root, "other", ".git"))
        self.assert_passes(self.delete(CDPATH=os.path.join(self.root, "other")))
        for name in (*(f"examples/gate/{name}" for name in TOOLS), *SHARED):
            with self.subTest(name):
                link(os.path.join(vendor, name), os.path.join(self.tools, name))
                self.assert_refused()
                os.remove(os.path.join(self.tools, name))
                shutil.copy(os.path.join(vendor, name), os.path.join(self.tools, name))

    def test_tools_of_another_work_tree_of_the_repository(self) -> None:
        tree = os.path.join(self.root, "tree")
        self.git("worktree", "add", "-q", "-b", "topic", tree)
        link(install(os.path.join(tree, "vendor")), self.linked)
        self.assert_refused()
        shutil.move(os.path.join(tree, "vendor"), os.path.join(self.clone, "vendor"))
        link(os.path.join(self.clone, "vendor", "examples", "gate", "pre-push"), self.linked)
        self.assert_refused(tree)

    def test_tools_anywhere_below_a_work_tree(self) -> None:
        self.git("init", "-q", cwd=self.tools)
        self.git("add", "-A", cwd=self.tools)
        self.git("commit", "-q", "-m", "tools", cwd=self.tools)
        self.git("worktree", "add", "-q", "-b", "topic", os.path.join(self.root, "tree"))
        bare = ("init", "-q", "--bare", "--template=", "../tree/bare")  # content like any other, for git to track
        clone = ("clone", "-q", self.tools)
        submodule = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../tools", "submodule")
        rows: Tuple[Tuple[str, Tuple[str, ...], str, bool], ...] = (
            ("a folder", (), "folder", True),
            ("a clone", (*clone, "nested"), "nested", True),
            ("a folder in a clone", (), "nested/folder", True),
            ("a clone in a clone", (*clone, "nested/nested"), "nested/nested", True),
            ("a submodule", submodule, "submodule", True),
            ("a clone in a linked worktree", (*clone, "../tree/nested"), "../tree/nested", True),
            ("a repository in a linked worktree", bare, "../tree/bare/folder", True),
            ("a clone beside it", (*clone, "../clone-beside"), "../clone-beside", False),
            ("a folder beside it", (), "../clone too", False),
        )
        for name, command, place, refused in rows:
            with self.subTest(name):
                if command:
                    self.git(*command)
                folder = os.path.normpath(os.path.join(self.clone, place))
                if not os.path.isdir(folder):
                    install(folder)
                link(os.path.join(folder, "examples", "gate", "pre-push"), self.linked)
                if refused:
                    self.assert_refused()
                else:
                    self.assert_passes(self.delete())

    def test_tools_of_a_main_work_tree_elsewhere(self) -> None:
        apart, tree = os.path.join(self.root, "apart.git"), os.path.join(self.root, "tree")
        self.git("worktree", "add", "-q", "-b", "topic", tree)
        self.git("init", "-q", f"--separate-git-dir={apart}")
        link(install(os.path.join(self.clone, "vendor")), os.path.join(apart, "hooks", "pre-push"))
        self.assert_refused(tree)
        os.remove(os.path.join(self.clone, ".git"))
        self.git("config", "core.worktree", self.clone, cwd=apart)
        self.assert_refused(tree)

    def test_tools_beside_the_work_trees_of_a_bare_repository(self) -> None:
        project = os.path.join(self.root, "project")
        bare, tree = os.path.join(project, ".bare"), os.path.join(project, "tree")
        shutil.copytree(os.path.join(self.clone, ".git"), bare, symlinks=True)
        self.git("config", "core.bare", "true", cwd=bare)
        self.git("remote", "set-url", "origin", self.remote, cwd=bare)
        write(os.path.join(project, ".git"), "gitdir: ./.bare\n")
        self.git("worktree", "add", "-q", "-b", "topic", tree, cwd=bare)
        linked = os.path.join(bare, "hooks", "pre-push")
        link(install(os.path.join(project, "tools")), linked)
        done = self.push("origin", f"{self.at.good}:refs/heads/topic", cwd=tree)
        self.assert_pushed(done, "refs/heads/topic", self.at.good)
        link(install(os.path.join(tree, "tools")), linked)
        self.assert_refused(tree)

    def test_tools_of_a_work_tree_that_only_a_variable_names(self) -> None:
        vendor = install(os.path.join(self.clone, "vendor"))
        apart = os.path.join(self.root, "apart.git")
        shutil.move(os.path.join(self.clone, ".git"), apart)
        link(vendor, os.path.join(apart, "hooks", "pre-push"))
        self.assert_refused(GIT_DIR=apart, GIT_WORK_TREE=self.clone)

    def test_tools_in_the_git_folder(self) -> None:
        folder = os.path.join(self.clone, ".git")
        os.remove(self.linked)
        shutil.copy(self.hook, self.linked)
        for name in (*(f"examples/gate/{name}" for name in TOOLS), "verdict_check.py"):
            shutil.copy(os.path.join(self.tools, name), folder)
        contract, name = (
            os.path.join(self.tools, "verdict_contract.py"),
            os.path.join(self.clone, "verdict_contract.py"),
        )
        os.mkdir(name[: -len(".py")])
        shutil.copy(contract, os.path.join(name[: -len(".py")], "__init__.py"))  # a package is not taken
        self.assert_blocked(self.delete(), "verdict_contract.py is neither beside")
        shutil.copy(contract, name)
        self.assert_refused()
        link(contract, name)  # a change can replace the link
        self.assert_refused()
        shutil.copy(contract, folder)
        done = self.push("origin", f"+{self.at.amended}:main")
        self.assert_pushed(done, "refs/heads/main", self.at.amended)

    def test_the_link_of_the_hook_in_the_tree(self) -> None:
        why, inner = "its link, .* ", os.path.join(self.clone, ".githooks")
        os.mkdir(inner)
        link(self.hook, os.path.join(inner, "pre-push"))
        self.git("config", "core.hooksPath", ".githooks")
        self.assert_refused(why=why)
        self.git("config", "--unset", "core.hooksPath")
        link("../../.githooks/pre-push", self.linked)
        self.assert_refused(why=why)
        shutil.rmtree(self.hooks)
        os.symlink("../.githooks", self.hooks)
        self.assert_refused(why=why)
        os.remove(self.hooks)
        os.mkdir(self.hooks)
        link(os.path.dirname(self.hook), os.path.join(inner, "gate"))
        link("../../.githooks/gate/pre-push", self.linked)
        self.assert_refused(why=why)
        link("../../../tools/examples/gate/pre-push", self.linked)
        self.assert_passes(self.delete())

    def test_all_in_one_folder_elsewhere(self) -> None:
        flat = os.path.join(self.root, "flat dir")
        os.mkdir(flat)
        for folder, _, names in os.walk(self.tools):
            for name in names:
                shutil.copy(os.path.join(folder, name), flat)
        self.hook = os.path.join(flat, "pre-push")
        self.assert_passes(self.run_hook(line(self.at.good)))

    def test_code_that_the_tree_has_python_run(self) -> None:
        """By the working folder, by the environment, and at its start, as an editable install into a venv does."""
        packages = ("importlib/__init__.py", "importlib/machinery.py")
        for name in ("verdict_contract.py", "argparse.py", "os.py", "shlex.py", "hashlib.py", *packages):
            write(os.path.join(self.clone, name), "raise SystemExit(0)\n")
        venv, python = os.path.join(self.root, "venv"), os.path.realpath(sys.executable)
        write(os.path.join(venv, "pyvenv.cfg"), f"home = {os.path.dirname(python)}\n")
        site = os.path.join(venv, "lib", "python{}.{}".format(*sys.version_info[:2]), "site-packages")
        write(os.path.join(site, "editable.pth"), os.path.join(self.clone, "start"))
        write(os.path.join(self.clone, "start", "sitecustomize.py"), "import os\nos._exit(0)\n")
        os.mkdir(os.path.join(venv, "bin"))
        for name in ("python3", "python"):
            os.symlink(python, os.path.join(venv, "bin", name))
        variables = {"PYTHONPATH": self.clone, "PYTHONSTARTUP": os.path.join(self.clone, "os.py")}
        variables["PATH"] = os.pathsep.join([os.path.join(venv, "bin"), self.environment["PATH"]])
        self.assert_blocked(self.run_hook(line(self.at.bad), **variables), r"not approved \(status 3\)")


class PathTest(Case):
    """That no program of a work tree is run, though PATH names its folder."""

    def setUp(self) -> None:
        super().setUp()
        self.ran = os.path.join(self.root, "ran")

    def plant(self, *folders: str, names: Tuple[str, ...] = ("mktemp", "cat", "cmp", "mv", "rm", "sh")) -> str:
        """Programs that note that they ran, and a Python that approves. Returns their folder."""
        place = os.path.join(self.root, *folders)
        python = " ".join(map(shlex.quote, testing.PYTHON))
        note = f'echo "$0" >>{shlex.quote(self.ran)}'
        script(os.path.join(place, "python3"), f'{note}; case "$*" in *--diff*) exit 0 ;; esac; exec {python} "$@"')
        for name in names:
            script(os.path.join(place, name), f'{note}; exec {shlex.quote(shutil.which(name) or "")} "$@"')
        return place

    def check(self, *first: str, cwd: str = "", names: str = "ab") -> None:
        """That these entries before the others of PATH are passed over, also after an approval."""
        path = os.pathsep.join([*first, self.environment["PATH"]])
        lines = [line(self.at.good, f"refs/heads/{name}", self.at.first) for name in names]
        text = "\n".join([*lines, line(self.at.bad, "refs/heads/x", self.at.first)])
        done = self.run_in(cwd or self.clone, self.hook, "origin", self.remote, text=text, PATH=path)
        self.assertFalse(os.path.exists(self.ran), f"a program of the tree was run: {first}")
        self.assert_blocked(done, r"refs/heads/x: not approved \(status 3\)")

    def test_entries_in_the_tree_and_relative_ones(self) -> None:
        place = self.plant("clone", ".venv", "bin")
        self.plant("clone")
        self.plant("beside")
        os.symlink(self.clone, os.path.join(self.root, "link"))
        others = (f"{place}/", f"{self.clone}/./.venv//bin", f"{self.remote}/../clone/.venv/bin")
        self.check("", ".", "./", "../clone", "../beside", place, *others, f"{self.root}/link/.venv/bin")

    def test_an_environment_in_another_work_tree_of_the_repository(self) -> None:
        tree = os.path.join(self.root, "tree")
        self.git("worktree", "add", "-q", "--detach", tree)
        # Without what runs before git has told of the other work trees.
        self.check(self.plant("clone", ".venv", "bin", names=("cat", "cmp", "mv")), cwd=tree, names="")

    def test_a_version_that_the_tree_chooses(self) -> None:
        shims = os.path.join(self.root, "shims")
        script(os.path.join(shims, "python3"), 'exec "$(cat .python-version || echo false)" "$@" 2>/dev/null')
        script(os.path.join(shims, "python"), f'exec {" ".join(map(shlex.quote, testing.PYTHON))} "$@"')
        write(os.path.join(self.clone, ".python-version"), os.path.join(self.plant("clone", ".venv", "bin"), "python3"))
        self.check(shims, names="")

    def test_no_other_folder(self) -> None:
        done = self.run_in(self.clone, "/bin/sh", self.hook, text=line(ZERO), PATH=f"{self.clone}:.")
        self.assert_blocked(done, "PATH names no folder outside of the work tree")


class SignalTest(Case):
    def test_a_signal_ends_the_reviewer_too(self) -> None:
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
                process.stdin.write(f"{line(self.at.good)}\n".encode())
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

    def decide(self) -> Tuple[str, str]:
        """Save the diff; where the hook says that a report has to stand, and the line that it has to end in."""
        said = self.push("origin", f"{self.at.good}:main", **self.saving()).said
        told = re.search(r"A person who has read it decides .* the line '(.*)', and stands in (.*)\n", said)
        assert told is not None, said
        self.assertEqual(told[1], f"===VERDICT=== APPROVE {diff_token(read(os.path.join(self.root, 'change.diff')))}")
        return told[2], told[1]

    def test_by_a_report_for_this_diff(self) -> None:
        path, approval = self.decide()
        ref = line(self.at.good, "refs/heads/main", self.at.first)
        for text, status in ((approval.replace(APPROVE, REQUEST_CHANGES), 3), (f"{approval[:-1]}x", 4)):
            write(path, f"A. Person: the doubt is about a test.\n\n{text}\n")
            self.assert_blocked(self.run_hook(ref), rf"not approved \(status {status}\)")
        write(path, f"A. Person: the doubt is about a test.\n\n{approval}\n")
        self.assertEqual(self.run_hook(ref), (0, f"VERDICT: APPROVE\nverdict pre-push: refs/heads/main: {path}\n"))
        self.assertEqual(self.prompts(), [])
        tree = os.path.join(self.root, "tree")
        self.git("worktree", "add", "-q", "--detach", tree)
        self.report("0123456789abcdef")  # a stored one is not read for this diff, nor does it have to be there
        self.assert_pushed(self.push("origin", f"{self.at.good}:main", cwd=tree), "refs/heads/main", self.at.good)
        self.assertTrue(os.path.exists(path), "it stays, as the trail")

    def test_not_by_a_report_for_another_diff(self) -> None:
        path, approval = self.decide()
        write(path, f"{approval}\n")
        self.git("config", "verdict.reviewer", "echo '===VERDICT=== APPROVE'")
        done = self.push("origin", f"{self.at.better}:main")
        self.assert_blocked(done, r"\(status 4\); a person can decide: git -c verdict.saveDiff=FILE push ... shows how")


class SetUpTest(Case):
    """The commands at the head of the hook."""

    def setUp(self) -> None:
        super().setUp()
        lines = re.findall(r"^#   (\S.*)", read(self.hook).decode().partition("\nset -u")[0], re.MULTILINE)
        self.assertRegex(lines[0], r"\Agit clone <this repository> ~/verdict-contract\Z")
        self.assertRegex(lines[-1], r"\Agit config verdict.reviewer ")
        self.commands = "\n".join(lines[1:-1])
        os.symlink(os.path.join(Case.made or "", "it's"), os.path.join(self.root, "verdict-contract"))
        shutil.rmtree(os.path.join(self.clone, ".git", "hooks"))

    def test_they_put_the_hook_where_git_runs_it(self) -> None:
        self.git("worktree", "add", "-q", "--detach", os.path.join(self.root, "tree"))
        below = os.path.join(self.clone, "below")
        os.mkdir(below)
        for place in (self.clone, below, os.path.join(self.root, "tree")):
            with self.subTest(place):
                shutil.rmtree(os.path.join(self.clone, ".git", "hooks"), ignore_errors=True)
                done = self.run_in(place, "sh", "-c", self.commands)
                self.assertEqual((done.status, done.said), (0, ""))
                done = self.push("origin", f"{self.at.bad}:main", cwd=place)
                self.assert_blocked(done, r"not approved \(status 3\)")
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
