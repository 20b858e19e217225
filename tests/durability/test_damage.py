"""Every byte of a run's files cut off or flipped: a clear refusal, or a run that ends as if nothing had happened."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from actors.answer_log import ANSWERS
from actors.answer_log import MAGIC as ANSWERS_MAGIC
from actors.checkpoint import checkpoints
from actors.disk import RealDisk
from actors.errors import DamagedError, JournalError
from actors.frames import ORIGIN, Frame, encode_frame, link_of
from actors.journal import JOURNAL, MAGIC, TickFrame, read_frames, read_header, read_ticks
from actors.recovery import recover
from actors.run_directory import CONFIG, MANIFEST
from tests.command import Ended, Prism
from tests.durability.crashed import MORE_TICKS, Crashed
from tests.durability.memory import MemoryDisk
from tests.journal.files import frames_in
from tests.ollama_server import OllamaServer

Damage = Callable[[bytes, int], bytes]


def cut(data: bytes, byte: int) -> bytes:
    return data[:byte]


def flip(data: bytes, byte: int) -> bytes:
    """Another bit for each byte in turn."""
    return data[:byte] + bytes([data[byte] ^ 1 << byte % 8]) + data[byte + 1 :]


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
    crashed: Crashed, name: str, damage: Damage, without: Sequence[str] = ()
) -> Iterator[tuple[int, Mended | JournalError]]:
    """What `recover` does about damage at each byte of a file, where some others are gone."""
    files = {file: content for file, content in MemoryDisk.of(crashed.path).files.items() if file not in without}
    for byte in range(len(files[name])):
        yield byte, mend({**files, name: damage(files[name], byte)})


def resumed(prism: Prism, *options: str) -> Ended:
    ended = prism("resume", "run", "--quiet", "--ticks", str(MORE_TICKS), *options)
    assert "Traceback" not in ended.err
    assert all(line.startswith("prism: ") for line in ended.err.splitlines()), ended.err
    if ended.code:
        assert ended.out == ""
    return ended


@DAMAGES
def test_a_journal_damaged_at_any_byte_is_refused_by_name_and_byte_or_cut_back_to_whole_ticks(
    damage: Damage, crashed_embedded: Crashed, embedded: Path, prism: Prism
) -> None:
    good = crashed_embedded.read(JOURNAL)
    disk = RealDisk(crashed_embedded.path)
    header_end = read_header(disk)[1]
    ends = {header_end, *(frame.end for frame in read_ticks(disk, header_end) if isinstance(frame, TickFrame))}
    mended: dict[Mended, int] = {}
    refused = 0
    for byte, found in outcomes(crashed_embedded, JOURNAL, damage):
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
    assert refused >= header_end
    for byte in list(mended.values())[::5]:  # each stands for all bytes with the same outcome
        (embedded / JOURNAL).write_bytes(damage(good, byte))
        assert resumed(prism).code == 0, byte
        assert (embedded / JOURNAL).read_bytes() == crashed_embedded.whole, byte


@DAMAGES
def test_a_checkpoint_damaged_at_any_byte_is_passed_over(damage: Damage, crashed_embedded: Crashed) -> None:
    newest, before, *_ = checkpoints(RealDisk(crashed_embedded.path))
    whole = crashed_embedded.read(JOURNAL)
    for byte, found in outcomes(crashed_embedded, newest, damage):
        assert found == Mended(whole, crashed_embedded.read(ANSWERS), before), byte


@DAMAGES
@pytest.mark.parametrize("both", [False, True], ids=["the_latest", "all"])
def test_without_usable_checkpoints_a_run_goes_on_from_an_older_one_or_from_the_start(
    both: bool, damage: Damage, crashed_embedded: Crashed, embedded: Path, prism: Prism
) -> None:
    names = checkpoints(RealDisk(embedded))
    for name in names if both else names[:1]:
        (embedded / name).write_bytes(damage(crashed_embedded.read(name), 1000))
    ended = resumed(prism)
    assert ended.code == 0
    assert f"prism: passed over: {names[0]}: damaged at byte " in ended.err
    assert (embedded / JOURNAL).read_bytes() == crashed_embedded.whole


@DAMAGES
@pytest.mark.parametrize("has_checkpoints", [True, False])
def test_answers_damaged_at_any_byte_are_refused_by_name_and_byte_or_cut_back_to_whole_ones(
    has_checkpoints: bool, damage: Damage, crashed_live: Crashed
) -> None:
    good, kept, refused = crashed_live.read(ANSWERS), set(), 0
    frames = list(frames_in(good[len(ANSWERS_MAGIC) :], len(ANSWERS_MAGIC)))
    starts = {len(ANSWERS_MAGIC), *(frame.end for frame in frames if isinstance(frame, Frame))} - {len(good)}
    assert len(starts) > 3
    without = () if has_checkpoints else checkpoints(RealDisk(crashed_live.path))
    for byte, found in outcomes(crashed_live, ANSWERS, damage, without):
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
    assert refused >= len(ANSWERS_MAGIC)
    if damage is cut or not has_checkpoints:
        assert kept == starts, "cut back to the last whole answer, wherever it was damaged"
    else:
        assert refused == len(good), "a checkpoint knows that all of it had been there"


@DAMAGES
@pytest.mark.parametrize("share", [0.1, 0.5, 0.8, 0.95, 0.99])
def test_after_damage_to_the_answers_of_a_live_oracle_no_committed_tick_is_another(
    share: float, damage: Damage, crashed_live: Crashed, live: Path, prism: Prism, server: OllamaServer
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
    live: Path, prism: Prism, server: OllamaServer
) -> None:
    (live / ANSWERS).unlink()
    for name in checkpoints(RealDisk(live)):
        (live / name).unlink()
    ended = resumed(prism)
    assert ended.code == 1
    assert ended.err.splitlines()[-1].startswith(f"prism: {ANSWERS}: has no answer to agent ")
    assert ended.err.endswith("; a part of it is lost\n")


@DAMAGES
@pytest.mark.parametrize("name", [CONFIG, MANIFEST])
def test_a_damaged_configuration_or_manifest_is_one_line_that_names_it_or_does_no_harm(
    name: str, damage: Damage, crashed_embedded: Crashed, embedded: Path, prism: Prism
) -> None:
    good, codes = crashed_embedded.read(name), set()
    for byte in range(0, len(good), 53):
        (embedded / name).write_bytes(damage(good, byte))
        ended = resumed(prism)
        codes.add(ended.code)
        assert ended.code in {0, 2, 3}, ended
        if ended.code:
            assert ended.err.count("\n") == 1
            assert any(
                told in ended.err for told in (f"run/{name}:", "prism: configuration: ", "run: cannot go on: ")
            ), ended
            assert (embedded / JOURNAL).read_bytes() == crashed_embedded.read(JOURNAL)
        else:
            assert (embedded / JOURNAL).read_bytes() == crashed_embedded.whole
            for path in embedded.iterdir():
                path.unlink()
            shutil.copytree(crashed_embedded.path, embedded, dirs_exist_ok=True)
    assert codes - {0}


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


@pytest.mark.parametrize("command", [("resume", "--quiet"), ("replay", "--quiet"), ("verify",), ("runs",)])
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


@pytest.mark.parametrize("changes", [{"format": 2}, {"format": 2, "seed": "a text by now"}])
@pytest.mark.parametrize("command", [("resume", "--quiet"), ("replay", "--quiet")])
def test_a_journal_of_a_newer_format_is_refused_with_its_number(
    command: tuple[str, ...], changes: dict[str, object], embedded: Path, prism: Prism
) -> None:
    (embedded / JOURNAL).write_bytes(newer_header((embedded / JOURNAL).read_bytes(), **changes))
    ended = prism(*command, "run")
    assert (ended.code, ended.err.count("\n")) == (1, 1)
    assert ended.err.startswith("prism: journal.prism: has format 2, and this version of PRISM reads 1")


def test_a_checkpoint_of_a_newer_format_is_passed_over(crashed_embedded: Crashed, embedded: Path, prism: Prism) -> None:
    name = checkpoints(RealDisk(embedded))[0]
    _, frame = next(read_frames(RealDisk(embedded), name, 8))
    assert isinstance(frame, Frame)
    head = msgspec.msgpack.decode(frame.payload)
    payload = msgspec.msgpack.encode({**head, "format": 3})
    (embedded / name).write_bytes(b"PRISMC\r\n" + encode_frame(link_of(ORIGIN, payload), payload))
    ended = resumed(prism)
    assert ended.code == 0
    assert f"prism: passed over: {name}: has format 3, and this version of PRISM reads 2\n" in ended.err
    assert (embedded / JOURNAL).read_bytes() == crashed_embedded.whole


def test_damage_that_no_crash_explains_is_cut_off_with_force_and_run_again(
    crashed_embedded: Crashed, embedded: Path, prism: Prism
) -> None:
    good = crashed_embedded.read(JOURNAL)
    (embedded / JOURNAL).write_bytes(flip(good, 4000))
    assert resumed(prism).code == 1
    ended = resumed(prism, "--force")
    assert ended.code == 0
    assert "prism: journal.prism: cut at byte " in ended.err
    assert (embedded / JOURNAL).read_bytes() == crashed_embedded.whole


def test_a_length_that_points_past_the_end_is_damage_and_no_torn_tail(crashed_embedded: Crashed) -> None:
    _, first = read_header(MemoryDisk.of(crashed_embedded.path))
    files = MemoryDisk.of(crashed_embedded.path).files
    data = bytearray(files[JOURNAL])
    data[first + 2] ^= 0x80
    found = mend({**files, JOURNAL: bytes(data)})
    assert isinstance(found, DamagedError)
    assert found.offset == first
