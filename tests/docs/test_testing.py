"""The stand-in for a model in docs/language-models.md: its test passes, and its table has every fault."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from actors.testing import Fault
from tests.docs.pages import blocks, section
from tests.llm.support import DECISION_REASONS
from tests.paths import ROOT

PAGE = ROOT / "docs" / "language-models.md"
FILES = {block.info.split()[1]: block.text for block in blocks(PAGE) if block.info.startswith("python ")}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A directory with the example, and a `prism` that is that of this project."""
    programs = tmp_path / "bin"
    programs.mkdir()
    script = programs / "prism"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m actors.cli "$@"\n')
    script.chmod(0o755)
    study = tmp_path / "study"
    study.mkdir()
    return study


@pytest.mark.slow
def test_the_test_on_the_page_passes(study: Path) -> None:
    path = f"{study.parent / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    subprocess.run(["prism", "init", "--example", "ollama"], cwd=study, env=environment, check=True)
    for file, text in FILES.items():
        (study / file).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *FILES]
    ended = subprocess.run(command, cwd=study, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 0, ended.stdout
    assert "1 passed" in ended.stdout


def test_every_fault_is_on_the_page_with_the_reason_it_is_counted_under() -> None:
    table = section(PAGE, "Testing without a model")
    rows = re.findall(r"^\| `(\w+)` \| .* \| `(\w+)`(?:;[^|]*)? \|$", table, re.MULTILINE)
    reasons = {fault.value: reason for fault, reason in DECISION_REASONS.items()}
    assert dict(rows) == {fault.value: reasons[fault.value] for fault in Fault}
