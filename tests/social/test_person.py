"""A person as an agent, and the texts that a model writes for them."""

import asyncio
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.agents import Decision, SocialAgent, Source, Trigger, Update, turn
from prism.agents.social_agent import Draft
from prism.columns import Columns
from prism.config import Config, RelevanceConfig
from prism.config.model import PopulationConfig, StatechartConfig
from prism.social import domain
from prism.social.chart import SOCIAL_BEHAVIOUR, SOCIAL_CHART, writing_states
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from prism.statechart import AgentState, Statechart
from prism.statechart.oracle import Written
from tests.catalogue import catalogue
from tests.social.driver import SMALL, Run
from tests.social.people import person, persona, view

SHARE = st.floats(0.0, 1.0)


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


def test_a_post_is_remembered_by_its_id() -> None:
    ada = person()
    ada.enter(AgentState.COMPOSING, "decides", 1, view(id=12))
    ada.enter(AgentState.IDLE, "round_ends", 2)
    assert [record.context for record in ada.state_history] == [{"post_id": 12}, None]


def test_an_action_that_is_no_text_is_refused_where_it_is_set() -> None:
    ada = person(pending_action="like")
    with pytest.raises(TypeError, match="pending_action must be a text or None, got 7"):
        ada.pending_action = 7  # type: ignore[assignment]
    assert ada.pending_action == "like"


WRITTEN = msgspec.json.encode(Written(text="Night trains are back.", reason="I like trains.")).decode()
REASON_ONLY = msgspec.json.encode(Written(reason="Nothing new.")).decode()


def torn() -> SocialAgent:
    person = SocialAgent(0, state=AgentState.EVALUATING)
    person.persona = msgspec.structs.replace(person.persona, low_threshold=0.0, high_threshold=1.0)
    return person


def decided(state: str, content: str) -> Update[object]:
    decision = Decision(state=state, source=Source.LLM, asked=0, content=content)
    found = turn(SOCIAL_CHART, torn(), Trigger(1, 0, "decides", view(appeal=0.5), decision))
    assert isinstance(found, Update)
    return found


def test_a_text_belongs_to_composing_and_to_what_follows_it() -> None:
    assert writing_states(SOCIAL_BEHAVIOUR) == {
        AgentState.COMPOSING,
        AgentState.ENGAGING_REPLY,
        AgentState.ENGAGING_RESHARE,
    }


@catalogue(
    ("state", "content", "effect"),
    [
        ("composing", "", "reply"),
        ("composing", REASON_ONLY, "reply"),
        ("composing", WRITTEN, Draft("reply", "Night trains are back.", "I like trains.")),
        ("engaging_reshare", WRITTEN, Draft("", "Night trains are back.", "I like trains.")),
        ("engaging_like", REASON_ONLY, None),
        ("scrolling", REASON_ONLY, None),
    ],
)
def test_an_answer_with_a_text_makes_the_effect_a_draft(state: str, content: str, effect: object) -> None:
    update = decided(state, content)
    assert (update.to_state, update.effect) == (state, effect)
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(update), type=Update[str | Draft])
    assert again == update


def living() -> Run:
    """Return a run in which posts are in view."""
    return asyncio.run(Run(SMALL).advance(2 * SMALL.simulation.ticks_per_round - 1))


def move(run: Run, agent: int, trigger: str, states: tuple[str, str], effect: str | Draft | None = None) -> None:
    run.world.apply(Update(run.tick, agent, trigger, *states, Source.LLM, effect))


def latest(run: Run) -> str:
    return list(run.world.network.living)[-1].text


@pytest.mark.parametrize("action", ["reply", "reshare"])
def test_a_draft_becomes_the_text_of_the_next_post_and_of_no_other(action: str) -> None:
    run = living()
    post = run.world.network.living.first
    run.world.people["current"][0] = post
    for text in ("Night trains are back.", ""):
        draft = Draft(action, text) if text else action
        move(run, 0, "decides", ("evaluating", "composing"), draft)
        move(run, 0, "compose_done", ("composing", f"engaging_{action}"))
        assert run.world.pending(0) == action
        move(run, 0, "action_done", (f"engaging_{action}", "resting"))
        run.world.people["current"][0] = post
        assert (latest(run) == "Night trains are back.") == bool(text)
        assert run.world.drafts == {}


def test_a_checkpoint_has_the_drafts() -> None:
    run = living()
    move(run, 0, "decides", ("evaluating", "composing"), Draft("reply", "Night trains are back."))
    world = Run(SMALL).world
    columns = Columns(run.world.columns())
    world.restore(columns)
    assert columns.unread == []
    assert world.drafts == run.world.drafts == {0: "Night trains are back."}


@catalogue(
    ("size", "has_function", "asked_for", "depth"),
    [(20, True, None, 50), (20, False, None, 0), (21, True, None, 0), (21, False, 3, 3), (20, True, 0, 0)],
)
def test_histories_are_kept_if_a_function_can_read_them_or_if_asked_for(
    size: int, has_function: bool, asked_for: int | None, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domain, "HISTORY_MAX_POPULATION", 20)
    config = Config(population=PopulationConfig(size=size), statechart=StatechartConfig(max_history_depth=asked_for))
    rows = list(SOCIAL_BEHAVIOUR.chart.transitions)
    if has_function:
        rows[0] = msgspec.structs.replace(rows[0], action=lambda *_: None)
    chart = Statechart(AgentState, rows, AgentState.IDLE)
    person = SocialDomain(config, build_population(config.population, 0), chart).agent(0)
    assert person.max_history_depth == depth
