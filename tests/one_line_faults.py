"""Draws faults of one line from the source, makes them one at a time, and reports those that no test detects.

    python -m tests.one_line_faults draw --seed 1 --count 40 > faults.json
    python -m tests.one_line_faults run faults.json --scratch /tmp/faults

`draw` uses the source and not the tests: files are drawn room by room, so that small rooms have their share.
`run` works in a copy of the checkout: it runs the tests of the fault's own room first and then all others, up to the
first one that fails. A fault that changes nothing that a user could see is equivalent: draw more, and list it with the
result.
"""

import argparse
import ast
import json
import random
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
ROOMS: Final = (
    "rlds_kit",
    "cli",
    "compat",
    "convert",
    "lint",
    "logger",
    "studio",
    "tfds_builders",
    "transformations",
    "trials",
)
_COMPARED: Final = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_COMPUTED: Final = {ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.FloorDiv: "*", ast.Mod: "//", ast.BitAnd: "|"}
_COMPUTED_SIGNS: Final = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.BitAnd: "&"}
_CALLED: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, slots=True)
class Fault:
    """One line of a file, and what it becomes.

    Attributes:
      file: relative to the checkout.
      line: its number, from 1.
      before: the line as it is.
      after: the line with the fault.
    """

    file: str
    line: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the tests made of a fault.

    Attributes:
      fault: which.
      killer: the first test that failed; empty where all passed.
      seconds: that the tests took.
    """

    fault: Fault
    killer: str
    seconds: float


def draw(seed: int, count: int, root: Path = ROOT) -> list[Fault]:
    """So many faults of the source of all rooms; the same ones for the same seed and source."""
    rng = random.Random(seed)
    rooms = defaultdict[str, list[Path]](list)
    for path in _sources(root):
        parts = path.relative_to(root).parts
        rooms["/".join(parts[:2]) if parts[0] == "rlds_kit" and len(parts) > 2 else parts[0]].append(path)
    found: dict[tuple[str, int], Fault] = {}
    while len(found) < count:
        for room in rng.sample(sorted(rooms), len(rooms)):
            faults = list(faults_of(rng.choice(rooms[room]), root))
            if faults and len(found) < count:
                fault = rng.choice(faults)
                found.setdefault((fault.file, fault.line), fault)
    return list(found.values())


def _sources(root: Path) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", *ROOMS], cwd=root, capture_output=True, text=True, check=True)
    names = sorted(name for name in listed.stdout.split() if name.endswith(".py") and "_pb2" not in name)
    return [root / name for name in names if not (root / name).is_symlink()]


def faults_of(path: Path, root: Path = ROOT) -> Iterator[Fault]:
    """Every fault that can be made in a file, each in one line."""
    text = path.read_text("utf-8")
    lines = text.splitlines()
    tree = ast.parse(text)
    left_out = {id(part) for node in ast.walk(tree) for part in _not_code(node)}
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        for line, begin, end, new in _edits(node, lines):
            before = lines[line - 1]
            # Offsets of `ast` count bytes of UTF-8.
            data = before.encode()
            after = (data[:begin] + new.encode() + data[end:]).decode()
            if after != before and _compiles("\n".join([*lines[: line - 1], after, *lines[line:]])):
                yield Fault(path.relative_to(root).as_posix(), line, before, after)


def _not_code(node: ast.AST) -> Iterator[ast.AST]:
    """Parts without effect at run time: annotations, messages, and arguments of decorators."""
    parts: list[ast.AST | None] = []
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        parts += [node.returns, *node.decorator_list, *(argument.annotation for argument in arguments)]
    elif isinstance(node, ast.ClassDef):
        parts += node.decorator_list
    elif isinstance(node, ast.AnnAssign):
        parts.append(node.annotation)
    elif isinstance(node, ast.Raise):
        parts.append(node.exc)
    elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        parts.append(node)
    for part in parts:
        if part is not None:
            yield from ast.walk(part)


Edit = tuple[int, int, int, str]
"""A line, the first byte in it and one past the last, and the replacement."""


def _edits(node: ast.AST, lines: list[str]) -> Iterator[Edit]:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _COMPARED:
            yield from _between(left, right, lines, _COMPARED[type(operator)], None)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _COMPUTED:
            yield from _between(left, right, lines, _COMPUTED[type(operator)], _COMPUTED_SIGNS[type(operator)])
        case ast.BoolOp(op=operator, values=[left, right, *_]):
            old, new = ("and", "or") if isinstance(operator, ast.And) else ("or", "and")
            yield from _between(left, right, lines, new, old)
        case ast.UnaryOp(op=ast.Not(), operand=operand) if node.lineno == operand.lineno:
            yield node.lineno, node.col_offset, operand.col_offset, ""
        case ast.Constant(value=bool(value)):
            yield node.lineno, node.col_offset, node.end_col_offset or 0, str(not value)
        case ast.Constant(value=int(value)):
            yield node.lineno, node.col_offset, node.end_col_offset or 0, str(value + 1)
        case ast.Call(func=ast.Name(id=name) as called) if name in _CALLED:
            yield called.lineno, called.col_offset, called.end_col_offset or 0, _CALLED[name]
        case ast.Expr(value=ast.Call()) if node.lineno == node.end_lineno:
            yield node.lineno, node.col_offset, node.end_col_offset or 0, "pass"
        case ast.If(test=test) if test.lineno == test.end_lineno:
            yield test.lineno, test.col_offset, test.end_col_offset or 0, "False"


def _between(left: ast.expr, right: ast.expr, lines: list[str], new: str, old: str | None) -> Iterator[Edit]:
    """Replaces the operator between two operands that stand in one line."""
    if left.end_lineno != right.lineno or left.end_col_offset is None:
        return
    between = lines[right.lineno - 1].encode()[left.end_col_offset : right.col_offset].decode()
    word = between.strip().strip("()").strip()
    if word and (old is None or word == old):
        begin = left.end_col_offset + len(between[: between.index(word)].encode())
        yield right.lineno, begin, begin + len(word.encode()), new


def _compiles(text: str) -> bool:
    try:
        compile(text, "fault", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def mirror_of(file: str, root: Path = ROOT) -> list[str]:
    """The tests that mirror a file: of its folder, and of the files of the same name."""
    parts = Path(file).parts
    folders = [Path("tests", *parts[begin:end]) for begin in (0, 1) for end in range(len(parts) - 1, begin, -1)]
    found = next((folder for folder in folders if (root / folder).is_dir() and folder != Path("tests")), None)
    alone = [path.relative_to(root) for path in (root / "tests").glob(f"test_{Path(file).stem}.py")]
    return [str(path) for path in ([found] if found else []) + alone]


def run(fault: Fault, scratch: Path, flags: list[str]) -> Outcome:
    """Makes a fault in a copy of the checkout, and searches for a test that fails."""
    path = scratch / fault.file
    original = path.read_text("utf-8")
    lines = original.splitlines(keepends=True)
    if lines[fault.line - 1].rstrip("\n") != fault.before:
        raise SystemExit(f"{fault.file}, line {fault.line}: the source is not the one that was drawn from")
    ending = lines[fault.line - 1][len(lines[fault.line - 1].rstrip("\n")) :]
    path.write_text("".join([*lines[: fault.line - 1], fault.after + ending, *lines[fault.line :]]), "utf-8")
    began = time.monotonic()
    try:
        near = mirror_of(fault.file, scratch)
        killer = _first_failure(near, scratch, flags) if near else ""
        if not killer:
            killer = _first_failure(["tests", *(f"--ignore={each}" for each in near)], scratch, flags)
    finally:
        path.write_text(original, "utf-8")
    return Outcome(fault, killer, round(time.monotonic() - began, 1))


def _first_failure(arguments: list[str], scratch: Path, flags: list[str]) -> str:
    command = [sys.executable, "-m", "pytest", "-x", "-q", *flags, *arguments]
    done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
    if done.returncode in (0, 5):  # 5: nothing was collected
        return ""
    named = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return named[0].partition(" - ")[0] if named else (done.stdout + done.stderr)[-200:]


def copy_of(root: Path, scratch: Path) -> None:
    """Copies what git tracks, and what was built for it."""
    shutil.rmtree(scratch, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", str(root), str(scratch)], check=True)
    for built in (*root.glob("rlds_kit/*/_*.so"), *root.glob("trials/frames/_*.so")):
        shutil.copy2(built, scratch / built.relative_to(root))


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw", help="print faults as JSON")
    drawing.add_argument("--seed", type=int, required=True)
    drawing.add_argument("--count", type=int, default=40)
    running = commands.add_parser("run", help="run the tests on each fault of a file that `draw` printed")
    running.add_argument("faults", type=Path)
    running.add_argument("--scratch", type=Path, required=True, help="a directory for a copy of the checkout")
    running.add_argument("--from", dest="begin", type=int, default=0, help="the number of the first one to run")
    running.add_argument("flags", nargs="*", help="for pytest, after --")
    arguments = parser.parse_args()
    if arguments.command == "draw":
        print(json.dumps([asdict(fault) for fault in draw(arguments.seed, arguments.count)], indent=1))
        return
    copy_of(ROOT, arguments.scratch)
    for number, stored in enumerate(json.loads(arguments.faults.read_text("utf-8"))):
        if number >= arguments.begin:
            outcome = run(Fault(**stored), arguments.scratch, arguments.flags)
            print(json.dumps({"number": number, **asdict(outcome)}), flush=True)


if __name__ == "__main__":
    main()
