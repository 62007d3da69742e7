"""Exit 0 if the reviewer's report says APPROVE, and for no other reason.

What the programs under examples/ share with this one, they take from the section "Shared" below.
"""

import argparse
import codecs
import contextlib
import json
import os
import re
import signal
import sys
from types import ModuleType
from typing import Callable, List, NamedTuple, NoReturn, Optional, Sequence, TextIO

if sys.version_info < (3, 8):
    sys.exit("verdict_check.py: needs Python 3.8 or later")

PROGRAM = "verdict_check.py"
USAGE = """\
Exit 0 if the reviewer's report says APPROVE, and for no other reason.

  verdict_check.py [--token TOKEN | --diff FILE] [--json | --quiet] [--github] REPORT [REPORT ...]

  REPORT         a file with the whole reply, or - for standard input; several are a panel, of whom each has to approve
  --token TOKEN  the token that the prompt asked for
  --diff FILE    take the token from this diff
  --json         one JSON object instead of text
  --quiet        nothing on standard output, only the exit status
  --github       also write step outputs, a summary and, beside text, an annotation
  -h, --version  print this, or the version, and end in 2

exit status
  0  APPROVE, from every report
  3  REQUEST_CHANGES
  4  AMBIGUOUS, or no verdict
  1  a report, the diff or an output file cannot be read or written
  2  usage, the same file named twice, --help, --version
130  interrupted

The report is untrusted text: no part of it is printed, only rule ids, line numbers, fixed words and the path."""

UNREADABLE, USAGE_ERROR, INTERRUPTED = 1, 2, 130  # exit statuses, beside those of verdict_contract.exit_code

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
    provide("verdict_contract")
    from verdict_contract import APPROVE, RULES, __version__, combine, diff_token, exit_code, prompt_rule, read_verdict
except (Exception, SystemExit) as _error:
    _reason = f"verdict_contract.py cannot be loaded: {type(_error).__name__}: {_error}"
    if __name__ != "__main__":
        raise ImportError(_reason) from _error
    with contextlib.suppress(OSError):  # where stderr is closed or full, sys.exit with a text would end in 120
        os.write(2, f"{PROGRAM}: {ascii(_reason)[1:-1]}\n".encode())
    os._exit(UNREADABLE)  # with python -i, sys.exit would go on with what stdin holds, and leave with 0

LIMIT = 64 << 20  # bytes of a file; more is no report, and an endless one would fill the memory


# --- The command ----------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """What became of one report; verdict, rule and line are None where it could not be read."""

    report: str
    verdict: Optional[str]
    rule: Optional[str]
    line: Optional[int]
    message: str


class Result(NamedTuple):
    """What became of all of them: one verdict and the exit status."""

    outcomes: Sequence[Outcome]
    verdict: Optional[str]
    code: int


Step = Callable[[Result], None]  # writes something of it; raises CannotRead


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command. Returns the exit status; bad input and a stream that cannot be written raise nothing."""
    try:
        options = parse(arguments)
    except SystemExit:  # with status 2, for --help and --version too: none of them is an approval
        return USAGE_ERROR
    return run(options)


def run(options: argparse.Namespace) -> int:
    """Check the reports, write what was asked for, return the exit status.

    Where one thing cannot be written there is no verdict, and what is written after it says so.
    """
    result = check(options.reports, options.token, options.diff)
    form = as_json if options.json else as_text
    steps: List[Step] = [] if options.quiet else [lambda result: show(form(result))]
    steps += github(annotated=form is as_text and not options.quiet) if options.github else []
    for step in steps:
        try:
            step(result)
        except CannotRead as error:
            say(PROGRAM, error)
            result = result._replace(verdict=None, code=UNREADABLE)
    return result.code


def check(reports: Sequence[str], token: Optional[str], diff: Optional[str]) -> Result:
    """Read each report, with the token that is given or made from the diff.

    What cannot be read is said on stderr, and leaves no verdict; the other reports are read all the same.
    """
    try:
        token = token_of_diff(diff) if diff is not None else token
        outcomes = [judge(path, token) for path in reports]
    except CannotRead as error:
        say(PROGRAM, error)
        outcomes = [Outcome(path, None, None, None, "not read, since the diff cannot be") for path in reports]
    if not all(outcome.rule for outcome in outcomes):
        return Result(outcomes, None, UNREADABLE)
    verdict = combine(outcome.verdict for outcome in outcomes)
    return Result(outcomes, verdict, exit_code(verdict))


# --- Reading --------------------------------------------------------------------------------------


def parse(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    """The options. Raises SystemExit(2) for anything but a proper call, after saying what is wrong or was asked for."""
    parser = Parser(PROGRAM, USAGE)
    token = parser.add_mutually_exclusive_group()
    token.add_argument("--token")
    token.add_argument("--diff")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true")
    form.add_argument("--quiet", action="store_true")
    parser.add_argument("--github", action="store_true")
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("reports", metavar="REPORT", nargs="+")
    options = parser.parse_args(arguments)
    again = twice([*options.reports, *filter(None, [options.diff])])
    if again is not None:
        parser.error(f"named twice: {again}")
    try:
        prompt_rule(options.token)
    except ValueError as error:
        parser.error(f"--token: {error}")
    return options


def judge(path: str, token: Optional[str]) -> Outcome:
    """Read one report; that it cannot be read is said on stderr."""
    try:
        reading = read_verdict(decode(read_bytes(path)), token)
    except CannotRead as error:
        say(PROGRAM, error)
        return Outcome(path, None, None, None, "cannot be read")
    return Outcome(path, reading.verdict, reading.rule, reading.line, str(reading))


def token_of_diff(path: str) -> str:
    """The token for a diff. Raises CannotRead; for an empty diff too, since approving it approves nothing."""
    diff = read_bytes(path)
    if not diff.strip():
        raise CannotRead(f"{path}: the diff is empty")
    return diff_token(diff)


# --- Text and JSON --------------------------------------------------------------------------------


def as_text(result: Result) -> List[str]:
    """A line for each report that could be read; a panel's begin with the path and end in the panel's line."""
    read = [outcome for outcome in result.outcomes if outcome.rule]
    if len(result.outcomes) == 1:
        return [outcome.message for outcome in read]
    # A path that holds ": " could be mistaken for the path and the verdict of another report.
    named = [(visible(outcome.report).replace(": ", ":\\x20"), outcome.message) for outcome in read]
    return [*(f"{path}: {message}" for path, message in named), f"PANEL: {overall(result)}"]


def overall(result: Result) -> str:
    """The verdict of all reports together and, unless it is to approve, how many do and what to do."""
    agree = sum(outcome.verdict == APPROVE for outcome in result.outcomes)
    unread = sum(outcome.rule is None for outcome in result.outcomes)
    if result.verdict == APPROVE:
        return APPROVE
    none = "(not read)" if unread else "(not written)" if result.code == UNREADABLE else "(not stated)"
    more = f", {unread} cannot be read" if unread else ""
    return f"{result.verdict or none} !! {agree} of {len(result.outcomes)} approve{more}; read the reports"


def as_json(result: Result) -> List[str]:
    """One object on one line."""
    reports = [outcome._asdict() for outcome in result.outcomes]
    whole = {"verdict": result.verdict, "exit_code": result.code, "reports": reports, "version": __version__}
    return [json_line(whole)]


# --- Shared: reading, printing and ending, for every program beside this one and under examples/ --


class CannotRead(Exception):
    """A file or stream that cannot be read or written; the text is the path and the reason, as they come."""


# UTF-32 first: its little-endian mark begins with that of UTF-16. The mark itself stays in the
# text: the contract drops one.
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# What a log of GitHub takes for a command, at the start of a line; and of GitHub, Azure or TeamCity, anywhere in one.
_COMMAND = re.compile(r"\A( *:):|##(?=\w*\[)")


def read_bytes(path: str) -> bytes:
    """The content of a file, or of standard input for "-". Raises CannotRead, above LIMIT bytes too."""
    content = bytearray()
    try:
        with open(0 if path == "-" else path, "rb", buffering=0, closefd=path != "-") as file:
            if os.name == "posix":  # where nothing has come yet, a read that does not block looks like the end
                os.set_blocking(file.fileno(), True)
            while len(content) <= LIMIT:  # by parts, between which an interrupt is heard
                part = file.read(1 << 20)
                if not part:
                    return bytes(content)
                content += part
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise CannotRead(f"{path}: {reason_of(error)}") from error
    raise CannotRead(f"{path}: larger than {LIMIT >> 20} MiB")


def twice(paths: Sequence[str]) -> Optional[str]:
    """The first of the paths that names a file which another of them names too; "-" is standard input."""
    files = [_identity(path) for path in paths]
    return next((path for path, file in zip(paths, files) if files.count(file) > 1), None)


def _identity(path: str) -> object:
    """What two names of one file share, hard links and standard input too; where there is no file, its real path."""
    with contextlib.suppress(OSError, ValueError):  # it is missing; a NUL in the path
        found = os.fstat(0) if path == "-" else os.stat(path)
        if found.st_ino:  # some file systems number no files
            return found.st_dev, found.st_ino
    with contextlib.suppress(OSError, ValueError):  # the working folder is gone as well
        return path if path == "-" else os.path.realpath(path)
    return path


def decode(content: bytes) -> str:
    """The text of a report's bytes: as its byte order mark says, else UTF-8; bad bytes are replaced."""
    codec = next((codec for bom, codec in _BOMS if content.startswith(bom)), "utf-8")
    return content.decode(codec, "replace")


def visible(text: str) -> str:
    """The text as one line in which nothing acts: what does not print becomes an escape, a log command is broken."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return _COMMAND.sub(lambda found: f"{found[1]}\\x3a" if found[1] else "#\\x23", shown)


def markdown(text: str) -> str:
    """The text on one line, where each sign that could be markup, or part of a link, is a character reference."""
    return "".join(c if c.isalnum() or c in " ,-" else f"&#{ord(c)};" for c in visible(text))


def json_line(data: object) -> str:
    """The data as JSON on one line of ASCII, in which no log command stands; it reads back as it was."""
    return json.dumps(data).replace("::", ":\\u003a").replace("##", "#\\u0023")


def say(program: str, line: object) -> None:
    """Print "program: line" on stderr, visibly. Nobody is told where there is no stderr, or one that takes nothing."""
    _put(sys.stderr, f"{program}: {visible(str(line))}")


def show(lines: Sequence[str]) -> None:
    """Print lines to stdout, where there is one; what its encoding lacks is escaped.

    Raises CannotRead where they cannot be written, and does so here: in a buffer they might still be lost.
    """
    error = _put(sys.stdout, "\n".join(lines))
    if error is not None:
        raise CannotRead(f"standard output: {reason_of(error)}") from error


def _put(stream: Optional[TextIO], text: str = "") -> Optional[Exception]:
    """Write a text, if any, with a line end, and what is in the stream's buffer. Returns the error, or None.

    After an error the stream leads nowhere: what is left in its buffer would fail at shutdown, with status 120.
    """
    if stream is None:
        return None
    try:
        if text:
            encoding = stream.encoding or "utf-8"
            shown = text.encode(encoding, "backslashreplace").decode(encoding)
            print(shown, file=stream)  # its line end is a write of its own, which fails where the text was cut
        stream.flush()
    except (OSError, ValueError) as error:  # ValueError: it was closed
        with contextlib.suppress(OSError, ValueError):  # it has no descriptor, or none that is open
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None


def reason_of(error: Exception) -> str:
    """Why something could not be read or written, without the path."""
    return getattr(error, "strerror", None) or str(error)


class Parser(argparse.ArgumentParser):
    """The arguments of a program: an error is one line, --help is the text that is given; both end in status 2."""

    def __init__(self, program: str, usage: str) -> None:
        super().__init__(prog=program, allow_abbrev=False)
        self._text = usage

    def format_help(self) -> str:
        """The text that --help prints."""
        return self._text

    def _print_message(self, message: str, file: object = None) -> None:  # noqa: ARG002
        try:
            show([message.rstrip()])
        except CannotRead as error:
            say(self.prog, error)

    def exit(self, status: int = 0, message: Optional[str] = None) -> NoReturn:  # noqa: ARG002
        """End in status 2, for --help and --version too: 0 would be an approval. Raises SystemExit."""
        raise SystemExit(USAGE_ERROR)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the arguments. Raises SystemExit."""
        say(self.prog, f"{message} (--help shows the usage)")
        self.exit()


def ended(program: str, main: Callable[[], int]) -> int:
    """Run a program's main; returns the status to leave with, whatever state the streams are in.

    An interrupt, by SIGTERM, SIGHUP or SIGQUIT too, is said and is INTERRUPTED; a CannotRead is said and is UNREADABLE.
    """
    status = _guarded(program, main)
    for stream in (sys.stdout, sys.stderr):
        _put(stream)
    if sys.flags.inspect:
        os._exit(status)  # Python would ask for more, and leave with 0
    return status


def _guarded(program: str, main: Callable[[], int]) -> int:
    try:
        for name in ("SIGTERM", "SIGHUP", "SIGQUIT"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:  # nohup has it ignored
                signal.signal(number, signal.default_int_handler)
        return main()
    except KeyboardInterrupt:
        say(program, "interrupted")
        return INTERRUPTED
    except CannotRead as error:
        say(program, error)
        return UNREADABLE


# --- GitHub ---------------------------------------------------------------------------------------

_NEXT = {
    0: "The change may be merged.",
    3: "Change what the reports ask for, then have the new diff reviewed.",
    4: "Nobody said clearly that the change may be merged: read the reports, then have it reviewed again.",
    UNREADABLE: "A file cannot be read or written, so nothing was decided: the log names it; fix that and run again.",
}


def github(annotated: bool) -> List[Step]:
    """The job's summary, annotations if wanted, and the step outputs: last, to say 1 where something failed."""
    return [
        lambda result: append("GITHUB_STEP_SUMMARY", summary(result)),
        lambda result: show([annotation(outcome) for outcome in result.outcomes if annotated]),
        lambda result: append("GITHUB_OUTPUT", outputs(result)),
    ]


def append(variable: str, text: str) -> None:
    """Append to the file that an environment variable names, if it names one. Raises CannotRead."""
    path = os.environ.get(variable)
    try:
        if path:
            with open(path, "a", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise CannotRead(f"{variable}: {path}: {error.strerror}") from error


def summary(result: Result) -> str:
    """Markdown: the overall verdict, what to do next, and a table with a row for each report."""
    why = {rule.id: f"{rule.verdict or '(not stated)'}: {rule.when}" for rule in RULES}
    rows = [(o.report, why.get(o.rule or "", o.message), o.rule or "", str(o.line or "")) for o in result.outcomes]
    table = ["| report | verdict | rule | line |", "| --- | --- | --- | --- |"]
    table += [f"| {' | '.join(map(markdown, row))} |" for row in rows]
    return "\n".join(["## Review verdict", "", markdown(overall(result)), "", _NEXT[result.code], "", *table, "", ""])


def annotation(outcome: Outcome) -> str:
    """The outcome as a command to GitHub's log, which shows it beside the report's line."""
    kind = "notice" if outcome.verdict == APPROVE else "error"
    path = outcome.report.translate({ord(c): f"%{ord(c):02X}" for c in "%\r\n:,"})
    line = f",line={outcome.line}" if outcome.line else ""
    return f"::{kind} file={visible(path)}{line}::{outcome.message}"


def outputs(result: Result) -> str:
    """The step outputs, a name=value line each; no value has a line end.

    Rule and line are those of the first report with the overall verdict, else of the first that does not approve;
    where something could not be read or written, no rule decided.
    """
    same = [outcome for outcome in result.outcomes if outcome.verdict == result.verdict]
    others = [outcome for outcome in result.outcomes if outcome.verdict != APPROVE]
    told = [] if result.code == UNREADABLE else same + others
    rule, line = next(((outcome.rule, outcome.line) for outcome in told), (None, None))
    return f"verdict={result.verdict or 'none'}\nexit-code={result.code}\nrule={rule or ''}\nline={line or ''}\n"


if __name__ == "__main__":
    sys.exit(ended(PROGRAM, main))
