"""What leaves the ledger for programs: JSON, and SARIF 2.1.0 for whoever shows findings beside the code."""

import re
from typing import Dict, List
from urllib.parse import quote

from findings import inside
from memory import Finding, Memory
from verdicts import Judged
from views import SENSITIVE, Now, age, counts, delta, lapses, place, plain, titles

VERSION = "0.1.0"
INFORMATION = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html"
MOST_RESULTS = 5000
LEVELS = {"Blocker": "error", "Critical": "error", "Major": "warning", "Minor": "note", "Trivial": "note"}


def as_data(memory: Memory, now: Now) -> List[Dict[str, object]]:
    """Every finding, in the order of all views, with plain texts."""
    return [
        {
            "id": f.id,
            "standing": standing,
            "delta": delta(memory, f),
            "severity": f.severity,
            "age_days": age(f, now.today),
            "first_seen": f.first_seen,
            "title": plain(f.title),
            "latest_title": plain(f.latest),
            "place": plain(place(f)),
            "rule": plain(f.rule or ""),
            "confidence": f.confidence or "",
            "lapse": plain(memory.lapse(f, now.today) or ""),
        }
        for f, standing in memory.standings(now.today)
    ]


def gate_data(memory: Memory, judged: Judged, now: Now) -> Dict[str, object]:
    """The same as one object; "outcome" is the word, "exit" the number."""
    return {
        "outcome": judged.outcome,
        "exit": judged.status,
        "run": memory.last["run"] if memory.last else 0,
        "because": {name: plain(held) for name, held in judged.why},
        "stale": [plain(said) for said in judged.stale],
        "open": counts(memory, now.today),
        "findings": [f for f in as_data(memory, now) if f["standing"] == "open"],
        "lapsed": lapses(memory, now.today),
        "clears": judged.clear,
        "head": now.head,
        "now": now.ts + now.clock,
    }


# --- SARIF ----------------------------------------------------------------------------------------


def sarif(memory: Memory, now: Now, fallback: str, suppressed: bool) -> Dict[str, object]:
    """The findings that are open, the worst first; with suppressed, also those that a maintainer took out.

    What has no place in the code stands at fallback, a path, and says so.
    """
    wanted = ("open", "accepted", "dismissed", "quarantined") if suppressed else ("open",)
    found = [(f, standing) for f, standing in memory.standings(now.today) if standing in wanted]
    rules = {plain(f.rule or "review-finding") for f, _ in found[:MOST_RESULTS]}
    left = max(len(found) - MOST_RESULTS, 0)
    driver = {
        "name": "review-ledger",
        "version": VERSION,
        "informationUri": INFORMATION,
        "rules": [{"id": name, "shortDescription": {"text": f"Findings filed as {name}."}} for name in sorted(rules)],
    }
    results = [_result(memory, f, standing, fallback) for f, standing in found[:MOST_RESULTS]]
    properties = {"head": now.head, "now": now.ts + now.clock, "leftOut": left}
    run = {"tool": {"driver": driver}, "columnKind": "utf16CodeUnits", "results": results, "properties": properties}
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def _unlinked(text: str) -> str:
    """The text without embedded links (SARIF 2.1.0, 3.11.6): a bracket behind a backslash, and that behind no other."""
    return re.sub(r"(\\*)([][])", lambda match: r"\u005c" * len(match[1]) + "\\" + match[2], plain(text))


def _uri(path: str) -> str:
    """The path as a relative reference, which is the same place, and no word of a verdict."""
    return SENSITIVE.sub(lambda match: f"{match[1]}%{ord(match[2]):02X}", quote(path, safe="/-._~"))


def _result(memory: Memory, f: Finding, standing: str, fallback: str) -> Dict[str, object]:
    placed = inside(f.path)
    where: Dict[str, object] = {"artifactLocation": {"uri": _uri(f.path or "" if placed else fallback)}}
    if placed and f.line:
        where["region"] = {"startLine": f.line}
    result: Dict[str, object] = {
        "ruleId": plain(f.rule or "review-finding"),
        "level": LEVELS[f.severity],
        "message": {"text": f"{f.id} {f.severity}: {titles(f, _unlinked)}"},
        "locations": [{"physicalLocation": where}],
        "partialFingerprints": {"verdictLedger/v1": f.key},
        "baselineState": "new" if delta(memory, f) == "NEW" else "unchanged",
        "properties": {"severity": f.severity, "standing": standing, "placed": placed},
    }
    if standing != "open":
        reason = f.decision["reason"] if f.decision else "quarantined"
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": plain(reason)}]
    return result
