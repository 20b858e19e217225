"""What would have been different: nothing with the same answer, and with another one what a rule of thumb can tell."""

from __future__ import annotations

from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest

from actors.core.errors import RunDirectoryError
from actors.explain.path import explain_path
from actors.explain.tree import Node
from actors.explain.what_if import what_if
from tests.recorded import content


def values(tree: Node, kind: str) -> list[dict[str, Any]]:
    return [each.value for each in tree.all(kind)]


@cache
def questions(run: Path) -> list[tuple[int, int, str]]:
    """Return `(agent, tick, what was decided)` of questions with a decision and a round after it."""
    found = []
    for agent in range(8):
        turns = values(explain_path(run, agent, first=0), "turn")
        for asked, decided in pairwise(turns):
            if asked["source"] == "question" and decided["tick"] <= 12:
                found.append((agent, asked["tick"], decided["to_state"]))
    return found


def different(run: Path, agent: int, tick: int, answer: str, ticks: int | None = None) -> Node:
    return anyio.run(partial(what_if, run, agent, tick, answer, ticks))


def test_with_the_answer_that_was_given_nothing_is_different(few_run: Path) -> None:
    agent, asked, decided = questions(few_run)[0]
    found = different(few_run, agent, asked, decided)
    assert found.value["until"] == found.value["decided_in"] + 12
    assert not values(found, "apart")
    assert any(each.text == "no agent's journal differs in any tick" for each in found.all("hint"))
    assert all(each["was"] == each["would_be"] for each in values(found, "turns"))
    for kind in ("states", "totals", "engagements", "acted"):
        assert not values(found, kind)
    assert all(each["was"] == each["would_be"] for each in values(found, "took place"))
    assert any("is the answer that was given" in note.text for note in found.all("note"))


def test_with_another_answer_the_agent_does_something_else_first_and_nothing_is_written(few_run: Path) -> None:
    before = content(few_run)
    agent, asked, _ = next(each for each in questions(few_run) if each[2] in {"engaging_like", "engaging_reshare"})
    found = different(few_run, agent, asked, "scrolling")
    facts, turns = found.value, values(found, "turns")
    first = {"tick": facts["decided_in"], "last": facts["decided_in"], "agents": 1, "acting": 1}
    assert values(found, "apart")[0] == first
    assert turns[0]["would_be"][0]["to_state"] == "scrolling"
    assert turns[0]["was"][0]["to_state"] == facts["was"]
    assert values(found, "acted")[0]["agent"] == agent
    path = values(explain_path(few_run, agent, facts["decided_in"], facts["until"] - 1), "turn")
    assert [turn for each in turns for turn in each["was"]] == path
    assert content(few_run) == before


def test_a_question_is_found_by_the_tick_of_its_decision_and_others_are_one_line(few_run: Path) -> None:
    agent, asked, decided = questions(few_run)[0]
    by_question = different(few_run, agent, asked, decided, 1)
    assert different(few_run, agent, by_question.value["decided_in"], decided, 1) == by_question
    options = ", ".join(by_question.value["options"])
    with pytest.raises(RunDirectoryError, match=f"'nonsense' is no option .* it has: {options}$"):
        different(few_run, agent, asked, "nonsense")
    tick = values(explain_path(few_run, agent, first=0), "turn")[0]["tick"]
    with pytest.raises(RunDirectoryError, match=f"has no question in tick {tick}; its nearest question"):
        different(few_run, agent, tick, "scrolling")
    long = different(few_run, agent, asked, decided, 1000)
    assert long.value["until"] == 36
    told = f"the run has 36 ticks so far, so {36 - long.value['decided_in']} are compared"
    assert told in [note.text for note in long.all("note")]


def test_a_rejected_proposal_of_an_economy_leaves_the_rate_to_the_others(economy_run: Path) -> None:
    found = different(economy_run, 0, 1, "rejected", 1)
    assert (found.value["was"], found.value["trigger"]) == ("accepted", "review")
    states = {
        future: [turn["to_state"] for each in values(found, "turns") for turn in each[future] if not turn["options"]]
        for future in ("was", "would_be")
    }
    assert states == {"was": ["proposed", "accepted", "applied"], "would_be": ["proposed", "rejected"]}
    same = different(economy_run, 0, 1, "accepted", 1)
    assert (values(same, "totals"), values(same, "apart")) == ([], [])
