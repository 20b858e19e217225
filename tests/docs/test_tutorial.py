"""The commands of tutorials, of the README and of the page of experiments print what these pages say."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.docs.pages import Block, blocks
from tests.paths import ROOT

TUTORIAL, README = ROOT / "docs" / "tutorial.md", ROOT / "README.md"
FEEDS = "Does a chronological feed make smaller cascades?"
EXPERIMENTS = ROOT / "docs" / "experiments.md"

Shell = Callable[[str], str]
"""Runs commands in the directory of a study, and returns what they print."""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A directory that looks as one does after `make run`."""
    study = tmp_path / "study"
    (study / ".venv" / "bin").mkdir(parents=True)
    (study / ".venv" / "bin" / "activate").touch()
    return study


@pytest.fixture
def shell(tmp_path: Path, study: Path, compiled_cache: Path) -> Shell:
    """A shell whose `prism` is that of this project and compiles as a user's does, and whose `python` is this one."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for program, arguments in (("prism", " -m actors.cli"), ("python", "")):
        script = programs / program
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}"{arguments} "$@"\n')
        script.chmod(0o755)
    path, cache = f"{programs}:{os.environ['PATH']}", str(compiled_cache)
    own = {"PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "PRISM_JIT": "", "XDG_CACHE_HOME": cache}
    environment = {**os.environ, **own}

    def run(commands: str) -> str:
        arguments = ["bash", "-euo", "pipefail", "-c", commands]
        ended = subprocess.run(arguments, cwd=study, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        return ended.stdout

    return run


def missing(expected: str, printed: str) -> list[str]:
    """The first part between two `...` whose lines are not printed, one after the other, behind the part before."""
    lines, start = [line.rstrip() for line in printed.splitlines()], 0
    for part in expected.split("...\n"):
        wanted = [line.rstrip() for line in part.splitlines()]
        places = (at for at in range(start, len(lines) + 1) if lines[at : at + len(wanted)] == wanted)
        at = next(places, None)
        if at is None:
            return wanted
        start = at + len(wanted)
    return []


def follow(page: Iterable[Block], study: Path, shell: Shell) -> tuple[str, int]:
    """What all commands have printed, and how many outputs were compared.

    A block with a file's name is written there; a block of output belongs to the commands before it.
    """
    printed, everything, compared = "", "", 0
    for block in page:
        kind, *file = block.info.split()
        if file:
            (study / file[0]).write_text(block.text)
        elif kind == "sh":
            printed = shell(block.text)
            everything += printed
        elif kind == "text":
            assert missing(block.text, printed) == []
            compared += 1
    return everything, compared


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_lesson_on_feeds_prints_what_it_says(study: Path, shell: Shell) -> None:
    assert follow(blocks(TUTORIAL, FEEDS), study, shell)[1] == 9
    assert (study / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_lesson_on_behaviour_prints_what_it_says(study: Path, shell: Shell) -> None:
    assert follow(blocks(TUTORIAL, "A behaviour of your own"), study, shell)[1] == 5
    assert (study / "chart.svg").read_text().startswith("<svg")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_lesson_on_opinions_prints_what_it_says(study: Path, shell: Shell) -> None:
    assert follow(blocks(TUTORIAL, "Opinions over time"), study, shell)[1] == 5
    assert "bimodality" in (study / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_readme_prints_what_it_says(study: Path, shell: Shell) -> None:
    _, excerpt, *page = [block for block in blocks(README) if block.info in {"sh", "text"}]
    everything, compared = follow(page, study, shell)
    assert missing(excerpt.text, everything) == []
    assert compared == 1


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_page_of_experiments_prints_what_it_says(study: Path, shell: Shell) -> None:
    """The page wraps long lines elsewhere than the command, so words are compared."""
    (study / "configs").symlink_to(ROOT / "configs")
    shell("prism init my-study")
    (file,) = [block for block in blocks(EXPERIMENTS) if block.info == "yaml my-study/matters.yaml"]
    (study / "my-study" / "matters.yaml").write_text(file.text)
    commands, shown, others, answer = [block for block in blocks(EXPERIMENTS) if block.info in {"sh", "text"}][:4]
    for run, text in ((commands, shown), (others, answer)):
        printed = " ".join(shell(run.text).split())
        for part in text.text.split("..."):
            assert " ".join(part.split()) in printed
