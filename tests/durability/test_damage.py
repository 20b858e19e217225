"""Every byte of a run's files cut off or flipped: a clear refusal, or a run that ends as if nothing had happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.core.errors import DamagedError, JournalError
from actors.persistence.checkpoint import checkpoint_names
from actors.persistence.disk import RealDisk
from actors.persistence.journal import JOURNAL, TickFrame, read_header, read_ticks
from actors.persistence.oracle_log import ANSWERS
from tests.command import Prism
from tests.durability.crashed import Crashed
from tests.durability.damage import DAMAGES, SOME, Damage, Mended, flip, mend, outcomes, resumed
from tests.durability.memory import MemoryDisk
from tests.tiers import Size


@pytest.mark.slow
@DAMAGES
def test_a_journal_damaged_at_any_byte_is_refused_by_name_and_byte_or_cut_back_to_whole_ticks(
    damage: Damage, crashed_embedded: Crashed, embedded: Path, prism: Prism, size: Size
) -> None:
    every = size(1, everyday=SOME)
    good = crashed_embedded.read(JOURNAL)
    disk = RealDisk(crashed_embedded.path)
    header_end = read_header(disk)[1]
    ends = {header_end, *(frame.end for frame in read_ticks(disk, header_end) if isinstance(frame, TickFrame))}
    mended: dict[Mended, int] = {}
    refused = 0
    for byte, found in outcomes(crashed_embedded, JOURNAL, damage, every):
        if isinstance(found, JournalError):
            assert isinstance(found, DamagedError)
            assert found.file == JOURNAL
            assert found.offset <= byte
            refused += 1
        else:
            assert len(found.journal) in ends
            assert good.startswith(found.journal)
            assert len(found.journal) <= byte or found.journal == good
            mended.setdefault(found, byte)
    assert refused * every >= header_end
    for byte in list(mended.values())[:: 5 * size(1, everyday=2)]:  # each stands for all bytes with the same outcome
        (embedded / JOURNAL).write_bytes(damage(good, byte))
        assert resumed(prism).code == 0, byte
        assert (embedded / JOURNAL).read_bytes() == crashed_embedded.whole, byte


def test_a_length_that_points_past_the_end_is_damage_and_no_torn_tail(crashed_embedded: Crashed) -> None:
    _, first = read_header(MemoryDisk.of(crashed_embedded.path))
    files = MemoryDisk.of(crashed_embedded.path).files
    data = bytearray(files[JOURNAL])
    data[first + 2] ^= 0x80
    found = mend({**files, JOURNAL: bytes(data)})
    assert isinstance(found, DamagedError)
    assert found.offset == first


def test_damage_that_no_crash_explains_is_cut_off_when_asked_and_run_again(
    crashed_embedded: Crashed, embedded: Path, prism: Prism
) -> None:
    good = crashed_embedded.read(JOURNAL)
    _, first = read_header(RealDisk(embedded))
    (embedded / JOURNAL).write_bytes(flip(good, first + 100))
    assert resumed(prism).code == 1
    ended = resumed(prism, "--cut-damage")
    assert ended.code == 0
    assert "prism: journal.prism: cut at byte " in ended.err
    assert (embedded / JOURNAL).read_bytes() == crashed_embedded.whole


@pytest.mark.everyday(1)
@DAMAGES
def test_a_checkpoint_damaged_at_any_byte_is_passed_over(damage: Damage, crashed_embedded: Crashed, size: Size) -> None:
    newest, before, *_ = checkpoint_names(RealDisk(crashed_embedded.path))
    whole = crashed_embedded.read(JOURNAL)
    for byte, found in outcomes(crashed_embedded, newest, damage, size(1, everyday=SOME)):
        assert found == Mended(whole, crashed_embedded.read(ANSWERS), before), byte


@DAMAGES
@pytest.mark.parametrize("both", [False, True])
def test_without_usable_checkpoints_a_run_goes_on_from_an_older_one_or_from_the_start(
    both: bool, damage: Damage, crashed_embedded: Crashed, embedded: Path, prism: Prism
) -> None:
    names = checkpoint_names(RealDisk(embedded))
    for name in names if both else names[:1]:
        (embedded / name).write_bytes(damage(crashed_embedded.read(name), 1000))
    ended = resumed(prism)
    assert ended.code == 0
    assert f"prism: skipped: {names[0]}: damaged at byte " in ended.err
    assert (embedded / JOURNAL).read_bytes() == crashed_embedded.whole
