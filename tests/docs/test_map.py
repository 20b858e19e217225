"""CONTRIBUTING.md maps the code: its rooms, their layers, and every module."""

from __future__ import annotations

import re
import tomllib

from tests.docs.pages import read
from tests.docs.refresh_map import DOCUMENT, ROOMS, first_line, modules_of, with_modules
from tests.paths import ROOT

PAGE = read(DOCUMENT)


def rooms_in(heading: str) -> list[str]:
    """The rooms in the first column of the table below a heading."""
    section = PAGE.split(f"\n### {heading}\n")[1].split("\n### ")[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    return [room for row in rows for room in re.findall(r"`([\w/]+)`", row)]


def test_the_list_of_modules_is_that_of_the_tree() -> None:
    assert with_modules(PAGE) == PAGE, "CONTRIBUTING.md is out of date: run `python -m tests.docs.refresh_map`"


def test_every_room_is_in_its_table_and_in_the_list() -> None:
    packages = [path.parent for name in ("actors", "prism") for path in (ROOT / name).rglob("__init__.py")]
    rooms = {path.relative_to(ROOT).as_posix() for path in packages if modules_of(path.relative_to(ROOT).as_posix())}
    assert set(rooms_in("Rooms of actors")) | set(rooms_in("Rooms of prism")) == set(ROOMS) == rooms


def test_the_rooms_of_actors_are_listed_from_the_top_layer_to_the_bottom() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract.get("containers") == ["actors"])
    names = [re.sub(r"[()]", "", name).strip() for layer in layers for name in re.split(r"[:|]", layer)]
    assert rooms_in("Rooms of actors") == [f"actors/{name}" for name in names]


def test_every_module_says_in_its_first_line_what_it_holds() -> None:
    modules = [path for room in ROOMS for path in modules_of(room)]
    assert [path for path in modules if len(first_line(path)) < 20 or not first_line(path).endswith((".", "`"))] == []


def test_every_room_says_what_it_holds() -> None:
    assert [room for room in ROOMS if len(first_line(ROOT / room / "__init__.py")) < 20] == []
