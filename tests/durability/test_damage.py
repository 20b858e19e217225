"""Files that are damaged, missing or of a newer format: a line that names them."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from actors.core.errors import DamagedError, JournalError
from actors.core.frames import ORIGIN, Frame, encode_frame, link_of
from actors.store.checkpoint import FORMAT, checkpoint_names, read_checkpoint
from actors.store.disk import RealDisk, read_frames
from actors.store.journal import JOURNAL, TickFrame, read_tail, read_ticks
from actors.store.manifest import CONFIG, MANIFEST
from actors.store.oracle_log import ANSWERS
from actors.store.oracle_log import MAGIC as ANSWERS_MAGIC
from actors.store.recovery import recover
from tests.actors.store.files import frames_in
from tests.catalogue import catalogue
from tests.command import Prism
from tests.crash.disk import SimulatedDisk
from tests.durability.process_runs import Crashed, resumed
from tests.standin import ModelServer
from tests.tiers import Size

Damage = Callable[[bytes, int], bytes]


def cut(data: bytes, byte: int) -> bytes:
    return data[:byte]


def flip(data: bytes, byte: int) -> bytes:
    """Return the content with one bit flipped: another bit for each byte in turn."""
    return data[:byte] + bytes([data[byte] ^ 1 << byte % 8]) + data[byte + 1 :]


SOME = 13
"""The step of the everyday tier: one byte in thirteen is damaged, over a file each of the eight bits equally often."""

DAMAGES = pytest.mark.parametrize("damage", [cut, flip])


class Mended(NamedTuple):
    """The result of `recover` on a damaged run."""

    journal: bytes
    answers: bytes
    checkpoint: str | None


def mend(files: dict[str, bytes]) -> Mended | JournalError:
    disk = SimulatedDisk(files)
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
    files = {file: content for file, content in crashed.files.items() if file not in without}
    for byte in range(0, len(files[name]), every):
        yield byte, mend({**files, name: damage(files[name], byte)})


@pytest.mark.slow
@DAMAGES
def test_a_journal_damaged_at_any_byte_is_refused_by_name_and_byte_or_cut_back_to_whole_ticks(
    damage: Damage, crashed_embedded: Crashed, embedded: Path, prism: Prism, size: Size
) -> None:
    every = size(1, everyday=SOME)
    good = crashed_embedded.read(JOURNAL)
    disk = RealDisk(crashed_embedded.path)
    header_end = read_tail(disk).sealed.first
    ends = {header_end, *(frame.end for frame in read_ticks(disk) if isinstance(frame, TickFrame))}
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
    files = crashed_embedded.files
    first = read_tail(SimulatedDisk(files)).sealed.first
    data = bytearray(files[JOURNAL])
    data[first + 2] ^= 0x80
    found = mend({**files, JOURNAL: bytes(data)})
    assert isinstance(found, DamagedError)
    assert found.offset == first


def test_damage_that_no_crash_explains_is_cut_off_when_asked_and_run_again(
    crashed_embedded: Crashed, embedded: Path, prism: Prism
) -> None:
    good = crashed_embedded.read(JOURNAL)
    first = read_tail(RealDisk(embedded)).sealed.first
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


@pytest.mark.parametrize("both", [False, True])
def test_without_usable_checkpoints_a_run_goes_on_from_an_older_one_or_from_the_start(
    both: bool, crashed_embedded: Crashed, embedded: Path, prism: Prism
) -> None:
    names = checkpoint_names(RealDisk(embedded))
    for name in names if both else names[:1]:
        (embedded / name).write_bytes(flip(crashed_embedded.read(name), 1000))
    ended = resumed(prism)
    assert ended.code == 0
    assert f"prism: skipped: {names[0]}: damaged at byte " in ended.err
    assert (embedded / JOURNAL).read_bytes() == crashed_embedded.whole


@DAMAGES
@catalogue("has_checkpoints", [True, False])
def test_answers_damaged_at_any_byte_are_refused_by_name_and_byte_or_cut_back_to_whole_ones(
    has_checkpoints: bool, damage: Damage, crashed_live: Crashed, size: Size
) -> None:
    good, kept, refused = crashed_live.read(ANSWERS), set(), 0
    every = size(1, everyday=SOME)
    frames = list(frames_in(good[len(ANSWERS_MAGIC) :], len(ANSWERS_MAGIC)))
    starts = {len(ANSWERS_MAGIC), *(frame.end for frame in frames if isinstance(frame, Frame))} - {len(good)}
    assert len(starts) > 3
    disk = RealDisk(crashed_live.path)
    checkpoints = checkpoint_names(disk)
    without = () if has_checkpoints else checkpoints
    for byte, found in outcomes(crashed_live, ANSWERS, damage, every, without):
        if isinstance(found, JournalError):
            assert isinstance(found, DamagedError)
            assert found.file == ANSWERS
            assert found.offset <= byte
            refused += 1
        else:
            assert len(found.answers) <= byte
            assert good.startswith(found.answers)
            assert found.journal == crashed_live.read(JOURNAL)
            kept.add(len(found.answers))
    assert refused * every >= len(ANSWERS_MAGIC)
    if damage is cut or not has_checkpoints:
        assert kept == starts, "cut back to the last whole answer, wherever it was damaged"
    else:
        # A checkpoint knows what had been there. A live run may have got more answers after its last one.
        durable = max(read_checkpoint(disk, name).position.answers_end for name in checkpoints)
        assert refused == len(range(0, durable, every))
        assert kept == {start for start in starts if start >= durable}


@DAMAGES
@catalogue("share", [0.5, 0.95])
def test_after_damage_to_the_answers_of_a_live_oracle_no_committed_tick_is_another(
    share: float, damage: Damage, crashed_live: Crashed, live: Path, prism: Prism, server: ModelServer
) -> None:
    good = crashed_live.read(ANSWERS)
    (live / ANSWERS).write_bytes(damage(good, int(len(good) * share)))
    ended = resumed(prism)
    assert (live / JOURNAL).read_bytes().startswith(crashed_live.read(JOURNAL))
    if ended.code:
        assert ended.code == 1
        assert ended.err.splitlines()[-1].startswith(f"prism: {ANSWERS}: ")
        return
    replayed = prism("replay", "run", "--quiet")
    if replayed.code:
        assert replayed.err.startswith(f"prism: {ANSWERS}: has no answer to agent ")
        assert f"prism: {ANSWERS}: is shorter than it was at a checkpoint" in ended.err
    else:
        assert replayed.out == ended.out


def test_a_live_run_whose_answers_are_gone_says_which_answer_it_misses(
    live: Path, prism: Prism, server: ModelServer
) -> None:
    (live / ANSWERS).unlink()
    for name in checkpoint_names(RealDisk(live)):
        (live / name).unlink()
    ended = resumed(prism)
    assert ended.code == 1
    assert ended.err.splitlines()[-1].startswith(f"prism: {ANSWERS}: has no answer to agent ")
    assert ended.err.endswith("; a part of it is lost\n")


EXITS = {JOURNAL: 2, ANSWERS: 0, CONFIG: 3, MANIFEST: 2}  # `{file: the exit code of a resume without it}`


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
