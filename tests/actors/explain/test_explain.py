"""The explanation of turns: it has what an independent look at the chart and the journal gives, and changes nothing."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from actors.core.errors import DivergedError, RunDirectoryError
from actors.explain.explain import explain_agent, explain_path, explain_turn
from actors.store.journal import JOURNAL
from tests.actors.cli.test_replay import Done, forge
from tests.actors.explain.nested_runs import nested_run
from tests.command import prism_alone
from tests.explained import everybody
from tests.own_domains import CROSSING, path_restored, write_study
from tests.recorded import content


@pytest.fixture(autouse=True)
def _path() -> Iterator[None]:
    path = list(sys.path)
    yield
    sys.path[:] = path


def test_every_turn_of_an_agent_is_as_its_path_says_and_nothing_is_written(few_run: Path) -> None:
    before = content(few_run)
    path = explain_path(few_run, 3, first=0)
    found = explain_agent(few_run, 3, 0, 35)
    assert path.turns_in_all == len(path.turns) == len(found.turns)
    for turn, line in zip(found.turns, path.turns, strict=True):
        assert (turn.tick, turn.trigger, turn.state, turn.to_state, turn.source, turn.reason, turn.events) == (
            line.tick,
            line.trigger,
            line.from_state,
            line.to_state,
            line.source,
            line.reason,
            line.events,
        )
    assert content(few_run) == before


def test_the_values_of_guards_are_those_by_which_they_are_true(few_run: Path) -> None:
    """The default chart's thresholds, compared by hand with the relevance that the explanation gives."""
    seen = set()
    for turn in everybody(few_run, 24, 35):
        for row in turn.rows:
            if row.guard == "agent.low_threshold < post.relevance < agent.high_threshold":
                low, relevance, high = row.values.values()
                assert row.outcome == ("true" if low < relevance < high else "false")
                assert row.is_candidate == (row.outcome == "true")
                assert turn.profile["low_threshold"] == low
                seen.add(row.outcome)
    assert seen == {"true", "false"}


def test_each_turn_has_the_row_that_it_took_its_question_and_the_choice_it_drew_from(few_run: Path) -> None:
    turns = everybody(few_run, 0, 35)
    moved = [turn for turn in turns if turn.source in ("rule", "oracle")]
    for turn in moved:
        taken = [row for row in turn.rows if row.is_taken]
        assert [(row.target, row.is_candidate) for row in taken] == [(turn.to_state, True)]
    assert {turn.source for turn in moved} == {"rule", "oracle"}
    decided = [turn for turn in turns if turn.is_decision]
    assert decided
    for turn in decided:
        question = turn.question
        assert question is not None
        assert question.answer is not None
        assert question.embedded is not None
        assert list(question.embedded) == list(question.options)
        assert sum(question.embedded.values()) == pytest.approx(1.0)
        assert (question.answer.state, question.answer.method) == (turn.to_state, "embedded")
        assert question.requests == ()
    asked = next(turn for turn in turns if turn.source == "question")
    found = anyio.run(explain_turn, few_run, asked.agent, asked.tick)
    asking, deciding = found.turns[0], found.turns[-1]
    assert (asking.tick, asking.source, deciding.is_decision) == (asked.tick, "question", True)
    assert asking.question == deciding.question == asked.question
    assert asking.question is not None
    assert asking.question.answer is not None
    assert asking.question.answer.decided_in == deciding.tick


def test_nested_charts_show_inner_and_outer_rows_and_guards_in_python(tmp_path: Path) -> None:
    run = nested_run(tmp_path)
    seen = set()
    for turn in everybody(run, 0, 35):
        if turn.trigger != "sees_post":
            continue
        assert turn.context is not None
        outcomes = {row.name: row.outcome for row in turn.rows}
        appeal = turn.context["appeal"]
        keen = appeal > 0.5
        assert outcomes["keen"] == ("true" if keen else "false")
        assert outcomes["broken"] == "raised"
        assert outcomes["outer"] == ("not_asked" if keen else "true" if appeal > 0.2 else "false")
        rows = {row.name: row for row in turn.rows}
        assert (rows["keen"].guard, rows["keen"].values, rows["keen"].level) == ("is_keen", {}, 0)
        assert rows["broken"].error == "RuntimeError: no such thing"
        assert (rows["outer"].values, rows["outer"].level) == ({"post.appeal": appeal}, 1)
        seen.add((keen, outcomes["outer"]))
    assert seen == {(True, "not_asked"), (False, "true"), (False, "false")}


def test_a_crash_and_a_quarantine_are_turns_that_lead_nowhere(tmp_path: Path) -> None:
    run = nested_run(tmp_path, crashes=True)
    turns = [turn for turn in everybody(run, 0, 35) if turn.trigger == "wants_to_post"]
    crashed = [turn for turn in turns if turn.agent % 2]
    assert crashed
    assert len(crashed) < len(turns)
    for turn in turns:
        expected = ("away", "crash", "ValueError", [False]) if turn.agent % 2 else ("writing", "rule", "", [True])
        assert (turn.to_state, turn.source, turn.reason, [row.is_taken for row in turn.rows]) == expected


def checkpoints_of(run: Path) -> list[int]:
    """The ticks of its checkpoints, and 0: one every eight ticks, unless a slow disk still writes the one before."""
    return [0, *(int(path.stem.rpartition("-")[2]) for path in run.glob("checkpoint-*.bin"))]


async def test_the_ticks_are_done_again_from_the_nearest_checkpoint_before_them(few_run: Path) -> None:
    begun: list[int] = []
    asked = next(turn for turn in reversed(explain_path(few_run, 3, first=0).turns) if turn.tick >= 32)
    await explain_turn(few_run, 3, asked.tick, lambda simulation: begun.append(simulation.engine.tick))
    early = explain_path(few_run, 3, first=0).turns[0]
    await explain_turn(few_run, 3, early.tick, lambda simulation: begun.append(simulation.engine.tick))
    kept = checkpoints_of(few_run)
    assert begun == [max(tick for tick in kept if tick <= turn.tick) for turn in (asked, early)]
    assert begun[0] > begun[1] == 0


NAMED = """

from prism.show import Show


class SHOW(Show):
    def name(self, agent: int) -> str:
        return ("Ann", "Bo", "Ann")[agent]
"""


def test_a_domain_of_ones_own_is_explained_and_an_agent_found_by_the_name_that_it_shows(tmp_path: Path) -> None:
    study, run = write_study(tmp_path, CROSSING + NAMED), tmp_path / "run"
    with path_restored():
        assert prism_alone("run", str(study.config), "-q", "--out", str(run)).code == 0
        turns = explain_agent(run, 1, 0, 29).turns
        path = explain_path(run, 1, first=0).turns
        assert explain_path(run, "Bo") == explain_path(run, 1)
        with pytest.raises(RunDirectoryError, match=r": 2 agents are called 'Ann': 0, 2; name one by its number$"):
            explain_path(run, "Ann")
    assert [(turn.tick, turn.to_state) for turn in turns] == [(turn.tick, turn.to_state) for turn in path]
    asked = [turn for turn in turns if turn.question is not None]
    assert asked, "a red light may turn either way"
    assert all(turn.context == {"context": turn.question.tick} for turn in asked if turn.question is not None)


def test_a_run_is_explained_up_to_its_last_whole_tick_and_up_to_any_damage(few_run: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn"
    shutil.copytree(few_run, torn)
    whole = (few_run / JOURNAL).read_bytes()
    (torn / JOURNAL).write_bytes(whole[:-20])
    for path in torn.glob("checkpoint-*36.bin"):
        path.unlink()
    found = explain_path(torn, 3, first=0)
    assert found.ticks == 35
    assert "cut at byte" in found.notes[0]
    turns = explain_path(few_run, 3, first=0).turns
    assert found.turns == tuple(turn for turn in turns if turn.tick < 35)
    assert (
        anyio.run(explain_turn, torn, 3, turns[0].tick).turns
        == anyio.run(explain_turn, few_run, 3, turns[0].tick).turns
    )


def test_another_journal_is_not_explained(few_run: Path, tmp_path: Path) -> None:
    forged = tmp_path / "forged"
    shutil.copytree(few_run, forged)

    def lie(tick: int, updates: list[Done]) -> None:
        if tick == 30:
            agent, kind = updates[0]
            updates[0] = agent, kind._replace(to_state="resting" if kind.to_state != "resting" else "idle")

    forge(forged, lie)
    with pytest.raises(DivergedError, match=r"^tick 30 came out differently than in the journal: agent \d+: to_state"):
        explain_agent(forged, 3, 0, 35)
    assert explain_agent(forged, 3, 0, 12).turns == explain_agent(few_run, 3, 0, 12).turns


def test_unknown_agents_and_ticks_are_named_and_of_turns_the_nearest(few_run: Path) -> None:
    with pytest.raises(RunDirectoryError, match=r"there is no agent 24; the run has the agents 0 to 23$"):
        explain_path(few_run, 24)
    with pytest.raises(RunDirectoryError, match=r"no agent is called 'Nobody At All'; expected a name, or a number"):
        explain_path(few_run, "Nobody At All")
    with pytest.raises(RunDirectoryError, match=r"there is no tick 36; the run has the ticks 0 to 35$"):
        explain_agent(few_run, 0, 36, 36)
    ticks = sorted({turn.tick for turn in explain_path(few_run, 3, first=0).turns})
    free = next(tick for tick in range(ticks[2], 36) if tick not in ticks)
    near = [tick for tick in ticks if tick < free][-2:] + [tick for tick in ticks if tick > free][:2]
    with pytest.raises(RunDirectoryError, match=f"has no turn in tick {free}; .* ticks {', '.join(map(str, near))}$"):
        anyio.run(explain_turn, few_run, 3, free)
