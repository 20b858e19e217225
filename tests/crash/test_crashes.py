"""Nothing is lost: a run that crashes at any operation of its disk, in any way, goes on as if nothing had happened."""

from collections.abc import Sequence

import msgspec
import pytest

from actors.store.journal import JOURNAL
from actors.store.oracle_log import ANSWERS
from actors.store.segments import start_of
from tests.catalogue import catalogue
from tests.crash.disk import READS, Crash, CrashedError, Cut, SimulatedDisk
from tests.crash.scenes import (
    EMBEDDED,
    FAILING,
    LIVE,
    REAL_TIME,
    SHARED,
    SHARED_LIVE,
    Scene,
    with_deliberation,
)
from tests.crash.trial import CrashTrial, Fault, Trial, journal_records, names_of, records, trials
from tests.tiers import Size

JUDGED = 10
"""The tag of a judgement in the oracle's log."""
OF_SHARED = 7
"""The place in it of what an audited question would have shared; empty in one that was asked for all."""
REASON, LATENCY_S = 6, 8
"""The places in an answer of the reason why it is a fallback, and of the time that it took."""

SCENES = pytest.mark.parametrize("scene", [EMBEDDED, LIVE], ids=["embedded", "live"])


def crashes_each(scene: Scene, trials: Sequence[Trial]) -> float:
    """How many crashes a scene stood, in the mean of these trials."""
    crashes = 0
    for trial in trials:
        crash_trial = CrashTrial(scene, trial)
        crash_trial.run()
        crashes += crash_trial.crashes
    return crashes / len(trials)


def test_the_scenes_are_worth_a_crash() -> None:
    for scene in (EMBEDDED, LIVE):
        disk = scene.whole
        assert len(journal_records(disk.files)) == 1 + scene.config.simulation.length
        assert len([name for name in disk.visible_names() if name.startswith("checkpoint-")]) >= 2
        assert {"append", "sync", "truncate", "rename", "remove", "sync_directory"} - {
            operation for operation, _ in disk.operations
        } == {"truncate"}
    assert len(names_of(records(LIVE.whole.visible(ANSWERS)))) >= 10
    assert len([name for name in LIVE.whole.visible_names() if start_of(name) >= 0]) >= 3
    assert any(b"Breaking: a bridge" in record for record in journal_records(LIVE.whole.files))
    other = SimulatedDisk()
    LIVE.run(other, process=2)
    assert other.visible(JOURNAL) != LIVE.whole.visible(JOURNAL), "another process gets other answers"


@pytest.mark.slow
@pytest.mark.parametrize("scene", [SHARED, SHARED_LIVE, FAILING], ids=["embedded", "live", "failing"])
def test_a_run_whose_questions_share_judgements_stands_crashes_anywhere(scene: Scene, size: Size) -> None:
    log = [msgspec.msgpack.decode(record[40:]) for record in records(scene.whole.visible(ANSWERS))]
    judged = [record for record in log if record[0] == JUDGED]
    assert any(record[OF_SHARED] for record in judged), "no audit"
    if scene is FAILING:
        assert sum(not record[OF_SHARED] for record in judged) >= 10, "few archetypes"
        answers = [record for record in log if record[0] != JUDGED]
        assert sum(bool(record[REASON]) for record in answers) >= 50, "few failures"
        assert max(record[LATENCY_S] for record in answers) > scene.config.deliberation_ticks, "no tick waits"
    else:
        assert len(log) > 2 * len(judged), "nothing is shared"
        assert crashes_each(scene, trials(scene, size(20, everyday=4), faults=1)) >= 0.5
    assert crashes_each(scene, trials(scene, size(10, everyday=3), faults=2, first_seed=1000)) >= 1.4


@pytest.mark.everyday(4)
@pytest.mark.parametrize(
    ("scene", "faults", "everyday", "least"),
    [
        (EMBEDDED, 1, 8, 0.7),
        (LIVE, 1, 8, 0.7),
        (EMBEDDED, 5, 4, 3.5),
        (LIVE, 5, 4, 3.0),
        (EMBEDDED, 2, 20, 1.7),
        (LIVE, 2, 20, 1.7),
    ],
    ids=["one", "one-live", "five", "five-live", "two", "two-live"],
)
def test_a_run_stands_crashes_anywhere_and_while_it_mends_another(
    scene: Scene, faults: int, everyday: int, least: float, size: Size
) -> None:
    assert crashes_each(scene, trials(scene, size(60 // faults, everyday=everyday), faults=faults)) >= least


def test_a_run_killed_before_its_journals_name_was_on_the_medium_loses_nothing_later() -> None:
    operations = [each for each in EMBEDDED.whole.operations if each[0] not in READS]
    disk = SimulatedDisk(crash=Crash(at=1 + operations.index(("sync_directory", ""), 7), share=0.0))
    with pytest.raises(CrashedError):
        EMBEDDED.run(disk)
    assert disk.visible(JOURNAL)
    assert not disk.surviving(Cut.LOST, 0).visible(JOURNAL)
    disk = disk.surviving(Cut.KILLED, 0)
    disk.crash = Crash(at=16, share=0.0)  # before its first checkpoint, which would sync the names
    with pytest.raises(CrashedError):
        EMBEDDED.run(disk)
    assert len(records(disk.surviving(Cut.LOST, 0).visible(JOURNAL))) > 3


def test_a_checkpoint_whose_name_survives_by_itself_misses_nothing_that_was_written_before_it(size: Size) -> None:
    changes = [each for each in EMBEDDED.whole.operations if each[0] not in READS]
    renamed = [
        at for at, (operation, name) in enumerate(changes, start=1) if (operation, name[:6]) == ("rename", ".check")
    ]
    for at in renamed:
        for seed in range(0, size(20, everyday=6), 2):
            fault = Fault(crash=Crash(at=at, share=1.0), cut=Cut.REORDERED)
            CrashTrial(EMBEDDED, Trial(faults=(fault,), seed=seed)).run()


@pytest.mark.everyday(1)
@pytest.mark.parametrize("lookahead", [0, 1])
def test_a_run_stands_crashes_whatever_its_lookahead(lookahead: int, size: Size) -> None:
    scene = Scene(is_live=True, config=with_deliberation(lookahead))
    assert crashes_each(scene, trials(scene, size(20, everyday=4), faults=2)) >= 1.5


@pytest.mark.slow
def test_a_run_in_real_time_stands_crashes_and_replays_with_the_same_late_decisions(size: Size) -> None:
    assert b"late" in REAL_TIME.whole.visible(JOURNAL)
    assert crashes_each(REAL_TIME, trials(REAL_TIME, size(20, everyday=10), faults=2)) >= 1.5


@SCENES
@catalogue("cut", [Cut.KILLED, Cut.LOST, Cut.REORDERED])
def test_a_run_that_is_done_stands_a_power_cut_and_does_nothing_more(scene: Scene, cut: Cut) -> None:
    beyond = Crash(at=10_000, share=0.0)
    crash_trial = CrashTrial(scene, Trial(faults=(Fault(crash=beyond, cut=cut),), seed=1))
    disk = crash_trial.run()
    assert crash_trial.crashes == 0
    assert not [name for operation, name in disk.operations if operation == "append" and name == JOURNAL]
