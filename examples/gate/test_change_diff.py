"""Tests of change_diff.py, with real repositories: python3 examples/gate/test_change_diff.py"""

import contextlib
import io
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path
from typing import Any, ClassVar, Dict, Iterator, List, Optional, Tuple

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path[:0] = [str(TOP), str(HERE)]
import change_diff

import test_verdict_contract as testing
from verdict_check import INTERRUPTED, ended
from verdict_contract import diff_token

TOOL = HERE / "change_diff.py"
WHO = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
E_ACUTE = os.fsdecode(b"\xc3\xa9")  # in any locale
HOSTILE = "\x1b]0;owned\x07::add-mask::a"

# Settings that change what `git diff` or `git diff-tree` writes, or what it runs; first those that options overrule.
OVERRULED = """
    diff.external=false diff.noprefix=true diff.mnemonicPrefix=true diff.srcPrefix=x/ diff.dstPrefix=y/
    diff.renames=copies diff.relative=true diff.context=0 diff.interHunkContext=99 diff.algorithm=patience
    diff.indentHeuristic=false diff.ignoreSubmodules=all submodule.x.ignore=all diff.submodule=log
    diff.wsErrorHighlight=all diff.hide.textconv=true diff.hide.command=true color.ui=always color.diff=always
    core.abbrev=7 core.pager=false
"""
OTHERS = """
    diff.orderFile=order diff.suppressBlankEmpty=true diff.colorMoved=zebra diff.hide.binary=true core.quotePath=false
    core.bigFileThreshold=1 core.attributesFile=attributes pager.diff-tree=false alias.diff-tree=!false attr.tree=HEAD
"""
TRANSLATED = {"LC_ALL": "C.UTF-8", "LANGUAGE": "de:fr"}  # where git speaks them
ENVIRONMENT = """
    GIT_EXTERNAL_DIFF=false GIT_DIFF_OPTS=-u0 GIT_PAGER=false GIT_ATTR_SOURCE=HEAD GIT_TRACE=1 GIT_CONFIG_COUNT=1
    GIT_CONFIG_KEY_0=diff.noprefix GIT_CONFIG_VALUE_0=true GIT_LITERAL_PATHSPECS=1 GIT_INDEX_FILE=no-index
"""


@testing.NEEDS_GIT
class Case(testing.Scratch):
    """A repository with two commits on main, in a path that has to be quoted; made once a class, and copied."""

    made: ClassVar[Dict[type, Path]] = {}
    first: str
    second: str

    def setUp(self) -> None:
        super().setUp()
        kind = type(self)
        if kind not in self.made:
            self.clone = Path(tempfile.mkdtemp())
            unittest.addModuleCleanup(testing.remove, str(self.clone))
            self.git("init", "-q", "-b", "main", "--template=")
            kind.first = self.commit({"a.py": "old = 1\n"})
            kind.second = self.commit({"a.py": "old = 2\n"})
            self.make()
            self.made[kind] = self.clone
        self.clone = self.folder / "it's a: clone"
        shutil.copytree(self.made[kind], self.clone)

    def make(self) -> None:
        """What more a class needs."""

    def git(self, *arguments: Any, at: Any = None, **options: Any) -> str:
        return testing.git(at or self.clone, *arguments, env=testing.clean_environment(**WHO), **options)

    def commit(self, files: Dict[str, Any], *options: str) -> str:
        """Write files and commit all; the id of the commit."""
        for name, content in files.items():
            path = self.clone / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.git("add", "-A", "-f")
        self.git("-c", "maintenance.auto=false", "commit", "-q", "--allow-empty", "-m", "x", *options)
        return self.git("rev-parse", "HEAD")

    def branch(self, name: str, start: str) -> None:
        self.git("checkout", "-q", "-b", name, start)

    def stub(self, body: str) -> str:
        """A value of PATH by which git is this script."""
        path = self.folder / "bin" / "git"
        path.parent.mkdir()
        path.write_text(f"#!/bin/sh\n{body}", encoding="utf-8")
        path.chmod(0o755)
        return f"{path.parent}{os.pathsep}{os.environ['PATH']}"

    def start(self, *arguments: Any, at: Any = None, **options: Any) -> "testing.Process[bytes]":
        """The command as a process of its own, as is documented."""
        return testing.process(*testing.PYTHON, "-I", "-S", TOOL, *arguments, cwd=at or self.clone, **options)

    def call(self, *arguments: Any, at: Any = None, env: Optional[Dict[str, str]] = None) -> "testing.Process[bytes]":
        """The command within this process, with what it wrote to the streams."""
        told = io.StringIO()
        with contextlib.ExitStack() as stack:
            stack.callback(os.chdir, os.getcwd())
            os.chdir(at or self.clone)
            out = stack.enter_context(tempfile.TemporaryFile())
            stack.enter_context(unittest.mock.patch.dict(os.environ, env or testing.clean_environment(), clear=True))
            stdout = os.dup(1)  # to which the diff is written, whatever sys.stdout is
            stack.callback(os.close, stdout)
            stack.callback(os.dup2, stdout, 1)
            os.dup2(out.fileno(), 1)
            stream = stack.enter_context(open(1, "w", encoding="utf-8", closefd=False))
            stack.enter_context(contextlib.redirect_stdout(stream))
            stack.enter_context(contextlib.redirect_stderr(told))
            try:
                status = ended(change_diff.PROGRAM, lambda: change_diff.main([os.fspath(word) for word in arguments]))
            except SystemExit as error:  # usage
                status = int(error.code or 0)
            if status == INTERRUPTED:  # whoever interrupts the tests means them
                raise KeyboardInterrupt
            out.seek(0)
            return subprocess.CompletedProcess([], status, out.read(), told.getvalue().encode())

    def diff(self, *arguments: Any, **options: Any) -> bytes:
        """The diff, from a run in which git says nothing to the user."""
        ran = self.call(*arguments, **options)
        self.assertEqual((0, b""), (ran.returncode, ran.stderr))
        return ran.stdout

    def refused(self, why: str, *arguments: Any, status: int = 1, **options: Any) -> None:
        """One line on stderr with the reason, and nothing on stdout."""
        ran = self.call(*arguments, **options)
        self.assertEqual((status, b""), (ran.returncode, ran.stdout), ran.stderr.decode())
        self.assertRegex(ran.stderr.decode(), rf"\Achange_diff\.py: [^\n]*{why}[^\n]*\n\Z")


class DiffTest(Case):
    """What is in a diff."""

    def test_what_head_adds_since_it_left_base(self) -> None:
        self.branch("topic", self.first)
        self.commit({"a.py": "old = 2\n", "dir/b.py": "new\n"})
        self.git("checkout", "-q", "main")
        self.commit({"c.py": "not of the topic\n"})
        ids = self.git("rev-parse", f"{self.first}:a.py", "topic:a.py", "topic:dir/b.py").split()
        expected = (
            f"diff --git a/a.py b/a.py\nindex {ids[0]}..{ids[1]} 100644\n--- a/a.py\n+++ b/a.py\n"
            "@@ -1 +1 @@\n-old = 1\n+old = 2\n"
            f"diff --git a/dir/b.py b/dir/b.py\nnew file mode 100644\nindex {'0' * len(ids[2])}..{ids[2]}\n"
            "--- /dev/null\n+++ b/dir/b.py\n@@ -0,0 +1 @@\n+new\n"
        )
        self.assertEqual(expected.encode(), self.diff("main", "topic"))
        ran = self.start("main", "topic")
        self.assertEqual((0, expected.encode(), b""), (ran.returncode, ran.stdout, ran.stderr))

    def test_the_trees_of_two_commits_whatever_their_history(self) -> None:
        second = self.commit({"b.py": "lost\n"})
        self.branch("other", self.first)
        other = self.commit({"c.py": "won\n"})
        diff = self.diff("--trees", second, other)
        self.assertIn(b"\n-lost\n", diff)
        self.assertIn(b"\n+won\n", diff)
        self.assertNotIn(b"lost", self.diff(second, other))
        self.git("checkout", "-q", "--orphan", "apart")
        self.assertEqual(diff, self.diff("--trees", second, self.commit({})))

    def test_a_file_is_written_as_standard_output_would_be(self) -> None:
        self.commit({"a.py": b"\xff\r\n\x1b[31m\n"})
        diff = self.diff(self.first, "HEAD")
        self.assertIn(b"\n+\xff\r\n+\x1b[31m\n", diff)
        path = self.clone / "change of mine.diff"
        path.write_bytes(2 * diff)
        self.assertEqual(b"", self.diff(self.first, "HEAD", "-o", path.name))
        self.assertEqual(diff, path.read_bytes())

    def test_the_token_is_that_of_the_diff(self) -> None:
        token = f"{diff_token(self.diff(self.first, 'HEAD'))}\n".encode()
        self.assertEqual(token, self.diff("--token", self.first, "HEAD"))
        self.assertEqual(["a.py"], [name for name in os.listdir(self.clone) if name != ".git"])
        self.assertEqual(token, self.diff("--token", "-o", "x.diff", "--trees", self.first, "HEAD"))
        self.assertEqual(token.decode().strip(), diff_token((self.clone / "x.diff").read_bytes()))

    def test_a_binary_file_is_named_and_its_bytes_are_not_in(self) -> None:
        self.commit({"a.bin": b"\0secret\n"})
        diff = self.diff(self.second, "HEAD")
        self.assertRegex(diff, rb"\nindex 0+\.\.[0-9a-f]{40}\nBinary files /dev/null and b/a\.bin differ\n\Z")

    def test_names_that_are_quoted_and_modes(self) -> None:
        (self.clone / "a.py").chmod(0o755)
        diff = self.diff(self.first, self.commit({f"{E_ACUTE} b.py": "x\n"}))
        quoted = "".join(f"\\{byte:o}" for byte in os.fsencode(E_ACUTE))
        self.assertIn(f'\n+++ "b/{quoted} b.py"'.encode(), diff)
        self.assertIn(b"old mode 100644\nnew mode 100755\n", diff)

    def test_a_repository_with_sha256(self) -> None:
        self.clone = self.folder / "sha256"
        self.git("init", "-q", "--template=", "--object-format=sha256", self.clone, at=self.folder)
        first = self.commit({"a.py": "old = 1\n"})
        diff = self.diff(first, self.commit({"a.py": "old = 2\n"}))
        self.assertRegex(diff, rb"\nindex [0-9a-f]{64}\.\.[0-9a-f]{64} 100644\n")


class PlainTest(Case):
    """That nothing but the two trees makes the diff."""

    plain: bytes

    def make(self) -> None:
        kind = type(self)
        lines, ignored = ["a = 1", "", "b = 1", ""] * 9, '[submodule "x"]\npath = x\nurl = ./x\nignore = all\n'
        part, more, last = (f"if x:\n    {name}\n\n" for name in "abc")
        files = {"moved": "a\na\nb\nb\nc\n", "part": f"{part}{last}d", ".gitmodules": ignored}
        kind.first = self.commit({**files, "long.py": "\n".join(lines), "a.py": "old = 1\n" * 9})
        lines[9] = lines[17] = "c = 1"
        self.git("mv", "a.py", "z.py")
        (self.clone / "x").mkdir()
        self.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},x")
        files = {"long.py": "\n".join(lines), "moved": "c\na\nb\na\nb\n", "part": f"{part}{more}{last}d "}
        kind.second = self.commit({**files, f"below/{E_ACUTE}.py": "a\n"})
        kind.plain = self.diff(self.first, self.second)

    def test_plain_is_the_same_everywhere(self) -> None:
        for line in (" ", "+c = 1", "-old = 1", "--- a/a.py", "+++ b/z.py", f"+Subproject commit {'1' * 40}"):
            self.assertIn(f"\n{line}\n".encode(), self.plain)
        self.assertEqual("993ee6b447f7aa55", diff_token(self.plain))

    def test_the_options_overrule_settings_that_are_read(self) -> None:
        (self.clone / ".git" / "info").mkdir(exist_ok=True)
        (self.clone / ".git" / "info" / "attributes").write_text("* diff=hide\n", encoding="ascii")
        words = [word for setting in OVERRULED.split() for word in ("-c", setting)]
        words += ["diff", *change_diff.OPTIONS, self.first, self.second]
        self.assertEqual(self.plain.decode(), self.git(*words, at=self.clone / "below") + "\n")
        self.assertEqual(("-r", "-p"), change_diff.OPTIONS[:2])  # as `git diff` always does

    def test_settings_variables_and_files_that_the_index_says_are_unchanged(self) -> None:
        self.git("update-index", "--assume-unchanged", "z.py")
        (self.clone / "z.py").write_text("something else\n", encoding="ascii")
        (self.clone / "order").write_text("z.py\n", encoding="ascii")
        (self.clone / "attributes").write_text("* -diff\n", encoding="ascii")
        with open(self.clone / ".git" / "config", "a", encoding="ascii") as config:
            for setting in (OVERRULED + OTHERS).split():
                name, value = setting.split("=")
                section, _, key = name.rpartition(".")
                config.write(f'[{section}]\n{key} = "{value}"\n')
        environment = testing.clean_environment(**dict(pair.split("=") for pair in ENVIRONMENT.split()))
        self.assertEqual(self.plain, self.diff(self.first, self.second, env=environment))
        user = self.folder / "home"
        (user / "git").mkdir(parents=True)
        shutil.copy(self.clone / ".git" / "config", user / ".gitconfig")
        shutil.copy(self.clone / "attributes", user / "git" / "attributes")
        for name in ("HOME", "XDG_CONFIG_HOME"):
            environment = testing.clean_environment(**{name: str(user)})
            self.assertEqual(self.plain, self.diff(self.first, self.second, env=environment))

    @testing.NEEDS_PROGRAMS
    def test_settings_and_attributes_of_the_machine(self) -> None:
        """By a git that stands for one whose machine has them."""
        attributes, settings = (str(self.folder / name) for name in ("attributes", "settings"))
        Path(attributes).write_text("* -diff\n", encoding="ascii")
        self.git("config", "-f", settings, "core.attributesFile", attributes)
        path = self.stub(f"""export GIT_CONFIG_SYSTEM={shlex.quote(settings)}
            [ "${{GIT_ATTR_NOSYSTEM:-}}" ] || set -- -c core.attributesFile={shlex.quote(attributes)} "$@"
            exec {shlex.quote(shutil.which("git") or "")} "$@"
        """)
        self.assertEqual(self.plain, self.diff(self.first, self.second, env=testing.clean_environment(PATH=path)))

    def test_wherever_it_is_run(self) -> None:
        tree, bare = self.folder / "tree", self.folder / "bare.git"
        self.git("worktree", "add", "-q", "--detach", tree, self.first)
        self.git("clone", "-q", "--bare", self.clone, bare, at=self.folder)
        self.git("clone", "-q", "--shared", self.clone, self.folder / "shared", at=self.folder)
        self.git("init", "-q", "--template=", "empty", at=self.folder)
        (self.folder / E_ACUTE).symlink_to(self.clone)
        empty, git = self.folder / "empty", str(self.folder / E_ACUTE / ".git")
        rows: Tuple[Tuple[Path, Dict[str, str]], ...] = (
            *((place, {}) for place in (self.clone / "below", self.clone / ".git", tree, bare, self.folder / "shared")),
            (self.folder, {"GIT_DIR": git, "GIT_WORK_TREE": str(self.clone)}),
            (empty, {"GIT_OBJECT_DIRECTORY": f"{git}/objects"}),
            (empty, {"GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{git}/objects"'}),
        )
        for place, variables in rows:
            with self.subTest(place.name, **variables):
                environment = testing.clean_environment(**variables)
                self.assertEqual(self.plain, self.diff(self.first, self.second, at=place, env=environment))

    def test_attributes_of_the_tree_and_of_the_repository(self) -> None:
        attributes = ("-diff", "binary", "diff=hide", "-text", "linguist-generated", "export-ignore", "filter=hide")
        for name in ("diff.hide.textconv", "diff.hide.command", "diff.hide.binary"):
            self.git("config", name, "true")
        text = "".join(f"{number}.py {attribute}\n" for number, attribute in enumerate(attributes))
        files = {f"{number}.py": f"evil = {number}\n" for number in range(len(attributes))}
        head = self.commit({".gitattributes": text, **files})
        (self.clone / ".git" / "info").mkdir(exist_ok=True)
        (self.clone / ".git" / "info" / "attributes").write_text("* -diff\n", encoding="ascii")
        for at in (self.clone, self.clone / ".git"):
            diff = self.diff(self.second, head, at=at)
            for number in range(len(attributes)):
                self.assertIn(f"\n+evil = {number}\n".encode(), diff)

    def test_what_stands_in_for_objects_or_history_here(self) -> None:
        bad = self.commit({"z.py": "BUG\n"})
        plain = self.diff(self.first, bad)
        self.branch("harmless", self.second)
        harmless = self.commit({"z.py": "fine\n"})
        self.git("replace", bad, harmless)
        self.git("replace", f"{bad}:z.py", f"{harmless}:z.py")
        self.assertEqual(plain, self.diff(self.first, bad))
        self.git("replace", "--graft", "-f", bad)
        self.assertEqual(plain, self.diff(f"{bad}~2", bad))
        (self.clone / ".git" / "info").mkdir(exist_ok=True)
        (self.clone / ".git" / "info" / "grafts").write_text(f"{bad}\n{self.first} {bad}\n", encoding="ascii")
        self.assertEqual(plain, self.diff(self.first, bad))
        self.assertEqual(plain, self.diff(f"{bad}~2", bad))

    def test_a_partial_clone_fetches_what_it_lacks(self) -> None:
        same = self.commit({})
        self.git("config", "uploadpack.allowFilter", "true")
        self.git("config", "uploadpack.allowAnySHA1InWant", "true")
        source = "file://" + str(self.clone).replace("'", "%27").replace(" ", "%20")
        for kind in ("blob:none", "tree:0"):
            partial = self.folder / kind[:4]
            self.git("clone", "-q", "--no-checkout", source, partial, f"--filter={kind}", at=self.folder)
            self.refused("nothing to review", "--trees", self.second, same, status=5, at=partial)
            self.git("cat-file", "blob", f"{self.first}:a.py", at=partial)  # what comes first is here
            self.assertEqual(self.plain, self.diff(self.first, same, at=partial))


class RefusedTest(Case):
    """What cannot be compared rightly."""

    def test_a_shallow_clone(self) -> None:
        shallow = self.folder / "shallow"
        source = "file://" + str(self.clone).replace("'", "%27").replace(" ", "%20")
        self.git("clone", "-q", "--depth=1", source, shallow, at=self.folder)
        self.refused("a shallow clone.*git fetch --unshallow", "HEAD", "HEAD", at=shallow)
        self.git("fetch", "-q", "--unshallow", at=shallow)
        self.assertIn(b"\n+old = 2\n", self.diff("HEAD^", "HEAD", at=shallow))

    def test_not_one_merge_base(self) -> None:
        self.branch("one", self.first)
        one = self.commit({"one": "1\n"})
        self.branch("two", self.first)
        two = self.commit({"two": "2\n"})
        self.git("merge", "-q", "-m", "x", one)
        self.git("checkout", "-q", "one")
        self.git("merge", "-q", "-m", "x", two)
        self.refused("one...two: 2 merge bases, where one is needed: rebase two", "one", "two")
        self.git("checkout", "-q", "--orphan", "apart")
        self.commit({})
        self.refused("main...apart: no merge bases, where one is needed", "main", "apart")

    def test_names_that_are_no_commit(self) -> None:
        blob = self.git("rev-parse", "HEAD:a.py")
        for name in ("", "no-such", "1" * 40, blob, "HEAD:a.py", "main^{tree}", "main..main", "main main"):
            with self.subTest(name):
                self.refused(f"{re.escape(name)}: no such commit here", "main", name)
                self.refused(f"{re.escape(name)}: no such commit here", "--trees", "--", name, "main")
        self.refused(r"-x: no such commit here", "--", "main", "-x")

    def test_a_name_that_stands_for_two_commits(self) -> None:
        self.git("tag", "main", self.first)
        for name in ("main", "main~0"):
            self.refused(f"{name}: ambiguous: name it in full, as refs/heads/NAME", name, "HEAD")
        self.git("config", "core.warnAmbiguousRefs", "false")
        self.refused("main: ambiguous", self.first, "main")
        self.assertNotEqual(b"", self.diff(self.first, "refs/heads/main"))
        self.git("branch", self.second, self.first)  # an id is one, whatever has its name
        self.assertNotEqual(b"", self.diff(self.first, self.second))

    def test_the_same_files(self) -> None:
        reworded = self.commit({}, "--amend")
        for words in (("main", "main"), ("--trees", self.second, reworded), ("main", self.first)):
            self.refused("nothing to review: the files are the same", "-o", "x.diff", *words, status=5)
        self.assertFalse((self.clone / "x.diff").exists())

    def test_a_diff_above_the_limit(self) -> None:
        size = len(self.diff(self.first, "HEAD"))
        with unittest.mock.patch.object(change_diff, "LIMIT", size):
            self.diff(self.first, "HEAD")
        with unittest.mock.patch.object(change_diff, "LIMIT", size - 1):
            self.refused("the diff is larger than", self.first, "HEAD")

    def test_an_object_that_is_missing_or_damaged(self) -> None:
        self.commit({"b.py": "one\n", "c.py": "two\n"})
        self.addCleanup(signal.signal, signal.SIGCHLD, signal.SIG_DFL)
        rows = (
            ("HEAD:c.py", b"", "write the diff"),
            ("HEAD^{tree}", b"x", "write the diff"),
            ("HEAD^", b"x", "compare them"),
        )
        for name, damaged, what in rows:
            identity = self.git("rev-parse", name)
            path = self.clone / ".git" / "objects" / identity[:2] / identity[2:]
            path.unlink()
            if damaged:
                path.write_bytes(damaged)
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # as whoever starts it may have it
            why, environment = f"git cannot {what}: fatal: .*{identity}", testing.clean_environment(**TRANSLATED)
            self.refused(why, self.first, "HEAD", "-o", "x.diff", env=environment)
            self.assertFalse((self.clone / "x.diff").exists())

    def test_no_repository_and_wrong_usage(self) -> None:
        why = "the working folder: git finds no repository: fatal: not a git repository"
        self.refused(why, "a", "b", at=self.folder)
        self.refused(why, "a", "b", at=self.folder, env=testing.clean_environment(**TRANSLATED))
        environment = testing.clean_environment(GIT_TEST_ASSUME_DIFFERENT_OWNER="true")  # advice follows the reason
        self.refused("finds no repository: fatal: detected dubious ownership", "a", "b", env=environment)
        for words in ((), ("main",), ("main", "main", "main"), ("--nonsense", "main", "main"), ("main", "-x")):
            self.refused("", *words, status=2)
        ran = self.start("--help")
        self.assertEqual((2, f"{change_diff.USAGE}\n".encode(), b""), (ran.returncode, ran.stdout, ran.stderr))


class HostileTest(Case):
    """What is said, and what is run."""

    def test_nothing_that_git_says_comes_through(self) -> None:
        text = f"!{HOSTILE} diff\n{HOSTILE} {HOSTILE}=\x1b[2J\n[attr]{HOSTILE} x\n"
        head = self.commit({".gitattributes": text * 2, "below/.gitattributes": text, "below/x.py": "x\n"})
        self.assertIn(b"\n+x\n", self.diff(self.second, head))
        self.git("config", "diff.algorithm", HOSTILE)
        self.assertIn(b"\n+x\n", self.diff(self.second, head))

    def test_names_and_paths_cannot_act(self) -> None:
        for words in (("main", HOSTILE), ("main", f"\n{HOSTILE}\n"), ("main", self.first, "-o", f"{HOSTILE}/x")):
            ran = self.call("--trees", *words)
            self.assertEqual((1, b""), (ran.returncode, ran.stdout))
            self.assertRegex(ran.stderr, rb"\A[ -~]+\n\Z")
            self.assertFalse(ran.stderr.startswith(b"::"))

    @testing.NEEDS_PROGRAMS
    def test_a_git_of_the_working_folder_is_not_run(self) -> None:
        stub = self.clone / "git"
        stub.write_text("#!/bin/sh\ntouch ran\nexit 1\n", encoding="ascii")
        stub.chmod(0o755)
        for first in ("", "."):
            path = os.pathsep.join([first, os.environ["PATH"]])
            self.diff(self.first, self.second, env=testing.clean_environment(PATH=path))
        self.assertFalse((self.clone / "ran").exists())
        self.refused("git: it is not on PATH", "main", "main", env=testing.clean_environment(PATH="."))
        path = self.stub("")
        (self.folder / "bin" / "git").write_text("#!/no/such/shell\n", encoding="ascii")
        self.refused("bin/git: No such file or directory", "main", "main", env=testing.clean_environment(PATH=path))

        environment = testing.clean_environment()
        del environment["PATH"]
        ran = self.call(self.first, "HEAD", env=environment)
        self.assertEqual(0 if shutil.which("git", path=os.defpath) else 1, ran.returncode, ran.stderr)

    def test_a_terminal_is_not_written_to(self) -> None:
        leader, terminal = pty.openpty()
        self.addCleanup(os.close, leader)
        self.addCleanup(os.close, terminal)
        ran = self.start(self.first, "HEAD", stdout=terminal)
        self.assertEqual(2, ran.returncode)
        self.assertIn(b"standard output is a terminal", ran.stderr)
        self.assertEqual(0, self.start(self.first, "HEAD", "--token", stdout=terminal).returncode)

    def test_output_that_cannot_be_written(self) -> None:
        self.refused("no/such/x: No such file or directory", self.first, "HEAD", "-o", "no/such/x")
        self.refused("embedded null", self.first, "HEAD", "-o", "x\0y")
        self.refused(f"{re.escape(str(self.clone))}: Is a directory", self.first, "HEAD", "-o", self.clone)
        words = " ".join(map(shlex.quote, [*testing.PYTHON, "-I", "-S", str(TOOL), self.first, "HEAD"]))
        ran = testing.process("sh", "-c", f"ulimit -f 0; {words}", cwd=self.clone)  # as where there is no room
        self.assertEqual((1, b""), (ran.returncode, ran.stdout))
        self.assertRegex(ran.stderr, rb"\Achange_diff\.py: temporary files: [^\n]+\n\Z")
        rows: List[Tuple[str, int, bytes]] = [
            (f"{words} >&-", 1, b"change_diff.py: standard output: it is closed\n"),
            (f"{words} --token >&-", 1, b"change_diff.py: standard output: it is closed\n"),
            (f"{words} -o x.diff >&- 2>&-", 0, b""),
            (f"{words} no-such 2>&-", 2, b""),
            (f"{words}~9 2>&-", 1, b""),
        ]
        if os.path.exists("/dev/full"):
            full = b"change_diff.py: standard output: No space left on device\n"
            rows += [(f"{words} >/dev/full", 1, full), (f"{words} --token >/dev/full", 1, full)]
            rows += [(f"{words}~9 2>/dev/full", 1, b""), (f"{words} --help >/dev/full 2>/dev/full", 2, b"")]
            rows += [(row[0].replace(" -I ", " -u -I ", 1), *row[1:]) for row in rows[-3:]]
        for command, status, said in rows:
            with self.subTest(command):
                ran = testing.process("sh", "-c", command, cwd=self.clone)
                self.assertEqual((status, b"", said), (ran.returncode, ran.stdout, ran.stderr))

    @testing.NEEDS_PROGRAMS
    def test_an_interrupt_ends_it_and_leaves_nothing(self) -> None:
        temporary, started = self.folder / "tmp", self.folder / "started"
        temporary.mkdir()
        # It waits first: an interrupt while Python is still starting a program leaves that program to itself.
        path = self.stub(f"sleep 1\n: >{shlex.quote(str(started))}\nexec sleep 90\n")
        environment = testing.clean_environment(TMPDIR=str(temporary), PATH=path)
        command = [*testing.PYTHON, "-I", "-S", str(TOOL), "main", "main"]
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = subprocess.Popen(command, cwd=self.clone, env=environment, stderr=subprocess.PIPE)
            while not started.exists() and process.poll() is None:
                time.sleep(0.01)
            started.unlink()
            process.send_signal(number)
            said = process.communicate(timeout=60)[1]  # and not only when git ends by itself
            self.assertEqual((130, b"change_diff.py: interrupted\n"), (process.returncode, said))
            self.assertEqual([], os.listdir(temporary))


class LoadTest(Case):
    """What it needs beside it."""

    def test_a_folder_with_all_in_it_and_one_without(self) -> None:
        place = self.folder / "two" / "folders" / "below"
        place.mkdir(parents=True)
        copy = shutil.copy(TOOL, place)
        ran = testing.process(*testing.PYTHON, "-I", "-S", copy, self.first, "HEAD", cwd=self.clone)
        self.assertEqual((1, b""), (ran.returncode, ran.stdout))
        self.assertRegex(
            ran.stderr,
            rb"\Achange_diff.py: a module cannot be loaded: ImportError: verdict_contract.py is neither beside [^\n]*\n\Z",
        )
        for name in ("verdict_contract.py", "verdict_check.py"):
            shutil.copy(TOP / name, place)
        ran = testing.process(*testing.PYTHON, "-I", "-S", copy, self.first, "HEAD", cwd=self.clone)
        self.assertEqual(self.diff(self.first, "HEAD"), ran.stdout)


# --- That there is no other way -----------------------------------------------------------------------

# A command, not a mention: it begins a line or follows a sign of the shell; or what follows is an option, a name in
# capitals, a variable, a quote or a range; or it is words of a list in Python. What prints no diff is left alone.
COMMAND = re.compile(
    r"""(?:(?P<first>(?:^|&&|[|;(])[ \t]*(?:\$[ ]|\w+=)?)|\b)git
        (?:[ ]-[Cc][ ]*(?:"[^"\n]*"|'[^'\n]*'|\S+)|[ ]-{1,2}[\w-]+(?:=\S+)?)*
        [ ]+(?P<name>diff(?:-tree|-index|-files)?|show|log|format-patch)\b
        (?(first)|[ ]+(?:\\\\?\n\s*)?(?=[-"'$<A-Z]|\S*\.\.))(?P<rest>[^\n]*)
    |["']git["'][^\n]*?["'](?P<word>diff(?:-tree|-index|-files)?|show|log|format-patch)["'](?P<words>[^\n]*)""",
    re.VERBOSE | re.MULTILINE,
)
PRINTS_NONE = re.compile(r"--(?:quiet|name-only|name-status|stat|numstat|raw|exit-code)\b|[\w}]:[\w./]+")  # or one file


def other_diffs(text: str) -> Iterator[str]:
    """The commands in a text, by which git writes a diff."""
    for found in COMMAND.finditer(text):
        name, rest = found["name"] or found["word"], found["rest"] or found["words"] or ""
        writes = name in ("diff", "show", "format-patch") or re.search(r"(?<![\w-])(?:-p|-u|--patch)\b", rest)
        if writes and not PRINTS_NONE.search(rest):
            yield found[0]


class OneDiffTest(unittest.TestCase):
    def test_the_search_finds_commands_and_no_mentions(self) -> None:
        commands = (
            "git diff --text main...HEAD >x", 'git diff "main...$sha" > change.diff', "git -c core.quotePath=true diff $base",
            "git diff main...feature", "git diff \\\n    --full-index", "git diff-tree -r -p A B", 'run(["git", "diff", base])',
            "git diff main feature", "$ git diff", "a && git diff", "x=$(git diff a b)", "git -C objects diff main...HEAD",
            'git -C "$dir" diff $a $b', "git show $sha", "git log -p", "git format-patch --stdout main",
        )  # fmt: skip
        mentions = (
            "what `git diff` writes", "as git diff does", "git diff --quiet HEAD", "git diff-tree -r A B",
            '["git", "diff", "--name-only"]', "git show main:a/b.sh >b", "git log --oneline", "git diff --stat",
        )  # fmt: skip
        for text in (*commands, *mentions):
            self.assertEqual(int(text in commands), len(list(other_diffs(text))), text)

    def test_no_file_makes_a_diff_in_another_way(self) -> None:
        found = {}
        for path in sorted(TOP.rglob("*")):
            parts = path.relative_to(TOP).parts
            skipped = parts[0] in (".git", ".ci") or "__pycache__" in parts or path.name.startswith("test_")
            if path.is_file() and not skipped and path != TOOL:
                commands = list(other_diffs(path.read_bytes().decode("utf-8", "replace")))
                found.update({str(path.relative_to(TOP)): commands} if commands else {})
        self.assertEqual({}, found, "take the diff from change_diff.py")


if __name__ == "__main__":
    testing.main()
