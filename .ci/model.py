"""A second, deliberately plain reading of the verdict contract, compared with the parser.

    python3 .ci/model.py [--root DIR] [--seconds N] [--lines N] [--seed N]

`model(report, token)` was written from the rules in words alone, without a look at the parser, and
shares no code with it; where the words leave a choice, the two were made to agree afterwards. It walks
line by line and character by character and cares for nothing but being easy to check. This program
gives the same reports to both and compares the whole answer: verdict, rule and line. Every report is
read without a token and with one.

What a clean run proves: on each report compared, two readers that were written apart agree. The
reports are all those of up to `--lines` lines over `KINDS`, as far as the time box reaches, and
random ones with damage on every level. So a change to the parser that moves any answer within
reach turns up here, reduced to a minimal report.

What it cannot prove: that the rules are right; anything where both authors misread them the
same way; anything that no report compared here touches, such as characters that appear neither in
`KINDS` nor in `STRANGE`; and it says nothing about speed, bytes or the command line.

Exit 0 if both always agree, 1 on any disagreement or if the run compared too little to mean
anything (nothing at all, or no report that approves, with and without a token), 2 for usage.
"""

from __future__ import annotations

import argparse
import importlib
import math
import random
import sys
import time
import unicodedata
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# ---------------------------------------------------------------------------- the words of the rules

APPROVAL, BLOCK, UNKNOWN, MENTION = "approval", "block", "unknown", "mention"

COLOUR_START = "\x1b["
COLOUR_INNER = "0123456789;:"
BOM = "\ufeff"
# Where str.splitlines() cuts and a line of the contract does not end.
LOOSE_CUTS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
BLANKS = " \t"
HIDDEN_CATEGORIES = ("Cf", "Cc", "Cn", "Mn", "Mc", "Me")
NO_INK = "\u115f\u1160\u2800"  # letters and a symbol that print nothing
WORD_GAP = " \t_-"  # what may stand for the `_` of REQUEST_CHANGES where it is only found
VALUE_TRIM = " \t*_`:."
WEAK_GAP = " \t`:=*#>|.-~"
WEAK_GAP_MOST = 16
INDENT_MOST = 3
HASHES_MOST = 6
LABEL_MOST = 40
LABEL_MARKS = "_-/ "
TOKEN_LEAST, TOKEN_MOST = 8, 64
HEX = "0123456789ABCDEF"  # folded text is upper case

LOOKALIKES = {
    # Cyrillic
    "\u0410": "A", "\u0421": "C", "\u0415": "E", "\u050c": "G", "\u041d": "H",
    "\u0406": "I", "\u04c0": "I", "\u041e": "O", "\u0420": "P", "\u051a": "Q",
    "\u0405": "S", "\u0422": "T", "\u0474": "V",
    # Greek; NFKD turns the lunate sigma, which looks like a C, into the ordinary one
    "\u03a3": "C", "\u03d8": "Q",
    "\u0391": "A", "\u0395": "E", "\u0397": "H", "\u0399": "I", "\u039d": "N",
    "\u039f": "O", "\u03a1": "P", "\u03a4": "T",
    # dashes
    "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-",
    "\u2015": "-", "\u2212": "-",
}  # fmt: skip


class Answer(NamedTuple):
    """What a reader says about a report."""

    verdict: str | None
    rule: str
    line: int | None


class Marker(NamedTuple):
    """A sentinel or a mention; a placeholder and an idle marker are left out."""

    kind: str
    token: str


class Fence(NamedTuple):
    """What a line does to a code fence."""

    mark: str  # backtick or tilde, "" if the line is no fence
    size: int
    opens: bool
    closes: bool  # one of the same mark and no greater size


class Line(NamedTuple):
    """All that the rules ask of one line, wherever it stands."""

    blank: bool
    bare: bool
    old_block: bool
    markers: tuple[Marker, ...]
    statements: tuple[str, ...]  # old-style verdicts in it, as prose
    fence: Fence
    comment_begins: bool
    comment_ends: bool  # after its beginning, where the line begins one


# ------------------------------------------------------------------------------- from text to lines


def without_colour(report: str) -> str:
    """The report without colour codes, in one pass: what a removal joins is not looked at again."""
    kept = []
    at = 0
    while at < len(report):
        end = colour_end(report, at)
        if end == at:
            kept.append(report[at])
            end = at + 1
        at = end
    return "".join(kept)


def colour_end(report: str, at: int) -> int:
    """The end of the colour code that begins at `at`; `at` itself if none does."""
    if not report.startswith(COLOUR_START, at):
        return at
    end = at + len(COLOUR_START)
    while end < len(report) and report[end] in COLOUR_INNER:
        end += 1
    return end + 1 if report[end : end + 1] == "m" else at


def split_lines(report: str) -> list[str]:
    """Lines end at LF or CRLF; a CR that ends the last piece is the one at the very end."""
    text = without_colour(report) if COLOUR_START in report else report
    if text.startswith(BOM):
        text = text[len(BOM) :]
    return [piece[:-1] if piece.endswith("\r") else piece for piece in text.split("\n")]


def loose_lines(line: str) -> list[str]:
    """The line, cut wherever some other reader would see a line end."""
    pieces = [""]
    for char in line:
        if char in LOOSE_CUTS:
            pieces.append("")
        else:
            pieces[-1] += char
    return pieces


@lru_cache(maxsize=None)
def fold_character(char: str) -> str:
    """One character as a suspicious reader sees it: nothing, itself, or what it imitates."""
    seen = ""
    for part in unicodedata.normalize("NFKD", char):
        hidden = unicodedata.category(part) in HIDDEN_CATEGORIES or part in NO_INK
        if part == "\t" or not hidden:
            seen += "".join(imitated(big) for big in part.upper())
    return seen


def imitated(char: str) -> str:
    """The letter, dash or digit that a capital passes for, in whatever script it is."""
    return str(unicodedata.digit(char)) if char.isdigit() else LOOKALIKES.get(char, char)


def fold(loose: str) -> str:
    """A loose line, folded. For finding only, never for accepting."""
    return "".join(fold_character(char) for char in loose)


# ------------------------------------------------------------------------------- words and numbers


def first_alnum(text: str, at: int = 0) -> int:
    """Where the first letter or digit from `at` on stands; the end of the text if there is none."""
    while at < len(text) and not text[at].isalnum():
        at += 1
    return at


def skip(text: str, at: int, these: str) -> int:
    """The first place from `at` on that holds none of these characters."""
    while at < len(text) and text[at] in these:
        at += 1
    return at


def places(text: str, word: str) -> list[int]:
    """Every place where the word stands."""
    return [at for at in range(len(text)) if text.startswith(word, at)]


def block_word_end(text: str, at: int) -> int:
    """The end of a REQUEST_CHANGES (blanks, hyphens or nothing for the `_`) at `at`, or -1."""
    if not text.startswith("REQUEST", at):
        return -1
    second = skip(text, at + len("REQUEST"), WORD_GAP)
    return second + len("CHANGES") if text.startswith("CHANGES", second) else -1


def ends_word(text: str, end: int) -> bool:
    """Whether a word may end here: `APPROVE_` may, `APPROVE_WITH_NITS` may not."""
    after = skip(text, end, "_")
    return after == len(text) or not text[after].isalnum()


def verdict_word(text: str, at: int) -> str:
    """APPROVE or REQUEST_CHANGES if that stands at `at` as a whole word, else nothing."""
    if text.startswith("APPROVE", at) and ends_word(text, at + len("APPROVE")):
        return "APPROVE"
    end = block_word_end(text, at)
    return "REQUEST_CHANGES" if end >= 0 and ends_word(text, end) else ""


def list_number_end(text: str, at: int) -> int:
    """The end of the list number (`1.`, `12)`) at `at`; `at` itself if there is none.

    Digits of any script, as everywhere: a list may be numbered in Arabic, and what is set aside
    here makes a sentinel out of what else counts nowhere.
    """
    end = at
    while end < len(text) and text[end].isdigit():
        end += 1
    return end + 1 if end > at and text[end : end + 1] in (".", ")") else at


def is_token(word: str) -> bool:
    """8 to 64 hex digits, in upper case."""
    return TOKEN_LEAST <= len(word) <= TOKEN_MOST and all(char in HEX for char in word)


# ------------------------------------------------------------------------------------------ markers


def marker_places(folded: str) -> list[tuple[int, int]]:
    """(start, end) of each marker, from left to right."""
    found: list[tuple[int, int]] = []
    free = 0  # what lies before belongs to an earlier marker
    for at in places(folded, "VERDICT"):
        start = run_before(folded, at, free)
        end = run_after(folded, at + len("VERDICT"))
        if start >= 0 and end >= 0:
            found.append((start, end))
            free = end
    return found


def run_before(folded: str, at: int, free: int) -> int:
    """Where the run of two or more `=` before `at` begins, blanks between allowed, or -1."""
    inner = at
    while inner > free and folded[inner - 1] in BLANKS:
        inner -= 1
    outer = inner
    while outer > free and folded[outer - 1] == "=":
        outer -= 1
    return outer if inner - outer >= 2 else -1


def run_after(folded: str, at: int) -> int:
    """Where the run of two or more `=` after `at` ends, blanks between allowed, or -1."""
    inner = skip(folded, at, BLANKS)
    outer = skip(folded, inner, "=")
    return outer if outer - inner >= 2 else -1


def counted_markers(folded: str) -> list[Marker]:
    """The sentinels and mentions of a folded line."""
    found = []
    spots = marker_places(folded)
    for index, (start, end) in enumerate(spots):
        stop = spots[index + 1][0] if index + 1 < len(spots) else len(folded)
        if is_placeholder(folded, end):
            continue
        if only_list_number(folded[:start]):
            found.append(read_value(folded[end:stop]))
        elif verdict_word(folded, first_alnum(folded, end)):
            found.append(Marker(MENTION, ""))
    return found


def is_placeholder(folded: str, end: int) -> bool:
    """Whether the first word after the marker is the `<VALUE>` of the instruction."""
    return folded.startswith("<VALUE>", first_alnum(folded, end) - 1)


def only_list_number(before: str) -> bool:
    """Whether no letter or digit stands before the marker, one list number aside."""
    after = list_number_end(before, first_alnum(before))
    return first_alnum(before, after) == len(before)


def read_value(tail: str) -> Marker:
    """What the sentinel says, from the text after its marker."""
    value, token = split_token(tail, VALUE_TRIM)
    if value.strip(VALUE_TRIM) == "APPROVE":
        return Marker(APPROVAL, token)
    punctuation = "".join(char for char in tail if not char.isalnum())
    value, token = split_token(tail, punctuation)
    value = value.strip(punctuation)
    blocks = block_word_end(value, 0) == len(value)
    return Marker(BLOCK if blocks else UNKNOWN, token)


def split_token(tail: str, trim: str) -> tuple[str, str]:
    """The value and its token: the last word, if that is one and a blank stands before it.

    Of what is trimmed, some may stand between that blank and the token: `APPROVE **7f3a...**`.
    """
    whole = tail.strip(trim)
    start = len(whole)
    while start > 0 and whole[start - 1] in HEX:
        start -= 1
    value = whole[:start].rstrip(trim)
    gap = whole[len(value) : start]
    if is_token(whole[start:]) and any(blank in gap for blank in BLANKS):
        return value, whole[start:]
    return whole, ""


def is_bare(line: str) -> bool:
    """Whether the line, an approval if folded, has the one shape that is accepted."""
    if not all(" " <= char <= "~" or char == "\t" for char in line):
        return False
    upper = line.upper()
    at = bare_start(upper)
    for start, end in marker_places(upper):
        return start == at and read_value(upper[end:]).kind == APPROVAL
    return False


def bare_start(line: str) -> int:
    """Where the marker of a bare line must begin, or -1 if what comes first spoils it."""
    at = skip(line, 0, " ")
    if at > INDENT_MOST:
        return -1
    hashes = skip(line, at, "#")
    if hashes > at:
        heading = skip(line, hashes, " ")
        if hashes - at > HASHES_MOST or heading == hashes:
            return -1
        at = heading
    return skip(line, at, "*_`")


# ------------------------------------------------------------------------------ old-style verdicts


def decoration_mask(folded: str) -> list[bool]:
    """For each character, whether it is decoration: list numbers and ticked boxes are too."""
    mask = [not char.isalnum() for char in folded]
    for at in range(len(folded)):
        if at == 0 or not folded[at - 1].isalnum():
            for inside in range(at, list_number_end(folded, at)):
                mask[inside] = True
        if folded.startswith("[X]", at):
            mask[at + 1] = True
    return mask


def is_old_block(folded: str) -> bool:
    """Whether the line by itself is an old-style REQUEST_CHANGES, perhaps with a label."""
    if "REQUEST" not in folded:
        return False
    mask = decoration_mask(folded)
    for at in places(folded, "REQUEST"):
        end = block_word_end(folded, at)
        if end >= 0 and all(mask[end:]) and may_lead(folded[:at], mask[:at]):
            return True
    return False


def may_lead(before: str, mask: list[bool]) -> bool:
    """Whether what stands before REQUEST_CHANGES is decoration, or a label that announces it."""
    return all(mask) or has_sign_label(before, mask) or has_verdict_label(before, mask)


def has_sign_label(before: str, mask: list[bool]) -> bool:
    """A label followed, decoration aside, by `:` or `=`: `**Urteil**: `."""
    for at, char in enumerate(before):
        if char in ":=" and all(mask[at + 1 :]):
            ends = (end for end in range(at + 1) if all(mask[end:at]))
            if any(has_label(before, mask, end) for end in ends):
                return True
    return False


def has_verdict_label(before: str, mask: list[bool]) -> bool:
    """A label whose last word is VERDICT, no `:` needed: `Final verdict - `."""
    for at in places(before, "VERDICT"):
        end = at + len("VERDICT")
        own_word = at == 0 or not before[at - 1].isalnum()
        if own_word and end < len(before) and all(mask[end:]) and has_label(before, mask, end):
            return True
    return False


def has_label(before: str, mask: list[bool], end: int) -> bool:
    """Whether a label ends at `end`, with nothing but decoration before it."""
    starts = range(max(0, end - LABEL_MOST), end)
    return any(all(mask[:start]) and is_label(before[start:end]) for start in starts)


def is_label(text: str) -> bool:
    """Letters, digits and a few marks between, a letter or digit at both ends."""
    inner = all(char.isalnum() or char in LABEL_MARKS for char in text)
    return inner and text[0].isalnum() and text[-1].isalnum()


def old_statements(folded: str) -> list[str]:
    """What the line states in prose: VERDICT, a short gap, and one of the two words."""
    found = []
    for at in places(folded, "VERDICT"):
        gap = at + len("VERDICT")
        word = skip(folded, gap, WEAK_GAP)
        own_word = at == 0 or not folded[at - 1].isalnum()
        if own_word and 1 <= word - gap <= WEAK_GAP_MOST and verdict_word(folded, word):
            found.append(verdict_word(folded, word))
    return found


# ------------------------------------------------------------------------- one line, then all lines


@lru_cache(maxsize=20000)
def read_line(line: str) -> Line:
    """The facts of one line. Remembered, since the reports are made of few lines."""
    folded = [fold(loose) for loose in loose_lines(line)]
    inner = without_indent(line)
    begins = inner.startswith("<!--")
    return Line(
        blank=not line.strip(BLANKS),
        bare=is_bare(line),
        old_block=any(is_old_block(text) for text in folded),
        markers=tuple(marker for text in folded for marker in counted_markers(text)),
        statements=tuple(word for text in folded for word in old_statements(text)),
        fence=read_fence(inner),
        comment_begins=begins,
        comment_ends="-->" in (inner[len("<!--") :] if begins else line),
    )


def without_indent(line: str) -> str:
    """The line without up to 3 spaces; nothing if there are more, since then no block begins."""
    inner = line.lstrip(" ")
    return inner if len(line) - len(inner) <= INDENT_MOST else ""


def read_fence(inner: str) -> Fence:
    """What the line, its indent taken off, does to a code fence."""
    mark = inner[:1] if inner[:3] in ("```", "~~~") else ""
    size = len(inner) - len(inner.lstrip(mark)) if mark else 0
    info = inner[size:]
    opens = mark == "~" or (mark == "`" and "`" not in info)
    return Fence(mark, size, opens, closes=bool(mark) and not info.strip(BLANKS))


def walk_fences(lines: Sequence[Line]) -> tuple[list[bool], int | None]:
    """For each line whether a fence holds it, and where a fence that never closes opens."""
    inside = []
    opened: int | None = None
    for number, line in enumerate(lines, 1):
        inside.append(opened is not None or line.fence.opens)
        if opened is None:
            opened = number if line.fence.opens else None
        elif closes(lines[opened - 1].fence, line.fence):
            opened = None
    return inside, opened


def closes(opener: Fence, fence: Fence) -> bool:
    """Whether the line closes the fence that the other one opened."""
    return fence.closes and fence.mark == opener.mark and fence.size >= opener.size


def open_comment(lines: Sequence[Line]) -> int | None:
    """Where the last comment that begins a line begins, if nothing after it ends it."""
    begun: int | None = None
    for number, line in enumerate(lines, 1):
        if line.comment_begins:
            begun = number
        if line.comment_ends:
            begun = None
    return begun


def open_block(lines: Sequence[Line]) -> int | None:
    """The earlier of the fence and the comment that never close."""
    opened = [at for at in (walk_fences(lines)[1], open_comment(lines)) if at is not None]
    return min(opened) if opened else None


# ---------------------------------------------------------------------------------------- the rules


def model(report: str, token: str | None = None) -> Answer:
    """The verdict, the rule that decided, and its line: the table of rules, read top to bottom."""
    lines = [read_line(line) for line in split_lines(report)]
    counted = [(number, marker) for number, line in enumerate(lines, 1) for marker in line.markers]
    for number, marker in counted:
        if marker.kind == BLOCK:
            return Answer("REQUEST_CHANGES", "blocked", number)
    for number, marker in counted:
        if marker.kind == UNKNOWN:
            return Answer("AMBIGUOUS", "unknown-value", number)
    if any(marker.kind == APPROVAL for _, marker in counted):
        return read_approval(lines, counted, token)
    return read_prose(lines)


def read_approval(  # noqa: PLR0911  (a rule a return, in the order of the table)
    lines: Sequence[Line], counted: Sequence[tuple[int, Marker]], token: str | None
) -> Answer:
    """The report holds an approval, and no sentinel that says anything else."""
    if len(counted) > 1:
        return Answer("AMBIGUOUS", "repeated", counted[1][0])
    at, marker = counted[0]
    if any(not line.blank for line in lines[at:]):
        return Answer("AMBIGUOUS", "not-last", at)
    if not lines[at - 1].bare:
        return Answer("AMBIGUOUS", "not-bare", at)
    for number, line in enumerate(lines, 1):
        if line.old_block:
            return Answer("AMBIGUOUS", "contradicted", number)
    if marker.token != (token or "").upper():
        return Answer("AMBIGUOUS", "wrong-token", at)
    opened = open_block(lines) if token is None else None
    if opened is not None:
        return Answer("AMBIGUOUS", "open-block", opened)
    return Answer("APPROVE", "approved", at)


def read_prose(lines: Sequence[Line]) -> Answer:
    """The report holds no sentinel: the weak layer, which blocks or says nothing."""
    inside, _ = walk_fences(lines)
    stated = [
        (number, word) for number, line in enumerate(lines, 1) for word in line.statements if not inside[number - 1]
    ]
    if not stated:
        return Answer(None, "not-stated", None)
    first, word = stated[0]
    if len({word for _, word in stated}) > 1:
        return Answer("AMBIGUOUS", "weak-both", first)
    if word == "REQUEST_CHANGES":
        return Answer("REQUEST_CHANGES", "weak-block", first)
    return Answer("AMBIGUOUS", "weak-approve", first)


# --------------------------------------------------------------------------- the reports to compare

TOKEN = "7f3a9c2b4e5d6071"
OTHER_TOKEN = "0123456789abcdef"

# One line for each thing that a rule looks at. Lines are joined with LF, so the empty line gives
# reports that end in a line end, and the line with a CR gives CRLF or a CR at the very end.
KINDS = (
    "",
    " \t\r",
    "The lock is held.",
    "===VERDICT=== APPROVE",
    f"===VERDICT=== APPROVE {TOKEN}",
    f"===VERDICT=== APPROVE {OTHER_TOKEN}",
    "## **== verdict\t== Approve.**",
    f"  `=== VERDICT ===  approve: {TOKEN.upper()}`",
    "> ===VERDICT=== APPROVE",
    f"\u200b===VERDICT=== APPROVE {TOKEN}",
    "50%\r===VERDICT=== APPROVE",
    "\x1b[32m===VERDICT=== \x1b[1;4mAPPROVE\x1b[m",
    f"1. \uff1d\uff1d\uff1dVERDICT=== REQUEST CHANGES ({OTHER_TOKEN})",
    "===VERDICT=== LGTM",
    "===VERDICT=== <VALUE>",
    "I say ===VERDICT=== `APPROVE`",
    "I end with the ===VERDICT=== line.",
    "> Verdict: APPROVE",
    "**Verdict** \u2014 `REQUEST-CHANGES`",
    "[x] REQUEST_CHANGES",
    "VERDICT: APPROVE_WITH_NITS",
    "```",
    "````text",
    "~~~ `note`",
    "  ~~~~ ",
    "<!-- note",
    "done -->",
    "\x1b[0m",
    "\ufeff",
)

# Characters to damage a line with: hidden, imitating, wide, cutting, colouring, impossible.
STRANGE = (
    *("\u200b", "\u200d", "\u00ad", "\ufeff", "\u202e", "\u0301", "\u20dd", "\u0903", "\x00"),
    "\x07",
    *("\u0410", "\u0435", "\u0421", "\u0456", "\u0395", "\u03bf", "\u03a4", "\u03f9", "\u03f2"),
    *("\uff1d", "\uff36", "\uff21", "\uff1a", "\u00a0", "\u3000", "\u2488", "\u00df", "\u0131"),
    *("\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\u2028", "\u2029", "\r\n", "\n"),
    *("\x1b", "\x1b[0m", "\x1b[38;5:1m", "\x1b[K", "\x1b[?1m", "\x1b[", "m", "\ud800"),
    *("\udfff", "\U0001f600"),
    *(" ", "\t", "=", "==", "_", "*", "`", ":", ".", "-", ">", "|", "#", "1", "x", "\u2014"),
    "\u2011",
)

# What odd lines are put together from.
PIECES = (
    *("===", "==", "=", "VERDICT", "verdict", "===VERDICT===", "== VERDICT ==", "===VERDICT=== "),
    *("APPROVE", "approve", "REQUEST_CHANGES", "request changes", "REQUEST", "CHANGES", "LGTM"),
    *(" ", " ", " ", "  ", "\t", "_", "-", ":", ".", "*", "**", "`", "/", "|", "> ", "# "),
    *("##", ", "),
    *("1.", "2)", "12", "[x]", "[ ]", "[X] ", "(", ")", "<VALUE>", "<", ">", "!", "\u2014"),
    "\uff1a",
    *(TOKEN, TOKEN.upper(), OTHER_TOKEN, f" {TOKEN}", "deadbeef", "x", "Final ", "Urteil"),
    "a" * 38,
    *("```", "~~~", "````", "<!--", "-->", "\u5224\u5b9a", "\r", "\u200b", "\u0301", "\u2028"),
)

CALM = (
    *("", "", "The lock is held.", "Paths: fine.", "- one\ttwo", "| a | b |", "> quoted"),
    "\u00fc \u2713",
)
CALM_BLOCKS = ("```\nx = 1\n```", "~~~~ py\n```\n~~~~", "<!-- a\nb -->", "````\n```\n`````")
APPROVALS = (
    *("===VERDICT=== APPROVE", "**=== Verdict === approve**", "# ==VERDICT== `APPROVE`."),
    *(f"===VERDICT=== APPROVE {TOKEN}", f"   __===VERDICT===: APPROVE:\t{TOKEN.upper()} **"),
)
BLOCKING = (
    *("===VERDICT=== REQUEST_CHANGES", "===VERDICT=== APPROVE", "===VERDICT=== LGTM"),
    *("I say ===VERDICT=== APPROVE", "Verdict: REQUEST-CHANGES", "- REQUEST CHANGES"),
)
STATEMENTS = ("The lock is held.", "Verdict: approve", "VERDICT - REQUEST_CHANGES")
# Lines slot by slot, each slot with right and nearly right fillings, on both sides of each limit.
LEADS = (
    *("", "", "", " ", "   ", "    ", "\t", " \t", "# ", "#", "#\t", "###### ", "####### "),
    *("**", "`", "* ", "> ", "- ", "_"),
)
ORDERS = (
    *("", "", "", "1. ", "12)", "1.2. ", "1. 2) ", "a. ", "3.a", "\u0663. "),
    *("[x] ", "[X]", "[ ]", "[y]"),
)
VALUES = (
    *("APPROVE", "approve", "REQUEST_CHANGES", "request changes", "REQUEST - CHANGES"),
    *("REQUEST\tCHANGES", "LGTM", "", "<VALUE>", "VALUE>", "< VALUE>"),
)
MARKERS = (
    *("===VERDICT===", "== verdict\t==", "=VERDICT==", "==VERDICT=", "===VERDICTS==="),
    *("\uff1d=VERDICT==", "==VERDICT==VERDICT==", "==VERDICT====VERDICT=="),
)
GAPS = (
    *("", " ", "  ", "\t", " **", "** ", ": ", ":", ".", "_", " _", " (", " - "),
    *("=" * 15, "=" * 16, "=" * 17),
)
TOKENS = (
    *("", "", "", TOKEN, TOKEN.upper(), OTHER_TOKEN),
    *("abcdef1", "abcdef12", "ab" * 32, "ab" * 32 + "c"),
)
TAILS = (
    *("", "", "", " ", "\t", "**", ".", "_", ")", "!", "_x", " x", "_1.", "1.", " 2)"),
    *("[x]", "\u200b", ","),
)
LABELS = (
    *("Verdict", "final verdict", "Urteil", "My_verdict", "a/b-c", "a" * 40, "a" * 41),
    *("b " * 16 + "verdict", "a\tb", "x-"),
)
SIGNS = (
    *(":", "=", "**:", " : ", ":**", " - ", " ", "", "\uff1a", ":1. ", "1.:", ": [x] "),
    *(" [x] ", ".", "_"),
)
SHAPES = (
    (LEADS, ORDERS, MARKERS, GAPS, VALUES, GAPS, TOKENS, TAILS),
    (LEADS, ORDERS, MARKERS[:2], GAPS[:6], VALUES, GAPS, TOKENS, TAILS),
    (LEADS, MARKERS[:2], GAPS[:2], VALUES[:2], GAPS, TOKENS, TAILS[:6]),
    (LEADS, ORDERS, LABELS, SIGNS, ORDERS, VALUES[2:6], TAILS),
    (ORDERS, VALUES, GAPS, LABELS[:4], GAPS, VALUES, TAILS),
)
BLOCK_SHAPE = (
    ("", "", " ", "   ", "    ", "\t", "> ", "x"),
    ("```", "``", "````", "~~~", "~~~~", "~~", "`~~", "<!--", "<!-", "<!---", "-->", "--", ""),
    (
        *("", "", "", " ", "\t", " py", "`", " `", "~", ">", "->", "-->", " x -->"),
        *("\r", "\u00a0", "\f", " verdict: approve"),
    ),
)
OPENINGS = ("", "", "", "", BOM, BOM, BOM + BOM, "\x1b[0m" + BOM, BOM + "\x1b[0m")
LINE_ENDS = ("\n", "\r\n", "\r", "\x85", "\u2028", "\v")


def report_at(index: int, length: int) -> str:
    """The report of that many lines with that number."""
    lines = []
    for _ in range(length):
        index, kind = divmod(index, len(KINDS))
        lines.append(KINDS[kind])
    return "\n".join(lines)


def scrambled_reports(length: int, share: int, shares: int, seed: int) -> Iterator[str]:
    """One share of all reports of a length, each once, in an order spread over all of them.

    So if time runs out, the part that was reached is an even sample and no arbitrary beginning.
    """
    rng = random.Random(f"{seed} {length}")
    total = len(KINDS) ** length
    start, step = rng.randrange(total), rng.randrange(total)
    while math.gcd(step, total) != 1:
        step = rng.randrange(total)
    for turn in range(share, total, shares):
        yield report_at((start + turn * step) % total, length)


def shaped_line(rng: random.Random) -> str:
    """A line that is nearly a marker, a label with a verdict, or a statement in prose."""
    shape = rng.choice(SHAPES)
    return "".join(rng.choice(slot) for slot in shape)


def block_report(rng: random.Random) -> str:
    """Fences and comments that open, close or nearly do, and an approval or a statement."""
    lines = ["".join(rng.choice(slot) for slot in BLOCK_SHAPE) for _ in range(rng.randint(1, 6))]
    lines.insert(rng.randint(0, len(lines)), rng.choice(STATEMENTS))
    lines.append(rng.choice((*APPROVALS, *STATEMENTS)))
    return joined(rng, lines)


def random_reports(rng: random.Random) -> Iterator[str]:
    """Reports without end, of each sort in turn."""
    while True:
        yield odd_report(rng)
        yield block_report(rng)
        yield disguised(rng, rng.choice(BLOCKING)) + "\n" + rng.choice(APPROVALS)
        yield joined(rng, calm_lines(rng))
        yield joined(rng, wild_lines(rng))


def odd_report(rng: random.Random) -> str:
    """A few lines of random pieces or shapes, often with an approval after them."""
    lines = [rng.choice((odd_line, shaped_line))(rng) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.6:
        lines.append(rng.choice(APPROVALS))
    return "\n".join(damaged(rng, line) if rng.random() < 0.2 else line for line in lines)


def odd_line(rng: random.Random) -> str:
    """One line of random pieces."""
    return "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 9)))


def calm_lines(rng: random.Random) -> list[str]:
    """A long report that would approve, with at most a little damage."""
    lines = [rng.choice(CALM) for _ in range(rng.randint(4, 30))]
    lines.insert(rng.randrange(len(lines)), rng.choice(CALM_BLOCKS))
    lines.append(rng.choice(APPROVALS))
    if rng.random() < 0.5:
        at = rng.choice((rng.randrange(len(lines)), -1))
        lines[at] = damaged(rng, lines[at])
    if rng.random() < 0.2:
        lines.insert(rng.randrange(len(lines)), odd_line(rng))
    return lines + [""] * rng.randint(0, 2)


def wild_lines(rng: random.Random) -> list[str]:
    """A long report with a few of the kinds, damaged, among calm lines."""
    few = rng.sample(KINDS, 3)
    lines = [rng.choice(few if rng.random() < 0.3 else CALM) for _ in range(rng.randint(6, 40))]
    return [damaged(rng, line) if rng.random() < 0.05 else line for line in lines]


def damaged(rng: random.Random, line: str) -> str:
    """The line with one to three characters put in, put in place of another, or taken out."""
    for _ in range(rng.randint(1, 3)):
        at = rng.randint(0, len(line))
        new = rng.choice(STRANGE) if rng.random() < 0.8 else ""
        line = line[:at] + new + line[at + rng.randint(0, 1) :]
    return line


def disguised(rng: random.Random, line: str) -> str:
    """The line with some letters and dashes replaced by others that look like them."""
    for at, char in enumerate(line):
        masks = [mask for mask, letter in LOOKALIKES.items() if letter == char.upper()]
        if masks and rng.random() < 0.3:
            mask = rng.choice(masks)
            line = line[:at] + rng.choice((mask, mask.lower())) + line[at + 1 :]
    return line


def joined(rng: random.Random, lines: Sequence[str]) -> str:
    """The lines with one sort of line end, now and then with another one among them."""
    usual = rng.choice(LINE_ENDS[:2])
    slips = rng.choice((0.0, 0.0, 0.03))
    parts = [rng.choice(OPENINGS)]
    for line in lines:
        parts += [line, rng.choice(LINE_ENDS) if rng.random() < slips else usual]
    return "".join(parts if rng.random() < 0.5 else parts[:-1])


# --------------------------------------------------------------------------------------- comparing

PROCESSES = 2
RANDOM_SHARE = 0.15  # of the time box, at least
REPORTS_BETWEEN_CLOCKS = 64
MINIMAL_OF_A_SORT = 3  # disagreements of one sort (both rules the same) that are shrunk and printed


class Parser(Protocol):
    """`read_verdict`."""

    def __call__(self, report: str, token: str | None) -> Any:
        """The answer: something with a verdict, a rule and a line."""


class Job(NamedTuple):
    """What one process is told."""

    root: str
    share: int
    lines: int
    seconds: float
    seed: int


class Disagreement(NamedTuple):
    """A minimal report on which the two readers differ."""

    report: str
    token: str | None
    want: Answer
    got: Answer


class Tally:
    """What one process has seen so far; added up over the processes at the end."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.by_length: dict[int, int] = {}
        self.random = 0
        self.approving = 0
        self.approvals = {"without a token": 0, "with a token": 0}
        self.sorts: dict[tuple[str, str], int] = {}
        self.minimal: list[Disagreement] = []

    @property
    def compared(self) -> int:
        """The number of reports."""
        return sum(self.by_length.values()) + self.random

    def add(self, other: Tally) -> None:
        """Take over what another process has seen."""
        for length, count in other.by_length.items():
            self.by_length[length] = self.by_length.get(length, 0) + count
        for reading, count in other.approvals.items():
            self.approvals[reading] += count
        for sort, count in other.sorts.items():
            self.sorts[sort] = self.sorts.get(sort, 0) + count
        self.random += other.random
        self.approving += other.approving
        self.minimal += [new for new in other.minimal if new not in self.minimal]


def load_parser(root: str) -> Parser:
    """`read_verdict` of the module in that folder, and of no other."""
    sys.path.insert(0, root)
    module = importlib.import_module("verdict_contract")
    if Path(str(module.__file__)).resolve().parent != Path(root).resolve():
        raise ImportError(f"verdict_contract came from {module.__file__}, not from {root}")
    parser: Parser = module.read_verdict
    return parser


def ask(parser: Parser, report: str, token: str | None) -> Answer:
    """The parser's answer; an exception is one too, and never the right one."""
    try:
        reading = parser(report, token)
    except Exception as error:  # noqa: BLE001
        return Answer(None, f"raised {type(error).__name__}", None)
    return Answer(reading.verdict, reading.rule, reading.line)


def compare(parser: Parser, report: str, token: str, tally: Tally) -> None:
    """Read the report both ways, without a token and with one, and note what differs."""
    approves = False
    for asked, reading in ((None, "without a token"), (token, "with a token")):
        want, got = model(report, asked), ask(parser, report, asked)
        if got.verdict == "APPROVE":
            approves = True
            tally.approvals[reading] += 1
        if want != got:
            note(parser, Disagreement(report, asked, want, got), tally)
    tally.approving += approves


def note(parser: Parser, found: Disagreement, tally: Tally) -> None:
    """Count a disagreement; shrink the first few of its sort."""
    sort = (found.want.rule, found.got.rule)
    tally.sorts[sort] = tally.sorts.get(sort, 0) + 1
    if tally.sorts[sort] <= MINIMAL_OF_A_SORT:
        small = shrunk(parser, found)
        if small not in tally.minimal:
            tally.minimal.append(small)


def is_false_approve(found: Disagreement) -> bool:
    """The one direction that ships a bug."""
    return found.got.verdict == "APPROVE" and found.want.verdict != "APPROVE"


def shrunk(parser: Parser, found: Disagreement) -> Disagreement:
    """A smaller report with the same sort of disagreement: lines dropped, then characters."""

    def differs(report: str) -> bool:
        want, got = model(report, found.token), ask(parser, report, found.token)
        return (want.rule, got.rule) == (found.want.rule, found.got.rule) and want != got

    report = "\n".join(fewest(found.report.split("\n"), "\n", differs))
    report = "".join(fewest(list(report), "", differs))
    want, got = model(report, found.token), ask(parser, report, found.token)
    return Disagreement(report, found.token, want, got)


def fewest(pieces: list[str], glue: str, differs: Callable[[str], bool]) -> list[str]:
    """Drop pieces, one at a time, until none can be missed."""
    dropped = True
    while dropped:
        dropped = False
        for at in reversed(range(len(pieces))):
            fewer = pieces[:at] + pieces[at + 1 :]
            if differs(glue.join(fewer)):
                pieces, dropped = fewer, True
    return pieces


def work(job: Job) -> Tally:
    """One process: its share of every length, shortest first, then random reports."""
    parser = load_parser(job.root)
    tally = Tally()
    start = time.monotonic()
    until = start + job.seconds * (1 - RANDOM_SHARE)
    for length in range(1, job.lines + 1):
        reports = scrambled_reports(length, job.share, PROCESSES, job.seed)
        tally.by_length[length] = 0
        for report in before(until, reports):
            compare(parser, report, TOKEN, tally)
            tally.by_length[length] += 1
    rng = random.Random(f"{job.seed} share {job.share}")
    for report in before(start + job.seconds, random_reports(rng)):
        compare(parser, report, rng.choice((TOKEN, TOKEN.upper())), tally)
        tally.random += 1
    return tally


def before(deadline: float, reports: Iterator[str]) -> Iterator[str]:
    """The reports, as long as there is time. The clock is not asked for every one."""
    for count, report in enumerate(reports):
        if count % REPORTS_BETWEEN_CLOCKS == 0 and time.monotonic() >= deadline:
            return
        yield report


# ----------------------------------------------------------------------------------------- printing


def show(found: Disagreement) -> str:
    """A disagreement with every invisible character made visible."""
    title = "FALSE APPROVE" if is_false_approve(found) else "DISAGREEMENT"
    asked = "no token" if found.token is None else f"token {found.token}"
    rows = [f"{title}, {asked} asked for:"]
    for number, line in enumerate(found.report.split("\n"), 1):
        rows.append(f"  {number:2} {line!a}")
    rows.append(f"  want {tuple(found.want)}")
    rows.append(f"  got  {tuple(found.got)}")
    return "\n".join(rows)


def reach(tally: Tally) -> str:
    """How far the enumeration got: whole lengths, then the share of those that are not whole."""
    whole, parts = 0, []
    for length, count in sorted(tally.by_length.items()):
        total = len(KINDS) ** length
        if count == total:
            whole = length
        else:  # rounded down: a length that is not complete never reads 100%
            parts.append(f"{count * 1000 // total / 10}% of {length} lines")
    start = f"all up to {whole} lines of {len(KINDS)} kinds" if whole else f"{len(KINDS)} kinds"
    return "; ".join([start, *parts, f"{tally.random:,} random"])


def too_little(tally: Tally) -> list[str]:
    """Why the run means nothing, if it does: a comparison that never approves proves nothing."""
    reasons = [f"no report approves {how}" for how, count in tally.approvals.items() if not count]
    return reasons if tally.compared else ["no report was compared"]


def print_result(tally: Tally) -> int:
    """Print what was found; the exit code."""
    for found in sorted(tally.minimal, key=lambda found: not is_false_approve(found)):
        print(show(found))
    for (want, got), count in sorted(tally.sorts.items()):
        print(f"{count:,} times: want {want}, got {got}")
    reasons = too_little(tally)
    for reason in reasons:
        print(f"model: proves nothing: {reason}")
    differ = sum(tally.sorts.values())
    print(
        f"model: {tally.compared:,} reports compared, {tally.approving:,} approve,"
        f" {differ:,} disagreements ({reach(tally)})"
    )
    return 1 if differ or reasons else 0


def main(argv: Sequence[str]) -> int:
    """Share the work between the processes, add up, print."""
    parser = argparse.ArgumentParser(description="Compare the parser with a second, plain reading.")
    root = Path(__file__).resolve().parent.parent
    parser.add_argument("--root", default=str(root), help="folder of verdict_contract.py")
    parser.add_argument("--seconds", type=float, default=600, help="time box (default 600)")
    parser.add_argument("--lines", type=int, default=5, help="longest enumerated report (default 5)")
    parser.add_argument("--seed", type=int, default=1, help="of the order and the random reports")
    args = parser.parse_args(argv)
    jobs = [Job(args.root, share, args.lines, args.seconds, args.seed) for share in range(PROCESSES)]
    tally = Tally()
    with ProcessPoolExecutor(PROCESSES) as pool:
        for one in pool.map(work, jobs):
            tally.add(one)
    return print_result(tally)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
