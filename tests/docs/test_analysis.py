"""The blocks of docs/tables.md that ask questions run as they stand, and those of one question print the same.

`python -m tests.docs.test_analysis` writes what they print now into the page.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from tests.docs.pages import blocks, read
from tests.docs.test_python import printed
from tests.paths import ROOT

PAGE, HEADING = ROOT / "docs" / "tables.md", "Ask questions"


class Question(NamedTuple):
    """The blocks that answer a question, and what the page says they print."""

    codes: list[str]
    output: str


def questions() -> list[Question]:
    """Return the questions of the page: the blocks of Python before each text."""
    found, codes = [], list[str]()
    for block in blocks(PAGE, HEADING):
        if block.info == "python":
            codes.append(block.text)
        elif block.info == "text":
            found.append(Question(codes, block.text))
            codes = []
    assert not codes, "each question has an answer"
    return found


def commands() -> list[list[str]]:
    """Return the commands of the page."""
    lines = [line for block in blocks(PAGE, HEADING) if block.info == "sh" for line in block.text.splitlines()]
    return [shlex.split(line) for line in lines]


def prepare(directory: Path) -> None:
    """Run the commands of the page."""
    for name, *arguments in commands():
        assert name == "prism"
        command = [sys.executable, "-m", "actors.cli", *arguments]
        environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
        subprocess.run(command, cwd=directory, env=environment, capture_output=True, check=True)


def test_the_page_answers_a_question_with_three_libraries() -> None:
    libraries = ("pandas", "polars", "duckdb")
    asked = [
        [library for code in question.codes for library in libraries if library in code] for question in questions()
    ]
    assert asked == [["pandas", "polars", "duckdb"]]
    for question in questions():
        for code in question.codes:
            compile(code, str(PAGE), "exec")


@pytest.mark.slow
def test_the_blocks_print_what_the_page_says(tmp_path: Path) -> None:
    prepare(tmp_path)
    asked = questions()
    codes = [code for question in asked for code in question.codes]
    assert printed(codes, tmp_path) == [question.output for question in asked for _ in question.codes]


def refresh() -> None:
    """Write what the blocks print into the page, if those of a question print the same."""
    text = read(PAGE)
    with TemporaryDirectory() as directory:
        prepare(Path(directory))
        for question in questions():
            said = {*printed(question.codes, Path(directory))}
            assert len(said) == 1, said
            text = text.replace(
                f"{question.codes[-1]}```\n\n```text\n{question.output}",
                f"{question.codes[-1]}```\n\n```text\n{said.pop()}",
            )
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    refresh()
