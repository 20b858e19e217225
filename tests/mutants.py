"""Faults planted in the rooms that matter, one at a time: the share that the tests find.

    python -m tests.mutants [--mutants 200] [--seed 1] [--jobs 2]

A mutant is one change of one expression, drawn by the seed. Each runs the tests of its room in a copy of the tree,
those of `make test`, until one fails. Ends with 1 if the tests of a room fail without a mutant.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import signal
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
SUMS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.FloorDiv: "*", ast.Mod: "//"}
HANGS_S = 900  # a mutant whose tests take longer hangs: it is found. pytest itself ends a test that waits for ever.


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
        return f"{self.file}:{self.line}: {self.original!r} -> {self.text!r}"


def places(room: str) -> Iterator[Mutant]:
    for path in sorted((ROOT / room).glob("*.py")):
        source = path.read_bytes()
        starts = [0]
        for row in source.splitlines(keepends=True):
            starts.append(starts[-1] + len(row))
        for node in ast.walk(ast.parse(source)):
            if (change := change_of(node)) is not None:
                part, text = change
                start = starts[part.lineno - 1] + part.col_offset
                end = starts[(part.end_lineno or 0) - 1] + (part.end_col_offset or 0)
                original = source[start:end].decode()
                yield Mutant(room, str(path.relative_to(ROOT)), part.lineno, start, end, text, original)


def change_of(node: ast.AST) -> tuple[ast.expr, str] | None:
    """Return an expression of a node and its replacement; None if the node is not changed."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in COMPARISONS:
            return node, f"({ast.unparse(left)}) {COMPARISONS[type(operator)]} ({ast.unparse(right)})"
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in SUMS:
            texts = (each for each in (left, right) if isinstance(each, ast.Constant | ast.JoinedStr))
            if all(isinstance(getattr(each, "value", None), int | float) for each in texts):
                return node, f"({ast.unparse(left)}) {SUMS[type(operator)]} ({ast.unparse(right)})"
        case ast.BoolOp(op=operator, values=values):
            word = " or " if isinstance(operator, ast.And) else " and "
            return node, word.join(f"({ast.unparse(value)})" for value in values)
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if "TYPE_CHECKING" not in ast.unparse(
            test
        ):
            return test, f"not ({ast.unparse(test)})"
        case ast.Return(value=ast.Constant(value=bool(truth)) as value):
            return value, str(not truth)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            return value, "None"
    return None


def copy_of_tree(where: Path) -> Path:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (where / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, where / name)
    return where


def ordered(room: str, file: str, tree: Path) -> list[str]:
    """Return the paths of a room's tests, those that are named after the changed module first."""
    stem, tops = Path(file).stem.removesuffix("_kernel"), [top for top in ROOMS[room] if (tree / top).is_dir()]
    named = [str(path.relative_to(tree)) for top in tops for path in sorted((tree / top).rglob(f"test_*{stem}*.py"))]
    return [*named, *tops]


def passes(tree: Path, tests: Sequence[str]) -> bool:
    options = ["-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", "-n", "0"]
    environment = {**os.environ, "PYTHONPATH": str(tree), "PRISM_JIT": "0"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    nowhere = subprocess.DEVNULL
    command = [sys.executable, "-m", "pytest", *options, *tests]
    with subprocess.Popen(
        command, cwd=tree, env=environment, stdout=nowhere, stderr=nowhere, start_new_session=True
    ) as process:
        try:
            return process.wait(HANGS_S) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # what its tests started


def is_killed(mutant: Mutant, tree: Path) -> bool:
    path = tree / mutant.file
    source, written = path.read_bytes(), path.stat().st_mtime
    path.write_bytes(source[: mutant.start] + mutant.text.encode() + source[mutant.end :])
    os.utime(path, (written + 2, written + 2))  # Python compiles a file again if its second or its size is another
    try:
        return not passes(tree, ordered(mutant.room, mutant.file, tree))
    finally:
        path.write_bytes(source)
        os.utime(path, (written + 4, written + 4))


def main() -> int:
    """Plant the mutants and print which of them no test found, and the share by room."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("--mutants", 200), ("--seed", 1), ("--jobs", 2)):
        parser.add_argument(name, type=int, default=usual)
    options = parser.parse_args()
    mutants = Random(options.seed).sample([mutant for room in ROOMS for mutant in places(room)], options.mutants)
    with tempfile.TemporaryDirectory(prefix="mutants-") as top:
        trees: SimpleQueue[Path] = SimpleQueue()
        for job in range(options.jobs):
            trees.put(tree := copy_of_tree(Path(top) / str(job)))
        for room in sorted({mutant.room for mutant in mutants}):
            if not passes(tree, ordered(room, "-", tree)):
                print(f"{room}: its tests fail without a mutant")
                return 1

        def plant(mutant: Mutant) -> bool:
            tree = trees.get()
            try:
                killed = is_killed(mutant, tree)
            finally:
                trees.put(tree)
            print("killed  " if killed else "SURVIVED", mutant, flush=True)
            return killed

        with ThreadPoolExecutor(options.jobs) as pool:
            killed = list(pool.map(plant, mutants))
    all_of = Counter(mutant.room for mutant in mutants)
    found = Counter(mutant.room for mutant, is_found in zip(mutants, killed, strict=True) if is_found)
    for room in ROOMS:
        print(f"{room}: {found[room]} of {all_of[room]}")
    print(f"all: {sum(killed)} of {len(mutants)} mutants killed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
