"""What an AI reviewer's report says to the script that merges: APPROVE, or anything else.

A false block costs a re-read, a false approve ships a bug. So one rule of RULES can approve,
it states its whole condition by itself, and whatever is odd about a report counts against it.

>>> find_verdict("The lock is held on every path.\\n\\n===VERDICT=== APPROVE")
'APPROVE'
>>> find_verdict("===VERDICT=== APPROVE\\n\\nOn reflection, the lock leaks.")
'AMBIGUOUS'
>>> print(find_verdict("Looks good to me!"))
None

Give the model PROMPT_RULE as the last part of its prompt, give its whole reply to find_verdict,
and leave with exit_code of that. This file is made to be copied: it needs the standard library
of Python 3.8 or later, reads no files and opens no network.

A marker is ===VERDICT===. It is a sentinel if nothing but decoration stands before it on its line,
and what follows it is its value. Any other marker that one of the two words follows is a mention.
VERDICT: APPROVE and the like, without a marker, is the old style. A token is a word of hex digits
that was asked for and that text written earlier cannot hold.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import unicodedata
from bisect import bisect
from collections import deque
from itertools import accumulate
from typing import Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

# fmt: off
__all__ = [
    "AMBIGUOUS", "APPROVE", "REQUEST_CHANGES", "PROMPT_RULE", "RULES", "Reading", "Rule", "combine", "diff_token",
    "exit_code", "find_verdict", "new_token", "prompt_rule", "read_verdict", "verdict_line",
]
# fmt: on
__version__ = "0.1.0"


# --- The words, and what a script makes of them ---------------------------------------------------

APPROVE = "APPROVE"
REQUEST_CHANGES = "REQUEST_CHANGES"
AMBIGUOUS = "AMBIGUOUS"

_EXIT_CODES = {APPROVE: 0, REQUEST_CHANGES: 3}
_EXIT_OTHERWISE = 4


def exit_code(verdict: Optional[str]) -> int:
    """The exit status for a verdict: 0 for APPROVE, 3 for REQUEST_CHANGES, 4 for all else."""
    return _EXIT_CODES.get(verdict, _EXIT_OTHERWISE) if isinstance(verdict, str) else _EXIT_OTHERWISE


def combine(verdicts: Iterable[Optional[str]]) -> Optional[str]:
    """One verdict for several reviewers, of whom each has to approve.

    Any REQUEST_CHANGES wins; APPROVE takes at least one verdict and all of them APPROVE; where
    nobody stated one, or there is no reviewer, it is None; else AMBIGUOUS.
    """
    heard = list(verdicts)
    if REQUEST_CHANGES in heard:
        return REQUEST_CHANGES
    if all(verdict is None for verdict in heard):
        return None
    return APPROVE if all(verdict == APPROVE for verdict in heard) else AMBIGUOUS


# --- What the model is told -----------------------------------------------------------------------

_WORD = "VERDICT"
_SENTINEL = f"==={_WORD}==="
_PLACEHOLDER = "<value>"
_TOKEN = "[0-9A-Fa-f]{8,64}"


def new_token() -> str:
    """A token for one review: 16 hex digits from the system's random source."""
    return os.urandom(8).hex()


def diff_token(diff: bytes | str) -> str:
    """A token that ties a stored report to the change it reviewed: the start of the diff's SHA-256.

    Takes the diff's bytes; text is encoded as UTF-8 with surrogateescape. Returns 16 hex digits.
    Raises ValueError for text that cannot be encoded, TypeError for what is neither.
    """
    data = diff.encode("utf-8", "surrogateescape") if isinstance(diff, str) else diff
    return hashlib.sha256(data).hexdigest()[:16]


def prompt_rule(token: Optional[str] = None) -> str:
    """The instruction that goes last into the reviewer's prompt; holds no line that is a verdict.

    With a token (see new_token and diff_token), the model is to end its verdict line in it.
    Raises ValueError for a malformed token, TypeError for one that is no str.
    """
    _check_token(token)
    shape = " ".join(filter(None, [_SENTINEL, _PLACEHOLDER, token]))
    copied = " Copy the token after it as it stands." if token else ""
    return f"""\
End your reply with exactly one line of this shape, as the very last line:

{shape}

For {_PLACEHOLDER} write one of two words and nothing else.{copied}
Write {APPROVE} if nothing in the change has to be fixed before it is merged.
Write {REQUEST_CHANGES} if anything in the change has to be fixed first.
The line is plain text: no bold, no backticks, no quote mark, no list mark, no indent.
Write it exactly once, write nothing after it, and quote its marker nowhere else.
Write it in English as shown, even where the review is in another language."""


def _check_token(token: Optional[str]) -> None:
    if token is not None and not isinstance(token, str):
        raise TypeError(f"a token is a str of hex digits, not {type(token).__name__}")
    if token is not None and not re.fullmatch(_TOKEN, token):
        raise ValueError("a token is 8 to 64 hex digits")


PROMPT_RULE = prompt_rule()


# --- What is found: folded text, lines, markers ---------------------------------------------------
#
# Finding looks at folded text, where hidden characters are gone and lookalikes are the letters
# they pass for, so that a disguised marker counts against an approval. Folded text is ASCII: "\n"
# ends its lines, "\r" stands for any other character that somebody's screen may break a line at.

_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
_BLANKS = " \t"
_CUTS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_NOT_ASCII = re.compile(r"[^\0-\x7f][^\0-\x7f]*")  # "+" alone would take a slower way to search
_CHUNK = 1 << 16
_DROPPED = ("Cc", "Cf", "Cn", "Mc", "Me", "Mn")  # categories: control, format, unassigned, combining
_UNSEEN = "\u115f\u1160\u2800"  # letters and a symbol without ink: Hangul fillers, the empty Braille pattern
_LOOKALIKES = dict(
    zip(
        "\u0410\u0421\u0415\u050c\u041d\u0406\u04c0\u041e\u0420\u051a\u0405\u0422\u0474"  # Cyrillic
        "\u0391\u03a3\u0395\u0397\u0399\u039d\u039f\u03a1\u03d8\u03a4"  # Greek; the lunate sigma is a sigma by now
        "\u2010\u2011\u2012\u2013\u2014\u2015\u2212",  # hyphens, dashes, minus
        "ACEGHIIOPQSTVACEHINOPQT-------",
    )
)


class _Folds(Dict[int, Optional[str]]):
    """What str.translate makes of each character, worked out when it first comes."""

    def __missing__(self, code: int) -> Optional[str]:
        parts = unicodedata.normalize("NFKD", chr(code))
        kept = "".join(part for part in parts if unicodedata.category(part) not in _DROPPED)
        self[code] = "".join(map(_ascii, kept.upper())) or None  # to drop it; an empty str would do, slowly
        return self[code]


def _ascii(character: str) -> str:
    """What a character passes for: one of our letters, a digit, nothing, else Z for a letter and ? for the rest."""
    if character in _UNSEEN:
        return ""
    character = _LOOKALIKES.get(character, character)
    if character.isascii():
        return character
    digit = unicodedata.digit(character, None)
    return str(digit) if digit is not None else "Z" if character.isalnum() else "?"


_ASCII = _Folds({**{ord(cut): "\r" for cut in _CUTS}, ord("\t"): "\t", ord("\n"): "\n"})


def _folded(text: str) -> str:
    """The text as a suspicious reader sees it, in ASCII capitals."""
    if text.isascii():
        return text.translate(_ASCII)
    folds = _Folds(_ASCII)  # one for each report, since a hostile one fills it
    chunks = (text[at : at + _CHUNK] for at in range(0, len(text), _CHUNK))  # the parts of a whole report fill memory
    return "".join(_NOT_ASCII.sub(lambda run: run[0].translate(folds), chunk).translate(_ASCII) for chunk in chunks)


def _cleaned(report: str) -> str:
    """The report without colour codes and byte order mark, its line ends all LF."""
    text = _COLOUR.sub("", report) if "\x1b" in report else report
    text = text[1:] if text.startswith("\ufeff") else text
    text = text.replace("\r\n", "\n") if "\r" in text else text
    return text[:-1] if text.endswith("\r") else text


def _lines_holding(word: str, text: str, count: int) -> List[Tuple[int, str]]:
    """Number and text of each line, of count, that holds word; from the end, where str searches fastest."""
    found: List[Tuple[int, str]] = []
    number, below, at = count, len(text), text.rfind(word)
    while at >= 0:
        start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        number, below = number - text.count("\n", start, below), start
        found.append((number, text[start : end if end >= 0 else None]))
        at = text.rfind(word, 0, start)
    return found[::-1]


_ALNUM = "[0-9A-Z]"
_OTHER = "[^0-9A-Z]"
_ASK = REQUEST_CHANGES.replace("_", r"[_ \t-]*")
_WHOLE = rf"(?!_*{_ALNUM})"  # ends a word: APPROVE_WITH_NITS is not APPROVE, but _APPROVE_ is
_TRIM = r"[ \t*_`:.]"
_MARK = rf"==+[ \t]*{_WORD}[ \t]*==+"
_APPROVAL = rf"{_TRIM}*{APPROVE}(?:[*_`:.]*[ \t]{_TRIM}*(?P<token>{_TOKEN}))?{_TRIM}*"
_REFUSAL = rf"{_OTHER}*{_ASK}(?:[^0-9A-Z \t]*[ \t]{_OTHER}*{_TOKEN})?{_OTHER}*"

_MARKER = re.compile(rf"(?<!=){_MARK}")  # from the start of a run of =, or a long one would be searched from each
_BEFORE_SENTINEL = re.compile(rf"{_OTHER}*(?:[0-9]+[.)]{_OTHER}*)?")
_QUOTED_RULE = re.compile(rf"{_OTHER}*{_PLACEHOLDER.upper()}")
_MENTION = re.compile(rf"{_OTHER}*(?:{APPROVE}|{_ASK}){_WHOLE}")
_VALUE = re.compile(rf"(?P<{APPROVE}>{_APPROVAL})|(?P<{REQUEST_CHANGES}>{_REFUSAL})")


def _marks(piece: str) -> Iterator[Optional[str]]:
    """The verdict of each sentinel of a folded loose line, None for each mention; what counts nowhere is left out."""
    before, *values = _MARKER.split(piece)
    sentinel = _BEFORE_SENTINEL.fullmatch(before)
    for value in values:
        if not _QUOTED_RULE.match(value):
            if sentinel:
                says = _VALUE.fullmatch(value)
                yield says.lastgroup if says else AMBIGUOUS
            elif _MENTION.match(value):
                yield None
        sentinel = None  # before the next marker on the line stand the letters of this one


# --- What is looked at in raw text: the one shape that approves, and open blocks ------------------

_BARE = re.compile(rf" {{0,3}}(?:#{{1,6}} +)?[*_`]*{_MARK}{_APPROVAL}", re.ASCII | re.IGNORECASE)
_FENCE = re.compile(r"\n(?=[ `~]) {0,3}(`{3,}|~{3,})([^\n]*)")
_COMMENT = re.compile(r"\n {0,3}<!--")


def _fences(text: str) -> List[int]:
    """Where the lines begin at which code fences open and close, in turn, as CommonMark has them."""
    turns: List[int] = []
    fence = ""
    for match in _FENCE.finditer("\n" + text) if "`" in text or "~" in text else ():
        run, rest = match.groups()
        if run.startswith(fence) and not rest.strip(_BLANKS) if fence else run[0] == "~" or "`" not in rest:
            fence = "" if fence else run
            turns.append(match.start())
    return turns


def _open_blocks(text: str) -> List[int]:
    """The lines at which a code fence or a comment opens that the text does not close."""
    fences = _fences(text)
    comments = deque(_COMMENT.finditer("\n" + text) if "<" in text else (), maxlen=1)  # the last, if any
    opened = fences[-1:] if len(fences) % 2 else []
    opened += [comment.start() for comment in comments if text.rfind("-->") < comment.end() - 1]
    return [1 + text.count("\n", 0, start) for start in sorted(opened)]


# --- What an older prompt asked for: VERDICT: APPROVE or VERDICT: REQUEST_CHANGES -----------------

_STATEMENT = re.compile(rf"(?<!{_ALNUM}){_WORD}[ \t`:=*#>|.~-]{{1,16}}(?:(?P<approve>{APPROVE})|{_ASK}){_WHOLE}")
_ITEM = re.compile(rf"\[X\]|(?<!{_ALNUM})[0-9]+[.)]")  # a check box or a list number; decoration, for all its letters
_OLD_BLOCK = re.compile(
    rf"""{_OTHER}*
    (?:{_ALNUM}(?:[0-9A-Z_/ -]{{0,38}}{_ALNUM})?                        # a label ...
       (?:(?={_OTHER}*[:=])|(?<={_WORD})(?<!{_ALNUM}{_WORD})){_OTHER}+  # FINAL ANSWER: or FINAL VERDICT
    )?
    {_ASK}{_OTHER}*""",
    re.VERBOSE,
)


def _old_blocks(folded: str, count: int) -> List[int]:
    """The lines, of count, that are an old-style REQUEST_CHANGES, alone or after a label."""
    lines = ((number, _ITEM.sub(".", line).split("\r")) for number, line in _lines_holding("REQUEST", folded, count))
    return [number for number, pieces in lines if any(map(_OLD_BLOCK.fullmatch, pieces))]


# --- The facts of a report, on which alone the rules judge ----------------------------------------


class _Facts(NamedTuple):
    """Line numbers, in order, of what was found; the record that the rules look at."""

    blocks: List[int]  # sentinels that say REQUEST_CHANGES
    strangers: List[int]  # sentinels that say neither word
    approvals: List[int]  # sentinels that say APPROVE
    marks: List[int]  # every sentinel and mention
    last: int  # the last line that is not blank
    bare: bool  # the last line has the one shape that can approve
    token_right: bool  # ... and its token is the one asked for; where none was, no token stands there
    disputes: List[int]  # beside an approval, lines that are by themselves an old-style block
    open_blocks: List[int]  # beside an approval without a token, where an unclosed fence or comment opens
    weak: List[int]  # without a sentinel, the old-style statements of the prose; then those of each verdict
    weak_blocks: List[int]
    weak_approves: List[int]


def _read(report: str, token: Optional[str]) -> _Facts:
    text = _cleaned(report)
    folded, count = _folded(text), text.count("\n") + 1
    lines = _lines_holding(_WORD, folded, count)
    pieces = [(at, piece) for at, line in lines for piece in line.split("\r") if _WORD in piece]
    marks = [(at, says) for at, piece in pieces for says in _marks(piece)]
    sentinels = [(at, says) for at, says in marks if says]
    words = (REQUEST_CHANGES, AMBIGUOUS, APPROVE)
    blocks, strangers, approvals = ([at for at, says in sentinels if says == word] for word in words)
    body = text.rstrip(_BLANKS + "\n")
    bare = _BARE.fullmatch(body, body.rfind("\n") + 1)
    weak = [] if sentinels else _statements(pieces, text)
    return _Facts(
        blocks=blocks,
        strangers=strangers,
        approvals=approvals,
        marks=[at for at, _ in marks],
        last=count - text.count("\n", len(body)),
        bare=bare is not None,
        token_right=((bare and bare["token"]) or "").lower() == (token or "").lower(),
        disputes=_old_blocks(folded, count) if approvals else [],
        open_blocks=_open_blocks(text) if approvals and token is None else [],
        weak=[at for at, _ in weak],
        weak_blocks=[at for at, approves in weak if not approves],
        weak_approves=[at for at, approves in weak if approves],
    )


def _statements(pieces: Iterable[Tuple[int, str]], text: str) -> List[Tuple[int, bool]]:
    """Line, and whether it approves, of each old-style statement outside of code fences."""
    found = [(at, bool(s["approve"])) for at, piece in pieces for s in _STATEMENT.finditer(piece)]
    fences = _fences(text) if found else []
    counts = (text.count("\n", start, end) for start, end in zip([0, *fences], fences))
    above = list(accumulate(counts))  # how many lines stand above each fence
    return [(at, approves) for at, approves in found if not bisect(above, at - 1) % 2]


# --- The rules, strongest first -------------------------------------------------------------------


class Rule(NamedTuple):
    """A row of the contract. The id is public: the command line, tests and documents use it."""

    id: str
    verdict: Optional[str]
    when: str  # completes "... when"
    holds: Callable[[_Facts], Sequence[Optional[int]]]  # the lines it points at; empty: it does not hold


def _approved(f: _Facts) -> List[int]:
    """The whole condition by itself, so that no other row, kept or dropped, makes approving easier."""
    alone = f.marks == [f.last]
    return f.approvals if alone and f.bare and f.token_right and not f.disputes and not f.open_blocks else []


# fmt: off
RULES = (
    Rule("blocked", REQUEST_CHANGES, "a sentinel says REQUEST_CHANGES, wherever it stands",
         lambda f: f.blocks),
    Rule("unknown-value", AMBIGUOUS, "a sentinel says anything but APPROVE or REQUEST_CHANGES alone",
         lambda f: f.strangers),
    Rule("repeated", AMBIGUOUS, "an approval, and another sentinel or mention",
         lambda f: f.approvals and f.marks[1:]),
    Rule("not-last", AMBIGUOUS, "an approval, and it is not on the last line",
         lambda f: [line for line in f.approvals if line != f.last]),
    Rule("not-bare", AMBIGUOUS, "an approval, and its line is quoted, listed, indented as code or holds more",
         lambda f: [] if f.bare else f.approvals),
    Rule("contradicted", AMBIGUOUS, "an approval, and a line that is by itself an old-style REQUEST_CHANGES",
         lambda f: f.disputes),
    Rule("wrong-token", AMBIGUOUS, "an approval, and it lacks the token asked for or has one where none was",
         lambda f: [] if f.token_right else f.approvals),
    Rule("open-block", AMBIGUOUS, "an approval without a token, and a code fence or comment before it is left open",
         lambda f: f.open_blocks),
    Rule("approved", APPROVE, "one bare approval, on the last line, with the right token, and nothing against it",
         _approved),
    Rule("weak-both", AMBIGUOUS, "no sentinel, and the prose states both verdicts in the old style",
         lambda f: f.weak_approves and f.weak_blocks and f.weak),
    Rule("weak-block", REQUEST_CHANGES, "no sentinel, and the prose states an old-style REQUEST_CHANGES",
         lambda f: f.weak_blocks),
    Rule("weak-approve", AMBIGUOUS, "no sentinel, and the prose states an old-style APPROVE",
         lambda f: f.weak_approves),
    Rule("not-stated", None, "no verdict is stated",
         lambda f: [None]),
)
# fmt: on


# --- The parser: the first rule that holds --------------------------------------------------------


class Reading(NamedTuple):
    """A verdict, the id of the rule that gave it, and the line (from 1) it points at, or None."""

    verdict: Optional[str]
    rule: str
    line: Optional[int]

    def __str__(self) -> str:
        """One line to print, which holds no word of the report."""
        if self.verdict in (APPROVE, REQUEST_CHANGES):
            return f"{_WORD}: {self.verdict}"
        when = next(rule.when for rule in RULES if rule.id == self.rule)
        place = f"{self.rule}, line {self.line}" if self.line else self.rule
        return f"{_WORD}: {self.verdict or '(not stated)'} !! {place}: {when}; read the report"


def read_verdict(report: Optional[str], token: Optional[str] = None) -> Reading:
    """What the reviewer's report says, and why: the first of RULES that holds.

    The report is the whole reply as text; None reads like an empty one. With a token, as it was
    given to prompt_rule, an approval counts only if it ends in that token (in any case).
    Raises TypeError for another type (decode bytes first), and for tokens as prompt_rule does.
    """
    if report is not None and not isinstance(report, str):
        raise TypeError(f"a report is a str, decode it first: {type(report).__name__}")
    _check_token(token)
    facts = _read(report or "", token)
    for rule in RULES:
        lines = rule.holds(facts)
        if lines:
            break
    return Reading(rule.verdict, rule.id, lines[0])


def find_verdict(report: Optional[str], token: Optional[str] = None) -> Optional[str]:
    """Only the verdict of read_verdict: "APPROVE", "REQUEST_CHANGES", "AMBIGUOUS" or None."""
    return read_verdict(report, token).verdict


def verdict_line(report: Optional[str], token: Optional[str] = None) -> str:
    """The reading of a report as one line to print; takes and raises what read_verdict does.

    >>> verdict_line("===VERDICT=== APPROVE\\nOn reflection, the lock leaks.")
    'VERDICT: AMBIGUOUS !! not-last, line 1: an approval, and it is not on the last line; read the report'
    """
    return str(read_verdict(report, token))


def _main(arguments: Sequence[str]) -> int:
    """python3 verdict_contract.py [TOKEN] prints the prompt rule; wrong arguments end in 2."""
    try:
        print(prompt_rule(*arguments))
    except (TypeError, ValueError):
        print("usage: verdict_contract.py [TOKEN], where a token is 8 to 64 hex digits", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
