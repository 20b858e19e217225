"""What people expect of a project: its metadata, its locks, its hooks."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import yaml

from tests.catalogue import catalogue
from tests.paths import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCKS = ("requirements.lock", "requirements-dev.lock")
PIN = re.compile(r"([a-z0-9.-]+)==[\w.!+-]+(?: ; [^\\]+?)? \\(?:\n    --hash=sha256:[0-9a-f]{64}(?: \\)?)+\n")


def read_yaml(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def locked(name: str) -> set[str]:
    return set(PIN.findall((ROOT / name).read_text(encoding="utf-8")))


def wanted(requirements: list[str]) -> set[str]:
    """The names of packages, as locks write them."""
    found = (re.match(r"[A-Za-z0-9._-]+", requirement) for requirement in requirements)
    return {re.sub(r"[-_.]+", "-", name[0]).lower() for name in found if name}


def test_the_citation_is_of_this_version() -> None:
    citation = read_yaml("CITATION.cff")
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"] == "MIT"
    assert citation["authors"] == [{"name": "The PRISM developers"}]
    assert " ".join(citation["abstract"].split()) == PROJECT["description"]


@catalogue("name", [*LOCKS, "requirements-model.lock"])
def test_a_lock_has_exact_pins_with_hashes_and_nothing_else(name: str) -> None:
    assert PIN.sub("", (ROOT / name).read_text(encoding="utf-8")) == ""


def test_a_run_needs_no_tool_of_development() -> None:
    run, development = map(locked, LOCKS)
    extras = PROJECT["optional-dependencies"]
    assert wanted([*PROJECT["dependencies"], *extras["build"]]) <= run
    assert wanted([*extras["dev"], *extras["plots"]]) <= run | development
    assert run & development == set()
    assert run & {"pytest", "mypy", "ruff", "hypothesis", "matplotlib"} == set()


def test_hooks_are_local_and_run_what_the_makefile_installs() -> None:
    repositories = read_yaml(".pre-commit-config.yaml")["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]
    for hook in repositories[0]["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"].startswith(".venv/bin/")
