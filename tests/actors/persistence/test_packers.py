"""Segments that other processes pack are those that a run packs itself, whatever becomes of these processes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.msgpack import encode
from structlog.testing import capture_logs

from actors.core.frames import HEAD
from actors.persistence import packers as module
from actors.persistence.disk import RealDisk
from actors.persistence.journal import JOURNAL
from actors.persistence.journal_writer import JournalWriter
from actors.persistence.packers import Packers
from actors.persistence.packing import packed
from tests.actors.persistence.files import SEGMENT, empty_run, frames
from tests.packers import packers_of

COUNT = 60
PAYLOADS = [tick.frame[HEAD.size :] for tick in frames(8)]
WANTED = encode(packed(0, lambda: PAYLOADS))


def packs(packers: Packers) -> bool:
    """Return whether ticks are packed as they should be."""
    return encode(packers.begin(0, lambda: PAYLOADS)(0, lambda: PAYLOADS)) == WANTED


def test_segments_have_the_same_bytes_however_many_processes_pack_them(tmp_path: Path) -> None:
    for count in range(3):
        (tmp_path / f"{count}").mkdir()
        with Packers(count) as packers, sealed_by(packers, tmp_path / f"{count}"):
            assert len(packers_of(os.getpid())) == count
        assert not packers_of(os.getpid())
    alone, *others = ({file.name: file.read_bytes() for file in (tmp_path / f"{n}").iterdir()} for n in range(3))
    assert others == [alone, alone]
    assert len(alone) > 4


@contextmanager
def sealed_by(packers: Packers, path: Path) -> Iterator[None]:
    """Write and seal ticks, some segments at a time."""
    (path / JOURNAL).write_bytes(empty_run().visible(JOURNAL))
    disk = RealDisk(path, syncs=False)
    writer = JournalWriter(disk, SEGMENT, packers)
    for tick in frames(COUNT):
        writer.append([tick.frame])
        writer.begin_segments()
        if writer.is_ahead:
            assert not writer.may_begin
            writer.write_segments()
            writer.take_out()
    writer.seal()
    disk.close()
    yield


def test_a_segment_whose_packer_is_killed_is_packed_here_and_one_event_says_so() -> None:
    with Packers(1) as packers, capture_logs() as lines:
        end = packers.begin(0, lambda: PAYLOADS)
        os.kill(packers_of(os.getpid())[0], signal.SIGKILL)
        assert encode(end(0, lambda: PAYLOADS)) == WANTED
        assert packers.at_once == 0
    assert [(each["event"], each["reason"], each["left"]) for each in lines] == [("packer_lost", "signal 9", 0)]


def test_a_packer_that_hangs_is_waited_for_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    with Packers(1) as packers, capture_logs() as lines:
        assert packs(packers)
        monkeypatch.setattr(module, "LIMIT_S", 0.2)
        os.kill(packers_of(os.getpid())[0], signal.SIGSTOP)
        assert packs(packers)
        assert [each["left"] for each in lines] == [0]


def test_where_no_process_can_be_started_the_run_packs_its_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with Packers(1) as packers, capture_logs() as lines:
        assert packers.begin(0, lambda: PAYLOADS) is packed
        assert packers.at_once == 0
    assert lines[0]["reason"] == "it did not start: No such file or directory"


def test_a_disk_that_fails_while_ticks_are_sent_is_the_callers_error_and_costs_no_other_segment() -> None:
    def failing() -> Iterator[bytes]:
        yield PAYLOADS[0]
        raise OSError(5, "Input/output error")

    with Packers(2) as packers:
        with pytest.raises(OSError, match="Input/output error"):
            packers.begin(0, failing)
        assert packs(packers)
