"""Tests of ci_gate.py. Run as they are; CI_GATE_ROUNDS=1000 searches longer for a patch that git reads otherwise."""

import contextlib
import hashlib
import itertools
import json
import os
import py_compile
import random
import re
import runpy
import select
import shlex
import shutil
import signal
import subprocess
import sys
import unittest
from collections import Counter
from importlib.util import cache_from_source
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, Union
from unittest import mock

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, TOP]

import ci_gate
from ci_gate import (
    BLOCK,
    CONDITIONS,
    DENIED,
    FAIL,
    PASS,
    CiGateError,
    CommandInvoke,
    FixProposal,
    FixProposer,
    GateDecision,
    GateResult,
    build_fix_advisor,
    ci_result_from_jobs,
    evaluate_verdict,
    propose_for_failure,
    read_patch,
    with_reviews,
)

import test_verdict_contract as testing
from verdict_check import ended

ROUNDS = int(os.environ.get("CI_GATE_ROUNDS", "8"))
MUTANTS = 40  # of each change
RUN = "42"
HEAD = "c0ffee" * 6 + "c0ff"
ZEROS = "0" * 64


def edit(path: str, old: str = "old", new: str = "new") -> str:
    """The diff that edits the one line of a file."""
    return f"diff --git a/{path} b/{path}\nindex 1111..2222 100644\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{old}\n+{new}\n"


DIFF = edit("src/app.py")
STUB = "diff --git a/logo b/logo\nindex 1111..2222 100644\nBinary files a/logo and b/logo differ\n"


def sha(diff: str) -> str:
    return hashlib.sha256(diff.encode("utf-8", "surrogateescape")).hexdigest()


def gate(diff: object = DIFF, **changes: object) -> GateResult:
    """evaluate_verdict of a call that passes, but for the changes; hashes follow the diff."""
    return evaluate_verdict(**call_of(diff, **changes))


def call_of(diff: object = DIFF, **changes: object) -> Dict[str, Any]:
    digest = sha(diff) if isinstance(diff, str) and "\ud800" not in diff else None
    result: Dict[str, object] = {"run_id": RUN, "diff_hash": digest, "conclusion": "success"}
    result.update((key, changes.pop(key)) for key in list(changes) if key in result)
    call = {"candidate_diff": diff, "ledger_hash": digest, "ci_result": result, "expected_run_id": RUN}
    return {**call, **changes}


def ids(result: GateResult) -> List[str]:
    """Of the reasons."""
    return [reason.split(": ", 1)[0] for reason in result.reasons]


class ReplyOf:
    """What an invoke returns."""

    def __init__(self, text: object) -> None:
        self.text = text


# --- The decision ---------------------------------------------------------------------------------

# What makes each condition hold, in a call that passes but for it. "extra" and "after" are added to the diff.
ROWS: Dict[str, Dict[str, object]] = {
    "no-diff": {"diff": " \n"},
    "ledger": {"ledger_hash": ZEROS},
    "no-result": {"ci_result": None},
    "other-run": {"run_id": "41"},
    "other-diff": {"diff_hash": ZEROS},
    "unreadable-diff": {"after": "-- \n2.39.5\n"},
    "denied-path": {"denied": ["src/**"]},
    "out-of-scope": {"allowed_scope": []},
    "opaque-content": {"extra": STUB},
    "passed": {},
    "failed": {"conclusion": "failure"},
    "no-evidence": {"conclusion": "neutral"},
}
CONCLUSIONS = {"passed", "failed", "no-evidence"}
HIDES = {
    "no-diff": {"unreadable-diff", "denied-path", "out-of-scope", "opaque-content"},
    "no-result": {"other-run", "other-diff"} | CONCLUSIONS,
}
DOCUMENTED = (
    "action_required", "cancelled", "failure", "neutral", "skipped", "stale", "startup_failure", "success", "timed_out",
)  # fmt: skip
JUNK: Tuple[object, ...] = (
    None, True, 0, -1, 1.5, 10**5000, b"success", "", " ", "\ud800", "success\n", "SUCCESS", [], ["success"], {}, object(),
)  # fmt: skip


class DecisionTest(unittest.TestCase):
    """The table of conditions, and the arguments."""

    def hold(self, *rows: str) -> GateResult:
        changes: Dict[str, object] = {}
        for row in rows:
            changes.update(ROWS[row])
        diff = changes.pop("diff", DIFF)
        extra, after = changes.pop("extra", ""), changes.pop("after", "")
        return gate(diff if diff != DIFF else f"{diff}{extra}{after}", **changes)

    def test_every_condition_is_tested_once(self) -> None:
        self.assertEqual([condition.id for condition in CONDITIONS], list(ROWS))

    def test_each_condition_alone(self) -> None:
        for condition in CONDITIONS:
            result = self.hold(condition.id)
            self.assertEqual(([condition.id], condition.outcome), (ids(result), result.decision))

    def test_in_pairs_the_worst_wins_and_every_reason_is_listed(self) -> None:
        outcome = {condition.id: condition.outcome for condition in CONDITIONS}
        for pair in itertools.combinations(ROWS, 2):
            hidden = set().union(*(HIDES.get(row, set()) for row in pair))
            if CONCLUSIONS.issuperset(pair):
                continue  # a result has one conclusion
            held = {*pair, *({"passed"} if not CONCLUSIONS & {*pair} else set())} - hidden
            worst = max((outcome[row] for row in held), key=[PASS, FAIL, BLOCK].index)
            result = self.hold(*pair)
            self.assertEqual(worst, result.decision, pair)
            self.assertEqual({row for row in held if row != "passed"}, set(ids(result)), pair)

    def test_one_condition_passes_and_each_call_has_one_conclusion(self) -> None:
        self.assertEqual(["passed"], [condition.id for condition in CONDITIONS if condition.outcome is PASS])
        for conclusion in (*DOCUMENTED, *JUNK):
            self.assertEqual(1, len(CONCLUSIONS & set(ids(gate(conclusion=conclusion)))), conclusion)

    def test_conclusions(self) -> None:
        wanted = dict.fromkeys(DOCUMENTED, BLOCK)
        wanted.update(success=PASS, failure=FAIL, timed_out=FAIL)
        for conclusion, decision in wanted.items():
            result = gate(conclusion=conclusion)
            self.assertEqual((decision, conclusion), (result.decision, result.ci_conclusion))
            self.assertIn(f'"{conclusion}"', result.reasons[0])

    def test_a_result_says_what_it_is_of(self) -> None:
        self.assertEqual((PASS, RUN, sha(DIFF), "success"), (gate().decision, *gate()[2:]))
        for conclusion, run, digest in itertools.product(
            ("success", "failure"), (42, "42"), (sha(DIFF), sha(DIFF).upper())
        ):
            reason = gate(conclusion=conclusion, run_id=run, diff_hash=digest).reasons[0]
            self.assertIn(f'run {json.dumps(run)} concluded "{conclusion}" on the diff "{digest}"', reason)
        for value, shown in ((True, "True"), ("success", '"success"'), (["success"], "a list")):
            self.assertIn(f"is {shown}, and no mapping", gate(ci_result=value).reasons[0])

    def test_values_are_shown(self) -> None:
        for value, shown in (
            (True, "True"), (0, "0"), (-1, "-1"), (1.5, "1.5"), (2**64 - 1, str(2**64 - 1)), (None, "missing"), (b"x", "a bytes"),
            ("a" * 200, f'"{"a" * 200}"'), ("a" * 201, f'"{"a" * 200}"…'), (-(10**5000), hex(-(10**5000))[:200] + "…"),
        ):  # fmt: skip
            self.assertIn(f"other-run: {shown} is not", gate(run_id=value).reasons[0])
            self.assertIn(f"no-evidence: the conclusion is {shown}", gate(conclusion=value).reasons[0])

    def test_only_pass_is_true(self) -> None:
        self.assertEqual([True, False, False], [*map(bool, GateDecision)])
        self.assertEqual([True, False], [*map(bool, (gate(), gate(conclusion="failure")))])

    def test_wrong_types_block(self) -> None:
        for junk in JUNK:
            for place in ("ledger_hash", "ci_result", "run_id", "diff_hash", "conclusion"):
                self.assertIs(BLOCK, gate(**{place: junk}).decision, (place, type(junk)))
            self.assertIs(BLOCK, gate(junk).decision, type(junk))
        self.assertEqual(["no-diff", "ledger", "no-result"], ids(gate(None, ledger_hash=None, ci_result=None)))

    def test_missing_fields_block(self) -> None:
        full = {"run_id": RUN, "diff_hash": sha(DIFF), "conclusion": "success"}
        for left_out, condition in {
            "run_id": "other-run",
            "diff_hash": "other-diff",
            "conclusion": "no-evidence",
        }.items():
            result = gate(ci_result={key: value for key, value in full.items() if key != left_out})
            self.assertEqual((BLOCK, [condition]), (result.decision, ids(result)))

    def test_the_callers_mistakes_raise(self) -> None:
        for run_id in (None, "", " ", 42, b"42", True):
            with self.assertRaises(CiGateError):
                gate(expected_run_id=run_id)
        for globs in (
            "src/**", b"src", 5, {"src": 1}, ["src", 5], [None], [b"src"], [""], ["src/"], ["/src"], ["./a"], ["../a"],
        ):  # fmt: skip
            for name in ("allowed_scope", "denied"):
                with self.assertRaises(CiGateError, msg=(name, globs)):
                    gate(**{name: globs})
        with self.assertRaises(CiGateError):
            gate(denied=None)

    def test_a_run_id_is_compared_as_text(self) -> None:
        self.assertIs(PASS, gate(run_id=42).decision)
        for other in ("042", " 42", "42.0", 42.0, "４２", [42], True):
            self.assertEqual(["other-run"], ids(gate(run_id=other)), other)
        self.assertEqual(["other-run"], ids(gate(run_id=True, expected_run_id="True")))

    def test_the_hash_is_of_bytes(self) -> None:
        raw = edit("src/app.py", new="\udcff").encode("utf-8", "surrogateescape")
        text = raw.decode("utf-8", "surrogateescape")
        hashes = {"ledger_hash": hashlib.sha256(raw).hexdigest(), "diff_hash": hashlib.sha256(raw).hexdigest().upper()}
        self.assertIs(PASS, gate(raw, **hashes).decision)
        self.assertIs(PASS, gate(text, **hashes).decision)
        self.assertEqual(["other-diff"], ids(gate(diff_hash=sha(DIFF) + "\n")))

    def test_reasons_name_the_values_on_one_printable_line(self) -> None:
        reason = gate(run_id="7\n::warning::x ##[error] \x1b[2J").reasons[0]
        self.assertTrue(reason.isprintable())
        self.assertNotIn("##[", reason)
        self.assertIn('"42"', reason)
        self.assertIn('"7\\n', reason)


class PathTest(unittest.TestCase):
    """Denied paths, scope and globs."""

    def test_globs(self) -> None:
        for glob, match, other in (
            ("src/*.py", ["src/a.py", "src/.py"], ["src/a/b.py", "a/src/a.py", "src/a.pyc", "src/a.py\n"]),
            ("src/**", ["src", "src/a", "src/a/b"], ["src2", "a/src", "srca/b"]),
            ("**/x", ["x", "a/x", "a/b/x"], ["ax", "x/a", "a/xx"]),
            ("a/**/z", ["a/z", "a/b/z", "a/b/c/z"], ["az", "a/bz", "z"]), ("a**z", ["az", "a/z", "abc/yz"], ["a", "z"]),
            ("**", ["a", "a/b"], []), ("*", ["a", ".a"], ["a/b"]), ("[id].t?x+", ["[id].t?x+"], ["i.tsx+", "[id].tsx"]),
            ("Src/a", ["Src/a"], ["src/a"]),
        ):  # fmt: skip
            fits = ci_gate._matcher(glob)
            self.assertEqual((match, []), ([p for p in match if fits(p)], [p for p in other if fits(p)]), glob)

    def test_scope(self) -> None:
        for scope, decision in (
            (None, PASS), ([], BLOCK), (["src/**"], PASS), (["docs/**", "src/*.py"], PASS), (["SRC/**"], BLOCK),
        ):  # fmt: skip
            self.assertIs(decision, gate(allowed_scope=scope).decision, scope)
        self.assertEqual(["out-of-scope"], ids(gate(DIFF + edit("docs/a"), allowed_scope=["src/**"])))

    def test_denied_paths_in_any_case_and_place(self) -> None:
        # Each glob of DENIED, with a path for it.
        paths = {glob: glob.replace("**/", "sub/").replace("/**", "/a/b").replace("*", "x") for glob in DENIED}
        paths[".github/**"] = ".github/workflows/ci.yml"
        paths["**/*.pyc"], paths[".drone.*"] = "sub/x.pyc", ".drone.star"
        paths["**/.git/**"] = "sub/.git./config"  # as it is, the reader takes it for none that git would
        for glob, path in paths.items():
            for spelled in (path, path.upper(), path.title()):
                self.assertEqual(["denied-path"], ids(gate(edit(spelled))), (glob, spelled))
        for path in ("action.yml", "CODEOWNERS", "docs/CODEOWNERS", ".gitattributes", "a/.gitmodules", "ci_gate.py"):
            self.assertEqual(["denied-path"], ids(gate(edit(path))), path)
        for path in (
            "tests/test_a.py", "a.github/b", "github/a", "my_action.yml", "docs/ci.md", "git/x", "xci_gate.py",
        ):  # fmt: skip
            self.assertIs(PASS, gate(edit(path)).decision, path)

    def test_what_stands_in_for_the_gate_is_denied(self) -> None:
        for path in (
            "verdict_contract/__init__.py", "examples/verdict_contract/a/b.py", "verdict_contract.cpython-38.so", "json.pyc",
            "examples/__pycache__/verdict_contract.cpython-38.pyc", "examples/hooks/pre-push", "examples/review_gate.py",
            "zuul.d/a.yaml", ".harness/a", "cloudbuild.json", ".lfsconfig", "tools/verdict/final_message/__init__.py", "reviewer_process.so",
            "final_message.cpython-38-x86_64-linux-gnu.so", "lib/Prompt_Guard/a/b.py", "tools/verdict/task.md", "review.sh", "a/review.sh",
            ".husky/pre-commit", "web/.husky/_/h", ".githooks/a", "ci/pre-push", "gate/change_diff.py", "change_diff/__init__.py",
        ):  # fmt: skip
            self.assertEqual(["denied-path"], ids(gate(edit(path))), path)

    def test_a_denied_path_in_a_spelling_of_some_file_system(self) -> None:
        for path in (
            ".github./workflows/x", ".github../x", ".g\u200cithub/x", ".g\u200cit/config", ".git\u200c/config", ".git./config", "\ufeff.ci/run",
            ".ci\u200d/run", ".github::$INDEX_ALLOCATION/x", ".git::$INDEX_ALLOCATION/config", "action.yml.", "CODEOWNERS:x", "a/ci_gate.py::$DATA",
            ".GitHub.\u200d:x/y",
        ):  # fmt: skip
            self.assertEqual(["denied-path"], ids(gate(edit(path))), ascii(path))
        for path in (".github /x", "action.yml ", ".ci . ./x"):
            diff = edit(path).replace(f"a/{path}\n+", f"a/{path}\t\n+").replace(f"b/{path}\n@", f"b/{path}\t\n@")
            self.assertEqual(["denied-path"], ids(gate(diff)), path)
        self.assertEqual(["denied-path"], ids(gate(edit("tests./a"), denied=["Tests/**"])))

    def test_more_can_be_denied_and_unicode_is_folded(self) -> None:
        self.assertEqual(["denied-path"], ids(gate(edit("te\u0301sts/a"), denied=["T\u00c9STS/**"])))
        self.assertEqual(["denied-path"], ids(gate(edit("CODEOWNER\u017f"))))

    def test_both_names_of_a_move_count(self) -> None:
        for moved, old, new in itertools.product(("rename", "copy"), (".ci/run", "src/a"), (".CI/run2", "src/b")):
            header = f"diff --git a/{old} b/{new}\nsimilarity index 100%\n{moved} from {old}\n{moved} to {new}\n"
            header += f"index 1111..2222 100644\n--- a/{old}\n+++ b/{new}\n@@ -1 +1 @@\n-old\n+new\n"
            wanted = [] if (old, new) == ("src/a", "src/b") else ["denied-path"]
            self.assertEqual(wanted or ["passed"], ids(gate(header)), (moved, old, new))
            self.assertEqual(["out-of-scope", *wanted], sorted(ids(gate(header, allowed_scope=[new])), reverse=True))

    def test_a_long_list_is_cut(self) -> None:
        reason = gate("".join(edit(f".ci/{n}") for n in range(1000))).reasons[0]
        self.assertIn("and 995 more", reason)
        self.assertLess(len(reason), 1000)


# --- GitHub's jobs, and reviews -------------------------------------------------------------------


def job(name: str = "test", conclusion: object = "success", **changes: object) -> Dict[str, object]:
    base = {"run_id": 42, "head_sha": HEAD, "name": name, "status": "completed", "conclusion": conclusion}
    return {**base, **changes}


def page(*jobs: object, count: object = None) -> Dict[str, object]:
    return {"total_count": len(jobs) if count is None else count, "jobs": list(jobs)}


def conclude(payload: object, *required: str) -> object:
    result = ci_result_from_jobs(payload, head_sha=HEAD, run_id=RUN, required=required or ["test"], diff_hash=sha(DIFF))
    decided = gate(ci_result=result)
    wanted = {"success": PASS, "failure": FAIL, "timed_out": FAIL, None: BLOCK}[result["conclusion"]]  # type: ignore[index]
    assert decided.decision is wanted, decided
    return result["conclusion"]


class JobsTest(unittest.TestCase):
    """What the jobs of a run amount to."""

    def test_conclusions(self) -> None:
        for conclusion in (*DOCUMENTED, *JUNK):
            passed = (
                conclusion
                if isinstance(conclusion, str) and conclusion in ("success", "failure", "timed_out")
                else None
            )
            self.assertEqual(passed, conclude(page(job(conclusion=conclusion))), conclusion)

    def test_all_of_the_required_ones_have_to_end(self) -> None:
        lint, test = job("lint"), job("test")
        for payload, conclusion in (
            (page(lint, test), "success"), (page(lint, job("test", "failure")), "failure"),
            (page(job("lint", "timed_out"), job("test", "failure")), "failure"),
            (page(job("lint", "timed_out"), test), "timed_out"), (page(lint, test, job("other", "failure")), "success"),
            (page(lint, test, job("other", None, status="queued")), "success"), (page(lint), None), (page(), None),
            (page(lint, test, test), None), (page(lint, test, job("test", "failure")), None),
            (page(lint, job("test", "skipped")), None), (page(job("lint", "failure"), job("test", "skipped")), None),
            (page(job("lint", "failure")), None), (page(lint, job("test", None, status="in_progress")), None),
            (page(lint, job("test", status="in_progress")), None), (page(lint, job("Test")), None),
        ):  # fmt: skip
            self.assertEqual(conclusion, conclude(payload, "lint", "test"), payload)

    def test_only_jobs_of_this_run_and_head_count(self) -> None:
        for change in ({"run_id": 43}, {"run_id": None}, {"run_id": True}, {"head_sha": "0" * 40}, {"head_sha": None}):
            self.assertIsNone(conclude(page(job(**change))), change)
            self.assertEqual("success", conclude(page(job(conclusion="failure", **change), job())), change)
        self.assertEqual("success", conclude(page(job(run_id="42", head_sha=HEAD.upper()))))

    def test_pages(self) -> None:
        lint, test = job("lint"), job("test")
        whole = [page(lint, count=2), page(test, count=2)]
        self.assertEqual("success", conclude(whole, "lint", "test"))
        self.assertEqual("success", conclude(whole))
        for cut in (*whole, whole[:1], [], [whole[1], whole[1]], [page(lint, count=1), page(test, count=2)]):
            self.assertIsNone(conclude(cut), cut)
        for count in ("1", True, 1.0, 0, 2, -1, [1]):
            self.assertIsNone(conclude(page(test, count=count)), count)

    def test_pages_that_overlap(self) -> None:
        """[a, b] and [b] of three: what is missing may be a job that failed."""
        for first, second in ((job("lint", id=1), job(id=2)), (job("lint", id="1"), job(id="2")), (job("lint"), job())):
            for twice in ([page(first, second, count=3), page(first, count=3)], page(first, second, first)):
                self.assertIsNone(conclude(twice, "test"))
            self.assertEqual("success", conclude([page(first, count=2), page(second, count=2)], "lint", "test"))
        self.assertIsNone(conclude(page(job(id=1), job("lint", id=2), job("lint", "failure", id=2))))
        self.assertEqual("success", conclude(page(job(), job("lint", id=1), job("lint", id=2))))
        self.assertEqual("success", conclude(page(job(), job("lint"), job("lint", "failure"))))

    def test_malformed_lists(self) -> None:
        shapes: List[object] = [{}, {"jobs": [job()]}, {"total_count": 1}, {"total_count": 1, "jobs": {"test": job()}}]
        for payload in (*JUNK, *shapes, page(job(), 5), page(job(), None), [page(job()), None], [[page(job())]]):
            self.assertIsNone(conclude(payload), type(payload))

    def test_it_says_why(self) -> None:
        for payload, why in ((page(job("a\n::x::")), '"test" is missing'), (page(job(), count=2), "cut off")):
            result = ci_result_from_jobs(payload, head_sha=HEAD, run_id=RUN, required=["test"], diff_hash=sha(DIFF))
            self.assertIn(why, gate(ci_result=result).reasons[0])

    def test_the_callers_mistakes_raise(self) -> None:
        good = {"head_sha": HEAD, "run_id": RUN, "required": ["test"]}
        for name, values in (
            ("head_sha", (None, "", HEAD[:12], HEAD + "0", "g" * 40, HEAD + "\n", 5)),
            ("run_id", (None, "", " ", 42)),
            ("required", (None, [], (), "test", b"test", [5], [""], {"test": 1})),
        ):
            for value in values:
                with self.assertRaises(CiGateError, msg=(name, value)):
                    ci_result_from_jobs(page(job()), **{**good, name: value}, diff_hash=None)  # type: ignore[arg-type]


class ReviewTest(unittest.TestCase):
    """Reviews beside the decision."""

    def test_reviews_only_lower(self) -> None:
        results = {"success": PASS, "failure": FAIL, "neutral": BLOCK}
        words = ("APPROVE", "REQUEST_CHANGES", "AMBIGUOUS", None, "approve", 5)
        for count in range(4):
            for verdicts in itertools.product(words, repeat=count):
                lowered = FAIL if "REQUEST_CHANGES" in verdicts else PASS if {*verdicts} == {"APPROVE"} else BLOCK
                for conclusion, decision in results.items():
                    before = gate(conclusion=conclusion)
                    after = with_reviews(before, verdicts)  # type: ignore[arg-type]
                    self.assertIs(lowered if decision is PASS else decision, after.decision, verdicts)
                    self.assertEqual((*before.reasons, after.reasons[-1]), after.reasons)
                    self.assertEqual(before[2:], after[2:])

    def test_the_callers_mistakes_raise(self) -> None:
        for call in ((None, ["APPROVE"]), (gate(), "APPROVE"), (gate(), None), (PASS, ["APPROVE"])):
            with self.assertRaises(CiGateError):
                with_reviews(*call)


# --- The proposer ---------------------------------------------------------------------------------

BAD = gate(conclusion="failure")


def proposal_of(text: object) -> FixProposal:
    return FixProposer(lambda prompt, **_: ReplyOf(text)).propose(BAD)


def throwing(prompt: str, **_: object) -> object:
    raise RuntimeError(prompt)


class HostileReply:
    @property
    def text(self) -> str:
        raise KeyError("text")


HOSTILE: Tuple[Callable[..., object], ...] = (
    throwing,
    lambda: ReplyOf("{}"),
    lambda prompt, **_: None,
    lambda prompt, **_: HostileReply(),
    *(lambda prompt, reply=reply, **_: ReplyOf(reply) for reply in (
        None, b'{"hint": "x"}', 5, "", "no json", "[1]", '"hint"', "{}", "{" * 10**6, "[" * 10**6, '{"hint":' * 10**5,
        '{"hint": 5, "suggestions": "x"}', '{"hint": null, "suggestions": [5, null, "", {}]}', '{"a": ' + "1" * 5000 + "}",
        '{"decision": "PASS", "passed": true}', '"' + '\\"' * 10**6, "```\n" * 10**5, '{"\ud800": "\udfff"}',
    )),
)  # fmt: skip


class ProposerTest(unittest.TestCase):
    """Advice, and nothing but advice."""

    def test_a_proposal_has_no_field_to_pass_with(self) -> None:
        self.assertEqual(("hint", "suggestions"), FixProposal._fields)
        with self.assertRaises(AttributeError):
            FixProposal("x").hint = "y"  # type: ignore[misc]

    def test_a_proposal_is_a_value(self) -> None:
        self.assertEqual(FixProposal("a", ["b"]), FixProposal("a", ("b",)))
        self.assertEqual(FixProposal(), FixProposal("", []))
        self.assertNotEqual(FixProposal("a"), FixProposal("b"))
        self.assertEqual([False, True, True], [*map(bool, (FixProposal(), FixProposal("a"), FixProposal("", ["b"])))])
        self.assertEqual("a\n1. b\n2. c", FixProposal("a", ["b", "c"]).as_hint())
        self.assertEqual(("", "1. b"), (FixProposal().as_hint(), FixProposal("", ["b"]).as_hint()))
        for wrong in ((None,), (b"a",), ("a", "b"), ("a", [5]), ("a", 5)):
            with self.assertRaises(CiGateError):
                FixProposal(*wrong)

    def test_what_is_called_with_what(self) -> None:
        calls: List[Tuple[object, object, str]] = []

        def invoke(prompt: str, *, model: object, config: object) -> ReplyOf:
            calls.append((model, config, prompt))
            return ReplyOf('{"hint": "do it"}')

        proposer = FixProposer(invoke, model="m", config={"t": 0}, system="SYSTEM")
        self.assertEqual("do it", proposer.advise(BAD, {"task": "Add\na lock"}))
        model, config, prompt = calls[0]
        self.assertEqual(("m", {"t": 0}), (model, config))
        for part in ("SYSTEM", "Add\na lock", "FAIL", *BAD.reasons):
            self.assertIn(part, prompt)
        build_fix_advisor(invoke, model="n", config=None)(BAD)
        self.assertEqual("n", calls[1][0])
        self.assertIn("final and is not yours to make", calls[1][2])

    def test_the_task(self) -> None:
        for state, task in (
            ({"plan": {"task": "a", "description": "b"}, "task": "c", "description": "d"}, "a"),
            ({"plan": {"task": " ", "description": "b"}, "task": "c", "description": "d"}, "b"),
            ({"plan": "x", "task": "c", "description": "d"}, "c"),
            ({"plan": {"task": 5}, "task": None, "description": "d"}, "d"),
            *((malformed, "") for malformed in (*JUNK, {"plan": []}, {"task": ["x"]})),
        ):
            self.assertEqual(task, ci_gate._task(state), type(state))

    def test_replies(self) -> None:
        wanted = FixProposal("a {b} c", ["one", "two"])
        reply = '{"hint": "a {b} c", "suggestions": ["one", 2, "two", ""], "decision": "PASS"}'
        for text in (
            reply, f" {reply}\n", f"Sure!\n```json\n{reply}\n```\nBye {{}}", f"Sure: {reply} and {{more}} }}", f"x\n```\n{reply}\n```",
        ):  # fmt: skip
            self.assertEqual(wanted, proposal_of(text), text)
        self.assertEqual(FixProposal('say "}" \\'), proposal_of('so {"hint": "say \\"}\\" \\\\"}'))
        self.assertEqual(FixProposal("", ["a"]), proposal_of('{"suggestions": ["a"]}'))
        self.assertEqual(FixProposal("a"), proposal_of('[{"hint": "a"}]'))
        self.assertEqual(FixProposal("a"), proposal_of('In {x}:\n```json\n{"hint": "a"}\n```\n'))
        self.assertEqual(FixProposal("a"), proposal_of("[" * 50_000 + '\n```\n{"hint": "a"}\n```\n'))

    def test_a_reply_becomes_plain_text(self) -> None:
        dirty = "a\n::error::\r\x1b[2Jb\u2028c\u202ed\0 \ud800e\t f"
        self.assertEqual(
            FixProposal("a ::error:: [2Jb cd e f", ["x y"]),
            proposal_of(json.dumps({"hint": dirty, "suggestions": ["x\n y"]})),
        )
        large = proposal_of(json.dumps({"hint": "h" * 9000, "suggestions": ["s" * 9000] * 5}))
        self.assertEqual((2000, 5), (len(large.hint), len(large.suggestions)))
        self.assertEqual(20, len(proposal_of(json.dumps({"suggestions": ["s"] * 500})).suggestions))
        self.assertFalse(proposal_of(" " * 200_000 + '{"hint": "a"}'))

    def test_hostile_replies_give_an_empty_proposal(self) -> None:
        for invoke in HOSTILE:
            self.assertEqual(FixProposal(), FixProposer(invoke).propose(BAD))
        self.assertEqual("", FixProposer().advise(BAD))

    def test_only_a_keyboard_interrupt_gets_out(self) -> None:
        def raising(error: BaseException) -> Callable[..., object]:
            def invoke(prompt: str, **_: object) -> object:
                raise error

            return invoke

        for error in (SystemExit(0), GeneratorExit(), MemoryError(), RecursionError(), BaseException()):
            self.assertEqual(FixProposal(), FixProposer(raising(error)).propose(BAD))
            self.assertEqual("", build_fix_advisor(raising(error))(BAD))
        with self.assertRaises(KeyboardInterrupt):
            FixProposer(raising(KeyboardInterrupt())).propose(BAD)

    def test_random_replies_raise_nothing(self) -> None:
        pieces = (
            '{"hint": "x"', "}", "{", '"', "\\", "```\n", "```json\n", '"suggestions": ["a"]', ",", "[", "]", "\0", "\ud800", "é", "1e999",
            "null",
        )  # fmt: skip
        rng = random.Random(1)
        found = Counter(bool(proposal_of("".join(rng.choices(pieces, k=rng.randrange(12))))) for _ in range(5000))
        self.assertTrue(found[True] and found[False], found)

    def test_pass_calls_no_model(self) -> None:
        for result in (gate(), None, "FAIL", gate()._replace(decision="FAIL")):  # type: ignore[arg-type]
            self.assertEqual(FixProposal(), FixProposer(lambda *_, **__: self.fail("called")).propose(result))  # type: ignore[arg-type]

        def fail(*_: object, **__: object) -> object:
            raise KeyboardInterrupt  # which gets out

        self.assertEqual((gate(), FixProposal()), decide(proposer=FixProposer(fail)))

    def test_the_decision_is_the_same_with_and_without_a_proposer(self) -> None:
        eager = '{"hint": "PASS", "decision": "PASS", "conclusion": "success"}'
        for conclusion in (*DOCUMENTED, *JUNK):
            alone = gate(conclusion=conclusion)
            for invoke in (None, *HOSTILE[:8], lambda prompt, **_: ReplyOf(eager)):
                self.assertEqual(alone, decide(conclusion, proposer=FixProposer(invoke))[0])
            self.assertEqual((alone, FixProposal()), decide(conclusion))


@unittest.skipUnless(testing.POSIX, "needs a shell")
class CommandInvokeTest(testing.Scratch):
    """A model that is a command."""

    def test_a_command(self) -> None:
        says = "import os, sys; print(os.listdir(), sys.stdin.read(), 'GITHUB_OUTPUT' in os.environ)"
        with mock.patch.dict(os.environ, GITHUB_OUTPUT="x"):
            said = CommandInvoke(shlex.join([*testing.PYTHON, "-c", says]), 60)("the prompt \udcff").text
        self.assertEqual("[] the prompt \\udcff False\n", said)
        for command, error in (
            ("exit 3", subprocess.CalledProcessError),
            ("sleep 600 & sleep 600", subprocess.TimeoutExpired),
        ):
            with self.assertRaises(error):
                CommandInvoke(command, 0.5)("p")
            self.assertFalse(FixProposer(CommandInvoke(command, 0.5)).propose(BAD))

    def test_what_a_command_leaves_behind_is_ended(self) -> None:
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for command in ("sleep 600 & echo", "sleep 600 & exit 1", "sleep 600 & wait"):
            reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            FixProposer(CommandInvoke(f"exec 3>{shlex.quote(str(pipe))}; {command}", 2)).propose(BAD)
            # The end of the pipe is seen when no process has it open any more.
            self.assertTrue(select.select([reader], [], [], 60)[0], command)
            self.assertEqual(b"", os.read(reader, 1))
            os.close(reader)


def decide(conclusion: object = "success", **more: Any) -> Tuple[GateResult, FixProposal]:
    """propose_for_failure of the call that gate makes."""
    return propose_for_failure(**call_of(conclusion=conclusion), **more)


# --- The patch reader -----------------------------------------------------------------------------

VICTIM = "victim"
PLAIN = f"--- a/{VICTIM}\n+++ b/{VICTIM}\n@@ -1 +1 @@\n-old\n+new\n"
GOOD = edit("x")
NEW = "diff --git a/n b/n\nnew file mode 100644\nindex 0000000..1111111\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+new\n"
GONE = "diff --git a/x b/x\ndeleted file mode 100644\nindex 1111111..0000000\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n"
MOVE = "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n"
MODE = "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n"
INDEX = "index 1111..2222 100644\n"
LITERAL = "literal 1\nIcmZPo000310RR91\n\n"
BINARY = f"diff --git a/x b/x\nindex {'1' * 40}..{'2' * 40} 100644\nGIT binary patch\n{LITERAL}{LITERAL}"
TWO = "diff --git a/x b/x\nindex 1111..2222 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-old\n+new\n b\n@@ -8,2 +8,2 @@\n b\n-old\n+new\n"

# What git diff writes: the diff and the paths.
READ = (
    (GOOD, ["x"]),
    (NEW, ["n"]),
    (GONE, ["x"]),
    (MOVE, ["x", "y"]),
    (MODE, ["x"]),
    (BINARY, ["x"]),
    (TWO, ["x"]),
    (STUB, ["logo"]),
    (NEW.split("---")[0], ["n"]),
    (MOVE.replace("rename", "copy") + "".join(TWO.splitlines(True)[1:]).replace("b/x", "b/y"), ["x", "y"]),
    (MODE + INDEX.replace(" 100644", "") + "".join(GOOD.splitlines(True)[2:]), ["x"]),
    (GOOD.replace("x\n-", "x \n-").replace("@@\n", "@@ def f():\r\n"), ["x"]),
    (
        GOOD + "diff --git a/a b/c b/d b/e\nsimilarity index 100%\nrename from a b/c\nrename to d b/e\n",
        ["x", "a b/c", "d b/e"],
    ),
    (edit("a b/a b").replace("b\n+++", "b\t\n+++").replace("b\n@@", "b\t\n@@"), ["a b/a b"]),
    (GOOD.replace("a/x", '"a/\\303\\251\\"\\\\"').replace("b/x", '"b/\\303\\251\\"\\\\"'), ['\u00e9"\\']),
    (GOOD.replace("/x", "/\u00e9"), ["\u00e9"]),
    (GOOD.replace("-old", "--- a/y").replace("+new", "+++ b/y"), ["x"]),
    (GOOD.replace("-old\n", "-old\n\\ No newline at end of file\n"), ["x"]),
    (GONE.replace("100644", "120000") + NEW.replace("a/n", "a/x").replace("b/n", "b/x"), ["x"]),
)

# What git diff does not write, though git apply may take it: the fault and the diff.
UNREADABLE = {
    "a mail header": f"From: x\n\n---\n x | 2 +-\n\n{GOOD}",
    "a byte order mark": "\ufeff" + GOOD,
    "a blank line before": "\n" + GOOD,
    "a signature after": GOOD + "-- \n2.39.5\n",
    "a blank line after": GOOD + "\n",
    "a blank line between": f"{GOOD}\n{MOVE}",
    "no line end at the end": GOOD[:-1],
    "line ends of DOS": GOOD.replace("\n", "\r\n"),
    "a plain diff": PLAIN,
    "a plain diff before": PLAIN + GOOD,
    "a plain diff between": f"{GOOD}{PLAIN}{MOVE}",
    "a plain diff after": GOOD + PLAIN,
    "a plain diff after a mode": MODE + PLAIN,
    "a header alone": "diff --git a/x b/x\n",
    "a combined diff": GOOD.replace("--git a/x b/x", "--cc x").replace("@@", "@@@"),
    "no prefix": GOOD.replace("a/x", "x").replace("b/x", "x"),
    "other prefixes": GOOD.replace("a/x", "i/x").replace("b/x", "w/x"),
    "prefixes swapped": GOOD.replace("a/x", "c/x").replace("b/x", "a/x").replace("c/x", "b/x"),
    "another name in ---": GOOD.replace("--- a/x", "--- a/victim"),
    "another name in +++": GOOD.replace("+++ b/x", "+++ b/victim"),
    "another name in both": GOOD.replace("--- a/x", "--- a/victim").replace("+++ b/x", "+++ b/victim"),
    "another name in diff --git": GOOD.replace("--git a/x b/x", "--git a/x b/victim"),
    "another name in rename from": MOVE.replace("from x", "from victim"),
    "another name in rename to": MOVE.replace("to y", "to victim"),
    "a rename to itself": MOVE.replace("/y", "/x").replace("to y", "to x"),
    "a rename into .git": MOVE.replace("/y", "/.git/y").replace("to y", "to .git/y"),
    "a rename out of .git": MOVE.replace("/x", "/.git/x").replace("from x", "from .git/x"),
    "a needless quote in rename from": MOVE.replace("from x", 'from "x"'),
    "a needless quote in rename to": MOVE.replace("to y", 'to "y"'),
    "rename and copy": MOVE.replace("rename to", "copy to"),
    "a rename twice": MOVE + "rename from x\nrename to y\n",
    "a rename by old words": MOVE.replace("rename from", "rename old").replace("rename to", "rename new"),
    "no similarity": MOVE.replace("similarity index 100%\n", ""),
    "a new file by rename": MOVE.replace("sim", "new file mode 100644\nsim"),
    "--- twice": GOOD.replace("--- a/x\n", "--- a/x\n--- a/victim\n"),
    "+++ before ---": GOOD.replace("--- a/x\n+++ b/x\n", "+++ b/x\n--- a/x\n"),
    "no ---": GOOD.replace("--- a/x\n", ""),
    "no hunk": GOOD.split("@@")[0],
    "an index twice": GOOD.replace(INDEX, INDEX * 2),
    "no index": GOOD.replace(INDEX, ""),
    "an index without mode": GOOD.replace(" 100644", ""),
    "an index with mode beside modes": MODE + INDEX + "".join(GOOD.splitlines(True)[2:]),
    "an index after ---": GOOD.replace(INDEX, "").replace("@@ -", INDEX + "@@ -", 1),
    "an unknown mode": GOOD.replace("100644", "100600"),
    "modes in the other order": MODE.replace("old", "tmp").replace("new", "old").replace("tmp", "new"),
    "half a mode change": MODE.split("new")[0],
    "/dev/null without deletion": GOOD.replace("+++ b/x", "+++ /dev/null"),
    "/dev/null without addition": GOOD.replace("--- a/x", "--- /dev/null"),
    "an addition without /dev/null": NEW.replace("--- /dev/null", "--- a/n"),
    "a deletion without /dev/null": GONE.replace("+++ /dev/null", "+++ b/x"),
    "/dev/null in diff --git": NEW.replace("a/n", "/dev/null"),
    "text after a name": GOOD.replace("--- a/x\n", "--- a/x\t2020-01-01\n"),
    "a tab where no blank is": GOOD.replace("--- a/x\n", "--- a/x\t\n"),
    "no tab where a blank is": GOOD.replace("x", "x y"),
    "a blank after a name": GOOD.replace("--- a/x\n", "--- a/x \n"),
    "a tab in a name": MODE.replace("x", "x\ty"),
    "a quoted tab in a name": MODE.replace("a/x b/x", '"a/x\\ty" "b/x\\ty"'),
    "a CR in a name": MODE.replace("/x", "/x\r"),
    "a NUL in a name": MODE.replace("/x", "/x\0y"),
    "a C1 control in a name": MODE.replace("/x", "/x\x85"),
    "a quoted name without need": GOOD.replace("a/x", '"a/x"').replace("b/x", '"b/x"'),
    "a quoted letter": MODE.replace("a/x b/x", '"a/\\170" "b/\\170"'),
    "text after a quote": MODE.replace("a/x b/x", '"a/\\303\\251"z "b/\\303\\251"z'),
    "a quote that never closes": MODE.replace("a/x b/x", '"a/\\303\\251 "b/\\303\\251'),
    "a quote in a plain name": MODE.replace("/x", '/x"'),
    "a double slash": GOOD.replace("/x", "//x"),
    "a dot part": GOOD.replace("/x", "/./x"),
    "a parent part": GOOD.replace("/x", "/../x"),
    "a slash at the end": MODE.replace("/x", "/x/"),
    "an absolute name": MOVE.replace("a/x", "a//x").replace("from x", "from /x"),
    "no name": MODE.replace("/x", "/"),
    "a name in .git": MODE.replace("/x", "/.git/hooks/pre-commit"),
    "a name in .GIT": MODE.replace("/x", "/sub/.GIT/config"),
    "a long name": MODE.replace("/x", "/" + "x" * 5000),
    "a file twice": GOOD * 2,
    "a short hunk": GOOD.replace("@@ -1 ", "@@ -1,2 "),
    "a long hunk": GOOD + "+more\n",
    "a hunk that counts less": TWO.replace("1,2 @@", "1 @@", 1),
    "a hunk of context": GOOD.replace("-old\n+new", " old"),
    "an empty hunk": GOOD.replace("-1 +1", "-0,0 +0,0").split("-old")[0],
    "a count of 1": GOOD.replace("-1 +1", "-1,1 +1,1"),
    "a count with zeros": TWO.replace("-1,2", "-1,02"),
    "a large count": TWO.replace("-1,2", "-1,18446744073709551618"),
    "text glued to a hunk": GOOD.replace("+1 @@", "+1 @@f"),
    "hunks that go back": TWO.replace("-8,2 +8,2", "-0,2 +0,2"),
    "hunks that overlap": TWO.replace("-8,2 +8,2", "-2,2 +2,2"),
    "hunks that drift": TWO.replace("+8,2", "+9,2"),
    "text between hunks": TWO.replace("@@ -8", "Only\n@@ -8"),
    "a new file with an old line": NEW.replace("-0,0", "-1").replace("+new", "-old\n+new"),
    "a new file with two hunks": NEW + "@@ -0,0 +2 @@\n+more\n",
    "a deletion that leaves a line": GONE.replace("+0,0", "+1") + "+new\n",
    "an unknown line in a hunk": GOOD.replace("-old", "=old"),
    "no newline in the middle": TWO.replace("+new\n", "+new\n\\ No newline at end of file\n", 1),
    "no newline and another old line": GOOD.replace("-1", "-1,2").replace("+new", "\\ No newline at end of file\n-b\n+new"),
    "no newline first": GOOD.replace("-old\n", "\\ No newline at end of file\n-old\n"),
    "no newline twice": GOOD + "\\ No newline at end of file\n" * 2,
    "no newline in other words": GOOD + "\\ Kein Zeilenumbruch am Dateiende.\n",
    "no newline and another hunk": TWO.replace(" b\n@@", " b\n\\ No newline at end of file\n@@"),
    "one binary block": BINARY[: -len(LITERAL)],
    "three binary blocks": BINARY + LITERAL,
    "a binary block without end": BINARY[:-1],
    "a binary block without lines": BINARY.replace("IcmZPo000310RR91\n", ""),
    "a wrong length letter": BINARY.replace("Icm", "Acm"),
    "a letter that is none": BINARY.replace("Icm", "1cm"),
    "base 85 with other letters": BINARY.replace("Icm", "I,m"),
    "a binary patch of another kind": BINARY.replace("literal", "encoded"),
    "a stub of another name": STUB.replace("b/logo differ", "b/victim differ"),
    "a stub in other words": STUB.replace("Binary files", "Files"),
    "a hunk after a stub": STUB + "@@ -1 +1 @@\n-old\n+new\n",
}  # fmt: skip


def paths_of(diff: bytes) -> Set[str]:
    return {path for change in read_patch(diff).changes for path in change.paths}


class PatchTest(unittest.TestCase):
    """What is read, and what is not."""

    def test_what_git_writes_is_read(self) -> None:
        for diff, paths in READ:
            changes, problem = read_patch(diff.encode())
            self.assertEqual(("", paths), (problem, list(dict.fromkeys(p for c in changes for p in c.paths))), diff)

    def test_all_else_is_not(self) -> None:
        for fault, diff in UNREADABLE.items():
            self.assertNotIn(diff, [good for good, _ in READ], fault)
            result = gate(diff, denied=["nothing"])
            self.assertIs(BLOCK, result.decision, fault)
            self.assertIn("unreadable-diff", ids(result), fault)
            self.assertRegex(
                "\n".join(result.reasons),
                r"(?m)^unreadable-diff: line \d+: .*; take the diff from: change_diff\.py BASE ",
            )

    def test_the_line_is_named(self) -> None:
        self.assertEqual("line 8: this begins no file as git diff does", read_patch((GOOD + "x\n").encode()).problem)

    def test_a_move_that_shows_a_plain_mode_passes(self) -> None:
        modes = MODE.split("\n", 1)[1]
        shown = MOVE.replace("similarity", f"{modes}similarity")
        body = "".join(GOOD.splitlines(True)[1:]).replace("b/x", "b/y")
        for diff in (shown, MOVE + body, shown + body.replace(" 100644", "")):
            self.assertEqual(["passed"], ids(gate(diff)), diff)

    def test_what_is_left_out(self) -> None:
        for diff, why in (
            (STUB, "binary"), (GOOD.replace("100644", "120000"), "symbolic link"),
            (NEW.replace("100644", "120000"), "symbolic link"), (GONE.replace("100644", "160000"), "submodule"),
            (GOOD.replace("100644", "160000"), "submodule"), (MOVE, "change_diff.py"),
            (MOVE.replace("rename", "copy"), "change_diff.py"),
        ):  # fmt: skip
            self.assertEqual(["opaque-content"], ids(gate(diff)), diff)
            self.assertIn(why, gate(diff).reasons[0])


# --- The patch reader against git -----------------------------------------------------------------


class Repository:
    """A scratch repository in a folder of its own."""

    def __init__(self, top: Path) -> None:
        self.top, self.folder = top, top / "repository"
        self.git("init", "-q", self.folder, folder=top)
        self.git("config", "core.precomposeUnicode", "false")

    def git(self, *arguments: Any, given: bytes = b"", folder: Optional[Path] = None) -> str:
        return testing.git(folder or self.folder, *arguments, input=given, env=testing.clean_environment(LC_ALL="C"))

    def diff(self, *arguments: str, settings: Sequence[str] = ()) -> bytes:
        out = self.folder / ".git" / "out"
        self.git(*settings, "diff", f"--output={out}", *arguments)
        return out.read_bytes()

    def commit(self, branch: str, tree: Mapping[bytes, Union[bytes, Tuple[bytes, bytes]]]) -> None:
        """Store a tree of path: content, or path: (mode, content)."""
        lines = [b"commit refs/heads/%s\ncommitter a <a> 0 +0000\ndata 0\ndeleteall\n" % branch.encode()]
        for path, entry in tree.items():
            mode, content = entry if isinstance(entry, tuple) else (b"100644", entry)
            name = b"".join(b"\\%03o" % byte for byte in path)
            if mode == b"160000":
                lines.append(b'M 160000 %s "%s"\n' % (content, name))
            else:
                lines.append(b'M %s inline "%s"\ndata %d\n%s\n' % (mode, name, len(content), content))
        self.git("fast-import", "--quiet", "--force", given=b"".join(lines))

    def check_out(self, branch: str) -> None:
        self.git("read-tree", "--reset", "-u", branch)
        self.git("clean", "-ffdxq")

    def changed(self) -> Set[str]:
        """The paths that are not as in the index, and whatever appeared beside the repository."""
        told = os.fsencode(self.git("ls-files", "-t", "-z", "--modified", "--others")).decode(
            "utf-8", "surrogateescape"
        )
        return {entry[2:] for entry in told.split("\0") if entry} | {*os.listdir(self.top)} - {"repository"}

    def apply(self, diff: bytes) -> Tuple[bool, Set[str]]:
        """Whether git apply takes the diff in the folder as it is, and what that changes: git may stop in the middle."""
        try:
            self.git("apply", "-", given=diff)
        except AssertionError:
            return False, self.changed()
        return True, self.changed()


CHANGE_DIFF = os.path.join(TOP, "examples", "gate", "change_diff.py")
COMMAND = (
    "--no-textconv", "--no-ext-diff", "--no-color", "--no-renames", "--no-relative", "--ignore-submodules=none", "--src-prefix=a/",
    "--dst-prefix=b/",
)  # fmt: skip
NAMES = (
    b"a", b"b.txt", b"dir/c", b"dir/sub/d e", b"dir/sub/f", b"x b/y", b"x b/x b/y", b" lead", b"trail ", b"a/a", b"b/b", b"b/a",
    "\u00e9t\u00e9".encode(), "\u65e5 \u672c/\u8a9e".encode(), b'q"uote', b"back\\slash", b'"', b"-dash", b"dev/null", b"+++ b/x",
    b"diff --git a", b"semi;$(x)`y`", b"%s", b"a b a b", b"new file", b"bad\xffutf8", b"\\303", b"tab\tname", b"line\nend", b"esc\x1b",
)  # fmt: skip
LINES = (
    b"one", b"two", b"three", b"", b"", b"-- a/victim", b"++ b/victim", b"-", b"+", b"+++ b/victim", b"--- a/victim", b"diff --git a/x b/x",
    b"@@ -1 +1 @@", b"\\ No newline at end of file", b"rename from victim", b"GIT binary patch", b"cr\r", b"\r", b"\x0c", "\u2028".encode(),
    b"\xff", b"Index: victim", b"    indented", b"\tdef f():", b"{", b"}",
)  # fmt: skip
OPTIONS = (
    (), (), ("-M",), ("-M", "-U0"), ("-C", "--find-copies-harder"), ("-B", "-M"), ("-U0",), ("-U1",), ("-U10",), ("-U10", "-M20%"),
    ("--full-index", "--binary"), ("--binary", "-M"), ("--full-index", "--binary", "-C20%", "--find-copies-harder"), ("--no-renames",),
    ("--patience", "-U2"), ("--histogram", "-W"), ("--inter-hunk-context=5",), ("-D",), ("--text",), ("--abbrev=4",), ("-O/dev/null",),
)  # fmt: skip
SETTINGS = (
    "core.quotePath=false", "diff.suppressBlankEmpty=true", "core.abbrev=40", "diff.noPrefix=true", "diff.mnemonicPrefix=true", "a.b=c",
)  # fmt: skip

Tree = Dict[bytes, Tuple[bytes, bytes]]  # of path: (mode, content)


def random_content(rng: random.Random) -> bytes:
    kind = rng.random()
    if kind < 0.08:
        return b""
    if kind < 0.16:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(1, 300))) + b"\0"
    end = b"\r\n" if kind < 0.3 else b"\n"
    text = end.join(rng.choices(LINES, k=rng.randrange(1, 40)))
    return text if kind < 0.45 else text + end


def edited(rng: random.Random, content: bytes) -> bytes:
    lines = content.splitlines(True)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(lines) + 1)
        lines[at : at + rng.randrange(3)] = [rng.choice(LINES) + b"\n" for _ in range(rng.randrange(3))]
    text = b"".join(lines)
    return text[:-1] if rng.random() < 0.1 else text


def put(tree: Tree, path: bytes, entry: Tuple[bytes, bytes]) -> None:
    """Unless a file stands where a folder has to be, or the reverse."""
    parents = {path[:at] for at in range(len(path)) if path[at : at + 1] == b"/"}
    if not parents & tree.keys() and not any(other.startswith(path + b"/") for other in tree):
        tree[path] = entry


def random_trees(rng: random.Random) -> Tuple[Tree, Tree]:
    """A tree, and what a change makes of it."""
    names = NAMES if rng.random() < 0.2 else NAMES[:-3]
    old: Tree = {VICTIM.encode(): (b"100644", b"old\n")}
    for path in rng.sample(names, rng.randrange(2, 8)):
        put(old, path, (rng.choice((b"100644", b"100644", b"100755")), random_content(rng)))
    new = dict(old)
    for path in rng.sample(sorted(old), rng.randrange(1, len(old) + 1)):
        mode, content = old[path]
        action = rng.randrange(9)
        if action < 3:
            new[path] = (mode, edited(rng, content))
        elif action == 3:
            new[path] = ({b"100644": b"100755"}.get(mode, b"100644"), rng.choice((content, edited(rng, content))))
        elif action == 4 and rng.random() < 0.3:
            new[path] = rng.choice(((b"120000", b"victim"), (b"160000", b"1" * 40)))
        elif action == 5:
            put(new, rng.choice(names), (mode, random_content(rng)))
        elif action == 6:
            put(new, rng.choice(names), (mode, rng.choice((content, edited(rng, content)))))
        elif path != VICTIM.encode():
            del new[path]
            if action > 7:
                put(new, rng.choice(names), (mode, rng.choice((content, edited(rng, content)))))
    return old, new


HEADER_LINE = re.compile(
    rb"(?:diff --git|index|---|\+\+\+|@@|old|new|deleted|similarity|dissimilarity|rename|copy|Binary|GIT) "
)
BITS = (
    b"\t", b"\r", b"\0", b'"', b"\\", b"/", b"//", b" ", b"./", b"../", b"a/", b"b/", b".git/", b"\\056", b"victim", b"/dev/null", b"\n",
    b"100644", b"120000", b"\xff", b"0", b"1", b",", b"-", b"+", b"@@", b"%",
)  # fmt: skip
BLOCKS = (
    PLAIN, edit(VICTIM), GOOD, MODE, MOVE, NEW, "\n", "garbage\n", "-- \n2.39\n", "From: x\nSubject: y\n\n---\n", "--- a/victim\n",
    "+++ b/victim\n", "rename from victim\n", "rename to owned\n", "copy from victim\n", "copy to owned\n", "new file mode 100644\n",
    "deleted file mode 100644\n", "index 1111..2222 100644\n", "@@ -1 +1 @@\n-old\n+new\n", "GIT binary patch\n", "\\ No newline at end of file\n",
    "diff --git a/victim b/victim\n", "old mode 100644\nnew mode 100755\n", "similarity index 100%\n", "rename old victim\nrename new owned\n",
)  # fmt: skip


def mutant(rng: random.Random, diff: bytes, other: bytes) -> bytes:
    """The diff with one to three faults."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        diff = rng.choice(MUTATIONS)(rng, diff, other)
    return diff


def on_lines(
    change: Callable[[random.Random, List[bytes], int], None],
) -> Callable[[random.Random, bytes, bytes], bytes]:
    """A mutation that works on the lines and the index of one of them, mostly of a header."""

    def mutate(rng: random.Random, diff: bytes, _: bytes) -> bytes:
        lines = re.findall(rb"[^\n]*\n|[^\n]+", diff)
        headers = [at for at, line in enumerate(lines) if HEADER_LINE.match(line)]
        if lines:
            change(rng, lines, rng.choice(headers) if headers and rng.random() < 0.8 else rng.randrange(len(lines)))
        return b"".join(lines)

    return mutate


def drop(rng: random.Random, lines: List[bytes], at: int) -> None:
    del lines[at]


def double(rng: random.Random, lines: List[bytes], at: int) -> None:
    lines.insert(at, lines[at])


def swap(rng: random.Random, lines: List[bytes], at: int) -> None:
    lines[at - 1], lines[at] = lines[at], lines[at - 1]


def move(rng: random.Random, lines: List[bytes], at: int) -> None:
    lines.insert(rng.randrange(len(lines)), lines.pop(at))


def insert_block(rng: random.Random, lines: List[bytes], at: int) -> None:
    lines.insert(rng.choice((at, 0, len(lines))), rng.choice(BLOCKS).encode())


def rename(rng: random.Random, lines: List[bytes], at: int) -> None:
    """Put another name into one line, or into all that hold the same."""
    name = re.search(rb'(?:[ab]/|from |to )([^\n\t"]+)', lines[at])
    if name:
        other = rng.choice(
            (b"victim", b"owned", b"/dev/null", b"x y", b'"victim"', b"victim\t", b"../owned", b".git/config")
        )
        everywhere = rng.random() < 0.4
        lines[:] = [line.replace(name[1], other) if everywhere or n == at else line for n, line in enumerate(lines)]


def prefix(rng: random.Random, lines: List[bytes], at: int) -> None:
    old = rng.choice((b"a/", b"b/", b"/dev/null"))
    new = rng.choice((b"", b"i/", b"a//", b"b/", b"/", b"../", b"a/./", b"/dev/null", b"a/victim"))
    lines[at] = lines[at].replace(old, new, rng.choice((1, 2)))


def quote(rng: random.Random, lines: List[bytes], at: int) -> None:
    lines[at] = re.sub(rb"([ab]/[^ \n\t]+)", rb'"\1"', lines[at])


def count(rng: random.Random, lines: List[bytes], at: int) -> None:
    numbers = list(re.finditer(rb"\d+", lines[at]))
    if numbers:
        number = rng.choice(numbers)
        changed = str(max(0, int(number[0]) + rng.choice((-1, 1, 1, 100)))).encode()
        lines[at] = lines[at][: number.start()] + changed + lines[at][number.end() :]


def bit(rng: random.Random, lines: List[bytes], at: int) -> None:
    where = rng.randrange(len(lines[at]) + 1)
    lines[at] = lines[at][:where] + rng.choice(BITS) + lines[at][where + rng.randrange(2) :]


def content(rng: random.Random, lines: List[bytes], at: int) -> None:
    """A content line that looks like a header, or is another."""
    changed = [n for n, line in enumerate(lines) if line[:1] in b"+- "]
    if changed:
        at = rng.choice(changed)
        lines[at] = rng.choice((lines[at][:1], lines[at][:1], b"+", b"-", b"")) + rng.choice(LINES) + b"\n"


def byte(rng: random.Random, diff: bytes, _: bytes) -> bytes:
    at = rng.randrange(len(diff) + 1)
    return diff[:at] + rng.choice((b"", bytes([rng.randrange(256)]))) + diff[at + 1 :]


def splice(rng: random.Random, diff: bytes, other: bytes) -> bytes:
    """Files of two diffs, mixed."""
    pieces = re.split(rb"^(?=diff --git )", diff + other, flags=re.MULTILINE)
    return b"".join(rng.sample(pieces, rng.randrange(1, len(pieces) + 1)))


def cut(rng: random.Random, diff: bytes, _: bytes) -> bytes:
    return rng.choice((diff[:-1], diff[: rng.randrange(len(diff) + 1)], diff.replace(b"\n", b"\r\n")))


LINE_MUTATIONS = (
    drop, double, swap, move, insert_block, insert_block, rename, rename, prefix, quote, count, bit, bit, content, content,
)  # fmt: skip
MUTATIONS = (*map(on_lines, LINE_MUTATIONS), byte, splice, cut)


@testing.NEEDS_GIT
class GitTest(testing.Scratch):
    """Ordinary changes are read as they are, and no patch that is read touches more than it names."""

    def test_git_takes_some_of_what_is_refused_for_another_file(self) -> None:
        """So that the refusals have a reason, with the git at hand."""
        repository = Repository(self.folder)
        repository.commit("base", {b"x": b"old\n", VICTIM.encode(): b"old\n"})
        for fault in ("another name in both", "a plain diff after"):
            repository.check_out("base")
            self.assertIn(VICTIM, repository.apply(UNREADABLE[fault].encode())[1], fault)

    def test_what_change_diff_writes_is_read(self) -> None:
        old: Tree = {
            b"s": (b"160000", b"1" * 40), b"link": (b"120000", b"x"), b"sub/a": (b"100644", b"old\n"), b"x y": (b"100644", b"old\n"),
            b"bin": (b"100644", b"\0"), b"\xc3\xa9": (b"100644", b"old"),
        }  # fmt: skip
        new = {
            **old, b"s": (b"160000", b"2" * 40), b"x y": (b"100755", b"new\n"), b"bin": (b"100644", b"\0\1"),
            b"\xc3\xa9": (b"100644", b"new"),
        }  # fmt: skip
        new[b"moved"] = new.pop(b"link")
        repository = Repository(self.folder)
        repository.commit("old", old)
        repository.commit("new", new)
        out = self.folder / "change.diff"
        ended = testing.process(
            *testing.PYTHON, "-I", "-S", CHANGE_DIFF, "--trees", "old", "new", "-o", out, cwd=repository.folder
        )
        self.assertEqual(0, ended.returncode, ended)
        patch = read_patch(out.read_bytes())
        self.assertEqual(
            ("", {"s", "link", "moved", "x y", "bin", "\xe9"}), (patch.problem, paths_of(out.read_bytes()))
        )
        self.assertEqual({"s", "link", "moved", "bin"}, {change.paths[0] for change in patch.changes if change.opaque})

    def test_random_changes_and_mutants(self) -> None:
        tally: Dict[str, int] = Counter()
        repository, other = Repository(self.folder), b""
        for seed in range(ROUNDS):
            rng = random.Random(seed)
            old, new = random_trees(rng)
            repository.commit("old", old)
            repository.commit("new", new)
            options = rng.choice(OPTIONS)
            diff = repository.diff(*COMMAND, *options, "old", "new", settings=("-c", rng.choice(SETTINGS)))
            with self.subTest(seed=seed, options=options):
                tally["changes read"] += self.check_names(repository, diff, options)
                if diff:
                    repository.check_out("old")
                    self.check_mutants(rng, repository, diff, other, tally)
            other = diff
        self.assertGreater(tally["changes read"] * 2, ROUNDS)
        self.assertGreater(tally["mutants applied"], ROUNDS)

    def check_names(self, repository: Repository, diff: bytes, options: Sequence[str]) -> bool:
        """The names are those of git's own list; whether they are fit to be read."""
        plain = [
            option for option in options if not option.startswith(("-U", "-W", "--binary", "--full"))
        ]  # these imply -p
        raw = repository.diff("--raw", "-z", "--no-abbrev", *COMMAND, *plain, "old", "new").split(b"\0")
        paths, hidden = set(), set()
        for fields, *rest in listed(raw):
            paths |= {*rest}
            # A link or a submodule, or moved with the mode and the content as they were.
            if re.search(rb"120000|160000|:(\d+) \1 (\w+) \2 [RC]", fields):
                hidden.add(rest[-1])
        patch = read_patch(diff)
        if any(re.search(rb"[\0-\x1f]", path) for path in paths):
            self.assertTrue(patch.problem)
            return False
        self.assertEqual("", patch.problem, diff)
        self.assertEqual({path.decode("utf-8", "surrogateescape") for path in paths}, paths_of(diff))
        opaque = {change.paths[-1].encode("utf-8", "surrogateescape") for change in patch.changes if change.opaque}
        self.assertLessEqual(hidden, opaque)
        if b"\nBinary files " not in diff:
            self.assertEqual(hidden, opaque)
        return True

    def check_mutants(
        self, rng: random.Random, repository: Repository, diff: bytes, other: bytes, tally: Dict[str, int]
    ) -> None:
        for text in (diff, *(mutant(rng, diff, other) for _ in range(MUTANTS))):
            if read_patch(text).problem or not text:
                continue
            taken, changed = repository.apply(text)
            tally["mutants applied"] += taken
            self.assertLessEqual(changed, paths_of(text), text)
            if changed:
                repository.check_out("old")


def listed(raw: List[bytes]) -> Iterator[List[bytes]]:
    """The entries of git diff --raw -z: the fields, and one path or two."""
    entries = iter(raw)
    for fields in entries:
        if fields:
            yield [fields, *itertools.islice(entries, 2 if re.search(rb" [RC]\d+$", fields) else 1)]


# --- The command ----------------------------------------------------------------------------------

SCRIPT = os.path.join(HERE, "ci_gate.py")
MODULES = tuple(str(sys.modules[name].__file__) for name in ("verdict_contract", "verdict_check"))
YES = f"Fine.\n\n===VERDICT=== APPROVE {sha(DIFF)[:16]}\n"
SAYS = {0: "PASS", 3: "FAIL", 4: "BLOCK"}


def copied(source: str, folder: Path) -> Path:
    """A copy that can be written, also where the checkout cannot."""
    return Path(shutil.copyfile(source, folder / os.path.basename(source)))


class Done(NamedTuple):
    """How a call ended, and what it said."""

    status: int
    out: str
    err: str


def called(*arguments: str) -> Done:
    """The command within this process, ended as the program ends it."""
    return caught(lambda: ended("ci_gate.py", lambda: ci_gate.main(arguments)))


def caught(run: Callable[[], object]) -> Done:
    """What came of a program that runs within this process, on streams that have a file."""
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(TemporaryFile("w+", encoding="utf-8", newline="\n")) for _ in range(2)]
        stack.enter_context(contextlib.redirect_stdout(files[0]))
        stack.enter_context(contextlib.redirect_stderr(files[1]))
        try:
            status = run()
        except SystemExit as end:
            status = end.code
        assert isinstance(status, int)
        for file in files:
            file.seek(0)
        return Done(status, files[0].read(), files[1].read())


@unittest.skipUnless(testing.POSIX, "needs a shell, signals and links of POSIX")
class CommandTest(testing.Scratch):
    """ci_gate.py in a folder with the files of a call that passes; as a process where that makes a difference."""

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        patched = mock.patch.dict(os.environ, testing.clean_environment(), clear=True)
        patched.start()
        self.addCleanup(patched.stop)
        self.script = SCRIPT
        self.diff(DIFF)
        self.write("jobs", json.dumps(page(job("lint"), job("test"))))
        self.write("yes", YES)
        self.write("no", "===VERDICT=== REQUEST_CHANGES\n")

    def write(self, name: str, content: Union[str, bytes]) -> None:
        data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape")
        (self.folder / name).write_bytes(data)

    def diff(self, diff: str, conclusion: str = "success") -> None:
        self.ledger = sha(diff)
        self.write("diff", diff)
        self.write("ci", json.dumps({"run_id": 42, "diff_hash": self.ledger, "conclusion": conclusion}))

    def command(self, *arguments: str) -> List[str]:
        return [*testing.PYTHON, "-I", "-S", self.script, *arguments]

    def usual(self, *arguments: str) -> Tuple[str, ...]:
        return "--diff", "diff", "--ledger-hash", self.ledger, "--run-id", "42", "--ci-result", "ci", *arguments

    def started(self, *arguments: str, stdout: Any = subprocess.PIPE) -> Done:
        """The command as a process."""
        ended = testing.process(*self.command(*arguments), cwd=self.folder, stdout=stdout)
        return Done(ended.returncode, (ended.stdout or b"").decode("utf-8"), ended.stderr.decode("utf-8"))

    def run_with(self, status: int, *arguments: str, run: Optional[Callable[..., Done]] = None) -> Tuple[str, str]:
        """Run the command, which has to end in the status and say no more than that status says. Returns what it said."""
        ended = (run or called)(*arguments)
        self.assertEqual(status, ended.status, ended)
        if status in SAYS:
            first = ended.out.split("\n")[0] if "--json" not in arguments else SAYS[status]
            self.assertEqual((SAYS[status], ""), (first, ended.err))
        elif "--help" not in arguments:
            self.assertRegex(ended.err, r"\Aci_gate\.py: [^\n]+\n\Z")
            self.assertEqual("", ended.out)
        return ended.out, ended.err

    def gate(self, status: int, *arguments: str, **options: Any) -> Tuple[str, str]:
        """The usual call, with more arguments."""
        return self.run_with(status, *self.usual(*arguments), **options)

    def test_decisions(self) -> None:
        for status, arguments in (
            (0, []), (0, ["--scope", "src/**", "--deny", "tests/**"]),
            (0, ["--review", "yes", "--token", sha(DIFF)[:16].upper()]), (3, ["--review", "yes", "--review", "no"]),
            (4, ["--review", "yes", "--token", "12345678"]), (4, ["--review", "ci"]), (4, ["--deny", "src/**"]),
            (4, ["--scope", "docs/**", "--scope", "tests/**"]), (4, ["--ledger-hash", ZEROS]), (4, ["--run-id", "43"]),
        ):  # fmt: skip
            self.gate(status, *arguments)
        for conclusion, status in (("success", 0), ("failure", 3), ("skipped", 4)):
            self.diff(DIFF, conclusion)
            self.gate(status, "--review", "yes", run=self.started)
        for text in ("null", "[]", '"success"', "{}"):
            self.write("ci", text)
            self.gate(4)

    def test_jobs(self) -> None:
        call = ("--diff", "diff", "--ledger-hash", self.ledger, "--run-id", "42", "--jobs", "jobs", "--head-sha")
        for status, arguments in (
            (0, (HEAD, "--require", "lint", "test")), (0, (HEAD, "--require", "lint", "--require", "test")),
            (4, (HEAD, "--require", "lint", "--require", "other")), (4, ("0" * 40, "--require", "test")), (2, (HEAD)),
            (2, (HEAD[:9], "--require", "test")), (2, (HEAD, "--require", "")),
            (2, (HEAD, "--require", "test", "--ci-result", "ci")),
        ):  # fmt: skip
            self.run_with(status, *call, *arguments)
        self.write("jobs", json.dumps([page(job("test", "failure"))]))
        self.run_with(3, *call, HEAD, "--require", "test")
        self.write("jobs", json.dumps(page(job())).replace('"conclusion"', '"conclusion": "failure", "conclusion"'))
        self.run_with(1, *call, HEAD, "--require", "test")

    def test_usage(self) -> None:
        self.run_with(2)
        self.assertEqual(ci_gate.USAGE.strip(), self.run_with(2, "--help")[0].strip())
        self.run_with(2, "--diff", "diff", "--ledger-hash", self.ledger, "--run-id", "42")
        for wrong in (
            ["--run-id", ""], ["--scope", ""], ["--deny", "/src"], ["--token", "12345678"], ["--review", "yes", "--token", "x"],
            ["--review", "yes", "--token", ""], ["--head-sha", HEAD], ["--require", "test"], ["--jobs", ""], ["more"], ["--prop", "x"],
            ["--a\n::error::b"], ["--propose", ""], ["--propose", " "], ["--review", ""], ["--review", "-"], ["--diff", ""], ["--diff", "-"],
            ["--ledger-hash", ""], ["--ci-result", ""], ["--ci-result", "-"], ["--deny", ""], ["--run-id", " "], ["--token", "", "--review", "yes"],
        ):  # fmt: skip
            self.gate(2, *wrong)

    def test_a_review_counts_once_whatever_it_is_called(self) -> None:
        os.link(self.folder / "yes", self.folder / "hard")
        os.symlink("yes", self.folder / "soft")
        self.write("copy", YES)
        for again in ("yes", "./yes", str(self.folder / "yes"), "hard", "soft"):
            self.assertIn("names a file twice", self.gate(2, "--review", "yes", "--review", again)[1])
        self.assertIn("2 of 2 approve", self.gate(0, "--review", "yes", "--review", "copy")[0])

    def test_a_review_is_decoded_as_verdict_check_decodes_it(self) -> None:
        for codec in ("utf-8-sig", "utf-16", "utf-32"):
            self.write("review", YES.encode(codec))
            self.gate(0, "--review", "review")

    def test_what_cannot_be_read(self) -> None:
        for wrong in (
            ["--diff", "none"], ["--diff", "."], ["--ci-result", "none"], ["--review", "none"], ["--diff", "a\n::x::"],
        ):  # fmt: skip
            self.gate(1, *wrong)
        good = (self.folder / "ci").read_text("utf-8")
        for text in (
            "", "{", "success", "[" * 100_000, "9" * 10_000 + "}", "\udcff", '{"a": 1} {"b": 2}',
            good.replace('"conclusion"', '"conclusion": "failure", "conclusion"'), good.replace("{", '{"a": {"b": 1, "b": 1},'),
            *(good.replace("{", f'{{"a": {number},') for number in ("NaN", "Infinity", "-Infinity")),
        ):  # fmt: skip
            self.write("ci", text)
            self.assertIn("ci_gate.py: ci: not JSON", self.gate(1)[1])

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full here")
    def test_streams_that_take_nothing(self) -> None:
        """The status stays as documented, and no error lands on stdout. What writes to neither is left out."""
        good, unread, wrong, usage = self.usual(), self.usual("--diff", "none"), self.usual("--nonsense"), ("--help",)
        full, closed = ">/dev/full 2>/dev/full", ">&- 2>&-"
        for flags, rows in (
            (("-B", "-u"), (
                (good, 1, ">/dev/full"), (good, 1, full), (good, 0, "| true"), (usage, 2, ">/dev/full"), (usage, 0, "| true"),
                (unread, 1, "2>/dev/full"), (wrong, 2, "2>/dev/full"),
            )),
            (("-B",), (
                (good, 0, "2>&-"), (good, 0, ">&-"), (good, 0, closed), (usage, 2, ">&-"), (unread, 1, "2>&-"), (unread, 1, closed),
                (wrong, 2, "2>&-"), (wrong, 2, full),
            )),
        ):  # fmt: skip
            for flag, (call, status, streams) in itertools.product(flags, rows):
                command = shlex.join([*testing.PYTHON, flag, "-I", "-S", SCRIPT, *call])
                ended = testing.process("sh", "-c", f"{command} {streams}", cwd=self.folder)
                self.assertEqual(status, ended.returncode, (call, streams, ended))
                self.assertNotRegex(ended.stderr, b"Traceback|Exception ignored")
                if call in (unread, wrong):
                    self.assertEqual(b"", ended.stdout)

    def test_json(self) -> None:
        for conclusion, status in (("success", 0), ("failure", 3), ("stale", 4)):
            self.diff(DIFF, conclusion)
            out, _ = self.gate(status, "--json", "--propose", 'echo \'{"hint": "##[error] a", "suggestions": ["b"]}\'')
            told = json.loads(out)
            advice = None if status == 0 else {"hint": "##[error] a", "suggestions": ["b"]}
            self.assertEqual((SAYS[status], status, advice), (told["decision"], told["exit_code"], told["proposal"]))
            self.assertEqual((RUN, sha(DIFF), conclusion), tuple(told[key] for key in gate()._fields[2:]))
            self.assertEqual(1, out.count("\n"))
            self.assertNotIn("##", out)

    def test_neither_a_path_nor_a_model_writes_a_line_of_its_own(self) -> None:
        path = "a\u2028::error::x\u202e ##vso[task.complete]"
        self.diff(edit(path).replace(f"--- a/{path}", f"--- a/{path}\t").replace(f"+++ b/{path}", f"+++ b/{path}\t"))
        self.write(
            "reply",
            json.dumps({"hint": "PASS\n::error::y\n##[z]", "suggestions": ["\r\nPASS\u2029::stop::", "\x1b[2J"]}),
        )
        _, *lines = self.gate(
            4, "--scope", "src/**\n::x::", "--propose", f"cat {shlex.quote(str(self.folder / 'reply'))}"
        )[0][:-1].split("\n")
        self.assertEqual(["reason", "proposal", "proposal", "proposal"], [line.split(": ")[0] for line in lines])
        self.assertIn("a\\u2028", lines[0])
        for line in lines:
            self.assertTrue(line.isprintable())
            self.assertNotRegex(line, r"^\s*::|##\w*\[")

    def test_pass_runs_no_command(self) -> None:
        called = self.folder / "called"
        self.gate(0, "--propose", f"touch {shlex.quote(str(called))}")
        self.assertFalse(called.exists())
        self.diff(DIFF, "failure")
        before = self.gate(3, "--propose", f"touch {shlex.quote(str(called))}")
        self.assertTrue(called.exists())
        for command in ("exit 1", "no-such-command", "echo PASS"):
            self.assertEqual(before, self.gate(3, "--propose", command))

    def test_the_decision_is_out_before_the_command_runs(self) -> None:
        self.diff(DIFF, "failure")
        before = self.gate(3)[0]
        out, seen = self.folder / "out", self.folder / "seen"
        for end, status in (("", 3), ("; kill -9 $PPID", -9)):
            copy = f"cp {shlex.quote(str(out))} {shlex.quote(str(seen))}{end}"
            with out.open("wb") as file:
                ended = self.started(*self.usual("--propose", copy), stdout=file)
            self.assertEqual((status, before), (ended.status, seen.read_text("utf-8")), ended)
            seen.unlink()

    @unittest.skipUnless(hasattr(signal, "SIGCHLD"), "no SIGCHLD here")
    def test_an_ignored_sigchld_loses_no_status(self) -> None:
        self.diff(DIFF, "failure")
        call = self.command(*self.usual("--propose", 'echo \'{"hint": "x"}\'; exit 3'))
        ended = testing.process(*testing.IGNORING, *call, cwd=self.folder)
        self.assertEqual((3, b"FAIL"), (ended.returncode, ended.stdout[:4]), ended)
        self.assertNotIn(b"proposal", ended.stdout)

    def test_a_signal_ends_the_command_too(self) -> None:
        self.diff(DIFF, "failure")
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        heard = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]  # as nohup has it
        for number in heard * 3:
            reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            command = f"exec 3>{shlex.quote(str(pipe))}; kill -{int(number)} $PPID; sleep 600 & wait"  # while it starts
            ended = self.started(*self.usual("--propose", command))
            self.assertEqual((130, "FAIL\n", "ci_gate.py: interrupted\n"), ended._replace(out=ended.out[:5]))
            self.assertTrue(select.select([reader], [], [], 60)[0])
            self.assertEqual(b"", os.read(reader, 9))  # no process has it open any more
            os.close(reader)

    def install(self) -> Path:
        """A copy of the gate, without its modules."""
        (self.folder / "gate").mkdir()
        self.script = str(copied(SCRIPT, self.folder / "gate"))
        return self.folder / "gate"

    def loaded(self, *arguments: str) -> Done:
        """The copy as a program, within this process; it loads its modules anew."""
        with mock.patch.dict(sys.modules), mock.patch.object(sys, "argv", [self.script, *arguments]):
            for module in MODULES:
                del sys.modules[Path(module).stem]
            return caught(lambda: runpy.run_path(self.script, run_name="__main__"))

    def test_a_missing_or_broken_module(self) -> None:
        folder = self.install()
        self.gate(1, run=self.started)
        for stream in ("2>/dev/full", "2>&-"):
            ended = testing.process("sh", "-c", f"{shlex.join(self.command(*self.usual()))} {stream}", cwd=self.folder)
            self.assertEqual((1, b""), (ended.returncode, ended.stdout), stream)
        contract, check = (copied(module, folder) for module in MODULES)
        self.gate(0, run=self.loaded)
        for module, broken in itertools.product(
            (contract, check),
            (b"", b"def", b"1 / 0", b"import no_such_module", b"\0", b"\xff", b"raise ImportError('a\n::x')", b"raise SystemExit(0)"),
        ):  # fmt: skip
            source = module.read_bytes()
            module.write_bytes(broken)
            self.assertIn("cannot be loaded", self.gate(1, run=self.started)[1])
            module.write_bytes(source)

    def test_modules_are_their_source(self) -> None:
        """A package of that name and a cached .pyc, which Python would take first, are not run."""
        evil = "import os; print('PASS', flush=True); os._exit(0)"
        folder = self.install()
        self.write("evil.py", evil)
        self.write("gate/json.py", evil)
        for module in MODULES:
            copy = copied(module, folder)
            copy.with_suffix("").mkdir()
            self.write(f"gate/{copy.stem}/__init__.py", evil)
            py_compile.compile(
                str(self.folder / "evil.py"), cache_from_source(str(copy)), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
            )  # fmt: skip
        self.diff(DIFF, "failure")
        self.gate(3, "--review", "yes", run=self.started)

    def test_modules_are_never_taken_from_the_working_folder(self) -> None:
        for module in MODULES:
            self.write(os.path.basename(module), "raise SystemExit(0)")
        self.gate(0, "--review", "yes", run=self.started)
        (self.folder / "a" / "b" / "c").mkdir(parents=True)
        copied(SCRIPT, self.folder / "a" / "b" / "c")
        code = f"import sys; sys.path.append({str(self.folder / 'a' / 'b' / 'c')!r}); import ci_gate"
        for place, status in (("", 1), ("a", 0)):
            for module in MODULES if place else ():
                copied(module, self.folder / place)
            ended = testing.process(*testing.PYTHON, "-c", code, cwd=self.folder)
            self.assertEqual((status, status == 1), (ended.returncode, b"ImportError: " in ended.stderr), ended)


# --- The documents --------------------------------------------------------------------------------


def readme() -> str:
    return Path(HERE, "README.md").read_text("utf-8")


class ReadmeTest(testing.Scratch):
    """The README is printed from the code, and run as code."""

    def test_the_table(self) -> None:
        rows = [f"| `{c.id}` | {c.when} | {c.outcome.value} |" for c in CONDITIONS]
        table = "\n".join(["| id | condition | outcome |", "| --- | --- | --- |", *rows])
        self.assertIn(f"<!-- gate-conditions -->\n{table}\n<!-- /gate-conditions -->", readme())

    @testing.NEEDS_GIT
    @unittest.skipUnless(testing.POSIX, "needs a shell")
    def test_the_walk_through(self) -> None:
        """From within a hook of the caller's, whose repository it leaves as it is."""
        callers, work = self.folder / "callers", self.folder / "work"
        testing.git(self.folder, "init", "-q", callers)
        for source in (SCRIPT, CHANGE_DIFF, *MODULES):
            place = work / os.path.relpath(os.path.dirname(source), TOP)
            place.mkdir(parents=True, exist_ok=True)
            copied(source, place)
        blocks = testing.blocks(readme(), "console")
        commands = [command for _, block in blocks for command in testing.commands(block)]
        self.assertTrue(commands)
        python = f'python3() {{ {shlex.join(testing.PYTHON)} "$@"; }}\n'
        before = files_of(callers)
        for command, output in commands:
            with mock.patch.dict(
                os.environ, GIT_DIR=str(callers / ".git"), GIT_INDEX_FILE=str(callers / ".git" / "index")
            ):
                ended = testing.process("sh", "-c", f"exec 2>&1\n{python}{command}", cwd=work)
            self.assertEqual(output, ended.stdout.decode(), command)
        self.assertEqual(before, files_of(callers))


def files_of(folder: Path) -> Dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


if __name__ == "__main__":
    testing.main()
