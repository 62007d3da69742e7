"""Tests of final_message.py: what clients print, whole, cut and broken.

The outputs are made here, in the shapes that the clients print.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Dict, List, Optional, Tuple

try:
    import pty
except ImportError:  # Windows
    pty = None  # type: ignore[assignment]

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.dirname(os.path.dirname(HERE))]

from final_message import NAMES, SHAPES, NoReply, final_message, visible

from verdict_contract import APPROVE, REQUEST_CHANGES, read_verdict

COMMAND = [sys.executable, *(f"-W{option}" for option in sys.warnoptions), os.path.join(HERE, "final_message.py")]
TOKEN = "0123456789abcdef"
OK = f"===VERDICT=== APPROVE {TOKEN}"
NO = f"===VERDICT=== REQUEST_CHANGES {TOKEN}"
REPLY = f'The lock is held, naïve or not.\nA "quoted" word.\n\n{OK}'
CHATTER = f"Looking at the lock first.\n\n{OK}"  # an earlier turn; it is not the final message


def lines(*events: Any) -> bytes:
    """Events, one a line."""
    return "".join(json.dumps(event) + "\n" for event in events).encode()


def claude(text: Any = REPLY, **more: Any) -> Dict[str, Any]:
    """The result object of claude and qwen."""
    return {"type": "result", "subtype": "success", "is_error": False, "num_turns": 2, "result": text, **more}


def assistant(text: str) -> Dict[str, Any]:
    """An earlier message in claude's stream."""
    return {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}}


def part(kind: str, message: Any = "msg_2", **more: Any) -> Dict[str, Any]:
    """An event of opencode."""
    return {"type": kind, "sessionID": "ses_1", "part": {"messageID": message, "type": kind, **more}}


def said(text: Any, *requests: Any, **more: Any) -> Dict[str, Any]:
    """A message in copilot's stream."""
    return {"type": "assistant.message", "data": {"content": text, "toolRequests": list(requests), **more}}


def ended(code: Any = 0) -> Dict[str, Any]:
    """The last line of copilot's stream."""
    return {"type": "result", "sessionId": "s", "exitCode": code}


SYSTEM = {"type": "system", "subtype": "init", "cwd": "/x", "tools": []}
PROMPTED = {"type": "user.message", "data": {"content": f"End with {OK}"}}
TOOL = {"toolCallId": "t1", "name": "view"}
SUBAGENT = {"parentToolCallId": "t1"}
STOPS = part("step_finish", reason="stop")
OPENCODE = (
    part("step_start", "msg_1"),
    part("text", "msg_1", text=CHATTER),
    part("tool_use", "msg_1", tool="read"),
    part("step_finish", "msg_1", reason="tool-calls"),
    part("step_start"),
    part("text", text=REPLY[:20]),
    part("text", text=REPLY[20:]),
    part("step_finish", reason="stop", tokens={"input": 11}),
)
COPILOT = (PROMPTED, said(CHATTER, TOOL), {"type": "tool.execution_complete", "data": {}}, said(REPLY), ended())

# Format, name, output: each holds REPLY as its final message.
WHOLE: List[Tuple[str, str, bytes]] = [
    ("text", "plain", REPLY.encode() + b"\n"),
    ("result-json", "claude-json", lines(claude())),
    ("result-json", "claude-indented", json.dumps(claude(), indent=2).encode()),
    ("result-json", "claude-stream", lines(SYSTEM, assistant(CHATTER), {"type": "user"}, assistant(REPLY), claude())),
    ("result-json", "qwen-array", json.dumps([SYSTEM, assistant(REPLY), claude()]).encode()),
    ("result-json", "utf-16", json.dumps(claude()).encode("utf-16")),
    ("result-json", "claude-more", lines(claude(api_error_status=None, stop_reason="end_turn"))),
    ("result-json", "qwen-less", lines({"type": "result", "is_error": False, "result": REPLY})),
    ("gemini-json", "error-null", lines({"response": REPLY, "error": None})),
    ("gemini-json", "gemini", json.dumps({"session_id": "x", "response": REPLY, "stats": {}}, indent=2).encode()),
    ("opencode-json", "opencode", lines(*OPENCODE)),
    ("copilot-json", "copilot", lines(*COPILOT)),
    ("copilot-json", "sub-agent", lines(said(REPLY, parentToolCallId=None), said(CHATTER, **SUBAGENT), ended())),
]

# Format, the fault, output, a word of the reason.
REFUSED: List[Tuple[str, str, bytes, str]] = [
    ("text", "think-unclosed", f"<think>so\n{OK}\n".encode(), "think"),
    ("text", "think-unclosed-in-colour", f"\x1b[2m<THINK>\nso\n{OK}\n".encode(), "think"),
    ("text", "second-think-unclosed", f"<think>a</think>\nWell.\n  <think>so\n{OK}".encode(), "think"),
    ("text", "thinking-unclosed", f"<Thinking>so\n{OK}".encode(), "think"),
    ("text", "think-with-attribute-unclosed", f'<think type="<x>">so\n{OK}'.encode(), "think"),
    ("text", "think-midline-unclosed", f"Sure. <think>so\n{OK}".encode(), "think"),
    ("text", "think-quoted-unclosed", f"> <think>so\n{OK}".encode(), "think"),
    ("text", "think-after-hidden-unclosed", f"\u200b\x1b[2K<think>so\n{OK}".encode(), "think"),
    ("text", "think-nested-unclosed", f"<think>The diff has <think>x</think> in it.\n{OK}".encode(), "think"),
    ("text", "think-nested-later-unclosed", f"Hm. <think>a <think>b</think> so\n{OK}".encode(), "think"),
    ("text", "think-closed-too-early", f"</think></think>\n<think>so\n{OK}".encode(), "think"),
    ("text", "thinking-closed-as-think", f"<thinking>so </think>\n{OK}".encode(), "think"),
    ("text", "think-in-backticks", f"The `<think>` tag is cut.\n{OK}".encode(), "think"),
    ("result-json", "think-unclosed-inside", lines(claude(f"<think>so\n{OK}")), "think"),
    ("result-json", "second-think-unclosed", lines(claude(f"<think>a</think>\n<think>so\n{OK}")), "think"),
    ("result-json", "is-error", lines(claude(is_error=True)), "is_error"),
    ("result-json", "is-error-null", lines(claude(is_error=None)), "is_error"),
    ("result-json", "is-error-zero", lines(claude(is_error=0)), "is_error"),
    ("result-json", "is-error-text", lines(claude(is_error="false")), "is_error"),
    ("result-json", "is-error-missing", lines({"type": "result", "result": REPLY}), "is_error"),
    ("result-json", "subtype-error", lines(claude(subtype="error_max_turns")), "subtype"),
    ("result-json", "api-error", lines(claude(api_error_status=500)), "api_error_status"),
    ("result-json", "api-error-zero", lines(claude(api_error_status=0)), "api_error_status"),
    ("result-json", "max-tokens", lines(claude(stop_reason="max_tokens")), "max_tokens"),
    ("result-json", "no-result", lines(SYSTEM, assistant(REPLY)), "result"),
    ("result-json", "two-results", lines(claude("x"), claude()), "one result"),
    ("result-json", "result-not-last", lines(claude(), assistant("More to come.")), "result"),
    ("result-json", "number", lines(claude(7)), "no text"),
    ("result-json", "list", lines(claude([REPLY])), "no text"),
    ("result-json", "null", lines(claude(None)), "no text"),
    (
        "result-json",
        "key-twice",
        lines(claude()).replace(b'"is_error": false', b'"is_error":true,"is_error":false'),
        "twice",
    ),
    ("result-json", "key-twice-deep", lines(claude(usage={})).replace(b"{}", b'{"a":1,"a":2}'), "twice"),
    (
        "result-json",
        "key-twice-by-escape",
        lines(claude()).replace(b'"num_turns"', b'"result":"x","resul\\u0074"'),
        "twice",
    ),
    ("result-json", "nan", lines(claude(cost=1.5)).replace(b"1.5", b"NaN"), "NaN"),
    ("result-json", "infinity", lines(claude(cost=1.5)).replace(b"1.5", b"-Infinity"), "Infinity"),
    ("result-json", "long-number", lines(claude(cost=1.5)).replace(b"1.5", b"9" * 100000), "number"),
    ("result-json", "deep", lines(claude(x=1)).replace(b'"x": 1', b'"x": ' + b"[" * 200000 + b"]" * 200000), "deep"),
    ("result-json", "line-of-prose", lines(SYSTEM) + b"Warning: x\n" + lines(claude()), "line"),
    ("result-json", "prose-after", lines(claude()) + OK.encode(), "line"),
    ("result-json", "two-on-a-line", lines(claude()).strip() + lines(claude()).strip(), "line"),
    ("result-json", "raw-control", lines(claude()).replace(b"\\n", b"\n"), "line"),
    ("result-json", "array-of-text", json.dumps([REPLY]).encode(), "no object"),
    ("result-json", "array-in-array", json.dumps([[claude()]]).encode(), "no object"),
    ("result-json", "empty-array", b"[]", "none"),
    ("result-json", "plain-text", REPLY.encode(), "line"),
    ("gemini-json", "error", lines({"response": REPLY, "error": {"message": "x"}}), "error"),
    ("gemini-json", "error-empty", lines({"response": REPLY, "error": {}}), "error"),
    ("gemini-json", "no-response", lines({"stats": {}}), "response"),
    ("gemini-json", "number", lines({"response": 5}), "no text"),
    ("gemini-json", "two-objects", lines({"response": REPLY}, {"response": REPLY}), "more than one"),
    ("opencode-json", "cut-by-length", lines(part("text", text=REPLY), part("step_finish", reason="length")), "stop"),
    ("opencode-json", "no-reason", lines(part("text", text=REPLY), part("step_finish")), "stop"),
    ("opencode-json", "reason-elsewhere", lines(part("text", text=REPLY, reason="stop")), "stop"),
    ("opencode-json", "begins-again", lines(*OPENCODE, part("step_start", "msg_3")), "stop"),
    ("opencode-json", "text-after", lines(*OPENCODE, part("text", "msg_3", text="But")), "stop"),
    ("opencode-json", "error-before", lines({"type": "error", "error": {}}, *OPENCODE), "error"),
    ("opencode-json", "error-after", lines(*OPENCODE, {"type": "error"}), "stop"),
    ("opencode-json", "event-after", lines(*OPENCODE, {"type": "text", "sessionID": "x"}), "stop"),
    ("opencode-json", "null-after", lines(*OPENCODE, {"type": "text", "part": None}), "stop"),
    ("opencode-json", "text-before", lines({"type": "text", "part": NO}, *OPENCODE), "part"),
    (
        "opencode-json",
        "cut-before",
        lines(part("text", text=NO), part("step_finish", reason="length"), *OPENCODE),
        "length",
    ),
    ("opencode-json", "number", lines(part("text", text=5), part("step_finish", reason="stop")), "no text"),
    (
        "opencode-json",
        "message-number",
        lines(part("text", 5, text=REPLY), part("step_finish", 5, reason="stop")),
        "no text",
    ),
    ("opencode-json", "part-is-text", lines({"type": "text", "part": REPLY}), "stop"),
    ("copilot-json", "exit-code", lines(said(REPLY), ended(1)), "exitCode"),
    ("copilot-json", "exit-code-false", lines(said(REPLY), ended(False)), "exitCode"),
    ("copilot-json", "exit-code-text", lines(said(REPLY), ended("0")), "exitCode"),
    ("copilot-json", "exit-code-float", lines(said(REPLY), ended(0.0)), "exitCode"),
    ("copilot-json", "no-end", lines(said(REPLY)), "exitCode"),
    ("copilot-json", "end-not-last", lines(said(REPLY), ended(), said("But")), "exitCode"),
    ("copilot-json", "tools-last", lines(said(REPLY), said("I look.", TOOL), ended()), "assistant.message"),
    ("copilot-json", "no-message", lines(PROMPTED, ended()), "assistant.message"),
    ("copilot-json", "error", lines(said(REPLY), {"type": "session.error", "data": {}}, ended()), "session.error"),
    ("copilot-json", "turn-after", lines(said(REPLY), {"type": "assistant.turn_start"}, ended()), "begun"),
    (
        "copilot-json",
        "delta-after",
        lines(said(REPLY), {"type": "assistant.message_delta", "data": {}}, ended()),
        "begun",
    ),
    ("copilot-json", "sub-agent-only", lines(said(REPLY, **SUBAGENT), ended()), "assistant.message"),
    ("copilot-json", "number", lines(said(5), ended()), "no text"),
    ("copilot-json", "data-is-text", lines({"type": "assistant.message", "data": REPLY}, ended()), "assistant.message"),
]

# What "auto" has no name for.
UNKNOWN: List[Tuple[str, bytes]] = [
    (
        "codex",
        lines({"type": "item.completed", "item": {"type": "agent_message", "text": REPLY}}, {"type": "turn.completed"}),
    ),
    (
        "gemini-stream",
        lines({"type": "message", "role": "assistant", "content": REPLY}, {"type": "result", "status": "success"}),
    ),
    ("object", lines({"text": REPLY})),
    ("two-shapes", lines(said(REPLY), claude())),
    ("link-first", f"[a.py](a.py) is fine.\n{OK}".encode()),
    ("brace-first", f"{{}} is no set.\n{OK}".encode()),
]


def reading(output: bytes, form: str = "auto") -> Optional[str]:
    """The verdict that a gate reads from an output; None also where no message is taken out."""
    try:
        return read_verdict(final_message(output, form), TOKEN).verdict
    except NoReply:
        return None


class WholeTest(unittest.TestCase):
    """Whole outputs give their message."""

    def test_message(self) -> None:
        for form, name, output in WHOLE:
            with self.subTest(name):
                end = "\n" if form == "text" else ""
                self.assertEqual(REPLY + end, final_message(output, form))
                self.assertEqual(REPLY + end, final_message(output))

    def test_a_block_is_a_block(self) -> None:
        for form, name, output in WHOLE:
            with self.subTest(name):
                codec = "utf-16" if name == "utf-16" else "utf-8"
                blocked = output.decode(codec).replace("APPROVE", "REQUEST_CHANGES").encode(codec)
                self.assertEqual(REQUEST_CHANGES, reading(blocked, form))

    def test_another_format_does_not_approve(self) -> None:
        for form, name, output in WHOLE:
            for other in set(NAMES) - {form, "auto"}:
                with self.subTest(name, other=other):
                    self.assertNotEqual(APPROVE, reading(output, other))

    def test_unknown_fields_and_events_are_skipped(self) -> None:
        output = lines({"type": "x", "new": [1, {"a": None}]}, {"no": "type"}, *COPILOT)
        self.assertEqual(REPLY, final_message(output))

    def test_empty_reply(self) -> None:
        self.assertEqual("", final_message(b""))
        self.assertEqual("", final_message(lines(claude(""))))

    def test_parts_are_joined_as_they_are(self) -> None:
        output = lines(part("text", text="no "), part("text", text=OK), part("step_finish", reason="stop"))
        self.assertEqual(f"no {OK}", final_message(output))

    def test_no_message_of_the_last_turn_is_dropped(self) -> None:
        for earlier, verdict in (
            (said(NO), REQUEST_CHANGES),
            (said(NO, TOOL), APPROVE),
            (said(NO, **SUBAGENT), APPROVE),
        ):
            with self.subTest(earlier):
                self.assertEqual(verdict, reading(lines(earlier, said(OK), ended())))
        self.assertEqual(f"a\n{OK}", final_message(lines(said("a"), said(OK), ended())))

    def test_lone_surrogate_and_bad_bytes(self) -> None:
        self.assertEqual("\ud83d", final_message(b'{"type":"result","is_error":false,"result":"\\ud83d"}'))
        self.assertEqual("\ufffd", final_message(b'{"type":"result","is_error":false,"result":"\xff"}'))


class ThinkingTest(unittest.TestCase):
    """Thinking before the answer."""

    def test_cut_at_the_first_closing_tag(self) -> None:
        for thought in (
            "<think>so</think>",
            " \n<THINK>so\n</Think>",
            "\x1b[2m<think>so</think>",
            "\ufeff<think></think>",
        ):
            with self.subTest(repr(thought)):
                self.assertEqual(f"\n{REPLY}", final_message(f"{thought}\n{REPLY}".encode()))
        self.assertEqual("b</think>c", final_message(b"<think>a</think>b</think>c"))

    def test_an_approval_in_it_is_none(self) -> None:
        self.assertEqual(APPROVE, reading(f"<think>{OK}\n</think>\nFine.\n{OK}".encode()))
        self.assertIsNone(reading(f"<think>\n{OK}\n</think>\nI am not done.".encode()))

    def test_tags_that_are_closed_or_none(self) -> None:
        for text in ("`<think>` is cut at </think>.", "<thinking a='b'>so</THINKING >", "A <thinker> has <rethink>."):
            with self.subTest(text):
                self.assertEqual(f"Well: {text}\n{OK}", final_message(f"Well: {text}\n{OK}".encode()))

    def test_many_tags_take_no_time(self) -> None:
        with self.assertRaises(NoReply):
            final_message(b"<think>\n" * 300000)
        with self.assertRaises(NoReply):
            final_message(b"<think </think " * 200000)
        self.assertEqual(300001, final_message(b"\t" * 300000 + b"x").__len__())


class RefusedTest(unittest.TestCase):
    """What is refused, and why."""

    def test_refused(self) -> None:
        for form, name, output, why in REFUSED:
            with self.subTest(form, name=name), self.assertRaises(NoReply) as caught:
                final_message(output, form)
            self.assertIn(why, str(caught.exception), name)
            self.assertNotIn("lock", str(caught.exception), name)

    def test_auto_approves_none_of_it(self) -> None:
        for form, name, output, _ in REFUSED:
            with self.subTest(form, name=name):
                self.assertEqual(APPROVE if name == "plain-text" else None, reading(output))

    def test_auto_takes_json_for_no_text(self) -> None:
        for name, output in UNKNOWN:
            with self.subTest(name), self.assertRaises(NoReply):
                final_message(output)

    @unittest.skipUnless(sys.platform == "linux", "needs a limit of memory that holds")
    def test_out_of_memory(self) -> None:
        code = "import resource, final_message as f; resource.setrlimit(resource.RLIMIT_AS, (300 << 20,) * 2)"
        code += "\ntry: f.final_message(b'[' + b'{},' * 4000000)\nexcept f.NoReply: print('none')"
        done = subprocess.run([sys.executable, "-c", code], cwd=HERE, capture_output=True, check=False)
        self.assertEqual((b"none\n", b""), (done.stdout, done.stderr))

    def test_unknown_format(self) -> None:
        with self.assertRaises(ValueError):
            final_message(b"", "codex-json")

    def test_names_are_unique_and_every_shape_is_tested(self) -> None:
        names = [(form, name) for form, name, *_ in REFUSED]
        self.assertEqual(len(set(names)), len(names))
        shapes = {shape.name for shape in SHAPES} | {"text"}
        self.assertEqual(shapes, {form for form, *_ in REFUSED})
        self.assertEqual(shapes, {form for form, *_ in WHOLE})


class CutTest(unittest.TestCase):
    """Nothing that is cut approves, wherever it is cut."""

    def cuts(self, output: bytes) -> List[bytes]:
        chosen = random.Random(len(output))
        ends = [at + 1 for at, byte in enumerate(output) if byte == 0x0A]
        ends += [chosen.randrange(len(output)) for _ in range(150)] + list(range(len(output) - 30, len(output)))
        return [output[:end] for end in ends]

    def test_cut(self) -> None:
        for form, name, output in WHOLE:
            self.assertEqual(APPROVE, reading(output, form))
            for cut in self.cuts(output):
                whole = TOKEN.encode() in cut if form == "text" else cut.strip() == output.strip()
                for asked in (form, "auto"):
                    with self.subTest(name, cut=len(cut), of=len(output), form=asked):
                        self.assertEqual(APPROVE if whole else None, self.never_blocks(reading(cut, asked)))

    def never_blocks(self, verdict: Optional[str]) -> Optional[str]:
        """A verdict, with AMBIGUOUS for none: where the last line is cut, either is right."""
        return verdict if verdict in (APPROVE, REQUEST_CHANGES) else None

    def test_without_an_event(self) -> None:
        for events in (OPENCODE, COPILOT):
            for gone in range(len(events)):
                rest = events[:gone] + events[gone + 1 :]
                with self.subTest(gone=events[gone]):
                    self.assertNotIn(CHATTER, self.taken(lines(*rest)))

    def taken(self, output: bytes) -> str:
        try:
            return final_message(output)
        except NoReply:
            return ""

    def test_shuffled_bytes_do_not_raise(self) -> None:
        chosen = random.Random(1)
        for _, name, output in WHOLE:
            for _ in range(100):
                broken = bytearray(output)
                broken[chosen.randrange(len(broken))] = chosen.randrange(256)
                with self.subTest(name, broken=bytes(broken)):
                    reading(bytes(broken))


class CommandTest(unittest.TestCase):
    """The command, as a process."""

    def run_on(self, output: bytes, *options: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out")
            with open(path, "wb") as file:
                file.write(output)
            streams = {"stdout": subprocess.PIPE, **more}
            return subprocess.run([*COMMAND, *options, path], stderr=subprocess.PIPE, check=False, **streams)

    def check(self, done: subprocess.CompletedProcess[bytes], code: int, word: str) -> None:
        """It ended in this status, with one line on stderr that holds a word and no word of the reply."""
        self.assertEqual(code, done.returncode, done.stderr)
        self.assertEqual(1, done.stderr.count(b"\n"), done.stderr)
        self.assertIn(word.encode(), done.stderr)
        self.assertNotIn(b"lock", done.stderr)

    def test_message(self) -> None:
        done = self.run_on(lines(claude(REPLY + "\r\n")))
        self.assertEqual((0, REPLY.encode() + b"\r\n", b""), (done.returncode, done.stdout, done.stderr))

    def test_message_is_no_message_of_the_console(self) -> None:
        environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
        self.assertEqual(REPLY.encode(), self.run_on(lines(claude()), env=environment).stdout)
        self.assertEqual(b"?", self.run_on(lines(claude("\ud83d"))).stdout)

    def test_no_reply(self) -> None:
        done = self.run_on(lines(claude(is_error=True)))
        self.check(done, 1, "is_error")
        self.assertEqual(b"", done.stdout)

    def test_format(self) -> None:
        self.check(self.run_on(REPLY.encode(), "--format", "gemini-json"), 1, "JSON")
        self.assertEqual(0, self.run_on(b"[x] fine", "--format", "text").returncode)

    def test_usage(self) -> None:
        self.check(self.run_on(b"", "--format", "codex"), 2, "codex")
        self.check(self.run_on(b"", "two\n::error::x"), 2, "unrecognized")
        self.assertEqual(2, self.run_on(b"", "--help").returncode)
        self.assertEqual(2, subprocess.run(COMMAND, stderr=subprocess.PIPE, check=False).returncode)

    def test_unreadable(self) -> None:
        for path in (HERE, "/nowhere/at all", "::error::x\n##[error]y"):
            done = subprocess.run([*COMMAND, path], capture_output=True, check=False)
            self.check(done, 1, ": ")
            self.assertNotIn(b"##[", done.stderr)

    def test_too_large(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out")
            with open(path, "wb") as file:
                file.truncate((64 << 20) + 1)
            done = subprocess.run([*COMMAND, path], capture_output=True, check=False)
        self.check(done, 1, "larger")

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_full(self) -> None:
        with open("/dev/full", "wb") as full:
            self.check(self.run_on(lines(claude()), stdout=full), 1, "standard output")

    @unittest.skipUnless(os.name == "posix", "needs sh")
    def test_closed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out")
            with open(path, "wb") as file:
                file.write(lines(claude()))
            done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *COMMAND, path], stderr=subprocess.PIPE, check=False)
        self.check(done, 1, "standard output")

    @unittest.skipUnless(pty, "there is no pty")
    def test_terminal(self) -> None:
        ours, theirs = pty.openpty()
        try:
            self.check(self.run_on(lines(claude()), stdout=theirs), 2, "terminal")
        finally:
            os.close(ours)
            os.close(theirs)


class VisibleTest(unittest.TestCase):
    """No line that is shown commands a log or a terminal."""

    def test_visible(self) -> None:
        # fmt: off
        for line, shown in (
            ("plain, naïve, \ttab", "plain, naïve, \ttab"),
            ("a\rb\x1b[1m\n\x7f\u2028\u202e\udc80", r"a\rb\x1b[1m\n\x7f\u2028\u202e\udc80"),
            ("::error::x", r":\x3aerror::x"),
            ("\t ::error::x", "\t :\\x3aerror::x"),
            ("std::vector", "std::vector"),
            ("x ##[error]y", r"x #\x23[error]y"),
            ("###[x] ####vso[y]", r"##\x23[x] ###\x23vso[y]"),
            ("## Heading", "## Heading"),
        ):
            # fmt: on
            self.assertEqual(shown, visible(line))


if __name__ == "__main__":
    unittest.main()
