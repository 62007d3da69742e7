"""What a reviewer states, made uniform: limits, fields, paths, and the two marks by which a finding is known again.

All of it is untrusted text. What is unusable as a whole raises Unusable; what is odd about one field is left out, with
a warning. Nothing here looks at what is known already: that is for deltas.py.
"""

import hashlib
import json
import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

SEVERITIES = ("Trivial", "Minor", "Major", "Critical", "Blocker")  # from the least
_OTHER_NAMES = {
    "high": "Critical",
    "medium": "Major",
    "med": "Major",
    "low": "Minor",
    "info": "Trivial",
    "nit": "Trivial",
}
_SEVERITY = {**{name.lower(): name for name in SEVERITIES}, **_OTHER_NAMES}
CONFIDENCES = ("proven", "probable", "hypothesis")
CLASSES = ("real-defect", "stale-expectation", "brittle-test", "environment", "flaky")
# Keys that only a maintainer may set, or that the ledger works out.
FORBIDDEN = {
    "status", "accepted", "dismissed", "suppressed", "waived", "quarantined", "decision", "until", "cite", "first_seen",
    "delta", "verdict",
}  # fmt: skip
MOST_BYTES, MOST_FINDINGS, MOST_NESTING, MOST_DIGITS, MOST_WARNINGS = 5 << 20, 500, 50, 20, 100
LONGEST_TITLE, LONGEST_TEXT = 200, 2000
SHORTEST_SNIPPET = 12  # characters; a shorter line of code may stand anywhere

_BLANKS = " \t\r\n\f\v"
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}  # ASCII only, the same on every Python
_SQUEEZED = re.compile(f"[{_BLANKS}]+")
_LINE_NUMBER = re.compile(r"(?:\b(?:at|on|in)[ ]+)?\blines?[ ]+[0-9]+(?:[ ]?-[ ]?[0-9]+)?\b", re.ASCII | re.IGNORECASE)
_FILE_LINE = re.compile(r"([\w-]\.[A-Za-z_][\w]*):[0-9]+(?::[0-9]+)?\b", re.ASCII)
_SURROGATE = re.compile("[\ud800-\udfff]")
_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")

Finding = Dict[str, Any]


class Unusable(Exception):
    """The input as a whole cannot be used; the text says why, raw."""


class _Odd(Exception):
    """A field is left out; the text says why."""


class Stated(NamedTuple):
    """What a reviewer stated, uniform. read: there was a list of findings, empty or not."""

    findings: List[Finding]
    resolved: List[str]
    not_tested: List[str]
    questions: List[Dict[str, str]]
    warnings: List[str]
    read: bool


NOTHING = Stated([], [], [], [], [], False)


# --- Texts, paths, keys ---------------------------------------------------------------------------


def squeezed(text: str) -> str:
    """The text with each run of ASCII blanks as one space, and none at its ends."""
    return _SQUEEZED.sub(" ", text).strip(" ")


def normal_path(path: str) -> Optional[str]:
    """The path as the ledger writes it: / between parts, no "." and no empty part; None for the top folder.

    One that is absolute or leaves the top folder is kept as text: see inside.
    """
    text = path.replace("\\", "/")
    parts: List[str] = []
    for part in text.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return text if text.startswith("/") else "/".join(parts) or None


def inside(path: Optional[str]) -> bool:
    """Whether a normal path names something below the top folder; a drive letter does not."""
    return bool(path) and not re.match(r"/|\.\.(/|$)|[A-Za-z]:", path or "")


def key(finding: Finding) -> str:
    """What makes two findings the same: path, rule, and title without line numbers, capitals and spare blanks."""
    title = squeezed(finding["title"])
    bare = squeezed(_FILE_LINE.sub(r"\1", _LINE_NUMBER.sub("", title))).strip(" .,:;")
    return _digest([finding.get("path"), finding.get("rule"), (bare or title).translate(_LOWER)])


def anchor(finding: Finding) -> Optional[str]:
    """What a finding is also known by: its path and line of code; None where it has not both, or a short one."""
    snippet = squeezed(finding.get("snippet") or "")
    usable = inside(finding.get("path")) and len(snippet) >= SHORTEST_SNIPPET
    return _digest([finding["path"], snippet]) if usable else None


def asked(question: str) -> str:
    """What makes two questions the same."""
    return squeezed(question).translate(_LOWER)


def _digest(parts: List[Optional[str]]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


# --- Fields: each takes what the JSON holds, and returns what is kept -----------------------------


def _text(value: object, most: int = LONGEST_TEXT) -> Optional[str]:
    if not isinstance(value, str):
        raise _Odd("is no text")
    if len(value) > most:
        raise Unusable(f"a text of {len(value)} characters, at most {most} are taken")
    return value if value.strip(_BLANKS) else None


def _title(value: object) -> Optional[str]:
    title = _text(value, LONGEST_TITLE) if isinstance(value, str) else None
    if title is None:
        raise Unusable("a finding has no title")
    return title


def _severity(value: object) -> str:
    known = _SEVERITY.get(value.strip(_BLANKS).lower()) if isinstance(value, str) else None
    if known is None:
        raise _Odd(f"{str(value)[:40]!a} is no severity, taken as Major")
    return known


def _one_of(*words: str) -> Callable[[object], Optional[str]]:
    def read(value: object) -> Optional[str]:
        word = value.strip(_BLANKS).lower() if isinstance(value, str) else ""
        if word not in words:
            raise _Odd("is none of " + ", ".join(words))
        return word

    return read


def _line(value: object) -> int:
    if type(value) is not int or not 0 < value < 1 << 31:
        raise _Odd("is no line number")
    return value


def _rule(value: object) -> Optional[str]:
    rule = _text(value)
    if rule is not None and not _SLUG.fullmatch(rule):
        raise _Odd("is no slug")
    return rule


def _path(value: object) -> Optional[str]:
    text = _text(value)
    return normal_path(text) if text else None


def _texts(value: object) -> Optional[List[str]]:
    texts = [_text(part) for part in value] if isinstance(value, list) else None
    if texts is None:
        raise _Odd("is no list")
    return [text for text in texts if text] or None


# fmt: off
_FIELDS: Tuple[Tuple[str, Callable[[Any], object]], ...] = (
    ("title", _title), ("severity", _severity), ("path", _path), ("line", _line), ("rule", _rule), ("snippet", _text),
    ("evidence", _texts), ("detail", _text), ("confidence", _one_of(*CONFIDENCES)), ("class", _one_of(*CLASSES)),
    ("test", _text), ("id", _text),
)
# fmt: on
_NAMES = [name for name, _ in _FIELDS]


def _finding(value: object, label: str, warnings: List[str]) -> Finding:
    if not isinstance(value, dict):
        raise Unusable(f"{label} is no object")
    kept: Finding = {"title": _title(value.get("title")), "severity": "Major"}
    for name, reader in _FIELDS:
        try:
            if value.get(name) is not None:
                kept[name] = reader(value[name])
        except _Odd as odd:
            warnings.append(f"{label}: {name} {odd}")
    warnings += [f"{label}: unknown key {name[:40]!a}, left out" for name in value if name not in _NAMES]
    return {name: item for name, item in kept.items() if item is not None}


def _question(value: object) -> Dict[str, str]:
    text = _text(value.get("question") or "") if isinstance(value, dict) else None
    if text is None or not isinstance(value, dict):
        raise Unusable("a question has no text")
    about = _text(value.get("finding") or "")
    return {"question": text, "finding": about} if about else {"question": text}


# --- The whole input ------------------------------------------------------------------------------


def _object(pairs: List[Tuple[str, object]]) -> Dict[str, object]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise Unusable("a key stands twice in one object")
    for name in made:
        if name.strip(_BLANKS).casefold() in FORBIDDEN:
            raise Unusable(f"only a maintainer may set {name[:40]!a}")
    return made


def _number(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise Unusable("a number is not finite")
    return number


def _whole_number(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise Unusable(f"a number has more than {MOST_DIGITS} digits")
    return int(text)


def _constant(text: str) -> None:
    raise Unusable(f"{text} is no JSON")


def _cleaned(value: object, depth: int = 1) -> object:
    """The value with lone surrogates replaced; raises Unusable where it nests too deep."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if depth > MOST_NESTING and isinstance(value, (dict, list)):
        raise Unusable(f"nested deeper than {MOST_NESTING}")
    if isinstance(value, dict):
        return {_cleaned(name): _cleaned(item, depth + 1) for name, item in value.items()}
    return [_cleaned(item, depth + 1) for item in value] if isinstance(value, list) else value


def uniform(text: str) -> Stated:
    """What a JSON text states. Raises Unusable, with the first reason found; then nothing of it may be taken."""
    if len(text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise Unusable(f"larger than {MOST_BYTES} bytes")
    try:
        value = _cleaned(
            json.loads(
                text,
                object_pairs_hook=_object,
                parse_float=_number,
                parse_int=_whole_number,
                parse_constant=_constant,
            )
        )
    except RecursionError:
        raise Unusable(f"nested deeper than {MOST_NESTING}") from None
    except ValueError as error:
        raise Unusable(f"no JSON, line {getattr(error, 'lineno', 1)} of it") from None
    try:
        return _stated(value)
    except _Odd as odd:
        raise Unusable(str(odd)) from None


def _stated(value: object) -> Stated:
    if not isinstance(value, dict) or not isinstance(value.get("findings"), list):
        raise Unusable('no object with a list of "findings"')
    if len(value["findings"]) > MOST_FINDINGS:
        raise Unusable(f"more than {MOST_FINDINGS} findings")
    lists = {name: value.get(name) or [] for name in ("resolved", "not_tested", "questions")}
    for name, items in lists.items():
        if not isinstance(items, list):
            raise Unusable(f"{name} is no list")
    warnings = [f"unknown key {name[:40]!a}, left out" for name in value if name not in ("findings", *lists)]
    return Stated(
        findings=[_finding(item, f"finding {n}", warnings) for n, item in enumerate(value["findings"], 1)],
        resolved=[text.strip(_BLANKS) for text in _texts(lists["resolved"]) or []],
        not_tested=_texts(lists["not_tested"]) or [],
        questions=[_question(item) for item in lists["questions"]],
        warnings=warnings[:MOST_WARNINGS] + ["further warnings are left out"] * (len(warnings) > MOST_WARNINGS),
        read=True,
    )
