"""Take a reviewer's final message out of what its command-line client printed, or say why there is none.

  claude -p --output-format json <prompt >out.json &&
  python3 examples/gate/final_message.py out.json >reply &&
  python3 verdict_check.py --token TOKEN reply

  final_message.py [--format NAME] FILE

Between the steps stand files, not pipes: several clients exit before a pipe is drained and lose the end of their
reply with status 0, and a pipe hides the status of all but its last command. The message goes to stdout as it is,
for a program to read: a terminal there is refused, since text from a model may command one.

exit status
  0  the message is on stdout; that of an empty file is empty
  1  there is none that is whole, or a file cannot be read or written; one line on stderr says why
  2  usage; --help too

formats
  text           all of it; thinking before the answer, <think>...</think>, is cut at the first closing tag
  result-json    claude and qwen, json and stream-json: "result" of the one object of type "result", which is the last
  gemini-json    gemini, json: "response"
  opencode-json  opencode, json: the text parts of the last message
  copilot-json   copilot, json: "content" of each assistant.message after the last that asks for tools
  auto           what begins like JSON is one of the above, whole, or no reply; anything else is text

There is none for codex: its --json can lose the final message and end with status 0. Take its plain stdout.
A <think> or <thinking> that is not closed is refused wherever it stands, also where a message only talks of it.
Thinking that is marked in another way, or that quotes its closing tag, passes for the answer.
Unknown fields and events are skipped. Works on POSIX; on Windows it has not been run.
"""

from __future__ import annotations

import argparse
import codecs
import json
import re
import sys
from typing import Any, Callable, Dict, List, NamedTuple, NoReturn, Optional, Sequence, Tuple

AUTO, TEXT = "auto", "text"
FAILED, USAGE, INTERRUPTED = 1, 2, 130
LIMIT = 64 << 20  # bytes of output
_LONGEST_NUMBER = 20  # digits; the time to read more grows with their square

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BLANKS = "\ufeff \t\r\n"
_THOUGHT = re.compile(rf"\A(?:[{_BLANKS}]|\x1b\[[0-9;:]*m)*<think>.*?</think>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<(think(?:ing)?)\b|</(think(?:ing)?)\s*>", re.IGNORECASE)
_LOG_COMMAND = re.compile(r"^\s*::|##(?=\w*\[)")  # GitHub: ::name:: at the start, ##[name] anywhere; Azure: ##vso[


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
    if form == AUTO and not text.lstrip(_BLANKS).startswith(("{", "[")):
        form = TEXT
    message = text if form == TEXT else _from_json(text, form)
    _need(not _thinks(message), "a <think> or <thinking> is not closed")
    return _THOUGHT.sub("", message) if form == TEXT else message


def decode(content: bytes) -> str:
    """The text of some bytes: as their byte order mark says, else UTF-8; bad bytes are replaced."""
    codec = next((codec for bom, codec in _BOMS if content.startswith(bom)), "utf-8")
    return content.decode(codec, "replace")


def _thinks(message: str) -> bool:
    """Whether a tag is left open. Nested ones count, or thinking that quotes an opening one would end early."""
    depths: Dict[str, int] = {}
    for tag in _TAG.finditer(message):
        name = (tag[1] or tag[2]).lower()
        depths[name] = max(0, depths.get(name, 0) + (1 if tag[1] else -1))
    return any(depths.values())


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
    """JSON as lines: within its strings no line begins, and a sentinel would pass for a mention.

    Where a client echoes a diff in which a REQUEST_CHANGES stands, that one blocks; it costs a re-read.
    """
    text = re.sub(r"\\u([0-9A-Fa-f]{4})", lambda code: chr(int(code[1], 16)), text)
    return re.sub(r'\\[bfnrt]|"', "\n", text)


# --- The command ----------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """An error is one line."""

    def error(self, message: str) -> NoReturn:
        _complain(f"{message} (--help shows the usage)")
        self.exit(USAGE)


class _Escapes(Dict[int, str]):
    """What str.translate makes of each character; a table, since the parts of a long line would fill memory."""

    def __missing__(self, code: int) -> str:
        shown = chr(code)
        self[code] = shown if shown.isprintable() or shown == "\t" else shown.encode("unicode_escape").decode()
        return self[code]


def visible(line: str) -> str:
    """Untrusted text on one line: what does not print becomes an escape, and a CI log's commands are broken up."""
    line = line if line.isprintable() else line.translate(_Escapes())
    return _LOG_COMMAND.sub(lambda command: f"{command[0][:-1]}\\x{ord(command[0][-1]):x}", line)


def say(program: str, message: str) -> None:
    """One line on stderr; without a stderr there is nobody to tell."""
    try:
        if sys.stderr:
            print(f"{program}: {visible(message)}", file=sys.stderr, flush=True)
    except OSError:
        pass


def _complain(message: str) -> None:
    say("final_message.py", message)


def _arguments(arguments: Optional[Sequence[str]]) -> Optional[argparse.Namespace]:
    parser = _Parser(
        prog="final_message.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    parser.add_argument("--format", choices=NAMES, default=AUTO, help="how to take the message; default: auto")
    parser.add_argument("file", metavar="FILE", help="what the client wrote to stdout")
    try:
        return parser.parse_args(arguments)
    except SystemExit:
        return None


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        content = file.read(LIMIT + 1)
    _need(len(content) <= LIMIT, f"larger than {LIMIT >> 20} MiB")
    return content


def _write(message: str) -> None:
    """The message as UTF-8, its line ends as they are; half a surrogate pair becomes a question mark."""
    if sys.stdout is None:
        raise OSError("standard output is closed")
    sys.stdout.buffer.write(message.encode("utf-8", "replace"))
    sys.stdout.flush()


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command. Returns the exit status; bad input and a closed output raise nothing."""
    options = _arguments(arguments)
    if options is None:
        return USAGE
    if sys.stdout and sys.stdout.isatty():
        _complain("stdout is a terminal: redirect it to a file")
        return USAGE
    try:
        _write(final_message(_read(options.file), options.format))
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except NoReply as error:
        _complain(f"{options.file}: {error}")
    except OSError as error:
        _complain(f"{options.file if error.filename else 'standard output'}: {error.strerror or error}")
    return FAILED


if __name__ == "__main__":
    sys.exit(main())
