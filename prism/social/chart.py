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
    """The post is clearly not for them."""
    return agent.relevance(view) <= agent.persona.low_threshold


def is_convinced(agent: SocialAgent, view: PostView) -> bool:
    """The post clearly is."""
    return agent.relevance(view) >= agent.persona.high_threshold


def is_torn(agent: SocialAgent, view: PostView) -> bool:
    """Neither clearly in nor out."""
    return agent.persona.low_threshold < agent.relevance(view) < agent.persona.high_threshold


def has_timed_out(agent: SocialAgent, _: Any) -> bool:
    """They have been in this state for as long as they bear."""
    return agent.ticks_in_state >= agent.timeout_threshold


def is_about_to_reply(agent: SocialAgent, _: Any) -> bool:
    """What they composed is a reply."""
    return agent.pending_action == "reply"


def is_about_to_reshare(agent: SocialAgent, _: Any) -> bool:
    """What they composed is a comment to a reshare."""
    return agent.pending_action == "reshare"


def is_about_to_like(agent: SocialAgent, _: Any) -> bool:
    """They found no words but liked it."""
    return agent.pending_action == "like"


def intend(agent: SocialAgent, _: Any) -> None:
    """Make up their mind what to do about the post."""
    agent.intend()


def draft_reply(agent: SocialAgent, _: Any) -> None:
    """Whoever chooses to write, out of all they could do, writes a reply."""
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
        # Neither in nor out: four things they might do, and only the oracle can say which. Scrolling on comes first,
        # so it is what happens when nobody answers.
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
