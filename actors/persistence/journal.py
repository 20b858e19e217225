"""The journal of a run, `journal.prism`: a header, then a frame for each tick. It is the truth; all else is a cache.

`docs/journal.md` describes the format for readers in any language.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from actors.core.errors import DamagedError, JournalError
from actors.core.frames import DECODE_ERRORS, HEAD, ORIGIN, Damage, encode_frame, link_of, read_frame
from actors.persistence.disk import Disk, write_whole
from actors.persistence.framed_files import check_magic, read_frames
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
        check_magic(disk, JOURNAL, MAGIC)
    except FileNotFoundError:
        raise JournalError(f"{JOURNAL}: there is none, so nothing was run here; use `prism run`") from None
    data = disk.read(JOURNAL, 0, len(MAGIC) + HEAD.size)
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


class JournalScan(NamedTuple):
    """The whole frames of a journal from some place on.

    Args:
        ticks: whole ticks in the journal; `end`: the offset behind the last of them, and `link` its link.
        links: `{offset behind a frame: its link}`, for the offsets that were asked for.
        damage: the reason why the frames end before the file does; None if they do not.
    """

    ticks: int
    end: int
    link: bytes
    links: dict[int, bytes]
    damage: Damage | None


def scan_journal(
    disk: Disk, offset: int, *, tick: int = 0, link: bytes = ORIGIN, offsets: Container[int] | None = ()
) -> JournalScan:
    """Read every frame from an offset on. It takes about a second a gigabyte.

    Args:
        tick: the tick of the first frame.
        link: the link of the frame before it.
        offsets: the ends of frames whose links are wanted; None for every frame's.
    """
    end, links, damage = offset, dict[int, bytes](), None
    if offsets is None or offset in offsets:
        links[offset] = link
    for frame in read_ticks(disk, offset, tick=tick, link=link):
        if isinstance(frame, Damage):
            damage = frame
            break
        end, tick, link = frame.end, frame.tick + 1, frame.link
        if offsets is None or end in offsets:
            links[end] = link
    return JournalScan(tick, end, link, links, damage)


def answers_of(payload: bytes) -> bytes:
    """The msgpack array of a tick's answers.

    Raises:
        msgspec.DecodeError: it is no tick's payload.
    """
    return bytes(_ticks.decode(payload)[1])


def _header_in(payload: bytes) -> Header:
    try:
        header = msgspec.msgpack.decode(payload, type=Header)
    except DECODE_ERRORS as error:
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
    except DECODE_ERRORS:
        return None
    found = told.get("format") if isinstance(told, dict) else None
    return found if isinstance(found, int) else None


def _tick_of(payload: bytes) -> int | None:
    try:
        return _ticks.decode(payload)[0]
    except DECODE_ERRORS:
        return None
