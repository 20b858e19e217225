import asyncio
from itertools import pairwise

import msgspec
import pytest

from prism.agents import Source, Update
from prism.config import FeedConfig, SimulationConfig
from prism.statechart import AgentState
from tests.catalogue import catalogue
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
    agent, entered = next((a, run.world.entered[a]) for a in range(60) if run.world.state(a) is AgentState.SCROLLING)
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
