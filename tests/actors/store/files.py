"""The files of a made-up run, written by the product's own functions on a disk in memory, and a file's frames."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from actors.core.frames import HEAD, ORIGIN, Damage, Frame, encode_frame, link_of, read_frame
from actors.core.state import EngineState, RunState
from actors.runs.run_store import JournalWriter
from actors.store.checkpoint import Checkpoint, Position
from actors.store.disk import Disk
from actors.store.journal import JOURNAL, Header, create_journal, header_of, read_tail
from actors.store.oracle_log import LoggedAnswer, create_answers, encode_answer
from actors.store.recovery import RecordedTicks, recover
from prism.agents import Question
from prism.columns import Bundles, Column, pack
from prism.config import Config
from prism.rows import Heap, TickRows
from prism.tables import HEAP, Shape
from tests.crash.disk import SimulatedDisk

encode = msgspec.msgpack.encode

SEGMENT = 650  # the size of a segment, which is full with eight ticks of `frames`

TABLES = (
    Shape("kinds", tuple((name, HEAP) for name in ("trigger", "from_state", "to_state", "source", "effect", "reason"))),
    Shape("updates", (("agent", "<u4"), ("kind", "<u4"))),
    Shape("questions", (("agent", "<u4"), ("kind", "<u4"), ("context", HEAP))),
    Shape("scores", (("agent", "<u4"), ("post", "<u8"), ("kind", "|u1"), ("score", "<f8"))),
)
"""The tables of the made-up run."""

LATE = 20  # the tick with a kind that did not occur before

KINDS = (
    ("clock", "red", "green", "rule", "", ""),
    ("clock", "red", "red", "no_row", "", ""),
    ("clock", "amber", "", "asked", '["red","green"]', ""),
    ("clock", "green", "amber", "rule", "", ""),
)
"""The kinds of its updates and questions: three occur in tick 0 first, and one in tick LATE."""


class Tick(NamedTuple):
    """A frame of the journal, its link, and the journal's length after it."""

    frame: bytes
    link: bytes
    end: int


def question(tick: int, agent: int) -> Question[None]:
    return Question(tick, agent, "clock", "amber", ("red", "green"))


def decided(tick: int, agent: int, state: str = "red") -> LoggedAnswer:
    return LoggedAnswer(tick, agent, "clock", state, "llm", latency_s=0.25)


def header() -> Header:
    return header_of(Config(), {"friends.txt": "ab" * 32}, agents=3, version="9.9", tables=TABLES)


def empty_run() -> SimulatedDisk:
    disk = SimulatedDisk()
    create_answers(disk)
    create_journal(disk, header())
    return disk


def write(disk: Disk, ticks: Sequence[Tick], size: int) -> None:
    """Append ticks, and seal those that fill a segment."""
    writer = JournalWriter(disk, size)
    writer.append([tick.frame for tick in ticks])
    writer.seal()


def frames(count: int, start: int = 0) -> list[Tick]:
    """Return the frames of this many ticks, two updates and a question each."""
    link, made, end, rows = ORIGIN, list[Tick](), start, TickRows(TABLES)
    for tick in range(count):
        known = 0 if tick == 0 else 3 if tick <= LATE else 4
        if tick in {0, LATE}:
            new = KINDS[:3] if tick == 0 else KINDS[3:]
            rows.add("kinds", *(Heap.of([text.encode() for text in texts]) for texts in zip(*new, strict=True)))
        rows.add("updates", np.array([0, 1], "<u4"), np.array([3 if tick >= LATE else 0, 1], "<u4"))
        rows.end_wave()
        rows.add("questions", np.array([2], "<u4"), np.array([2], "<u4"), Heap.of([encode(None)]))
        payload = rows.take(tick, known)
        link = link_of(link, payload)
        made.append(Tick(encode_frame(link, payload), link, end := end + HEAD.size + len(payload)))
    return made


def sealed_run(size: int = SEGMENT) -> SimulatedDisk:
    """Return a run of 42 ticks, of which those are sealed that fill a segment."""
    disk = empty_run()
    writer = JournalWriter(disk, size)
    for tick in frames(42):
        writer.append([tick.frame])
        writer.seal()
    return SimulatedDisk(disk.files)


def frames_in(data: bytes, offset: int = 0) -> Iterator[Frame | Damage]:
    """Return the frames of a whole file or of its rest; the last item is the damage, if there is any."""
    start = 0
    while start < len(data):
        found = read_frame(data, start, offset + start)
        yield found
        if isinstance(found, Damage):
            return
        start = found.end - offset


def run_of(count: int, answers: int = 0) -> tuple[SimulatedDisk, list[Tick]]:
    """Return a disk with a run of this many ticks, and its frames."""
    disk = empty_run()
    ticks = frames(count, read_tail(disk).sealed.first)
    for tick in ticks:
        disk.append(JOURNAL, tick.frame)
    for asked in range(answers):
        disk.append("oracle.log", encode_answer(encode(decided(asked, 2))))
    return disk, ticks


def history_of(disk: SimulatedDisk) -> RecordedTicks:
    return recover(disk, before=0).recorded


def checkpoint_at(
    tick: int, end: int, link: bytes = ORIGIN, values: int = 5, kinds: Sequence[Sequence[str]] = ()
) -> Checkpoint:
    return Checkpoint(
        position=Position(tick=tick, journal_bytes=end, link=link, oldest_asked=8, answers_end=8),
        state=RunState(engine=EngineState(tick=tick, link=link, kinds=tuple(map(tuple, kinds)))),
        columns=Bundles.of([*pack("numbers", range(values)), Column("names", encode(["a", "b"]))]),
    )
