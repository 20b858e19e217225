"""`prism resume` with other code: it must give the recorded ticks again, and what can be accepted instead."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actors import ActorError, Observer, resume
from actors.cli import resume as command
from actors.core.messages import Decided
from actors.persistence.checkpoint import checkpoint_names
from actors.persistence.disk import RealDisk
from actors.persistence.journal import JOURNAL
from actors.runs.directory import MANIFEST, RunDirectory
from actors.runs.manifest import Manifest
from actors.runs.replay import Replay
from actors.runtime.simulation import Simulation
from prism.social import feeds
from prism.social.world import SocialWorld
from tests.actors.cli.conftest import SMALL
from tests.command import Prism, prism_alone

pytestmark = pytest.mark.long

OTHER_CODE = "PRISM's code has changed (sha256 "
BY_CODE = "Resume it with the code that it was run with, or go on without the proof with --accept-code.\n"


@pytest.fixture(autouse=True)
def _nothing_blocks() -> None:
    """Let a task read files here: nothing else is under way that it could hold up."""


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
    RunDirectory(run).write_manifest(RunDirectory(run).manifest())  # with the seal of the new content


def contents(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.iterdir()}


def upgrades(run: Path) -> list[dict[str, Any]]:
    return list(json.loads((run / MANIFEST).read_text())["upgrades"])


def give_other_results(monkeypatch: pytest.MonkeyPatch, since: int = 0) -> None:
    """Make the code give other results from some tick on, `since` or later."""
    before: Callable[..., Any] = feeds.FeedWave.scores

    def scores(wave: feeds.FeedWave, found: Any) -> Any:
        return before(wave, found) if wave.tick < since else -before(wave, found)

    monkeypatch.setattr(feeds.FeedWave, "scores", scores)


@pytest.fixture
def undisturbed(small_run: Path) -> str:
    """The digest of the run that was left alone."""
    return str(json.loads((small_run / "summary.json").read_text())["digest"])


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('"code": "', '"code": "0', OTHER_CODE),
        ('"msgspec": "', '"msgspec": "0.', "msgspec is "),
        ('"numpy"', '"nunpy"', "nunpy is unknown to this version, was "),
    ],
)
def test_code_that_gives_the_same_ticks_goes_on_and_the_proof_is_recorded(
    before: str, after: str, told: str, begun: Path, prism: Prism, undisturbed: str
) -> None:
    change(begun, '"code": "0', '"code": "')
    change(begun, before, after)
    ended = prism("resume", "begun", "-q", "--ticks", "72")
    assert (ended.code, ended.out) == (0, f"{undisturbed}\n")
    assert ended.err.startswith(f"prism: {told}")
    assert ended.err.endswith(": proved, ticks 48 to 59 come out under this code as they are in the journal\n")
    assert ended.err.count("\n") == 1
    (proved,) = upgrades(begun)
    assert (proved["tick"], proved["proved"]) == (60, [48, 60])
    assert proved["before"] != proved["after"]
    assert prism("resume", "begun", "-q", "--ticks", "73").err == ""
    assert "header; other code after 60 ticks, proved on ticks 48 to 59\n" in prism("verify", "begun").out


def test_what_is_proved_is_said_first_and_its_progress_is_shown(begun: Path, prism: Prism) -> None:
    lines = prism("resume", "begun", "--ticks", "72").err.splitlines()
    assert lines[0].endswith("recorded ticks are done again and compared first (--accept-code leaves it out)")
    assert ": proved, ticks 48 to 59 come out" in lines[1]
    assert lines[2].startswith("prism: 60 agents, 72 ticks, from tick 60, seed 5; oracle: ")


def test_code_that_gives_another_tick_is_refused_and_nothing_changes(
    begun: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(begun)
    give_other_results(monkeypatch)
    ended = prism("resume", "begun", "-q", "--ticks", "72")
    assert ended.code == 2
    assert ended.err.startswith(f"prism: begun: cannot continue: {OTHER_CODE}")
    assert "; under this code tick 5" in ended.err
    assert "came out differently than in the journal: agent " in ended.err
    assert ended.err.endswith(f". {BY_CODE}")
    assert contents(begun) == before


def test_the_ticks_after_the_newest_checkpoint_are_proved_before_anything_changes(
    begun: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    (begun / checkpoint_names(RealDisk(begun))[0]).unlink()
    with (begun / JOURNAL).open("ab") as journal:
        journal.write(b"a torn tail")
    before = contents(begun)
    give_other_results(monkeypatch, since=50)
    assert prism("resume", "begun", "-q", "--ticks", "72").code == 2
    assert contents(begun) == before


def test_other_code_can_be_accepted_without_proof_and_a_replay_says_so(
    begun: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_other_results(monkeypatch)
    ended = prism("resume", "begun", "-q", "--ticks", "72", "--accept-code")
    assert (ended.code, ended.err) == (0, "")
    assert upgrades(begun)[0]["proved"] is None
    assert "; other code after 60 ticks, not proved\n" in prism("verify", "begun").out
    replayed = prism("replay", "begun", "-q")
    assert replayed.code == 1
    assert replayed.err.endswith("; the run went on with other code after tick 60, without a proof\n")


def test_a_replay_that_differs_names_other_code(begun: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch) -> None:
    assert prism("replay", "begun", "-q").err == ""
    give_other_results(monkeypatch)
    for ended in (prism("replay", "begun", "-q"), prism("fork", "begun", "--at", "60", "-q", "--out", "forked")):
        assert ended.code == 1
        assert f"; {OTHER_CODE}" in ended.err


def test_a_replay_that_differs_before_the_proof_says_from_where_on_it_was_proved(
    begun: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert prism("resume", "begun", "-q", "--ticks", "72").code == 0
    give_other_results(monkeypatch)
    assert prism("replay", "begun", "-q").err.endswith("other code after tick 60, proved from tick 48 on\n")


def test_with_one_checkpoint_all_ticks_are_proved(begun: Path, prism: Prism, undisturbed: str) -> None:
    (begun / checkpoint_names(RealDisk(begun))[1]).unlink()
    ended = prism("resume", "begun", "-q", "--ticks", "72")
    assert (ended.out, upgrades(begun)[0]["proved"]) == (f"{undisturbed}\n", [0, 60])


def test_without_a_checkpoint_all_ticks_are_proved(begun: Path, prism: Prism, undisturbed: str) -> None:
    for name in checkpoint_names(RealDisk(begun)):
        (begun / name).unlink()
    ended = prism("resume", "begun", "-q", "--ticks", "72")
    assert (ended.out, upgrades(begun)[0]["proved"]) == (f"{undisturbed}\n", [0, 60])


def test_a_fork_is_proved_from_its_fork_or_from_the_start(begun: Path, prism: Prism, tmp_path: Path) -> None:
    options = ("--at", "30", "--set", "feed.algorithm=hot", "-q")
    assert prism("fork", "begun", *options, "--ticks", "72", "--out", "whole").code == 0
    assert prism("fork", "begun", *options, "--ticks", "48", "--out", "forked").code == 0
    assert prism("resume", "forked", "-q", "--ticks", "60").code == 0
    for name, proved in (("forked", [48, 60]), ("copied", [0, 60])):
        if name == "copied":
            (tmp_path / name / checkpoint_names(RealDisk(tmp_path / name))[1]).unlink()
        else:
            change(tmp_path / name)
            shutil.copytree(tmp_path / name, tmp_path / "copied")
        assert prism("resume", name, "-q", "--ticks", "72").code == 0
        assert upgrades(tmp_path / name)[0]["proved"] == proved
        assert (tmp_path / name / JOURNAL).read_bytes() == (tmp_path / "whole" / JOURNAL).read_bytes()


def refuse_columns(monkeypatch: pytest.MonkeyPatch, may_load: Callable[[int], bool]) -> None:
    """Make the code one that cannot load a checkpoint of some ticks."""
    load = Simulation.restore

    def restore(simulation: Simulation, state: Any, columns: Any) -> None:
        if not may_load(state.engine.tick):
            raise KeyError("mood")
        load(simulation, state, columns)

    monkeypatch.setattr(Simulation, "restore", restore)


def test_if_only_the_newest_checkpoint_can_be_loaded_all_ticks_are_proved(
    begun: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch, undisturbed: str
) -> None:
    refuse_columns(monkeypatch, lambda tick: tick == 60)
    ended = prism("resume", "begun", "-q", "--ticks", "72")
    assert (ended.out, ended.err.count("\n"), upgrades(begun)[0]["proved"]) == (f"{undisturbed}\n", 1, [0, 60])


@pytest.mark.parametrize("options", [(), ("--accept-code",)])
def test_if_no_checkpoint_can_be_loaded_the_run_begins_again_at_tick_0(
    options: tuple[str, ...], begun: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch, undisturbed: str
) -> None:
    refuse_columns(monkeypatch, lambda _: False)
    ended = prism("resume", "begun", "-q", "--ticks", "72", *options)
    assert (ended.code, ended.out) == (0, f"{undisturbed}\n")
    told = "holds the world of another version, which cannot be read (KeyError: 'mood'); begun again at tick 0\n"
    assert ended.err.endswith(f"prism: checkpoint-000000000060.bin: {told}")
    assert upgrades(begun)[0]["proved"] == (None if options else [0, 60])


def test_a_fork_whose_checkpoints_cannot_be_loaded_is_refused(
    begun: Path, prism: Prism, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert prism("fork", "begun", "--at", "30", "--ticks", "60", "-q", "--out", "forked").code == 0
    change(tmp_path / "forked")
    before = contents(tmp_path / "forked")
    refuse_columns(monkeypatch, lambda _: False)
    ended = prism("resume", "forked", "-q", "--ticks", "72")
    assert ended.code == 2
    assert ended.err.endswith("Branch off again with: prism fork begun --at 30\n")
    assert contents(tmp_path / "forked") == before


def test_missing_rows_are_written_anew_after_the_proof(begun: Path, prism: Prism, small_run: Path) -> None:
    (begun / "rounds.csv").unlink()
    ended = prism("resume", "begun", "-q", "--ticks", "72")
    assert (ended.code, upgrades(begun)[0]["proved"]) == (0, [48, 60])
    assert ended.err.splitlines()[1].startswith("prism: rounds.csv: ")
    assert (begun / "rounds.csv").read_bytes() == (small_run / "rounds.csv").read_bytes()


def test_an_interrupted_proof_changes_nothing(begun: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(begun)

    def interrupt(world: SocialWorld, tick: int) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(SocialWorld, "triggers", interrupt)
    assert prism("resume", "begun", "-q", "--ticks", "72").code == 130
    assert contents(begun) == before


def test_what_cannot_be_done_again_is_no_proof(begun: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(begun)

    def fail(*_: object) -> Decided:
        raise ActorError("the oracle fails")

    monkeypatch.setattr(Replay, "commit", fail)
    ended = prism("resume", "begun", "-q", "--ticks", "72")
    assert ended.code == 2
    assert ended.err.endswith(f"; the recorded ticks cannot be done again: the oracle fails. {BY_CODE}")
    assert contents(begun) == before


def test_a_run_that_is_done_needs_no_proof(begun: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(begun)
    give_other_results(monkeypatch)
    assert prism("resume", "begun").out == "begun: has all its 60 ticks; --ticks N makes it longer\n"
    assert contents(begun) == before


def test_a_settings_change_is_refused_before_a_long_proof(begun: Path, prism: Prism) -> None:
    options = ("resume", "begun", "-q", "--ticks", "72", "--set", "run.checkpoint_every_ticks=3")
    assert prism(*options).err.endswith("or continue anyway with --accept-settings.\n")
    ended = prism("resume", "begun", "-q", "--ticks", "59")
    assert (ended.code, "proved" in ended.err) == (2, False)
    ended = prism(*options, "--accept-settings")
    assert (ended.code, ended.err.count("proved")) == (0, 1)


def test_from_python_other_code_is_proved_too(begun: Path, undisturbed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(begun, begun.with_name("other"))
    assert resume(begun, ticks=72, observer=Observer()).summary.digest == undisturbed
    assert upgrades(begun)[0]["proved"] == [48, 60]
    give_other_results(monkeypatch)
    with pytest.raises(ActorError, match="under this code tick 5"):
        resume(begun.with_name("other"), ticks=72)


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--accept-code", "the code is that of the run"),
        ("--accept-settings", "no setting has changed since the run was last resumed, or began"),
        ("--cut-damage", "it has no damage that a resume does not repair without it"),
    ],
)
def test_an_option_that_is_not_needed_is_refused(option: str, told: str, begun: Path, prism: Prism) -> None:
    change(begun, '"code": "0', '"code": "')
    before = contents(begun)
    ended = prism("resume", "begun", "-q", "--ticks", "72", option)
    assert (ended.code, ended.err) == (2, f"prism: begun: {option} is not needed: {told}\n")
    assert contents(begun) == before


def test_force_says_what_to_use(begun: Path, prism: Prism) -> None:
    ended = prism("resume", "begun", "--force")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert all(f"{option.opts[0]} to " in ended.err for option in command.resume.params if "accept" in option.opts[0])
    assert "--cut-damage to " in ended.err


def test_a_manifest_of_an_earlier_version_is_read(begun: Path) -> None:
    old = json.loads((begun / MANIFEST).read_text())
    del old["upgrades"]
    (begun / MANIFEST).write_text(json.dumps(old))
    assert isinstance(resume(begun, ticks=61).path, Path)
    assert len(upgrades(begun)) == 1
    assert Manifest.__struct_defaults__[-2] == ()
