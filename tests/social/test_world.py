"""The social world: its people one tick after the other, and whole runs, whose digests are known."""

import asyncio
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from prism.agents import Source, Update
from prism.config import Config, FeedConfig, SimulationConfig
from prism.statechart import AgentState
from tests.actors.social_runs import digest_of
from tests.catalogue import catalogue
from tests.plain import plain_config
from tests.social.acts import cascades_of, posts_of
from tests.social.driver import SMALL, Run, moves, shown, whole, with_deliberation

ROUND = SMALL.simulation.ticks_per_round


@pytest.fixture(scope="module")
def run() -> Run:
    """A whole run, which tests only look at."""
    return asyncio.run(whole())


def test_triggers_come_in_the_order_of_agents_and_everybody_goes_on_from_where_they_were(run: Run) -> None:
    for happening in run.triggers:
        agents = [trigger.agent for trigger in happening]
        assert all(first < second for first, second in pairwise(agents))
    last = dict.fromkeys(range(run.domain.size), "idle")
    for update in run.updates:
        assert update.from_state == last[update.agent]
        last[update.agent] = update.to_state
    assert {update.to_state for update in run.updates} == {state.value for state in AgentState}
    for number, person in enumerate(run.people):
        again = run.domain.agent(number)
        assert (again.state, again.entered, again.persona) == (person.state, person.entered, person.persona)


def test_nobody_who_deliberates_gets_a_trigger(run: Run) -> None:
    for question in run.questions:
        until = question.tick + SMALL.deliberation_ticks
        meanwhile = run.triggers[question.tick + 1 : until + 1]
        assert question.agent not in [trigger.agent for happening in meanwhile for trigger in happening]


def test_totals_agree_with_the_posts_and_cascades_they_sum(run: Run) -> None:
    network, totals = run.world.network, run.world.totals()
    assert len(posts_of(network)) == totals["posts"] + totals["replies"] + totals["reshares"]
    assert sum(post.parent is not None for post in network.living) == totals["replies"] + totals["reshares"]
    assert sum(post.likes for post in network.living) == totals["likes"]
    assert totals["largest_cascade"]["size"] == max(cascades_of(network)[post.root].posts for post in network.living)
    assert totals["deepest_cascade"] == max(post.depth for post in network.living)


def test_the_last_tick_of_a_round_only_ends_it(run: Run) -> None:
    for tick in range(ROUND - 1, len(run.triggers), ROUND):
        assert {trigger.name for trigger in run.triggers[tick]} == {"round_ends"}


@pytest.mark.slow
async def test_a_late_like_still_counts_and_ends_the_session() -> None:
    later = await whole(with_deliberation(8), lambda _: "engaging_like")
    assert later.world.totals()["likes"] == moves(later.updates)["engaging_like", "action_done"]
    late = [each for each in later.questions if each.tick % ROUND in range(ROUND - 8, ROUND - 1)]
    after = {(update.agent, update.tick): update for update in later.updates}
    done = [after[asked.agent, asked.tick + 9] for asked in late if (asked.agent, asked.tick + 9) in after]
    assert {update.trigger for update in done} == {"action_done"}
    back = [after[each.agent, each.tick + 2] for each in done if (each.agent, each.tick + 2) in after]
    assert {(update.to_state, update.trigger) for update in back} == {("idle", "timeout")}
    assert all(after.get((each.agent, each.tick + 1), each).trigger != "feed_ready" for each in back)


async def test_quarantine_ends_all_triggers() -> None:
    run = await Run().advance(ROUND // 2)
    agent = next(trigger.agent for trigger in run.triggers[-1] if trigger.name == "sees_post")
    state = run.world.state(agent)
    run.world.apply(Update(run.tick, agent, "decides", state, state, Source.QUARANTINE))
    await run.advance(2 * ROUND)
    later = [trigger.agent for happening in run.triggers[ROUND // 2 :] for trigger in happening]
    assert agent not in later
    assert len(later) > 100
    assert run.world.state(agent) is state


@catalogue("source", [Source.NO_ROW, Source.CRASH])
async def test_a_turn_that_moved_nobody_is_followed_by_a_timeout(source: Source) -> None:
    run = await Run().advance(5)
    agent, entered = next(
        (a, run.world.people["entered"][a]) for a in range(60) if run.world.state(a) is AgentState.SCROLLING
    )
    run.world.apply(Update(5, agent, "sees_post", "scrolling", "scrolling", source))
    following = run.world.triggers_known[run.world.people["next"][agent]]
    assert (following, run.world.network.state.t.due[agent]) == ("timeout", max(6, entered + 5))
    await run.advance(6)
    freed = [(each.trigger, each.to_state) for each in run.updates if each.agent == agent and each.tick >= 5]
    assert freed[0] == ("timeout", "resting")


@catalogue(("attention", "fatigues"), [(1.0, {0.0, 0.2, 0.4, 0.6, 0.8}), (0.0, {0.0})])
async def test_attention_decides_how_far_down_a_feed_people_consider_posts(
    attention: float, fatigues: set[float]
) -> None:
    few = SimulationConfig(rounds=3, seed=5)
    run = await whole(msgspec.structs.replace(SMALL, simulation=few, feed=FeedConfig(attention=attention)))
    full_feeds = [each.view.fatigue for each in shown(run, "decides") if run.world.people["shown"][each.agent] == 5]
    assert {round(fatigue, 2) for fatigue in full_feeds} >= fatigues
    assert (moves(run.updates)["evaluating", "ignores"] == 0) is (attention == 1.0)
    assert {each.view.fatigue > 0.0 for each in shown(run, "ignores")} <= {True}


def test_the_highlights_are_the_largest_cascade_and_the_originals_with_the_most_engagements(run: Run) -> None:
    network = run.world.network
    before = list(run.world.columns())
    largest, *top = run.world.highlights()
    assert largest.startswith(f"largest cascade, {network.cascades.largest.size} posts, ")
    engagements = sorted(
        cascades_of(network)[post.id].engagements for post in network.living if post.kind == "original"
    )
    assert [int(line.split()[0]) for line in top] == engagements[:-3:-1]
    assert list(run.world.columns()) == before, "it changes nothing"


Sections = dict[str, dict[str, Any]]


def config_of(sections: Sections, interventions: list[dict[str, Any]], way: str = "resident") -> Config:
    """Return the configuration of a small lively world, with these sections beside and over what makes it so."""
    settings: dict[str, Any] = {
        "simulation": {"rounds": 6, "ticks_per_round": 24, "seed": 11, **sections.get("simulation", {})},
        "population": {
            "size": 60,
            "posts_per_session": 0.4,
            "ambiguity": 0.3,
            "activity": {"mean": 0.4825},  # a factor of 0.6 before limits
            **sections.get("population", {}),
        },
        "feed": {"horizon_rounds": 3, **sections.get("feed", {})},
        "run": {"activation": way},
        "interventions": interventions,
    }
    return plain_config(**settings)


LATER: list[dict[str, Any]] = [
    {"tick": 20, "follow": [[1, 2], [3, 4], [5, 6]]},
    {"tick": 31, "unfollow": [[1, 2], [7, 8]]},
    {"tick": 40, "silence": [1, 2, 3], "until_round": 4},
    {"tick": 41, "silence": [9]},
    {"tick": 45, "publish": {"author": 7, "text": "A bridge", "topics": ["food", "bridges"], "quality": 0.9}},
    {"tick": 50, "set": {"feed.algorithm": "hot", "feed.memory": 3, "feed.size": 9, "feed.fill": "borrow"}},
    {"tick": 75, "set": {"feed.memory": 20, "feed.recent": 15, "feed.size": 2, "population.posts_per_session": 0.9}},
]
SIMPLE = {"algorithm": "hot", "exposure": "simple", "fill": "borrow", "reshare_credit": "root", "out_of_network": 0.6}
COMPLEX = {"algorithm": "interest", "exposure": "complex", "reshare_credit": "newest"}
FEW = {"algorithm": "random", "recent": 9, "pool": 7, "memory": 5, "size": 3, "out_of_network": 0.5}
HOURS = {"activity": {"mean": 0.4825, "hours": [1.0, 3.0] * 12}}
KNOWN: dict[str, tuple[Sections, list[dict[str, Any]], str]] = {
    "simple contagion": ({"feed": SIMPLE}, [], "fbe512f244f1e3b8"),
    "complex contagion": (
        {"feed": COMPLEX, "population": {"quality_sigma": 0.7, "relevance": {"exposure": 0.2}}},
        [],
        "dd492c5973c4b6b1",
    ),
    "small memories": ({"feed": FEW, "population": {"posts_by_followers": 0.4}}, [], "c9a6483ca66cd2e6"),
    "hours and interventions": (
        {
            "simulation": {"tick_seconds": 150},
            "feed": {"exposure": "simple", "attention": 0.7, "memory": 8},
            "population": HOURS,
        },
        LATER,
        "5b64b7322281114e",
    ),
}
"""`{name: (sections, interventions, the beginning of the digest)}`."""


@catalogue("way", ["resident", "compiled"])
@catalogue("name", KNOWN)
def test_runs_have_known_digests_in_both_activations(name: str, way: str) -> None:
    sections, interventions, digest = KNOWN[name]
    assert digest_of(config_of(sections, interventions, way))[:16] == digest
