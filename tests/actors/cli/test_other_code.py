"""Runs whose code has changed, in PRISM or in their own domain: a resume refuses them, and a fork goes on."""

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
from tests.command import Ended, Prism
from tests.own_domains import CROSSING, Study, path_restored, write_study

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


CHANGED = "the domain's own code has changed (sha256 "


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return write_study(tmp_path / "study")


@pytest.fixture
def own(prism: Prism, study: Study) -> Prism:
    """Return `prism`, where each command imports the domain anew; there is a run of 15 of its 30 ticks in `run`."""

    def run(*arguments: str) -> Ended:
        with path_restored():
            return prism(*arguments)

    good(run("run", str(study.config), "-q", "--out", "run", "--ticks", "15"))
    return run


def good(ended: Ended) -> str:
    assert ended.code == 0, ended.err
    return ended.out


def test_a_run_is_resumed_replayed_verified_and_forked_from_anywhere(study: Study, own: Prism) -> None:
    whole = good(own("run", str(study.config), "-q", "--out", "whole"))
    assert good(own("resume", "run", "-q", "--ticks", "30")) == whole
    assert whole.strip() in good(own("replay", "run"))
    assert "BAD" not in good(own("verify", "run"))
    assert good(own("fork", "run", "-q", "--at", "20", "--out", "fork")) == whole
    assert "done" in good(own("runs", "."))


def test_the_doctor_asks_the_oracle_the_first_question_of_the_run(study: Study, own: Prism) -> None:
    assert "embedded, no server; answered 'green' in " in good(own("doctor", str(study.config)))
    one_tick = good(own("doctor", str(study.config), "--set", "simulation.ticks=1"))
    assert "embedded, no server; not asked, because" in one_tick


def test_other_code_and_settings_are_refused_and_a_fork_goes_on_with_them(study: Study, own: Prism) -> None:
    study.file.write_text(f"{CROSSING}\nX = 1\n")
    assert own("resume", "run", "--ticks", "20").code == 0  # with the code that it has kept
    edited = ("--trust", "--set", f"simulation.domain_path={study.path}")
    refused = own("resume", "run", "--ticks", "25", *edited)
    assert (refused.code, CHANGED in refused.err) == (2, True)
    assert own("replay", "run").code == 0
    good(own("fork", "run", "-q", "--at", "20", "--ticks", "25", "--out", "fork", *edited))
    before, after = (json.loads(Path(each, MANIFEST).read_text())["domain_code"] for each in ("run", "fork"))
    assert before != after
    refused = own("resume", "run", "--set", "domain.lights=4")
    assert (refused.code, "domain.lights is 4, was 3 when the run began" in refused.err) == (2, True)
    forked = own("fork", "run", "--at", "10", "--set", "domain.lights=4", "--out", "other")
    assert (forked.code, "it would have 4 agents, and its past has 3" in forked.err) == (2, True)
    assert not Path("other").exists()
