"""A full or a broken disk ends a run with one clear line, and rows and journals are the same in every schedule."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterable
from hashlib import sha256

import pytest

from actors.store.journal import JOURNAL
from actors.store.oracle_log import ANSWERS
from actors.store.rounds import ROUNDS
from tests.catalogue import catalogue
from tests.crash.disk import Crash, Cut, DiskFault, SimulatedDisk
from tests.crash.scenes import EMBEDDED, LIVE, Scene, with_deliberation
from tests.crash.trial import CrashTrial, Fault, Trial
from tests.paths import ROOT
from tests.tiers import Size

SCENES = pytest.mark.parametrize("scene", [EMBEDDED, LIVE], ids=["embedded", "live"])
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


PRINT_JOURNAL = "from tests.crash.test_faults import fingerprint; print(fingerprint())"


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
