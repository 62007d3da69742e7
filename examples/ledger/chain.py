"""Two append-only logs, each chained by hashes, that anchor each other.

A line is one row: its keys sorted, compact, ASCII JSON, LF. Its "hash" is the SHA-256 of the hash before it (of 64 zeros
for the first), a line end, and the line's own bytes without the "hash" member and without the last line end. A decision
names the run it stands after, a run names the decisions before it, so that neither log can be cut back past the other.

Offered: read (verifies all that it reads, locks and writes nothing), writing and append (what append returns from is on
the disk), badge. Problems carry the exit status they end in.
"""

import contextlib
import errno
import hashlib
import json
import os
import stat
import sys
import time
from typing import Any, BinaryIO, Callable, Dict, Iterator, List, Optional, Tuple, TypeVar

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

VERSION = 1
FIRST = "0" * 64  # stands where the first row has no hash before it
WAIT = 5.0  # seconds for the lock
LOGS = ("runs", "decisions")
FIELDS = {
    "runs": frozenset(
        "v run type ts by label sha code scope report checks claimed verdict why findings resolved not_tested questions"
        " warnings decisions prev hash".split()
    ),
    "decisions": frozenset("v seq ts by action target reason cite until severity runs prev hash".split()),
}
NUMBER = {"runs": "run", "decisions": "seq"}
# What the ledger itself writes into its folder; a hash of the code leaves these names out.
OWN_FILES = frozenset(
    "runs.jsonl decisions.jsonl badge.json .lock .gitattributes .gitignore"
    " runs.jsonl.torn decisions.jsonl.torn badge.json.torn".split()
)
_COMPANIONS = ((".gitattributes", b"*.jsonl -merge -text\n"), (".gitignore", b".lock\n*.torn\n"))
_TRIES = 20  # readings of logs that keep growing; the last one is still of one moment, or it does not verify

Row = Dict[str, Any]
T = TypeVar("T")


class Problem(Exception):
    """What ends a command. The text is one line, raw; status is the exit status."""

    status = 2


class Refused(Problem):
    """The caller's mistake, or the machine's: nothing was written."""


class Unreadable(Problem):
    """There is nothing to judge by: no ledger, no run, bytes or rows that this version cannot read."""

    status = 4


class Tampered(Problem):
    """A log is not what was written."""

    status = 6


class Ends:
    """Where both logs end, as far as they were read: number of rows, hash of the last, bytes up to its line end."""

    def __init__(self) -> None:
        self.count = dict.fromkeys(LOGS, 0)
        self.hash = dict.fromkeys(LOGS, FIRST)
        self.size = dict.fromkeys(LOGS, 0)

    def anchor(self, log: str) -> Dict[str, object]:
        """What a row of the other log says of this one."""
        return {"count": self.count[log], "head": self.hash[log]}

    def take(self, log: str, row: Row, size: int) -> None:
        """Move behind a row, of size bytes."""
        self.count[log] += 1
        self.hash[log] = row["hash"]
        self.size[log] += size

    @property
    def head(self) -> str:
        """The hash of both ends, 64 hex digits: who keeps it elsewhere sees any cut and any forgery."""
        return hashlib.sha256("\n".join(self.hash[log] for log in LOGS).encode()).hexdigest()


def canonical(value: object) -> bytes:
    """The one way in which a value is written: sorted keys, compact, ASCII JSON. Raises ValueError for NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def seal(row: Row, prev: str) -> bytes:
    """The line of a row that follows the hash prev; adds "prev" and "hash" to the row."""
    row["prev"] = prev
    row["hash"] = hashlib.sha256(prev.encode() + b"\n" + canonical(row)).hexdigest()
    return canonical(row) + b"\n"


# --- Reading --------------------------------------------------------------------------------------


def read(root: str, fold: Callable[[Iterator[Tuple[str, Row]]], T]) -> Tuple[T, Ends]:
    """Give every row of both logs to fold, in the order in which they were written; returns what it returned, and the ends.

    All is verified. A reader waits for nobody: where a log grew meanwhile, it reads again, so fold may be called again.
    Raises Unreadable and Tampered.
    """
    _check_links(root, Unreadable)
    for attempt in range(_TRIES):
        before = _sizes(root)
        try:
            outcome = _read_once(root, fold)
        except Problem as problem:
            if before == _sizes(root) or attempt == _TRIES - 1:
                raise _first_of(root, problem) from None
            continue
        if before == _sizes(root):
            break
    return outcome


def _read_once(root: str, fold: Callable[[Iterator[Tuple[str, Row]]], T]) -> Tuple[T, Ends]:
    with contextlib.ExitStack() as stack:
        logs = {log: _rows(log, _open(root, log, stack)) for log in LOGS}
        ends = Ends()
        return fold(_merged(logs, ends)), ends


def _merged(logs: Dict[str, Iterator[Tuple[Row, int]]], ends: Ends) -> Iterator[Tuple[str, Row]]:
    """Both logs in one order; a decision comes right after the run that it names, a run after the decisions it names."""
    waiting = {log: next(logs[log], None) for log in LOGS}
    while any(waiting.values()):
        for log, other in (("decisions", "runs"), ("runs", "decisions")):
            found = waiting[log]
            if found is not None and found[0][other] == ends.anchor(other):
                break
        else:
            after = f"after run {ends.count['runs']} and decision {ends.count['decisions']}"
            raise Tampered(f"runs and decisions do not anchor each other {after}")
        ends.take(log, *found)
        yield log, found[0]
        waiting[log] = next(logs[log], None)


def _rows(log: str, file: Optional[BinaryIO]) -> Iterator[Tuple[Row, int]]:
    """The rows of a log, verified, with the size of each; what stands behind the last line end was never acknowledged."""
    prev, number = FIRST, 0
    for line in file or ():
        if not line.endswith(b"\n"):
            break
        number += 1
        row = _row(log, number, line, prev)
        prev = row["hash"]
        yield row, len(line)


def _row(log: str, number: int, line: bytes, prev: str) -> Row:
    broken = Tampered(f"{log}: broken at {number}")
    row = _parsed(log, number, line)
    if not isinstance(row, dict) or row.keys() != FIELDS[log] or row["prev"] != prev or row[NUMBER[log]] != number:
        raise broken
    before, member, after = line[:-1].partition(b'"hash":"' + str(row["hash"]).encode("ascii", "replace") + b'",')
    said = hashlib.sha256(prev.encode() + b"\n" + before + after).hexdigest()
    if not member or said != row["hash"]:
        raise broken
    return row


def _parsed(log: str, number: int, line: bytes) -> object:
    try:
        row = json.loads(line.decode())
    except UnicodeDecodeError:
        raise Unreadable(f"{log}: not UTF-8 at {number}") from None
    except (ValueError, RecursionError):
        raise Tampered(f"{log}: broken at {number}") from None
    version = row.get("v") if isinstance(row, dict) else None
    if type(version) is int and version > VERSION:
        raise Unreadable(f"{log}: row {number} is of version {version}, this program knows {VERSION}")
    return row


def _first_of(root: str, problem: Problem) -> Problem:
    """What cannot be read at all goes before what does not verify, wherever it stands."""
    with contextlib.ExitStack() as stack:
        for log in LOGS if isinstance(problem, Tampered) else ():
            for number, line in enumerate(_open(root, log, stack) or (), 1):
                try:
                    _parsed(log, number, line)
                except Unreadable as unreadable:
                    return unreadable
                except Tampered:
                    continue
    return problem


def _path(root: str, log: str) -> str:
    return os.path.join(root, log + ".jsonl")


def _open(root: str, log: str, stack: contextlib.ExitStack) -> Optional[BinaryIO]:
    """The log, to be read; None where there is none."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        file = stack.enter_context(open(os.open(_path(root, log), flags), "rb"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unreadable(f"{_path(root, log)}: {error.strerror}") from None
    return file


def _sizes(root: str) -> List[Optional[Tuple[int, int]]]:
    found: List[Optional[Tuple[int, int]]] = []
    for log in LOGS:
        try:
            about = os.stat(_path(root, log))
            found.append((about.st_ino, about.st_size))
        except OSError:
            found.append(None)
    return found


def _check_links(root: str, kind: Callable[[str], Problem]) -> None:
    """Raise where the root or a log is not what it has to be: a folder, a regular file, and neither a symbolic link."""
    for path, right in ((root, stat.S_ISDIR), *((_path(root, log), stat.S_ISREG) for log in LOGS)):
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:
            if path == root and kind is Unreadable:
                raise Unreadable(f"{root}: no ledger") from None
            continue
        except (OSError, ValueError) as error:
            raise kind(f"{path}: {getattr(error, 'strerror', None) or error}") from None
        if not right(mode):
            raise kind(f"{path}: is a symbolic link" if stat.S_ISLNK(mode) else f"{path}: is of the wrong kind")


# --- Writing --------------------------------------------------------------------------------------


@contextlib.contextmanager
def writing(root: str, create: bool) -> Iterator[None]:
    """Hold the ledger's lock, which the operating system lets go of when the program ends, however that happens.

    With create, the folder is made first. Raises Refused: after WAIT seconds, for symbolic links, where nothing can be
    written; Unreadable where there is no ledger and none is to be made.
    """
    _check_links(root, Refused)
    if not create and not os.path.isdir(root):
        raise Unreadable(f"{root}: no ledger")
    try:
        os.makedirs(root, exist_ok=True)
        lock = os.open(os.path.join(root, ".lock"), os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except (OSError, ValueError) as error:
        raise Refused(f"{root}: {getattr(error, 'strerror', None) or error}") from None
    try:
        _wait_for(lock, root)
        yield
    finally:
        os.close(lock)


def _wait_for(lock: int, root: str) -> None:
    last = time.monotonic() + WAIT
    while True:
        try:
            if sys.platform == "win32":
                msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES) or time.monotonic() > last:
                raise Refused(f"{root}: locked by another writer: {error.strerror}") from None
        time.sleep(0.02)


def append(root: str, log: str, row: Row, ends: Ends) -> None:
    """Put a row behind the ends, within writing, and move them. When this returns, the row is on the disk.

    A torn end goes to a file of its own first. Raises Refused, and then the log ends where it did.
    """
    line = seal(row, ends.hash[log])
    size = ends.size[log]
    try:
        for name, content in _COMPANIONS:
            if not os.path.lexists(os.path.join(root, name)):
                _replace(root, name, content)
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        file = os.open(_path(root, log), flags, 0o666)
    except OSError as error:
        raise Refused(f"{_path(root, log)}: {error.strerror}") from None
    try:
        _set_aside(root, log, file, size)
        _write_at(file, size, line)
        _sync_folder(root)
    except BaseException as error:
        with contextlib.suppress(OSError):  # what is left then has no line end, or is said to be refused
            if os.fstat(file).st_size > size:
                os.ftruncate(file, size)
                os.fsync(file)
        if isinstance(error, OSError):
            raise Refused(f"{_path(root, log)}: {error.strerror}") from None
        raise
    finally:
        os.close(file)
    ends.take(log, row, len(line))


def _set_aside(root: str, log: str, file: int, size: int) -> None:
    """Move what stands behind the last line end to NAME.torn."""
    os.lseek(file, size, os.SEEK_SET)
    tail = os.read(file, max(os.fstat(file).st_size - size, 0))
    if tail:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        torn = os.open(_path(root, log) + ".torn", flags, 0o666)
        try:
            _write_all(torn, tail + b"\n")
            os.fsync(torn)
        finally:
            os.close(torn)
        os.ftruncate(file, size)


def _write_at(file: int, size: int, line: bytes) -> None:
    os.lseek(file, size, os.SEEK_SET)
    _write_all(file, line)
    os.fsync(file)


def _write_all(file: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(file, left) :]


def _replace(root: str, name: str, content: bytes) -> None:
    """Write a whole file or nothing of it."""
    made = os.path.join(root, "badge.json.torn")  # a name that git ignores
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    file = os.open(made, flags, 0o666)
    try:
        _write_all(file, content)
        os.fsync(file)
    finally:
        os.close(file)
    os.replace(made, os.path.join(root, name))


def _sync_folder(root: str) -> None:
    """A new file's name is on the disk only with its folder; Windows has no way to ask for that."""
    if os.name == "posix":
        folder = os.open(root, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def badge(root: str, message: str, colour: str) -> Optional[str]:
    """Write badge.json, in the "endpoint" form of shields.io; returns why it could not be, which loses nothing."""
    content = {"schemaVersion": 1, "label": "review ledger", "message": message, "color": colour}
    try:
        _replace(root, "badge.json", canonical(content) + b"\n")
    except OSError as error:
        return f"{os.path.join(root, 'badge.json')}: {error.strerror}"
    return None
