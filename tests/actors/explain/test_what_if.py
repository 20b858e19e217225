"""What would have been different: nothing with the same answer, and with another one what a rule of thumb can tell."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

import anyio
import pytest

from actors.core.errors import RunDirectoryError
from actors.explain.explain import explain_path
from actors.explain.explanation import PathTurn, WhatIf
from actors.explain.what_if import what_if
from tests.recorded import content


@cache
def questions(run: Path) -> list[tuple[int, PathTurn, str]]:
    """Return `(agent, the turn that asked, what was decided)` of questions with a decision and a round after it."""
    found = []
    for agent in range(8):
        turns = explain_path(run, agent, first=0).turns
        for index, asked in enumerate(turns[:-1]):
            if asked.options and turns[index + 1].tick <= 12:
                found.append((agent, asked, turns[index + 1].to_state))
    return found


def different(run: Path, agent: int, tick: int, answer: str, ticks: int | None = None) -> WhatIf:
    return anyio.run(partial(what_if, run, agent, tick, answer, ticks))


def test_with_the_answer_that_was_given_nothing_is_different(few_run: Path) -> None:
    agent, asked, decided = questions(few_run)[0]
    found = different(few_run, agent, asked.tick, decided)
    assert {(each.agents, each.acting) for each in found.ticks} == {(0, 0)}
    assert len(found.ticks) == 12
    assert found.path_was == found.path_would_be
    assert (found.states, found.totals, found.agents, found.posts) == ((), (), (), ())
    assert all(each.was == each.would_be for each in found.events)
    assert any("is the answer that was given" in note for note in found.notes)


def test_with_another_answer_the_agent_does_something_else_first_and_nothing_is_written(few_run: Path) -> None:
    before = content(few_run)
    agent, asked, _ = next(each for each in questions(few_run) if each[2] in {"engaging_like", "engaging_reshare"})
    found = different(few_run, agent, asked.tick, "scrolling")
    assert (found.ticks[0].tick, found.ticks[0].agents, found.ticks[0].acting) == (found.decided_in, 1, 1)
    assert found.path_would_be[0].to_state == "scrolling"
    assert found.path_was[0].to_state == found.was
    assert found.agents[0].agent == agent
    assert found.path_was == explain_path(few_run, agent, found.decided_in, found.until - 1).turns
    assert content(few_run) == before


def test_a_question_is_found_by_the_tick_of_its_decision_and_others_are_one_line(few_run: Path) -> None:
    agent, asked, decided = questions(few_run)[0]
    by_question = different(few_run, agent, asked.tick, decided, 1)
    assert different(few_run, agent, by_question.decided_in, decided, 1) == by_question
    with pytest.raises(RunDirectoryError, match=f"'nonsense' is no option .* it has: {', '.join(asked.options)}$"):
        different(few_run, agent, asked.tick, "nonsense")
    turn = next(each for each in explain_path(few_run, agent, first=0).turns if each.tick < asked.tick)
    with pytest.raises(RunDirectoryError, match=f"has no question in tick {turn.tick}; its nearest question"):
        different(few_run, agent, turn.tick, "scrolling")
    long = different(few_run, agent, asked.tick, decided, 1000)
    assert long.until == 36
    assert f"the run has 36 ticks so far, so {36 - long.decided_in} are compared" in long.notes


def test_a_rejected_proposal_of_an_economy_leaves_the_rate_to_the_others(economy_run: Path) -> None:
    found = different(economy_run, 0, 1, "rejected", 1)
    assert (found.was, found.trigger) == ("accepted", "review")
    assert [turn.to_state for turn in found.path_would_be if not turn.options] == ["proposed", "rejected"]
    assert [turn.to_state for turn in found.path_was if not turn.options] == ["proposed", "accepted", "applied"]
    same = different(economy_run, 0, 1, "accepted", 1)
    assert (same.totals, {each.agents for each in same.ticks}) == ((), {0})
