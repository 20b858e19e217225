"""The source: walls between the trees, short functions, public doors, one door to the disk; and the locks."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from prism.text_files import decode_text, file_format
from tests.catalogue import catalogue
from tests.paths import ROOT

LINES_MAX = 80
"""Lines of a function, its docstring included."""
TREES = ("prism", "actors", "tests", "benchmarks", "deploy")


IMPORT = re.compile(r"^ *(?:from|import) ((?:prism|actors|tests|benchmarks|deploy)\b[\w.]*)", re.MULTILINE)
FOREIGN = {"tests": "benchmarks", "benchmarks": "tests", "prism": "tests benchmarks deploy"}
FOREIGN["actors"] = FOREIGN["prism"]


def lengths(text: str) -> Iterator[tuple[str, int]]:
    """Yield the functions of a module with their lines, by their indentation: to parse all modules takes seconds."""
    lines = text.splitlines()
    for start, line in enumerate(lines):
        if found := re.match(r"( *)(?:async )?def (\w+)", line):
            inner = f"{found[1]} "
            more = (
                at
                for at, each in enumerate(lines[start + 1 :], 1)
                if each and not each.startswith((inner, found[1] + ")"))
            )
            yield found[2], len("\n".join(lines[start : start + next(more, len(lines))]).rstrip().splitlines())


def test_the_trees_keep_apart_and_no_function_is_longer_than_a_page() -> None:
    crossing, long = [], []
    for path in (path for tree in TREES for path in (ROOT / tree).rglob("*.py")):
        text, name = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
        foreign = "" if name.startswith("tests/benchmarks/") else FOREIGN.get(name.partition("/")[0], "")
        # The stand-in server is the tests' and the benchmarks'.
        others = [each for each in IMPORT.findall(text) if not each.startswith("tests.standin")]
        crossing += [(name, each) for each in others if each.split(".")[0] in foreign.split()]
        long += [(name, function, lines) for function, lines in lengths(text) if lines > LINES_MAX]
    assert crossing == []
    assert long == []
    assert not [path.name for path in ROOT.iterdir() if path.suffix in {".whl", ".gz", ".zip", ".so"}]


WRITING = {"write_text", "write_bytes", "touch", "mkstemp", "NamedTemporaryFile", "TemporaryFile", "copyfile", "link"}
OPENING = WRITING | {"open", "ZipFile", "connect", "savefig"}
DOORS = {
    "actors/core/files.py": "the door itself",
    "actors/cli/init.py": "a new file of the user's",
    "actors/factory/file_kinds.py": "a copy in a new temporary directory",
    "actors/factory/input_files.py": "a copy in a new temporary directory",
    "actors/tables/files.py": "tables in a new directory",
    "actors/runs/inputs.py": "a second name for an input, which takes the place of any link",
    "actors/runs/pack.py": "a new file in place of none, and new files in a new directory",
    "actors/studies/experiments/on_ray.py": "new files in a new directory",
    "prism/kernels.py": "a cache that is looked at before it is used",
    "prism/llm/tape.py": "SQLite; its callers look for links first",
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


PIN = re.compile(r"([a-z0-9.-]+)==[\w.!+-]+(?: ; [^\\]+?)? \\(?:\n    --hash=sha256:[0-9a-f]{64}(?: \\)?)+\n")


def names_of(requirements: list[str]) -> set[str]:
    """Return the names of packages, as locks write them."""
    found = (re.match(r"[A-Za-z0-9._-]+", requirement) for requirement in requirements)
    return {re.sub(r"[-_.]+", "-", name[0]).lower() for name in found if name}


def test_locks_have_exact_pins_with_hashes_and_a_run_needs_no_tool_of_development() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    locks = ("requirements.lock", "requirements-dev.lock", "requirements-model.lock")
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in locks]
    assert [PIN.sub("", text) for text in texts] == ["", "", ""]
    run, development = ({*PIN.findall(text)} for text in texts[:2])
    extras = project["optional-dependencies"]
    assert names_of([*project["dependencies"], *extras["build"]]) <= run
    assert names_of([*extras["dev"], *extras["plots"]]) <= run | development
    assert run & (development | {"pytest", "mypy", "ruff", "hypothesis", "altair", "vl-convert-python"}) == set()


PACKAGES = ("prism", "actors", "prism.llm")
HEAVY = {"igraph", "httpx", "rich", "numpy", "ollama", "prometheus_client", "structlog", "altair"}


def imported_for_type_checkers(package: str) -> dict[str, str]:
    """`{name: module}` of the imports below `if TYPE_CHECKING` and at the top of a package."""
    tree = ast.parse(Path(ROOT, *package.split("."), "__init__.py").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module for node in imports for alias in node.names if node.module is not None}


def test_every_public_name_is_the_one_that_type_checkers_see() -> None:
    for package in PACKAGES:
        door, seen = import_module(package), imported_for_type_checkers(package)
        assert set(door.__all__) == seen.keys() - {"TYPE_CHECKING", "lazy_names"}
        for name in door.__all__:
            assert getattr(door, name) is getattr(import_module(seen[name]), name)
            assert name in dir(door)
        with pytest.raises(AttributeError, match=rf"^module '{package}' has no attribute 'runn'$"):
            getattr(door, "runn")  # noqa: B009  # an attribute that type checkers would refuse


@catalogue(
    ("statement", "absent"),
    [
        ("import prism, actors", HEAVY | {"msgspec", "yaml", "prism.config", "actors.core"}),
        ("from actors import run", {"igraph", "httpx", "ollama", "prometheus_client", "altair"}),
    ],
)
def test_an_import_brings_in_no_more_than_it_needs(statement: str, absent: set[str]) -> None:
    script = f"{statement}\nimport sys\nprint(*sys.modules)"
    command = [sys.executable, "-c", script]
    loaded = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert absent.isdisjoint(loaded)


@catalogue(
    ("source", "expected"),
    [("a/Ties.CSV.gz", ".csv"), ("t.graphml", ".graphml"), ("t.tar.gz", ".tar"), ("t", ""), ("t.gz", "")],
)
def test_the_format_is_the_extension_below_gz(source: str, expected: str) -> None:
    assert file_format(source) == expected


def test_decoded_text_has_plain_line_ends() -> None:
    assert decode_text(b"a\r\nb\rc\n", "t.txt") == "a\nb\nc\n"
