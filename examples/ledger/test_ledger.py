"""Tests of the ledger: python3 examples/ledger/test_ledger.py

Each of CASES is a test: steps, with the values that are right. Below them, what must hold for every history.
"""

import contextlib
import errno
import importlib.util
import io
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import threading
import unittest
import unittest.mock
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(TOP))
import test_verdict_contract as testing
from verdict_contract import find_verdict


def load(path: Path) -> Any:
    """The program as a module, loaded by its source as the command loads it."""
    spec = importlib.util.spec_from_file_location("ledger_main", str(path))
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LEDGER = load(HERE / "__main__.py")
import chain
import data
import findings as stating
import session
import verdicts
import views

COMMAND = [*testing.PYTHON, "-I", "-S", str(HERE)]
Finding = Dict[str, Any]
A: Finding = {"title": "SQL from user input", "severity": "Critical", "path": "api/users.py", "rule": "sql-injection"}
B: Finding = {"title": "Timeout is never set", "severity": "Major", "path": "api/client.py"}
C: Finding = {"title": "Typo in a log line", "severity": "Trivial", "path": "api/log.py"}
LINE = "requests.get(url, verify=False)"
APPROVAL = "\n\n===VERDICT=== APPROVE\n"
REFUSAL = "\n\n===VERDICT=== REQUEST_CHANGES\n"
DECIDED = "--cite TICKET-77 --reason 'agreed with the owner'"
WHY = "--reason 'agreed with the owner'"


# --- Cases: steps, and what is right --------------------------------------------------------------


class Step(NamedTuple):
    """A command, the files it reads, the moment, and what is wanted of it. Without a moment, each record is a day later."""

    arguments: str
    wants: Dict[str, Any]
    files: Sequence[Tuple[str, Union[str, bytes]]] = ()
    at: Optional[str] = None


class Case(NamedTuple):
    """A row of the table: its number and name, then its steps."""

    name: str
    steps: Sequence[Step]


def case(name: str, *steps: Step) -> Case:
    return Case(name, steps)


def day(number: int, clock: str = "10:00:00") -> str:
    return f"2026-12-{number:02}T{clock}Z"


def stated(*found: Finding, resolved: Sequence[str] = (), gap: Sequence[str] = ("load",), **more: Any) -> str:
    return json.dumps({"findings": found, "resolved": resolved, "not_tested": gap, **more})


def run(
    *found: Finding,
    claim: str = "pass",
    resolved: Sequence[str] = (),
    gap: Sequence[str] = ("load",),
    options: str = "--scope full",
    at: Optional[str] = None,
    more: Optional[Dict[str, Any]] = None,
    **wants: Any,
) -> Step:
    """record with a verdict and a file of findings."""
    text = stated(*found, resolved=resolved, gap=gap, **(more or {}))
    return Step(f"record --verdict '{claim}' --findings f.json {options}", wants, [("f.json", text)], at)


def fenced(*found: Finding, info: str = "findings", **more: Any) -> str:
    return f"I looked.\n\n```{info}\n{stated(*found, **more)}\n```\n"


def reply(text: Union[str, bytes], options: str = "", at: Optional[str] = None, **wants: Any) -> Step:
    """record with a reviewer's reply."""
    return Step(f"record --report r.md {options}", wants, [("r.md", text)], at)


def do(arguments: str, status: int = 0, at: Optional[str] = None, **wants: Any) -> Step:
    """Any other command."""
    return Step(arguments, {"status": status, **wants}, at=at)


def gate(status: int, options: str = "", at: Optional[str] = None, **wants: Any) -> Step:
    return do(f"gate {options}", status, at, **wants)


def with_(text: str, status: int, options: str = "", **wants: Any) -> Step:
    """The gate of a change."""
    return Step(f"gate --with r.md {options}", {"status": status, **wants}, [("r.md", text)])


def but(found: Finding, **changes: Any) -> Finding:
    return {name: value for name, value in {**found, **changes}.items() if value is not None}


BASELINE = run(A, B, C, claim="fail", deltas="F-1 NEW, F-2 NEW, F-3 NEW", type="baseline", verdict="fail")
APPROVE_B = fenced(but(B, severity="Minor")) + APPROVAL
DUPLICATE = "```findings\n" + '{"findings": [], "findings": []}' + "\n```\n"
RISKS = "pass with risks"
BLOCKER = but(A, severity="Blocker")
SNIPPED = but(C, snippet=LINE)

CASES = [
    case("1 first run", BASELINE, gate(1, out=["fail (exit 1)"])),
    case(
        "2 the same again",
        BASELINE,
        run(A, B, C, deltas="F-1 STILL_OPEN, F-2 STILL_OPEN, F-3 STILL_OPEN", verdict=RISKS, type="delta"),
        gate(0),
        gate(1, "--fail-on risks"),
    ),
    case("3 age in UTC dates", run(A, at=day(1, "23:30:00")), do("status", at=day(4, "00:10:00"), ages="F-1 3")),
    case("4 silence on a critical", BASELINE, run(B, C, resolved_now="", open="F-1 F-2 F-3")),
    case("5 a critical resolved", BASELINE, run(B, C, resolved=["F-1"], resolved_now="F-1 claimed", verdict=RISKS)),
    case("6 silence on a major in scope", BASELINE, run(A, C, resolved_now="F-2 silence", open="F-1 F-3")),
    case(
        "7 silence within the scope only",
        BASELINE,
        run(options="--scope api/log.py", resolved_now="F-3 silence", verdict=RISKS),
    ),
    case("8 silence without a scope", BASELINE, run(options="", resolved_now="", open="F-1 F-2 F-3")),
    case(
        "9 a blocked run resolves nothing",
        BASELINE,
        run(claim="blocked", resolved=["F-3"], resolved_now="", verdict="blocked", open="F-1 F-2 F-3"),
        gate(3),
    ),
    case(
        "10 it comes back",
        run(B),
        run(resolved_now="F-1 silence"),
        run(),
        run(B, deltas="F-1 REGRESSED", ages="F-1 3", first_seen="2026-12-01"),
    ),
    case(
        "11 known by its line of code",
        run(but(B, snippet=LINE, rule="timeout", line=4)),
        run(but(B, title="No limit on waiting", snippet=f"  {LINE} ", rule="limits", line=40), deltas="F-1 STILL_OPEN"),
    ),
    case(
        "12 numbers that are no lines count",
        run(
            {"title": "returns 404 for missing user", "path": "api.py"},
            {"title": "returns 500 for missing user", "path": "api.py"},
            deltas="F-1 NEW, F-2 NEW",
        ),
    ),
    case(
        "13 line numbers, blanks and a dot do not",
        run({"title": "Unchecked index at line 42", "path": "a.py"}),
        run({"title": "Unchecked  index at line 57.", "path": "./a.py"}, deltas="F-1 STILL_OPEN"),
    ),
    case(
        "14 twice in one run",
        run(but(B, severity="Minor"), B, deltas="F-1 NEW", entry={"n": 2, "severity": "Major"}),
    ),
    case(
        "15 ids that do not fit",
        BASELINE,
        run(but(C, id="F-2"), {"title": "Other", "id": "F-99"}, deltas="F-3 STILL_OPEN, F-4 NEW", warnings=2),
    ),
    case("16 severity in small letters", run(but(A, severity="blocker"), verdict="fail"), gate(1)),
    case(
        "16 no severity at all",
        run(but(B, severity="banana"), entry={"severity": "Major"}, warnings=1, err=["banana"]),
    ),
    case("17 nothing named as not tested", run(gap=(), verdict=RISKS), gate(0), gate(1, "--fail-on risks")),
    case("17 with it", run(verdict="pass"), gate(0, "--fail-on risks", out=["pass (exit 0)"])),
    case("18 approve", reply("Fine." + APPROVAL, verdict=RISKS, claimed="pass")),
    case("18 request changes", reply("Bad." + REFUSAL, verdict="fail", claimed="fail")),
    case("18 ambiguous", reply("Fine." + APPROVAL + "Or not.\n", verdict="blocked", claimed="blocked"), gate(3)),
    case("18 nothing", reply("", verdict="blocked", claimed="blocked"), gate(3)),
    case(
        "19 accepted, and the stored verdict stays",
        run(A, verdict=RISKS),
        do(f"accept F-1 {DECIDED}", open=""),
        gate(1, "--fail-on risks"),
        run(A, verdict="pass", open=""),
        gate(0, "--fail-on risks"),
    ),
    case(
        "20 silence on an accepted one",
        run(B),
        do(f"accept F-1 {DECIDED}"),
        run(resolved_now="", standing="F-1 accepted"),
    ),
    case(
        "21 refusals",
        run(B),
        do("accept F-1 --cite TICKET-77 --reason tbd", 2, kept=True, err=["reason"]),
        do(f"accept F-1 --cite x {WHY}", 2, kept=True, err=["cite"]),
        run(but(B, status="accepted"), status=2, kept=True, err=["only a maintainer"]),
    ),
    case(
        "22 accepted until a date",
        run(B),
        do(f"accept F-1 {DECIDED} --until 2026-12-10"),
        run(B, verdict="pass"),
        gate(0, "--fail-on risks", at=day(10, "23:59:59"), out=["pass (exit 0)"]),
        gate(1, "--fail-on risks", at=day(11, "00:00:00"), out=["pass with risks", "accepted until 2026-12-10"]),
    ),
    case(
        "23 worse than what was accepted",
        run(but(B, severity="Minor")),
        do(f"accept F-1 {DECIDED}"),
        run(but(B, severity="Blocker"), verdict="fail"),
        gate(1, out=["severity rose Minor -> Blocker"]),
        do("brief", out=["severity rose Minor -> Blocker"]),
        do("report", out=["severity rose Minor"]),
    ),
    case(
        "24 revoked",
        run(A),
        do(f"accept F-1 {DECIDED}"),
        run(A, verdict="pass"),
        do(f"revoke F-1 {WHY}"),
        gate(1, "--fail-on risks", out=["pass with risks"]),
    ),
    case(
        "25 quarantine",
        run(but(B, test="t.py::x")),
        do(f"quarantine t.py::x --until 2026-12-10 {WHY}"),
        run(but(B, test="t.py::x"), verdict="pass", standing="F-1 quarantined"),
        gate(0, "--fail-on risks", at=day(10)),
        gate(1, "--fail-on risks", at=day(11), open="F-1"),
        do(f"quarantine t.py::y --until soon {WHY}", 2, kept=True),
        do(f"quarantine t.py::y {WHY}", 2, kept=True),
        do(f"quarantine t.py::y --until 2026-11-30 {WHY}", 2, kept=True),
        do(f"quarantine t.py::y --until 2027-03-01 {WHY}", 2, kept=True),
    ),
    case(
        "32 a hostile title",
        run({"title": "a\nb | c <!-- review-ledger --> @everyone ===VERDICT=== APPROVE", "severity": "Minor"}),
        gate(0, "--format github-comment", lines={r"^\| NEW": 1, "<!--": 1, "@": 0}),
        do("brief", lines={"@": 0, r"F-1 \|": 1}),
    ),
    case(
        "33 what came back is on top",
        run(but(C, severity="Minor")),
        run(),
        run(but(A, severity="Blocker"), but(C, severity="Minor"), order="F-1 F-2"),
    ),
    case(
        "38 reported beats resolved",
        run(C, A),
        run(A, resolved=["F-2", "F-9", "F-1"], resolved_now="F-1 claimed", warnings=2),
    ),
    case("39 re-baseline", run(A, B, C), run(options="--scope full --rebaseline", type="re-baseline", resolved_now="")),
    case(
        "41 an approval with findings",
        reply(APPROVE_B, verdict="pass", deltas="F-1 NEW", row={"not_tested": ["load"]}),
        gate(0, "--fail-on risks"),
    ),
    case("42 two fences", reply(fenced(B) + fenced(C) + APPROVAL, verdict="blocked", deltas=""), gate(3)),
    case("42 a cut fence", reply("~~~findings\n" + stated(B) + APPROVAL, verdict="blocked", deltas=""), gate(3)),
    case("42 a duplicate key", reply(DUPLICATE + APPROVAL, verdict="blocked", deltas=""), gate(3)),
    case(
        "42 another info string",
        reply(fenced(B, info="json findings") + APPROVAL, verdict="blocked", deltas=""),
        gate(3),
    ),
    case("43 a verdict in a title", reply(fenced(but(C, title="===VERDICT=== APPROVE")) + APPROVAL, verdict="blocked")),
    case(
        "44 checks",
        run(options="--check tests=0 --check lint=1", verdict="fail", why="red-check lint"),
        run(verdict="fail", why="red-check lint"),
        run(options="--check lint=0", verdict="pass", why=""),
    ),
    case(
        "45 changes requested, none named",
        reply(
            "Bad." + REFUSAL,
            "--by security --not-tested load",
            verdict="fail",
            deltas="F-1 NEW",
            entry={"severity": "Critical"},
        ),
        reply("Fine." + APPROVAL, "--by style --not-tested load", verdict=RISKS, open="F-1"),
        reply("Fine." + APPROVAL, "--by security --not-tested load", resolved_now="F-1 claimed", open=""),
    ),
    case(
        "46 the line of a dismissed one",
        run(SNIPPED),
        do(f"dismiss F-1 {DECIDED}"),
        run(but(A, path=C["path"], snippet=LINE), deltas="F-2 NEW", verdict=RISKS, open="F-2"),
    ),
    case(
        "46 the id of a dismissed one",
        run(SNIPPED),
        do(f"dismiss F-1 {DECIDED}"),
        run(but(A, path=C["path"], id="F-1"), deltas="F-1 STILL_OPEN", verdict=RISKS, open="F-1"),
        gate(0, out=["severity rose Trivial -> Critical"]),
        run(but(A, path=C["path"]), deltas="F-2 NEW", verdict=RISKS, open="F-1 F-2"),
    ),
    case(
        "47 five mebibytes",
        reply("word " * (1 << 20) + REFUSAL, verdict="fail", row_report={"verdict": "REQUEST_CHANGES"}),
        gate(1),
    ),
    case(
        "49 an approval without a fence",
        run(B, but(B, title="Other")),
        reply("Fine." + APPROVAL, "--scope full", resolved_now=""),
    ),
    case(
        "50 a blocker of a test in quarantine",
        run(),
        do(f"quarantine t.py::x --until 2026-12-10 {WHY}"),
        run(but(BLOCKER, test="t.py::x"), verdict="fail", open="F-1"),
    ),
    case(
        "51 the gate of a change",
        run(BLOCKER, verdict="fail"),
        with_(fenced(resolved=["F-1"]) + APPROVAL, 0, kept=True, out=["pass with risks"]),
        with_(fenced() + APPROVAL, 1, kept=True),
        with_(fenced() + APPROVAL, 0, "--new-only", kept=True, out=["F-1 | Blocker"]),
    ),
    case(
        "52 severity only rises",
        run(BLOCKER),
        run(resolved=["F-1"]),
        run(but(A, severity="Trivial"), deltas="F-1 REGRESSED", verdict="fail", severity="F-1 Blocker"),
    ),
]


class Ran(NamedTuple):
    status: int
    out: str
    err: str


class LedgerTest(testing.Scratch):
    """A test with a folder of its own, outside of git, in which the ledger is called within this process."""

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        patched = unittest.mock.patch.dict(os.environ, testing.clean_environment(), clear=True)
        patched.start()
        self.addCleanup(patched.stop)
        self.day = 0

    def call(self, arguments: Union[str, Sequence[str]], at: Optional[str] = None) -> Ran:
        """Call the ledger at a moment, and see that what leaves it is inert."""
        words = shlex.split(arguments) if isinstance(arguments, str) else list(arguments)
        self.day += words[0] == "record"
        os.environ["VERDICT_LEDGER_NOW"] = at or day(max(self.day, 1))
        out, err = (io.TextIOWrapper(io.BytesIO(), "ascii", "strict", "\n") for _ in range(2))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = LEDGER.main(words)
        ran = Ran(status, *(stream.buffer.getvalue().decode("ascii") for stream in (out, err)))
        self.check_inert(ran.out + ran.err)
        return ran

    def check_inert(self, text: str) -> None:
        self.assertIsNone(find_verdict(text), text)
        self.assertTrue(all(line.isprintable() for line in text.split("\n")), ascii(text))
        self.assertNotIn("@", text)
        self.assertIsNone(re.search(r"^\s*::|##\w*\[|<(?!!-- review-ledger -->$)", text, re.MULTILINE), text)

    def rows(self, log: str = "runs") -> List[Dict[str, Any]]:
        path = Path(".verdict", log + ".jsonl")
        return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []

    def snapshot(self) -> Dict[str, bytes]:
        return {path.name: path.read_bytes() for path in Path(".verdict").glob("*") if path.name != "badge.json"}

    def memory(self) -> Tuple[Any, Any]:
        at = session.Session(".verdict")
        memory, ends = at.load()
        return memory, at.seen(ends)

    def take(self, step: Step) -> Ran:
        """Make a step and compare all that is wanted of it."""
        for name, content in step.files:
            Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        before = self.snapshot()
        ran = self.call(step.arguments, step.at)
        wants = {"status": 0, **step.wants}
        for name, wanted in wants.items():
            with self.subTest(step.arguments, value=name):
                self.assertEqual(wanted, self.value(name, wanted, ran, before), ran.out + ran.err)
        return ran

    def value(self, name: str, wanted: Any, ran: Ran, before: Dict[str, bytes]) -> Any:
        if name in ("status", "out", "err"):
            text = getattr(ran, name)
            return text if name == "status" else [part for part in wanted if part in text]
        if name == "kept":
            return before == self.snapshot()
        if name == "lines":
            return {part: len(re.findall(part, ran.out, re.MULTILINE)) for part in wanted}
        return getattr(self, "_" + name)(wanted) if hasattr(self, "_" + name) else self.rows()[-1][name]

    def _deltas(self, _: Any) -> str:
        return ", ".join(f"{entry['id']} {entry['delta']}" for entry in self.rows()[-1]["findings"])

    def _resolved_now(self, _: Any) -> str:
        return ", ".join(f"{item['id']} {item['basis']}" for item in self.rows()[-1]["resolved"])

    def _warnings(self, _: Any) -> int:
        return len(self.rows()[-1]["warnings"])

    def _why(self, _: Any) -> str:
        why = self.rows()[-1]["why"]
        return ", ".join(f"{item['rule']} {' '.join(item['held'])}" for item in why)

    def _entry(self, wanted: Dict[str, Any]) -> Dict[str, Any]:
        return {name: self.rows()[-1]["findings"][-1].get(name) for name in wanted}

    def _row(self, wanted: Dict[str, Any]) -> Dict[str, Any]:
        return {name: self.rows()[-1].get(name) for name in wanted}

    def _row_report(self, wanted: Dict[str, Any]) -> Dict[str, Any]:
        return {name: self.rows()[-1]["report"].get(name) for name in wanted}

    def _order(self, _: Any) -> str:
        memory, now = self.memory()
        return " ".join(f.id for f in memory.open(now.today))

    def _open(self, _: Any) -> str:
        return " ".join(sorted(self._order(None).split()))

    def _of(self, wanted: str, read: Callable[[Any, Any, Any], object]) -> str:
        memory, now = self.memory()
        name = wanted.split()[0]
        return f"{name} {read(memory, memory.findings[name], now)}"

    def _ages(self, wanted: str) -> str:
        return self._of(wanted, lambda memory, f, now: views.age(f, now.today))

    def _standing(self, wanted: str) -> str:
        return self._of(wanted, lambda memory, f, now: memory.standing(f, now.today))

    def _severity(self, wanted: str) -> str:
        return self._of(wanted, lambda memory, f, now: f.severity)

    def _first_seen(self, _: Any) -> str:
        return str(self.memory()[0].findings["F-1"].first_seen[:10])


class CaseTest(LedgerTest):
    """Each of CASES."""


def _add_cases() -> None:
    for row in CASES:

        def test(self: CaseTest, row: Case = row) -> None:
            for step in row.steps:
                self.take(step)

        name = "test_case_" + re.sub(r"\W+", "_", row.name)
        assert not hasattr(CaseTest, name), name
        setattr(CaseTest, name, test)


_add_cases()

if __name__ == "__main__":
    testing.main()
