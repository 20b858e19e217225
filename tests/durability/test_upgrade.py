"""Upgrades of the real code: a copy of both packages is edited, and its own process resumes a run of the code here."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from actors.core.errors import ResumeRefusedError
from actors.persistence.checkpoint import checkpoint_names, read_checkpoint
from actors.persistence.disk import RealDisk
from actors.persistence.journal import read_header, scan_journal
from actors.persistence.oracle_log import ANSWERS, MAGIC
from actors.runs.directory import MANIFEST
from actors.runs.resume import plan_resume
from actors.runs.upgrade import prove
from actors.testing import ModelServer
from tests.command import Ended, prism_alone
from tests.paths import ROOT
from tests.patience import HANG_S

pytestmark = pytest.mark.long

CONFIG = """
simulation: {rounds: 3, ticks_per_round: 24, seed: 5}
population: {size: 60, activity: {mean: 0.9, sigma: 0.1}}
"""
FEED = "prism/social/feeds.py"
SCORE = "        return np.asarray(match + popular * feed.popularity_weight)\n"


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


@pytest.mark.process
def test_comments_and_docstrings_are_no_upgrade(begun: Path, undisturbed: str) -> None:
    edit(begun.parent / FEED, SCORE, f"        # A comment.\n\n{SCORE}")
    for module in (FEED, "actors/runtime/engine.py"):
        text = (begun.parent / module).read_text()
        (begun.parent / module).write_text(text.replace('"""The ', '"""This is the '))
    assert resumed(begun) == Ended(0, undisturbed, "")
    assert json.loads((begun / "manifest.json").read_text())["upgrades"] == []


@pytest.mark.process
def test_code_that_gives_the_same_ticks_goes_on_to_the_same_digest(begun: Path, undisturbed: str) -> None:
    refactored = SCORE.replace("return", "scores =") + "        return scores\n"
    edit(begun.parent / FEED, SCORE, refactored)
    ended = resumed(begun)
    assert (ended.code, ended.out) == (0, undisturbed)
    assert ended.err.startswith("prism: PRISM's code has changed (sha256 ")
    assert ended.err.endswith("): proved, ticks 48 to 59 come out under this code as they are in the journal\n")
    manifest = json.loads((begun / "manifest.json").read_text())
    (upgrade,) = manifest["upgrades"]
    assert (upgrade["tick"], upgrade["proved"], upgrade["after"]["code"]) == (60, [48, 60], manifest["code"])
    assert upgrade["before"]["code"] != manifest["code"]


@pytest.mark.process
def test_code_that_gives_other_ticks_is_refused_and_no_byte_changes(begun: Path) -> None:
    edit(begun.parent / FEED, SCORE, SCORE.replace("match +", "-match -"))
    before = {path.name: path.read_bytes() for path in begun.iterdir()}
    ended = resumed(begun)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith("prism: begun: cannot continue: PRISM's code has changed (sha256 ")
    found = r"; under this code tick \d+ came out differently than in the journal: agent \d+: \w+"
    assert re.search(found, ended.err)
    assert ended.err.endswith("with the code that it was run with, or go on without the proof with --accept-code.\n")
    assert {path.name: path.read_bytes() for path in begun.iterdir()} == before


@pytest.fixture
def begun_live(live: Path) -> Path:
    """Return a crashed run whose server answers differently every time, as if other code had begun it."""
    edit(live / MANIFEST, '"code": "', '"code": "0')
    return live


@pytest.mark.network
def test_a_proof_asks_nothing_of_the_model_and_changes_nothing(begun_live: Path, server: ModelServer) -> None:
    before, calls = {path.name: path.read_bytes() for path in begun_live.iterdir()}, server.statistics().calls
    disk = RealDisk(begun_live)
    second = read_checkpoint(disk, checkpoint_names(disk)[1]).position.tick
    assert anyio.run(prove, plan_resume(begun_live)) == (second, scan_journal(disk, read_header(disk)[1]).ticks)
    assert server.statistics().calls == calls
    assert {path.name: path.read_bytes() for path in begun_live.iterdir()} == before


@pytest.mark.network
def test_without_its_recorded_answers_a_run_cannot_be_proved(begun_live: Path, server: ModelServer) -> None:
    for name in checkpoint_names(RealDisk(begun_live)):
        (begun_live / name).unlink()
    (begun_live / ANSWERS).write_bytes(MAGIC)
    calls, problem = server.statistics().calls, "the recorded ticks cannot be done again: oracle.log: has no answer to "
    with pytest.raises(ResumeRefusedError, match=f"; {problem}agent .*; a part of it is lost. Resume it with "):
        anyio.run(prove, plan_resume(begun_live))
    assert server.statistics().calls == calls
