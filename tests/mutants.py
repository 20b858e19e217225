"""Faults planted in the rooms that matter, one at a time: the share that the tests find.

    python -m tests.mutants [--mutants 200] [--seed 1] [--jobs 2] [--json FILE]

A mutant is one change of one expression: a comparison, a sum, a bound, a condition or a returned value. Mutants are
drawn by the seed from all places that can be changed. Each runs the tests of its room in a copy of the tree, those of
`make test`, until one fails. Kernels run as plain Python, as they do in these tests. Ends with 1 if the tests of a room
fail without a mutant.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from random import Random
from typing import NamedTuple

from tests.paths import ROOT

ROOMS = {
    "prism/statechart": ("tests/statechart", "tests/agents"),
    "prism/agents": ("tests/agents", "tests/social", "tests/actors/runtime"),
    "prism/social/kernels": ("tests/social", "tests/actors/runtime"),
    "actors/oracle": ("tests/actors/oracle", "tests/wire"),
    "actors/runtime": ("tests/actors/runtime", "tests/actors/core"),
    "actors/store": ("tests/actors/store", "tests/crash", "tests/durability"),
}
"""`{room: the tests that are to find its faults}`."""

COMPARISONS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not"}
COMPARISONS |= {ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in"}
SUMS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.FloorDiv: "*", ast.BitAnd: "|", ast.BitOr: "&", ast.Mod: "//"}

SLOWNESS, PATIENCE_S = 3.0, 20.0
"""A mutant that takes this many times the processor seconds of the tests without one, and so many more, hangs: it is
found. Processor seconds, because the machine may do other work; pytest itself ends a test that waits for ever."""


class Mutant(NamedTuple):
    """One change: the bytes from `start` to `end` of a file become `text`."""

    room: str
    file: str
    line: int
    start: int
    end: int
    text: str
    original: str

    def __str__(self) -> str:
        """Show the place and the change."""
        return f"{self.file}:{self.line}: {self.original!r} -> {self.text!r}"


def places(room: str) -> Iterator[Mutant]:
    """Yield every mutant of a room."""
    for path in sorted((ROOT / room).glob("*.py")):
        source = path.read_bytes()
        starts = [0]
        for row in source.splitlines(keepends=True):
            starts.append(starts[-1] + len(row))
        for node in ast.walk(ast.parse(source)):
            for part, text in changes(node):
                start = starts[part.lineno - 1] + part.col_offset
                end = starts[(part.end_lineno or 0) - 1] + (part.end_col_offset or 0)
                original = source[start:end].decode()
                yield Mutant(room, str(path.relative_to(ROOT)), part.lineno, start, end, text, original)


def changes(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yield an expression and its replacement for each way in which a node can be changed."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in COMPARISONS:
            yield node, f"({ast.unparse(left)}) {COMPARISONS[type(operator)]} ({ast.unparse(right)})"
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in SUMS:
            is_text = any(
                isinstance(side, ast.Constant | ast.JoinedStr) and not is_number(side) for side in (left, right)
            )
            if not is_text and not is_annotation(node):
                yield node, f"({ast.unparse(left)}) {SUMS[type(operator)]} ({ast.unparse(right)})"
        case ast.BoolOp(op=operator, values=values):
            word = " or " if isinstance(operator, ast.And) else " and "
            yield node, word.join(f"({ast.unparse(value)})" for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, f"bool({ast.unparse(operand)})"
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if not is_type_checking(test):
            yield test, f"not ({ast.unparse(test)})"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield value, "None"
        case ast.Return(value=ast.Constant(value=bool(truth)) as value):
            yield value, str(not truth)
        case ast.Subscript(slice=ast.Slice(lower=ast.expr() as lower)):
            yield lower, f"({ast.unparse(lower)}) + 1"
        case ast.Call(args=[ast.Constant(value=int(number)) as argument]) if not isinstance(number, bool):
            yield argument, str(number + 1)


def is_number(node: ast.expr) -> bool:
    """Tell whether a node is a number as it stands in the source."""
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def is_annotation(node: ast.BinOp) -> bool:
    """Tell whether `a | b` is a type: a name in capitals or None on one side."""
    sides = [ast.unparse(side).rpartition(".")[2].partition("[")[0] for side in (node.left, node.right)]
    types = {"None", "int", "str", "float", "bytes", "bool", "dict", "list", "tuple"}
    return isinstance(node.op, ast.BitOr) and any(side in types or side[:1].isupper() for side in sides)


def is_type_checking(test: ast.expr) -> bool:
    """Tell whether a condition is that of imports for type checkers."""
    return ast.unparse(test).endswith("TYPE_CHECKING")


def drawn(count: int, seed: int) -> list[Mutant]:
    """Return mutants drawn without replacement from all rooms."""
    return Random(seed).sample([mutant for room in ROOMS for mutant in places(room)], count)


def copy_of_tree(where: Path) -> Path:
    """Copy the files that git knows, as they are now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (where / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, where / name)
    return where


def ordered(room: str, file: str, tree: Path) -> list[str]:
    """Return the paths of a room's tests, those that are named after the changed module first."""
    stem = Path(file).stem.removesuffix("_kernel")
    named = [
        str(path.relative_to(tree)) for top in ROOMS[room] for path in sorted((tree / top).rglob(f"test_*{stem}*.py"))
    ]
    return [*named, *(top for top in ROOMS[room] if (tree / top).is_dir())]


def passes(tree: Path, tests: Sequence[str], limit_s: int = 3600) -> bool:
    """Run tests in a tree until one fails. Tests that take more than these processor seconds count as failed."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
        "-n",
        "0",
        *tests,
    ]
    environment = {**os.environ, "PYTHONPATH": str(tree), "PRISM_JIT": "0"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.Popen(
        command, cwd=tree, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    resource.prlimit(process.pid, resource.RLIMIT_CPU, (limit_s, limit_s))
    try:
        return process.wait() == 0
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)  # what its tests started


def cpu_s() -> float:
    """Return the processor seconds of all processes that ended so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def is_killed(mutant: Mutant, tree: Path, limit_s: int) -> bool:
    """Tell whether a test fails when the change is there."""
    path = tree / mutant.file
    source, written = path.read_bytes(), path.stat().st_mtime
    path.write_bytes(source[: mutant.start] + mutant.text.encode() + source[mutant.end :])
    os.utime(path, (written + 2, written + 2))  # Python compiles a file again if its second or its size is another
    try:
        return not passes(tree, ordered(mutant.room, mutant.file, tree), limit_s)
    finally:
        path.write_bytes(source)
        os.utime(path, (written + 4, written + 4))


def main() -> int:
    """Plant the mutants and print which of them no test found, and the share by room."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    mutants = drawn(options.mutants, options.seed)
    with tempfile.TemporaryDirectory(prefix="mutants-") as top:
        trees: SimpleQueue[Path] = SimpleQueue()
        for job in range(options.jobs):
            trees.put(copy_of_tree(Path(top) / str(job)))
        limits = {}
        for room in sorted({mutant.room for mutant in mutants}):
            tree, begun = trees.get(), cpu_s()
            if not passes(tree, ordered(room, "-", tree)):
                print(f"{room}: its tests fail without a mutant")
                return 1
            limits[room] = int(PATIENCE_S + SLOWNESS * (cpu_s() - begun))
            trees.put(tree)

        def plant(mutant: Mutant) -> bool:
            tree = trees.get()
            try:
                killed = is_killed(mutant, tree, limits[mutant.room])
            finally:
                trees.put(tree)
            print("killed  " if killed else "SURVIVED", mutant, flush=True)
            return killed

        with ThreadPoolExecutor(options.jobs) as pool:
            killed = list(pool.map(plant, mutants))
    all_of, found = (
        Counter(m.room for m in mutants),
        Counter(m.room for m, is_found in zip(mutants, killed, strict=True) if is_found),
    )
    for room in ROOMS:
        print(f"{room}: {found[room]} of {all_of[room]}")
    print(f"all: {sum(killed)} of {len(mutants)} mutants killed")
    if options.json:
        survivors = [str(mutant) for mutant, is_found in zip(mutants, killed, strict=True) if not is_found]
        options.json.write_text(
            json.dumps({"killed": sum(killed), "mutants": len(mutants), "survivors": survivors}, indent=1)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
