"""The embedded oracle: a multinomial logit over the options, which needs no server and no model.

    P(j) = exp(V_j / s) / sum_k exp(V_k / s)

with V = 0 as the reference for an option that does nothing, such as scrolling, and, for an option that engages,

    V_j = b_j + b_topic * topic_match + b_tie * followed + b_activity * activity
              + b_popularity * popularity (liking and resharing only) - b_fatigue * fatigue
              + b_quality * ln(quality) + b_exposure * (exposures - 1)
              + sum over traits and own attributes of b_k * x_k

where x_k is a number, 1 or 0 of a bool, and for a text b_k is the weight of its value, 0 if it has none.

Source: McFadden, "Conditional logit analysis of qualitative choice behavior" (1974). The form is McFadden's; the
coefficients are configuration, plausible and UNCALIBRATED.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from prism.agents.social_agent import SocialAgent
from prism.config import ChoiceConfig
from prism.config.attributes import TRAITS
from prism.config.calibrated import UNCALIBRATED
from prism.rng import Draw, pick
from prism.social.chart import SOCIAL_BEHAVIOUR
from prism.social.effects import Effect
from prism.social.persona import Persona
from prism.social.post import PostView, drawn_about
from prism.statechart import AgentState, Behaviour, Judgement, Oracle

_SPREADING: Final = (Effect.LIKE, Effect.RESHARE)
KNOWN_MAX: Final = 100_000
"""The most distributions that are kept until somebody compares them with the choice."""


class _Terms(NamedTuple):
    """The terms of V that all options share which engage."""

    topic: float
    tie: float
    activity: float
    popularity: float
    fatigue: float
    quality: float
    exposure: float
    own: float


class ChoiceOracle(Oracle[AgentState]):
    """An oracle that draws the option from a multinomial logit with the agent's own random stream.

    Args:
        coefficients: the weights.
        seed: the run's seed.
        behaviour: the people's chart: the effects of its states say which options engage.
    """

    waits = False
    judges = True
    description = f"embedded multinomial logit, no server{UNCALIBRATED}"

    def __init__(self, coefficients: ChoiceConfig, seed: int, behaviour: Behaviour[Any] = SOCIAL_BEHAVIOUR) -> None:
        self._coefficients = coefficients
        self._seed = seed
        self._traits = tuple((name, getattr(coefficients, name)) for name in TRAITS if getattr(coefficients, name))
        self._attributes = tuple(coefficients.attributes.items())
        self._effects = _effects_of(behaviour)
        self._of_rows = behaviour.effects
        self._constants = {Effect.LIKE: coefficients.like, Effect.RESHARE: coefficients.reshare}
        self._constants |= dict.fromkeys((Effect.REPLY, Effect.POST), coefficients.compose)
        self._at_once: dict[tuple[str, ...], dict[str, str]] = {}
        """`{(state, trigger, *options): {option: the effect of the row that leads to it}}`."""
        self._known: dict[tuple[int, int, str], list[float]] = {}
        """`{(agent, tick, trigger): the distribution of a question that was answered}`, until it is taken."""

    async def ask(
        self,
        agent: SocialAgent,
        current_state: AgentState,
        trigger: str,
        options: Sequence[AgentState],
        context: Any = None,
    ) -> AgentState:
        """Return the option drawn for this agent and the post in view; without one, for the agent and tick."""
        weights = self.distribution(agent, current_state, trigger, options, context)
        if len(self._known) >= KNOWN_MAX:
            self._known.clear()
        self._known[agent.agent_id, agent.tick, trigger] = weights
        return options[pick(weights, drawn_about(context, self._seed, agent.agent_id, agent.tick, Draw.CHOICE))]

    async def judge(
        self,
        agent: SocialAgent,
        current_state: AgentState,
        trigger: str,
        options: Sequence[AgentState],
        context: Any = None,
        samples: int = 1,  # noqa: ARG002  # it knows its probabilities
    ) -> Judgement:
        """Return the probability of each option."""
        return Judgement(tuple(self.distribution(agent, current_state, trigger, options, context)))

    def drawn(self, probabilities: Sequence[float], agent: int, tick: int, context: Any = None) -> int:
        """Return the number of the option drawn for this agent and the post in view."""
        return pick(probabilities, drawn_about(context, self._seed, agent, tick, Draw.CHOICE))

    def same_question(
        self, agent: SocialAgent, trigger: str, options: Sequence[AgentState], context: Any = None
    ) -> str | None:
        """Return the probabilities themselves: nothing else of a question matters to this oracle."""
        return repr(self.distribution(agent, agent.state, trigger, options, context))

    def take_known(self, agent: int, tick: int, trigger: str) -> list[float] | None:
        """Return, once, the distribution of a question that this oracle has answered; None if it is not known."""
        return self._known.pop((agent, tick, trigger), None)

    def distribution(
        self,
        agent: SocialAgent,
        current_state: StrEnum,
        trigger: str,
        options: Sequence[AgentState],
        context: Any = None,
    ) -> list[float]:
        """Return the probability of each option of a question, in order; they add up to 1."""
        key = current_state.value, trigger, *(option.value for option in options)
        at_once = self._at_once.get(key)
        if at_once is None:
            rows = self._of_rows.get(trigger, {})
            at_once = {option.value: rows.get((current_state.value, option.value), "") for option in options}
            self._at_once[key] = at_once
        return self.probabilities(agent, options, context, at_once)

    def probabilities(
        self,
        agent: SocialAgent,
        options: Sequence[AgentState],
        view: PostView | None,
        at_once: Mapping[str, str] = MappingProxyType({}),
    ) -> list[float]:
        """Return the probability of each option, in order; they add up to 1.

        Args:
            at_once: `{option: the effect of the row that leads to it}`; empty for an option whose row has none.
        """
        scale, terms = self._coefficients.scale, None if view is None else self._terms(agent, view)
        utilities = [self._utility(option.value, terms, at_once.get(option.value, "")) / scale for option in options]
        highest = max(utilities)
        weights = [math.exp(utility - highest) for utility in utilities]
        total = math.fsum(weights)
        return [weight / total for weight in weights]

    def utility(self, agent: SocialAgent, option: StrEnum, view: PostView | None, at_once: str = "") -> float:
        """Return V of one option, by the effect of its row or else by that with which its delay ends.

        It is 0 if the option does not engage, and only the constant without a post in view. A state that the
        coefficients name under `states` has that constant and no other term.
        """
        return self._utility(option.value, None if view is None else self._terms(agent, view), at_once)

    def _terms(self, agent: SocialAgent, view: PostView) -> _Terms:
        b = self._coefficients
        return _Terms(
            b.topic * view.topic_match,
            b.tie * view.followed,
            b.activity * agent.persona.activity,
            b.popularity * view.popularity,
            b.fatigue * view.fatigue,
            b.quality * math.log(view.quality) if b.quality else 0.0,
            b.exposure * (view.exposures - 1),
            self._own(agent.persona),
        )

    def _utility(self, option: str, terms: _Terms | None, at_once: str) -> float:
        b = self._coefficients
        if option in b.states:
            return b.states[option]
        effect = Effect(at_once) if at_once else self._effects.get(option)
        if effect is None:
            return 0.0
        constant = self._constants[effect]
        if terms is None:
            return constant
        topic, tie, activity, popular, fatigue, quality, exposure, own = terms
        spread = popular if effect in _SPREADING else 0.0
        return constant + topic + tie + activity + spread - fatigue + quality + exposure + own

    def _own(self, persona: Persona) -> float:
        """Return the part of V that the person's traits and own attributes have in every option that engages."""
        total = 0.0
        for name, weight in self._traits:
            total += weight * getattr(persona.traits, name)
        for name, by_value in self._attributes:
            value = persona.attributes[name]
            if isinstance(by_value, float):
                total += by_value * float(value)
            else:
                total += by_value.get(str(value), 0.0)
        return total


def _effects_of(behaviour: Behaviour[Any]) -> dict[str, Effect]:
    """Return `{state: the effect that its delay ends with}`; of composing, which may end with several, a reply."""
    # A row for another trigger, such as a like at the sight of a post, says nothing about the state that it leaves.
    found = {
        state.value: Effect(effect)
        for state, delay in behaviour.delays.items()
        for (before, _), effect in behaviour.effects.get(delay.trigger, {}).items()
        if before == state.value
    }
    return {**found, AgentState.COMPOSING.value: Effect.REPLY}
