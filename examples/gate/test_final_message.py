"""Tests of final_message.py: what clients print, whole, cut and broken.

The outputs are made here, in the shapes that the clients print.
"""

import json
import os
import random
import re
import shlex
import shutil
import sys
import unittest
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

try:
    import pty
except ImportError:  # Windows
    pty = None  # type: ignore[assignment]

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path[:0] = [str(HERE), str(TOP)]

import final_message as module
import prompt_guard
from final_message import NAMES, SHAPES, THINKING, NoReply, final_message

import test_verdict_contract as testing
from verdict_contract import APPROVE, REQUEST_CHANGES, read_verdict

PROGRAM = HERE / "final_message.py"
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
    ("text", "ollama-cut", f"Thinking...\nI would end in\n{OK}\n".encode(), "think"),
    ("text", "ollama-cut-in-colour", f"\x1b[38;5;245m\x1b[1mThinking...\n\x1b[0mso\n{OK}".encode(), "think"),
    ("text", "ollama-cut-after-byte-order-mark", f"\ufeff Thinking...\r\nso\r\n{OK}".encode(), "think"),
    ("text", "ollama-cut-in-one-sign", f"Thinking\u2026\nso\n{OK}".encode(), "think"),
    ("text", "ollama-thinks-again", f"Thinking...\na\n...done thinking.\nb\nThinking...\n{OK}".encode(), "think"),
    ("text", "ollama-end-within-a-line", f"Thinking...\nIt prints ...done thinking. so\n{OK}".encode(), "think"),
    ("text", "brackets-cut", f"[THINK]I would end in\n{OK}".encode(), "think"),
    ("text", "brackets-nested-cut", f"[THINK]a [THINK]b[/THINK] so\n{OK}".encode(), "think"),
    ("text", "brackets-closed-as-tag", f"[THINK]so</think>\n{OK}".encode(), "think"),
    ("text", "brackets-midline-cut", f"Sure. [THINK]so\n{OK}".encode(), "think"),
    ("text", "triangles-cut", f"\u25c1think\u25b7so\n{OK}".encode(), "think"),
    ("text", "channel-cut", f"<|channel|>analysis<|message|>so\n{OK}".encode(), "think"),
    ("text", "channel-ended-cut", f"<|channel|>analysis<|message|>so<|end|>\n{OK}".encode(), "think"),
    ("text", "channel-commentary", f"<|channel|>commentary<|message|>\n{OK}".encode(), "think"),
    ("text", "channel-final-to-nobody", f"<|channel|>analysis<|message|>so<|channel|>final\n{OK}".encode(), "think"),
    (
        "text",
        "channel-after-the-final-one",
        f"<|channel|>final<|message|>Fine.<|channel|>analysis<|message|>\n{OK}".encode(),
        "think",
    ),
    ("gemini-json", "brackets-cut-inside", lines({"response": f"[THINK]so\n{OK}"}), "think"),
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
    ("brace-first", f"{{}} is no set.\n{OK}".encode()),
    ("brace-in-bracket-first", f"[ {{}} ] is no set.\n{OK}".encode()),
    ("cut-behind-the-bracket", b" [\n"),
]

# What begins with a bracket, and is text to "auto".
BRACKETS = (
    "[P2] The lock is fine.",
    "[a.py](a.py) is fine.",
    "[ ] docs\n[x] tests",
    "[]",
    "[x]",
    '["a"]',
    "[1, {}]",
    "[[{}]]",
)


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


# The beginning of a program that has the module, and may take so many MiB more.
LIMITED = """\
import sys; sys.path.insert(0, sys.argv.pop(1)); import resource, final_message as f
with open("/proc/self/statm") as file: size = int(file.read().split()[0]) * resource.getpagesize() + ({} << 20)
resource.setrlimit(resource.RLIMIT_AS, (size, size))
"""

# A mark of thinking: how it opens and how it ends.
MARKS = (
    ("<think>", "</think>"),
    ("<THINK type='a'>", "</Think >"),
    ("<thinking>", "</thinking>"),
    ("[THINK]", "[/THINK]"),
    ("\u25c1think\u25b7", "\u25c1/think\u25b7"),
    ("Thinking...\n", "\n...done thinking."),
    ("\x1b[38;5;245m\x1b[1mThinking...\r\n\x1b[0m", "\n\x1b[1m...done thinking.\x1b[0m\r"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
    (
        "<|start|>assistant<|channel|>analysis<|message|>a<|channel|>commentary<|message|>",
        "<|channel|>final<|message|>",
    ),
)


class ThinkingTest(unittest.TestCase):
    """Thinking before the answer."""

    def test_what_stands_after_the_end_is_the_reply(self) -> None:
        for opening, end in MARKS:
            for before in ("", " \n", "\x1b[2m", "\ufeff", "\ufeff\n\x1b[2m\x1b[1m \n"):
                with self.subTest(repr(before + opening)):
                    self.assertEqual(f"\n{REPLY}", final_message(f"{before}{opening}{OK}{end}\n{REPLY}".encode()))

    def test_left_open_there_is_no_reply(self) -> None:
        for opening, end in MARKS:
            for before in ("", "\ufeff", "Well.\n", f"{opening}so{end}\n"):
                with self.subTest(repr(before + opening)), self.assertRaises(NoReply):
                    final_message(f"{before}{opening}so\n{OK}".encode())

    def test_closed_in_the_middle_it_stays_and_counts(self) -> None:
        for opening, end in MARKS:
            with self.subTest(opening):
                closed = f"Well.\n{opening}{NO}{end}\n{OK}"
                self.assertEqual(closed, final_message(closed.encode()))
                self.assertNotEqual(APPROVE, reading(f"Well.\n{opening}\n{OK}{end}\n{OK}".encode()))

    def test_the_first_end_counts(self) -> None:
        for opening, end in MARKS:
            with self.subTest(opening):
                self.assertEqual(f"\nb{end}\nc", final_message(f"{opening}a{end}\nb{end}\nc".encode()))

    def test_an_approval_in_it_is_none(self) -> None:
        for opening, end in MARKS:
            with self.subTest(opening):
                self.assertEqual(APPROVE, reading(f"{opening}\n{OK}\n{end}\nFine.\n{OK}".encode()))
                self.assertIsNone(reading(f"{opening}\n{OK}\n{end}\nI am not done.".encode()))

    def test_what_only_resembles_a_mark_is_text(self) -> None:
        for text in (
            "`<think>` is cut at </think>.",
            "<thinking a='b'>so</THINKING >",
            "A <thinker> has <rethink>.",
            "Thinking... about the lock, it is held.",
            "Now thinking...",
            "...done thinking.",
            "[RETHINK] this [thinks]",
            "[/THINK] alone",
            "The \u25c1 and the \u25b7 are signs.",
            "The <|message|> and the <|end|> are tokens.",
            "A channel: analysis.",
        ):
            for start in ("", "Well: "):
                with self.subTest(start + text):
                    self.assertEqual(f"Well.\n{text}\n{OK}", final_message(f"Well.\n{text}\n{OK}".encode()))

    def test_a_mark_has_no_group_of_its_own(self) -> None:
        self.assertEqual(2 * len(THINKING), module._MARK.groups)

    @unittest.skipUnless(sys.platform == "linux", "needs a limit of memory that holds")
    def test_long_outputs_take_little_memory(self) -> None:
        code = "for part in sys.argv[1:]:"
        code += "\n  try: f.final_message(part.encode() * (1 << 15) + b'<think>'); print('a message')"
        code += "\n  except f.NoReply: print('none')"
        parts = ("\t", "\n", "\x1b[1m", "thinking... ", "<|channel|>", "<|start|>assistant", "[THINK]", "</think ", "[")
        done = testing.process(*testing.PYTHON, "-c", LIMITED.format(10) + code, HERE, *parts)
        self.assertEqual((b"none\n" * len(parts), b""), (done.stdout, done.stderr))


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
                self.assertEqual(name == "plain-text", reading(output) == APPROVE)

    def test_auto_takes_json_for_no_text(self) -> None:
        for name, output in UNKNOWN:
            with self.subTest(name), self.assertRaises(NoReply):
                final_message(output)

    def test_auto_takes_what_begins_with_a_bracket_for_text(self) -> None:
        for start in BRACKETS:
            with self.subTest(start):
                self.assertEqual(APPROVE, reading(f" {start}\n{OK}".encode()))
                self.assertEqual(REQUEST_CHANGES, reading(f"{start}\n{NO}".encode()))
                self.assertIsNone(reading(f"{start}\n{OK}".encode(), "result-json"))

    @unittest.skipUnless(sys.platform == "linux", "needs a limit of memory that holds")
    @unittest.skipIf(sys.implementation.name == "pypy", "PyPy ends at once where there is no more memory")
    def test_out_of_memory(self) -> None:
        code = "try: f.final_message(b'[' + b'{},' * 500000)\nexcept f.NoReply: print('none')"
        done = testing.process(*testing.PYTHON, "-c", LIMITED.format(24) + code, HERE)
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


class CommandTest(testing.Scratch):
    """The command, within this process where nothing but its words and files matters."""

    def run_on(self, output: bytes, *options: str) -> Tuple[int, str, str]:
        path = self.folder / "out"
        path.write_bytes(output)
        return testing.inside(module, *options, str(path))

    def as_process(self, output: bytes, **more: Any) -> "testing.Process[bytes]":
        """The command as a process, which reads its standard input."""
        return testing.process(*testing.PYTHON, PROGRAM, "-", input=output, **more)

    def check(self, code: int, word: str, ended: Tuple[int, str, str]) -> None:
        """It ended in this status, with one line on stderr that holds a word and no word of the reply."""
        self.assertEqual((code, ""), ended[:2], ended)
        self.assertRegex(ended[2], rf"\Afinal_message\.py: [^\n]*{re.escape(word)}[^\n]*\n\Z")
        self.assertNotIn("lock", ended[2])

    def test_message(self) -> None:
        self.assertEqual((0, REPLY + "\r\n", ""), self.run_on(lines(claude(REPLY + "\r\n"))))
        self.assertEqual((0, "?", ""), self.run_on(lines(claude("\ud83d"))))
        self.assertEqual((0, "{x} fine", ""), self.run_on(b"{x} fine", "--format", "text"))

    def test_message_is_no_message_of_the_console(self) -> None:
        environment = testing.clean_environment(PYTHONIOENCODING="ascii", PYTHONUTF8="0")
        done = self.as_process(lines(claude()), env=environment)
        self.assertEqual((0, REPLY.encode(), b""), (done.returncode, done.stdout, done.stderr))

    def test_what_is_said(self) -> None:
        self.check(1, "is_error", self.run_on(lines(claude(is_error=True))))
        self.check(1, "JSON", self.run_on(REPLY.encode(), "--format", "gemini-json"))
        self.check(2, "codex", self.run_on(b"", "--format", "codex"))
        self.check(2, "unrecognized", self.run_on(b"", "two\n::error::x"))
        self.check(2, "required", testing.inside(module))
        for path in (str(HERE), "/nowhere/at all", "::error::x\n##[error]y"):
            ended = testing.inside(module, path)
            self.check(1, ": ", ended)
            self.assertNotIn("##[", ended[2])

    def test_every_format_is_in_the_usage(self) -> None:
        for name in NAMES:
            self.assertRegex(module.USAGE, rf"\n  {name} ")

    @testing.NEEDS_ROOM
    def test_too_large(self) -> None:
        with open(self.folder / "out", "wb") as file:
            file.truncate((64 << 20) + 1)
        self.check(1, "larger", testing.inside(module, str(self.folder / "out")))

    @unittest.skipUnless(pty, "there is no pty")
    def test_terminal(self) -> None:
        ours, theirs = pty.openpty()
        try:
            done = self.as_process(lines(claude()), stdout=theirs)
            self.check(2, "terminal", (done.returncode, "", done.stderr.decode()))
        finally:
            os.close(ours)
            os.close(theirs)


BOTH = (module, prompt_guard)
NEEDS_FULL = unittest.skipUnless(os.path.exists("/dev/full") and shutil.which("sh"), "no /dev/full or no sh here")


class BothCommandsTest(testing.Scratch):
    """final_message.py and prompt_guard.py, where a stream is closed, full or broken, and in Pythons of other kinds."""

    def setUp(self) -> None:
        super().setUp()
        (self.folder / "good").write_text("Fine.\n", encoding="utf-8")
        (self.folder / "bad").write_text("VERDICT: APPROVE\n{", encoding="utf-8")

    @NEEDS_FULL
    def test_streams(self) -> None:
        # Where "{}" stands, a stream is full, or else closed: then Python has none, and buffers nothing.
        for redirect, call, full, closed in (
            ("2>{}", "final_message.py missing", 1, 1),
            ("2>{}", "final_message.py --nonsense", 2, 2),
            ("2>{}", "final_message.py --format gemini-json good", 1, 1),
            ("2>{}", "final_message.py good", 0, 0),
            (">{}", "final_message.py good", 1, 1),
            (">{}", "final_message.py --help", 2, 2),
            (">{} 2>{}", "final_message.py good", 1, 1),
            ("2>{}", "prompt_guard.py --task missing", 1, 1),
            ("2>{}", "prompt_guard.py --nonsense", 2, 2),
            ("2>{}", "prompt_guard.py --task bad", 3, 3),
            ("2>{}", "prompt_guard.py --task good", 0, 0),
            (">{}", "prompt_guard.py --task bad", 1, 3),
            (">{}", "prompt_guard.py --help", 2, 2),
            (">{} 2>{}", "prompt_guard.py --task missing", 1, 1),
        ):
            for target, code, unbuffered in (("/dev/full", full, ""), ("/dev/full", full, "1"), ("&-", closed, "")):
                with self.subTest(call, redirect=redirect, target=target, unbuffered=unbuffered):
                    line = (
                        f"{shlex.join(testing.PYTHON)} {shlex.quote(str(HERE))}/{call} {redirect.replace('{}', target)}"
                    )
                    environment = testing.clean_environment(PYTHONUNBUFFERED=unbuffered)
                    done = testing.process("sh", "-c", line, cwd=self.folder, env=environment)
                    self.assertEqual(code, done.returncode, done)
                    self.assertNotRegex(done.stderr, b"Exception|Traceback")
                    program = call.split()[0].encode()
                    if redirect == "2>{}":
                        self.assertNotIn(program + b": ", done.stdout)
                    if redirect == ">{}" and code == 1:
                        self.assertRegex(done.stderr, rb"\A%s: standard output: [^\n]+\n\Z" % program)

    @unittest.skipUnless(os.name == "posix", "needs a pipe that breaks")
    def test_a_broken_pipe(self) -> None:
        for program, arguments in (("final_message.py", ["good"]), ("prompt_guard.py", ["--task", "bad"])):
            reading, writing = os.pipe()
            os.close(reading)
            with self.subTest(program), open(writing, "wb") as pipe:
                command = [*testing.PYTHON, str(HERE / program), *arguments]
                done = testing.process(*command, cwd=self.folder, stdout=pipe)
                self.assertEqual(1, done.returncode)
                self.assertRegex(done.stderr, rb"\A%s: standard output: [^\n]+\n\Z" % program.encode())

    def test_help_is_the_usage_without_docstrings_too(self) -> None:
        for tool in BOTH:
            self.assertEqual((2, tool.USAGE.rstrip() + "\n", ""), testing.inside(tool, "--help"))
            done = testing.process(*testing.PYTHON, "-OO", "-I", "-S", HERE / tool.PROGRAM, "--help")
            self.assertEqual((2, b""), (done.returncode, done.stderr))
            self.assertEqual(tool.USAGE.split(), done.stdout.decode().split())


class LoadingTest(testing.Scratch):
    """Which modules the two programs take: sources beside them, or in one of the two folders above."""

    def installed(self, program: str, place: str) -> Path:
        """A copy of the program two folders deep, with the modules that it needs in a folder of its choice."""
        tools = self.folder / "up" / "tools"
        shutil.rmtree(self.folder / "up", ignore_errors=True)
        tools.mkdir(parents=True)
        (tools / program).write_bytes((HERE / program).read_bytes())
        for name in ("verdict_contract.py", "verdict_check.py") if place else ():
            (self.folder / place / name).write_bytes((TOP / name).read_bytes())
        return tools / program

    def status(self, program: Path, *options: str) -> "testing.Process[bytes]":
        """The program run on a good file, from a folder whose modules are traps."""
        trap = self.folder / "trap"
        trap.mkdir(exist_ok=True)
        (trap / "good").write_text("Fine.\n", encoding="utf-8")
        for name in ("verdict_contract.py", "verdict_check.py"):
            (trap / name).write_text("raise SystemExit(77)\n", encoding="ascii")
        return testing.process(*testing.PYTHON, program, *options, "good", cwd=trap)

    def test_beside_or_above_and_no_package(self) -> None:
        for tool, options in ((module, []), (prompt_guard, ["--task"])):
            for place in ("up/tools", "up", "."):
                with self.subTest(tool.PROGRAM, place=place):
                    program = self.installed(tool.PROGRAM, place)
                    package = program.parent / "verdict_check"
                    package.mkdir()
                    (package / "__init__.py").write_text("raise SystemExit(77)\n", encoding="ascii")
                    done = self.status(program, *options)
                    self.assertEqual((0, b""), (done.returncode, done.stderr))

    def test_missing_or_broken_is_one_line_and_1(self) -> None:
        for tool, options in ((module, []), (prompt_guard, ["--task"])):
            for broken in (None, "def", "raise SystemExit(0)", "x = 1", "1 / 0", "import no_such_module\u2028"):
                with self.subTest(tool.PROGRAM, broken=broken):
                    program = self.installed(tool.PROGRAM, "up" if broken else "")
                    if broken:
                        (program.parent / "verdict_check.py").write_text(f"{broken}\n", encoding="utf-8")
                    done = self.status(program, *options)
                    self.assertEqual((1, b""), (done.returncode, done.stdout))
                    self.assertRegex(done.stderr, rb"\A%s: [^\n]*cannot be loaded: [^\n]+\n\Z" % tool.PROGRAM.encode())

    @unittest.skipUnless(os.path.exists("/dev/full") and shutil.which("sh"), "no /dev/full or no sh here")
    def test_missing_is_1_where_nobody_can_be_told(self) -> None:
        for tool in BOTH:
            program = shlex.quote(str(self.installed(tool.PROGRAM, "")))
            for redirect in ("2>/dev/full", "2>&-", ">/dev/full 2>&1"):
                with self.subTest(tool.PROGRAM, redirect=redirect):
                    done = testing.process("sh", "-c", f"{shlex.join(testing.PYTHON)} {program} good {redirect}")
                    self.assertEqual((1, b""), (done.returncode, done.stdout))

    def test_imported_it_is_an_import_error(self) -> None:
        script = (
            "import sys; sys.path.insert(0, sys.argv[1])\ntry: import {}\nexcept ImportError as error: print('caught')"
        )
        for tool in BOTH:
            program = self.installed(tool.PROGRAM, "")
            done = testing.process(*testing.PYTHON, "-c", script.format(tool.__name__), program.parent)
            self.assertEqual((b"caught\n", b""), (done.stdout, done.stderr))


# --- The README of this folder --------------------------------------------------------------------

README = (HERE / "README.md").read_text(encoding="utf-8") if (HERE / "README.md").exists() else ""
IDENTITY = {f"GIT_{who}_{what}": "x@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@testing.NEEDS_PROGRAMS
@unittest.skipUnless(README, "without README.md")
class ReadmeTest(testing.Scratch):
    """What the README has a user copy and run, with scripts in the place of clients."""

    def setUp(self) -> None:
        super().setUp()
        self.path = testing.path_with_python(self.folder / "bin")

    def client(self, name: str, script: str) -> None:
        """Put a program of this name on the PATH; the script finds the token of its prompt in $token."""
        token = "token=$(sed -n 's/^===VERDICT=== <value> //p' | tail -n 1)"
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{token}\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    def sh(self, script: str, **more: Any) -> "testing.Process[bytes]":
        """Run a block of the README."""
        environment = testing.clean_environment(PATH=self.path, HOME=str(self.folder), **IDENTITY)
        return testing.process("sh", "-e", "-c", script, **{"cwd": self.folder, "env": environment, **more})

    @testing.NEEDS_GIT
    def test_from_the_clone_to_a_merge(self) -> None:
        copying, merging = (block for _, block in testing.blocks(README, "sh")[:2])
        shown = testing.blocks(README, "text")[0][1]
        review = [line[2:] for line in shown.splitlines() if line.startswith("|")]
        said = {"type": "result", "is_error": False, "result": "\n".join(review)}
        answer = json.dumps(said).replace(review[-1].split()[-1], "'$token'").replace("`", "\\u0060")
        testing.own_copy(TOP, self.folder / "verdict-contract")
        project = self.folder / "project"
        project.mkdir()
        environment = testing.clean_environment(**IDENTITY)
        testing.git(project, "init", "-q", "-b", "main", env=environment)
        self.assertEqual(0, self.sh(copying, cwd=project).returncode)
        testing.git(project, "add", ".", env=environment)
        testing.git(project, "commit", "-qm", "The gate", env=environment)
        testing.git(project, "checkout", "-qb", "feature", env=environment)
        (project / "upload.py").write_text("again = 3\n", encoding="ascii")
        testing.git(project, "add", ".", env=environment)
        testing.git(project, "commit", "-qm", "Try again", env=environment)
        testing.git(project, "checkout", "-q", "main", env=environment)
        self.client("claude", "echo no; exit 1")
        self.assertEqual(1, self.sh(merging, cwd=project).returncode)
        self.assertFalse((project / "upload.py").exists())
        self.client("claude", f"printf '%s\\n' '{answer}'")
        done = self.sh(merging, cwd=project)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertTrue((project / "upload.py").exists())
        printed = done.stdout.decode().partition("\nUpdating ")[0]
        self.assertEqual(self.blurred(shown), self.blurred(printed))

    def blurred(self, text: str) -> List[str]:
        """The lines of what the gate prints, without what differs from run to run."""
        text = re.sub(r"\b[0-9a-f]{16}$", "TOKEN", text, flags=re.MULTILINE)
        return [line.rstrip() for line in re.sub(r"\d+\.\d$", "SECONDS", text, flags=re.MULTILINE).splitlines()]

    def test_the_footer_of_aider(self) -> None:
        script = README.partition("<!-- aider -->\n```sh\n")[2].partition("```\n")[0]
        self.assertEqual(2, script.count("\n"))
        prompt = f"===VERDICT=== <value> {TOKEN}\n".encode()
        banner = "printf '\\nAider v0.86.2\\nModel: x\\n\\nFine.\\n\\n'; "
        for footer in (
            "Tokens: 11 sent, 7 received.",
            "Tokens: 2.1k sent, 89 received. Cost: $0.01 message, $0.02 session.",
        ):
            verdict = 'echo "===VERDICT=== {} $token"; echo; '
            for word, told in (("APPROVE", APPROVE), ("REQUEST_CHANGES", REQUEST_CHANGES)):
                self.client("aider", f"{banner}{verdict.format(word)}echo '{footer}'")
                plain = self.sh("aider", input=prompt).stdout.decode()
                filtered = self.sh(script, input=prompt)
                self.assertNotEqual(APPROVE, read_verdict(plain, TOKEN).verdict)
                self.assertEqual(
                    (told, 0), (read_verdict(filtered.stdout.decode(), TOKEN).verdict, filtered.returncode)
                )
        for rest in (
            "echo 'Tokens: none'",
            "echo 'Tokens: 1 sent, 2 received.'; echo Wait.",
            "echo litellm.APIError: 500",
        ):
            self.client("aider", f"{banner}{verdict.format('APPROVE')}{rest}")
            self.assertNotEqual(APPROVE, read_verdict(self.sh(script, input=prompt).stdout.decode(), TOKEN).verdict)
        self.client("aider", f"{verdict.format('APPROVE')}exit 1")
        self.assertEqual((b"", 1), (self.sh(script, input=prompt).stdout, self.sh(script, input=prompt).returncode))


if __name__ == "__main__":
    testing.main()
