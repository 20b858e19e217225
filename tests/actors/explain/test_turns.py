"""Explanations: of turns, of posts, of what would have been different, and their values as JSON."""

import json
import math
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache, partial
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from actors.core.errors import DivergedError, RunDirectoryError
from actors.explain.posts import explain_post
from actors.explain.tree import Node, plain
from actors.explain.turns import explain_path, explain_turns
from actors.explain.what_if import what_if
from actors.store.journal import JOURNAL
from prism.economy import GlobalState
from prism.statechart import AgentState
from tests.actors.cli.test_verify import Done, forge
from tests.actors.store.independent_reader import read_posts
from tests.catalogue import catalogue
from tests.command import prism_alone
from tests.own_domains import CROSSING, path_restored, write_study
from tests.recorded import FEW, content, everybody, make_run

NESTED = """
initial: away
states:
  away:
    role: offline
    transitions:
      - {trigger: feed_ready, target: reading}
      - {trigger: wants_to_post, target: writing}
  online:
    initial: reading
    transitions:
      - {trigger: round_ends, target: away}
      - {trigger: sees_post, target: reading, when: post.appeal > 0.2, label: outer}
    states:
      writing:
        after: {ticks: 1, trigger: written}
        transitions:
          - {trigger: written, target: reading, effect: post}
      reading:
        role: browse
        after: {ticks: 2, trigger: timeout}
        transitions:
          - {trigger: sees_post, target: sharing, when: "MODULE:is_keen", label: keen}
          - {trigger: sees_post, target: reading, when: "MODULE:is_broken", label: broken}
          - {trigger: timeout, target: away}
      sharing:
        effect: reshare
        after: {ticks: 1, trigger: shared}
        transitions:
          - {trigger: shared, target: reading}
"""
GUARDS = """
def is_keen(agent, view):
    return view.appeal > 0.5


def is_broken(agent, view):
    raise RuntimeError("no such thing")


def fails(agent, view):
    if agent.agent_id % 2:
        raise ValueError("odd people cannot write")
"""
_numbers = count(1)


def nested_run(place: Path, *, crashes: bool = False) -> Path:
    """Return a run of a nested chart whose inner guards are Python functions, one of which raises.

    `crashes`: whether people with odd numbers crash when they begin to write.
    """
    module = f"nested_guards_{next(_numbers)}"
    (place / f"{module}.py").write_text(GUARDS)
    chart = place / "nested.yaml"
    action = ', do: "MODULE:fails"' if crashes else ""
    nested = NESTED.replace("target: writing}", f"target: writing{action}}}")
    chart.write_text(nested.replace("MODULE", module))
    # Rows that overlap are no questions here: each guard alone decides.
    return make_run(place, {**FEW, "statechart": {"file": str(chart), "oracle_enabled": False}})


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


def sizes_of(posts: dict[int, Any]) -> list[int]:
    sizes = Counter(each[3] for each in posts.values())
    return [root for root, _ in sizes.most_common()]


def why(act: Node) -> dict[str, Any]:
    """Return the turn that decided on an act; empty for one from outside."""
    return next(each for each in act.children if each.kind == "why").value


def test_the_tree_is_the_one_in_the_journal_whichever_of_its_posts_is_asked_for(few_run: Path) -> None:
    posts, likes = read_posts(few_run)
    root = sizes_of(posts)[0]
    tree = {post: each for post, each in posts.items() if each[3] == root}
    found = anyio.run(explain_post, few_run, root)
    assert len(tree) > 2
    shown = {each.value["post"]: each for each in found.all("post")}
    assert {post: [shown[post].value[name] for name in ("tick", "kind", "parent", "depth")] for post in shown} == {
        post: [tick, kind, parent, depth] for post, (tick, kind, parent, _, depth) in tree.items()
    }
    liked = [(like.value["agent"], post) for post in tree for like in shown[post].all("liked by")]
    assert liked == sorted((each for each in likes if each[1] in tree), key=lambda each: [*tree].index(each[1]))
    depth = max(depth for *_, depth in tree.values())
    assert (found.value["root"], found.value["depth"]) == (root, depth)
    assert all([*each.all("text")] for each in shown.values())
    [leaf] = [*anyio.run(explain_post, few_run, [*shown][-1]).all("post")][-1:]
    assert leaf.text.endswith("  <- asked for")
    assert leaf.value == shown[leaf.value["post"]].value


@pytest.mark.slow
def test_every_engagement_leads_to_a_turn_of_its_agent_that_decided_on_it(few_run: Path) -> None:
    posts, _ = read_posts(few_run)
    engaged = 0
    for root in [post for post in sizes_of(posts) if posts[post][2] is None][:3]:
        for post in anyio.run(explain_post, few_run, root).all("post"):
            for each in (post, *post.all("liked by")):
                agent, tick, cause = each.value["agent"], each.value["tick"], why(each)
                if not cause:
                    continue
                assert (cause["agent"], cause["tick"] <= tick) == (agent, True)
                path = explain_path(few_run, agent, cause["tick"], tick).all("turn")
                turn = next(turn.value for turn in path if turn.value["source"] != "question")
                assert [turn[name] for name in ("trigger", "from_state", "to_state")] == [
                    cause[name] for name in ("trigger", "state", "to_state")
                ]
                engaged += cause["trigger"] == "decides"
    assert engaged > 5


def test_a_post_from_outside_has_no_turn_and_a_post_that_there_is_not_is_one_line(few_run: Path) -> None:
    posts, _ = read_posts(few_run)
    outside = next(post for post, (tick, kind, *_) in posts.items() if (tick, kind, post >> 24) == (12, "publish", 7))
    found = anyio.run(explain_post, few_run, outside)
    original = next(found.all("post"))
    assert ([each.text for each in original.all("text")], why(original)) == (["The bridge is closed."], {})
    with pytest.raises(RunDirectoryError, match=r"there is no post 99 in the ticks 0 to 35$"):
        anyio.run(explain_post, few_run, 99)


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
    assert [values(found, kind) for kind in ("apart", "states", "totals", "acted")] == [[]] * 4
    assert "no agent's journal differs in any tick" in [each.text for each in found.all("hint")]
    assert all(each["was"] == each["would_be"] for kind in ("turns", "took place") for each in values(found, kind))
    assert any("is the answer that was given" in note.text for note in found.all("note"))


def test_with_another_answer_the_agent_does_something_else_first_and_nothing_is_written(few_run: Path) -> None:
    before = content(few_run)
    agent, asked, _ = next(each for each in questions(few_run) if each[2] in {"engaging_like", "engaging_reshare"})
    found = different(few_run, agent, asked, "scrolling")
    facts, turns = found.value, values(found, "turns")
    first = {"tick": facts["decided_in"], "agents": 1, "acting": 1}
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


class Pair(msgspec.Struct, array_like=True):
    """A record that is encoded as an array."""

    first: Any
    second: Any = None


@catalogue(
    ("value", "expected"),
    [
        (Pair(1, (AgentState.IDLE,)), {"first": 1, "second": ["idle"]}),
        ({AgentState.IDLE: Pair(2)}, {"idle": {"first": 2, "second": None}}),
        (frozenset({"b", "a"}), ["a", "b"]),
        (GlobalState().interest_rate, 4.0),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (b"\x00", "AA=="),
        (True, True),
        (None, None),
        (1 + 2j, "(1+2j)"),
    ],
)
def test_every_value_has_one_that_json_has(value: object, expected: object) -> None:
    assert plain(value) == expected
    assert json.loads(json.dumps(plain(value), allow_nan=False)) == expected
