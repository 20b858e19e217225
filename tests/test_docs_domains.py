"""The code in docs/domains.md runs as it stands, and prints what it is said to print.

`python -m tests.test_docs_domains` writes what it prints now into the document.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.paths import ROOT

DOCUMENT = ROOT / "docs" / "domains.md"
EXAMPLE = re.compile(
    r"^## (?P<title>[^\n]+)$|^```python\n(?P<code>(?:(?!^```).)*)^```\n\n```text\n(?P<output>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
OWN = "\n## A domain of your own\n"
CONSOLE = re.compile(r"^```console\n(\$ prism validate bar\.yaml\n.*?)^```$", re.MULTILINE | re.DOTALL)
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


def examples() -> list[tuple[str, str, str]]:
    """`(heading, code, output)` of each block with an output."""
    found, title = [], ""
    for match in EXAMPLE.finditer(DOCUMENT.read_text(encoding="utf-8")):
        title = match["title"] or title
        if match["code"]:
            found.append((title, match["code"], match["output"]))
    return found


def write_bar(directory: Path) -> Path:
    """Write the domain of the document, and its configuration."""
    own = DOCUMENT.read_text(encoding="utf-8").partition(OWN)[2]
    for name, language in (("bar.py", "python"), ("bar.yaml", "yaml")):
        (directory / name).write_text(own.split(f"```{language}\n")[1].split("```")[0])
    return directory


def printed(code: str, directory: Path) -> str:
    """What the code prints in a process of its own, beside the domain of the document.

    Raises:
        CalledProcessError: it ends with an error, or a warning.
    """
    command = [sys.executable, "-W", "error", "-c", code]
    ended = subprocess.run(command, cwd=directory, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return ended.stdout


def console() -> str:
    match = CONSOLE.search(DOCUMENT.read_text(encoding="utf-8"))
    assert match is not None
    return match[1]


def commands() -> list[str]:
    return [line.removeprefix("$ ") for line in console().splitlines() if line.startswith("$ ")]


def session(directory: Path) -> str:
    """The commands of the document, each with what it prints here."""
    lines = []
    for command in commands():
        words = [sys.executable, "-m", "actors.cli", *shlex.split(command)[1:]]
        ended = subprocess.run(words, cwd=directory, env=ENVIRONMENT, capture_output=True, text=True, check=False)
        lines.append(f"$ {command}\n{ended.stdout}{ended.stderr}")
    return "".join(lines)


def test_every_block_has_its_output() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    modules = 1  # bar.py, which the last block and the commands run
    assert len(examples()) == text.count("```python\n") - modules


@pytest.mark.everyday(2)
@pytest.mark.parametrize(("code", "output"), [pytest.param(*rest, id=title) for title, *rest in examples()])
def test_a_block_prints_what_the_document_says(code: str, output: str, tmp_path: Path) -> None:
    assert printed(code, write_bar(tmp_path)) == output


@pytest.mark.slow
def test_the_commands_print_what_the_document_says(tmp_path: Path) -> None:
    assert session(write_bar(tmp_path)) == console()


if __name__ == "__main__":
    text = DOCUMENT.read_text(encoding="utf-8")
    with TemporaryDirectory() as name:
        place = write_bar(Path(name))
        text = text.replace(console(), session(place))
        for _, code, output in examples():
            text = text.replace(f"{code}```\n\n```text\n{output}", f"{code}```\n\n```text\n{printed(code, place)}")
    DOCUMENT.write_text(text, encoding="utf-8")
