"""Damage the parser and the command in one place at a time, and see that the tests notice every time.

    python3 .ci/mutants.py [--only TEXT] [--every N] [--all]

Each mutant is verdict_contract.py or verdict_check.py with one change to its syntax tree: what mutation tools change
(comparisons, operators, numbers, conditions, statements), and parts of patterns, lists, calls, slices and strings.

A mutant lives in a process of its own, with limits of time and memory, in which it stands in the place of the module.
First the rows of the contract are read; then the test file is loaded anew, and its tests run until one fails: first the
one that killed it in an earlier run (.ci/tools/killers.json), then those that call its function and have killed most
for their time, of its neighbours above all. Tests that start a process find the mutant in a copy of the repository.

What a clean run proves: no single change of these kinds goes unnoticed, but for those in equivalent.txt, each with
the argument why nobody can tell it from the original. For speed no mutant meets a slow test that calls nothing of its
file, a listed one meets only the quick tests that start no process, and random reports are a tenth of those of the
tests; with --all a listed one meets the others too, and the reports are all. What it cannot prove: that the tests
notice two changes at once, or code that is missing, or how much slower than the original is too slow (bench.py does).
Left out are docstrings, annotations, imports, comments, what is no valid Python, sizes of parts (written 1 << N, they
are for speed alone), and prose, that is every string in which two words stand side by side: a test that repeats it
proves nothing. Tests that notice a condition to be always true and to be never true notice its opposite.

Exit 0 if every mutant is killed or explained; 1 if one survives or could not be tried, if a listed one is killed or no
longer there, or if a test fails without any mutant; 2 for usage.
"""

import argparse
import ast
import collections
import contextlib
import copy
import cProfile
import gc
import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import types
import unittest
import unittest.mock
from pathlib import Path
from textwrap import indent
from typing import Any, Callable, Container, Counter, Dict, Iterable, Iterator, List, NamedTuple, Sequence, Set, Tuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
FILES = ("verdict_contract.py", "verdict_check.py")
TESTS = "test_verdict_contract.py"
EQUIVALENT = HERE / "equivalent.txt"
KILLERS = HERE / "tools" / "killers.json"  # by the name of a mutant, what killed it last
QUICK = 0.1  # seconds of a test
SHARE = 0.1  # of the random reports
PATIENCE = 600  # seconds for a test without a mutant
WAITING = 30  # seconds that a test may wait, on a busy machine
MEMORY = 2 << 30  # bytes, for a mutant and each process it starts: an endless input is among the tests

# --- Operators: what may stand in the place of a node ---------------------------------------------

COMPARED = {
    ast.Eq: (ast.NotEq, ast.LtE, ast.GtE), ast.NotEq: (ast.Eq, ast.Lt, ast.Gt),
    ast.Lt: (ast.LtE, ast.NotEq, ast.GtE), ast.LtE: (ast.Lt, ast.Eq, ast.Gt),
    ast.Gt: (ast.GtE, ast.NotEq, ast.LtE), ast.GtE: (ast.Gt, ast.Eq, ast.Lt),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}  # fmt: skip
CALCULATED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mod: ast.Mult, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
LISTS = {ast.Tuple: "elts", ast.List: "elts", ast.Set: "elts", ast.BoolOp: "values", ast.Call: "args"}
TYPES = re.compile(r"(Callable|Dict|Iterable|Iterator|List|Optional|Pattern|Sequence|Tuple|Union)\b")
SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Raise, ast.Break, ast.Delete)
ALWAYS, NEVER, EMPTY = ast.Constant(True), ast.Constant(False), ast.Tuple([], ast.Load())


def changed(node: Any, **fields: Any) -> Any:
    """A copy of the node in which these fields are others."""
    twin = copy.copy(node)
    vars(twin).update(fields)
    return twin


def shorter(items: Sequence[Any]) -> List[List[Any]]:
    """The list without each of its items."""
    return [[*items[:at], *items[at + 1 :]] for at in range(len(items))]


def replaced(items: Sequence[Any], at: int, item: Any) -> List[Any]:
    """The list with another item at that place."""
    return [*items[:at], item, *items[at + 1 :]]


def compared(node: Any) -> Iterator[Any]:
    """A comparison with another sign, without one of its terms, always or never true."""
    for at, sign in enumerate(node.ops):
        yield from (changed(node, ops=replaced(node.ops, at, other())) for other in COMPARED[type(sign)])
    if len(node.ops) > 1:
        yield changed(node, left=node.comparators[0], ops=node.ops[1:], comparators=node.comparators[1:])
        pairs = zip(shorter(node.ops), shorter(node.comparators))
        yield from (changed(node, ops=signs, comparators=others) for signs, others in pairs)
    yield from (ALWAYS, NEVER)


def shortened(node: Any) -> Iterator[Any]:
    """A list, condition or call without one of its parts; two neighbouring rules swapped."""
    field = LISTS[type(node)]
    items = getattr(node, field)
    alone = isinstance(node, ast.BoolOp) and len(items) == 2
    yield from (less[0] if alone else changed(node, **{field: less}) for less in shorter(items))
    for at in range(1, len(items) if all(ast.unparse(item).startswith("Rule(") for item in items) else 0):
        yield changed(node, **{field: [*items[: at - 1], items[at], items[at - 1], *items[at + 1 :]]})


def called(node: Any) -> Iterator[Any]:
    """A call without one of its named arguments; f(x) as x, x.method(...) as x."""
    kept = [word for word in node.keywords if word.arg not in ("help", "metavar")]
    yield from (changed(node, keywords=[one for one in node.keywords if one is not word]) for word in kept)
    yield from node.args[:1]
    yield from [node.func.value] if isinstance(node.func, ast.Attribute) else []


def constant(node: Any) -> Iterator[Any]:
    """Another truth value or number; a string as strings() has it."""
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int):
        yield from (ast.Constant(node.value + 1), ast.Constant(node.value - 1))
    elif isinstance(node.value, str):
        yield from patterns(node) if node.is_pattern else strings(node.value)


def joined(node: Any) -> Iterator[Any]:
    """A string with holes, without one of them."""
    if node.is_pattern:
        yield from patterns(node)
    else:
        pairs = zip(node.values, shorter(node.values))
        yield from (changed(node, values=less) for value, less in pairs if isinstance(value, ast.FormattedValue))


CHANGES: Tuple[Tuple[Any, Callable[[Any], Iterable[Any]]], ...] = (
    (ast.Compare, compared),
    (ast.BinOp, lambda node: [changed(node, op=CALCULATED[type(node.op)]()), node.left, node.right]),
    (ast.BoolOp, lambda node: [changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())]),
    (ast.UnaryOp, lambda node: [node.operand]),
    (ast.Constant, constant),
    (tuple(LISTS), shortened),
    (ast.Call, called),
    (ast.Dict, lambda n: [changed(n, keys=k, values=v) for k, v in zip(shorter(n.keys), shorter(n.values))]),
    (ast.Subscript, lambda node: [node.value]),
    (ast.Slice, lambda node: [changed(node, **{bound: None}) for bound in ("lower", "upper", "step")]),
    (ast.IfExp, lambda node: [node.body, node.orelse]),
    (ast.comprehension, lambda node: [changed(node, ifs=less) for less in shorter(node.ifs)]),
    (ast.JoinedStr, joined),
    ((ast.If, ast.While), lambda node: [changed(node, test=ALWAYS), changed(node, test=NEVER)]),
    (ast.For, lambda node: [changed(node, iter=EMPTY)]),
    (ast.ExceptHandler, lambda node: [changed(node, type=EMPTY)]),
    ((ast.Break, ast.Continue), lambda node: [ast.Continue() if isinstance(node, ast.Break) else ast.Break()]),
    (SIMPLE, lambda _: [ast.Pass()]),
)  # each kind of node, and what may stand in its place

PROSE = re.compile(r"[A-Za-z,;:.]{2,} [A-Za-z]{2,}")
CHARACTER = re.compile(r"[A-Za-z_][\w-]{1,15}(?![\w-])|.", re.DOTALL)  # or a short word
NEAREST = {
    "a": "w", "rb": "r", "surrogateescape": "surrogatepass", "replace": "ignore", "backslashreplace": "replace",
    "NFKD": "NFD", "unicode_escape": "ascii", "store_true": "store_false",
}  # fmt: skip


def strings(text: str) -> Iterator[Any]:
    """A string that is no prose and is longer, or has one character less or another one there."""
    if PROSE.search(text):
        return
    yield ast.Constant(text + "X")
    yield from [ast.Constant(NEAREST[text])] if text in NEAREST else []
    for part in CHARACTER.finditer(text):
        yield ast.Constant(text[: part.start()] + text[part.end() :])
        if part[0].isupper() and len(part[0]) == 1:
            yield ast.Constant(text[: part.start()] + ("Y" if part[0] == "X" else "X") + text[part.end() :])


# --- Patterns: their parts are found in a text in which a private character stands for a hole -----

LOOKS_LIKE_ONE = re.compile(r"\[[^]]{2,}\]|\(\?|.*(\)\?|\(\w+\|)", re.DOTALL)
HOLE = 0xE000
PIECES = re.compile(
    r"""(?P<comment> [ ]\#[ ].*)
      | (?P<set> \[ \^? (?: \\. | [^\\\]] )+ \] )
      | (?P<around> \(\?<?[=!] )
      | (?P<open> \( (?: \?: | \?P<\w+> )? )
      | (?P<close> \) )
      | (?P<bar> \| )
      | (?P<many> (?: [*+?] | \{\d*,?\d*\} ) \?? )
      | (?P<one> \\x.. | \\. | [A-Za-z]{2,}(?![*+?{]) | (?:.|\n) )""",
    re.VERBOSE,
)
IN_A_SET = re.compile(r"(?:\\x..|\\.|[^\\])-(?:\\x..|\\.|[^\\])|\\x..|\\.|[^\\]")
OPENING = ("open", "around")
ADDED = ("J", "5", ";", " ")  # to a set: a letter, a digit, a sign, a blank


def patterns(node: Any) -> Iterator[Any]:
    """The pattern with each of its parts changed."""
    values = node.values if isinstance(node, ast.JoinedStr) else [node]
    text = "".join(str(v.value) if isinstance(v, ast.Constant) else chr(HOLE + at) for at, v in enumerate(values))
    verbose = "\n" in text
    pieces = [p for p in PIECES.finditer(text) if not (verbose and (p.lastgroup == "comment" or p[0].isspace()))]
    for start, end, other in pattern_edits(pieces):
        new = re.split("([\ue000-\uf8ff])", text[:start] + other + text[end:])
        parts = [values[ord(part) - HOLE] if at % 2 else ast.Constant(part) for at, part in enumerate(new)]
        yield changed(node, values=parts) if isinstance(node, ast.JoinedStr) else ast.Constant(new[0])


def pattern_edits(pieces: Sequence["re.Match[str]"]) -> Iterator[Tuple[int, int, str]]:
    """From where to where in a pattern something else stands, and what."""
    line_ends = any("\\n" in piece[0] for piece in pieces)
    for at, piece in enumerate(pieces):
        yield from ((*piece.span(), text) for text in other_piece(piece, line_ends))
        if piece.lastgroup in ("set", "one", *OPENING):  # an atom, with what says how often it stands
            last = at
            if piece.lastgroup in OPENING:
                last = min(len(pieces) - 1, reach(pieces, at, 1, bars=False) + 1)
            last += last + 1 < len(pieces) and pieces[last + 1].lastgroup == "many"
            yield piece.start(), pieces[last].end(), ""
        elif piece.lastgroup == "bar":
            yield pieces[reach(pieces, at, -1, bars=True)].start(), piece.end(), ""
            yield piece.start(), pieces[reach(pieces, at, 1, bars=True)].end(), ""


def other_piece(piece: "re.Match[str]", line_ends: bool) -> Iterator[str]:
    """What becomes of a set, a number of repetitions, a look ahead or behind, a word."""
    kind, text = piece.lastgroup, piece[0]
    if kind == "set":
        yield from other_sets(text, (*ADDED, *["\n"] * line_ends))
    elif kind == "many" and text[0] != "{":
        yield from ("", *(sign for sign in "*+?" if sign != text[0]))
    elif kind == "many":
        for found in re.finditer(r"\d+", text):
            for number in range(max(0, int(found[0]) - 1), int(found[0]) + 2, 2 if int(found[0]) else 1):
                yield f"{text[: found.start()]}{number}{text[found.end() :]}"
    elif kind == "around":
        yield from (text[:-1] + ("!" if text[-1] == "=" else "="), "(?:")


def other_sets(text: str, more: Sequence[str]) -> Iterator[str]:
    """The set without each of its items, with each range shorter, with something more, and inverted."""
    head = "[^" if text.startswith("[^") else "["
    items = IN_A_SET.findall(text[len(head) : -1])
    for at, item in enumerate(items):
        ends = re.fullmatch(r"(\w)-(\w)", item)
        ranges = [f"{chr(ord(ends[1]) + 1)}-{ends[2]}", f"{ends[1]}-{chr(ord(ends[2]) - 1)}"] if ends else []
        for other in [*([""] if len(items) > 1 else []), *ranges]:
            yield head + "".join(replaced(items, at, other)) + "]"
    for one in more:
        known = one in text if re.search("[\ue000-\uf8ff]", text) else bool(re.fullmatch(text, one))
        if known == (len(head) > 1):
            yield head + one + text[len(head) :]
    yield ("[" if len(head) > 1 else "[^") + text[len(head) :]


def reach(pieces: Sequence["re.Match[str]"], at: int, step: int, bars: bool) -> int:
    """The last piece, from one on, before its group ends, or its branch."""
    depth, last = 0, at
    for index in range(at + step, len(pieces) if step > 0 else -1, step):
        kind = pieces[index].lastgroup
        depth += step * ((kind in OPENING) - (kind == "close"))
        if depth < 0 or (bars and depth == 0 and kind == "bar"):
            break
        last = index
    return last


# --- Mutants: a node, and what stands there instead -----------------------------------------------

CONTEXT = 50  # characters of a line, before and behind the change, in a mutant's name


class Mutant(NamedTuple):
    """A file with one change; the name says which, without line numbers, so that it outlives other edits."""

    file: str
    name: str
    place: str
    start: int  # of the lines that are replaced
    end: int
    text: str


def put(owner: Any, key: Any, new: Any) -> None:
    """Put a node into a list or a field."""
    (owner if isinstance(owner, list) else vars(owner))[key] = new


def parsed(source: str) -> ast.Module:
    """The syntax tree, in which strings, with or without holes, know whether they are written as a pattern."""
    tree, lines = ast.parse(source), source.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            start = lines[node.lineno - 1].encode()[node.col_offset :].decode()
            raw, text = re.match(r"""[fF]?[rR][fF]?['"]""", start), str(getattr(node, "value", ""))
            vars(node)["is_pattern"] = bool(raw or LOOKS_LIKE_ONE.match(text))
    return tree


def places(node: Any, statement: Any, names: Tuple[str, ...]) -> Iterator[Tuple[Any, Any, Any, Any, Tuple[str, ...]]]:
    """Each node below that may change: what holds it, where, itself, its statement, what that belongs to."""
    for field, value in ast.iter_fields(node):
        held = [(value, at, one) for at, one in enumerate(value)] if isinstance(value, list) else [(node, field, value)]
        for owner, key, child in held:
            if field in ("annotation", "returns") or not isinstance(child, ast.AST) or left_out(node, child):
                continue
            near = child if isinstance(child, (ast.stmt, ast.ExceptHandler)) else statement
            below = (*names, *named(child, names))
            yield owner, key, child, near, below
            yield from places(child, near, below)


def left_out(node: Any, child: Any) -> bool:
    """Whether a node is a docstring, an import, a type, a size, or within a pattern, which is changed as a whole."""
    docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
    of_a_pattern = isinstance(child, ast.Constant) and isinstance(node, ast.JoinedStr) and vars(node)["is_pattern"]
    of_types = isinstance(child, ast.Subscript) and TYPES.match(ast.unparse(child))
    size = isinstance(child, ast.BinOp) and ast.unparse(child).startswith("1 << ")  # of parts: it is for speed alone
    return bool(docstring or of_a_pattern or of_types or size or isinstance(child, (ast.Import, ast.ImportFrom)))


def named(node: Any, names: Tuple[str, ...]) -> List[str]:
    """The name of a function or class, or of a constant of the module."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if names or not isinstance(node, (ast.Assign, ast.AnnAssign)):
        return []
    return [ast.unparse(node.target if isinstance(node, ast.AnnAssign) else node.targets[0])]


def mutants(file: str, source: str) -> Iterator[Mutant]:
    """All mutants of a file, each text once. Two with the same name are told apart by a number."""
    seen: Set[Tuple[int, str]] = set()
    numbers: Counter[str] = collections.Counter()
    for owner, key, node, near, names in list(places(parsed(source), None, ())):
        before = ast.unparse(near)
        for new in (new for kind, change in CHANGES if isinstance(node, kind) for new in change(node)):
            put(owner, key, new)
            after = ast.unparse(new if near is node else near)
            put(owner, key, node)
            if after != before and (id(near), after) not in seen:
                seen.add((id(near), after))
                name = f"{file} {'.'.join(names) or 'module'}: {difference(before, after)}"
                numbers[name] += 1
                numbered = f"{name} #{numbers[name]}" if numbers[name] > 1 else name
                start = min(node.lineno for node in (near, *getattr(near, "decorator_list", ()))) - 1
                text = indent(after, " " * near.col_offset)
                yield Mutant(file, numbered, ".".join(names), start, near.end_lineno, text)


def difference(before: str, after: str) -> str:
    """The line with the change in it, as {before => after}, without the middle of what is long."""
    old, new = (re.findall(r"\w+|\W", text) for text in (before, after))
    head = len(os.path.commonprefix([old, new]))  # noqa: RUF071 (words)
    tail = len(os.path.commonprefix([old[head:][::-1], new[head:][::-1]]))  # noqa: RUF071 (words)
    gone, come = ("".join(words[head : len(words) - tail]) for words in (old, new))
    gone, come = (t if len(t) <= 2 * CONTEXT else f"{t[:CONTEXT]} ... {t[-CONTEXT:]}" for t in (gone, come))
    left, right = "".join(old[:head]).split("\n")[-1], "".join(old[len(old) - tail :]).split("\n")[0]
    return " ".join(f"{left[-CONTEXT:]}{{{gone} => {come}}}{right[:CONTEXT]}".split())


# --- Running the tests on a mutant ----------------------------------------------------------------


class Test(NamedTuple):
    """A test, as it ran without a mutant."""

    name: str
    seconds: float
    starts: bool  # a process
    fails: bool
    calls: Sequence[str]  # of what it calls, the files and, behind the file's name, the functions


class Plan:
    """The modules, the tests, and which of them have killed what so far."""

    def __init__(self, folder: Path, everything: bool) -> None:
        """Read what stands in a copy of the repository; the tests are measured later."""
        self.sources = {file: (folder / file).read_text(encoding="utf-8") for file in (*FILES, TESTS)}
        self.code = {file: compile(source, file, "exec") for file, source in self.sources.items()}
        self.all = everything
        self.tests: List[Test] = []
        self.kills: Counter[Tuple[str, str]] = collections.Counter()
        self.killers: Dict[str, str] = json.loads(KILLERS.read_bytes()) if KILLERS.exists() else {}
        self.contract = self.loaded(folder, 1.0)

    def load(self, folder: Path, file: str) -> Any:
        """Load a module as if it stood in the folder, and put it in the place of the one before."""
        module = sys.modules[Path(file).stem] = types.ModuleType(Path(file).stem)
        module.__file__ = str(folder / file)
        exec(self.code[file], vars(module))  # noqa: S102
        return module

    def loaded(self, folder: Path, share: float) -> Any:
        """The test file, loaded anew as a module on the others, with that share of the random reports."""
        os.chdir(folder)
        # While it is loaded, it asks whether programs can be started here; for speed they are not.
        with unittest.mock.patch("subprocess.run", lambda *_, **__: types.SimpleNamespace(returncode=0)):
            tests = [self.load(folder, file) for file in (*FILES, TESTS)][-1]
        tests.SHARE = share
        tests.SWEEPS = [shape for shape in tests.SWEEPS for _ in range(round(1 / share))]  # of which no share is taken
        return tests

    def cases(self, folder: Path) -> Dict[str, unittest.TestCase]:
        """The tests by name, but for the rows."""
        kinds = vars(self.loaded(folder, 1.0 if self.all else SHARE)).values()
        tests = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, unittest.TestCase)]
        names = [(kind, name) for kind in tests for name in unittest.defaultTestLoader.getTestCaseNames(kind)]
        return {kind(name).id(): kind(name) for kind, name in names if kind.__name__ != "ContractTest"}

    def wrong_row(self, folder: Path, mutant: Mutant) -> str:
        """The id of a row of the contract that the mutant reads otherwise, if there is one."""
        read = self.load(folder, FILES[0]).read_verdict
        for row in sorted(self.contract.ROWS, key=lambda row: -self.worth(mutant, row.id)):
            if not self.contract.agrees(row, read(row.report, row.token)):
                return str(row.id)
        return ""

    def order(self, mutant: Mutant, listed: bool) -> List[Test]:
        """The tests, first those that killed most for their time; without the slow ones that do not call the file."""
        few = [test for test in self.tests if test.starts or test.seconds < QUICK or mutant.file in test.calls]
        if listed and not self.all:
            few = [test for test in few if not test.starts and test.seconds < QUICK]
        return sorted(few, key=lambda test: -self.worth(mutant, test.name, test.calls) / (test.seconds + 0.002))

    def worth(self, mutant: Mutant, name: str, calls: Sequence[str] = ()) -> float:
        """How likely a test kills a mutant."""
        near = 10 * self.kills[mutant.place, name] + self.kills[mutant.file, name] + 0.1
        called = f"{mutant.file} {mutant.place.split('.')[-1]}" in calls
        return near + called / 2 + 1e6 * (self.killers.get(mutant.name) == name)


def passes(test: unittest.TestCase, seconds: float) -> bool:
    """Whether a test passes, within so much time of this process, and some of other processes."""
    result = unittest.TestResult()
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)  # the default action: the process ends, also within a pattern
    signal.setitimer(signal.ITIMER_REAL, WAITING + 10 * seconds)
    try:
        test.run(result)
    except KeyboardInterrupt:
        return False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    return result.wasSuccessful()


def measured(folder: Path, share: int, shares: int, plan: Plan) -> List[Any]:
    """Run a share of the tests without a mutant."""
    started: List[str] = []
    sys.addaudithook(lambda event, _: started.append(event) if event == "subprocess.Popen" else None)
    tests = []
    for name, test in list(plan.cases(folder).items())[share::shares]:
        started.clear()
        start = sum(os.times()[:4])  # of this process and of those it started, whatever else the machine does
        profile = cProfile.Profile()
        fails = not profile.runcall(passes, test, PATIENCE)
        code: List[Any] = [entry.code for entry in profile.getstats()]
        called = [(one.co_filename, one.co_name) for one in code if getattr(one, "co_filename", "") in FILES]
        calls = {file for file, _ in called} | set(map(" ".join, called))
        tests.append([name, sum(os.times()[:4]) - start, bool(started), fails, sorted(calls)])
    return tests


def tried(folder: Path, mutant: Mutant, listed: Container[str], plan: Plan) -> List[str]:
    """Run the rows and the tests on the mutant until one fails: its state and why."""
    lines = plan.sources[mutant.file].split("\n")
    source = "\n".join([*lines[: mutant.start], mutant.text, *lines[mutant.end :]])
    try:
        plan.code[mutant.file] = compile(source, mutant.file, "exec")
    except SyntaxError as error:
        return ["invalid", str(error)]
    signal.setitimer(signal.ITIMER_VIRTUAL, 5)
    try:
        wrong = plan.wrong_row(folder, mutant) if mutant.file == FILES[0] else ""
        tests = {} if wrong else plan.cases(folder)
    except BaseException as error:  # noqa: BLE001
        return ["killed", type(error).__name__]
    if wrong:
        return ["killed", wrong]
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    for file in FILES:  # for the processes that tests start
        text = source if file == mutant.file else plan.sources[file]
        (folder / file).write_text(text, encoding="utf-8")
    for test in plan.order(mutant, mutant.name in listed):
        if not passes(tests[test.name], 2 + 20 * test.seconds):
            return ["killed", test.name]
    return ["survived", ""]


def in_a_child(folder: Path, work: Any, *arguments: Any) -> int:
    """Start work() in a process of its own, with limits; it leaves its answer as JSON. Returns the process id."""
    process = os.fork()
    if process:
        return process
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background begins with them ignored
        for number in (signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        tempfile.tempdir = os.environ["TMPDIR"] = str(folder.parent)
        said = work(folder, *arguments)
    except BaseException as error:  # noqa: BLE001
        said = ["not tried", repr(error)]
    with contextlib.suppress(BaseException):
        folder.with_suffix(".json").write_text(json.dumps(said), encoding="utf-8")
    os._exit(0)


def answer(folder: Path, process: int, status: int) -> Any:
    """What a child left, or how it ended: by itself or a limit of time the mutant did it, by SIGKILL the system."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)  # what it may have started
    left = folder.with_suffix(".json")
    if not left.exists():
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        return ["not tried" if number == signal.SIGKILL else "killed", f"(ended by signal {number})"]
    said = json.loads(left.read_text(encoding="utf-8"))
    left.unlink()
    return said


def answers(todo: Sequence[Any], folders: Sequence[Path], work: Any, *more: Any) -> Iterator[Tuple[Any, Any]]:
    """Each item with what work(folder, item, *more) says of it in a child, as many at once as there are folders."""
    waiting, free = list(reversed(todo)), list(folders)
    running: Dict[int, Tuple[Any, Path]] = {}
    while waiting or running:
        while waiting and free:
            item, folder = waiting.pop(), free.pop()
            running[in_a_child(folder, work, item, *more)] = item, folder
        process, status = os.wait()
        item, folder = running.pop(process)
        free.append(folder)
        yield item, answer(folder, process, status)


# --- The list of equivalents, and the command -----------------------------------------------------


def explained() -> Dict[str, str]:
    """The entries of equivalent.txt: names of mutants from the line's start, and below them, indented, the argument."""
    groups = re.findall(r"((?:^[^#\s].*\n)+)((?:^ .*\n)*)", EQUIVALENT.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: why for lines, why in groups for line in lines.splitlines() for name in names_in(line)}


def names_in(line: str) -> List[str]:
    """The names in a line that tells several changes, with "or" between them."""
    head, arrow, rest = line.rpartition(" => ")
    changes, brace, tail = rest.partition("}")
    return [f"{head}{arrow}{change}{brace}{tail}" for change in changes.split(" or ")]


def trouble(name: str, state: str, why: str, entries: Dict[str, str]) -> str:
    """What is wrong about a mutant's end, if anything is."""
    if state == "not tried" or (state == "survived" and name not in entries):
        return f"{state}{why and ', '}{why}: {name}"
    if name not in entries or (state == "survived" and entries[name]):
        return ""
    return f"listed, but {state}, {why or 'no argument'}: {name}"


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="only those whose name holds this text")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of those only one in N, to try it out")
    parser.add_argument("--all", action="store_true", help="all tests on the listed ones too, and all random reports")
    return parser.parse_args()


def prepared(folder: str, everything: bool) -> Tuple[List[Path], Plan, List[Mutant]]:
    """Copies of the repository, some of which only wait; a plan, with the tests measured; and all mutants."""
    folders = [Path(folder, str(number), "tree") for number in range((os.cpu_count() or 1) + 1)]
    for copied in folders:
        shutil.copytree(ROOT, copied, ignore=shutil.ignore_patterns(".git", "tools", "__pycache__", ".*_cache"))
    plan = Plan(folders[0], everything)
    for _, found in answers(range(len(folders)), folders, measured, len(folders), plan):
        if found[:1] in (["killed"], ["not tried"]):
            sys.exit(f"mutants.py: the tests do not even end without a mutant: {found[1]}")
        plan.tests += [Test(*row) for row in found]
    return folders, plan, [one for file in FILES for one in mutants(file, plan.sources[file])]


def main() -> int:
    """The command. Returns the exit status."""
    given, start, entries = options(), time.monotonic(), explained()
    tally: Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        folders, plan, made = prepared(folder, given.all)
        todo = [mutant for mutant in made if given.only in mutant.name][:: given.every]
        wrong = [f"fails without a mutant: {test.name}" for test in plan.tests if test.fails]
        plan.tests = [test for test in plan.tests if not test.fails]
        gc.freeze()  # a collection in a child would copy all memory that it shares with this process
        for mutant, (state, why) in answers(todo, folders, tried, entries, plan):
            plan.kills.update([(mutant.place, why), (mutant.file, why)])
            plan.killers[mutant.name] = why
            tally["explained" if state == "survived" and mutant.name in entries else state] += 1
            wrong += filter(None, [trouble(mutant.name, state, why, entries)])
    known = {mutant.name for mutant in made}
    wrong += [f"listed, but there is no such mutant: {name}" for name in entries if name not in known]
    if KILLERS.parent.is_dir():
        KILLERS.write_text(json.dumps(plan.killers), encoding="utf-8")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    figures = [f"{tally[state]:,} {state}" for state in ("killed", "explained", "survived", "not tried")]
    print(f"{len(todo) - tally['invalid']:,} mutants, {', '.join(figures)}, in {time.monotonic() - start:.0f} s")
    return 1 if wrong or not tally["killed"] else 0


if __name__ == "__main__":
    sys.exit(main())
