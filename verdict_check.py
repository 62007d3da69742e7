"""Exit 0 if the reviewer's report says APPROVE, and for no other reason.

  verdict_check.py [--token TOKEN | --diff FILE] [--json | --quiet] [--github] REPORT [REPORT ...]

exit status
  0  APPROVE, from every report
  3  REQUEST_CHANGES
  4  AMBIGUOUS, or no verdict
  1  a report, the diff or an output file cannot be read or written
  2  usage, the same file named twice, --help, --version
130  interrupted

The report is untrusted text: no part of it is printed, only rule ids, line numbers, fixed words and the path.
"""

from __future__ import annotations

import argparse
import codecs
import io
import json
import os
import sys
from typing import List, NamedTuple, NoReturn, Optional, Sequence

# First on the path is this file's own folder, also where Python was told to leave it out (-I, -P).
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from verdict_contract import (
    APPROVE,
    __version__,
    combine,
    diff_token,
    exit_code,
    prompt_rule,
    read_verdict,
)

UNREADABLE = 1
USAGE = 2
INTERRUPTED = 130
_MEBIBYTE = 1 << 20
_LIMIT = 64 * _MEBIBYTE

# UTF-32 first: its little-endian mark begins with that of UTF-16. The mark itself stays in the
# text: the contract drops one.
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Outcome(NamedTuple):
    """What became of one report; rule and verdict are None where it could not be read."""

    report: str
    verdict: Optional[str]
    rule: Optional[str]
    line: Optional[int]
    message: str


class CannotRead(Exception):
    """A file that cannot be read or written; the text is the path and the reason, as they come."""


# --- Reading --------------------------------------------------------------------------------------


def read_bytes(path: str) -> bytes:
    """The content of a file, or of standard input for "-". Raises CannotRead, also above 64 MiB."""
    try:
        with open(0 if path == "-" else path, "rb", closefd=path != "-") as file:
            if os.name == "posix":  # where nothing has come yet, a read that does not block looks like the end
                os.set_blocking(file.fileno(), True)
            content = file.read(_LIMIT + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise CannotRead(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    if len(content) > _LIMIT:
        raise CannotRead(f"{path}: larger than {_LIMIT // _MEBIBYTE} MiB")
    return content


def decode(content: bytes) -> str:
    """The text of a report's bytes: as its byte order mark says, else UTF-8; bad bytes are replaced."""
    codec = next((codec for bom, codec in _BOMS if content.startswith(bom)), "utf-8")
    return content.decode(codec, "replace")


def judge(path: str, token: Optional[str]) -> Outcome:
    """Read one report. Raises CannotRead."""
    reading = read_verdict(decode(read_bytes(path)), token)
    return Outcome(path, *reading, str(reading))


def token_of_diff(path: str) -> str:
    """The token for a diff. Raises CannotRead; an empty diff too, since approving it approves nothing."""
    diff = read_bytes(path)
    if not diff.strip():
        raise CannotRead(f"{path}: the diff is empty")
    return diff_token(diff)


# --- Escaping, for each place that a path is written to -------------------------------------------


def visible(text: str) -> str:
    """The text with what does not print written as an escape, so that it stays on its line and commands no log."""
    shown = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return "".join(shown).replace("::", ":\\x3a").replace("##", "#\\x23")


def place(path: str) -> str:
    """The path for the start of a line: what follows it cannot be mistaken for a part of it, nor it for more."""
    return visible(path).replace(": ", ":\\x20")


def markdown(text: str) -> str:
    """The text for a table cell: each character that could be markup becomes a character reference."""
    return "".join(c if c.isalnum() or c in " ./-" else f"&#{ord(c)};" for c in visible(text))


def annotation(outcome: Outcome) -> str:
    """The outcome as a command to GitHub's log, which shows it beside the report's line."""
    kind = "notice" if outcome.verdict == APPROVE else "error"
    path = outcome.report.translate({ord(c): f"%{ord(c):02X}" for c in "%\r\n:,"})
    line = f",line={outcome.line}" if outcome.line else ""
    return f"::{kind} file={visible(path)}{line}::{outcome.message}"


# --- Writing --------------------------------------------------------------------------------------


def as_text(outcomes: Sequence[Outcome], panel: Optional[str]) -> List[str]:
    """A line for each report that could be read; a panel's begin with the path and end in the panel's line."""
    read = [outcome for outcome in outcomes if outcome.rule]
    if len(outcomes) == 1:
        return [outcome.message for outcome in read]
    lines = [f"{place(outcome.report)}: {outcome.message}" for outcome in read]
    agree = sum(outcome.verdict == APPROVE for outcome in read)
    unread = len(outcomes) - len(read)
    more = f", {unread} cannot be read" if unread else ""
    why = "" if panel == APPROVE else f" !! {agree} of {len(outcomes)} approve{more}; read the reports"
    shown = panel or ("(not read)" if unread else "(not stated)")
    return [*lines, f"PANEL: {shown}{why}"]


def as_json(outcomes: Sequence[Outcome], panel: Optional[str], code: int) -> str:
    """One object on one line, in ASCII; a path that would command a log is escaped once more."""
    reports = [outcome._asdict() for outcome in outcomes]
    result = {"verdict": panel, "exit_code": code, "reports": reports, "version": __version__}
    return json.dumps(result).replace("##", "#\\u0023")


def telling(outcomes: Sequence[Outcome], panel: Optional[str]) -> Optional[Outcome]:
    """The outcome whose rule and line speak for the panel: the first with its verdict, else the first no approval."""
    same = [outcome for outcome in outcomes if outcome.verdict == panel and outcome.rule]
    return next(iter(same + [outcome for outcome in outcomes if outcome.verdict != APPROVE]), None)


def outputs(outcomes: Sequence[Outcome], panel: Optional[str], code: int) -> str:
    """The step outputs, a name=value line each; no value has a line end."""
    told = telling(outcomes, panel)
    values = {
        "verdict": panel or "none",
        "exit-code": code,
        "rule": (told and told.rule) or "",
        "line": (told and told.line) or "",
    }
    return "".join(f"{name}={value}\n" for name, value in values.items())


def summary(outcomes: Sequence[Outcome]) -> str:
    """A Markdown table with a row for each report."""
    rows = [f"| {markdown(o.report)} | {o.message} | {o.rule or ''} | {o.line or ''} |" for o in outcomes]
    return "\n".join(["| report | verdict | rule | line |", "| --- | --- | --- | --- |", *rows, "", ""])


def append(variable: str, text: str) -> None:
    """Append to the file that an environment variable names, if it names one. Raises CannotRead."""
    path = os.environ.get(variable)
    try:
        if path:
            with open(path, "a", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise CannotRead(f"{variable}: {path}: {error.strerror}") from error


# --- The command ----------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """An error is one line, with nothing in it that acts on a terminal or a log."""

    def _print_message(self, message: str, file: object = None) -> None:  # noqa: ARG002
        show([message.rstrip()])

    def error(self, message: str) -> NoReturn:
        complain(f"{message} (--help shows the usage)")
        raise SystemExit


def parse(arguments: Optional[Sequence[str]]) -> Optional[argparse.Namespace]:
    """The options; None for anything but a proper call, after saying what is wrong or what was asked for."""
    parser = usage()
    try:
        options = parser.parse_args(arguments)
        files = [*options.reports, *filter(None, [options.diff])]
        places = [real(path) for path in files]
        twice = next((path for path, place in zip(files, places) if places.count(place) > 1), None)
        if twice is not None:
            parser.error(f"named twice: {twice}")
        prompt_rule(options.token)
    except ValueError as error:
        complain(f"--token: {error}")
    except CannotRead as error:
        complain(error)
    except SystemExit:
        pass
    else:
        return options
    return None


def real(path: str) -> str:
    """The path that the system would open, of standard input too where it has one; as it is where it leads nowhere."""
    try:
        return os.path.realpath("/dev/stdin" if path == "-" else path)
    except (OSError, ValueError):  # the working folder is gone; a NUL in the path
        return path


def usage() -> argparse.ArgumentParser:
    """The command line; its --help prints this file's docstring."""
    parser = _Parser(
        prog=__file__,  # or it is looked for in sys.argv, which may be empty
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    token = parser.add_mutually_exclusive_group()
    token.add_argument("--token", metavar="TOKEN", help="the token that the prompt asked for")
    token.add_argument("--diff", metavar="FILE", help="take the token from this diff")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object instead of text")
    form.add_argument("--quiet", action="store_true", help="nothing on stdout, only the exit status")
    parser.add_argument("--github", action="store_true", help="also write step outputs, a summary and an annotation")
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("reports", metavar="REPORT", nargs="+", help='a file with a reply, or "-" for standard input')
    return parser


def complain(message: object) -> None:
    """One line on stderr; without a stderr there is nobody to tell."""
    try:
        if sys.stderr:
            print(f"verdict_check.py: {visible(str(message))}", file=sys.stderr)
    except OSError:
        pass


def check(reports: Sequence[str], token: Optional[str], diff: Optional[str]) -> List[Outcome]:
    """The outcome of each report; what cannot be read is said on stderr, and the others are read all the same."""
    outcomes: List[Outcome] = []
    try:
        token = token_of_diff(diff) if diff is not None else token
    except CannotRead as error:
        complain(error)
        return [Outcome(path, None, None, None, "not read, since the diff cannot be") for path in reports]
    for path in reports:
        try:
            outcomes.append(judge(path, token))
        except CannotRead as error:
            complain(error)
            outcomes.append(Outcome(path, None, None, None, "cannot be read"))
    return outcomes


def run(options: argparse.Namespace) -> int:
    """Check the reports, write what was asked for, return the exit status.

    The step outputs come last, so that they say none and 1 where anything before them failed.
    """
    outcomes = check(options.reports, options.token, options.diff)
    unread = any(outcome.rule is None for outcome in outcomes)
    panel = None if unread else combine(outcome.verdict for outcome in outcomes)
    code = UNREADABLE if unread else exit_code(panel)
    try:
        if options.github:
            append("GITHUB_STEP_SUMMARY", summary(outcomes))
        if not options.quiet:
            show([as_json(outcomes, panel, code)] if options.json else as_text(outcomes, panel))
        if options.github and not options.quiet and not options.json:
            show([annotation(outcome) for outcome in outcomes])
    except CannotRead as error:
        complain(error)
        panel, code = None, UNREADABLE
    try:
        if options.github:
            append("GITHUB_OUTPUT", outputs(outcomes, panel, code))
    except CannotRead as error:
        complain(error)
        code = UNREADABLE
    return code


def show(lines: Sequence[str]) -> None:
    """Print to stdout, for what is not on its way when this returns may be lost. Raises CannotRead."""
    try:
        if lines:
            print(*lines, sep="\n", flush=True)
    except OSError as error:
        # What is left in the buffer would fail again at shutdown, with a traceback and status 120.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise CannotRead(f"standard output: {error.strerror}") from error


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command. Returns the exit status; bad input and a closed output raise nothing."""
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        options = parse(arguments)
        return USAGE if options is None else run(options)
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
