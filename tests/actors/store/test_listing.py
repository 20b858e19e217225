"""The list of runs, what is found in each, and the lock of a directory."""

import errno
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.core.errors import RunDirectoryError, RunLockedError
from actors.core.phase import Phase
from actors.runs.verify import Verification, verify_files
from actors.store.checkpoint import write_checkpoint
from actors.store.journal import JOURNAL
from actors.store.lock import LOCK, PHASE, PhaseNote, holder_of, locked
from actors.store.manifest import MANIFEST
from actors.store.oracle_log import ANSWERS, AnswersScan, scan_answers
from actors.store.rounds import ROUNDS
from actors.store.run import RunStatus, list_run, runs_in
from prism.config import Config
from tests.actors.store.files import checkpoint_at, run_of
from tests.actors.store.test_independent_reader import summary_of
from tests.catalogue import catalogue
from tests.crash.disk import DiskFault, SimulatedDisk
from tests.paths import ROOT
from tests.recorded import EMBEDDED, make_run


@pytest.fixture
def run(embedded: Path, tmp_path: Path) -> Path:
    """A copy of a run, to be changed."""
    return Path(shutil.copytree(embedded, tmp_path / "run"))


def cut(run: Path, size: int) -> None:
    """Leave this many bytes of the journal, and neither checkpoint nor summary."""
    with (run / JOURNAL).open("r+b") as file:
        file.truncate(size)
    for path in run.glob("checkpoint-*.bin"):
        path.unlink()
    (run / "summary.json").unlink()


def test_a_run_with_all_its_ticks_is_done(run: Path) -> None:
    line, summary = list_run(run), summary_of(run)
    assert (line.status, line.is_resumable) == (RunStatus.DONE, False)
    assert (line.ticks, line.length, line.agents) == (summary["ticks"], summary["ticks"], summary["agents"])
    assert line.digest == summary["digest"]
    assert (line.holder, line.parent) == (None, None)


def test_a_run_without_a_summary_has_crashed_and_can_be_resumed(run: Path) -> None:
    cut(run, (run / JOURNAL).stat().st_size - 5)
    line = list_run(run)
    assert (line.status, line.is_resumable) == (RunStatus.CRASHED, True)
    assert line.ticks == line.length - 1


def test_a_run_at_work_is_running_in_the_phase_of_its_process(run: Path) -> None:
    def write(since: float) -> None:
        (run / PHASE).write_bytes(msgspec.json.encode(PhaseNote(phase=Phase.WAITING_FOR_DISK, since=since)))

    write(time.time() + 60.0)
    assert list_run(run).phase is None, "nobody is at work"
    with locked(run):
        line = list_run(run)
        assert (line.status, line.is_resumable) == (RunStatus.RUNNING, False)
        assert line.holder is not None
        now = line.phase
        assert now is not None
        assert now.phase is Phase.WAITING_FOR_DISK
        write(time.time() - 60.0)
        assert list_run(run).phase is None, "a process that is gone has left it"


@catalogue("name", [JOURNAL, "config.yaml", "manifest.json"])
def test_a_run_with_an_unreadable_file_is_damaged(run: Path, name: str) -> None:
    (run / name).write_bytes(b"\xff\xfe nothing of the kind")
    line = list_run(run)
    assert (line.status, line.is_resumable) == (RunStatus.DAMAGED, False)


def test_a_run_whose_segments_have_a_gap_is_damaged_and_still_known(tmp_path: Path) -> None:
    run = make_run(tmp_path, {**EMBEDDED, "run": {"segment_mb": 0.01}})
    assert list_run(run).status is RunStatus.DONE
    segment = sorted(run.glob("journal-*.seg"))[1]
    whole = segment.read_bytes()
    for damage in (lambda: segment.write_bytes(whole[: len(whole) // 8]), segment.unlink):
        damage()
        line = list_run(run)
        assert (line.status, line.is_resumable, line.domain) == (RunStatus.DAMAGED, False, "social")


def test_the_runs_of_a_directory_are_listed_newest_first_and_others_left_out(run: Path) -> None:
    shutil.copytree(run, run.parent / "another")
    os.utime(run.parent / "another" / MANIFEST, (1e9, 1e9))
    (run.parent / "notes").mkdir()
    (run.parent / "file.txt").write_text("no run")
    assert [line.path.name for line in runs_in(run.parent)] == ["run", "another"]
    os.utime(run / MANIFEST, (9e8, 9e8))
    assert [(line.path.name, line.domain) for line in runs_in(run.parent)] == [("another", "social"), ("run", "social")]
    assert [line.path.name for line in runs_in(run)] == ["run"]


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
        for place in range(0, len(whole().visible(name)), 29):
            found = verify_files(flipped(name, place))
            assert name in bad(found), (name, place)


def test_a_file_that_cannot_be_read_is_told_and_the_others_are_looked_at() -> None:
    undisturbed = whole()
    undisturbed.operations.clear()
    files = {finding.file for finding in verify_files(undisturbed).findings}
    unreadable = set()
    for number, (operation, name) in enumerate(undisturbed.operations, 1):
        if operation != "names":
            disk = whole()
            disk.fault = DiskFault(at=len(disk.operations) + number)
            found = verify_files(disk)
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

    monkeypatch.setattr("actors.runs.verify.scan_answers", meanwhile)
    assert verify_files(disk).is_good
    assert bad(verify_files(disk)) == [ROUNDS]


HOLD = """
import sys; from pathlib import Path; from actors.store.lock import locked
with locked(Path(sys.argv[1])):
    print(1, flush=True); input()
"""
"""Holds the lock of the directory it is given, says so, and waits."""


@pytest.fixture
def elsewhere(tmp_path: Path) -> subprocess.Popen[bytes]:
    """Another process that holds the lock."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"1\n"
    return holder


def test_a_second_process_is_refused_and_told_who_holds_it_until_that_is_killed(
    tmp_path: Path, elsewhere: subprocess.Popen[bytes]
) -> None:
    assert str(holder_of(tmp_path)).startswith(f"process {elsewhere.pid} on ")
    with pytest.raises(RunLockedError, match=f"is in use by process {elsewhere.pid} on "), locked(tmp_path):
        pytest.fail("two at once")
    elsewhere.kill()
    elsewhere.communicate()
    assert (tmp_path / LOCK).read_text().startswith(f"process {elsewhere.pid} on "), "which means nothing"
    assert holder_of(tmp_path) is None
    with locked(tmp_path):
        assert (tmp_path / LOCK).read_text().startswith(f"process {os.getpid()} on ")
    assert (tmp_path / LOCK).read_text() == ""


def test_no_locks_and_no_directory_are_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unlockable(_: int, __: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", unlockable)
    with pytest.raises(RunDirectoryError, match=r"run\.lock: cannot be locked: No locks available"), locked(tmp_path):
        pytest.fail("nobody was kept out")
    with pytest.raises(RunDirectoryError, match=r"cannot be opened: No such file"), locked(tmp_path / "none"):
        pytest.fail("there is nothing to lock")
