"""Damage at each byte of a run's files, and its effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pytest

from actors.core.errors import JournalError
from actors.persistence.journal import JOURNAL
from actors.persistence.oracle_log import ANSWERS
from actors.record.recovery import recover
from tests.command import Ended, Prism
from tests.durability.crashed import MORE_TICKS, Crashed
from tests.durability.memory import MemoryDisk

Damage = Callable[[bytes, int], bytes]


def cut(data: bytes, byte: int) -> bytes:
    return data[:byte]


def flip(data: bytes, byte: int) -> bytes:
    """Return the content with one bit flipped: another bit for each byte in turn."""
    return data[:byte] + bytes([data[byte] ^ 1 << byte % 8]) + data[byte + 1 :]


SOME = 7
"""The step of the everyday tier: one byte in seven is damaged, so over a file each of the eight bits equally often."""

DAMAGES = pytest.mark.parametrize("damage", [cut, flip])


class Mended(NamedTuple):
    """The result of `recover` on a damaged run."""

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
    """Return the results of `recover` for damage at each byte of a file, with some other files removed."""
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
