"""The log of the oracle."""

from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from actors.core.frames import ORIGIN, encode_frame
from actors.core.messages import Decided
from actors.store.oracle_log import (
    ANSWERS,
    RecordedAnswers,
    encode_answer,
    scan_answers,
)
from tests.actors.store.files import decided, empty_run, question
from tests.crash.disk import SimulatedDisk


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
