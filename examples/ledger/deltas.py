"""What a new run comes to, compared with all that is known: ids, what is new or has come back, what is resolved.

All ids that the reviewer named first, then all keys, then all lines of code. In doubt a finding is another one, and
what was open stays open: a reviewer that leaves something out, or files it under another name, takes nothing away.
"""

import datetime
from collections import Counter
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Set

from chain import Row
from findings import Stated, anchor, asked, inside, key, squeezed
from memory import RANK, Entry, Finding, Memory

NONE_NAMED = "changes requested, none named"


class Tree(NamedTuple):
    """What is known of the files of the run's commit: whether one is gone, and the text of one; None is not known."""

    gone: Callable[[str], bool]
    text: Callable[[str], Optional[str]]


class Compared(NamedTuple):
    """The findings of a run with id, delta, key, anchor and n; what it resolved; its questions; warnings."""

    findings: List[Entry]
    resolved: List[Dict[str, str]]
    questions: List[Dict[str, str]]
    warnings: List[str]


class _Group(NamedTuple):
    """What counts as one finding: entries with one id or one key, the keys and anchors that it learns."""

    entries: List[Entry]
    keys: List[str]
    anchors: List[str]


def compared(memory: Memory, stated: Stated, run: Row, tree: Tree, today: datetime.date) -> Compared:
    """Compare what a reviewer stated with all that is known. Of run, by, claimed, type and scope are looked at."""
    warnings: List[str] = []
    none_named = run["claimed"] == "fail" and not stated.findings
    entries = [_changes_requested(run["by"])] if none_named else stated.findings
    named = _by_anchor(memory, _grouped(memory, entries, tree, today, warnings), today)
    findings = [_merged(memory, name, group) for name, group in named.items()]
    resolved = _claimed(memory, stated, run, set(named), warnings)
    resolved += _silent(memory, stated, run, {*named, *(item["id"] for item in resolved)}, tree, today)
    return Compared(findings, resolved, _questions(memory, stated), warnings)


# --- Which finding is which -----------------------------------------------------------------------


def _grouped(
    memory: Memory, entries: Iterable[Entry], tree: Tree, today: datetime.date, warnings: List[str]
) -> Dict[str, _Group]:
    """The entries by id, where they name one or have a known key; else by key."""
    groups: Dict[str, _Group] = {}
    rest: List[Entry] = []
    known: Dict[str, str] = {}  # keys that a finding learns in this run
    for number, entry in enumerate(entries, 1):
        found = _named(memory, entry, number, tree, today, warnings)
        if found is None:
            rest.append(entry)
            continue
        learns = found.open and not memory.decided(found, today)
        _add(groups, found.id, entry, learns)
        if learns:
            known.setdefault(_key(entry), found.id)
    for entry in rest:
        made = _key(entry)
        _add(groups, memory.keys.get(made) or known.get(made) or made, entry, True)
    return groups


def _key(entry: Entry) -> str:
    return str(entry.get("key") or key(entry))


def _add(groups: Dict[str, _Group], name: str, entry: Entry, learns: bool) -> None:
    group = groups.setdefault(name, _Group([], [], []))
    group.entries.append(entry)
    if learns:
        group.keys.append(_key(entry))
        group.anchors.extend(filter(None, [anchor(entry)]))


def _named(
    memory: Memory, entry: Entry, number: int, tree: Tree, today: datetime.date, warnings: List[str]
) -> Optional[Finding]:
    """The finding whose id the entry names, if it is known and in the same file, or its file is gone.

    What is covered by a decision is not, under another title: any bug could hide there. If it is worse, that shows.
    """
    if "id" not in entry:
        return None
    found = memory.find(entry["id"].strip())
    if found is None:
        warnings.append(f"finding {number}: no finding has the id {entry['id'][:40]!a}")
    elif entry.get("path") != found.path and not (found.path and tree.gone(found.path)):
        warnings.append(f"finding {number}: {found.id} is of another file, so this is not taken for it")
        return None
    elif memory.keys.get(_key(entry)) != found.id and _hides(memory, found, entry, today):
        warnings.append(
            f"finding {number}: {found.id} is decided, and this has another title, so it is not taken for it"
        )
        return None
    return found


def _hides(memory: Memory, found: Finding, entry: Entry, today: datetime.date) -> bool:
    cover = memory.cover(found, today)
    return cover == "quarantined" or (bool(cover) and RANK[entry["severity"]] <= RANK[found.severity])


def _by_anchor(memory: Memory, groups: Dict[str, _Group], today: datetime.date) -> Dict[str, _Group]:
    """The groups by id: those without one take that of a finding with their line of code, or a new one."""
    often = Counter(made for group in groups.values() for made in set(group.anchors))
    given = {name for name in groups if name in memory.findings}
    named: Dict[str, _Group] = {}
    new = memory.ids
    for name, group in groups.items():
        if name not in given:
            once = (made for made in group.anchors if often[made] == 1)
            found = next((f for made in once for f in _anchored(memory, made, given, today)), None)
            new += found is None
            name = found.id if found else f"F-{new}"  # noqa: PLW2901
            given.add(name)
        named[name] = group
    return named


def _anchored(memory: Memory, made: str, given: Set[str], today: datetime.date) -> List[Finding]:
    """The findings with a line of code, which this run has not given and no decision hides; the open ones first."""
    found = [memory.findings[name] for name in memory.anchors.get(made, ()) if name not in given]
    return sorted((f for f in found if not memory.decided(f, today)), key=lambda f: not f.open)


def _merged(memory: Memory, name: str, group: _Group) -> Entry:
    """One entry for all of a group: the first's words, the worst severity, all evidence and the other titles."""
    made: Dict[str, Any] = {}
    for entry in group.entries:
        made.update((field, value) for field, value in entry.items() if field not in made)
    made["severity"] = max((entry["severity"] for entry in group.entries), key=RANK.__getitem__)
    evidence = [entry["title"] for entry in group.entries if entry["title"] != made["title"]]
    evidence += [text for entry in group.entries for text in entry.get("evidence", ())]
    made.update(evidence=list(dict.fromkeys(evidence)) if evidence else None)
    if any(entry.get("class") == "real-defect" for entry in group.entries):
        made["class"] = "real-defect"
    if len({entry.get("test") for entry in group.entries}) > 1:
        made["test"] = None  # or a test in quarantine would cover what another one showed
    found = memory.find(name)
    delta = "NEW" if found is None else "REGRESSED" if found.came_back or not found.open else "STILL_OPEN"
    made.update(id=name, delta=delta, n=len(group.entries))
    made.update(key=list(dict.fromkeys(group.keys)), anchor=list(dict.fromkeys(group.anchors)))
    return {field: value for field, value in made.items() if value is not None}


# --- What is resolved -----------------------------------------------------------------------------


def _changes_requested(by: Optional[str]) -> Entry:
    """Changes were requested and none was named: a finding for each reviewer, which no stated one can pass for."""
    made = key({"title": NONE_NAMED, "rule": "\n" + (by or "")})
    about = {"detail": f"by {by}"} if by else {}
    return {"title": NONE_NAMED, "severity": "Critical", "rule": "changes-requested", "key": made, **about}


def _claimed(memory: Memory, stated: Stated, run: Row, given: Set[str], warnings: List[str]) -> List[Dict[str, str]]:
    """What the run says is resolved, and may: it is open, and not reported by the same run."""
    if run["claimed"] == "blocked":
        return []
    names: List[str] = []
    for name in stated.resolved:
        found = memory.find(name)
        if found is None or not found.open or found.id in given:
            why = "is not known" if found is None else "is reported by this run" if found.open else "is not open"
            warnings.append(f"resolved: {name[:40]!a} {why}")
        else:
            names.append(found.id)
    names += _taken_back(memory, run, given)
    return [{"id": name, "basis": "claimed"} for name in dict.fromkeys(names)]


def _taken_back(memory: Memory, run: Row, given: Set[str]) -> List[str]:
    """What this reviewer requested without naming it, now that it passes; not if a finding was filed under its id."""
    found = memory.findings.get(memory.keys.get(_changes_requested(run["by"])["key"], ""))
    if run["claimed"] != "pass" or found is None or not found.open or found.id in given:
        return []
    return [found.id] if found.latest == NONE_NAMED and found.severity == "Critical" else []


def _silent(
    memory: Memory, stated: Stated, run: Row, done: Set[str], tree: Tree, today: datetime.date
) -> List[Dict[str, str]]:
    """What silence resolves: the run looked there, and would have said so."""
    if not stated.read or run["type"] != "delta" or run["claimed"] == "blocked":
        return []
    silent = [
        found
        for found in memory.findings.values()
        if found.open
        and found.id not in done
        and RANK[found.severity] <= RANK["Major"]
        and not memory.decided(found, today)
        and _in_scope(found, run["scope"], tree)
    ]
    return [{"id": found.id, "basis": "silence"} for found in silent]


def _in_scope(found: Finding, scope: Row, tree: Tree) -> bool:
    path = found.path
    if path is None or not inside(path):
        return False
    if scope["kind"] == "diff":
        return path in scope["paths"] and (tree.gone(path) or _line_is_gone(found, tree.text(path)))
    return scope["kind"] == "full" or any(path == part or path.startswith(part + "/") for part in scope["paths"])


def _line_is_gone(found: Finding, text: Optional[str]) -> bool:
    line = squeezed(found.snippet or "")
    return bool(line) and text is not None and line not in squeezed(text)


def _questions(memory: Memory, stated: Stated) -> List[Dict[str, str]]:
    """The questions of a run, each with its id; one asked before keeps that."""
    known = {asked(row["question"]): name for name, row in memory.questions.items()}
    made: Dict[str, Dict[str, str]] = {}
    for question in stated.questions:
        name = known.setdefault(asked(question["question"]), f"Q-{len(known) + 1}")
        made.setdefault(name, {"id": name, **question})
    return list(made.values())
