"""Writes docs/modules.md from the docstrings of the modules: `python -m tests.docs.refresh_map`."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

from tests.paths import ROOT

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


def modules_of(room: str) -> list[Path]:
    """Return the modules of a room, without the file that makes it a package."""
    return sorted(path for path in (ROOT / room).glob("*.py") if path.name != "__init__.py")


def rooms() -> list[str]:
    """Return the rooms in the order of the page: those of `actors` by layer, then those of `prism` by name."""
    of_prism = sorted(path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "prism").rglob("__init__.py"))
    return [*(f"actors/{room}" for layer in layers() for room in layer), *of_prism]


def first_line(module: Path) -> str:
    """Return the first line of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0]


def section(room: str) -> str:
    """Return the heading of a room, the line about it, and a line for each of its modules."""
    lines = "".join(f"- `{path.name}`: {first_line(path)}\n" for path in modules_of(room))
    return f"\n## {room}\n\n{first_line(ROOT / room / '__init__.py')}\n\n{lines}"


def page() -> str:
    """Return the page as it should be."""
    return HEAD + "".join(map(section, rooms()))


if __name__ == "__main__":
    DOCUMENT.write_text(page(), encoding="utf-8")
