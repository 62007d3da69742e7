"""One look at a ledger: its folder, the moment of the look, and what the logs come to at that moment."""

import argparse
import datetime
import os
import re
from typing import Callable, Iterator, List, Optional, Tuple

import chain
import verdicts
import views
from chain import Ends, Refused, Row, Unreadable
from memory import Memory
from repository import repository

Each = Callable[[Memory, str, Row], None]
ALWAYS = verdicts.Fresh(1, 0, 0, None, "")
DEFAULTS = argparse.Namespace(any_code=False, max_commits_behind=None, min_run_number=0, max_age_hours=None)
_STAMP = re.compile("([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})Z")


def moment_of(text: object) -> Optional[datetime.datetime]:
    """The time of a stamp as the rows have it; None where it is none."""
    match = _STAMP.fullmatch(str(text))
    try:
        parts = list(map(int, match.groups())) if match else [0] * 6
        year, month, day, hour, minute, second = parts
        return datetime.datetime(year, month, day, hour, minute, second, tzinfo=datetime.timezone.utc)
    except ValueError:
        return None


def clock() -> Tuple[datetime.datetime, str]:
    """The time in UTC, and a note for every output of the commands, where VERDICT_LEDGER_NOW set it.

    Raises Refused where that is no time.
    """
    said = os.environ.get("VERDICT_LEDGER_NOW")
    if said is None:
        return datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0), ""
    moment = moment_of(said)
    if moment is None:
        raise Refused("VERDICT_LEDGER_NOW: a time like 2026-12-01T10:00:00Z is wanted")
    return moment, " (clock set by VERDICT_LEDGER_NOW)"


class Session:
    """What every command works on: the ledger's folder, the moment, the note on the clock."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.moment, self.clock = clock()

    def seen(self, ends: Ends) -> views.Now:
        """The moment, as the views take it."""
        return views.Now(self.moment.strftime("%Y-%m-%dT%H:%M:%SZ"), self.clock, ends.head)

    def load(self, each: Optional[Each] = None, until: Optional[int] = None) -> Tuple[Memory, Ends]:
        """All that the logs come to, or up to a run; each sees every row, and keeps what it needs in memory.kept.

        Raises Unreadable and Tampered.
        """

        def fold(rows: Iterator[Tuple[str, Row]]) -> Memory:
            memory = Memory()
            for log, row in rows:  # to the end in any case: all of it has to verify
                if until is None or memory.last is None or memory.last["run"] < until:
                    memory.apply(log, row)
                    if each is not None:
                        each(memory, log, row)
            return memory

        return chain.read(self.root, fold)

    def judged(self, each: Optional[Each] = None, until: Optional[int] = None) -> Tuple[Memory, views.Now]:
        """The same with at least one run, seen now, or as a run was stored. Raises Refused where there is none such."""
        memory, ends = self.load(each, until)
        if memory.last is None:
            raise Unreadable(f"{self.root}: no run yet")
        if until is not None and memory.last["run"] != until:
            raise Refused(f"there is no run {until}")
        seen = self.seen(ends)
        return memory, seen if until is None else seen._replace(ts=memory.last["ts"])

    def history(self) -> Tuple[List[views.Past], views.Now]:
        """Every run, as it left the ledger."""

        def each(memory: Memory, log: str, row: Row) -> None:
            if log == "runs":
                memory.kept.append(views.past(memory, row))

        memory, seen = self.judged(each)
        return memory.kept, seen

    def rows_of(self, name: str) -> Tuple[Memory, views.Now]:
        """The rows that concern a finding, cut down to it, in memory.kept. Raises Refused where it is not known."""
        found = self.judged()[0].find(name)
        if found is None:
            raise Refused(f"{name}: no such finding")

        def each(memory: Memory, log: str, row: Row) -> None:
            names = {found.id, *(other for other, to in memory.same.items() if to == found.id)} if found else set()
            parts = ("findings", "resolved") if log == "runs" else ()
            mine = {part: [item for item in row[part] if item["id"] in names] for part in parts}
            if any(mine.values()) or (log == "decisions" and names & {row["target"], row["cite"]}):
                memory.kept.append((log, {**row, **mine}))

        return self.judged(each)

    def fresh(self, options: argparse.Namespace, row: Row, stored: Row, runs: int) -> verdicts.Fresh:
        """What the gate needs to know of time and code; row is the run that is judged, stored the last on disk."""
        code = "" if options.any_code else self._moved(row, options.max_commits_behind)
        return verdicts.Fresh(runs, options.min_run_number, self._age(stored["ts"]), options.max_age_hours, code)

    def _age(self, ts: str) -> float:
        stamped = moment_of(ts)
        return (self.moment - stamped).total_seconds() if stamped else float("inf")

    def _moved(self, row: Row, most: Optional[int]) -> str:
        """Why the code is not that of a run; outside of git that is asked only where there is something to compare."""
        where = repository()
        if where is not None:
            return where.moved_on(row, self.root, most or 0)
        known = row["sha"] is not None or most is not None
        return "the code moved on by an unknown distance: this is outside of git" if known else ""

    def outcome(self, memory: Memory, seen: views.Now, until: Optional[int] = None) -> str:
        """The word of now; of a run that is named, the word that was stored."""
        if until is not None and memory.last is not None:
            return str(memory.last["verdict"])
        return verdicts.gate(memory, ALWAYS, seen.today, "fail", False).outcome
