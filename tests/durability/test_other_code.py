"""Edits of the real code: a copy of both packages is edited, and its own process resumes a run of the code here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import Ended, prism_alone
from tests.paths import ROOT
from tests.patience import HANG_S

CONFIG = """
simulation: {rounds: 3, ticks_per_round: 24, seed: 5}
population: {size: 60, activity: {mean: 0.9, sigma: 0.1}}
"""
FEED = "prism/social/kernels/feed_kernel.py"
SCORE = "    room.scores[at] = called(t.settings.score, t, person, post, tick)\n"


@pytest.fixture(scope="module")
def begun_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a run of 60 ticks with checkpoints after 48 and 60, and the digest of the same run after 72."""
    place = tmp_path_factory.mktemp("begun")
    (place / "small.yaml").write_text(CONFIG)
    run = ("run", str(place / "small.yaml"), "-q", "--out")
    assert prism_alone(*run, str(place / "run"), "--ticks", "48").code == 0
    assert prism_alone("resume", str(place / "run"), "-q", "--ticks", "60").code == 0
    return place / "run", prism_alone(*run, str(place / "whole")).out


@pytest.fixture
def begun(begun_once: tuple[Path, str], tmp_path: Path) -> Path:
    """Return a copy of the run, beside a copy of both packages."""
    for package in ("prism", "actors"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(begun_once[0], tmp_path / "begun")
    return tmp_path / "begun"


@pytest.fixture
def undisturbed(begun_once: tuple[Path, str]) -> str:
    """Return the digest of the run that was left alone, as `prism run --quiet` prints it."""
    return begun_once[1]


def edit(code: Path, before: str, after: str) -> None:
    text = code.read_text()
    assert text.count(before) == 1
    code.write_text(text.replace(before, after))


def resumed(run: Path, *options: str) -> Ended:
    """Return the end of `prism resume` of the copied packages."""
    ended = subprocess.run(
        [sys.executable, "-m", "actors.cli", "resume", run.name, "-q", "--ticks", "72", *options],
        cwd=run.parent,
        env={**os.environ, "PYTHONPATH": str(run.parent)},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_S,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


@pytest.mark.slow
def test_comments_and_docstrings_are_no_other_code(begun: Path, undisturbed: str) -> None:
    edit(begun.parent / FEED, SCORE, f"    # A comment.\n\n{SCORE}")
    for module in (FEED, "actors/runtime/engine.py"):
        text = (begun.parent / module).read_text()
        (begun.parent / module).write_text(text.replace('"""The ', '"""This is the '))
    assert resumed(begun) == Ended(0, undisturbed, "")


@pytest.mark.slow
def test_another_rule_is_refused_and_no_byte_changes(begun: Path) -> None:
    edit(begun.parent / FEED, SCORE, SCORE.replace("= called", "= -called"))
    before = {path.name: path.read_bytes() for path in begun.iterdir()}
    ended = resumed(begun)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith("prism: begun: cannot continue: PRISM's code has changed (sha256 ")
    assert {path.name: path.read_bytes() for path in begun.iterdir()} == before
