"""A text that a model wrote: from the answer to the post, once, and over a checkpoint."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from prism.agents import Decision, SocialAgent, Source, Trigger, Update, turn
from prism.agents.social_agent import Draft
from prism.columns import Columns
from prism.social.chart import SOCIAL_BEHAVIOUR, SOCIAL_CHART, writing_states
from prism.statechart import AgentState
from prism.statechart.writing import Written
from tests.catalogue import catalogue
from tests.social.driver import SMALL, Run
from tests.social.people import view

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
    run.world.current[0] = post
    for text in ("Night trains are back.", ""):
        draft = Draft(action, text) if text else action
        move(run, 0, "decides", ("evaluating", "composing"), draft)
        move(run, 0, "compose_done", ("composing", f"engaging_{action}"))
        assert run.world.pending(0) == action
        move(run, 0, "action_done", (f"engaging_{action}", "resting"))
        run.world.current[0] = post
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
