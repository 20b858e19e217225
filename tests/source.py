"""The modules of the project, each read and parsed once for all tests about the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tests.paths import ROOT

TREES = ("prism", "actors", "tests", "benchmarks", "deploy")
"""The directories at the top that hold modules."""


class Docstring(NamedTuple):
    """A docstring; those below an attribute too."""

    line: int
    first: str
    """The first line of the text."""
    is_of_a_function: bool
    """Whether it describes an action: a property's does not."""


class Function(NamedTuple):
    name: str
    line: int
    lines: int


class Module(NamedTuple):
    """What the tests ask of a module. Its syntax tree is not kept: all of them would take 200 MB."""

    path: Path
    text: str
    first_line: str
    """The first line of its docstring; empty if it has none."""
    docstrings: tuple[Docstring, ...]
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
    tree = ast.parse(text)
    docstrings, functions = list[Docstring](), list[Function]()
    imports = list[tuple[str, tuple[str, ...]]]()
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                imports += [(alias.name, ()) for alias in node.names]
            case ast.ImportFrom(module=str() as source):
                imports.append((source, tuple(alias.name for alias in node.names)))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                functions.append(Function(node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1))
        docstrings += docstrings_of(node)
    first_line = (ast.get_docstring(tree) or "").partition("\n")[0]
    return Module(path, text, first_line, tuple(docstrings), tuple(functions), tuple(imports))


def docstrings_of(node: ast.AST) -> Iterator[Docstring]:
    """Yield the docstring of a node, and those of the attributes in it."""
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return
    if text := ast.get_docstring(node):
        yield Docstring(getattr(node, "lineno", 1), text.splitlines()[0], is_action(node))
    for statement, after in pairwise(node.body):
        if isinstance(statement, ast.Assign | ast.AnnAssign) and (text := constant_text(after)):
            yield Docstring(after.lineno, text.splitlines()[0], is_of_a_function=False)


def is_action(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not any(
        "property" in ast.unparse(decorator) for decorator in node.decorator_list
    )


def constant_text(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return statement.value.value if isinstance(statement.value.value, str) else ""
    return ""
