"""The explanation of turns: it has what an independent look at the chart and the journal gives, and changes nothing."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from actors.core.errors import DivergedError, RunDirectoryError
from actors.explain.path import explain_path
from actors.explain.retrace import OpenRun
from actors.explain.tree import Node
from actors.explain.turns import explain_turns
from actors.store.journal import JOURNAL
from tests.actors.cli.test_replay import Done, forge
from tests.actors.explain.nested_runs import nested_run
from tests.catalogue import catalogue
from tests.command import prism_alone
from tests.explained import everybody
from tests.own_domains import CROSSING, path_restored, write_study
from tests.recorded import content


@pytest.fixture(autouse=True)
def _path() -> Iterator[None]:
    path = list(sys.path)
    yield
    sys.path[:] = path


def turns_of(tree: Node) -> list[Node]:
    return [*tree.all("turn")]


def one(node: Node, kind: str) -> Node:
    """Return the first node of a kind below another one."""
    return next(node.all(kind))


def test_every_turn_of_an_agent_is_as_its_path_says_and_nothing_is_written(few_run: Path) -> None:
    before = content(few_run)
    path = explain_path(few_run, 3, first=0)
    found = turns_of(anyio.run(explain_turns, few_run, 3, 0, 35))
    assert path.value["turns"] == len(turns_of(path)) == len(found)
    for turn, line in zip(found, turns_of(path), strict=True):
        names = ("tick", "trigger", "to_state", "source", "reason", "effect")
        assert [turn.value[name] for name in names] == [line.value[name] for name in names]
        assert turn.value["state"] == line.value["from_state"]
        assert [each.value for each in turn.all("followed")] == [*line.value["events"]]
    assert content(few_run) == before


def test_the_values_of_guards_are_those_by_which_they_are_true(few_run: Path) -> None:
    """The default chart's thresholds, compared by hand with the relevance that the explanation gives."""
    seen = set()
    lowest: dict[int, float] = {}
    for turn in everybody(few_run, 24, 35):
        for each in turn.all("profile"):
            lowest[turn.value["agent"]] = each.value["low_threshold"]
        for row in (each.value for each in turn.all("row")):
            if row["guard"] == "agent.low_threshold < post.relevance < agent.high_threshold":
                low, relevance, high = row["values"].values()
                assert row["outcome"] == ("true" if low < relevance < high else "false")
                assert row["is_candidate"] == (row["outcome"] == "true")
                assert lowest[turn.value["agent"]] == low
                seen.add(row["outcome"])
    assert seen == {"true", "false"}


def test_each_turn_has_the_row_that_it_took_its_question_and_the_choice_it_drew_from(few_run: Path) -> None:
    turns = everybody(few_run, 0, 35)
    moved = [turn for turn in turns if turn.value["source"] in ("rule", "oracle")]
    for turn in moved:
        taken = [row.value for row in turn.all("row") if row.value["is_taken"]]
        assert [(row["target"], row["is_candidate"]) for row in taken] == [(turn.value["to_state"], True)]
    assert {turn.value["source"] for turn in moved} == {"rule", "oracle"}
    asking = [turn for turn in turns if turn.value["source"] == "question"]
    decided = {(turn.value["agent"], turn.value["tick"]): turn for turn in turns if turn.value["is_decision"]}
    assert decided
    for turn in asking:
        asked, answer, embedded = (one(turn, kind).value for kind in ("asked", "answer", "embedded"))
        assert [*embedded["probabilities"]] == asked["options"]
        assert sum(embedded["probabilities"].values()) == pytest.approx(1.0)
        assert not [*turn.all("sent"), *turn.all("would read")]
        if not answer:  # none yet: its decision would be after the last tick
            continue
        decision = decided[asked["agent"], answer["decided_in"]]
        assert (answer["state"], answer["method"]) == (decision.value["to_state"], "embedded")
    first = asking[0].value
    found = turns_of(anyio.run(explain_turns, few_run, first["agent"], first["tick"]))
    assert [(turn.value["source"] == "question", turn.value["is_decision"]) for turn in found] == [
        (True, False),
        (False, True),
    ]
    assert one(found[0], "asked") == one(asking[0], "asked")
    assert one(found[1], "decision").text.endswith(f" of tick {first['tick']}")


def test_nested_charts_show_inner_and_outer_rows_and_guards_in_python(tmp_path: Path) -> None:
    run = nested_run(tmp_path)
    seen = set()
    for turn in everybody(run, 0, 35):
        if turn.value["trigger"] != "sees_post":
            continue
        rows = {row.value["name"]: row.value for row in turn.all("row")}
        outcomes = {name: row["outcome"] for name, row in rows.items()}
        appeal = one(turn, "context").value["appeal"]
        keen = appeal > 0.5
        assert outcomes["keen"] == ("true" if keen else "false")
        assert outcomes["broken"] == "raised"
        assert outcomes["outer"] == ("not_asked" if keen else "true" if appeal > 0.2 else "false")
        assert (rows["keen"]["guard"], rows["keen"]["values"], rows["keen"]["level"]) == ("is_keen", {}, 0)
        assert rows["broken"]["error"] == "RuntimeError: no such thing"
        assert (rows["outer"]["values"], rows["outer"]["level"]) == ({"post.appeal": appeal}, 1)
        seen.add((keen, outcomes["outer"]))
    assert seen == {(True, "not_asked"), (False, "true"), (False, "false")}


def test_a_crash_and_a_quarantine_are_turns_that_lead_nowhere(tmp_path: Path) -> None:
    run = nested_run(tmp_path, crashes=True)
    turns = [turn for turn in everybody(run, 0, 35) if turn.value["trigger"] == "wants_to_post"]
    crashed = [turn for turn in turns if turn.value["agent"] % 2]
    assert crashed
    assert len(crashed) < len(turns)
    for turn in turns:
        is_odd, value = turn.value["agent"] % 2, turn.value
        expected = ("away", "crash", "ValueError", [False]) if is_odd else ("writing", "rule", "", [True])
        is_taken = [row.value["is_taken"] for row in turn.all("row")]
        assert (value["to_state"], value["source"], value["reason"], is_taken) == expected


def checkpoints_of(run: Path) -> list[int]:
    """The ticks of its checkpoints, and 0: one every eight ticks, unless a slow disk still writes the one before."""
    return [0, *(int(path.stem.rpartition("-")[2]) for path in run.glob("checkpoint-*.bin"))]


async def test_the_ticks_are_done_again_from_the_nearest_checkpoint_before_them(few_run: Path) -> None:
    begun: list[int] = []
    ticks = [turn.value["tick"] for turn in turns_of(explain_path(few_run, 3, first=0))]
    late, early = next(tick for tick in reversed(ticks) if tick >= 32), ticks[0]
    for tick in (late, early):
        await explain_turns(few_run, 3, tick, None, lambda simulation: begun.append(simulation.engine.tick))
    kept = checkpoints_of(few_run)
    assert begun == [max(each for each in kept if each <= tick) for tick in (late, early)]
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
        turns = turns_of(anyio.run(explain_turns, run, 1, 0, 29))
        path = turns_of(explain_path(run, 1, first=0))
        assert explain_path(run, "Bo") == explain_path(run, 1)
        with pytest.raises(RunDirectoryError, match=r": 2 agents are called 'Ann': 0, 2; name one by its number$"):
            explain_path(run, "Ann")
    moves = [[(turn.value["tick"], turn.value["to_state"]) for turn in each] for each in (turns, path)]
    assert moves[0] == moves[1]
    asked = [turn for turn in turns if [*turn.all("asked")]]
    assert asked, "a red light may turn either way"
    assert all(one(turn, "context").value == {"context": turn.value["tick"]} for turn in asked)


def test_a_run_is_explained_up_to_its_last_whole_tick_and_up_to_any_damage(few_run: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn"
    shutil.copytree(few_run, torn)
    whole = (few_run / JOURNAL).read_bytes()
    (torn / JOURNAL).write_bytes(whole[:-20])
    for path in torn.glob("checkpoint-*36.bin"):
        path.unlink()
    found = explain_path(torn, 3, first=0)
    assert found.value["ticks"] == 35
    assert "cut at byte" in one(found, "note").text
    turns = turns_of(explain_path(few_run, 3, first=0))
    assert turns_of(found) == [turn for turn in turns if turn.value["tick"] < 35]
    first = turns[0].value["tick"]
    of_both = [turns_of(anyio.run(explain_turns, run, 3, first)) for run in (torn, few_run)]
    assert of_both[0] == of_both[1]


def test_another_journal_is_not_explained(few_run: Path, tmp_path: Path) -> None:
    forged = tmp_path / "forged"
    shutil.copytree(few_run, forged)

    def lie(tick: int, updates: list[Done]) -> None:
        if tick == 30:
            agent, kind = updates[0]
            updates[0] = agent, kind._replace(to_state="resting" if kind.to_state != "resting" else "idle")

    forge(forged, lie)
    with pytest.raises(DivergedError, match=r"^tick 30 came out differently than in the journal: agent \d+: to_state"):
        anyio.run(explain_turns, forged, 3, 0, 35)
    of_both = [turns_of(anyio.run(explain_turns, run, 3, 0, 12)) for run in (forged, few_run)]
    assert of_both[0] == of_both[1]


def test_unknown_agents_and_ticks_are_named_and_of_turns_the_nearest(few_run: Path) -> None:
    with pytest.raises(RunDirectoryError, match=r"there is no agent 24; the run has the agents 0 to 23$"):
        explain_path(few_run, 24)
    with pytest.raises(RunDirectoryError, match=r"no agent is called 'Nobody At All'; expected a name, or a number"):
        explain_path(few_run, "Nobody At All")
    name = explain_path(few_run, 3).value["name"]
    with pytest.raises(RunDirectoryError, match=rf"is called '{name}e'; did you mean {name}\b.*\? expected a name, or"):
        explain_path(few_run, f"{name}e")
    with pytest.raises(RunDirectoryError, match=r"there is no tick 36; the run has the ticks 0 to 35$"):
        anyio.run(explain_turns, few_run, 0, 36)
    ticks = sorted({turn.value["tick"] for turn in turns_of(explain_path(few_run, 3, first=0))})
    free = next(tick for tick in range(ticks[2], 36) if tick not in ticks)
    near = [tick for tick in ticks if tick < free][-2:] + [tick for tick in ticks if tick > free][:2]
    with pytest.raises(RunDirectoryError, match=f"has no turn in tick {free}; .* ticks {', '.join(map(str, near))}$"):
        anyio.run(explain_turns, few_run, 3, free)


@catalogue(
    ("domain", "name", "words"),
    [
        ("social", "Ana", "Ana (person 7)"),
        ("social", "", "person 7"),
        ("social", "Person 7", "person 7"),
        ("economy", "Ada", "Ada"),
        ("lights:build", "", "agent 7"),
    ],
)
def test_agents_are_called_by_their_names(domain: str, name: str, words: str) -> None:
    noun = {"social": "person", "economy": "nation"}.get(domain, "agent")
    run: Any = SimpleNamespace(domain_name=domain, name_of=lambda _: name, show=SimpleNamespace(agent=noun))
    assert OpenRun.called(run, 7) == words
