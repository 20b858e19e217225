"""Segments that other processes pack are those that a run packs itself, whatever becomes of these processes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
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

COUNT = 26
PAYLOADS = [tick.frame[HEAD.size :] for tick in frames(8)]
WANTED = encode(packed(0, lambda: PAYLOADS))


def packs(packers: Packers) -> bool:
    """Return whether ticks are packed as they should be."""
    return encode(packers.begin(0, lambda: PAYLOADS)(0, lambda: PAYLOADS)) == WANTED


def test_segments_have_the_same_bytes_whoever_packs_them(tmp_path: Path) -> None:
    for count in (0, 2):
        path = tmp_path / f"{count}"
        path.mkdir()
        (path / JOURNAL).write_bytes(empty_run().visible(JOURNAL))
        with Packers(count) as packers:
            disk = RealDisk(path, syncs=False)
            writer = JournalWriter(disk, SEGMENT, packers)
            for tick in frames(COUNT):
                writer.append([tick.frame])
                writer.begin_segments()
                assert len(packers_of(os.getpid())) <= count
                if writer.is_ahead:
                    assert not writer.may_begin
                    writer.write_segments()
                    writer.take_out()
            writer.seal()
            disk.close()
            assert packers.at_once == count
        assert not packers_of(os.getpid())
    alone, beside = ({file.name: file.read_bytes() for file in (tmp_path / f"{n}").iterdir()} for n in (0, 2))
    assert beside == alone
    assert len(alone) > 3


def test_a_segment_whose_packer_is_killed_is_packed_here_and_one_event_says_so() -> None:
    with Packers(1) as packers, capture_logs() as lines:
        end = packers.begin(0, lambda: PAYLOADS)
        os.kill(packers_of(os.getpid())[0], signal.SIGKILL)
        assert encode(end(0, lambda: PAYLOADS)) == WANTED
        assert packers.at_once == 0
    assert [(each["event"], each["reason"], each["left"]) for each in lines] == [("packer_lost", "signal 9", 0)]


def test_a_packer_that_hangs_is_waited_for_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIMIT_S", 0.2)
    with Packers(1) as packers, capture_logs() as lines:
        end = packers.begin(0, lambda: PAYLOADS)
        os.kill(packers_of(os.getpid())[0], signal.SIGSTOP)
        assert encode(end(0, lambda: PAYLOADS)) == WANTED
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
