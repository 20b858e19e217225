"""Nothing is lost: a run that crashes at any operation of its disk, in any way, goes on as if nothing had happened."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.store.disk import RealDisk, write_whole
from actors.store.journal import JOURNAL
from actors.store.oracle_log import ANSWERS
from actors.store.rounds import ROUNDS
from actors.store.segments import start_of
from tests.catalogue import catalogue
from tests.crash.disk import READS, Crash, CrashedError, Cut, DiskFault, SimulatedDisk
from tests.crash.scenes import EMBEDDED, FAILING, LIVE, REAL_TIME, SHARED, SHARED_LIVE, Scene, with_deliberation
from tests.crash.trial import CrashTrial, Fault, Trial, journal_records, names_of, records, trials
from tests.paths import ROOT
from tests.tiers import Size

JUDGED = 10  # the tag of a judgement in the oracle's log
OF_SHARED = 7  # the place in it of what an audited question would have shared; empty in one that was asked for all
REASON, LATENCY_S = 6, 8  # the places in an answer of the reason why it is a fallback, and of the time that it took

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


SEEDS = range(200)


def found(disk: SimulatedDisk, cut: Cut) -> set[bytes]:
    """What there can be of file `a` after a crash."""
    return {disk.surviving(cut, seed).visible("a") for seed in SEEDS}


def written() -> SimulatedDisk:
    """A disk with four bytes of `a` on the medium, and four more on their way there in two appends."""
    disk = SimulatedDisk()
    write_whole(disk, "a", [b"1234"])
    disk.append("a", b"56")
    disk.append("a", b"78")
    return disk


@catalogue(
    ("cut", "possible"),
    [
        (Cut.LOST, {b"1234"}),
        (Cut.TORN, {b"1234", b"12345", b"123456", b"1234567", b"12345678"}),
        (Cut.ZEROED, {b"1234", b"1234\0\0\0\0", b"12345\0\0\0", b"123456\0\0", b"1234567\0", b"12345678"}),
        (Cut.REORDERED, {b"1234", b"1234\0\0\0\0", b"1234\0\0\0008", b"1234\0\00078", b"1234\000678", b"12345678"}),
    ],
)
def test_a_power_cut_leaves_what_was_synced_and_anything_of_the_rest(cut: Cut, possible: set[bytes]) -> None:
    disk = written()
    assert found(disk, cut) == possible
    disk.sync("a")
    assert found(disk, cut) == {b"12345678"}


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.sampled_from("ab"), st.binary(max_size=5)),
        st.tuples(st.just("truncate"), st.sampled_from("ab"), st.integers(0, 12)),
        st.tuples(st.just("rename"), st.sampled_from("ab"), st.sampled_from("ac")),
        st.tuples(st.just("remove"), st.sampled_from("abc")),
        st.tuples(st.just("sync"), st.sampled_from("ab")),
        st.tuples(st.just("sync_directory")),
        st.tuples(st.just("read"), st.sampled_from("abc"), st.integers(0, 12), st.integers(0, 12)),
    ),
    max_size=30,
)


@given(operations=OPERATIONS)
def test_as_long_as_nothing_breaks_it_is_like_a_real_disk(operations: list[tuple[Any, ...]]) -> None:
    with TemporaryDirectory() as path:
        real, simulated = RealDisk(Path(path)), SimulatedDisk()
        for name, *arguments in operations:
            # Where the product asks for neither: a longer file, a file of its own name, and syncing what is not there.
            if arguments and arguments[0] not in simulated.names() and name in {"truncate", "sync"}:
                continue
            if name == "truncate" and arguments[1] > simulated.size(arguments[0]):
                continue
            said = []
            for disk in (real, simulated):
                try:
                    said.append(getattr(disk, name)(*arguments))
                except OSError as error:
                    said.append(type(error))
            assert said[0] == said[1]
            assert real.names() == simulated.names()
        assert [real.read(name, 0, 1000) for name in real.names()] == [
            simulated.visible(name) for name in simulated.names()
        ]
        real.close()


FULL, BROKEN = errno.ENOSPC, errno.EIO
SAYS = {FULL: "No space left on device", BROKEN: "Input/output error"}
KINDS = pytest.mark.parametrize("code", SAYS, ids=["full", "broken"])


def faults(scene: Scene, code: int) -> range:
    """The numbers of the operations of an undisturbed run that this fault concerns."""
    concerned = [operation for operation, _ in scene.whole.operations if code != FULL or operation == "append"]
    return range(1, len(concerned) + 1)


def assert_stands(
    scene: Scene, code: int, places: Iterable[int], *, lasts: bool = False, first: tuple[Fault, ...] = ()
) -> int:
    """Strike a run at each of these operations; how often it ended over that."""
    ended = 0
    for at in places:
        fault = Fault(fault=DiskFault(at=at, code=code, lasts=lasts))
        crash_trial = CrashTrial(scene, Trial(faults=(*first, fault), seed=2 * at))
        crash_trial.run()
        assert all(SAYS[code] in line and "\n" not in line for line in crash_trial.complaints)
        ended += len(crash_trial.complaints)
    return ended


@pytest.mark.everyday(2)
@SCENES
@KINDS
def test_a_fault_at_any_operation_is_one_line_and_loses_nothing(scene: Scene, code: int, size: Size) -> None:
    places = faults(scene, code)
    assert len(places) > 100
    places = places[:: size(3, everyday=60)]
    assert assert_stands(scene, code, places) >= len(places) - 5  # a fickle oracle's run may be a little shorter


@pytest.mark.everyday(2)
@SCENES
@KINDS
def test_a_fault_for_good_is_one_line_and_loses_nothing(scene: Scene, code: int, size: Size) -> None:
    places = faults(scene, code)[:: size(6, everyday=60)]
    assert assert_stands(scene, code, places, lasts=True) >= len(places) - 1


@pytest.mark.everyday(2)
@KINDS
@pytest.mark.parametrize("cut", [Cut.KILLED, Cut.TORN])
def test_a_fault_while_a_crash_is_mended_is_one_line_and_loses_nothing(code: int, cut: Cut, size: Size) -> None:
    crash = Fault(crash=Crash(at=LIVE.whole.changes * 3 // 4, share=0.5), cut=cut)
    places = range(1, 50, size(2, everyday=16))
    assert assert_stands(LIVE, code, places, first=(crash,)) > 0.3 * len(places)


PRINT_JOURNAL = "from tests.crash.test_crashes import fingerprint; print(fingerprint())"


def fingerprint() -> str:
    return sha256(EMBEDDED.whole.visible(JOURNAL)).hexdigest()


@catalogue("lookahead", [4, 0, 1])
def test_every_schedule_and_every_disk_give_the_same_files(lookahead: int, size: Size) -> None:
    scene = Scene(is_live=False, config=with_deliberation(lookahead))
    names = (JOURNAL, ANSWERS, ROUNDS)
    for seed in range(size(50, everyday=4)):
        disk = SimulatedDisk()
        scene.run(disk, process=seed)
        assert [disk.visible(name) for name in names] == [scene.whole.visible(name) for name in names], seed


@pytest.mark.slow
def test_the_order_of_hashes_does_not_matter() -> None:
    journals = [
        subprocess.run(
            [sys.executable, "-c", PRINT_JOURNAL],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()[-1]  # the log goes there, too
        for seed in ("1", "42")
    ]
    assert set(journals) == {fingerprint()}
