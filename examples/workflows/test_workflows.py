"""Tests of workflows/: the rules that its texts keep, and its scripts, run: python3 examples/workflows/test_workflows.py"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

FOLDER = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(FOLDER))
sys.path.insert(0, TOP)

import test_verdict_contract as testing

GITHUB = ("gate-report.yml", "review.yml", "review-comment.yml", "review-two-vendors.yml", "review-forks.yml")
OTHERS = ("gitlab-ci.yml", "review.sh", "CODEOWNERS")
ELSEWHERE = ("ledger.yml", "README.md", "test_workflows.py")  # ledger.yml has tests beside the ledger
GATE = {
    "change_diff.py": "examples/gate", "review_gate.py": "examples/gate", "reviewer_process.py": "examples/gate",
    "final_message.py": "examples/gate", "verdict_contract.py": "", "verdict_check.py": "",
}  # fmt: skip
SCRIPT = os.path.join(FOLDER, "review.sh")
MISSING = [name for name in ("bash", "git", "tar") if not shutil.which(name)]
RUNS_HERE = testing.POSIX and not MISSING
WHY_NOT = f"needs POSIX, bash, git and tar; missing: {', '.join(MISSING) or os.name}"


def read(name: str) -> str:
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


# --- Reading the part of YAML that the files are written in; anything else is a ValueError ---------------------------

Line = Tuple[int, str]  # the indent, and what follows it


def tree(text: str) -> Any:
    """Mappings, lists, literal blocks and flow lists; every value is a string."""
    lines = [(len(line) - len(line.lstrip()), line.strip()) for line in text.split("\n")]
    found, rest = node(lines, 0)
    if any(said and not said.startswith("#") for _, said in lines[rest:]):
        raise ValueError(f"cannot read {lines[rest:]}")
    return found


def skip(lines: Sequence[Line], at: int) -> int:
    """The next line that is neither blank nor a comment."""
    while at < len(lines) and (not lines[at][1] or lines[at][1].startswith("#")):
        at += 1
    return at


def node(lines: List[Line], at: int) -> Tuple[Any, int]:
    """The mapping or list that begins at a line, and the line after it."""
    at = skip(lines, at)
    indent, mapping, items = lines[at][0], {}, []
    while at < len(lines) and lines[at][0] == indent:
        said = lines[at][1]
        if said.startswith("- "):
            lines[at] = (indent + 2, said[2:])
            pair = re.match(r"[\w.-]+:( |$)", said[2:])
            value, at = node(lines, at) if pair else scalar(lines, at, said[2:], indent)
            items.append(value)
        else:
            key, _, said = said.partition(":")
            if not re.fullmatch(r"[\w.-]+", key) or key in mapping:
                raise ValueError(f"cannot read {lines[at]}")
            mapping[key], at = scalar(lines, at, said, indent)
        at = skip(lines, at)
    if bool(items) == bool(mapping):
        raise ValueError("neither a list nor a mapping")
    return items or mapping, at


def scalar(lines: List[Line], at: int, said: str, indent: int) -> Tuple[Any, int]:
    """What stands behind a key or a dash at a line."""
    said = "" if said.lstrip().startswith("#") else re.sub(r" +#.*", "", said).strip()
    below = skip(lines, at + 1)
    if said == "|":
        return block(lines, at + 1, indent)
    if not said:
        return node(lines, below) if below < len(lines) and lines[below][0] > indent else ("", at + 1)
    if said[0] in "&*!>%@`?" or (said[0] == "{" and said != "{}"):
        raise ValueError(f"cannot read {said}")
    if said[0] == "[":
        return [part.strip() for part in said.strip("[]").split(",")], at + 1
    return {} if said == "{}" else said.strip('"') if said[0] == '"' else said, at + 1


def block(lines: Sequence[Line], at: int, indent: int) -> Tuple[str, int]:
    """A literal block, which keeps its comments and blank lines."""
    start, margin = at, lines[at][0]
    while at < len(lines) and (lines[at][0] > indent or not lines[at][1]):
        at += 1
    return "\n".join(" " * (left - margin) + said for left, said in lines[start:at]).strip("\n") + "\n", at


# --- The rules ------------------------------------------------------------------------------------------------------


class Workflow(NamedTuple):
    """A workflow of GitHub: its text, what that says, its jobs, and all their steps."""

    text: str
    said: Dict[str, Any]
    jobs: Dict[str, Dict[str, Any]]
    steps: List[Dict[str, Any]]


def workflow(text: str) -> Workflow:
    said = tree(text)
    jobs = said["jobs"]
    return Workflow(text, said, jobs, [step for job in jobs.values() for step in job["steps"]])


def code(text: str) -> str:
    """The text without its comments."""
    return re.sub(r"(^|\s)#.*", "", text)


def unpinned(flow: Workflow) -> Iterator[str]:
    """An action without a full commit id and its version, unless the file's head says why there is none."""
    reason = re.match(r"(#.*\n)*?#.*pinned by version tag", flow.text)
    for line in re.findall(r"^.*\buses:.*$", flow.text, re.MULTILINE):
        if not re.search(r"uses: [\w./-]+@[0-9a-f]{40} +# v\d", line) and not (reason and re.search(r"@v\d", line)):
            yield line


def too_free(flow: Workflow) -> Iterator[str]:
    """A permission for all jobs or one too many, and a job that can write while it holds a secret."""
    if flow.said.get("permissions") != {}:
        yield "the workflow's permissions"
    for name, job in flow.jobs.items():
        granted = job.get("permissions")
        if granted not in ({}, {"contents": "read"}, {"statuses": "write"}, {"pull-requests": "write"}):
            yield f"{name}: {granted}"
        if "write" in str(granted) and "secrets." in str(job):
            yield f"{name}: a secret"


def unlimited(flow: Workflow) -> Iterator[str]:
    """A job without a time limit, or one that its attempts do not fit into."""
    for name, job in flow.jobs.items():
        each = re.search(r"--timeout (\d+)", str(job))
        least = 2 * int(each.group(1)) / 60 + 1 if each else 1
        if not least <= int(job.get("timeout-minutes", 0)) <= 30:
            yield name


def concurrent(flow: Workflow) -> Iterator[str]:
    """Runs of one pull request that are not cancelled by the next, or that cancel those of another workflow."""
    said = flow.said.get("concurrency", {})
    group = "${{ github.workflow }}-${{ github.event.pull_request.number || github.ref }}"
    if said != {"group": group, "cancel-in-progress": "true"}:
        yield str(said)


def pasted(flow: Workflow) -> Iterator[str]:
    """An expression within a script, where its value would be run."""
    return (step["run"] for step in flow.steps if "${{" in step.get("run", ""))


def spread(flow: Workflow) -> Iterator[str]:
    """A credential that is not in the environment of one step, or two in one."""
    credential = r"github\.token|secrets\.|GITHUB_TOKEN"
    held = [re.findall(credential, str(step.get("env", ""))) for step in flow.steps]
    if sum(map(len, held)) != len(re.findall(credential, code(flow.text))):
        yield "a credential outside of a step's environment"
    yield from (str(found) for found in held if len(found) > 1)


def ungated(flow: Workflow) -> Iterator[str]:
    """A last job that is skipped with those that it needs, leaves one out, or passes without one. One that comments, and
    can do nothing else, decides nothing.
    """
    jobs = {name: job for name, job in flow.jobs.items() if job.get("permissions") != {"pull-requests": "write"}}
    needed = {name for job in jobs.values() for name in job.get("needs", [])}
    last = [name for name in jobs if name not in needed]
    if len(last) != 1:
        yield f"last jobs: {last}"
    for name, job in jobs.items():
        final = name in last and "needs" in job
        if job.get("if") != ("${{ always() }}" if final else None):
            yield f"{name}: if"
        if final and set(job["needs"]) != set(jobs) - {name}:
            yield f"{name}: needs"
        words = '"' + " ".join(["success"] * len(job.get("needs", []))) + '"'
        results = "${{ join(needs.*.result, ' ') }}"
        if final and (f'"$RESULTS" = {words}' not in str(job) or job["steps"][-1]["env"].get("RESULTS") != results):
            yield f"{name}: results"


def triggers(flow: Workflow) -> Iterator[str]:
    """A trigger that is missing or one too many, by a path, or for any base branch."""
    on = flow.said["on"]
    pulls = set(on) - {"merge_group"}
    if "merge_group" not in on or pulls not in ({"pull_request"}, {"pull_request_target"}):
        yield str(set(on))
    for trigger in on.values():
        yield from (key for key in trigger or () if key.startswith("paths"))
    yield from (name for name in pulls if not on[name] or on[name].get("branches") != ["main"])


def checked_out(flow: Workflow) -> Iterator[str]:
    """Whatever puts files of the head where they could act, or takes what another run made."""
    for word in (
        "checkout", "git switch", "git worktree", "git clone", "git restore", "git apply", "read-tree", "submodule up",
        "head_ref", "head.ref", "head.repo", "workflow_run", "artifact", "run download", "self-hosted", "cache",
    ):  # fmt: skip
        if word in code(flow.text):
            yield word


def of_the_head(flow: Workflow) -> Iterator[str]:
    """Code of the gate that is not the base's, or that Python loads others' modules before."""
    for step in flow.steps:
        script = step.get("run", "")
        yield from re.findall(r"^.*git\b.*\b(?:archive|show) (?!refs/gate/base ).*$", script, re.MULTILINE)
        gate = '"$gate/' if "gate=$RUNNER_TEMP/gate/tools/verdict\n" in script else '"$RUNNER_TEMP/gate/tools/verdict/'
        for line in re.findall(r"^.*\bpython.*$", script, re.MULTILINE):
            if f"python3 -I -S {gate}" not in line:
                yield line


def lenient(flow: Workflow) -> Iterator[str]:
    """What lets a failed step or command pass."""
    if flow.said.get("defaults") != {"run": {"shell": "bash"}}:
        yield "not bash, and so without -o pipefail"
    yield from re.findall(r"continue-on-error|\|\| (?:true|:)|set \+e|^ *shell: sh", code(flow.text), re.MULTILINE)


def hidden(flow: Workflow) -> Iterator[str]:
    """A diff that change_diff.py did not make, or of ids that are not the event's."""
    script = "\n".join(step.get("run", "") for step in flow.steps)
    diffs = re.findall(r"change_diff\.py\" (.*?) *\\\n *(-o .*)", script)
    if set(diffs) != {("refs/gate/base refs/gate/head", '-o "$RUNNER_TEMP/change.diff"')} or "git diff" in script:
        yield str(diffs)
    ids = {
        "BASE": "${{ github.event.merge_group.base_sha || format('refs/heads/{0}', github.base_ref) }}",
        "HEAD": "${{ github.event.merge_group.head_sha || github.event.pull_request.head.sha }}",
    }
    if flow.said.get("env") != ids:
        yield str(flow.said.get("env"))


def headless(flow: Workflow) -> Iterator[str]:
    """A head that does not say what the file needs, whose secrets are open to whom, or what an approval is of."""
    head = " ".join(re.match(r"(?:#.*\n)*", flow.text)[0].replace("#", "").split())  # type: ignore[index]
    called = re.findall(r"tools/verdict/(\w+\.py)|\$gate/([\w.]+)", flow.text)
    files = {name for names in called for name in names if name} | {
        "verdict_contract.py", "verdict_check.py", "LICENSE",
    }  # fmt: skip
    if "review_gate.py" in files:
        files |= {*GATE}
    secrets = {*re.findall(r"secrets\.(\w+)", flow.text)}
    said = (*files, *secrets, "whoever may push a branch can read", "branches to be up to date", "merge queue")
    yield from (words for words in said if words.lower() not in head.lower())


RULES: Dict[str, Callable[[Workflow], Iterator[str]]] = {
    rule.__name__: rule
    for rule in (
        unpinned, too_free, unlimited, concurrent, pasted, spread, ungated, triggers, checked_out, of_the_head, lenient,
        hidden, headless,
    )
}  # fmt: skip


def broken(text: str) -> List[str]:
    """The rules that a workflow breaks."""
    return [name for name, rule in RULES.items() if list(rule(workflow(text)))]


# For each rule, texts that have to break it: the file, what stands there, and what stands there instead.
FORKS, PANEL, ONE, REPORT, COMMENT = (
    "review-forks.yml", "review-two-vendors.yml", "review.yml", "gate-report.yml", "review-comment.yml",
)  # fmt: skip
FIRST = "    steps:\n"
HOLD = "      contents: read\n"
ALWAYS = "    if: ${{ always() }}  # without"
FAULTS: Tuple[Tuple[str, str, str, str], ...] = (
    ("unpinned", ONE, FIRST, f"{FIRST}      - uses: some/action@v1.2.3\n"),
    ("unpinned", ONE, FIRST, f"{FIRST}      - uses: some/action@{'0' * 39}  # v1.2.3\n"),
    ("unpinned", ONE, FIRST, f"{FIRST}      - uses: some/action@{'0' * 40}\n"),
    ("too_free", ONE, "permissions: {}", "permissions: read-all"),
    ("too_free", ONE, HOLD, f"{HOLD}      statuses: write\n"),
    ("too_free", ONE, HOLD, "      contents: write\n"),
    ("too_free", FORKS, HOLD, "      statuses: write\n"),
    ("too_free", PANEL, "    permissions: {}\n", ""),
    ("too_free", COMMENT, HOLD, "      pull-requests: write\n"),
    ("unlimited", ONE, "    timeout-minutes: 25\n", ""),
    ("unlimited", ONE, "timeout-minutes: 25", "timeout-minutes: 20"),
    ("unlimited", FORKS, "timeout-minutes: 5", "timeout-minutes: 360"),
    ("concurrent", ONE, "cancel-in-progress: true", "cancel-in-progress: false"),
    ("concurrent", ONE, "${{ github.event.pull_request.number || github.ref }}", "${{ github.head_sha }}"),
    ("pasted", ONE, 'cd "$RUNNER_TEMP/objects"', "echo ${{ github.event.pull_request.title }}"),
    ("spread", ONE, "          ANTHROPIC_API_KEY:", "          T: ${{ github.token }}\n          ANTHROPIC_API_KEY:"),
    ("spread", ONE, "env:\n  BASE", "x:\n  T: ${{ github.token }}\nenv:\n  BASE"),
    ("ungated", PANEL, ALWAYS, "    # without"),
    ("ungated", PANEL, ALWAYS, "    if: ${{ !cancelled() }}  # without"),
    ("ungated", PANEL, "needs: [claude, codex]", "needs: [claude]"),
    ("ungated", PANEL, '"success success"', '"success"'),
    ("ungated", PANEL, "join(needs.*.result, ' ')", "needs.claude.result"),
    ("ungated", ONE, "    timeout-minutes: 25\n", "    if: ${{ always() }}\n    timeout-minutes: 25\n"),
    ("ungated", FORKS, "    needs: [pending, review]\n", "    needs: [pending]\n"),
    ("triggers", ONE, "  merge_group:", "  push:"),
    ("triggers", ONE, "    branches: [main]", "    branches: [main]\n    paths: [src/**]"),
    ("triggers", ONE, "    branches: [main]", "    types: [opened]"),
    ("triggers", FORKS, "  merge_group:", "  pull_request:\n    branches: [main]\n  merge_group:"),
    ("checked_out", ONE, FIRST, f"{FIRST}      - uses: actions/checkout@{'0' * 40}  # v9\n"),
    ("checked_out", FORKS, 'cd "$RUNNER_TEMP/objects"', 'git worktree add "$RUNNER_TEMP/tree" refs/gate/head'),
    ("checked_out", ONE, FIRST, f"{FIRST}      - uses: actions/download-artifact@{'0' * 40}  # v9\n"),
    ("of_the_head", ONE, "archive refs/gate/base", "archive refs/gate/head"),
    ("of_the_head", ONE, 'exec python3 -I -S "$RUNNER_TEMP/gate/', 'exec python3 -I -S "$GITHUB_WORKSPACE/'),
    ("of_the_head", ONE, "exec python3 -I -S ", "exec python3 -I "),
    ("of_the_head", REPORT, 'python3 -I -S "$gate/', 'python3 "$gate/'),
    ("lenient", ONE, "    shell: bash", "    shell: sh"),
    ("lenient", ONE, "      - name: Review\n", "      - name: Review\n        continue-on-error: true\n"),
    ("lenient", REPORT, '            "$RUNNER_TEMP/report.md"', '            "$RUNNER_TEMP/report.md" || true'),
    ("hidden", ONE, "change_diff.py", "review_gate.py"),
    ("hidden", FORKS, "refs/gate/base refs/gate/head \\", "refs/gate/head refs/gate/head \\"),
    ("hidden", ONE, 'cd "$RUNNER_TEMP/objects"', "git diff refs/gate/base...refs/gate/head"),
    ("hidden", FORKS, "github.event.pull_request.head.sha", "github.sha"),
    ("headless", ONE, "branches to be up to date", "branches"),
    ("headless", PANEL, "# Whoever may push a branch can read the secrets ANTHROPIC_API_KEY and OPENAI", "# Whoever may push a branch can read OPENAI"),
    ("headless", FORKS, "change_diff.py, review_gate.py", "review_gate.py"),
)  # fmt: skip


class Texts(unittest.TestCase):
    """The files keep the rules, and a file that does not is noticed."""

    def test_every_file_is_known(self) -> None:
        names = [name for name in os.listdir(FOLDER) if name != "__pycache__"]
        self.assertEqual(sorted(names), sorted([*GITHUB, *OTHERS, *(set(ELSEWHERE) & set(names))]))

    def test_the_readme_names_every_file(self) -> None:
        rows = "".join(re.findall(r"^\| `.*$", read("README.md"), re.MULTILINE))
        self.assertEqual([], [name for name in (*GITHUB, *OTHERS) if f"`{name}`" not in rows])

    def test_what_is_not_understood_is_refused(self) -> None:
        for text in ("a: &b c", "a: {b: c}", "a: >\n  b", "a: 1\na: 2", "'a': 1", "a:\n  - b\n  c: d", "a: 1\n  b: 2"):
            with self.subTest(text), self.assertRaises(ValueError):
                tree(text)

    def test_github(self) -> None:
        for name in GITHUB:
            with self.subTest(name):
                self.assertEqual(broken(read(name)), [])

    def test_each_rule_can_fail(self) -> None:
        self.assertEqual({rule for rule, _, _, _ in FAULTS}, set(RULES))
        for rule, name, old, new in FAULTS:
            with self.subTest(rule, name=name, new=new):
                self.assertIn(old, read(name))
                self.assertIn(rule, broken(read(name).replace(old, new)))

    def test_a_documented_reason_stands_for_a_commit_id(self) -> None:
        step = read(ONE).replace(FIRST, f"{FIRST}      - uses: some/action@v1.2.3\n")
        self.assertEqual(broken(step), ["unpinned"])
        self.assertEqual(broken("# The action is pinned by version tag, since\n" + step), [])

    def test_the_same_steps_everywhere(self) -> None:
        texts: Dict[str, Set[str]] = {}
        for name in GITHUB:
            for step in workflow(read(name)).steps:
                texts.setdefault(step["name"], set()).add(step.get("run", ""))
        for shared in (
            "Fetch both commits, and check neither out", "Take the gate from the base", "Take the change as data",
        ):  # fmt: skip
            self.assertEqual(len(texts[shared]), 1, shared)

    def test_only_the_fork_workflow_runs_with_secrets_on_a_change_of_strangers(self) -> None:
        self.assertEqual([name for name in GITHUB if "pull_request_target" in workflow(read(name)).said["on"]], [FORKS])
        self.assertEqual(workflow(read(FORKS)).jobs["review"]["environment"], "review-${{ github.event_name }}")
        self.assertIn('--tools ""', workflow(read(FORKS)).jobs["review"]["steps"][-1]["env"]["REVIEWER"])

    def test_gitlab(self) -> None:
        job = tree(read("gitlab-ci.yml"))["verdict"]
        self.assertEqual(job["rules"], [{"if": '$CI_PIPELINE_SOURCE == "merge_request_event"'}])
        self.assertEqual(job["variables"]["GIT_STRATEGY"], "none")
        self.assertEqual((job["allow_failure"], job["interruptible"]), ("false", "true"))
        self.assertRegex(job["timeout"], r"^\d\d minutes$")
        self.assertIn("\nset -euo pipefail\n", read("review.sh"))

    def test_the_pinned_clients_are_those_of_the_table(self) -> None:
        table, lock = Path(TOP, ".ci", "clients.py"), Path(TOP, ".ci", "clients", "package-lock.json")
        if not table.exists():
            self.skipTest("no .ci/clients.py here, which has the table of clients")
        versions = json.loads(lock.read_bytes())["packages"][""]["dependencies"]
        row = r'package="(.*?)",.*?command="(.*?)",\s+options=(["\'])(.*?)\3,\n'
        rows = re.findall(row, table.read_text("utf-8"), re.DOTALL)
        tried = {f"{package}@{versions[package]}": f"{command} {options}" for package, command, _, options in rows}
        for name in (*GITHUB, "gitlab-ci.yml"):
            pinned = re.findall(r"npm install --global (\S+)", read(name))
            reviewers = re.findall(r"^ *REVIEWER: (.*)$", read(name), re.MULTILINE)
            self.assertEqual(reviewers, [tried.get(package) for package in pinned], name)

    def test_code_owners(self) -> None:
        lines = [line.split() for line in read("CODEOWNERS").split("\n") if line and not line.startswith("#")]
        owned = {"/.github/", "/.gitlab-ci.yml", "/tools/verdict/", "/CODEOWNERS", "/docs/CODEOWNERS"}
        self.assertLessEqual(owned, {path for path, _ in lines})


# --- Running them ---------------------------------------------------------------------------------------------------

# Approves what holds no BUG, and keeps the prompt and the environment that it was given.
REVIEWER = """\
cat >"$LOG/prompt" && env >"$LOG/env" && pwd >"$LOG/pwd"
token=$(sed -n 's/^===VERDICT=== <value> //p' "$LOG/prompt" | tail -n 1)
if grep -q BUG "$LOG/prompt"; then verdict=REQUEST_CHANGES; else verdict=APPROVE; fi
echo "===VERDICT=== $verdict $token"
"""
CRASHES = f"{REVIEWER}exit 1\n"
SILENT = 'cat >"$LOG/prompt"\n'
STAYS = """trap 'echo >"$LOG/ended"; exit 1' TERM\necho >"$LOG/up"\nsleep 60 &\nwait\n"""
TOKEN, KEY = "the-token-of-the-job", "the-key-of-the-vendor"
TAKEOVER = "import sys\nsys.exit(0)\n"
LINK = "a submodule at "


class Done(NamedTuple):
    """How a command ended."""

    status: int
    said: str


@testing.NEEDS_PROGRAMS
class Scene(unittest.TestCase):
    """A repository whose main branch has the gate, with several heads; made once, since nothing here writes to it."""

    scene = ""
    origin: str
    programs: str  # a folder in which "python3" is this interpreter
    heads: Dict[str, str]
    prepared: Dict[str, str] = {}  # noqa: RUF012  (of the steps before a review and their variables: what RUNNER_TEMP holds)

    @classmethod
    def setUpClass(cls) -> None:
        if not RUNS_HERE:
            raise unittest.SkipTest(WHY_NOT)
        testing.need_space()
        if not Scene.scene:
            Scene.scene = os.path.realpath(tempfile.mkdtemp())
            unittest.addModuleCleanup(Scene.forget)
            Scene.build()

    @classmethod
    def forget(cls) -> None:
        shutil.rmtree(cls.scene)
        cls.scene = ""
        cls.prepared.clear()

    @classmethod
    def build(cls) -> None:
        cls.programs = os.path.join(cls.scene, "programs")
        os.mkdir(cls.programs)
        cls.program(cls.programs, "python3", f'exec {shlex.join(testing.PYTHON)} "$@"')
        cls.origin = os.path.join(cls.scene, "owner", "name")
        os.makedirs(cls.origin)
        cls.git("init", "--quiet", "--initial-branch=main", "--template=")
        tools = {f"tools/verdict/{name}": Path(TOP, at, name).read_text("utf-8") for name, at in GATE.items()}
        tools["tools/verdict/review.sh"] = read("review.sh")
        main = cls.commit({**tools, "tools/verdict/task.md": "Review this.\n", "a.py": "a = 1\n", "b.py": "b = 1\n"})
        main = cls.commit({"s": f"{LINK}{main}"}, main)
        left, right = cls.commit({"a.py": "a = 2\n"}, main), cls.commit({"b.py": "b = 2\n"}, main)
        merged = cls.commit({"a.py": "a = 2\n"}, right, left)
        hides = {".gitattributes": "*.py -diff binary\n", "s": f"{LINK}{left}", "a.py": "BUG\n"}
        hides[".gitmodules"] = '[submodule "s"]\n\tpath = s\n\tignore = all\n'
        taken = {**dict.fromkeys(tools, TAKEOVER), "a.py": "BUG\n", "argparse.py": TAKEOVER}
        cls.heads = {
            "main": merged, "bare": cls.commit({"a.py": "a = 2\n", "tools": None}, merged), "fine": cls.commit({"a.py": "a = 3\n"}, merged),
            "bug": cls.commit({"a.py": "BUG\n"}, merged), "same": cls.commit({}, merged), "takeover": cls.commit(taken, merged),
            "hides": cls.commit(hides, merged), "criss-cross": cls.commit({"a.py": "a = 1\n", "b.py": "b = 1\n"}, left, right),
            "unrelated": cls.commit({"a.py": "a = 3\n"}),
        }  # fmt: skip
        for name, commit in cls.heads.items():
            cls.git("update-ref", "refs/heads/main" if name == "main" else f"refs/pull/{name}/head", commit)

    @staticmethod
    def program(folder: str, name: str, text: str) -> None:
        path = Path(folder, name)
        path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
        path.chmod(0o755)

    @classmethod
    def git(cls, *arguments: str, **options: Any) -> str:
        return testing.git(cls.origin, *arguments, **options)

    @classmethod
    def commit(cls, files: Mapping[str, Optional[str]], *parents: str) -> str:
        """A commit of the files of its first parent, with some of them changed or gone."""
        lines = ["commit refs/made/last\nmark :1\ncommitter n <e@example.org> 0 +0000\ndata 0\n"]
        lines += [f"{word} {parent}\n" for word, parent in zip(("from", "merge"), parents)]
        for name, text in files.items():
            if text is None:
                lines.append(f"D {name}\n")
            elif text.startswith(LINK):
                lines.append(f"M 160000 {text[len(LINK) :]} {name}\n")
            else:
                lines.append(f"M 100644 inline {name}\ndata {len(text.encode())}\n{text}\n")
        text = "".join(["reset refs/made/last\n", *lines, "get-mark :1\n"])
        return cls.git("fast-import", "--quiet", "--force", input=text.encode())

    def setUp(self) -> None:
        self.log, self.temporary, self.work = (tempfile.mkdtemp(dir=self.scene) for _ in range(3))

    def reviewer(self, text: str = REVIEWER) -> str:
        path = os.path.join(self.log, f"reviewer-{len(os.listdir(self.log))}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return f"sh {shlex.quote(path)}"

    def bash(self, script: str, cwd: str, cancel: bool = False, **variables: str) -> Done:
        """Run a script as GitHub does; to cancel it, once the reviewer has said that it is up."""
        path = os.path.join(self.scene, "script")
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        process = subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", path], cwd=cwd, stdin=subprocess.DEVNULL,
            env={**self.environment(), "LOG": self.log, "TMPDIR": self.temporary, **variables},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        while cancel and "up" not in os.listdir(self.log) and process.poll() is None:
            time.sleep(0.02)
        if cancel:
            process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=120)[0]
        return Done(process.returncode, said.decode("utf-8", "replace"))

    def logged(self, name: str) -> str:
        with open(os.path.join(self.log, name), encoding="utf-8") as file:
            return file.read()

    @classmethod
    def environment(cls) -> Dict[str, str]:
        path = os.pathsep.join([cls.programs, os.environ.get("PATH", os.defpath)])
        clean = testing.clean_environment(PATH=path, GIT_TEMPLATE_DIR="")  # the sample hooks cost time
        return {name: value for name, value in clean.items() if not name.startswith("CI_")}


class Script(Scene):
    """review.sh, from outside the repository."""

    def review(
        self, head: str, *reviewers: str, base: str = "main", cwd: Optional[str] = None, cancel: bool = False
    ) -> Done:
        words = ["bash", SCRIPT, self.heads.get(base, base), self.heads.get(head, head), *reviewers]
        return self.bash(f"exec {' '.join(map(shlex.quote, words))}", cwd or self.origin, cancel)

    def refused(self, status: int, why: str, head: str, base: str = "main", cwd: Optional[str] = None) -> None:
        """The status, a line that says why, no reviewer that was started, and nothing left behind."""
        done = self.review(head, self.reviewer(), base=base, cwd=cwd)
        self.assertEqual(done.status, status, done.said)
        self.assertIn(why, done.said)
        self.assertNotIn("prompt", os.listdir(self.log))
        self.assertEqual(os.listdir(self.temporary), [])

    def test_approved(self) -> None:
        """With an option of the gate."""
        done = self.review("fine", "--summary", os.path.join(self.log, "summary"), self.reviewer())
        self.assertEqual(done.status, 0, done.said)
        self.assertIn("\n+a = 3\n", self.logged("prompt"))
        self.assertIn("## Review: approved\n", self.logged("summary"))
        self.assertEqual(os.listdir(self.temporary), [])

    def test_a_failing_reviewer(self) -> None:
        self.assertEqual(self.review("fine", self.reviewer(CRASHES)).status, 1)

    def test_both_reviewers_have_to_approve(self) -> None:
        self.assertEqual(self.review("fine", self.reviewer(), self.reviewer()).status, 0)
        self.assertEqual(self.review("fine", self.reviewer(), self.reviewer(SILENT)).status, 4)

    def test_the_gate_is_that_of_the_base(self) -> None:
        done = self.review("takeover", self.reviewer())
        self.assertEqual(done.status, 3, done.said)
        self.assertIn("\n+sys.exit(0)\n", self.logged("prompt"))
        self.assertEqual(os.listdir(self.temporary), [])

    def test_a_change_that_is_checked_out_hides_nothing_of_itself(self) -> None:
        tree = os.path.join(self.work, "tree")
        self.git("worktree", "add", "--quiet", "--detach", tree, self.heads["hides"])
        diff = testing.git(tree, "diff", "HEAD^...HEAD")
        self.assertNotIn("BUG", diff)  # else the fixture hides nothing
        self.assertNotIn("+Subproject commit", diff)
        done = self.review("HEAD", self.reviewer(), cwd=os.path.join(tree, "tools"))
        self.assertEqual(done.status, 3, done.said)
        self.assertIn("\n+BUG\n", self.logged("prompt"))
        self.assertIn("\n+Subproject commit", self.logged("prompt"))

    def test_no_diff(self) -> None:
        commits = "review.sh: BASE and HEAD have to be commits, each by a name that only it has\n"
        self.refused(1, commits, "0" * 40)
        self.refused(1, commits, "--help")
        self.refused(1, commits, "fine", base=self.git("rev-parse", "main:a.py"))
        self.refused(1, "review.sh: BASE has no tools/verdict\n", "fine", base="bare")
        self.refused(1, "change_diff.py: ", "unrelated")
        self.refused(5, "change_diff.py: nothing to review", "same")

    def test_a_name_that_a_tag_has_too(self) -> None:
        """Which git would take, with a warning, so that whoever may push a tag could choose the base."""
        copy = self.copy()
        testing.git(copy, "tag", "main", self.heads["fine"])
        self.refused(1, "each by a name that only it has", "fine", base="main~0", cwd=copy)
        self.assertEqual(self.review("fine", self.reviewer(), base="refs/heads/main", cwd=copy).status, 0)

    def test_wrong_arguments(self) -> None:
        for words in ([], ["main"], ["main", "fine"]):
            done = self.bash(shlex.join(["bash", SCRIPT, *words]), self.origin)
            self.assertEqual((done.status, done.said.count("\n")), (2, 1))

    def test_several_merge_bases(self) -> None:
        self.assertEqual(len(self.git("merge-base", "--all", "main", self.heads["criss-cross"]).split()), 2)
        self.refused(1, "2 merge bases, where one is needed", "criss-cross")

    def test_a_shallow_repository(self) -> None:
        shallow = os.path.join(self.work, "shallow")
        testing.git(self.work, "clone", "--quiet", "--depth=1", f"file://{self.origin}", shallow)
        testing.git(shallow, "fetch", "--quiet", "--depth=1", "origin", self.heads["fine"])
        self.refused(1, "a shallow clone", "fine", cwd=shallow)

    def test_what_stands_in_for_an_object_is_not_read(self) -> None:
        copy = self.copy()
        testing.git(copy, "replace", self.heads["bug"], self.heads["fine"])
        done = self.review("bug", self.reviewer(), cwd=copy)
        self.assertEqual(done.status, 3, done.said)
        self.assertIn("\n+BUG\n", self.logged("prompt"))

    def test_no_warning_of_git_gets_through(self) -> None:
        """It has words of the change, which a log takes for a command."""
        copy = self.copy()
        hostile = "* ::add-mask::x\n* a,\x1b[2Jb\n"
        for place in (".git/info/attributes", ".gitattributes"):
            Path(copy, place).parent.mkdir(exist_ok=True)
            Path(copy, place).write_text(hostile, "utf-8")
        self.assertIn(
            "::", self.bash("git archive main tools 2>&1 >/dev/null", copy).said
        )  # else the fixture shows nothing
        done = self.review("fine", self.reviewer(), cwd=copy)
        self.assertEqual(done.status, 0, done.said)
        self.assertNotRegex(done.said, "::|\x1b|warning")

    def test_a_python_of_the_work_tree_is_not_run(self) -> None:
        copy = self.copy()
        tools = os.path.join(copy, "env", "bin")
        os.makedirs(tools)
        path = os.pathsep.join([tools, "env/bin", self.environment()["PATH"]])
        words = ["bash", SCRIPT, "refs/heads/main", self.heads["bug"], self.reviewer()]
        for name in ("python3", "git"):
            self.program(tools, name, "exit 0")
        for cwd in (copy, os.path.join(copy, "env")):
            self.assertEqual(self.bash(shlex.join(words), cwd, PATH=path, CDPATH=copy).status, 3)

    def copy(self) -> str:
        """Of the repository, to be changed."""
        copy = os.path.join(self.work, "copy")
        shutil.copytree(self.origin, copy)
        return copy

    def test_failing_diff(self) -> None:
        copy = self.copy()
        blob = self.git("rev-parse", f"{self.heads['fine']}:a.py")
        os.unlink(os.path.join(copy, ".git", "objects", blob[:2], blob[2:]))
        self.refused(1, "git cannot write the diff", "fine", cwd=copy)

    def test_cancelled(self) -> None:
        done = self.review("fine", self.reviewer(STAYS), cancel=True)
        self.assertEqual(done.status, 130, done.said)
        self.assertIn("ended", os.listdir(self.log))
        self.assertEqual(os.listdir(self.temporary), [])


class Jobs(Scene):
    """The scripts of the workflows' steps, with a repository on this machine; all but those that install a reviewer."""

    def values(self, head: str, event: str) -> Dict[str, str]:
        """What the expressions of the workflows stand for."""
        group = event == "merge_group"
        return {
            "github.event.merge_group.base_sha || format('refs/heads/{0}', github.base_ref)": (self.heads["main"] if group else "refs/heads/main"),
            "github.event.merge_group.head_sha || github.event.pull_request.head.sha": self.heads[head], "github.token": TOKEN,
            "secrets.ANTHROPIC_API_KEY": KEY, "secrets.OPENAI_API_KEY": KEY,
        }  # fmt: skip

    def run_job(
        self, name: str, job: str, head: str, reviewer: str, event: str = "pull_request", cancel: bool = False
    ) -> Tuple[str, Done]:
        """Run the steps up to the first that fails. Returns that one's name, or the last one's, and how it ended.

        Those before the review are run once for all jobs in which they are the same and are given the same.
        """
        flow, done, last = workflow(read(name)), Done(0, ""), ""
        temporary = tempfile.mkdtemp(dir=self.temporary)
        outside = {
            "RUNNER_TEMP": temporary,
            "GITHUB_SERVER_URL": f"file://{self.scene}",
            "GITHUB_REPOSITORY": "owner/name",
        }
        outside.update({f"GITHUB_{to}": os.path.join(self.log, to[-7:].lower()) for to in ("OUTPUT", "STEP_SUMMARY")})
        steps = [step for step in flow.jobs[job]["steps"] if step["name"] != "Install the reviewer"]
        givens = [self.given({**flow.said["env"], **step.get("env", {})}, head, event, reviewer) for step in steps]
        first = [step["name"] for step in steps].index("Review")
        key = repr([(step["run"], given) for step, given in zip(steps[:first], givens)])
        if key in self.prepared:
            shutil.copytree(self.prepared[key], temporary, dirs_exist_ok=True)
            steps, givens, first = steps[first:], givens[first:], 0
        for number, (step, given) in enumerate(zip(steps, givens)):
            if done.status and step.get("if") != "${{ always() }}":
                continue
            if number == first and key not in self.prepared:
                self.prepared[key] = shutil.copytree(temporary, os.path.join(tempfile.mkdtemp(dir=self.scene), "job"))
            ran = self.bash(step["run"], self.work, cancel and "REVIEWER" in given, **outside, **given)
            self.assertFalse(ran.status and done.status, ran.said)
            if not done.status:
                done, last = ran, step["name"]
        kept = self.bash(f"grep -r -l -e {TOKEN} -e {KEY} . || true", temporary)
        self.assertEqual(kept.said, "", "a credential was left in a file")
        return last, done

    def given(self, env: Dict[str, str], head: str, event: str, reviewer: str) -> Dict[str, str]:
        """The variables of a step, with the values of their expressions."""
        values = self.values(head, event)
        said = {key: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: values[found.group(1)], env[key]) for key in env}
        return {**said, "REVIEWER": reviewer} if "REVIEWER" in said else said

    def every_reviewing_job(self) -> Iterator[Tuple[str, str, str]]:
        for name in GITHUB:
            for job, said in workflow(read(name)).jobs.items():
                names = [step["name"] for step in said["steps"]]
                if "Review" in names:
                    yield name, job, "Gate" if "Gate" in names else "Review"

    def test_approved(self) -> None:
        for name, job, _ in self.every_reviewing_job():
            with self.subTest(name, job=job):
                Path(self.log, "summary").write_text("", "utf-8")
                step, done = self.run_job(name, job, "fine", self.reviewer())
                self.assertEqual(done.status, 0, f"{step}: {done.said}")
                self.check_seen(name, "## Review: approved\n")
                self.assertIn("\n+a = 3\n", self.logged("prompt"))
                self.assertIn(KEY, self.logged("env"))
                self.assertNotIn(TOKEN, self.logged("env"))
                self.assertFalse(self.logged("pwd").startswith(self.work))

    def test_blocked(self) -> None:
        for name, job, last in self.every_reviewing_job():
            with self.subTest(name, job=job):
                Path(self.log, "summary").write_text("", "utf-8")
                step, done = self.run_job(name, job, "takeover", self.reviewer())
                self.assertEqual((step, done.status), (last, 3), done.said)
                self.check_seen(name, "## Review: changes requested\n")
        output = "(?s)summary<<([0-9a-f]{32})\n## Review: changes requested\n.*\n\\1\n\\Z"
        self.assertRegex(self.logged("output"), output)

    def check_seen(self, name: str, heading: str) -> None:
        """Where a workflow shows the review, it begins so."""
        if name in (ONE, COMMENT):
            self.assertTrue(self.logged("summary").startswith(heading), self.logged("summary"))

    def test_a_review_that_is_not_started_is_seen(self) -> None:
        self.run_job(COMMENT, "verdict", "unrelated", self.reviewer())
        self.assertTrue(self.logged("summary").endswith("## Review: not started\n\nThe log says why.\n"))

    def test_failing_and_silent_reviewers(self) -> None:
        for name, text, wanted in (
            (REPORT, CRASHES, ("Review", 1)), (REPORT, SILENT, ("Gate", 4)), (ONE, CRASHES, ("Review", 1)), (ONE, SILENT, ("Review", 4)),
        ):  # fmt: skip
            step, done = self.run_job(name, "verdict", "fine", self.reviewer(text))
            self.assertEqual((step, done.status), wanted, done.said)

    def test_cancelled(self) -> None:
        step, done = self.run_job(ONE, "verdict", "fine", self.reviewer(STAYS), cancel=True)
        self.assertEqual((step, done.status), ("Review", 130), done.said)
        self.assertIn("ended", os.listdir(self.log))

    def test_merge_group(self) -> None:
        step, done = self.run_job(FORKS, "review", "bug", self.reviewer(), event="merge_group")
        self.assertEqual((step, done.status), ("Review", 3), done.said)

    def test_no_diff(self) -> None:
        for head in ("criss-cross", "unrelated"):
            step, done = self.run_job(FORKS, "review", head, self.reviewer())
            self.assertEqual((step, done.status), ("Take the change as data", 1), done.said)
        self.heads = {**self.heads, "gone": "0" * 39 + "1"}
        step, done = self.run_job(FORKS, "review", "gone", self.reviewer())
        self.assertEqual(step, "Fetch both commits, and check neither out")
        self.assertNotEqual(done.status, 0)
        self.assertNotIn("prompt", os.listdir(self.log))

    def test_needs(self) -> None:
        script = workflow(read(PANEL)).jobs["verdict"]["steps"][0]["run"]
        for results, passes in NEEDS.items():
            self.assertEqual(self.bash(script, self.work, RESULTS=results).status == 0, passes, results)

    def test_status(self) -> None:
        given: Dict[str, Any] = {**self.with_gh('exit "${GH_STATUS:-0}"'), "HEAD": "1" * 40}
        script = workflow(read(FORKS)).jobs["status"]["steps"][0]["run"]
        for results, passes in NEEDS.items():
            done = self.bash(script, self.work, RESULTS=results, **given)
            self.assertEqual(done.status == 0, passes, done.said)
            words = self.logged("gh").split("\n")
            self.assertIn(f"repos/owner/name/statuses/{'1' * 40}", words)
            self.assertIn("context=verdict", words)
            self.assertIn(f"state={'success' if passes else 'failure'}", words)
            self.assertIn("target_url=https://example.org/owner/name/actions/runs/7", words)
        self.assertNotEqual(self.bash(script, self.work, RESULTS="success success", GH_STATUS="1", **given).status, 0)
        pending = workflow(read(FORKS)).jobs["pending"]["steps"][0]
        self.assertEqual(self.bash(pending["run"], self.work, STATE=pending["env"]["STATE"], **given).status, 0)
        self.assertIn("state=pending", self.logged("gh").split("\n"))

    def with_gh(self, does: str) -> Dict[str, Any]:
        """Variables of a job in which gh notes what it was told, a line for each word, and does something."""
        folder = tempfile.mkdtemp(dir=self.scene)
        self.program(folder, "gh", f'printf "%s\\n" "$@" >>"$LOG/gh"\n{does}')
        path = os.pathsep.join([folder, self.environment()["PATH"]])
        names = {"GITHUB_REPOSITORY": "owner/name", "GITHUB_SERVER_URL": "https://example.org", "GITHUB_RUN_ID": "7"}
        return {"PATH": path, **names}

    def test_the_comment_is_replaced(self) -> None:
        step = workflow(read(COMMENT)).jobs["comment"]["steps"][0]
        hostile = "## Review\n$(touch owned) `touch owned` @all <!-- verdict -->"
        listed = [
            {"id": 1, "user": {"login": "somebody"}, "body": "<!-- verdict -->\nmine"},
            {"id": 2, "user": {"login": "github-actions[bot]"}, "body": "other"},
            {"id": 3, "user": {"login": "github-actions[bot]"}, "body": "<!-- verdict -->\nold"},
        ]
        # The filter of --jq is not run here; what it has to find is told.
        for found, words in (
            ("", ["POST", "repos/owner/name/issues/5/comments"]),
            ("3", ["PATCH", "repos/owner/name/issues/comments/3"]),
        ):
            Path(self.log, "gh").write_text("", "utf-8")
            given: Dict[str, Any] = self.with_gh(
                f'case "$*" in *--paginate*) [ -z "{found}" ] || echo "{found}" ;; esac'
            )
            given.update(NUMBER="5", SUMMARY=hostile, HEAD="1" * 40, RUNNER_TEMP=self.temporary)
            done = self.bash(step["run"], self.work, **given)
            self.assertEqual((done.status, done.said), (0, ""))
            self.assertLessEqual(
                {"--method", *words, f"body=@{self.temporary}/comment.md"}, {*self.logged("gh").split("\n")}
            )
            body = Path(self.temporary, "comment.md").read_text("utf-8")
            self.assertTrue(body.startswith("<!-- verdict -->\n" + "1" * 40) and body.endswith(f"\n{hostile}\n"), body)
            self.assertEqual(os.listdir(self.work), [])
        if shutil.which("jq"):
            told = re.findall(r"^(\.\[\] \| .*)$", self.logged("gh"), re.MULTILINE)
            chosen = testing.process("jq", told[0], input=json.dumps(listed).encode())
            self.assertEqual(chosen.stdout, b"3\n", chosen)

    def test_gitlab(self) -> None:
        script = tree(read("gitlab-ci.yml"))["verdict"]["script"][-1]
        given: Dict[str, Any] = {
            "CI_REPOSITORY_URL": f"file://{self.scene}/owner/name", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
            "CI_JOB_TOKEN": TOKEN, "CI_PROJECT_DIR": self.log,
        }  # fmt: skip
        for head, text, status in (("fine", REVIEWER, 0), ("takeover", REVIEWER, 3), ("fine", CRASHES, 1)):
            done = self.bash(script, self.work, CI_COMMIT_SHA=self.heads[head], REVIEWER=self.reviewer(text), **given)
            self.assertEqual(done.status, status, done.said)
            self.assertNotIn(TOKEN, self.logged("env"))
            self.assertNotIn("CI_REPOSITORY_URL", self.logged("env"))
            self.assertTrue(self.logged("verdict.md").startswith("## Review: "))


# The results of two jobs, and whether the one that needs them passes.
NEEDS = {
    "success success": True, "success failure": False, "skipped success": False, "success cancelled": False, "success": False,
    "": False,
}  # fmt: skip


if __name__ == "__main__":
    testing.main()
