from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import msgspec
import pytest

from actors.core.phase import Phase
from actors.store.journal import JOURNAL
from actors.store.listing import RunStatus, list_run, runs_in
from actors.store.lock import locked
from actors.store.manifest import MANIFEST
from actors.store.phase_file import PHASE, PhaseNote
from tests.actors.store.test_independent_reader import summary_of
from tests.catalogue import catalogue
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

    write(time.time() + 1.0)
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
