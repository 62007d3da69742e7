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
import hashlib
import html
import io
import itertools
import json
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
import unittest
from pathlib import Path
from typing import Any, Callable, Counter, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Type

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
        case("unknown-value", "with-nits", AMBIGUOUS, FINE, "", M + " APPROVE_WITH_NITS"),
        case("unknown-value", "lgtm", AMBIGUOUS, FINE, "", M + " LGTM"),
        case("unknown-value", "reject-cried", AMBIGUOUS, "The lock leaks.", "", M + " REJECT!"),
        case("unknown-value", "no-value", AMBIGUOUS, FINE, "", M),
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

# What was found later, by rule in the order of RULES. A row that a model really replied says so above it.
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

    case("unknown-value", "not-approve", AMBIGUOUS, M + " NOT APPROVE", line=1),
    case("unknown-value", "disapprove", AMBIGUOUS, M + " DISAPPROVE"),
    case("unknown-value", "unapproved", AMBIGUOUS, M + " UNAPPROVED"),
    case("unknown-value", "approved", AMBIGUOUS, M + " APPROVED"),
    case("unknown-value", "reproved", AMBIGUOUS, A + "2"),
    case("unknown-value", "request-change", AMBIGUOUS, M + " REQUEST_CHANGE"),
    case("unknown-value", "request-changes-if", AMBIGUOUS, R + " if it has to ship today"),
    case("unknown-value", "request-changes-refused", AMBIGUOUS, M + " no REQUEST_CHANGES"),
    case("unknown-value", "both-words", AMBIGUOUS, A + " REQUEST_CHANGES"),
    case("unknown-value", "template-with-alternatives", AMBIGUOUS, M + " [APPROVE|REQUEST_CHANGES]", FINE, A, line=1),
    case("unknown-value", "after-fixes", AMBIGUOUS, A + " (after fixes)"),
    case("unknown-value", "blocker-behind-a-dash", AMBIGUOUS, A + " - blocker: data loss on retry"),
    case("unknown-value", "small-remarks", AMBIGUOUS, A + ", small remarks only"),
    case("unknown-value", "if-ci-is-green", AMBIGUOUS, f"**{A}** if CI is green"),
    case("unknown-value", "changes", AMBIGUOUS, M + " CHANGES"),
    case("unknown-value", "merge", AMBIGUOUS, M + " MERGE"),
    case("unknown-value", "check-mark", AMBIGUOUS, M + " \u2705"),
    case("unknown-value", "check-mark-behind-the-word", AMBIGUOUS, A + " \u2705"),
    case("unknown-value", "cut-inside-the-word", AMBIGUOUS, FINE, M + " APPR", line=2),
    case("unknown-value", "cut-before-the-word", AMBIGUOUS, FINE, M, line=2),
    case("unknown-value", "blanks-for-a-value", AMBIGUOUS, M + " \t", A, line=1),
    case("unknown-value", "first-of-two", AMBIGUOUS, "", M + " LGTM", M + " SHIP IT", line=2),
    case("unknown-value", "quoted", AMBIGUOUS, "> 2) " + M + " LGTM", A, line=1),
    case("unknown-value", "comment-on-one-line", AMBIGUOUS, f"<!-- {A} -->"),
    case("unknown-value", "marker-twice", AMBIGUOUS, f"{M} {A}"),
    case("unknown-value", "signs-shared-by-two-markers", AMBIGUOUS, "===VERDICT===VERDICT=== APPROVE"),
    case("unknown-value", "value-without-brackets", AMBIGUOUS, M + " value"),
    case("unknown-value", "placeholder-behind-a-word", AMBIGUOUS, M + " the <value>"),
    case("unknown-value", "placeholder-in-the-plural", AMBIGUOUS, M + " <values>"),
    case("unknown-value", "word-then-placeholder", AMBIGUOUS, A + " <value>"),
    case("unknown-value", "non-ascii-letter-behind", AMBIGUOUS, A + "\u0416"),
    case("unknown-value", "non-ascii-digit-behind", AMBIGUOUS, R + "\u0967\u0968"),
    case("unknown-value", "emoji-behind", AMBIGUOUS, A + "\U0001f680"),
    case("unknown-value", "lone-surrogate-behind", AMBIGUOUS, A + "\ud800"),
    case("unknown-value", "replacement-character-behind", AMBIGUOUS, A + "\ufffd"),
    case("unknown-value", "ideographs", AMBIGUOUS, M + " \u627f\u8a8d"),
    case("unknown-value", "token-of-7", AMBIGUOUS, A + " 7f3a9c2"),
    case("unknown-value", "token-of-65", AMBIGUOUS, A + " " + "a" * 65),
    case("unknown-value", "token-not-hex", AMBIGUOUS, A + " 7f3a9c2g"),
    case("unknown-value", "token-cut-to-7-as-asked", AMBIGUOUS, A + " 7f3a9c2", token=T),
    case("unknown-value", "token-glued", AMBIGUOUS, A + T, token=T),
    case("unknown-value", "token-glued-by-a-colon", AMBIGUOUS, f"{A}:{T}", token=T),
    case("unknown-value", "token-glued-by-decoration", AMBIGUOUS, f"{A}*_`.{T}", token=T),
    case("unknown-value", "token-before-the-word", AMBIGUOUS, f"{M} {T} APPROVE", token=T),
    case("unknown-value", "token-twice", AMBIGUOUS, f"{A} {T} {T}", token=T),
    case("unknown-value", "token-then-prose", AMBIGUOUS, f"{A} {T} I think", token=T),
    case("unknown-value", "token-alone", AMBIGUOUS, f"{M} {T}", token=T),
    case("unknown-value", "token-in-brackets", AMBIGUOUS, f"{A} ({T})", token=T),
    case("unknown-value", "refusal-token-glued", AMBIGUOUS, f"{R}:{T}"),
    case("unknown-value", "refusal-token-glued-then-a-blank", AMBIGUOUS, R + ":bcdefbcd ."),
    case("unknown-value", "refusal-token-of-digits-glued-then-a-blank", AMBIGUOUS, R + ":12345678\t."),
    case("unknown-value", "refusal-token-of-7", AMBIGUOUS, R + " 7f3a9c2"),
    case("unknown-value", "refusal-token-of-65", AMBIGUOUS, R + " " + "a" * 65),
    case("unknown-value", "refusal-token-not-hex", AMBIGUOUS, R + " 7f3a9c2g"),

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

    case("not-last", "second-thoughts", AMBIGUOUS, FINE, A, DOUBT, line=2),
    case("not-last", "closing-fence", AMBIGUOUS, "```", A, "```", line=2),
    case("not-last", "closing-comment", AMBIGUOUS, "<!--", A, "-->", line=2),
    case("not-last", "closing-tag", AMBIGUOUS, A, "</review>", line=1),
    case("not-last", "footer", AMBIGUOUS, A, "tokens used: 1234", line=1),
    case("not-last", "footer-of-the-posting-tool", AMBIGUOUS, A, "", "Posted by an automated session", line=1),
    case("not-last", "footer-of-the-provider", AMBIGUOUS, A, "--- end of provider output ---"),
    case("not-last", "remark-about-the-marker", AMBIGUOUS, A, "I ended with the marker line as asked."),
    case("not-last", "unfinished-findings", AMBIGUOUS, A, "FINDINGS:", "major: the lock is nev", line=1),
    case("not-last", "quoted-rule-after-it", AMBIGUOUS, A, M + " <value>", line=1),
    case("not-last", "old-style-block-after-it", AMBIGUOUS, A, OLD_BLOCK, line=1),
    case("not-last", "quoted-and-not-last", AMBIGUOUS, "> " + A, DOUBT, line=1),
    case("not-last", "wrong-token-and-not-last", AMBIGUOUS, A, DOUBT, token=T, line=1),
    case("not-last", "full-stop", AMBIGUOUS, A, "."),
    case("not-last", "bare-decoration", AMBIGUOUS, A, "**"),
    case("not-last", "no-break-space", AMBIGUOUS, A, "\u00a0"),
    case("not-last", "zero-width-space", AMBIGUOUS, A, "\u200b"),
    case("not-last", "second-byte-order-mark", AMBIGUOUS, A, "\ufeff"),
    case("not-last", "form-feed", AMBIGUOUS, A, "\x0c"),
    case("not-last", "line-separator", AMBIGUOUS, A, "\u2028"),
    case("not-last", "nul", AMBIGUOUS, A, "\x00"),
    case("not-last", "two-carriage-returns", AMBIGUOUS, A, "\r\r"),
    case("not-last", "erase-line-sequence", AMBIGUOUS, A, "\x1b[K"),
    case("not-last", "unfinished-colour-code", AMBIGUOUS, A, "\x1b[0"),
    case("not-last", "private-colour-code", AMBIGUOUS, A, "\x1b[?0m"),
    case("not-last", "colour-code-without-its-bracket", AMBIGUOUS, A, "\x1bm"),
    case("not-last", "colour-code-with-two-brackets", AMBIGUOUS, A, "\x1b[[0m"),
    case("not-last", "colour-code-within-another", AMBIGUOUS, A, "\x1b[\x1b[0m0m"),
    case("not-last", "eight-bit-colour-code", AMBIGUOUS, A, "\x9b0m"),
    case("not-last", "crlf", AMBIGUOUS, A + "\r", DOUBT + "\r", line=1),

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

    case("contradicted", "number-before-the-colon", AMBIGUOUS, "Option (1): REQUEST_CHANGES", A, line=1),
    case("contradicted", "box-before-the-colon", AMBIGUOUS, "Decision [x]: REQUEST_CHANGES", A, line=1),
    case("contradicted", "heading", AMBIGUOUS, "## " + OLD_BLOCK, FINE, A, line=1),
    case("contradicted", "value-below-a-heading", AMBIGUOUS, "## Verdict", "", "REQUEST CHANGES", A, line=3),
    case("contradicted", "box-ticked", AMBIGUOUS, "[ ] APPROVE", "[x] REQUEST_CHANGES", A, line=2),
    case("contradicted", "box-left-empty", AMBIGUOUS, "[x] APPROVE", "[ ] REQUEST_CHANGES", A, line=2),
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
    case("approved", "marker-before-another-word", APPROVE, f"The {M} APPROVED line, and {M} APPROVE_WITH_NITS", A),
    case("approved", "marker-before-a-later-word", APPROVE, f"The {M} line may APPROVE", A),
    case("approved", "one-sign-marker-before", APPROVE, "=VERDICT== REQUEST_CHANGES or ==VERDICT= APPROVE", A),
    case("approved", "signs-around-some-of-the-letters", APPROVE, "=== TIC VED === is no VERDICT", A),
    case("approved", "spaced-signs-before", APPROVE, "the = =VERDICT= = REQUEST_CHANGES, the == VER DICT ==", A),
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
         "| input | reads |\r", "| --- | --- |\r", "| `VERDICT: REQUEST_CHANGES` | a block |\r", "\r",
         "```python\r", 'assert find("VERDICT: APPROVE") is None\r', "```\r", "~~~ diff\r", "-old\r", "+new\r", "~~~\r",
         "\r", "Gr\u00f6\u00dfe und Umlaute: gut.\r", "\r", A + "\r", "", line=19),

    case("weak-both", "block-then-approve", AMBIGUOUS, "", OLD_BLOCK, OLD_APPROVE, line=2),
    case("weak-both", "draft-then-change-of-mind", AMBIGUOUS, "**Verdict: APPROVE**", DOUBT,
         "**Verdict: REQUEST_CHANGES**", line=1),
    case("weak-both", "two-mentions", AMBIGUOUS, "", f"It says {A}, I say {R}", line=2),
    case("weak-both", "around-a-fence", AMBIGUOUS, "```", OLD_BLOCK, "```", OLD_APPROVE, OLD_BLOCK, line=4),
    case("weak-both", "glued-by-a-form-feed", AMBIGUOUS, FINE, f"{OLD_BLOCK}\x0c{OLD_APPROVE}", line=2),
    case("weak-both", "disguised-block", AMBIGUOUS, OLD_APPROVE, "V\u0415RDICT: REQUEST_CHANG\u0415S", line=1),
    case("weak-both", "old-prompt-with-a-bar", AMBIGUOUS, "VERDICT: APPROVE | VERDICT: REQUEST_CHANGES"),
    case("weak-both", "three-statements", AMBIGUOUS, OLD_BLOCK, OLD_APPROVE, OLD_BLOCK, line=1),

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

    case("not-stated", "empty", None, ""),
    case("not-stated", "blank-lines", None, "", " ", "\t"),
    case("not-stated", "not-approved-until", None, "NOT APPROVED until the totals add up."),
    case("not-stated", "disapprove", None, "DISAPPROVE: deletes the home folder"),
    case("not-stated", "no-approve", None, "I cannot confirm there are no blocking issues, so no APPROVE."),
    case("not-stated", "banner-and-prompt", None, "Example CLI v1", "workdir: repo", "user", *PROMPT_RULE.split("\n")),
    case("not-stated", "prompt-with-a-token", None, *prompt_rule(T).split("\n"), token=T),
    case("not-stated", "prompt-with-a-token-not-asked", None, *prompt_rule(T).split("\n")),
    case("not-stated", "value-below-a-heading", None, "## Verdict", "", "REQUEST CHANGES"),
    case("not-stated", "cut-by-a-limit", None, "1. paths: fine", "2. errors: the broad exc"),
    case("not-stated", "cut-inside-the-marker", None, FINE, "===VERD"),
    case("not-stated", "german-block", None, "URTEIL: REQUEST_CHANGES"),
    case("not-stated", "german-approve", None, "URTEIL: APPROVE"),
    case("not-stated", "ideographs-approve", None, "\u5224\u5b9a\uff1aAPPROVE"),
    case("not-stated", "prompt-too-long", None, "Error: prompt is too long"),
    case("not-stated", "invalid-key", None, "Invalid API key"),
    case("not-stated", "usage-limit", None, "You've hit your usage limit"),
    case("not-stated", "looks-good", None, "Looks good to me! LGTM, ship it."),
    case("not-stated", "boxes-alone", None, "[ ] APPROVE", "[x] REQUEST_CHANGES"),
    case("not-stated", "placeholder-decorated", None, "> **" + M + "**: `<VALUE>` and the token"),
    case("not-stated", "placeholder-then-approve", None, M + " <value> APPROVE"),
    case("not-stated", "marker-behind-the-quoted-rule", None, f"{M} <value> {M} LGTM"),
    case("not-stated", "mention-of-another-word", None, f"I end with {M} LGTM"),
    case("not-stated", "mention-without-a-word", None, f"I end with {M}"),
    case("not-stated", "gap-of-17", None, "VERDICT" + " " * 17 + "REQUEST_CHANGES"),
    case("not-stated", "approve-gap-of-17", None, "VERDICT" + " " * 17 + "APPROVE"),
    case("not-stated", "gap-of-none", None, "VERDICTAPPROVE VERDICTREQUEST_CHANGES"),
    case("not-stated", "verdict-in-a-longer-word", None, "PREVERDICT: APPROVE", "2VERDICT: REQUEST_CHANGES"),
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

    # Where one sign more or less decides.
    case("unknown-value", "block-and-two-tokens", AMBIGUOUS, f"{R} {T} {T}", line=1),
    case("not-stated", "two-list-numbers-before-a-marker", None, "1. 2. " + M + " LGTM"),
    case("not-stated", "approve-and-two-underscores", None, "VERDICT: APPROVE__X"),
    case("open-block", "comment-of-three-dashes", AMBIGUOUS, "<!--->", A, line=1),
    case("weak-block", "before-a-fence-that-opens", REQUEST_CHANGES, "", OLD_BLOCK, "```", line=2),
    case("not-bare", "quoted-below-a-long-line", AMBIGUOUS, "\u0444" * 70000, "> " + A, line=2),
    case("approved", "bracket-closed-not-opened", APPROVE, "X] REQUEST_CHANGES", A),
    case("approved", "bracket-opened-not-closed", APPROVE, "[X REQUEST_CHANGES", A),
    case("approved", "box-with-a-letter-beyond-ascii", APPROVE, "[\u0436] REQUEST_CHANGES", A),
    case("approved", "number-after-a-letter", APPROVE, "A1. REQUEST_CHANGES", A),
    case("approved", "number-behind-the-word", APPROVE, "REQUEST_CHANGES1.", A),
    case("approved", "colon-behind-the-word", APPROVE, "FINAL ANSWER REQUEST_CHANGES:", A),
    case("approved", "number-in-place-of-the-colon", APPROVE, "FINAL ANSWER 5. REQUEST_CHANGES", A),
    case("approved", "number-and-colon-behind-the-word", APPROVE, "FINAL ANSWER 1. REQUEST_CHANGES:", A),
    case("approved", "label-of-41-beyond-ascii", APPROVE, "\u0436" * 41 + ": REQUEST_CHANGES", A),
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
    case("approved", "digit-before-a-number", APPROVE, "5 6. REQUEST_CHANGES", "5;6. REQUEST_CHANGES", A),
    case("approved", "box-within-a-label", APPROVE, "FINAL [x] ANSWER: REQUEST_CHANGES", A),
    case("approved", "number-within-a-label", APPROVE, "FINAL 1. ANSWER: REQUEST_CHANGES", A),
    case("approved", "label-that-ends-in-verdict", APPROVE, "OVERDICT - REQUEST_CHANGES", "9VERDICT - REQUEST_CHANGES", A),
]

# The same fault with each member of a set; the sets are written out here, apart from the parser's.
CUTS = {"vertical-tab": "\x0b", "form-feed": "\x0c", "file-separator": "\x1c", "group-separator": "\x1d",
        "record-separator": "\x1e", "next-line": "\x85", "line-separator": "\u2028", "paragraph-separator": "\u2029",
        "carriage-return": "\r"}
for _name, _cut in CUTS.items():
    LATER += [
        case("blocked", f"behind-{_name}", REQUEST_CHANGES, FINE, FINE + _cut + R, A, line=2),
        case("blocked", f"before-{_name}", REQUEST_CHANGES, R + _cut + FINE, A, line=1),
        case("not-bare", f"behind-{_name}", AMBIGUOUS, FINE, FINE + _cut + A, line=2),
        case("not-bare", f"before-{_name}", AMBIGUOUS, FINE, A + _cut + FINE, line=2),
        case("contradicted", f"behind-{_name}", AMBIGUOUS, FINE, FINE + _cut + OLD_BLOCK, A, line=2),
        case("not-stated", f"{_name}-in-the-gap", None, f"VERDICT:{_cut}APPROVE", f"VERDICT:{_cut}REQUEST_CHANGES"),
    ]
HIDDEN = {*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x34F, 0x115F, 0x1160, 0x200B, 0x202E, 0x2060}
HIDDEN |= {0x2800, 0x3164, 0xFEFF, 0xFFFF}  # an empty pattern, a filler, a mark, never a character
HIDDEN -= {9, 10, *map(ord, CUTS.values())}
for _code in sorted(HIDDEN):
    LATER.append(case("blocked", f"hidden-{_code:04x}-within", REQUEST_CHANGES, R.replace("D", "D" + chr(_code))))
for _code in (0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2212):
    LATER += [
        case("blocked", f"dash-{_code:04x}", REQUEST_CHANGES, f"{M} REQUEST{chr(_code)}CHANGES", A, line=1),
        case("weak-block", f"dash-{_code:04x}", REQUEST_CHANGES, f"VERDICT {chr(_code)} REQUEST{chr(_code)}CHANGES"),
    ]
LETTERS = {"A": "\u0410\u0391", "C": "\u0421\u03a3", "E": "\u0415\u0395", "G": "\u050c", "H": "\u041d\u0397",
           "I": "\u0406\u04c0\u0399", "N": "\u039d", "O": "\u041e\u039f", "P": "\u0420\u03a1", "Q": "\u051a\u03d8",
           "S": "\u0405", "T": "\u0422\u03a4", "V": "\u0474"}
for _letter, _twins in LETTERS.items():
    for _twin in _twins:
        _name = f"{ord(_twin):04x}-for-{_letter.lower()}"
        if _letter in R:
            LATER.append(case("blocked", _name, REQUEST_CHANGES, R.replace(_letter, _twin), line=1))
        if _letter in A:
            LATER.append(case("not-bare", _name, AMBIGUOUS, A.replace(_letter, _twin), line=1))
for _sign in "!\"#$%&'()+,-/;<=>?@[\\]^{|}~":
    LATER += [
        case("unknown-value", f"approve-and-{ord(_sign):02x}", AMBIGUOUS, A + _sign, line=1),
        case("unknown-value", f"{ord(_sign):02x}-and-approve", AMBIGUOUS, f"{M} {_sign}APPROVE", line=1),
        case("unknown-value", f"approve-{ord(_sign):02x}-and-token", AMBIGUOUS, f"{A} {_sign}{T}", token=T, line=1),
        case("blocked", f"{ord(_sign):02x}-around", REQUEST_CHANGES, f"{M} {_sign}REQUEST_CHANGES{_sign}", line=1),
    ]
    if _sign != "=":
        LATER.append(case("not-bare", f"{ord(_sign):02x}-before", AMBIGUOUS, _sign + A, line=1))
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
    "Decision: REQUEST_CHANGES": ("old block",),
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
    first = at["approval"][:1]
    faults = [
        ("blocked", at["refusal"]),
        ("unknown-value", at["stranger"]),
        ("repeated", first and sorted(at["sentinel"] + at["mention"])[1:]),
        ("not-last", [number for number in first if number != end]),
        ("not-bare", [number for number in first if number not in at["bare"]]),
        ("contradicted", first and at["old block"]),
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
    words = value.lstrip("=").strip(" \t*_`:.").replace("\t", " ").split(" ")
    if token and len(words) > 1:
        between = "".join(words[1:-1]).strip("*_`:.")
        return [words[0].rstrip("*_`:."), between, words[-1].strip("*_`:.")] == ["APPROVE", "", token.upper()]
    return not token and words == ["APPROVE"] and not fenced


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
    "contradicted": [OLD_BLOCK + "\n", "REQUEST_CHANGES\n", "Verdict- request changes\x0c"],
    "open-block": ["`", "~", "``` \n", "<!--\n", "````\n```\n", "~~~ `\n"],
    "approved": [
        "=", "VERDICT", " ", "\t", "``` ", "#", "\x1b", "\x1b[", "\x1b[1;", "\u0301", "e\u0301\n", "\x0c", "\r", "\x85",
        "REQUEST_CHANGES ", "1.", "[x]", "a: ", "a-", "=VERDICT", "VERDICT==", "VERDICT:\n", M + "<value>", "<value>",
        "\ufeff", "-->\n", "```\n```\n",
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
    ("===VERDICT@=== APPROVE", None, "not-bare", UNSEEN),
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
    (M + "@REQUEST_CHANGES", None, "unknown-value", ALNUM + CUT + "\n"),
    (M + " REQUEST@CHANGES", None, "blocked", " \t-_" + UNSEEN),
    (R + "@" + T, None, "blocked", " \t\n" + CUT),
    (R + " @" + T, None, "unknown-value", NO_HEX),
    (R + "@ " + T, None, "unknown-value", ALNUM),
    (R + " " + T + "@", None, "unknown-value", NO_HEX),
    ("@" + M + " LGTM", None, "not-stated", ALNUM),
    ("1@" + M + " LGTM", None, "unknown-value", ".)\n" + CUT),
    ("@." + M + " LGTM", None, "not-stated", string.ascii_letters),
    ("1.@" + M + " LGTM", None, "not-stated", ALNUM),
    ("1@." + M + " LGTM", None, "unknown-value", ".)\n" + CUT + UNSEEN + string.digits),
    ("x " + M + "@APPROVE\n" + A, None, "approved", ALNUM + CUT + "\n"),
    ("x " + A + "@\n" + A, None, "approved", ALNUM),
    ("x " + A + "_@\n" + A, None, "approved", ALNUM),
    ("x " + M + " REQUEST@CHANGES\n" + A, None, "repeated", " \t-_" + UNSEEN),
    (M + "@<value>\n" + A, None, "unknown-value", ALNUM + CUT + "\n"),
    (M + " <value@\n" + A, None, "approved", ">"),
    ("VERDICT@APPROVE", None, "weak-approve", " \t`:=*#>|.~-"),
    ("VERDICT@REQUEST_CHANGES", None, "weak-block", " \t`:=*#>|.~-"),
    ("VERDICT:@APPROVE", None, "weak-approve", " \t`:=*#>|.~-" + UNSEEN),
    ("@VERDICT: APPROVE", None, "not-stated", ALNUM),
    ("VERDICT: APPROVE@", None, "not-stated", ALNUM),
    ("VERDICT: APPROVE_@", None, "not-stated", ALNUM),
    ("VERDICT: REQUEST@CHANGES", None, "weak-block", " \t-_" + UNSEEN),
    ("REQUEST@CHANGES\n" + A, None, "contradicted", " \t-_" + UNSEEN),
    ("@REQUEST_CHANGES\n" + A, None, "approved", ALNUM),
    ("REQUEST_CHANGES@\n" + A, None, "approved", ALNUM),
    ("[@] REQUEST_CHANGES\n" + A, None, "approved", ALNUM.replace("X", "").replace("x", "")),
    ("1@ REQUEST_CHANGES\n" + A, None, "contradicted", ".):=\n" + CUT),
    ("@. REQUEST_CHANGES\n" + A, None, "approved", string.ascii_letters),
    ("REQUEST_CHANGES 1@\n" + A, None, "contradicted", ".)"),
    ("FINAL@ANSWER: REQUEST_CHANGES\n" + A, None, "approved", "".join(set(SIGNS) - set("_-/")) + "\t"),
    ("FINAL ANSWER@ REQUEST_CHANGES\n" + A, None, "contradicted", ":=\n" + CUT),
    ("FINAL@VERDICT - REQUEST_CHANGES\n" + A, None, "contradicted", "_-/ \n" + CUT),
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
    (A + ":@@@@@@@@ ", None, "unknown-value", "".join(set(ANY) - set(UNSEEN + CUT + " \t\n*_`:."))),
    (R + ":@@@@@@@@ ", None, "unknown-value", ALNUM),
    (A + ":@" + T[1:], None, "wrong-token", " \t"),
    (R + ":@" + T[1:], None, "blocked", " \t\n" + CUT),
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
PYTHON = [sys.executable, *(f"-W{option}" for option in sys.warnoptions)]
PYTHON += ["-" + "b" * sys.flags.bytes_warning] * bool(sys.flags.bytes_warning)
PYTHON += ["-" + "O" * sys.flags.optimize] * bool(sys.flags.optimize)
SHARE = 1.0  # of the random reports; --quick takes fewer
ROOM = 256 << 20  # bytes that the temporary folder should have: the limits that are tested lie at 64 MiB
FOREIGN = ("PYTHON", "GIT_", "GITHUB_", "VERDICT_", "CDPATH", "XDG_", "BASH_ENV")  # beginnings of names
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
    """Run a command to its end in the clean environment, with its output caught."""
    COUNTED["commands"] += 1
    streams = {} if "input" in options else {"stdin": subprocess.DEVNULL}
    streams.update(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    options = {"env": clean_environment(), "check": False, "timeout": 60, **streams, **options}
    return subprocess.run([os.fspath(word) for word in command], **options)  # noqa: PLW1510  (it is among the options)


def git(folder: Any, *arguments: Any, **options: Any) -> str:
    """What git prints in a folder of the test's own, stripped. Raises AssertionError where git fails or is not ours."""
    if not os.path.realpath(folder).startswith(os.path.realpath(tempfile.gettempdir()) + os.sep):
        raise AssertionError(f"git would run in {folder}, which is no folder of a test")
    ran = process("git", "-C", folder, *arguments, **options)
    if ran.returncode:
        raise AssertionError(f"git {arguments}: {ran.stderr.decode('utf-8', 'replace')}")
    return os.fsdecode(ran.stdout).strip()


def runs_programs(place: Optional[str] = None) -> bool:
    """Whether a script in a temporary folder can be started: it may be mounted noexec."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        script = Path(folder, "script")
        script.write_text("#!/bin/sh\n", encoding="ascii")
        script.chmod(0o755)
        with contextlib.suppress(OSError):
            return process(script).returncode == 0
    return False


def remove(folder: str) -> None:
    """Remove a folder, also one whose folders were made read-only."""
    for path, _, _ in os.walk(folder):
        with contextlib.suppress(OSError):
            os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


def fit_folder() -> str:
    """The first usual folder for temporary files that has room and can hold programs, else the system's own choice."""
    places = [os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")] + ["/tmp", "/var/tmp"]
    usable = [place for place in places if place and os.path.isdir(place) and os.access(place, os.W_OK)]
    fit = (place for place in usable if shutil.disk_usage(place).free > ROOM and runs_programs(place))
    return next(fit, tempfile.gettempdir())


def own_copy(source: Path, target: Path) -> Path:
    """A copy of a checkout that the test may change, also where the checkout is read-only. Returns its folder."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(".git", "tools", "__pycache__", ".*_cache"))
    for path, _, files in os.walk(target):
        for name in [path, *(os.path.join(path, file) for file in files)]:
            os.chmod(name, os.stat(name).st_mode | 0o600)
    return target


def path_with_python(folder: Path) -> str:
    """A PATH on which python3 is the Python of this run, by a script in the folder."""
    folder.mkdir()
    python = folder / "python3"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


NEEDS_GIT = unittest.skipUnless(shutil.which("git"), "no git here")
NEEDS_ROOM = unittest.skipUnless(
    shutil.disk_usage(fit_folder()).free > ROOM, "the temporary folder has too little room"
)
NEEDS_PROGRAMS = unittest.skipUnless(
    POSIX and runs_programs(fit_folder()), "no program can be started from the temporary folder"
)


class Scratch(unittest.TestCase):
    """A test with a folder of its own, which is removed after it."""

    def setUp(self) -> None:
        temporary = tempfile.mkdtemp()
        self.addCleanup(remove, temporary)
        self.folder = Path(os.path.realpath(temporary))


# --- The command line, as a real process ----------------------------------------------------------

CANARY = "canary-of-the-report"
HOSTILE = f"{CANARY}\n::error::{CANARY}\n::add-mask::APPROVE\n##[error]{CANARY}\n\x1b]0;{CANARY}\x07\n"


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


def starts_git(call: ast.Call) -> bool:
    """Whether a call hands git, as the first word of a command, to anything but what looks for a program."""
    called = getattr(call.func, "attr", getattr(call.func, "id", ""))
    first = (getattr(call.args[0], "elts", None) or call.args)[0] if call.args else None
    return called != "which" and isinstance(first, ast.Constant) and first.value == "git"


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
            COUNTED["docstring examples"] += tried

    @unittest.skipUnless(README.exists(), ABSENT)
    def test_readme_rule_table(self) -> None:
        wanted = [[rule.id, rule.verdict or "none", rule.when] for rule in RULES]
        self.assertEqual(wanted, table(README.read_text(encoding="utf-8"), "rules"), f"to be pasted:\n{rule_table()}")

    @unittest.skipUnless(README.exists(), ABSENT)
    def test_readme_names_every_rule(self) -> None:
        text = README.read_text(encoding="utf-8")
        self.assertEqual([], [rule.id for rule in RULES if not re.search(rf"(?<![\w-]){rule.id}(?![\w-])", text)])

    def test_git_is_started_by_one_helper(self) -> None:
        for path in [Path(__file__), *(HERE / "examples").glob("*/test_*.py")]:
            calls = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Call)]
            past = [call.lineno for call in calls if starts_git(call)]
            self.assertEqual(1 if path == Path(__file__) else 0, len(past), f"{path.name}: git is started at {past}")

    @unittest.skipUnless(README.exists() and "<!-- tested -->" in README.read_text(encoding="utf-8"), ABSENT)
    def test_readme_figures_have_a_program_a_number_and_a_date(self) -> None:
        rows = table(README.read_text(encoding="utf-8"), "tested")
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
            COUNTED["README replies"] += 1

    @unittest.skipUnless(README.exists() and ACTION.exists(), ABSENT)
    def test_readme_action(self) -> None:
        _, _, rest = README.read_text(encoding="utf-8").partition("<!-- action -->\n")
        self.assertEqual(action_table(), rest.partition("\n<!-- /action -->")[0])
        names = re.findall(r"^\| `([a-z-]+)` \| (\w+)", action_table(), re.MULTILINE)
        self.assertEqual({"report", "token", "diff"}, {name for name, kind in names if kind == "input"})
        outputs = dict(line.split("=", 1) for line in verdict_check.outputs(verdict_check.Result([], None, 1)).splitlines())
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
        scratch = own_copy(HERE, self.folder / "repository")
        env = clean_environment(PATH=path_with_python(self.folder / "bin"), **{WITHIN: "1"})
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
    troubles = [(name_of(test), text) for test, text in result.failures + result.errors]
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
    """Class and method of a test; what unittest makes up for a class that could not be set up names itself."""
    return ".".join(test.id().split(".")[-2:])


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
        print("interrupted", file=sys.stderr)
        return 130


def closed(path: Path, tally: Tally, options: argparse.Namespace) -> int:
    """Write what the tests of a file came to, for the run that started it or for a reader. Returns the exit status."""
    if options.report:
        Path(options.report).write_text(json.dumps(tally), encoding="utf-8")
    else:
        show_failures(Part(path.name, path), tally)
        show_end([tally], options.k)
    return 1 if tally.failed or not tally.tests else 0


def parse_options(name: str) -> argparse.Namespace:
    """The command line of a file of tests. The last two are for the process of a part."""
    parser = argparse.ArgumentParser(usage=argparse.SUPPRESS, description=TEST_USAGE.format(name=name), add_help=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("-h", "--help", action="help", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rules", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("-k", default="", help=argparse.SUPPRESS)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--report", help=argparse.SUPPRESS)
    return parser.parse_args()


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
    with own_folder() as folder:
        first, others = (side_by_side(some, folder, options) for some in (parts[:1], parts[1:]))
        for part, seconds, tally in itertools.chain(first, others):
            tallies.append(tally)
            if tally.tests:
                show_part(part, seconds, tally)
            show_failures(part, tally)
    return show_end(tallies, options.k, time.monotonic() - began)


def side_by_side(
    parts: Sequence[Part], folder: Path, options: argparse.Namespace
) -> Iterator[Tuple[Part, float, Tally]]:
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
        output = (child.folder / "output").read_text(encoding="utf-8", errors="replace")
        return Tally(0, [(child.part.name, f"ended with status {child.process.returncode}\n{output}")], {}, {})


# --- What is printed ------------------------------------------------------------------------------


def show_part(part: Part, seconds: float, tally: Tally) -> None:
    """The line of a part; beside its tests, what they tried."""
    what = "rows" if part.name == "contract" else "tests"
    more = [f"{count:,} {name}" for name, count in sorted(tally.counted.items()) if name.endswith("reports")]
    troubles = [f"{len(tally.failed)} FAILED"] if tally.failed else []
    amount = f"{tally.tests - sum(tally.skipped.values()):,} {what}"
    print(f"{part.name:<36}{amount:>12}{seconds:8.1f} s  {', '.join(troubles + more)}".rstrip(), flush=True)


def show_failures(part: Part, tally: Tally) -> None:
    """What failed, what it printed, and how to run it alone."""
    for name, text in tally.failed:
        alone = f"python3 {shlex.quote(os.path.relpath(part.path))} -k {shlex.quote(name)}"
        print(f"{'-' * 100}\nFAILED {name}\n{text.rstrip()}\nalone: {alone}\n", flush=True)


def show_end(tallies: Sequence[Tally], pattern: str, seconds: Optional[float] = None) -> int:
    """The closing lines; every figure in them was counted in this run. Returns the exit status."""
    reasons: Counter[str] = collections.Counter()
    for tally in tallies:
        reasons.update(tally.skipped)
    for reason, count in sorted(reasons.items()):
        print(f"{reason}: {counted(count, 'tests')} not run")
    passed, failed = sum(tally.passed for tally in tallies), sum(len(tally.failed) for tally in tallies)
    skipped = sum(reasons.values())
    if not passed + failed + skipped:
        print(f"no test has {pattern} in its name", file=sys.stderr)
        return 1
    rows = f"{sum(map(len, FOUNDING.values()))} contract cases, {len(LATER):,} later ones" if not pattern else "chosen"
    took = f", {seconds:.0f} s" if seconds is not None else ""
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    print(f"{'FAILED' if failed else 'OK'} - {rows}, {counted(passed, 'tests')} in all{took}", flush=True)
    return 1 if failed else 0


def counted(number: int, what: str) -> str:
    """A number and what it counts: "1 test", "1,307 tests"."""
    return f"{number:,} {what[:-1] if number == 1 else what}"


def end_by_signals() -> None:
    """Let SIGTERM and SIGHUP end a run as Ctrl-C does, so that nothing that it started goes on."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # a shell starts what runs in the background with SIGINT ignored
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.default_int_handler)


def run_this_file() -> int:
    """The command line of this file."""
    options = parse_options(Path(__file__).name)
    if options.rules:
        print(rule_table())
        return 0
    return run_part(options) if options.part else run_everything(options)


if __name__ == "__main__":
    end_by_signals()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(guarded(run_this_file))
