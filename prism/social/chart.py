"""The default statechart of a person on a social feed."""

from __future__ import annotations

from typing import Any, Final

from prism.agents.social_agent import SocialAgent
from prism.social.post import PostView
from prism.statechart import AgentState, Statechart, Transition

IDLE, SCROLLING, EVALUATING, COMPOSING = (
    AgentState.IDLE,
    AgentState.SCROLLING,
    AgentState.EVALUATING,
    AgentState.COMPOSING,
)
LIKE, REPLY, RESHARE, RESTING = (
    AgentState.ENGAGING_LIKE,
    AgentState.ENGAGING_REPLY,
    AgentState.ENGAGING_RESHARE,
    AgentState.RESTING,
)


def is_uninterested(agent: SocialAgent, view: PostView) -> bool:
    """Return whether the post is clearly not relevant to the person."""
    return agent.relevance(view) <= agent.persona.low_threshold


def is_convinced(agent: SocialAgent, view: PostView) -> bool:
    """Return whether the post is clearly relevant to the person."""
    return agent.relevance(view) >= agent.persona.high_threshold


def is_torn(agent: SocialAgent, view: PostView) -> bool:
    """Return whether the post's relevance lies between the two thresholds."""
    return agent.persona.low_threshold < agent.relevance(view) < agent.persona.high_threshold


def has_timed_out(agent: SocialAgent, _: Any) -> bool:
    """Return whether the person has been in this state for as long as the timeout."""
    return agent.ticks_in_state >= agent.timeout_threshold


def is_about_to_reply(agent: SocialAgent, _: Any) -> bool:
    """Return whether the composed text is a reply."""
    return agent.pending_action == "reply"


def is_about_to_reshare(agent: SocialAgent, _: Any) -> bool:
    """Return whether the composed text is a comment on a reshare."""
    return agent.pending_action == "reshare"


def is_about_to_like(agent: SocialAgent, _: Any) -> bool:
    """Return whether the person wrote nothing but liked the post."""
    return agent.pending_action == "like"


def intend(agent: SocialAgent, _: Any) -> None:
    """Draw what the person does about the post."""
    agent.intend()


def draft_reply(agent: SocialAgent, _: Any) -> None:
    """Make the pending action a reply: a person who chooses to write, among all the options, writes a reply."""
    agent.pending_action = "reply"


SOCIAL_CHART: Final = Statechart(
    states=AgentState,
    initial=IDLE,
    transitions=(
        Transition("feed_ready", IDLE, SCROLLING),
        Transition("sees_post", SCROLLING, EVALUATING),
        Transition("ignores", EVALUATING, SCROLLING),
        Transition("decides", EVALUATING, SCROLLING, is_uninterested),
        Transition("decides", EVALUATING, COMPOSING, is_convinced, intend),
        # Between the thresholds four actions are possible, and the oracle decides. Scrolling on comes first, so it is
        # the fallback when there is no answer.
        Transition("decides", EVALUATING, SCROLLING, is_torn, oracle=True, label="torn: scroll on"),
        Transition("decides", EVALUATING, LIKE, is_torn, oracle=True, label="torn: like"),
        Transition("decides", EVALUATING, RESHARE, is_torn, oracle=True, label="torn: reshare"),
        Transition("decides", EVALUATING, COMPOSING, is_torn, draft_reply, oracle=True, label="torn: compose"),
        Transition("compose_done", COMPOSING, REPLY, is_about_to_reply),
        Transition("compose_done", COMPOSING, RESHARE, is_about_to_reshare),
        Transition("compose_done", COMPOSING, LIKE, is_about_to_like),
        *(Transition("action_done", engaging, RESTING) for engaging in (LIKE, REPLY, RESHARE)),
        Transition("timeout", SCROLLING, RESTING, has_timed_out),
        *(
            Transition("timeout", stuck, SCROLLING, has_timed_out)
            for stuck in (EVALUATING, COMPOSING, LIKE, REPLY, RESHARE)
        ),
        Transition("timeout", RESTING, IDLE),
        *(Transition("round_ends", state, IDLE) for state in AgentState if state is not IDLE),
    ),
)
