"""One configuration and one seed are one journal, byte by byte, whatever the schedule and however slow the disk."""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256

import pytest

from actors.store.journal import JOURNAL
from actors.store.oracle_log import ANSWERS
from actors.store.rounds import ROUNDS
from tests.catalogue import catalogue
from tests.crash.disk import SimulatedDisk
from tests.crash.scenes import EMBEDDED, Scene, with_deliberation
from tests.paths import ROOT
from tests.tiers import Size

PRINT_JOURNAL = "from tests.crash.test_one_journal import fingerprint; print(fingerprint())"


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
