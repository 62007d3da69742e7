"""The ledger before programs of others: `python .ci/ledger.py [mcp] [sarif] [client]`, with the Python of .ci/tools.

mcp: the official client library lists and calls every tool of the server, in both eras of the protocol.
sarif: two validators and a reader take what the ledger prints; each validator finds the fault that was put in for it.
client: a real reviewer client, which asks a model server on loopback, makes three reviews; each is recorded and judged.

What npm installs is pinned by .ci/sarif and .ci/clients. All that is started after that finds no network but loopback,
where the system allows it. Prints a line for each check. Ends in status 1 if one fails.
"""

import argparse
import asyncio
import datetime
import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Sequence, cast

import clients
import model_server
from model_server import ModelServer, Script, Seen

import test_verdict_contract as testing  # found by clients.py

LEDGER = clients.ROOT / "examples" / "ledger"
CONTRACT = clients.ROOT / "verdict_contract.py"
TOOLS: Dict[str, Dict[str, Any]] = {  # all that the server has to offer, with the arguments of a call
    "list_projects": {},
    "get_verdict": {},
    "get_findings": {"status": "all"},
    "get_quarantine": {},
    "get_questions": {},
    "get_history": {"last": 1},
    "get_report": {"run": 1},
    "get_trends": {},
}
PATIENCE = 120  # seconds for any program; the longest takes a tenth on a machine that is idle
PINS = clients.ROOT / ".ci" / "sarif"
WANTED = json.loads((PINS / "package.json").read_text(encoding="utf-8"))["dependencies"]["@microsoft/sarif-multitool"]
INSTALLED = clients.TOOLS / PINS.name
MULTITOOL = INSTALLED / "node_modules" / "@microsoft" / "sarif-multitool-linux"


class Check(NamedTuple):
    """What was tried, whether it came out right, and the figures."""

    what: str
    right: bool
    figures: str


Checks = Iterator[Check]


def run(command: Sequence[object], folder: Path, **options: Any) -> "subprocess.CompletedProcess[str]":
    """A program in a folder; its output and its errors, apart, as text."""
    given = {"encoding": "utf-8", "timeout": PATIENCE, "input": "", **options}
    return cast("subprocess.CompletedProcess[str]", testing.process(*map(str, command), cwd=folder, **given))


def ledger(folder: Path, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """The ledger's command in a folder."""
    return run([sys.executable, "-I", "-S", LEDGER, *arguments], folder)


def printed(folder: Path, *arguments: object) -> str:
    """What a command of the ledger prints. Raises RuntimeError if it ends in another status than 0."""
    done = ledger(folder, *arguments)
    if done.returncode:
        raise RuntimeError(f"ledger {arguments[0]} ended in {done.returncode}: {done.stderr[:300]!a}")
    return done.stdout


# --- A ledger to look at --------------------------------------------------------------------------

FINDINGS = (
    {"title": "SQL from input", "severity": "Critical", "path": "api/users.py", "line": 12, "rule": "sql-injection"},
    {"title": "No place", "severity": "Minor"},
    {"title": "Blanks {0} and %s in an odd place", "path": "a folder/\u00fcbung #1?.py", "line": 3},
    {"title": "Absolute", "path": "/etc/passwd", "line": 3, "severity": "Blocker"},
    {"title": "Of Windows", "path": "C:\\x\\y.py", "line": 7, "rule": "path"},
    {"title": "Out of the tree", "path": "../../x.py"},
    {"title": "@everyone <b>\n| \u202e \x1b[31m ::error:: |", "path": "m.py", "rule": "Odd Rule/\u00e9"},
    {"title": "Accepted", "severity": "Major", "path": "b.py"},
    {"title": "Dismissed", "severity": "Trivial", "path": "c.py", "line": 1},
    {"title": "Flaky", "severity": "Minor", "path": "t.py", "test": "t.py::x", "class": "flaky"},
)
TAKEN_OUT = 3  # accepted, dismissed, in quarantine
RUNS = 2


def fill(folder: Path) -> None:
    """Make a ledger in the folder: runs and decisions, with what tempts a format in them."""
    stated = {"findings": FINDINGS, "not_tested": ["load"], "questions": [{"question": "Why?", "finding": "F-1"}]}
    (folder / "findings.json").write_text(json.dumps(stated), encoding="utf-8")
    record = ("record", "--verdict", "fail", "--findings", "findings.json", "--scope", "full")
    why = ("--reason", "known since the start")
    until = datetime.datetime.now(datetime.timezone.utc).date() + datetime.timedelta(days=7)
    printed(folder, *record)
    printed(folder, "accept", "F-8", "--cite", "TICKET-77", *why)
    printed(folder, "dismiss", "F-9", "--cite", "TICKET-78", *why)
    printed(folder, "quarantine", "t.py::x", "--until", until, *why)
    printed(folder, *record)


def content(folder: Path) -> Dict[str, bytes]:
    """Every file below a folder."""
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# --- The official client of the Model Context Protocol --------------------------------------------

NAME = "review-ledger"
ERAS = (  # how the client begins, what makes it do that, the version and the server's name that it then knows
    ("a handshake", "legacy", "2025-11-25", NAME),
    ("discovery", "auto", "2026-07-28", NAME),
    ("neither", "2026-07-28", "2026-07-28", ""),
)
INVALID_PARAMS = -32602
FAULT = ('{"count": len(found)', '{"count": str(len(found))')  # not what the tool's output schema says


async def talk(server: Path, folder: Path, mode: str) -> Dict[str, Any]:
    """All tools listed and called; the library holds each answer against the schema that the server gave for it."""
    mcp: Any = importlib.import_module("mcp")
    program = mcp.StdioServerParameters(command=sys.executable, args=["-I", "-S", str(server), "mcp"], cwd=str(folder))
    async with mcp.Client(program, mode=mode, read_timeout_seconds=PATIENCE) as client:
        tools = (await client.list_tools()).tools
        answers = {tool.name: await client.call_tool(tool.name, TOOLS.get(tool.name, {})) for tool in tools}
        wrong = await client.call_tool("get_findings", {"status": "bogus"})
        try:
            await client.call_tool("no_such_tool", {})
            code = 0
        except mcp.MCPError as error:
            code = error.error.code
        return {
            "version": client.protocol_version,
            "server": client.server_info.name if client.server_info else "",
            "tools": sorted(tool.name for tool in tools),
            "reads only": all(tool.annotations and tool.annotations.read_only_hint for tool in tools),
            "answers": {name: answer.structured_content for name, answer in answers.items() if not answer.is_error},
            "refused": (wrong.is_error, code),
        }


def spoken(era: str, mode: str, known: str, name: str, folder: Path) -> Check:
    """Whether the library hears from the server what the command line prints, and nothing is written meanwhile."""
    before = content(folder)
    heard = asyncio.run(talk(LEDGER, folder, mode))
    answers = heard["answers"]
    right = {
        "version": heard["version"] == known,
        "name": heard["server"] == name,
        "tools": heard["tools"] == sorted(TOOLS) == sorted(answers),
        "annotations": heard["reads only"],
        "findings": answers.get("get_findings", {}).get("count") == len(FINDINGS),
        "runs": len(answers.get("get_trends", {}).get("runs", ())) == RUNS,
        "report": answers.get("get_report", {}).get("report", "").strip()
        == printed(folder, "report", "--run", "1").strip(),
        "exit": answers.get("get_verdict", {}).get("exit") == ledger(folder, "gate").returncode,
        "refusals": heard["refused"] == (True, INVALID_PARAMS),
        "nothing written": before == content(folder),
    }
    wrong = [what for what, holds in right.items() if not holds]
    figures = f"speaks {heard['version']}, {len(heard['tools'])} tools listed, {len(answers)} called, 2 refusals"
    return Check(f"mcp {version('mcp')}, {era}", not wrong, figures + "".join(f", WRONG: {what}" for what in wrong))


def said(error: BaseException) -> str:
    """What the innermost of a group of errors says, in one line."""
    while getattr(error, "exceptions", None):
        error = error.exceptions[0]  # type: ignore[attr-defined]
    return " ".join(str(error).split())


def faulty(folder: Path) -> Check:
    """Whether the library finds a server whose answer is not what its schema says."""
    source, copy = (LEDGER / "mcp_server.py").read_text(encoding="utf-8"), folder / "faulty"
    shutil.copytree(LEDGER, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CONTRACT, copy)
    (copy / "mcp_server.py").write_text(source.replace(*FAULT), encoding="utf-8")
    try:
        asyncio.run(talk(copy, folder, "auto"))
        found = "nothing found"
    except Exception as error:  # noqa: BLE001 - the library's own, and in groups
        found = said(error)
    right = source.count(FAULT[0]) == 1 and "structured content" in found and "get_findings" in found
    return Check("mcp, a planted fault", right, f"{'found' if right else 'NOT found'}: {found[:90]!a}")


def mcp_checks(folder: Path) -> Checks:
    """The server before the official client library."""
    fill(folder)
    for era in ERAS:
        yield spoken(*era, folder)
    yield faulty(folder)


# --- SARIF ----------------------------------------------------------------------------------------


def install_multitool() -> bool:
    """See that the pinned validator is there."""
    name = f"@microsoft/{MULTITOOL.name}"
    if clients.version_of(INSTALLED, name) != WANTED:
        clients.npm(PINS, "ci --ignore-scripts")
    program = MULTITOOL / "Sarif.Multitool"
    if program.exists():
        program.chmod(0o755)  # which its install script would do
    return program.exists()


def by_multitool(path: Path) -> List[str]:
    """The levels of what sarif-multitool found; its status says nothing of that."""
    found = path.with_suffix(".found")
    command = [MULTITOOL / "Sarif.Multitool", "validate", path, "-o", found, "--log", "ForceOverwrite"]
    done = run(command, path.parent)
    if done.returncode or not found.exists():
        return ["error"]
    results = json.loads(found.read_text(encoding="utf-8-sig"))["runs"][0].get("results", [])
    return [str(result.get("level", "warning")) for result in results]


def by_schema(path: Path) -> List[str]:
    """The same by check-jsonschema, with the schema that the other validator ships."""
    program = Path(sys.executable).parent / "check-jsonschema"
    done = run([program, "--schemafile", MULTITOOL / "sarif-2.1.0.json", path], path.parent)
    return ["error"] if done.returncode else []


Validator = Callable[[Path], List[str]]
VALIDATORS: Dict[str, Validator] = {
    f"sarif-multitool {WANTED}": by_multitool,
    f"check-jsonschema {version('check-jsonschema')}": by_schema,
}


def ends_before_it_starts(result: Dict[str, Any]) -> None:
    """A region that the schema allows."""
    result["locations"][0]["physicalLocation"]["region"] = {"startLine": 12, "endLine": 3}


def unknown_member(result: Dict[str, Any]) -> None:
    """A member that only the schema forbids."""
    result["standing"] = "open"


FAULTS = (ends_before_it_starts, unknown_member)  # for each validator the one that it has to find


def read_by_sarif_tools(path: Path) -> int:
    """How many results sarif-tools sees. Its command would need libraries for charts; its loader does not."""
    loader: Any = importlib.import_module("sarif.loader")
    return int(loader.load_sarif_file(str(path)).get_result_count())


def validated(path: Path, expected: int) -> Checks:
    """A file before the validators, which have to find no error, and before the reader."""
    for name, validator in VALIDATORS.items():
        levels = validator(path)
        errors, warnings = levels.count("error"), levels.count("warning")
        yield Check(f"{name}, {path.name}", not errors, f"{errors} errors, {warnings} warnings")
    seen = read_by_sarif_tools(path)
    yield Check(f"sarif-tools {version('sarif-tools')}, {path.name}", seen == expected, f"{seen} of {expected} results")


def planted(fault: Callable[[Dict[str, Any]], None], path: Path, name: str, validator: Validator) -> Check:
    """Whether the validator finds more errors in the file once its first result has the fault."""
    broken = json.loads(path.read_text(encoding="utf-8"))
    fault(broken["runs"][0]["results"][0])
    copy = path.with_name(f"{fault.__name__}.sarif")
    copy.write_text(json.dumps(broken), encoding="utf-8")
    errors = validator(copy).count("error")
    return Check(f"{name}, planted: {fault.__name__.replace('_', ' ')}", errors > 0, f"{errors} errors")


def sarif_checks(folder: Path) -> Checks:
    """What the ledger prints as SARIF, before programs of others; then with faults in it."""
    fill(folder)
    left = len(FINDINGS) - TAKEN_OUT
    forms = {
        "open.sarif": (printed(folder, "sarif"), left),
        "all.sarif": (printed(folder, "sarif", "--include-suppressed"), len(FINDINGS)),
    }
    for name, (text, expected) in forms.items():
        (folder / name).write_text(text, encoding="utf-8")
        yield from validated(folder / name, expected)
    for fault, (name, validator) in zip(FAULTS, VALIDATORS.items()):
        yield planted(fault, folder / "open.sarif", name, validator)
    alike = json.loads(ledger(folder, "gate", "--format", "sarif").stdout)["runs"][0]["results"]
    same = alike == json.loads(forms["open.sarif"][0])["runs"][0]["results"]
    yield Check("gate --format sarif", same, f"{len(alike)} results, {'the same' if same else 'others'}")


# --- Reviews by a real client ---------------------------------------------------------------------

CLIENT = next(client for client in clients.CLIENTS if client.name == "claude")
PREFIX = "mcp__ledger__"  # before the name of a tool, as the client shows it to the model
ANSWERED = re.compile(r'\\+"standing\\+":')  # a key of what the tool gives, within the text of a message


class Review(NamedTuple):
    """What the model states and claims, and what has to come of it."""

    name: str
    stated: Dict[str, Any]  # {id} stands for the id that the prompt told
    claim: str
    becomes: str
    status: int  # of the gate
    looks: bool = False  # the model calls a tool of the ledger first


QUERY = {"title": "SQL from user input", "severity": "Blocker", "path": "parse.py", "line": 1}
AGAIN = {"id": "{id}", "title": "The query is put together from input", "severity": "Minor", "path": "parse.py"}
REVIEWS = (
    Review("first", {"findings": [QUERY]}, "REQUEST_CHANGES", "{id} NEW", 1),
    Review("again", {"findings": [AGAIN]}, "APPROVE", "{id} STILL_OPEN", 1, looks=True),
    Review("fixed", {"findings": [], "resolved": ["{id}"]}, "APPROVE", "{id} RESOLVED (claimed)", 0),
)


def script(review: Review, name: str) -> Script:
    """The model's answer."""
    stated = json.dumps({"not_tested": ["load"], **review.stated}).replace("{id}", name)
    reply = f"I read the change.\n\n```findings\n{stated}\n```\n\n===VERDICT=== {review.claim} {{token}}"
    return Script(reply, before="What is known?\n" if review.looks else "")


class Outcome(NamedTuple):
    """What came of a review."""

    told: List[str]  # the ids that the prompt names
    recorded: List[str]  # the lines that record printed
    status: int
    seen: List[Seen]  # the requests that the model got


def reviewed(review: Review, folder: Path, server: ModelServer) -> Outcome:
    """One review: the brief and the rule make a prompt, the client's reply is recorded, the gate judges."""
    work, reply, diff = folder / "checkout", folder / "reply.md", clients.DIFF.read_text(encoding="utf-8")
    brief = printed(work, "brief")
    told = re.findall("^F-[0-9]+", brief, re.MULTILINE)
    token = run([sys.executable, CONTRACT, "--new-token"], folder).stdout.strip()
    rule = run([sys.executable, CONTRACT, token], folder).stdout
    url = server.add(review.name, script(review, known(told)))
    done = run(command(folder), work, input=f"{diff}\n{brief}\n{rule}", env=environment(folder, url))
    reply.write_text(done.stdout, encoding="utf-8")
    options = ("--report", reply, "--token", token, "--by", CLIENT.name, "--scope", "full")
    recorded = printed(work, "record", *options).splitlines()
    return Outcome(told, recorded, ledger(work, "gate").returncode, server.seen[review.name])


def known(told: List[str]) -> str:
    """The id that the model names; in the first review, the one that its finding will get."""
    return told[0] if told else "F-1"


def looked_at(review: Review, came: Outcome) -> Check:
    """Whether it came out as it has to."""
    prompt, becomes = came.seen[0].body if came.seen else "", review.becomes.format(id=known(came.told))
    offered = set(re.findall(f'"name": "{PREFIX}([a-z_]+)"', prompt))
    right = {
        "tools": offered == set(TOOLS),
        "told": bool(came.told) == (review.name != "first") and all(name in prompt for name in came.told),
        "called": any(each.returned and ANSWERED.search(each.body) for each in came.seen) == review.looks,
        "recorded": becomes in came.recorded,
        "gate": came.status == review.status,
    }
    wrong = [name for name, holds in right.items() if not holds]
    figures = f"{len(offered)} tools listed, {len(came.told)} ids told, {becomes}, gate {came.status}"
    figures += ", a tool called" * review.looks + "".join(f", WRONG: {name}" for name in wrong)
    return Check(f"{CLIENT.name} {CLIENT.version}, review: {review.name}", not wrong, figures)


def command(folder: Path) -> List[str]:
    """The client, told of the ledger's server and allowed to call its tools."""
    arguments = ["-I", "-S", str(LEDGER), "--root", str(folder / "checkout" / ".verdict"), "mcp"]
    server = {"type": "stdio", "command": sys.executable, "args": arguments}
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"ledger": server}}), encoding="utf-8")
    words = shlex.split(f"{CLIENT.command} {CLIENT.options} --allowedTools {PREFIX.rstrip('_')}")
    return [*words, "--mcp-config", str(path)]


def environment(folder: Path, url: str) -> Dict[str, str]:
    """All that the client finds."""
    name, _, value = CLIENT.variables.partition("=")
    return {**clients.environment(CLIENT, folder, {"url": url}), name: value}


def client_checks(folder: Path) -> Checks:
    """Reviews in a row, of one checkout."""
    for name in ("home", "tmp", "checkout"):
        (folder / name).mkdir()
    (folder / "checkout" / "parse.py").write_text("first = values[1]\n", encoding="utf-8")
    for step in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "The code"]):
        testing.git(folder / "checkout", "-c", "user.name=n", "-c", "user.email=e@example.invalid", *step)
    model_server.TOOLS.clear()
    model_server.TOOLS[f"{PREFIX}get_findings"] = lambda _: {"status": "open"}
    server = ModelServer()
    for review in REVIEWS:
        yield looked_at(review, reviewed(review, folder, server))


# --- All of them ----------------------------------------------------------------------------------

PARTS: Dict[str, Callable[[Path], Checks]] = {"mcp": mcp_checks, "sarif": sarif_checks, "client": client_checks}


def checks(part: str) -> Checks:
    """The checks of a part, in a folder of its own; what stops them is a check that failed."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            yield from PARTS[part](Path(scratch).resolve())
        except Exception as error:  # noqa: BLE001 - the other parts still run
            yield Check(part, False, f"{type(error).__name__}: {said(error)[:300]!a}")


def check_all(parts: Sequence[str]) -> int:
    """Run the parts. Returns the exit status."""
    began, wrong, count = time.monotonic(), 0, 0
    for check in (check for part in parts for check in checks(part)):
        print(f"{'right' if check.right else 'WRONG'}  {check.what}: {check.figures}", flush=True)
        count, wrong = count + 1, wrong + (not check.right)
    print(f"ledger: {count} checks, {wrong} wrong, {time.monotonic() - began:.0f} s")
    return 1 if wrong or not count else 0


def install(parts: Sequence[str]) -> List[str]:
    """Install what the parts need; returns what could not be had."""
    missing = []
    if "sarif" in parts and not install_multitool():
        missing.append("sarif-multitool")
    if "client" in parts and CLIENT not in clients.install():
        missing.append(CLIENT.name)
    return missing


def main() -> int:
    """Install, then run this program again in a network of its own, where it checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all if left out")
    parts = parser.parse_args().parts or list(PARTS)
    if not set(parts) <= set(PARTS):
        parser.error(f"a part is one of {', '.join(PARTS)}")
    if clients.ALONE in os.environ:
        return check_all(parts)
    missing = install(parts)
    if missing:
        print(f"ledger: cannot be installed, which needs npm: {', '.join(missing)}")
        return 1
    return clients.run_alone(__file__, parts)


if __name__ == "__main__":
    sys.exit(main())
