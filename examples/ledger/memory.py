"""What the logs come to: every finding since the first run, the decisions on it, questions, checks.

Reading applies what is stored and never matches again: matching happens once, in deltas.py, when a run is recorded.
"""

import datetime
import re
from typing import Any, Dict, List, Optional, Tuple

from chain import Row
from findings import SEVERITIES

RANK = {name: rank for rank, name in enumerate(SEVERITIES)}
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
Entry = Dict[str, Any]


def date_of(text: object) -> Optional[datetime.date]:
    """The date that a text or a time stamp begins with, the same on every Python; None where it is none."""
    match = _DATE.match(text) if isinstance(text, str) else None
    try:
        return datetime.date(*map(int, match.groups())) if match else None
    except ValueError:
        return None


class Finding:
    """One finding, as far as all rows tell. open: not resolved; decision: accept or dismiss, until it ends."""

    __slots__ = (
        "came_back", "confidence", "decision", "defect", "delta", "first_seen", "id", "key", "last_run", "latest",
        "line", "open", "path", "regressed", "rule", "severity", "snippet", "test", "title",
    )  # fmt: skip

    def __init__(self, entry: Entry, ts: str) -> None:
        self.id: str = entry["id"]
        self.key: str = entry["key"][0]
        self.title: str = entry["title"]
        self.severity: str = entry["severity"]
        self.confidence: Optional[str] = entry.get("confidence")
        self.test: Optional[str] = entry.get("test")  # of the first report: a later one cannot hide it in a quarantine
        self.path = self.rule = self.snippet = None  # type: Optional[str]
        self.line: Optional[int] = None
        self.first_seen = ts
        self.defect = self.came_back = self.regressed = False
        self.decision: Optional[Row] = None

    def report(self, entry: Entry, run: int) -> None:
        """It was reported again, or for the first time: nothing becomes less by that."""
        self.latest: str = entry["title"]
        if RANK[entry["severity"]] > RANK[self.severity]:
            self.severity = entry["severity"]
        self.path = entry.get("path", self.path)
        self.line = entry.get("line", self.line)
        self.rule = self.rule or entry.get("rule")
        self.snippet = entry.get("snippet", self.snippet)
        self.defect = self.defect or entry.get("class") == "real-defect"
        self.regressed = self.came_back
        self.open, self.last_run, self.delta = True, run, entry["delta"]

    def resolve(self, run: int) -> None:
        """It is said, or seen, to be gone. That ends an acceptance; a dismissal stays, for when it comes back."""
        self.open, self.came_back, self.regressed = False, True, False
        self.last_run, self.delta = run, "RESOLVED"
        if self.decision and self.decision["action"] == "accept":
            self.decision = None


class Memory:
    """All that the logs come to; apply takes their rows, in order."""

    def __init__(self) -> None:
        self.findings: Dict[str, Finding] = {}
        self.same: Dict[str, str] = {}
        self.ids = 0  # given so far
        self.keys: Dict[str, str] = {}
        self.anchors: Dict[str, List[str]] = {}
        self.questions: Dict[str, Row] = {}
        self.quarantine: Dict[str, Row] = {}
        self.checks: Dict[str, int] = {}
        self.last: Optional[Row] = None
        self.before: Optional[str] = None  # the verdict of the run before the last
        self.kept: List[Any] = []  # for whoever reads

    def apply(self, log: str, row: Row) -> None:
        """Take a row of either log."""
        if log == "runs":
            self._apply_run(row)
        else:
            getattr(self, "_" + row["action"])(row)

    def find(self, name: str) -> Optional[Finding]:
        """The finding of an id, of another that it was said to be the same as; None where it is not known."""
        return self.findings.get(self.same.get(name, name))

    # What a run does

    def _apply_run(self, row: Row) -> None:
        self.before, self.last = self.last["verdict"] if self.last else None, row
        self.checks.update(row["checks"])
        for entry in row["findings"]:
            found = self.find(entry["id"])
            if found is None:
                found = self.findings[entry["id"]] = Finding(entry, row["ts"])
                self.ids += 1
            found.report(entry, row["run"])
            self._learn(found.id, entry)
        for item in row["resolved"]:
            self.findings[self.same.get(item["id"], item["id"])].resolve(row["run"])
        for question in row["questions"]:
            self.questions.setdefault(question["id"], {**question, "answer": None})

    def _learn(self, name: str, entry: Entry) -> None:
        for made in entry["key"]:
            self.keys.setdefault(made, name)
        for made in entry["anchor"]:
            names = self.anchors.setdefault(made, [])
            if name not in names:
                names.append(name)

    # What a decision does, by its action

    def _accept(self, row: Row) -> None:
        self.findings[row["target"]].decision = row

    _dismiss = _accept

    def _revoke(self, row: Row) -> None:
        self.findings[row["target"]].decision = None

    def _same(self, row: Row) -> None:
        """The target is the finding that is cited. That one is then as bad as the worse of the two."""
        gone, kept = self.findings.pop(row["target"]), self.findings[row["cite"]]
        self.same = {name: kept.id if to == gone.id else to for name, to in self.same.items()}
        self.same[gone.id] = kept.id
        self.keys = {made: kept.id if name == gone.id else name for made, name in self.keys.items()}
        for names in self.anchors.values():
            names[:] = dict.fromkeys(kept.id if name == gone.id else name for name in names)
        kept.severity = max(kept.severity, gone.severity, key=RANK.__getitem__)
        kept.open, kept.came_back = kept.open or gone.open, kept.came_back or gone.came_back
        kept.regressed, kept.defect = kept.open and kept.came_back, kept.defect or gone.defect
        kept.first_seen = min(kept.first_seen, gone.first_seen)
        kept.test = kept.test if kept.test == gone.test else None

    def _quarantine(self, row: Row) -> None:
        self.quarantine[row["target"]] = row

    def _release(self, row: Row) -> None:
        self.quarantine.pop(row["target"], None)

    def _answer(self, row: Row) -> None:
        self.questions[row["target"]]["answer"] = row["reason"]

    # What holds on a day

    def lapse(self, found: Finding, today: datetime.date) -> Optional[str]:
        """Why an acceptance or a dismissal no longer holds; None where it does, or where there is none."""
        row = found.decision
        if row is None:
            return None
        if RANK[found.severity] > RANK.get(row["severity"], -1):
            return f"severity rose {row['severity']} -> {found.severity}"
        until = date_of(row["until"])
        if row["until"] is not None and (until is None or today > until):
            return f"accepted until {row['until']}"
        return None

    def standing(self, found: Finding, today: datetime.date) -> str:
        """open, or why it is not counted: resolved, accepted, dismissed, quarantined."""
        return self.cover(found, today) or "open" if found.open else "resolved"

    def cover(self, found: Finding, today: datetime.date) -> str:
        """What takes it out of the count, or would if it came back: accepted, dismissed, quarantined, or ""."""
        if found.decision and self.lapse(found, today) is None:
            return "accepted" if found.decision["action"] == "accept" else "dismissed"
        return "quarantined" if self._quarantined(found, today) else ""

    def _quarantined(self, found: Finding, today: datetime.date) -> bool:
        row = self.quarantine.get(found.test) if found.test else None
        until = date_of(row["until"]) if row else None
        return until is not None and today <= until and not found.defect and RANK[found.severity] <= RANK["Major"]

    def decided(self, found: Finding, today: datetime.date) -> bool:
        """Whether a decision stands on it, a lapsed one too: reviewers were told not to file it, so silence is none."""
        return found.decision is not None or self._quarantined(found, today)

    def standings(self, today: datetime.date) -> List[Tuple[Finding, str]]:
        """Every finding with its standing, what has come back first, then the worst, then the oldest."""
        ordered = sorted(self.findings.values(), key=order)
        return [(found, self.standing(found, today)) for found in ordered]

    def open(self, today: datetime.date) -> List[Finding]:
        """The findings that count, in that order."""
        return [found for found, standing in self.standings(today) if standing == "open"]


def order(found: Finding) -> Tuple[bool, int, str, int]:
    """What has come back first, then the worst, then the oldest."""
    return not (found.open and found.regressed), -RANK[found.severity], found.first_seen, int(found.id[2:])
