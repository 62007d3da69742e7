"""How fast the contract and the ledger are, and how large they grow: `python3 .ci/bench.py [--quick]`.

Each row is a ratio, so that it means the same on any machine, with the bound that it must keep. Both sides
of a ratio are timed in turn and by the best of their runs, and a row that misses its bound is timed longer
before it counts. Ends in status 1 if any row is over. For Linux and macOS.
"""

import argparse
import itertools
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from operator import truediv
from pathlib import Path
from typing import Callable, Iterator, List, NamedTuple, Optional

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

from test_verdict_contract import HUGE
from verdict_contract import read_verdict

CHECK = os.path.join(sys.path[0], "verdict_check.py")
LEDGER = os.path.join(sys.path[0], "examples", "ledger")
ENOUGH, PATIENCE = 5, 8  # runs of each side; so many times as many where the bound is missed

Action = Callable[[], object]
Figure = Callable[[float, float], float]


class Row(NamedTuple):
    """A line of the table, with what the ratio must be at least and at most."""

    what: str
    figure: float
    least: float = 0
    most: float = math.inf

    def over(self) -> bool:
        """Whether a bound is missed."""
        return not self.least <= self.figure <= self.most

    def __str__(self) -> str:
        """The row as it is printed."""
        bound = f"at least {self.least:g}" if self.least else f"at most {self.most:g}"
        return f"{self.figure:>6.2f}  {bound:<12}  {'over' if self.over() else 'ok':<4}  {self.what}"


# --- Timing ---------------------------------------------------------------------------------------


def seconds(action: Action) -> float:
    """The time that one run takes of the processor, in this process and in children that it waits for."""
    start = spent()
    action()
    return spent() - start


def spent() -> float:
    """Seconds of the processor so far; unlike the time of day, these do not count what else the machine does."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def compare(what: str, ours: Action, other: Action, runs: int, figure: Figure = truediv, **bound: float) -> Row:
    """The figure of the least seconds of each side, timed in turn: what slows the machine slows both."""
    best, row = (math.inf, math.inf), Row(what, math.nan, **bound)
    for run in range(runs * PATIENCE):
        best = (min(best[0], seconds(ours)), min(best[1], seconds(other)))
        row = row._replace(figure=figure(*best))
        if run + 1 >= runs and not row.over():
            break
    return row


# --- Throughput -----------------------------------------------------------------------------------

APPROVAL = "\n===VERDICT=== APPROVE\n"
PROSE = [
    "The lock is taken before the map is read and given back in the finally block, so the two",
    "threads of the test never see half a row. The second loop could use the helper of utils.",
    "",
]
CODE = ["```python", "def total(rows):", "    return sum(row.price for row in rows)", "```", ""]
FINDINGS = [
    "## Findings",
    "",
    "1. `store.py`, line 88: the lock is released before the row is written, so two writers can",
    "   take the same number. Move the write into the `with` block.",
    "2. `store.py`, line 120: the name `data` says little; `rows` would say more. A nit.",
    "",
    "The tests cover the empty table and the full one. I ran none of them.",
    "",
]
ACCENTED = ["Die Größe der Übergabe passt — auch für leere Listen, siehe unten 👍", ""]
GERMAN = ["Für die Übergabe wird zunächst die Größe geprüft, danach wird der Schlüssel gelöscht.", ""]
_PLAIN = re.compile(r"[>#*_`\s-]*={2,}\s*VERDICT\s*={2,}\s*(APPROVE|REQUEST[_ -]CHANGES)[*_`.\s]*$", re.IGNORECASE)


def plain_way(report: str) -> Optional[str]:
    """What a script would do without the contract: strip each line and try one anchored expression on it."""
    verdict = None
    for line in report.splitlines():
        match = _PLAIN.match(line.strip())
        if match:
            verdict = match[1]
    return verdict


def report_of(lines: List[str], length: int) -> str:
    """An approving report of about that many characters."""
    block = "\n".join(lines) + "\n"
    return block * max(1, length // len(block)) + APPROVAL


def repeated(action: Callable[[str], object], report: str, times: int) -> Action:
    """The action on the report, so many times: for what is too short to be timed once."""
    return lambda: [action(report) for _ in range(times)]


def throughput(length: int) -> Iterator[Row]:
    """The contract against the plain way; above 1 it is faster."""
    bytes(31 << 20)  # once so much was freed, the C library gives less back: no run pays for fresh pages
    kinds = (
        ("ASCII prose", PROSE, length, 1, 2),
        ("a fenced block every ten paragraphs", PROSE * 10 + CODE, length, 1, 1),
        ("a reply of 4 KB", FINDINGS * 6 + CODE, 4096, 100, 0.4),
        ("prose with some non-ASCII", PROSE * 3 + ACCENTED, length, 1, 0.3),
    )
    for name, lines, size, times, least in kinds:
        report = report_of(lines, size)
        if not read_verdict(report).verdict == plain_way(report) == "APPROVE":
            raise AssertionError(f"{name}: the two do not agree on what to time")
        ours, other = (repeated(action, report, times) for action in (read_verdict, plain_way))
        yield compare(f"speed against a loop over lines: {name}", other, ours, ENOUGH, least=least)


# --- Growth ---------------------------------------------------------------------------------------

# fmt: off
UNITS = (
    *(shape for shapes in HUGE.values() for shape in shapes), "==VERDICT==", "==VERDICT==\n", "VERDICT ", "\n",
    "\u2028", "\0", "\x1b[1m", "<!--", "-->", "```x\n", "*", "1", "1.:", "[x]:", ".", ":", "A ", "A:", "REQUEST ",
    "REQUEST_CHANGES", "REJECT", "REJECT\n", "REJECT_-", "NOT-", "DO", "CHANGES ", "FINAL VERDICT ", "VERDICT\n\n",
    '"VERDICT":"REJECT ', "\\_", "|", "> ", "e\u0301\u0323", "\u200b", "\u00e9", "\ufdfa", "\uff1d", "\ud800",
)
BLOCK = "REQUEST_CHANGES" + APPROVAL
AROUND = (
    ("", ""), ("", APPROVAL), (APPROVAL, ""), ("\n", APPROVAL.strip()), ("\u00e9", APPROVAL),
    ("```\n", "\n```" + APPROVAL), ("===VERDICT=== ", ""), ("===VERDICT=== REQUEST_CHANGES ", "Z"),
    ("===VERDICT=== APPROVE ", ""), ("===VERDICT=== APPROVE ", "Z"), ("==", "VERDICT=== APPROVE"),
    ("===VERDICT", "=== APPROVE"), ("===VERDICT=== REQUEST", "Z"), ("Verdict:", "APPROVE"), ("Z", BLOCK),
    ("VERDICT ", "Z " + BLOCK), ("A ", "Z " + BLOCK), ("A:", "Z " + BLOCK), ("REQUEST_CHANGES", "Z" + APPROVAL),
    ("Verdict: REJECT", "Z" + APPROVAL), ("Verdict: ", "REJECT x" + APPROVAL), ("FINAL ", "Z: REJECT" + APPROVAL),
    ("[x] ", "REJECT x" + APPROVAL), ('"verdict":"', "REJECT" + APPROVAL), ("Verdict\n", "REJECT x" + APPROVAL),
    ("===VERDICT=== APPROVE, ", "NOT SHIP"), ("x ===VERDICT=== ", "REJECT" + APPROVAL),
)
# fmt: on


def growth(length: int) -> Iterator[Row]:
    """How the time per character grows with the report: one row for ordinary prose, one for each hostile unit."""
    for name, unit in [("prose", "\n".join(PROSE)), *((ascii(unit), unit) for unit in UNITS)]:
        yield max((grown(name, unit, *frame, length) for frame in AROUND), key=lambda row: row.figure)


def grown(name: str, unit: str, before: str, behind: str, length: int) -> Row:
    """Time per character of a large report of the unit as a multiple of that of a small one."""
    small, large = (before + unit * (size // len(unit)) + behind for size in (length >> 6, length))
    what, scale = f"growth: {name}, worst between {before!a} and {behind!a}", len(small) / len(large)
    sides = repeated(read_verdict, large, 1), repeated(read_verdict, small, 1)
    return compare(what, *sides, 1, lambda a, b: a / b * scale, most=3)


# --- The command ----------------------------------------------------------------------------------

START = 0.050  # seconds: the parser is compiled from its source at each start, so that no .pyc is taken
PEAK = """\
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
"""


def running(command: List[str]) -> Action:
    """The command as something to time; its output and status are not looked at."""
    return lambda: subprocess.run(command, check=False, stdout=subprocess.DEVNULL)


def start_up(folder: str, runs: int) -> Iterator[Row]:
    """The command on a small report against the bare interpreter, both started the same way."""
    path = os.path.join(folder, "small.md")
    Path(path).write_text(report_of(PROSE, 4096), encoding="utf-8")
    sides = running([sys.executable, CHECK, path]), running([sys.executable, "-c", "pass"])
    what = f"start-up: what the command adds to the bare interpreter, over {START * 1000:g} ms"
    yield compare(what, *sides, runs, lambda a, b: (a - b) / START, most=1)


def peak(*command: str) -> int:
    """The most memory, in bytes, that a run of Python with these arguments holds."""
    done = subprocess.run([sys.executable, "-c", PEAK, sys.executable, *command], check=True, stdout=subprocess.PIPE)
    return int(done.stdout)


def memory(folder: str, length: int) -> Iterator[Row]:
    """The command's peak beyond that on an empty report, as a multiple of the report as Python holds it."""
    empty, path = os.path.join(folder, "empty.md"), os.path.join(folder, "large.md")
    Path(empty).write_text("", encoding="utf-8")
    kinds = (("ASCII prose", PROSE), ("German prose", GERMAN), ("prose with some emoji", PROSE * 3 + ACCENTED))
    for name, lines in kinds:
        report = report_of(lines, length)
        Path(path).write_text(report, encoding="utf-8")
        figure = (peak(CHECK, path) - peak(CHECK, empty)) / sys.getsizeof(report)
        yield Row(f"memory over the report's size: {name}", figure, most=6)


# --- The ledger -----------------------------------------------------------------------------------

RUNS, FEWER, FEW, EACH = 2000, 500, 200, 25  # runs of so many findings
# Written as the command writes it, but for reading the log anew before each run; with a pool larger than EACH, what one
# run leaves out is resolved, and comes back later.
RECORD = """\
import json, os, sys
folder, root, runs, each, pool = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
sys.path[:0] = [folder, os.path.dirname(os.path.dirname(folder))]
import arguments, chain, intake, memory, session
os.mkdir(root)
stated, severities = os.path.join(root, "stated.json"), ("Critical", "Major", "Minor")
options = arguments.parse(["record", "--verdict", "fail", "--findings", stated, "--scope", "full"], ["record"])
known, ends, at = memory.Memory(), chain.Ends(), session.Session(root)
for run in range(runs):
    numbers = [(run * each + place) % pool for place in range(each)]
    findings = [
        {"title": f"The result of call {number} is not looked at", "severity": severities[number % 3], "line": run + 1,
         "path": f"src/part{number % 7}/module{number}.py", "rule": "unused-result", "confidence": "probable",
         "snippet": f"    connection.send(request_{number}, timeout=None)",
         "evidence": ["the peer may close the connection", "the caller then waits for good"],
         "detail": "An error of the call is lost, and the next one works on a connection that is half closed. " * 2}
        for number in numbers
    ]
    with open(stated, "w") as file:
        json.dump({"findings": findings, "not_tested": ["load"]}, file)
    row, _ = intake.run_row(intake.prepare(options, root, None), known, ends, at.seen(ends))
    line = chain.seal(row, ends.hash["runs"])
    with open(chain.path_of(root, "runs"), "ab") as file:
        file.write(line)
    ends.take("runs", row, len(line))
"""
LOADS = "import json, sys\nfor line in open(sys.argv[1], 'rb'): json.loads(line)"


def cut(root: str, runs: int) -> str:
    """A ledger of the first runs of another, beside it; a log without decisions may be cut anywhere."""
    shorter = f"{root}-{runs}"
    os.mkdir(shorter)
    with open(os.path.join(root, "runs.jsonl"), "rb") as log, open(os.path.join(shorter, "runs.jsonl"), "wb") as file:
        file.writelines(itertools.islice(log, runs))
    return shorter


def gating(root: str) -> List[str]:
    """The gate on a ledger, as arguments of Python; its look at the code's commit is git's time, not its own."""
    return ["-I", "-S", LEDGER, "--root", root, "gate", "--any-code"]


def judging(root: str) -> Action:
    """The gate on a ledger as something to time. Raises AssertionError if it does not find what is open there."""
    command = [sys.executable, *gating(root)]
    if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode != 1:
        raise AssertionError(f"{root}: the gate does not find what is open")
    return running(command)


def ledgers(folder: str, runs: int) -> Iterator[Row]:
    """The gate against json.loads of the same lines, each a program; then its growth and its memory."""
    for name, pool in (("the same in each", EACH), (f"out of {20 * EACH}", 20 * EACH)):
        root = os.path.join(folder, f"ledger-{pool}")
        subprocess.run([sys.executable, "-c", RECORD, LEDGER, root, *map(str, (RUNS, EACH, pool))], check=True)
        yield from ledger_rows(root, f"{RUNS} runs of {EACH} findings, {name}", runs)


def ledger_rows(root: str, what: str, runs: int) -> Iterator[Row]:
    """The rows of one ledger."""
    gate, fewer, few = judging(root), judging(cut(root, FEWER)), cut(root, FEW)
    loads = running([sys.executable, "-I", "-S", "-c", LOADS, os.path.join(root, "runs.jsonl")])
    yield compare(f"ledger: gate over json.loads, {what}", gate, loads, runs, most=3)
    yield compare(f"ledger: gate's time over that on the first {FEWER}, {what}", gate, fewer, runs, most=RUNS / FEWER)
    figure = peak(*gating(root)) / peak(*gating(few))
    yield Row(f"ledger: gate's memory over that on the first {FEW}, {what}", figure, most=1.1)


# --- The table ------------------------------------------------------------------------------------


def rows(quick: bool) -> Iterator[Row]:
    """Every row, in order; the quick ones are measured on shorter texts."""
    with tempfile.TemporaryDirectory() as folder:
        yield from throughput(1 << 20 if quick else 1 << 22)
        yield from start_up(folder, 10 if quick else 30)
        yield from memory(folder, 1 << 24 if quick else 1 << 25)
        yield from ledgers(folder, 3 if quick else 10)
        yield from growth(1 << 16 if quick else 1 << 18)


def main() -> int:
    """Print the table as it is measured; 1 if any row is over its bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter texts and fewer runs")
    over = 0
    for row in rows(parser.parse_args().quick):
        print(row, flush=True)
        over += row.over()
    print(f"{over} over their bound" if over else "every bound is kept")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
