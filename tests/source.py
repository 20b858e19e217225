"""The modules of the project, each read and parsed once for all tests about the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.paths import ROOT

TREES = ("prism", "actors", "tests", "benchmarks", "deploy")
"""The directories at the top that hold modules."""


class Function(NamedTuple):
    name: str
    line: int
    lines: int


class Module(NamedTuple):
    """What the tests ask of a module. Its syntax tree is not kept: all of them would take 200 MB."""

    path: Path
    functions: tuple[Function, ...]
    imports: tuple[tuple[str, tuple[str, ...]], ...]
    """`(module, names)` of each import, wherever the statement stands; no names in an `import module`."""


@cache
def modules(directory: str) -> tuple[Module, ...]:
    """Return the modules below a directory of the project, in the order of their paths."""
    paths = sorted((ROOT / directory).rglob("*.py"))
    return tuple(parse(path.read_text(encoding="utf-8"), path) for path in paths)


def parse(text: str, path: Path = Path("example.py")) -> Module:
    """Return the module of this text."""
    functions = list[Function]()
    imports = list[tuple[str, tuple[str, ...]]]()
    for node in statements(ast.parse(text)):
        match node:
            case ast.Import():
                imports += [(alias.name, ()) for alias in node.names]
            case ast.ImportFrom(module=str() as source):
                imports.append((source, tuple(alias.name for alias in node.names)))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                functions.append(Function(node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1))
    return Module(path, tuple(functions), tuple(imports))


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements below a node at any depth, and the handlers and cases between them; no expressions."""
    for field in ("body", "handlers", "orelse", "finalbody", "cases"):
        below = getattr(node, field, ())
        for each in below if isinstance(below, list) else ():
            yield each
            yield from statements(each)
