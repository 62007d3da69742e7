"""The ledger's command line: arguments, exit statuses, what is printed. See README.md beside this file."""

import argparse
import contextlib
import json
import os
import re
import signal
import sys
from types import ModuleType
from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence, Tuple

if sys.version_info < (3, 8):
    sys.exit("ledger: needs Python 3.8 or later")

USAGE = """\
python3 -I -S ledger [--root DIR] COMMAND ...     DIR: .verdict, or $VERDICT_LEDGER_ROOT

  brief                            the part of a reviewer's prompt that tells what is known
  record (--report FILE [--token T | --diff-file FILE] | --verdict V --findings FILE) [RUN OPTIONS]
  accept ID --cite C --reason R [--until DATE]      dismiss ID --cite C --reason R      revoke ID --reason R
  same ID ID                       the first is the second
  quarantine TEST --until DATE --reason R           release TEST --reason R             answer Q --answer T
  gate [--fail-on fail|risks] [--max-age-hours H] [--max-commits-behind N | --any-code] [--min-run-number N]
       [--expect-head HEX] [--with REPORT [--token T | --diff-file FILE] [RUN OPTIONS] [--new-only]]
       [--format text|json|github-comment|sarif]
  decisions   status   show ID   report [--run N]   history [--json]   verify
  sarif [--fallback PATH] [--include-suppressed]    mcp [--also DIR]...

RUN OPTIONS: [--scope full | none | PATH...] [--scope-diff BASE] [--check NAME=STATUS]... [--not-tested TEXT]...
  [--sha S] [--by NAME] [--label TEXT] [--code-path PATH]... [--rebaseline]

exit status of gate: 0 pass, or pass with risks unless --fail-on risks; 1 fail; 3 blocked; 5 stale
exit status of all:  0 done; 2 usage, or refused with nothing written; 4 nothing to judge by; 6 tampered; 130 interrupted
"""
PROGRAM = "ledger"
USAGE_ERROR, UNREADABLE, INTERRUPTED = 2, 4, 130
_HERE = os.path.dirname(os.path.realpath(__file__))


def provide(*names: str) -> None:
    """Load modules by their source, from this file's folder or the two above; a package or .pyc of that name is not taken."""
    for name in names:
        places = [os.path.join(_HERE, up, name + ".py") for up in ("", os.pardir, os.path.join(os.pardir, os.pardir))]
        path = next(filter(os.path.isfile, places), None)
        if path is None:
            raise ImportError(
                name + ".py is neither beside " + os.path.basename(__file__) + " nor in the two folders above"
            )
        if name not in sys.modules:
            module = sys.modules[name] = ModuleType(name)
            module.__file__ = path
            with open(path, "rb") as source:
                exec(compile(source.read(), path, "exec"), vars(module))  # noqa: S102


try:
    provide("verdict_contract", "chain", "findings", "memory", "deltas", "repository", "verdicts", "views", "sarif")
    provide("session", "intake", "mcp_server")
except Exception as error:
    if __name__ != "__main__":
        raise
    sys.stderr and print(f"{PROGRAM}: a module cannot be loaded: {error!a}", file=sys.stderr)
    sys.exit(UNREADABLE)

import chain
import mcp_server
import sarif
import verdicts
import views
from chain import Ends, Problem, Refused, Row, Unreadable
from intake import prepare, run_row
from memory import Memory
from repository import UNKNOWN, repository
from session import ALWAYS, DEFAULTS, Session


# --- What is printed ------------------------------------------------------------------------------


def say(line: object) -> None:
    """One line on stderr in which nothing acts; where nobody listens, nothing happens."""
    with contextlib.suppress(OSError, ValueError):
        if sys.stderr is not None:
            print(f"{PROGRAM}: {views.plain(line)}", file=sys.stderr, flush=True)


def show(lines: Sequence[str]) -> None:
    """Print lines and flush. Raises Unreadable where that cannot be done."""
    try:
        if sys.stdout is not None:
            print(*lines, sep="\n", flush=True)
    except (OSError, ValueError) as error:
        raise Unreadable(f"standard output: {getattr(error, 'strerror', None) or error}") from None


def as_json(value: object) -> List[str]:
    """One value in ASCII, its keys sorted."""
    return json.dumps(value, indent=1, sort_keys=True).splitlines()


def written(lines: List[str], ends: Ends) -> int:
    """Say what was stored; a broken output cannot take that back."""
    try:
        show([*lines, f"head {ends.head}"])
    except Unreadable as problem:
        say(f"stored, but {problem}")
    return 0


def badge(at: Session, memory: Memory, ends: Ends) -> None:
    """Write the badge; what goes wrong with it is only said, since the row is stored."""
    if memory.last is not None:
        outcome = at.outcome(memory, at.seen(ends))
        failed = chain.badge(at.root, outcome, verdicts.COLOURS[outcome])
        if failed:
            say(f"warning: {failed}")


# --- The commands that write ----------------------------------------------------------------------


def record(options: argparse.Namespace, at: Session) -> int:
    """Store a run. The status says whether it was stored, never what it came to."""
    prepared = prepare(options, at.root, repository())
    with chain.writing(at.root, create=True):
        memory, ends = at.load()
        row, warnings = run_row(prepared, memory, ends, at.seen(ends))
        chain.append(at.root, "runs", row, ends)
        badge(at, memory, ends)
    for warning in warnings:
        say(f"warning: {warning}")
    because = [f"because of {why['rule']}: {views.plain(', '.join(why['held']))}" for why in row["why"]]
    words = [f"{entry['id']} {entry['delta']}" for entry in row["findings"]]
    words += [f"{item['id']} RESOLVED ({item['basis']})" for item in row["resolved"]]
    return written([f"run {row['run']} ({row['type']}): {row['verdict']}{at.clock}", *because, *words], ends)


def decide(options: argparse.Namespace, at: Session) -> int:
    """Store a decision of a maintainer."""
    with chain.writing(at.root, create=False):
        memory, ends = at.load()
        row: Row = {"v": chain.VERSION, "seq": ends.count["decisions"] + 1, "ts": at.seen(ends).ts, "severity": None}
        row.update({name: getattr(options, name, None) for name in ("by", "target", "reason", "cite", "until")})
        row.update(action=options.command, runs=ends.anchor("runs"))
        verdicts.decide(memory, row, at.moment.date())
        chain.append(at.root, "decisions", row, ends)
        memory.apply("decisions", row)
        badge(at, memory, ends)
    return written([f"decision {row['seq']}: {row['action']} {views.plain(row['target'])}{at.clock}"], ends)


# --- The commands that read -----------------------------------------------------------------------


def gate(options: argparse.Namespace, at: Session) -> int:
    """Judge; the status is the answer."""
    prepared = prepare(options, at.root, repository()) if options.report is not None else None
    memory, ends = at.load()
    if memory.last is None:
        raise Unreadable(f"{at.root}: no run yet")
    if options.expect_head not in (None, ends.head):
        raise chain.Tampered(f"the head is {ends.head}, not the expected {options.expect_head}")
    row = stored = memory.last
    seen = at.seen(ends)
    if prepared is not None:
        row, warnings = run_row(prepared, memory, ends, seen, options.new_only)
        for warning in warnings:
            say(f"warning: {warning}")
    fresh = at.fresh(options, row, stored, ends.count["runs"])
    judged = verdicts.gate(memory, fresh, seen.today, options.fail_on, options.new_only)
    form: Dict[str, Callable[[], List[str]]] = {
        "text": lambda: views.gate_text(memory, judged, seen),
        "json": lambda: as_json(views.gate_data(memory, judged, seen)),
        "github-comment": lambda: views.comment(memory, judged, seen),
        "sarif": lambda: as_json(sarif.log(memory, seen, "README.md", False)),
    }
    show(form[options.format]())
    return judged.status


def brief(_: argparse.Namespace, at: Session) -> List[str]:
    """What is known; before the first run that is nothing."""
    memory, ends = at.load() if os.path.lexists(at.root) else (Memory(), Ends())
    where = repository()
    head = where.commit("HEAD") if where else None
    return views.brief(memory, at.seen(ends), where.tree(head) if where and head else UNKNOWN)


def verify(_: argparse.Namespace, at: Session) -> List[str]:
    """How much was read, all of which verifies."""
    ends = at.load()[1]
    return [f"{ends.count['runs']} runs and {ends.count['decisions']} decisions verify{at.clock}", f"head {ends.head}"]


def status(_: argparse.Namespace, at: Session) -> List[str]:
    """Four lines."""
    memory, seen = at.judged()
    run = memory.last or {}
    judged = verdicts.gate(memory, at.fresh(DEFAULTS, run, run, run["run"]), seen.today, "fail", False)
    return views.status(memory, judged, seen)


def show_finding(options: argparse.Namespace, at: Session) -> List[str]:
    """All that is known of one finding."""
    memory, seen = at.rows_of(options.target)
    return views.show(memory, options.target, seen)


def report(options: argparse.Namespace, at: Session) -> List[str]:
    """The report of now, or of the moment at which a run was stored."""
    memory, seen = at.judged(until=options.run)
    return views.report(memory, at.outcome(memory, seen, options.run), seen)


def history(options: argparse.Namespace, at: Session) -> List[str]:
    """Every run."""
    pasts, seen = at.history()
    return as_json([past._asdict() for past in pasts]) if options.json else views.history(pasts, seen)


PRINTED: Dict[str, Callable[[argparse.Namespace, Session], List[str]]] = {
    "brief": brief,
    "verify": verify,
    "status": status,
    "show": show_finding,
    "report": report,
    "history": history,
    "decisions": lambda _, at: views.decisions(*at.judged()),
    "sarif": lambda options, at: as_json(sarif.log(*at.judged(), options.fallback, options.include_suppressed)),
}
DONE: Dict[str, Callable[[argparse.Namespace, Session], int]] = {
    "record": record,
    "gate": gate,
    **dict.fromkeys(verdicts.PENS, decide),
    "mcp": lambda options, at: mcp_server.serve([at.root, *options.also]),
}


# --- Arguments ------------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    """An error is one line on stderr in which nothing acts, and status 2; so is --help, on stdout."""

    def __init__(self, **options: object) -> None:
        super().__init__(prog=PROGRAM, allow_abbrev=False, usage=USAGE, add_help=True)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the call."""
        say(f"{message} (--help shows the usage)")
        raise SystemExit(USAGE_ERROR)

    def print_help(self, file: object = None) -> None:
        """Print the usage."""
        with contextlib.suppress(Unreadable):
            show([USAGE.rstrip("\n")])
        raise SystemExit(USAGE_ERROR)


def whole(text: str) -> int:
    """A number of runs or commits."""
    if not re.fullmatch("[0-9]{1,9}", text):
        raise argparse.ArgumentTypeError(f"{text!a} is no whole number")
    return int(text)


def hours(text: str) -> float:
    """A number of hours."""
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        raise argparse.ArgumentTypeError(f"{text!a} is no number of hours")
    return float(text)


def digest(text: str) -> str:
    """A head, in lower case."""
    if not re.fullmatch("[0-9A-Fa-f]{64}", text):
        raise argparse.ArgumentTypeError(f"{text!a} is no head, 64 hex digits")
    return text.lower()


# fmt: off
_Options = Tuple[Tuple[str, Dict[str, Any]], ...]
_RUN: _Options = (
    ("--token", {}), ("--diff-file", {}), ("--scope", {"nargs": "+"}), ("--scope-diff", {}),
    ("--check", {"action": "append", "default": []}), ("--not-tested", {"action": "append", "default": []}),
    ("--sha", {}), ("--by", {}), ("--label", {}), ("--code-path", {"action": "append", "default": []}),
    ("--rebaseline", {"action": "store_true"}),
)
_WHY: _Options = (("--reason", {}), ("--by", {}))
OPTIONS: Dict[str, _Options] = {
    "record": (("--report", {}), ("--verdict", {"choices": verdicts.VERDICTS}), ("--findings", {}), *_RUN),
    "gate": (
        ("--fail-on", {"choices": ("fail", "risks"), "default": "fail"}), ("--max-age-hours", {"type": hours}),
        ("--max-commits-behind", {"type": whole}), ("--any-code", {"action": "store_true"}),
        ("--min-run-number", {"type": whole, "default": 0}), ("--expect-head", {"type": digest}),
        ("--with", {"dest": "report"}), ("--new-only", {"action": "store_true"}),
        ("--format", {"choices": ("text", "json", "github-comment", "sarif"), "default": "text"}), *_RUN,
    ),
    "accept": (("target", {}), ("--cite", {}), ("--until", {}), *_WHY),
    "dismiss": (("target", {}), ("--cite", {}), *_WHY),
    "revoke": (("target", {}), *_WHY),
    "same": (("target", {}), ("cite", {}), *_WHY),
    "quarantine": (("target", {}), ("--until", {}), *_WHY),
    "release": (("target", {}), *_WHY),
    "answer": (("target", {}), ("--answer", {"dest": "reason"}), ("--by", {})),
    "show": (("target", {}),),
    "report": (("--run", {"type": whole}),),
    "history": (("--json", {"action": "store_true"}),),
    "sarif": (("--fallback", {"default": "README.md"}), ("--include-suppressed", {"action": "store_true"})),
    "mcp": (("--also", {"action": "append", "default": []}),),
}
# fmt: on


def parse(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    """The options. Raises SystemExit with status 2, after saying why."""
    parser = Parser()
    parser.add_argument("--root", default=os.environ.get("VERDICT_LEDGER_ROOT") or ".verdict")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.required = True
    for command in (*PRINTED, *DONE):
        added = commands.add_parser(command)
        for name, how in OPTIONS.get(command, ()):
            added.add_argument(name, **how)
    options = parser.parse_args(arguments)
    for ways, said in _TOGETHER.get(options.command, ()):
        if not ways(options):
            parser.error(said)
    return options


# fmt: off
_Ways = Tuple[Tuple[Callable[[argparse.Namespace], object], str], ...]
_RUN_TOGETHER: _Ways = (
    (lambda o: o.token is None or o.diff_file is None, "--token and --diff-file exclude each other"),
    (lambda o: o.scope is None or o.scope_diff is None, "--scope and --scope-diff exclude each other"),
)
_TOGETHER: Dict[str, _Ways] = {
    "record": (
        (lambda o: (o.report is None) != (o.verdict is None), "one of --report FILE and --verdict V --findings FILE"),
        (lambda o: (o.verdict is None) == (o.findings is None), "--verdict and --findings go together"),
        (lambda o: o.report or not (o.token or o.diff_file), "--token and --diff-file go with --report"),
        *_RUN_TOGETHER,
    ),
    "gate": (
        (lambda o: not o.any_code or o.max_commits_behind is None,
         "--any-code and --max-commits-behind exclude each other"),
        (lambda o: o.report or not (o.new_only or any(getattr(o, name[2:].replace("-", "_")) for name, _ in _RUN)),
         "--new-only and RUN OPTIONS go with --with"),
        *_RUN_TOGETHER,
    ),
}
# fmt: on


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command. Returns the exit status; bad input and a broken output raise nothing."""
    try:
        options = parse(arguments)
        at = Session(options.root)
        if options.command in DONE:
            return DONE[options.command](options, at)
        show(PRINTED[options.command](options, at))
    except SystemExit as exit_:
        return int(exit_.code or 0)
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except Problem as problem:
        say(problem)
        return problem.status
    except Exception as error:  # noqa: BLE001 - whatever it is, it is no pass
        say(f"unexpected {type(error).__name__}: {error}")
        return UNREADABLE
    return 0


def interrupt(*_: object) -> None:
    """What a signal that cancels a job comes to."""
    raise KeyboardInterrupt


def run() -> int:
    """main as a program: signals end in 130, and what cannot be written at shutdown does not change the status."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN:
            signal.signal(getattr(signal, name), interrupt)
    code = main()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return code


if __name__ == "__main__":
    sys.exit(run())
