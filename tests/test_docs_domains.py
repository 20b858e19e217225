"""The code in docs/domains.md runs as it stands, and prints what it is said to print.

`python -m tests.test_docs_domains` writes what it prints now into the document.
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.paths import ROOT

DOCUMENT = ROOT / "docs" / "domains.md"
EXAMPLE = re.compile(
    r"^## (?P<title>[^\n]+)$|^```python\n(?P<code>.*?)^```\n\n```text\n(?P<output>.*?)^```$", re.MULTILINE | re.DOTALL
)


def examples() -> list[tuple[str, str, str]]:
    """`(heading, code, output)` of each block."""
    found, title = [], ""
    for match in EXAMPLE.finditer(DOCUMENT.read_text(encoding="utf-8")):
        title = match["title"] or title
        if match["code"]:
            found.append((title, match["code"], match["output"]))
    return found


def printed(code: str) -> str:
    """What the code prints in a process of its own.

    Raises:
        CalledProcessError: it ends with an error, or a warning.
    """
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_every_block_has_its_output() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert len(examples()) == text.count("```python\n") == 4


@pytest.mark.process
@pytest.mark.parametrize(("code", "output"), [pytest.param(*rest, id=title) for title, *rest in examples()])
def test_a_block_prints_what_the_document_says(code: str, output: str) -> None:
    assert printed(code) == output


if __name__ == "__main__":
    text = DOCUMENT.read_text(encoding="utf-8")
    for _, code, output in examples():
        text = text.replace(f"{code}```\n\n```text\n{output}", f"{code}```\n\n```text\n{printed(code)}")
    DOCUMENT.write_text(text, encoding="utf-8")
