"""Nothing is lost: a run that crashes at any operation of its disk, in any way, goes on as if nothing had happened."""

from __future__ import annotations

import pytest

from actors.answer_log import ANSWERS
from actors.journal import JOURNAL
from tests.crash.disk import Crash, Cut, SimulatedDisk
from tests.crash.scenes import EMBEDDED, LIVE, Scene
from tests.crash.trial import Blow, Ordeal, Trial, names_of, records, trials

SCENES = pytest.mark.parametrize("scene", [EMBEDDED, LIVE], ids=["embedded", "live"])


def crashes_in(scene: Scene, ordeals: list[Trial]) -> int:
    """How many crashes a scene stood."""
    crashes = 0
    for trial in ordeals:
        ordeal = Ordeal(scene, trial)
        ordeal.run()
        crashes += ordeal.crashes
    return crashes


def test_the_scenes_are_worth_a_crash() -> None:
    for scene in (EMBEDDED, LIVE):
        disk = scene.whole
        assert len(records(disk.visible(JOURNAL))) == 1 + scene.config.simulation.length
        assert len([name for name in disk.visible_names() if name.startswith("checkpoint-")]) == 2
        assert {"append", "sync", "truncate", "rename", "remove", "sync_directory"} - {
            operation for operation, _ in disk.operations
        } == {"truncate"}
    assert len(names_of(records(LIVE.whole.visible(ANSWERS)))) >= 10


def test_the_fickle_oracle_never_repeats_itself() -> None:
    journals = set()
    for life in range(10):
        disk = SimulatedDisk()
        LIVE.live(disk, life=life)
        journals.add(disk.visible(JOURNAL))
    assert len(journals) == 10


@SCENES
def test_a_run_stands_one_crash_anywhere(scene: Scene) -> None:
    assert crashes_in(scene, trials(scene, 300, blows=1)) >= 280


@SCENES
def test_a_run_stands_a_crash_while_it_mends_another(scene: Scene) -> None:
    assert crashes_in(scene, trials(scene, 200, blows=2)) >= 360


@SCENES
def test_a_run_stands_five_crashes_in_a_row(scene: Scene) -> None:
    assert crashes_in(scene, trials(scene, 50, blows=5)) >= 190


@SCENES
@pytest.mark.parametrize("cut", list(Cut))
def test_a_run_that_is_done_stands_a_power_cut_and_does_nothing_more(scene: Scene, cut: Cut) -> None:
    beyond = Crash(at=10_000, share=0.0)
    ordeal = Ordeal(scene, Trial(blows=(Blow(crash=beyond, cut=cut),), seed=1))
    disk = ordeal.run()
    assert ordeal.crashes == 0
    assert not [name for operation, name in disk.operations if operation == "append" and name == JOURNAL]
