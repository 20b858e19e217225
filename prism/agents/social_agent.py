"""A person on a social feed: a persona in a state, and the action that the person is about to take."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final

import msgspec

from prism.agents.stateful import StatefulAgent, whole
from prism.clock import DEFAULT_CLOCK, SimulatedClock
from prism.config.attributes import Value
from prism.config.model import RelevanceConfig
from prism.quoting import shown
from prism.rng import Draw
from prism.social.people.persona import DEFAULT_INTENTIONS, Intentions, Persona
from prism.social.posts.post import PostView, drawn_about
from prism.statechart import AgentState
from prism.statechart.oracle import Written

NOTHING_WRITTEN: Final = Written()
ANYBODY: Final = Persona(name="anybody", interests=(), personality="")
DEFAULT_WEIGHTS: Final = RelevanceConfig()


class Draft(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The action that a person is about to take, empty if the state says it, and the text and reason of a model."""

    action: str
    text: str
    reason: str = ""


class SocialAgent(StatefulAgent[AgentState]):
    """A person: their persona, their state, and the action they are about to take.

    Args:
        engagement_threshold: replaces the persona's, and moves its low and high threshold with it; 0 to 1.
        timeout_threshold: ticks after which a scroller without posts rests, and a stuck person recovers; above 0.
        pending_action: the action of a composing person once the text is done: like, reply or reshare.
        told: the attributes that a model is told, with their names in prompts; None for all, by their own names.

    Raises:
        TypeError: the state is not an AgentState, or another value is of a wrong class.
        ValueError: a threshold or count is not a number, or is out of its range.
    """

    __slots__ = (
        "_pending_action",
        "_timeout_threshold",
        "_written",
        "intentions",
        "persona",
        "seed",
        "told",
        "weights",
    )

    states: ClassVar[type[AgentState]] = AgentState

    def __init__(  # noqa: PLR0913  # the contract's fields, all by name
        self,
        agent_id: int = 0,
        *,
        persona: Persona = ANYBODY,
        engagement_threshold: float | None = None,
        timeout_threshold: int = 5,
        pending_action: str | None = None,
        seed: int = 0,
        told: Mapping[str, str] | None = None,
        intentions: Intentions = DEFAULT_INTENTIONS,
        weights: RelevanceConfig = DEFAULT_WEIGHTS,
        state: AgentState = AgentState.IDLE,
        tick: int = 0,
        ticks_in_state: int = 0,
        max_history_depth: int = 50,
        clock: SimulatedClock = DEFAULT_CLOCK,
    ) -> None:
        super().__init__(
            agent_id, state, tick=tick, ticks_in_state=ticks_in_state, max_history_depth=max_history_depth, clock=clock
        )
        if not isinstance(persona, Persona):
            raise TypeError(f"persona must be a Persona, got {shown(persona)}")
        self.persona = persona if engagement_threshold is None else _with_threshold(persona, engagement_threshold)
        self.timeout_threshold = timeout_threshold
        self.pending_action = pending_action
        self.seed = whole("seed", seed, least=None)
        self.told = told
        self._written = NOTHING_WRITTEN
        self.intentions = intentions
        self.weights = weights

    @property
    def timeout_threshold(self) -> int:
        return self._timeout_threshold

    @timeout_threshold.setter
    def timeout_threshold(self, value: int) -> None:
        self._timeout_threshold = whole("timeout_threshold", value, least=1)

    @property
    def pending_action(self) -> str | None:
        """The action that the person is about to take; None before the first intention."""
        return self._pending_action

    @pending_action.setter
    def pending_action(self, value: str | None) -> None:
        if value is not None and not isinstance(value, str):  # an action of a chart may be a user's code
            raise TypeError(f"pending_action must be a text or None, got {shown(value)}")
        self._pending_action = value

    @property
    def name(self) -> str:
        return self.persona.name

    @property
    def interests(self) -> tuple[str, ...]:
        return self.persona.interests

    @property
    def personality(self) -> str:
        return self.persona.personality

    @property
    def attributes(self) -> Mapping[str, Value]:
        """The person's own attributes by name, in the order of the configuration."""
        return MappingProxyType(self.persona.attributes)

    @property
    def openness(self) -> float:
        """Openness to experience: conventional to curious, from -1 to 1; 0 if it is not known."""
        return self.persona.traits.openness

    @property
    def conscientiousness(self) -> float:
        """Conscientiousness: spontaneous to orderly, from -1 to 1; 0 if it is not known."""
        return self.persona.traits.conscientiousness

    @property
    def extraversion(self) -> float:
        """Extraversion: reserved to outgoing, from -1 to 1; 0 if it is not known."""
        return self.persona.traits.extraversion

    @property
    def agreeableness(self) -> float:
        """Agreeableness: blunt to warm, from -1 to 1; 0 if it is not known."""
        return self.persona.traits.agreeableness

    @property
    def neuroticism(self) -> float:
        """Neuroticism: calm to anxious, from -1 to 1; 0 if it is not known."""
        return self.persona.traits.neuroticism

    @property
    def facts(self) -> Mapping[str, Value]:
        """The facts that a model is told about the person besides name, interests and personality."""
        if self.told is None:
            return self.attributes
        return {
            label: self.persona.attributes[name] for name, label in self.told.items() if name in self.persona.attributes
        }

    @property
    def engagement_threshold(self) -> float:
        """The relevance at which the person engages; 0 to 1. Setting it moves the ambiguous band around it too."""
        return self.persona.engagement_threshold

    @engagement_threshold.setter
    def engagement_threshold(self, value: float) -> None:
        self.persona = _with_threshold(self.persona, value)

    @property
    def low_threshold(self) -> float:
        """The relevance up to which the person ignores a post; 0 to 1."""
        return self.persona.low_threshold

    @property
    def high_threshold(self) -> float:
        """The relevance from which the person acts on a post without an oracle; 0 to 1."""
        return self.persona.high_threshold

    def relevance(self, view: PostView) -> float:
        """Return the relevance of a post to the person: the sum of its parts by `weights`, and 1 if it is more."""
        return relevance_of(view, self.weights)

    def should_engage(self, view: PostView) -> bool:
        return self.relevance(view) >= self.persona.engagement_threshold

    def is_interested(self, view: PostView) -> bool:
        """Return whether the post's relevance reaches the high threshold, so that the person needs no oracle to act."""
        return self.relevance(view) >= self.persona.high_threshold

    def intend(self, view: PostView | None = None) -> None:
        """Draw the action that a convinced person takes on a post, by the person's traits."""
        # Without a post in view, the draw is of the tick.
        unit = drawn_about(view, self.seed, self.agent_id, self._tick, Draw.INTENTION)
        self.pending_action = self.intentions.drawn(self.persona.traits, unit)

    def remembered(self, context: Any) -> Any:
        return context.id if isinstance(context, PostView) else super().remembered(context)

    def recalled(self, remembered: Any) -> dict[str, Any] | None:
        return {"post_id": remembered} if isinstance(remembered, int) else super().recalled(remembered)

    def effect(self) -> str | None:
        return self._pending_action

    def answered(self, trigger: str, content: str) -> None:  # noqa: ARG002  # the interface's
        self._written = msgspec.json.decode(content, type=Written)

    def with_answer(self, effect: str | None) -> str | Draft | None:
        written, self._written = self._written, NOTHING_WRITTEN
        return Draft(effect or "", written.text, written.reason) if written.text else effect


def relevance_of(view: PostView, weights: RelevanceConfig) -> float:
    relevance = (
        weights.topic_match * view.topic_match
        + weights.followed * view.followed
        + weights.popularity * view.popularity
        + weights.appeal * view.appeal
    )
    if weights.exposure:
        relevance += weights.exposure * (view.exposures - 1)
    return min(relevance, 1.0)


def _with_threshold(persona: Persona, threshold: float) -> Persona:
    """Return the persona with another engagement threshold; its ambiguous band moves along, within 0 to 1."""
    replace = msgspec.structs.replace
    # The persona checks the threshold, whatever its band is.
    checked = replace(persona, engagement_threshold=threshold, low_threshold=0.0, high_threshold=1.0)
    threshold = checked.engagement_threshold
    shift = threshold - persona.engagement_threshold
    low, high = (min(1.0, max(0.0, edge + shift)) for edge in (persona.low_threshold, persona.high_threshold))
    return replace(checked, low_threshold=min(low, threshold), high_threshold=max(high, threshold))
