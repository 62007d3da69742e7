"""What an AI reviewer's report says to the script that merges: APPROVE, or anything else.

A false block costs a re-read, a false approve ships a bug. So one rule of RULES can approve,
it states its whole condition by itself, and what is odd about a report counts against it.

>>> find_verdict("The lock is held on every path.\\n\\n===VERDICT=== APPROVE")
'APPROVE'
>>> find_verdict("===VERDICT=== APPROVE\\n\\nOn reflection, the lock leaks.")
'AMBIGUOUS'
>>> find_verdict("Verdict: REJECT, the lock leaks.")
'REQUEST_CHANGES'
>>> print(find_verdict("Looks good to me!"))
None

Give the model PROMPT_RULE as the last part of its prompt, give its whole reply to find_verdict,
and leave with exit_code of that. This file is made to be copied: it needs the standard library
of Python 3.8 or later, reads no files and opens no network.

Five words are used throughout:

marker    ===VERDICT===, also in lookalike letters, or with hidden characters in it
sentinel  a marker with only signs, or a list number, before it on its line; what follows is its value
mention   any other marker that an approval or a refusal follows
refusal   REQUEST_CHANGES, or what else reviewers write for it: REJECT, BLOCKED, NOT APPROVED
fence     the line of backticks or tildes that opens or closes a block of code
"""

import contextlib
import hashlib
import os
import re
import sys
import unicodedata
from bisect import bisect
from typing import Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Pattern, Sequence, Tuple, Union

if sys.version_info < (3, 8):
    sys.exit("verdict_contract.py: needs Python 3.8 or later")

# fmt: off
__all__ = [
    "AMBIGUOUS", "APPROVE", "REQUEST_CHANGES", "PROMPT_RULE", "RULES", "Reading", "Rule", "combine", "diff_token",
    "exit_code", "find_verdict", "new_token", "prompt_rule", "read_verdict", "verdict_line",
]
# fmt: on
__version__ = "0.2.0"


# --- The words, and what a script makes of them ---------------------------------------------------

APPROVE = "APPROVE"
REQUEST_CHANGES = "REQUEST_CHANGES"
AMBIGUOUS = "AMBIGUOUS"


def exit_code(verdict: Optional[str]) -> int:
    """The exit status for a verdict: 0 for APPROVE, 3 for REQUEST_CHANGES, 4 for all else."""
    known = {APPROVE: 0, REQUEST_CHANGES: 3}
    return known.get(verdict, 4) if isinstance(verdict, str) else 4


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

_VERDICT = "VERDICT"
_MARKER_TEXT = f"==={_VERDICT}==="
_PLACEHOLDER = "<value>"
_TOKEN = re.compile("[0-9A-Fa-f]{8,64}")


def new_token() -> str:
    """A token for one review: 16 hex digits from the system's random source.

    Text that was written before the token was drawn cannot hold it, so no quotation of it can approve.
    """
    return os.urandom(8).hex()


def diff_token(diff: Union[bytes, str]) -> str:
    """A token that ties a stored report to the change it reviewed: the start of the diff's SHA-256.

    Takes the diff's bytes; text is encoded as UTF-8 with surrogateescape. Returns 16 hex digits.
    Raises ValueError for text that cannot be encoded, TypeError for what holds no bytes.
    """
    data = diff.encode("utf-8", "surrogateescape") if isinstance(diff, str) else diff
    return hashlib.sha256(data).hexdigest()[:16]


def _check_token(token: Optional[str]) -> None:
    if token is None:
        return
    if not isinstance(token, str):
        raise TypeError(f"a token is a str of hex digits, not {type(token).__name__}")
    if not _TOKEN.fullmatch(token):
        raise ValueError("a token is 8 to 64 hex digits")


def prompt_rule(token: Optional[str] = None) -> str:
    """The instruction that goes last into the reviewer's prompt; holds no line that is a verdict.

    With a token (see new_token and diff_token), the model is to end its verdict line in it.
    Raises ValueError for a malformed token, TypeError for one that is no str.
    """
    _check_token(token)
    shape = " ".join(filter(None, [_MARKER_TEXT, _PLACEHOLDER, token]))
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


PROMPT_RULE = prompt_rule()


# --- The facts of a report, and the rules that judge on them alone, strongest first ---------------


class _Facts(NamedTuple):
    """What was found in a report: numbers of lines, in order."""

    refused: List[int]  # of sentinels that say REQUEST_CHANGES
    unknown: List[int]  # of sentinels that say something else
    off_form: List[int]  # of sentinels that say nothing, or APPROVE and more
    approvals: List[int]  # of sentinels that say APPROVE
    markers: List[int]  # of every sentinel and mention
    refusals: List[int]  # of lines that refuse by themselves, in blocks of code too
    objections: List[int]  # of those, and of mentions and old-style statements that refuse
    prose_refuses: List[int]  # of the objections outside blocks of code
    prose_approves: List[int]  # of old-style approvals outside blocks of code
    last: int  # of the last line that is not blank
    last_word: int  # of the last line that holds a letter or digit
    bare: bool  # whether the last line has the one shape that can approve
    token_right: bool  # and the token that was asked for; no token if none was asked for
    unclosed: List[int]  # beside an approval without a token, where a fence or comment opens that never closes


class Rule(NamedTuple):
    """A row of the contract. The id is public: the command line, tests and documents use it."""

    id: str
    verdict: Optional[str]
    when: str  # in words
    holds: Callable[[_Facts], Sequence[Optional[int]]]  # the lines it points at; empty: it does not hold


def _approved(f: _Facts) -> List[int]:
    """The whole condition by itself, so that no other row, kept or dropped, makes approving easier."""
    alone = f.approvals == f.markers == [f.last]
    undisputed = not f.refusals and not f.unclosed
    return f.approvals if alone and f.bare and f.token_right and undisputed else []


# fmt: off
RULES = (
    Rule("blocked", REQUEST_CHANGES, "a marker line says REQUEST_CHANGES, wherever it stands",
         lambda f: f.refused),
    Rule("unknown-value", AMBIGUOUS, "a marker line says something else than APPROVE or REQUEST_CHANGES",
         lambda f: f.unknown),
    Rule("contradicted", AMBIGUOUS, "a marker line approves, in the right form or not, and another line refuses",
         lambda f: (f.off_form and f.objections) or (f.approvals and f.refusals)),
    Rule("off-form", AMBIGUOUS, "a marker line approves in more than the word, or says nothing",
         lambda f: f.off_form),
    Rule("repeated", AMBIGUOUS, "a marker line approves, and there is a second marker with a verdict behind it",
         lambda f: f.approvals and f.markers[1:]),
    Rule("not-last", AMBIGUOUS, "the approval is not on the last line",
         lambda f: [line for line in f.approvals if line < f.last_word]),
    Rule("signs-after", AMBIGUOUS, "the approval is not on the last line: only a fence, a rule or other signs follow",
         lambda f: [line for line in f.approvals if line < f.last]),
    Rule("not-bare", AMBIGUOUS, "the approval is quoted, in a list, indented as code, or has hidden signs on its line",
         lambda f: [] if f.bare else f.approvals),
    Rule("wrong-token", AMBIGUOUS, "the approval lacks the token that was asked for, or has one that nobody asked for",
         lambda f: [] if f.token_right else f.approvals),
    Rule("open-block", AMBIGUOUS, "the approval stands below a code fence or a comment that is never closed",
         lambda f: f.unclosed),
    Rule("approved", APPROVE, "the only marker line is the last, approves in the right form, and no line refuses",
         _approved),
    Rule("weak-both", AMBIGUOUS, "there is no marker line, and the text both approves and refuses",
         lambda f: f.prose_approves and f.prose_refuses and sorted(f.prose_approves + f.prose_refuses)),
    Rule("weak-block", REQUEST_CHANGES, "there is no marker line, and the text refuses",
         lambda f: f.prose_refuses),
    Rule("weak-approve", AMBIGUOUS, "there is no marker line, and the text approves",
         lambda f: f.prose_approves),
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
            return f"{_VERDICT}: {self.verdict}"
        when = next(rule.when for rule in RULES if rule.id == self.rule)
        place = f"{self.rule}, line {self.line}" if self.line else self.rule
        return f"{_VERDICT}: {self.verdict or '(not stated)'} !! {place}: {when}; read the report"


def read_verdict(report: Optional[str], token: Optional[str] = None) -> Reading:
    """What the reviewer's report says, and why: the first of RULES that holds.

    The report is the whole reply as text; None reads like an empty one. With a token, as it was
    given to prompt_rule, an approval counts only if it ends in that token (in any case), without
    one only if it has none.
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
    'VERDICT: AMBIGUOUS !! not-last, line 1: the approval is not on the last line; read the report'
    """
    return str(read_verdict(report, token))


# --- From report to facts -------------------------------------------------------------------------
#
# Cleaned text begins with a line end: each line begins with one, and the number of a line is that of
# the line ends before any place in it. Folded text is what a suspicious reader sees: ASCII capitals,
# without disguises. There "\r" stands for whatever else somebody's screen may break a line at, and a
# piece between line ends of either kind is a loose line. The one bare shape, fences and comments are
# looked for in the cleaned text, everything else is found in the folded one.


def _read(report: str, token: Optional[str]) -> _Facts:
    # 1. Take away what carries no text, then the disguises; keep the lines that could hold a verdict.
    text = _cleaned(report)
    folded, last = _folded(text), text.count("\n")
    lines = _loose_lines(folded, last)
    # 2. Find the markers and what stands behind each, then what else refuses.
    said = [(line.number, says) for line in lines for says in _markers(line.text)]
    kinds = (REQUEST_CHANGES, _UNKNOWN, _OFF_FORM, APPROVE, _REFUSING_MENTION)
    refused, unknown, off_form, approvals, refusing = ([at for at, says in said if says == kind] for kind in kinds)
    refusals = _refusal_lines(lines, folded)
    objections = sorted({*refusals, *refusing, *_old_style(REQUEST_CHANGES, lines)})
    # 3. Hear the prose; beside an approval nobody asks, and the old style would find the approval itself.
    prose_refuses = _outside_code(objections, text)
    prose_approves = [] if approvals else _outside_code(_old_style(APPROVE, lines), text)
    # 4. Look at the last line as it is written, and at what is left open above it.
    last_word = last - folded.count("\n", len(folded.rstrip(_SIGNS)))
    bare, token_right = _last_line(text, token)
    unclosed = _unclosed(text) if approvals and token is None else []
    return _Facts(refused, unknown, off_form, approvals, [at for at, _ in said], refusals, objections,
                  prose_refuses, prose_approves, last, last_word, bare, token_right, unclosed)  # fmt: skip


class _Line(NamedTuple):
    """A loose line, the number of the line it is part of, and where in the folded text it ends."""

    number: int
    text: str
    end: int


_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
_CR = re.compile(r"\r(?=\n|\Z)")  # of CRLF, or at the very end
_LOOSE = re.compile(r"[^\r\n]+")


def _cleaned(report: str) -> str:
    """The report begun by a line end, its line ends all LF, without colour codes, byte order mark and blank end."""
    text = _without(_COLOUR, "\x1b", report)
    text = text[1:] if text.startswith("\ufeff") else text
    return "\n" + _without(_CR, "\r", text).rstrip(_BLANKS + "\n")


def _loose_lines(folded: str, count: int) -> List[_Line]:
    """The loose lines of each line, of that many, that may say something by itself."""
    places = sorted({place for word in _TELLING_WORDS for place in _lines_holding(word, folded, count)})
    pieces = ((number, piece) for number, start, end in places for piece in _LOOSE.finditer(folded, start, end))
    return [_Line(number, piece[0], piece.end()) for number, piece in pieces]


# --- Markers --------------------------------------------------------------------------------------

_ALNUM, _SIGN = "[0-9A-Z]", "[^0-9A-Z]"  # of folded text: a small letter that is put into it is a sign
_SIGNS = "".join(sign for sign in map(chr, range(128)) if not sign.isalnum())
_GAP = r"[*`_ \t-]*"  # between the words of a refusal, of which one may be in bold
_SPELLINGS = REQUEST_CHANGES.replace("_", _GAP)
_TRIM = "*_`:."  # what may stand around value and token
_MARKER_SHAPE = rf"==+[ \t]*{_VERDICT}[ \t]*==+"

_MARKER = re.compile(rf"(?<!=){_MARKER_SHAPE}")  # from the start of a run of =, or a long one takes a search from each
_BEFORE_SENTINEL = re.compile(rf"{_SIGN}*(?:[0-9]+[.)]{_SIGN}*)?")  # perhaps a list number
_OFF_FORM, _UNKNOWN, _MENTION, _REFUSING_MENTION = "off form", "unknown", "mention", "refusing mention"
_INSTRUCTION = re.compile(rf"{_SIGN}*{_PLACEHOLDER.upper()}")


def _markers(line: str) -> Iterator[str]:
    """What each marker of a loose line says, but for those that count nowhere."""
    before, *behind = _MARKER.split(line)
    if behind and _BEFORE_SENTINEL.fullmatch(before):
        rest = "=".join(behind)
        if _INSTRUCTION.match(behind[0]) and APPROVE not in rest and not _REFUSAL.search(rest):
            return
        yield _sentinel(behind.pop(0))
    yield from filter(None, map(_mention, behind))


def _sentinel(behind: str) -> str:
    """What a sentinel says, by what stands behind it."""
    words = behind.split()
    if words and _TOKEN.fullmatch(words[-1].strip(_TRIM)):
        del words[-1]
    value = " ".join(words).strip(_TRIM + " ")
    if value == APPROVE:
        return APPROVE
    if _REQUEST_CHANGES.match(value.lstrip(_SIGNS)) and APPROVE not in value:
        return REQUEST_CHANGES
    begins = not value or value.lstrip(_SIGNS).startswith(APPROVE)
    return _OFF_FORM if begins and not _REFUSAL.search(behind) else _UNKNOWN


def _mention(behind: str) -> Optional[str]:
    """What a marker after words says; None where no verdict follows, and it counts nowhere."""
    said = behind.lstrip(_SIGNS)
    if said.startswith(APPROVE):
        return _MENTION
    return _REFUSING_MENTION if _REFUSAL.match(said) else None


# --- The one bare shape, and open blocks ----------------------------------------------------------

_AROUND = rf"[{_TRIM} \t]*"
_BARE = re.compile(
    rf"\n {{0,3}}(?:#{{1,6}} +)?[*_`]*{_MARKER_SHAPE}"
    rf"{_AROUND}{APPROVE}{_AROUND}(?:(?P<token>{_TOKEN.pattern})[{_TRIM}]*)?",
    re.ASCII | re.IGNORECASE,
)
_FENCE = re.compile(r"\n(?=[ `~]) {0,3}(`{3,}|~{3,})([^\n]*)")
_COMMENT = re.compile(r"\n {0,3}<!--")
_BLANKS = " \t"


def _last_line(text: str, token: Optional[str]) -> Tuple[bool, bool]:
    """Whether the last line is bare, and whether its token is the one that was asked for."""
    match = _BARE.fullmatch(text, text.rfind("\n"))
    stands = match["token"] if match else None
    return match is not None, (stands or "").lower() == (token or "").lower()


def _fences(text: str) -> List[int]:
    """The lines of the fences that open and close code, in turn, as CommonMark has them outside quotes and lists."""
    fences: List[int] = []
    open_by, number, above = "", 0, 0
    for match in _matches(_FENCE, "`~", text):
        run, rest = match.groups()
        opens = not open_by and (run[0] == "~" or "`" not in rest)
        closes = open_by and run.startswith(open_by) and not rest.strip(_BLANKS)
        if opens or closes:
            open_by = "" if closes else run
            number += text.count("\n", above, match.end())
            above = match.end()
            fences.append(number)
    return fences


def _unclosed(text: str) -> List[int]:
    """The lines where a code fence or a comment opens that the text does not close."""
    fences = _fences(text)
    opened = fences[-1:] if len(fences) % 2 else []
    last_comment = [match.end() for match in _matches(_COMMENT, "<", text)][-1:]
    return sorted(opened + [text.count("\n", 0, end) for end in last_comment if "-->" not in text[end:]])


def _outside_code(lines: List[int], text: str) -> List[int]:
    """Those of the lines that no block of code holds; one that never closes holds the rest."""
    fences = _fences(text) if lines else []
    return [line for line in lines if bisect(fences, line) % 2 == 0]


# --- Refusal lines, and the old style -------------------------------------------------------------

_REFUSALS = (  # as expressions in which a blank is a _GAP
    "REQUEST(S|ED|ING)? CHANGES?",
    "CHANGES? (REQUESTED|REQUIRED|NEEDED)",
    "(NEEDS|REQUIRES) ((MINOR|MAJOR|MORE) )?(CHANGES|WORK|REVISION|FIX(ES)?)",
    "REJECT(ED)?|BLOCK(ED|ING)?|FAIL(ED)?|DENY|DENIED|DECLINED?|DISAPPROVED?|NACK|NO GO|REVISE",
    "(NOT|DO NOT|DON'?T|CAN NOT|CAN'?T) ((BE|YET) )?(APPROVED?|MERGED?|SHIP(PED)?|READY( (TO|FOR) (MERGE|SHIP))?)",
)
_ANY_REFUSAL = "|".join(_REFUSALS).replace(" ", _GAP)
_REFUSAL = re.compile(rf"(?<!{_ALNUM})(?:{_ANY_REFUSAL})(?!{_ALNUM})")
_REQUEST_CHANGES = re.compile(rf"{_SPELLINGS}(?!{_ALNUM})")
_ENDS_LINE = rf"{_SIGN}*\Z"
_ENDS = rf"(?:{_ENDS_LINE}|{_SIGN}*(?:[,;:.!?(\[|]|-[ \t]|[ \t]-)|{_SIGN}+(?:BECAUSE|UNTIL|UNLESS|SINCE)(?!{_ALNUM}))"
_REQUEST_CHANGES_ALONE = rf"(?:{_SPELLINGS}|CHANGES[_-]REQUESTED){_ENDS_LINE}"

# What may stand before a refusal; "signs" are those right before it.
_UNQUOTED = "[^0-9A-Z>]*"
_LABEL = rf"{_UNQUOTED}(?:(?:THE|MY|OUR|FINAL|OVERALL|REVIEW|REVIEWER|CODE|PR|MERGE){_SIGN}+){{0,3}}"
_SEPARATOR = rf"(?={_SIGN}*[:=|-])(?P<signs>{_SIGN}+)"
_VERDICT_LABEL = rf"{_LABEL}{_VERDICT}{_SEPARATOR}"
_DECISION_LABEL = rf"{_LABEL}(?:DECISION|RECOMMENDATION){_SEPARATOR}"
_FREE_LABEL = (
    rf"{_SIGN}*{_ALNUM}(?:[0-9A-Z_/ -]{{0,38}}{_ALNUM})?"  # up to 40, then a colon or =, or its last word is VERDICT
    rf"(?:(?={_SIGN}*[:=])|(?<={_VERDICT})(?<!{_ALNUM}{_VERDICT}))(?P<signs>{_SIGN}+)"
)
_TICKED_BOX = rf"(?={_UNQUOTED}\[x\])(?P<signs>{_UNQUOTED})"

# Of a refusal that goes on, a shorter one may end where the whole does not: NOT READY - FOR MERGE WE NEED TESTS.
_REFUSAL_LINES = [
    re.compile(before + refusal)
    for before, refusal in (
        (rf"(?P<signs>{_SIGN}*)", _REQUEST_CHANGES_ALONE),  # **Request changes**
        (_FREE_LABEL, _REQUEST_CHANGES_ALONE),  # Final answer: REQUEST_CHANGES
        (_DECISION_LABEL, _REFUSAL.pattern + _ENDS_LINE),  # Decision: reject
        (_DECISION_LABEL, _REQUEST_CHANGES.pattern + _ENDS),  # Recommendation: request changes, it leaks
        (_VERDICT_LABEL, _REFUSAL.pattern + _ENDS),  # Final verdict - REJECT, it leaks
        (_TICKED_BOX, _REFUSAL.pattern + _ENDS),  # - [x] Request changes: it leaks
    )
]
_UNDER_A_LABEL = [re.compile(rf"(?P<signs>{_UNQUOTED}){_REFUSAL.pattern}{_ENDS}")]
_JSON_REFUSAL = re.compile(rf'"{_VERDICT}"[ \t]*:[ \t]*"(?:{_ANY_REFUSAL})"')  # {"verdict": "reject"}
# One of these stands in each line that refuses by itself or says a verdict.
_TELLING_WORDS = (_VERDICT, "DECISION", "RECOMMENDATION", "CHANGES", "[X]")

_LABEL_ALONE = re.compile(rf"{_LABEL}{_VERDICT}{_UNQUOTED}")
_NEXT = re.compile(r"[ \t\r\n]*([^\r\n]*)")
_DATED = re.compile(rf"{_SIGN}*(?:PREVIOUS|PRIOR|EARLIER|FORMER)(?!{_ALNUM})")
# What is taken for a sign in a refusal line: the tick of [x], a list number such as 2., and a token at the end.
_ITEM = re.compile(rf"(?<=\[)X(?=\])|(?<!{_ALNUM})[0-9]+(?=[.)])|(?<!{_ALNUM})[0-9A-F]{{8,64}}(?={_SIGN}*\Z)")


def _refusal_lines(lines: Sequence[_Line], folded: str) -> List[int]:
    """The lines that refuse by themselves, or as the first below a verdict label that stands alone."""
    found = set()
    for line in lines:
        shown = _ITEM.sub("x", line.text)
        if _refuses(shown, _REFUSAL_LINES):
            found.add(line.number)
        below = _LABEL_ALONE.fullmatch(shown) and _NEXT.match(folded, line.end)
        if below and _refuses(_ITEM.sub("x", below[1]), _UNDER_A_LABEL):
            found.add(line.number + folded.count("\n", line.end, below.end()))
    return sorted(found)


def _refuses(line: str, kinds: Sequence[Pattern[str]]) -> bool:
    """Whether a loose line is of one of the kinds, not dated and not behind an empty box, or is JSON."""
    if _JSON_REFUSAL.search(line):
        return True
    signs = [match["signs"] for match in (kind.match(line) for kind in kinds) if match]
    chosen = (before.rfind("[ ]") <= before.rfind("[x]") for before in signs)  # no box, or the last of them is ticked
    return any(chosen) and not _DATED.match(line)


_OLD_STYLE = {
    word: re.compile(rf"(?<!{_ALNUM}){_VERDICT}[ \t`:=*#>|.~-]{{1,16}}{shape}(?!_*{_ALNUM})")
    for word, shape in {APPROVE: APPROVE, REQUEST_CHANGES: _SPELLINGS}.items()
}


def _old_style(word: str, lines: Sequence[_Line]) -> List[int]:
    """The lines that state the word as an older prompt asked for it, VERDICT: APPROVE."""
    return [line.number for line in lines if _OLD_STYLE[word].search(line.text)]


# --- What is here for speed only ------------------------------------------------------------------
#
# Megabytes of prose pass through few searches in C; Python looks only at the lines that they find.


def _lines_holding(word: str, text: str, count: int) -> Iterator[Tuple[int, int, int]]:
    """Number, start and end of each line, of count lines, that holds the word.

    From the last, for str searches faster that way; and a word that begins with a rare sign is soon told to be absent.
    """
    at = text.rfind(word) if word[0] in text else -1
    number, below = count, len(text)
    while at >= 0:
        number, below = number - text.count("\n", at, below), at
        start, end = text.rfind("\n", 0, at), text.find("\n", at)
        yield number, start, end if end >= 0 else len(text)
        at = text.rfind(word, 0, start)


def _matches(pattern: Pattern[str], signs: str, text: str) -> Iterable["re.Match[str]"]:
    """The matches of a pattern that takes one of the signs."""
    return pattern.finditer(text) if any(sign in text for sign in signs) else ()


def _without(pattern: Pattern[str], sign: str, text: str) -> str:
    """The text without the matches of a pattern that begins with the sign."""
    return pattern.sub("", text) if sign in text else text


_NOT_ASCII = re.compile(r"[^\0-\x7f][^\0-\x7f]*")  # "+" alone would take a slower way to search
_CHUNK = 1 << 16  # characters; the parts of a whole report would fill memory


def _each_folded(text: str) -> str:
    """The text with each character folded: the ASCII ones in C, the others by a table."""
    if text.isascii():
        return text.translate(_ASCII)
    folds = _Folds(_ASCII)  # one for each report, since a hostile one fills it
    chunks = (text[at : at + _CHUNK] for at in range(0, len(text), _CHUNK))
    return "".join(_NOT_ASCII.sub(lambda run: run[0].translate(folds), chunk).translate(_ASCII) for chunk in chunks)


# --- Folding: the text as a suspicious reader sees it ---------------------------------------------

_ESCAPE = re.compile(r"\\(?=[!-/:-@\[-`{-~])")  # of Markdown, which shows REQUEST\_CHANGES without the backslash
_CUTS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_DROPPED = ("Cc", "Cf", "Cn", "Mc", "Me", "Mn")  # categories: control, format, unassigned, combining
_UNSEEN = "\u115f\u1160\u2800"  # letters and a symbol without ink: Hangul fillers, the empty Braille pattern
_LOOKALIKES = {
    **dict(zip("\u0410\u0421\u0415\u050c\u041d\u0406\u04c0\u041e\u0420\u051a\u0405\u0422\u0474", "ACEGHIIOPQSTV")),
    **dict(zip("\u0391\u03a3\u0395\u0397\u0399\u039d\u039f\u03a1\u03d8\u03a4", "ACEHINOPQT")),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    **dict.fromkeys("\u2018\u2019\u02bc", "'"),
}


def _folded(text: str) -> str:
    """Cleaned text in ASCII capitals, without disguises and Markdown's escapes."""
    return _without(_ESCAPE, "\\", _each_folded(text))


class _Folds(Dict[int, Optional[str]]):
    """What str.translate makes of each character, worked out when it first comes."""

    def __missing__(self, code: int) -> Optional[str]:
        parts = unicodedata.normalize("NFKD", chr(code))
        kept = "".join(part for part in parts if unicodedata.category(part) not in _DROPPED)
        self[code] = "".join(map(_ascii, kept.upper())) or None  # to drop it; an empty str would do, slowly
        return self[code]


def _ascii(character: str) -> str:
    """What a character passes for: one of our letters, a digit, nothing, else Z for a letter and $ for a sign."""
    character = "" if character in _UNSEEN else _LOOKALIKES.get(character, character)
    if character.isascii():
        return character
    return str(unicodedata.digit(character, "Z" if character.isalpha() else "$"))


_ASCII = _Folds({**{ord(cut): "\r" for cut in _CUTS}, ord("\t"): "\t", ord("\n"): "\n"})


# --- The command ----------------------------------------------------------------------------------

USAGE = "usage: verdict_contract.py [TOKEN], where a token is 8 to 64 hex digits, or verdict_contract.py --new-token"


def _main(arguments: List[str]) -> int:
    """Print the prompt rule, or a fresh token; returns 2 for wrong arguments, 1 where stdout cannot be written.

    Past Python's own streams: they may be missing, and what is left in them at the end may change the exit status.
    """
    try:
        text = new_token() if arguments == ["--new-token"] else prompt_rule(*arguments)
        os.write(1, f"{text}\n".encode())
        return 0
    except (TypeError, ValueError):
        reason, status = USAGE, 2
    except OSError as error:
        reason, status = f"verdict_contract.py: standard output: {error.strerror}", 1
    with contextlib.suppress(OSError):
        os.write(2, f"{reason}\n".encode())
    return status


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
