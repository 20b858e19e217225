"""`prism resume` with other code than the run's: it is refused, and a fork does the ticks again instead."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actors import resume
from actors.core.errors import RunDirectoryError
from actors.runs.directory import RunDirectory
from actors.store.manifest import MANIFEST, read_manifest
from prism.social.kernels import feed_kernel
from tests.actors.cli.conftest import SMALL
from tests.command import Prism, prism_alone

OTHER_CODE = "PRISM's code has changed (sha256 "
REMEDY = (
    "Resume it with the code that it was run with, or branch off with `prism fork`, which does its ticks again with "
    "this code.\n"
)


@pytest.fixture(scope="module")
def begun_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of 60 ticks with checkpoints after 48 and 60, made once."""
    place = tmp_path_factory.mktemp("begun")
    (place / "small.yaml").write_text(SMALL)
    assert prism_alone("run", str(place / "small.yaml"), "-q", "--ticks", "48", "--out", str(place / "run")).code == 0
    assert prism_alone("resume", str(place / "run"), "-q", "--ticks", "60").code == 0
    return place / "run"


@pytest.fixture
def begun(begun_once: Path, prism: Prism, tmp_path: Path) -> Path:
    """Return the run `begun` in the directory of `prism`: other code began it."""
    shutil.copytree(begun_once, tmp_path / "begun")
    change(tmp_path / "begun")
    return tmp_path / "begun"


def change(run: Path, before: str = '"code": "', after: str = '"code": "0') -> None:
    """Make it a run that was begun with other code."""
    text = (run / MANIFEST).read_text()
    assert before in text
    (run / MANIFEST).write_text(text.replace(before, after, 1))
    RunDirectory(run).write_manifest(read_manifest(run))  # with the seal of the new content


def contents(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.iterdir()}


def give_other_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the code give other results."""
    before: Callable[..., Any] = feed_kernel.comes_first
    monkeypatch.setattr(feed_kernel, "comes_first", lambda *given: not before(*given))


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('"code": "', '"code": "0', OTHER_CODE),
        ('"msgspec": "', '"msgspec": "0.', "msgspec is "),
        ('"numpy"', '"nunpy"', "nunpy is unknown to this version, was "),
    ],
)
def test_other_code_is_refused_in_one_line_and_nothing_changes(
    before: str, after: str, told: str, begun: Path, prism: Prism
) -> None:
    change(begun, '"code": "0', '"code": "')
    change(begun, before, after)
    was = contents(begun)
    ended = prism("resume", "begun", "-q", "--ticks", "72")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith(f"prism: begun: cannot continue: {told}")
    assert ended.err.endswith(REMEDY)
    with pytest.raises(RunDirectoryError, match="cannot continue"):
        resume(begun, ticks=72)
    assert contents(begun) == was


def test_a_fork_does_the_ticks_again_and_goes_on(begun: Path, prism: Prism, small_run: Path) -> None:
    ended = prism("fork", "begun", "--at", "60", "--ticks", "72", "-q", "--out", "forked")
    assert ended.out.strip() == json.loads((small_run / "summary.json").read_text())["digest"]
    assert prism("resume", "forked", "-q", "--ticks", "73").code == 0


def test_a_replay_that_differs_names_other_code(begun: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch) -> None:
    assert prism("replay", "begun", "-q").err == ""
    give_other_results(monkeypatch)
    for ended in (prism("replay", "begun", "-q"), prism("fork", "begun", "--at", "60", "-q", "--out", "forked")):
        assert ended.code == 1
        assert f"; {OTHER_CODE}" in ended.err
