"""The contract as a table of replies, and what else must hold.

  python3 test_verdict_contract.py              all of it, with the tests under examples/
  python3 test_verdict_contract.py -k not_last  the tests with that in their name; other options as unittest has them
  python3 test_verdict_contract.py --rules      print the rule table for the README

Needs only the standard library. The first run ends in a line that begins with OK, or it failed.
"""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import datetime
import doctest
import hashlib
import html
import io
import itertools
import json
import os
import random
import re
import shutil
import signal
import string
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, Callable, Counter, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Type

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

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as a shell starts what runs in the background; it is inherited
    signal.signal(signal.SIGINT, signal.default_int_handler)

HERE = Path(__file__).resolve().parent
COUNTED: Counter[str] = collections.Counter()  # what was checked beside the rows; the closing line shows it


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
    case("unknown-value", "signs-for-a-value", AMBIGUOUS, M + " ?!"),
    case("unknown-value", "beside-a-refusal-line", AMBIGUOUS, "Verdict: REJECT", M + " LGTM", A, line=2),

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

    case("repeated", "file-under-review", AMBIGUOUS, "The file under review says: " + A, A, line=2),
    case("repeated", "search-result", AMBIGUOUS, "tests/fixture.md:3:" + A, FINE, A, line=3),
    case("repeated", "search-result-of-a-block", AMBIGUOUS, "src/check.sh:42:" + R, FINE, A, line=3),
    case("repeated", "diff-line-that-echoes", AMBIGUOUS, f'+echo "{R}"', FINE, A, line=3),
    case("repeated", "my-answer-is", AMBIGUOUS, f"My answer is {R}, see below", A, line=2),
    case("repeated", "mention-after-it", AMBIGUOUS, A, "I wrote " + A, line=2),
    case("repeated", "mention-on-its-line", AMBIGUOUS, f"{A} {A}", line=1),
    case("repeated", "mention-behind-the-quoted-rule", AMBIGUOUS, f"{M} <value> {A}", A, line=2),
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


# --- What must hold for every report --------------------------------------------------------------
#
# Reports are made in two ways: all that up to four lines out of KINDS make, and random ones out of
# FRAGMENTS, from a fixed seed. That time is linear in the length, and how fast it is, a test that
# asserts no time cannot say; that each hostile shape is read at all, and rightly, it can.

APPROVED = next(rule for rule in RULES if rule.verdict == APPROVE)
COLOUR = re.compile("\x1b\\[[0-9;:]*m")

# A kind of line, and what a reader makes of it.
KINDS: Dict[str, Tuple[str, ...]] = {
    "": (),
    A: ("sentinel", "approval", "bare"),
    "> " + A: ("sentinel", "approval"),
    "1. " + R: ("sentinel", "refusal"),
    M + " LGTM": ("sentinel", "stranger"),
    "It says " + A: ("mention", "weak approve"),
    "## Verdict: request changes": ("old block", "weak block"),
    "Decision: REQUEST_CHANGES": ("old block", "weak block"),
    "The old VERDICT: APPROVE": ("weak approve",),
    "```": ("fence",),
    "<!--": ("comment",),
    "-->": ("comment end",),
}
MORE_KINDS: Dict[str, Tuple[str, ...]] = {
    **KINDS,
    FINE: (),
    f"{A} {T}": ("sentinel", "approval", "bare", "token"),
    f"**{M}** : `approve` {T.upper()}": ("sentinel", "approval", "bare", "token"),
    "# ===\tverdict=== **Approve**": ("sentinel", "approval", "bare"),
    f"| {R} | {T}": ("sentinel", "refusal"),
    f"It says {R}.": ("mention", "weak block"),
    M + " <value>": (),
    f"The {M} line": (),
    "~~~": ("tildes",),
    "  <!-- x -->": ("comment", "comment end"),
    "Gr\u00f6\u00dfe\x0cVERD\u0406CT: APPROVE": ("weak approve",),
}


def expected(lines: Sequence[str], token: Optional[str] = None) -> Tuple[str, Optional[int]]:
    """Rule and line for a report out of kinds, worked out from the kinds alone, without looking at text."""
    at: Dict[str, List[int]] = collections.defaultdict(list)
    fence, opened, comment = "", 0, 0
    for number, line in enumerate(lines, 1):
        kinds = MORE_KINDS[line]
        for kind in kinds:
            at[kind] += [] if fence and kind.startswith("weak") else [number]
        if kinds in (("fence",), ("tildes",)) and fence in ("", kinds[0]):
            fence, opened = ("", 0) if fence else (kinds[0], number)
        comment = 0 if "comment end" in kinds else number if "comment" in kinds else comment
    end = max((number for number, line in enumerate(lines, 1) if line), default=0)
    worded = max((number for number, line in enumerate(lines, 1) if re.search(r"\w", line)), default=0)
    first = at["approval"][:1]
    faults = [
        ("blocked", at["refusal"]),
        ("unknown-value", at["stranger"]),
        ("contradicted", first and at["old block"]),
        ("repeated", first and sorted(at["sentinel"] + at["mention"])[1:]),
        ("not-last", [number for number in first if number < worded]),
        ("signs-after", [number for number in first if number != end]),
        ("not-bare", [number for number in first if number not in at["bare"]]),
        ("wrong-token", [number for number in first if (number in at["token"]) != (token is not None)]),
        ("open-block", first and not token and sorted(filter(None, [opened, comment]))),
        ("approved", first),
        ("weak-both", at["weak block"] and at["weak approve"] and sorted(at["weak block"] + at["weak approve"])),
        ("weak-block", at["weak block"]),
        ("weak-approve", at["weak approve"]),
    ]
    return next(((rule, numbers[0]) for rule, numbers in faults if numbers), ("not-stated", None))


def bare(line: str, token: Optional[str]) -> bool:
    """Whether a line is the one shape that approves, taken off from both ends without an expression."""
    if line.strip(" \t\n\r") != line.strip() or not all(" " <= c <= "~" or c == "\t" for c in line):
        return False
    rest = line.lstrip(" ")
    if len(line) - len(rest) > 3:
        return False
    if rest.startswith("#"):
        signs = len(rest) - len(rest.lstrip("#"))
        rest = rest.lstrip("#")
        if signs > 6 or not rest.startswith(" "):
            return False
        rest = rest.lstrip(" ")
    fenced = rest.startswith("```") and "`" not in rest.lstrip("`")
    left, verdict, right = rest.lstrip("*_`").upper().partition("VERDICT")
    value = right.lstrip(" \t")
    signs_right = len(value) - len(value.lstrip("="))
    if not verdict or left.rstrip(" \t").strip("=") or left.count("=") < 2 or signs_right < 2:
        return False
    words = value.lstrip("=").replace("\t", " ").split(" ")
    while words and not words[-1]:
        words.pop()
    if token and (not words or words.pop().strip("*_`:.") != token.upper()):
        return False
    return " ".join(words).strip(" *_`:.") == "APPROVE" and not (fenced and not token)


# fmt: off
FRAGMENTS = (
    "=", "==", "VERDICT", "===VERDICT===", "APPROVE", "REQUEST_CHANGES", "LGTM", "<value>", "<!--", "-->", "```", "~~~",
    " ", "\t", "\n", "\n", "\n", "\r\n", "\r", "\x0c", "\u2028", "\x85", "\x00", "\u200b", "\u0301", "\ufeff", "\ud800",
    "`", "*", "_", ":", ".", "#", ">", "-", "|", "[x]", "1.", "a", "\u00e9", "\u0410", "\uff1d", "\U0001f680",
    "\x1b[1m", T, f"\n{A}", f"\n{A}\n", f"\n{A} {T}", f"\n{R}\n", f"\n{OLD_BLOCK}\n", OLD_APPROVE, FINE,
)
BLOCKS = (R, "> " + R, "1) `" + R + "`", "<" + R, "\t| ==VERDICT== request\u2011changes | " + T, "\u200b".join(R))

# A shape that is repeated until it is long, above an approval, by the rule that must then decide.
HUGE = {
    "blocked": [R + "\n"],
    "unknown-value": [M, "==VERDICT", "=" * 9 + "VERDICT" + "=" * 9],
    "repeated": [A + "\n", "a" + A],
    "contradicted": [
        OLD_BLOCK + "\n", "REQUEST_CHANGES\n", "Verdict- request changes\x0c", "Verdict\n\nREJECT\n", "[x] REJECT:\n",
        '{"verdict":"reject"}', "\\REQUEST\\_CHANGES\\\n",
    ],
    "off-form": [M + "\n", A + "D\n", A + "\\x"],
    "open-block": ["`", "~", "``` \n", "<!--\n", "````\n```\n", "~~~ `\n"],
    "approved": [
        "=", "VERDICT", " ", "\t", "``` ", "#", "\x1b", "\x1b[", "\x1b[1;", "\u0301", "e\u0301\n", "\x0c", "\r", "\x85",
        "REQUEST_CHANGES ", "1.", "[x]", "a: ", "a-", "=VERDICT", "VERDICT==", "VERDICT:\n", M + "<value>", "<value>",
        "\ufeff", "-->\n", "```\n```\n", "\\", "\\_", "[x] REJECT x ", "[ ]", "- [x] \n", "Verdict\n", "Verdict\r\r", "THE FINAL ",
        "REJECT, ", "NOT ", "NOT-", "DO NOT BE ", "CHANGES_", '"verdict":', '"verdict":"', "DECISION | ", "Previous ",
        '"verdict":"verdict', '"verdict" \t',
    ],
}
# Where a character is put into an approval, and those that may stand there; any other must spoil it.
PLACES = [
    (A, "", "\t\n\r *.:_`"), ("", A, "\n\ufeff *=_`"), (M, "APPROVE", "\t *.:=_`"), (M + " APP", "ROVE", ""),
    ("===", "VERDICT=== APPROVE", "\t ="), ("===VERDICT", "=== APPROVE", "\t ="), ("=", "=VERDICT=== APPROVE", "="),
]
# fmt: on


def wild_reports(seed: int, number: int, longest: int = 12) -> Iterator[str]:
    """Random reports out of FRAGMENTS, the same in every run; every second one ends in an approval."""
    chance = random.Random(seed)
    for turn in range(number):
        report = "".join(chance.choices(FRAGMENTS, k=chance.randint(1, longest)))
        yield report if turn % 2 else f"{report}\n{A}" + chance.choice(("", " " + T))
        COUNTED["random reports"] += 1


def kind_reports(seed: int, number: int) -> Iterator[List[str]]:
    """Random reports out of MORE_KINDS, mostly with few markers, so that the later rules are reached."""
    chance = random.Random(seed)
    quiet = [line for line, kinds in MORE_KINDS.items() if "sentinel" not in kinds and "mention" not in kinds]
    for _ in range(number):
        body = chance.choices(quiet, k=chance.randint(0, 9)) + chance.choices(list(MORE_KINDS), k=chance.randint(0, 1))
        chance.shuffle(body)
        yield body + chance.choices(list(MORE_KINDS), k=chance.randint(0, 2))
        COUNTED["random reports"] += 1


def approved_reports(seed: int, number: int, token: Optional[str] = None) -> List[str]:
    """Random reports that are approved."""
    reports = itertools.chain(wild_reports(seed, number), ("\n".join(lines) for lines in kind_reports(seed, number)))
    found = [report for report in reports if find_verdict(report, token) == APPROVE]
    assert len(found) > 20, "too few to say anything"
    return found


# Each shape with every ASCII character in turn for the @: the rule, and with exactly which characters it holds.
ALNUM = string.digits + string.ascii_letters
CUT = "\v\f\r\x1c\x1d\x1e"
UNSEEN = "".join(map(chr, [*range(9), *range(14, 28), 31, 127]))
SIGNS = string.punctuation
ANY = "".join(map(chr, range(128)))
NO_HEX = "".join(set(string.ascii_letters) - set(string.hexdigits))
SWEEPS = [
    ("\x1b[@m" + A, None, "approved", "0123456789:;"),
    (A + "\n@", None, "approved", " \t\r\n"),
    ("@" + A, None, "approved", "\n *_`="),
    ("@" + A, None, "weak-approve", ALNUM),
    ("   @" + A, None, "approved", "\n*_`="),
    ("#@" + A, None, "approved", "\n "),
    ("#@ " + A, None, "approved", "\n #"),
    ("x@" + A, None, "not-bare", CUT),
    ("===@VERDICT=== APPROVE", None, "approved", " \t="),
    ("===@VERDICT=== APPROVE", None, "not-bare", UNSEEN),
    ("===VERDICT@=== APPROVE", None, "approved", " \t="),
    ("===VERDICT@=== APPROVE", None, "not-bare", UNSEEN + "\\"),
    (M + "@APPROVE", None, "approved", " \t*_`:.="),
    (M + "@APPROVE", None, "not-bare", UNSEEN),
    (A + "@", None, "approved", " \t*_`:.\r\n"),
    (A + "@", None, "not-bare", UNSEEN + CUT.replace("\r", "")),
    (A + "@" + T, T, "approved", " \t"),
    (A + " @" + T, T, "approved", " \t*_`:."),
    (A + " @" + T, T, "wrong-token", string.hexdigits),
    (A + "@ " + T, T, "approved", " \t*_`:."),
    (A + " " + T + "@", T, "approved", " \t*_`:.\r\n"),
    (A + " " + T + "@", T, "wrong-token", string.hexdigits),
    (A + " @" + T[1:], None, "wrong-token", string.hexdigits + " \t*_`:."),
    (R + "@", None, "unknown-value", ALNUM),
    (M + "@REQUEST_CHANGES", None, "unknown-value", ALNUM),
    (M + "@REQUEST_CHANGES", None, "contradicted", CUT + "\n"),
    (M + " REQUEST@CHANGES", None, "blocked", " \t-_" + UNSEEN),
    (R + "@" + T, None, "unknown-value", ALNUM + UNSEEN),
    (A + " " + T + "@", T, "off-form", NO_HEX + "".join(set(SIGNS) - set("*_`:."))),
    ("@" + M + " LGTM", None, "not-stated", ALNUM),
    ("1@" + M + " LGTM", None, "unknown-value", ".)\n" + CUT),
    ("@." + M + " LGTM", None, "not-stated", string.ascii_letters),
    ("1.@" + M + " LGTM", None, "not-stated", ALNUM),
    ("1@." + M + " LGTM", None, "unknown-value", ".)\n\\" + CUT + UNSEEN + string.digits),
    ("x " + M + "@APPROVE\n" + A, None, "approved", ALNUM + CUT + "\n"),
    ("x " + M + " @APPROVE\n" + A, None, "approved", ALNUM + "\n" + CUT),
    ("x " + A + "@\n" + A, None, "repeated", ANY),
    ("x " + M + " REQUEST@CHANGES\n" + A, None, "repeated", " \t-_Ss" + UNSEEN),
    ("x " + R + "@\n" + A, None, "approved", ALNUM),
    (M + "@<value>\n" + A, None, "unknown-value", ALNUM),
    (M + "@<value>\n" + A, None, "off-form", CUT + "\n"),
    (M + " <value> APPROV@\n" + A, None, "unknown-value", "Ee"),
    (M + " <value> REJEC@\n" + A, None, "unknown-value", "Tt"),
    (M + " <value@\n" + A, None, "approved", ">"),
    ("VERDICT@APPROVE", None, "weak-approve", " \t`:=*#>|.~-"),
    ("VERDICT@REQUEST_CHANGES", None, "weak-block", SIGNS + " \t\n" + CUT),
    ("VERDICT@REQUEST_CHANGES x", None, "weak-block", " \t`:=*#>|.~-"),
    ("VERDICT:@APPROVE", None, "weak-approve", " \t`:=*#>|.~-" + UNSEEN),
    ("@VERDICT: APPROVE", None, "not-stated", ALNUM),
    ("VERDICT: APPROVE@", None, "not-stated", ALNUM),
    ("VERDICT: APPROVE_@", None, "not-stated", ALNUM),
    ("VERDICT: REQUEST@CHANGES", None, "weak-block", " \t-_Ss" + UNSEEN),
    ("VERDICT: REQUEST@CHANGES x", None, "weak-block", " \t-_" + UNSEEN),
    ("REQUEST@CHANGES\n" + A, None, "contradicted", " \t-_" + UNSEEN),
    ("@REQUEST_CHANGES\n" + A, None, "approved", ALNUM),
    ("REQUEST_CHANGES@\n" + A, None, "approved", ALNUM),
    ("[@] REQUEST_CHANGES\n" + A, None, "approved", " " + ALNUM.replace("X", "").replace("x", "")),
    ("1@ REQUEST_CHANGES\n" + A, None, "contradicted", ".):=\n" + CUT),
    ("@. REQUEST_CHANGES\n" + A, None, "approved", string.ascii_letters),
    ("REQUEST_CHANGES 1@\n" + A, None, "contradicted", ".)"),
    ("FINAL@ANSWER: REQUEST_CHANGES\n" + A, None, "approved", "".join(set(SIGNS) - set("_-/")) + "\t"),
    ("FINAL ANSWER@ REQUEST_CHANGES\n" + A, None, "contradicted", ":=\n" + CUT),
    ("FINAL@VERDICT - REQUEST_CHANGES\n" + A, None, "contradicted", SIGNS + " \t\n" + CUT),
    ("LAST@VERDICT - REQUEST_CHANGES\n" + A, None, "contradicted", "_-/ \n" + CUT),
    ("@VERDICT - REQUEST_CHANGES\n" + A, None, "approved", ALNUM),
    ("FINAL VERDICT@REQUEST_CHANGES\n" + A, None, "contradicted", SIGNS + " \t\n" + CUT),
    ("A:@REQUEST_CHANGES\n" + A, None, "approved", ALNUM),
    ("A@: REQUEST_CHANGES\n" + A, None, "contradicted", ANY),
    ("@: REQUEST_CHANGES\n" + A, None, "contradicted", ANY),
    ("``@\n" + A, None, "open-block", "`"),
    ("@```\n" + A, None, "open-block", "\n `"),
    ("   @```\n" + A, None, "open-block", "\n`"),
    ("```@\n" + A, None, "open-block", ANY),
    ("```\n```@\n" + A, None, "approved", "\t\n\r `"),
    ("```\n@```\n" + A, None, "approved", "\n `"),
    ("<!-@\n" + A, None, "open-block", "-"),
    ("@<!--\n" + A, None, "open-block", "\n "),
    ("<!-- --@\n" + A, None, "approved", ">"),
    ("```\nx\n```@\nVERDICT: REQUEST_CHANGES", None, "weak-block", "\t\n\r `"),
    (A + ":@@@@@@@@ ", None, "approved", " \t\n*_`:."),
    (A + ":@@@@@@@@ ", None, "off-form", "".join(set(ANY) - set(UNSEEN + CUT + " \t\n*_`:."))),
    (A + ":@" + T[1:], None, "wrong-token", " \t"),
    (R + ":@" + T[1:], None, "blocked", ANY),
    ("Verdict@REJECT\n" + A, None, "contradicted", ":=-|\n" + CUT),
    ("Verdict: @REJECT\n" + A, None, "approved", ALNUM),
    ("@ Verdict: REJECT\n" + A, None, "approved", ALNUM + ">"),
    ("V@: REJECT\nVerdict: REJECT@x\n" + A, None, "contradicted", ",;:.!?([|\n" + CUT),
    ("Verdict: REJECT@ x\n" + A, None, "contradicted", ",;:.!?([|-\n" + CUT),
    ("Verdict: REJECT @x\n" + A, None, "contradicted", ",;:.!?([|-\n" + CUT),
    ("Verdict: REJECT@\n" + A, None, "approved", ALNUM),
    ("Decision: REJECT@x\n" + A, None, "contradicted", "\n" + CUT),
    ("Decision: REQUEST_CHANGES@x\n" + A, None, "contradicted", ",;:.!?([|\n" + CUT),
    ("Verdict\n@REJECT: x\n" + A, None, "approved", ALNUM + ">"),
    ("Verdict@\nREJECT: x\n" + A, None, "approved", ALNUM + ">"),
    ("Verdict\n@\nREJECT: x\n" + A, None, "contradicted", " \t\n" + CUT + UNSEEN),
    ("[@] REJECT: x\n" + A, None, "contradicted", "Xx"),
    ("Verdict: [@] REJECT\n" + A, None, "approved", " " + ALNUM.replace("X", "").replace("x", "")),
    ("REQUEST\\@CHANGES\n" + A, None, "contradicted", "_-"),
    ("Verdict: don@t merge\n" + A, None, "contradicted", "'Oo" + UNSEEN),
    ('x {"verdict"@"reject"}\n' + A, None, "contradicted", ":"),
    ('x {"verdict":@"reject"}\n' + A, None, "contradicted", " \t" + "\\" + UNSEEN),
    ('x {"verdict":"@reject"}\n' + A, None, "contradicted", UNSEEN),
    ("Previous@verdict: REQUEST_CHANGES\n" + A, None, "contradicted", ALNUM + UNSEEN + "\n" + CUT),
    ("@Previous verdict: REQUEST_CHANGES\n" + A, None, "contradicted", ALNUM),
    (A + "\n@", None, "signs-after", UNSEEN + SIGNS + CUT.replace("\r", "")),
    (A + "\n@", None, "not-last", ALNUM),
    (M + " @" + T, T, "off-form", string.hexdigits + "*_`:. \t\n" + CUT + UNSEEN),
    ("REQUEST@CHANGES: x\n" + M, None, "off-form", ANY),
    ("CHANGES@REQUESTED\n" + A, None, "contradicted", "_-"),
]


class StatementTest(unittest.TestCase):
    """What must hold for every report, tried on many."""

    def check_one_approval(self, report: str, token: Optional[str] = None) -> Reading:
        """The reading, after checking that the approving rule alone agrees with its verdict."""
        got = read_verdict(report, token)
        alone = bool(APPROVED.holds(verdict_contract._read(report, token)))
        self.assertEqual(got.verdict == APPROVE, alone, ascii(report))
        return got

    def test_every_report_of_up_to_four_lines(self) -> None:
        for length in range(5):
            for lines in itertools.product(KINDS, repeat=length):
                got = self.check_one_approval("\n".join(lines))
                if (got.rule, got.line) != expected(lines):
                    self.fail(f"want {expected(lines)}, got {got}\n{shown(chr(10).join(lines))}")
                COUNTED["enumerated reports"] += 1

    def test_random_reports_of_known_lines(self) -> None:
        for lines in kind_reports(1, 4000):
            for token in (None, T):
                got = self.check_one_approval("\n".join(lines), token)
                want = expected(lines, token)
                self.assertEqual(want, (got.rule, got.line), f"token {token}\n{shown(chr(10).join(lines))}")

    def test_any_ascii_character_in_any_place(self) -> None:
        for shape, token, rule, characters in SWEEPS:
            holds = {character for character in ANY if read_verdict(shape.replace("@", character), token).rule == rule}
            self.assertEqual(set(characters), holds, f"{shape!a} {rule}")

    def test_prompt_rule_differs_in_the_token_only(self) -> None:
        without = prompt_rule(T).replace(f" {T}", "").replace(" Copy the token after it as it stands.", "")
        self.assertEqual(prompt_rule(), without)
        self.assertEqual(2, prompt_rule().count("<value>"))

    def test_1_one_rule_approves_and_says_it_all(self) -> None:
        self.assertEqual(["approved"], [rule.id for rule in RULES if rule.verdict == APPROVE])
        for report in wild_reports(2, 3000):
            self.check_one_approval(report)
            self.check_one_approval(report, T)

    def test_1_no_other_order_of_the_rules_approves_more(self) -> None:
        chance = random.Random(3)
        for report in wild_reports(3, 1000):
            facts = verdict_contract._read(report, None)
            some = chance.sample(RULES, chance.randint(1, len(RULES)))
            first = next((rule.verdict for rule in some if rule.holds(facts)), None)
            self.assertFalse(first == APPROVE != find_verdict(report), ascii(report))

    def test_2_a_refusal_anywhere_blocks(self) -> None:
        chance = random.Random(4)
        for report in wild_reports(4, 3000):
            lines = report.split("\n")
            lines.insert(chance.randint(0, len(lines)), chance.choice(BLOCKS) + chance.choice(("", "\r")))
            got = read_verdict("\n".join(lines), chance.choice((None, T)))
            self.assertEqual((REQUEST_CHANGES, "blocked"), got[:2], ascii(lines))

    def test_3_nothing_may_follow_an_approval(self) -> None:
        chance = random.Random(5)
        for report in approved_reports(5, 2000):
            more = "".join(chance.choices(FRAGMENTS, k=chance.randint(1, 4)))
            if COLOUR.sub("", more).strip(" \t\r\n"):
                self.assertNotEqual(APPROVE, find_verdict(f"{report}\n{more}"), ascii(f"{report}\n{more}"))
            for blank in ("\n", "\n \t\n", "\n\r", "\n\x1b[0m", "\r\n\r\n"):
                self.assertEqual(APPROVE, find_verdict(report + blank), ascii(report + blank))

    def test_4_no_approval_without_the_token(self) -> None:
        for report in wild_reports(6, 3000):
            if T not in COLOUR.sub("", report).lower():
                self.assertNotEqual(APPROVE, find_verdict(report, T), ascii(report))
        for report in approved_reports(7, 1000, T):
            end = report.lower().rindex(T[-1])
            for cut in range(end):
                self.assertNotEqual(APPROVE, find_verdict(report[:cut], T), ascii(report[:cut]))

    def test_5_the_prompt_is_no_verdict_and_changes_none(self) -> None:
        for asked in (None, T):
            rule = prompt_rule(asked)
            self.assertEqual(Reading(None, "not-stated", None), read_verdict(rule, asked))
            for report in wild_reports(8, 1500):
                if not COLOUR.sub("", report).startswith("\ufeff"):
                    want, got = read_verdict(report, asked), read_verdict(f"{rule}\n{report}", asked)
                    line = want.line and want.line + len(rule.split("\n"))
                    self.assertEqual(want._replace(line=line), got, ascii(report))

    def test_6_line_ends_and_colours_change_nothing(self) -> None:
        chance = random.Random(9)
        for report in wild_reports(9, 2500):
            plain = re.sub("\r+\n", "\n", COLOUR.sub("", report).rstrip("\r").lstrip("\ufeff"))
            places = sorted(chance.choices(range(len(plain) + 1), k=3))
            parts = [plain[i:j] for i, j in zip([0, *places], [*places, len(plain)])]
            crlf = plain.replace("\n", "\r\n")
            variants = (
                *(crlf, plain + "\r", crlf + "\r", "\ufeff" + plain, "\x1b[1;31m\ufeff" + plain),
                *("\x1b[0m".join(parts), "\x1b[4:3m".join(crlf), plain + " \t", plain.replace("\n", " \t\n")),
            )
            for token in (None, T):
                want = read_verdict(plain, token)
                for variant in variants:
                    self.assertEqual(want, read_verdict(variant, token), ascii(variant))

    def test_7_any_text_at_all_is_read(self) -> None:
        chance = random.Random(10)
        for _ in range(300):
            report = "".join(map(chr, chance.choices(range(0x110000), k=30))) + chance.choice(("", "\n" + A))
            self.assertIn(find_verdict(report), (APPROVE, REQUEST_CHANGES, AMBIGUOUS, None))
        everything = "".join(map(chr, [*range(0x30000), *range(0x30000, 0x110000, 99)]))
        self.assertEqual("not-stated", read_verdict(everything).rule)

    def test_8_huge_hostile_shapes_are_read(self) -> None:
        for rule, shapes in HUGE.items():
            for shape in shapes:
                times = 200_001 // len(shape) | 1
                self.assertEqual(rule, read_verdict(f"{shape * times}\n{A}").rule, ascii(shape))
                COUNTED["huge reports"] += 1

    def test_only_listed_characters_go_with_an_approval(self) -> None:
        for before, behind, allowed in PLACES:
            for code in range(0x10000 if (before, behind) == (A, "") else 0x2200):
                approves = find_verdict(before + chr(code) + behind) == APPROVE
                self.assertEqual(chr(code) in allowed, approves, f"U+{code:04X} between {before!r} and {behind!r}")
                COUNTED["odd characters"] += 1

    def test_the_last_line_is_read_as_by_another_way(self) -> None:
        chance = random.Random(11)
        for _ in range(6000):
            token = chance.choice((None, T))
            line = list("  ## **=== VERDICT === APPROVE.**"[chance.randint(0, 7) :] + (f" `{T}`" if token else ""))
            for _ in range(chance.randint(0, 4)):
                at = chance.randrange(len(line))
                line[at : at + chance.randint(0, 1)] = chance.choice("  \t#*_`:.==->1\u00a0\u200b\u0131")
            text = "".join(line)
            self.assertEqual(bare(text, token), find_verdict(text, token) == APPROVE, ascii((text, token)))
            COUNTED["random reports"] += 1


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
        self.assertEqual("===VERDICT=== <value>", PROMPT_RULE.split("\n")[2])
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
        for word, other in (("APPROVE", "SHIP"), ("REQUEST_CHANGES", "HOLD_CHANGES"), ("_WORD", "RULING")):
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

    def test_a_fresh_token_and_wrong_calls_as_a_command(self) -> None:
        drawn = [process(*PYTHON, verdict_contract.__file__, "--new-token") for _ in range(2)]
        self.assertNotEqual(drawn[0].stdout, drawn[1].stdout)
        for ran in drawn:
            self.assertEqual((0, b""), (ran.returncode, ran.stderr))
            self.assertRegex(ran.stdout.decode(), r"\A[0-9a-f]{16}\r?\n\Z")
        for arguments in (["--new-token", T], ["--new"], ["--help"]):
            ran = process(*PYTHON, verdict_contract.__file__, *arguments)
            self.assertEqual((2, b"", 1), (ran.returncode, ran.stdout, ran.stderr.count(b"\n")), ran.stderr)

    @unittest.skipUnless(os.path.exists("/dev/full") and shutil.which("sh"), "no /dev/full and sh here")
    def test_the_command_where_a_stream_is_full_or_closed(self) -> None:
        for redirection, status, lines in (
            ("> /dev/full", 1, 1), (">&-", 1, 1), ("> /dev/full 2> /dev/full", 1, 0), (">&- 2>&-", 1, 0),
            ("wrong 2> /dev/full", 2, 0), ("wrong 2>&-", 2, 0), ("2>&-", 0, 0),
        ):  # fmt: skip
            for unbuffered in ("", "1"):
                script = f'PYTHONUNBUFFERED={unbuffered} "$@" {redirection}'
                ran = process("sh", "-c", script, "sh", *PYTHON, verdict_contract.__file__)
                self.assertEqual((status, lines), (ran.returncode, ran.stderr.count(b"\n")), (redirection, ran.stderr))
                self.assertEqual(b"" if status else PROMPT_RULE.encode() + b"\n", ran.stdout, redirection)

    def test_public_names_exist(self) -> None:
        names = {"PROMPT_RULE", "RULES", "APPROVE", "REQUEST_CHANGES", "AMBIGUOUS", "Reading", "Rule"}
        names |= {"prompt_rule", "new_token", "diff_token", "read_verdict", "find_verdict", "verdict_line"}
        self.assertEqual(names | {"combine", "exit_code"}, set(verdict_contract.__all__))
        self.assertRegex(verdict_contract.__version__, r"\A\d+\.\d+\.\d+\Z")
        self.assertEqual(["APPROVE", "REQUEST_CHANGES", "AMBIGUOUS"], [APPROVE, REQUEST_CHANGES, AMBIGUOUS])


# --- The command line, as a real process ----------------------------------------------------------

CANARY = "canary-of-the-report"
HOSTILE = f"{CANARY}\n::error::{CANARY}\n::add-mask::APPROVE\n##[error]{CANARY}\n\x1b]0;{CANARY}\x07\n"
POSIX = os.name == "posix"
PYTHON = [sys.executable, *(f"-W{option}" for option in sys.warnoptions)]
Process = subprocess.CompletedProcess


def process(*command: Any, **options: Any) -> Process[bytes]:
    """Run a command to its end, with its output caught."""
    COUNTED["commands"] += 1
    streams = {} if "input" in options else {"stdin": subprocess.DEVNULL}
    streams.update(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return subprocess.run(command, check=False, timeout=60, **{**streams, **options})


class CommandTest(unittest.TestCase):
    """verdict_check.py and verdict_contract.py as a script or a job calls them."""

    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(os.path.realpath(temporary.name))

    def write(self, name: str, content: Any) -> str:
        """A file in the test's folder; text is written as UTF-8, behind hostile lines. Returns its name."""
        data = content if isinstance(content, bytes) else (HOSTILE + content).encode("utf-8", "surrogatepass")
        (self.folder / name).write_bytes(data)
        return name

    def check(
        self, code: int, reports: Sequence[str], *options: str, env: Optional[Dict[str, str]] = None, **how: Any
    ) -> Tuple[str, str]:
        """Run verdict_check.py, check what holds for every call, return what it printed."""
        others = ("GITHUB_", "PYTHONIO")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(others)}
        how = {"cwd": self.folder, **how}
        ran = process(*PYTHON, HERE / "verdict_check.py", *options, *reports, env={**inherited, **(env or {})}, **how)
        out, err = ((stream or b"").decode("utf-8", "surrogateescape") for stream in (ran.stdout, ran.stderr))
        self.assertEqual(code, ran.returncode, out + err)
        if ran.returncode == 0:
            self.check_approved(reports, dict(zip(options, options[1:])), how.get("input", b""))
        self.assertNotIn("Traceback", err)
        self.assertNotIn(CANARY, out + err)
        self.assertNotIn("##[", out + err)
        commands = {line for line in (out + err).splitlines() if line.lstrip().startswith("::")}
        told = {line for line in commands if re.match("::(error|notice) file=", line)}
        self.assertEqual(told if "--github" in options else set(), commands)
        return out, err

    def check_approved(self, reports: Sequence[str], options: Dict[str, str], stdin: bytes) -> None:
        """Exit 0 takes at least one report, and an approval in each: nothing else exits 0."""
        diff = options.get("--diff")
        token = diff_token((self.folder / diff).read_bytes()) if diff else options.get("--token")
        self.assertTrue(reports)
        for report in reports:
            content = stdin if report == "-" else (self.folder / report).read_bytes()
            self.assertEqual(APPROVE, find_verdict(verdict_check.decode(content), token), report)

    # Verdicts

    def test_exit_0_for_an_approval(self) -> None:
        self.assertEqual(("VERDICT: APPROVE\n", ""), self.check(0, [self.write("a", A)]))

    def test_exit_3_for_a_block(self) -> None:
        self.assertEqual(("VERDICT: REQUEST_CHANGES\n", ""), self.check(3, [self.write("r", R)]))

    def test_exit_4_for_all_else(self) -> None:
        for text in ("", A + " maybe", OLD_APPROVE):
            out, err = self.check(4, [self.write("x", text)])
            self.assertEqual((verdict_line(HOSTILE + text) + "\n", ""), (out, err))

    def test_exit_4_for_an_empty_file(self) -> None:
        out, _ = self.check(4, [self.write("empty", b"")])
        self.assertEqual(verdict_line("") + "\n", out)

    def test_exit_4_for_an_empty_input(self) -> None:
        self.check(4, ["-"], input=b"")

    def test_input_from_a_pipe(self) -> None:
        self.assertEqual(("VERDICT: APPROVE\n", ""), self.check(0, ["-"], input=A.encode()))
        self.check(3, ["-"], input=R.encode())

    def test_a_panel_that_approves(self) -> None:
        names = [self.write("a", A), self.write("b", f"**{A}**"), self.write("c", A)]
        said = "".join(f"{name}: VERDICT: APPROVE\n" for name in names)
        self.assertEqual((said + "PANEL: APPROVE\n", ""), self.check(0, names))

    def test_a_panel_that_does_not(self) -> None:
        self.write("a", A)
        self.write("r", R)
        self.write("n", "")
        for code, names, said in (
            (3, ["a", "r"], "REQUEST_CHANGES !! 1 of 2"),
            (3, ["r", "n"], "REQUEST_CHANGES !! 0 of 2"),
            (4, ["a", "n"], "AMBIGUOUS !! 1 of 2"),
        ):
            out, _ = self.check(code, names)
            self.assertEqual(f"PANEL: {said} approve; read the reports", out.splitlines()[-1])
            self.assertEqual([name + ":" for name in names], [line.split()[0] for line in out.splitlines()[:-1]])
        self.write("m", "")
        self.assertIn("PANEL: (not stated) !! 0 of 2 approve", self.check(4, ["n", "m"])[0])

    def test_a_panel_with_standard_input(self) -> None:
        out, _ = self.check(3, [self.write("a", A), "-"], input=R.encode())
        self.assertIn("-: VERDICT: REQUEST_CHANGES\n", out)

    # Tokens

    def test_token(self) -> None:
        self.write("t", f"{A} {T}")
        self.write("a", A)
        self.check(0, ["t"], "--token", T)
        self.check(0, ["t"], "--token", T.upper())
        self.assertIn("wrong-token, line 6", self.check(4, ["a"], "--token", T)[0])
        self.assertIn("wrong-token", self.check(4, ["t"], "--token", OTHER)[0])
        self.assertIn("wrong-token", self.check(4, ["t"])[0])

    def test_malformed_tokens_exit_2(self) -> None:
        for token in ("", "short", "7f3a9c2", "a" * 65, T + "\n", "::error::x"):
            out, err = self.check(2, [self.write("a", A)], "--token", token)
            self.assertEqual(("", 1), (out, err.count("\n")))

    def test_diff(self) -> None:
        diff = b"--- a/x\n+++ b/x\n-old\r\n+new\xff\n"
        self.write("diff", diff)
        self.write("t", f"{A} {hashlib.sha256(diff).hexdigest()[:16]}")
        self.check(0, ["t"], "--diff", "diff")
        self.assertIn("wrong-token", self.check(4, ["t"], "--diff", self.write("amended", diff + b"\n"))[0])
        self.assertIn("wrong-token", self.check(4, [self.write("a", A)], "--diff", "diff")[0])

    def test_diff_from_standard_input(self) -> None:
        self.write("t", f"{A} {diff_token(b'+x')}")
        out, _ = self.check(4, ["t"], "--diff", "-", input=b"+y")
        self.assertIn("wrong-token", out)
        ran = process(*PYTHON, HERE / "verdict_check.py", "--diff", "-", self.folder / "t", input=b"+x")
        self.assertEqual((0, b"VERDICT: APPROVE\n"), (ran.returncode, ran.stdout))

    def test_diff_that_cannot_be_read_exits_1(self) -> None:
        for diff in ("missing", ".", self.write("empty", b""), self.write("blank", b" \r\n\t")):
            out, err = self.check(1, [self.write("a", A), self.write("r", R)], "--diff", diff)
            self.assertRegex(out, r"\APANEL: \(not read\) !! 0 of 2 approve, .*; read the reports\n\Z")
            self.assertEqual(1, err.count("\n"), err)
            self.assertIn(f" {diff}: ", err)

    # Forms of output

    def test_json(self) -> None:
        names = [self.write("a", A), self.write("x", A + " maybe")]
        out, err = self.check(4, names, "--json")
        self.assertEqual(("", 1), (err, out.count("\n")))
        texts = [HOSTILE + A, HOSTILE + A + " maybe"]
        reports = [
            {"report": name, **read_verdict(text)._asdict(), "message": verdict_line(text)}
            for name, text in zip(names, texts)
        ]
        wanted = {"verdict": AMBIGUOUS, "exit_code": 4, "reports": reports, "version": verdict_contract.__version__}
        self.assertEqual(wanted, json.loads(out))
        self.assertEqual(["verdict", "exit_code", "reports", "version"], list(json.loads(out)))

    def test_json_of_one_approval(self) -> None:
        result = json.loads(self.check(0, [self.write("a", A)], "--json")[0])
        report = {"report": "a", "verdict": APPROVE, "rule": "approved", "line": 6, "message": "VERDICT: APPROVE"}
        self.assertEqual((APPROVE, 0, [report]), (result["verdict"], result["exit_code"], result["reports"]))

    def test_json_of_a_missing_report(self) -> None:
        result = json.loads(self.check(1, [self.write("a", A), "missing"], "--json")[0])
        self.assertEqual((None, 1), (result["verdict"], result["exit_code"]))
        report = {"report": "missing", "verdict": None, "rule": None, "line": None, "message": "cannot be read"}
        self.assertEqual([APPROVE, report], [result["reports"][0]["verdict"], result["reports"][1]])

    def test_quiet(self) -> None:
        self.write("a", A)
        self.write("r", R)
        self.write("n", "")
        for code, name in ((0, "a"), (3, "r"), (4, "n")):
            self.assertEqual(("", ""), self.check(code, [name], "--quiet"))
        self.assertEqual("", self.check(1, ["missing"], "--quiet")[0])

    # Usage

    def test_help_and_version_exit_2(self) -> None:
        out, _ = self.check(2, [], "--help")
        self.assertTrue(all(line in out for line in (verdict_check.__doc__ or "").splitlines()), out)
        self.assertEqual((verdict_contract.__version__ + "\n", ""), self.check(2, [], "--version"))
        self.check(2, [self.write("a", A)], "--help")
        self.check(2, ["a"], "--version")
        self.check(2, ["a"], "-h")

    def test_wrong_usage_exits_2(self) -> None:
        self.write("a", A)
        self.write("d", b"+x")
        for options in (
            ["--nonsense"],
            ["--tok", T],
            ["--json", "--quiet"],
            ["--token", T, "--diff", "d"],
            ["--::error::x"],
            ["--\x1b[2J"],
        ):
            out, err = self.check(2, ["a"], *options)
            self.assertEqual(("", 1), (out, err.count("\n")), err)
            self.assertTrue(err[:-1].isprintable(), ascii(err))
        self.assertEqual("", self.check(2, [])[0])
        self.check(2, [], "--token")

    def test_the_same_report_twice_exits_2(self) -> None:
        self.write("a", A)
        for twin in ("a", "./a", str(self.folder / "a"), f"../{self.folder.name}/a"):
            out, err = self.check(2, ["a", twin])
            self.assertEqual(("", 1), (out, err.count("\n")))
        self.check(2, ["-", "-"], input=A.encode())
        self.check(2, ["-"], "--diff", "-", input=A.encode())
        self.check(2, ["a"], "--diff", "a")

    @unittest.skipUnless(os.path.exists("/dev/stdin"), "standard input has no path here")
    def test_the_report_on_standard_input_named_as_well_exits_2(self) -> None:
        for twin in (self.write("a", A), "/dev/stdin"):
            with open(self.folder / "a", "rb") as report:
                self.check(2, ["-", twin], stdin=report)

    @unittest.skipUnless(POSIX, "symbolic links may need a privilege here")
    def test_the_same_report_behind_a_link_exits_2(self) -> None:
        os.symlink(self.write("a", A), self.folder / "link")
        self.check(2, ["a", "link"])
        self.check(0, ["link"])

    # What cannot be read

    def test_a_missing_report_exits_1(self) -> None:
        out, err = self.check(1, ["missing"])
        self.assertEqual("", out)
        self.assertRegex(err, r"\Averdict_check.py: missing: No such file or directory\n\Z")

    def test_the_other_reports_are_read_and_shown(self) -> None:
        out, err = self.check(1, [self.write("a", A), "missing", self.write("r", R)])
        self.assertEqual(["a: VERDICT: APPROVE", "r: VERDICT: REQUEST_CHANGES"], out.splitlines()[:2])
        self.assertRegex(out.splitlines()[2], r"\APANEL: \(not read\) !! 1 of 3 approve, .*; read the reports\Z")
        self.assertEqual(1, err.count("\n"))
        self.assertEqual(2, self.check(1, ["missing", "gone", "a"])[1].count("\n"))

    def test_a_directory_exits_1(self) -> None:
        self.assertIn("verdict_check.py: .: ", self.check(1, ["."])[1])

    def test_an_empty_name_exits_1(self) -> None:
        self.check(1, [""])
        self.check(1, [self.write("a", A)], "--diff", "")

    @unittest.skipIf(not POSIX or os.geteuid() == 0, "whoever runs this may read every file")
    def test_no_permission_exits_1(self) -> None:
        (self.folder / self.write("a", A)).chmod(0)
        self.assertIn("verdict_check.py: a: Permission denied", self.check(1, ["a"])[1])

    @unittest.skipUnless(os.path.exists("/proc/self/mem"), "no file here that opens and then fails")
    def test_a_report_that_fails_while_it_is_read_exits_1(self) -> None:
        said = "verdict_check.py: /proc/self/mem: Input/output error\n"
        self.assertEqual(("", said), self.check(1, ["/proc/self/mem"]))

    def test_over_64_mebibytes_exits_1(self) -> None:
        os.truncate(self.folder / self.write("##big", A.encode()), (64 << 20) + 1)
        self.assertEqual(("", "verdict_check.py: #\\x23big: larger than 64 MiB\n"), self.check(1, ["##big"]))
        os.truncate(self.folder / "##big", 64 << 20)
        self.check(4, ["##big"])

    @unittest.skipUnless(os.path.exists("/dev/zero"), "no /dev/zero here")
    def test_an_endless_input_exits_1(self) -> None:
        limit = "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29)); "
        limit += "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
        with open("/dev/zero", "rb") as endless:
            ran = process(*PYTHON, "-c", limit, HERE / "verdict_check.py", "-", stdin=endless)
        self.assertEqual((1, b""), (ran.returncode, ran.stdout))
        self.assertEqual(b"verdict_check.py: -: larger than 64 MiB", ran.stderr.strip())

    @unittest.skipUnless(hasattr(os, "mkfifo"), "no named pipes here")
    def test_an_interrupt_exits_130(self) -> None:
        os.mkfifo(self.folder / "pipe")
        command = [*PYTHON, str(HERE / "verdict_check.py"), str(self.folder / "pipe")]
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with running:
            with open(self.folder / "pipe", "wb") as pipe:
                pipe.write(bytes(1 << 20))  # more than a pipe holds: once it is written, the other side is reading
                pipe.flush()
                running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=60)
        self.assertEqual((130, b"", b""), (running.returncode, out, err))

    # Bytes

    def test_encodings(self) -> None:
        text = f"Gr\u00f6\u00dfe \U0001f680 \u4e2d\u6587\r\n\r\n{A}\r\n"
        marked = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
        bare = [self.write(codec, text.encode(codec)) for codec in ("utf-8-sig", "utf-16", "utf-32")]
        self.check(0, [*bare, *(self.write(codec, ("\ufeff" + text).encode(codec)) for codec in marked)])
        self.check(0, [self.write("utf-8", text.encode())])
        out, _ = self.check(3, [self.write(codec, f"\ufeff\u00df\n{R}".encode(codec)) for codec in marked], "--json")
        self.assertEqual([2] * len(marked), [report["line"] for report in json.loads(out)["reports"]])

    def test_utf_16_without_a_mark(self) -> None:
        for codec in ("utf-16-le", "utf-16-be"):
            self.assertIn("not-bare", self.check(4, [self.write("x", A.encode(codec))])[0])

    def test_stray_bytes(self) -> None:
        self.check(0, [self.write("x", b"Gr\xf6\xdfe gut\n" + A.encode())])
        self.assertIn("unknown-value", self.check(4, [self.write("x", A.encode() + b"\xff")])[0])
        self.check(4, [self.write("x", ("\ufeff" + A).encode("utf-16-le") + b"\x00")])
        self.check(4, [self.write("x", A.replace("V", "\u00d6").encode("latin-1"))])

    # Hostile paths and outputs

    @unittest.skipUnless(POSIX, "names that another system does not allow")
    def test_hostile_names_stay_text(self) -> None:
        commands = ("::error::x", "##[group]x", "%0A::error::", "a\n::error::x", "a\r\n##[error]x")
        names = [self.write(name, A) for name in (*commands, "\x1b[2Jx", "a|b`c`", "a\u2028::x::", "a\x85##[x]")]
        missing = [name + "~" for name in names]
        for code, reports, options, lines in (
            (0, names, [], len(names) + 1),
            (0, names, ["--json"], 1),
            (0, names, ["--github"], 2 * len(names) + 1),
            (4, names, ["--token", OTHER], len(names) + 1),
            (1, missing, ["--github"], len(names) + 1),
        ):
            out, err = self.check(code, reports, *options)
            self.assertTrue(all(line.isprintable() for line in (out + err).split("\n")), ascii(out + err))
            self.assertEqual((lines, len(names) if code == 1 else 0), (out.count("\n"), err.count("\n")), ascii(out))

    @unittest.skipUnless(sys.platform == "linux", "names are text here")
    def test_a_name_that_is_not_utf_8(self) -> None:
        name = os.fsdecode(b"caf\xe9\xff")
        self.write(name, A)
        self.write("b", A)
        for options in ([], ["--json"], ["--github"]):
            self.check(0, [name, "b"], *options)
        self.assertEqual(name, json.loads(self.check(0, [name], "--json")[0])["reports"][0]["report"])
        self.assertEqual(1, self.check(1, [name + "x"])[1].count("\n"))

    def test_a_narrow_console(self) -> None:
        name = self.write("\u0442\u0435\u0441\u0442\U0001f680", A)
        self.write("b", R)
        for options in ([], ["--json"], ["--github"]):
            self.check(0, [name], *options, env={"PYTHONIOENCODING": "ascii"})
            self.check(3, [name, "b"], *options, env={"PYTHONIOENCODING": "ascii:strict"})
        out, _ = self.check(3, [name, "b"], env={"PYTHONIOENCODING": "ascii"})
        self.assertIn("\\u0442\\u0435\\u0441\\u0442\\U0001f680: VERDICT: APPROVE\n", out)
        self.check(1, ["\u043d\u0435\u0442"], env={"PYTHONIOENCODING": "ascii:strict"})

    @unittest.skipUnless(POSIX, "needs a POSIX shell")
    def test_closed_streams(self) -> None:
        self.write("a", A)
        self.write("r", R)
        command = " ".join(f"'{part}'" for part in [*PYTHON, str(HERE / "verdict_check.py")])
        calls = {"a >&-": 0, "r >&-": 3, "a r >&-": 3, "--json a >&-": 0, "--help >&-": 2, "missing >&-": 1, "- <&-": 1}
        calls.update({"a <&-": 0, "missing 2>&-": 1, "--nonsense 2>&-": 2, "a 2>&-": 0, "r >&- 2>&- <&-": 3})
        for arguments, wanted in calls.items():
            ran = process("sh", "-c", f"{command} {arguments}", cwd=self.folder)
            self.assertEqual(wanted, ran.returncode, (arguments, ran.stderr))
            self.assertNotIn(b"Traceback", ran.stderr)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full here")
    def test_a_full_disk_exits_1(self) -> None:
        self.write("a", A)
        self.write("r", R)
        said = "verdict_check.py: standard output: No space left on device\n"
        calls: List[Any] = [(1, ["a"]), (1, ["r"]), (1, ["a", "--json"]), (1, ["a", "--github"]), (2, ["--help"])]
        for code, arguments in calls:
            with open("/dev/full", "wb") as full:
                self.assertEqual(said, self.check(code, arguments, stdout=full)[1])
        for code, arguments in [(1, ["missing"]), (2, ["--nonsense"])]:
            with open("/dev/full", "wb") as full:
                self.check(code, arguments, stderr=full)

    @unittest.skipUnless(POSIX, "a pipe is closed in another way here")
    def test_a_reader_that_went_away_exits_1(self) -> None:
        self.write("a", A)
        read, write = os.pipe()
        os.close(read)
        with open(write, "wb") as pipe:
            self.assertEqual(1, self.check(1, ["a"], stdout=pipe)[1].count("\n"))

    # GitHub

    def github_files(self) -> Dict[str, str]:
        """The variables that name the files which GitHub reads after a step."""
        return {"GITHUB_OUTPUT": str(self.folder / "out"), "GITHUB_STEP_SUMMARY": str(self.folder / "sum")}

    def github(self, code: int, names: Sequence[str], *options: str) -> Tuple[Dict[str, str], List[str], List[str]]:
        """Step outputs, summary lines and annotations of a call with --github."""
        env = self.github_files()
        for path in env.values():
            Path(path).write_text("kept=1\n", encoding="utf-8")
        out, _ = self.check(code, names, "--github", *options, env=env)
        written = [Path(path).read_text(encoding="utf-8") for path in env.values()]
        self.assertTrue(all(text.startswith("kept=1\n") and CANARY not in text for text in written), written)
        outputs = dict(line.split("=", 1) for line in written[0].splitlines()[1:])
        return outputs, written[1].splitlines()[1:], [line for line in out.splitlines() if line.startswith("::")]

    def test_github_approval(self) -> None:
        outputs, summary, annotations = self.github(0, [self.write("a", A)])
        self.assertEqual({"verdict": APPROVE, "exit-code": "0", "rule": "approved", "line": "6"}, outputs)
        self.assertEqual(["::notice file=a,line=6::VERDICT: APPROVE"], annotations)
        self.assertEqual(["| report | verdict | rule | line |", "| --- | --- | --- | --- |"], summary[:2])
        self.assertEqual("| a | VERDICT: APPROVE | approved | 6 |", html.unescape(summary[2]))

    def test_github_without_a_verdict(self) -> None:
        outputs, _, annotations = self.github(4, [self.write("n", "")])
        self.assertEqual({"verdict": "none", "exit-code": "4", "rule": "not-stated", "line": ""}, outputs)
        self.assertEqual([f"::error file=n::{verdict_line('')}"], annotations)

    def test_github_panel_tells_of_the_report_that_decided(self) -> None:
        self.write("a", A)
        self.write("r", "\n" + R)
        self.write("n", "")
        self.write("x", A + "!")
        self.write("q", "> " + A)
        for code, names, verdict, rule, line in (
            (3, ["a", "n", "r"], REQUEST_CHANGES, "blocked", "7"),
            (4, ["a", "x", "q"], AMBIGUOUS, "unknown-value", "6"),
            (4, ["a", "n"], AMBIGUOUS, "not-stated", ""),
            (4, ["n", "q"], AMBIGUOUS, "not-bare", "6"),
        ):
            outputs, summary, annotations = self.github(code, names)
            self.assertEqual({"verdict": verdict, "exit-code": str(code), "rule": rule, "line": line}, outputs, names)
            self.assertEqual((len(names), len(names)), (len(annotations), len([s for s in summary if s]) - 2))

    def test_github_of_a_missing_report(self) -> None:
        outputs, summary, annotations = self.github(1, [self.write("a", A), "missing"])
        self.assertEqual({"verdict": "none", "exit-code": "1", "rule": "", "line": ""}, outputs)
        self.assertEqual("::error file=missing::cannot be read", annotations[1])
        self.assertIn("| missing | cannot be read |  |  |", summary)

    def test_github_with_json_or_quiet_prints_no_annotation(self) -> None:
        self.write("a", A)
        self.assertEqual([], self.github(0, ["a"], "--quiet")[2])
        outputs, _, annotations = self.github(0, ["a"], "--json")
        self.assertEqual((APPROVE, []), (outputs["verdict"], annotations))

    def test_github_without_its_files(self) -> None:
        self.write("a", A)
        said = "VERDICT: APPROVE\n::notice file=a,line=6::VERDICT: APPROVE\n"
        for env in ({}, {"GITHUB_OUTPUT": "", "GITHUB_STEP_SUMMARY": ""}):
            self.assertEqual(said, self.check(0, ["a"], "--github", env=env)[0])

    def test_github_files_without_the_option_stay_untouched(self) -> None:
        self.check(0, [self.write("a", A)], env={"GITHUB_OUTPUT": str(self.folder / "out")})
        self.assertFalse((self.folder / "out").exists())

    def test_github_file_that_cannot_be_written_exits_1(self) -> None:
        self.write("a", A)
        for variable in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
            for path in (str(self.folder), str(self.folder / "no" / "such")):
                _, err = self.check(1, ["a"], "--github", env={variable: path})
                self.assertEqual((1, True), (err.count("\n"), f"{variable}: {path}: " in err), err)

    @unittest.skipUnless(POSIX, "names that another system does not allow")
    def test_github_escapes_the_path(self) -> None:
        name = "a,b:c%\n::error::|`<b>*_[x](y)\\|##[e]"
        self.write(name, A)
        outputs, summary, annotations = self.github(0, [name])
        self.assertEqual(["verdict", "exit-code", "rule", "line"], list(outputs))
        self.assertEqual(1, len(annotations))
        self.assertTrue(annotations[0].startswith("::notice file=a%2Cb%3Ac%25%0A%3A%3Aerror%3A%3A|"), annotations)
        self.assertEqual(["VERDICT", " APPROVE"], annotations[0].split("::")[2].split(":"))
        self.assertEqual(4, len([line for line in summary if line]) + 1)
        self.assertEqual(5, summary[2].count("|"))
        self.assertIsNone(re.search(r"[`<>*_\[\]()\\%]", summary[2]))

    # How a path is written, in each place

    def test_a_path_is_written_so_that_it_commands_nothing(self) -> None:
        for function, text, want in (
            (verdict_check.visible, "a:b::c:::d", "a:b:\\x3ac:\\x3a:d"),
            (verdict_check.visible, "a#b##c###d", "a#b#\\x23c#\\x23#d"),
            (verdict_check.visible, "\u00e9 \x1b\n\udc80\u2028", "\u00e9 \\x1b\\n\\udc80\\u2028"),
            (verdict_check.place, "a: b:c: : d", "a:\\x20b:c:\\x20:\\x20d"),
            (verdict_check.markdown, "aX\u00e90 ./-", "aX\u00e90 ./-"),
            (verdict_check.markdown, "|<&_`\n", "&#124;&#60;&#38;&#95;&#96;&#92;n"),
        ):
            self.assertEqual(want, function(text))
        outcome = verdict_check.Outcome("a%\r\n:,X##", APPROVE, "approved", 3, "VERDICT: APPROVE")
        self.assertEqual(
            "::notice file=a%25%0D%0A%3A%2CX#\\x23,line=3::VERDICT: APPROVE", verdict_check.annotation(outcome)
        )
        for verdict in (REQUEST_CHANGES, AMBIGUOUS, None):
            self.assertTrue(verdict_check.annotation(outcome._replace(verdict=verdict)).startswith("::error file="))
        self.assertIn(
            '"report": "a#b#\\u0023c"', verdict_check.as_json([outcome._replace(report="a#b##c")], APPROVE, 0)
        )
        want = "| report | verdict | rule | line |\n| --- | --- | --- | --- |\n"
        self.assertEqual(
            want + "| a | m | approved | 3 |\n\n", verdict_check.summary([outcome._replace(report="a", message="m")])
        )

    def test_what_is_said_word_for_word(self) -> None:
        self.write("a", A)
        self.write("##empty", b" \n")
        for arguments, want in (
            (["--token", "7", "a"], "--token: a token is 8 to 64 hex digits"),
            (["a", "./a"], "named twice: a (--help shows the usage)"),
            (["-", "a", "-"], "named twice: - (--help shows the usage)"),
            (["--no", "a"], "unrecognized arguments: --no (--help shows the usage)"),
            (["##[x]\x1b"], "#\\x23[x]\\x1b: No such file or directory"),
            (["a", "--diff", "##empty"], "#\\x23empty: the diff is empty"),
        ):
            self.assertEqual(f"verdict_check.py: {want}\n", self.check(1 if "##" in arguments[-1] else 2, arguments)[1])
        for panel, said in ((["a", "b", "c"], "1 of 3 approve, 2 cannot be read"), (["a"] * 3, "3 of 3 approve")):
            read = [verdict_check.Outcome(p, APPROVE, "approved" if p == "a" else None, 1, "m") for p in panel]
            self.assertIn(f" !! {said}; read the reports", verdict_check.as_text(read, None)[-1])
        out, _ = self.check(2, [], "--help")
        self.assertTrue(out.startswith("Exit 0 if"), out)

    def test_standard_input_and_a_file_of_its_name(self) -> None:
        self.write("-", A)
        self.check(3, ["-", "./-"], input=R.encode())

    def test_a_panel_tells_of_a_report_that_was_read(self) -> None:
        outputs, _, _ = self.github(1, ["missing", self.write("n", "")])
        self.assertEqual("not-stated", outputs["rule"])

    def test_from_python(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(0, verdict_check.main([str(self.folder / self.write("a", A))]))
        self.assertEqual("VERDICT: APPROVE\n", out.getvalue())
        with contextlib.redirect_stderr(io.StringIO()) as err:
            self.assertEqual(1, verdict_check.main(["a\0b"]))
        self.assertEqual("verdict_check.py: a\\x00b: embedded null byte\n", err.getvalue())
        code = "import sys; sys.path[0], sys.argv = sys.argv[1], []; import verdict_check; verdict_check.main(['a'])"
        self.assertEqual(0, process(*PYTHON, "-c", code, HERE, cwd=self.folder).returncode)

    def test_standard_input_stays_open(self) -> None:
        code = "import os, sys; sys.path[0] = sys.argv[1]; import verdict_check; verdict_check.main(['-']); os.fstat(0)"
        self.assertEqual(0, process(*PYTHON, "-c", code, HERE, input=A.encode()).returncode)

    @unittest.skipUnless(POSIX, "names and settings that another system does not have")
    def test_it_finds_its_parser_and_no_other(self) -> None:
        (self.folder / "verdict_contract.py").write_text("raise SystemExit(0)", encoding="utf-8")
        self.write("r", R)
        env = {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONSAFEPATH": "1"}
        for options in (["-I"], []):
            ran = process(sys.executable, *options, HERE / "verdict_check.py", "r", cwd=self.folder, env=env)
            self.assertEqual((3, b"VERDICT: REQUEST_CHANGES\n", b""), (ran.returncode, ran.stdout, ran.stderr))

    @unittest.skipUnless(POSIX, "pipes that do not block")
    def test_a_pipe_that_does_not_block(self) -> None:
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        command = [*PYTHON, str(HERE / "verdict_check.py"), "-"]
        with open(reading, "rb") as pipe, subprocess.Popen(command, stdin=pipe, stdout=subprocess.PIPE) as running:
            while not os.get_blocking(reading) and running.poll() is None:
                time.sleep(0.01)  # the other side makes it block before it reads
            with open(writing, "wb") as end:
                end.write(A.encode())
            self.assertEqual((b"VERDICT: APPROVE\n", None), running.communicate(timeout=60))

    @unittest.skipUnless(POSIX, "needs a POSIX shell")
    def test_streams_and_folders_that_are_gone(self) -> None:
        a, me = self.folder / self.write("a", A), HERE / "verdict_check.py"
        for script, want in (
            (f"'{sys.executable}' '{me}' missing 2>&-", (1, b"")),
            (f"mkdir d && cd d && rmdir ../d && '{sys.executable}' '{me}' '{a}'", (0, b"VERDICT: APPROVE\n")),
            (f"mkdir d && cd d && rmdir ../d && '{sys.executable}' '{me}' a", (1, b"")),
            (f"mkdir d && cd d && rmdir ../d && '{sys.executable}' '{me}' --quiet a b", (1, b"")),
        ):
            ran = process("sh", "-c", script, cwd=self.folder)
            self.assertEqual(want, (ran.returncode, ran.stdout), script)
            self.assertNotIn(b"Traceback", ran.stderr)

    def test_github_files_are_written_where_both_are_asked_for(self) -> None:
        self.check(0, [self.write("a", A)], env=self.github_files())
        self.check(0, ["a"], "--github")
        self.assertEqual(["a"], os.listdir(self.folder))

    def test_github_files_are_utf_8_in_any_locale(self) -> None:
        env = {**os.environ, **self.github_files()}
        a = self.folder / self.write("a", A)
        strict = [
            sys.executable,
            "-X",
            "warn_default_encoding",
            "-W",
            "error",
            HERE / "verdict_check.py",
            "--github",
            a,
        ]
        self.assertEqual(b"", process(*strict, env=env).stderr)
        _, err = self.check(1, ["a"], "--github", "--json", env={"GITHUB_OUTPUT": str(self.folder / "##" / "x")})
        want = f"GITHUB_OUTPUT: {self.folder}/#\\x23/x: No such file or directory"
        self.assertEqual(f"verdict_check.py: {want}\n", err)

    # The parser as a command

    def test_the_parser_prints_its_rule(self) -> None:
        for arguments in ((), (T,)):
            ran = process(*PYTHON, HERE / "verdict_contract.py", *arguments)
            self.assertEqual((0, b""), (ran.returncode, ran.stderr))
            self.assertEqual(prompt_rule(*arguments) + "\n", ran.stdout.decode().replace("\r\n", "\n"))

    def test_the_parser_refuses_other_arguments(self) -> None:
        for arguments in (["short"], [""], [T, T], ["--help"], ["a" * 65]):
            ran = process(*PYTHON, HERE / "verdict_contract.py", *arguments)
            self.assertEqual((2, b"", 1), (ran.returncode, ran.stdout, ran.stderr.count(b"\n")), ran.stderr)
            self.assertTrue(ran.stderr.startswith(b"usage: verdict_contract.py [TOKEN]"))

    def test_both_files_run_from_anywhere_and_through_a_link(self) -> None:
        copied = self.folder / "copied"
        copied.mkdir()
        for name in ("verdict_contract.py", "verdict_check.py"):
            shutil.copy(HERE / name, copied)
        ran = process(*PYTHON, copied / "verdict_check.py", self.write("a", A), cwd=self.folder)
        self.assertEqual((0, b"VERDICT: APPROVE"), (ran.returncode, ran.stdout.strip()))


# --- The documents --------------------------------------------------------------------------------

README, AGENTS, ACTION = HERE / "README.md", HERE / "AGENTS.md", HERE / "action.yml"
ABSENT = "the document is not here: the parser and its test were copied without it"
WITHIN = "VERDICT_CONTRACT_DOCUMENTS"  # set while a document's commands run, so that they do not run it once more


def rule_table() -> str:
    """The rule table as the README shows it."""
    rows = [f"| `{rule.id}` | {rule.verdict or 'none'} | {rule.when} |" for rule in RULES]
    return "\n".join(["| rule | verdict | holds when |", "| --- | --- | --- |", *rows])


def action_table() -> str:
    """The table of the action's inputs and outputs as the README shows it."""
    rows = []
    for kind in ("input", "output"):
        _, _, rest = ACTION.read_text(encoding="utf-8").partition(f"\n{kind}s:\n")
        for name, told, more in re.findall(
            r"^  ([a-z-]+):\n    description: (.*)\n    (.*)$", rest.split("\n\n")[0], re.MULTILINE
        ):
            rows.append(f"| `{name}` | {kind}{', required' * (more == 'required: true')} | {told} |")
    return "\n".join(["| name | | |", "| --- | --- | --- |", *rows])


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


class DocumentTest(unittest.TestCase):
    """What the documents say is what the code does."""

    def test_docstring_examples(self) -> None:
        for module, least in ((verdict_contract, 2), (verdict_check, 0)):
            report = io.StringIO()
            with contextlib.redirect_stdout(report):
                failed, tried = doctest.testmod(module)
            self.assertEqual(0, failed, report.getvalue())
            self.assertGreaterEqual(tried, least, module.__name__)
            COUNTED["docstring examples"] += tried

    @unittest.skipUnless(README.exists(), ABSENT)
    def test_readme_rule_table(self) -> None:
        wanted = [[rule.id, rule.verdict or "none", rule.when] for rule in RULES]
        self.assertEqual(wanted, table(README.read_text(encoding="utf-8"), "rules"), f"to be pasted:\n{rule_table()}")

    @unittest.skipUnless(README.exists(), ABSENT)
    def test_readme_names_every_rule(self) -> None:
        text = README.read_text(encoding="utf-8")
        self.assertEqual([], [rule.id for rule in RULES if not re.search(rf"(?<![\w-]){rule.id}(?![\w-])", text)])

    @unittest.skipUnless(README.exists() and "<!-- tested -->" in README.read_text(encoding="utf-8"), ABSENT)
    def test_readme_figures_have_a_program_a_number_and_a_date(self) -> None:
        rows = table(README.read_text(encoding="utf-8"), "tested")
        self.assertTrue(rows)
        for _, command, figures, date in rows:
            self.assertRegex(figures, r"\d")
            self.assertLessEqual(datetime.date.fromisoformat(date), datetime.date.today())
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
            COUNTED["README replies"] += 1

    @unittest.skipUnless(README.exists() and ACTION.exists(), ABSENT)
    def test_readme_action(self) -> None:
        _, _, rest = README.read_text(encoding="utf-8").partition("<!-- action -->\n")
        self.assertEqual(action_table(), rest.partition("\n<!-- /action -->")[0])
        names = re.findall(r"^\| `([a-z-]+)` \| (\w+)", action_table(), re.MULTILINE)
        self.assertEqual({"report", "token", "diff"}, {name for name, kind in names if kind == "input"})
        outputs = dict(line.split("=", 1) for line in verdict_check.outputs([], None, 1).splitlines())
        self.assertEqual(set(outputs), {name for name, kind in names if kind == "output"})
        for name in outputs:  # the value of each is that of the step inside which has its name
            self.assertIn(f"    value: ${{{{ steps.check.outputs.{name} }}}}\n", ACTION.read_text(encoding="utf-8"))

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
            failed, tried = doctest.DocTestRunner().run(test, out=report.write, clear_globs=False)
            names = test.globs
            self.assertEqual(0, failed, report.getvalue())
            COUNTED["README commands"] += tried

    @unittest.skipUnless(README.exists(), ABSENT)
    @unittest.skipUnless(POSIX and shutil.which("sh"), "the README's commands are for a POSIX shell")
    @unittest.skipIf(WITHIN in os.environ, "run by one of the README's commands")
    def test_readme_commands(self) -> None:
        consoles = blocks(README.read_text(encoding="utf-8"), "console")
        self.assertTrue(consoles)
        with tempfile.TemporaryDirectory() as temporary:
            scratch = Path(temporary, "repository")
            shutil.copytree(HERE, scratch, ignore=shutil.ignore_patterns(".git", "tools", "__pycache__", ".*_cache"))
            python = Path(temporary, "bin", "python3")
            python.parent.mkdir()
            python.write_text(f"#!/bin/sh\nexec '{sys.executable}' \"$@\"\n", encoding="utf-8")
            python.chmod(0o755)
            env = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "PYTHON"))}
            env.update({"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}", WITHIN: "1"})
            for line, block in consoles:
                self.check_session(f"{README.name}:{line}", commands(block), scratch, env)

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
            COUNTED["README commands"] += 1

    @unittest.skipUnless(AGENTS.exists(), ABSENT)
    def test_agents_has_at_most_40_lines(self) -> None:
        self.assertLessEqual(len(AGENTS.read_text(encoding="utf-8").splitlines()), 40)

    @unittest.skipUnless((HERE / ".git").exists() and shutil.which("git"), "this is no checkout")
    def test_the_top_level_holds_what_it_should(self) -> None:
        listed = process("git", "-C", HERE, "ls-files", "-z")
        if listed.returncode:
            self.skipTest(f"git does not list the files: {listed.stderr.decode().strip()}")
        top = {path.split("/")[0] for path in listed.stdout.decode().split("\0") if path and not path.startswith(".")}
        known = {"verdict_contract.py", "verdict_check.py", "test_verdict_contract.py", "examples", "action.yml"}
        self.assertEqual(set(), top - known - {"README.md", "AGENTS.md", "CHANGELOG.md", "LICENSE"})


# --- All of it, in one run ------------------------------------------------------------------------


class Example(NamedTuple):
    """What the tests under examples/ of one file came to."""

    name: str
    tests: int
    skipped: int
    failed: bool
    output: str


def run_example(path: Path) -> Example:
    """Run a file of tests under examples/ as a process of its own, and read unittest's closing lines."""
    with tempfile.TemporaryFile() as output:  # no pipe: a grandchild that keeps one open would hold this run up
        try:
            ran = subprocess.run(
                [*PYTHON, str(path), "-v"],
                check=False,
                cwd=HERE,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=600,
            )
            status = ran.returncode
        except subprocess.TimeoutExpired:
            status = -1
            output.write(b"\nstopped after 600 seconds\n")
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    tests = re.findall(r"^Ran (\d+) tests? in ", text, re.MULTILINE)
    skipped = re.findall(r"^OK \(.*?skipped=(\d+)", text, re.MULTILINE)
    failed = status != 0 or not tests or tests[-1] == "0"
    return Example(path.name, int(tests[-1]) if tests else 0, int(skipped[-1]) if skipped else 0, failed, text)


def counted(number: int, what: str) -> str:
    return f"{number:,} {what[:-1] if number == 1 else what}"


class Result(unittest.TestResult):
    """Counts what passed; testsRun counts a skipped test on some Pythons and not on others."""

    passed = 0

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().addSuccess(test)
        self.passed += 1


def run_tests(classes: Sequence[Type[unittest.TestCase]]) -> Result:
    """Run the tests of some classes, printing nothing."""
    result = Result()
    for tests in classes:
        unittest.defaultTestLoader.loadTestsFromTestCase(tests).run(result)
    return result


def run_everything() -> int:
    """Run the contract's tests, and those under examples/ at the same time. Returns the exit status.

    Tests that wait for processes have a thread of their own: that takes half the time on two cores.
    """
    with concurrent.futures.ThreadPoolExecutor(2) as pool, concurrent.futures.ThreadPoolExecutor(1) as waiting:
        examples = pool.map(run_example, sorted((HERE / "examples").glob("test_*.py")))
        waited = waiting.submit(run_tests, [CommandTest, DocumentTest])
        results = [run_tests([ContractTest, TableTest, StatementTest, FunctionTest]), waited.result()]
        ran = list(examples)
    troubles = [trouble for result in results for trouble in result.failures + result.errors]
    skips = [skip for result in results for skip in result.skipped]
    for test, trouble in troubles:
        print(f"{'-' * 100}\nFAILED {test.id()}\n{trouble}")
    for test, reason in skips:
        print(f"skipped {test.id()}: {reason}")
    for example in ran:
        for name, reason in re.findall(r"^(.*) \.\.\. skipped (.*)$", example.output, re.MULTILINE):
            print(f"skipped {example.name}: {name}: {reason}")
        if example.failed:
            print(f"{'-' * 100}\nFAILED examples/{example.name}\n{example.output}")
    return summed_up(sum(result.passed for result in results), len(troubles), len(skips), ran)


def summed_up(passed: int, failed: int, skipped: int, examples: Sequence[Example]) -> int:
    """Print the closing lines; every figure in them was counted in this run. Returns the exit status."""
    others = passed + failed + skipped - len(ROWS)
    passed += sum(e.tests - e.skipped for e in examples if not e.failed)
    failed += sum(e.failed for e in examples)
    skipped += sum(e.skipped for e in examples)
    checked = [counted(len(LATER), "later cases"), counted(others, "other tests")]
    checked += [counted(number, what) for what, number in sorted(COUNTED.items())]
    if examples:
        of_examples = counted(sum(e.tests for e in examples), "tests")
        checked.append(f"{of_examples} in {counted(len(examples), 'files')} of examples")
    good = not failed and passed > len(ROWS)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    print(f"{'OK' if good else 'FAILED'} - {sum(map(len, FOUNDING.values()))} contract cases, {', '.join(checked)}")
    return 0 if good else 1


if __name__ == "__main__":
    if sys.argv[1:] == ["--rules"]:
        print(rule_table())
    elif sys.argv[1:]:
        unittest.main()
    else:
        sys.exit(run_everything())
