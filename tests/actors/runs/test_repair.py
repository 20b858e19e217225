"""The answers that a repair keeps, by what is in the oracle's log and in the journal of the spoilt run."""

from __future__ import annotations

from collections import deque

from actors.core.messages import QuestionName
from actors.persistence.oracle_log import LoggedAnswer, question_hash
from actors.runs.repair import Losses, kept_answers
from prism.agents import Question

TICKS = 10


def question(tick: int, agent: int, state: str = "amber") -> Question[int]:
    return Question(tick, agent, "clock", state, ("red", "green"), 7)


def answered(tick: int, agent: int, *, reason: str = "", question: bytes = b"") -> LoggedAnswer:
    source = "fallback" if reason else "llm"
    return LoggedAnswer(tick, agent, "clock", "red", source, reason, question=question)


def kept(logged: list[LoggedAnswer], *asked: Question[int], ended_by: str = "") -> list[LoggedAnswer]:
    """Return what is kept of this log, with these questions in the journal."""
    reasons = {(each.agent, each.asked, each.trigger): each.reason for each in logged if each.reason}
    losses = Losses(reasons, TICKS, 20, len(logged), ended_by)
    hashes: dict[QuestionName, deque[bytes]] = {}
    for each in asked:
        if each.tick >= losses.tick:
            hashes.setdefault((each.agent, each.tick, each.trigger), deque()).append(question_hash(each))
    return list(kept_answers(logged, losses, hashes))


def test_answers_from_the_first_lost_one_on_are_bound_to_their_questions_and_lost_ones_are_dropped() -> None:
    logged = [answered(2, 0), answered(3, 1, reason="timeout"), answered(3, 2), answered(8, 0)]
    questions = [question(2, 0), question(3, 1), question(3, 2), question(8, 0, "red")]
    assert kept(logged, *questions) == [
        answered(2, 0),
        answered(3, 2, question=question_hash(questions[2])),
        answered(8, 0, question=question_hash(questions[3])),
    ]


def test_answers_of_one_name_are_those_to_its_questions_in_their_order() -> None:
    logged = [answered(3, 1), answered(3, 1, reason="timeout"), answered(3, 1)]
    questions = [question(3, 1, "red"), question(3, 1, "amber"), question(3, 1, "green")]
    assert kept(logged, *questions) == [
        answered(3, 1, question=question_hash(questions[0])),
        answered(3, 1, question=question_hash(questions[2])),
    ]


def test_an_answer_from_an_earlier_repair_stays_bound_to_its_question_and_takes_no_other_ones_place() -> None:
    unused = answered(5, 1, question=question_hash(question(5, 1, "red")))
    used = answered(5, 2, question=question_hash(question(5, 2)))
    logged = [unused, used, answered(4, 0, reason="deadline"), answered(5, 1)]
    assert kept(logged, question(4, 0), question(5, 1), question(5, 2)) == [
        unused,
        used,
        answered(5, 1, question=question_hash(question(5, 1))),
    ]


def test_in_a_tick_that_did_not_end_only_what_was_answered_before_the_first_loss_is_sure() -> None:
    logged = [answered(9, 0), answered(TICKS, 1), answered(TICKS, 2, reason="timeout"), answered(TICKS, 3)]
    assert kept(logged, question(9, 0)) == [answered(9, 0), answered(TICKS, 1)]


def test_answers_of_a_tick_that_did_not_end_are_not_kept_if_an_earlier_tick_lost_one() -> None:
    logged = [answered(9, 0, reason="timeout"), answered(TICKS, 1)]
    assert kept(logged, question(9, 0)) == []


def test_all_that_was_answered_before_the_failure_that_ended_a_run_is_kept() -> None:
    logged = [answered(9, 0), answered(TICKS, 1), answered(TICKS, 2)]
    assert kept(logged, question(9, 0), ended_by="server_error") == logged


def test_losses_are_counted_by_reason_and_begin_with_the_first_question() -> None:
    losses = Losses({(1, 7, "clock"): "timeout", (2, 4, "clock"): "deadline", (3, 9, "clock"): "timeout"}, 12, 20, 50)
    assert (losses.tick, losses.total, losses.by_reason) == (4, 3, {"timeout": 2, "deadline": 1})
    ended = Losses({}, 12, 20, 50, "server_error")
    assert (ended.tick, ended.total, ended.by_reason) == (12, 1, {"server_error": 1})
    assert Losses({}, 12, 20, 50).total == 0
