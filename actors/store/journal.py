"""The journal of a run: a header, then a frame for each tick. The other files are caches of it.

`journal.prism` has the header and the latest ticks; older ones are in sealed segments. Places in the journal are
counted as if nothing was sealed, so they stay the same. `docs/runs.md` describes the format.
"""

from __future__ import annotations

from collections.abc import Container, Generator, Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import chain
from typing import Any, Final, NamedTuple

import msgspec

from actors.core.errors import DamagedError, JournalError
from actors.core.files import refuse_deep
from actors.core.frames import DECODE_ERRORS, HEAD, ORIGIN, Damage, Frame, encode_frame, link_of
from actors.store.disk import Disk, OpenFile, decoded_head, first_frame, frames_in, reading, write_whole
from actors.store.segments import Place, Sealed, check_segment, read_segment, segment_names, segments_from, start_of
from prism.config import Config
from prism.config.interventions import PLACE as INTERVENTIONS
from prism.rows import read_head
from prism.tables import Shape, check_shapes

JOURNAL = "journal.prism"
MAGIC = b"PRISMJ\r\n"
FORMAT: Final = 3  # the version of the layout and of the messages in it. Raise it when either changes its meaning.

METRICS_SECTION = "metrics"
"""The section that is not in the header: equal runs have equal journals, with or without metrics, on any port."""

NOT_IN_HEADER: Final = {
    "simulation": ["rounds", "ticks"],  # a run that is made longer is the same run
    # how turns are taken, how much log is kept, the run's purpose
    "run": ["activation", "shards", "log_max_mb", "checkpoint_share", "question", "segment_mb", "stop_within_s"],
    "oracle": ["tape_path"],  # a place on one machine, as the next
    "llm": ["ca_file"],
}
"""Settings that are not in the header either, by their sections."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The header of a journal: the version, seed, settings and input files of the run."""

    format: int = FORMAT
    prism: str  # the version that began the run
    seed: int
    agents: int
    config: dict[str, Any]  # the settings by section, without `NOT_IN_HEADER` and `METRICS_SECTION`
    config_sha256: str  # the SHA-256 of `config` as canonical JSON, hexadecimal
    inputs: dict[str, str]  # `{input file as the configuration names it: SHA-256}`
    tables: tuple[Shape, ...]  # the tables of the run, by the numbers that its ticks name
    # the sealed part, in the file of a journal that has one; never in the header that is read
    sealed: Sealed | msgspec.UnsetType = msgspec.UNSET


class Tail(NamedTuple):
    """The beginning of `journal.prism`."""

    header: Header
    sealed: Sealed  # the part in segments; empty for a journal without segments
    at: int  # the offset in the file of the first tick that is not sealed

    @property
    def shift(self) -> int:
        """The bytes to be added to an offset in the file for the place in the journal."""
        return self.sealed.start - self.at


class TickFrame(NamedTuple):
    """A recorded tick: its frame's payload and link, and the offsets of the frame's start and end."""

    tick: int
    payload: bytes
    link: bytes
    start: int
    end: int


def header_of(config: Config, inputs: dict[str, str], agents: int, version: str, tables: tuple[Shape, ...]) -> Header:
    settings = msgspec.to_builtins(config)
    del settings[METRICS_SECTION]
    for section, names in NOT_IN_HEADER.items():
        for name in names:
            settings[section].pop(name, None)
    if not settings[INTERVENTIONS]:  # a run without interventions has the header that it always had
        del settings[INTERVENTIONS]
    canonical = msgspec.json.encode(settings, order="deterministic")
    return Header(
        prism=version,
        seed=config.simulation.seed,
        agents=agents,
        config=settings,
        config_sha256=sha256(canonical).hexdigest(),
        inputs=inputs,
        tables=tables,
    )


def create_journal(disk: Disk, header: Header) -> None:
    write_whole(disk, JOURNAL, [head_bytes(header)])


def head_bytes(header: Header, sealed: Sealed | msgspec.UnsetType = msgspec.UNSET) -> bytes:
    """Return the beginning of `journal.prism`, up to its first tick."""
    payload = msgspec.msgpack.encode(msgspec.structs.replace(header, sealed=sealed), order="deterministic")
    return MAGIC + encode_frame(link_of(ORIGIN, payload), payload)


def read_tail(disk: Disk) -> Tail:
    """Return the beginning of `journal.prism`.

    Without a journal, or with another format, it is a JournalError; a header that cannot be read is a DamagedError.
    """
    try:
        with disk.open_file(JOURNAL) as file:
            return _tail_of(file)
    except FileNotFoundError:
        raise JournalError(f"{JOURNAL}: there is none, so nothing was run here; use `prism run`") from None


def _tail_of(file: OpenFile) -> Tail:
    frame = first_frame(file, JOURNAL, MAGIC)
    stored = decoded_head(JOURNAL, len(MAGIC), frame.payload, Header, FORMAT)
    try:
        refuse_deep(stored.config)
        check_shapes(stored.tables)
    except ValueError as error:
        raise DamagedError(JOURNAL, len(MAGIC), f"its head cannot be read: {error}") from None
    header = msgspec.structs.replace(stored, sealed=msgspec.UNSET)
    return Tail(header, stored.sealed or Sealed(first=frame.end, start=frame.end), frame.end)


def journal_size(disk: Disk) -> int:
    """Return the length of the journal in bytes, as if nothing was sealed; it may end in a torn frame."""
    with reading(JOURNAL), disk.open_file(JOURNAL) as file:
        return file.size() + _tail_of(file).shift


def cut_journal(disk: Disk, scan: JournalScan) -> None:
    """Cut the journal after the whole ticks that a scan has found."""
    tail = read_tail(disk)
    if scan.sealed is None:
        disk.truncate(JOURNAL, scan.end - tail.shift)
    else:
        write_whole(disk, JOURNAL, [head_bytes(tail.header, scan.sealed)])
        remove_unused_segments(disk)


def remove_unused_segments(disk: Disk) -> None:
    """Remove segments of ticks that are not sealed, or no longer sealed: a crash leaves them."""
    sealed = read_tail(disk).sealed
    for name in disk.names():
        if start_of(name) >= sealed.start:
            disk.remove(name)


def read_ticks(disk: Disk, place: Place | None = None) -> Generator[TickFrame | Damage, None, None]:
    """Yield the ticks from a place on, by default all, sealed or not; the last item is the damage, if any."""
    with reading(JOURNAL), disk.open_file(JOURNAL) as file:
        tail = _tail_of(file)  # the file stays this one, also if another segment is sealed meanwhile
        place = place or Place(0, tail.sealed.first, ORIGIN)
        (tick, _, link), shift = place, tail.shift
        unsealed = ((start + shift, frame) for start, frame in frames_in(file, max(place.offset - shift, tail.at)))
        for start, frame in chain(_sealed_frames(disk, place, tail.sealed), unsealed):
            if isinstance(frame, Damage):
                yield frame._replace(offset=start)
                return
            if frame.link != link_of(link, frame.payload):
                yield Damage(start, "a frame does not follow from the one before it")
                return
            recorded = None
            with suppress(*DECODE_ERRORS):
                recorded = read_head(frame.payload).tick
            if recorded != tick:
                yield Damage(start, f"a frame holds tick {recorded}, where tick {tick} was expected")
                return
            yield TickFrame(tick, frame.payload, frame.link, start, start + HEAD.size + len(frame.payload))
            tick, link = tick + 1, frame.link


def _sealed_frames(disk: Disk, place: Place, sealed: Sealed) -> Iterator[tuple[int, Frame | Damage]]:
    """Yield `(place, frame)` of the sealed ticks from a place on; the last item is the damage, if any."""
    for found in segments_from(disk, place, sealed, lambda name: read_segment(disk, name)):
        if isinstance(found, Damage):
            yield found.offset, found
            return
        at = found[0].start
        for frame in found[1]:
            if at >= place.offset:
                yield at, frame
            at = frame.end


class JournalScan(NamedTuple):
    """The result of reading a journal from a place on."""

    ticks: int  # whole ticks in the journal
    end: int  # the offset after the last of them
    link: bytes  # its link
    links: dict[int, bytes]  # `{offset after a frame: its link}`, for the offsets that were asked for
    damage: Damage | None  # the reason why the frames end before the file does; None if they do not
    # the part before damage in a sealed segment, where a crash leaves none; None without such damage
    sealed: Sealed | None = None


def scan_journal(disk: Disk, place: Place | None = None, offsets: Container[int] | None = None) -> JournalScan:
    """Read every frame from a place on, by default all. It takes 2 to 15 seconds a gigabyte: more for smaller ticks.

    `offsets`: the ends of frames whose links are wanted; None for every frame's.
    """
    tick, end, link = place = place or Place(0, read_tail(disk).sealed.first, ORIGIN)
    damage, links = None, {end: link} if offsets is None or end in offsets else {}
    for frame in read_ticks(disk, place):
        if isinstance(frame, Damage):
            damage = frame
            break
        end, tick, link = frame.end, frame.tick + 1, frame.link
        if offsets is None or end in offsets:
            links[end] = link
    return JournalScan(tick, end, link, links, damage)


def scan_tail(disk: Disk, offsets: Container[int]) -> JournalScan:
    """Read every frame that is not sealed; check that all segments are there, as they were written, and in order.

    `offsets`: the ends of frames whose links are wanted.
    """
    sealed = read_tail(disk).sealed
    end, damage = Sealed(first=sealed.first, start=sealed.first), None
    for found in segments_from(disk, Place(0, sealed.first, ORIGIN), sealed, lambda name: (check_segment(disk, name),)):
        if isinstance(found, Damage):
            damage = found
        else:
            end = end.after(found[0])
    if damage is None and end != sealed:
        damage = Damage(end.start, "its header names another end of what is sealed than the last segment")
    if damage is not None:
        return JournalScan(end.tick, end.start, end.link, {}, damage, end)
    return scan_journal(disk, Place(sealed.tick, sealed.start, sealed.link), offsets)


def link_at(disk: Disk, place: int) -> bytes | None:
    """Return the link of the tick that ends at a sealed place; None if no tick does. Damage is a DamagedError."""
    for name in segment_names(disk, place)[-1:]:
        return next((frame.link for frame in read_segment(disk, name)[1] if frame.end == place), None)
    return ORIGIN if place == read_tail(disk).sealed.first else None
