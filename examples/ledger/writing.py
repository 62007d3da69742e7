"""How the logs are written: one writer at a time, each row whole and on the disk before anybody is told so.

Offered: writing, which holds the lock; append; badge.
"""

import contextlib
import errno
import os
import sys
import time
from typing import Iterator, Optional

from chain import EXACT, LOGS, Ends, Refused, Row, Unreadable, canonical, check_links, path_of, seal

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

WAIT = 5.0  # seconds for the lock
_COMPANIONS = {".gitattributes": b"*.jsonl -merge -text\n", ".gitignore": b".lock\n*.torn\n"}
_MADE = "badge.json.torn"  # what becomes another file by renaming; git ignores the name
_LOG_FILES = {log + end for log in LOGS for end in (".jsonl", ".jsonl.torn")}
# What the ledger itself writes into its folder; a hash of the code leaves these names out.
OWN_FILES = {*_COMPANIONS, *_LOG_FILES, _MADE, "badge.json", ".lock"}


@contextlib.contextmanager
def writing(root: str, create: bool) -> Iterator[None]:
    """Hold the ledger's lock, which the operating system lets go of however the program ends; create makes the folder.

    Raises Refused after WAIT seconds, for symbolic links, where nothing can be written; Unreadable for no ledger.
    """
    check_links(root, Refused)
    if not create and not os.path.isdir(root):
        raise Unreadable(f"{root}: no ledger")
    try:
        os.makedirs(root, exist_ok=True)
        lock = os.open(os.path.join(root, ".lock"), os.O_RDWR | os.O_CREAT | EXACT, 0o666)
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
                return msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES) or time.monotonic() > last:
                raise Refused(f"{root}: locked by another writer: {error.strerror}") from None
        time.sleep(0.02)


def append(root: str, log: str, row: Row, ends: Ends) -> None:
    """Put a row behind the ends, within writing, and move them. When this returns, the row is on the disk.

    A torn end goes to a file of its own first. Raises Refused, and then the log ends where it did.
    """
    line = seal(row, ends.hash[log])
    try:
        for name, content in _COMPANIONS.items():
            if not os.path.lexists(os.path.join(root, name)):
                _replace(root, name, content)
        file = os.open(path_of(root, log), os.O_RDWR | os.O_CREAT | EXACT, 0o666)
        try:
            _append(root, log, file, ends.size[log], line)
        finally:
            os.close(file)
    except OSError as error:
        raise Refused(f"{path_of(root, log)}: {error.strerror}") from None
    ends.take(log, row, len(line))


def _append(root: str, log: str, file: int, size: int, line: bytes) -> None:
    os.lseek(file, size, os.SEEK_SET)
    tail = os.read(file, os.fstat(file).st_size - size)
    if tail:
        _write(path_of(root, log) + ".torn", os.O_APPEND, tail + b"\n")
        os.ftruncate(file, size)
    try:
        os.lseek(file, size, os.SEEK_SET)
        _write_all(file, line)
        _sync_folder(root)
    except BaseException:
        with contextlib.suppress(OSError):  # where this fails too, the row is there or torn, but nobody was told so
            os.ftruncate(file, size)
            os.fsync(file)
        raise


def _sync_folder(root: str) -> None:
    """A new file's name is on the disk only with its folder; elsewhere than here there is no way to ask for that."""
    if os.name == "posix":
        folder = os.open(root, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _write_all(file: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(file, left) :]
    os.fsync(file)


def _write(path: str, how: int, content: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | how | EXACT, 0o666)
    try:
        _write_all(file, content)
    finally:
        os.close(file)


def _replace(root: str, name: str, content: bytes) -> None:
    """Write a whole file or nothing of it."""
    made = os.path.join(root, _MADE)
    _write(made, os.O_TRUNC, content)
    os.replace(made, os.path.join(root, name))


def badge(root: str, message: str, colour: str) -> Optional[str]:
    """Write badge.json, in the "endpoint" form of shields.io; returns why it could not be, which loses nothing."""
    content = {"schemaVersion": 1, "label": "review ledger", "message": message, "color": colour}
    try:
        _replace(root, "badge.json", canonical(content) + b"\n")
    except OSError as error:
        return f"{os.path.join(root, 'badge.json')}: {error.strerror}"
    return None
