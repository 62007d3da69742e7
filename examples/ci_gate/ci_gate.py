"""Map what CI said about one diff to PASS, FAIL or BLOCK; a model may propose fixes, and cannot pass anything.

evaluate_verdict decides, ci_result_from_jobs reads GitHub's answer for it, with_reviews lets reviewers lower the
decision, read_patch tells what a diff touches, FixProposer asks a model for advice on a decision that is made. USAGE
is the command. The CI result and the ledger hash have to come from where the model cannot write.
"""

import argparse
import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import unicodedata
from enum import Enum
from tempfile import TemporaryDirectory, TemporaryFile
from types import ModuleType, SimpleNamespace
from typing import IO, Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

if sys.version_info < (3, 8):
    sys.exit("ci_gate.py: needs Python 3.8 or later")

# fmt: off
__all__ = [
    "CONDITIONS", "DENIED", "Change", "CiGateError", "CommandInvoke", "Condition", "FixProposal", "FixProposer",
    "GateDecision", "GateResult", "Patch", "build_fix_advisor", "ci_result_from_jobs", "evaluate_verdict",
    "propose_for_failure", "read_patch", "with_reviews",
]
# fmt: on

USAGE = """\
Map what CI said about one diff to PASS, FAIL or BLOCK; a model may propose fixes, and cannot pass anything.

  python3 -I -S ci_gate.py --diff FILE --ledger-hash HEX --run-id ID
                           (--ci-result FILE | --jobs FILE --head-sha SHA --require NAME...)
                           [--scope GLOB]... [--deny GLOB]... [--review REPORT]... [--token TOKEN]
                           [--propose COMMAND] [--json]

  --diff FILE         the diff to decide on: change_diff.py BASE HEAD -o FILE
  --ledger-hash HEX   the SHA-256 of the diff that was signed off
  --run-id ID         the run that has to have tested it
  --ci-result FILE    a JSON object with run_id, diff_hash and conclusion
  --jobs FILE         GitHub's answer to "list jobs for a workflow run" (filter=latest), or a list of its pages
  --head-sha SHA      with --jobs: the commit that they tested; that it is the diff on its base is your claim
  --require NAME...   with --jobs: the jobs that have to pass
  --scope GLOB        allow only paths that match one of these
  --deny GLOB         allow no path that matches, beside those that are always denied
  --review REPORT     a reviewer's report, each file once; it can only lower the decision
  --token TOKEN       the token of the reports; without it, that of the diff
  --propose COMMAND   a model that reads a prompt on stdin and writes JSON to stdout; never asked on PASS
  --json              one JSON object instead of text

exit status
  0  PASS
  3  FAIL: CI failed, or a reviewer asks for changes
  4  BLOCK: anything else
  1  a file cannot be read, or is not JSON where it has to be; a module beside this file is missing or broken
  2  usage; --help too
  130  interrupted, after the process group of COMMAND was ended

Run it from a folder that the change cannot write, not from the checkout of the change. -I and -S keep modules of the
working folder, of PYTHONPATH and of site-packages from being taken for the standard library's. Get the CI result or the
jobs with a read-only credential, and keep them and the ledger where neither the model nor the change can write: the
gate believes them.

Take the diff from change_diff.py, and change nothing of it: the gate blocks what git would not write so.

Globs: ** crosses folders, * does not, and nothing else is special. They are yours, and their time is not bounded: one
with many wildcards takes long on a long path. Denied are the files of many CI systems, of git, of hooks and of this
gate, also in spellings that a file system takes for the same name, but for the short names of Windows (GITHUB~1).
Tests, build files and their configuration judge a change too, and are denied only if you say so: --deny 'tests/**'.

The text output has the decision and its reasons out before COMMAND runs. The object of --json is written after it, and
COMMAND has your rights: believe the exit status, or an output that begins with what the gate writes.
"""
_PROGRAM = "ci_gate.py"
_HERE = os.path.dirname(os.path.realpath(__file__))


def provide(*names: str) -> None:
    """Load modules by their source, from this file's folder or the two above; no package or .pyc is taken instead."""
    for name in names:
        places = [os.path.join(_HERE, up, name + ".py") for up in ("", os.pardir, os.path.join(os.pardir, os.pardir))]
        path = next(filter(os.path.isfile, places), None)
        if path is None:
            raise ImportError(f"{name}.py is neither beside {os.path.basename(__file__)} nor in the two folders above")
        if name not in sys.modules:
            module = sys.modules[name] = ModuleType(name)
            module.__file__ = path
            with open(path, "rb") as source:
                exec(compile(source.read(), path, "exec"), vars(module))  # noqa: S102


try:
    provide("verdict_contract", "verdict_check")
    import verdict_contract as contract
    from verdict_check import (
        USAGE_ERROR,
        CannotRead,
        Parser,
        decode,
        ended,
        json_line,
        read_bytes,
        say,
        show,
        twice,
        visible,
    )
except (Exception, SystemExit) as _error:
    _reason = f"a module cannot be loaded: {type(_error).__name__}: {_error}"
    if __name__ != "__main__":
        raise ImportError(_reason) from _error
    with contextlib.suppress(OSError):  # where stderr is closed or full, sys.exit with a text would end in 120
        os.write(2, f"{_PROGRAM}: {ascii(_reason)[1:-1]}\n".encode())
    os._exit(1)  # with python -i, sys.exit would go on with what stdin holds, and leave with 0

Invoke = Callable[..., object]


class CiGateError(ValueError):
    """An argument that only the caller can have got wrong."""


# --- The decision: conditions on the diff and on what CI said ---------------------------------------


class GateDecision(Enum):
    """What may happen to the change. From the mildest; the worst outcome wins. Only PASS is true."""

    PASS = "PASS"
    FAIL = "FAIL"
    BLOCK = "BLOCK"

    def __bool__(self) -> bool:
        return self is GateDecision.PASS


PASS, FAIL, BLOCK = GateDecision


class GateResult(NamedTuple):
    """The decision and all that led to it; true if it is PASS. Every reason is one printable line, its id first."""

    decision: GateDecision
    reasons: Tuple[str, ...]
    run_id: str  # the run that was expected
    diff_hash: Optional[str]
    ci_conclusion: Optional[str]

    def __bool__(self) -> bool:
        return bool(self.decision)


# fmt: off
# The modules of the gate: Python takes a package or a compiled file of such a name for one of them.
_MODULES = (
    "change_diff", "ci_gate", "final_message", "prompt_guard", "review_gate", "reviewer_process", "verdict_check",
    "verdict_contract",
)

# Whoever can write these can make CI, or this gate, say anything.
DENIED = (
    ".github/**", ".ci/**", ".gitlab-ci.yml", "**/.git*", "**/.git/**", "**/action.yml", "**/action.yaml",
    "**/CODEOWNERS", ".pre-commit-*.yaml",
    *(f"**/{name}*/**" for name in _MODULES), "tools/verdict/**", "**/review.sh", "**/__pycache__/**", "**/*.pyc",
    "**/pre-push", "**/.husky/**", "**/.githooks/**",
    # Files that many CI systems, not all, read by default; and where LFS gets its content from.
    ".gitlab/**", ".gitea/**", ".forgejo/**", ".circleci/**", ".buildkite/**", ".travis.yml", "**/Jenkinsfile*",
    "azure-pipelines*.yml", "azure-pipelines*.yaml", ".azure-pipelines/**", "bitbucket-pipelines.yml", ".drone.*",
    ".woodpecker*/**", ".woodpecker.y*ml", ".cirrus.*", "appveyor.yml", ".appveyor.yml", ".teamcity/**",
    ".semaphore/**", "cloudbuild.y*ml", "cloudbuild.json", "buildspec*.y*ml", ".tekton/**", ".builds/**", ".build.yml",
    ".pre-commit-*.yml", ".zuul.yaml", "zuul.d/**", ".harness/**", "circle.yml", "bitrise.yml", "wercker.yml",
    "codefresh.yml", ".vsts-ci.yml", ".scrutinizer.yml", ".lfsconfig",
)
# fmt: on

_WILDCARD = re.compile(r"(?:(?<=/)|\A)\*\*/|/\*\*\Z|\*\*|\*")
_MEANS = {"**/": "(?:.*/)?", "/**": "(?:/.*)?", "**": ".*", "*": "[^/]*"}


def _matcher(glob: str) -> Callable[[str], object]:
    """What tells whether a whole path matches the glob."""
    plain = map(re.escape, _WILDCARD.split(glob))
    wild = [_MEANS[wildcard] for wildcard in _WILDCARD.findall(glob)]
    return re.compile("".join(p + w for p, w in zip(plain, [*wild, ""])), re.DOTALL).fullmatch


def _folded(text: str) -> str:
    """The path or glob as file systems may compare it: HFS+ drops format characters, NTFS what its name ends in.

    There a name ends at a colon, and blanks and dots before that do not count. Neither looks at case.
    """
    seen = "".join(c for c in text if unicodedata.category(c) != "Cf")
    parts = (part.split(":")[0].rstrip(". ") for part in unicodedata.normalize("NFC", seen).split("/"))
    return "/".join(parts).casefold()


class _Facts(NamedTuple):
    """All that the conditions look at."""

    diff: object  # as it was given
    diff_hash: Optional[str]  # None: it has no bytes
    patch: "Patch"
    ledger_hash: object
    ci_result: object  # as it was given
    run_id: str
    scope: Optional[Tuple[str, ...]]
    denied: Tuple[str, ...]

    @property
    def paths(self) -> List[str]:
        return list(dict.fromkeys(path for change in self.patch.changes for path in change.paths))

    @property
    def result(self) -> Optional[Mapping[str, object]]:
        return self.ci_result if isinstance(self.ci_result, Mapping) else None

    @property
    def conclusion(self) -> object:
        return self.result.get("conclusion") if self.result is not None else None


class Condition(NamedTuple):
    """A row of the decision. The id is public: reasons, tests and documents use it."""

    id: str
    outcome: GateDecision
    when: str
    holds: Callable[[_Facts], str]  # the values that make it hold, or ""


_SHOWN_TEXT, _SHOWN = 200, 5  # characters of a value, and items of a reason


def _shown(value: object) -> str:
    """A value for a reason: text quoted, a number or bool as it is, both cut; of anything else its type."""
    if isinstance(value, str):
        return f'"{visible(value[:_SHOWN_TEXT])}"' + ("…" if len(value) > _SHOWN_TEXT else "")
    if isinstance(value, (int, float)):
        # Python refuses to write a large number in decimal digits.
        text = hex(value) if isinstance(value, int) and abs(value) >> 64 else str(value)
        return text[:_SHOWN_TEXT] + ("…" if len(text) > _SHOWN_TEXT else "")
    return "missing" if value is None else f"a {type(value).__name__}"


def _as_id(value: object) -> Optional[str]:
    """An id as text; a number becomes its digits, and anything else is no id."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64:
        return str(value)
    return value if isinstance(value, str) else None


def _some(items: Sequence[str]) -> str:
    """The first few items, and how many there are beside."""
    more = len(items) - _SHOWN
    return ", ".join(items[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _lower(value: object) -> Optional[str]:
    """Hex digits in the case that they are compared in; None for what is no text."""
    return value.lower() if isinstance(value, str) else None


def _wrong_hash(given: object, f: _Facts) -> str:
    """What is wrong about a hash that has to be the diff's. Without a diff, only whether it is one at all."""
    found = _lower(given)
    right = found is not None and re.fullmatch("[0-9a-f]{64}", found) and f.diff_hash in (found, None)
    return "" if right else f"{_shown(given)} is not the SHA-256 of this diff, {_shown(f.diff_hash)}"


def _missing_diff(f: _Facts) -> str:
    if not isinstance(f.diff, (str, bytes)):
        return f"the diff is {_shown(f.diff)}"
    return "the diff is not UTF-8" if f.diff_hash is None else "" if f.diff.strip() else "the diff is blank"


def _other_run(f: _Facts) -> str:
    run_id = f.result.get("run_id") if f.result is not None else f.run_id
    return "" if _as_id(run_id) == f.run_id else f"{_shown(run_id)} is not the run {_shown(f.run_id)}"


def _denied_paths(f: _Facts) -> str:
    globs = [(glob, _matcher(_folded(glob))) for glob in f.denied]
    paths = [(path, _folded(path)) for path in f.paths]
    hits = {path: glob for path, folded in paths for glob, fits in globs if fits(folded)}
    return _some([f"{_shown(path)} is {_shown(glob)}" for path, glob in hits.items()])


def _outside_scope(f: _Facts) -> str:
    fits = [_matcher(glob) for glob in f.scope or ()]
    outside = [_shown(path) for path in f.paths if f.scope is not None and not any(fit(path) for fit in fits)]
    return (
        f"{_some(outside)} outside {_some([_shown(glob) for glob in f.scope or ()]) or 'an empty scope'}"
        if outside
        else ""
    )


def _no_evidence(f: _Facts) -> str:
    if f.result is None or (isinstance(f.conclusion, str) and f.conclusion in _EVIDENCE):
        return ""
    detail = f.result.get("detail")
    why = f": {visible(detail[:1000])}" if isinstance(detail, str) else ""
    return f"the conclusion is {_shown(f.conclusion)}{why}"


def _concluded(f: _Facts, outcome: GateDecision) -> str:
    told = f.result or {}
    if not isinstance(f.conclusion, str) or _EVIDENCE.get(f.conclusion) is not outcome:
        return ""
    run_id, diff_hash = (_shown(told.get(key)) for key in ("run_id", "diff_hash"))
    return f"run {run_id} concluded {_shown(f.conclusion)} on the diff {diff_hash}"


DIFF_COMMAND = "change_diff.py BASE HEAD -o change.diff"
_EVIDENCE = {"success": PASS, "failure": FAIL, "timed_out": FAIL}

# fmt: off
CONDITIONS = (
    Condition("no-diff", BLOCK, "the diff is missing, not text, or blank",
              _missing_diff),
    Condition("ledger", BLOCK, "the ledger hash is missing or is not this diff's",
              lambda f: _wrong_hash(f.ledger_hash, f)),
    Condition("no-result", BLOCK, "there is no CI result, or it is not a mapping",
              lambda f: f"the CI result is {_shown(f.ci_result)}, and no mapping" if f.result is None else ""),
    Condition("other-run", BLOCK, "the result's `run_id` is missing or is not the expected run",
              _other_run),
    Condition("other-diff", BLOCK, "the result's `diff_hash` is missing or is not this diff's",
              lambda f: _wrong_hash(f.result.get("diff_hash"), f) if f.result is not None else ""),
    Condition("unreadable-diff", BLOCK, "the diff is not, to its last line, what git writes",
              lambda f: f.patch.problem and f"{f.patch.problem}; take the diff from: {DIFF_COMMAND}"),
    Condition("denied-path", BLOCK, "it touches a path that judges it: `DENIED`, and `denied` of the call",
              _denied_paths),
    Condition("out-of-scope", BLOCK, "a scope is given, and it touches a path outside",
              _outside_scope),
    Condition("opaque-content", BLOCK,
              "it leaves content out: a binary stub, a submodule, a symbolic link, a bare rename or copy",
              lambda f: _some([f"{_shown(c.paths[-1])} is {c.opaque}" for c in f.patch.changes if c.opaque])),
    Condition("passed", PASS, "the conclusion is `success`",
              lambda f: _concluded(f, PASS)),
    Condition("failed", FAIL, "the conclusion is `failure` or `timed_out`",
              lambda f: _concluded(f, FAIL)),
    Condition("no-evidence", BLOCK, "there is any other conclusion, or none",
              _no_evidence),
)
# fmt: on


def evaluate_verdict(
    *,
    candidate_diff: object,
    ledger_hash: object,
    ci_result: object,
    expected_run_id: str,
    allowed_scope: Optional[Iterable[str]] = None,
    denied: Iterable[str] = (),
) -> GateResult:
    """Decide on a diff by CI's result for it; every one of CONDITIONS is looked at, and the worst outcome wins.

    candidate_diff: bytes, or text (UTF-8, with surrogateescape), of DIFF_COMMAND. ledger_hash: the SHA-256, in hex, of
    the diff that was signed off. ci_result: a mapping with run_id, diff_hash and conclusion. These two have to come
    from where the model cannot write. allowed_scope: globs that all touched paths have to match; None: no limit.
    denied: globs beside those of DENIED, in any case.
    Raises CiGateError for an expected_run_id that is empty or no str, and for globs that are none; all else that is
    wrong blocks.
    """
    data = _bytes(candidate_diff)
    facts = _Facts(
        diff=candidate_diff,
        diff_hash=None if data is None else hashlib.sha256(data).hexdigest(),
        patch=read_patch(data if data and data.strip() else b""),
        ledger_hash=ledger_hash,
        ci_result=ci_result,
        run_id=_checked_id(expected_run_id),
        scope=None if allowed_scope is None else _checked_globs("allowed_scope", allowed_scope),
        denied=DENIED + _checked_globs("denied", denied),
    )
    held = [(condition, why) for condition in CONDITIONS for why in [condition.holds(facts)] if why]
    decision = max((condition.outcome for condition, _ in held), key=list(GateDecision).index)
    reasons = (f"{c.id}: {why}" for c, why in held if decision is PASS or c.outcome is not PASS)
    conclusion = facts.conclusion if isinstance(facts.conclusion, str) else None
    return GateResult(decision, tuple(reasons), facts.run_id, facts.diff_hash, conclusion)


def _bytes(diff: object) -> Optional[bytes]:
    """The diff's bytes; None for what has none."""
    try:
        data = diff.encode("utf-8", "surrogateescape") if isinstance(diff, str) else diff
    except UnicodeEncodeError:
        return None
    return data if isinstance(data, bytes) else None


def _checked_id(run_id: object) -> str:
    if not isinstance(run_id, str) or not run_id.strip():
        raise CiGateError("the expected run id is a str that is not empty")
    return run_id


def _checked_texts(name: str, texts: object) -> Tuple[str, ...]:
    if isinstance(texts, (str, bytes, Mapping)) or not isinstance(texts, Iterable):
        raise CiGateError(f"{name} is a list of str, not {_shown(texts)}")
    found = tuple(texts)
    if not all(isinstance(text, str) and text for text in found):
        raise CiGateError(f"{name} holds something else than str, or an empty one")
    return found


def _checked_globs(name: str, globs: object) -> Tuple[str, ...]:
    found = _checked_texts(name, globs)
    never = [glob for glob in found if {"", ".", ".."} & set(glob.split("/"))]
    if never:
        raise CiGateError(f"{name}: no path can match {_shown(never[0])}, as it has an empty, . or .. part")
    return found


def ci_result_from_jobs(
    payload: object, *, head_sha: str, run_id: str, required: Iterable[str], diff_hash: Optional[str]
) -> Dict[str, object]:
    """The CI result for evaluate_verdict out of GitHub's "list jobs for a workflow run" (filter=latest), as it comes.

    Not out of check runs, which any job that may write checks can create.
    payload: that object, or a list of such pages. Jobs of another run or head do not count; each name in required has
    to be there once, completed. The conclusion is None unless all of them ended in success, failure or timed_out, no
    page is missing, and no two overlap; detail then says why. Nothing here ties head_sha to the diff: that is the
    caller's claim.
    Raises CiGateError for a head_sha that is no full hex id, an empty or non-str run_id, and a required that is empty
    or holds anything but str.
    """
    if not isinstance(head_sha, str) or not re.fullmatch("(?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64})", head_sha):
        raise CiGateError("head_sha is a full commit id in hex")
    names, run_id = _checked_texts("required", required), _checked_id(run_id)
    if not names:
        raise CiGateError("required is empty: no job would have to pass")
    listed, wanted = _listed(payload), (run_id, head_sha.lower())
    ours = [job for job in listed or () if (_as_id(job.get("run_id")), _lower(job.get("head_sha"))) == wanted]
    states = {name: _state([job for job in ours if job.get("name") == name]) for name in names}
    lacking = [f"{_shown(name)} {state}" for name, state in states.items() if state not in _EVIDENCE]
    problems = lacking if listed is not None else ["the list of jobs is cut off or malformed, or its pages overlap"]
    worst = next((state for state in ("failure", "timed_out") if state in states.values()), "success")
    conclusion = None if problems else worst
    return {"run_id": run_id, "diff_hash": diff_hash, "conclusion": conclusion, "detail": _some(problems) or None}


def _listed(payload: object) -> Optional[List[Mapping[str, object]]]:
    """All jobs of all pages; None unless they are jobs, as many as each page says, and none of them twice."""
    jobs: List[Mapping[str, object]] = []
    counts: List[object] = []
    pages: List[object] = payload if isinstance(payload, list) else [payload]
    for page in pages:
        told: Mapping[str, object] = page if isinstance(page, Mapping) else {}
        listed = told.get("jobs")
        if not isinstance(listed, list) or not all(isinstance(job, Mapping) for job in listed):
            return None
        jobs += listed
        counts.append(told.get("total_count"))
    whole = all(type(count) is int and count == len(jobs) for count in counts)
    return jobs if whole and not _overlap(jobs) else None


def _overlap(jobs: Sequence[Mapping[str, object]]) -> bool:
    """Whether a job is listed twice, which may hide that another is not listed: by id, or the same row without one."""
    ids = [_as_id(job.get("id")) for job in jobs]
    known = [job_id for job_id in ids if job_id is not None]
    rows = [job for job, job_id in zip(jobs, ids) if job_id is None]
    return len(set(known)) < len(known) or any(row in rows[:at] for at, row in enumerate(rows))


def _state(jobs: Sequence[Mapping[str, object]]) -> str:
    """The conclusion of a job that is listed once and completed, else why it has none."""
    if len(jobs) != 1:
        return "is listed more than once" if jobs else "is missing"
    status, conclusion = jobs[0].get("status"), jobs[0].get("conclusion")
    if status != "completed":
        return f"has the status {_shown(status)}"
    return conclusion if isinstance(conclusion, str) and conclusion in _EVIDENCE else f"concluded {_shown(conclusion)}"


def with_reviews(result: GateResult, verdicts: Iterable[Optional[str]]) -> GateResult:
    """The result after the reviewers, who can only lower it: a PASS takes APPROVE from all of them, at least one.

    verdicts: as verdict_contract reads them. Any REQUEST_CHANGES makes FAIL of a PASS, anything else BLOCK; FAIL and
    BLOCK stay. Raises CiGateError for a result that is none, and for verdicts that are no list.
    """
    if not isinstance(result, GateResult) or isinstance(verdicts, (str, bytes)) or not isinstance(verdicts, Iterable):
        raise CiGateError("with_reviews takes a GateResult and a list of verdicts")
    heard = list(verdicts)
    verdict = contract.combine(heard)
    reviewed = {contract.APPROVE: PASS, contract.REQUEST_CHANGES: FAIL}.get(str(verdict), BLOCK)
    reason = f"reviews: {verdict or 'nothing stated'}, {heard.count(contract.APPROVE)} of {len(heard)} approve"
    decision = reviewed if result.decision is PASS else result.decision
    return result._replace(decision=decision, reasons=(*result.reasons, reason))


# --- The patch reader: which paths a diff touches -------------------------------------------------
#
# git apply finds its way through almost anything, and where names disagree it takes one that a
# plain reader does not expect. So this reads what git diff writes and nothing else: the names are
# taken out loosely, then every line that holds one is written anew as git would, and compared.


class Change(NamedTuple):
    """What a diff does to one file."""

    paths: Tuple[str, ...]  # the old name, and the new one if it is another
    deleted: bool
    opaque: str  # what of it the diff does not show, or ""


class Patch(NamedTuple):
    """The changes of a diff up to its end, or up to the line that git would not have written."""

    changes: Tuple[Change, ...]
    problem: str  # "" if there is none


class _NotFromGit(Exception):
    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at = at


_MODE = rb"(?:100644|100755|120000|160000)"
_HEADER = re.compile(
    rb"""
    diff\ --git\ (?P<names>[^\n]+)\n
    (?: new\ file\ mode\ (?P<added>%(mode)s)\n
      | deleted\ file\ mode\ (?P<deleted>%(mode)s)\n
      | old\ mode\ (?P<old_mode>%(mode)s)\nnew\ mode\ (?P<new_mode>%(mode)s)\n )?
    (?: similarity\ index\ [0-9]{1,3}%%\n
        (?P<moved>rename|copy)\ from\ (?P<source>[^\n]+)\n(?P=moved)\ to\ (?P<target>[^\n]+)\n
      | (?P<rewritten>dissimilarity\ index\ [0-9]{1,3}%%)\n )?
    (?P<index>index\ [0-9a-f]{4,64}\.\.[0-9a-f]{4,64}(?:\ (?P<mode>%(mode)s))?\n)?
    (?: ---\ (?P<minus>[^\n]+)\n\+\+\+\ (?P<plus>[^\n]+)\n(?=@@\ )
      | (?P<stub>Binary\ files\ [^\n]+\ differ)\n
      | (?P<binary>GIT\ binary\ patch)\n )?
    """
    % {b"mode": _MODE},
    re.VERBOSE,
)

# Which parts go together, one letter for each: a(dded), d(eleted), o(ld mode), m(oved), (re)w(ritten), i(ndex) or
# I(ndex with mode), b(ody). Where git apply is not told a mode it takes that of the file, which may be a link.
_SHAPE = re.compile(r"[ad]ib? | om? | m | o[mw]?ib | [mw]?Ib", re.VERBOSE)
_OPAQUE_MODES = {b"120000": "a symbolic link", b"160000": "a submodule"}
_NULL = b"/dev/null"
_LONGEST_NAME = 4096  # what a system call takes; it bounds the work on globs too

_NUMBER = rb"(?:0|[1-9][0-9]{0,8})"
_HUNK = re.compile(
    rb"@@ -(?P<old>%(n)s)(?:,(?P<olds>%(n)s))? \+(?P<new>%(n)s)(?:,(?P<news>%(n)s))? @@(?: [^\n]*)?\n" % {b"n": _NUMBER}
)
_SIDES = {b" ": (1, 1), b"\n": (1, 1), b"-": (1, 0), b"+": (0, 1)}  # git cuts the blank of an empty line if told to
_NO_LINE_END = b"\\ No newline at end of file\n"

_BINARY = re.compile(rb"(?:literal|delta) %s\n((?:[A-Za-z][0-9A-Za-z!#$%%&()*+;<=>?@^_`{|}~-]+\n)+)\n" % _NUMBER)


def read_patch(diff: bytes) -> Patch:
    """The paths that git apply touches with this diff, if git diff wrote it; else where and why it did not.

    A path that is not UTF-8 holds surrogate escapes. Of a diff with a problem, git may touch more than is named.
    """
    changes: List[Change] = []
    results = set()
    at = start = 0
    try:
        while at < len(diff):
            start = at
            change, at = _read_change(diff, start)
            changes.append(change)
            results.add((change.paths[-1], change.deleted))
            if len(results) < len(changes):
                raise _NotFromGit(start, "a file is changed twice")
    except _NotFromGit as error:
        line = diff.count(b"\n", 0, error.at) + 1
        return Patch(tuple(changes), f"line {line}: {error}")
    return Patch(tuple(changes), "")


def _read_change(diff: bytes, at: int) -> Tuple[Change, int]:
    """A change, and where the next one starts."""
    head = _HEADER.match(diff, at)
    if not head:
        raise _NotFromGit(at, "this begins no file as git diff does")
    if not _SHAPE.fullmatch(_shape(head)):
        raise _NotFromGit(at, "the header's parts do not belong together")
    paths = tuple(dict.fromkeys(name.decode("utf-8", "surrogateescape") for name in _names(head)))
    at = head.end()
    if head["minus"]:
        at = _read_hunks(diff, at, head)
    elif head["binary"]:
        at = _read_binary(diff, _read_binary(diff, at))
    return Change(paths, bool(head["deleted"]), _opaque(head)), at


def _opaque(head: "re.Match[bytes]") -> str:
    """What of the file the diff does not show, or ""."""
    modes = (head[part] for part in ("added", "deleted", "old_mode", "new_mode", "mode"))
    hidden = [_OPAQUE_MODES[mode] for mode in modes if mode in _OPAQUE_MODES]
    if head["moved"] and not (head["mode"] or head["old_mode"]):
        hidden.append("moved without its mode, so perhaps a symbolic link; take the diff from change_diff.py")
    return next(iter(hidden), "a binary file whose content is left out" if head["stub"] else "")


def _shape(head: "re.Match[bytes]") -> str:
    """The letters of _SHAPE for the parts that are there."""
    body = head["minus"] or head["stub"] or head["binary"]
    # fmt: off
    parts = (("a", head["added"]), ("d", head["deleted"]), ("o", head["old_mode"]), ("m", head["moved"]),
             ("w", head["rewritten"]), ("I" if head["mode"] else "i", head["index"]), ("b", body))
    # fmt: on
    return "".join(letter for letter, there in parts if there)


def _names(head: "re.Match[bytes]") -> Tuple[bytes, bytes]:
    """The old and the new name, after every line that holds one was found to be as git writes it."""
    names = head["names"]
    if head["moved"]:
        old, new = _unquoted(head["source"]), _unquoted(head["target"])
    else:
        old = new = _unquoted(names[: len(names) // 2])[2:]
    found = {line: text for line, text in head.groupdict().items() if text is not None}
    # Twice, since core.quotePath decides whether bytes beyond ASCII are quoted.
    candidates = (_written(head, old, new, quote_high) for quote_high in (True, False))
    if not any(all(found.get(line, text) == text for line, text in lines.items()) for lines in candidates):
        raise _NotFromGit(head.start(), "the names are not, or not all, written as git diff writes them")
    if not (_proper(old) and _proper(new)) or (head["moved"] and old == new):
        raise _NotFromGit(head.start(), "a name is none that git would take")
    return old, new


def _written(head: "re.Match[bytes]", old: bytes, new: bytes, quote_high: bool) -> Dict[str, bytes]:
    """The lines of a header that hold names, as git writes them, by the group that found them."""
    a, b = _quoted(b"a/" + old, quote_high), _quoted(b"b/" + new, quote_high)
    minus, plus = (_NULL if head["added"] else a), (_NULL if head["deleted"] else b)
    return {
        "names": a + b" " + b,
        "source": _quoted(old, quote_high),
        "target": _quoted(new, quote_high),
        "minus": minus + (b"\t" if b" " in minus else b""),
        "plus": plus + (b"\t" if b" " in plus else b""),
        "stub": b"Binary files " + minus + b" and " + plus + b" differ",
    }


def _quoted(name: bytes, quote_high: bool) -> bytes:
    """The name as git writes it. Control characters are left out here, as _proper takes none."""
    high = rb"\x80-\xff" if quote_high else b""
    text = re.sub(rb'[\\"%s]' % high, lambda m: b"\\" + (m[0] if m[0] < b"\x80" else b"%03o" % ord(m[0])), name)
    return name if text == name else b'"' + text + b'"'


def _unquoted(text: bytes) -> bytes:
    """The name that git may have written so; what this gets wrong does not come out the same when it is quoted."""
    if not text.startswith(b'"'):
        return text
    return re.sub(rb"\\([0-3][0-7]{2}|.)", lambda m: bytes([int(m[1], 8)]) if m[1][1:] else m[1], text[1:-1])


def _proper(name: bytes) -> bool:
    """Whether it is a relative path in normal form, out of .git and without control characters."""
    text = name.decode("utf-8", "surrogateescape")
    parts = text.casefold().split("/")
    printable = not any(unicodedata.category(c) == "Cc" for c in text)
    return printable and len(name) <= _LONGEST_NAME and not any(part in ("", ".", "..", ".git") for part in parts)


def _read_hunks(diff: bytes, at: int, header: "re.Match[bytes]") -> int:
    """Where the hunks end. They go forward; a file added or deleted has one, of a single side."""
    first = at
    old_end, shift = 1, 0  # the first old line that is still free; new lines minus old ones so far
    goes_on = [1, 1]  # old and new side: 0 from the line on that lacks its line end, and so is the last
    while diff.startswith(b"@@ ", at):
        head = _HUNK.match(diff, at)
        if not head or b"1" in (head["olds"], head["news"]):
            raise _NotFromGit(at, "this begins no hunk as git diff does")
        olds, news = (1 if head[count] is None else int(head[count]) for count in ("olds", "news"))
        # A side without lines is said to start at the line before it.
        old, new = int(head["old"]) + (olds == 0), int(head["new"]) + (news == 0)
        extra = (header["added"] and olds) or (header["deleted"] and news)
        again = (header["added"] or header["deleted"]) and at > first
        if old < old_end or new != old + shift or extra or again:
            raise _NotFromGit(at, "a hunk is not where it has to be")
        old_end, shift = old + olds, shift + news - olds
        at = _read_lines(diff, head.end(), olds, news, goes_on)
    return at


def _read_lines(diff: bytes, at: int, olds: int, news: int, goes_on: List[int]) -> int:
    """Where the hunk ends that has so many old and new lines. A line that looks like a header is a line."""
    changed = False
    while olds or news:  # a count below 0 stays there, so that the loop meets a line that is none
        old, new = _SIDES.get(diff[at : at + 1], (0, 0))
        end = diff.find(b"\n", at) + 1
        olds, news = olds - old, news - new
        if not (end and (old or new)) or old > goes_on[0] or new > goes_on[1]:
            raise _NotFromGit(at, "a hunk's lines are not those that its header counts")
        if diff.startswith(_NO_LINE_END, end):
            end += len(_NO_LINE_END)
            goes_on[:] = goes_on[0] - old, goes_on[1] - new
        at, changed = end, changed or old != new
    if not changed:
        raise _NotFromGit(at, "a hunk changes nothing")
    return at


def _read_binary(diff: bytes, at: int) -> int:
    """Where one of the two blocks of a binary patch ends: a size, lines in base 85, a blank line."""
    block = _BINARY.match(diff, at)
    lines = block[1].splitlines() if block else [b""]
    if not block or any(len(line) - 1 != -(-_length(line) // 4) * 5 for line in lines):
        raise _NotFromGit(at, "a binary patch is not as git diff writes it")
    return block.end()


def _length(line: bytes) -> int:
    """How many bytes a line of base 85 says that it holds: A to Z are 1 to 26, a to z go on to 52."""
    return line[0] - (ord("A") - 1 if line[:1].isupper() else ord("a") - 27)


# --- The proposer: advice on a decision that has been made ----------------------------------------
#
# Nothing from here on makes or changes a GateResult. What a model replies is read as data, for two
# keys, and becomes plain text.


class _Advice(NamedTuple):
    hint: str
    suggestions: Tuple[str, ...]


class FixProposal(_Advice):
    """Advice on a change that did not pass: a hint, and suggestions in order. False if there is neither.

    Raises CiGateError for a hint that is no str, and for suggestions that are no list of str.
    """

    __slots__ = ()

    def __new__(cls, hint: str = "", suggestions: Optional[Iterable[str]] = None) -> "FixProposal":  # noqa: D102, PYI034
        if not isinstance(hint, str):
            raise CiGateError("a hint is a str")
        return super().__new__(cls, hint, _checked_texts("suggestions", suggestions or ()))

    def __bool__(self) -> bool:
        return bool(self.hint or self.suggestions)

    def as_hint(self) -> str:
        """The hint, then the suggestions with their numbers, a line for each."""
        numbered = (f"{number}. {text}" for number, text in enumerate(self.suggestions, 1))
        return "\n".join(filter(None, [self.hint, *numbered]))


_SYSTEM = """\
A gate that is plain code has stopped a change, and tells why below. Its decision is final and is not yours to make:
nothing that you reply can change it, and a claim that something passes is ignored. Propose how to fix the change."""
_FORM = """\
Reply with one JSON object and nothing else: {"hint": "the cause, in a sentence or two", "suggestions": ["a step"]}"""
_REPLY_LIMIT, _TASK_LIMIT, _TEXT_LIMIT, _SUGGESTIONS_LIMIT = 100_000, 10_000, 2_000, 20  # characters; the last: items
_TASK_KEYS = (("plan", "task"), ("plan", "description"), ("task",), ("description",))
_FENCED = re.compile(r"^```[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_BRACES = re.compile(r'\\.|["{}]', re.DOTALL)


class FixProposer:
    """Asks a model for a FixProposal, by invoke(prompt, model=..., config=...), whose result has the reply as .text.

    invoke may be None (no proposals), and may do and return anything: see CommandInvoke for one that runs a command.
    """

    def __init__(
        self, invoke: Optional[Invoke] = None, *, model: object = None, config: object = None, system: str = _SYSTEM
    ) -> None:
        self._invoke, self._model, self._config, self._system = invoke, model, config, system

    def propose(self, gate_result: GateResult, state: object = None) -> FixProposal:
        """The model's proposal; an empty one on PASS, where it is not called, and where anything goes wrong.

        state: a mapping that may hold the task, under one of _TASK_KEYS. Raises nothing but KeyboardInterrupt: not even
        the SystemExit of an invoke, which would end the caller with a status of the invoke's choice.
        """
        if self._invoke is None or not isinstance(gate_result, GateResult) or gate_result.decision is PASS:
            return FixProposal()
        try:
            reply = self._invoke(self._prompt(gate_result, state), model=self._model, config=self._config)
            return _read_reply(getattr(reply, "text", None))
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001  (advice that fails is no reason not to hear the decision)
            return FixProposal()

    def advise(self, gate_result: GateResult, state: object = None) -> str:
        """The proposal as text; "" for an empty one. Raises nothing but KeyboardInterrupt."""
        return self.propose(gate_result, state).as_hint()

    def _prompt(self, result: GateResult, state: object) -> str:
        reasons = "\n".join(f"- {reason}" for reason in result.reasons)
        decision = f"The decision: {result.decision.value}\n{reasons}"
        return "\n\n".join([self._system, f"The task of the change:\n{_task(state)}", decision, _FORM]) + "\n"


def _task(state: object) -> str:
    """The task's description in a state, or ""."""
    for keys in _TASK_KEYS:
        value = state
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, str) and value.strip():
            return value[:_TASK_LIMIT]
    return ""


def _read_reply(text: object) -> FixProposal:
    """The proposal in a model's reply; empty if there is none."""
    found = _find_object(text[:_REPLY_LIMIT]) if isinstance(text, str) else {}
    suggestions = found.get("suggestions")
    items = suggestions[:_SUGGESTIONS_LIMIT] if isinstance(suggestions, list) else []
    return FixProposal(_plain(found.get("hint")), list(filter(None, map(_plain, items))))


def _find_object(text: str) -> Dict[str, object]:
    """The JSON object that is the text, or stands in its first fenced block, or in its first balanced braces."""
    fenced = _FENCED.search(text)
    for candidate in (text, fenced[1] if fenced else "", _balanced(text)):
        try:
            found = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    return {}


def _balanced(text: str) -> str:
    """From the first brace to the one that closes it, strings aside; "" if none does. Looks at each character once."""
    start = text.find("{")
    depth, quoted = 0, False
    for token in _BRACES.finditer(text, max(start, 0)):
        if token[0] == '"':
            quoted = not quoted
        elif token[0] in "{}" and not quoted:
            depth += 1 if token[0] == "{" else -1
            if depth == 0:
                return text[start : token.end()]
    return ""


def _plain(value: object) -> str:
    """Untrusted text on one line, cut, and without control, format and surrogate characters; "" for what is no text."""
    words = " ".join(value[:_TEXT_LIMIT].split()) if isinstance(value, str) else ""
    return "".join(c for c in words if unicodedata.category(c) not in ("Cc", "Cf", "Cs"))


def propose_for_failure(
    *, proposer: Optional[FixProposer] = None, state: object = None, **call: Any
) -> Tuple[GateResult, FixProposal]:
    """evaluate_verdict of the same arguments, and then a proposal on its result: empty on PASS or without a proposer.

    Raises CiGateError as evaluate_verdict does.
    """
    result = evaluate_verdict(**call)
    return result, proposer.propose(result, state) if proposer is not None else FixProposal()


def build_fix_advisor(
    invoke: Optional[Invoke] = None, *, model: object = None, config: object = None, system: str = _SYSTEM
) -> Callable[..., str]:
    """The advise of a FixProposer made of these arguments."""
    return FixProposer(invoke, model=model, config=config, system=system).advise


_KEPT_FROM_COMMANDS = ("ACTIONS_", "GH_", "GITHUB_", "GIT_")  # with these a child speaks to CI and git as the job does


class CommandInvoke:
    """An invoke for FixProposer: a shell command that gets the prompt on stdin and writes its reply to stdout.

    It runs in an empty folder, for timeout seconds at most, with the caller's rights; its stderr is dropped, and its
    environment lacks what begins with _KEPT_FROM_COMMANDS. Calling it raises OSError, subprocess.TimeoutExpired, or
    subprocess.CalledProcessError for a status that is not 0.
    """

    def __init__(self, command: str, timeout: float) -> None:
        self._command, self._timeout = command, timeout

    def __call__(self, prompt: str, *, model: object = None, config: object = None) -> SimpleNamespace:  # noqa: ARG002
        """What the command wrote, as .text; model and config are not for it."""
        # Files, since a pipe makes us wait for what the command leaves behind, and some commands end before it is read.
        with TemporaryDirectory() as folder, TemporaryFile() as asked, TemporaryFile() as said:
            asked.write(prompt.encode("utf-8", "backslashreplace"))
            asked.seek(0)
            process = None
            try:
                with _signals_held():
                    process = self._start(asked, said, folder)
                status = process.wait(self._timeout)
            finally:
                if process:
                    _end(process)
            if status:
                raise subprocess.CalledProcessError(status, self._command)
            said.seek(0)
            return SimpleNamespace(text=said.read(4 * _REPLY_LIMIT).decode("utf-8", "replace"))

    def _start(self, stdin: IO[bytes], stdout: IO[bytes], folder: str) -> "subprocess.Popen[bytes]":
        environment = {name: value for name, value in os.environ.items() if not name.startswith(_KEPT_FROM_COMMANDS)}
        return subprocess.Popen(  # noqa: S602  (a shell command, and the user's own)
            self._command,
            shell=True,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    """Let an interrupt wait until the block ends: within it, a command could start and nobody would know its number."""
    came: List[int] = []
    names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if threading.current_thread() is threading.main_thread() else ()
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    handlers = {number: handler for number in numbers for handler in [signal.getsignal(number)] if callable(handler)}
    try:
        for number in handlers:
            signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if came:
            handlers[came[0]](came[0], None)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the command and what it started, as far as that stayed in its process group (Windows: only the command)."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, OSError):
        process.kill()
    process.wait()


# --- The command ----------------------------------------------------------------------------------

_EXIT_CODES = {PASS: 0, FAIL: 3, BLOCK: 4}
_PROPOSER_TIMEOUT = 600.0


def _unique(pairs: List[Tuple[str, object]]) -> Dict[str, object]:
    """A JSON object, unless it has a key twice: one reader takes the first value, another the last."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("an object has a key twice")
    return dict(pairs)


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is no number of JSON's")


def _read_json(path: str) -> object:
    """The JSON in a file. Raises CannotRead."""
    try:
        return json.loads(read_bytes(path), object_pairs_hook=_unique, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise CannotRead(f"{path}: not JSON: {error}") from error


def _parser() -> Parser:
    parser = Parser(_PROGRAM, USAGE)
    for name in ("--diff", "--ledger-hash", "--run-id"):
        parser.add_argument(name, required=True)
    evidence = parser.add_mutually_exclusive_group(required=True)
    evidence.add_argument("--ci-result")
    evidence.add_argument("--jobs")
    parser.add_argument("--require", nargs="+", action="extend")
    parser.add_argument("--scope", action="append")
    for name in ("--deny", "--review"):
        parser.add_argument(name, action="append", default=[])
    for name in ("--head-sha", "--token", "--propose"):
        parser.add_argument(name)
    parser.add_argument("--json", action="store_true")
    return parser


def _parse(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    """The options. Raises SystemExit for anything but a proper call, after saying what is wrong or was asked for."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if len({value is None for value in (options.jobs, options.head_sha, options.require)}) > 1:
        parser.error("--jobs, --head-sha and --require go together")
    for name, value in vars(options).items():
        texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        if not all(text.strip() for text in texts):  # such as "$RUN_ID", where it is not set
            parser.error(f"--{name.replace('_', '-')} has an empty value")
    if "-" in (options.diff, options.ci_result, options.jobs, *options.review):
        parser.error("standard input is not read: name a file for -")
    if options.token is not None and not options.review:
        parser.error("--token is for --review")
    again = twice(options.review)
    if again is not None:
        parser.error(f"--review names a file twice: {again}")
    try:
        contract.prompt_rule(options.token)
    except ValueError as error:
        parser.error(f"--token: {error}")
    return options


def _decide(options: argparse.Namespace) -> GateResult:
    """The decision with the reviews. Raises CannotRead, and CiGateError for options that are wrong."""
    diff = read_bytes(options.diff)
    if options.jobs is not None:
        ci_result: object = ci_result_from_jobs(
            _read_json(options.jobs),
            head_sha=options.head_sha,
            run_id=options.run_id,
            required=options.require,
            diff_hash=hashlib.sha256(diff).hexdigest(),
        )
    else:
        ci_result = _read_json(options.ci_result)
    result = evaluate_verdict(
        candidate_diff=diff,
        ledger_hash=options.ledger_hash,
        ci_result=ci_result,
        expected_run_id=options.run_id,
        allowed_scope=options.scope,
        denied=options.deny,
    )
    reports = [decode(read_bytes(path)) for path in options.review]
    token = options.token or contract.diff_token(diff)
    return with_reviews(result, [contract.find_verdict(report, token) for report in reports]) if reports else result


def _as_json(result: GateResult, proposal: FixProposal) -> str:
    """One object on one line."""
    advice = proposal._asdict() if proposal else None
    fields = {**result._asdict(), "decision": result.decision.value, "proposal": advice}
    return json_line({**fields, "exit_code": _EXIT_CODES[result.decision]})


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command. Returns the exit status.

    Raises CannotRead for a file or an output, and SystemExit for a wrong call, after saying what is wrong. Sets what
    SIGCHLD does, which only the main thread can.
    """
    if hasattr(signal, "SIGCHLD"):  # where it is ignored, the status of a child is lost, and subprocess says 0
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    options = _parse(arguments)
    try:
        result = _decide(options)
    except CiGateError as error:
        say(_PROGRAM, error)
        return USAGE_ERROR
    proposer = FixProposer(CommandInvoke(options.propose, _PROPOSER_TIMEOUT) if options.propose else None)
    if options.json:
        show([_as_json(result, proposer.propose(result))])
    else:
        # The command may write to our output, or end us: what is decided is out before it runs.
        show([result.decision.value, *(f"reason: {visible(reason)}" for reason in result.reasons)])
        show([f"proposal: {visible(line)}" for line in proposer.advise(result).splitlines()])
    return _EXIT_CODES[result.decision]


if __name__ == "__main__":
    sys.exit(ended(_PROGRAM, main))
