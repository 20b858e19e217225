"""Damage at a byte of a run's files, and what is made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pytest

from actors.core.errors import JournalError
from actors.persistence.journal import JOURNAL
from actors.persistence.oracle_log import ANSWERS
from actors.persistence.recovery import recover
from tests.command import Ended, Prism
from tests.durability.crashed import MORE_TICKS, Crashed
from tests.durability.memory import MemoryDisk

Damage = Callable[[bytes, int], bytes]


def cut(data: bytes, byte: int) -> bytes:
    return data[:byte]


def flip(data: bytes, byte: int) -> bytes:
    """Another bit for each byte in turn."""
    return data[:byte] + bytes([data[byte] ^ 1 << byte % 8]) + data[byte + 1 :]


SOME = 7
"""Every day one byte in seven is damaged, which over a file is each of the eight bits as often."""

DAMAGES = pytest.mark.parametrize("damage", [cut, flip])


class Mended(NamedTuple):
    """What `recover` made of a damaged run."""

    journal: bytes
    answers: bytes
    checkpoint: str | None


def mend(files: dict[str, bytes]) -> Mended | JournalError:
    disk = MemoryDisk(files)
    try:
        found = recover(disk)
    except JournalError as error:
        return error
    name = None if found.checkpoint is None else found.checkpoint.name
    assert name is None or disk.files[name] == files[name]
    return Mended(disk.files[JOURNAL], disk.files[ANSWERS], name)


def outcomes(
    crashed: Crashed, name: str, damage: Damage, every: int, without: Sequence[str] = ()
) -> Iterator[tuple[int, Mended | JournalError]]:
    """What `recover` does about damage at each byte of a file, where some others are gone."""
    files = {file: content for file, content in MemoryDisk.of(crashed.path).files.items() if file not in without}
    for byte in range(0, len(files[name]), every):
        yield byte, mend({**files, name: damage(files[name], byte)})


def resumed(prism: Prism, *options: str) -> Ended:
    ended = prism("resume", "run", "--quiet", "--ticks", str(MORE_TICKS), *options)
    assert "Traceback" not in ended.err
    assert all(line.startswith("prism: ") for line in ended.err.splitlines()), ended.err
    if ended.code:
        assert ended.out == ""
    return ended
