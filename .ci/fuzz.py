"""Throw damaged texts at whatever reads text from a model, and check what must hold for every text.

    python3 .ci/fuzz.py [--seconds N] [--target NAME] [--seed N]

Targets: `report` (read_verdict), `bytes` (the command: decoding, exit status, output), and, where they exist, `guard`
(examples/gate/prompt_guard.py) and `message` (examples/gate/final_message.py). The seeds are the rows of the test file. With
atheris, libFuzzer keeps each text that reaches new code and damages it further; without it, a plain loop damages the
seeds alone, and the closing line says so. Half of all damage is done here, in whole lines and words.

The oracle is no second parser but the statements of the contract: one rule approves, and alone says the same; a
refusal put in anywhere blocks; nothing may follow an approval; no token, no approval; the prompt rule changes nothing;
line ends, a first U+FEFF, colour codes and trailing blanks change nothing; no text raises or takes seconds.

What a clean run proves: none of the texts tried in this time broke any of that. What it cannot prove: that the verdict
is the right one (model.py compares it with a second reader), or anything about a text that was not tried.

Exit 0 if nothing was found and something was tried, 1 otherwise, 2 for usage.
"""

from __future__ import annotations

import argparse
import codecs
import contextlib
import importlib
import io
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

Check = Callable[[bytes], None]
ROOT = Path(__file__).resolve().parent.parent
TOKEN = "7f3a9c2b4e5d6071"
LONGEST = 4000  # bytes of a text
SLOWEST = 20  # seconds for one text, on a busy machine
COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
REFUSALS = ("===VERDICT=== REQUEST_CHANGES", "> ==verdict== request changes", "1. `=== Verdict === Request-Changes.`")
ADDITIONS = ("x", ".", "```", "===VERDICT===", "\x0b", "\x1b[", "\u2028", "\u00a0", "-->", "VERDICT: APPROVE", "\x00")
WORDS = (
    *REFUSALS, *ADDITIONS, "===VERDICT=== APPROVE", "===VERDICT=== APPROVE " + TOKEN, "VERDICT: REQUEST_CHANGES",
    "**Verdict** - request changes", "===", "VERDICT", "APPROVE", "REQUEST_CHANGES", "<value>", TOKEN, "~~~", "```text",
    "<!--", "> ", "- ", "1. ", "    ", "\t", "# ", "\x1b[1m", "\ufeff", "\r\n", "\r", "\u200b",
    "\uff1d\uff1d", "[x]", "Urteil:",
)  # fmt: skip


class Broken(AssertionError):
    """A statement that does not hold."""


def holds(condition: object, statement: str) -> None:
    """Raise Broken unless the condition is true; also where Python runs without assertions."""
    if not condition:
        raise Broken(statement)


# --- The statements, for a report -----------------------------------------------------------------


class Report:
    """What must hold for every report."""

    modules = ("verdict_contract",)

    def __init__(self, contract: Any) -> None:
        """Take the module under test."""
        self.contract = contract
        self.approved = next(rule for rule in contract.RULES if rule.id == "approved")

    def __call__(self, data: bytes) -> None:
        """Check a report without a token and with one."""
        report = text_of(data)
        for token in (None, TOKEN):
            reading = self.contract.read_verdict(report, token)
            self.is_one_of_the_rules(report, token, reading)
            self.is_blocked_by_a_refusal(report, token)
            self.is_not_changed(report, token, reading)
            if reading.verdict == "APPROVE":
                self.is_approved(report, token)

    def find(self, report: str, token: str | None) -> Any:
        """The verdict."""
        return self.contract.find_verdict(report, token)

    def is_one_of_the_rules(self, report: str, token: str | None, reading: Any) -> None:
        """Statements 1 and 7."""
        contract = self.contract
        rule = next(rule for rule in contract.RULES if rule.id == reading.rule)
        holds(rule.verdict == reading.verdict, "the verdict is the rule's")
        approves = bool(self.approved.holds(contract._read(report, token)))
        holds(approves == (reading.verdict == "APPROVE"), "approved, alone, equals the verdict")
        lines = COLOUR.sub("", report).count("\n") + 1
        holds((reading.line is None) == (rule.id == "not-stated"), "only not-stated has no line")
        holds(reading.line is None or 1 <= reading.line <= lines, "the line is one of the report's")
        shown = contract.verdict_line(report, token)
        holds(shown.isprintable() and shown.isascii(), "the line that is shown is printable")

    def is_blocked_by_a_refusal(self, report: str, token: str | None) -> None:
        """Statement 2."""
        lines = report.split("\n")
        at = zlib.crc32(report.encode("utf-8", "surrogatepass")) % (len(lines) + 1)
        lines.insert(at, REFUSALS[len(report) % len(REFUSALS)])
        # A line of its own: no lone CR before it, which would make it part of the line above.
        holds(self.find("\n".join(lines), token) == "REQUEST_CHANGES", "a refusal anywhere blocks")

    def is_approved(self, report: str, token: str | None) -> None:
        """Statements 3 and 4."""
        for more in ADDITIONS:
            holds(self.find(f"{report}\n{more}", token) != "APPROVE", f"nothing may follow an approval, here {more!a}")
        if token:
            plain = COLOUR.sub("", report)
            end = plain.lower().rfind(token)
            holds(end >= 0, "no approval without the token")
            for cut in range(max(0, end - 40), end + len(token)):
                holds(self.find(plain[:cut], token) != "APPROVE", "no prefix approves")

    def is_not_changed(self, report: str, token: str | None, reading: Any) -> None:
        """Statements 5 and 6."""
        contract, begins = self.contract, COLOUR.sub("", report).startswith("\ufeff")
        others = [] if begins else ["\ufeff" + report, f"{contract.prompt_rule(token)}\n{report}"]
        if "\x1b" not in report:
            others.append(re.sub("(^|APP|=|$)", "\x1b[1;31m\\1\x1b[m", report))
        if "\r" not in report:
            others += [report.replace("\n", "\r\n"), re.sub(r"(\n|$)", r" \t\1", report), f"{report}\n \n\t"]
        for other in others:
            got = contract.read_verdict(other, token)
            holds(got.verdict == reading.verdict, f"the same verdict, not {got} instead of {reading}, for {other!a}")


def text_of(data: bytes) -> str:
    """Any bytes as a text; half surrogate pairs come through as they are."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogateescape")


# --- The statements, for the command --------------------------------------------------------------


class Bytes:
    """What must hold for the command, whatever bytes a report is made of."""

    modules = ("verdict_contract", "verdict_check")

    def __init__(self, contract: Any, command: Any) -> None:
        """Take the modules under test, and make a place for the report."""
        self.contract, self.command = contract, command
        self.folder = tempfile.mkdtemp(prefix="fuzz-")
        self.path = os.path.join(self.folder, "report")

    def __call__(self, data: bytes) -> None:
        """Decode, then run the command without a token and with one."""
        text = self.command.decode(data)
        if not data.startswith(tuple(bom for bom, _ in self.command._BOMS)):
            holds(text == data.decode("utf-8", "replace"), "without a mark it is UTF-8")
        for bom, codec in () if text.startswith("\0") else self.command._BOMS:  # U+0000 makes two of the marks alike
            marked = self.command.decode(bom + text.encode(codec))
            holds(marked == "\ufeff" + text, f"a mark picks {codec}")
        with open(self.path, "wb") as file:
            file.write(data)
        for token in (None, TOKEN):
            self.check(text, token)

    def check(self, text: str, token: str | None) -> None:
        """Exit status and output are those of the decoded text."""
        out, err = io.StringIO(), io.StringIO()
        options = ["--token", token] if token else []
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = self.command.main([*options, self.path])
        verdict = self.contract.find_verdict(text, token)
        holds(status == {"APPROVE": 0, "REQUEST_CHANGES": 3}.get(verdict, 4), f"exit {status} for {verdict}")
        holds(out.getvalue() == self.contract.verdict_line(text, token) + "\n", "one line, with no word of the report")
        holds(err.getvalue() == "", "nothing on stderr")


# --- The statements, for the examples -------------------------------------------------------------


class Guard:
    """What must hold for a prompt that the guard lets pass."""

    modules = ("verdict_contract", "prompt_guard")

    def __init__(self, contract: Any, guard: Any) -> None:
        """Take the modules under test."""
        self.contract, self.guard = contract, guard

    def __call__(self, data: bytes) -> None:
        """Check a text as a task, and as a prompt alone and with the rule after it."""
        text, read = text_of(data), self.contract.read_verdict
        if not self.problems(text, self.guard.check_task(text)):
            holds(read(text).rule == "not-stated", "a task that passes states no verdict")
            answer = f"{text}\n===VERDICT=== APPROVE {TOKEN}"
            holds(read(answer, TOKEN).verdict == "APPROVE", "a task that passes may be quoted before an approval")
        for token in (None, TOKEN):
            rule = self.contract.prompt_rule(token)
            for prompt in (text, f"{text}\n\n{rule}", f"{text}\n{rule}\n{text}"):
                if not self.problems(prompt, self.guard.check_prompt(prompt, token)):
                    holds(prompt.count("===VERDICT===") == 1, "a prompt that passes holds one marker")
                    holds(
                        prompt.replace("\r\n", "\n").rstrip(" \t\n").endswith(rule),
                        "a prompt that passes ends in the rule",
                    )
                    holds(read(prompt, token).rule == "not-stated", "a prompt that passes states no verdict")

    def problems(self, text: str, found: Any) -> Any:
        """The problems, whose lines must be lines of the text, in order."""
        lines = [problem.line for problem in found]
        holds(lines == sorted(lines), "problems come in order")
        holds(all(1 <= line <= text.count("\n") + 1 for line in lines), "a problem's line is one of the text's")
        return found


class Message:
    """What must hold for whatever a client may have printed."""

    modules = ("final_message",)

    def __init__(self, message: Any) -> None:
        """Take the module under test."""
        self.message = message

    def __call__(self, data: bytes) -> None:
        """A message or a refusal; none from a cut recording."""
        for form in self.message.NAMES:
            found = self.take(data, form)
            if found is not None and form != "text":
                self.is_not_cut(data, form, found)

    def take(self, data: bytes, form: str) -> Any:
        """The message, or None where it is refused."""
        try:
            found = self.message.final_message(data, form)
        except self.message.NoReply as refusal:
            holds(str(refusal).isprintable() and str(refusal).isascii(), "a refusal says why in words of its own")
            return None
        holds(isinstance(found, str), "a message is text")
        return found

    def is_not_cut(self, data: bytes, form: str, found: str) -> None:
        """A value in JSON that is cut anywhere gives no message."""
        text = self.message.decode(data).strip("\ufeff \t\r\n")
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return
        cut = zlib.crc32(data) % len(text)
        if form != "auto" or text[:cut].startswith(("{", "[")):
            holds(self.take(text[:cut].encode("utf-8", "surrogatepass"), form) is None, f"cut at {cut} of {found!a}")


TARGETS: dict[str, Callable[..., Check]] = {
    "report": Report,
    "bytes": Bytes,
    "guard": Guard,
    "message": Message,
}


# --- Seeds and damage -----------------------------------------------------------------------------

STREAM = """{"type":"assistant","message":{"content":[{"type":"text","text":"Fine."}]}}
{"type":"result","is_error":false,"result":"Fine.\\n\\n===VERDICT=== APPROVE"}
"""
RECORDINGS = (
    STREAM, STREAM.split("\n")[1], "[" + ",".join(STREAM.split("\n")[:2]) + "]",
    '{"response":"===VERDICT=== APPROVE","stats":{}}', '{"error":{"message":"quota"}}',
    '{"type":"text","part":{"messageID":"m","text":"Fine."}}\n{"type":"step_finish","part":{"messageID":"m","reason":"stop"}}\n',
    '{"type":"assistant.message","data":{"content":"Fine.","toolRequests":[]}}\n{"type":"result","exitCode":0}\n',
    "<think>Is it?</think>\n===VERDICT=== APPROVE", "<think>Is it?",
)  # fmt: skip
ENCODINGS = (
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
)
EVENTS = tuple(line for recording in RECORDINGS for line in recording.split("\n"))


def seeds_of(target: str) -> list[bytes]:
    """The rows of the test file, and what else a target is about."""
    rows = importlib.import_module("test_verdict_contract").ROWS
    texts = [row.report for row in rows]
    if target == "message":
        texts = [*RECORDINGS, *texts[::8]]
    seeds = [text.encode("utf-8", "surrogatepass") for text in texts]
    if target == "bytes":
        for (bom, codec), text in itertools.product(ENCODINGS, texts[::40]):
            seeds.append(bom + text.encode(codec, "replace"))
    return [seed for seed in seeds if len(seed) <= LONGEST]


def damaged(data: bytes, rng: random.Random, lines: Sequence[bytes]) -> bytes:
    """The bytes with a line dropped, doubled, split, moved or put in, or with a word or byte more or another."""
    parts = data.split(b"\n")
    at, other, more = rng.randrange(len(parts)), rng.choice(parts), rng.choice(lines)
    cut = rng.randrange(len(parts[at]) + 1)
    head, tail = parts[at][:cut], parts[at][cut:]
    word, byte = rng.choice(WORDS).encode(), bytes([rng.randrange(256)])
    ways: tuple[list[bytes], ...] = (
        [], [head, tail], [other], [other, head + tail], [head + tail + other], [more], [head + tail, more],
        [more, head + tail], [head + word + tail], [head + word + tail[1:]], [head + byte + tail],
        [head + byte + tail[1:]], [head + tail[1:]],
    )  # fmt: skip
    parts[at : at + 1] = rng.choice(ways)
    return b"\n".join(parts)[:LONGEST]


# --- One target, in a process of its own ----------------------------------------------------------


class Job(NamedTuple):
    """What a process is to do."""

    target: str
    seconds: int
    seed: int


def loaded(names: Sequence[str], atheris: Any) -> list[Any]:
    """The modules under test, instrumented where atheris is there."""
    sys.path[:0] = [str(ROOT), str(ROOT / "examples" / "gate")]
    with atheris.instrument_imports(include=list(names)) if atheris else contextlib.nullcontext():
        return [importlib.import_module(name) for name in names]


def fuzz(job: Job) -> None:
    """Run one target until its time is over. The last lines printed hold the figures or what was found."""
    try:
        atheris: Any = importlib.import_module("atheris")
    except ImportError:
        atheris = None
    kind: Any = TARGETS[job.target]
    check = kind(*loaded(kind.modules, atheris))
    seeds, rng = seeds_of(job.target), random.Random(job.seed)
    lines = [line for seed in seeds for line in seed.split(b"\n")]

    def checked(data: bytes) -> None:
        try:
            check(data)
        except BaseException:
            print(f"found by {job.target}: {data!r}", flush=True)
            raise

    def damage(data: bytes) -> bytes:
        return damaged(data, rng, lines)

    if atheris:
        by_coverage(atheris, job, checked, seeds, damage)
    else:
        by_chance(job.seconds, checked, seeds, damage)


def by_coverage(atheris: Any, job: Job, check: Check, seeds: Sequence[bytes], damage: Callable[[bytes], bytes]) -> None:
    """Let libFuzzer choose; it ends the process itself."""

    def mutated(data: bytes, longest: int, seed: int) -> bytes:
        return damage(data)[:longest] if seed % 2 else bytes(atheris.Mutate(data, longest))

    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(seeds):
            Path(folder, str(number)).write_bytes(data)
        options = [f"-max_total_time={job.seconds}", f"-seed={job.seed}", f"-max_len={LONGEST}", f"-timeout={SLOWEST}"]
        options += ["-print_final_stats=1", f"-artifact_prefix={folder}/", folder]
        atheris.Setup([sys.argv[0], *options], check, custom_mutator=mutated)
        atheris.Fuzz()


def by_chance(seconds: int, check: Check, seeds: Sequence[bytes], damage: Callable[[bytes], bytes]) -> None:
    """Check the seeds, then each of them damaged a little more in each of eight rounds, until the time is over."""
    tried, end, texts = 0, time.monotonic() + seconds, list(seeds)
    for turn, at in ((turn, at) for turn in itertools.count() for at in range(len(seeds))):
        check(texts[at])
        tried += 1
        texts[at] = damage(texts[at] if turn % 8 else seeds[at])
        if time.monotonic() > end:
            break
    print(f"stat::number_of_executed_units: {tried}")


# --- All targets ----------------------------------------------------------------------------------


def run(job: Job) -> tuple[Job, bool, str]:
    """Run a target in a process of its own; whether all is well, and a line or what was found."""
    command = [sys.executable, __file__, "--alone", job.target, "--seconds", str(job.seconds), "--seed", str(job.seed)]
    with tempfile.TemporaryDirectory() as folder:  # what libFuzzer leaves there goes with it
        env = {**os.environ, "TMPDIR": folder}
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, check=False)
    text = ran.stdout.decode("utf-8", "replace")
    tried = re.findall(r"number_of_executed_units: (\d+)", text)
    if ran.returncode or not tried or int(tried[-1]) == 0:
        return job, False, text[-6000:]
    edges = re.findall(r"DONE.*cov: (\d+) ft: (\d+) corp: (\d+)", text)
    way = "{} places of the code and {} ways through them".format(*edges[-1]) if edges else "by chance, without atheris"
    return job, True, f"fuzz {job.target}: {int(tried[-1]):,} texts in {job.seconds} s, {way}"


def present(target: str) -> bool:
    """Whether the files of a target are there."""
    kind: Any = TARGETS[target]
    return all(any((folder / f"{name}.py").exists() for folder in (ROOT, ROOT / "examples" / "gate")) for name in kind.modules)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60, help="for each target; two run at once (default 60)")
    parser.add_argument("--target", choices=TARGETS, action="append", help="only this one")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000, help="to start at the same place again")
    parser.add_argument("--alone", choices=TARGETS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.alone:
        fuzz(Job(options.alone, options.seconds, options.seed))
        return 0
    wanted = options.target or list(TARGETS)
    for target in wanted:
        if not present(target):
            print(f"fuzz {target}: left out, there is no such example yet")
    jobs = [Job(target, options.seconds, options.seed) for target in wanted if present(target)]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(run, jobs))
    for job, well, text in results:
        print(text if well else f"fuzz {job.target}, seed {job.seed}:\n{text}")
    return 0 if results and all(well for _, well, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
