"""Take a reviewer's final message out of what its command-line client printed, or say why there is none."""

import contextlib
import json
import os
import re
import sys
from types import ModuleType
from typing import Any, Callable, Dict, List, NamedTuple, NoReturn, Optional, Sequence, Tuple

if sys.version_info < (3, 8):
    sys.exit("final_message.py: needs Python 3.8 or later")

PROGRAM = "final_message.py"
USAGE = """\
Take a reviewer's final message out of what its command-line client printed, or say why there is none.

  claude -p --output-format json <prompt >out.json &&
  python3 -I -S examples/gate/final_message.py out.json >reply &&
  python3 -I -S verdict_check.py --token TOKEN reply

  final_message.py [--format NAME] FILE

  FILE           what the client wrote to stdout, or - for standard input
  --format NAME  how to take the message, see below; default: auto
  -h, --help     print this, and end in 2

Between the steps stand files, not pipes: several clients exit before a pipe is drained and lose the end of their
reply with status 0, and a pipe hides the status of all but its last command. The message goes to stdout as it is,
for a program to read: a terminal there is refused, since text from a model may command one.

exit status
  0  the message is on stdout; that of an empty file is empty
  1  there is none that is whole, or a file cannot be read or written; one line on stderr says why
  2  usage; --help too
130  interrupted

formats
  text           all of it, but for thinking that it begins with and that is marked
  result-json    claude and qwen, json and stream-json: "result" of the one object of type "result", which is the last
  gemini-json    gemini, json: "response"
  opencode-json  opencode, json: the text parts of the last message
  copilot-json   copilot, json: "content" of each assistant.message after the last that asks for tools
  auto           what begins with an object, or an array of objects, is one of the above, whole, or no reply; anything
                 else is text

There is none for codex: its --json can lose the final message and end with status 0. Take its plain stdout.
Thinking is known by these marks: <think> </think>, <thinking> </thinking>, [THINK] [/THINK], the same with triangles
for brackets, the lines "Thinking..." and "...done thinking." of ollama, and <|channel|> of anything but the final one.
A mark that is not closed is refused wherever it stands, also where a message only talks of it. Thinking at the start is
cut at the first closing mark. Thinking that is marked in another way, or that quotes its closing mark, passes for the
answer. Unknown fields and events are skipped. Works on POSIX; on Windows it has not been run."""

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
    from verdict_check import CannotRead, Parser, decode, ended, read_bytes, say
except (Exception, SystemExit) as _error:
    _reason = f"a module cannot be loaded: {type(_error).__name__}: {_error}"
    if __name__ != "__main__":
        raise ImportError(_reason) from _error
    with contextlib.suppress(OSError):  # where stderr is closed or full, sys.exit with a text would end in 120
        os.write(2, f"{PROGRAM}: {ascii(_reason)[1:-1]}\n".encode())
    os._exit(1)  # with python -i, sys.exit would go on with what stdin holds, and leave with 0

AUTO, TEXT = "auto", "text"
NO_MESSAGE, USAGE_ERROR = 1, 2  # exit statuses
_LONGEST_NUMBER = 20  # digits; the time to read more grows with their square
_BLANKS = "\ufeff \t\r\n"


class NoReply(Exception):
    """Output without a final message that is sure to be whole; the text says why, in words of this file only."""


# --- From output to message -----------------------------------------------------------------------


def final_message(output: bytes, form: str = AUTO) -> str:
    """The final message in the whole standard output of a client, taken as a format of NAMES says.

    Raises NoReply where there is none, and ValueError for an unknown format.
    """
    if form not in NAMES:
        raise ValueError(f"not a format: {form}")
    text = decode(output)
    if form == AUTO and not _LIKE_JSON.match(text):
        form = TEXT
    message = text if form == TEXT else _from_json(text, form)
    _need(not _thinks(message), "thinking is marked in it and does not end, as with a <think> that is not closed")
    return _THOUGHT.sub("", message) if form == TEXT else message


# An object, or an array of them; what is cut behind its bracket may have been one. Prose begins with [P2] or [a link].
_LIKE_JSON = re.compile(rf"[{_BLANKS}]*(?:{{|\[[{_BLANKS}]*(?:{{|\Z))")


def _from_json(text: str, form: str) -> str:
    events = _events(text.lstrip(_BLANKS))
    known = [shape for shape in SHAPES if form == shape.name or (form == AUTO and shape.looks(events))]
    _need(len(known) == 1, "JSON of no client that is known here")
    return known[0].take(events)


def _need(condition: object, why: str) -> None:
    if not condition:
        raise NoReply(why)


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise NoReply(f"{what} is no text")
    return value


# --- Thinking before the answer -------------------------------------------------------------------

_COLOUR = r"\x1b\[[0-9;:]*m"
# What may stand before a mark, and around one on its line. Without a bound, colour codes would fill the memory.
_START, _AROUND = (rf"[{gap}]*(?:{_COLOUR}[{gap}]*){{0,9}}" for gap in (_BLANKS, "\ufeff \t\r"))
_FINAL = r"<\|channel\|>final<\|message\|>"

# How models and their servers mark it: the opening and the end. Groups in these would shift those of _MARK.
# fmt: off
THINKING = (
    (r"<think\b",                                 r"</think\s*>"),
    (r"<thinking\b",                              r"</thinking\s*>"),
    (r"\[think\]",                                r"\[/think\]"),
    ("\u25c1think\u25b7",                         "\u25c1/think\u25b7"),
    (rf"^{_AROUND}thinking(?:\.\.\.|\u2026){_AROUND}$", rf"^{_AROUND}(?:\.\.\.|\u2026)done thinking\.{_AROUND}$"),
    # Each channel before the final one opens anew, and one end closes them all.
    (rf"(?:<\|start\|>assistant)?(?!{_FINAL})<\|channel\|>.*?(?={_FINAL}|\Z)", _FINAL),
)
# fmt: on
_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL
_MARK = re.compile("|".join(f"({opening})|({end})" for opening, end in THINKING), _FLAGS)
_WHOLE = "|".join(f"(?:{opening}).*?(?:{end})" for opening, end in THINKING)
_THOUGHT = re.compile(rf"\A{_START}(?:{_WHOLE})", _FLAGS)


def _thinks(message: str) -> bool:
    """Whether a mark is left open. Nested ones count, or thinking that quotes an opening one would end early."""
    depths = [0] * len(THINKING)
    for mark in _MARK.finditer(message):
        kind, closes = divmod((mark.lastindex or 0) - 1, 2)
        depths[kind] = max(0, depths[kind] - 1) if closes else depths[kind] + 1
    return any(depths)


# --- JSON, one object, an array of them, or one a line --------------------------------------------

Event = Dict[str, Any]


def _events(text: str) -> List[Event]:
    """The objects of the output, in order. Raises NoReply unless it is nothing but whole objects."""
    try:
        found = _loaded(text)
    except (ValueError, RecursionError, MemoryError):
        raise NoReply("it is not whole JSON: a line is cut, broken or text, nested too deep or too large") from None
    _need(found and all(isinstance(event, dict) for event in found), "JSON that is no object, or holds none")
    return found


def _loaded(text: str) -> List[Any]:
    try:
        value = _READ(text)
    except ValueError:
        return [_READ(line) for line in text.split("\n") if line.strip()]
    return value if isinstance(value, list) else [value]


def _object(pairs: List[Tuple[str, Any]]) -> Event:
    found = dict(pairs)
    _need(len(found) == len(pairs), "a key stands twice in one object")
    return found


def _integer(digits: str) -> int:
    _need(len(digits) <= _LONGEST_NUMBER, "a number is too long")
    return int(digits)


def _constant(name: str) -> NoReturn:
    raise NoReply(f"{name} is no JSON")


_READ = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_constant=_constant).decode


# --- The clients' shapes --------------------------------------------------------------------------


# What a client says where it, or the model's limit, cut the reply.
_CUT_REASONS = ("length", "content-filter", "error")  # of opencode
_CUT_STOPS = ("max_tokens", "model_context_window_exceeded")  # of claude
_BEGINS = ("assistant.turn_start", "assistant.message_start", "assistant.message_delta")  # of copilot


def _result(events: List[Event]) -> str:
    results, end = [event for event in events if event.get("type") == "result"], events[-1]
    _need(len(results) == 1 and results[0] is end, "it does not end in its one result")
    _need(end.get("is_error") is False, "is_error is not false")
    _need(not str(end.get("subtype")).startswith("error"), "its subtype is an error")
    _need(end.get("api_error_status") is None, "it holds an api_error_status")
    _need(end.get("stop_reason") not in _CUT_STOPS, f"its stop_reason is one of {', '.join(_CUT_STOPS)}")
    return _text(end.get("result"), "result")


def _gemini(events: List[Event]) -> str:
    _need(len(events) == 1, "more than one object")
    _need(events[0].get("error") is None, "it holds an error")
    return _text(events[0].get("response"), "response")


def _opencode(events: List[Event]) -> str:
    parts = [(event.get("type"), event.get("part", {})) for event in events]
    kind, end = parts[-1]
    whole = kind == "step_finish" and isinstance(end, dict) and end.get("reason") == "stop"
    _need(whole, "the last step did not finish with reason stop")
    fine = all(kind != "error" and isinstance(part, dict) for kind, part in parts)
    _need(fine, "it holds an error, or a part that is no object")
    reasons = [part.get("reason") for kind, part in parts if kind == "step_finish"]
    _need(not any(reason in _CUT_REASONS for reason in reasons), f"a step's reason is one of {', '.join(_CUT_REASONS)}")
    message = _text(end.get("messageID"), "messageID")
    texts = [part.get("text") for kind, part in parts if kind == "text" and part.get("messageID") == message]
    return "".join(_text(text, "a text part") for text in texts)


def _copilot(events: List[Event]) -> str:
    kinds, code = [event.get("type") for event in events], events[-1].get("exitCode")
    whole = kinds[-1] == "result" and type(code) is int and code == 0
    _need(whole, "it does not end in a result with exitCode 0")
    _need("session.error" not in kinds, "it holds a session.error")
    last = _since_tools(events)
    _need(last, "no assistant.message ends it, or more has begun")
    return "\n".join(_text(data.get("content"), "content") for data in last)


def _since_tools(events: List[Event]) -> List[Event]:
    """Copilot's messages after the last that asks for tools, but for a sub-agent's; none where another has begun."""
    found: List[Event] = []
    begun = False
    for kind, data in ((event.get("type"), event.get("data")) for event in events):
        begun = begun or kind in _BEGINS
        if kind == "assistant.message":
            if not isinstance(data, dict):
                raise NoReply("an assistant.message without data")
            if data.get("parentToolCallId") is None:
                begun = False
                found.append(data)
                if data.get("toolRequests"):
                    found.clear()
    return [] if begun else found


class Shape(NamedTuple):
    """A client's JSON: the format's name, how "auto" knows it, and what takes the message out."""

    name: str
    looks: Callable[[List[Event]], bool]
    take: Callable[[List[Event]], str]


# fmt: off
SHAPES = (
    Shape("result-json", lambda events: any(e.get("type") == "result" and "is_error" in e for e in events), _result),
    Shape("gemini-json", lambda events: "type" not in events[0] and ("response" in events[0] or "error" in events[0]),
          _gemini),
    Shape("opencode-json", lambda events: any("part" in e for e in events), _opencode),
    Shape("copilot-json", lambda events: any(e.get("type") == "assistant.message" for e in events), _copilot),
)
# fmt: on
NAMES = (AUTO, TEXT, *(shape.name for shape in SHAPES))


def unescaped(text: str) -> str:
    """JSON as lines: within its strings no line begins, so that a verdict line would pass for words within a line.

    Where a client echoes a diff in which a REQUEST_CHANGES stands, that one blocks; it costs a re-read.
    """
    text = re.sub(r"\\u([0-9A-Fa-f]{4})", lambda code: chr(int(code[1], 16)), text)
    return re.sub(r'\\[bfnrt]|"', "\n", text)


# --- The command ----------------------------------------------------------------------------------


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command. Returns the exit status. Raises SystemExit for wrong arguments, CannotRead for files and streams."""
    parser = Parser(PROGRAM, USAGE)
    parser.add_argument("--format", choices=NAMES, default=AUTO)
    parser.add_argument("file", metavar="FILE")
    options = parser.parse_args(arguments)
    if sys.stdout is not None and sys.stdout.isatty():
        say(PROGRAM, "stdout is a terminal: redirect it to a file")
        return USAGE_ERROR
    try:
        message = final_message(read_bytes(options.file), options.format)
    except NoReply as error:
        say(PROGRAM, f"{options.file}: {error}")
        return NO_MESSAGE
    _write(message)
    return 0


def _write(message: str) -> None:
    """The message as UTF-8, its line ends as they are; half a surrogate pair becomes a question mark."""
    if sys.stdout is None:
        raise CannotRead("standard output: it is closed")
    try:
        sys.stdout.buffer.write(message.encode("utf-8", "replace"))
        sys.stdout.flush()
    except OSError as error:
        raise CannotRead(f"standard output: {error.strerror}") from error


if __name__ == "__main__":
    sys.exit(ended(PROGRAM, main))
