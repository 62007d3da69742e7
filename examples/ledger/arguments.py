"""The arguments of every command, as data; and what goes to the terminal: lines in which nothing acts."""

import argparse
import contextlib
import os
import re
import sys
from typing import Any, Callable, Dict, NoReturn, Optional, Sequence, Tuple

import verdicts
import views
from chain import Unreadable
from findings import inside, normal_path

PROGRAM = "ledger"
USAGE_ERROR = 2
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
exit status of all:  0 done; 2 usage, or refused with nothing written; 4 nothing to judge by; 6 tampered;
  130 interrupted
"""


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


class Parser(argparse.ArgumentParser):
    """An error is one line on stderr in which nothing acts, and status 2; so is --help, on stdout."""

    def __init__(self, **_: object) -> None:
        super().__init__(prog=PROGRAM, allow_abbrev=False, usage=USAGE)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the call."""
        say(f"{message} (--help shows the usage)")
        raise SystemExit(USAGE_ERROR)

    def print_help(self, _: object = None) -> None:
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


def below(text: str) -> str:
    """A path below the top folder, as the ledger writes it."""
    path = normal_path(text)
    if path is None or not inside(path):
        raise argparse.ArgumentTypeError(f"{text!a} is no path below the top folder")
    return path


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
    "sarif": (
        ("--fallback", {"type": below, "default": "README.md"}), ("--include-suppressed", {"action": "store_true"}),
    ),
    "mcp": (("--also", {"action": "append", "default": []}),),
}
# fmt: on


def parse(arguments: Optional[Sequence[str]], names: Sequence[str]) -> argparse.Namespace:
    """The options of one of the commands in names. Raises SystemExit with status 2, after saying why."""
    parser = Parser()
    parser.add_argument("--root", default=os.environ.get("VERDICT_LEDGER_ROOT") or ".verdict")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.required = True
    for command in names:
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
