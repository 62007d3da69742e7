"""From files and options to the row of a run: what record stores, and the gate judges with --with.

Whatever is wrong with a reviewer's reply is recorded, as blocked at least. Whatever is wrong with the caller's options
or files is refused, before anything is written.
"""

import argparse
import codecs
import hashlib
import os
import re
import stat
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from chain import Ends, Refused, Row
from deltas import Tree, compared
from findings import MOST_BYTES, NOTHING, Stated, Unusable, inside, normal_path, uniform
from memory import RANK, Memory
from repository import UNKNOWN, Repository
from verdicts import BLOCKED, CLAIMS, LONGEST, judge, worst
from views import Now

import verdict_contract

LIMIT = 64 << 20  # bytes of a reply that are read
_CHUNK = 1 << 20
_CHECK = re.compile(r"([^=\s][^=]*)=(-?[0-9]{1,9})")
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)", re.DOTALL)
_LINE_ENDS = re.compile("\r\n|[\n\r]")
_LOOSE_ENDS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_BARE_JSON = re.compile(r"[\"']findings[\"'][ \t]*:")
# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"), (codecs.BOM_UTF8, "utf-8-sig"),
)  # fmt: skip


class Prepared(NamedTuple):
    """All of a run that does not depend on what is known: the options, checked, and what the reviewer stated."""

    claimed: str
    stated: Stated
    report: Optional[Row]
    unusable: List[str]
    scope: Row
    checks: Dict[str, int]
    not_tested: List[str]
    sha: Optional[str]
    code: Optional[Row]
    tree: Tree
    by: Optional[str]
    label: Optional[str]
    rebaseline: bool


def prepare(options: argparse.Namespace, root: str, repository: Optional[Repository]) -> Prepared:
    """Read and check all of the input. Raises Refused."""
    claimed, stated, report, unusable = _reply(options) if options.report is not None else _apart(options)
    sha, code, tree = _commit(options, root, repository)
    by, label = (_short("--by, --label", [text or ""])[0].strip() or None for text in (options.by, options.label))
    return Prepared(
        claimed,
        stated,
        report,
        unusable,
        _scope(options, repository, sha),
        _checks(options.check),
        [text for text in [*_short("--not-tested", options.not_tested), *stated.not_tested] if _names(text)],
        sha,
        code,
        tree,
        by,
        label,
        options.rebaseline,
    )  # fmt: skip


def run_row(prepared: Prepared, memory: Memory, ends: Ends, now: Now, new_only: bool = False) -> Tuple[Row, List[str]]:
    """The row of the next run, not sealed yet, and its warnings; memory has then applied it."""
    p = prepared
    kind = "baseline" if memory.last is None else "re-baseline" if p.rebaseline else "delta"
    number = ends.count["runs"] + 1
    row: Row = {"v": 1, "run": number, "type": kind, "ts": now.ts, "by": p.by, "label": p.label, "sha": p.sha}
    row.update(code=p.code, scope=p.scope, report=p.report, checks=p.checks, claimed=p.claimed, not_tested=p.not_tested)
    before = {found.id: found.severity for found in memory.open(now.today)}  # what comes out of a cover is new
    seen = compared(memory, p.stated, row, p.tree, now.today)
    warnings = [*p.stated.warnings, *seen.warnings]
    row.update(findings=seen.findings, resolved=seen.resolved, questions=seen.questions, warnings=warnings)
    row["decisions"] = ends.anchor("decisions")
    row.update(verdict=None, why=[])
    memory.apply("runs", row)
    worse = [entry["id"] for entry in seen.findings if RANK[memory.findings[entry["id"]].severity]
             > RANK.get(before.get(entry["id"], ""), -1)]  # fmt: skip
    judge(memory, row, p.unusable, now.today, worse if new_only else None)
    return row, warnings


# --- What the reviewer stated ---------------------------------------------------------------------


def _reply(options: argparse.Namespace) -> Tuple[str, Stated, Row, List[str]]:
    """The verdict by the contract, the findings from their block; what is wrong with either."""
    token = _token(options)
    content, size, digest = _read(options.report)
    if size > LIMIT:
        verdict, rule, stated, unusable = None, "too-large", NOTHING, [f"a reply of more than {LIMIT} bytes"]
    else:
        reply = _decoded(content)
        verdict, rule, _ = verdict_contract.read_verdict(reply, token)
        unusable = [] if verdict in CLAIMS else [f"the reply reads as {verdict or 'not stated'}, by {rule}"]
        try:
            stated = from_reply(reply)
        except Unusable as why:
            stated = NOTHING
            unusable.append(str(why))
    claimed = CLAIMS.get(verdict or "", BLOCKED)
    claimed = worst([claimed, BLOCKED]) if unusable else claimed
    return claimed, stated, {"sha256": digest, "size": size, "verdict": verdict, "rule": rule}, unusable


def _token(options: argparse.Namespace) -> Optional[str]:
    if options.diff_file is None:
        try:
            verdict_contract.prompt_rule(options.token)
        except ValueError as error:
            raise Refused(f"--token: {error}") from None
        return str(options.token) if options.token is not None else None
    diff, size, _ = _read(options.diff_file)
    if size > LIMIT or not diff.strip():
        raise Refused(f"{options.diff_file}: the diff is {'too large' if size > LIMIT else 'empty'}")
    return verdict_contract.diff_token(diff)


def _apart(options: argparse.Namespace) -> Tuple[str, Stated, None, List[str]]:
    content, size, _ = _read(options.findings)
    try:
        return options.verdict, uniform(_decoded(content, "strict") if size <= LIMIT else " " * size), None, []
    except (Unusable, UnicodeDecodeError) as why:
        raise Refused(f"{options.findings}: {why}") from None


def _read(path: str) -> Tuple[bytes, int, str]:
    """The first LIMIT bytes of a file, or of standard input for "-", its size, and its SHA-256. Raises Refused."""
    try:
        with open(0 if path == "-" else path, "rb", closefd=path != "-") as file:
            if os.name == "posix":  # where nothing has come yet, a read that does not block looks like the end
                os.set_blocking(file.fileno(), True)
            endless = not stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            digest, size, kept = hashlib.sha256(), 0, []
            for chunk in iter(lambda: file.read(_CHUNK), b""):
                digest.update(chunk)
                size += len(chunk)
                if size <= LIMIT:
                    kept.append(chunk)
                elif endless:
                    raise Refused(f"{path}: more than {LIMIT} bytes, and no regular file")
    except (OSError, ValueError) as error:
        raise Refused(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    return b"".join(kept), size, digest.hexdigest()


def _decoded(content: bytes, errors: str = "replace") -> str:
    codec = next((codec for mark, codec in _MARKS if content.startswith(mark)), "utf-8")
    return content.decode(codec, errors)


# --- The block of findings in a reply -------------------------------------------------------------


def from_reply(reply: str) -> Stated:
    """What the one block of findings in a reviewer's reply states; NOTHING where the reply has none.

    The block is a fence, as CommonMark has them, whose info string is "findings". Raises Unusable for a second one, for
    one that does not close, and for whatever else looks like a block of findings but is not read as one.
    """
    if len(reply.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise Unusable(f"a reply of more than {MOST_BYTES} bytes")
    blocks, rest = _blocks(_COLOUR.sub("", reply))
    if len(blocks) > 1:
        raise Unusable("more than one block of findings")
    if any(map(_stray, _LOOSE_ENDS.split("\n".join(rest).lower()))):
        raise Unusable("a fence that names findings, or findings in JSON, where they are not read")
    return uniform("\n".join(blocks[0])) if blocks else NOTHING


def _stray(line: str) -> bool:
    """Whether an eye may take the line for findings: a fence in a list or a quotation, or bare JSON."""
    fences = [at for at in (line.find("```"), line.find("~~~")) if at >= 0]
    return bool(fences and "findings" in line[min(fences) :]) or _BARE_JSON.search(line) is not None


def _blocks(reply: str) -> Tuple[List[List[str]], List[str]]:
    """The lines of each block of findings, and all lines that belong to none."""
    blocks: List[List[str]] = []
    rest: List[str] = []
    fence = info = ""
    for line in _LINE_ENDS.split(reply[1:] if reply.startswith("\ufeff") else reply):
        match = _FENCE.fullmatch(line)
        run, after = (match[1], match[2].strip(" \t")) if match else ("", "")
        ends = bool(fence) and run.startswith(fence) and not after
        begins = not fence and bool(run) and (run[0] == "~" or "`" not in after)
        if begins and after == "findings":
            blocks.append([])
        elif fence and info == "findings" and not ends:
            blocks[-1].append(line)
        elif not (ends and info == "findings"):
            rest.append(line)
        if ends or begins:
            fence, info = ("", "") if ends else (run, after)
    if fence and info == "findings":
        raise Unusable("the block of findings is cut off")
    return blocks, rest


# --- What the caller says -------------------------------------------------------------------------


def _names(text: str) -> bool:
    """Whether a text on what was not tested names anything."""
    word = "".join(filter(str.isalnum, text)).lower()
    return word not in ("", "none", "nothing", "na", "null")


def _short(name: str, texts: Sequence[str]) -> Sequence[str]:
    if any(len(text) > LONGEST for text in texts):
        raise Refused(f"{name}: more than {LONGEST} characters")
    return [text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for text in texts]


def _checks(given: Sequence[str]) -> Dict[str, int]:
    checks: Dict[str, int] = {}
    for text in given:
        match = _CHECK.fullmatch(text)
        if match is None or match[1] in checks or len(text) > LONGEST:
            raise Refused(f"--check {text[:80]}: NAME=STATUS is wanted, STATUS a whole number, each name once")
        checks[match[1]] = int(match[2])
    return checks


def _paths(name: str, given: Sequence[str]) -> List[str]:
    """The paths, normal; empty where one of them is the top folder. Raises Refused."""
    paths = [normal_path(path) for path in _short(name, given)]
    if "" in given:  # an unset variable of a shell, not the top folder
        raise Refused(f"{name}: an empty path")
    outside = next((path for path in paths if path and not inside(path)), None)
    if outside:
        raise Refused(f"{name} {outside}: is not below the top folder")
    return [] if None in paths else sorted({path for path in paths if path})


def _scope(options: argparse.Namespace, repository: Optional[Repository], sha: Optional[str]) -> Row:
    if options.scope_diff is not None:
        base = repository.commit(options.scope_diff) if repository else None
        if repository is None or base is None or sha is None:
            raise Refused(f"--scope-diff {options.scope_diff}: no such commit here")
        return {"kind": "diff", "paths": repository.changed(base, sha), "base": base}
    given = options.scope or ["none"]
    if len(given) > 1 and {"full", "none"} & set(given):
        raise Refused("--scope: full and none stand alone")
    paths = [] if given in (["full"], ["none"]) else _paths("--scope", given)
    kind = "none" if given == ["none"] else "paths" if paths else "full"
    return {"kind": kind, "paths": paths, "base": None}


def _commit(
    options: argparse.Namespace, root: str, repository: Optional[Repository]
) -> Tuple[Optional[str], Optional[Row], Tree]:
    given = options.sha is not None
    sha = repository.commit(options.sha if given else "HEAD") if repository else None
    if repository is None or sha is None:
        if given or options.code_path:
            raise Refused(f"--{'sha' if given else 'code-path'}: there is no such commit here")
        return None, None, UNKNOWN
    paths = _paths("--code-path", options.code_path)
    code = repository.code(sha, root, paths)
    if paths and not code["files"]:
        raise Refused("--code-path: the commit has no file there")
    return sha, code, repository.tree(sha)
