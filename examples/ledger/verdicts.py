"""The rules, as data: what a run comes to at least, when the gate is stale, and what a maintainer may decide.

A verdict is the worst of what was claimed and of every rule that holds. No rule can improve a claim.
"""

import datetime
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from chain import Refused, Row
from memory import RANK, Finding, Memory, date_of

PASS, RISKS, BLOCKED, FAIL = VERDICTS = ("pass", "pass with risks", "blocked", "fail")  # from the best
STATUS = {PASS: 0, RISKS: 0, FAIL: 1, BLOCKED: 3}
STALE = 5
COLOURS = {PASS: "brightgreen", RISKS: "yellow", BLOCKED: "lightgrey", FAIL: "red"}
CLAIMS = {"APPROVE": PASS, "REQUEST_CHANGES": FAIL}  # what verdict_contract reads; anything else is blocked
MOST_AHEAD = 600  # seconds that a run may be stamped ahead of the clock
MOST_QUARANTINE = 30  # days
LEAST_REASON = 8  # characters that are not blank
LONGEST = 2000


def worst(verdicts: Sequence[str]) -> str:
    """The worst of at least one verdict."""
    return max(verdicts, key=VERDICTS.index)


# --- The floor of a run ---------------------------------------------------------------------------


class Facts(NamedTuple):
    """What the rules look at. open: the findings that count; the others are of the run itself."""

    open: Sequence[Finding]
    red: Sequence[str]
    unusable: Sequence[str] = ()
    fixed: Sequence[str] = ()
    untested: bool = False


class Rule(NamedTuple):
    """A row of the floor. The id is public; "when" completes "... when"; "clears" says what would end it."""

    id: str
    verdict: str
    when: str
    holds: Callable[[Facts], Sequence[str]]  # what made it hold; empty: it does not
    clears: str


def _ids(facts: Facts, *severities: str) -> List[str]:
    return [found.id for found in facts.open if found.severity in severities]


# fmt: off
RULES = (
    Rule("open-blocker", FAIL, "a Blocker is open",
         lambda f: _ids(f, "Blocker"), "a run that resolves it by its id, or a maintainer's accept or dismiss"),
    Rule("regressed-critical", FAIL, "an open Critical has come back",
         lambda f: [found.id for found in f.open if found.regressed and found.severity == "Critical"],
         "a run that resolves it by its id, or a maintainer's accept or dismiss"),
    Rule("red-check", FAIL, "a check is red",
         lambda f: f.red, "a run that gives the check 0"),
    Rule("unusable-reply", BLOCKED, "no verdict or an ambiguous one, or findings that cannot be read",
         lambda f: f.unusable, "a run whose reply can be read"),
    Rule("open-major", RISKS, "a Critical or Major is open",
         lambda f: _ids(f, "Critical", "Major"), "a run that resolves it, or a maintainer's accept or dismiss"),
    Rule("claimed-fix", RISKS, "this run says that a Blocker or Critical is resolved",
         lambda f: f.fixed, "a further run that does not find it"),
    Rule("untested", RISKS, "nothing is named as not tested (no review covers everything)",
         lambda f: ["nothing named"] if f.untested else [], "a run that names what was not tested"),
)
# fmt: on
BY_ID = {rule.id: rule for rule in RULES}


def floor(facts: Facts) -> List[Row]:
    """The rules that hold, each as {"rule": its id, "held": what made it hold}."""
    found = ((rule.id, list(rule.holds(facts))) for rule in RULES)
    return [{"rule": name, "held": held} for name, held in found if held]


def red(memory: Memory) -> List[str]:
    """The names of the checks that are red."""
    return sorted(name for name, status in memory.checks.items() if status)


def judge(
    memory: Memory, row: Row, unusable: Sequence[str], today: datetime.date, raised: Optional[Sequence[str]]
) -> None:
    """Store verdict and why in the row of a run that memory has applied already.

    raised: of the findings, only these ids (worse now, or covered before) and what is new or has come back count, and
    only this run's checks.
    """
    counted, checks = memory.open(today), red(memory)
    if raised is not None:
        brought = {entry["id"] for entry in row["findings"] if entry["delta"] != "STILL_OPEN"}.union(raised)
        counted = [found for found in counted if found.id in brought]
        checks = [name for name in checks if name in row["checks"]]
    heavy = [item["id"] for item in row["resolved"] if item["basis"] == "claimed"]
    fixed = [name for name in heavy if RANK[memory.findings[name].severity] >= RANK["Critical"]]
    row["why"] = floor(Facts(counted, checks, unusable, fixed, not row["not_tested"]))
    row["verdict"] = worst([row["claimed"], *(BY_ID[why["rule"]].verdict for why in row["why"])])


# --- The gate -------------------------------------------------------------------------------------


class Fresh(NamedTuple):
    """What decides whether the ledger may still be judged by; None in a limit is no limit.

    age: of the last stored run, in seconds; negative if it is stamped ahead. code: "" if it is that code, or why not.
    """

    runs: int
    least_runs: int
    age: float
    most_hours: Optional[float]
    code: str


_STALE: Tuple[Callable[[Fresh], str], ...] = (
    lambda f: f"run {f.runs} is below the minimum, {f.least_runs}" if f.runs < f.least_runs else "",
    lambda f: f"stamped {-f.age:.0f} seconds ahead of the clock" if f.age < -MOST_AHEAD else "",
    lambda f: f"older than {f.most_hours:g} hours" if f.most_hours is not None and f.age > f.most_hours * 3600 else "",
    lambda f: f.code,
)


class Judged(NamedTuple):
    """What the gate says: the word, the exit status, why, what made it stale, and what would clear it."""

    outcome: str
    status: int
    why: List[Tuple[str, str]]
    stale: List[str]
    clear: List[str]

    @property
    def words(self) -> str:
        """The answer in one line, for people."""
        return f"{self.outcome}{' but stale' if self.stale else ''} (exit {self.status})"


def gate(memory: Memory, fresh: Fresh, today: datetime.date, fail_on: str, new_only: bool) -> Judged:
    """Judge the last run and what is open now. fail_on: "fail" or "risks"; new_only leaves out what was open before."""
    run = memory.last or {}
    now = [] if new_only else floor(Facts(memory.open(today), red(memory)))
    why = {item["rule"]: ", ".join(item["held"]) for item in now}
    for item in run["why"]:
        why.setdefault(item["rule"], ", ".join(item["held"]) + f" (as of run {run['run']})")
    outcome = worst([run["verdict"], *(BY_ID[item["rule"]].verdict for item in now)])
    if run["claimed"] != PASS:
        why["claimed"] = f"{run['claimed']} by run {run['run']}"
    stale = [said for said in (holds(fresh) for holds in _STALE) if said]
    status = STALE if stale else 1 if outcome == RISKS and fail_on == "risks" else STATUS[outcome]
    clear = [f"{name}: {BY_ID[name].clears if name in BY_ID else 'a run that claims better'}" for name in why]
    clear = ["stale: record a run of this code, now"] * bool(stale) + (clear if outcome != PASS else [])
    return Judged(outcome, status, list(why.items()), stale, clear)


# --- The maintainer's pen -------------------------------------------------------------------------

_Pen = Callable[[Memory, Row, datetime.date], str]  # why the decision is refused, or ""


def _long(field: str) -> _Pen:
    return lambda _, row, __: (
        ""
        if len("".join((row[field] or "").split())) >= LEAST_REASON
        else f"{field}: at least {LEAST_REASON} characters"
    )


def _open_finding(memory: Memory, row: Row, _: datetime.date) -> str:
    found = memory.findings.get(row["target"])
    if found is None:
        return f"{row['target']}: no such finding"
    row["severity"] = found.severity
    return "" if found.open else f"{row['target']}: is resolved"


def _has_decision(memory: Memory, row: Row, _: datetime.date) -> str:
    found = memory.findings.get(row["target"])
    return "" if found and found.decision else f"{row['target']}: no acceptance or dismissal stands"


def _two(memory: Memory, row: Row, _: datetime.date) -> str:
    missing = next((name for name in (row["target"], row["cite"]) if name not in memory.findings), None)
    return f"{missing}: no such finding" if missing else "one and the same" if row["target"] == row["cite"] else ""


def _until(most: Optional[int]) -> _Pen:
    def refuse(_: Memory, row: Row, today: datetime.date) -> str:
        if row["until"] is None and most is None:
            return ""
        until = date_of(row["until"])
        if until is None or until.isoformat() != row["until"]:
            return "until: a date, YYYY-MM-DD"
        if until < today or (most is not None and (until - today).days > most):
            return f"until: today or later{f', at most {most} days ahead' if most else ''}"
        return ""

    return refuse


def _quarantined(memory: Memory, row: Row, _: datetime.date) -> str:
    return "" if row["target"] in memory.quarantine else f"{row['target']}: not in quarantine"


def _named(_: Memory, row: Row, __: datetime.date) -> str:
    return "" if row["target"].strip() else "a name is needed"


def _question(memory: Memory, row: Row, _: datetime.date) -> str:
    known = row["target"] in memory.questions
    return f"{row['target']}: no such question" if not known else "" if (row["reason"] or "").strip() else "no answer"


PENS: Dict[str, Tuple[_Pen, ...]] = {
    "accept": (_open_finding, _long("cite"), _long("reason"), _until(None)),
    "dismiss": (_open_finding, _long("cite"), _long("reason")),
    "revoke": (_has_decision, _long("reason")),
    "same": (_two,),
    "quarantine": (_named, _until(MOST_QUARANTINE), _long("reason")),
    "release": (_quarantined, _long("reason")),
    "answer": (_question,),
}


def decide(memory: Memory, row: Row, today: datetime.date) -> None:
    """Check the row of a decision and put the severity into it at which it was given. Raises Refused."""
    texts = [text for text in (row["target"], row["reason"], row["cite"], row["by"]) if text]
    if any(len(text) > LONGEST for text in texts):
        raise Refused(f"{row['action']}: a text of more than {LONGEST} characters")
    why = next((said for said in (refuse(memory, row, today) for refuse in PENS[row["action"]]) if said), None)
    if why:
        raise Refused(f"{row['action']}: {why}")
