"""The log of the oracle."""

from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from actors.core.frames import ORIGIN, encode_frame
from actors.core.messages import Decided
from actors.store.oracle_log import (
    ANSWERS,
    MAGIC,
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
    return RecordedAnswers(disk, len(MAGIC), disk.size(ANSWERS))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=30), st.integers(0, 2**32))
def test_every_question_finds_its_answers_whatever_the_order(names: list[tuple[int, int]], seed: int) -> None:
    answers = [decided(tick, agent, f"state {number}") for number, (tick, agent) in enumerate(names)]
    answers_known = known(logged(*answers))
    asked = list(names)
    Random(seed).shuffle(asked)
    taken = [answers_known.take(question(*name)) for name in asked]
    assert sorted(map(repr, taken)) == sorted(map(repr, answers))
    assert answers_known.take(question(0, 0)) is None
    newest = max((tick for tick, _ in names), default=-1)
    assert answers_known.is_used_up(newest + 1)
    assert not names or not answers_known.is_used_up(newest)


def test_the_log_is_used_up_for_questions_later_than_all_that_it_answers() -> None:
    answers_known = known(logged(decided(4, 1), decided(5, 2)))
    assert not answers_known.is_used_up(9)  # what has not been read may be of any tick
    answers_known.take(question(5, 2))
    assert not answers_known.is_used_up(5)  # taken, but a crash may come before anybody has it
    assert answers_known.is_used_up(6)


def test_no_answer_is_taken_from_behind_the_whole_records() -> None:
    disk = logged(decided(4, 1))
    end = disk.size(ANSWERS)
    disk.append(ANSWERS, encode_answer(msgspec.msgpack.encode(decided(4, 2))))
    answers_known = RecordedAnswers(disk, len(MAGIC), end)
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
