"""Files that are missing or of a newer format: a line that names them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from actors.core.frames import ORIGIN, Frame, encode_frame, link_of
from actors.store.checkpoint import FORMAT, checkpoint_names
from actors.store.disk import RealDisk
from actors.store.framed_files import read_frames
from actors.store.journal import JOURNAL
from actors.store.manifest import CONFIG, MANIFEST
from actors.store.oracle_log import ANSWERS
from tests.command import Prism
from tests.durability.crashed import Crashed, resumed

EXITS = {JOURNAL: 2, ANSWERS: 0, CONFIG: 3, MANIFEST: 2}
"""`{file: the exit code of a resume without it}`."""


@pytest.mark.parametrize("name", EXITS)
def test_a_missing_file_is_one_line_that_names_it_or_is_made_again(
    name: str, crashed_embedded: Crashed, embedded: Path, prism: Prism
) -> None:
    (embedded / name).unlink()
    ended = resumed(prism)
    assert ended.code == EXITS[name]
    if ended.code:
        assert ended.err.count("\n") == 1
        assert name in ended.err
    else:
        assert (embedded / JOURNAL).read_bytes() == crashed_embedded.whole


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
