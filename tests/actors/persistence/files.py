"""The files of a made-up run, written by the product's own functions on a disk in memory, and a file's frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from actors.core.frames import ORIGIN, Damage, Frame, RunningDigest, read_frame
from actors.core.state import EngineState, RunState
from actors.persistence.checkpoint import Checkpoint, Position
from actors.persistence.checkpoint_writer import CheckpointWriter
from actors.persistence.disk import Disk
from actors.persistence.journal import JOURNAL, create_journal, header_of, read_header
from actors.persistence.journal_writer import LARGEST, JournalWriter
from actors.persistence.oracle_log import LoggedAnswer, create_answers, encode_answer
from actors.record.recorded_ticks import RecordedTicks
from actors.record.recovery import recover
from prism.agents import Question, Update
from prism.bundles import Bundles
from prism.columns import Column, pack
from prism.config import Config
from tests.crash.disk import SimulatedDisk

encode = msgspec.msgpack.encode

SEGMENT = 1_000 // LARGEST
"""The size of a segment, which is full at several times that: with eight ticks of `frames`."""


class Tick(NamedTuple):
    """A frame of the journal, its link, and the journal's length after it."""

    frame: bytes
    link: bytes
    end: int


def update(tick: int, agent: int, to_state: str = "green", source: str = "rule", reason: str = "") -> bytes:
    return encode(Update(tick, agent, "clock", "red", to_state, source, None, reason))


def question(tick: int, agent: int) -> Question[None]:
    return Question(tick, agent, "clock", "amber", ("red", "green"))


def decided(tick: int, agent: int, state: str = "red") -> LoggedAnswer:
    return LoggedAnswer(tick, agent, "clock", state, "llm", latency_s=0.25)


def empty_run() -> SimulatedDisk:
    """Return a disk with a run that has no tick yet."""
    disk = SimulatedDisk()
    create_answers(disk)
    create_journal(disk, header_of(Config(), {"friends.txt": "ab" * 32}, agents=3, version="9.9"))
    return disk


def write(disk: Disk, ticks: Sequence[Tick], size: int) -> None:
    """Append ticks, and seal those that fill a segment."""
    writer = JournalWriter(disk, size)
    writer.append([tick.frame for tick in ticks])
    writer.seal()


def frames(count: int, start: int = 0) -> list[Tick]:
    """Return the frames of this many ticks, two updates and a question each."""
    digest, made, end = RunningDigest(), [], start
    for tick in range(count):
        frame = digest.add(tick, [update(tick, 0), update(tick, 1, "red"), encode(question(tick, 2))])
        end += len(frame)
        made.append(Tick(frame, digest.link, end))
    return made


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
    ticks = frames(count, read_header(disk)[1])
    for tick in ticks:
        disk.append(JOURNAL, tick.frame)
    for asked in range(answers):
        disk.append("oracle.log", encode_answer(encode(decided(asked, 2))))
    return disk, ticks


def history_of(disk: SimulatedDisk) -> RecordedTicks:
    """Return all the recorded ticks of a run."""
    return recover(disk, before=0).recorded


def draft_at(tick: int, journal_bytes: int, link: bytes) -> CheckpointWriter:
    """Return the same checkpoint, made and not yet written."""
    checkpoint = checkpoint_at(tick, journal_bytes, link)
    with CheckpointWriter(checkpoint.position, checkpoint.state) as draft:
        for column in checkpoint.columns:
            draft.add(column)
    return draft


def checkpoint_at(tick: int, end: int, link: bytes = ORIGIN, values: int = 5) -> Checkpoint:
    """Return a checkpoint of a made-up world."""
    return Checkpoint(
        position=Position(tick=tick, journal_bytes=end, link=link, answers_bytes=8, answers_end=8, lines={}),
        state=RunState(engine=EngineState(tick=tick, link=link)),
        columns=Bundles.of([*pack("numbers", range(values)), Column("names", encode(["a", "b"]))]),
    )
