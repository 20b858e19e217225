"""The source: walls between the trees, functions of at most a page, one door to the disk; and the locks."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator

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
    "actors/cli/testing.py": "a log that the user has named",
    "actors/factory/graph_files.py": "a copy in a new temporary directory",
    "actors/factory/input_files.py": "a copy in a new temporary directory",
    "actors/explain/requests.py": "a copy in a new temporary directory",
    "actors/tables/files.py": "tables in a new directory",
    "actors/runs/inputs.py": "a second name for an input, which takes the place of any link",
    "actors/runs/pack.py": "a new file in place of none, and new files in a new directory",
    "actors/studies/experiments/node.py": "new files in a new directory",
    "prism/kernels.py": "a cache that is looked at before it is used",
    "prism/machine_code.py": "a cache that is looked at before it is used",
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
