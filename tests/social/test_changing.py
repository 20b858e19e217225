"""People who change: whom they follow, whom they mute, and what their attributes are."""

from math import floor
from typing import Any

import msgspec
import numpy as np
import pytest

from actors.runtime.simulation import Simulation
from prism.columns import Columns
from prism.config import Config
from prism.config.attributes import AttributeConfig
from prism.errors import ConfigError
from prism.events import AttributeSet, TieChanged, events_in
from prism.social.chart import social_behaviour
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from prism.social.posts.post import AttributeView, PostView
from prism.social.tables import BASE
from prism.social.vocabulary import social_vocabulary
from prism.statechart import Behaviour, read_chart
from tests.actors.runtime.test_compiled import random_chart, random_settings
from tests.catalogue import catalogue
from tests.plain import plain_config
from tests.social.driver import Run, assert_goes_on

PEOPLE, TICKS = 40, 12
ATTRIBUTES: dict[str, Any] = {
    "opinion": {"type": "float", "min": -1, "max": 1},
    "seen": {"type": "int", "default": 0, "min": 0, "max": 5},
    "moved": {"type": "bool", "default": False},
    "camp": {"type": "text", "values": ["north", "south"]},
}
CHART = """
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
    states:
      reading:
        role: browse
        transitions:
          - trigger: sees_post
            target: judging
            set: SET
      judging:
        role: attend
        transitions:
          - {trigger: ignores, target: reading}
          - {trigger: decides, target: acting, when: "WHEN"}
          - {trigger: decides, target: reading}
      acting: {effect: EFFECT, after: {ticks: 1, trigger: done}, transitions: [{trigger: done, target: reading}]}
      sharing: {effect: reshare, after: {ticks: 1, trigger: done}, transitions: [{trigger: done, target: reading}]}
      writing: {effect: post, after: {ticks: 1, trigger: done}, transitions: [{trigger: done, target: reading}]}
"""


def behaviour(changes: str = "{seen: agent.seen}", effect: str = "like", when: str = "true") -> Behaviour[Any]:
    """Return a chart in which who sees a post changes so, and acts so where the condition holds."""
    text = CHART.replace("SET", changes).replace("EFFECT", effect).replace("WHEN", when)
    declared = {name: AttributeConfig(**keys) for name, keys in ATTRIBUTES.items()}
    return social_behaviour(read_chart(text, "chart.yaml"), social_vocabulary(declared))


def config_of() -> Config:
    people: dict[str, Any] = {"size": PEOPLE, "posts_per_session": 0.5, "activity": {"mean": 0.9}}
    people |= {"attributes": ATTRIBUTES, "graph": {"kind": "barabasi_albert", "degree": 6}}
    simulation = {"rounds": 4, "ticks_per_round": TICKS, "seed": 5}
    return plain_config(simulation=simulation, population=people, feed={"size": 8, "out_of_network": 0.5})


class Seen(Run):
    """A run that is looked at after each tick."""

    def __init__(self, chart: Behaviour[Any]) -> None:
        super().__init__(config_of(), behaviour=chart)
        self.views: dict[tuple[int, int], PostView] = {}  # `{(tick, person): the post in view}`

    async def step(self) -> list[Any]:
        """Run one tick, and return what has taken place in it."""
        await self.advance(1)
        self.views |= {(each.tick, each.agent): each.context for each in self.triggers[-1] if each.context is not None}
        return events_in(self.tick - 1, self.world.take_rows())

    def value(self, name: str) -> list[Any]:
        found = self.world.changing.column(f"agent.{name}")
        assert found is not None
        return [*found.tolist()]

    def lists(self, name: str) -> list[list[int]]:
        lists = getattr(self.world.network.state.t.ties, name)
        return [lists.values[start:end].tolist() for start, end in zip(lists.starts, lists.ends, strict=True)]


NEAR = "{to: agent.opinion + 0.3 * (author.opinion - agent.opinion), when: abs(author.opinion - agent.opinion) < 0.8}"


async def test_all_who_act_in_a_tick_read_what_held_when_it_began() -> None:
    seen, changed = Seen(behaviour(f"{{opinion: {NEAR}, seen: agent.seen + 1.4, camp: author.camp, moved: true}}")), 0
    camps = [persona.attributes["camp"] for persona in seen.domain.population.personas]
    for _ in range(4 * TICKS):
        before, counted, camps_before = seen.value("opinion"), seen.value("seen"), seen.value("camp")
        assert camps_before == camps
        expected = {}
        events = await seen.step()
        for update in seen.updates:
            if update.tick == seen.tick - 1 and update.trigger == "sees_post":
                author = seen.views[update.tick, update.agent].author
                camps[update.agent] = camps_before[author]
                expected["seen", update.agent] = min(floor(counted[update.agent] + 1.4 + 0.5), 5)
                distance = before[author] - before[update.agent]
                if abs(distance) < 0.8:
                    expected["opinion", update.agent] = before[update.agent] + 0.3 * distance
        told = {(each.name, each.agent): each.value for each in events if isinstance(each, AttributeSet)}
        now = {"opinion": seen.value("opinion"), "seen": seen.value("seen"), "camp": seen.value("camp")}
        for (name, person), value in expected.items():
            assert now[name][person] == value
            assert told.get((name, person), value) == value
        unchanged = [person for person in range(PEOPLE) if ("opinion", person) not in expected]
        assert [now["opinion"][person] for person in unchanged] == [before[person] for person in unchanged]
        changed += len(told)
    assert changed > 100, "people change"
    assert max(seen.value("seen")) == 5, "within its range"
    assert any(seen.value("moved"))


async def test_an_agent_and_its_oracle_read_the_attributes_as_they_are_now() -> None:
    seen = Seen(behaviour("{opinion: author.opinion}"))
    person = seen.domain.agent(3)
    first = dict(person.attributes)
    for _ in range(3 * TICKS):
        await seen.step()
    assert person.attributes["opinion"] == seen.value("opinion")[3]
    assert person.facts["opinion"] != first["opinion"]
    assert {**person.attributes, "opinion": 0} == {**first, "opinion": 0}
    view = next(view for (_, agent), view in seen.views.items() if agent == 3)
    assert isinstance(view, AttributeView)
    assert list(view.author_attributes) == ["opinion"]


@catalogue(
    ("to", "expected"), [("1 / 0", None), ("100", 1.0), ("-1e9 * 1e9", -1.0), ("0 / 0", None), ("draw.normal * 0", 0.0)]
)
async def test_a_number_stays_in_its_range_and_what_has_no_value_changes_nothing(
    to: str, expected: float | None
) -> None:
    seen = Seen(behaviour(f"{{opinion: {to}}}"))
    before = seen.value("opinion")
    for _ in range(TICKS):
        await seen.step()
    acted = {update.agent for update in seen.updates if update.trigger == "sees_post"}
    assert acted
    for person, value in enumerate(seen.value("opinion")):
        assert value == (before[person] if expected is None or person not in acted else expected)


@catalogue(("effect", "name"), [("follow", "followees"), ("unfollow", "followees"), ("mute", "muted")])
async def test_ties_change_as_people_act_and_from_the_next_tick_on(effect: str, name: str) -> None:
    seen = Seen(behaviour(effect=effect, when="post.popularity >= 0"))
    if effect == "mute":
        assert seen.lists("muted") == []
    kept = [set(each) for each in seen.lists("followees")] if effect != "mute" else [set() for _ in range(PEOPLE)]
    changes = 0
    for _ in range(4 * TICKS):
        events = [each for each in await seen.step() if isinstance(each, TieChanged)]
        for each in events:
            assert each.kind == effect
            assert (each.whom in kept[each.agent]) == (effect == "unfollow")
            (kept[each.agent].remove if effect == "unfollow" else kept[each.agent].add)(each.whom)
        changes += len(events)
        now = seen.lists(name)
        assert now == [sorted(each) for each in kept] or (not any(kept) and now == [])
        if effect != "mute":
            followers = [sorted(one for one in range(PEOPLE) if other in kept[one]) for other in range(PEOPLE)]
            assert seen.lists("followers") == followers
    assert changes > 20
    assert seen.world.network.tie_counts[f"{effect}s"] == changes


async def test_nobody_is_shown_a_post_by_somebody_muted_or_a_reshare_of_one() -> None:
    text = CHART.replace("SET", "{seen: agent.seen}").replace("EFFECT", "mute").replace("WHEN", "draw.uniform < 0.4")
    text = text.replace("- {trigger: decides, target: reading}", "- {trigger: decides, target: sharing}")
    declared = {name: AttributeConfig(**keys) for name, keys in ATTRIBUTES.items()}
    seen = Seen(social_behaviour(read_chart(text, "chart.yaml"), social_vocabulary(declared)))
    muted, shown, reshared = [set[int]() for _ in range(PEOPLE)], 0, 0
    for _ in range(4 * TICKS):
        before = [set(each) for each in muted]
        for each in await seen.step():
            if isinstance(each, TieChanged):
                muted[each.agent].add(each.whom)
        people, t = seen.world.people, seen.world.network.state.t
        for update in seen.updates:
            if update.tick == seen.tick - 1 and update.trigger == "feed_ready":
                numbers = t.feed[update.agent, : people["shown"][update.agent]].astype(np.int64)
                rows = t.posts[numbers - t.counts.posts[BASE]]
                roots = (rows["origin"] & ((1 << 29) - 1)).tolist()
                assert not {*rows["author"].tolist(), *roots} & before[update.agent]
                shown += len(rows)
                reshared += int((rows["author"] != roots).sum())
    assert shown > 50
    assert reshared > 5
    assert sum(map(len, muted)) > 20


@catalogue(
    ("changes", "problem"),
    [
        ("{mood: 1}", "set.mood: mood: no such attribute"),
        ("{opinion: true}", "expected a number, found a condition"),
        ("{camp: '\"east\"'}", "expected one of: north, south, got east"),
        ("{opinion: {to: 1, if: true}}", "unknown key"),
        ("{opinion: {to: 1, when: 2}}", "expected a condition, found a number"),
        ("{opinion: author.opinon}", "unknown field author.opinon"),
        ("[1]", "expected a mapping such as {opinion: author.opinion}"),
    ],
)
def test_a_change_that_cannot_be_is_refused_with_its_line(changes: str, problem: str) -> None:
    with pytest.raises(ConfigError) as error:
        behaviour(changes)
    told = str(error.value)
    assert told.startswith("chart.yaml:19: ")
    assert problem in told


@pytest.mark.everyday(1)
@pytest.mark.parametrize("seed", range(200, 220))
def test_ties_and_attributes_go_on_from_a_checkpoint_as_if_nothing_had_happened(seed: int) -> None:
    config, chart = msgspec.convert(random_settings(seed), Config), random_chart(seed)
    people = build_population(config.population, config.simulation.seed)
    assert_goes_on(lambda: Simulation(config, SocialDomain(config, people, chart)), 13)


async def test_what_the_chart_of_a_fork_does_not_set_stays_as_it_was() -> None:
    seen = Seen(behaviour("{opinion: 0.5, camp: author.camp}"))
    for _ in range(TICKS):
        await seen.step()
    fork = SocialDomain(config_of(), build_population(config_of().population, 5), behaviour("{seen: 1}"))
    fork.world.restore(Columns(seen.world.columns()))
    opinions = fork.world.traits.column("agent.opinion")
    assert opinions is not None
    assert opinions.tolist() == seen.value("opinion")
    assert [fork.agent(person).attributes["opinion"] for person in range(PEOPLE)] == seen.value("opinion")
    assert [fork.agent(person).attributes["camp"] for person in range(PEOPLE)] == seen.value("camp")
    there = SocialDomain(config_of(), build_population(config_of().population, 5), behaviour("{seen: 1}"))
    there.world.restore(Columns(fork.world.columns()))
    assert [*there.world.columns()] == [*fork.world.columns()]
