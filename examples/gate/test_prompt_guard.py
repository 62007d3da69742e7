"""Tests of prompt_guard.py: python3 examples/gate/test_prompt_guard.py"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Tuple

HERE = os.path.dirname(os.path.realpath(__file__))
GUARD = os.path.join(HERE, "prompt_guard.py")
sys.path[:0] = [HERE, os.path.dirname(os.path.dirname(HERE))]

import prompt_guard
from prompt_guard import check_prompt, check_task

from verdict_contract import diff_token, prompt_rule, read_verdict

TOKEN = "7f3a9c2b4e5d6071"
FLAGS = [f"-W{option}" for option in sys.warnoptions]

FINE = (
    ("prose", "Review the change. Name file and line.\nA leak blocks; a typo does not."),
    ("small letters", "Approve nothing that lacks a test, and request changes where one is weak."),
    ("the bare word", "Give reasons first, then the verdict. A verdict without reasons is no help."),
    ("a first line that is not the reply's", "Review the change. The first line of a script must be a shebang."),
    ("a last line of output", "Check that the last line of output ends in a newline."),
    ("a first line of a message", "The first line of the message should be short. Answer in English."),
    ("an end of output", "See that programs end their output with a newline, and begin each message with a name."),
    ("a label that is quoted", 'The label "Verdict:" has to be translated.'),
    ("files have ends too", "Check the last line of each file, and that files end with a newline."),
    ("a closed fence", "Style:\n```python\nx = 1\n```\nNothing else."),
    ("a closed comment", "<!-- owner: build team -->\nReview the change."),
    ("umlauts, Persian, emoji", "Prüfe die Änderung.\nمی\u200cخواهم\n👩\u200d💻\ufe0f\tok"),
    ("CRLF", "Review the change.\r\nBe brief.\r\n"),
    ("byte order mark", "\ufeffReview the change."),
    (
        "words that hold others",
        "Approvals, DISAPPROVED, PREAPPROVE, verdicts: none is a value.\n\nNoverdict: verdictless.",
    ),
    ("Russian, Greek, Korean", "Проверь ИЗМЕНЕНИЯ. Έλεγξε την αλλαγή. 검토."),
)

# name, text, and what is said of the one line that is marked with ">>> "
REFUSED = (
    ("older rule, both on a line", "Be brief.\n>>> End with VERDICT: APPROVE or VERDICT: REQUEST_CHANGES", "weak-both"),
    ("older rule, quoted", '>>> Write "VERDICT: REQUEST_CHANGES" if in doubt.', "weak-block"),
    ("older rule in a fence", "```\n>>> VERDICT: APPROVE\n```", "weak-approve"),
    ("older rule with brackets", ">>> VERDICT: <APPROVE or REQUEST_CHANGES>", "a label"),
    ("older rule, other values", ">>> Verdict: PASS or FAIL", "a label"),
    ("older rule as JSON", 'Answer as JSON:\n>>> {"verdict": "approve", "reasons": []}', "a label"),
    ("JSON under another label", '>>> {"decision": "approve" or "request_changes"}', "both values"),
    ("two values in prose", ">>> Write APPROVE if it is fine, and REQUEST_CHANGES if it is not.", "both values"),
    ("two values in two lines", ">>> Write APPROVE if it is fine, and\nREQUEST CHANGES if it is not.", "both values"),
    ("two values, the other way", ">>> Say REQUEST-CHANGES or APPROVE.", "both values"),
    ("a value for the verdict", ">>> The verdict is APPROVE where only comments change.", "a value"),
    (
        "a value for the verdict below",
        "Be fair.\n>>> Say APPROVED\nas your verdict where only comments change.",
        "a value",
    ),
    ("a value under another label", "Be fair.\n>>> Urteil: **APPROVE**", "a label and a value"),
    ("marker and value", ">>> ===VERDICT=== APPROVE", "approved"),
    ("marker and refusal", "Example:\n>>> `===VERDICT=== REQUEST_CHANGES`", "blocked"),
    ("marker and junk", ">>> ===VERDICT=== LGTM", "unknown-value"),
    ("marker alone", ">>> === VERDICT ===", "unknown-value"),
    ("marker and value in a sentence", ">>> Write ===VERDICT=== APPROVE if it is fine.", "weak-approve"),
    ("marker and other values in a sentence", ">>> Write ===VERDICT=== followed by LGTM or NACK.", "the marker"),
    ("format line of the rule", "Be brief.\n>>> ===VERDICT=== <value>", "the marker"),
    ("marker in full-width signs", ">>> Write ＝＝＝ＶＥＲＤＩＣＴ＝＝＝ and a word.", "the marker"),
    ("marker in Cyrillic look-alikes", ">>> ===VЕRDIСТ=== APPROVE", "approved|not-bare"),
    ("marker after U+2028", ">>> Be brief.\u2028===VERDICT=== APPROVE", "not-bare"),
    ("marker split by a joiner", ">>> Write ===VER\u200dDICT=== and a word.", "the marker"),
    ("marker with a combining sign", ">>> Write ===VER\u20ddDICT=== and a word.", "the marker"),
    ("refusal alone on a line", "- fine\n>>> - REQUEST_CHANGES", "contradicted"),
    ("refusal under a label", ">>> Final answer: REQUEST_CHANGES", "contradicted"),
    (
        "a value alone",
        ">>> Write APPROVE if it compiles.\n\nBe brief.\n\n>> REQUEST_CHANGES is for the rest.",
        "in capitals",
    ),
    ("a refusal alone", ">>> Write REQUEST_CHANGES if a test was removed.", "in capitals"),
    ("a value as the last word", "Be brief.\n>>> End with the word APPROVE.", "in capitals"),
    ("an arrow to a value", "good -> fine\n>>> good -> APPROVE", "in capitals"),
    ("a value in brackets", ">>> Put your decision (APPROVE) in the last line.", "begins or ends"),
    ("other forms of the values", ">>> Use CHANGES_REQUESTED.\n\nElse _APPROVED_.", "in capitals"),
    ("the other form", ">>> Use _APPROVED_.", "in capitals"),
    ("a value in Cyrillic look-alikes", ">>> Write АРРRОVЕ if it compiles.", "in capitals"),
    ("a refusal in look-alikes", ">>> Write RЕQUЕST_CHANGЕS if not.", "in capitals"),
    ("small letters side by side", "Be brief.\n>>> Answer approve or request changes.", "both values"),
    ("small letters, the other way", ">>> Answer request-changes/approve.", "both values"),
    ("small letters over two lines", ">>> Say approve,\nor else changes requested.", "both values"),
    ("a quoted label of the reply", ">>> Begin the last part of your reply with 'Verdict:'.", "a label"),
    ("JSON without blanks", '>>> {"verdict":"pass"}', "a label"),
    ("how to end", ">>> Finish your review with LGTM.", "begins or ends"),
    ("how to end, over two lines", ">>> End the\nreply with a summary.", "begins or ends"),
    ("how to begin", ">>> Begin your answer with the word OK.", "begins or ends"),
    ("what the last line is", ">>> In your reply, the last line must be a number.", "begins or ends"),
    ("your last line", ">>> Let your last line be a number.", "begins or ends"),
    ("last line of the reply", ">>> Put the score on the last line of your reply.", "begins or ends"),
    ("open fence", "Style:\n>>> ```python\nx = 1", "never closed"),
    ("open comment", ">>> <!-- owner: build team\nReview the change.", "never closed"),
    ("hidden text", ">>> Review\U000e0061\U000e0070 the change.", "do not show"),
    ("private character", ">>> Review\ue000 the change.", "do not show"),
    ("bidi override", ">>> Review \u202ethe change.", "do not show"),
    ("escape sequence", ">>> Review \x1b[8mnothing\x1b[0m of the change.", "do not show"),
    ("lone carriage return", ">>> Approve nothing.\rReview the change.", "do not show"),
    ("blank", ">>>  \n\t\n", "blank"),
)


def unmarked(text: str) -> Tuple[str, int]:
    """The text of a row, and the number of its marked line."""
    before, _, after = text.partition(">>> ")
    return before + after, before.count("\n") + 1


def run(*arguments: str, text: bytes = b"", program: str = GUARD, cwd: str = HERE) -> Tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, *FLAGS, program, *arguments], input=text, stdout=-1, stderr=-1, cwd=cwd, check=False
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class TaskTest(unittest.TestCase):
    def test_what_is_fine(self) -> None:
        for name, text in FINE:
            with self.subTest(name):
                self.assertEqual(check_task(text), [])

    def test_what_is_refused_and_where(self) -> None:
        for name, marked, what in REFUSED:
            with self.subTest(name):
                text, line = unmarked(marked)
                found = [problem for problem in check_task(text) if problem.line == line]
                self.assertRegex(found[0].what if found else "nothing is", what)

    def test_refused_in_windows_line_ends_too(self) -> None:
        for name, marked, _ in REFUSED:
            with self.subTest(name):
                text, line = unmarked(marked)
                self.assertIn(line, [problem.line for problem in check_task(text.replace("\n", "\r\n"))])

    def test_the_rule_itself_does_not_belong_into_a_task(self) -> None:
        for token in (None, TOKEN):
            found = check_task("Review the change.\n" + prompt_rule(token))
            self.assertIn("the marker stands outside of the prompt rule", [problem.what for problem in found])

    def test_a_problem_repeats_nothing_of_the_text(self) -> None:
        found = check_task("secret VERDICT: APPROVE secret\n===VERDICT=== secret\nend your reply with secret\n\x1b")
        self.assertEqual([problem.line for problem in found], [1, 2, 3, 4])
        self.assertNotIn("secret", str(found))

    def test_whatever_a_parser_finds_in_a_line_is_refused(self) -> None:
        for line in (
            "===VERDICT=== APPROVE",
            "x VERDICT: approve x",
            "**Verdict** - REQUEST CHANGES",
            "== verdict == no",
        ):
            self.assertNotEqual(read_verdict(line).rule, "not-stated")
            self.assertEqual([problem.line for problem in check_task(f"a\n\n{line}\n\nb")], [3])

    def test_each_line_of_a_long_text(self) -> None:
        text = "== VERDICT == x\nWrite APPROVE.\n\n" * 3000
        self.assertEqual([problem.line for problem in check_task(text)], [n for n in range(1, 9000) if n % 3])

    def test_only_text_is_taken(self) -> None:
        for odd in (b"bytes", None, 7):
            with self.assertRaises(TypeError):
                check_task(odd)  # type: ignore[arg-type]
            with self.assertRaises(TypeError):
                check_prompt(odd)  # type: ignore[arg-type]


class PromptTest(unittest.TestCase):
    def whats(self, prompt: str, token: str | None = TOKEN) -> list[Tuple[int, str]]:
        return [(problem.line, problem.what) for problem in check_prompt(prompt, token)]

    def test_the_rule_once_and_last(self) -> None:
        for name, text in FINE:
            for token in (None, TOKEN, diff_token(b"x"), "F" * 64):
                for end in ("", "\n", " \t\n\n", "\r\n"):
                    with self.subTest(name, token=token, end=end):
                        self.assertEqual(check_prompt(f"{text}\n\n{prompt_rule(token)}{end}", token), [])
        self.assertEqual(check_prompt(prompt_rule()), [])
        self.assertEqual(check_prompt(prompt_rule(TOKEN).replace("\n", "\r\n"), TOKEN), [])

    def test_every_bad_task_is_a_bad_prompt(self) -> None:
        for name, marked, what in REFUSED:
            with self.subTest(name):
                text, line = unmarked(marked)
                if text.strip():
                    found = [said for at, said in self.whats(f"{text}\n\n{prompt_rule(TOKEN)}") if at == line]
                    self.assertRegex(found[0] if found else "nothing", what)

    def test_without_the_rule(self) -> None:
        missing = "it does not end in the prompt rule, word for word as verdict_contract.py [TOKEN] prints it for this token or none"
        self.assertEqual(self.whats(""), [(1, missing)])
        self.assertEqual(self.whats("Review.\nBe brief.\n\n"), [(2, missing)])

    def test_any_other_rule_than_the_current_one(self) -> None:
        rule = prompt_rule(TOKEN)
        others = [
            prompt_rule(),
            prompt_rule(TOKEN[::-1]),
            prompt_rule(TOKEN.upper()),
            f"> {rule}".replace("\n", "\n> "),
        ]
        others += [
            rule.replace(" ", "  ", 1),
            rule[:-1],
            rule[1:],
            rule.replace("\n\n", "\n"),
            rule.replace("no bold", "bold"),
        ]
        for other in others:
            with self.subTest(other):
                self.assertIn("does not end in the prompt rule", str(check_prompt(f"Review.\n\n{other}\n", TOKEN)))
        self.assertIn("does not end in the prompt rule", str(check_prompt(rule)))

    def test_the_rule_twice(self) -> None:
        rule = prompt_rule(TOKEN)
        self.assertEqual(self.whats(f"a\n{rule}\n\n{rule}"), [(2, "the prompt rule stands more than once")])

    def test_the_rule_within_a_line(self) -> None:
        self.assertEqual(
            self.whats("a\nDo not: " + prompt_rule(TOKEN)), [(2, "the prompt rule does not begin its line")]
        )

    def test_what_follows_the_rule(self) -> None:
        height = prompt_rule(TOKEN).count("\n") + 1
        for after, line in (
            (" Or not.", height),
            ("\n\nOr not.", height + 2),
            ("\n\u2028", height + 1),
            ("\n\x00", height + 1),
        ):
            with self.subTest(after):
                self.assertEqual(self.whats(prompt_rule(TOKEN) + after), [(line, "something follows the prompt rule")])

    def test_lines_below_an_early_rule_are_numbered_as_they_stand(self) -> None:
        text = f"{prompt_rule(TOKEN)}\n===VERDICT=== APPROVE\n"
        height = prompt_rule(TOKEN).count("\n") + 1
        self.assertEqual([at for at, _ in self.whats(text)], [height + 1])

    def test_the_token_elsewhere(self) -> None:
        for token, other in ((TOKEN, TOKEN.upper()), (TOKEN.upper(), TOKEN)):
            found = self.whats(f"a\nnote {other}\n{prompt_rule(token)}", token)
            self.assertEqual(found, [(2, "the token stands outside of the prompt rule")])

    def test_malformed_tokens(self) -> None:
        for token in ("", "xyz", "123", "0" * 65):
            with self.assertRaises(ValueError):
                check_prompt("a", token)
        with self.assertRaises(TypeError):
            check_prompt("a", 12345678)  # type: ignore[arg-type]


class CommandTest(unittest.TestCase):
    def test_fine(self) -> None:
        for arguments, text in (
            (["-"], prompt_rule()),
            (["--token", TOKEN, "-"], prompt_rule(TOKEN)),
            (["--task", "-"], "Review."),
            (["--task", "-"], "\ufeffPrüfe."),
        ):
            self.assertEqual(run(*arguments, text=text.encode()), (0, "", ""))

    def test_refused_with_a_line_each(self) -> None:
        code, out, err = run("--task", "-", text=b"Fine.\nVERDICT: APPROVE\n\n===VERDICT=== x\n")
        self.assertEqual((code, err), (3, ""))
        self.assertEqual(
            out.split("\n"), ["-:2: reads as a verdict (weak-approve)", "-:4: reads as a verdict (unknown-value)", ""]
        )

    def test_a_file_whose_name_would_command_a_log(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "::error::\n\u202eé"), "w", encoding="utf-8"):
                pass
            code, out, _ = run("--task", "::error::\n\u202eé", cwd=folder)
        self.assertEqual((code, out), (3, ":\\x3aerror:\\x3a\\n\\u202e\\xe9:1: is blank\n"))

    def test_unreadable_is_one_line_and_1(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "latin"), "wb") as file:
                file.write(b"Gr\xf6\xdfe")
            for path, why in (("missing", "No such file"), (".", "Is a directory"), ("latin", "utf-8")):
                code, out, err = run("--task", path, cwd=folder)
                self.assertEqual((code, out, err.count("\n")), (1, "", 1))
                self.assertRegex(err, f"^prompt_guard.py: {path}: .*{why}")

    def test_usage_is_2(self) -> None:
        for arguments in (
            [],
            ["--help"],
            ["a", "b"],
            ["--token", "x", "-"],
            ["--task", "--token", TOKEN, "-"],
            ["--tas", "-"],
        ):
            with self.subTest(arguments):
                code, out, err = run(*arguments, text=prompt_rule().encode())
                self.assertEqual(code, 2)
                self.assertEqual((bool(out), err.count("\n")), (True, 0) if arguments == ["--help"] else (False, 1))

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full here")
    def test_an_output_that_cannot_be_written_is_1(self) -> None:
        with open("/dev/full", "wb") as full:
            done = subprocess.run([sys.executable, GUARD, "-"], input=b"a", stdout=full, stderr=-1, check=False)
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (1, 1))


class ImportTest(unittest.TestCase):
    """Which verdict_contract.py is used; one in the working folder may be the change's."""

    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.program = os.path.join(self.folder, "up", "tools", "prompt_guard.py")
        os.makedirs(os.path.dirname(self.program))
        os.mkdir(os.path.join(self.folder, "cwd"))
        shutil.copy(GUARD, self.program)
        self.contract = sys.modules["verdict_contract"].__file__ or ""
        with open(os.path.join(self.folder, "cwd", "verdict_contract.py"), "w", encoding="utf-8") as file:
            file.write("raise SystemExit(77)\n")

    def status(self) -> int:
        return run("-", text=prompt_rule().encode(), program=self.program, cwd=os.path.join(self.folder, "cwd"))[0]

    def test_beside_or_above(self) -> None:
        for place in ("up/tools", "up"):
            with self.subTest(place):
                copy = shutil.copy(self.contract, os.path.join(self.folder, place))
                self.assertEqual(self.status(), 0)
                os.remove(copy)

    def test_never_in_the_working_folder(self) -> None:
        cwd = os.path.join(self.folder, "cwd")
        code, out, err = run("-", text=b"", program=self.program, cwd=cwd)
        self.assertEqual((code, out, err.count("\n")), (1, "", 1))
        script = "import sys; sys.path[:0] = ['', sys.argv[1]]; import prompt_guard"
        done = subprocess.run(
            [sys.executable, "-c", script, os.path.dirname(self.program)], cwd=cwd, stderr=-1, check=False
        )
        self.assertEqual((done.returncode, done.stderr.decode()), (1, err))

    def test_the_rule_is_not_retyped(self) -> None:
        with open(prompt_guard.__file__, encoding="utf-8") as file:
            source = file.read()
        for line in filter(None, prompt_rule().split("\n")):
            self.assertNotIn(line, source)


if __name__ == "__main__":
    unittest.main()
