"""The states of a person on a social feed, and their meanings."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum, unique
from typing import Final, TypeVar

S = TypeVar("S", bound=StrEnum)
"""The states of one chart. A chart works over any StrEnum; `AgentState` is the social one."""


@unique
class AgentState(StrEnum):
    """The states of a person on a social feed. Records, summaries and prompts use the values."""

    IDLE = "idle"
    SCROLLING = "scrolling"
    EVALUATING = "evaluating"
    COMPOSING = "composing"
    ENGAGING_LIKE = "engaging_like"
    ENGAGING_REPLY = "engaging_reply"
    ENGAGING_RESHARE = "engaging_reshare"
    RESTING = "resting"


STATE_DESCRIPTIONS: Final[dict[AgentState, str]] = {
    AgentState.IDLE: "Stop browsing, wait for next round",
    AgentState.SCROLLING: "Continue browsing without engaging",
    AgentState.EVALUATING: "Look more closely at this post",
    AgentState.COMPOSING: "Write a response or original content",
    AgentState.ENGAGING_LIKE: "Like this post",
    AgentState.ENGAGING_REPLY: "Reply to this post",
    AgentState.ENGAGING_RESHARE: "Reshare this post",
    AgentState.RESTING: "Take a break from activity",
}

PASSIVITY: Final[tuple[AgentState, ...]] = (
    AgentState.SCROLLING,
    AgentState.RESTING,
    AgentState.IDLE,
    AgentState.EVALUATING,
    AgentState.ENGAGING_LIKE,
    AgentState.ENGAGING_RESHARE,
    AgentState.ENGAGING_REPLY,
    AgentState.COMPOSING,
)
"""The states from the least to the most consequential. Scrolling comes first: without an answer, doing nothing
is safe."""


def most_passive(options: Iterable[S]) -> S:
    """Return the option with the least consequence; for states other than `AgentState`, the first of their enum."""
    orders = {state: list[StrEnum](PASSIVITY if isinstance(state, AgentState) else type(state)) for state in options}
    return min(orders, key=lambda state: orders[state].index(state))
