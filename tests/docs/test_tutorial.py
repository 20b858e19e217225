"""The commands of the tutorial, run one after the other, print what the tutorial says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import Block, blocks
from tests.paths import ROOT

TUTORIAL = ROOT / "docs" / "tutorial.md"


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """An environment whose `prism` is that of this project and whose `python` is this one."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for program, arguments in (("prism", " -m actors.cli"), ("python", "")):
        script = programs / program
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}"{arguments} "$@"\n')
        script.chmod(0o755)
    return {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "COLUMNS": "80"}


def missing(expected: str, printed: str) -> list[str]:
    """The lines between two `...` that are not printed, one after the other, behind those before them."""
    lines, start = [line.rstrip() for line in printed.splitlines()], 0
    for part in expected.split("...\n"):
        wanted = [line.rstrip() for line in part.splitlines()]
        places = (at for at in range(start, len(lines) + 1) if lines[at : at + len(wanted)] == wanted)
        at = next(places, None)
        if at is None:
            return wanted
        start = at + len(wanted)
    return []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_tutorial_prints_what_it_says(tmp_path: Path, shell: dict[str, str]) -> None:
    study, printed, compared = tmp_path / "study", "", 0
    study.mkdir()
    for block in blocks(TUTORIAL):
        kind, *file = block.info.split()
        if file:
            (study / file[0]).write_text(block.text)
        elif kind == "sh":
            command = ["bash", "-euo", "pipefail", "-c", block.text]
            printed = subprocess.run(command, cwd=study, env=shell, stdout=subprocess.PIPE, text=True, check=True).stdout
        elif kind == "text":
            assert missing(block.text, printed) == []
            compared += 1
    assert compared == 8


def test_a_line_that_is_not_printed_is_noticed() -> None:
    printed = "a\nb  \nc\nd\n"
    assert missing("a\nb\n...\nd\n", printed) == []
    assert missing("a\nc\n", printed) == ["a", "c"]
    assert missing("d\n...\na\n", printed) == ["a"]


def test_every_block_of_the_tutorial_is_a_file_a_command_or_output() -> None:
    kinds = {(block.info.split()[0], len(block.info.split())) for block in blocks(TUTORIAL)}
    assert kinds == {("sh", 1), ("text", 1), ("yaml", 2), ("python", 2)}
    assert isinstance(blocks(TUTORIAL)[0], Block)
