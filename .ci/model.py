"""The parser against the second reading in test_verdict_contract.py, on many more reports than the tests have time for.

    python3 .ci/model.py [--seconds N | --all] [--seed N]

Every second report is the next of all short ones over the generator's lines, the others are random ones. Each is read
in both ways, without a token and with one, and the rule, the line and the approving rule by itself are compared.

What a clean run proves: on each of these reports two readings that were written apart agree. What it cannot prove: that
the contract is right, anything that both authors misread in the same way, or anything that no such report touches.

Exit 0 if both always agree, 1 if they differ or no report with and without a token was approved, 2 for usage.
"""

import argparse
import itertools
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import test_verdict_contract as testing

PROCESSES = 2
SHOWN = 3  # disagreements that a process makes small and shows
BETWEEN_CLOCKS = 50


class Tally(NamedTuple):
    """What one process has seen."""

    compared: int
    approving: Dict[Optional[str], int]  # by the token that was asked for
    differing: int
    shown: List[str]


class Job(NamedTuple):
    """What one process is to do."""

    share: int
    seconds: float
    seed: int


def reports(job: Job) -> Iterator[str]:
    """This process's share of all reports, without end."""
    short = (report for length in itertools.count() for report in testing.short_reports(length, job.share, PROCESSES))
    return itertools.chain.from_iterable(zip(short, testing.random_reports((job.seed, job.share))))


def compare(job: Job) -> Tally:
    """Read reports in both ways until the time is over."""
    end, compared, differing, shown = time.monotonic() + job.seconds, 0, 0, []
    approving: Dict[Optional[str], int] = {None: 0, testing.T: 0}
    for report in reports(job):
        for token in approving:
            try:
                approving[token] += testing.agreed(report, token).verdict == "APPROVE"
            except Exception:  # noqa: BLE001
                differing += 1
                if differing <= SHOWN:
                    shown.append(smallest(report, token))
        compared += 1
        if compared % BETWEEN_CLOCKS == 0 and time.monotonic() > end:
            break
    return Tally(compared, approving, differing, shown)


def trouble(report: str, token: Optional[str]) -> str:
    """How the two readings differ on a report; "" where they agree."""
    try:
        testing.agreed(report, token)
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
    return ""


def smallest(report: str, token: Optional[str]) -> str:
    """How they differ on what is left of the report once no line and then no character can be missed."""

    def differs(pieces: Sequence[str]) -> bool:
        return bool(trouble("".join(pieces), token))

    lines = fewest(report.splitlines(keepends=True), differs)
    return trouble("".join(fewest(list("".join(lines)), differs)), token)


def fewest(pieces: List[str], differs: Callable[[Sequence[str]], bool]) -> List[str]:
    """The pieces without those that can be missed."""
    for at in reversed(range(len(pieces))):
        fewer = pieces[:at] + pieces[at + 1 :]
        pieces = fewer if differs(fewer) else pieces
    return pieces


def main() -> int:
    """Share the work between the processes, add up, print."""
    parser = argparse.ArgumentParser(description="Compare the parser with the second reading.")
    parser.add_argument("--seconds", type=float, default=150, help="in all (default 150)")
    parser.add_argument("--all", dest="seconds", action="store_const", const=600, help="for ten minutes, once a week")
    parser.add_argument("--seed", type=int, default=1, help="of the random reports")
    options = parser.parse_args()
    jobs = [Job(share, options.seconds, options.seed) for share in range(PROCESSES)]
    with ProcessPoolExecutor(PROCESSES) as pool:
        tallies = list(pool.map(compare, jobs))
    for shown in dict.fromkeys(text for tally in tallies for text in tally.shown):
        print(shown)
    compared, differing = sum(tally.compared for tally in tallies), sum(tally.differing for tally in tallies)
    approving = [sum(tally.approving[token] for tally in tallies) for token in (None, testing.T)]
    print(f"model: {compared:,} reports compared, {approving[0]:,} approve without a token and", end=" ")
    print(f"{approving[1]:,} with one, {differing:,} disagreements")
    return 0 if all(approving) and not differing else 1


if __name__ == "__main__":
    sys.exit(main())
