"""Two append-only logs, each chained by hashes, that anchor each other: what a row is, and how rows are read.

A line is one row: sorted keys, compact, ASCII JSON, LF. Its "hash" is the SHA-256 of the hash before it (of 64 zeros
for the first), a line end, and the line's own bytes without the "hash" member and the last line end. A decision names
the run that it stands after, a run names the decisions before it, so that neither log can be cut back past the other.

Offered: read, which verifies all that it reads, locks nothing and writes nothing. Problems carry the exit status that
they end in. How rows are written: writing.py.
"""

import contextlib
import hashlib
import json
import os
import stat
from typing import Any, BinaryIO, Callable, Dict, Iterator, List, Optional, Tuple, TypeVar

VERSION = 1
FIRST = "0" * 64  # stands where the first row has no hash before it
LOGS = ("runs", "decisions")
# fmt: off
FIELDS = {
    "runs": {"v", "run", "type", "ts", "by", "label", "sha", "code", "scope", "report", "checks", "claimed", "verdict",
             "why", "findings", "resolved", "not_tested", "questions", "warnings", "decisions", "prev", "hash"},
    "decisions": {"v", "seq", "ts", "by", "action", "target", "reason", "cite", "until", "severity", "runs", "prev",
                  "hash"},
}
# fmt: on
NUMBER = {"runs": "run", "decisions": "seq"}
_TRIES = 20  # readings of logs that keep growing; the last one is of one moment too, or it does not verify
# Never through a symbolic link, never waiting for a pipe.
EXACT = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

Row = Dict[str, Any]
Rows = Iterator[Tuple[str, Row]]
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
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def seal(row: Row, prev: str) -> bytes:
    """The line of a row that follows the hash prev; adds "prev" and "hash" to the row."""
    row["prev"] = prev
    row["hash"] = hashlib.sha256(prev.encode() + b"\n" + canonical(row)).hexdigest()
    return canonical(row) + b"\n"


# --- Reading --------------------------------------------------------------------------------------


def read(root: str, fold: Callable[[Rows], T]) -> Tuple[T, Ends]:
    """Give every row of both logs to fold, in the order of writing; returns what it returned, and the ends.

    A reader waits for nobody: where a log grew meanwhile it reads again, so fold may be called again.
    Raises Unreadable and Tampered.
    """
    check_links(root, Unreadable)
    for tried in range(1, _TRIES + 1):
        before = _sizes(root)
        problem: Optional[Problem] = None
        try:
            with contextlib.ExitStack() as stack:
                ends = Ends()
                outcome = fold(_merged({log: _rows(log, _open(root, log, stack)) for log in LOGS}, ends))
        except Problem as met:
            problem = met
        if before == _sizes(root) or tried == _TRIES:
            break
    if problem is not None:
        raise _first_of(root, problem)
    return outcome, ends


def _merged(logs: Dict[str, Iterator[Tuple[Row, int]]], ends: Ends) -> Rows:
    """Both logs in one order: a decision right after the run that it names, a run after the decisions it names."""
    waiting = {log: next(logs[log], None) for log in LOGS}
    while any(waiting.values()):
        for log, other in (("decisions", "runs"), ("runs", "decisions")):
            found = waiting[log]
            if found is not None and found[0][other] == ends.anchor(other):
                ends.take(log, *found)
                yield log, found[0]
                waiting[log] = next(logs[log], None)
                break
        else:
            after = f"after run {ends.count['runs']} and decision {ends.count['decisions']}"
            raise Tampered(f"runs and decisions do not anchor each other {after}")


def _rows(log: str, file: Optional[BinaryIO]) -> Iterator[Tuple[Row, int]]:
    """The rows of a log, verified, with their sizes; what stands behind the last line end was never acknowledged."""
    prev = FIRST
    for number, line in enumerate(file or (), 1):
        if line.endswith(b"\n"):
            row = _row(log, number, line, prev)
            prev = row["hash"]
            yield row, len(line)


def _row(log: str, number: int, line: bytes, prev: str) -> Row:
    broken = Tampered(f"{log}: broken at {number}")
    row = _parsed(log, number, line)
    if not isinstance(row, dict) or row.keys() != FIELDS[log] or row["prev"] != prev or row[NUMBER[log]] != number:
        raise broken
    before, member, after = line[:-1].partition(b'"hash":"' + str(row["hash"]).encode("ascii", "replace") + b'",')
    if not member or hashlib.sha256(prev.encode() + b"\n" + before + after).hexdigest() != row["hash"]:
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


def path_of(root: str, log: str) -> str:
    """Where a log is."""
    return os.path.join(root, log + ".jsonl")


def _open(root: str, log: str, stack: contextlib.ExitStack) -> Optional[BinaryIO]:
    """The log, to be read; None where there is none."""
    try:
        return stack.enter_context(open(os.open(path_of(root, log), os.O_RDONLY | EXACT), "rb"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unreadable(f"{path_of(root, log)}: {error.strerror}") from None


def _sizes(root: str) -> List[Tuple[int, int]]:
    with contextlib.suppress(OSError):
        found = [os.stat(path_of(root, log)) for log in LOGS if os.path.lexists(path_of(root, log))]
        return [(about.st_ino, about.st_size) for about in found]
    return []


def check_links(root: str, kind: Callable[[str], Problem]) -> None:
    """Raise where the root or a log is not what it has to be: a folder, a regular file, and neither a symbolic link."""
    for path, right in ((root, stat.S_ISDIR), *((path_of(root, log), stat.S_ISREG) for log in LOGS)):
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:
            if path == root and kind is Unreadable:
                raise Unreadable(f"{root}: no ledger") from None
        except (OSError, ValueError) as error:
            raise kind(f"{path}: {getattr(error, 'strerror', None) or error}") from None
        else:
            if not right(mode):
                raise kind(f"{path}: is {'a symbolic link' if stat.S_ISLNK(mode) else 'of the wrong kind'}")
