"""Recorded ticks and answers, as a resume reads them."""

import math
from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.core.errors import DivergedError
from actors.core.frames import ORIGIN, RunningDigest, encode_frame
from actors.core.messages import LATE, Decided, Message
from actors.store.journal import JOURNAL, read_tail, scan_journal
from actors.store.oracle_log import ANSWERS, RecordedAnswers, encode_answer, scan_answers
from actors.store.recovery import RecordedTicks, difference
from prism.agents import Source, Update
from prism.events import Intervened, PostEvent
from prism.rows import Heap, TickRows
from tests.actors.store.files import KINDS, TABLES, checkpoint_at, decided, empty_run, history_of, question, run_of
from tests.catalogue import catalogue
from tests.crash.disk import SimulatedDisk


def update(agent: int, to_state: str = "green", source: str = "rule", reason: str = "", effect: Any = None) -> Message:
    return Update(4, agent, "clock", "red", to_state, source, effect, reason)


def intervened(number: int, agent: int) -> Intervened:
    return Intervened(4, number, "silence", {"silence": [agent]})


def payload(tick: int, known: int, new: Sequence[tuple[str, ...]], kinds: list[int]) -> bytes:
    """The rows of a tick: kinds that are new in it, and an update of each agent with its kind."""
    rows = TickRows(TABLES)
    if new:
        rows.add("kinds", *(Heap.of([text.encode() for text in texts]) for texts in zip(*new, strict=True)))
    rows.add("updates", np.arange(len(kinds)), np.array(kinds))
    return rows.take(tick, known)


def test_it_can_begin_behind_a_checkpoint() -> None:
    disk, written = run_of(4)
    checkpoint = checkpoint_at(2, written[1].end, written[1].link, kinds=KINDS[:3])
    recorded = RecordedTicks(disk, read_tail(disk), scan_journal(disk), scan_answers(disk), checkpoint)
    assert recorded.compare(2, written[2].frame)
    assert recorded.compare(3, written[3].frame)
    assert not recorded.compare(4, b"a new one")


def test_what_comes_out_otherwise_is_refused_with_tick_agent_and_field() -> None:
    disk, written = run_of(2)
    recorded = history_of(disk)
    recorded.compare(0, written[0].frame)
    digest = RunningDigest()
    digest.link = written[0].link
    frame = digest.add(payload(1, 3, [("clock", "red", "amber", "no_row", "", "")], [0, 3]))
    with pytest.raises(DivergedError) as caught:
        recorded.compare(1, frame)
    assert caught.value.tick == 1
    assert caught.value.difference == "agent 1: to_state is 'red' in the journal and 'amber' in the new run"
    assert "tick 1 came out differently than in the journal" in str(caught.value)


@catalogue(
    ("recorded", "made", "told"),
    [
        ([update(0)], [update(0, "red")], "agent 0: to_state is 'green' in the journal and 'red' in the new run"),
        ([update(1)], [update(3)], "the journal has Update of agent 1 to 'clock', the new run Update of agent 3 to"),
        (
            [update(1, effect=[math.nan, 1])],
            [update(1, effect=[math.nan, 1.0])],
            "agent 1: effect is [nan, 1] in the journal and [nan, 1.0] in the new run",
        ),
        (
            [intervened(0, 3), update(1)],
            [intervened(0, 5), update(1)],
            "the journal has intervention 0: {'silence': [3]}, the new run intervention 0: {'silence': [5]}",
        ),
        (
            [PostEvent(4, 1, "reply", 9, 3)],
            [PostEvent(4, 1, "reply", 9, 2)],
            (
                "the journal has agent 1's PostEvent (kind 'reply', post 9, parent 3, topics ()), "
                "the new run agent 1's PostEvent (kind 'reply', post 9, parent 2, topics ())"
            ),
        ),
        ([update(1)], [update(1)], "the values are the same, and encoded otherwise"),
    ],
)
def test_the_first_difference_is_told_in_words(recorded: list[Message], made: list[Message], told: str) -> None:
    assert difference(recorded, made).startswith(told)


def test_who_was_late_in_a_recorded_tick_is_known() -> None:
    disk, late, missed = empty_run(), (Source.TIMEOUT, "", LATE), (Source.TIMEOUT, "", "deadline")
    new = [KINDS[0], ("clock", "red", "green", *late), ("clock", "red", "green", *missed)]
    disk.append(JOURNAL, RunningDigest().add(payload(0, 0, new, [0, 1, 2])))
    recorded = history_of(disk)
    assert recorded.late_agents(0) == frozenset({1})
    assert recorded.late_agents(1) is None  # which has not been run before


def logged(*answers: Decided) -> SimulatedDisk:
    disk = empty_run()
    for answer in answers:
        disk.append(ANSWERS, encode_answer(msgspec.msgpack.encode(answer)))
    return disk


def known(disk: SimulatedDisk) -> RecordedAnswers:
    return RecordedAnswers(disk, disk.size(ANSWERS))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=30), st.integers(0, 2**32))
def test_every_question_finds_its_answers_whatever_the_order(names: list[tuple[int, int]], seed: int) -> None:
    answers = [decided(tick, agent, f"state {number}") for number, (tick, agent) in enumerate(names)]
    answers_known = known(logged(*answers))
    asked = list(names)
    Random(seed).shuffle(asked)
    taken = [answers_known.take(question(*name)) for name in asked]
    assert sorted(map(repr, taken)) == sorted(map(repr, answers))
    assert answers_known.take(question(0, 0)) is None
    assert not answers_known.are_left()


def test_answers_of_ticks_before_the_checkpoint_are_not_kept() -> None:
    disk = logged(decided(4, 1), decided(5, 2))
    answers_known = RecordedAnswers(disk, disk.size(ANSWERS), 5)
    assert answers_known.take(question(4, 1)) is None
    assert answers_known.take(question(5, 2)) == decided(5, 2)


def test_no_answer_is_taken_from_behind_the_whole_records() -> None:
    disk = logged(decided(4, 1))
    end = disk.size(ANSWERS)
    disk.append(ANSWERS, encode_answer(msgspec.msgpack.encode(decided(4, 2))))
    answers_known = RecordedAnswers(disk, end)
    assert answers_known.take(question(4, 2)) is None
    assert answers_known.take(question(4, 1)) == decided(4, 1)


def test_a_torn_answer_and_a_frame_without_an_answer_end_the_whole_records() -> None:
    for rest, is_end in (
        (encode_answer(msgspec.msgpack.encode(decided(4, 2)))[:-1], True),
        (encode_frame(ORIGIN, msgspec.msgpack.encode([2, "an update"])), False),
    ):
        disk = logged(decided(4, 1))
        end = disk.size(ANSWERS)
        disk.append(ANSWERS, rest)
        answers, length, damage, _ = scan_answers(disk)
        assert (answers, length) == (1, end)
        assert damage is not None
        assert (damage.is_end, "holds no answer" in damage.problem) == (is_end, not is_end)
