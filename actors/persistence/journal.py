"""The journal of a run, `journal.prism`: a header, then a frame for each tick. It is the truth; all else is a cache.

`docs/journal.md` describes the format for readers in any language.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from actors.core.errors import DamagedError, JournalError
from actors.core.frames import HEAD, ORIGIN, UNREADABLE, Damage, Frame, encode_frame, link_of, read_frame
from actors.persistence.disk import Disk, write_whole
from prism.config import Config

JOURNAL = "journal.prism"
MAGIC = b"PRISMJ\r\n"
FORMAT = 1
"""The version of the layout and of the messages in it. Raise it when either changes its meaning."""

LENGTH = ("rounds", "ticks")
"""Settings of `simulation` that are no part of the header: a run that goes on for longer is the same run."""

WATCHED = "metrics"
"""The section that is no part of the header either: equal runs have equal journals, watched or not, on any port."""

HEADLESS = "without its header a journal cannot be used"

_BLOCK = 1 << 20
_HEADER_MAX = 1 << 26
_ticks = msgspec.msgpack.Decoder(tuple[int, msgspec.Raw])


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is made of.

    Args:
        prism: the version that began it.
        seed: of every random draw.
        agents: how many there are.
        config: every setting that is neither its length nor about watching it, by section.
        config_sha256: of the settings as canonical JSON, hexadecimal.
        inputs: `{input file as the configuration names it: SHA-256}`.
    """

    format: int = FORMAT
    prism: str
    seed: int
    agents: int
    config: dict[str, Any]
    config_sha256: str
    inputs: dict[str, str]


class TickFrame(NamedTuple):
    """A tick as the journal has it: the frame's payload, its link, and where the frame begins and ends."""

    tick: int
    payload: bytes
    link: bytes
    start: int
    end: int


def header_of(config: Config, inputs: dict[str, str], agents: int, version: str) -> Header:
    """The header of a new run."""
    settings = msgspec.to_builtins(config)
    del settings[WATCHED]
    for name in LENGTH:
        settings["simulation"].pop(name, None)
    canonical = msgspec.json.encode(settings, order="deterministic")
    return Header(
        prism=version,
        seed=config.simulation.seed,
        agents=agents,
        config=settings,
        config_sha256=sha256(canonical).hexdigest(),
        inputs=inputs,
    )


def create_journal(disk: Disk, header: Header) -> None:
    """Begin a journal: afterwards it is there with its whole header, or not at all."""
    payload = msgspec.msgpack.encode(header, order="deterministic")
    write_whole(disk, JOURNAL, [MAGIC + encode_frame(link_of(ORIGIN, payload), payload)])


def read_header(disk: Disk) -> tuple[Header, int]:
    """The header, and the offset of the first tick's frame.

    Raises:
        JournalError: there is no journal, or one of a newer format.
        DamagedError: the header cannot be read.
    """
    try:
        data = disk.read(JOURNAL, 0, len(MAGIC) + HEAD.size)
    except FileNotFoundError:
        raise JournalError(f"{JOURNAL}: there is none, so nothing was run here; use `prism run`") from None
    if data[: len(MAGIC)] != MAGIC:
        raise DamagedError(JOURNAL, 0, f"it does not begin with {MAGIC!r}")
    length = HEAD.unpack_from(data, len(MAGIC))[0] if len(data) == len(MAGIC) + HEAD.size else 0
    data += disk.read(JOURNAL, len(data), min(length, _HEADER_MAX))
    found = read_frame(data, len(MAGIC), len(MAGIC))
    if isinstance(found, Damage):
        raise DamagedError(JOURNAL, found.offset, found.problem, HEADLESS)
    header = _header_in(found.payload)
    return header, found.end


def read_ticks(disk: Disk, offset: int, *, tick: int = 0, link: bytes = ORIGIN) -> Iterator[TickFrame | Damage]:
    """The frames from an offset on; the last item is the damage, if there is any.

    Args:
        tick: of the first frame.
        link: of the frame before it.
    """
    for start, found in read_frames(disk, JOURNAL, offset):
        if isinstance(found, Damage):
            yield found
            return
        if found.link != link_of(link, found.payload):
            yield Damage(start, "a frame does not follow from the one before it")
            return
        recorded = _tick_of(found.payload)
        if recorded != tick:
            yield Damage(start, f"a frame holds tick {recorded}, where tick {tick} was expected")
            return
        yield TickFrame(tick, found.payload, found.link, start, found.end)
        tick, link = tick + 1, found.link


def read_frames(disk: Disk, name: str, offset: int) -> Iterator[tuple[int, Frame | Damage]]:
    """`(offset, frame)` of any file of frames, read block by block; the last item is the damage, if there is any.

    Raises:
        JournalError: it cannot be read.
    """
    with reading(name):
        size = disk.size(name)
    data, base, start = b"", offset, 0
    while base + start < size:
        found = read_frame(data, start, base + start)
        if isinstance(found, Frame):
            yield base + start, found
            start = found.end - base
        elif found.is_end and base + len(data) < size:  # only the block ends here
            data, base, start = data[start:], base + start, 0
            with reading(name):
                data += disk.read(name, base + len(data), max(_BLOCK, len(data)))
        else:
            yield base + start, found
            return


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn what the system says about a file that cannot be read into one clear line."""
    try:
        yield
    except OSError as error:
        raise JournalError(
            f"{error.filename or name}: {error.strerror}; nothing is lost by that: mend it, then use `prism resume`"
        ) from error


def answers_of(payload: bytes) -> bytes:
    """The msgpack array of a tick's answers.

    Raises:
        msgspec.DecodeError: it is no tick's payload.
    """
    return bytes(_ticks.decode(payload)[1])


def _header_in(payload: bytes) -> Header:
    try:
        header = msgspec.msgpack.decode(payload, type=Header)
    except UNREADABLE as error:
        told = _format_in(payload)
        if told is None or told == FORMAT:
            raise DamagedError(JOURNAL, len(MAGIC), f"its header cannot be read: {error}", HEADLESS) from None
        raise JournalError(f"{JOURNAL}: has format {told}, and this version of PRISM reads {FORMAT}: {error}") from None
    if header.format != FORMAT:
        raise JournalError(f"{JOURNAL}: has format {header.format}, and this version of PRISM reads {FORMAT}")
    return header


def _format_in(payload: bytes) -> int | None:
    """The format of a header that is not of this one; None if it names none."""
    try:
        told = msgspec.msgpack.decode(payload)
    except UNREADABLE:
        return None
    found = told.get("format") if isinstance(told, dict) else None
    return found if isinstance(found, int) else None


def _tick_of(payload: bytes) -> int | None:
    try:
        return _ticks.decode(payload)[0]
    except UNREADABLE:
        return None
