"""Files that are damaged, empty, missing, no files at all or of a newer format: a line that names them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from actors.core.frames import ORIGIN, Frame, encode_frame, link_of
from actors.persistence.checkpoint import FORMAT, checkpoint_names
from actors.persistence.disk import RealDisk
from actors.persistence.framed_files import read_frames
from actors.persistence.journal import JOURNAL, MAGIC, read_header
from actors.persistence.oracle_log import ANSWERS
from actors.record.manifest import CONFIG, MANIFEST
from tests.command import Prism
from tests.durability.crashed import Crashed
from tests.durability.damage import resumed
from tests.durability.memory import MemoryDisk

SPOILT = {
    JOURNAL: (1, 2),
    ANSWERS: (1, 0),
    CONFIG: (2, 3),
    MANIFEST: (2, 2),
}
"""`{file: (exit code when it is empty, when it is missing)}`."""


@pytest.mark.parametrize("name", SPOILT)
def test_an_empty_file_is_one_line_that_names_it(name: str, embedded: Path, prism: Prism) -> None:
    (embedded / name).write_bytes(b"")
    ended = resumed(prism)
    assert (ended.code, ended.err.count("\n")) == (SPOILT[name][0], 1)
    assert name in ended.err


@pytest.mark.parametrize("name", SPOILT)
def test_a_missing_file_is_one_line_that_names_it_or_is_made_again(
    name: str, crashed_embedded: Crashed, embedded: Path, prism: Prism
) -> None:
    (embedded / name).unlink()
    ended = resumed(prism)
    assert ended.code == SPOILT[name][1]
    if ended.code:
        assert ended.err.count("\n") == 1
        assert name in ended.err
    else:
        assert (embedded / JOURNAL).read_bytes() == crashed_embedded.whole


@pytest.mark.parametrize("command", [("resume", "--quiet"), ("verify",)])
@pytest.mark.parametrize("name", [*SPOILT, "checkpoint-000000000024.bin", "rounds.csv", "log.jsonl", "run.lock"])
def test_a_directory_in_place_of_a_file_is_no_traceback(
    name: str, command: tuple[str, ...], embedded: Path, prism: Prism
) -> None:
    (embedded / name).unlink()
    (embedded / name).mkdir()
    ended = prism(*command, "run")
    assert "Traceback" not in ended.err
    if ended.code and command != ("verify",):
        (error,) = [told for told in ended.err.splitlines() if "begun again at tick" not in told]
        assert name in error


def newer_header(journal: bytes, **changes: object) -> bytes:
    """The journal with a header in which some fields are others, and everything else as it should be."""
    disk = MemoryDisk({JOURNAL: journal})
    header, end = read_header(disk)
    payload = msgspec.msgpack.encode({**msgspec.to_builtins(header), **changes})
    return MAGIC + encode_frame(link_of(ORIGIN, payload), payload) + journal[end:]


@pytest.mark.parametrize("changes", [{"format": 3}, {"format": 3, "seed": "a text by now"}])
@pytest.mark.parametrize("command", [("resume", "--quiet"), ("replay", "--quiet")])
def test_a_journal_of_a_newer_format_is_refused_with_its_number(
    command: tuple[str, ...], changes: dict[str, object], embedded: Path, prism: Prism
) -> None:
    (embedded / JOURNAL).write_bytes(newer_header((embedded / JOURNAL).read_bytes(), **changes))
    ended = prism(*command, "run")
    assert (ended.code, ended.err.count("\n")) == (1, 1)
    assert ended.err.startswith("prism: journal.prism: has format 3, and this version of PRISM reads 2")


def test_a_checkpoint_of_a_newer_format_is_passed_over(crashed_embedded: Crashed, embedded: Path, prism: Prism) -> None:
    name = checkpoint_names(RealDisk(embedded))[0]
    _, frame = next(read_frames(RealDisk(embedded), name, 8))
    assert isinstance(frame, Frame)
    head = msgspec.msgpack.decode(frame.payload)
    payload = msgspec.msgpack.encode({**head, "format": FORMAT + 1})
    (embedded / name).write_bytes(b"PRISMC\r\n" + encode_frame(link_of(ORIGIN, payload), payload))
    ended = resumed(prism)
    assert ended.code == 0
    assert f"prism: skipped: {name}: has format {FORMAT + 1}, and this version of PRISM reads {FORMAT}\n" in ended.err
    assert (embedded / JOURNAL).read_bytes() == crashed_embedded.whole
