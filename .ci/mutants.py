"""Damage the parser and the command in one place at a time, and see that the tests notice every time.

    python3 .ci/mutants.py [--file FILE] [--only TEXT] [--list] [--all] [--verbose]

Each mutant is verdict_contract.py or verdict_check.py with one change: those that cosmic-ray makes, and those below,
which such tools lack: patterns (a set wider or narrower, a bound, a part, a branch, a look ahead), lists (an element,
a rule, a conjunct, an argument dropped; two neighbouring rules swapped), calls, slices, statements, strings.

A mutant is put into a copy of the repository, never into the checkout. The tests of that copy run in a process with
limits of time and memory until one fails, those first that have killed most mutants for their time, of its neighbours
above all. For speed a command under test is a fork of that process; what survives that way goes through the whole test
file as a process of its own, with real commands.

What a clean run proves: no single change of these kinds goes unnoticed, but for those in equivalent.txt, each with
the argument why nobody can tell it from the original. An entry that a test kills, or that no longer fits the code,
fails the run. (For speed a listed mutant of the parser meets the quick tests that start no process, one of the command
the quick tests that do. With --all it meets all.)

What it cannot prove: that the tests notice two changes at once, or code that is missing; or, since a mutant that
takes too long is stopped, how much slower than the original is too slow (bench.py does). Left out on purpose are
docstrings, annotations, imports, comments, the help of arguments, and prose, that is every string in which two words
stand side by side: a test that repeats them proves nothing. What is no valid Python is no mutant.

Exit 0 if every mutant is killed or explained, 1 if not or if a test fails without any mutant, 2 for usage.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import functools
import gc
import importlib
import json
import os
import py_compile
import re
import resource
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import types
import unittest
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
FILES = ("verdict_contract.py", "verdict_check.py")
EQUIVALENT = HERE / "equivalent.txt"
TOOLS = HERE / "tools" / "bin" / "python"
QUICK = 0.2  # seconds of a test
SLOWEST = 600  # seconds for one mutant, on a busy machine
MEMORY = 2 << 30  # bytes, for a mutant and each process it starts: an endless input is among the tests

try:
    parso: Any = importlib.import_module("parso")
    cosmic_ray: Any = importlib.import_module("cosmic_ray.operators.provider")
except ImportError:
    if Path(sys.executable) == TOOLS or not TOOLS.exists():
        sys.exit("mutants.py: cosmic-ray is not installed; `bash .ci/run` does it")
    os.execv(TOOLS, [str(TOOLS), *sys.argv])  # noqa: S606


# --- Mutants: a place in the text, and what stands there instead ----------------------------------


class Edit(NamedTuple):
    """What an operator does to the source: source[start:end] becomes text."""

    operator: str
    start: int
    end: int
    text: str


class Mutant(NamedTuple):
    """A file with one change; the name says which, without line numbers, so that it outlives other edits."""

    file: str
    name: str
    place: str
    source: str


class Outcome(NamedTuple):
    """What became of a mutant: killed, survived or invalid; why is a test's name, or how its process ended."""

    mutant: Mutant
    state: str
    why: str


class Code:
    """A source file, its parso tree, and where in the text each node stands."""

    def __init__(self, source: str) -> None:
        """Parse the source."""
        self.source = source
        self.lines = [0]
        for line in source.split("\n"):
            self.lines.append(self.lines[-1] + len(line) + 1)
        self.tree = parso.parse(source)

    def start(self, node: Any) -> int:
        """The offset of the node's first character."""
        return self.offset(*node.start_pos)

    def end(self, node: Any) -> int:
        """The offset after the node's last character."""
        return self.offset(*node.end_pos)

    def offset(self, line: int, column: int) -> int:
        """The offset of a place that parso names."""
        return self.lines[line - 1] + column

    def text(self, node: Any) -> str:
        """The node as it is written."""
        return self.source[self.start(node) : self.end(node)]

    def edit(self, operator: str, node: Any, text: str) -> Edit:
        """An edit that replaces the node."""
        return Edit(operator, self.start(node), self.end(node), text)


def walk(node: Any) -> Iterator[Any]:
    """Every node that may be mutated: not docstrings, annotations or imports."""
    if node.type in ("annassign", "import_name", "import_from") or is_docstring(node) or is_help(node):
        if node.type == "annassign" and "=" in node.children:
            yield from walk(node.children[3])
        return
    yield node
    children = getattr(node, "children", ())
    for before, child in zip((None, *children), children):
        if before not in ("->", ":") or node.type not in ("funcdef", "tfpdef") or child.type == "suite":
            yield from walk(child)


def is_docstring(node: Any) -> bool:
    """Whether the node is a string that stands as a statement by itself."""
    return node.type in ("string", "strings") and node.parent.type in ("simple_stmt", "file_input")


def is_help(node: Any) -> bool:
    """Whether the node is an argument that argparse shows to people."""
    return node.type == "argument" and node.children[0].type == "name" and node.children[0].value in ("help", "metavar")


def mutants(file: str, source: str) -> Iterator[Mutant]:
    """All mutants of a source, each text once. Two with the same name are told apart by a number."""
    code = Code(source)
    texts, names = {source}, Counter[str]()
    for node in walk(code.tree):
        for edit in (edit for operator in OPERATORS for edit in operator(code, node)):
            text = source[: edit.start] + edit.text + source[edit.end :]
            if text not in texts:
                texts.add(text)
                place = place_of(node)
                name = f"{file} {place}: {edit.operator}: {described(source, edit)}"
                names[name] += 1
                yield Mutant(file, name + (f" #{names[name]}" if names[name] > 1 else ""), place, text)


def place_of(node: Any) -> str:
    """The function, class or constant that the node belongs to."""
    names = []
    while node.parent:
        if node.type in ("funcdef", "classdef"):
            names.append(node.name.value)
        elif node.type == "expr_stmt" and not names and node.parent.parent.type == "file_input":
            names.append(node.children[0].get_code(include_prefix=False))
        node = node.parent
    return ".".join(reversed(names)) or "module"


def described(source: str, edit: Edit) -> str:
    """The line with the change in it, as {before => after}."""
    first = source.rfind("\n", 0, edit.start) + 1
    last = source.find("\n", edit.end)
    before = source[edit.start : edit.end]
    parts = [source[first : edit.start], "{", before, " => ", edit.text, "}", source[edit.end : last]]
    return " ".join("".join(parts).split())


# --- Operators of cosmic-ray ----------------------------------------------------------------------

# Not all pairs of arithmetic operators, of which most are no more than a type error, but the nearest; and no "is" for
# "==", which differs only where Python happens to keep two equal objects.
NEAREST_OPERATORS = (
    r"(Add_Sub|Sub_Add|(Add|Sub|Mod|FloorDiv)_Mul|Mul_(Add|FloorDiv)|BitOr_Bit(And|Xor)|BitAnd_BitOr|LShift_RShift)$"
)
COSMIC_RAY = [
    operator()
    for name, operator in ((name, cosmic_ray.OperatorProvider()[name]) for name in cosmic_ray.OperatorProvider())
    if not operator.arguments()
    and not re.search("Eq_Is", name)
    and not re.match(f"ReplaceBinaryOperator_(?!{NEAREST_OPERATORS})", name)
]


def by_cosmic_ray(code: Code, node: Any) -> Iterator[Edit]:
    """What each operator of cosmic-ray makes of the node."""
    for operator in COSMIC_RAY:
        for index, _ in enumerate(operator.mutation_positions(node)):
            twin = twin_of(node)
            mutated = operator.mutate(twin, index)
            text = mutated.get_code(include_prefix=False).lstrip(" ") if mutated is not None else ""
            yield narrowed(code.source, code.edit(type(operator).__name__, node, text))


def narrowed(source: str, edit: Edit) -> Edit:
    """The edit without the words in which before and after begin and end alike."""
    before, after = (re.findall(r"\w+|\W", text) for text in (source[edit.start : edit.end], edit.text))
    head = alike(before, after)
    tail = alike(before[head:][::-1], after[head:][::-1])
    start, end = edit.start + len("".join(before[:head])), edit.end - len("".join(before[len(before) - tail :]))
    return Edit(edit.operator, start, end, "".join(after[head : len(after) - tail]))


def alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words are the same at the beginning."""
    return next((at for at, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


def twin_of(node: Any) -> Any:
    """A copy of the node and what is below it, that knows its parent as the node does."""
    parent, node.parent = node.parent, None
    twin = copy.deepcopy(node)
    node.parent = twin.parent = parent
    return twin


# --- Operators of our own: lists, calls, statements -----------------------------------------------

SEPARATORS = ("and", "or", ",", "+", "-", "*", "|", "&", "==")
LISTS = (
    "and_test", "or_test", "arith_expr", "term", "expr", "and_expr", "comparison",
    "arglist", "testlist_comp", "dictorsetmaker", "testlist_star_expr", "subscriptlist", "testlist",
)  # fmt: skip


def drop_one(code: Code, node: Any) -> Iterator[Edit]:
    """A list, a sum, a condition or a call without one of its parts: an element, rule, operand, conjunct, argument."""
    parts = parts_of(node) if node.type in LISTS else []
    for at, part in enumerate(parts):
        if is_help(part[0]):
            continue
        start = code.start(part[0]) if at + 1 < len(parts) else code.end(parts[at - 1][-1])
        end = code.start(parts[at + 1][0]) if at + 1 < len(parts) else code.end(part[-1])
        yield Edit("drop", start, end, "")
    if node.type == "trailer" and argument_of(node) and argument_of(node).type != "arglist":
        yield code.edit("drop", node, "()")


def argument_of(trailer: Any) -> Any:
    """What stands in the brackets of a call, if anything does."""
    return trailer.children[1] if trailer.children[0] == "(" and trailer.children[1] != ")" else None


def parts_of(node: Any) -> list[list[Any]]:
    """The nodes between the separators, if there are at least two parts."""
    parts: list[list[Any]] = [[]]
    for child in node.children:
        if child.type in ("operator", "keyword") and child.value in SEPARATORS:
            parts.append([])
        else:
            parts[-1].append(child)
    parts = [part for part in parts if part]
    return parts if len(parts) > 1 else []


def swap_rules(code: Code, node: Any) -> Iterator[Edit]:
    """Two neighbours among the rules in each other's place."""
    rules = [part[0] for part in parts_of(node)] if node.type == "testlist_comp" else []
    if all(code.text(rule).startswith("Rule(") for rule in rules):
        for one, other in zip(rules, rules[1:]):
            between = code.source[code.end(one) : code.start(other)]
            yield Edit("swap", code.start(one), code.end(other), code.text(other) + between + code.text(one))


def simpler_call(code: Code, node: Any) -> Iterator[Edit]:
    """x.method(...) and x[...] become x, function(x) becomes (x)."""
    if node.type not in ("atom_expr", "power"):
        return
    children = [child for child in node.children if child.type not in ("operator", "keyword")]
    for at, (before, trailer) in enumerate(zip(children, children[1:]), 1):
        called = trailer.children[0] == "(" and before.type == "trailer" and before.children[0] == "."
        if called or trailer.children[0] == "[":
            yield Edit("unwrap", code.end(children[at - 2 if called else at - 1]), code.end(trailer), "")
    argument = argument_of(children[1])
    if argument:
        first = argument.children[0] if argument.type == "arglist" else argument
        yield Edit("unwrap", code.start(children[0]), code.end(children[1]), f"({code.text(first)})")


def simpler_expression(code: Code, node: Any) -> Iterator[Edit]:
    """One side of a conditional expression, a slice without a bound, a comprehension without its condition."""
    if node.type == "ternary" or (node.type == "test" and "if" in node.children):
        yield code.edit("branch", node, code.text(node.children[0]))
        yield code.edit("branch", node, code.text(node.children[4]))
    elif node.type == "subscript":
        for child in node.children:
            if child.type != "operator":
                yield code.edit("bound", child, "")
    elif node.type == "comp_if":
        yield code.edit("condition", node, "")
        yield code.edit("condition", node, f"if not ({code.text(node.children[1])})")
    elif node.type == "fstring_expr" and not raw(code, node.parent):
        yield code.edit("hole", node, "")
    elif node.type == "comparison" and str(getattr(node.children[1], "value", "")) == "in":
        yield code.edit("in", node.children[1], "not in")


def simpler_statement(code: Code, node: Any) -> Iterator[Edit]:
    """A statement left out, a condition that is always or never true."""
    first = node.children[0] if node.type == "simple_stmt" else None
    if first and not is_docstring(first) and not first.type.startswith("import"):
        yield code.edit("leave out", first, "pass")
    elif node.type in ("if_stmt", "while_stmt"):
        yield code.edit("condition", node.children[1], "True")
        yield code.edit("condition", node.children[1], "False")


# --- Operators of our own: strings ----------------------------------------------------------------

CHARACTER = re.compile(r"\\(?:x..|u.{4}|U.{8}|.)|[A-Za-z_][\w-]{1,15}(?![\w-])|.", re.DOTALL)  # or a short word
PROSE = re.compile(r"[A-Za-z,;:.]{2,} [A-Za-z]{2,}")
NEAREST = {
    "a": "w", "rb": "r", "surrogateescape": "surrogatepass", "replace": "ignore", "backslashreplace": "replace",
    "NFKD": "NFD", "unicode_escape": "ascii", "store_true": "store_false",
}  # fmt: skip


def raw(code: Code, node: Any) -> bool:
    """Whether the string is a pattern: raw, or it begins like one."""
    text = code.text(node)
    return bool(re.match(r"""[fF]?[rR]|['"](?:\[|\(\?)""", text))


def other_string(code: Code, node: Any) -> Iterator[Edit]:
    """A string that is empty, longer, or has one character less or another one there."""
    if node.type == "string" and not raw(code, node):
        start, text = code.start(node), code.text(node)
        inner = text.index(text[-1]) + (3 if text.endswith('"""') else 1)
        yield from other_text(start + inner, text[inner : -3 if text.endswith('"""') else -1])
    elif node.type == "fstring_string" and not raw(code, node.parent) and '"""' not in code.text(node.parent):
        yield from other_text(code.start(node), code.text(node))


def other_text(start: int, text: str) -> Iterator[Edit]:
    """What becomes of the text of a string."""
    if PROSE.search(text):
        return
    end = start + len(text)
    yield Edit("string", end, end, "X")
    if text in NEAREST:
        yield Edit("string", start, end, NEAREST[text])
    for part in CHARACTER.finditer(text):
        yield Edit("string", start + part.start(), start + part.end(), "")
        if part[0].isupper() and len(part[0]) == 1:
            yield Edit("string", start + part.start(), start + part.end(), "Y" if part[0] == "X" else "X")


# --- Operators of our own: patterns ---------------------------------------------------------------

PIECES = re.compile(
    r"""(?P<comment> [ ]\#[ ].*)
      | (?P<set> \[ \^? (?: \\. | \{[^{}]+\} | [^\\\]] )+ \] )
      | (?P<around> \(\?<?[=!] )
      | (?P<same> \(\?P=\w+\) )
      | (?P<open> \( (?: \?: | \?P<\w+> )? )
      | (?P<close> \) )
      | (?P<bar> \| )
      | (?P<many> (?: [*+?] | \{\{?\d*,?\d*\}\}? ) \?? )
      | (?P<hole> \{[^{}]+\} )
      | (?P<blank> \s )
      | (?P<one> \\x.. | \\. | . )""",
    re.VERBOSE,
)
IN_A_SET = re.compile(r"(?:\\x..|\\.|[^\\])-(?:\\x..|\\.|[^\\])|\{[^{}]+\}|\\x..|\\.|[^\\]")
ADDED = ("J", "5", ";", " ", "\\n")  # to a set: a letter, a digit, a sign, a blank, a line end


class Piece(NamedTuple):
    """A part of a pattern as it is written."""

    kind: str
    start: int
    end: int
    text: str


def other_pattern(code: Code, node: Any) -> Iterator[Edit]:
    """A pattern with one part dropped, repeated otherwise, or a set that is wider or narrower."""
    if node.type not in ("string", "fstring") or not raw(code, node):
        return
    start, text = code.start(node), code.text(node)
    quote = '"""' if '"""' in text else text[-1]
    begin = text.index(quote) + len(quote)
    pieces = [
        Piece(str(found.lastgroup), start + found.start(), start + found.end(), found[0])
        for found in PIECES.finditer(text, begin, len(text) - len(quote))
        if found.lastgroup != "comment" and not (len(quote) > 1 and found.lastgroup == "blank")  # a verbose pattern
    ]
    for at, piece in enumerate(pieces):
        yield from other_piece(piece)
        yield from without_atom(pieces, at)
    yield from without_branch(pieces)


def other_piece(piece: Piece) -> Iterator[Edit]:
    """What becomes of a set, a number of repetitions, a look ahead or behind."""
    texts: list[str] = []
    if piece.kind == "set":
        texts = list(other_sets(piece.text))
    elif piece.kind == "many":
        texts = list(other_counts(piece.text))
    elif piece.kind == "around":
        texts = [piece.text[:-1] + ("!" if piece.text[-1] == "=" else "="), "(?:"]
    for text in texts:
        yield Edit("pattern", piece.start, piece.end, text)


def other_sets(text: str) -> Iterator[str]:
    """The set without each of its items, with each range shorter, with something more, and inverted."""
    head = "[^" if text.startswith("[^") else "["
    items = IN_A_SET.findall(text[len(head) : -1])
    for at, item in enumerate(items):
        rest = [*items[:at], *items[at + 1 :]]
        for other in ["", *shorter_ranges(item)]:
            if other or rest:
                yield head + "".join([*items[:at], other, *items[at + 1 :]]) + "]"
    for more in ADDED:
        if "{" in text or bool(re.fullmatch(text, more)) == (head == "[^"):
            yield head + more + text[len(head) :]
    yield ("[" if head == "[^" else "[^") + text[len(head) :]


def shorter_ranges(item: str) -> list[str]:
    """a-z as b-z and a-y."""
    if not re.fullmatch(r"\w-\w", item):
        return []
    return [f"{chr(ord(item[0]) + 1)}-{item[2]}", f"{item[0]}-{chr(ord(item[2]) - 1)}"]


def other_counts(text: str) -> list[str]:
    """The nearest other numbers of repetitions, and none."""
    if text[0] != "{":
        return ["", *(sign for sign in "*+?" if sign != text[0])]
    texts = []
    for found in re.finditer(r"\d+", text):
        for number in (int(found[0]) - 1, int(found[0]) + 1):
            texts += [f"{text[: found.start()]}{number}{text[found.end() :]}"] if number >= 0 else []
    return texts


def without_atom(pieces: Sequence[Piece], at: int) -> Iterator[Edit]:
    """The pattern without one atom and what says how often it stands; a group goes as a whole."""
    if pieces[at].kind in ("set", "same", "hole", "blank", "one", "open", "around"):
        last = closing(pieces, at) if pieces[at].kind in ("open", "around") else at
        last += last + 1 < len(pieces) and pieces[last + 1].kind == "many"
        yield Edit("pattern", pieces[at].start, pieces[last].end, "")


def closing(pieces: Sequence[Piece], at: int) -> int:
    """Where the group that opens at this piece is closed."""
    depth = 0
    for index in range(at, len(pieces)):
        depth += (pieces[index].kind in ("open", "around")) - (pieces[index].kind == "close")
        if depth == 0:
            return index
    return len(pieces) - 1


def without_branch(pieces: Sequence[Piece]) -> Iterator[Edit]:
    """The pattern without one side of each bar."""
    for at, piece in enumerate(pieces):
        if piece.kind == "bar":
            yield Edit("pattern", pieces[edge(pieces, at, -1)].start, piece.end, "")
            yield Edit("pattern", piece.start, pieces[edge(pieces, at, 1)].end, "")


def edge(pieces: Sequence[Piece], at: int, step: int) -> int:
    """The last piece of the branch that ends, or begins, at a bar."""
    opens, closes = ("open", "around"), ("close",)
    inward, outward = (opens, (*closes, "bar")) if step > 0 else (closes, (*opens, "bar"))
    depth = 0
    while 0 <= at + step < len(pieces):
        kind = pieces[at + step].kind
        if depth == 0 and kind in outward:
            break
        depth += (kind in inward) - (kind in outward and kind != "bar")
        at += step
    return at


OPERATORS = (
    by_cosmic_ray,
    drop_one,
    swap_rules,
    simpler_call,
    simpler_expression,
    simpler_statement,
    other_string,
    other_pattern,
)


# --- Running the tests on a mutant ----------------------------------------------------------------


class Plan:
    """Which tests there are, how long each takes, and which of them have killed what so far."""

    def __init__(self, clean: Path, tests: str, everything: bool) -> None:
        """The tests of a copy without a mutant; measure() runs them."""
        self.clean, self.tests = clean, clean / tests
        self.code = compile(self.tests.read_text(encoding="utf-8"), tests, "exec")
        self.meaning = {file: ast.dump(ast.parse((clean / file).read_text(encoding="utf-8"))) for file in FILES}
        self.seconds: dict[str, float] = {}
        self.starts: set[str] = set()  # tests that start a process
        self.failing: list[str] = []
        self.all = everything  # whether mutants that are listed meet all tests
        self.whole = False  # whether what survives goes through the whole file, as a process, too
        self.kills: Counter[tuple[str, str]] = Counter()

    def measure(self, tree: Path, longest: float) -> None:
        """Run the tests once, and keep those that pass and take no longer, in seconds."""
        state, found = finished(tree, *os.waitpid(in_a_child(tree, lambda: measured(tree, self)), 0))
        if state != "measured":
            sys.exit(f"mutants.py: the tests do not even end without a mutant: {found}")
        rows, modules = found
        for name in modules:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)  # once for all, not in each child
        gc.freeze()  # a collection in a child would copy all memory that it shares with this process
        self.failing = [name for name, _, _, fails in rows if fails]
        self.seconds = {name: seconds for name, seconds, _, fails in rows if not fails and seconds <= longest}
        self.whole = not self.failing and longest >= SLOWEST
        self.starts = {name for name, _, starts, _ in rows if starts}

    def order(self, mutant: Mutant, listed: bool) -> list[str]:
        """The tests, first those that killed most for their time; for a listed mutant the quick ones of its kind."""

        def worth(test: str) -> float:
            near, far = self.kills[mutant.place, test], self.kills[mutant.file, test]
            return (10 * near + far + 0.1) / (self.seconds[test] + 0.002)

        starts = mutant.file == "verdict_check.py"  # a command is tested as a process, a parser within this one
        few = [test for test in self.seconds if (test in self.starts) == starts and self.seconds[test] < QUICK]
        return sorted(few if listed and not self.all else self.seconds, key=worth, reverse=True)


def in_a_child(tree: Path, work: Callable[[], list[Any]]) -> int:
    """Start work() in a process of its own, with limits; it leaves its answer as JSON. Returns the process id."""
    process = os.fork()
    if process:
        return process
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background begins with it ignored
        signal.setitimer(signal.ITIMER_REAL, SLOWEST)  # the default action: the process ends, also within a pattern
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        answer_of(tree).write_text(json.dumps(work()), encoding="utf-8")
    finally:
        os._exit(0)


def answer_of(tree: Path) -> Path:
    """Where a child leaves its answer."""
    return tree.parent / f"{tree.name}.json"


def finished(tree: Path, process: int, status: int) -> list[Any]:
    """What a child left, or how it ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)  # what it may have started
    if not answer_of(tree).exists():
        return ["killed", f"(ended by signal {os.WTERMSIG(status)})" if os.WIFSIGNALED(status) else "(ended)"]
    answer: list[Any] = json.loads(answer_of(tree).read_text(encoding="utf-8"))
    answer_of(tree).unlink()
    return answer


def loaded(tree: Path, plan: Plan) -> dict[str, unittest.TestCase]:
    """The tests, by name, in this process, of the modules in that copy."""
    os.chdir(tree)
    sys.path.insert(0, str(tree))
    subprocess.run = by_fork  # type: ignore[assignment]
    module = types.ModuleType("tests")
    module.__dict__["__file__"] = str(tree / plan.tests.name)
    sys.modules["tests"] = module
    exec(plan.code, module.__dict__)  # noqa: S102
    suites: list[Any] = [unittest.defaultTestLoader.loadTestsFromModule(module)]
    found: dict[str, unittest.TestCase] = {}
    while suites:
        suite = suites.pop()
        if isinstance(suite, unittest.TestCase):
            found[suite.id()] = suite
        else:
            suites.extend(suite)
    return found


def by_fork(command: Sequence[Any], **options: Any) -> subprocess.CompletedProcess[bytes]:
    """What subprocess.run does, for a command under test: the file runs in a fork of this process.

    It spares the start of an interpreter, which is most of the time. Any other command is run as it is.
    """
    words = [os.fsdecode(word) for word in command]
    at = next((at for at, word in enumerate(words) if os.path.basename(word) in FILES), 0)
    if words[0] != sys.executable or not at or not all(word.startswith("-W") for word in words[1:at]):
        return AS_IT_IS(command, **options)
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(options.get("input") or b"")
        given.seek(0)
        process = os.fork()
        if not process:
            ours = {"stdin": given, "stdout": out, "stderr": err}
            theirs = {name: options[name] for name in ours if options.get(name) not in (None, subprocess.PIPE)}
            as_a_command(words[at:], options, {**ours, **theirs})
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        for stream in (out, err):
            stream.seek(0)
        return subprocess.CompletedProcess(words, status, out.read(), err.read())


AS_IT_IS = subprocess.run


def as_a_command(words: list[str], options: dict[str, Any], streams: dict[str, Any]) -> NoReturn:
    """Become the command: its streams, folder, environment and arguments. Ends this process."""
    status = 1
    try:
        signal.alarm(60)
        os.chdir(options.get("cwd") or ".")
        environment = dict(options.get("env") or os.environ)
        os.environ.clear()
        os.environ.update(environment)
        for number, stream in enumerate(streams.values()):
            opened = os.open(os.devnull, os.O_RDWR) if stream == subprocess.DEVNULL else stream
            os.dup2(opened if isinstance(opened, int) else opened.fileno(), number)
        encoding, _, errors = environment.get("PYTHONIOENCODING", "").partition(":")
        sys.stdin, sys.stdout = open(0), open(1, "w", encoding=encoding or None, errors=errors or None)  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1, encoding=encoding or None, errors="backslashreplace")  # noqa: SIM115
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0
        if end.code is not None and not isinstance(end.code, int):  # a message
            status = 1
            print(end.code, file=sys.stderr)
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
        except (OSError, ValueError):
            status = 120  # as Python does
        os._exit(status)


def passes(test: unittest.TestCase, seconds: float) -> bool:
    """Whether a test passes, within so much time of this process."""
    result = unittest.TestResult()
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)  # the default action, again
    test.run(result)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return result.wasSuccessful()


def tested(tree: Path, plan: Plan, mutant: Mutant, listed: bool) -> list[Any]:
    """Run the tests on the mutant until one fails: its state and why."""
    try:
        syntax = ast.parse(mutant.source)
        meaning = ast.dump(syntax)
        compile(syntax, mutant.file, "exec")
    except SyntaxError as error:
        return ["invalid", str(error)]
    if meaning == plan.meaning[mutant.file]:
        return ["invalid", "the same to Python"]
    (tree / mutant.file).write_text(mutant.source, encoding="utf-8")
    try:
        tests = loaded(tree, plan)
    except BaseException as error:  # noqa: BLE001
        return ["killed", f"(import: {type(error).__name__})"]
    for name in plan.order(mutant, listed):
        if name not in tests or not passes(tests[name], 2 + 20 * plan.seconds[name]):
            return ["killed", name]
    if plan.whole and not listed:
        command = [sys.executable, "-W", "error", "-bb", plan.tests.name, "-f"]  # without the examples' tests
        return ["killed", "(the whole file)"] if subprocess.run(command, check=False).returncode else ["survived", ""]
    return ["survived", ""]


def measured(tree: Path, plan: Plan) -> list[Any]:
    """Run every test without a mutant: name, seconds, whether it starts a process, whether it fails."""
    started: list[str] = []
    sys.addaudithook(lambda event, _: started.append(event) if event in ("subprocess.Popen", "os.fork") else None)
    rows = []
    for name, test in loaded(tree, plan).items():
        started.clear()
        start = sum(os.times()[:4])  # of this process and of those it started, whatever else the machine does
        fails = not passes(test, SLOWEST)
        rows.append([name, sum(os.times()[:4]) - start, bool(started), fails])
    return ["measured", [rows, sorted(name for name in sys.modules if name in sys.stdlib_module_names)]]


def copied(folder: Path) -> Path:
    """A copy of the repository without its history and tools."""
    ignored = shutil.ignore_patterns(".git", "tools", "__pycache__", ".*_cache")
    tree = Path(shutil.copytree(ROOT, folder, ignore=ignored))
    for file in FILES:  # for the processes that tests start; a mutant is younger than this, so that it is read itself
        py_compile.compile(str(tree / file), doraise=True)
    return tree


def run(todo: Sequence[Mutant], listed: Container[str], plan: Plan, trees: Sequence[Path]) -> Iterator[Outcome]:
    """What becomes of each mutant, as many at once as there are trees."""
    waiting, free = list(reversed(todo)), list(trees)
    running: dict[int, tuple[Mutant, Path]] = {}
    while waiting or running:
        while waiting and free:
            mutant, tree = waiting.pop(), free.pop()
            process = in_a_child(tree, functools.partial(tested, tree, plan, mutant, mutant.name in listed))
            running[process] = mutant, tree
        process, status = os.wait()
        mutant, tree = running.pop(process)
        state, why = finished(tree, process, status)
        shutil.copy2(plan.clean / mutant.file, tree / mutant.file)
        free.append(tree)
        plan.kills[mutant.place, why] += 1
        plan.kills[mutant.file, why] += 1
        yield Outcome(mutant, state, why)


# --- The list of equivalents ----------------------------------------------------------------------


def explained() -> dict[str, str]:
    """The entries of equivalent.txt: names of mutants from the line's start, and below them, indented, the argument."""
    entries: dict[str, str] = {}
    names: list[str] = []
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines() if EQUIVALENT.exists() else []
    for line in (line for line in lines if line.strip() and not line.startswith("#")):
        if line.startswith(FILES):
            names = names if names and not entries[names[-1]] else []
            names.append(line.rstrip())
            entries[names[-1]] = ""
        else:
            entries.update((name, f"{entries[name]} {line.strip()}".strip()) for name in names)
    return entries


# --- The command ----------------------------------------------------------------------------------


def judged(outcome: Outcome, entries: dict[str, str]) -> tuple[str, str]:
    """How a mutant counts, and what is wrong about it, if anything is."""
    listed, lives = outcome.mutant.name in entries, outcome.state == "survived"
    if listed and lives:
        return "explained", "" if entries[outcome.mutant.name] else f"listed without an argument: {outcome.mutant.name}"
    if listed:
        return outcome.state, f"listed, but {outcome.state} ({outcome.why}): {outcome.mutant.name}"
    return outcome.state, f"survived: {outcome.mutant.name}" if lives else ""


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", choices=FILES, action="append", help="only the mutants of this file")
    parser.add_argument("--only", default="", metavar="TEXT", help="only those whose name holds this text")
    parser.add_argument("--list", action="store_true", help="print their names and stop")
    parser.add_argument("--all", action="store_true", help="run all tests on the listed ones, too")
    parser.add_argument("--verbose", action="store_true", help="print what became of each")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at once")
    parser.add_argument("--tests", default="test_verdict_contract.py", metavar="FILE", help="the file of tests")
    parser.add_argument(
        "--quick", type=float, default=SLOWEST, metavar="SECONDS", help="only tests that take no longer"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns the exit status."""
    options, start = parsed(arguments), time.monotonic()
    files = tuple(options.file or FILES)
    entries, tally = explained(), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        clean, *trees = [copied(Path(folder, str(number))) for number in range(1 + max(1, options.jobs))]
        made = [mutant for file in files for mutant in mutants(file, (clean / file).read_text(encoding="utf-8"))]
        todo = [mutant for mutant in made if options.only in mutant.name]
        if options.list:
            print(*(mutant.name for mutant in todo), sep="\n")
            return 0
        plan = Plan(clean, options.tests, options.all)
        plan.measure(trees[0], options.quick)
        wrong = [f"fails without a mutant: {name}" for name in plan.failing]
        for outcome in run(todo, entries, plan, trees):
            counts, trouble = judged(outcome, entries)
            tally[counts] += 1
            wrong += [trouble] if trouble else []
            if options.verbose:
                print(counts, outcome.mutant.name, outcome.why, sep="\t", flush=True)
    gone = set(entries) - {mutant.name for mutant in made}
    wrong += [
        f"listed, but there is no such mutant: {name}" for name in entries if name in gone and name.startswith(files)
    ]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    figures = ", ".join(f"{tally[state]:,} {state}" for state in ("killed", "explained", "survived"))
    print(f"mutants: {len(todo) - tally['invalid']:,}, {figures}, in {time.monotonic() - start:.0f} s")
    return 1 if wrong or not tally["killed"] else 0


if __name__ == "__main__":
    sys.exit(main())
