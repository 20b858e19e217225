"""docs/modules.md lists every module, and CONTRIBUTING.md has the rooms in the order of their layers."""

from __future__ import annotations

import re

from tests.docs.pages import read
from tests.docs.refresh_map import DOCUMENT, layers, line_of, modules_of, page, rooms
from tests.paths import ROOT


def table_of_rooms() -> list[str]:
    """The rooms in the first column of the table in CONTRIBUTING.md."""
    rows = re.findall(r"^\| (`(?:actors|prism).*?) \|", read(ROOT / "CONTRIBUTING.md"), re.MULTILINE)
    return [room for row in rows for room in re.findall(r"`([\w/]+)`", row)]


def test_the_list_of_modules_is_that_of_the_tree() -> None:
    assert read(DOCUMENT) == page(), "docs/modules.md is out of date: run `python -m tests.docs.refresh_map`"


def test_every_room_is_in_the_list() -> None:
    packages = [path.parent for name in ("actors", "prism") for path in (ROOT / name).rglob("__init__.py")]
    found = {path.relative_to(ROOT).as_posix() for path in packages}
    assert set(rooms()) == found - {"actors"}


def test_contributing_lists_the_rooms_of_actors_from_the_top_layer_to_the_bottom() -> None:
    named = [room for room in table_of_rooms() if room.startswith("actors/")]
    assert named == [f"actors/{room}" for layer in layers() for room in layer]


def test_contributing_lists_every_room_of_prism() -> None:
    assert {room for room in table_of_rooms() if room.startswith("prism")} == {
        room for room in rooms() if room.startswith("prism")
    }


def test_every_module_says_in_its_first_line_what_it_holds() -> None:
    lines = {module.path: module.first_line for room in rooms() for module in modules_of(room)}
    assert [path for path, line in lines.items() if len(line) < 20 or not line.endswith((".", "`"))] == []


def test_every_room_says_what_it_holds() -> None:
    assert [room for room in rooms() if len(line_of(room)) < 20] == []
