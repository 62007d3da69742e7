"""The ledger's command line: arguments, exit statuses, what is printed. See README.md beside this file."""

import argparse
import contextlib
import json
import os
import signal
import sys
from types import ModuleType
from typing import Callable, Dict, List, Optional, Sequence

if sys.version_info < (3, 8):
    sys.exit("ledger: needs Python 3.8 or later")

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
    provide("verdict_contract", "chain", "writing", "findings", "memory", "deltas", "repository", "verdicts", "views")
    provide("data", "session", "intake", "mcp_server", "arguments")
    import chain
    import data
    import mcp_server
    import verdicts
    import views
    import writing
    from arguments import parse, say, show
    from chain import Ends, Problem, Row, Unreadable
    from intake import prepare, run_row
    from memory import Memory
    from repository import UNKNOWN, repository
    from session import DEFAULTS, Session
except (Exception, SystemExit) as _error:
    if __name__ != "__main__":
        raise ImportError(f"a module cannot be loaded: {_error}") from _error
    with contextlib.suppress(OSError, ValueError):
        if sys.stderr is not None:
            print(f"ledger: a module cannot be loaded: {_error!a}", file=sys.stderr, flush=True)
    os._exit(4)  # with python -i, sys.exit would go on with what stdin holds, and leave with 0

UNREADABLE, INTERRUPTED = 4, 130


# --- What is printed ------------------------------------------------------------------------------


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
        failed = writing.badge(at.root, outcome, verdicts.COLOURS[outcome])
        if failed:
            say(f"warning: {failed}")


# --- The commands that write ----------------------------------------------------------------------


def record(options: argparse.Namespace, at: Session) -> int:
    """Store a run. The status says whether it was stored, never what it came to."""
    prepared = prepare(options, at.root, repository())
    with writing.writing(at.root, create=True):
        memory, ends = at.load()
        row, warnings = run_row(prepared, memory, ends, at.seen(ends))
        writing.append(at.root, "runs", row, ends)
        badge(at, memory, ends)
    for warning in warnings:
        say(f"warning: {warning}")
    because = [f"because of {why['rule']}: {views.plain(', '.join(why['held']))}" for why in row["why"]]
    words = [f"{entry['id']} {entry['delta']}" for entry in row["findings"]]
    words += [f"{item['id']} RESOLVED ({item['basis']})" for item in row["resolved"]]
    return written([f"run {row['run']} ({row['type']}): {row['verdict']}{at.clock}", *because, *words], ends)


def decide(options: argparse.Namespace, at: Session) -> int:
    """Store a decision of a maintainer."""
    with writing.writing(at.root, create=False):
        memory, ends = at.load()
        row: Row = {"v": chain.VERSION, "seq": ends.count["decisions"] + 1, "ts": at.seen(ends).ts, "severity": None}
        row.update({name: getattr(options, name, None) for name in ("by", "target", "reason", "cite", "until")})
        row.update(action=options.command, runs=ends.anchor("runs"))
        verdicts.decide(memory, row, at.moment.date())
        writing.append(at.root, "decisions", row, ends)
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
        "json": lambda: as_json(data.gate_data(memory, judged, seen)),
        "github-comment": lambda: views.comment(memory, judged, seen),
        "sarif": lambda: as_json(data.sarif(memory, seen, "README.md", False)),
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
    return [
        f"runs: {ends.count['runs']}, decisions: {ends.count['decisions']}; all verify{at.clock}",
        f"head {ends.head}",
    ]


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
    runs = [past._asdict() for past in pasts]
    return as_json({"now": seen.ts + seen.clock, "runs": runs}) if options.json else views.history(pasts, seen)


PRINTED: Dict[str, Callable[[argparse.Namespace, Session], List[str]]] = {
    "brief": brief,
    "verify": verify,
    "status": status,
    "show": show_finding,
    "report": report,
    "history": history,
    "decisions": lambda _, at: views.decisions(*at.judged()),
    "sarif": lambda options, at: as_json(data.sarif(*at.judged(), options.fallback, options.include_suppressed)),
}
DONE: Dict[str, Callable[[argparse.Namespace, Session], int]] = {
    "record": record,
    "gate": gate,
    **dict.fromkeys(verdicts.PENS, decide),
    "mcp": lambda options, at: mcp_server.serve([at.root, *options.also]),
}


# --- The program ----------------------------------------------------------------------------------


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command. Returns the exit status; bad input and a broken output raise nothing."""
    try:
        options = parse(arguments, (*PRINTED, *DONE))
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
    for name in ("SIGTERM", "SIGHUP", "SIGQUIT"):
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is not signal.SIG_IGN:
            signal.signal(getattr(signal, name), interrupt)
    if hasattr(signal, "SIGCHLD"):
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, a git that failed seems to end in 0
    code = main()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    if sys.flags.inspect:
        os._exit(code)  # Python would ask for more, and leave with 0
    return code


if __name__ == "__main__":
    sys.exit(run())
