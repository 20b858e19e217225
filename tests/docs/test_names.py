"""Every file, module, command and target that the documentation names exists."""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path

import click

from actors.cli.app import cli
from tests.catalogue import catalogue
from tests.docs.pages import PAGES, blocks, code
from tests.paths import ROOT

TREES = "actors|prism|benchmarks|deploy|tests|configs|docs"
FILE = re.compile(rf"(?<![\w./-])(?:{TREES})/[\w./@*-]+")
DOTTED = re.compile(r"(?<![\w./-])(?:actors|prism|benchmarks|deploy|tests)(?:\.[A-Za-z_]\w*)+")
CURRENT = [page for page in PAGES if page.name != "CHANGELOG.md"]
"""A changelog also names what there was."""
PLACEHOLDER = "NAME"
NOT_MODULES = {"prism.yaml", "prism.yml", "prism.domains"}  # the last one is a group of entry points
TARGETS = re.compile(r"^make((?: [a-z][a-z-]*)+)", re.MULTILINE)


def exists(dotted: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def commands(page: Path) -> list[str]:
    """Every line of the page's shell blocks that runs `prism`, its continuation lines joined."""
    shell = (block.text.replace("\\\n", " ") for block in blocks(page) if block.info in {"sh", "console"})
    lines = (line.strip().removeprefix("$ ") for text in shell for line in text.splitlines())
    return [line for line in lines if line.startswith("prism ")]


@catalogue("page", CURRENT)
def test_every_file_that_is_named_exists(page: Path) -> None:
    named = {match.rstrip(".") for text in code(page) for match in FILE.findall(text) if PLACEHOLDER not in match}
    assert sorted(path for path in named if not any(ROOT.glob(path.rstrip("/")))) == []


@catalogue("page", CURRENT)
def test_every_module_and_name_in_it_exists(page: Path) -> None:
    named = {match for text in code(page) for match in DOTTED.findall(text)} - NOT_MODULES
    assert sorted(dotted for dotted in named if not exists(dotted)) == []


@catalogue("page", PAGES)
def test_every_prism_command_is_understood(page: Path) -> None:
    for line in commands(page):
        command: click.Command | None = cli
        words = shlex.split(line.removesuffix("&"), comments=True)  # one may run in the background
        while isinstance(command, click.Group):
            found, command, rest = command.resolve_command(click.Context(command), words[1:])
            words = [found or "", *rest]
        assert command is not None, line
        command.make_context(words[0], words[1:])


@catalogue("page", PAGES)
def test_every_make_target_exists(page: Path) -> None:
    known = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {target for text in code(page) for targets in TARGETS.findall(text) for target in targets.split()}
    assert named <= known
