"""The contract as a table of replies, and what else must hold: python3 test_verdict_contract.py --help

Needs only the standard library. A run of everything shows a line for each part as it ends, runs the files of tests under
examples/ beside its own, and ends in a line that begins with OK, or something failed.
"""

import argparse
import ast
import atexit
import collections
import contextlib
import datetime
import doctest
import errno
import functools
import hashlib
import html
import io
import itertools
import json
import math
import os
import random
import re
import shlex
import shutil
import signal
import string
import subprocess
import sys
import tempfile
import time
import unicodedata
import unittest
import unittest.mock
from pathlib import Path
from types import ModuleType
from typing import (
    Any,
    BinaryIO,
    Callable,
    Counter,
    Dict,
    Generator,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    NoReturn,
    Optional,
    Sequence,
    Set,
    TextIO,
    Tuple,
    Type,
    Union,
)

if sys.version_info < (3, 8):
    sys.exit("test_verdict_contract.py: needs Python 3.8 or later")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # Python may have been told to leave it out

import verdict_check
import verdict_contract
from verdict_contract import (
    AMBIGUOUS,
    APPROVE,
    PROMPT_RULE,
    REQUEST_CHANGES,
    RULES,
    Reading,
    combine,
    diff_token,
    exit_code,
    find_verdict,
    new_token,
    prompt_rule,
    read_verdict,
    verdict_line,
)

HERE = Path(__file__).resolve().parent
COUNTED: Counter[str] = collections.Counter()  # reports beside the rows; the line of their part shows how many


# --- The rows -------------------------------------------------------------------------------------


class Case(NamedTuple):
    """A reply and what it must read as. The id is rule/name; at is the row's own line in this file."""

    rule: str
    name: str
    verdict: Optional[str]
    report: str
    token: Optional[str]
    line: Optional[int]  # the line the reading must point at; None: the row does not say
    at: int

    @property
    def id(self) -> str:
        return f"{self.rule}/{self.name}"


def case(
    rule: str, name: str, verdict: Optional[str], *lines: str, token: Optional[str] = None, line: Optional[int] = None
) -> Case:
    """A row of the table: each of lines is one line of the reply, passed to the parser as written."""
    return Case(rule, name, verdict, "\n".join(lines), token, line, sys._getframe(1).f_lineno)


# fmt: off
M = "===VERDICT==="
A = "===VERDICT=== APPROVE"
R = "===VERDICT=== REQUEST_CHANGES"
T = "7f3a9c2b4e5d6071"
OTHER = "0123456789abcdef"
OLD_BLOCK, OLD_APPROVE = "VERDICT: REQUEST_CHANGES", "VERDICT: APPROVE"
FINE = "The lock is held on every path."
DOUBT = "On reflection, the lock leaks."

# The cases that the contract began with. No row leaves, and none is added.
FOUNDING = {
    "strict": [
        case("approved", "plain", APPROVE, FINE, "", A, line=3),
        case("approved", "nothing-between", APPROVE, FINE, "", "===VERDICT===APPROVE"),
        case("approved", "bold", APPROVE, FINE, "", "**===VERDICT=== APPROVE**"),
        case("approved", "blanks-within-and-lower-case", APPROVE, FINE, "", "=== VERDICT === approve"),
        case("blocked", "quoted", REQUEST_CHANGES, FINE, "", "> ===VERDICT=== REQUEST_CHANGES", line=3),
        case("blocked", "plain", REQUEST_CHANGES, FINE, "", "===VERDICT=== REQUEST_CHANGES", line=3),
        case("blocked", "two-signs-and-a-blank", REQUEST_CHANGES, FINE, "", "==VERDICT== REQUEST CHANGES"),
        case("blocked", "hyphen-and-full-stop", REQUEST_CHANGES, FINE, "", "===VERDICT=== REQUEST-CHANGES."),
    ],
    "weak block": [
        case("weak-block", "plain", REQUEST_CHANGES, FINE, "", "VERDICT: REQUEST_CHANGES", line=3),
        case("weak-block", "heading", REQUEST_CHANGES, FINE, "", "## VERDICT: REQUEST_CHANGES"),
        case("weak-block", "heading-and-long-dash", REQUEST_CHANGES, FINE, "", "## Verdict \u2014 REQUEST CHANGES"),
        case("weak-block", "list-item", REQUEST_CHANGES, FINE, "", "- VERDICT: REQUEST_CHANGES"),
        case("weak-block", "value-in-backticks", REQUEST_CHANGES, FINE, "", "VERDICT: `REQUEST_CHANGES`"),
    ],
    "weak approve": [
        case("weak-approve", "plain", AMBIGUOUS, FINE, "", "VERDICT: APPROVE", line=3),
        case("weak-approve", "bold-label", AMBIGUOUS, FINE, "", "**Verdict:** APPROVE"),
        case("weak-approve", "quoted", AMBIGUOUS, FINE, "", "> VERDICT: APPROVE"),
        case("weak-approve", "lower-case", AMBIGUOUS, FINE, "", "verdict: approve"),
        case("weak-approve", "example-output", AMBIGUOUS, "Example output: VERDICT: APPROVE", "The parser is wrong."),
        case("weak-approve", "almost-wrote", AMBIGUOUS, "I almost wrote VERDICT: APPROVE, but the lock leaks."),
    ],
    "ambiguous": [
        case("unknown-value", "reject", AMBIGUOUS, "The lock leaks.", "", M + " REJECT", line=3),
        case("off-form", "with-nits", AMBIGUOUS, FINE, "", M + " APPROVE_WITH_NITS"),
        case("unknown-value", "lgtm", AMBIGUOUS, FINE, "", M + " LGTM"),
        case("unknown-value", "reject-cried", AMBIGUOUS, "The lock leaks.", "", M + " REJECT!"),
        case("off-form", "no-value", AMBIGUOUS, FINE, "", M),
        case("weak-both", "old-prompt-echoed", AMBIGUOUS,
             "I end with VERDICT: APPROVE or VERDICT: REQUEST_CHANGES.", line=1),
        case("weak-both", "approve-then-block", AMBIGUOUS, OLD_APPROVE, "", DOUBT, "", OLD_BLOCK, line=1),
        case("unknown-value", "approve-then-reject", AMBIGUOUS, A, M + " REJECT", line=2),
        case("unknown-value", "lgtm-then-approve", AMBIGUOUS, M + " LGTM", A, line=1),
        case("unknown-value", "reject-cried-then-approve", AMBIGUOUS, M + " REJECT!", A, line=1),
        case("repeated", "approve-twice", AMBIGUOUS, A, FINE, A, line=3),
        case("not-last", "serious-bug-after-it", AMBIGUOUS, A, "", "Wait, this has a serious bug.", line=1),
        case("not-last", "example-in-the-middle", AMBIGUOUS, "I would end in", A, "were the lock held. It is not."),
        case("not-last", "in-a-closed-fence", AMBIGUOUS, "```", A, "```", "I do not agree with that.", line=2),
        case("not-last", "in-an-open-fence", AMBIGUOUS, "```", A, "I do not agree with that.", line=2),
    ],
    "nothing": [
        case("not-stated", "verdict-is-below", None, "The VERDICT is below."),
        case("not-stated", "points-at-the-line", None, "- the last line holds the VERDICT, as asked"),
        case("not-stated", "no-verdict-given", None, "no verdict given"),
        case("not-stated", "glued-over-a-line-end", None, "I refuse to give a VERDICT", "APPROVE would be wrong"),
        case("not-stated", "block-glued-over-a-line-end", None, "I refuse to give a VERDICT",
             "REQUEST_CHANGES would be wrong"),
        case("not-stated", "placeholder", None, "===VERDICT=== <value>"),
        case("not-stated", "fenced-diff-line", None, "```diff", "+VERDICT: REQUEST_CHANGES", "```", "That is fine."),
        case("not-stated", "old-style-with-nits", None, "VERDICT: APPROVE_WITH_NITS"),
    ],
}

# Sets of which each member is a row below; they are written out here, apart from the parser's.
CUTS = {"vertical-tab": "\x0b", "form-feed": "\x0c", "file-separator": "\x1c", "group-separator": "\x1d",
        "record-separator": "\x1e", "next-line": "\x85", "line-separator": "\u2028", "paragraph-separator": "\u2029",
        "carriage-return": "\r"}
HIDDEN = [chr(code) for code in (*range(9), *range(14, 0x1C), 0x1F, *range(0x7F, 0x85), *range(0x86, 0xA0), 0xAD, 0x34F)]
HIDDEN += "\u115f\u1160\u200b\u202e\u2060\u2800\u3164\ufeff\uffff"  # fillers, an empty pattern, marks, never a character
DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
LETTERS = {"A": "\u0410\u0391", "C": "\u0421\u03a3", "E": "\u0415\u0395", "G": "\u050c", "H": "\u041d\u0397",
           "I": "\u0406\u04c0\u0399", "N": "\u039d", "O": "\u041e\u039f", "P": "\u0420\u03a1", "Q": "\u051a\u03d8",
           "S": "\u0405", "T": "\u0422\u03a4", "V": "\u0474"}
OTHER_SIGNS = "!\"#$%&'()+,-/;<=>?@[\\]^{|}~"  # those that may not stand around a value
REFUSALS = [  # what refuses behind a label
    "REQUEST_CHANGES", "request change", "Requests-changes", "changes requested", "requested_changes", "requesting changes",
    "change required", "changes needed", "needs changes", "needs work", "needs-fix", "needs fixes", "requires revision",
    "needs minor changes", "requires major work", "needs more fixes", "rejected", "blocking", "blocked", "failed", "deny",
    "denied", "decline", "declined", "disapprove", "disapproved", "nack", "no go", "no_-go", "nogo", "revise",
    "not approve", "not_approved", "NotApproved", "not merge", "not merged", "not ship", "not shipped", "not ready",
    "do not approve", "do not merge", "don't ship", "dont ship", "cannot approve", "can not be merged", "can't be approved",
    "cant yet ship", "not yet approved", "not be approved", "not ready to merge", "not ready for ship", "not ready to ship",
]
NO_REFUSALS = [  # what is near to it
    "request the changes", "requester changes", "change requests", "changes, requested", "changes may be needed",
    "needs few changes", "needs more", "needs minor", "required work", "needs fixing", "rejects", "rejection", "blocker",
    "unblocked", "fails", "failing", "failure", "denial", "denies", "declines", "disapproval", "nacked", "no goal",
    "go", "not gone", "revised", "revision", "nothing to approve", "note: approve", "not an approval", "not approving",
    "do approve", "do merge", "can approve", "doesn't merge", "dont worry", "cannot fail to merge", "not merging",
    "not by me approved", "ready", "not readily", "cleared to merge", "do not", "not yet", "not be", "no",
    "requestsed changes", "request changess", "changess requested", "needs minor major changes", "needs fixeses",
    "rejecteded", "blockeding", "faileded", "declinedd", "disapprovedd", "not be yet approved", "don''t ship", "can''t ship",
    "not approvedd", "not mergedd", "not shippedped", "not ready to merge for ship", "J. reject", "1J reject",
]


def slug(words: str) -> str:
    return re.sub(r"\W", "-", words)


# What was found later, in the order of RULES.
LATER = [
    # rule     the fault, or the feature     verdict          the reply, line by line
    case("blocked", "then-more-prose", REQUEST_CHANGES, R, "", "This has a serious bug.", line=1),
    case("blocked", "after-an-approval", REQUEST_CHANGES, A, "", DOUBT, R, line=4),
    case("blocked", "before-an-approval", REQUEST_CHANGES, R, A, line=1),
    case("blocked", "first-of-two", REQUEST_CHANGES, "", R, R, line=2),
    case("blocked", "junk-around", REQUEST_CHANGES, "\x00\ufffd ~~~ ]]>", R, "}}{{ <|end|>"),
    case("blocked", "beside-a-stranger", REQUEST_CHANGES, M + " LGTM", R, line=2),
    case("blocked", "fence-desync", REQUEST_CHANGES, "````text", "```", "````", A, "```", "", R, line=7),
    case("blocked", "fence-desync-by-an-opener", REQUEST_CHANGES, "```text", "```", A, "```", "", R, line=6),
    case("blocked", "fenced", REQUEST_CHANGES, "```", R, "```", A, line=2),
    case("blocked", "in-a-comment", REQUEST_CHANGES, "<!--", R, "-->", A, line=2),
    case("blocked", "in-backticks", REQUEST_CHANGES, f"`{R}`", A, line=1),
    case("blocked", "numbered", REQUEST_CHANGES, "1. " + R, A, line=1),
    case("blocked", "numbered-with-a-bracket", REQUEST_CHANGES, "- (12) " + R, A),
    case("blocked", "numbered-in-devanagari", REQUEST_CHANGES, "\u0967\u0968. " + R, A, line=1),
    case("blocked", "numbered-in-one-sign", REQUEST_CHANGES, "\u2488 " + R, A, line=1),
    case("blocked", "token-in-arabic-digits", REQUEST_CHANGES, R + " \u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668"),
    case("blocked", "numbered-in-a-circle", REQUEST_CHANGES, "\u24eb " + R, A, line=1),
    case("blocked", "bold-within-it", REQUEST_CHANGES, M + " REQUEST **CHANGES**", A, line=1),
    case("blocked", "diff-plus", REQUEST_CHANGES, "+" + R, A),
    case("blocked", "diff-minus", REQUEST_CHANGES, "-" + R, A),
    case("blocked", "table-cell", REQUEST_CHANGES, f"| {R} |", A),
    case("blocked", "full-width", REQUEST_CHANGES,
         "\uff1d\uff1d\uff1d\uff36\uff25\uff32\uff24\uff29\uff23\uff34\uff1d\uff1d\uff1d REQUEST_CHANGES", A),
    case("blocked", "full-width-low-line", REQUEST_CHANGES, M + " REQUEST\uff3fCHANGES", A),
    case("blocked", "mathematical-bold", REQUEST_CHANGES, M + " \U0001d411\U0001d404QUEST_CHANGES", A),
    case("blocked", "ligature", REQUEST_CHANGES, M + " reque\ufb06_changes", A),
    case("blocked", "zero-width-space-within", REQUEST_CHANGES, "===VER\u200bDICT=== REQUEST_CHANGES", A),
    case("blocked", "spacing-mark-within", REQUEST_CHANGES, M + " REQUEST\u0903_CHANGES", A),
    case("blocked", "enclosing-mark-within", REQUEST_CHANGES, M + " REQUEST\u20dd_CHANGES", A),
    case("blocked", "combining-mark-within", REQUEST_CHANGES, M + " REQUE\u0301ST_CHANGES", A),
    case("blocked", "accented-letters", REQUEST_CHANGES, M + " R\u00c9QU\u00caST_CHANG\u00c9S", A),
    case("blocked", "dotless-i", REQUEST_CHANGES, "===verd\u0131ct=== request_changes", A),
    case("blocked", "long-s", REQUEST_CHANGES, M + " reque\u017ft_change\u017f", A),
    case("blocked", "lower-case-cyrillic", REQUEST_CHANGES, M + " r\u0435quest_ch\u0430nges", A),
    case("blocked", "lunate-sigma", REQUEST_CHANGES, M + " REQUEST_\u03f9HANGES", A),
    case("blocked", "no-break-space", REQUEST_CHANGES, M + "\u00a0REQUEST\u2003CHANGES", A),
    case("blocked", "coloured", REQUEST_CHANGES, R.replace("E", "\x1b[1mE\x1b[m"), A, line=1),
    case("blocked", "chess-symbol-before", REQUEST_CHANGES, "\u2705 \u265a " + R, A),
    case("blocked", "tab-for-the-underscore", REQUEST_CHANGES, M + " REQUEST\tCHANGES"),
    case("blocked", "no-underscore", REQUEST_CHANGES, M + " requestchanges"),
    case("blocked", "mixed-for-the-underscore", REQUEST_CHANGES, M + " REQUEST _-- CHANGES"),
    case("blocked", "punctuation-around", REQUEST_CHANGES, M + ': ("REQUEST_CHANGES")!'),
    case("blocked", "underscores-around", REQUEST_CHANGES, M + " __REQUEST_CHANGES__"),
    case("blocked", "glued", REQUEST_CHANGES, M + "REQUEST_CHANGES"),
    case("blocked", "tabs-in-the-marker", REQUEST_CHANGES, "==\tVERDICT\t== REQUEST_CHANGES"),
    case("blocked", "indented", REQUEST_CHANGES, "\t    " + R, A),
    case("blocked", "crlf", REQUEST_CHANGES, "prose\r", R + "\r", A + "\r", line=2),
    case("blocked", "thinking-left-in", REQUEST_CHANGES, "<think>maybe " + A + "?</think>", R, line=2),
    case("blocked", "what-would-change-my-mind", REQUEST_CHANGES, R, "What would change my mind:",
         "- " + A + " only if the lock is held", line=1),
    case("blocked", "answer-under-review", REQUEST_CHANGES, "The answer under review says: " + A, R, line=2),
    case("blocked", "token-not-asked", REQUEST_CHANGES, R + " " + T),
    case("blocked", "token-as-asked", REQUEST_CHANGES, R + " " + T, token=T),
    case("blocked", "token-of-another", REQUEST_CHANGES, R + " " + OTHER, token=T),
    case("blocked", "token-missing", REQUEST_CHANGES, R, token=T),
    case("blocked", "token-in-brackets", REQUEST_CHANGES, M + " **REQUEST_CHANGES** [`7F3A9C2B`]."),
    case("blocked", "token-after-a-spaced-dash", REQUEST_CHANGES, R + ". - " + T),
    case("blocked", "token-behind-a-colon-and-a-blank", REQUEST_CHANGES, f"{R}: {T}"),
    case("blocked", "token-behind-a-tab", REQUEST_CHANGES, f"{R}\t{T}"),
    case("blocked", "token-of-64", REQUEST_CHANGES, R + " " + T * 4),
    case("blocked", "beside-a-right-token", REQUEST_CHANGES, R, f"{A} {T}", token=T, line=1),
    case("blocked", "second-marker-after-it", REQUEST_CHANGES, f"{R} {A}", line=1),
    case("blocked", "quoted-rule-after-it", REQUEST_CHANGES, f"{R} {M} <value>", line=1),
    case("blocked", "marker-with-four-signs", REQUEST_CHANGES, "====VERDICT====REQUEST_CHANGES"),
    case("blocked", "request-changes-if", REQUEST_CHANGES, R + " if it has to ship today"),
    case("blocked", "refusal-token-glued", REQUEST_CHANGES, f"{R}:{T}"),
    case("blocked", "refusal-token-glued-then-a-blank", REQUEST_CHANGES, R + ":bcdefbcd ."),
    case("blocked", "refusal-token-of-digits-glued-then-a-blank", REQUEST_CHANGES, R + ":12345678\t."),
    case("blocked", "refusal-token-of-7", REQUEST_CHANGES, R + " 7f3a9c2"),
    case("blocked", "refusal-token-of-65", REQUEST_CHANGES, R + " " + "a" * 65),
    case("blocked", "refusal-token-not-hex", REQUEST_CHANGES, R + " 7f3a9c2g"),
    case("blocked", "block-and-two-tokens", REQUEST_CHANGES, f"{R} {T} {T}", line=1),
    case("blocked", "then-a-reason", REQUEST_CHANGES, R + ", it drops rows", A, line=1),
    case("blocked", "token-then-a-reason", REQUEST_CHANGES, f"{R} {T} - it drops rows", token=T),
    case("blocked", "brackets-before-the-token", REQUEST_CHANGES, f"{R} (2 blockers) {T}", token=T),
    case("blocked", "escaped-by-a-backslash", REQUEST_CHANGES, f"{M} REQUEST\\_CHANGES {T}", A, token=T, line=1),
    case("blocked", "escaped-marker", REQUEST_CHANGES, "\\=\\=\\=VERDICT\\=\\=\\= REQUEST_CHANGES"),
    case("blocked", "escaped-twice", REQUEST_CHANGES, M + " REQUEST\\\\_CHANGES"),
    case("blocked", "escaped-by-a-full-width-backslash", REQUEST_CHANGES, M + " REQUEST\uff3c_CHANGES"),
    case("blocked", "then-another-refusal", REQUEST_CHANGES, R + ", do not merge"),
    case("blocked", "underscore-and-a-word-behind", REQUEST_CHANGES, R + "_NOW"),
    # The same fault with each member of a set; the sets are written out here, apart from the parser's.
    *(case("blocked", f"behind-{name}", REQUEST_CHANGES, FINE, FINE + cut + R, A, line=2) for name, cut in CUTS.items()),
    *(case("blocked", f"before-{name}", REQUEST_CHANGES, R + cut + FINE, A, line=1) for name, cut in CUTS.items()),
    *(case("blocked", f"hidden-{ord(c):04x}-within", REQUEST_CHANGES, R.replace("D", "D" + c)) for c in HIDDEN),
    *(case("blocked", f"dash-{ord(dash):04x}", REQUEST_CHANGES, f"{M} REQUEST{dash}CHANGES", A, line=1) for dash in DASHES),
    *(case("blocked", f"{ord(twin):04x}-for-{letter.lower()}", REQUEST_CHANGES, R.replace(letter, twin), line=1)
      for letter, twins in LETTERS.items() if letter in R for twin in twins),
    *(case("blocked", f"{ord(c):02x}-around", REQUEST_CHANGES, f"{M} {c}REQUEST_CHANGES{c}", line=1) for c in OTHER_SIGNS),
    case("blocked", "blanks-within-the-marker", REQUEST_CHANGES, "===  VERDICT  === REQUEST_CHANGES", line=1),

    case("unknown-value", "placeholder-before-bold", AMBIGUOUS, M + " <value> **do not** merge", A, line=1),
    case("unknown-value", "not-approve", AMBIGUOUS, M + " NOT APPROVE", line=1),
    case("unknown-value", "disapprove", AMBIGUOUS, M + " DISAPPROVE"),
    case("unknown-value", "unapproved", AMBIGUOUS, M + " UNAPPROVED"),
    case("unknown-value", "request-change", AMBIGUOUS, M + " REQUEST_CHANGE"),
    case("unknown-value", "request-changes-refused", AMBIGUOUS, M + " no REQUEST_CHANGES"),
    case("unknown-value", "both-words", AMBIGUOUS, A + " REQUEST_CHANGES"),
    case("unknown-value", "template-with-alternatives", AMBIGUOUS, M + " [APPROVE|REQUEST_CHANGES]", FINE, A, line=1),
    case("unknown-value", "changes", AMBIGUOUS, M + " CHANGES"),
    case("unknown-value", "merge", AMBIGUOUS, M + " MERGE"),
    case("unknown-value", "check-mark", AMBIGUOUS, M + " \u2705"),
    case("unknown-value", "cut-inside-the-word", AMBIGUOUS, FINE, M + " APPR", line=2),
    case("unknown-value", "first-of-two", AMBIGUOUS, "", M + " LGTM", M + " SHIP IT", line=2),
    case("unknown-value", "quoted", AMBIGUOUS, "> 2) " + M + " LGTM", A, line=1),
    case("unknown-value", "signs-shared-by-two-markers", AMBIGUOUS, "===VERDICT===VERDICT=== APPROVE"),
    case("unknown-value", "value-without-brackets", AMBIGUOUS, M + " value"),
    case("unknown-value", "placeholder-behind-a-word", AMBIGUOUS, M + " the <value>"),
    case("unknown-value", "placeholder-in-the-plural", AMBIGUOUS, M + " <values>"),
    case("unknown-value", "non-ascii-digit-behind", AMBIGUOUS, R + "\u0967\u0968"),
    case("unknown-value", "ideographs", AMBIGUOUS, M + " \u627f\u8a8d"),
    case("unknown-value", "token-before-the-word", AMBIGUOUS, f"{M} {T} APPROVE", token=T),
    case("unknown-value", "placeholder-then-approve", AMBIGUOUS, M + " <value> APPROVE"),
    case("unknown-value", "block", AMBIGUOUS, f"{M} BLOCK {T}", token=T, line=1),
    case("unknown-value", "changes-requested", AMBIGUOUS, f"{M} CHANGES_REQUESTED {T}", token=T),
    case("unknown-value", "do-not-approve", AMBIGUOUS, f"{M} DO NOT APPROVE {T}", token=T),
    case("unknown-value", "ideographs-that-refuse", AMBIGUOUS, f"{M} \u62d2\u7edd {T}", token=T),
    case("unknown-value", "approve-or-reject", AMBIGUOUS, A + ", or REJECT", line=1),
    case("unknown-value", "approve-then-not-approved", AMBIGUOUS, A + "? It is not approved."),
    case("unknown-value", "block-then-approve", AMBIGUOUS, R + " or APPROVE"),
    case("unknown-value", "block-then-approved", AMBIGUOUS, R + ", APPROVED last week"),
    case("unknown-value", "letter-behind-the-block", AMBIGUOUS, R + "X"),
    case("unknown-value", "letter-before-the-word", AMBIGUOUS, M + " XAPPROVE"),
    case("unknown-value", "quoted-rule-then-a-refusal", AMBIGUOUS, M + " <value> REJECT", A, line=1),
    case("unknown-value", "quoted-rule-a-marker-and-a-refusal", AMBIGUOUS, f"{M} <value> {M} says REJECT", A, line=1),
    case("unknown-value", "quoted-rule-and-an-approval", AMBIGUOUS, f"{M} <value> {A}", A, line=1),
    case("unknown-value", "quoted-rule-a-refusal-and-a-marker", AMBIGUOUS, f"{M} <value> REJECT{M}", line=1),
    case("unknown-value", "marker-before-the-quoted-rule", AMBIGUOUS, f"{M}> {M} <value>", A, line=1),
    case("unknown-value", "quoted-rule-and-a-marker-that-refuses", AMBIGUOUS, f"{M} <value> {M}REJECT", A, line=1),
    case("unknown-value", "signs-for-a-value", AMBIGUOUS, M + " ?!"),
    case("unknown-value", "beside-a-refusal-line", AMBIGUOUS, "Verdict: REJECT", M + " LGTM", A, line=2),
    *(case("unknown-value", f"list-number-{at}", AMBIGUOUS, before + M + " LGTM", line=1) for at, before in enumerate(("0.", "9) ", "1. - "))),
    case("unknown-value", "a-blank-in-the-quoted-rule", AMBIGUOUS, M + " < value>", line=1),

    case("contradicted", "old-style-block-after-it", AMBIGUOUS, A, OLD_BLOCK, line=2),
    case("contradicted", "number-before-the-colon", AMBIGUOUS, "Option (1): REQUEST_CHANGES", A, line=1),
    case("contradicted", "box-before-the-colon", AMBIGUOUS, "Decision [x]: REQUEST_CHANGES", A, line=1),
    case("contradicted", "heading", AMBIGUOUS, "## " + OLD_BLOCK, FINE, A, line=1),
    case("contradicted", "value-below-a-heading", AMBIGUOUS, "## Verdict", "", "REQUEST CHANGES", A, line=3),
    case("contradicted", "box-ticked", AMBIGUOUS, "[ ] APPROVE", "[x] REQUEST_CHANGES", A, line=2),
    case("contradicted", "box-in-a-list", AMBIGUOUS, "- [X] REQUEST_CHANGES", A),
    case("contradicted", "box-behind", AMBIGUOUS, "REQUEST_CHANGES [x]", A),
    case("contradicted", "two-boxes", AMBIGUOUS, "[x] [x] REQUEST_CHANGES", A),
    case("contradicted", "alone", AMBIGUOUS, "request changes", A, line=1),
    case("contradicted", "alone-in-bold", AMBIGUOUS, "**Request-Changes!**", A),
    case("contradicted", "alone-in-one-word", AMBIGUOUS, "requestchanges", A),
    case("contradicted", "numbered", AMBIGUOUS, "1. REQUEST_CHANGES", A),
    case("contradicted", "numbered-with-a-bracket", AMBIGUOUS, "> 12) REQUEST_CHANGES", A),
    case("contradicted", "number-behind", AMBIGUOUS, "REQUEST_CHANGES 1.", A),
    case("contradicted", "number-then-label", AMBIGUOUS, "3. Verdict: REQUEST_CHANGES", A),
    case("contradicted", "label-then-number", AMBIGUOUS, "Verdict: 1. REQUEST_CHANGES", A),
    case("contradicted", "label-then-box", AMBIGUOUS, "Verdict: [x] REQUEST_CHANGES", A),
    case("contradicted", "final-verdict", AMBIGUOUS, "FINAL VERDICT: REQUEST_CHANGES", A),
    case("contradicted", "final-verdict-and-a-dash", AMBIGUOUS, "Final verdict - request changes", A),
    case("contradicted", "sentence-that-ends-in-it", AMBIGUOUS, "I would have said VERDICT: REQUEST_CHANGES.", A),
    case("contradicted", "verdict-and-a-blank", AMBIGUOUS, "Verdict request changes", A),
    case("contradicted", "verdict-glued-by-an-underscore", AMBIGUOUS, "my_verdict request changes", A),
    case("contradicted", "bold-label", AMBIGUOUS, "**Urteil**: REQUEST_CHANGES", A),
    case("contradicted", "label-in-bold-with-the-colon", AMBIGUOUS, "**Decision:** `REQUEST_CHANGES`", A),
    case("contradicted", "label-of-ideographs", AMBIGUOUS, "\u5224\u5b9a\uff1aREQUEST_CHANGES", A),
    case("contradicted", "label-of-cyrillic", AMBIGUOUS, "\u0412\u044b\u0432\u043e\u0434: REQUEST_CHANGES", A),
    case("contradicted", "equals-sign", AMBIGUOUS, "verdict = REQUEST_CHANGES", A),
    case("contradicted", "label-and-equals-sign", AMBIGUOUS, "result=REQUEST_CHANGES", A),
    case("contradicted", "label-with-every-kind-of-sign", AMBIGUOUS, "Step-2 re/view_1: REQUEST_CHANGES", A),
    case("contradicted", "verdict-behind-every-kind-of-sign", AMBIGUOUS, "A-25 b/c_0 verdict request changes", A),
    case("contradicted", "dashes-before-the-colon", AMBIGUOUS, "Urteil --: REQUEST_CHANGES", A),
    case("contradicted", "label-of-one-letter", AMBIGUOUS, "v: REQUEST_CHANGES", A),
    case("contradicted", "label-of-two-letters", AMBIGUOUS, "v1: REQUEST_CHANGES", A),
    case("contradicted", "label-of-40", AMBIGUOUS, "a" * 40 + ": REQUEST_CHANGES", A),
    case("contradicted", "label-of-40-in-words", AMBIGUOUS, "abc " * 9 + "abcd: REQUEST_CHANGES", A),
    case("contradicted", "label-of-40-that-ends-in-verdict", AMBIGUOUS, "ab " * 11 + "verdict REQUEST_CHANGES", A),
    case("contradicted", "label-is-request-changes", AMBIGUOUS, "Request changes: REQUEST_CHANGES", A),
    case("contradicted", "in-a-fence", AMBIGUOUS, "```", OLD_BLOCK, "```", A, line=2),
    case("contradicted", "behind-a-line-separator", AMBIGUOUS, FINE + "\u2028" + OLD_BLOCK, A, line=1),
    case("contradicted", "before-a-form-feed", AMBIGUOUS, OLD_BLOCK + "\x0c" + FINE, A, line=1),
    case("contradicted", "zero-width-space-within", AMBIGUOUS, "VERDICT: REQUEST\u200b_CHANGES", A),
    case("contradicted", "non-breaking-hyphen", AMBIGUOUS, "Verdict: request\u2011changes", A),
    case("contradicted", "emoji-around", AMBIGUOUS, "\u274c REQUEST_CHANGES \u274c", A),
    case("contradicted", "first-of-two", AMBIGUOUS, "", "REQUEST_CHANGES", OLD_BLOCK, A, line=2),
    case("contradicted", "second-line-that-holds-the-word", AMBIGUOUS, "No REQUEST_CHANGES here", OLD_BLOCK, A, line=2),
    case("contradicted", "right-token-all-the-same", AMBIGUOUS, OLD_BLOCK, f"{A} {T}", token=T, line=1),
    case("contradicted", "wrong-token-too", AMBIGUOUS, OLD_BLOCK, A, token=T, line=1),
    case("contradicted", "crlf", AMBIGUOUS, FINE + "\r", OLD_BLOCK + "\r", A + "\r", line=2),
    case("contradicted", "label-of-40-beyond-ascii", AMBIGUOUS, "\u0436" * 40 + ": REQUEST_CHANGES", A, line=1),
    case("contradicted", "long-dash", AMBIGUOUS, OLD_BLOCK + "\u2010" * 70000, A, line=1),
    case("contradicted", "number-then-colon", AMBIGUOUS, "FINAL ANSWER 1.: REQUEST_CHANGES", A, line=1),
    case("contradicted", "number-blank-colon", AMBIGUOUS, "FINAL ANSWER 1. : REQUEST_CHANGES", A, line=1),
    case("contradicted", "number-sign-colon", AMBIGUOUS, "FINAL ANSWER 1.;: REQUEST_CHANGES", A, line=1),
    case("contradicted", "two-numbers-then-colon", AMBIGUOUS, "FINAL ANSWER 1. 2. : REQUEST_CHANGES", A, line=1),
    case("contradicted", "two-numbers-in-brackets", AMBIGUOUS, "FINAL ANSWER (1.) (2.): REQUEST_CHANGES", A, line=1),
    case("contradicted", "number-in-brackets", AMBIGUOUS, "FINAL ANSWER (1.;): REQUEST_CHANGES", A, line=1),
    case("contradicted", "number-in-the-label", AMBIGUOUS, "STEP 9 VERDICT - REQUEST_CHANGES", A, line=1),
    case("contradicted", "label-with-a-z", AMBIGUOUS, "QUIZ VERDICT - REQUEST_CHANGES", A, line=1),
    case("contradicted", "comma-behind-it", AMBIGUOUS, "Verdict: REQUEST_CHANGES, it leaks.", A, line=1),
    case("contradicted", "bracket-behind-it", AMBIGUOUS, "**Verdict:** REQUEST_CHANGES (2 blockers)", A, line=1),
    case("contradicted", "full-stop-behind-it", AMBIGUOUS,
         "## Verdict: Request changes.  The retry stores the file twice.", A, line=1),
    case("contradicted", "reject", AMBIGUOUS, "VERDICT: REJECT", A, line=1),
    case("contradicted", "reject-with-a-reason", AMBIGUOUS, "Verdict: REJECT, it leaks.", A, line=1),
    case("contradicted", "final-verdict-block", AMBIGUOUS, "Final verdict: BLOCK", A, line=1),
    case("contradicted", "dash-beside-a-blank", AMBIGUOUS,
         "**Verdict**: BLOCKED - the lock is never released", A, line=1),
    case("contradicted", "failed", AMBIGUOUS, "Verdict: FAILED", A, line=1),
    case("contradicted", "changes-requested-and-a-hyphen", AMBIGUOUS, "Verdict: CHANGES-REQUESTED", A, line=1),
    case("contradicted", "changes-required", AMBIGUOUS, "Verdict: Changes required", A, line=1),
    case("contradicted", "semicolon-behind-it", AMBIGUOUS, "Verdict: not approved; rework the retry path", A, line=1),
    case("contradicted", "needs-revision", AMBIGUOUS, "Verdict: **NEEDS REVISION**", A, line=1),
    case("contradicted", "decision", AMBIGUOUS, "Decision: rejected", A, line=1),
    case("contradicted", "final-decision", AMBIGUOUS, "Final decision: REQUEST_CHANGES", A, line=1),
    case("contradicted", "recommendation", AMBIGUOUS, "Recommendation: Request changes", A, line=1),
    case("contradicted", "below-a-heading-with-a-dash", AMBIGUOUS,
         "## Verdict", "", "**BLOCKED** - Test plan needs revision", A, line=3),
    case("contradicted", "below-a-heading-with-a-comma", AMBIGUOUS,
         "## Verdict", "", "Changes requested, P0=1", A, line=3),
    case("contradicted", "box-ticked-beside-revise", AMBIGUOUS,
         "[ ] APPROVED", "[x] REVISE - fix tier 1 first", A, line=2),
    case("contradicted", "full-stop-in-bold", AMBIGUOUS, "**Verdict: REJECT.** It leaks.", A, line=1),
    case("contradicted", "json", AMBIGUOUS, '{"n":2,"verdict":"REQUEST_CHANGES"}', A, line=1),
    case("contradicted", "table-row", AMBIGUOUS, "| Verdict | REJECT | drops rows |", A, line=1),
    case("contradicted", "because-behind-it", AMBIGUOUS, "Verdict: REJECT because it leaks", A, line=1),
    case("contradicted", "curly-apostrophe", AMBIGUOUS, "Verdict: don\u2019t merge", A, line=1),
    case("contradicted", "decision-and-a-bracket", AMBIGUOUS, "Decision: REQUEST_CHANGES (2 blockers)", A, line=1),
    case("contradicted", "escaped-by-a-backslash", AMBIGUOUS, "## REQUEST\\_CHANGES", A, line=1),
    case("contradicted", "said-with-the-other-word-behind", AMBIGUOUS,
         "Verdict: REQUEST_CHANGES. I would have said APPROVE last week.", A, line=1),
    case("contradicted", "label-with-another-word", AMBIGUOUS,
         "My final verdict: REQUEST_CHANGES, two blockers; both are open.", A, line=1),
    case("contradicted", "since-behind-it", AMBIGUOUS, "VERDICT: REQUEST_CHANGES since the lock is left", A, line=1),
    case("contradicted", "decision-block", AMBIGUOUS, "Decision: block", A, line=1),
    case("contradicted", "recommendation-reject", AMBIGUOUS, "Recommendation: reject", A, line=1),
    case("contradicted", "recommendation-fail", AMBIGUOUS, "Recommendation: fail", A, line=1),
    case("contradicted", "fail-and-a-bracket", AMBIGUOUS, "Verdict: FAIL (the test asserts it)", A, line=1),
    case("contradicted", "box-before-bold", AMBIGUOUS, "- [x] **Blocked:** no test", A, line=1),
    case("contradicted", "fail-and-a-dash", AMBIGUOUS, "Verdict: fail - closed too late.", A, line=1),
    case("contradicted", "no-quote-mark", AMBIGUOUS, "- Verdict: REJECT, said the first review.", A, line=1),
    case("contradicted", "heading-that-refuses", AMBIGUOUS, "### Verdict: changes required: two", A, line=1),
    case("contradicted", "sentence-about-the-verdict", AMBIGUOUS, "The verdict: REJECT, for an empty list.", A, line=1),
    case("contradicted", "table-row-with-a-label", AMBIGUOUS,
         "| Verdict | REQUEST_CHANGES | open in 3f2a |", A, line=1),
    case("contradicted", "diff-line", AMBIGUOUS, "+ VERDICT: REQUEST_CHANGES", A, line=1),
    case("contradicted", "enum", AMBIGUOUS, "The enum: REQUEST_CHANGES", A, line=1),
    case("contradicted", "box-in-a-list-of-two", AMBIGUOUS, "- [ ] APPROVE", "- [x] REQUEST_CHANGES", A, line=2),
    case("contradicted", "dated", AMBIGUOUS, "The previous verdict: REQUEST_CHANGES", A, line=1),
    case("contradicted", "dated-in-bold", AMBIGUOUS, "**Verdict of now:** REQUEST_CHANGES", A, line=1),
    case("contradicted", "dated-by-another-word", AMBIGUOUS, "Last verdict: REQUEST_CHANGES", A, line=1),
    case("contradicted", "dated-by-prior", AMBIGUOUS, "Priority verdict: REQUEST_CHANGES", A, line=1),
    case("contradicted", "dated-by-a-name-in-json", AMBIGUOUS, '{"previous": 2, "verdict": "REQUEST_CHANGES"}', A, line=1),
    case("contradicted", "token-behind-it", AMBIGUOUS, f"VERDICT: REQUEST_CHANGES {T}", f"{A} {T}", token=T, line=1),
    case("contradicted", "token-behind-the-bare-word", AMBIGUOUS, f"REQUEST_CHANGES [`{T}`]", A, line=1),
    case("contradicted", "token-behind-another-word", AMBIGUOUS, f"Verdict: REJECT {T}.", A, line=1),
    case("contradicted", "token-of-8", AMBIGUOUS, "Verdict: REJECT 01234567", A, line=1),
    case("contradicted", "token-of-64", AMBIGUOUS, "Verdict: REJECT " + T * 4, A, line=1),
    case("contradicted", "marker-broken-by-backticks", AMBIGUOUS, f"===`VERDICT`=== REQUEST_CHANGES {T}", A, line=1),
    case("contradicted", "bold-within-it", AMBIGUOUS, "Verdict: **NOT** APPROVED", A, line=1),
    case("contradicted", "bold-at-its-end", AMBIGUOUS, "Verdict: REQUEST **CHANGES**", A, line=1),
    case("contradicted", "code-within-it", AMBIGUOUS, "Verdict: do `not` merge.", A, line=1),
    case("contradicted", "number-in-a-circle-before-it", AMBIGUOUS, "\u24eb Verdict: REJECT, x", A, line=1),
    case("contradicted", "number-in-a-circle-behind-it", AMBIGUOUS, "REQUEST_CHANGES \u277f", A, line=1),
    case("contradicted", "two-numbers-before-a-box", AMBIGUOUS, "1. 2. [x] REJECT, x", A, line=1),
    case("contradicted", "decision-with-a-reason", AMBIGUOUS, "Decision: reject", A, line=1),
    case("contradicted", "empty-box-behind-a-label", AMBIGUOUS,
         "Verdict: [x] REQUEST_CHANGES, two blockers", A, line=1),
    case("contradicted", "empty-box-elsewhere", AMBIGUOUS, "Verdict: REQUEST_CHANGES [ ]", A, line=1),
    case("contradicted", "empty-box-before-a-number", AMBIGUOUS, "[x] 1. REJECT", A, line=1),
    case("contradicted", "empty-box-then-a-ticked-one", AMBIGUOUS, "[ ] [x] REQUEST_CHANGES", A, line=1),
    case("contradicted", "changes-requested-alone", AMBIGUOUS, "CHANGES_REQUESTED", A, line=1),
    case("contradicted", "changes-requested-behind-a-label", AMBIGUOUS, "Status: changes-requested", A, line=1),
    case("contradicted", "label-of-four-words", AMBIGUOUS, "Final code review verdict: REJECT", A, line=1),
    case("contradicted", "label-of-every-word", AMBIGUOUS, "Our overall reviewer decision = blocked", A, line=1),
    case("contradicted", "label-with-signs-between", AMBIGUOUS, "**Code**-PR/merge **Verdict** | NACK", A, line=1),
    case("contradicted", "heading-three-lines-above", AMBIGUOUS,
         "Final **Verdict**:", "", " \t", "1. [REJECT](x)", A, line=4),
    case("contradicted", "heading-with-a-number", AMBIGUOUS, "## 3. Verdict", "Declined: it leaks", A, line=2),
    case("contradicted", "heading-in-a-quote", AMBIGUOUS, "* Verdict *", "NO-GO", A, line=2),
    case("contradicted", "refusal-in-a-quote-below-a-heading", AMBIGUOUS, "Verdict", "(NO GO)", A, line=2),
    case("contradicted", "heading-that-is-a-decision", AMBIGUOUS, "Our verdict", "Rejected.", A, line=2),
    case("contradicted", "heading-before-a-form-feed", AMBIGUOUS, "Verdict\x0cREJECT", A, line=1),
    case("contradicted", "box-in-a-quote", AMBIGUOUS, "- 1. [x] Blocked: it leaks", A, line=1),
    case("contradicted", "json-of-two", AMBIGUOUS, '[{"verdict": "approve"}, {"verdict": "nack"}]', A, line=1),
    case("contradicted", "json-that-stutters", AMBIGUOUS, '{"verdict":"verdict":"reject"}', A, line=1),
    case("contradicted", "json-with-blanks", AMBIGUOUS, '"VERDICT" :\t"not approved", "n": 1', A, line=1),
    case("contradicted", "json-escaped", AMBIGUOUS, 'x = "{\\"verdict\\": \\"reject\\"}"', A, line=1),
    case("contradicted", "json-in-a-fence", AMBIGUOUS, "```json", '{"verdict": "rejected"}', "```", A, line=2),
    case("contradicted", "unless-behind-it", AMBIGUOUS, "Verdict: do not merge - unless the lock is held", A, line=1),
    case("contradicted", "until-behind-it", AMBIGUOUS, "Verdict: cannot be merged until the lock is held", A, line=1),
    case("contradicted", "not-ready-to-merge", AMBIGUOUS, "Verdict: not ready to merge: it leaks", A, line=1),
    case("contradicted", "not-ready-and-a-dash", AMBIGUOUS, "Verdict: not ready - for merge we need tests", A, line=1),
    case("contradicted", "emoji-behind-it", AMBIGUOUS, "Verdict: REJECT \u274c", A, line=1),
    case("contradicted", "cyrillic-verdict", AMBIGUOUS, "V\u0415RDICT: R\u0415J\u0415CT", A, line=1),
    case("contradicted", "full-width-colon", AMBIGUOUS, "Verdict\uff1aREJECT\uff0c it leaks", A, line=1),
    case("contradicted", "modifier-apostrophe", AMBIGUOUS, "Verdict: can\u02bct ship", A, line=1),
    case("contradicted", "left-quote-apostrophe", AMBIGUOUS, "Verdict: CAN\u2018T BE SHIPPED", A, line=1),
    case("contradicted", "label-glued", AMBIGUOUS, "Verdict:REJECT", A, line=1),
    case("contradicted", "label-without-a-sign-of-its-own", AMBIGUOUS, "Verdict: REJECT", A, line=1),
    # What is refused for nothing, known and kept.
    case("contradicted", "fail-before-pass-after", AMBIGUOUS, "Verdict: FAIL (before), PASS (after).", A, line=1),
    case("contradicted", "changes-requested-none", AMBIGUOUS, "Verdict: Changes requested: none", A, line=1),
    case("contradicted", "quoted-in-backticks", AMBIGUOUS, "`Verdict: REJECT`", A, line=1),
    case("contradicted", "label-is-the-article", AMBIGUOUS, "the = =VERDICT= = REQUEST_CHANGES, the == VER DICT ==", A),
    case("contradicted", "mention-behind-a-label", AMBIGUOUS, f"Final: {M} REJECT", A, line=1),
    case("contradicted", "below-the-approval", AMBIGUOUS, A, "Verdict: REJECT", line=2),
    case("contradicted", "above-a-quoted-approval", AMBIGUOUS, "Verdict: REJECT", f"> {A} {T}", token=T, line=1),
    case("contradicted", "off-form", AMBIGUOUS, "Verdict: REJECT", A + ", small remarks", line=1),
    case("contradicted", "off-form-and-a-mention", AMBIGUOUS, f"I write {M} REJECT", A + "D", line=1),
    case("contradicted", "off-form-and-an-old-style-block", AMBIGUOUS, M, "I meant VERDICT: REQUEST_CHANGES here", line=2),
    case("contradicted", "off-form-and-a-fenced-block", AMBIGUOUS, "```", OLD_BLOCK + " x", "```", M, line=2),
    case("contradicted", "marker-above-a-refusal", AMBIGUOUS, M, "REJECT: it leaks", line=2),
    case("contradicted", "approval-twice", AMBIGUOUS, A, A, "Verdict: REJECT", line=3),
    *(case("contradicted", f"behind-{name}", AMBIGUOUS, FINE, FINE + cut + OLD_BLOCK, A, line=2)
      for name, cut in CUTS.items()),
    *(case("contradicted", f"says-{slug(words)}", AMBIGUOUS, f"Verdict: {words}", A, line=1) for words in REFUSALS),
    *(case("contradicted", f"reject-{number}", AMBIGUOUS, f"Verdict: REJECT{end}", A, line=1) for number, end in enumerate((
        ", x", "; x", ": x", ". x", "! x", "? x", " (x", " [x", " | x", "- x", "-\tx", " -x", "\t-x", " because x", " until x",
        " unless x", " since x", "  because x"))),
    *(case("contradicted", f"list-number-{number}", AMBIGUOUS, f"Verdict: {number}. REJECT, x", A, line=1) for number in (0, 9)),
    case("contradicted", "tabs-between-the-words", AMBIGUOUS, "Verdict: do\tnot\tship", A, line=1),
    case("contradicted", "a-dash-behind-the-label", AMBIGUOUS, "Verdict - REJECT, x", A, line=1),
    case("contradicted", "a-long-dash-behind-the-label", AMBIGUOUS, "Verdict \u2013 REJECT, x", A, line=1),
    case("contradicted", "a-number-as-refusing-end", AMBIGUOUS, "Verdict: REJECT 1. x", A, line=1),
    case("contradicted", "half-a-box-behind-a-ticked-one", AMBIGUOUS, "Verdict: [x] ( ] REJECT, x", A, line=1),
    case("contradicted", "any-label-and-a-colon-at-the-end", AMBIGUOUS, "Last verdict - request changes:", A, line=1),
    case("contradicted", "below-a-label-and-cut", AMBIGUOUS, "Verdict", "REJECT\vbe it so", A, line=2),
    *(case("contradicted", f"json-{number}", AMBIGUOUS, text, A, line=1) for number, text in enumerate((
        'x "verdict" : "reject"', 'x "verdict"\t:\t"reject"', 'x "verdict"  :  "request changes"'))),

    case("off-form", "approved", AMBIGUOUS, M + " APPROVED"),
    case("off-form", "reproved", AMBIGUOUS, A + "2"),
    case("off-form", "after-fixes", AMBIGUOUS, A + " (after fixes)"),
    case("off-form", "blocker-behind-a-dash", AMBIGUOUS, A + " - blocker: data loss on retry"),
    case("off-form", "small-remarks", AMBIGUOUS, A + ", small remarks only"),
    case("off-form", "if-ci-is-green", AMBIGUOUS, f"**{A}** if CI is green"),
    case("off-form", "check-mark-behind-the-word", AMBIGUOUS, A + " \u2705"),
    case("off-form", "cut-before-the-word", AMBIGUOUS, FINE, M, line=2),
    case("off-form", "blanks-for-a-value", AMBIGUOUS, M + " \t", A, line=1),
    case("off-form", "comment-on-one-line", AMBIGUOUS, f"<!-- {A} -->"),
    case("off-form", "marker-twice", AMBIGUOUS, f"{M} {A}"),
    case("off-form", "word-then-placeholder", AMBIGUOUS, A + " <value>"),
    case("off-form", "non-ascii-letter-behind", AMBIGUOUS, A + "\u0416"),
    case("off-form", "emoji-behind", AMBIGUOUS, A + "\U0001f680"),
    case("off-form", "lone-surrogate-behind", AMBIGUOUS, A + "\ud800"),
    case("off-form", "replacement-character-behind", AMBIGUOUS, A + "\ufffd"),
    case("off-form", "token-of-7", AMBIGUOUS, A + " 7f3a9c2"),
    case("off-form", "token-of-65", AMBIGUOUS, A + " " + "a" * 65),
    case("off-form", "token-not-hex", AMBIGUOUS, A + " 7f3a9c2g"),
    case("off-form", "token-cut-to-7-as-asked", AMBIGUOUS, A + " 7f3a9c2", token=T),
    case("off-form", "token-glued", AMBIGUOUS, A + T, token=T),
    case("off-form", "token-glued-by-a-colon", AMBIGUOUS, f"{A}:{T}", token=T),
    case("off-form", "token-glued-by-decoration", AMBIGUOUS, f"{A}*_`.{T}", token=T),
    case("off-form", "token-twice", AMBIGUOUS, f"{A} {T} {T}", token=T),
    case("off-form", "token-then-prose", AMBIGUOUS, f"{A} {T} I think", token=T),
    case("off-form", "token-alone", AMBIGUOUS, f"{M} {T}", token=T),
    case("off-form", "token-in-brackets", AMBIGUOUS, f"{A} ({T})", token=T),
    case("off-form", "with-nits-and-the-token", AMBIGUOUS, f"{M} APPROVE_WITH_NITS {T}", token=T, line=1),
    case("off-form", "in-quotation-marks", AMBIGUOUS, M + ' "APPROVE"'),
    case("off-form", "quoted", AMBIGUOUS, "> " + A + "D", A, line=1),
    case("off-form", "token-behind-lone-decoration", AMBIGUOUS, f"{A} {T} **", token=T),
    case("off-form", "first-of-two", AMBIGUOUS, "", M, A + "D", line=2),
    case("off-form", "backslash-at-the-end", AMBIGUOUS, A + "\\"),
    case("off-form", "beside-a-mention-that-approves", AMBIGUOUS, f"I write {A}", A + "D", line=2),
    case("off-form", "beside-an-old-style-approval", AMBIGUOUS, OLD_APPROVE, A + "D", line=2),
    case("off-form", "blocker-is-no-refusal", AMBIGUOUS, A + " (blockers: 0)"),
    *(case("off-form", f"approve-and-{ord(c):02x}", AMBIGUOUS, A + c, line=1) for c in OTHER_SIGNS),
    *(case("off-form", f"{ord(c):02x}-and-approve", AMBIGUOUS, f"{M} {c}APPROVE", line=1) for c in OTHER_SIGNS),
    *(case("off-form", f"approve-{ord(c):02x}-and-token", AMBIGUOUS, f"{A} {c}{T}", token=T, line=1) for c in OTHER_SIGNS),
    case("off-form", "another-word-that-holds-a-refusal", AMBIGUOUS, A + " UNBLOCKED", line=1),
    case("off-form", "no-hex-digit", AMBIGUOUS, A + " 7f3a9c2j", line=1),

    case("repeated", "mention-in-bold", AMBIGUOUS, f"I say {M} **NOT** APPROVED", A, line=2),
    case("repeated", "file-under-review", AMBIGUOUS, "The file under review says: " + A, A, line=2),
    case("repeated", "search-result", AMBIGUOUS, "tests/fixture.md:3:" + A, FINE, A, line=3),
    case("repeated", "search-result-of-a-block", AMBIGUOUS, "src/check.sh:42:" + R, FINE, A, line=3),
    case("repeated", "diff-line-that-echoes", AMBIGUOUS, f'+echo "{R}"', FINE, A, line=3),
    case("repeated", "my-answer-is", AMBIGUOUS, f"My answer is {R}, see below", A, line=2),
    case("repeated", "mention-after-it", AMBIGUOUS, A, "I wrote " + A, line=2),
    case("repeated", "mention-on-its-line", AMBIGUOUS, f"{A} {A}", line=1),
    case("repeated", "mention-with-decoration", AMBIGUOUS, f'It says {M}: "**APPROVE**"', A, line=2),
    case("repeated", "mention-between-underscores", AMBIGUOUS, f"It says {M} __APPROVE__", A, line=2),
    case("repeated", "mention-then-prose", AMBIGUOUS, f"It says {A} if the lock is held", A),
    case("repeated", "mention-of-request-changes-spelt-apart", AMBIGUOUS, f"It says {M} request - changes", A),
    case("repeated", "mention-of-requestchanges", AMBIGUOUS, f"It says {M} RequestChanges", A),
    case("repeated", "mention-across-a-non-ascii-sign", AMBIGUOUS, f"It says {M} \u2192 APPROVE", A),
    case("repeated", "mention-behind-a-non-ascii-letter", AMBIGUOUS, f"\u0416 {A}", A),
    case("repeated", "number-with-a-colon", AMBIGUOUS, "1: " + A, A),
    case("repeated", "two-numbers", AMBIGUOUS, "1. 2. " + A, A),
    case("repeated", "number-behind-a-letter", AMBIGUOUS, "a1. " + A, A),
    case("repeated", "number-without-a-stop", AMBIGUOUS, "3 " + A, A),
    case("repeated", "three-times", AMBIGUOUS, A, A, A, line=2),
    case("repeated", "quoted-then-bare", AMBIGUOUS, "> " + A, A, line=2),
    case("repeated", "numbered-then-bare", AMBIGUOUS, "2) " + A, A, line=2),
    case("repeated", "fenced-then-bare", AMBIGUOUS, "```", A, "```", A, line=4),
    case("repeated", "same-token-twice", AMBIGUOUS, f"{A} {T}", f"{A} {T}", token=T, line=2),
    case("repeated", "glued-by-a-line-separator", AMBIGUOUS, f"{A}\u2028{A}", line=1),
    case("repeated", "without-token-then-with", AMBIGUOUS, A, f"{A} {T}", token=T, line=2),
    case("repeated", "marker-before-another-word", AMBIGUOUS, f"The {M} APPROVED line, and {M} APPROVE_WITH_NITS", A),
    case("repeated", "mention-of-not-approve", AMBIGUOUS, f"I would write {M} not APPROVE", A, line=2),
    case("repeated", "mention-of-reject", AMBIGUOUS, f"My answer is {M} REJECT", A, line=2),
    case("repeated", "mention-of-a-longer-word", AMBIGUOUS, f"It says {M} APPROVED_BY", A, line=2),
    case("repeated", "mention-of-a-refusal-then-prose", AMBIGUOUS, f"It says {M} (blocked) for now", A, line=2),

    case("not-last", "second-thoughts", AMBIGUOUS, FINE, A, DOUBT, line=2),
    case("not-last", "closing-tag", AMBIGUOUS, A, "</review>", line=1),
    case("not-last", "footer", AMBIGUOUS, A, "tokens used: 1234", line=1),
    case("not-last", "footer-of-the-posting-tool", AMBIGUOUS, A, "", "Posted by an automated session", line=1),
    case("not-last", "footer-of-the-provider", AMBIGUOUS, A, "--- end of provider output ---"),
    case("not-last", "remark-about-the-marker", AMBIGUOUS, A, "I ended with the marker line as asked."),
    case("not-last", "unfinished-findings", AMBIGUOUS, A, "FINDINGS:", "major: the lock is nev", line=1),
    case("not-last", "quoted-rule-after-it", AMBIGUOUS, A, M + " <value>", line=1),
    case("not-last", "quoted-and-not-last", AMBIGUOUS, "> " + A, DOUBT, line=1),
    case("not-last", "wrong-token-and-not-last", AMBIGUOUS, A, DOUBT, token=T, line=1),
    case("not-last", "erase-line-sequence", AMBIGUOUS, A, "\x1b[K"),
    case("not-last", "unfinished-colour-code", AMBIGUOUS, A, "\x1b[0"),
    case("not-last", "private-colour-code", AMBIGUOUS, A, "\x1b[?0m"),
    case("not-last", "colour-code-without-its-bracket", AMBIGUOUS, A, "\x1bm"),
    case("not-last", "colour-code-with-two-brackets", AMBIGUOUS, A, "\x1b[[0m"),
    case("not-last", "colour-code-within-another", AMBIGUOUS, A, "\x1b[\x1b[0m0m"),
    case("not-last", "eight-bit-colour-code", AMBIGUOUS, A, "\x9b0m"),
    case("not-last", "crlf", AMBIGUOUS, A + "\r", DOUBT + "\r", line=1),
    case("not-last", "one-digit", AMBIGUOUS, A, "", "- 1", line=1),
    case("not-last", "one-letter-beyond-ascii", AMBIGUOUS, A, "\u5224", "---", line=1),

    case("signs-after", "number-in-a-circle", AMBIGUOUS, A, "\u24eb", line=1),
    case("signs-after", "closing-fence", AMBIGUOUS, "```", A, "```", line=2),
    case("signs-after", "closing-comment", AMBIGUOUS, "<!--", A, "-->", line=2),
    case("signs-after", "full-stop", AMBIGUOUS, A, "."),
    case("signs-after", "bare-decoration", AMBIGUOUS, A, "**"),
    case("signs-after", "no-break-space", AMBIGUOUS, A, "\u00a0"),
    case("signs-after", "zero-width-space", AMBIGUOUS, A, "\u200b"),
    case("signs-after", "second-byte-order-mark", AMBIGUOUS, A, "\ufeff"),
    case("signs-after", "form-feed", AMBIGUOUS, A, "\x0c"),
    case("signs-after", "line-separator", AMBIGUOUS, A, "\u2028"),
    case("signs-after", "nul", AMBIGUOUS, A, "\x00"),
    case("signs-after", "two-carriage-returns", AMBIGUOUS, A, "\r\r"),
    case("signs-after", "fence-around-the-token", AMBIGUOUS, "```", f"{A} {T}", "```", token=T, line=2),
    case("signs-after", "rule", AMBIGUOUS, A, "", "---", line=1),
    case("signs-after", "emoji", AMBIGUOUS, f"{A} {T}", "\U0001f680", token=T, line=1),
    case("signs-after", "quoted", AMBIGUOUS, "> " + A, ">", line=1),
    case("signs-after", "wrong-token", AMBIGUOUS, A, "***", token=T, line=1),

    case("not-bare", "quoted", AMBIGUOUS, FINE, "> " + A, line=2),
    case("not-bare", "quoted-without-a-blank", AMBIGUOUS, ">" + A),
    case("not-bare", "diff-minus", AMBIGUOUS, "-" + A),
    case("not-bare", "diff-plus", AMBIGUOUS, "+" + A),
    case("not-bare", "four-spaces", AMBIGUOUS, "    " + A),
    case("not-bare", "tab", AMBIGUOUS, "\t" + A),
    case("not-bare", "space-and-tab", AMBIGUOUS, " \t" + A),
    case("not-bare", "list-dash", AMBIGUOUS, "- " + A),
    case("not-bare", "list-star", AMBIGUOUS, "* " + A),
    case("not-bare", "list-bullet", AMBIGUOUS, "\u2022 " + A),
    case("not-bare", "list-number", AMBIGUOUS, "1. " + A),
    case("not-bare", "list-number-with-a-bracket", AMBIGUOUS, "1) " + A),
    case("not-bare", "table-cell-before", AMBIGUOUS, "| " + A),
    case("not-bare", "double-quote-before", AMBIGUOUS, '"' + A),
    case("not-bare", "comment-before", AMBIGUOUS, "<!-- " + A),
    case("not-bare", "seven-number-signs", AMBIGUOUS, "####### " + A),
    case("not-bare", "number-sign-glued", AMBIGUOUS, "#" + A),
    case("not-bare", "number-sign-and-tab", AMBIGUOUS, "#\t" + A),
    case("not-bare", "heading-behind-four-spaces", AMBIGUOUS, "    # " + A),
    case("not-bare", "heading-in-bold", AMBIGUOUS, "**# " + A),
    case("not-bare", "blank-behind-the-bold", AMBIGUOUS, "** " + A),
    case("not-bare", "colon-before", AMBIGUOUS, ":" + A),
    case("not-bare", "no-break-space-for-the-blank", AMBIGUOUS, "===VERDICT===\u00a0APPROVE"),
    case("not-bare", "no-break-space-in-the-marker", AMBIGUOUS, "===\u00a0VERDICT=== APPROVE"),
    case("not-bare", "full-width-signs", AMBIGUOUS, "\uff1d\uff1dVERDICT\uff1d\uff1d APPROVE"),
    case("not-bare", "full-width-colon", AMBIGUOUS, "===VERDICT===\uff1a APPROVE"),
    case("not-bare", "full-width-letters", AMBIGUOUS, M + " \uff21PPROVE"),
    case("not-bare", "zero-width-space-in-the-marker", AMBIGUOUS, "===VER\u200bDICT=== APPROVE"),
    case("not-bare", "zero-width-space-at-the-end", AMBIGUOUS, A + "\u200b"),
    case("not-bare", "soft-hyphen-in-the-word", AMBIGUOUS, M + " APP\u00adROVE"),
    case("not-bare", "right-to-left-override", AMBIGUOUS, "\u202e" + A),
    case("not-bare", "combining-mark", AMBIGUOUS, M + " APPROVE\u0301"),
    case("not-bare", "dotless-i", AMBIGUOUS, "===verd\u0131ct=== approve"),
    case("not-bare", "dotted-capital-i", AMBIGUOUS, "===VERD\u0130CT=== APPROVE"),
    case("not-bare", "cyrillic-o", AMBIGUOUS, M + " APPR\u041eVE"),
    case("not-bare", "lower-case-cyrillic-er", AMBIGUOUS, M + " a\u0440\u0440rove"),
    case("not-bare", "nul-between-the-letters", AMBIGUOUS, "\x00".join(A)),
    case("not-bare", "nul-at-the-end", AMBIGUOUS, A + "\x00"),
    case("not-bare", "escape-alone", AMBIGUOUS, "\x1b" + A),
    case("not-bare", "escape-at-the-end", AMBIGUOUS, A + "\x1b"),
    case("not-bare", "byte-order-mark-twice", AMBIGUOUS, "\ufeff\ufeff" + A),
    case("not-bare", "byte-order-mark-on-the-last-line", AMBIGUOUS, FINE, "\ufeff" + A, line=2),
    case("not-bare", "progress-bar", AMBIGUOUS, "reviewing\r" + A, line=1),
    case("not-bare", "carriage-return-then-blanks", AMBIGUOUS, A + "\r "),
    case("not-bare", "two-carriage-returns", AMBIGUOUS, A + "\r\r"),
    case("not-bare", "then-the-quoted-rule", AMBIGUOUS, f"{A} {M} <value>"),
    case("not-bare", "then-a-marker-before-another-word", AMBIGUOUS, f"{A} {M} LGTM"),
    case("not-bare", "quoted-with-the-token", AMBIGUOUS, f"> {A} {T}", token=T),
    case("not-bare", "quoted-without-the-token", AMBIGUOUS, "> " + A, token=T),
    case("not-bare", "wide-blank-before-the-token", AMBIGUOUS, f"{A}\u2003{T}", token=T),
    case("not-bare", "full-width-token", AMBIGUOUS, A + " \uff17f3a9c2b4e5d6071", token=T),
    case("not-bare", "right-to-left-mark-before-the-word", AMBIGUOUS, M + " \u200fAPPROVE"),
    case("not-bare", "quoted-below-a-long-line", AMBIGUOUS, "\u0444" * 70000, "> " + A, line=2),
    case("not-bare", "escaped-marker", AMBIGUOUS, "\\===VERDICT=== APPROVE", line=1),
    case("not-bare", "escaped-full-stop", AMBIGUOUS, A + "\\.", line=1),
    *(case("not-bare", f"behind-{name}", AMBIGUOUS, FINE, FINE + cut + A, line=2) for name, cut in CUTS.items()),
    *(case("not-bare", f"before-{name}", AMBIGUOUS, FINE, A + cut + FINE, line=2) for name, cut in CUTS.items()),
    *(case("not-bare", f"{ord(twin):04x}-for-{letter.lower()}", AMBIGUOUS, A.replace(letter, twin), line=1)
      for letter, twins in LETTERS.items() if letter in A for twin in twins),
    *(case("not-bare", f"{ord(c):02x}-before", AMBIGUOUS, c + A, line=1) for c in OTHER_SIGNS if c != "="),
    case("not-bare", "two-headings", AMBIGUOUS, "# # " + A, line=1),

    case("wrong-token", "missing", AMBIGUOUS, FINE, A, token=T, line=2),
    case("wrong-token", "of-another-run", AMBIGUOUS, FINE, f"{A} {OTHER}", token=T, line=2),
    case("wrong-token", "not-asked-for", AMBIGUOUS, FINE, f"{A} {T}", line=2),
    case("wrong-token", "cut", AMBIGUOUS, f"{A} {T[:-1]}", token=T),
    case("wrong-token", "cut-at-the-front", AMBIGUOUS, f"{A} {T[1:]}", token=T),
    case("wrong-token", "longer", AMBIGUOUS, f"{A} {T}0", token=T),
    case("wrong-token", "one-digit-off", AMBIGUOUS, f"{A} {T[:-1]}2", token=T),
    case("wrong-token", "only-in-the-prose", AMBIGUOUS, "The token is " + T, A, token=T, line=2),
    case("wrong-token", "a-commit-after-the-word", AMBIGUOUS, A + " 6e1d97d0", line=1),
    case("wrong-token", "in-an-open-fence", AMBIGUOUS, "```", f"{A} {OTHER}", token=T, line=2),
    case("wrong-token", "not-asked-and-in-an-open-fence", AMBIGUOUS, "```", f"{A} {T}", line=2),

    case("open-block", "fence", AMBIGUOUS, FINE, "```", A, line=2),
    case("open-block", "fence-of-a-diff", AMBIGUOUS, FINE, "```diff", "+x", A, line=2),
    case("open-block", "tildes", AMBIGUOUS, "~~~", A, line=1),
    case("open-block", "tildes-with-a-backtick-behind", AMBIGUOUS, "~~~ a`b", A, line=1),
    case("open-block", "tildes-with-a-tilde-behind", AMBIGUOUS, "~~~ a~~~b", A, line=1),
    case("open-block", "fence-behind-three-spaces", AMBIGUOUS, "   ```", A, line=1),
    case("open-block", "shorter-closer", AMBIGUOUS, "````", "```", A, line=1),
    case("open-block", "shorter-closer-of-tildes", AMBIGUOUS, "~~~~", "~~~", A, line=1),
    case("open-block", "closer-of-the-other-kind", AMBIGUOUS, "```", "~~~", A, line=1),
    case("open-block", "backticks-for-tildes", AMBIGUOUS, "~~~", "```", A, line=1),
    case("open-block", "closer-with-an-info-string", AMBIGUOUS, "```", "```text", A, line=1),
    case("open-block", "closer-with-a-hidden-character", AMBIGUOUS, "```", "```\u200b", A, line=1),
    case("open-block", "closer-with-a-form-feed", AMBIGUOUS, "```", "```\x0c", A, line=1),
    case("open-block", "closer-with-tildes-behind", AMBIGUOUS, "~~~", "~~~ ~", A, line=1),
    case("open-block", "closer-behind-four-spaces", AMBIGUOUS, "```", "    ```", A, line=1),
    case("open-block", "closer-behind-a-tab", AMBIGUOUS, "```", "\t```", A, line=1),
    case("open-block", "closer-of-two", AMBIGUOUS, "```", "``", A, line=1),
    case("open-block", "closer-in-a-quote", AMBIGUOUS, "```", "> ```", A, line=1),
    case("open-block", "third-fence", AMBIGUOUS, "```", "x", "```", "", "```", A, line=5),
    case("open-block", "fence-quoted-in-a-fence", AMBIGUOUS, "```text", "```", "```", A, line=3),
    case("open-block", "crlf", AMBIGUOUS, FINE + "\r", "```\r", A + "\r", line=2),
    case("open-block", "first-line-behind-a-byte-order-mark", AMBIGUOUS, "\ufeff```", A, line=1),
    case("open-block", "fence-coloured", AMBIGUOUS, "`\x1b[1m``", A, line=1),
    case("open-block", "its-own-line", AMBIGUOUS, FINE, "```" + A, line=2),
    case("open-block", "its-own-line-of-four", AMBIGUOUS, "````" + A, line=1),
    case("open-block", "comment", AMBIGUOUS, FINE, "<!--", A, line=2),
    case("open-block", "comment-with-words", AMBIGUOUS, "<!-- to do", "> x", A, line=1),
    case("open-block", "comment-behind-three-spaces", AMBIGUOUS, "   <!--", A, line=1),
    case("open-block", "comment-closed-before-it-opens", AMBIGUOUS, "--> <!--", "<!-- x", A, line=2),
    case("open-block", "comment-of-five-characters", AMBIGUOUS, "<!-->", A, line=1),
    case("open-block", "comment-of-five-characters-behind-spaces", AMBIGUOUS, "   <!-->", A, line=1),
    case("open-block", "comment-after-a-closed-one", AMBIGUOUS, "<!-- x -->", "<!--", A, line=2),
    case("open-block", "comment-opened-in-a-closed-fence", AMBIGUOUS, "```", "<!--", "```", A, line=2),
    case("open-block", "comment-after-the-end-of-another", AMBIGUOUS, "<!--", "-->", "<!--", A, line=3),
    case("open-block", "comment-in-a-line-behind-one-that-begins-one", AMBIGUOUS, "<!--", "x <!-- y", A, line=1),
    case("open-block", "comment-with-a-short-end", AMBIGUOUS, "<!-- x ->", A, line=1),
    case("open-block", "comment-twice", AMBIGUOUS, "<!--", "<!--", A, line=2),
    case("open-block", "third-fence-with-an-info-string", AMBIGUOUS, "```", "```", "```text", A, line=3),
    case("open-block", "comment-then-fence", AMBIGUOUS, "<!--", "```", A, line=1),
    case("open-block", "fence-then-comment", AMBIGUOUS, "```", "<!--", A, line=1),
    case("open-block", "comment-closed-fence-open", AMBIGUOUS, "```", "<!-- x -->", A, line=1),
    case("open-block", "comment-of-three-dashes", AMBIGUOUS, "<!--->", A, line=1),

    case("approved", "box-left-empty", APPROVE, "[x] APPROVE", "[ ] REQUEST_CHANGES", A, line=3),
    case("approved", "alone", APPROVE, A, line=1),
    case("approved", "end-of-line", APPROVE, FINE, A, "", line=2),
    case("approved", "blank-lines-after", APPROVE, FINE, A, "", "  \t ", "", line=2),
    case("approved", "crlf", APPROVE, FINE + "\r", "\r", A + "\r", "", line=3),
    case("approved", "carriage-return-at-the-end", APPROVE, FINE, A + "\r", line=2),
    case("approved", "carriage-return-on-a-last-line", APPROVE, FINE, A, "\r", line=2),
    case("approved", "byte-order-mark", APPROVE, "\ufeff" + A, line=1),
    case("approved", "byte-order-mark-behind-a-colour-code", APPROVE, "\x1b[0m\ufeff" + A),
    case("approved", "coloured", APPROVE, FINE, f"\x1b[32m{A}\x1b[0m"),
    case("approved", "colour-reset-on-a-line-of-its-own", APPROVE, f"\x1b[32m{A}", "\x1b[0m", line=1),
    case("approved", "colour-codes-of-every-form", APPROVE, f"\x1b[m\x1b[38;2;1;2;3m\x1b[4:3m\x1b[0123456789m{A}"),
    case("approved", "coloured-within", APPROVE, "===VERD\x1b[1mICT=== APP\x1b[0mROVE"),
    case("approved", "progress-bar-above", APPROVE, "50 percent\r100 percent", A, line=2),
    case("approved", "form-feed-above", APPROVE, "page 1\x0cpage 2\x85page 3", A, line=2),
    case("approved", "two-signs", APPROVE, "==VERDICT== APPROVE"),
    case("approved", "many-signs", APPROVE, "=" * 50 + "VERDICT" + "=" * 40 + " APPROVE"),
    case("approved", "signs-of-unequal-number", APPROVE, "==VERDICT=== APPROVE"),
    case("approved", "tabs-within", APPROVE, "===\tVERDICT \t===\tAPPROVE\t"),
    case("approved", "mixed-case", APPROVE, "===Verdict=== Approve"),
    case("approved", "three-spaces", APPROVE, FINE, "   " + A),
    case("approved", "heading", APPROVE, "# " + A),
    case("approved", "heading-of-six", APPROVE, "   ######   " + A),
    case("approved", "heading-in-bold", APPROVE, f"## **{A}**"),
    case("approved", "backticks", APPROVE, f"`{A}`"),
    case("approved", "two-backticks", APPROVE, f"``{A}``"),
    case("approved", "three-backticks-on-one-line", APPROVE, f"```{A}```"),
    case("approved", "underscores", APPROVE, f"__{A}__"),
    case("approved", "every-decoration", APPROVE, f"*_`{M}*_`:. \tAPPROVE*_`:. \t"),
    case("approved", "bold-value", APPROVE, M + " **APPROVE**."),
    case("approved", "colon-and-full-stop", APPROVE, M + ": APPROVE."),
    case("approved", "token", APPROVE, FINE, "", f"{A} {T}", token=T, line=3),
    case("approved", "token-in-capitals", APPROVE, f"{A} {T.upper()}", token=T),
    case("approved", "token-asked-in-capitals", APPROVE, f"{A} {T}", token=T.upper()),
    case("approved", "token-of-8", APPROVE, A + " 0123abCD", token="0123abCD"),
    case("approved", "token-of-64", APPROVE, f"{A} {T * 4}", token=T * 4),
    case("approved", "token-of-decimals", APPROVE, A + " 12345678", token="12345678"),
    case("approved", "token-with-decoration", APPROVE, f"**{A}**: \t`{T}`. ", token=T),
    case("approved", "token-behind-a-blank-and-a-colon", APPROVE, f"{A} :{T}", token=T),
    case("approved", "token-behind-every-decoration-and-a-tab", APPROVE, f"{A}*_`:.\t{T}", token=T),
    case("approved", "token-in-an-open-fence", APPROVE, "```", f"{A} {T}", token=T, line=2),
    case("approved", "token-in-an-open-comment", APPROVE, "<!--", f"{A} {T}", token=T),
    case("approved", "remark-before", APPROVE, "I end with the ===VERDICT=== line as asked.", A, line=2),
    case("approved", "quoted-rule-before", APPROVE, "> " + M + " <value>", "`===verdict=== **<Value>** x`", A, line=3),
    case("approved", "quoted-rule-with-a-token-before", APPROVE, f"{M} <value> {T}", f"{A} {T}", token=T),
    case("approved", "marker-before-a-later-word", APPROVE, f"The {M} line may APPROVE", A),
    case("approved", "one-sign-marker-before", APPROVE, "=VERDICT== REQUEST_CHANGES or ==VERDICT= APPROVE", A),
    case("approved", "signs-around-some-of-the-letters", APPROVE, "=== TIC VED === is no VERDICT", A),
    case("approved", "spaced-signs-before", APPROVE, "an = =VERDICT= = REQUEST_CHANGES, the == VER DICT ==", A),
    case("approved", "weak-approve-before", APPROVE, "VERDICT: APPROVE", A, line=2),
    case("approved", "old-style-block-in-a-sentence", APPROVE, "I meant VERDICT: REQUEST_CHANGES, until the fix.", A),
    case("approved", "old-style-block-then-words", APPROVE, "VERDICT: REQUEST_CHANGES was last week's answer", A),
    case("approved", "request-changes-in-a-sentence", APPROVE, "Nothing here makes me REQUEST_CHANGES.", A),
    case("approved", "label-without-a-colon", APPROVE, "Status request changes", A),
    case("approved", "label-of-41", APPROVE, "a" * 41 + ": REQUEST_CHANGES", A),
    case("approved", "label-of-41-in-words", APPROVE, "abc " * 10 + "a: REQUEST_CHANGES", A),
    case("approved", "label-of-41-that-ends-in-verdict", APPROVE, "ab " * 10 + "abc verdict REQUEST_CHANGES", A),
    case("approved", "label-with-a-comma", APPROVE, "If it leaks, then: REQUEST_CHANGES", A),
    case("approved", "label-with-brackets-in-a-word", APPROVE, "See a[1]b: REQUEST_CHANGES", A),
    case("approved", "label-with-brackets-that-ends-in-verdict", APPROVE, "a[1]b verdict REQUEST_CHANGES", A),
    case("approved", "label-with-a-colon-in-a-word", APPROVE, "a:b REQUEST_CHANGES", A),
    case("approved", "label-that-ends-in-a-verdict-like-word", APPROVE, "Verdicts request changes", A),
    case("approved", "label-that-ends-in-another-word", APPROVE, "Myverdict request changes", A),
    case("approved", "box-with-another-letter", APPROVE, "[y] REQUEST_CHANGES", A),
    case("approved", "box-without-brackets", APPROVE, "x REQUEST_CHANGES", A),
    case("approved", "box-half-open", APPROVE, "[x REQUEST_CHANGES", A),
    case("approved", "number-without-a-stop", APPROVE, "3 REQUEST_CHANGES", A),
    case("approved", "number-behind-a-letter", APPROVE, "a3. REQUEST_CHANGES", A),
    case("approved", "letter-behind-request-changes", APPROVE, "REQUEST_CHANGESX", "REQUEST_CHANGES x", A),
    case("approved", "letter-before-request-changes", APPROVE, "XREQUEST_CHANGES", A),
    case("approved", "request-and-changes-apart", APPROVE, "Verdict: REQUEST: CHANGES", "REQUEST.CHANGES", A),
    case("approved", "fence-closed", APPROVE, "```", "x", "```", A, line=4),
    case("approved", "fence-closed-by-a-longer-one", APPROVE, "```python", "x", "`````", A),
    case("approved", "fence-closed-behind-three-spaces", APPROVE, "```", "   ```", A),
    case("approved", "fence-closed-with-blanks-behind", APPROVE, "~~~", "~~~ \t ", A),
    case("approved", "fence-of-two-backticks", APPROVE, "``", A),
    case("approved", "fence-of-two-tildes", APPROVE, "~~", A),
    case("approved", "fence-behind-four-spaces", APPROVE, "    ```", A),
    case("approved", "fence-behind-a-tab", APPROVE, "\t```", A),
    case("approved", "fence-behind-prose", APPROVE, "see ```", A),
    case("approved", "fence-in-a-quote", APPROVE, "> ```", A),
    case("approved", "fence-with-a-backtick-in-its-info", APPROVE, "``` a`b", A),
    case("approved", "fence-quoted-in-a-longer-one", APPROVE, "````", "```", "````", A),
    case("approved", "fence-of-tildes-around-backticks", APPROVE, "~~~", "```", "~~~", A),
    case("approved", "fence-behind-a-form-feed", APPROVE, "x\x0c```", A),
    case("approved", "comment-closed", APPROVE, "<!-- x -->", A),
    case("approved", "comment-closed-then-another-behind-it", APPROVE, "<!-- x --> <!-- y", A),
    case("approved", "comment-closed-twice", APPROVE, "<!--", "x --> y -->", "z", A),
    case("approved", "fence-with-the-other-kind-in-its-info", APPROVE, "``` ~~~", "~~~ ```", "```", A),
    case("approved", "comment-closed-on-a-later-line", APPROVE, "<!--", "> quoted", "x -->", A),
    case("approved", "comment-open-before-a-closed-one", APPROVE, "<!--", "<!-- x -->", A),
    case("approved", "comment-of-seven-characters", APPROVE, "<!---->", A),
    case("approved", "comment-behind-four-spaces", APPROVE, "    <!--", A),
    case("approved", "comment-behind-prose", APPROVE, "It opens with <!-- there.", A),
    case("approved", "comment-half-written", APPROVE, "<!-", "<! --", "<-- x", A),
    case("approved", "a-discussion-of-verdicts", APPROVE,
         "# Review\r", "\r", "The parser of `VERDICT: APPROVE` is **fixed** \U0001f680\r", "\r",
         "| input | reads |\r", "| --- | --- |\r", "| a block | `VERDICT: REQUEST_CHANGES` |\r", "\r",
         "```python\r", 'assert find("VERDICT: APPROVE") is None\r', "```\r", "~~~ diff\r", "-old\r", "+new\r", "~~~\r",
         "\r", "Gr\u00f6\u00dfe und Umlaute: gut.\r", "\r", A + "\r", "", line=19),
    case("approved", "bracket-closed-not-opened", APPROVE, "X] REQUEST_CHANGES", A),
    case("approved", "bracket-opened-not-closed", APPROVE, "[X REQUEST_CHANGES", A),
    case("approved", "box-with-a-letter-beyond-ascii", APPROVE, "[\u0436] REQUEST_CHANGES", A),
    case("approved", "number-after-a-letter", APPROVE, "A1. REQUEST_CHANGES", A),
    case("approved", "number-behind-the-word", APPROVE, "REQUEST_CHANGES1.", A),
    case("approved", "colon-behind-the-word", APPROVE, "FINAL ANSWER REQUEST_CHANGES:", A),
    case("approved", "number-in-place-of-the-colon", APPROVE, "FINAL ANSWER 5. REQUEST_CHANGES", A),
    case("approved", "number-and-colon-behind-the-word", APPROVE, "FINAL ANSWER 1. REQUEST_CHANGES:", A),
    case("approved", "label-of-41-beyond-ascii", APPROVE, "\u0436" * 41 + ": REQUEST_CHANGES", A),
    case("approved", "digit-before-a-number", APPROVE, "5 6. REQUEST_CHANGES", "5;6. REQUEST_CHANGES", A),
    case("approved", "box-within-a-label", APPROVE, "FINAL [x] ANSWER: REQUEST_CHANGES", A),
    case("approved", "number-within-a-label", APPROVE, "FINAL 1. ANSWER: REQUEST_CHANGES", A),
    case("approved", "label-that-ends-in-verdict", APPROVE, "OVERDICT - REQUEST_CHANGES", "9VERDICT - REQUEST_CHANGES", A),
    case("approved", "not-comma-behind-it", APPROVE, "Verdict: REQUEST_CHANGES it was, it leaked.", A),
    case("approved", "not-bracket-behind-it", APPROVE, "**Verdict:** REQUEST_CHANGES would need 2 blockers", A),
    case("approved", "not-full-stop-behind-it", APPROVE,
         "## Verdict: Request changes only where a retry stores the file twice.", A),
    case("approved", "not-reject", APPROVE, "Verdict: REJECT would be too harsh.", A),
    case("approved", "not-reject-with-a-reason", APPROVE, "Verdict: REJECT it, were it to leak.", A),
    case("approved", "not-final-verdict-block", APPROVE, "Final verdict: BLOCK no longer", A),
    case("approved", "not-dash-beside-a-blank", APPROVE, "**Verdict**: BLOCKED-list entries are read", A),
    case("approved", "not-failed", APPROVE, "Verdict: FAILED runs are counted", A),
    case("approved", "not-changes-requested-and-a-hyphen", APPROVE, "Verdict: CHANGES-REQUESTED-BY is a header", A),
    case("approved", "not-changes-required", APPROVE, "Verdict: no changes required", A),
    case("approved", "not-semicolon-behind-it", APPROVE, "Verdict: not approved lightly; the retry path is long", A),
    case("approved", "not-needs-revision", APPROVE, "Verdict: **NEEDS REVISION** in a year", A),
    case("approved", "not-decision", APPROVE, "Decision: rejected names are logged", A),
    case("approved", "not-final-decision", APPROVE, "Final decision: REQUEST_CHANGES is gone", A),
    case("approved", "not-recommendation", APPROVE, "Recommendation: request changes later", A),
    case("approved", "not-below-a-heading-with-a-dash", APPROVE,
         "## Verdict", "", "**BLOCKED** by nothing - the plan is good", A),
    case("approved", "not-below-a-heading-with-a-comma", APPROVE,
         "## Verdict", "", "Changes requested earlier, P0=0", A),
    case("approved", "not-box-ticked-beside-revise", APPROVE, "[x] APPROVED", "[ ] REVISE - fix tier 1 first", A),
    case("approved", "not-full-stop-in-bold", APPROVE, "**Verdict: REJECT** it would be, did it leak", A),
    case("approved", "not-json", APPROVE, '{"n":0,"verdict":"none","was":"REQUEST_CHANGES"}', A),
    case("approved", "not-table-row", APPROVE, "| Round | REJECT | drops rows |", A),
    case("approved", "not-because-behind-it", APPROVE, "Verdict: REJECT before it leaks", A),
    case("approved", "not-curly-apostrophe", APPROVE, "Verdict: don\u2019t worry, merge", A),
    case("approved", "not-decision-and-a-bracket", APPROVE, "Decision: REJECT (2 cases are read)", A),
    case("approved", "not-escaped-by-a-backslash", APPROVE, "## REQUEST\\NCHANGES", A),
    case("approved", "not-said-with-the-other-word-behind", APPROVE,
         "Verdict: APPROVE. I would have said REQUEST_CHANGES last week.", A),
    case("approved", "not-label-with-another-word", APPROVE,
         "Round 1 verdict: REQUEST_CHANGES, two blockers; both are fixed.", A),
    case("approved", "not-since-behind-it", APPROVE, "VERDICT: REQUEST_CHANGES if the lock were left; it is not.", A),
    case("approved", "not-decision-block", APPROVE, "Decision: block on a read lock instead of polling. Good.", A),
    case("approved", "not-recommendation-reject", APPROVE, "Recommendation: reject empty names early (nit).", A),
    case("approved", "not-recommendation-fail", APPROVE,
         "Recommendation: fail closed when the file is missing; it does.", A),
    case("approved", "not-fail-and-a-bracket", APPROVE, "Result: FAIL (expected, the test asserts it)", A),
    case("approved", "not-box-before-bold", APPROVE, "- **Blocked:** no", A),
    case("approved", "not-fail-and-a-dash", APPROVE, "Verdict: fail-closed is right here.", A),
    case("approved", "not-no-quote-mark", APPROVE, "> Verdict: REJECT, said the first review.", A),
    case("approved", "not-heading-that-refuses", APPROVE, "### Required changes: none", A),
    case("approved", "not-sentence-about-the-verdict", APPROVE,
         "The verdict function returns REJECT for an empty list.", A),
    case("approved", "not-table-row-with-a-label", APPROVE, "| 1 | REQUEST_CHANGES | fixed in 3f2a |", A),
    case("approved", "not-diff-line", APPROVE, "+ VERDICT: REQUEST_CHANGES if any", A),
    case("approved", "not-enum", APPROVE, "The enum APPROVE / REQUEST_CHANGES is closed.", A),
    case("approved", "not-box-in-a-list-of-two", APPROVE, "- [x] APPROVE", "- [ ] REQUEST_CHANGES", A),
    case("approved", "not-dated", APPROVE, "Previous verdict: REQUEST_CHANGES", A),
    case("approved", "not-dated-in-bold", APPROVE, "- **Former verdict:** REQUEST_CHANGES", A),
    case("approved", "not-dated-by-another-word", APPROVE, "Earlier verdict: REQUEST_CHANGES", A),
    case("approved", "not-a-token-of-7-behind-it", APPROVE, "Verdict: REJECT 0123456 is what I wrote", "REQUEST_CHANGES 0123456", A),
    case("approved", "not-a-token-of-65-behind-it", APPROVE, "REQUEST_CHANGES " + "a" * 65, A),
    case("approved", "not-a-token-with-words-behind", APPROVE, f"REQUEST_CHANGES {T} was last week", A),
    case("approved", "not-slashes-within-it", APPROVE, "Verdict: NOT/APPROVED", A),
    case("approved", "not-a-box-with-a-tilde", APPROVE, "[ ] [~] REQUEST_CHANGES", A),
    case("approved", "not-dated-by-prior", APPROVE, "Prior verdict: REQUEST_CHANGES", A),
    case("approved", "not-decision-with-a-reason", APPROVE, "Decision: reject empty names in the parser. Sound.", A),
    case("approved", "not-empty-box-behind-a-label", APPROVE, "Verdict: [ ] REQUEST_CHANGES, two blockers", A),
    case("approved", "not-empty-box-elsewhere", APPROVE, "Verdict: [ ] **REQUEST_CHANGES**", A),
    case("approved", "not-empty-box-before-a-number", APPROVE, "[ ] 1. REQUEST_CHANGES", A),
    case("approved", "not-empty-box-then-a-ticked-one", APPROVE, "[x] [ ] REQUEST_CHANGES", A),
    case("approved", "not-changes-requested-alone", APPROVE, "CHANGES REQUESTED", A),
    case("approved", "not-changes-requested-behind-a-label", APPROVE, "Status: changes requested", A),
    case("approved", "not-label-of-four-words", APPROVE, "The final code review verdict: REJECT", A),
    case("approved", "not-label-of-every-word", APPROVE, "Our overall reviewer outcome = blocked", A),
    case("approved", "not-label-with-signs-between", APPROVE, "**Code**-PR/verge **Verdict** | NACK", A),
    case("approved", "not-heading-three-lines-above", APPROVE, "Final **Verdict**:", "---", "1. [REJECT](x)", A),
    case("approved", "not-heading-with-a-number", APPROVE, "## 3 Verdict", "Declined: it leaks", A),
    case("approved", "not-heading-in-a-quote", APPROVE, "> Verdict", "NO-GO", A),
    case("approved", "not-refusal-in-a-quote-below-a-heading", APPROVE, "Verdict", "> NO GO", A),
    case("approved", "not-heading-that-is-a-decision", APPROVE, "Our decision", "Rejected.", A),
    case("approved", "not-heading-before-a-form-feed", APPROVE, "Verdict x\x0cREJECT", A),
    case("approved", "not-box-in-a-quote", APPROVE, "> [x] Blocked: it leaks", A),
    case("approved", "not-json-of-two", APPROVE, '[{"verdict": "approve"}, {"verdict": "pass"}]', A),
    case("approved", "not-json-with-blanks", APPROVE, '"VERDICT" :\t"not approved yet?", "n": 1', A),
    case("approved", "not-json-escaped", APPROVE, 'x = "{\\"verdict\\": \\"pass\\"}"', A),
    case("approved", "not-json-in-a-fence", APPROVE, "```json", '{"verdicts": "rejected"}', "```", A),
    case("approved", "not-unless-behind-it", APPROVE, "Verdict: do not merge two locks - unless held", A),
    case("approved", "not-until-behind-it", APPROVE, "Verdict: cannot be merged untilted", A),
    case("approved", "not-not-ready-to-merge", APPROVE, "Verdict: not ready to merge the two: it is one lock", A),
    case("approved", "not-ready-and-a-hyphen", APPROVE, "Verdict: not ready-made is what it says, and well.", A),
    case("approved", "not-emoji-behind-it", APPROVE, "Verdict: REJECT \u274c is not what I say", A),
    case("approved", "not-cyrillic-verdict", APPROVE, "\u0416VERDICT: REJECT", A),
    case("approved", "not-full-width-colon", APPROVE, "Verdict\u3002REJECT\u3002 it leaks", A),
    case("approved", "not-modifier-apostrophe", APPROVE, "Verdict: can\u02bbt ship", A),
    case("approved", "not-left-quote-apostrophe", APPROVE, "Verdict: CAN\u201cT BE SHIPPED", A),
    case("approved", "not-label-glued", APPROVE, "VerdictREJECT", A),
    case("approved", "not-label-without-a-sign-of-its-own", APPROVE, "Verdict REJECT", A),
    # What is not seen as a refusal, known and kept.
    case("approved", "number-of-the-round", APPROVE, "Verdict (round 2): REJECT", A),
    case("approved", "no-label", APPROVE, "Do not merge this.", A),
    case("approved", "german-refusal", APPROVE, "Urteil: abgelehnt", A),
    case("approved", "mention-of-no-word", APPROVE, f"I would write {M} as asked, not APPROVE", A),
    case("approved", "quoted-rule-escaped", APPROVE, f"{M} \\<value\\>", A),
    case("approved", "backslash-before-a-letter", APPROVE, "Verdict: RE\\JECT", A),
    *(case("approved", f"says-{slug(words)}", APPROVE, f"Verdict: {words}", A, line=2) for words in NO_REFUSALS),
    case("approved", "label-in-one-word", APPROVE, "FinalVerdict: REJECT, x", A, line=2),
    case("approved", "no-tick", APPROVE, "[1. REJECT, a verdict", A, line=2),
    *(case("approved", f"below-a-label-{slug(text)}", APPROVE, "Verdict", text, A, line=3) for text in ("5REJECT, x", "REJECT 5 files")),
    *(case("approved", f"no-json-{number}", APPROVE, text, A, line=2) for number, text in enumerate((
        'x verdict":"reject"', 'x "verdict":"reject', 'x "verdict";: "reject"', 'x "verdict":; "reject"'))),
    *(case("approved", f"no-refusing-end-{at}", APPROVE, f"Verdict: REJECT{end}", A, line=2)
      for at, end in enumerate(("-5 x", "-J x", "*5- x", "*J- x"))),
    *(case("approved", f"no-refusal-{at}", APPROVE, text, A, line=2) for at, text in enumerate((
        "A\\5: REQUEST_CHANGES", "REQUEST_CHANGES ;1234567", "REQUEST_CHANGES  1234567", "Verdict: 1\u2019. REJECT, x",
        "Verdict: [ ] [1. REJECT, x"))),
    case("approved", "below-a-label-that-does-not-end", APPROVE, f"Verdict {T} >", "REJECT, x", A, line=3),

    case("weak-both", "block-then-approve", AMBIGUOUS, "", OLD_BLOCK, OLD_APPROVE, line=2),
    case("weak-both", "draft-then-change-of-mind", AMBIGUOUS, "**Verdict: APPROVE**", DOUBT,
         "**Verdict: REQUEST_CHANGES**", line=1),
    case("weak-both", "two-mentions", AMBIGUOUS, "", f"It says {A}, I say {R}", line=2),
    case("weak-both", "around-a-fence", AMBIGUOUS, "```", OLD_BLOCK, "```", OLD_APPROVE, OLD_BLOCK, line=4),
    case("weak-both", "glued-by-a-form-feed", AMBIGUOUS, FINE, f"{OLD_BLOCK}\x0c{OLD_APPROVE}", line=2),
    case("weak-both", "disguised-block", AMBIGUOUS, OLD_APPROVE, "V\u0415RDICT: REQUEST_CHANG\u0415S", line=1),
    case("weak-both", "old-prompt-with-a-bar", AMBIGUOUS, "VERDICT: APPROVE | VERDICT: REQUEST_CHANGES"),
    case("weak-both", "three-statements", AMBIGUOUS, OLD_BLOCK, OLD_APPROVE, OLD_BLOCK, line=1),
    case("weak-both", "approve-then-a-refusal-line", AMBIGUOUS, OLD_APPROVE, "Verdict: REJECT", line=1),
    case("weak-both", "mention-of-reject-and-an-old-approval", AMBIGUOUS, f"It says {M} REJECT", OLD_APPROVE, line=1),

    case("weak-block", "approved-last-week", REQUEST_CHANGES,
         "Verdict: REQUEST_CHANGES. It was fine last week: APPROVE then.", line=1),
    case("weak-block", "first-of-two", REQUEST_CHANGES, "", OLD_BLOCK, "", OLD_BLOCK, line=2),
    case("weak-block", "short-dash", REQUEST_CHANGES, "VERDICT \u2013 REQUEST_CHANGES"),
    case("weak-block", "non-breaking-hyphen", REQUEST_CHANGES, "VERDICT \u2014 request\u2011changes"),
    case("weak-block", "then-approve-with-nits", REQUEST_CHANGES, OLD_BLOCK, "VERDICT: APPROVE_WITH_NITS"),
    case("weak-block", "mention", REQUEST_CHANGES, f"My answer is {R}", line=1),
    case("weak-block", "numbered-with-a-colon", REQUEST_CHANGES, FINE, "1: " + R, line=2),
    case("weak-block", "one-sign-marker", REQUEST_CHANGES, "=VERDICT= REQUEST_CHANGES"),
    case("weak-block", "gap-of-16", REQUEST_CHANGES, "VERDICT" + " " * 16 + "REQUEST_CHANGES"),
    case("weak-block", "gap-of-1", REQUEST_CHANGES, "VERDICT REQUEST_CHANGES"),
    case("weak-block", "every-sign-in-the-gap", REQUEST_CHANGES, "VERDICT \t`:=*#>|.-~ requestchanges"),
    case("weak-block", "underscores-behind", REQUEST_CHANGES, "VERDICT: REQUEST_CHANGES__ now"),
    case("weak-block", "behind-an-underscore", REQUEST_CHANGES, "my_verdict: request-changes"),
    case("weak-block", "behind-a-non-ascii-sign", REQUEST_CHANGES, "\u2192VERDICT: REQUEST_CHANGES"),
    case("weak-block", "behind-a-closed-fence", REQUEST_CHANGES, "```", OLD_APPROVE, "```", OLD_BLOCK, line=4),
    case("weak-block", "between-two-fences", REQUEST_CHANGES, "```", "```", OLD_BLOCK, "```", OLD_APPROVE, line=3),
    case("weak-block", "before-a-fence", REQUEST_CHANGES, OLD_BLOCK, "```", OLD_APPROVE, line=1),
    case("weak-block", "in-a-comment", REQUEST_CHANGES, "<!--", OLD_BLOCK, line=2),
    case("weak-block", "in-a-fence-of-two", REQUEST_CHANGES, "``", OLD_BLOCK, line=2),
    case("weak-block", "behind-a-form-feed", REQUEST_CHANGES, FINE + "\x0c" + OLD_BLOCK, line=1),
    case("weak-block", "crlf", REQUEST_CHANGES, FINE + "\r", OLD_BLOCK + "\r", line=2),
    case("weak-block", "with-a-token-asked", REQUEST_CHANGES, OLD_BLOCK, token=T),
    case("weak-block", "quoted-rule-beside", REQUEST_CHANGES, M + " <value>", OLD_BLOCK, line=2),
    case("weak-block", "value-below-a-heading", REQUEST_CHANGES, "## Verdict", "", "REQUEST CHANGES"),
    case("weak-block", "german-block", REQUEST_CHANGES, "URTEIL: REQUEST_CHANGES"),
    case("weak-block", "boxes-alone", REQUEST_CHANGES, "[ ] APPROVE", "[x] REQUEST_CHANGES"),
    case("weak-block", "gap-of-17", REQUEST_CHANGES, "VERDICT" + " " * 17 + "REQUEST_CHANGES"),
    case("weak-block", "verdict-in-a-longer-word", REQUEST_CHANGES, "PREVERDICT: APPROVE", "2VERDICT: REQUEST_CHANGES"),
    case("weak-block", "before-a-fence-that-opens", REQUEST_CHANGES, "", OLD_BLOCK, "```", line=2),
    case("weak-block", "escaped-by-a-backslash", REQUEST_CHANGES, "VERDICT: REQUEST\\_CHANGES", line=1),
    case("weak-block", "changes-requested", REQUEST_CHANGES, "Verdict: CHANGES_REQUESTED", line=1),
    case("weak-block", "block", REQUEST_CHANGES, "Verdict: BLOCK", line=1),
    case("weak-block", "reject-with-a-reason", REQUEST_CHANGES, "Verdict: REJECT, it leaks.", line=1),
    case("weak-block", "json", REQUEST_CHANGES, '{"verdict":"request_changes","findings":[]}', line=1),
    case("weak-block", "changes-requested-below-a-heading", REQUEST_CHANGES, "## Verdict", "", "Changes requested, P0=1",
         line=3),
    case("weak-block", "mention-of-reject", REQUEST_CHANGES, f"Final: {M} REJECT", line=1),
    case("weak-block", "dated-old-style", REQUEST_CHANGES, "Previous verdict: REQUEST_CHANGES", line=1),
    case("weak-block", "empty-box-old-style", REQUEST_CHANGES, "- VERDICT: REQUEST_CHANGES [ ]", line=1),
    *(case("weak-block", f"dash-{ord(dash):04x}", REQUEST_CHANGES, f"VERDICT {dash} REQUEST{dash}CHANGES")
      for dash in DASHES),

    case("weak-approve", "mention", AMBIGUOUS, FINE, "My answer is " + A, line=2),
    case("weak-approve", "first-of-two", AMBIGUOUS, "", OLD_APPROVE, OLD_APPROVE, line=2),
    case("weak-approve", "promise-to-start", AMBIGUOUS, "Reply " + A + " and I will run the review."),
    case("weak-approve", "with-the-right-token", AMBIGUOUS, f"{OLD_APPROVE} {T}", token=T),
    case("weak-approve", "one-sign-marker", AMBIGUOUS, "=VERDICT= APPROVE"),
    case("weak-approve", "one-sign-before", AMBIGUOUS, "=VERDICT=== APPROVE"),
    case("weak-approve", "one-sign-behind", AMBIGUOUS, "===VERDICT= APPROVE"),
    case("weak-approve", "signs-apart", AMBIGUOUS, "== = VERDICT = = APPROVE"),
    case("weak-approve", "signs-shared-by-two-markers", AMBIGUOUS, "x ===VERDICT===VERDICT=== APPROVE"),
    case("weak-approve", "in-a-quoted-json", AMBIGUOUS, '{"text": "' + A + '"}'),
    case("weak-approve", "erase-line-sequence", AMBIGUOUS, "\x1b[2K" + A),
    case("weak-approve", "in-a-tag", AMBIGUOUS, f"<p>{A}</p>"),
    case("weak-approve", "underscore-behind", AMBIGUOUS, "VERDICT: APPROVE_"),
    case("weak-approve", "gap-of-16", AMBIGUOUS, "VERDICT" + ":" * 16 + "APPROVE"),
    case("weak-approve", "every-sign-in-the-gap", AMBIGUOUS, "VERDICT \t`:=*#>|.-~APPROVE"),
    case("weak-approve", "full-width", AMBIGUOUS, "\uff36ERDICT\uff1aAPPROVE"),
    case("weak-approve", "behind-a-closed-fence", AMBIGUOUS, "~~~", "```", "~~~", OLD_APPROVE, line=4),
    case("weak-approve", "dated", AMBIGUOUS, "Previous verdict: APPROVE", line=1),
    case("weak-approve", "escaped-tilde", AMBIGUOUS, "VERDICT \\~ APPROVE", line=1),

    case("not-stated", "empty", None, ""),
    case("not-stated", "blank-lines", None, "", " ", "\t"),
    case("not-stated", "not-approved-until", None, "NOT APPROVED until the totals add up."),
    case("not-stated", "disapprove", None, "DISAPPROVE: deletes the home folder"),
    case("not-stated", "no-approve", None, "I cannot confirm there are no blocking issues, so no APPROVE."),
    case("not-stated", "banner-and-prompt", None, "Example CLI v1", "workdir: repo", "user", *PROMPT_RULE.split("\n")),
    case("not-stated", "prompt-with-a-token", None, *prompt_rule(T).split("\n"), token=T),
    case("not-stated", "prompt-with-a-token-not-asked", None, *prompt_rule(T).split("\n")),
    case("not-stated", "cut-by-a-limit", None, "1. paths: fine", "2. errors: the broad exc"),
    case("not-stated", "cut-inside-the-marker", None, FINE, "===VERD"),
    case("not-stated", "german-approve", None, "URTEIL: APPROVE"),
    case("not-stated", "ideographs-approve", None, "\u5224\u5b9a\uff1aAPPROVE"),
    case("not-stated", "prompt-too-long", None, "Error: prompt is too long"),
    case("not-stated", "invalid-key", None, "Invalid API key"),
    case("not-stated", "usage-limit", None, "You've hit your usage limit"),
    case("not-stated", "looks-good", None, "Looks good to me! LGTM, ship it."),
    case("not-stated", "placeholder-decorated", None, "> **" + M + "**: `<VALUE>` and the token"),
    case("not-stated", "marker-behind-the-quoted-rule", None, f"{M} <value> {M} LGTM"),
    case("not-stated", "quoted-rule-and-a-marker-within-a-word", None, f"{M} <value> REJ{M}ECT"),
    case("not-stated", "mention-of-another-word", None, f"I end with {M} LGTM"),
    case("not-stated", "mention-without-a-word", None, f"I end with {M}"),
    case("not-stated", "approve-gap-of-17", None, "VERDICT" + " " * 17 + "APPROVE"),
    case("not-stated", "gap-of-none", None, "VERDICTAPPROVE VERDICTREQUEST_CHANGES"),
    case("not-stated", "verdict-behind-a-non-ascii-letter", None, "\u0416VERDICT: APPROVE"),
    case("not-stated", "approved", None, "VERDICT: APPROVED"),
    case("not-stated", "approve-and-a-digit", None, "VERDICT: APPROVE2", "VERDICT: REQUEST_CHANGES_2"),
    case("not-stated", "approve-and-a-non-ascii-letter", None, "VERDICT: APPROVE\u0416"),
    case("not-stated", "fenced-by-tildes", None, "~~~", OLD_APPROVE, OLD_BLOCK, "~~~"),
    case("not-stated", "fenced-and-not-closed", None, FINE, "```", OLD_BLOCK),
    case("not-stated", "fenced-on-the-second-line-of-a-fence", None, "```", "x", OLD_APPROVE, "````"),
    case("not-stated", "on-the-line-of-a-fence", None, "~~~ " + OLD_APPROVE),
    case("not-stated", "behind-a-third-fence-with-an-info-string", None, "~~~", "~~~", "~~~ text", OLD_BLOCK),
    case("not-stated", "mention-in-a-fence", None, "```", "It says " + A, "```"),
    case("not-stated", "other-punctuation-in-the-gap", None,
         *(f"VERDICT {c} APPROVE" for c in "!\"$%&'()+,/;<?@[\\]^_{}")),
    case("not-stated", "two-list-numbers-before-a-marker", None, "1. 2. " + M + " LGTM"),
    case("not-stated", "approve-and-two-underscores", None, "VERDICT: APPROVE__X"),
    case("not-stated", "gap-of-17-then-prose", None, "VERDICT" + " " * 17 + "REQUEST_CHANGES then"),
    case("not-stated", "mention-of-approved", None, f"The {M} APPROVED line"),
    case("not-stated", "json-in-a-fence", None, "```json", '{"verdict":"request_changes"}', "```"),
    case("not-stated", "refusal-line-in-a-fence", None, "```", "Verdict: REJECT", "REQUEST_CHANGES", "```"),
    case("not-stated", "mention-of-reject-in-a-fence", None, "~~~", f"Final: {M} REJECT", "~~~"),
    case("not-stated", "dated-refusal", None, "Previous decision: REQUEST_CHANGES"),
    case("not-stated", "empty-box-before-a-refusal", None, "- [ ] REQUEST_CHANGES"),
    case("not-stated", "german-block-in-a-sentence", None, "URTEIL: REQUEST_CHANGES ist zu hart"),
    *(case("not-stated", f"{name}-in-the-gap", None, f"VERDICT:{cut}APPROVE", f"VERDICT:{cut}REQUEST_CHANGES then")
      for name, cut in CUTS.items()),
    *(case("not-stated", f"no-list-number-{at}", None, before + M + " LGTM")
      for at, before in enumerate(("0 ", "9 ", "J. ", "1J ", "1; ", "1 2. ", "1;2. "))),
    *(case("not-stated", f"digit-behind-{digit}", None, f"VERDICT: APPROVE{digit}") for digit in (0, 9)),
    case("not-stated", "placeholder-without-a-blank", None, M + "<value>"),
]
# fmt: on


# --- The rows as tests ----------------------------------------------------------------------------

ROWS = [row for group in FOUNDING.values() for row in group] + LATER


def shown(reply: str) -> str:
    """The reply line by line, numbered, with what cannot be seen written as an escape."""
    lines = [line.encode("unicode_escape").decode() for line in reply.split("\n")]
    return "\n".join(f"{number:8} | {line}" for number, line in enumerate(lines, 1))


def red(row: Case, got: Reading) -> str:
    """What a red row prints: where it stands, want and got with their rules, the reply."""
    alarm = "  <- FALSE APPROVE" if got.verdict == APPROVE != row.verdict else ""
    want = row.verdict or "none"
    where = f", line {row.line}" if row.line else ""
    return (
        f"\n{Path(__file__).name}:{row.at}: {row.id}" + (f" (token {row.token})" if row.token else "") + "\n"
        f"    want  {want:<16}by {row.rule}{where}\n"
        f"    got   {got.verdict or 'none':<16}by {got.rule}, line {got.line}{alarm}\n{shown(row.report)}"
    )


def agrees(row: Case, got: Reading) -> bool:
    """Whether the reading is the row's; a row without a line leaves it open, except that not-stated has none."""
    line_right = got.line == row.line if row.line or row.rule == "not-stated" else got.line is not None
    return (got.verdict, got.rule) == (row.verdict, row.rule) and line_right


class ContractTest(unittest.TestCase):
    """Each row is a method: test_not_last_closing_fence is the row not-last/closing-fence."""


def method_of(row: Case) -> str:
    return "test_" + re.sub(r"\W", "_", row.id)


def as_test(row: Case) -> Callable[[ContractTest], None]:
    def test(self: ContractTest) -> None:
        got = read_verdict(row.report, row.token)
        self.assertTrue(agrees(row, got), red(row, got))

    return test


for _row in ROWS:
    setattr(ContractTest, method_of(_row), as_test(_row))


class TableTest(unittest.TestCase):
    """The table itself: a row that is lost, or a rule that no row needs, is a fault too."""

    def test_founding_table_has_its_42_rows(self) -> None:
        sizes = {group: len(rows) for group, rows in FOUNDING.items()}
        wanted = {"strict": 8, "weak block": 5, "weak approve": 6, "ambiguous": 15, "nothing": 8}
        self.assertEqual(wanted, sizes)
        self.assertEqual(42, len({row.id for rows in FOUNDING.values() for row in rows}))

    def test_ids_are_unique_and_each_row_is_a_test(self) -> None:
        methods = [method_of(row) for row in ROWS]
        self.assertEqual(len(ROWS), len(set(methods)))
        self.assertEqual(sorted(methods), unittest.defaultTestLoader.getTestCaseNames(ContractTest))

    def test_later_rows_stand_in_the_order_of_the_rules(self) -> None:
        order = [rule.id for rule in RULES]
        self.assertEqual(order, [rule for rule, _ in itertools.groupby(row.rule for row in LATER)])

    def test_every_rule_has_six_later_rows(self) -> None:
        count = collections.Counter(row.rule for row in LATER)
        self.assertEqual({rule.id for rule in RULES}, set(count))
        self.assertEqual([], [rule for rule, rows in count.items() if rows < 6])

    def test_every_rule_has_rows_that_give_the_line(self) -> None:
        given = {row.rule for row in LATER if row.line}
        self.assertEqual({rule.id for rule in RULES} - {"not-stated"}, given)

    def test_twice_as_many_refusals_as_approvals(self) -> None:
        approvals = sum(row.verdict == APPROVE for row in ROWS)
        self.assertGreaterEqual(len(ROWS) - approvals, 2 * approvals)

    def test_row_and_rule_agree_on_the_verdict(self) -> None:
        verdicts = {rule.id: rule.verdict for rule in RULES}
        self.assertEqual([], [row.id for row in ROWS if verdicts[row.rule] != row.verdict])

    def test_dropping_any_rule_changes_a_row(self) -> None:
        facts = [(row, verdict_contract._read(row.report, row.token)) for row in ROWS]
        for dropped in RULES[:-1]:
            rest = [rule for rule in RULES if rule is not dropped]
            changed = (row for row, f in facts if next(rule for rule in rest if rule.holds(f)).id != row.rule)
            self.assertIsNotNone(next(changed, None), dropped.id)
        self.assertEqual("not-stated", RULES[-1].id)

    def test_approved_alone_equals_the_verdict_on_every_row(self) -> None:
        for row in ROWS:
            alone = APPROVED.holds(verdict_contract._read(row.report, row.token))
            self.assertEqual(row.verdict == APPROVE, bool(alone), row.id)


# --- A second reading, written apart --------------------------------------------------------------
#
# The contract once more, from its page and not from the parser: by loops over letters and signs, without a regular
# expression, one folded line after the other, clear rather than fast. Where the two differ, one of them is wrong.
# A place is an index into a folded line; its end is the place behind everything.

LOOSE_ENDS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029\r"
TWINS = dict(zip("АСЕԌНІӀОРԚЅТѴ" + "ΑΣΕΗΙΝΟΡϘΤ", "ACEGHIIOPQSTV" + "ACEHINOPQT"))
TWINS.update(dict.fromkeys("‐‑‒–—―−", "-"))
TWINS.update(dict.fromkeys("‘’ʼ", "'"))
BLANKS, TRIM = " \t", " \t*_`:."
YES, NO = ("APPROVE",), ("REQUEST", "CHANGES")
TICKED = "[\0]"  # a ticked box, where its letter counts as a sign

# A phrase a line, the words for each of its parts; "?" stands for no word at all.
ACTS = "APPROVE APPROVED MERGE MERGED SHIP SHIPPED READY"
REFUSING = (
    ("REQUEST REQUESTS REQUESTED REQUESTING", "CHANGE CHANGES"),
    ("CHANGE CHANGES", "REQUESTED REQUIRED NEEDED"),
    ("NEEDS REQUIRES", "? MINOR MAJOR MORE", "CHANGES WORK REVISION FIX FIXES"),
    ("REJECT REJECTED BLOCK BLOCKED BLOCKING FAIL FAILED DENY DENIED DECLINE DECLINED DISAPPROVE DISAPPROVED",),
    ("NACK REVISE",),
    ("NO", "GO"),
    ("? DO CAN", "NOT", "? BE YET", ACTS),
    ("DON'T DONT CAN'T CANT", "? BE YET", ACTS),
    ("? DO CAN", "NOT", "? BE YET", "READY", "TO FOR", "MERGE SHIP"),
    ("DON'T DONT CAN'T CANT", "? BE YET", "READY", "TO FOR", "MERGE SHIP"),
)
NOUNS = ("VERDICT", "DECISION", "RECOMMENDATION")
LABEL_WORDS = ("THE", "MY", "OUR", "FINAL", "OVERALL", "REVIEW", "REVIEWER", "CODE", "PR", "MERGE")


class Loose(NamedTuple):
    """A folded loose line, the number of the line that it is part of, and whether it lies outside code fences."""

    line: int
    text: str
    prose: bool


class Marked(NamedTuple):
    """A marker: a sentinel that says "yes", "no", "off" (its form) or "junk", with its token, or a mention."""

    line: int
    prose: bool
    says: str
    token: Optional[str]


def second_reading(report: Optional[str], token: Optional[str] = None) -> Tuple[str, Optional[int]]:
    """The id of the rule that decides, and the line that it points at: the first whose line is not None."""
    lines = the_lines(report or "")
    fenced, unclosed = fences(lines)
    loose = [Loose(n, fold(part), n not in fenced) for n, line in lines.items() for part in cut(line)]
    marked = [Marked(each.line, each.prose, *found) for each in loose for found in markers(each.text)]
    says = {mark.says: mark.line for mark in reversed(marked)}  # the first of each kind
    yes, no, off, junk = map(says.get, ("yes", "no", "off", "junk"))
    weak = not (yes or no or off or junk)

    refusals: List[Union[Loose, Marked]] = [each for each, above in with_above(loose) if is_refusal(each.text, above)]
    told: List[Union[Loose, Marked]] = [each for each in loose if states(each.text, NO)]
    told += [mark for mark in marked if mark.says == "mentions no"]
    weak_no = first(each for each in refusals + told if weak and each.prose)
    weak_yes = first(each for each in loose if weak and each.prose and states(each.text, YES))
    found = [
        ("blocked", no),
        ("unknown-value", junk),
        ("contradicted", first(refusals + told if off else refusals if yes else [])),
        ("off-form", off),
        *(of_an_approval(lines, marked, token, unclosed) if yes else []),
        ("weak-both", min(weak_no, weak_yes) if weak_no and weak_yes else None),
        ("weak-block", weak_no),
        ("weak-approve", weak_yes),
    ]
    return next(((rule, line) for rule, line in found if line), ("not-stated", None))


def of_an_approval(
    lines: Dict[int, str], marked: List[Marked], token: Optional[str], unclosed: Optional[int]
) -> List[Tuple[str, Optional[int]]]:
    """The rules that presuppose an approval, and no other sentinel but approvals; the one that approves comes last."""
    mine = next(mark for mark in marked if mark.says == "yes")
    below = [line for n, line in lines.items() if n > mine.line]
    return [
        ("repeated", marked[1].line if len(marked) > 1 else None),
        ("not-last", mine.line if any(not only_signs(fold(line)) for line in below) else None),
        ("signs-after", mine.line if any(line.strip(BLANKS) for line in below) else None),
        ("not-bare", None if is_bare(lines[mine.line]) else mine.line),
        ("wrong-token", None if mine.token == (token and token.upper()) else mine.line),
        ("open-block", None if token else min(filter(None, (unclosed, open_comment(lines))), default=None)),
        ("approved", mine.line),
    ]


def first(found: Iterable[Union[Loose, Marked]]) -> Optional[int]:
    """The smallest number of a line among these."""
    return min((each.line for each in found), default=None)


def with_above(loose: Sequence[Loose]) -> Iterator[Tuple[Loose, str]]:
    """Each loose line with the text of the last one above it that is not blank."""
    above = ""
    for each in loose:
        yield each, above
        above = each.text if each.text.strip(BLANKS) else above


# From report to loose lines.


def the_lines(report: str) -> Dict[int, str]:
    """The lines by their numbers, without colour codes, the one U+FEFF that may lead, and line ends."""
    text, *pieces = report.split("\x1b[")
    for piece in pieces:
        behind = piece.lstrip("0123456789;:")
        text += behind[1:] if behind.startswith("m") else "\x1b[" + piece
    text = text[1:] if text.startswith("\ufeff") else text
    return {n: line[:-1] if line.endswith("\r") else line for n, line in enumerate(text.split("\n"), 1)}


def cut(line: str) -> List[str]:
    """The loose lines of a line."""
    return "".join("\n" if char in LOOSE_ENDS else char for char in line).split("\n")


@functools.lru_cache(5000)
def fold(line: str) -> str:
    """The line as a suspicious reader sees it."""
    seen = "".join(map(fold_one, line))
    return "".join(c for c, after in zip(seen, seen[1:] + " ") if c != "\\" or after not in string.punctuation)


@functools.lru_cache(None)
def fold_one(char: str) -> str:
    """What one character becomes: nothing, or mostly one capital, digit or sign."""
    unseen = ("Cf", "Cc", "Cn", "Mn", "Mc", "Me")
    parts = [c for c in unicodedata.normalize("NFKD", char) if c == "\t" or unicodedata.category(c) not in unseen]
    inked = "".join(part.upper() for part in parts if part not in "\u115f\u1160\u2800")
    known = "".join(TWINS.get(c) or str(unicodedata.digit(c, c)) for c in inked)
    return "".join(c if c.isalpha() or c.isascii() or not c.isalnum() else "\u00a7" for c in known)


def fences(lines: Dict[int, str]) -> Tuple[Set[int], Optional[int]]:
    """The numbers of the lines that belong to code fences, and where one opens that never closes."""
    inside: Set[int] = set()
    opens, opener = None, ""
    for n, line in lines.items():
        run, info = fence(line)
        if opens:
            inside.add(n)
            opens = None if run.startswith(opener) and not info.strip(BLANKS) else opens
        elif run and not (run[0] == "`" and "`" in info):
            inside.add(n)
            opens, opener = n, run
    return inside, opens


def fence(line: str) -> Tuple[str, str]:
    """The run of signs that may open or close a fence here, or nothing, and what follows it."""
    body = line.lstrip(" ")
    info = body.lstrip(body[0]) if body[:1] in ("`", "~") else body
    run = body[: len(body) - len(info)]
    return (run, info) if len(run) >= 3 and len(line) - len(body) <= 3 else ("", line)


def open_comment(lines: Dict[int, str]) -> Optional[int]:
    """Where the last comment opens that begins a line, unless it is closed."""
    begin = [n for n, line in lines.items() if any(line.startswith(" " * indent + "<!--") for indent in range(4))]
    behind = "\n".join(line for n, line in lines.items() if begin and n >= begin[-1]).lstrip(" ")[4:]
    return begin[-1] if begin and "-->" not in behind else None


# Letters, signs and words in a folded line.


def only_signs(text: str) -> bool:
    """Whether it holds no letter and no digit."""
    return next_word(text, 0) == len(text)


def next_word(text: str, at: int) -> int:
    """The first place from here on with a letter or digit, or the end."""
    while at < len(text) and not text[at].isalnum():
        at += 1
    return at


def word_at(text: str, at: int) -> str:
    """The letters and digits from here to the next sign."""
    end = at
    while end < len(text) and text[end].isalnum():
        end += 1
    return text[at:end]


@functools.lru_cache(5000)
def words(text: str) -> List[Tuple[int, str]]:
    """Each run of letters and digits, with its place."""
    found, at = [], next_word(text, 0)
    while at < len(text):
        found.append((at, word_at(text, at)))
        at = next_word(text, at + len(found[-1][1]))
    return found


def list_numbers(text: str) -> List[Tuple[int, int]]:
    """The place of each list number's digits, and of what follows them."""
    runs = [(at, at + len(word)) for at, word in words(text) if not word.strip(string.digits)]
    return [(at, end) for at, end in runs if text[end : end + 1] in (".", ")")]


def without_number(text: str) -> str:
    """The text without its first list number."""
    at, end = (list_numbers(text) or [(0, 0)])[0]
    return text[:at] + text[end:]


def phrase_ends(text: str, at: int, parts: Sequence[str]) -> Iterator[int]:
    """Where a phrase ends that begins at this place, one word of each part, in every way that it can be read."""
    for word in parts[0].split():
        end = at + len(word)
        if word == "?":
            yield from phrase_ends(text, at, parts[1:])
        elif text.startswith(word, at) and len(parts) == 1 and not word_at(text, end):
            yield end
        elif text.startswith(word, at) and len(parts) > 1:
            while text[end : end + 1] in (" ", "\t", "_", "-", "*", "`"):
                end += 1
            yield from phrase_ends(text, end, parts[1:])


@functools.lru_cache(5000)
def refusal_ends(text: str, at: int) -> List[int]:
    """Where the refusals end that begin at this place, before which stands no letter or digit."""
    return [end for parts in REFUSING for end in phrase_ends(text, at, parts)]


def refuses(text: str) -> bool:
    """Whether a refusal stands anywhere in it."""
    return any(refusal_ends(text, at) for at, _ in words(text))


# Markers.


@functools.lru_cache(5000)
def markers(text: str) -> List[Tuple[str, Optional[str]]]:
    """The sentinel and the mentions of a folded loose line."""
    found: List[Tuple[str, Optional[str]]] = []
    places = marker_places(text)
    for (start, end), (stop, _) in zip(places, [*places[1:], (len(text), 0)]):
        rest = text[end:stop]
        told = next_word(rest, 0)
        decoration, value, behind = text[end:].partition("<VALUE>")
        if value and only_signs(decoration) and YES[0] not in behind and not refuses(behind):
            continue
        if only_signs(without_number(text[:start])):
            found.append(sentinel(rest))
        elif rest.startswith(YES[0], told):
            found.append(("mentions yes", None))
        elif refusal_ends(rest, told):
            found.append(("mentions no", None))
    return found


def marker_places(text: str) -> List[Tuple[int, int]]:
    """Where each marker begins and ends, its runs of = included."""
    found, free = [], 0
    at = text.find("VERDICT")
    while at >= 0:
        left, right = text[free:at].rstrip(BLANKS), text[at + len("VERDICT") :].lstrip(BLANKS)
        before, after = left[len(left.rstrip("=")) :], right[: len(right) - len(right.lstrip("="))]
        if len(before) >= 2 and len(after) >= 2:
            start, free = free + len(left) - len(before), len(text) - len(right) + len(after)
            found.append((start, free))
        at = text.find("VERDICT", at + 1)
    return found


def sentinel(rest: str) -> Tuple[str, Optional[str]]:
    """What a sentinel says, and its token, from what follows its marker."""
    rest = rest.rstrip(BLANKS)
    last = rest.replace("\t", " ").split(" ")[-1]
    token: Optional[str] = last.strip(TRIM)
    if token and is_token(token):
        rest = rest[: len(rest) - len(last)]
    else:
        token = None
    value = rest.strip(TRIM)
    begins = next_word(value, 0)
    if value in YES:
        return "yes", token
    if any(phrase_ends(value, begins, NO)) and YES[0] not in value:
        return "no", token
    off = not value or (value.startswith(YES[0], begins) and not refuses(value))
    return "off" if off else "junk", token


def is_bare(line: str) -> bool:
    """Whether the line, which holds an approval, has the one shape that approves."""
    body = line.lstrip(" ").upper()
    text = body.lstrip("#")
    heading = len(body) - len(text)
    text = (text.lstrip(" ") if heading else text).lstrip("*_`")
    if len(line) - len(body) > 3 or heading > 6 or (heading and body[heading : heading + 1] != " "):
        return False
    start, end = (marker_places(text) or [(1, 1)])[0]
    rest = text[end:].replace("\t", " ")
    for sign in TRIM:
        rest = rest.replace(sign, " ")
    value, *token = rest.split() or [""]
    ascii_only = all(" " <= char <= "~" or char == "\t" for char in line)
    return ascii_only and start == 0 and value in YES and len(token) <= 1 and "".join(token).isalnum() == bool(token)


# Refusal lines, and the old style. The places that these give are those of the refusals found.


@functools.lru_cache(5000)
def is_refusal(text: str, above: str) -> bool:
    """Whether the folded loose line is a refusal line, by itself or below that other line."""
    line, above = without_items(text), without_items(above)
    if any(in_json(line)):
        return True
    if word_at(line, next_word(line, 0)) in ("PREVIOUS", "PRIOR", "EARLIER", "FORMER"):
        return False
    noun, behind = label_of(above)
    below = noun == "VERDICT" and only_signs(above[behind:]) and ">" not in above[behind:]
    found = [*of_the_enum(line), *labelled(line)]
    begins = next_word(line, 0)
    if (TICKED in line[:begins] or below) and ">" not in line[:begins]:
        found += [begins for end in refusal_ends(line, begins) if is_refusing_end(line, end)]
    return any("[ ]" not in signs_before(line, at).split(TICKED)[-1] for at in found)


def without_items(text: str) -> str:
    """The line with a list number's digits, a box's tick and a token at the end made a sign that no folded line holds."""
    token = [(at, at + len(word)) for at, word in words(text)[-1:] if is_token(word)]
    for start, end in list_numbers(text) + token:
        text = text[:start] + "\0" * (end - start) + text[end:]
    return text.replace("[X]", TICKED)


def is_token(word: str) -> bool:
    """Whether a folded word is 8 to 64 hex digits."""
    return 8 <= len(word) <= 64 and all(char in "0123456789ABCDEF" for char in word)


def signs_before(line: str, at: int) -> str:
    """The signs right before a place."""
    ends = [start + len(word) for start, word in words(line[:at])]
    return line[ends[-1] if ends else 0 : at]


def of_the_enum(line: str) -> Iterator[int]:
    """The line holds REQUEST_CHANGES or CHANGES_REQUESTED and nothing else, or only a label of any words before it."""
    for at, _ in words(line):
        ends = list(phrase_ends(line, at, NO))
        if line[at:].startswith(("CHANGES_REQUESTED", "CHANGES-REQUESTED")):
            ends.append(at + len("CHANGES_REQUESTED"))
        if any(only_signs(line[end:]) for end in ends) and is_free_label(line[:at]):
            yield at


def is_free_label(before: str) -> bool:
    """Whether what stands before a refusal is only signs, or a short label with its colon, or ends in VERDICT."""
    runs = words(before)
    if not runs:
        return True
    start, (last, word) = runs[0][0], runs[-1]
    inner, behind = before[start : last + len(word)], before[last + len(word) :]
    short = len(inner) <= 40 and all(char in "_-/ " or not only_signs(char) for char in inner)
    return short and (":" in behind or "=" in behind or word == "VERDICT")


def labelled(line: str) -> Iterator[int]:
    """The line begins with a verdict or decision label, a sign that ends it, and a refusal."""
    noun, behind = label_of(line)
    at = next_word(line, behind)
    if noun and any(sign in line[behind:at] for sign in ":=-|"):
        alone = any(only_signs(line[end:]) for end in refusal_ends(line, at))
        reasoned = refusal_ends(line, at) if noun == "VERDICT" else phrase_ends(line, at, NO)
        if alone or any(is_refusing_end(line, end) for end in reasoned):
            yield at


def label_of(line: str) -> Tuple[str, int]:
    """The noun of the label that begins the line, and the place behind it; "" where there is none."""
    begins = next_word(line, 0)
    if ">" not in line[:begins]:
        for at, word in words(line)[:4]:
            if word in NOUNS:
                return word, at + len(word)
            if word not in LABEL_WORDS:
                break
    return "", 0


def is_refusing_end(line: str, end: int) -> bool:
    """Whether a refusal that ends here is meant: nothing follows, or a sign or word that begins its reason."""
    at = next_word(line, end)
    signs = line[end:at].replace("\t", " ")
    reason = word_at(line, at) in ("BECAUSE", "UNTIL", "UNLESS", "SINCE")
    return at == len(line) or reason or any(sign in signs for sign in (*",;:.!?([|", "- ", " -"))


def in_json(line: str) -> Iterator[bool]:
    """True for each verdict in the line that refuses, as JSON writes it."""
    rest = line
    while '"VERDICT"' in rest:
        rest = rest.split('"VERDICT"', 1)[1]
        value = rest.lstrip(BLANKS)[1:].lstrip(BLANKS)
        at = len(line) - len(value) + 1
        if rest.lstrip(BLANKS).startswith(":") and value.startswith('"'):
            yield from (True for end in refusal_ends(line, at) if line[end : end + 1] == '"')


@functools.lru_cache(5000)
def states(text: str, verdict: Sequence[str]) -> bool:
    """Whether the folded line states this verdict in the old style, behind the word VERDICT."""
    for start in [at + len(word) for at, word in words(text) if word == "VERDICT"]:
        at = next_word(text, start)
        if at - start <= 16 and not text[start:at].strip(" \t`:=*#>|.-~"):
            tails = [text[end:].lstrip("_") for end in phrase_ends(text, at, verdict)]
            if not all(word_at(tail, 0) for tail in tails):
                return True
    return False


# --- Reports to read ------------------------------------------------------------------------------
#
# The one generator: all short reports out of LINES, and random ones out of everything below, with damage. It serves
# the statements here and .ci/fuzz.py. The same seed gives the same reports.

# fmt: off
LINES = (
    "", " \t\r", FINE, A, f"{A} {T}", f"{A} {OTHER}", "## **== verdict\t== Approve.**", f"  `=== VERDICT ===  approve: {T.upper()}`",
    f"> {A}", f"\u200b{A} {T}", f"50%\r{A}", f"\x1b[32m{M} \x1b[1;4mAPPROVE\x1b[m", f"1. \uff1d\uff1d{M} REQUEST CHANGES ({OTHER})",
    f"{R}, it leaks", f"{M} LGTM", f"{M} <VALUE>", M, f"{A}_WITH_NITS", f"I say {M} `APPROVE`", f"I say {M} not APPROVE",
    f"I end with the {M} line.", "> Verdict: APPROVE", "**Verdict** \u2014 `REQUEST-CHANGES`", "VERDICT: APPROVE_WITH_NITS",
    "[x] REQUEST_CHANGES", "- [ ] REQUEST_CHANGES", "Verdict: REJECT, it leaks.", "## Verdict", "**BLOCKED** - it leaks",
    "[x] REVISE - it leaks", '{"verdict":"rejected"}', "Previous verdict: REQUEST_CHANGES", "Decision: REQUEST_CHANGES (2)",
    "```", "````text", "~~~ `note`", "  ~~~~ ", "<!-- note", "done -->", "---", "\x1b[0m", "\ufeff",
)
CALM = ("", "", FINE, "Paths: fine.", "- one\ttwo", "| a | b |", "> quoted", "```\nx = 1\n```", "~~~~ py\n```\n~~~~", "<!-- a\nb -->")
APPROVALS = (A, A, f"{A} {T}", f"{A} {T}", "**=== Verdict === approve**", f"   __{M}: APPROVE:\t{T.upper()} **", "# ==VERDICT== `APPROVE`.")

# A line slot by slot, each with right and nearly right fillings; a function draws one.
LEADS = ("", "", "", " ", "   ", "    ", "\t", "# ", "#", "###### ", "####### ", "**", "`", "> ", "- ", "_", "+", "| ")
ITEMS = ("", "", "", "1. ", "12)", "1.2. ", "1. 2) ", "a. ", "3.a", "\u0663. ", "[x] ", "[X]", "[ ] ", "[ ]", "[y] ", "[x] [ ] ", "[ ][x]",
         "1. 2. [x] ", "[ ] [~] ", "\u24eb ")
MARKERS = (M, M, M, "== verdict\t==", "=VERDICT==", "==VERDICT=", "===VERDICTS===", "==VERDICT==VERDICT==", "==VERDICT====VERDICT==")
GAPS = ("", " ", "  ", "\t", " **", "** ", ": ", ":", ".", "_", " (", " - ", "=" * 15, "=" * 16, "=" * 17)
VALUES = ("APPROVE", "approve", "REQUEST_CHANGES", "request changes", "REQUEST - CHANGES", "CHANGES_REQUESTED", "CHANGES-REQUESTED",
          "CHANGES REQUESTED", "LGTM", "", "<VALUE>", "VALUE>", "< VALUE>", "<value> APPROVE", "<value> reject")
TOKENS = ("", "", "", T, T.upper(), OTHER, "abcdef1", "abcdef12", "ab" * 32, "ab" * 32 + "c")
TAILS = ("", "", "", " ", "\t", "**", ".", "_", ")", "!", "_x", "_ ", " x", "_1.", "1.", " 2)", "[x]", "\u200b", ",", "S")
LABELS = ("Verdict", "final verdict", "Decision", "Merge recommendation", "old verdict", "Urteil", "My_verdict", "a/b-c", "a" * 40, "a" * 41,
          "b " * 16 + "verdict", "a\tb", "x-")
DATES = ("", "", "", "", "", "Previous ", "PRIOR ", "Earlier: ", "- former ", "Previously ", "previous_", "The earlier ")
SIGNS = (": ", ": ", "=", "**: **", " : ", ":**", " - ", " -> ", " | ", " ", "", "\uff1a", ":1. ", "1.:", ": [x] ", ": [ ] ", ".", "_", ": `", ": \"")
ENDS = ("", "", ".", "**", ", it leaks", " (2 blockers)", ": x", "! x", " [P1] x", " | drops rows |", " - x", "- x", " -x", "-x", "\u2014x", " \u2014 x",
        " because x", " UNTIL x", " until, x", " unless x", " unlessx", " - since x", " since", " if x", " would be harsh", "\tx", "/x", " > x", "`", '"', " 2)", " 2. x", " [x]", "s", "_x",
        f" {T}", f" [{T}]", f" {T} x", " abcdef1")
JSON = ('{"n":2, "verdict":', '"verdict" : ', '"verdict"\t:', '"verdict" ', "'verdict':", '"verdicts":', '\\"verdict\\": ', '"my verdict":', "[ ] \"verdict\":",
        '{"previous": 2, "verdict":')
QUOTES = ('"', '"', '"', "'", '\\"', '" ', "\u201c", "")
FENCES = ("```", "```", "``", "````", "~~~", "~~~~", "~~", "`~~", "<!--", "<!--", "<!-", "<!---", "-->", "--")
INFOS = ("", "", "", " ", "\t", " py", "`", " `", "~", ">", "->", "-->", " x -->", "\r", "\u00a0", "\f", " verdict: approve")
PIECES = (
    "===", "==", "=", "VERDICT", M, M + " ", "APPROVE", "REQUEST_CHANGES", "REQUEST", "CHANGES", "NOT", "REJECT", "LGTM", " ", " ", " ", "\t", "_", "-", ":",
    ".", "*", "`", "/", "|", "> ", "# ", "1.", "2)", "12", "[x]", "[ ]", "(", ")", "<VALUE>", "<", ">", "!", "\\", "\u2014", "\uff1a", T, OTHER, "x",
    "Final ", "Verdict: ", "Decision: ", "```", "~~~", "<!--", "-->", "\u5224\u5b9a", "\r", "\u200b", "\u0301", "\u2028", "\x1b[1m", "\n", "\n", "\n",
)
# Reports with a place, the @, where each character in turn may stand.
SWEEPS = (
    "\x1b[@m" + A, A + "\n@", "@" + A, "   @" + A, "#@" + A, "#@ " + A, "x@" + A, "===@VERDICT=== APPROVE", "===VERDICT@=== APPROVE",
    M + "@APPROVE", M + " @APPROVE", A + "@", A + " @", A + "@" + T, A + " @" + T, A + "@ " + T, A + " " + T + "@", A + " @" + T[1:],
    R + "@", R + " @", R + "@APPROVE", M + "@REQUEST_CHANGES", M + " REQUEST@CHANGES", R + "@" + T, M + "@ LGTM", M + "@",
    "@" + M + " LGTM", "1@" + M + " LGTM", "@." + M + " LGTM", "1.@" + M + " LGTM", "1@." + M + " LGTM", A + ":@@@@@@@@ ", A + ":@" + T[1:],
    "x " + M + "@APPROVE\n" + A, "x " + A + "@\n" + A, "x " + M + " NOT@APPROVE\n" + A, "x " + M + " REJECT@\n" + A,
    M + "@<value>\n" + A, M + " <value@\n" + A, M + " <value>@REJECT", "VERDICT@APPROVE", "VERDICT@REQUEST_CHANGES", "VERDICT:@APPROVE",
    "VERDICT: NOT@APPROVED\n" + A, "REQUEST_CHANGES@" + T + "\n" + A, "REQUEST_CHANGES " + T + "@\n" + A, A + "\n\u277f@",
    "@VERDICT: APPROVE", "VERDICT: APPROVE@", "VERDICT: APPROVE_@", "VERDICT: REQUEST@CHANGES", "REQUEST@CHANGES\n" + A,
    "CHANGES@REQUESTED\n" + A, "@REQUEST_CHANGES\n" + A, "REQUEST_CHANGES@\n" + A, "REQUEST_CHANGES 1@\n" + A, "1@ REQUEST_CHANGES\n" + A,
    "[@] REQUEST_CHANGES\n" + A, "[x@ REJECT, x\n" + A, "@[x] REJECT, x\n" + A, "[x]@REJECT, x\n" + A, "[ @ REQUEST_CHANGES\n" + A,
    "[ ]@REQUEST_CHANGES\n" + A, "FINAL@ANSWER: REQUEST_CHANGES\n" + A, "FINAL ANSWER@ REQUEST_CHANGES\n" + A, "@VERDICT - REQUEST_CHANGES\n" + A,
    "FINAL VERDICT@REQUEST_CHANGES\n" + A, "A@: REQUEST_CHANGES\n" + A, "@VERDICT: REJECT\n" + A, "FINAL@VERDICT: REJECT\n" + A,
    "VERDICT@REJECT\n" + A, "VERDICT: REJECT@\n" + A, "VERDICT: REJECT@x\n" + A, "VERDICT: REJECT @x\n" + A, "VERDICT: REJECT@ x\n" + A,
    "VERDICT: NO@GO\n" + A, "VERDICT: DON@T SHIP\n" + A, "VERDICT: NOT READY@FOR MERGE\n" + A, "VERDICT: REJECT BECAUSE@x\n" + A,
    "VERDICT@\nREJECT, x\n" + A, "@VERDICT\nREJECT, x\n" + A, "VERDICT\n@REJECT, x\n" + A, "VERDICT\n@\nREJECT, x\n" + A,
    '@verdict":"reject"\n' + A, '"verdict"@:"reject"\n' + A, '"verdict"@"reject"\n' + A, '"verdict":"@reject"\n' + A,
    '"verdict":"reject@"\n' + A, "@PREVIOUS VERDICT: REJECT\n" + A, "PREVIOUS@VERDICT: REJECT\n" + A, "VERDICT: REQUEST\\@CHANGES\n" + A,
    "``@\n" + A, "@```\n" + A, "   @```\n" + A, "```@\n" + A, "```\n```@\n" + A, "```\n@```\n" + A, "<!-@\n" + A, "@<!--\n" + A,
    "<!-- --@\n" + A, "```\nx\n```@\nVERDICT: REQUEST_CHANGES", "Verdict: [@] REJECT\n" + A, 'x {"verdict":@"reject"}\n' + A,
    M + " <value> APPROV@\n" + A, M + " <value> REJEC@\n" + A, "LAST@VERDICT - REQUEST_CHANGES\n" + A, "Decision: REJECT@x\n" + A,
    "Decision: REQUEST_CHANGES@x\n" + A, "REQUEST@CHANGES: x\n" + M, "VERDICT: NOT READY@TO MERGE x\n" + A, M + " @" + T,
)
# Characters for damage: hidden, imitating, wide, cutting, colouring, impossible.
STRANGE = (
    "\u200b", "\u00ad", "\ufeff", "\u202e", "\u0301", "\u20dd", "\u0903", "\x00", "\x07", "\u115f", "\u2800", "\u3164", "\uffff", "\u0435", "\u03f9", "\u03f2",
    "\uff1d", "\uff36", "\uff1a", "\u00a0", "\u3000", "\u1680", "\u2488", "\u00df", "\u0131", "\u017f", "\u0660", "\u216b", "\u00bd", "\u3007", "\uac00", "\uff3b",
    "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\u2028", "\u2029", "\r\n", "\n", "\x1b", "\x1b[0m", "\x1b[38;5:1m", "\x1b[K", "\x1b[?1m", "\x1b[",
    "\ud800", "\U0001f600", " ", "\t", "=", "_", "*", "`", ":", ".", "-", ">", "|", "#", "1", "x", "\\", "\\", "/", ",", "(", "[", "\"", "'", "\u2019",
)
# fmt: on


def refusal(chance: random.Random) -> str:
    """A refusal of the list, mostly whole, its words well or badly joined."""
    parts = chance.choice(REFUSING)
    words = [chance.choice(part.split()) for part in parts if chance.random() > 0.05]
    joint = chance.choice((" ", " ", " ", "", "_", "-", " - ", "\\_", "\t", "/", ".", "1."))
    text = joint.join(word for word in words if word != "?")
    return chance.choice((text, text.lower(), text.capitalize()))


def label(chance: random.Random) -> str:
    """A verdict or decision label of up to four words, one too many, and what joins them."""
    words = [*chance.choices(LABEL_WORDS, k=chance.choice((0, 1, 2, 3, 4))), chance.choice(NOUNS)]
    text = chance.choice((" ", " ", " ", ", ", "-", "_", "")).join(words)
    return chance.choice((text, text.lower(), text.capitalize()))


Slot = Union[Sequence[str], Callable[[random.Random], str]]
SHAPES: Tuple[Tuple[Slot, ...], ...] = (
    (LEADS, ITEMS, MARKERS, GAPS, VALUES, GAPS, TOKENS, TAILS),
    (LEADS, MARKERS[:2], GAPS[:6], VALUES[:2], GAPS[:6], TOKENS, TAILS[:8]),
    (("", "x ", "1. "), MARKERS, GAPS, refusal, ENDS, TOKENS),
    (LEADS, ITEMS, DATES, LABELS, SIGNS, ITEMS, VALUES[:8], TAILS),
    (LEADS, DATES, label, SIGNS, refusal, ENDS),
    (LEADS, label, SIGNS, VALUES[:8], ENDS),
    (LEADS, ITEMS, LABELS, SIGNS, ITEMS, refusal, ENDS),
    (LEADS, label, SIGNS, ("\n", "\n\n", "\n \n", "\f"), LEADS, ITEMS, refusal, ENDS),
    (LEADS, ITEMS, refusal, ENDS),
    (JSON, QUOTES, refusal, QUOTES, ENDS),
    (("", "> ", "So: "), ("Verdict", "VERDICT"), (": ", ":** `", " - ", GAPS[-3], GAPS[-2]), VALUES[:5], ENDS),
    (ITEMS, VALUES, GAPS, LABELS[:4], GAPS, VALUES, TAILS),
    (LEADS[:7], FENCES, INFOS),
)


def shaped(chance: random.Random) -> str:
    """A line that is, or nearly is, what a rule looks for."""
    return "".join(slot(chance) if callable(slot) else chance.choice(slot) for slot in chance.choice(SHAPES))


def damaged(chance: random.Random, text: str) -> str:
    """The text with a letter or sign everywhere as another that looks like it, or with one to three odd characters."""
    if chance.random() < 0.3:
        twin, char = chance.choice(list(TWINS.items()))
        return text.upper().replace(char, twin)
    for _ in range(chance.randint(1, 3)):
        at = chance.randint(0, len(text))
        new = chance.choice((chance.choice(STRANGE), chance.choice(STRANGE), chance.choice(PIECES), ""))
        text = text[:at] + new + text[at + chance.randint(0, 1) :]
    return text


def random_line(chance: random.Random) -> str:
    """A line that is not calm: a shape, a known line, or pieces in any order."""
    pieces = "".join(chance.choices(PIECES, k=chance.randint(1, 9)))
    return chance.choice((*(shaped(chance) for _ in range(4)), chance.choice(LINES), pieces))


def random_report(chance: random.Random) -> str:
    """A report of a few lines, mostly with few markers, often with an approval as its last line."""
    if chance.random() < 0.1:
        return chance.choice(SWEEPS).replace("@", chr(chance.randrange(chance.choice((0x80, 0x3000, 0x110000)))))
    wild = chance.choice((0.2, 0.5, 0.9))
    many = range(chance.choice((0, 1, 1, 2, 3, 5, 9)))
    lines = [random_line(chance) if chance.random() < wild else chance.choice(CALM) for _ in many]
    lines += [chance.choice(APPROVALS)] if chance.random() < 0.5 else []
    lines = [damaged(chance, line) if chance.random() < 0.1 else line for line in lines]
    lines += chance.choice((*[()] * 6, ("",), (" \t", ""), ("---",), ("x",)))
    return chance.choice(("", "", "", "", "\ufeff", "\x1b[0m\ufeff")) + chance.choice(("\n", "\n", "\r\n")).join(lines)


def random_reports(seed: object, number: Optional[int] = None) -> Iterator[str]:
    """So many random reports, or without end."""
    chance = random.Random(str(seed))
    return (random_report(chance) for _ in (itertools.count() if number is None else range(number)))


def short_reports(length: int, share: int = 0, shares: int = 1) -> Iterator[str]:
    """All reports of so many of LINES, or a share of them, in an order that is spread over all: a part is a sample."""
    total = len(LINES) ** length
    step = next(step for step in itertools.count(int(total * 0.618) | 1) if math.gcd(step, total) == 1)
    for turn in range(share, total, shares):
        digits = turn * step % total
        yield "\n".join(LINES[digits // len(LINES) ** place % len(LINES)] for place in range(length))


# --- What must hold for every report --------------------------------------------------------------
#
# Each statement of the contract is a function of any report, a token and a source of chance, so that .ci/fuzz.py can
# hold it against texts that no one here thought of. Time is not asserted: .ci/bench.py measures it.

APPROVED = next(rule for rule in RULES if rule.verdict == APPROVE)
COLOUR = re.compile("\x1b\\[[0-9;:]*m")
BLOCKS = [
    R,
    "> " + R,
    "1) `" + R + "`",
    "<" + R,
    "\u200b".join(R),
    R + " because it leaks",
    f"{M} - REQUEST\\_CHANGES: x",
]
BLOCKS += ["\t| ==VERDICT== request\u2011changes | " + T]


class Broken(AssertionError):
    """A statement that does not hold."""


def holds(condition: object, statement: str, report: str, token: Optional[str]) -> None:
    """Raise Broken unless the condition is true."""
    if not condition:
        raise Broken(f"{statement}, token {token}\n{report!a}\n{shown(report)}")


def agreed(report: str, token: Optional[str]) -> Reading:
    """The reading, once the second one is the same, and the rule that approves says the same by itself."""
    got, want = read_verdict(report, token), second_reading(report, token)
    holds((got.rule, got.line) == want, f"{got.rule}, {got.line} is not the second reading's {want}", report, token)
    alone = bool(APPROVED.holds(verdict_contract._read(report, token)))
    holds(alone == (got.verdict == APPROVE), "approved, by itself, is the verdict", report, token)
    COUNTED["compared reports"] += 1
    return got


def one_rule_approves(report: str, token: Optional[str], chance: random.Random) -> None:
    """Statement 1; and no other order or choice of the rules approves where they do not."""
    facts, got = verdict_contract._read(report, token), agreed(report, token)
    some = chance.sample(RULES, chance.randint(1, len(RULES)))
    other = next((rule.verdict for rule in some if rule.holds(facts)), None)
    holds(other != APPROVE or got.verdict == APPROVE, "no other order approves more", report, token)


def a_refusal_blocks(report: str, token: Optional[str], chance: random.Random) -> None:
    """Statement 2."""
    lines = report.split("\n")
    lines.insert(chance.randint(0, len(lines)), chance.choice(BLOCKS) + chance.choice(("", "\r")))
    other = "\n".join(lines)
    holds(agreed(other, token).rule == "blocked", "a refusal anywhere blocks", other, token)


def nothing_may_follow(report: str, token: Optional[str], chance: random.Random) -> None:
    """Statement 3."""
    if agreed(report, token).verdict == APPROVE:
        more = chance.choice((shaped(chance), chance.choice(STRANGE), chance.choice(PIECES)))
        if COLOUR.sub("", more).strip(" \t\r\n"):
            other = f"{report}\n{more}"
            holds(agreed(other, token).verdict != APPROVE, "nothing may follow an approval", other, token)
        for blank in ("\n", "\n \t\n", "\n\r", "\n\x1b[0m", "\n\r\n"):
            holds(find_verdict(report + blank, token) == APPROVE, "blanks may follow", report + blank, token)


def the_token_is_needed(report: str, token: Optional[str], chance: random.Random) -> None:
    """Statement 4."""
    plain = COLOUR.sub("", report)
    if find_verdict(plain, T) == APPROVE:
        end = plain.lower().rindex(T) + len(T)
        for stop in (end - 1, chance.randrange(max(0, end - 50), end), chance.randrange(end)):
            holds(agreed(plain[:stop], T).verdict != APPROVE, "no prefix approves", plain[:stop], T)
    elif T not in plain.lower():
        holds(find_verdict(report, T) != APPROVE, "no approval without the token", report, T)


def the_prompt_changes_nothing(report: str, token: Optional[str], chance: random.Random) -> None:
    """Statement 5."""
    rule = prompt_rule(token)
    holds(agreed(rule, token) == Reading(None, "not-stated", None), "the prompt states nothing", rule, token)
    if not COLOUR.sub("", report).startswith("\ufeff"):
        want, other = read_verdict(report, token), f"{rule}\n{report}"
        line = want.line and want.line + rule.count("\n") + 1
        holds(agreed(other, token) == want._replace(line=line), "the prompt above changes nothing", other, token)


def line_ends_change_nothing(report: str, token: Optional[str], chance: random.Random) -> None:
    """Statement 6, of a report without escapes and with none but plain line ends."""
    plain = re.sub("\r+(\n|$)", "\\1", report.replace("\x1b", "")).lstrip("\ufeff")
    at, crlf = chance.randint(0, len(plain)), plain.replace("\n", "\r\n")
    want = agreed(plain, token)
    for other in (
        *(crlf, plain + "\r", crlf + "\r", "\ufeff" + plain, "\x1b[1;31m\ufeff" + plain, plain + " \t"),
        *(plain[:at] + "\x1b[0m" + plain[at:], "\x1b[4:3m".join(crlf), plain.replace("\n", " \t\n")),
    ):
        holds(read_verdict(other, token) == want, f"line ends and colours leave {want}", other, token)


STATEMENTS = (
    one_rule_approves, a_refusal_blocks, nothing_may_follow, the_token_is_needed, the_prompt_changes_nothing,
    line_ends_change_nothing,
)  # fmt: skip

# A shape that is repeated until it is long, above an approval, by the rule that must then decide.
HUGE = {
    "blocked": [R + "\n"],
    "unknown-value": [M, "==VERDICT", "=" * 9 + "VERDICT" + "=" * 9],
    "contradicted": [
        "VERDICT: REQUEST_CHANGES\n", "REQUEST_CHANGES\n", "Verdict- request changes\x0c", '"verdict":"reject', "Verdict\n\nREJECT\n",
        "[x] REJECT:\n", '{"verdict":"reject"}', "\\REQUEST\\_CHANGES\\\n",
    ],
    "off-form": [M + "\n", A + "D\n", A + "\\x"],
    "repeated": [A + "\n", "a" + A],
    "open-block": ["`", "~", "``` \n", "<!--\n", "````\n```\n", "~~~ `\n"],
    "approved": [
        "=", "VERDICT", " ", "\t", "``` ", "#", "\x1b", "\x1b[", "\x1b[1;", "\u0301", "e\u0301\n", "\x0c", "\r", "\x85", "\\", "\\_", "_",
        "-", "REQUEST_CHANGES ", "REJECT ", "REJECT, ", "NOT ", "can not be ", "needs more ", "request-", "changes_", "1.", "[x]", "[ ]",
        "a: ", "a-", "the final ", "verdict: reject ", "verdict: reject x\n", "the final verdict ", "> verdict: reject x\n", "Verdict\r\r",
        "[x] reject x\n", "- [ ] reject\n", "- [x] \n", "## Verdict\n\n", '"verdict":', '"verdict":"', '{"verdict":"no"}\n', "previous ",
        "decision | ", "=VERDICT", "VERDICT==", "VERDICT:\n", M + "<value>", "<value>", "\ufeff", "-->\n", "```\n```\n",
        '"verdict":"verdict', '"verdict" \t', "THE FINAL ", "DO NOT BE ", "CHANGES_",
    ],
}  # fmt: skip
# Where a character is put into an approval, and those that may stand there; any other must spoil it.
PLACES = [
    (A, "", "\t\n\r *.:_`"), ("", A, "\n\ufeff *=_`"), (M, "APPROVE", "\t *.:=_`"), (M + " APP", "ROVE", ""),
    ("===", "VERDICT=== APPROVE", "\t ="), ("===VERDICT", "=== APPROVE", "\t ="), ("=", "=VERDICT=== APPROVE", "="),
]  # fmt: skip


class StatementTest(unittest.TestCase):
    """What must hold for every report, tried on many."""

    def on_reports(self, statement: Callable[[str, Optional[str], random.Random], None], number: int) -> None:
        """Hold a statement against random reports, each without a token and with one."""
        chance = random.Random(statement.__name__)
        for report in random_reports(statement.__name__, int(number * SHARE)):
            statement(report, None, chance)
            statement(report, T, chance)

    def test_every_rule_decides_some(self) -> None:
        for reports in (short_reports(2), random_reports("rules", 1500)):
            self.assertEqual({rule.id for rule in RULES}, {second_reading(report)[0] for report in reports})

    def test_every_report_of_two_lines_and_some_of_more(self) -> None:
        for length, number in ((0, 1), (1, len(LINES)), (2, len(LINES) ** 2), (3, 3000), (4, 3000)):
            for report in itertools.islice(short_reports(length), int(number * SHARE) + 1):
                agreed(report, None)
                agreed(report, T)

    def test_any_ascii_character_in_any_place(self) -> None:
        for shape in SWEEPS[:: int(1 / SHARE)]:
            for code in range(128):
                agreed(shape.replace("@", chr(code)), T if T in shape else None)

    def test_only_listed_characters_go_with_an_approval(self) -> None:
        for before, behind, allowed in PLACES:
            for code in [*range(0x500), *range(0x2000, 0x2100), *range(0xFE00, 0x10000)][:: int(1 / SHARE)]:
                approves = find_verdict(before + chr(code) + behind) == APPROVE
                self.assertEqual(chr(code) in allowed, approves, f"U+{code:04X} between {before!r} and {behind!r}")

    def test_1_one_rule_approves_and_says_it_all(self) -> None:
        self.assertEqual(["approved"], [rule.id for rule in RULES if rule.verdict == APPROVE])
        self.on_reports(one_rule_approves, 3000)

    def test_2_a_refusal_anywhere_blocks(self) -> None:
        self.on_reports(a_refusal_blocks, 1200)

    def test_3_nothing_may_follow_an_approval(self) -> None:
        self.on_reports(nothing_may_follow, 1200)

    def test_4_no_approval_without_the_token(self) -> None:
        self.on_reports(the_token_is_needed, 1500)

    def test_5_the_prompt_is_no_verdict_and_changes_none(self) -> None:
        self.on_reports(the_prompt_changes_nothing, 600)

    def test_5_prompt_rule_differs_in_the_token_only(self) -> None:
        without = prompt_rule(T).replace(f" {T}", "").replace(" Copy the token after it as it stands.", "")
        self.assertEqual(prompt_rule(), without)
        self.assertEqual(2, prompt_rule().count("<value>"))

    def test_6_line_ends_and_colours_change_nothing(self) -> None:
        self.on_reports(line_ends_change_nothing, 800)

    def test_7_any_text_at_all_is_read(self) -> None:
        chance = random.Random(7)
        for _ in range(int(300 * SHARE)):
            report = "".join(map(chr, chance.choices(range(0x110000), k=30)))
            self.assertIn(agreed(report, None).verdict, (APPROVE, REQUEST_CHANGES, AMBIGUOUS, None))
            self.assertNotEqual(APPROVE, agreed(f"{A}\n{report}", T).verdict)
        everything = "".join(map(chr, [*range(0x30000), *range(0x30000, 0x110000, 99)]))
        self.assertEqual("not-stated", read_verdict(everything).rule)

    def test_8_huge_hostile_shapes_are_read(self) -> None:
        for rule, shapes in HUGE.items():
            for shape in shapes:
                times = int(SHARE * 100_000) // len(shape) | 1
                self.assertEqual(rule, read_verdict(f"{shape * times}\n{A}").rule, ascii(shape))
                COUNTED["huge reports"] += 1


# --- The other public names -----------------------------------------------------------------------


class FunctionTest(unittest.TestCase):
    def test_none_reads_like_an_empty_report(self) -> None:
        self.assertEqual(Reading(None, "not-stated", None), read_verdict(None))
        self.assertEqual(read_verdict(""), read_verdict(None, T))

    def test_reports_of_another_type_are_refused(self) -> None:
        odd: Tuple[Any, ...] = (A.encode(), bytearray(b"x"), 0, False, [A], {}, object())
        functions: Tuple[Callable[[Any], object], ...] = (read_verdict, find_verdict, verdict_line)
        for report, function in itertools.product(odd, functions):
            with self.assertRaisesRegex(TypeError, f"decode it first: {type(report).__name__}"):
                function(report)

    TAKE_A_TOKEN: Tuple[Callable[[Any], object], ...] = (
        prompt_rule,
        lambda token: read_verdict(A, token),
        lambda token: find_verdict("", token),
        lambda token: verdict_line(None, token),
    )

    def test_malformed_tokens_are_refused(self) -> None:
        short, long, odd_digits = "7f3a9c2", "a" * 65, ("7f3a9c2b4e5d607\u0661", "\uff17" * 8)
        for token in ("", short, long, "7f3a9c2g", " 7f3a9c2b", "7f3a9c2b\n", "7f3a 9c2b", *odd_digits):
            for function in self.TAKE_A_TOKEN:
                with self.assertRaisesRegex(ValueError, "8 to 64 hex digits"):
                    function(token)

    def test_tokens_of_another_type_are_refused(self) -> None:
        odd: Tuple[Any, ...] = (b"7f3a9c2b", b"", 12345678, 0, False, [])
        for token, function in itertools.product(odd, self.TAKE_A_TOKEN):
            with self.assertRaisesRegex(TypeError, f"not {type(token).__name__}"):
                function(token)

    def test_tokens_of_8_and_of_64_are_taken(self) -> None:
        for token in ("01234567", "abcdefAB", "ABCDEF89" * 8):
            self.assertEqual(Reading(APPROVE, "approved", 1), read_verdict(f"{A} {token.swapcase()}", token))

    def test_combine_two(self) -> None:
        other = "SHIP IT"
        for first, second, want in (
            (APPROVE, APPROVE, APPROVE),
            (APPROVE, AMBIGUOUS, AMBIGUOUS),
            (APPROVE, None, AMBIGUOUS),
            (APPROVE, other, AMBIGUOUS),
            (AMBIGUOUS, AMBIGUOUS, AMBIGUOUS),
            (AMBIGUOUS, None, AMBIGUOUS),
            (other, None, AMBIGUOUS),
            (None, None, None),
            (REQUEST_CHANGES, REQUEST_CHANGES, REQUEST_CHANGES),
            (REQUEST_CHANGES, APPROVE, REQUEST_CHANGES),
            (REQUEST_CHANGES, AMBIGUOUS, REQUEST_CHANGES),
            (REQUEST_CHANGES, None, REQUEST_CHANGES),
            (REQUEST_CHANGES, other, REQUEST_CHANGES),
        ):
            self.assertEqual(want, combine([first, second]), (first, second))
            self.assertEqual(want, combine(iter((second, first))), (second, first))

    def test_combine_none_one_and_many(self) -> None:
        self.assertIsNone(combine([]))
        self.assertIsNone(combine(()))
        for verdict in (APPROVE, REQUEST_CHANGES, AMBIGUOUS, None):
            self.assertEqual(verdict, combine([verdict]))
        self.assertEqual(APPROVE, combine([APPROVE] * 5))
        self.assertEqual(AMBIGUOUS, combine([APPROVE, APPROVE, None]))
        self.assertEqual(AMBIGUOUS, combine(["", ""]))
        self.assertEqual(REQUEST_CHANGES, combine([APPROVE, None, AMBIGUOUS, REQUEST_CHANGES]))

    def test_exit_code_is_0_for_the_word_alone(self) -> None:
        class Loud(str):
            pass

        self.assertEqual(0, exit_code(APPROVE))
        self.assertEqual(0, exit_code(Loud(APPROVE)))
        self.assertEqual(3, exit_code(REQUEST_CHANGES))
        words = (AMBIGUOUS, "", "approve", " APPROVE", "APPROVED", Loud("x"))
        others: Tuple[Any, ...] = (None, b"APPROVE", 0, False, True, 3, [], {}, [APPROVE], (APPROVE,), object())
        for verdict in (*words, *others, Reading(APPROVE, "approved", 1)):
            self.assertEqual(4, exit_code(verdict), repr(verdict))

    def test_new_token_is_drawn_anew(self) -> None:
        drawn = {new_token() for _ in range(200)}
        self.assertEqual(200, len(drawn))
        for token in drawn:
            self.assertRegex(token, r"\A[0-9a-f]{16}\Z")
        self.assertEqual(APPROVE, find_verdict(f"{A} {token}", token))

    def test_diff_token_is_the_start_of_the_sha_256(self) -> None:
        for diff in (b"", b"-old\n+new\n", b"\xff\x00\r\n", os.urandom(99)):
            self.assertEqual(hashlib.sha256(diff).hexdigest()[:16], diff_token(diff))
            self.assertEqual(diff_token(diff), diff_token(diff.decode("utf-8", "surrogateescape")))
        self.assertEqual(diff_token("Gr\u00f6\u00dfe".encode()), diff_token("Gr\u00f6\u00dfe"))
        self.assertNotEqual(diff_token(b"a\n"), diff_token(b"a\r\n"))
        with self.assertRaises(ValueError):
            diff_token("\ud800")
        for odd in (None, 5, ["diff"]):
            with self.assertRaises(TypeError):
                diff_token(odd)  # type: ignore[arg-type]

    def test_prompt_rule_says_what_is_read(self) -> None:
        self.assertEqual(PROMPT_RULE, prompt_rule())
        self.assertEqual(["", "===VERDICT=== <value>", ""], PROMPT_RULE.split("\n")[1:4])
        self.assertIn("\nFor <value> write", PROMPT_RULE)
        self.assertEqual(f"===VERDICT=== <value> {T}", prompt_rule(T).split("\n")[2])
        for place in ("exactly one line", "very last line", "exactly once", "nothing after it", "marker nowhere else"):
            self.assertIn(place, PROMPT_RULE)
        for form in ("one of two words and nothing else", "plain text", "in English", "in another language"):
            self.assertIn(form, PROMPT_RULE)
        for meaning in ("\nWrite APPROVE if nothing in", "\nWrite REQUEST_CHANGES if anything in"):
            self.assertIn(meaning, PROMPT_RULE)
        self.assertIn("Copy the token", prompt_rule(T))
        self.assertNotIn("token", PROMPT_RULE)
        self.assertEqual(PROMPT_RULE.split("\n")[5:], prompt_rule(T).split("\n")[5:])

    def test_prompt_rule_and_parser_are_made_of_the_same_words(self) -> None:
        source = Path(verdict_contract.__file__).read_text(encoding="utf-8")
        names: Dict[str, Any] = {"__name__": "renamed"}
        for word, other in (("APPROVE", "SHIP"), ("REQUEST_CHANGES", "HOLD_CHANGES"), ("_VERDICT", "RULING")):
            source, times = re.subn(rf'^{word} = "\w+"$', f'{word} = "{other}"', source, flags=re.MULTILINE)
            self.assertEqual(1, times, word)
        exec(compile(source, "renamed", "exec"), names)  # the parser with other words
        for said in ("\n===RULING=== <value>\n", "\nWrite SHIP if", "\nWrite HOLD_CHANGES if"):
            self.assertIn(said, names["PROMPT_RULE"])
        for value in ("SHIP", "HOLD_CHANGES"):
            self.assertEqual(value, names["find_verdict"](f"===RULING=== {value}"))
        self.assertEqual("AMBIGUOUS", names["find_verdict"]("===RULING=== APPROVE"))
        self.assertIsNone(names["find_verdict"](A))

    def test_no_rule_text_reads_as_a_verdict(self) -> None:
        for rule in RULES:
            self.assertIsNone(find_verdict(f"VERDICT: AMBIGUOUS !! {rule.id}: {rule.when}"), rule.id)

    def test_verdict_line_is_one_printable_line_for_every_row(self) -> None:
        for row in ROWS:
            said = verdict_line(row.report, row.token)
            self.assertTrue(said.isprintable() and said.isascii(), row.id)
            if row.verdict in (APPROVE, REQUEST_CHANGES):
                self.assertEqual(f"VERDICT: {row.verdict}", said)
                continue
            when = next(rule.when for rule in RULES if rule.id == row.rule)
            place = f"{row.rule}, line {read_verdict(row.report, row.token).line}" if row.verdict else row.rule
            self.assertEqual(f"VERDICT: {row.verdict or '(not stated)'} !! {place}: {when}; read the report", said)

    def test_find_verdict_is_the_verdict_of_read_verdict(self) -> None:
        for row in ROWS:
            self.assertEqual(row.verdict, find_verdict(row.report, row.token), row.id)

    def test_public_names_exist(self) -> None:
        names = {"PROMPT_RULE", "RULES", "APPROVE", "REQUEST_CHANGES", "AMBIGUOUS", "Reading", "Rule"}
        names |= {"prompt_rule", "new_token", "diff_token", "read_verdict", "find_verdict", "verdict_line"}
        self.assertEqual(names | {"combine", "exit_code"}, set(verdict_contract.__all__))
        self.assertRegex(verdict_contract.__version__, r"\A\d+\.\d+\.\d+\Z")
        self.assertEqual(["APPROVE", "REQUEST_CHANGES", "AMBIGUOUS"], [APPROVE, REQUEST_CHANGES, AMBIGUOUS])


# --- What starts processes, for every file of tests -----------------------------------------------
#
# A test sees none of the caller's settings: under a git hook GIT_DIR names the caller's repository, and a variable of
# Python's can hide a fault. Whoever writes tests under examples/ uses these names.

POSIX = os.name == "posix"
# Without site, as is documented: it takes most of the time of a start, and is not ours.
PYTHON = [sys.executable, "-S"]
PYTHON += [f"-W{option}" for option in sys.warnoptions]
PYTHON += ["-" + "b" * sys.flags.bytes_warning] * bool(sys.flags.bytes_warning)
PYTHON += ["-" + "O" * sys.flags.optimize] * bool(sys.flags.optimize)
# What starts a command as a parent may that does not wait for its children: their status is lost, unless it asks for it.
IGNORING = [
    *(sys.executable, "-ISEc"),
    "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execvp(sys.argv[1], sys.argv[1:])",
]
SHARE = 1.0  # of the random reports; --quick takes fewer
ROOM = 256 << 20  # bytes that the temporary folder should have: the limits that are tested lie at 64 MiB
SPACE = 32 << 20  # bytes without which no test that makes files is run
FOREIGN = ("PYTHON", "GIT_", "GITHUB_", "VERDICT_", "CDPATH", "XDG_", "BASH_ENV")  # beginnings of names
NO_ROOM = "the temporary folder has too little room"
NO_SUCH_NAME = "no file can have such a name here"
Process = subprocess.CompletedProcess


def empty_home() -> str:
    """An empty folder for this run, which is removed at its end."""
    if not _HOMES:
        _HOMES.append(tempfile.mkdtemp(prefix="verdict-home-"))
        atexit.register(shutil.rmtree, _HOMES[0], ignore_errors=True)
    return _HOMES[0]


_HOMES: List[str] = []


def clean_environment(**more: str) -> Dict[str, str]:
    """The environment of an ordinary user: none of the caller's settings for Python, git or CI, and an empty home."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    own = {"HOME": empty_home(), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": tempfile.gettempdir()}
    return {**kept, **own, **more}


def process(*command: Any, **options: Any) -> "Process[bytes]":
    """Run a command to its end in the clean environment, with its output caught. Skips what the locale cannot hold."""
    try:
        words = [os.fsencode(word) for word in command]
    except UnicodeEncodeError as error:
        raise unittest.SkipTest(NO_SUCH_NAME) from error
    streams = {} if "input" in options else {"stdin": subprocess.DEVNULL}
    streams.update(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    options = {"env": clean_environment(), "check": False, "timeout": 60, **streams, **options}
    return subprocess.run(words, **options)  # noqa: PLW1510  (it is among the options)


def captured(run: Callable[[], int], encoding: str = "utf-8") -> Tuple[int, str, str]:
    """The status of what runs within this process, and what it wrote to its streams; what it did not flush is missed."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding, errors, "\n") for errors in ("strict", "backslashreplace"))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run()
    written = [stream.buffer.getvalue().decode(encoding) for stream in (out, err)]
    return status, written[0], written[1]


def inside(program: ModuleType, *arguments: str, encoding: str = "utf-8") -> Tuple[int, str, str]:
    """Run a program within this process, which spares a start. Returns its status and what it wrote to its streams."""

    def run() -> int:
        try:
            return verdict_check.ended(program.PROGRAM, lambda: program.main(arguments))
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else 1

    handlers = {number: signal.getsignal(number) for number in signal.Signals}
    try:
        return captured(run, encoding)
    finally:
        for number, handler in handlers.items():
            if signal.getsignal(number) != handler:
                signal.signal(number, handler)


def git(folder: Any, *arguments: Any, **options: Any) -> str:
    """What git prints in a folder of the test's own, stripped. Raises AssertionError where git fails or is not ours."""
    if not os.path.realpath(folder).startswith(os.path.realpath(tempfile.gettempdir()) + os.sep):
        raise AssertionError(f"git would run in {folder}, which is no folder of a test")
    ran = process("git", "-C", folder, *arguments, **options)
    if ran.returncode:
        raise AssertionError(f"git {arguments}: {ran.stderr.decode('utf-8', 'replace')}")
    return os.fsdecode(ran.stdout).strip()


@functools.lru_cache(None)
def runs_programs(place: str) -> bool:
    """Whether a script in a temporary folder can be started: it may be mounted noexec."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        script = Path(folder, "script")
        script.write_text("#!/bin/sh\n", encoding="ascii")
        script.chmod(0o755)
        with contextlib.suppress(OSError):
            return process(script).returncode == 0
    return False


def has_room(place: str) -> bool:
    """Whether a folder can take a file as large as a test makes one: the user may have set a limit (ulimit -f)."""
    with contextlib.suppress(OSError), tempfile.TemporaryFile(dir=place) as file:
        file.truncate(ROOM)
        return shutil.disk_usage(place).free > ROOM
    return False


def need_space() -> None:
    """Skip a test, or a class of tests, that makes files where there is no space for them."""
    if shutil.disk_usage(tempfile.gettempdir()).free < SPACE:
        raise unittest.SkipTest(NO_ROOM)


def remove(folder: str) -> None:
    """Remove a folder, also one whose folders were made read-only."""
    for path, _, _ in os.walk(folder):
        with contextlib.suppress(OSError):
            os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


@functools.lru_cache(None)
def fit_folder() -> str:
    """The first usual folder for temporary files that has room and can hold programs, else the system's own choice.

    A colon in its name would end an entry of PATH.
    """
    places = [os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")] + ["/tmp", "/var/tmp"]
    usable = [place for place in places if place and os.path.isdir(place) and os.access(place, os.W_OK)]
    usable = [place for place in usable if os.pathsep not in os.path.realpath(place)]
    fit = (place for place in usable if has_room(place) and runs_programs(place))
    return next(fit, tempfile.gettempdir())


def own_copy(source: Path, target: Path) -> Path:
    """A copy of a checkout that the test may change, also where the checkout is read-only. Returns its folder."""
    need_space()
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(".git", "tools", "__pycache__", ".*_cache"))
    for path, _, files in os.walk(target):
        for name in [path, *(os.path.join(path, file) for file in files)]:
            os.chmod(name, os.stat(name).st_mode | 0o600)
    return target


def path_with_python(folder: Path) -> str:
    """A PATH on which python3 is the Python of this run, by a script in the folder."""
    folder.mkdir(exist_ok=True)
    python = folder / "python3"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


NEEDS_GIT = unittest.skipUnless(shutil.which("git"), "no git here")
NEEDS_ROOM = unittest.skipUnless(has_room(fit_folder()), NO_ROOM)
NEEDS_PROGRAMS = unittest.skipUnless(
    POSIX and runs_programs(fit_folder()), "no program can be started from the temporary folder"
)


class Scratch(unittest.TestCase):
    """A test with a folder of its own, which is removed after it."""

    def setUp(self) -> None:
        need_space()
        temporary = tempfile.mkdtemp()
        self.addCleanup(remove, temporary)
        self.folder = Path(os.path.realpath(temporary))


# --- The command line: calls as rows, then what takes a real process ------------------------------

CANARY = "canary-of-the-report"
HOSTILE = f"{CANARY}\n::error::{CANARY}\n::add-mask::APPROVE\n##[error]{CANARY}\n\x1b]0;{CANARY}\x07\n"
CHECK = HERE / "verdict_check.py"
DIFF = b"--- a/x\n+++ b/x\n-old\r\n+new\xff\n"
GRUSS = f"Gr\u00f6\u00dfe \U0001f680 \u4e2d\u6587\r\n\r\n{A}\r\n"
MARKED = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
NO_FILE, NO_SPACE, NO_ACCESS = (os.strerror(number) for number in (errno.ENOENT, errno.ENOSPC, errno.EACCES))
A_FOLDER = os.strerror(errno.EISDIR) if POSIX else NO_ACCESS
LINUX = sys.platform == "linux"  # where a name is bytes, of any kind
HASHES = "#\\x23"  # what is printed for ## where a log might take it for a command
BAD_TOKEN = "--token: a token is 8 to 64 hex digits (--help shows the usage)"

# The files that a call may name. Text stands behind hostile lines, of which nothing may be printed.
FILES: Dict[str, Any] = {
    "a": A, "b": f"**{A}**", "c": A, "r": R, "n": "", "m": FINE, "x": A + " maybe", "q": "> " + A, "old": OLD_APPROVE,
    "t": f"{A} {T}", "d": f"{A} {diff_token(DIFF)}", "diff": DIFF, "amended": DIFF + b"\n",
    "empty": b"", "blank": b" \r\n\t", "-": A, "./-": R,  # standard input, and a file of its name
    "stray": b"Gr\xf6\xdfe gut\n" + A.encode(), "stray-end": A.encode() + b"\xff",
    "half": ("\ufeff" + A).encode("utf-16-le") + b"\x00", "latin-1": A.replace("V", "\u00d6").encode("latin-1"),
    "unmarked-le": A.encode("utf-16-le"), "unmarked-be": A.encode("utf-16-be"), "plain": GRUSS.encode(),
    **{codec: ("\ufeff" + GRUSS).encode(codec) for codec in MARKED},
    **{codec: GRUSS.encode(codec) for codec in ("utf-8-sig", "utf-16", "utf-32")},
    **{f"block-{codec}": f"\ufeff\u00df\n{R}".encode(codec) for codec in MARKED},
}  # fmt: skip


def content(name: str) -> bytes:
    """What stands in one of FILES."""
    text = FILES[name]
    return text if isinstance(text, bytes) else (HOSTILE + text).encode()


def heard(name: str, token: Optional[str] = None) -> Reading:
    """What one of FILES has to read as."""
    return read_verdict(verdict_check.decode(content(name)), token)


def said(name: str, token: Optional[str] = None) -> str:
    """What is printed for one report alone."""
    return f"{heard(name, token)}\n"


def panel(names: str, verdict: str, agree: int = 0, unread: int = 0) -> str:
    """What is printed for several: a line for each that can be read, and the panel's."""
    lines = [f"{name}: {heard(name)}\n" for name in names.split() if name in FILES]
    more = f", {unread} cannot be read" if unread else ""
    why = "" if verdict == APPROVE else f" !! {agree} of {len(names.split())} approve{more}; read the reports"
    return "".join(lines) + f"PANEL: {verdict}{why}\n"


def as_object(code: int, verdict: Optional[str], names: str) -> str:
    """What --json prints."""
    reports: List[Dict[str, Any]] = []
    for name in names.split():
        unread = {"verdict": None, "rule": None, "line": None, "message": "cannot be read"}
        read = {**heard(name)._asdict(), "message": str(heard(name))} if name in FILES else unread
        reports.append({"report": name, **read})
    whole = {"verdict": verdict, "exit_code": code, "reports": reports, "version": verdict_contract.__version__}
    return json.dumps(whole) + "\n"


def note(name: str) -> str:
    """The annotation for one of FILES, or for one that is missing."""
    if name not in FILES:
        return f"::error file={name}::cannot be read\n"
    reading = heard(name)
    line = f",line={reading.line}" if reading.line else ""
    return f"::{'notice' if reading.verdict == APPROVE else 'error'} file={name}{line}::{reading}\n"


class Call(NamedTuple):
    """A call of verdict_check.py where FILES are, and what it has to come to."""

    name: str
    code: int
    arguments: Any  # a list, or a str to be split at blanks
    out: str = ""
    err: Sequence[str] = ()  # a line each, without the name of the program
    stdin: Optional[bytes] = None  # if given, the call is a real process
    env: Optional[Dict[str, str]] = None


# fmt: off
CALLS = [
    Call("an approval", 0, "a", "VERDICT: APPROVE\n"),
    Call("a block", 3, "r", "VERDICT: REQUEST_CHANGES\n"),
    Call("nothing stated", 4, "n", said("n")),
    Call("a doubt behind it", 4, "x", said("x")),
    Call("an older prompt's approval", 4, "old", said("old")),
    Call("an empty file", 4, "empty", said("empty")),
    Call("an empty input", 4, "-", said("empty"), stdin=b""),
    Call("an approval on standard input", 0, "-", "VERDICT: APPROVE\n", stdin=A.encode()),
    Call("a block on standard input", 3, "-", "VERDICT: REQUEST_CHANGES\n", stdin=R.encode()),

    Call("a panel approves", 0, "a b c", panel("a b c", "APPROVE")),
    Call("a panel with a block", 3, "a r", panel("a r", "REQUEST_CHANGES", 1)),
    Call("a block, and silence", 3, "r n", panel("r n", "REQUEST_CHANGES", 0)),
    Call("an approval, and silence", 4, "a n", panel("a n", "AMBIGUOUS", 1)),
    Call("silence twice", 4, "n m", panel("n m", "(not stated)", 0)),
    Call("a panel with standard input", 3, "r -", panel("r -", REQUEST_CHANGES, 1), stdin=content("-")),
    Call("standard input and a file of its name", 3, "- ./-", panel("- ./-", REQUEST_CHANGES, 1), stdin=content("-")),

    Call("its token", 0, f"--token {T} t", "VERDICT: APPROVE\n"),
    Call("its token in capitals", 0, f"--token {T.upper()} t", "VERDICT: APPROVE\n"),
    Call("a token is lacking", 4, f"--token {T} a", said("a", T)),
    Call("another token", 4, f"--token {OTHER} t", said("t", OTHER)),
    Call("a token for which nobody asked", 4, "t", said("t")),
    *(Call(f"a malformed token, {bad!a}", 2, ["--token", bad, "a"], err=[BAD_TOKEN])
      for bad in ("", "short", "7", "7f3a9c2", "a" * 65, T + "\n", "::error::x")),
    Call("its diff", 0, "--diff diff d", "VERDICT: APPROVE\n"),
    Call("an amended diff", 4, "--diff amended d", said("d", diff_token(DIFF + b"\n"))),
    Call("a diff's token is lacking", 4, "--diff diff a", said("a", diff_token(DIFF))),
    Call("a diff on standard input", 0, "--diff - d", "VERDICT: APPROVE\n", stdin=DIFF),
    Call("another diff on standard input", 4, "--diff - d", said("d", diff_token(b"+y")), stdin=b"+y"),
    *(Call(f"a diff, {what}", 1, ["--diff", diff, "a", "r"],
           panel("gone off", "(not read)", 0, 2), [f"{diff}: {why}"])
      for what, diff, why in (("missing", "gone", NO_FILE), ("a folder", ".", A_FOLDER), ("no name", "", NO_FILE),
                              ("empty", "empty", "the diff is empty"), ("blank", "blank", "the diff is empty"))),

    Call("json", 4, "a x --json", as_object(4, AMBIGUOUS, "a x")),
    Call("json of one", 0, "--json a", as_object(0, APPROVE, "a")),
    Call("json with a missing report", 1, "a gone --json", as_object(1, None, "a gone"), [f"gone: {NO_FILE}"]),
    Call("quiet approval", 0, "--quiet a"),
    Call("quiet block", 3, "--quiet r"),
    Call("quiet silence", 4, "n --quiet"),
    Call("quiet and missing", 1, "gone --quiet", err=[f"gone: {NO_FILE}"]),

    Call("help", 2, "--help", verdict_check.USAGE + "\n"),
    Call("help and a report", 2, "a -h", verdict_check.USAGE + "\n"),
    Call("version", 2, "--version", verdict_contract.__version__ + "\n"),
    Call("version and a report", 2, "--version a", verdict_contract.__version__ + "\n"),
    Call("unknown option", 2, "--no a", err=["unrecognized arguments: --no (--help shows the usage)"]),
    *(Call(f"a file twice, {what}", 2, files, err=[f"named twice: {files[0]} (--help shows the usage)"])
      for what, files in (("alike", "a a"), ("by another name", "a ./a"), ("later", "b a ./b"), ("as diff", "a --diff a"))),
    Call("no report", 2, "", err=["the following arguments are required: REPORT (--help shows the usage)"]),
    Call("a missing file twice, sorted before -", 2, "+ ./+", err=["named twice: + (--help shows the usage)"]),
    Call("a missing file twice", 2, "gone ./gone", err=["named twice: gone (--help shows the usage)"]),
    Call("standard input twice", 2, "- a -", err=["named twice: - (--help shows the usage)"], stdin=A.encode()),
    Call("standard input, also as diff", 2, "- --diff -", err=["named twice: - (--help shows the usage)"], stdin=b"x"),

    Call("a missing report", 1, "gone", err=[f"gone: {NO_FILE}"]),
    Call("the others are read", 1, "a gone r", panel("a gone r", "(not read)", 1, 1), [f"gone: {NO_FILE}"]),
    Call("several are missing", 1, "gone off a", panel("gone off a", "(not read)", 1, 2),
         [f"gone: {NO_FILE}", f"off: {NO_FILE}"]),
    Call("a folder", 1, ".", err=[f".: {A_FOLDER}"]),
    Call("an empty name", 1, [""], err=[f": {NO_FILE}"]),
    Call("a NUL in the name", 1, ["a\0b"], err=["a\\x00b: embedded null byte"]),
    Call("a name that commands a log", 1, ["##[x]\x1b"], err=[f"{HASHES}[x]\\x1b: {NO_FILE}"]),

    Call("every mark of UTF", 0, [*MARKED, "utf-8-sig", "utf-16", "utf-32", "plain"],
         panel(" ".join([*MARKED, "utf-8-sig", "utf-16", "utf-32", "plain"]), "APPROVE")),
    Call("lines in every UTF", 3, ["--json", *(f"block-{codec}" for codec in MARKED)],
         as_object(3, REQUEST_CHANGES, " ".join(f"block-{codec}" for codec in MARKED))),
    Call("UTF-16 without a mark", 4, "unmarked-le", said("unmarked-le")),
    Call("UTF-16 without a mark, the other", 4, "unmarked-be", said("unmarked-be")),
    Call("a stray byte above", 0, "stray", "VERDICT: APPROVE\n"),
    Call("a stray byte behind", 4, "stray-end", said("stray-end")),
    Call("half a character behind", 4, "half", said("half")),
    Call("a stray byte within", 4, "latin-1", said("latin-1")),

    Call("no files of GitHub's", 0, "--github a", said("a") + note("a")),
    Call("no names of GitHub's files", 0, "--github a", said("a") + note("a"),
         env={"GITHUB_OUTPUT": "", "GITHUB_STEP_SUMMARY": ""}),
    *(Call(f"{variable} cannot be written, {path}", 1, "--github a", said("a") + note("a"),
           [f"{variable}: {path.replace('##', HASHES)}: {why}"], env={variable: path})
      for variable in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
      for path, why in ((".", A_FOLDER), ("no/x", NO_FILE), ("##[off]/x", NO_FILE))),
]

# For GitHub: the exit code, the reports, the overall verdict, and the report whose rule and line speak for all.
JOBS = [
    (0, "a", APPROVE, "a"), (0, "a b", APPROVE, "a"), (3, "r", REQUEST_CHANGES, "r"), (4, "n", None, "n"),
    (3, "a n r", REQUEST_CHANGES, "r"), (4, "n m", None, "n"), (4, "a n", AMBIGUOUS, "n"), (4, "n q", AMBIGUOUS, "q"),
    (4, "a x q", AMBIGUOUS, "x"), (1, "gone", None, None), (1, "a gone", None, None), (1, "n gone", None, None),
]

# What is typed in a shell, and what has to come of it: the status, the output and the error output.
FULL, GONE = f"verdict_check.py: standard output: {NO_SPACE}\n", f"verdict_check.py: gone: {NO_FILE}\n"
TYPED = [
    ("a >/dev/full", 1, "", FULL), ("r --json >/dev/full", 1, "", FULL), ("--help >/dev/full", 2, "", FULL),
    ("gone 2>/dev/full", 1, "", ""), ("--no 2>/dev/full", 2, "", ""), ("a 2>/dev/full", 0, "VERDICT: APPROVE\n", ""),
    ("a >/dev/full 2>&1", 1, "", ""), ("a >/dev/full 2>&-", 1, "", ""), ("--quiet --github a >/dev/full", 0, "", ""),
    ("r >&-", 3, "", ""), ("--json a >&-", 0, "", ""), ("--version >&-", 2, "", ""), ("gone >&-", 1, "", GONE),
    ("gone 2>&-", 1, "", ""), ("--no 2>&-", 2, "", ""), ("a 2>&- <&-", 0, "VERDICT: APPROVE\n", ""),
    ("r >&- 2>&- <&-", 3, "", ""), ("- <&-", 1, "", f"verdict_check.py: -: {os.strerror(errno.EBADF)}\n"),
]
# fmt: on


def call(arguments: Sequence[str], encoding: str = "utf-8") -> Tuple[int, str, str]:
    """Call the command within this process. Returns its status and what came out."""
    return captured(lambda: verdict_check.main(arguments), encoding)


class CommandTest(Scratch):
    """verdict_check.py and verdict_contract.py as a script or a job calls them. Each of CALLS is a test."""

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        for name in FILES:
            Path(name).write_bytes(content(name))

    def put(self, name: str, text: str) -> str:
        """One more file, behind hostile lines. Returns its name; skips where that cannot be a name."""
        try:
            Path(name).write_bytes((HOSTILE + text).encode())
        except (UnicodeEncodeError, OSError):
            self.skipTest(NO_SUCH_NAME)
        return name

    def make(self, row: Call, encoding: str = "utf-8") -> Tuple[str, str]:
        """Make a call, see that nothing hostile came out of it and that 0 means approvals. Returns what it printed."""
        arguments = row.arguments.split() if isinstance(row.arguments, str) else row.arguments
        env = clean_environment(**(row.env or {}))
        if row.stdin is None:
            with unittest.mock.patch.dict(os.environ, env, clear=True):
                code, out, err = call(arguments, encoding)
        else:
            ran = process(*PYTHON, CHECK, *arguments, input=row.stdin, env=env)
            code = ran.returncode
            out, err = (stream.decode("utf-8").replace("\r\n", "\n") for stream in (ran.stdout, ran.stderr))
        self.assertEqual(row.code, code, out + err)
        self.check_inert(out, err, "--github" in arguments)
        if code == 0:
            self.check_approvals(arguments, row.stdin)
        return out, err

    def check_inert(self, out: str, err: str, annotated: bool) -> None:
        """What was printed holds nothing of a report, acts on no terminal, and commands no log but to annotate."""
        self.assertTrue(all(line.isprintable() for line in (out + err).split("\n")), ascii(out + err))
        self.assertIsNone(re.search(rf"{CANARY}|Traceback|Exception ignored|##\w*\[", out + err), out + err)
        commands = {line for line in (out + err).splitlines() if line.lstrip().startswith("::")}
        told = {line for line in commands if re.match("::(error|notice) file=", line)}
        self.assertEqual(told if annotated else set(), commands)

    def check_approvals(self, arguments: Sequence[str], stdin: Optional[bytes]) -> None:
        """Exit 0 takes at least one report, and an approval in each: nothing else exits 0."""
        given = dict(zip(arguments, arguments[1:]))
        diff = given.get("--diff")
        token = diff_token((stdin or b"") if diff == "-" else Path(diff).read_bytes()) if diff else given.get("--token")
        values = {given.get("--diff"), given.get("--token")}
        reports = [word for word in arguments if not word.startswith("--") and word not in values]
        self.assertTrue(reports)
        for report in reports:
            text = verdict_check.decode((stdin or b"") if report == "-" else Path(report).read_bytes())
            self.assertEqual(APPROVE, find_verdict(text, token), report)

    def check(self, row: Call) -> None:
        """Make a call, and compare what it printed to the letter."""
        self.assertEqual((row.out, "".join(f"verdict_check.py: {line}\n" for line in row.err)), self.make(row))

    def test_each_call_is_a_test(self) -> None:
        own = [value for value in vars(CommandTest).values() if getattr(value, "__name__", "") == "<lambda>"]
        self.assertEqual(len(CALLS), len(own))

    # Calls that need more than the files

    def test_wrong_usage_is_one_line(self) -> None:
        for options in (["--nonsense"], ["--tok", T], ["--json", "--quiet"], ["--token", T, "--diff", "diff"],
                        ["--::error::x"], ["--\x1b[2J"], ["--##[error]x"], ["--a\nb"]):  # fmt: skip
            out, err = self.make(Call("", 2, ["a", *options]))
            self.assertEqual(("", 1), (out, err.count("\n")), err)
        for arguments in ([], ["--token"], ["a", "--diff"]):
            out, err = self.make(Call("", 2, arguments))
            self.assertEqual(("", 1), (out, err.count("\n")), err)

    def test_a_file_has_one_identity(self) -> None:
        Path("folder").mkdir()
        for twin in (str(self.folder / "a"), f"../{self.folder.name}/a", "folder/../a"):
            self.check(Call("", 2, ["a", twin], err=["named twice: a (--help shows the usage)"]))
        for link in (os.link, os.symlink):
            name = link.__name__
            try:
                link("a", name)
            except OSError as error:
                self.skipTest(f"no {name} here: {error.strerror}")
            self.check(Call("", 2, ["a", name], err=["named twice: a (--help shows the usage)"]))
            self.check(Call("", 0, [name], "VERDICT: APPROVE\n"))

    @unittest.skipUnless(POSIX, "needs a POSIX shell")
    def test_standard_input_that_is_closed_is_no_file_of_its_name(self) -> None:
        status, out, err = self.typed("- ./- <&-", before="mkdir without && cd without && ")
        self.assertEqual(
            (1, "PANEL: (not read) !! 0 of 2 approve, 2 cannot be read; read the reports\n"), (status, out), err
        )

    def test_standard_input_is_a_file_too(self) -> None:
        with contextlib.suppress(OSError):
            os.link("a", "hard")
        for twin in filter(os.path.exists, ("a", "hard", "/dev/stdin")):
            with open("a", "rb") as report:
                ran = process(*PYTHON, CHECK, "-", twin, stdin=report)
            self.assertEqual((2, b""), (ran.returncode, ran.stdout), twin)
            self.assertIn(b"named twice: -", ran.stderr)

    @unittest.skipIf(not POSIX or os.geteuid() == 0, "whoever runs this may read every file")
    def test_no_permission(self) -> None:
        os.chmod("a", 0)
        self.check(Call("", 1, "a", err=[f"a: {NO_ACCESS}"]))

    @unittest.skipUnless(os.path.exists("/proc/self/mem"), "no file here that opens and then fails")
    def test_a_report_that_fails_while_it_is_read(self) -> None:
        self.check(Call("", 1, "/proc/self/mem", err=[f"/proc/self/mem: {os.strerror(errno.EIO)}"]))

    @NEEDS_ROOM
    def test_over_64_mebibytes(self) -> None:
        os.truncate("a", verdict_check.LIMIT + 1)
        self.check(Call("", 1, "a", err=["a: larger than 64 MiB"]))
        os.truncate("a", verdict_check.LIMIT)
        self.make(Call("", 4, "a"))

    @unittest.skipUnless(POSIX, "names that another system does not allow")
    def test_hostile_names_stay_text(self) -> None:
        odd = ["::error::x", " ::error::x", "##[group]x", "##vso[x]y", "%0A::error::", "a\n::error::x", "a\x85##[x]"]
        odd += ["a\r\n##[error]x", "\x1b[2Jx", "a|b`c`", "a\u2028::x::", *[os.fsdecode(b"caf\xe9\xff")] * LINUX]
        names = [self.put(name, A) for name in odd]
        for code, reports, options, lines in (
            (0, names, [], len(names) + 1),
            (0, names, ["--github"], 2 * len(names) + 1),
            (4, names, ["--token", OTHER], len(names) + 1),
            (1, [name + "~" for name in names], ["--github"], len(names) + 1),
        ):
            out, err = self.make(Call("", code, [*options, *reports]))
            self.assertEqual((lines, len(names) if code == 1 else 0), (out.count("\n"), err.count("\n")), ascii(out))
        told = json.loads(self.make(Call("", 0, ["--json", *names]))[0])
        self.assertEqual(names, [report["report"] for report in told["reports"]])

    def test_a_narrow_console(self) -> None:
        name = self.put("\u0442\u0435\u0441\u0442\U0001f680", A)
        for options in ([], ["--json"], ["--github"]):
            self.make(Call("", 0, [*options, name]), "ascii")
            self.make(Call("", 3, [*options, name, "r"]), "latin-1")
        out, _ = self.make(Call("", 3, [name, "r"]), "ascii")
        self.assertIn("\\u0442\\u0435\\u0441\\u0442\\U0001f680: VERDICT: APPROVE\n", out)
        self.make(Call("", 1, ["\u043d\u0435\u0442"]), "ascii")

    def test_calls_leave_nothing_behind(self) -> None:
        def state() -> List[Any]:
            return [sys.argv, sys.stdout, sys.stderr, dict(os.environ), os.getcwd(), signal.getsignal(signal.SIGINT)]

        with unittest.mock.patch.object(sys, "argv", []):
            before = state()
            for arguments in (["a"], ["--help"], ["--no"], ["gone"], ["--json", "r"], ["--github", "n"]):
                self.assertEqual(call(arguments), call(arguments))
            self.assertEqual(before, state())

    # GitHub

    def test_github(self) -> None:
        after = {}
        for code, names, verdict, decides in JOBS:
            rule, line = heard(decides)[1:] if decides else ("", "")
            outputs = f"verdict={verdict or 'none'}\nexit-code={code}\nrule={rule}\nline={line or ''}\n"
            for option in ("", "--github", "--github --json", "--github --quiet"):
                with self.subTest(names=names, option=option):
                    printed, *files = self.of_github(Call("", code, f"{option} {names}"))
                    notes = "".join(map(note, names.split())) if option == "--github" else ""
                    self.assertEqual(notes, "".join(re.findall("^::.*\n", printed, re.MULTILINE)))
                    self.assertEqual(outputs if option else "", files[0])
                    if option:
                        after[code] = self.check_summary(files[1], names.split(), verdict or "(not ")
        self.assertEqual(4, len(set(after.values())), after)

    def of_github(self, row: Call) -> List[str]:
        """What a call prints, and appends to the step's outputs and the job's summary."""
        files = {"GITHUB_OUTPUT": "out", "GITHUB_STEP_SUMMARY": "sum", **(row.env or {})}
        for path in ("out", "sum"):
            Path(path).write_text("kept=1\n", encoding="utf-8")
        printed, _ = self.make(row._replace(env=files))
        written = [Path(path).read_text(encoding="utf-8") for path in ("out", "sum")]
        self.assertTrue(all(text.startswith("kept=1\n") and CANARY not in text for text in written), written)
        return [printed, *(text[len("kept=1\n") :] for text in written)]

    def check_summary(self, text: str, names: Sequence[str], verdict: str) -> str:
        """See that it has a heading, the overall line, what to do next and a row a report. Returns what to do."""
        heading, one, overall, two, after, three, *table, last = text.split("\n")[:-1]
        self.assertEqual(("## Review verdict", "", "", "", ""), (heading, one, two, three, last))
        self.assertNotRegex(overall, r"[`<>*_\[\]()\\%!]")
        self.assertTrue(html.unescape(overall).startswith(verdict), overall)
        self.assertEqual(["| report | verdict | rule | line |", "| --- | --- | --- | --- |"], table[:2])
        self.assertEqual(len(names), len(table[2:]))
        for name, row in zip(names, table[2:]):
            self.assertNotRegex(row, r"[`<>*_\[\]()\\%]")
            told = "cannot be read", "", ""
            if name in FILES:
                stated, rule, line = heard(name)
                when = next(each.when for each in RULES if each.id == rule)
                told = f"{stated or '(not stated)'}: {when}", rule, str(line or "")
            self.assertEqual((name, *told), tuple(html.unescape(row)[2:-2].split(" | ")))
        return after

    def test_github_outputs_come_last(self) -> None:
        _, outputs, _ = self.of_github(Call("", 1, "--github a", env={"GITHUB_STEP_SUMMARY": "no/such"}))
        self.assertEqual("verdict=none\nexit-code=1\nrule=\nline=\n", outputs)

    @unittest.skipUnless(POSIX, "names that another system does not allow")
    def test_github_escapes_the_path(self) -> None:
        name = self.put("a,b:c%\n::error::|`<b>*_[x](y)\\|##[e]", A)
        printed, outputs, summary = self.of_github(Call("", 0, ["--github", name]))
        self.assertEqual(4, outputs.count("\n"))
        notes = [line for line in printed.splitlines() if line.startswith("::")]
        self.assertEqual(1, len(notes))
        self.assertTrue(notes[0].startswith("::notice file=a%2Cb%3Ac%25%0A%3A%3Aerror%3A%3A|"), notes)
        self.assertEqual(["VERDICT", " APPROVE"], notes[0].split("::")[2].split(":"))
        row = summary.splitlines()[-2]
        self.assertEqual(5, row.count("|"))
        self.assertNotRegex(row, r"[`<>*_\[\]()\\%]")

    # How a path is written, in each place

    def test_a_path_is_written_so_that_it_commands_nothing(self) -> None:
        for text, want in (
            ("std::vector a##b ## x[1]", "std::vector a##b ## x[1]"),
            ("::error::x", ":\\x3aerror::x"),
            ("  :::x", "  :\\x3a:x"),
            ("a\n::error::x", "a\\n::error::x"),
            ("###[x]##vso[y", "##\\x23[x]#\\x23vso[y"),
            ("\u00e9 \x1b\n\udc80\u2028", "\u00e9 \\x1b\\n\\udc80\\u2028"),
        ):
            self.assertEqual(want, verdict_check.visible(text))
        self.assertEqual("aX\u00e90 ,&#46;&#47;-", verdict_check.markdown("aX\u00e90 ,./-"))
        self.assertEqual("&#124;&#60;&#38;&#95;&#96;&#92;n", verdict_check.markdown("|<&_`\n"))
        told = verdict_check.Outcome("a%\r\n:,X##[", APPROVE, "approved", 3, "VERDICT: APPROVE")
        self.assertEqual(
            "::notice file=a%25%0D%0A%3A%2CX#\\x23[,line=3::VERDICT: APPROVE", verdict_check.annotation(told)
        )
        for verdict in (REQUEST_CHANGES, AMBIGUOUS, None):
            self.assertTrue(verdict_check.annotation(told._replace(verdict=verdict)).startswith("::error file="))
        two = verdict_check.Result([told._replace(report="a: b:c: : d"), told._replace(report="::a#b##[c")], APPROVE, 0)
        self.assertEqual("a:\\x20b:c:\\x20:\\x20d: VERDICT: APPROVE", verdict_check.as_text(two)[0])
        self.assertIn('"report": ":\\u003aa#b#\\u0023[c"', verdict_check.as_json(two)[0])

    # Real processes: streams, signals, settings, and what stands beside the file

    @unittest.skipUnless(POSIX, "needs a POSIX shell")
    def test_streams_that_cannot_be_written(self) -> None:
        for unbuffered in ({}, {"PYTHONUNBUFFERED": "1"}):
            for arguments, *wanted in TYPED:
                if "/dev/full" not in arguments or os.path.exists("/dev/full"):
                    self.assertEqual(wanted, self.typed(arguments, unbuffered), (arguments, unbuffered))

    def typed(
        self, arguments: str, env: Optional[Dict[str, str]] = None, before: str = "", file: Path = CHECK
    ) -> List[Any]:
        """Status, output and error output of a call as it is typed in a shell."""
        script = f"{before}{' '.join(map(shlex.quote, PYTHON))} {shlex.quote(str(file))} {arguments}"
        ran = process("sh", "-c", script, env=clean_environment(**(env or {})))
        return [ran.returncode, ran.stdout.decode(), ran.stderr.decode()]

    @unittest.skipUnless(POSIX, "needs a POSIX shell")
    def test_an_output_of_which_a_part_has_room(self) -> None:
        wanted = [1, "", f"verdict_check.py: standard output: {os.strerror(errno.EFBIG)}\n"]
        for unbuffered in ({}, {"PYTHONUNBUFFERED": "1"}):
            self.assertEqual(wanted, self.typed(f"--json {'./' * 600}a >cut", unbuffered, before="ulimit -f 1; "))

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full here")
    def test_github_is_told_that_standard_output_is_full(self) -> None:
        env = {"GITHUB_OUTPUT": "out", "GITHUB_STEP_SUMMARY": "sum"}
        self.assertEqual(1, self.typed("--github a >/dev/full", env)[0])
        self.assertEqual("verdict=none\nexit-code=1\nrule=\nline=\n", Path("out").read_text(encoding="utf-8"))
        self.assertIn("(not written)", html.unescape(Path("sum").read_text(encoding="utf-8")))

    @unittest.skipUnless(POSIX, "a pipe is closed in another way here")
    def test_a_reader_that_went_away(self) -> None:
        read, write = os.pipe()
        os.close(read)
        with open(write, "wb") as pipe:
            for env in (clean_environment(), clean_environment(PYTHONUNBUFFERED="1")):
                ran = process(*PYTHON, CHECK, "a", stdout=pipe, env=env)
                said = f"verdict_check.py: standard output: {os.strerror(errno.EPIPE)}\n"
                self.assertEqual((1, said), (ran.returncode, ran.stderr.decode()))
                self.assertEqual(1, process(*PYTHON, CHECK, "a", stdout=pipe, stderr=pipe, env=env).returncode)

    def pipe_to(self, reader: "subprocess.Popen[bytes]") -> BinaryIO:
        """The named pipe, once the process has opened its other end; it may have ended before that."""
        while reader.poll() is None:
            with contextlib.suppress(OSError):  # nobody is there yet
                number = os.open("pipe", os.O_WRONLY | os.O_NONBLOCK)
                os.set_blocking(number, True)
                return open(number, "wb")
            time.sleep(0.01)
        raise self.failureException("the command did not open the pipe")

    @unittest.skipUnless(hasattr(os, "mkfifo"), "no named pipes here")
    def test_interrupts(self) -> None:
        os.mkfifo("pipe")
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
            number = getattr(signal, name)
            if signal.getsignal(number) == signal.SIG_IGN:  # which the command inherits, as under nohup
                continue
            # Without -W: Python 3.13 leaves a with block unclosed where a signal meets the end of a loop in it.
            command = [sys.executable, "-S", str(CHECK), "pipe"]
            running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment())
            with running, self.pipe_to(running) as pipe:
                pipe.write(bytes(1 << 20))  # more than a pipe holds: once it is written, the other side is reading
                pipe.flush()
                running.send_signal(number)
                out, err = running.communicate(timeout=60)
            self.assertEqual((130, b"", b"verdict_check.py: interrupted\n"), (running.returncode, out, err), name)

    @unittest.skipUnless(POSIX, "needs a POSIX shell")
    def test_a_signal_that_is_ignored_stays_so(self) -> None:
        code = "import signal, sys; sys.path.insert(0, sys.argv[1]); import verdict_check as v; "
        code += "said = v.ended('x', lambda: int(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)); "
        code += "sys.exit(v.ended('x', lambda: 6 + said))"
        for trap, status in (("trap '' HUP;", 7), ("", 6)):
            if trap or signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
                ran = process("sh", "-c", f'{trap} exec "$@"', "sh", *PYTHON, "-c", code, HERE)
                self.assertEqual((status, b""), (ran.returncode, ran.stderr))

    @unittest.skipUnless(POSIX, "pipes that do not block")
    def test_a_pipe_that_does_not_block(self) -> None:
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        command = [*PYTHON, str(CHECK), "-"]
        with open(reading, "rb") as pipe, subprocess.Popen(command, stdin=pipe, stdout=subprocess.PIPE) as running:
            while not os.get_blocking(reading) and running.poll() is None:
                time.sleep(0.01)  # the other side makes it block before it reads
            with open(writing, "wb") as end:
                end.write(A.encode())
            self.assertEqual((b"VERDICT: APPROVE\n", None), running.communicate(timeout=60))

    @unittest.skipUnless(os.path.exists("/dev/zero"), "no /dev/zero here")
    def test_an_endless_input(self) -> None:
        limit = "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29)); "
        limit += "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
        with open("/dev/zero", "rb") as endless:
            ran = process(*PYTHON, "-c", limit, CHECK, "-", stdin=endless)
        self.assertEqual((1, b""), (ran.returncode, ran.stdout))
        self.assertEqual(b"verdict_check.py: -: larger than 64 MiB", ran.stderr.strip())

    @unittest.skipUnless(POSIX, "needs a POSIX shell")
    def test_a_working_folder_that_is_gone(self) -> None:
        for arguments, code, out in (
            (shlex.quote(str(self.folder / "a")), 0, "VERDICT: APPROVE\n"),
            ("a", 1, ""),
            ("--quiet a b", 1, ""),
        ):
            *wanted, err = self.typed(arguments, before="mkdir gone && cd gone && rmdir ../gone && ")
            self.assertEqual([code, out], wanted, arguments)
            self.assertNotIn("Traceback", err)

    def test_settings_of_python_change_nothing(self) -> None:
        """Not -OO, which drops docstrings, nor a narrow console, nor a warning for each encoding that is not named."""
        files = {"GITHUB_OUTPUT": "out", "GITHUB_STEP_SUMMARY": "sum"}
        for options, env in (
            (["-OO"], {}), (["-X", "dev"], {}), (["-I", "-S", "-B", "-X", "utf8"], {}),
            (["-X", "warn_default_encoding", "-W", "error"], {}),
            ([], {"PYTHONIOENCODING": "ascii:strict"}), ([], {"PYTHONIOENCODING": "utf-16"}),
        ):  # fmt: skip
            for code, arguments in ((0, ["--github", "a"]), (3, ["r"]), (2, ["--help"])):
                ran = process(sys.executable, *options, CHECK, *arguments, env=clean_environment(**files, **env))
                codec = env.get("PYTHONIOENCODING", "utf-8").split(":")[0]
                out = {0: said("a") + note("a"), 3: said("r"), 2: verdict_check.USAGE + "\n"}[code]
                got = ran.stdout.decode(codec).replace("\r\n", "\n")
                self.assertEqual((code, out, b""), (ran.returncode, got, ran.stderr), (options, env))

    def test_it_loads_its_parser_and_no_other(self) -> None:
        tools = self.folder / "tools"
        (tools / "verdict_contract").mkdir(parents=True)
        for place in (self.folder / "verdict_contract.py", tools / "verdict_contract" / "__init__.py"):
            place.write_text("raise SystemExit(0)", encoding="utf-8")
        for name in ("verdict_contract.py", "verdict_check.py"):
            (tools / name).write_bytes((HERE / name).read_bytes())
        env = clean_environment(PYTHONPATH=str(self.folder), PYTHONSAFEPATH="1")
        programs = [tools / "verdict_check.py"]
        if POSIX:
            programs.append(self.folder / "link")
            programs[1].symlink_to(programs[0])
        for options, program in itertools.product(([], ["-I", "-S"]), programs):
            ran = process(sys.executable, *options, program, "r", env=env)
            self.assertEqual(
                (3, "VERDICT: REQUEST_CHANGES", b""), (ran.returncode, ran.stdout.decode().strip(), ran.stderr)
            )

    def test_a_parser_that_is_missing_or_broken(self) -> None:
        tools = self.folder / "some" / "more" / "tools"
        tools.mkdir(parents=True)
        (tools / "verdict_check.py").write_bytes(CHECK.read_bytes())
        beside = "ImportError: verdict_contract.py is neither beside verdict_check.py nor in the two folders above\n"
        for source, why in (
            (None, beside), ("raise SystemExit(0)", "SystemExit: 0\n"), ("\x1b(", "SyntaxError: "),
            ("APPROVE = 'APPROVE'", "ImportError: cannot import name 'RULES'"),
        ):  # fmt: skip
            if source is not None:
                (tools / "verdict_contract.py").write_text(source, encoding="utf-8")
            ran = process(*PYTHON, tools / "verdict_check.py", "a")
            self.assertEqual((1, b"", 1), (ran.returncode, ran.stdout, ran.stderr.count(b"\n")), ran.stderr)
            said = ran.stderr.decode().replace("\r\n", "\n")
            self.assertTrue(said.startswith(f"verdict_check.py: verdict_contract.py cannot be loaded: {why}"), said)
            self.assertTrue(said.endswith("\n"), said)
            self.assertNotIn(b"\x1b", ran.stderr)
            code = "import sys; sys.path.insert(0, sys.argv[1])\ntry: import verdict_check\nexcept ImportError as e: print(e)"
            ran = process(*PYTHON, "-c", code, tools)
            self.assertTrue(ran.stdout.decode().startswith(f"verdict_contract.py cannot be loaded: {why.strip()}"), ran)

    def imported(self, code: str, **options: Any) -> List[Any]:
        """Status, output and error output of a program that has imported verdict_check as v."""
        start = "import os, sys; sys.path.insert(0, sys.argv[1]); import verdict_check as v; "
        ran = process(*PYTHON, "-c", start + code, HERE, **options)
        return [ran.returncode, *((stream or b"").decode().splitlines() for stream in (ran.stdout, ran.stderr))]

    def test_what_other_programs_share(self) -> None:
        self.assertIs(bytes, type(verdict_check.read_bytes("a")))
        self.assertEqual([0, ["VERDICT: APPROVE"], []], self.imported("v.main(['-']); os.fstat(0)", input=A.encode()))
        gone = "v.say('x', '\\n'); v.show([]); sys.exit(v.ended('y', lambda: len(v.read_bytes('gone'))))"
        self.assertEqual([1, [], ["x: \\n", f"y: gone: {NO_FILE}"]], self.imported(gone))
        for arguments in ("['-h']", "['--no']"):
            self.assertEqual(2, self.imported(f"v.Parser('x', 'y').parse_args({arguments})")[0])

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full here")
    def test_other_programs_with_full_streams(self) -> None:
        with open("/dev/full", "wb") as full:
            for code, status in (
                ("v.main(['gone']); sys.exit(v.main(['a']))", 1),
                ("sys.exit(v.ended('x', lambda: print('y') or 0))", 0),
                ("sys.exit(v.ended('x', lambda: sys.stderr.write('y') * 0))", 0),
                ("sys.exit(v.ended('x', lambda: sys.stdout.close() or 0))", 0),
            ):
                self.assertEqual([status, [], []], self.imported(code, stdout=full, stderr=full))

    def test_streams_that_a_caller_took_away(self) -> None:
        for error in (OSError, ValueError):
            fails = unittest.mock.Mock(side_effect=error)
            stream = unittest.mock.Mock(flush=fails, fileno=unittest.mock.Mock(side_effect=error))
            self.assertIsInstance(verdict_check._put(stream, ""), error)
            stream.fileno.assert_called_once_with()
        shut = io.StringIO()
        shut.close()
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(shut):
            self.assertEqual(1, verdict_check.main(["gone"]))
        with contextlib.redirect_stdout(shut), contextlib.redirect_stderr(io.StringIO()) as err:
            self.assertEqual(1, verdict_check.main(["a"]))
        self.assertEqual("", out.getvalue())
        self.assertRegex(err.getvalue(), r"\Averdict_check.py: standard output: .+\n\Z")

    def test_a_python_that_is_too_old(self) -> None:
        for name in ("verdict_contract.py", "verdict_check.py"):
            ast.parse((HERE / name).read_bytes(), name, feature_version=(3, 6))
        beside = Path(sys.base_prefix).parent.glob("3.[67].*/bin/python3")
        old = [*filter(None, map(shutil.which, ("python3.6", "python3.7"))), *map(str, beside)]
        old = [python for python in old if process(python, "-c", "").returncode == 0]  # a stub may stand there
        if not old:
            self.skipTest("no Python below 3.8 here")
        for python, name in itertools.product(old, ("verdict_contract.py", "verdict_check.py")):
            ran = process(python, HERE / name)
            want = f"{name}: needs Python 3.8 or later\n"
            self.assertEqual((1, b"", want), (ran.returncode, ran.stdout, ran.stderr.decode()))

    # The parser as a command

    def test_python_that_would_go_on_with_a_prompt(self) -> None:
        (self.folder / "r").write_text(R, encoding="utf-8")
        for options, env in (["-i"], clean_environment()), ([], clean_environment(PYTHONINSPECT="1")):
            ran = process(*PYTHON, *options, HERE / "verdict_check.py", "r", cwd=self.folder, env=env)
            self.assertEqual((3, b"VERDICT: REQUEST_CHANGES", b""), (ran.returncode, ran.stdout.strip(), ran.stderr))

    def test_the_parser_prints_its_rule(self) -> None:
        for arguments, wanted in (
            ((), re.escape(prompt_rule())),
            ((T,), re.escape(prompt_rule(T))),
            (("--new-token",), "[0-9a-f]{16}"),
        ):
            ran = process(*PYTHON, HERE / "verdict_contract.py", *arguments)
            self.assertEqual((0, b""), (ran.returncode, ran.stderr))
            self.assertRegex(ran.stdout.decode().replace("\r\n", "\n"), rf"\A{wanted}\n\Z")

    def test_the_parser_refuses_other_arguments(self) -> None:
        for arguments in (["short"], [""], [T, T], ["--help"], ["--new-token", T], ["a" * 65], ["\x1b[2J\n::error::"]):
            ran = process(*PYTHON, HERE / "verdict_contract.py", *arguments)
            self.assertEqual((2, b"", 1), (ran.returncode, ran.stdout, ran.stderr.count(b"\n")), ran.stderr)
            self.assertTrue(ran.stderr.strip().decode().isprintable(), ran.stderr)

    @unittest.skipUnless(POSIX, "needs a POSIX shell")
    def test_the_parser_and_streams_that_cannot_be_written(self) -> None:
        for unbuffered in ({}, {"PYTHONUNBUFFERED": "1"}):
            for arguments, *wanted in (
                (">/dev/full", 1, "", f"verdict_contract.py: standard output: {NO_SPACE}\n"),
                (">/dev/full 2>&1", 1, "", ""),
                ("bad 2>/dev/full", 2, "", ""),
                ("bad 2>&-", 2, "", ""),
                (f"{T} 2>&-", 0, prompt_rule(T) + "\n", ""),
                (">&- 2>&-", 1, "", ""),
            ):
                if "/dev/full" not in arguments or os.path.exists("/dev/full"):
                    got = self.typed(arguments, unbuffered, file=HERE / "verdict_contract.py")
                    self.assertEqual(wanted, got, (arguments, unbuffered))


def as_call(row: Call) -> Callable[[CommandTest], None]:
    return lambda test: test.check(row)


for _call in CALLS:
    setattr(CommandTest, "test_" + re.sub(r"\W+", "_", _call.name), as_call(_call))


# --- The documents --------------------------------------------------------------------------------

README, AGENTS, ACTION = HERE / "README.md", HERE / "AGENTS.md", HERE / "action.yml"
FIGURES = HERE / ".ci" / "README.md"
ABSENT = "the document is not here: the parser and its test were copied without it"
WITHIN = "VERDICT_CONTRACT_DOCUMENTS"  # set while a document's commands run, so that they do not run it once more


def rule_table() -> str:
    """The rule table as the README shows it."""
    rows = [f"| `{rule.id}` | {rule.verdict or 'none'} | {rule.when} |" for rule in RULES]
    return "\n".join(["| rule | verdict | holds when |", "| --- | --- | --- |", *rows])


def table(document: str, name: str) -> List[List[str]]:
    """The cells of each row of the table between <!-- name --> and <!-- /name -->, without backticks around them."""
    _, _, rest = document.partition(f"<!-- {name} -->")
    rows = [row.strip().strip("|").split(" | ") for row in rest.partition(f"<!-- /{name} -->")[0].strip().splitlines()]
    return [[re.sub(r"\A`(.*)`\Z", r"\1", cell.strip()) for cell in row] for row in rows[2:]]


def blocks(document: str, language: str) -> List[Tuple[int, str]]:
    """Line number and text of each fenced block of a language."""
    found = re.finditer(rf"^```{language}\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
    return [(document.count("\n", 0, block.start()) + 2, block[1]) for block in found]


def commands(block: str) -> List[Tuple[str, str]]:
    """Each command of a console block, with the lines that continue it, and the output it shows."""
    parts = re.findall(r"^\$ (.*\n(?:> .*\n)*)((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    return [(re.sub("^> ", "", command, flags=re.MULTILINE), output) for command, output in parts]


def starts_git(call: ast.Call) -> bool:
    """Whether a call hands git, as the first word of a command, to anything but what looks for or renames a file."""
    called = getattr(call.func, "attr", getattr(call.func, "id", ""))
    first = (getattr(call.args[0], "elts", None) or call.args)[0] if call.args else None
    word = getattr(first, "value", None)
    return called not in ("which", "rename") and isinstance(word, str) and word == "git"


class DocumentTest(Scratch):
    """What the documents say is what the code does."""

    @unittest.skipIf(sys.flags.optimize > 1, "docstrings are left out (-OO)")
    def test_docstring_examples(self) -> None:
        for module, least in ((verdict_contract, 2), (verdict_check, 0)):
            report = io.StringIO()
            with contextlib.redirect_stdout(report):
                failed, tried = doctest.testmod(module)
            self.assertEqual(0, failed, report.getvalue())
            self.assertGreaterEqual(tried, least, module.__name__)

    @unittest.skipUnless(README.exists(), ABSENT)
    def test_readme_rule_table(self) -> None:
        wanted = [[rule.id, rule.verdict or "none", rule.when] for rule in RULES]
        self.assertEqual(wanted, table(README.read_text(encoding="utf-8"), "rules"), f"to be pasted:\n{rule_table()}")

    def test_every_program_loads_its_modules_in_the_same_way(self) -> None:
        programs = [HERE / "verdict_check.py", *(HERE / "examples").glob("*/*.py")]
        texts = [path.read_text(encoding="utf-8") for path in programs if not path.name.startswith("test_")]
        copies = [re.findall(r"^def provide\(.*?(?=\n\n\n)", text, re.MULTILINE | re.DOTALL) for text in texts]
        self.assertEqual(1, len({copy for found in copies for copy in found}))

    def test_no_program_goes_on_without_its_modules(self) -> None:
        for path in [HERE / "verdict_check.py", *(HERE / "examples").glob("*/*.py")]:
            if "\ndef provide(" in path.read_text(encoding="utf-8"):
                alone = self.folder / path.name
                alone.write_bytes(path.read_bytes())
                # Python would take standard input, here a report, for what is typed at its prompt.
                ran = process(*PYTHON, "-i", alone, "-", input=b"raise SystemExit(0)")
                self.assertIn(ran.returncode, (1, 4), path)
                self.assertEqual((b"", 1), (ran.stdout, ran.stderr.count(b"\n")), ran.stderr)

    def test_every_program_tells_an_old_python_in_one_line(self) -> None:
        programs = [path for path in (HERE / "examples").glob("*/*.py") if "needs Python" in path.read_text("utf-8")]
        script = "import runpy, sys; sys.version_info = (3, 7, 17); runpy.run_path(sys.argv[1], run_name='__main__')"
        for path in (path for path in programs if not path.name.startswith("test_")):
            ast.parse(path.read_bytes(), path.name, feature_version=(3, 6))
            ran = process(*PYTHON, "-c", script, path)
            self.assertEqual((1, b""), (ran.returncode, ran.stdout), path)
            self.assertRegex(ran.stderr.decode(), r"\A[a-z_]+(\.py)?: needs Python 3\.8 or later\s*\Z")

    def test_git_is_started_by_one_helper(self) -> None:
        for path in [Path(__file__), *(HERE / "examples").glob("*/test_*.py")]:
            calls = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Call)]
            past = [call.lineno for call in calls if starts_git(call)]
            self.assertEqual(1 if path == Path(__file__) else 0, len(past), f"{path.name}: git is started at {past}")

    @unittest.skipUnless(FIGURES.exists(), ABSENT)
    def test_figures_have_a_program_a_number_and_a_date(self) -> None:
        rows = table(FIGURES.read_text(encoding="utf-8"), "tested")
        self.assertTrue(rows)
        for _, command, figures, date in rows:
            self.assertRegex(figures, r"\d")
            self.assertLessEqual(date, datetime.datetime.now(datetime.timezone.utc).date().isoformat())
            program = HERE / command.split()[1]
            self.assertTrue(program.exists() or not program.parent.exists(), command)

    @unittest.skipUnless(README.exists() and "<!-- failures -->" in README.read_text(encoding="utf-8"), ABSENT)
    def test_readme_failures(self) -> None:
        rows = table(README.read_text(encoding="utf-8"), "failures")
        self.assertTrue(rows)
        for reply, grep, said in rows:
            report = reply.replace("\u23ce", "\n")
            verdict, rule, _ = read_verdict(report)
            self.assertEqual(f"{verdict or 'none'}, exit {exit_code(verdict)} ({rule})", said, reply)
            self.assertEqual("pass" if re.search("VERDICT.*APPROVE", report) else "fail", grep, reply)

    @unittest.skipUnless(README.exists() and ACTION.exists(), ABSENT)
    def test_action_has_the_inputs_and_outputs_of_the_command(self) -> None:
        action, written = ACTION.read_text(encoding="utf-8"), verdict_check.outputs(verdict_check.Result([], None, 1))
        names = re.findall(r"^  ([a-z-]+):$", action.partition("\nruns:\n")[0], re.MULTILINE)
        outputs = [line.split("=")[0] for line in written.splitlines()]
        self.assertEqual(["report", "token", "diff", *outputs], names)
        for name in outputs:  # the value of each is that of the step inside which has its name
            self.assertIn(f"    value: ${{{{ steps.check.outputs.{name} }}}}\n", action)
        readme = README.read_text(encoding="utf-8")
        self.assertEqual([], [name for name in names if f"`{name}`" not in readme])

    @unittest.skipUnless(README.exists() and ACTION.exists(), ABSENT)
    def test_action_keeps_inputs_out_of_its_script(self) -> None:
        _, _, script = ACTION.read_text(encoding="utf-8").partition("\n      run: |\n")
        self.assertIn("verdict_check.py", script)
        self.assertNotIn("${{", script)

    @unittest.skipUnless(README.exists(), ABSENT)
    def test_readme_python_sessions(self) -> None:
        names: Dict[str, Any] = {}
        sessions = blocks(README.read_text(encoding="utf-8"), "pycon")
        self.assertTrue(sessions)
        for line, session in sessions:
            test = doctest.DocTestParser().get_doctest(session, names, README.name, str(README), line)
            report = io.StringIO()
            failed, _ = doctest.DocTestRunner().run(test, out=report.write, clear_globs=False)
            names = test.globs
            self.assertEqual(0, failed, report.getvalue())

    @unittest.skipUnless(README.exists(), ABSENT)
    @unittest.skipUnless(POSIX and shutil.which("sh"), "the README's commands are for a POSIX shell")
    @unittest.skipIf(WITHIN in os.environ, "run by one of the README's commands")
    def test_readme_commands(self) -> None:
        if SHARE < 1:
            self.skipTest("left out by --quick")
        consoles = blocks(README.read_text(encoding="utf-8"), "console")
        self.assertTrue(consoles)
        scratch = own_copy(HERE, self.folder / "repository")
        env = clean_environment(PATH=path_with_python(self.folder / "bin"), **{WITHIN: "1"})
        for line, block in consoles:
            self.check_session(f"{README.name}:{line}", commands(block), scratch, env)

    @unittest.skipUnless(README.exists(), ABSENT)
    def test_links_lead_to_files(self) -> None:
        for document in [*HERE.glob("*.md"), *HERE.glob("examples/*.md"), *HERE.glob("examples/*/*.md")]:
            links = re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text(encoding="utf-8"))
            self.assertEqual([], [link for link in links if not (document.parent / link).exists()], document)

    @NEEDS_GIT
    @NEEDS_PROGRAMS
    @unittest.skipUnless(README.exists(), ABSENT)
    def test_readme_recipe(self) -> None:
        if SHARE < 1:
            self.skipTest("left out by --quick")
        copy, recipe = (text for _, text in blocks(README.read_text(encoding="utf-8"), "sh")[:2])
        own_copy(HERE, self.folder / "home" / "verdict-contract")
        env = clean_environment(HOME=str(self.folder / "home"), PATH=path_with_python(self.folder / "bin"))
        for reply, merged in (
            ("echo Fine; echo; grep -o '^===VERDICT=== .*' | sed s/.value./APPROVE/", True),
            ("echo Fine; echo; echo '===VERDICT=== APPROVE'", False),
            ("grep -o '^===VERDICT=== .*' | sed s/.value./APPROVE/; exit 1", False),
            ("git commit -q --allow-empty -m more; grep -o '^===VERDICT=== .*' | sed s/.value./APPROVE/", False),
            ("echo 'Verdict: REJECT, it leaks'; grep -o '^===VERDICT=== .*' | sed s/.value./APPROVE/", False),
        ):
            reviewer = self.folder / "bin" / "your-reviewer"
            reviewer.write_text(f"#!/bin/sh\n{reply}\n", encoding="ascii")
            reviewer.chmod(0o755)
            project = Path(tempfile.mkdtemp(dir=self.folder))
            git(project, "init", "-q", "-b", "main", env=env)
            for name, words in (("user.name", "A"), ("user.email", "a@localhost")):
                git(project, "config", name, words, env=env)
            git(project, "commit", "-q", "--allow-empty", "-m", "empty", env=env)
            git(project, "switch", "-q", "-c", "feature", env=env)
            (project / "file").write_text("text\n", encoding="ascii")
            git(project, "add", "file", env=env)
            git(project, "commit", "-q", "-m", "file", env=env)
            git(project, "switch", "-q", "main", env=env)
            ran = process("sh", "-c", f"set -e\n{copy}{recipe}touch went-on", cwd=project, env=env)
            self.assertEqual(merged, (project / "went-on").exists(), reply)
            self.assertEqual(merged, (ran.returncode == 0), (reply, ran.stdout, ran.stderr))
            self.assertEqual(merged, "file" in git(project, "ls-tree", "--name-only", "main", env=env), reply)

    def check_session(self, where: str, session: List[Tuple[str, str]], folder: Path, env: Dict[str, str]) -> None:
        """Run a console block in one shell, as typed, and compare each command's output."""
        self.assertTrue(session, where)
        mark = "=-=-= end of a command =-=-="
        script = "".join(f"{command}last=$?; echo '{mark}'; (exit $last)\n" for command, _ in session)
        ran = process("sh", "-c", script, cwd=folder, env=env, stderr=subprocess.STDOUT)
        outputs = ran.stdout.decode("utf-8", "replace").split(mark + "\n")
        self.assertEqual(len(session), len(outputs) - 1, f"{where}: a command ended the shell\n{outputs[-1]}")
        for (command, wanted), got in zip(session, outputs):
            self.assertEqual(wanted.rstrip("\n"), got.rstrip("\n"), f"{where}: $ {command}")

    @unittest.skipUnless(AGENTS.exists(), ABSENT)
    def test_agents_has_at_most_40_lines(self) -> None:
        self.assertLessEqual(len(AGENTS.read_text(encoding="utf-8").splitlines()), 40)

    @unittest.skipUnless(README.exists(), ABSENT)
    def test_the_top_level_holds_what_it_should(self) -> None:
        top = {path.name for path in HERE.iterdir() if not path.name.startswith((".", "__pycache__"))}
        known = {"verdict_contract.py", "verdict_check.py", "test_verdict_contract.py", "examples", "action.yml"}
        self.assertEqual(set(), top - known - {"README.md", "AGENTS.md", "CHANGELOG.md", "LICENSE"})


# --- All of it, in one run ------------------------------------------------------------------------
#
# Each part is a process of its own, so that as many run side by side as there are processors, and so that a part can be
# ended whole. The rows come first: they are the contract.

TEST_USAGE = """\
usage: python3 {name} [--quick] [-k TEXT]
  --quick   only what takes no more than seconds
  -k TEXT   only the tests with TEXT in their name (as in -k not_last)
  --rules   print the table of the rules, as the README shows it
exit status: 0 all passed, 1 not, 2 usage, 130 interrupted
"""
PATIENCE = 900  # seconds for one part
GRACE = 5.0  # seconds from the polite end of a part to the other


class Tally(NamedTuple):
    """What the tests of a part came to; it travels as JSON from the process that ran them."""

    passed: int
    failed: List[Tuple[str, str]]  # the test's name, and what it printed
    skipped: Dict[str, int]  # how many, by reason
    counted: Dict[str, int]

    @property
    def tests(self) -> int:
        return self.passed + len(self.failed) + sum(self.skipped.values())


class Part(NamedTuple):
    """Tests that run as one process: a name for its line, a file, and which of the classes of this file."""

    name: str
    path: Path
    classes: Tuple[Type[unittest.TestCase], ...] = ()


class Child(NamedTuple):
    """A part that runs."""

    part: Part
    process: "subprocess.Popen[bytes]"
    began: float
    folder: Path


PARTS = (
    Part("contract", Path(__file__), (ContractTest,)),
    Part("table", Path(__file__), (TableTest,)),
    Part("functions", Path(__file__), (FunctionTest,)),
    Part("documents", Path(__file__), (DocumentTest,)),
    Part("statements", Path(__file__), (StatementTest,)),
    Part("command", Path(__file__), (CommandTest,)),
)
QUICK = ("contract", "table", "functions", "documents", "statements")


def example_parts() -> List[Part]:
    """The files of tests under examples/, the longest first, so that none is left to run alone at the end."""
    paths = sorted((HERE / "examples").glob("*/test_*.py"), key=lambda path: -path.stat().st_size)
    return [Part(path.relative_to(HERE).as_posix(), path) for path in paths]


class Result(unittest.TestResult):
    """Counts what passed; testsRun counts a skipped test on some Pythons and not on others."""

    passed = 0

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().addSuccess(test)
        self.passed += 1


def run_tests(suites: Sequence[unittest.TestSuite], pattern: str) -> Tally:
    """Run the tests whose name holds the pattern, printing nothing."""
    result = Result()
    chosen = unittest.TestSuite(test for suite in suites for test in flat(suite) if pattern in name_of(test))
    with contextlib.suppress(OSError), own_folder():
        chosen.run(result)
    troubles = [(name_of(test), values_of(test) + text) for test, text in result.failures + result.errors]
    troubles += [(name_of(test), "passed, against what it says") for test in result.unexpectedSuccesses]
    reasons = collections.Counter(reason for _, reason in result.skipped)
    return Tally(result.passed, troubles, dict(reasons), dict(COUNTED))


def flat(suite: Any) -> Iterator[unittest.TestCase]:
    """The tests of a suite of suites."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def name_of(test: Any) -> str:
    """Class and method of a test or of the one that a subtest is of; what stands for a class that failed names itself."""
    return ".".join(getattr(test, "test_case", test).id().split(".")[-2:])


def values_of(test: Any) -> str:
    """A line with the values of a subtest, or nothing."""
    return test.id()[len(test.test_case.id()) :].lstrip() + "\n" if hasattr(test, "test_case") else ""


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    """A temporary folder that all below uses as its own, removed at the end with whatever a killed program left."""
    before, setting = tempfile.tempdir, os.environ.get("TMPDIR")
    folder = tempfile.mkdtemp(prefix="verdict tests ", dir=fit_folder())
    tempfile.tempdir = os.environ["TMPDIR"] = folder
    try:
        yield Path(folder)
    finally:
        tempfile.tempdir = before
        os.environ.pop("TMPDIR")
        os.environ.update({"TMPDIR": setting} if setting is not None else {})
        remove(folder)


# --- One part, as the process that runs it --------------------------------------------------------


def main() -> None:
    """End a file of tests under examples/: run its tests by the same options as this file."""
    end_by_signals()
    path = Path(sys.modules["__main__"].__file__ or "")
    options = parse_options(path.name)
    loaded = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    sys.exit(guarded(lambda: closed(path, run_tests([loaded], options.k), options)))


def guarded(run: Callable[[], int]) -> int:
    """The status of a run, or that of an interrupt."""
    try:
        return run()
    except KeyboardInterrupt:
        put("interrupted", sys.stderr)
        return 130


def closed(path: Path, tally: Tally, options: argparse.Namespace) -> int:
    """Write what the tests of a file came to, for the run that started it or for a reader. Returns the exit status."""
    if options.report:
        Path(options.report).write_text(json.dumps(tally), encoding="utf-8")
    else:
        show_failures(Part(path.name, path), tally)
        show_end([tally], options.k)
    return 1 if tally.failed or not tally.tests else 0


class Options(argparse.ArgumentParser):
    """The command line of a file of tests, which says what is wrong with it in one line."""

    def error(self, message: str) -> NoReturn:
        put(f"{self.prog}: {message} (--help shows the usage)", sys.stderr)
        sys.exit(2)


def parse_options(name: str) -> argparse.Namespace:
    """The options of a file of tests. The last two are for the process of a part."""
    parser = Options(prog=name, add_help=False)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rules", action="store_true")
    parser.add_argument("-k", default="")
    parser.add_argument("--part", choices=[part.name for part in PARTS])
    parser.add_argument("--report")
    options = parser.parse_args()
    if options.help:
        put(TEST_USAGE.format(name=name).rstrip())
        sys.exit(0)
    return options


def run_part(options: argparse.Namespace) -> int:
    """Run one part of this file."""
    global SHARE  # noqa: PLW0603
    SHARE = 0.1 if options.quick else 1.0
    part = next(part for part in PARTS if part.name == options.part)
    suites = [unittest.defaultTestLoader.loadTestsFromTestCase(tests) for tests in part.classes]
    return closed(part.path, run_tests(suites, options.k), options)


# --- All parts ------------------------------------------------------------------------------------


def run_everything(options: argparse.Namespace) -> int:
    """Run the parts side by side, a line for each as it ends. Returns the exit status."""
    began = time.monotonic()
    parts = [part for part in PARTS if not options.quick or part.name in QUICK]
    parts[1:1] = [] if options.quick else example_parts()
    tallies: List[Tally] = []
    with own_folder() as folder, contextlib.closing(in_order(parts, folder, options)) as ended:
        for part, seconds, tally in ended:
            tallies.append(tally)
            if tally.tests:
                show_part(part, seconds, tally)
            show_failures(part, tally)
    return show_end(tallies, options.k, time.monotonic() - began)


def in_order(
    parts: Sequence[Part], folder: Path, options: argparse.Namespace
) -> Generator[Tuple[Part, float, Tally], None, None]:
    """Run the first part, and then the others side by side; gives each as it ends."""
    yield from side_by_side(parts[:1], folder, options)
    yield from side_by_side(parts[1:], folder, options)


def side_by_side(
    parts: Sequence[Part], folder: Path, options: argparse.Namespace
) -> Generator[Tuple[Part, float, Tally], None, None]:
    """Run each part as a process, as many at once as there are processors; gives each as it ends."""
    waiting = list(parts)
    running: List[Child] = []
    try:
        while waiting or running:
            while waiting and len(running) < processors():
                running.append(start(waiting.pop(0), folder, options))
            for child in [child for child in running if has_ended(child)]:
                running.remove(child)
                yield child.part, time.monotonic() - child.began, tally_of(child)
            time.sleep(0.01)
    finally:
        if running:
            set_signals(signal.SIG_IGN)  # whoever presses Ctrl-C again must not stop the parts from being ended
        for child in running:
            end(child)


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def start(part: Part, folder: Path, options: argparse.Namespace) -> Child:
    """Start a part in a group of its own, so that it is ended with all that it has started."""
    own = Path(tempfile.mkdtemp(dir=folder))
    command = [*PYTHON, str(part.path), "--report", str(own / "report"), "-k", options.k]
    command += ["--part", part.name] if part.classes else []
    command += ["--quick"] if options.quick else []
    with open(own / "output", "wb") as output:  # no pipe: a grandchild that keeps one open would hold this run up
        process = subprocess.Popen(
            command,
            cwd=HERE,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    return Child(part, process, time.monotonic(), own)


def has_ended(child: Child) -> bool:
    """Whether a part has come to its end, by itself or by the limit of time."""
    if child.process.poll() is None and time.monotonic() - child.began > PATIENCE:
        end(child)
    return child.process.poll() is not None


def end(child: Child) -> None:
    """End a part and all that it has started, politely and then for good."""
    for how in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        with contextlib.suppress(OSError):
            os.killpg(child.process.pid, how) if POSIX else child.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.process.wait(GRACE)


def tally_of(child: Child) -> Tally:
    """What a part wrote of its tests; a part that wrote nothing failed."""
    try:
        passed, failed, skipped, counts = json.loads((child.folder / "report").read_text(encoding="utf-8"))
        return Tally(passed, [(name, text) for name, text in failed], skipped, counts)
    except (OSError, ValueError):
        end(child)  # what it has started
        output = (child.folder / "output").read_text(encoding="utf-8", errors="replace")
        return Tally(0, [(child.part.name, f"ended with status {child.process.returncode}\n{output}")], {}, {})


# --- What is printed ------------------------------------------------------------------------------


def put(text: str, *streams: Optional[TextIO]) -> None:
    """Print to stdout or another stream, if it is open. A run whose stdout takes nothing ends in status 1."""
    stream = (*streams, sys.stdout)[0]
    if stream is None:  # print would take stdout
        return
    try:
        print(text, file=stream, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # what is left would fail once more, at shutdown
        if stream is sys.stdout:
            put(f"standard output: {error.strerror}", sys.stderr)
            sys.exit(1)


def show_part(part: Part, seconds: float, tally: Tally) -> None:
    """The line of a part; beside its tests, what they tried."""
    what = "rows" if part.name == "contract" else "tests"
    more = [f"{count:,} {name}" for name, count in sorted(tally.counted.items()) if name.endswith("reports")]
    troubles = [f"{len(tally.failed)} FAILED"] if tally.failed else []
    amount = f"{tally.tests - sum(tally.skipped.values()):,} {what}"
    put(f"{part.name:<36}{amount:>12}{seconds:8.1f} s  {', '.join(troubles + more)}".rstrip())


def show_failures(part: Part, tally: Tally) -> None:
    """What failed, what it printed, and how to run it alone."""
    for name, text in tally.failed:
        alone = ["python3", os.path.relpath(part.path), "-k", name]
        if name == part.name:  # all of it failed
            alone[2:] = ["--part", part.name] if part.classes else []
        put(f"{'-' * 100}\nFAILED {name}\n{text.rstrip()}\nalone: {' '.join(map(shlex.quote, alone))}\n")


def show_end(tallies: Sequence[Tally], pattern: str, seconds: Optional[float] = None) -> int:
    """The closing lines; every figure in them was counted in this run. Returns the exit status."""
    reasons: Counter[str] = collections.Counter()
    for tally in tallies:
        reasons.update(tally.skipped)
    for reason, count in sorted(reasons.items()):
        put(f"{reason}: {counted(count, 'tests')} not run")
    passed, failed = sum(tally.passed for tally in tallies), sum(len(tally.failed) for tally in tallies)
    skipped = sum(reasons.values())
    if not passed + failed + skipped:
        put(f"no test has {pattern} in its name", sys.stderr)
        return 1
    everything = seconds is not None and not pattern
    rows = f"{sum(map(len, FOUNDING.values()))} contract cases, {len(LATER):,} later ones" if everything else "chosen"
    took = f", {seconds:.0f} s" if seconds is not None else ""
    put(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    put(f"{'FAILED' if failed else 'OK'} - {rows}, {counted(passed, 'tests')} in all{took}")
    return 1 if failed else 0


def counted(number: int, what: str) -> str:
    """A number and what it counts: "1 test", "1,307 tests"."""
    return f"{number:,} {what[:-1] if number == 1 else what}"


def end_by_signals() -> None:
    """Let other signals end a run as Ctrl-C does, so that nothing that it started goes on."""
    nohup = hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    set_signals(signal.default_int_handler)  # SIGINT too: a shell has it ignored by what runs in the background
    if nohup:  # it does nothing here, but is not ignored by what is started: tests send it
        signal.signal(signal.SIGHUP, lambda *_: None)


def set_signals(handler: Any) -> None:
    """Have the signals that end a run handled in one way, as far as they exist here."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), handler)


def run_this_file() -> int:
    """The command line of this file."""
    options = parse_options(Path(__file__).name)
    if options.rules:
        put(rule_table())
        return 0
    return run_part(options) if options.part else run_everything(options)


if __name__ == "__main__":
    end_by_signals()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(guarded(run_this_file))
