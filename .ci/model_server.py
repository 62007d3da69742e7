"""A model server on loopback for real reviewer clients: a scripted answer for each address, in four wire formats.

The first part of a request's path names the script, the end of the path the wire format. The token is taken from the
prompt in the request. A request that asks for no verdict, such as one for a session's title, gets a word.
Only what the clients of clients.py need is here: streamed replies, each sent as one body.
"""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

Event = Dict[str, Any]
Call = Tuple[str, Event]  # a tool's name and its arguments

WORD = "Review"  # the answer to a request that asks for no verdict
USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
TOKEN = re.compile("===VERDICT=== <value> ([0-9a-f]{8,64})")
RESULTS = ('"tool_result"', '"function_call_output"', '"functionResponse"', '"role": "tool"')
TRIES = 3  # faulty replies before the server refuses for good, which ends the retries of any client
TOOLS: Dict[str, Callable[[str], Event]] = {  # what a client may offer to show a file, and how it is called
    "exec_command": lambda path: {"cmd": f"cat {path}"},
    "read_file": lambda path: {"file_path": path, "path": path},
    "read": lambda path: {"filePath": path},
    "view": lambda path: {"path": path},
    "Read": lambda path: {"file_path": path},
}


class Script(NamedTuple):
    """What the model answers; {token} stands for the token of the prompt."""

    text: str
    before: str = ""  # where there is one, the first reply: this text, and then a call that shows a file
    path: str = "notes.txt"  # of that file
    status: int = 200  # where another, the reply is that error
    cut: bool = False  # the token limit ends the reply within the token
    drop: bool = False  # the connection ends within the verdict line


class Seen(NamedTuple):
    """A request that asked for a verdict: its body as JSON text, and whether it held what a tool returned."""

    body: str
    returned: bool


# --- Wire formats: the events of one streamed reply -----------------------------------------------


def anthropic(lines: List[str], call: Optional[Call], cut: bool) -> Iterator[Event]:
    """POST .../messages."""
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": USAGE}
    yield {"type": "message_start", "message": message}
    blocks: List[Tuple[Event, List[Event]]] = []
    if lines:
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": line} for line in lines]))
    if call:
        given = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        blocks.append(({"type": "tool_use", "id": "c", "name": call[0], "input": {}}, [given]))
    for index, (block, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        yield {"type": "content_block_stop", "index": index}
    stop = "tool_use" if call else "max_tokens" if cut else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": USAGE}
    yield {"type": "message_stop"}


def responses(lines: List[str], call: Optional[Call], cut: bool) -> Iterator[Event]:
    """POST .../responses."""
    response = {"id": "r", "object": "response", "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": response}
    if lines:
        item = {"id": "m", "type": "message", "role": "assistant", "content": []}
        yield {"type": "response.output_item.added", "output_index": 0, "item": item}
        for line in lines:
            place = {"output_index": 0, "content_index": 0, "item_id": "m"}
            yield {"type": "response.output_text.delta", "delta": line, **place}
        whole = {"type": "output_text", "text": "".join(lines), "annotations": []}
        yield {"type": "response.output_item.done", "output_index": 0, "item": dict(item, content=[whole])}
    if call:
        given = {"type": "function_call", "id": "f", "call_id": "c", "name": call[0], "arguments": json.dumps(call[1])}
        yield {"type": "response.output_item.done", "output_index": 1, "item": given}
    end = "incomplete" if cut else "completed"
    why = {"reason": "max_output_tokens"} if cut else None
    yield {"type": f"response.{end}", "response": dict(response, status=end, usage=USAGE, incomplete_details=why)}


def chat(lines: List[str], call: Optional[Call], cut: bool) -> Iterator[Event]:
    """POST .../chat/completions."""
    deltas: List[Event] = [{"role": "assistant", "content": line} for line in lines]
    if call:
        given = {"name": call[0], "arguments": json.dumps(call[1])}
        deltas.append({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": given}]})
    end = "tool_calls" if call else "length" if cut else "stop"
    for delta, reason in [*((delta, None) for delta in deltas), ({}, end)]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        yield {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def gemini(lines: List[str], call: Optional[Call], cut: bool) -> Iterator[Event]:
    """POST ...:streamGenerateContent."""
    parts: List[Event] = [{"text": line} for line in lines]
    if call:
        parts.append({"functionCall": {"name": call[0], "args": call[1]}})
    for part in parts:
        yield {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]}
    end = {"index": 0, "content": {"role": "model", "parts": []}, "finishReason": "MAX_TOKENS" if cut else "STOP"}
    yield {"candidates": [end], "usageMetadata": {"totalTokenCount": 2}}


Wire = Callable[[List[str], Optional[Call], bool], Iterator[Event]]
WIRES: Dict[str, Wire] = {
    "/messages": anthropic, "/responses": responses, "/chat/completions": chat, ":streamGenerateContent": gemini,
}  # fmt: skip


def stream(events: Iterator[Event]) -> bytes:
    """The events as server-sent events."""
    named = ((f"event: {event['type']}\n" if "type" in event else "", json.dumps(event)) for event in events)
    return "".join(f"{name}data: {data}\n\n" for name, data in named).encode()


# --- The server -----------------------------------------------------------------------------------


class ModelServer(ThreadingHTTPServer):
    """Answers by the scripts that stand under a name, and keeps what was asked under it."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        """Start it, on a port that is free."""
        super().__init__(("127.0.0.1", 0), Handler)
        self.scripts: Dict[str, Script] = {}
        self.seen: Dict[str, List[Seen]] = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def add(self, name: str, script: Script) -> str:
        """Put a script under a name; returns the address to give to a client."""
        self.scripts[name], self.seen[name] = script, []
        return f"http://127.0.0.1:{self.server_address[1]}/{name}"


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server: ModelServer

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Write nothing: stderr is for what went wrong."""

    def do_HEAD(self) -> None:
        """Say that the server is there."""
        self.reply(200, b"")

    def do_GET(self) -> None:
        """Say that there is no such list: no client needs one."""
        self.refuse(404)

    def do_POST(self) -> None:
        """Answer as the model."""
        body = self.body()
        path = self.path.partition("?")[0]
        name, wire = path.split("/")[1], next((wire for end, wire in WIRES.items() if path.endswith(end)), None)
        script = self.server.scripts.get(name)
        if script is None or wire is None:
            return self.refuse(404)
        request = json.dumps(json.loads(body))
        tokens = TOKEN.findall(request)
        if not tokens:
            return self.reply(200, stream(wire([WORD], None, False)))
        asked = self.server.seen[name]
        asked.append(Seen(request, any(mark in request for mark in RESULTS)))
        return self.answer(script, wire, asked[:], tokens[-1])

    def answer(self, script: Script, wire: Wire, asked: List[Seen], token: str) -> None:
        """Send what the script says."""
        often = len(asked) > TRIES
        if script.status != 200 or (script.drop and often):
            return self.refuse(401 if often else script.status)
        call = tool(asked[-1].body, script.path) if script.before and not asked[-1].returned else None
        text = script.before if call else script.text
        text = text.replace("{token}", token[: len(token) // 2] if script.cut else token)
        reply = stream(wire(text.splitlines(keepends=True), call, script.cut))
        return self.reply(200, reply, reply.index(token.encode()) if script.drop else len(reply))

    def body(self) -> bytes:
        """The request's content, of a stated length or in chunks."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        found = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            found += self.rfile.read(size + 2)[:size]
        self.rfile.readline()
        return found

    def reply(self, status: int, content: bytes, sent: Optional[int] = None) -> None:
        """Send the content, or promise it and close the connection when some of it is sent."""
        kind = "text/event-stream" if content.startswith((b"data", b"event")) else "application/json"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[:sent])
        self.close_connection = True

    def refuse(self, status: int) -> None:
        """Send an error in one shape that all the clients take for theirs."""
        error = {"type": "api_error", "message": f"refused with {status}", "code": status, "status": "REFUSED"}
        self.reply(status, json.dumps({"type": "error", "error": error}).encode())


def tool(request: str, path: str) -> Call:
    """A tool that the request offers to show a file; else the last one, as a model that errs may call it."""
    name = next((name for name in TOOLS if f'"name": "{name}"' in request), list(TOOLS)[-1])
    return name, TOOLS[name](path)
