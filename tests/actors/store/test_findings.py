from __future__ import annotations

from typing import Any

import pytest

from actors.store.checkpoint import write_checkpoint
from actors.store.findings import Verification, verify_files
from actors.store.journal import JOURNAL
from actors.store.oracle_log import ANSWERS, AnswersScan, scan_answers
from actors.store.rounds import ROUNDS
from prism.config import Config
from tests.actors.store.files import checkpoint_at, run_of
from tests.crash.disk import DiskFault, SimulatedDisk


def whole() -> SimulatedDisk:
    disk, ticks = run_of(6, answers=3)
    write_checkpoint(disk, checkpoint_at(2, ticks[1].end, ticks[1].link))
    write_checkpoint(disk, checkpoint_at(4, ticks[3].end, ticks[3].link))
    return disk


def flipped(name: str, place: int) -> SimulatedDisk:
    disk = whole()
    data = bytearray(disk.visible(name))
    data[place] ^= 4
    disk.truncate(name, 0)
    disk.append(name, bytes(data))
    return disk


def bad(verified: Verification) -> list[str]:
    return [finding.file for finding in verified.findings if not finding.is_good]


def test_every_flipped_byte_of_every_file_is_found() -> None:
    for name in whole().names():
        for place in range(0, len(whole().visible(name)), 13):
            found = verify_files(flipped(name, place))
            assert name in bad(found), (name, place)


def test_a_file_that_cannot_be_read_is_told_and_the_others_are_looked_at() -> None:
    undisturbed = whole()
    undisturbed.operations.clear()
    files = {finding.file for finding in verify_files(undisturbed, forks=()).findings}
    unreadable = set()
    for number, (operation, name) in enumerate(undisturbed.operations, 1):
        if operation != "names":
            disk = whole()
            disk.fault = DiskFault(at=len(disk.operations) + number)
            found = verify_files(disk, forks=())
            told = [finding.detail for finding in found.findings if finding.file == name]
            assert "Input/output error" in told[-1]
            assert {finding.file for finding in found.findings} >= files
            unreadable.add(name)
    assert unreadable >= {JOURNAL, ANSWERS, checkpoint_at(2, 0).name, checkpoint_at(4, 0).name}


def test_a_checkpoint_of_another_run_and_missing_files_are_told() -> None:
    disk, ticks = run_of(3)
    write_checkpoint(disk, checkpoint_at(2, ticks[1].end, ticks[0].link))
    (finding,) = (each for each in verify_files(disk).findings if not each.is_good)
    assert finding.detail == f"follows byte {ticks[1].end} of a journal that is not this one"
    disk = whole()
    disk.remove(ANSWERS)
    disk.remove(JOURNAL)
    found = {finding.file: finding.detail for finding in verify_files(disk).findings if not finding.is_good}
    assert found[ANSWERS] == "is missing"
    assert found[JOURNAL].startswith("there is none")


PER_ROUND = Config().simulation.ticks_per_round


def with_rows(ticks: int, *rounds: int) -> SimulatedDisk:
    """A run with rows of these rounds."""
    disk, _ = run_of(ticks)
    disk.append(ROUNDS, b"round,tick,posts\n" + b"".join(map(row, rounds)))
    return disk


def row(number: int) -> bytes:
    return f"{number},{number * PER_ROUND},7\n".encode()


def test_rows_of_a_run_at_work_are_not_ahead_of_its_journal_because_they_came_while_it_was_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = with_rows(PER_ROUND + 1, 1)

    def meanwhile(*arguments: Any) -> AnswersScan:
        disk.append(ROUNDS, row(2))
        return scan_answers(*arguments)

    monkeypatch.setattr("actors.store.findings.scan_answers", meanwhile)
    assert verify_files(disk, forks=()).is_good
    assert bad(verify_files(disk, forks=())) == [ROUNDS]
