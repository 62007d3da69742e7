"""Run action.yml in workflows, and push through the pre-commit hook; exit 0 if all is as it should be.

  .ci/tools/bin/python .ci/action.py [PYTHON ...]    each PYTHON is a path; the action is also run with those

The workflows are run by `act` on this machine itself, without containers and without network. What that cannot show:
a hosted runner, Windows, macOS, a job in a container, and how a required check blocks a merge.
"""

import hashlib
import html
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, cast

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import test_verdict_contract as testing
import verdict_contract

HERE = testing.HERE
TOOLS = Path(sys.executable).parent
CONSUMED = f"OWNER/verdict-contract@v{verdict_contract.__version__}"  # as the README says
Json = Dict[str, Any]
AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.org")
AT_ONCE = 3  # parts of all this
JOBS = 6  # of a workflow, at once: most of their time is waiting

# --- The cases ------------------------------------------------------------------------------------

ACTION = {name: (HERE / name).read_bytes() for name in ("action.yml", "verdict_check.py", "verdict_contract.py")}
CANARY = "kumquat"  # in every report, and to be seen nowhere
TOKEN = "0123456789abcdef"
DIFF = b"+a line\n"
DIFF_TOKEN = hashlib.sha256(DIFF).hexdigest()[:16]
HOSTILE = (
    "two  words.md", 'it\'s "quoted" `touch owned`.md', "$(touch owned); touch owned #.md", "-n.md", "--help", "-",
    "*.md", "a:b,c%0A::add-mask::x|y.md", "prüf/報告 \N{BUG}.md", r"back\slash\n.md", "::error::x.md",
)  # fmt: skip


def text(last: str, after: str = "") -> bytes:
    """A report of two lines that tries to command the log, and its end."""
    return f"::error::{CANARY}\n{last}\n{after}".encode()


APPROVAL = text("===VERDICT=== APPROVE")
SHADOW = b"import os\nos._exit(0)\n"
FILES: Dict[str, bytes] = {
    "approve.md": APPROVAL,
    "second.md": APPROVAL,
    "token.md": text(f"===VERDICT=== APPROVE {TOKEN}"),
    "of-diff.md": text(f"===VERDICT=== APPROVE {DIFF_TOKEN}"),
    "block.md": text("===VERDICT=== REQUEST_CHANGES"),
    "taken-back.md": text("===VERDICT=== APPROVE", f"No: {CANARY}.\n"),
    "silent.md": text("Fine."),
    "the.diff": DIFF,
    "other.diff": DIFF * 2,
    "empty.diff": b"",
    "folder/a.md": APPROVAL,
    "line\nend.md": APPROVAL,
    # Whatever Python would import by mistake ends it with 0.
    **{f"{folder}{name}.py": SHADOW for folder in ("", "shadow/") for name in ("argparse", "codecs", "sitecustomize")},
    # act stops reading a step's output as the step ends, so the last lines of a quick one get lost.
    "wait": b"trap 'sleep 0.3' EXIT\n",
    "stubs/python3": b"#!/bin/sh\nexit 0\n",
    "stubs/python": b"#!/bin/sh\necho Python was not found >&2\nexit 49\n",
    "stubs/py": f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'.encode(),
    "no-python/python3": b"#!/bin/sh\nexit 0\n",
    "no-python/python": b"#!/bin/sh\necho False\n",
    "no-python/py": b"#!/bin/sh\nexit 1\n",
    # An environment of the change, whose sitecustomize runs before the first line of a program does.
    "venv/make": f"""\
"{sys.executable}" -I -m venv --without-pip venv/made
for site in venv/made/lib/*/site-packages; do cp shadow/argparse.py "$site/sitecustomize.py"; done
! venv/made/bin/python3 -I -c 'raise SystemExit(1)' || echo "$PWD/venv/made/bin" >>"$GITHUB_PATH"
""".encode(),
    **dict.fromkeys(HOSTILE, APPROVAL),
}


class Told(NamedTuple):
    """What is said about one report: a row of the summary and an annotation."""

    report: str
    rule: str = ""
    line: str = ""


class Case(NamedTuple):
    """The inputs of the action, and what has to come of them."""

    name: str
    inputs: Dict[str, str]
    code: int
    verdict: str
    decided: Tuple[str, str] = ("", "")
    told: Tuple[Told, ...] = ()
    path: str = ""  # a folder that comes first on PATH
    proceed: bool = False  # continue-on-error


def one(name: str, report: str, code: int, verdict: str, told: Told, **inputs: str) -> Case:
    """A case with a single report."""
    return Case(name, {"report": report, **inputs}, code, verdict, (told.rule, told.line), (told,))


GOOD = Told("approve.md", "approved", "2")
SECOND = GOOD._replace(report="second.md")
BLOCK = Told("block.md", "blocked", "2")
BACK = Told("taken-back.md", "not-last", "2")
MISSING = Told("none-such.md")
NO_TOKEN = Told("approve.md", "wrong-token", "2")
WITH_TOKEN = Told("token.md", "wrong-token", "2")
DECIDED = ("approved", "2")

CASES: Tuple[Case, ...] = (
    one("approve", "approve.md", 0, "APPROVE", GOOD),
    one("block", "block.md", 3, "REQUEST_CHANGES", BLOCK),
    one("ambiguous", "taken-back.md", 4, "AMBIGUOUS", BACK),
    one("silent", "silent.md", 4, "none", Told("silent.md", "not-stated")),
    one("missing", "none-such.md", 1, "none", MISSING),
    one("a-folder", "folder", 1, "none", Told("folder")),
    one("no-pattern", "folder/*.md", 1, "none", Told("folder/*.md")),
    one("blank-lines-and-cr", "\r\napprove.md\r\n\n", 0, "APPROVE", GOOD),
    Case("panel", {"report": "approve.md\nsecond.md"}, 0, "APPROVE", DECIDED, (GOOD, SECOND)),
    Case("panel-block", {"report": "approve.md\nblock.md\n"}, 3, "REQUEST_CHANGES", ("blocked", "2"), (GOOD, BLOCK)),
    Case("panel-missing", {"report": "approve.md\nnone-such.md\n"}, 1, "none", ("", ""), (GOOD, MISSING)),
    Case("panel-block-missing", {"report": "none-such.md\nblock.md"}, 1, "none", ("", ""), (MISSING, BLOCK)),
    Case("hostile", {"report": "\n".join(HOSTILE)}, 0, "APPROVE", DECIDED, tuple(
        Told("./-" if name == "-" else name, *DECIDED) for name in HOSTILE
    )),
    Case("line-end", {"report": "line\nend.md"}, 1, "none", ("", ""), (Told("line"), Told("end.md"))),
    Case("twice", {"report": "approve.md\n./approve.md"}, 2, "none"),
    Case("no-report", {"report": " \n".strip(" ")}, 2, "none", told=(Told(""),)),
    one("token", "token.md", 0, "APPROVE", Told("token.md", *DECIDED), token=TOKEN),
    one("token-missing", "approve.md", 4, "AMBIGUOUS", NO_TOKEN, token=TOKEN),
    one("token-other", "token.md", 4, "AMBIGUOUS", WITH_TOKEN, token=TOKEN[::-1]),
    one("token-empty", "token.md", 4, "AMBIGUOUS", WITH_TOKEN, token=""),
    Case("token-malformed", {"report": "token.md", "token": "$(touch owned)"}, 2, "none"),
    one("diff", "of-diff.md", 0, "APPROVE", Told("of-diff.md", *DECIDED), diff="the.diff"),
    one("diff-other", "of-diff.md", 4, "AMBIGUOUS", Told("of-diff.md", "wrong-token", "2"), diff="other.diff"),
    one("diff-empty", "of-diff.md", 1, "none", Told("of-diff.md"), diff="empty.diff"),
    one("diff-missing", "of-diff.md", 1, "none", Told("of-diff.md"), diff="none such $(touch owned)"),
    Case("token-and-diff", {"report": "token.md", "token": TOKEN, "diff": "the.diff"}, 2, "none"),
    one("proceed", "block.md", 3, "REQUEST_CHANGES", BLOCK)._replace(proceed=True),
    one("python-stubs", "block.md", 3, "REQUEST_CHANGES", BLOCK)._replace(path="stubs"),
    one("environment-in-the-tree", "block.md", 3, "REQUEST_CHANGES", BLOCK)._replace(path="venv"),
    Case("no-python", {"report": "approve.md"}, 1, "none", told=(Told(""),), path="no-python"),
)  # fmt: skip


def with_python(path: str) -> Tuple[Case, Dict[str, bytes]]:
    """The hostile case with another Python, and the files that put it first."""
    folder = "with-" + hashlib.sha256(path.encode()).hexdigest()[:8]
    case = next(case for case in CASES if case.name == "hostile")
    return case._replace(name=folder, path=folder), {f"{folder}/python3": f'#!/bin/sh\nexec "{path}" "$@"\n'.encode()}


# --- A workflow of them ---------------------------------------------------------------------------


def job(case: Case, uses: str) -> Json:
    """A job that runs the action, then a step that stands for the merge, and shows what later steps see."""
    gate = {"id": "gate", "uses": uses, "with": case.inputs}
    condition = "steps.gate.outputs.verdict == 'APPROVE'" if case.proceed else "success()"
    prepare = f'[ ! -e {case.path}/make ] || . {case.path}/make; echo "$GITHUB_WORKSPACE/{case.path}" >>"$GITHUB_PATH"'
    shown = '[ -e owned ] || printf "%s" "$GATE"'
    steps: List[Json] = [
        {"uses": "actions/checkout@v4.2.2"},
        *([{"run": prepare}] if case.path else []),
        {**gate, "continue-on-error": True} if case.proceed else gate,
        {"id": "merge", "if": condition, "run": "true"},
        {"id": "after", "if": "always()", "env": {"GATE": "${{ toJSON(steps.gate) }}"}, "run": shown},
    ]
    here = "${{ github.workspace }}"
    variables = {"PYTHONPATH": f"{here}/shadow", "BASH_ENV": f"{here}/wait"}
    return {"runs-on": "ubuntu-latest", "env": variables, "defaults": {"run": {"shell": "bash"}}, "steps": steps}


class Seen(NamedTuple):
    """What came of a job; everything in it is compared with what should have."""

    job: Optional[str]
    merged: bool
    statuses: List[str]
    later: Json
    annotations: List[str]
    rows: List[Told]
    leaked: bool


def expected(case: Case) -> Seen:
    """What the documents promise for a case."""
    outcome = "success" if case.code == 0 else "failure"
    ended = "success" if case.proceed else outcome
    values = {"verdict": case.verdict, "exit-code": str(case.code), **dict(zip(("rule", "line"), case.decided))}
    return Seen(
        job=ended,
        merged=case.code == 0,
        statuses=[f"exit status {case.code}"] if case.code else [],
        later={"outcome": outcome, "conclusion": ended, "outputs": values},
        annotations=[f"{'notice' if t.rule == 'approved' else 'error'} {t.report}:{t.line}" for t in case.told],
        rows=[told._replace(report=re.sub(r"\A::", r":\\x3a", told.report)) for told in case.told if told.report],
        leaked=False,
    )


def seen(events: Sequence[Json]) -> Seen:
    """What act's events say about one job."""
    gate = [e for e in events if e.get("stepID") == ["gate", "check"]]
    later = "".join(e["msg"] for e in events if e.get("stepID") == ["after"] and e.get("raw_output"))
    commands = [e for e in gate if "command" in e and e["command"] not in {"set-output", "summary"}]
    rows = "".join(e["content"] for e in gate if e.get("command") == "summary").splitlines()
    return Seen(
        next((e["jobResult"] for e in events if "jobResult" in e), None),
        any(e.get("stepID") == ["merge"] and e.get("stepResult") == "success" for e in events),
        [e["msg"] for e in gate if e["msg"].startswith("exit status ")],
        json.loads(later) if later.startswith("{") else {"?": later},
        [annotated(e["raw"]) for e in commands],
        [row(cells) for cells in rows if cells.startswith("| ") and not cells.startswith(("| report |", "| --- |"))],
        CANARY in json.dumps(events),
    )


def annotated(command: str) -> str:
    """Kind, file and line of a command to the log, decoded as a hosted runner does; act decodes in any order."""
    kind, file, line = re.findall(r"\A::(\w+)(?: file=(.*?))?(?:,line=(\d+))?::", command)[0]
    for code in ("%0D", "%0A", "%3A", "%2C", "%25"):
        file = file.replace(code, chr(int(code[1:], 16)))
    return f"{kind} {file}:{line}"


def row(cells: str) -> Told:
    """A row of the summary's table, as a browser shows its cells."""
    report, _, rule, line = (html.unescape(cell).strip() for cell in cells.strip("|").split("|"))
    return Told(report, rule, line)


def differences(cases: Sequence[Case], jobs: Dict[str, List[Json]]) -> Dict[str, List[str]]:
    """For each case, in what its job is not as it should be."""
    result: Dict[str, List[str]] = {}
    for case in cases:
        fields = zip(Seen._fields, expected(case), seen(jobs.get(case.name, [])))
        result[case.name] = [f"{what}: {got!r}, not {wanted!r}" for what, wanted, got in fields if wanted != got]
    return result


# --- Running --------------------------------------------------------------------------------------


def call(folder: Path, *command: object) -> "subprocess.CompletedProcess[str]":
    """Run a command in an environment with little of this one in it; what it prints comes together."""
    path = os.pathsep.join([str(TOOLS), "/usr/local/bin", "/usr/bin", "/bin"])
    # act and pre-commit keep what they cache in folders of the home.
    env = testing.clean_environment(PATH=path, HOME=str(folder.parent))
    options: Json = {"cwd": folder, "stderr": subprocess.STDOUT, "encoding": "utf-8", "timeout": 200}
    return cast("subprocess.CompletedProcess[str]", testing.process(*map(str, command), env=env, **options))


def repository(folder: Path, files: Dict[str, bytes]) -> Path:
    """Make a repository of the files and of what is there, and commit all."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o755 if content.startswith(b"#!") else 0o644)
    for command in ("init -q -b main", "add -A -f", "commit -q -m All"):
        testing.git(folder, *AUTHOR, *command.split())
    return folder


def act(folder: Path, workflow: Path, consumed: Dict[str, Path]) -> Dict[str, List[Json]]:
    """Run a workflow. Returns act's events for each job, by its id; of a matrix, by its name.

    act exits with 0 where it skips a job, so nothing is made of its status.
    """
    words = [word for name in ("ubuntu", "macos", "windows") for word in ("-P", f"{name}-latest=-self-hosted")]
    words += [word for uses, path in consumed.items() for word in ("--local-repository", f"{uses}={path}")]
    words += f"--pull=false --container-daemon-socket - --no-cache-server --json --concurrent-jobs={JOBS}".split()
    ran = call(folder, TOOLS / "act", "push", "-W", workflow, *words)
    jobs: Dict[str, List[Json]] = {}
    for line in ran.stdout.splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        if "jobID" in event:
            jobs.setdefault(event["job"] if event.get("matrix") else event["jobID"], []).append(event)
    if not jobs:
        raise SystemExit(f"act ran nothing: {ran.stdout}")
    return jobs


def workflow(folder: Path, jobs: Dict[str, Json]) -> Path:
    """Write a workflow of the jobs. JSON is YAML, and quotes everything."""
    path = folder / ".github" / "workflows" / "cases.yml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"on": "push", "jobs": jobs}, ensure_ascii=False), encoding="utf-8")
    return path


# --- What is checked ------------------------------------------------------------------------------


class Bench(NamedTuple):
    """A scratch folder, and the files of the reports with the cases for them."""

    home: Path
    files: Dict[str, bytes]
    cases: Tuple[Case, ...]


def cases(bench: Bench) -> List[str]:
    """All cases with the action as one of another repository, and some with it beside the reports or in a folder."""
    troubles, copied = [], "./a copy, für uns"
    source = repository(bench.home / "action", ACTION)
    for uses, chosen in ((CONSUMED, bench.cases), ("./", bench.cases[:4]), (copied, bench.cases[:4])):
        own = {} if uses == CONSUMED else {str(Path(uses, name)): text for name, text in ACTION.items()}
        folder = repository(bench.home / f"of-{uses.count('/')}-{len(uses)}", {**bench.files, **own})
        path = workflow(folder, {case.name: job(case, uses) for case in chosen})
        found = differences(chosen, act(folder, path, {CONSUMED: source}))
        troubles += [f"{uses} {case}: {what}" for case, whats in found.items() for what in whats]
        print(f"uses: {uses}: {sum(not whats for whats in found.values())} of {len(found)} cases")
    return troubles


CONTROLS = (  # faults in action.yml, each with the case that has to notice it
    ("the exit code is swallowed", "block", 'exit "$1"', "exit 0"),
    ("every failure is the same", "block", 'exit "$1"', '[ "$1" -eq 0 ] || exit 1'),
    ("the report is part of the script", "hostile", '"$VERDICT_REPORT"', '"${{ inputs.report }}"'),
    ("the diff is part of the script", "diff-missing", '=$VERDICT_DIFF"', '=${{ inputs.diff }}"'),
    ("no end of options", "hostile", ' -- "${paths[@]}"', ' "${paths[@]}"'),
    ("paths are patterns", "no-pattern", '-- "${paths[@]}"', "-- ${paths[*]}"),
    ("a missing report is left out", "panel-missing", '[ -z "$path" ]', '[ ! -e "$path" ]'),
    ("standard input is a report", "hostile", "|| path=./-", "|| true"),
    ("the token is left out", "token-missing", "${VERDICT_TOKEN:+", "${NONE:+"),
    ("the diff is left out", "diff-empty", "${VERDICT_DIFF:+", "${NONE:+"),
    ("any Python will do", "python-stubs", '[ "$answer" = True ]', "true"),
    ("Python looks around", "block", "-I -S -B", "-S -B"),
    ("Python runs site", "environment-in-the-tree", "-I -S -B", "-I -B"),
    ("no summary, no annotation", "approve", "--github ", ""),
    ("the report is shown", "block", "status=0\n", 'status=0; cat "${paths[0]}"\n'),
    ("a command that does nothing", "approve", '"$GITHUB_ACTION_PATH/verdict_check.py"', "/dev/null"),
)


def controls(bench: Bench) -> List[str]:
    """The faults that no case notices: each in a job of its own."""
    known = {case.name: case for case in CASES}
    jobs, own, sources = {}, [], {}
    action = ACTION["action.yml"].decode()
    for number, (what, case, old, new) in enumerate(CONTROLS):
        if action.count(old) != 1:
            return [f"{what}: not once in action.yml: {old}"]
        name = f"control-{number}"
        faulty = {**ACTION, "action.yml": action.replace(old, new).encode()}
        sources[f"OWNER/{name}@v1"] = repository(bench.home / name, faulty)
        own.append(known[case]._replace(name=name))
        jobs[name] = job(own[-1], f"OWNER/{name}@v1")
    folder = repository(bench.home / "controls", bench.files)
    found = list(differences(own, act(folder, workflow(folder, jobs), sources)).values())
    print(f"{sum(map(bool, found))} of {len(CONTROLS)} faults noticed")
    return [f"not noticed: {what}" for (what, *_), whats in zip(CONTROLS, found) if not whats]


ASKED = f"""\
on: push
jobs:
  a:
    runs-on: ubuntu-latest
    steps:
    - uses: actions/checkout@v4.2.2
    - id: ask
      run: cp review.md "$RUNNER_TEMP" && echo "token={TOKEN}" >>"$GITHUB_OUTPUT"
"""


def documented(bench: Bench) -> List[str]:
    """The README's lines, as they stand there, in a job: with an approval, and with a refusal."""
    lines = re.findall(r"(?ms)^```yaml\n(- uses: OWNER/.*?)^```$", (HERE / "README.md").read_text(encoding="utf-8"))
    if len(lines) != 1:
        return [f"README.md: {len(lines)} blocks that use the action, not 1"]
    path, troubles = ".github/workflows/readme.yml", []
    source = repository(bench.home / "action", ACTION)
    for report, result in (("token.md", "success"), ("block.md", "failure")):
        workflow = ASKED + re.sub("(?m)^", "    ", lines[0]).rstrip() + "\n"
        folder = repository(bench.home / f"readme-{result}", {"review.md": FILES[report], path: workflow.encode()})
        ended = seen(act(folder, folder / path, {CONSUMED: source})["a"]).job
        print(f"README.md, {report}: {ended}")
        troubles += [] if ended == result else [f"README.md, {report}: {ended}, not {result}"]
    return troubles


def own_gate(bench: Bench) -> List[str]:
    """The workflow in which this repository gates its sample reports."""
    path = ".github/workflows/gate.yml"
    folder = repository(testing.own_copy(HERE, bench.home / "gate"), {})
    jobs = act(folder, folder / path, {})
    ended = {name: [e["jobResult"] for e in events if "jobResult" in e] for name, events in jobs.items()}
    print(f"gate.yml: {len(ended)} jobs")
    return [] if list(ended.values()) == [["success"]] * 3 else [f"{path}: {ended}"]


# --- The hook -------------------------------------------------------------------------------------


def hook(bench: Bench) -> List[str]:
    """Pushes through the hook as a user of pre-commit installs it, on a stored review of what is pushed."""
    source, remote = repository(testing.own_copy(HERE, bench.home / "hooks"), {}), bench.home / "remote.git"
    work = repository(bench.home / "work", {"a.txt": b"1\n"})
    revision = testing.git(source, "rev-parse", "HEAD")
    config = {"repos": [{"repo": str(source), "rev": revision, "hooks": [{"id": "verdict-pre-push"}]}]}
    (work / ".pre-commit-config.yaml").write_text(json.dumps(config, ensure_ascii=False), encoding="utf-8")
    (work / ".git" / "info" / "exclude").write_text("/review.md\n/the.diff\n", encoding="utf-8")
    testing.git(work, "clone", "-q", "--bare", ".", remote)
    for command in ("add -A", "commit -q -m Change", "config verdict.report review.md"):
        testing.git(work, *AUTHOR, *command.split())
    testing.git(work, "remote", "add", "origin", remote)
    call(work, TOOLS / "pre-commit", "install", "-t", "pre-push")
    diff = work / "the.diff"
    before, after = (testing.git(work, "rev-parse", name) for name in ("HEAD~1", "HEAD"))
    troubles = []
    for name, options, report, reached in (
        ("no review", [], b"", before),
        ("the diff is saved", ["-c", f"verdict.saveDiff={diff}"], b"", before),
        ("a stale review", [], b" ", before),
        ("a fresh review", [], b"", after),
    ):
        if diff.exists():
            token = hashlib.sha256(diff.read_bytes() + report).hexdigest()[:16]
            (work / "review.md").write_text(f"Fine.\n\n===VERDICT=== APPROVE {token}\n", encoding="utf-8")
        pushed = call(work, "git", *options, "push", "-q", "origin", "main")
        blocked = pushed.returncode != 0 and "verdict pre-push: blocked: " in pushed.stdout
        there = testing.git(remote, "rev-parse", "main")
        print(f"pre-commit, {name}: {'blocked' if blocked else 'passed'}")
        if there != reached or blocked != (reached == before):
            troubles.append(f"pre-commit, {name}: status {pushed.returncode}\n{pushed.stdout}")
    return troubles


def main(pythons: Sequence[str]) -> int:
    """Run all of it; what is wrong is printed at the end. Returns the exit status."""
    others = [with_python(path) for path in pythons]
    files = {name: content for more in (FILES, *(more for _, more in others)) for name, content in more.items()}
    chosen, troubles = (*CASES, *(case for case, _ in others)), []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(AT_ONCE) as pool:

        def run(check: Callable[[Bench], List[str]]) -> List[str]:
            home = Path(folder, f"über-\N{BUG}-{check.__name__}")  # act itself takes no blanks in a path
            home.mkdir()
            return check(Bench(home, files, chosen))

        for found in pool.map(run, (cases, controls, documented, own_gate, hook)):
            print(*[f"FAILED {trouble}" for trouble in found], sep="\n", end="\n" if found else "")
            troubles += found
    print(f"not run: {(__doc__ or '').split('cannot show:')[1].strip()}")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
