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
from functools import reduce
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.agents.social_agent import SocialAgent
from prism.agents.turn import Question
from prism.columns import Ints
from prism.config import ChoiceConfig
from prism.config.attributes import TRAITS
from prism.config.calibrated import UNCALIBRATED
from prism.rng import Draw, pick, picks
from prism.social.chart import SOCIAL_BEHAVIOUR
from prism.social.effects import Effect
from prism.social.people import People
from prism.social.persona import Persona
from prism.social.post import PostView, drawn_about
from prism.social.seen import SeenPosts
from prism.statechart import AgentState, Behaviour, Judgement, Oracle

Floats = NDArray[np.float64]

_SPREADING: Final = (Effect.LIKE, Effect.RESHARE)
FEWEST = 4
"""The fewest questions that are answered at once: fewer are answered sooner one by one."""
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
        self._constants: dict[Effect | None, float] = {
            Effect.LIKE: coefficients.like,
            Effect.RESHARE: coefficients.reshare,
        }
        self._constants |= dict.fromkeys((Effect.REPLY, Effect.POST), coefficients.compose)
        self._at_once: dict[tuple[str, ...], dict[str, str]] = {}
        """`{(state, trigger, *options): {option: the effect of the row that leads to it}}`."""
        self.people: People | None = None
        """The people in columns; without them, each question is answered by itself."""
        self._known: dict[tuple[int, int, str], Sequence[float]] = {}
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

    def answer_all(self, questions: Sequence[Question[PostView]]) -> list[str] | None:
        """Return the answers to many questions, bit for bit as `ask` gives them; None if each must be asked.

        That is so of a few questions, without the columns of the people, where an attribute is not of one kind, and for
        an oracle that is derived from this one and answers otherwise.
        """
        if (
            self.people is None
            or len(questions) < FEWEST
            or any(getattr(type(self), name) is not own for name, own in _OWN_ANSWERS.items())
        ):
            return None
        answers = [""] * len(questions)
        groups: dict[tuple[str, ...], list[int]] = {}
        for place, each in enumerate(questions):
            if each.context is None:
                return None
            groups.setdefault((each.state, each.trigger, *each.options), []).append(place)
        if len(self._known) + len(questions) > KNOWN_MAX:
            self._known.clear()
        for key, places in groups.items():
            numbers = self._answer_group(key, [questions[place] for place in places], self.people)
            if numbers is None:
                return None
            for place, number in zip(places, numbers, strict=True):
                answers[place] = key[2 + number]
        return answers

    def _answer_group(
        self, key: tuple[str, ...], questions: Sequence[Question[PostView]], people: People
    ) -> list[int] | None:
        """Return the number of the option that each person draws, of people in one state with the same options."""
        agents = np.array([each.agent for each in questions], dtype=np.int64)
        ticks = np.array([each.tick for each in questions], dtype=np.int64)
        views = SeenPosts([each.context for each in questions if each.context is not None])
        own = self._own_of_all(agents, people)
        if own is None:
            return None
        quality: Any = 0.0
        if self._coefficients.quality:
            quality = np.array([*map(math.log, views.quality.tolist())])
        terms, at_once = self.terms_of(views, people.activity[agents], quality, own), self._effects_at_once(key)
        weights = _weights_of_all(
            [
                np.broadcast_to(self._utility(option, terms, at_once[option]) / self._coefficients.scale, len(agents))
                for option in key[2:]
            ]
        )
        for each, known in zip(questions, weights, strict=True):
            self._known[each.agent, each.tick, each.trigger] = known
        units = views.drawn(self._seed, agents, ticks, Draw.CHOICE)
        return [*map(int, picks(weights, range(len(weights)), units))]

    def _own_of_all(self, agents: Ints, people: People) -> Any:
        """Return the part of V of people's traits and own attributes; None if an attribute has no column."""
        total: Any = 0.0
        for name, weight in self._traits:
            total = total + weight * people.numbers(name)[agents]
        for name, by_value in self._attributes:
            values = people.read(f"agent.{name}", agents)
            if values is None or (not isinstance(by_value, float) and values.dtype.kind not in "Ub"):
                return None
            if isinstance(by_value, float):
                total = total + by_value * values.astype(np.float64)
            else:
                total = total + np.array([by_value.get(str(value), 0.0) for value in values.tolist()])
        return total

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

    def take_known(self, agent: int, tick: int, trigger: str) -> Sequence[float] | None:
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
        return self.probabilities(agent, options, context, self._effects_at_once(key))

    def _effects_at_once(self, key: tuple[str, ...]) -> dict[str, str]:
        """Return `{option: the effect of the row that leads to it}` of a state, a trigger and its options."""
        at_once = self._at_once.get(key)
        if at_once is None:
            state, trigger, *options = key
            rows = self._of_rows.get(trigger, {})
            at_once = self._at_once[key] = {option: rows.get((state, option), "") for option in options}
        return at_once

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
        return float(self._utility(option.value, None if view is None else self._terms(agent, view), at_once))

    def _terms(self, agent: SocialAgent, view: PostView) -> _Terms:
        quality = math.log(view.quality) if self._coefficients.quality else 0.0
        return self.terms_of(view, agent.persona.activity, quality, self._own(agent.persona))

    def terms_of(self, view: Any, activity: Any, quality: Any, own: Any) -> _Terms:
        """Return the terms of a person, or of many in columns.

        Args:
            view: the view of a post; `quality`: the log of its quality, 0 if it has no weight.
            activity: the person's; `own`: the part of their traits and attributes.
        """
        b = self._coefficients
        return _Terms(
            b.topic * view.topic_match,
            b.tie * view.followed,
            b.activity * activity,
            b.popularity * view.popularity,
            b.fatigue * view.fatigue,
            b.quality * quality if b.quality else 0.0,
            b.exposure * (view.exposures - 1),
            own,
        )

    def _utility(self, option: str, terms: _Terms | None, at_once: str) -> Any:
        b = self._coefficients
        if option in b.states:
            return b.states[option]
        effect = Effect(at_once) if at_once else self._effects.get(option)
        if effect not in self._constants:
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


_OWN_ANSWERS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        name: getattr(ChoiceOracle, name)
        for name in ("ask", "answer", "checked_answer", "key", "distribution", "probabilities", "source", "method")
    }
)
"""The methods that `answer_all` replaces. An oracle with another one of these answers each question by itself."""


def _weights_of_all(utilities: Sequence[Floats]) -> list[tuple[float, ...]]:
    """Return the probabilities of the options, a row for each question, as `ChoiceOracle.probabilities` does."""
    highest = reduce(np.maximum, utilities)
    # numpy's own exp and sum round the last bit otherwise
    weights = [np.array([*map(math.exp, (utility - highest).tolist())]) for utility in utilities]
    total = np.array([*map(math.fsum, zip(*(weight.tolist() for weight in weights), strict=True))])
    return [*zip(*((weight / total).tolist() for weight in weights), strict=True)]


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
