"""Writes docs/modules.md from the docstrings of the modules: `python -m tests.docs.refresh_map`."""

from __future__ import annotations

import re
import tomllib

from tests.paths import ROOT
from tests.source import Module, modules

DOCUMENT = ROOT / "docs" / "modules.md"
HEAD = """\
# Modules

Every module, with the first line of its docstring. [Contributing](../CONTRIBUTING.md) explains the rooms.
The page is written by `python -m tests.docs.refresh_map`; change the docstrings, not the page.
"""


def layers() -> list[list[str]]:
    """Return the rooms of `actors` from the top layer to the bottom, those of one layer together."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    named = next(contract["layers"] for contract in contracts if contract.get("containers") == ["actors"])
    return [[room.strip("() ") for room in re.split(r"[:|]", layer)] for layer in named]


def modules_of(room: str) -> list[Module]:
    """Return the modules of a room, without the file that makes it a package."""
    return [module for module in in_room(room) if module.path.name != "__init__.py"]


def in_room(room: str) -> list[Module]:
    """Return the modules whose files lie in the directory of a room."""
    return [module for module in modules(room.partition("/")[0]) if module.path.parent == ROOT / room]


def rooms() -> list[str]:
    """Return the rooms in the order of the page: those of `actors` by layer, then those of `prism` by name."""
    of_actors = packages("actors")
    named = [f"actors/{room}" for layer in layers() for room in layer]
    return [*(path for room in named for path in of_actors if f"{path}/".startswith(f"{room}/")), *packages("prism")]


def packages(top: str) -> list[str]:
    """Return the directories of a package's modules, sorted."""
    return sorted({module.path.parent.relative_to(ROOT).as_posix() for module in modules(top)})


def line_of(room: str) -> str:
    """Return the line about a room: the first one of its package's docstring."""
    return next(module.first_line for module in in_room(room) if module.path.name == "__init__.py")


def section(room: str) -> str:
    """Return the heading of a room, the line about it, and a line for each of its modules."""
    lines = "".join(f"- `{module.path.name}`: {module.first_line}\n" for module in modules_of(room))
    return f"\n## {room}\n\n{line_of(room)}\n\n{lines}"


def page() -> str:
    """Return the page as it should be."""
    return HEAD + "".join(map(section, rooms()))


if __name__ == "__main__":
    DOCUMENT.write_text(page(), encoding="utf-8")
