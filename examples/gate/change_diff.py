"""Write the diff of a change: one list of options, so that one change has one diff and one token everywhere."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from types import ModuleType
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

if sys.version_info < (3, 8):
    sys.exit("change_diff.py: needs Python 3.8 or later")

PROGRAM = "change_diff.py"
USAGE = """\
Write the diff of a change, for a reviewer to read and for its token to be made from.

  change_diff.py BASE HEAD [-o FILE] [--token]
  change_diff.py --trees OLD NEW [-o FILE] [--token]

  BASE HEAD  what HEAD adds to BASE since the one commit where it left it: BASE is what the change is merged into
  --trees    what has to change for OLD to become NEW, whatever their history
  -o FILE    where to write the diff; default: standard output, unless that is a terminal
  --token    print the token of the diff (16 hex digits); the diff is then written only where -o says
  -h, --help print this, and end in 2

Only the two trees, the options below and the version of git make the diff. Settings of git, attributes, the index and
the work tree play no part, and replaced objects and grafted history do not stand in for those that a push sends.

exit status
  0  written
  1  not comparable: no repository, no such commit, an ambiguous name, a shallow clone, no merge base or several, an
     object that is not here, a diff above 64 MiB; or the diff cannot be written
  2  usage, --help
  5  nothing to review: the trees are the same, and nothing was written
130  interrupted

Not in the diff: the bytes of binary files (git writes "Binary files ... differ", which review_gate.py refuses), what a
submodule's commit or a large-file pointer stands for, commits in between, and what commits say.
Needs git 2.29 or later, and verdict_contract.py and verdict_check.py beside it or in one of the two folders above."""

_HERE = os.path.dirname(os.path.realpath(__file__))


def provide(*names: str) -> None:
    """Load modules by their source, from this file's folder or the two above; no package or .pyc is taken instead."""
    for name in names:
        places = [os.path.join(_HERE, up, name + ".py") for up in ("", os.pardir, os.path.join(os.pardir, os.pardir))]
        path = next(filter(os.path.isfile, places), None)
        if path is None:
            raise ImportError(f"{name}.py is neither beside {os.path.basename(__file__)} nor in the two folders above")
        if name not in sys.modules:
            module = sys.modules[name] = ModuleType(name)
            module.__file__ = path
            with open(path, "rb") as source:
                exec(compile(source.read(), path, "exec"), vars(module))  # noqa: S102


try:
    provide("verdict_contract", "verdict_check")
    from verdict_check import LIMIT, USAGE_ERROR, CannotRead, Parser, decode, ended, reason_of, say, show
    from verdict_contract import diff_token
except (Exception, SystemExit) as _error:
    _why = f"a module cannot be loaded: {type(_error).__name__}: {_error}"
    if __name__ != "__main__":
        raise ImportError(_why) from _error
    with contextlib.suppress(OSError):  # where stderr is closed or full, sys.exit with a text would end in 120
        os.write(2, f"{PROGRAM}: {ascii(_why)[1:-1]}\n".encode())
    os._exit(1)  # with python -i, sys.exit would go on with what stdin holds, and leave with 0

NOTHING = 5

# Each is given although some are git's defaults: a default that changes would change every token.
OPTIONS = (
    "-r",
    "-p",
    "-U3",
    "--inter-hunk-context=0",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--no-textconv",
    "--no-ext-diff",
    "--no-color",
    "--full-index",
    "--no-renames",
    "--no-relative",
    "--ignore-submodules=none",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)

_KEPT = "GIT_ALTERNATE_OBJECT_DIRECTORIES"  # where more objects are
_ID = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command. Returns the exit status. Raises CannotRead and, for usage, SystemExit."""
    options = _parser().parse_args(arguments)
    to_stdout = options.output is None and not options.token
    if to_stdout and sys.stdout is not None and sys.stdout.isatty():
        say(PROGRAM, "standard output is a terminal, on which a diff may act: give -o FILE, or redirect it")
        return USAGE_ERROR
    if hasattr(signal, "SIGCHLD"):
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, a git that failed seems to end in 0
    if sys.stdout is None and (to_stdout or options.token):
        raise CannotRead("standard output: it is closed")
    diff = (tree_diff if options.trees else change_diff)(options.base, options.head)
    if not diff:
        say(PROGRAM, "nothing to review: the files are the same")
        return NOTHING
    if to_stdout or options.output is not None:
        write(options.output, diff)
    if options.token:
        show([diff_token(diff)])
    return 0


def _parser() -> Parser:
    parser = Parser(PROGRAM, USAGE)
    parser.add_argument("--trees", action="store_true")
    parser.add_argument("--token", action="store_true")
    parser.add_argument("-o", dest="output", metavar="FILE")
    parser.add_argument("base", metavar="BASE")
    parser.add_argument("head", metavar="HEAD")
    return parser


def change_diff(base: str, head: str) -> bytes:
    """The diff of what HEAD adds to BASE, from their one merge base; empty if that is nothing.

    Takes names of commits as git knows them, in the repository of the working folder. Raises CannotRead where they
    cannot be compared rightly: with one of several merge bases, what differs from the others would not be seen.
    """
    with _repository() as repository:
        old, new = (_commit(repository, name) for name in (base, head))
        found = _git("merge-base", "--all", old, new, at=repository.apart)
        if found.returncode not in (0, 1):
            raise CannotRead(f"{base}...{head}: git cannot compare them: {_reason(found.stderr)}")
        bases = found.stdout.decode("ascii").split()
        if len(bases) != 1:
            raise CannotRead(f"{base}...{head}: {len(bases) or 'no'} merge bases, where one is needed: rebase {head}")
        return _difference(repository, bases[0], new)


def tree_diff(old: str, new: str) -> bytes:
    """The diff of two commits' trees, whatever their history; empty if they are the same. Raises CannotRead."""
    with _repository() as repository:
        return _difference(repository, *(_commit(repository, name) for name in (old, new)))


def write(path: Optional[str], diff: bytes) -> None:
    """Write the diff to a file, or for None to standard output. Raises CannotRead."""
    name = "standard output" if path is None else path
    try:
        with open(1 if path is None else path, "wb", closefd=path is not None) as file:
            file.write(diff)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise CannotRead(f"{name}: {reason_of(error)}") from error


# --- Two repositories: that of the user, and one apart ------------------------------------------------
#
# The user's names the commits. The diff is made in an empty one, which has the same objects and nothing else: no
# settings, no attributes, no index, no work tree, no refs that replace, no grafts. So nothing of these can hide a line.


class _Repository(NamedTuple):
    """The environment in which git works in the repository of the user, and in the one apart."""

    users: Dict[str, str]
    apart: Dict[str, str]


@contextlib.contextmanager
def _repository() -> Iterator[_Repository]:
    """The repository of the working folder, and an empty one with its objects. Raises CannotRead."""
    try:
        with tempfile.TemporaryDirectory(prefix="change_diff-") as folder:
            plain = {"GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C"}
            users = {**os.environ, **plain, "GIT_GRAFT_FILE": os.path.join(folder, "none")}
            form, objects = _objects(users)
            _fill(folder, form)
            kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name == _KEPT}
            yield _Repository(users, {**kept, **plain, **_apart(folder), "GIT_OBJECT_DIRECTORY": objects})
    except OSError as error:
        raise CannotRead(f"{error.filename or 'temporary files'}: {error.strerror}") from error


def _objects(users: Dict[str, str]) -> Tuple[str, str]:
    """The format and the folder of the objects. Raises CannotRead, also where history ends where it was cut."""
    asked = _git("rev-parse", "--is-shallow-repository", "--show-object-format", "--git-path", "objects", at=users)
    shallow, form, path = (os.fsdecode(asked.stdout) + "\n\n").split("\n", 2)
    if asked.returncode or shallow not in ("true", "false"):
        raise CannotRead(f"the working folder: git finds no repository: {_reason(asked.stderr)}")
    if shallow == "true":
        raise CannotRead("the repository: a shallow clone, whose history is cut: git fetch --unshallow")
    return form, os.path.abspath(path[:-3])


def _apart(folder: str) -> Dict[str, str]:
    """The variables by which git takes a folder for the repository, and reads no settings or attributes elsewhere."""
    home = os.path.join(folder, "none")
    places = {"GIT_DIR": folder, "HOME": home, "XDG_CONFIG_HOME": home}
    return {**places, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1"}


def _fill(folder: str, form: str) -> None:
    """Make an empty folder a bare repository without a commit, for objects of a format."""
    settings = f"[core]\nbare = true\nrepositoryFormatVersion = 1\n[extensions]\nobjectFormat = {form}\n"
    os.mkdir(os.path.join(folder, "refs"))
    for name, text in (("HEAD", "ref: refs/heads/none\n"), ("config", settings)):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)


def _commit(repository: _Repository, name: str) -> str:
    """The id of the commit that a name stands for. Raises CannotRead, also where it stands for several."""
    ask = ("-c", "core.warnAmbiguousRefs=true", "rev-parse", "--verify", f"{name}^{{commit}}")
    found = _git(*ask, at=repository.users) if name[:1] not in ("", "-") else None
    commit = found.stdout.decode("ascii", "replace").strip() if found else ""
    if found is None or found.returncode or not _ID.fullmatch(commit):
        raise CannotRead(f"{name}: no such commit here")
    # Of two refs of one name git would take the tag, so that whoever pushes a tag could choose the base.
    if b"is ambiguous" in found.stderr and not _ID.fullmatch(name):
        raise CannotRead(f"{name}: ambiguous: name it in full, as refs/heads/NAME")
    return commit


def _difference(repository: _Repository, old: str, new: str) -> bytes:
    """The diff of the trees of two commits, given by their ids. Raises CannotRead."""
    ask = ("rev-parse", f"{old}^{{tree}}", f"{new}^{{tree}}")
    trees = _git(*ask, at=repository.users).stdout.split()  # not apart, where a clone without trees cannot fetch them
    if len(trees) == 2 and trees[0] == trees[1]:  # noqa: PLR2004
        return b""
    with tempfile.TemporaryFile() as file:
        command = ("diff-tree", *OPTIONS, old, new)
        made = _git(*command, at=repository.apart, to=file.fileno())
        if made.returncode:  # a partial clone fetches what it lacks, which only the user's repository can do
            _git(*command, at=repository.users, to=subprocess.DEVNULL)
            os.ftruncate(file.fileno(), file.seek(0))
            made = _git(*command, at=repository.apart, to=file.fileno())
        size = file.seek(0, os.SEEK_END)
        if made.returncode or not size:
            raise CannotRead(f"{old}..{new}: git cannot write the diff: {_reason(made.stderr)}")
        if size > LIMIT:
            raise CannotRead(f"{old}..{new}: the diff is larger than {LIMIT >> 20} MiB")
        file.seek(0)
        return file.read()


def _git(*arguments: str, at: Dict[str, str], to: int = subprocess.PIPE) -> "subprocess.CompletedProcess[bytes]":
    """Run git to its end, with what it says caught. Raises CannotRead without a git, OSError where it cannot start.

    A relative entry of PATH is passed over: in a checkout, it has programs of the change.
    """
    folders = filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep))
    program = shutil.which("git", path=os.pathsep.join(folders))
    if program is None:
        raise CannotRead("git: it is not on PATH")
    command = [program, *arguments]
    process = subprocess.Popen(command, env=at, stdin=subprocess.DEVNULL, stdout=to, stderr=subprocess.PIPE)
    try:
        stdout, stderr = process.communicate()
    except BaseException:  # an interrupt
        process.terminate()
        process.communicate()
        raise
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


def _reason(said: bytes) -> str:
    """Of what git said, as it is, the last line that says why it ended: advice may follow it."""
    lines: List[str] = decode(said).strip().split("\n")
    return next((line for line in reversed(lines) if line.startswith(("fatal: ", "error: "))), lines[-1])


if __name__ == "__main__":
    sys.exit(ended(PROGRAM, main))
