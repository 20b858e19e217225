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
from tests.actors.cli.conftest import Made
from tests.command import Prism

CODE = ('"code": "', '"code": "0')
OTHER_CODE = "PRISM's code has changed (sha256 "
REMEDY = (
    "Resume it with the code that it was run with, or branch off with `prism fork`, which does its ticks again with "
    "this code.\n"
)


@pytest.fixture
def begun(made: Made, tmp_path: Path) -> Path:
    """Return a run of 60 ticks with checkpoints after 48 and 60, `begun`, which other code has begun."""
    run = Path(shutil.copytree(made("--ticks", "60", "--set", "run.checkpoint_every_ticks=48"), tmp_path / "begun"))
    change(run, *CODE)
    return run


def change(run: Path, before: str, after: str) -> None:
    """Make it a run that was begun with other code."""
    text = (run / MANIFEST).read_text()
    assert before in text
    (run / MANIFEST).write_text(text.replace(before, after, 1))
    RunDirectory(run).write_manifest(read_manifest(run))  # with the seal of the new content


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (*CODE, OTHER_CODE),
        ('"msgspec": "', '"msgspec": "0.', "msgspec is "),
        ('"numpy"', '"nunpy"', "nunpy is unknown to this version, was "),
    ],
)
def test_other_code_is_refused_in_one_line_and_nothing_changes(
    before: str, after: str, told: str, begun: Path, prism: Prism
) -> None:
    change(begun, *CODE[::-1])
    change(begun, before, after)
    was = {path.name: path.read_bytes() for path in begun.iterdir()}
    ended = prism("resume", "begun", "-q", "--ticks", "72")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith(f"prism: begun: cannot continue: {told}")
    assert ended.err.endswith(REMEDY)
    with pytest.raises(RunDirectoryError, match="cannot continue"):
        resume(begun, ticks=72)
    assert {path.name: path.read_bytes() for path in begun.iterdir()} == was


@pytest.mark.usefixtures("begun")
def test_a_fork_does_the_ticks_again_and_a_replay_that_differs_names_other_code(
    prism: Prism, small_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = prism("fork", "begun", "--at", "60", "--ticks", "72", "-q", "--out", "forked")
    assert ended.out.strip() == json.loads((small_run / "summary.json").read_text())["digest"]
    assert prism("resume", "forked", "-q", "--ticks", "73").code == 0
    assert prism("replay", "begun", "-q").err == ""
    comes_first: Callable[..., Any] = feed_kernel.comes_first
    monkeypatch.setattr(feed_kernel, "comes_first", lambda *given: not comes_first(*given))  # other results
    for ended in (prism("replay", "begun", "-q"), prism("fork", "begun", "--at", "60", "-q", "--out", "another")):
        assert ended.code == 1
        assert f"; {OTHER_CODE}" in ended.err
