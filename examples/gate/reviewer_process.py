"""Run a reviewer, a shell command, to its end: on files, in an empty folder, with nothing left of its process group.

review_gate.py uses it: cannot_start for each command, run for each attempt, INTERRUPTS for the signals that cancel it.
What run keeps to:
  - stdin, stdout and stderr are a regular file each. Several clients exit before a pipe is drained, with status 0, and
    lose the end of what they write. stdout is read once, after the end.
  - The working folder, unless one is named, is new, and empty but for the least that git takes for a repository, so
    that no file of the change under review instructs the reviewer.
  - The environment is the user's, where the login is, without SCRUBBED and SCRUBBED_STARTS.
  - The reviewer leads a process group of its own. After every end, interrupts included, the group is ended, politely
    and then for good.
  - A run fails if it cannot be started, if its status is not 0, at the time limit, whatever its status then says, and
    when stdout or stderr is over LIMIT. That is watched: a limit of the system would break the client's own files.

What it cannot do
  - A process that leaves its group (setsid) is not ended; nothing waits for it. Nor is any where SIGKILL ends the
    process that called run.
  - A child can reach its parent's open files, so a reviewer that runs code of the change can be forged. So can one
    whose empty folder lies in a checkout of the change (TMPDIR).
  - The branch for Windows (taskkill /T /F, which misses what outlives the reviewer) has not been run.

Standard library only.
"""

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import BinaryIO, Iterator, NamedTuple, Optional, Sequence

LIMIT = 64 << 20  # bytes, of stdout and stderr each
POLL = 0.05  # seconds between looks at a running reviewer
GRACE = 1.0  # seconds from SIGTERM to SIGKILL; CI does not wait long for a cancelled job
GONE = 0.5  # seconds that the dead may take to go, which they do when somebody reaps them

LATE = "still running at the time limit"
TOO_MUCH = f"wrote more than {LIMIT >> 20} MiB"

# fmt: off
# What leads a reviewer to the change's repository, or speaks to GitHub's CI in the job's name.
SCRUBBED = {
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CEILING_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS", "GIT_DIR", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_NAMESPACE", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
    "PWD", "OLDPWD", "INIT_CWD",
    "GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY", "GITHUB_TOKEN", "GH_TOKEN",
}
SCRUBBED_STARTS = ("ACTIONS_", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")
# fmt: on


class Interrupts:
    """The signals that cancel a job. They end the program at once, or an attempt first if one is being made."""

    came = held = False

    def install(self) -> None:
        """Handle them, but for one that was ignored from the start, as nohup does."""
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self.arrive)
        if hasattr(signal, "SIGCHLD"):
            # Where it was ignored from the start, the status of a child is lost, and subprocess says 0.
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)

    def arrive(self, *_: object) -> None:
        """The handler: KeyboardInterrupt, once, and not while an attempt holds it back."""
        first, self.came = not self.came, True
        if first and not self.held:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the interrupt back until the block has ended; between a start and its note, it would leave a process."""
        self.held = True
        try:
            yield
        finally:
            self.held = False
        if self.came:
            raise KeyboardInterrupt


INTERRUPTS = Interrupts()


def cannot_start(command: str, cwd: Optional[str]) -> str:
    """Why a command cannot work: it is blank, or begins with a relative path, and cwd is None, an empty folder.

    Returns an empty text where nothing of that is seen.
    """
    if not command.strip():
        return "a REVIEWER is blank"
    try:
        words = shlex.split(command, posix=os.name != "nt")
    except ValueError:
        return ""  # the shell says better what is wrong with it
    first = next((word.strip('"') for word in words if not re.match(r"[A-Za-z_]\w*=", word)), "")
    if cwd is not None or not os.path.dirname(first) or os.path.isabs(first) or first[0] in "~$`%":
        return ""
    return f"{first}: a reviewer starts in an empty folder: give the absolute path, or --cwd"


class Run(NamedTuple):
    """What a reviewer wrote, how long it took, and how it failed; an empty "why" if it did not."""

    why: str
    seconds: float
    stdout: bytes
    stderr: bytes


def run(command: str, text: bytes, cwd: Optional[str], timeout: float) -> Run:
    """Run a reviewer on a prompt, for so many seconds at most; cwd is its folder, or None for an empty one.

    Nothing of its process group is left then. Raises OSError where temporary files cannot be written.
    """
    with scratch("files") as files, scratch("cwd") as empty:
        minimal_repository(empty)
        paths = [os.path.join(files, name) for name in ("stdin", "stdout", "stderr")]
        with open(paths[0], "wb") as file:
            file.write(text)
        # Opened to append, so that a command that opens /dev/stdout once more does not write over what is there.
        with open(paths[0], "rb") as stdin, open(paths[1], "a+b") as stdout, open(paths[2], "a+b") as stderr:
            began = time.monotonic()
            why = _run(command, (stdin, stdout, stderr), cwd or empty, began + timeout)
            took = time.monotonic() - began
            written = [_written(file) for file in (stdout, stderr)]
    return Run(why or TOO_MUCH * (max(map(len, written)) > LIMIT), took, *written)


def _written(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read(LIMIT + 1)


def _run(command: str, streams: Sequence[BinaryIO], cwd: str, end: float) -> str:
    """Start the command, wait for it, end its group. Returns how it failed."""
    stdin, stdout, stderr = streams
    environment = {k: v for k, v in os.environ.items() if k not in SCRUBBED and not k.startswith(SCRUBBED_STARTS)}
    group = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # Windows; elsewhere the new session makes one
    # fmt: off
    try:
        process = subprocess.Popen(  # noqa: S602  (a reviewer is a shell command, and comes from the user)
            command, shell=True, stdin=stdin, stdout=stdout, stderr=stderr, cwd=cwd, env=environment,
            start_new_session=True, creationflags=group,
        )
    except OSError as error:
        return f"cannot be started: {error.strerror}"
    # fmt: on
    try:
        why = _watch(process, streams[1:], end)
    finally:
        end_group(process)
    code = process.returncode
    return why or ("" if code == 0 else f"signal {-code}" if code and code < 0 else f"exit status {code}")


def _watch(process: "subprocess.Popen[bytes]", written: Sequence[BinaryIO], end: float) -> str:
    """Wait until the process has ended, or has to be. Returns why it has to be."""
    while True:
        try:
            process.wait(max(0.0, min(POLL, end - time.monotonic())))
            return ""
        except subprocess.TimeoutExpired:
            pass
        if INTERRUPTS.came:
            return "interrupted"
        if time.monotonic() >= end:
            return LATE
        if any(os.fstat(file.fileno()).st_size > LIMIT for file in written):
            return TOO_MUCH


if sys.platform == "win32":

    def end_group(process: "subprocess.Popen[bytes]") -> None:
        """End the process and its descendants."""
        kill = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
        subprocess.run(kill, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)

else:

    def end_group(process: "subprocess.Popen[bytes]") -> None:
        """End every process of the group, politely and then for good, also where its leader has ended before."""
        for how, again, patience in ((signal.SIGTERM, 0, GRACE), (signal.SIGKILL, signal.SIGKILL, GONE)):
            deadline = time.monotonic() + patience
            lives = _signalled(process, how)
            while lives and time.monotonic() < deadline:
                time.sleep(POLL / 5)
                lives = _signalled(process, again)
            if not lives:
                break

    def _signalled(process: "subprocess.Popen[bytes]", how: int) -> bool:
        """Send the group a signal; whether anyone was there. A dead leader is reaped first, or it would count."""
        process.poll()
        try:
            os.killpg(process.pid, how)
        except (ProcessLookupError, PermissionError):  # the latter on macOS, where all are dead and not reaped
            return False
        return True


@contextlib.contextmanager
def scratch(kind: str) -> Iterator[str]:
    """A new folder that only this user can enter; removed at the end, as far as the reviewer lets it be."""
    folder = tempfile.mkdtemp(prefix=f"review_gate-{kind}-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def minimal_repository(folder: str) -> None:
    """The least that git takes for a repository: one client refuses to run outside of one."""
    for name in ("objects", "refs"):
        os.makedirs(os.path.join(folder, ".git", name))
    with open(os.path.join(folder, ".git", "HEAD"), "w", encoding="ascii") as head:
        head.write("ref: refs/heads/main\n")


if __name__ == "__main__":
    sys.exit("reviewer_process.py: review_gate.py uses it; it is no program")
