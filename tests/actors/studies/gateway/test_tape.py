"""The tape of an experiment: killed writers, damaged lines, full disks, and a second writer."""

from __future__ import annotations

import errno
import json
import os
import zlib
from pathlib import Path

import pytest

from actors.core.errors import DiskFailedError, RunDirectoryError
from actors.studies.gateway import tape as module
from actors.studies.gateway.tape import ExperimentTape, Kept


def recorded(path: Path, *kept: Kept) -> Path:
    tape = ExperimentTape(path, "record")
    for each in kept:
        tape.add(each)
    tape.close()
    return path


def answered(key: str, body: str = "yes", **more: float) -> Kept:
    return Kept(key=key, status=200, body=body, usd=more.get("usd", 0.0), read=int(more.get("read", 0)))


def test_a_line_is_the_checksum_of_its_json(tmp_path: Path) -> None:
    path = recorded(tmp_path / "t", Kept(key="k", status=200, body="hello"))
    header, line = path.read_bytes().splitlines()
    for each in (header, line):
        total, content = each.split(b" ", 1)
        assert int(total, 16) == zlib.crc32(content)
    assert json.loads(line[9:]) == {"key": "k", "status": 200, "body": "hello"}


def test_answers_come_back_in_their_order_and_failures_apart(tmp_path: Path) -> None:
    refused = Kept(key="k", status=503, body="busy")
    path = recorded(tmp_path / "t", refused, answered("k", "first"), answered("other"), answered("k", "second"))
    tape = ExperimentTape(path, "replay")
    found = [tape.answer("k", number) for number in range(3)]
    assert [each and each.body for each in found] == ["first", "second", None]
    assert [tape.failure("k", 0), tape.failure("k", 7), tape.failure("other", 0)] == [refused, refused, None]
    tape.close()


def test_totals_are_those_of_all_calls_that_reached_a_server(tmp_path: Path) -> None:
    path = recorded(
        tmp_path / "t",
        answered("a", usd=0.25, read=10),
        answered("a", usd=0.5, read=30),
        Kept(key="b", failure="timeout"),
        Kept(key="b", failure="connection_error"),
        Kept(key="c", is_call=False, status=200),
    )
    tape = ExperimentTape(path, "record")
    totals = tape.totals
    assert (totals.calls, totals.failed, totals.prompt_tokens, totals.usd) == (3, 1, 40, 0.75)
    tape.close()


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_half_a_line_at_the_end_is_cut_off_and_its_question_asked_again(tmp_path: Path, cut: int) -> None:
    path = recorded(tmp_path / "t", answered("a"), answered("b"))
    path.write_bytes(path.read_bytes()[:-cut])
    reader = ExperimentTape(path, "replay")
    assert (reader.answers("a"), reader.answers("b")) == (1, 0)
    reader.close()
    recorded(path, answered("b", "again"))
    tape = ExperimentTape(path, "replay")
    found = tape.answer("b", 0)
    assert found is not None
    assert (found.body, tape.answers("a")) == ("again", 1)
    tape.close()


def test_a_damaged_line_is_named_by_its_place(tmp_path: Path) -> None:
    path = recorded(tmp_path / "t", answered("a", "yes"), answered("b"))
    path.write_bytes(path.read_bytes().replace(b"yes", b"yeS", 1))
    with pytest.raises(RunDirectoryError, match="t: line 2 is damaged; remove that line"):
        ExperimentTape(path, "record")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])
    tape = ExperimentTape(path, "record")
    assert (tape.answers("a"), tape.answers("b")) == (0, 1)
    tape.close()


@pytest.mark.parametrize("content", [b"my notes\n", b'{"prism_tape":1}\n', b"00000000 {}\n"])
def test_a_file_of_another_kind_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(RunDirectoryError, match="is no tape of an experiment"):
        ExperimentTape(tmp_path / "t", "record")
    assert (tmp_path / "t").read_bytes() == content


def test_a_tape_of_a_later_version_is_refused(tmp_path: Path) -> None:
    content = b'{"prism_tape":2}'
    (tmp_path / "t").write_bytes(b"%08x %b\n" % (zlib.crc32(content), content))
    with pytest.raises(RunDirectoryError, match="is a tape of format 2; this version of PRISM reads 1"):
        ExperimentTape(tmp_path / "t", "replay")


def test_a_replay_needs_a_tape(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="there is no such tape"):
        ExperimentTape(tmp_path / "t", "replay")


def test_a_second_writer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOCKED_WAIT_S", 0.0)
    tape = ExperimentTape(tmp_path / "t", "record")
    with pytest.raises(RunDirectoryError, match="another process appends to it"):
        ExperimentTape(tmp_path / "t", "record")
    tape.close()
    ExperimentTape(tmp_path / "t", "record").close()


def test_a_full_disk_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tape = ExperimentTape(tmp_path / "t", "record")
    tape.add(answered("a"))
    before = (tmp_path / "t").read_bytes()
    real, room = os.pwrite, 20

    def pwrite(descriptor: int, content: bytes, place: int) -> int:
        nonlocal room
        if room == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = real(descriptor, content[:room], place)
        room -= written
        return written

    monkeypatch.setattr(os, "pwrite", pwrite)
    with pytest.raises(OSError, match="No space left"):
        tape.add(answered("b"))
    assert (tmp_path / "t").read_bytes() == before
    assert (tape.answers("b"), tape.totals.calls) == (0, 1)
    monkeypatch.undo()
    tape.add(answered("b"))
    tape.close()
    assert (tmp_path / "t").read_bytes().startswith(before)


def test_a_tape_in_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="there is no such tape"):
        ExperimentTape(tmp_path / "none" / "t", "record")


def test_a_full_disk_at_the_first_line_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pwrite(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", pwrite)
    with pytest.raises(DiskFailedError, match="t: cannot be used"):
        ExperimentTape(tmp_path / "t", "record")


def test_a_device_or_a_directory_is_no_tape(tmp_path: Path) -> None:
    for place in (Path("/dev/zero"), tmp_path):
        with pytest.raises(RunDirectoryError, match="is no file, so it is no tape"):
            ExperimentTape(place, "replay")
