"""The public doors: what can be imported from `prism` and `actors`, and how little that costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.catalogue import catalogue
from tests.paths import ROOT

DOORS = ("prism", "actors", "prism.llm")
HEAVY = {"igraph", "httpx", "rich", "numpy", "ollama", "prometheus_client", "structlog", "altair"}


def imported_for_type_checkers(package: str) -> dict[str, str]:
    """`{name: module}` of the imports below `if TYPE_CHECKING` and at the top of a package."""
    tree = ast.parse(Path(ROOT, *package.split("."), "__init__.py").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module for node in imports for alias in node.names if node.module is not None}


def test_every_public_name_is_the_one_that_type_checkers_see() -> None:
    for package in DOORS:
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
