"""The tree of modules: no circle of imports, and a wall between tests and benchmarks."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate
from pathlib import Path

import pytest

from tests.catalogue import catalogue
from tests.paths import ROOT
from tests.source import TREES, Module, modules, parse

LINES_MAX = 80
"""Lines of a function, its docstring included."""

Imports = Mapping[str, frozenset[str]]
"""`{module: the modules of these trees that it imports}`."""


@pytest.fixture(scope="module", autouse=True)
def _parsed() -> None:
    """Parse every module before the first test, which would be the slowest of all."""
    imports()


def name_of(path: Path) -> str:
    """Return the dotted name of the module in this file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(module: Module, names: Container[str]) -> Iterator[str]:
    """Yield the names that a module imports."""
    for source, imported_names in module.imports:
        inside = [f"{source}.{name}" for name in imported_names]
        yield from (name if name in names else source for name in inside or [source])


@cache
def imports() -> Imports:
    """Return the imports of every module."""
    files = {name_of(module.path): module for tree in TREES for module in modules(tree)}
    found = {}
    for name, module in files.items():
        named = set(imported(module, files))
        # Whoever imports a module runs the packages around it first, except for those that it is in itself.
        around = {parent for other in named for parent in accumulate(other.split("."), "{}.{}".format)}
        around = {parent for parent in around if not f"{name}.".startswith(f"{parent}.")}
        found[name] = frozenset((named | around) & files.keys())
    return found


def circle_in(graph: Imports) -> list[str]:
    """Return the modules of a circle of imports, or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_circle_of_modules() -> None:
    assert len(imports()) > 300
    assert circle_in(imports()) == []


def test_a_circle_would_be_found() -> None:
    planted = {"a": frozenset({"b"}), "b": frozenset({"c"}), "c": frozenset({"a"}), "d": frozenset({"a"})}
    assert set(circle_in(planted)) == {"a", "b", "c"}


@catalogue(
    ("source", "names"),
    [
        ("if TYPE_CHECKING:\n    from a.b import c", {"a.b"}),
        ("def f():\n    import a.b", {"a.b"}),
        ("from a import b as c, d", {"a.b", "a"}),
    ],
)
def test_an_import_is_seen_wherever_it_stands(source: str, names: set[str]) -> None:
    assert set(imported(parse(source), {"a", "a.b"})) == names


@pytest.mark.parametrize(("importer", "other"), [("tests", "benchmarks"), ("benchmarks", "tests")])
def test_no_test_but_its_own_imports_a_benchmark_and_no_benchmark_a_test(importer: str, other: str) -> None:
    crossing = {
        (module, name)
        for module, names in imports().items()
        for name in names
        if module.split(".")[0] == importer and name.split(".")[0] == other
        if not module.startswith("tests.benchmarks.")  # they test no part of the product
        if name != "tests" and not name.startswith("tests.standin")  # the stand-in server, which both ask
    }
    assert crossing == set()


@pytest.mark.parametrize("product", ["prism", "actors"])
def test_the_product_imports_nothing_that_is_not_shipped(product: str) -> None:
    reached = {
        name.split(".")[0] for module, names in imports().items() if module.startswith(product) for name in names
    }
    assert reached <= {"prism", "actors"}


def test_no_package_lies_at_the_top() -> None:
    assert not [path.name for path in ROOT.iterdir() if path.suffix in {".whl", ".gz", ".zip", ".so"}]


def test_no_function_is_longer_than_a_page() -> None:
    found = [
        f"{module.path.relative_to(ROOT)}:{function.line}: {function.name} has {function.lines} lines"
        for tree in TREES
        for module in modules(tree)
        for function in module.functions
        if function.lines > LINES_MAX
    ]
    assert not found


WRITING = {"write_text", "write_bytes", "touch", "mkstemp", "NamedTemporaryFile", "TemporaryFile", "copyfile", "link"}
OPENING = WRITING | {"open", "ZipFile", "connect", "savefig"}
DOORS = {
    "actors/core/files.py": "the door itself",
    "actors/cli/init.py": "a new file of the user's",
    "actors/cli/testing.py": "a log that the user has named",
    "actors/cli/backtest_plot.py": "a picture that the user has named",
    "actors/factory/graph_files.py": "a copy in a new temporary directory",
    "actors/results/requests.py": "a copy in a new temporary directory",
    "actors/results/post_tables.py": "a file without a name",
    "actors/results/table_files.py": "tables in a new directory",
    "actors/pages/picture.py": "a picture in memory",
    "actors/runs/inputs.py": "a second name for an input, which takes the place of any link",
    "actors/runs/pack.py": "a new file in place of none",
    "actors/runs/unpack.py": "new files in a new directory",
    "actors/studies/experiments/parcels.py": "new files in a new directory, and a parcel in a private one",
    "actors/studies/experiments/node.py": "a mark in a private directory",
    "prism/kernels.py": "a cache that is looked at before it is used",
    "prism/kernel_cache.py": "a cache that is looked at before it is used",
    "prism/llm/tape_file.py": "SQLite; its callers look for links first",
}
"""The modules that open files for writing, and why they may."""


def opens_for_writing(tree: ast.AST) -> Iterator[int]:
    """Yield the lines in which a file is opened for writing, or made."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if name not in OPENING:
            continue
        of = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        given = [*call.args, *(each.value for each in call.keywords)]
        modes = [each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        is_open = name in {"open", "ZipFile"} and any(
            re.fullmatch(r"[rbt]*[wax+][rwbt+]*(:\w*)?", each) for each in modes
        )
        text = ast.unparse(call)  # the dearest step, which few calls come to
        is_system = (of, name) == ("os", "open") and re.search("O_WRONLY|O_RDWR|O_CREAT|flags", text)
        is_made = name in WRITING and not (name == "link" and of != "os")
        if "os.devnull" in text:
            continue
        if is_open or is_system or is_made or (of, name) == ("sqlite3", "connect") or name == "savefig":
            yield call.lineno


def test_nothing_but_the_door_opens_files_of_a_run_for_writing() -> None:
    calls = re.compile(rf"\b({'|'.join(OPENING)})\(")  # most modules have none, and are not parsed
    writing = {
        str(path.relative_to(ROOT))
        for product in ("prism", "actors")
        for path in (ROOT / product).rglob("*.py")
        if calls.search(text := path.read_text(encoding="utf-8")) and any(opens_for_writing(ast.parse(text)))
    }
    assert writing - DOORS.keys() == set(), "write by actors.core.files: write_file, or open_own"


@pytest.mark.parametrize(
    "source",
    ["open(p, 'w')", "p.open(mode='ab')", "p.write_text('')", "os.open(p, os.O_RDWR)", "ZipFile(p, 'x')"],
)
def test_a_file_that_is_opened_for_writing_is_seen(source: str) -> None:
    assert [*opens_for_writing(ast.parse(source))] == [1]
    assert [*opens_for_writing(ast.parse("p.open('rb'); open(p); os.open(p, os.O_RDONLY)"))] == []
