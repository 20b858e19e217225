from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.agents import SocialAgent
from prism.config import IntentionsConfig, RelevanceConfig
from tests.catalogue import catalogue
from tests.social.people import person, persona, view

SHARE = st.floats(0.0, 1.0)


@catalogue("state", ["idle", "sleeping", None, 0])
def test_a_state_must_be_an_agent_state(state: Any) -> None:
    with pytest.raises(TypeError) as caught:
        SocialAgent(state=state)
    assert str(caught.value) == f"state must be one of AgentState, got {state!r}"


@catalogue("ticks", [0, -1, True, 1.5, 5.0, float("nan"), float("inf"), "5", None])
def test_a_timeout_threshold_is_checked_whenever_it_is_set(ticks: Any) -> None:
    ada = SocialAgent()
    with pytest.raises(ValueError, match=r"^timeout_threshold must be (an int|above 0), got "):
        ada.timeout_threshold = ticks
    assert ada.timeout_threshold == 5
    with pytest.raises(ValueError, match=r"^timeout_threshold must be (an int|above 0), got "):
        SocialAgent(timeout_threshold=ticks)
    ada.timeout_threshold = 7
    assert ada.timeout_threshold == 7


@catalogue("threshold", [-0.1, 1.1, float("nan"), float("inf"), True, "0.5", [0.5], None])
def test_an_engagement_threshold_is_checked_whenever_it_is_set(threshold: Any) -> None:
    ada = SocialAgent()
    with pytest.raises(ValueError, match=r"^engagement_threshold: expected float 0 to 1, got [^\n]+$"):
        ada.engagement_threshold = threshold
    assert ada.engagement_threshold == 0.5


@given(SHARE, SHARE, SHARE, SHARE)
def test_a_moved_band_stays_ordered_and_within_bounds(low: float, middle: float, high: float, moved: float) -> None:
    low, middle, high = sorted((low, middle, high))
    before = persona(low_threshold=low, engagement_threshold=middle, high_threshold=high)
    after = person(persona=before, engagement_threshold=moved).persona
    assert 0.0 <= after.low_threshold <= after.engagement_threshold == moved <= after.high_threshold <= 1.0


@given(st.tuples(*[st.floats(0, 10)] * 4), SHARE, st.booleans(), SHARE, SHARE)
def test_weights_of_ones_own_make_relevance_their_sum_and_at_most_1(
    weights: tuple[float, ...], match: float, followed: bool, popularity: float, appeal: float
) -> None:
    parts = ("topic_match", "followed", "popularity", "appeal")
    ada = person(weights=RelevanceConfig(**dict(zip(parts, weights, strict=True))))
    shares = (match, float(followed), popularity, appeal)
    expected = math.fsum(weight * share for weight, share in zip(weights, shares, strict=True))
    post = view(topic_match=match, followed=followed, popularity=popularity, appeal=appeal)
    assert ada.relevance(post) == pytest.approx(min(1.0, expected))
    assert 0.0 <= ada.relevance(post) <= 1.0


def test_intentions_come_as_often_as_their_weights_say() -> None:
    counts: Counter[str | None] = Counter()
    for number in range(4000):
        ada = person(agent_id=number)
        ada.intend()
        counts[ada.pending_action] += 1
    # Four standard deviations of a share of 4000 draws are below 0.033.
    assert all(abs(counts[name] / 4000 - weight) < 0.033 for name, weight in IntentionsConfig().base.items())


def test_an_action_that_is_no_text_is_refused_where_it_is_set() -> None:
    ada = person(pending_action="like")
    with pytest.raises(TypeError, match="pending_action must be a text or None, got 7"):
        ada.pending_action = 7  # type: ignore[assignment]
    assert ada.pending_action == "like"
