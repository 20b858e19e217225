from __future__ import annotations

import math
from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.config import ChoiceConfig
from prism.social.choice import ChoiceOracle
from prism.social.posts.post import PostView
from prism.statechart import AgentState
from tests.catalogue import catalogue
from tests.social.people import chances, person, persona, utility, view

SCROLLING, COMPOSING = AgentState.SCROLLING, AgentState.COMPOSING
LIKE, REPLY, RESHARE = AgentState.ENGAGING_LIKE, AgentState.ENGAGING_REPLY, AgentState.ENGAGING_RESHARE
TORN = [SCROLLING, LIKE, RESHARE, COMPOSING]
CONFIG = ChoiceConfig()
SHARE = st.floats(0.0, 1.0)
VIEWS = st.builds(
    lambda match, followed, popularity, fatigue: view(
        topic_match=match, followed=followed, popularity=popularity, fatigue=fatigue
    ),
    SHARE,
    st.booleans(),
    SHARE,
    SHARE,
)


def oracle(seed: int = 0, **coefficients: Any) -> ChoiceOracle:
    return ChoiceOracle(msgspec.structs.replace(CONFIG, **coefficients), seed)


def chance(option: AgentState, post: PostView, *, activity: float = 0.35, **coefficients: Any) -> float:
    agent = person(persona=persona(activity=activity))
    return chances(oracle(**coefficients), agent, TORN, post)[TORN.index(option)]


@given(VIEWS, st.lists(st.sampled_from(AgentState), min_size=1, max_size=8, unique=True), st.floats(0.01, 10.0))
def test_probabilities_are_positive_and_add_up_to_one(post: PostView, options: list[AgentState], scale: float) -> None:
    found = chances(oracle(scale=scale), person(), options, post)
    assert math.fsum(found) == pytest.approx(1.0)
    assert all(0.0 <= each <= 1.0 for each in found)


def test_a_utility_is_the_sum_of_the_module_docstring() -> None:
    post = view(topic_match=0.5, followed=True, popularity=0.4, fatigue=0.2)
    ada = person(persona=persona(activity=0.5))
    shared = 1.0 * 0.5 + 0.4 + 0.4 * 0.5 - 0.6 * 0.2
    assert utility(oracle(), ada, LIKE, post) == pytest.approx(-1.2 + shared + 0.5 * 0.4)
    assert utility(oracle(), ada, RESHARE, post) == pytest.approx(-1.9 + shared + 0.5 * 0.4)
    assert utility(oracle(), ada, COMPOSING, post) == pytest.approx(-1.7 + shared)
    assert utility(oracle(), ada, REPLY, post) == pytest.approx(-1.7 + shared)


def test_without_a_post_only_the_constants_count() -> None:
    assert [utility(oracle(), person(), option, None) for option in TORN] == pytest.approx([0.0, -1.2, -1.9, -1.7])


def test_the_smallest_scale_does_not_overflow() -> None:
    post = view(topic_match=1.0, followed=True)
    assert chance(LIKE, post, scale=0.001, like=100.0, topic=100.0, tie=100.0) == pytest.approx(1.0)


async def test_draws_come_as_often_as_the_probabilities_say() -> None:
    post = view(topic_match=1.0, followed=True)
    agents = [person(agent_id=number) for number in range(4_000)]
    drawn = Counter([await oracle().ask(agent, agent.state, "decides", TORN, post) for agent in agents])
    expected = [4_000 * share for share in chances(oracle(), agents[0], TORN, post)]
    statistic = sum((drawn[option] - wanted) ** 2 / wanted for option, wanted in zip(TORN, expected, strict=True))
    assert min(expected) > 100
    assert statistic < 16.27  # chi-square with 3 degrees of freedom, p = 0.001; the draws are fixed by the seed


@catalogue("change", ["seed", "agent", "tick"])
async def test_seed_person_and_tick_each_change_the_draws(change: str) -> None:
    async def answers(**other: int) -> list[AgentState]:
        return [
            await oracle(other.get("seed", 0)).ask(
                person(agent_id=place + other.get("agent", 0), tick=other.get("tick", 0)), COMPOSING, "decides", TORN
            )
            for place in range(200)
        ]

    assert await answers() != await answers(**{change: 1000})
