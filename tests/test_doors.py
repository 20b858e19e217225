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
HEAVY = {"igraph", "httpx", "rich", "numpy", "ollama", "prometheus_client", "structlog", "matplotlib"}


def imported_for_type_checkers(package: str) -> dict[str, str]:
    """`{name: module}` of the imports below `if TYPE_CHECKING` and at the top of a package."""
    tree = ast.parse(Path(ROOT, *package.split("."), "__init__.py").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module for node in imports for alias in node.names if node.module is not None}


@catalogue("package", DOORS)
def test_every_public_name_is_the_one_that_type_checkers_see(package: str) -> None:
    door, seen = import_module(package), imported_for_type_checkers(package)
    public = door.__all__
    assert set(public) == seen.keys() - {"TYPE_CHECKING", "lazy_names"}
    for name in public:
        assert getattr(door, name) is getattr(import_module(seen[name]), name)
        assert name in dir(door)


@catalogue("package", DOORS)
def test_another_name_is_an_error_like_that_of_any_module(package: str) -> None:
    with pytest.raises(AttributeError, match=rf"^module '{package}' has no attribute 'runn'$"):
        getattr(import_module(package), "runn")  # noqa: B009  # an attribute that type checkers would refuse
    with pytest.raises(ImportError, match="cannot import name 'runn'"):
        exec(f"from {package} import runn")


@catalogue(
    ("statement", "absent"),
    [
        ("import prism", HEAVY | {"msgspec", "yaml", "prism.config"}),
        ("import actors", HEAVY | {"msgspec", "yaml", "prism.config", "actors.core"}),
        ("from prism import Config, load_config", HEAVY),
        ("from actors import run", {"igraph", "httpx", "ollama", "prometheus_client", "matplotlib"}),
    ],
)
def test_an_import_brings_in_no_more_than_it_needs(statement: str, absent: set[str]) -> None:
    script = f"{statement}\nimport sys\nprint(*sys.modules)"
    command = [sys.executable, "-c", script]
    loaded = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert absent.isdisjoint(loaded)
