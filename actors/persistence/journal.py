"""The journal of a run, `journal.prism`: a header, then a frame for each tick. The other files are caches of it.

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
from prism.config.interventions import PLACE as INTERVENTIONS

JOURNAL = "journal.prism"
MAGIC = b"PRISMJ\r\n"
FORMAT = 1
"""The version of the layout and of the messages in it. Raise it when either changes its meaning."""

LENGTH_SETTINGS = ("rounds", "ticks")
"""Settings of `simulation` that are not in the header: a run that is made longer is the same run."""

METRICS_SECTION = "metrics"
"""The section that is not in the header: equal runs have equal journals, with or without metrics, on any port."""

FREE_SETTINGS = ("activation", "checkpoints_back", "log_max_mb", "logs_kept", "question", "stop_within_s")
"""Settings of `run` that are not in the header either: how turns are taken, how much log is kept, what it is for."""

NO_HEADER = "without its header a journal cannot be used"

_HEADER_MAX = 1 << 26
_ticks = msgspec.msgpack.Decoder(tuple[int, msgspec.Raw])


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The header of a journal: what the run is made of.

    Args:
        prism: the version that began the run.
        seed: the seed of every random draw.
        agents: the number of agents.
        config: the settings by section, without `LENGTH_SETTINGS`, `FREE_SETTINGS` and `METRICS_SECTION`.
        config_sha256: the SHA-256 of `config` as canonical JSON, hexadecimal.
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
    """A recorded tick: its frame's payload and link, and the offsets of the frame's start and end."""

    tick: int
    payload: bytes
    link: bytes
    start: int
    end: int


def header_of(config: Config, inputs: dict[str, str], agents: int, version: str) -> Header:
    """Return the header of a new run."""
    settings = msgspec.to_builtins(config)
    del settings[METRICS_SECTION]
    for name in LENGTH_SETTINGS:
        settings["simulation"].pop(name, None)
    for name in FREE_SETTINGS:
        settings["run"].pop(name, None)
    if not settings[INTERVENTIONS]:  # a run without any has the header that it always had
        del settings[INTERVENTIONS]
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
    """Create a journal: with its whole header, or not at all."""
    payload = msgspec.msgpack.encode(header, order="deterministic")
    write_whole(disk, JOURNAL, [MAGIC + encode_frame(link_of(ORIGIN, payload), payload)])


def read_header(disk: Disk) -> tuple[Header, int]:
    """Return the header, and the offset of the first tick's frame.

    Raises:
        JournalError: there is no journal, or it has a newer format.
        DamagedError: the header cannot be read.
    """
    try:
        check_magic(disk, JOURNAL, MAGIC)
    except FileNotFoundError:
        raise JournalError(f"{JOURNAL}: there is none, so nothing was run here; use `prism run`") from None
    data = disk.read(JOURNAL, 0, len(MAGIC) + HEAD.size)
    length = HEAD.unpack_from(data, len(MAGIC))[0] if len(data) == len(MAGIC) + HEAD.size else 0
    data += disk.read(JOURNAL, len(data), min(length, _HEADER_MAX))
    frame = read_frame(data, len(MAGIC), len(MAGIC))
    if isinstance(frame, Damage):
        raise DamagedError(JOURNAL, frame.offset, frame.problem, NO_HEADER)
    return _decode_header(frame.payload), frame.end


def read_ticks(disk: Disk, offset: int, *, tick: int = 0, link: bytes = ORIGIN) -> Iterator[TickFrame | Damage]:
    """Yield the ticks from an offset on; the last item is the damage, if any.

    Args:
        tick: the tick of the first frame.
        link: the link of the frame before it.
    """
    for start, frame in read_frames(disk, JOURNAL, offset):
        if isinstance(frame, Damage):
            yield frame
            return
        if frame.link != link_of(link, frame.payload):
            yield Damage(start, "a frame does not follow from the one before it")
            return
        recorded = _tick_of(frame.payload)
        if recorded != tick:
            yield Damage(start, f"a frame holds tick {recorded}, where tick {tick} was expected")
            return
        yield TickFrame(tick, frame.payload, frame.link, start, frame.end)
        tick, link = tick + 1, frame.link


class JournalScan(NamedTuple):
    """The result of reading a journal from an offset on.

    Args:
        ticks: whole ticks in the journal; `end`: the offset after the last of them; `link`: its link.
        links: `{offset after a frame: its link}`, for the offsets that were asked for.
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
    """Read every frame from an offset on. It takes 2 to 15 seconds a gigabyte: the smaller the ticks, the more.

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
    """Return the msgpack array of a tick's answers.

    Raises:
        msgspec.DecodeError: it is no tick's payload.
    """
    return bytes(_ticks.decode(payload)[1])


def _decode_header(payload: bytes) -> Header:
    try:
        header = msgspec.msgpack.decode(payload, type=Header)
    except DECODE_ERRORS as error:
        number = _format_of(payload)
        if number is None or number == FORMAT:
            raise DamagedError(JOURNAL, len(MAGIC), f"its header cannot be read: {error}", NO_HEADER) from None
        raise JournalError(
            f"{JOURNAL}: has format {number}, and this version of PRISM reads {FORMAT}: {error}"
        ) from None
    if header.format != FORMAT:
        raise JournalError(f"{JOURNAL}: has format {header.format}, and this version of PRISM reads {FORMAT}")
    return header


def _format_of(payload: bytes) -> int | None:
    """Return the format of a header that this version cannot decode; None if it names none."""
    try:
        header = msgspec.msgpack.decode(payload)
    except DECODE_ERRORS:
        return None
    number = header.get("format") if isinstance(header, dict) else None
    return number if isinstance(number, int) else None


def _tick_of(payload: bytes) -> int | None:
    try:
        return _ticks.decode(payload)[0]
    except DECODE_ERRORS:
        return None
