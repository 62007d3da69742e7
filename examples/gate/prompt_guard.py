"""Check what a reviewer is told before it is told: one prompt rule, the current one, and last.

From Python: check_prompt(prompt, token) and check_task(text).
"""

import contextlib
import os
import re
import sys
import unicodedata
from types import ModuleType
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

if sys.version_info < (3, 8):
    sys.exit("prompt_guard.py: needs Python 3.8 or later")

PROGRAM = "prompt_guard.py"
USAGE = """\
Check what a reviewer is told before it is told: one prompt rule, the current one, and last.

  prompt_guard.py [--token TOKEN] PROMPT      a whole prompt, which ends in prompt_rule(TOKEN)
  prompt_guard.py --task TASK                 instructions that do not hold the rule yet

A file is a path, or - for standard input.

exit status
  0  fine, and nothing is printed
  3  refused: a line for each problem, as path:line: what is wrong
  1  the file cannot be read, or is not UTF-8
  2  usage; --help too
130  interrupted

It is a lint for text of your own, against the rule that was copied long ago and the example left in: a model that
was told two rules follows either. It also refuses a task that asks for something after the verdict, for the verdict in
another place, or for a reply in another shape (JSON, a code fence): its replies may never end in a line that approves.
Give it the prompt without the diff: a diff may well hold verdict lines, which the token makes harmless.

It looks for English words that stand near each other, not for meaning. So the words of the verdict in capitals are
refused wherever they stand, also where they are meant well: write them in small letters. It cannot see a rule in other
words or in another language ("answer yes or no", "finish with LGTM"), one whose words stand far apart or in small
letters ("approve what compiles"), one for a first or last line that does not say of what, an order to approve whatever
the change holds, a sentence that takes the rule back ("ignore the last paragraph"), a quotation that is opened by
anything but a fence or a comment, or what a client adds, cuts off or expands on the way.

Standard library only. Run on Linux; nothing in it is meant for POSIX alone, but it was not run on Windows."""

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
    from verdict_check import CannotRead, Parser, ended, read_bytes, show, visible
    from verdict_contract import APPROVE, REQUEST_CHANGES, prompt_rule, read_verdict
except (Exception, SystemExit) as _error:
    _reason = f"a module cannot be loaded: {type(_error).__name__}: {_error}"
    if __name__ != "__main__":
        raise ImportError(_reason) from _error
    with contextlib.suppress(OSError):  # where stderr is closed or full, sys.exit with a text would end in 120
        os.write(2, f"{PROGRAM}: {ascii(_reason)[1:-1]}\n".encode())
    os._exit(1)  # with python -i, sys.exit would go on with what stdin holds, and leave with 0

REFUSED = 3  # the exit status


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


def _reads_as_a_whole(text: str) -> Dict[int, str]:
    """What lines are to the parser only together: a label and a refusal below it, a code fence that is left open."""
    found: Dict[int, str] = {}
    for token in (_TOKEN, None):
        reading = read_verdict(f"{text}\n\n{_APPROVAL} {token or ''}", token)
        if reading.line and reading.line <= text.count("\n") + 1:
            opens = reading.rule == "open-block"
            found.setdefault(reading.line, _OPENS if opens else f"would count against an approval ({reading.rule})")
    return found


def _disguises(line: str) -> bool:
    """Whether a word of the line is a word of the verdict in look-alikes, as the parser takes them."""
    words = (word for word in re.findall(r"\w+", line) if not word.isascii())
    return any(read_verdict(f"===VERDICT=== {word}").rule not in ("unknown-value", "off-form") for word in words)


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

_OPENS = "opens a code fence or comment that is never closed"
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


# --- Words that ask for more than the verdict line, or for it in another shape --------------------
#
# A model that follows such a task may end its reply in a line that does not approve. Case does not matter here.

_ORDER = r"(?:(?m:^)|[.!?:;]\s)[ \t>*#\d.)-]{0,8}(?:(?:please|also|always|then),?\s+){0,3}"  # "files end with" is none
_OWN = r"(?:your|(?:the|each|every|this)\s+(?:whole\s+)?(?:review|reply))\b"
_REVIEW = rf"(?:your\s+(?:\w+\s+)?(?:answer|findings|message|output|reply|report|response|review|verdict)|{_OWN})\b"
_VERDICT = (
    r"\b(?:(?:the|your|this|that|its)\s+)?(?:(?:final|closing|overall)\s+)?verdict\b(?:\s+(?:line|word|marker)\b)?"
)
_ADD = r"(?:add|append|give|include|list|mention|name|note|print|provide|put|rate|repeat|state|summari[sz]e|write)\b"
_LAST_PART = r"\b(?:last|final|closing)\s+(?:block|bullet|item|paragraph|part|remark|section|sentence|thing)\b"
_ELSEWHERE = r"(?:beginning|first|front|head|header|heading|middle|start|subject|title|top)\b"
_REPLY_IN = (
    r"(?:answer|deliver|emit|format|give|output|present|print|produce|provide|reply|respond|return|state|write)\b"
)
_SMALL = (  # what stands between such an order and the form that it asks for; "the JSON" is that of the change
    r"(?:\s+(?:a|all|an|and|answer|as|back|be|but|by|everything|exactly|final|findings|full|has|have|in|is|it|just|me|must"
    r"|nothing|of|one|only|output|plain|pure|raw|reply|report|response|result|results|review|shall|should|single|strict"
    r"|strictly|the|them|to|us|using|valid|verdict|well-formed|whole|will|with|your)){0,12}\s+(?<!\bthe\s)[\"'`*(]{0,4}"
)
_FORMAT = r"(?:CSV|HTML|JSONL?|NDJSON|SARIF|TOML|XML|YAML)\b"
_IN = r"(?:as|between|by|in|inside|into|under|with|within)"
_DRESS = (
    r"(?:(?:backticks?|blockquotes?|bold|box|brackets|bullet|code|comment|fenced?|fences|heading|headline|italics?|quotes"
    r"|table|tags?)\b|`{3}|~{3})"
)

_AFTER = "asks for something at the end, where only the verdict line may stand"
_PLACE = "asks for the verdict in another place than at the end"
_SHAPE = "asks for the reply or the verdict in another shape than plain text"

# fmt: off
_ASKS: Tuple[Tuple[str, str], ...] = (
    (rf"\b(?:after|behind|below|beneath|beyond|following|past|under|underneath)\s+{_VERDICT}(?!\s+(?:is|was|has)\b)",
     _AFTER),
    (rf"{_VERDICT}[\s,;]{{0,8}}(?:comes\s+|goes\s+)?(?:first|followed\s+by|(?:and\s+)?then)\b",
     _AFTER),
    (rf"{_VERDICT}[^\n.;]{{0,40}}[.;,]\s{{0,4}}(?:and\s+)?(?:afterwards|(?:after|below|beneath|under)\s+(?:it|that|this))\b",
     _AFTER),
    (r"\bafter\s+(?:your|the)\s+(?:answer|reply|report|review)\s?,",
     _AFTER),
    (rf"\b(?:bottom|close|end|foot)\s+of\s+{_OWN}",
     _AFTER),
    (rf"{_ORDER}{_ADD}{_CLAUSE}\bat\s+the\s+(?:very\s+)?(?:bottom|end)\b(?!\s+of)",
     _AFTER),
    (rf"{_ORDER}(?:at\s+the\s+(?:very\s+)?(?:bottom|end)|finally|in\s+closing|lastly),?\s+(?:please\s+)?{_ADD}",
     _AFTER),
    (rf"{_ORDER}(?:append|attach|sign)\b|\b(?:append|attach|sign)\b{_CLAUSE}\b{_OWN}",
     _AFTER),
    (rf"{_ORDER}(?:close|conclude|end|finish)\s+(?:by|in|on|with)\b",
     _AFTER),
    (rf"{_LAST_PART}{_CLAUSE}\b{_OWN}|\b{_OWN}{_CLAUSE}{_LAST_PART}",
     _AFTER),
    (rf"{_VERDICT}\s+(?:[\w,]+\s+){{0,2}}?(?:as|at|in|into|on|to)\s+(?:a|an|its|the)\s+(?:very\s+)?{_ELSEWHERE}",
     _PLACE),
    (rf"\b(?:place|put|state|write)\s+{_VERDICT}\s+(?:above|ahead\s+of|before)\b(?!\s+you\b)",
     _PLACE),
    (rf"\b(?:begin|lead|open|start)\s+(?:off\s+)?with\s+{_VERDICT}",
     _PLACE),
    (rf"(?:{_ORDER}{_REPLY_IN}|\b{_REVIEW}){_SMALL}{_FORMAT}",
     _SHAPE),
    (rf"{_ORDER}use\s+(?:(?:the\s+following|this)\s+)?{_FORMAT}|\b{_FORMAT},?\s+(?:only|and\s+nothing\s+else)\b",
     _SHAPE),
    (rf"\b(?:answer|output|reply|response|review)\s+format\s?:|\bformat\s+of\s+{_OWN}",
     _SHAPE),
    (rf"(?:{_VERDICT}|\b{_REVIEW})\s+(?:\w+\s+){{0,3}}?{_IN}\s+(?:\S+\s+){{0,3}}?{_DRESS}",
     _SHAPE),
    (rf"\b(?:bold|decorate|emphasi[sz]e|fence|highlight|indent|quote|repeat|translate|underline|wrap)\s+{_VERDICT}",
     _SHAPE),
    (rf"{_VERDICT}\s+(?:bold|twice)\b|\b(?:backticks|bold|italics|quotes)\s+(?:around|for|on)\s+{_VERDICT}",
     _SHAPE),
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
    for row, what in (*_ROWS, *((f"(?i:{asked})", what) for asked, what in _ASKS)):
        for line in _lines_of(row, seen):
            found.setdefault(line, what)
    return {**_reads_as_a_whole(text), **found}


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


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command. Returns the exit status. Raises SystemExit for wrong arguments, CannotRead for files and streams."""
    parser = Parser(PROGRAM, USAGE)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--token")
    kind.add_argument("--task", action="store_true")
    parser.add_argument("prompt", metavar="PROMPT")
    options = parser.parse_args(arguments)
    try:
        prompt_rule(options.token)
    except ValueError as error:
        parser.error(f"--token: {error}")
    text = _read(options.prompt)
    problems = check_task(text) if options.task else check_prompt(text, options.token)
    show([f"{visible(options.prompt)}:{problem.line}: {problem.what}" for problem in problems])
    return REFUSED if problems else 0


def _read(path: str) -> str:
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CannotRead(f"{path}: is not UTF-8, at byte {error.start}") from error


if __name__ == "__main__":
    sys.exit(ended(PROGRAM, main))
