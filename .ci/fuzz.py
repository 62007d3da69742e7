"""Throw texts at whatever reads text from a model, and check what must hold for every text.

    python3 .ci/fuzz.py [--seconds N | --all] [--target NAME] [--seed N]

Targets: `model` (read_verdict against the second reading of test_verdict_contract.py, on all its short reports in turn
and as many random ones, each without a token and with one), and with damage to the rows of the tests: `report`
(read_verdict: the statements of the tests), `bytes` (the command: decoding, exit status, output), `guard`
(prompt_guard.py) and `message` (final_message.py). With atheris, libFuzzer keeps each text that reaches new code and
damages it further; without it, a plain loop damages seeds alone, and the closing line says so.

What a clean run proves: none of the texts tried in this time broke any of that. What it cannot prove: anything about a
text that was not tried, or what both readings get wrong in the same way. Exit 0 if nothing was found, and in each
target something was tried (in `model`, approved without a token and with one), 1 otherwise, 2 for usage.
"""

import argparse
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "examples" / "gate")]

atheris: Any = None
if "--alone" in sys.argv:  # only the process of one target needs code that tells where it has been
    with contextlib.suppress(ImportError):
        atheris = importlib.import_module("atheris")
MODULES = ["verdict_contract", "verdict_check", "prompt_guard", "final_message"]
with atheris.instrument_imports(include=MODULES) if atheris else contextlib.nullcontext():
    contract, command, guard, client = map(importlib.import_module, MODULES)
testing: Any = importlib.import_module("test_verdict_contract")

Check = Callable[[bytes, random.Random], None]
TOKEN = testing.T
LONGEST = 4000  # bytes of a text
SLOWEST = 20  # seconds for one text, on a busy machine
APPROVING: Dict[Optional[str], int] = {None: 0, TOKEN: 0}  # reports, by the token that was asked for
TRIED = "stat::number_of_executed_units: "  # as libFuzzer says it


# --- What must hold -------------------------------------------------------------------------------


def check_model(data: bytes, _: random.Random) -> None:
    """The two readings agree, without a token and with one."""
    for token in (None, TOKEN):
        APPROVING[token] += testing.agreed(text_of(data), token).verdict == "APPROVE"


def check_report(data: bytes, chance: random.Random) -> None:
    """The two readings agree; one of the other statements, by the text; what is shown of it is one printable line."""
    text = text_of(data)
    for token in (None, TOKEN):
        for statement in (testing.one_rule_approves, chance.choice(testing.STATEMENTS)):
            statement(text, token, chance)
        shown = contract.verdict_line(text, token)
        holds(shown.isprintable() and shown.isascii(), "the line that is shown is printable")


def check_bytes(data: bytes, _: random.Random) -> None:
    """Decoding, and the command's exit status and output, which are those of the decoded text."""
    text = command.decode(data)
    if not data.startswith(tuple(bom for bom, _ in command._BOMS)):
        holds(text == data.decode("utf-8", "replace"), "without a mark it is UTF-8")
    for bom, codec in () if text.startswith("\0") else command._BOMS:  # U+0000 makes two of the marks alike
        holds(command.decode(bom + text.encode(codec)) == "\ufeff" + text, f"a mark picks {codec}")
    path = os.path.join(tempfile.gettempdir(), "report")
    Path(path).write_bytes(data)
    for token in (None, TOKEN):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = command.main([*(["--token", token] if token else []), path])
        verdict = contract.find_verdict(text, token)
        holds(status == {"APPROVE": 0, "REQUEST_CHANGES": 3}.get(verdict, 4), f"exit {status} for {verdict}")
        holds(out.getvalue() == contract.verdict_line(text, token) + "\n", "one line, with no word of the report")
        holds(not err.getvalue(), "nothing on stderr")


def check_guard(data: bytes, _: random.Random) -> None:
    """A task that passes may be quoted before an approval; a prompt that passes states nothing and ends in the rule."""
    text, read = text_of(data), contract.read_verdict
    if not problems(text, guard.check_task(text)):
        holds(read(text).rule == "not-stated", "a task that passes states no verdict")
        answer = f"{text}\n{testing.A} {TOKEN}"
        holds(read(answer, TOKEN).verdict == "APPROVE", "a task that passes may be quoted before an approval")
    for token in (None, TOKEN):
        rule = contract.prompt_rule(token)
        for prompt in (text, f"{text}\n\n{rule}", f"{text}\n{rule}\n{text}"):
            if not problems(prompt, guard.check_prompt(prompt, token)):
                end = prompt.replace("\r\n", "\n").rstrip(" \t\n")
                holds(prompt.count(testing.M) == 1, "a prompt that passes holds one marker")
                holds(end.endswith(rule), "a prompt that passes ends in the rule")
                holds(read(prompt, token).rule == "not-stated", "a prompt that passes states no verdict")


def problems(text: str, found: Any) -> Any:
    """The problems, whose lines must be lines of the text, in order."""
    lines = [problem.line for problem in found]
    holds(lines == sorted(lines), "problems come in order")
    holds(all(1 <= line <= text.count("\n") + 1 for line in lines), "a problem's line is one of the text's")
    return found


def check_message(data: bytes, chance: random.Random) -> None:
    """A message or a refusal; and none from a recording in JSON that is cut anywhere."""
    whole = command.decode(data).strip("\ufeff \t\r\n")
    cut = whole[: chance.randrange(len(whole) + 1)].rstrip()
    for form in client.NAMES:
        found = message_of(data, form)
        looks_json = form != "text" and (form != "auto" or re.match(r"\{|\[\s*\{", cut))
        if found is not None and looks_json and cut != whole and is_json(whole):
            holds(message_of(cut.encode("utf-8", "surrogatepass"), form) is None, f"cut to {cut!a}")


def message_of(data: bytes, form: str) -> Optional[str]:
    """The message, or None where it is refused."""
    try:
        found = client.final_message(data, form)
    except client.NoReply as refusal:
        holds(str(refusal).isprintable() and str(refusal).isascii(), "a refusal says why in words of its own")
        return None
    holds(isinstance(found, str), "a message is text")
    return str(found)


def is_json(text: str) -> bool:
    """Whether it is one value in JSON."""
    with contextlib.suppress(ValueError, RecursionError):
        json.loads(text)
        return True
    return False


def holds(condition: object, statement: str) -> None:
    """Raise Broken unless the condition is true; also where Python runs without assertions."""
    if not condition:
        raise testing.Broken(statement)


def text_of(data: bytes) -> str:
    """Any bytes as a text; half surrogate pairs come through as they are."""
    with contextlib.suppress(UnicodeDecodeError):
        return data.decode("utf-8", "surrogatepass")
    return data.decode("utf-8", "surrogateescape")


TARGETS = {
    "model": check_model, "report": check_report, "bytes": check_bytes, "guard": check_guard, "message": check_message,
}  # fmt: skip


# --- Seeds and damage -----------------------------------------------------------------------------


def seeds_of(target: str) -> List[bytes]:
    """The rows of the tests, and what else a target is about."""
    texts = [row.report for row in testing.ROWS]
    seeds = [text.encode("utf-8", "surrogatepass") for text in texts]
    if target == "message":
        replies: Any = importlib.import_module("test_final_message")
        thoughts = [f"{start}Is it?{end}Fine.".encode() for start, end in replies.MARKS]
        seeds = [*(row[2] for row in (*replies.WHOLE, *replies.REFUSED)), *thoughts, *seeds[::8]]
    if target == "bytes":
        seeds += [bom + text.encode(codec, "replace") for bom, codec in command._BOMS for text in texts[::40]]
    return [seed for seed in seeds if len(seed) <= LONGEST]


def damaged(data: bytes, chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """The text with a line left out, doubled, damaged or replaced, or with one more."""
    lines = text_of(data).split("\n")
    at = chance.randrange(len(lines))
    other = chance.choice(text_of(chance.choice(seeds)).split("\n"))
    line, made = lines[at], chance.choice((testing.random_line(chance), other))
    ways: Tuple[List[str], ...] = ([], [line, line], [made], [line, made], [made, line], [line + made])
    lines[at : at + 1] = chance.choice((*ways, *[[testing.damaged(chance, line)]] * 4))
    return "\n".join(lines).encode("utf-8", "surrogatepass")[:LONGEST]


def drifting(seeds: Sequence[bytes], chance: random.Random) -> Iterator[bytes]:
    """The seeds, then each of them damaged a little more in each of eight rounds, without end."""
    texts = list(seeds)
    for turn, at in ((turn, at) for turn in itertools.count() for at in range(len(seeds))):
        yield texts[at]
        texts[at] = damaged(texts[at] if turn % 8 else seeds[at], chance, seeds)


def generated(seed: int) -> Iterator[bytes]:
    """All short reports of the tests' generator in turn, and as many random ones, without end."""
    short = itertools.chain.from_iterable(map(testing.short_reports, itertools.count()))
    for report in itertools.chain.from_iterable(zip(short, testing.random_reports(seed))):
        yield report.encode("utf-8", "surrogatepass")


# --- One target, in a process of its own ----------------------------------------------------------


def fuzz(target: str, seconds: int, seed: int) -> None:
    """Run one target until its time is over. The last lines printed hold the figures or what was found."""

    def check(data: bytes) -> None:
        try:
            TARGETS[target](data, random.Random(zlib.crc32(data)))
        except BaseException:
            print(f"found by {target}: {data!r}", flush=True)
            raise

    seeds, chance = seeds_of(target), random.Random(seed)
    if target == "model":
        by_turns(seconds, check, generated(seed))
        approved = list(APPROVING.values())
        print("short and random reports, {:,} approve without a token and {:,} with one".format(*approved))
        sys.exit(not all(approved))
    elif atheris:
        options = [f"-max_total_time={seconds}", f"-seed={seed}", f"-max_len={LONGEST}", f"-timeout={SLOWEST}"]
        by_coverage([*options, "-print_final_stats=1"], check, seeds, chance)
    else:
        by_turns(seconds, check, drifting(seeds, chance))
        print("by chance, without atheris")


def by_coverage(options: List[str], check: Callable[[bytes], None], seeds: List[bytes], chance: random.Random) -> None:
    """Let libFuzzer choose; it ends the process itself."""

    def mutated(data: bytes, longest: int, seed: int) -> bytes:
        return damaged(data, chance, seeds)[:longest] if seed % 2 else bytes(atheris.Mutate(data, longest))

    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(seeds):
            Path(folder, str(number)).write_bytes(data)
        atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={folder}/", folder], check, custom_mutator=mutated)
        atheris.Fuzz()


def by_turns(seconds: int, check: Callable[[bytes], None], texts: Iterable[bytes]) -> None:
    """Check one text after the other until the time is over."""
    tried, end = 0, time.monotonic() + seconds
    for data in itertools.takewhile(lambda _: time.monotonic() < end, texts):
        check(data)
        tried += 1
    print(f"{TRIED}{tried}")


# --- All targets ----------------------------------------------------------------------------------


def run(target: str, seconds: int, seed: int) -> Tuple[bool, str]:
    """Run a target in a process of its own; whether all is well, and a line or what was found."""
    words = [sys.executable, __file__, "--alone", target, "--seconds", str(seconds), "--seed", str(seed)]
    with tempfile.TemporaryDirectory() as folder:  # what libFuzzer leaves there goes with it
        env = {**os.environ, "TMPDIR": folder}
        ran = subprocess.run(words, check=False, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = ran.stdout.decode("utf-8", "replace")
    tried = re.findall(rf"{TRIED}(\d+)", text)
    if ran.returncode or not tried or int(tried[-1]) == 0:
        return False, f"fuzz {target}, seed {seed}:\n{text[-6000:]}"
    edges = re.findall(r"DONE.*cov: (\d+) ft: (\d+) corp: (\d+)", text)
    way = "{} places of the code and {} ways through them".format(*edges[-1]) if edges else text.splitlines()[-1]
    return True, f"fuzz {target}: {int(tried[-1]):,} texts in {seconds} s, {way}"


def main() -> int:
    """Run the targets that were asked for, two at once. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=40, help="for each target, twice as many for model (default 40)")
    parser.add_argument("--all", dest="seconds", action="store_const", const=300, help="five minutes each, once a week")
    parser.add_argument("--target", choices=TARGETS, action="append", help="only this one")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000, help="to start at the same place again")
    parser.add_argument("--alone", choices=TARGETS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        fuzz(options.alone, options.seconds, options.seed)
        return 0
    times = {target: options.seconds * (2 if target == "model" else 1) for target in options.target or TARGETS}
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(run, times, times.values(), itertools.repeat(options.seed)))
    print(*(text for _, text in results), sep="\n")
    return 0 if all(well for well, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
