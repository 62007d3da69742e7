"""Check what a reviewer is told before it is told: one prompt rule, the current one, and last.

  prompt_guard.py [--token TOKEN] PROMPT      a whole prompt, which ends in prompt_rule(TOKEN)
  prompt_guard.py --task TASK                 instructions that do not hold the rule yet

exit status
  0  fine, and nothing is printed
  3  refused: a line for each problem, as path:line: what is wrong
  1  the file cannot be read, or is not UTF-8
  2  usage; --help too

A file is a path, or "-" for standard input. From Python: check_prompt(prompt, token) and check_task(text).
verdict_contract.py is looked for beside this file, then in its parent folder, and nowhere else.

It is a lint for text of your own, against the rule that was copied long ago and the example left in: a model that
was told two rules follows either. Give it the prompt without the diff: a diff may well hold verdict lines, which the
token makes harmless. It looks for English words that stand near each other, and knows no sense. So the words of the
verdict in capitals are refused wherever they stand, also where they are meant well: write them in small letters. It
cannot see a rule in other words or in another language ("answer yes or no", "finish with LGTM"), one whose words stand
far apart or in small letters ("approve what compiles"), one for a first or last line that does not say of what, an
order to approve whatever the change holds, a sentence that takes the rule back ("ignore the last paragraph"), a
quotation that is opened by anything but a fence or a comment, or what a client adds, cuts off or expands on the way.

Standard library only. Run on Linux; nothing in it is meant for POSIX alone, but it was not run on Windows.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import unicodedata
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Dict, Iterator, List, NamedTuple, NoReturn, Optional, Sequence, Tuple

_HERE = os.path.dirname(os.path.realpath(__file__))
if "verdict_contract" not in sys.modules:  # the working folder may hold another one
    _spec = PathFinder.find_spec("verdict_contract", [_HERE, os.path.dirname(_HERE), os.path.dirname(os.path.dirname(_HERE))])
    if _spec is None or _spec.loader is None:
        sys.exit("prompt_guard.py: verdict_contract.py is neither in its folder nor in the one above")
    sys.modules["verdict_contract"] = module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["verdict_contract"])

from verdict_contract import APPROVE, REQUEST_CHANGES, prompt_rule, read_verdict  # noqa: E402  (loaded just now)

REFUSED = 3
UNREADABLE = 1
USAGE = 2
INTERRUPTED = 130
_MEBIBYTE = 1 << 20
_LIMIT = 64 * _MEBIBYTE


class Problem(NamedTuple):
    """A line, from 1, and what is wrong there, in fixed words that repeat nothing of the text."""

    line: int
    what: str


# --- Lines that the parser takes for a verdict ----------------------------------------------------

_APPROVAL = f"===VERDICT=== {APPROVE}"
_TOKEN = "0" * 16  # any will do: with one, a fence that a line opens does not count against the approval below


def _reads_as_verdict(line: str) -> Optional[str]:
    """What the line is to the parser, by itself or repeated in a report that approves; None if it is nothing."""
    rule = read_verdict(line).rule
    if rule != "not-stated":
        return f"reads as a verdict ({rule})"
    repeated = read_verdict(f"{line}\n\n{_APPROVAL} {_TOKEN}", _TOKEN)
    return None if repeated.verdict == APPROVE else f"would count against an approval that repeats it ({repeated.rule})"


def _left_open(text: str) -> Optional[int]:
    """The line of a code fence or comment that is never closed, so that what follows the text looks quoted."""
    reading = read_verdict(f"{text}\n\n{_APPROVAL}")
    return reading.line if reading.rule == "open-block" else None


def _disguises(line: str) -> bool:
    """Whether a word of the line is a word of the verdict in look-alikes, as the parser takes them."""
    words = (word for word in re.findall(r"\w+", line) if not word.isascii())
    return any(read_verdict(f"===VERDICT=== {word}").rule != "unknown-value" for word in words)


# --- Words that tell a reviewer how to state a verdict --------------------------------------------

_APPROVAL_WORD = rf"{APPROVE}D?"
_REFUSAL_WORD = rf"(?:{REQUEST_CHANGES.replace('_', '[_ -]?')}|CHANGES[_ -]?REQUESTED)"
_APPROVES = rf"(?:\b{_APPROVAL_WORD}\b|(?i:[\"'`*]{_APPROVAL_WORD}[\"'`*]))"  # in plain small letters it is prose
_REFUSES = rf"(?:\b{_REFUSAL_WORD}\b|(?i:\b{REQUEST_CHANGES}\b))"
_VALUE = rf"(?:{_APPROVES}|{_REFUSES})"
_LABEL = r"(?i:(?<![^\W_])VERDICT(?![^\W_]))"
_NEAR = r"(?:(?!\n[ \t]*\n)[\s\S]){0,120}?"  # within a paragraph; bounded, so that the search stays linear
_BESIDE = r"[\s\S]{1,16}?"
_CLAUSE = r"(?:(?!\n[ \t]*\n|[.!?;]\s)[\s\S]){0,80}?"  # within a sentence
_REPLY = r"(?:(?:(?:the|each|every|this)\s+)?(?:reply|answer|response)|(?:the|each|every|this)\s+review)"
_YOURS = rf"(?i:\b(?:your|{_REPLY})\b)"
_LINE = r"(?i:\b(?:first|last|final)\s+(?:line|word)\b)"

_CAPITALS = "a word of the verdict, in capitals, outside of the prompt rule: write it in small letters"
_NO_RULE = (
    "it does not end in the prompt rule, word for word as verdict_contract.py [TOKEN] prints it for this token or none"
)

# fmt: off
_ROWS: Tuple[Tuple[str, str], ...] = (
    (r"(?i:(?<!=)==+[ \t]*VERDICT[ \t]*==)",
     "the marker stands outside of the prompt rule"),
    (rf"(?:(?<![\"'`]){_LABEL}|{_LABEL}(?!:[\"'`]))[])\"'`*_ \t]{{0,8}}[:=]|{_YOURS}{_CLAUSE}{_LABEL}:",
     "an older rule: a label for the verdict"),
    (rf"{_LABEL}{_NEAR}{_VALUE}|{_VALUE}{_NEAR}{_LABEL}",
     "an older rule: the verdict and a value"),
    (rf"{_APPROVES}{_NEAR}{_REFUSES}|{_REFUSES}{_NEAR}{_APPROVES}",
     "an older rule: both values"),
    (rf"(?i:\b{_APPROVAL_WORD}\b{_BESIDE}\b{_REFUSAL_WORD}\b|\b{_REFUSAL_WORD}\b{_BESIDE}\b{_APPROVAL_WORD}\b)",
     "an older rule: both values"),
    (rf"[:=][ \t\"'`*_(<]*{_VALUE}",
     "an older rule: a label and a value"),
    (rf"(?i:\b(?:begin|start|end|finish|close|conclude)\s+(?:your\s+\w+|{_REPLY})\s+(?:with|in|by)\b)",
     "another rule for how the reply begins or ends"),
    (rf"{_LINE}{_CLAUSE}{_YOURS}|{_YOURS}{_CLAUSE}{_LINE}",
     "another rule for how the reply begins or ends"),
    (rf"(?<![^\W_])(?:{_APPROVAL_WORD}|{_REFUSAL_WORD})(?![^\W_])",
     _CAPITALS),
)
# fmt: on


def _seen(text: str) -> str:
    """The text in plain compatible forms, without accents and what does not show, which could split a word."""
    if text.isascii():
        return text
    parts = (part for character in text for part in unicodedata.normalize("NFKD", character))
    return "".join(
        part for part in parts if part in "\n\t" or unicodedata.category(part) not in ("Cc", "Cf", "Mc", "Me", "Mn")
    )


def _hidden(line: str) -> bool:
    """Whether the line holds what a model reads and a person does not: controls, bidi marks, tag characters."""
    odd = [] if line.isprintable() else [c for c in line if unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs")]
    return any(c not in "\t\u200c\u200d" for c in odd)  # with the two joiners, words and emoji are written


# --- The two checks -------------------------------------------------------------------------------


def check_task(text: str) -> List[Problem]:
    """The problems of instructions that do not hold the prompt rule yet, in order of lines; none means fine.

    Raises TypeError for what is no str.
    """
    text = _as_text(text)
    return _in_order(_problems(text) if text.strip() else {1: "is blank"})


def check_prompt(prompt: str, token: Optional[str] = None) -> List[Problem]:
    """The problems of a whole prompt, in order of lines; none means fine.

    It has to hold prompt_rule(token) word for word, once, from the start of a line, with nothing but blanks after
    it; the rest is checked as in check_task. Raises TypeError for a prompt that is no str, and for tokens as
    prompt_rule does.
    """
    text, rule = _as_text(prompt), prompt_rule(token)
    rest = text.replace(rule, "\n" * rule.count("\n"))
    found = _problems(rest)
    found.update(_misplaced(text, rule))
    at = rest.lower().find(token.lower()) if token else -1
    if at >= 0:
        found.setdefault(_line(rest, at), "the token stands outside of the prompt rule")
    return _in_order(found)


def _misplaced(text: str, rule: str) -> Dict[int, str]:
    """What is wrong with the place of the rule, by line."""
    before, is_there, after = text.rpartition(rule)
    if not is_there:
        return {_line(text.rstrip(), len(text)): _NO_RULE}
    faults = (
        (rule in before, before.find(rule), "the prompt rule stands more than once"),
        (before[-1:] not in ("", "\n"), len(before), "the prompt rule does not begin its line"),
        (after.strip(" \t\n"), len(text) - len(after.lstrip(" \t\n")), "something follows the prompt rule"),
    )
    return {_line(text, at): what for wrong, at, what in faults if wrong}


def _problems(text: str) -> Dict[int, str]:
    """The first thing that is wrong on each line of text that should hold no rule."""
    found: Dict[int, str] = {}
    for number, shown in enumerate(text.split("\n"), 1):
        what = "holds characters that do not show" if _hidden(shown) else _reads_as_verdict(shown)
        if what or _disguises(shown):
            found[number] = what or _CAPITALS
    seen = _seen(text)
    for row, what in _ROWS:
        for line in _lines_of(row, seen):
            found.setdefault(line, what)
    fence = _left_open(text)
    if fence:
        found.setdefault(fence, "opens a code fence or comment that is never closed")
    return found


def _lines_of(row: str, text: str) -> Iterator[int]:
    """The line of each match; counted on from the one before, since from the start is quadratic."""
    line, counted = 1, 0
    for match in re.finditer(row, text):
        line, counted = line + text.count("\n", counted, match.start()), match.start()
        yield line


def _as_text(text: str) -> str:
    """The text with LF line ends and without a byte order mark. Raises TypeError for what is no str."""
    if not isinstance(text, str):
        raise TypeError(f"a prompt is a str, decode it first: {type(text).__name__}")
    return (text[1:] if text.startswith("\ufeff") else text).replace("\r\n", "\n")


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _in_order(found: Dict[int, str]) -> List[Problem]:
    return [Problem(line, what) for line, what in sorted(found.items())]


# --- The command ----------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """An error is one line, with nothing in it that acts on a terminal or a log."""

    def error(self, message: str) -> NoReturn:
        _complain(f"{message} (--help shows the usage)")
        self.exit(USAGE)


def _visible(text: str) -> str:
    """The text in ASCII, with the rest written as escapes, so that it stays on its line and commands no log."""
    shown = (c if c.isascii() and c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return "".join(shown).replace("::", ":\\x3a").replace("##", "#\\x23")


def _complain(message: str) -> None:
    print(f"prompt_guard.py: {_visible(message)}", file=sys.stderr)


def _read(path: str) -> str:
    """The text of a file, or of standard input for "-". Raises ValueError, with the path and the reason."""
    try:
        with open(0 if path == "-" else path, "rb", closefd=path != "-") as file:
            content = file.read(_LIMIT + 1)
        if len(content) > _LIMIT:
            raise ValueError(f"larger than {_LIMIT // _MEBIBYTE} MiB")
        return content.decode("utf-8-sig")
    except (OSError, ValueError) as error:  # ValueError: no UTF-8, or a NUL in the path
        raise ValueError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def _parse(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    """The options. Raises SystemExit for anything but a proper call."""
    parser = _Parser(
        prog="prompt_guard.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--token", metavar="TOKEN", help="the token of the prompt's rule")
    kind.add_argument("--task", action="store_true", help="the text holds no rule yet")
    parser.add_argument("prompt", metavar="PROMPT", help='a file, or "-" for standard input')
    options = parser.parse_args(arguments)
    try:
        prompt_rule(options.token)
    except ValueError as error:
        parser.error(f"--token: {error}")
    return options


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command. Returns the exit status; bad input and a closed output raise nothing."""
    try:
        options = _parse(arguments)
        text = _read(options.prompt)
        problems = check_task(text) if options.task else check_prompt(text, options.token)
        for problem in problems:
            print(f"{_visible(options.prompt)}:{problem.line}: {problem.what}")
        if sys.stdout:
            sys.stdout.flush()
    except SystemExit:
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except ValueError as error:
        _complain(str(error))
        return UNREADABLE
    except OSError as error:
        _complain(f"standard output: {error.strerror}")
        # What is left in the buffer would fail again at shutdown, with a traceback and status 120.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREADABLE
    return REFUSED if problems else 0


if __name__ == "__main__":
    sys.exit(main())
