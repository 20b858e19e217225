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

from collections.abc import Mapping, Sequence
from enum import StrEnum
from operator import attrgetter
from typing import Any, Final

import numpy as np

from prism.agents.social_agent import SocialAgent
from prism.agents.turn import Question
from prism.agents.waves import QuestionKind, Questions
from prism.columns import Floats, Ints
from prism.config import ChoiceConfig
from prism.config.attributes import TRAITS
from prism.config.config import UNCALIBRATED
from prism.kernel_rng import keys_of
from prism.kernels import handed_over
from prism.rng import Draw, pick
from prism.social.chart import SOCIAL_BEHAVIOUR
from prism.social.kernels import choice_kernel
from prism.social.kernels.choice_kernel import ACTIVITY, ENGAGES, FIXED, OWN, SEEN_COLUMNS, SPREADS, WEIGHTS
from prism.social.kernels.turn_kernel import ChoiceTables
from prism.social.people.people import People
from prism.social.posts.post import PostView, drawn_about, key_about
from prism.social.vocabulary import Effect
from prism.statechart import AgentState, Behaviour, Judgement, Oracle

_SPREADING: Final = (Effect.LIKE, Effect.RESHARE)

_seen = attrgetter("topic_match", "followed", "popularity", "fatigue", "quality", "exposures")
"""The fields of a view in the columns of `prism.social.kernels.choice_kernel`."""


class ChoiceOracle(Oracle[AgentState]):
    """An oracle that draws an option, which engages by the effects of the chart, from the agent's own random stream."""

    waits = False
    judges = True
    description = f"embedded multinomial logit, no server{UNCALIBRATED}"

    def __init__(self, coefficients: ChoiceConfig, seed: int, behaviour: Behaviour[Any] = SOCIAL_BEHAVIOUR) -> None:
        self._coefficients = coefficients
        self._traits = tuple((name, getattr(coefficients, name)) for name in TRAITS if getattr(coefficients, name))
        self._attributes = tuple(coefficients.attributes.items())
        # `{state: the effect that its delay ends with}`; for composing, which may end with several, a reply.
        # A row for another trigger, such as a like at the sight of a post, says nothing about the state that it leaves.
        found = {
            state.value: Effect(effect)
            for state, delay in behaviour.delays.items()
            for (before, _), effect in behaviour.effects.get(delay.trigger, {}).items()
            if before == state.value
        }
        self._effects = {**found, AgentState.COMPOSING.value: Effect.REPLY}
        self._of_rows = behaviour.effects
        self._constants: dict[Effect | None, float] = {
            Effect.LIKE: coefficients.like,
            Effect.RESHARE: coefficients.reshare,
        }
        self._constants |= dict.fromkeys((Effect.REPLY, Effect.POST), coefficients.compose)
        self._weights = np.array([getattr(coefficients, name) for name in WEIGHTS])
        self.people: People | None = None  # the people in columns; without them, each question is answered by itself
        self._of_traits: tuple[People, Floats] | None = None
        self._own_of: tuple[People, Floats | None] | None = None
        """People, and the part of V of the traits and own attributes of each, if none of these changes."""
        self._answers_as_own = type(self) is ChoiceOracle  # one derived from it answers each question by itself
        self.begin(seed)

    def begin(self, seed: int) -> None:
        """Begin in a world, and draw from this seed. What is kept of questions in another one is forgotten."""
        self._seed, self._key = seed, keys_of(seed)
        self._kinds: dict[tuple[str, ...], tuple[Floats, Ints]] = {}
        self._numbers: dict[QuestionKind, int] = {}
        nobody = np.zeros(0, dtype=np.int64)
        self._table: tuple[Floats, Ints, Ints] = np.zeros((0, 1)), np.zeros((0, 1), dtype=np.int64), nobody
        """The constants and the forms of the options of each kind of question, a row each, and how many they are."""
        self._of_codes: tuple[Mapping[int, QuestionKind], int, Ints] = {}, 0, nobody
        """The kinds of the latest questions in columns, how many they were, and the number of each in the table."""

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
        return options[pick(weights, drawn_about(context, self._seed, agent.agent_id, agent.tick, Draw.CHOICE))]

    def answer_all(self, questions: Sequence[Question[PostView]]) -> list[str] | None:
        """Return the answers to many questions, bit for bit as `ask` gives them; None if each must be asked.

        That is so without the columns of the people, without a post in view, where an attribute is not of one kind, and
        for an oracle that is derived from this one.
        """
        views = [each.context for each in questions]
        if None in views:
            return None
        seen, agents = np.empty((len(questions), SEEN_COLUMNS)), np.array([each.agent for each in questions])
        seen[:, :ACTIVITY] = [*map(_seen, views)]
        draws = np.array([(each.agent, *key_about(each.context, each.tick)) for each in questions])
        kinds = [self._number_of(QuestionKind(each.trigger, each.state, each.options)) for each in questions]
        found = self._chosen(agents, np.array(kinds), seen, draws)
        if found is None:
            return None
        return [each.options[number] for each, number in zip(questions, found.tolist(), strict=True)]

    def choose(self, questions: Questions[Any]) -> Ints | None:
        """Return the answers to questions in columns, as `answer_all` gives them; None if each must be asked."""
        if questions.seen is None:
            return None
        seen, draws = np.empty((len(questions), SEEN_COLUMNS)), np.empty((len(questions), 3), dtype=np.int64)
        choice_kernel.look(questions.tick, questions.agents, handed_over(questions.seen), seen, draws)
        return self._chosen(questions.agents, self._numbers_of(questions.kinds)[questions.codes], seen, draws)

    def for_kernels(self, kinds: Mapping[int, QuestionKind]) -> ChoiceTables | None:
        """Return this choice as a kernel reads it, for kinds of questions by number; None if each must be asked."""
        if self.people is None or not self._answers_as_own:
            return None
        if self._own_of is None or self._own_of[0] is not self.people:
            everybody = np.arange(len(self.people.activity))
            self._own_of = self.people, self._own_of_all(everybody, self.people)
        own = self._own_of[1]
        if own is None:
            return None
        of_codes = self._numbers_of(kinds)
        return ChoiceTables(self._key, self._weights, *self._table, of_codes, self.people.activity, own)

    def _numbers_of(self, kinds: Mapping[int, QuestionKind]) -> Ints:
        """Return the number in the table of each kind, by its code; -1 for codes that are none. Kinds only grow."""
        known, count, numbers = self._of_codes
        if known is not kinds or count != len(kinds):
            numbers = np.full(max(kinds, default=0) + 1, -1, dtype=np.int64)
            for code, kind in kinds.items():
                numbers[code] = self._number_of(kind)
            self._of_codes = kinds, len(kinds), numbers
        return numbers

    def _chosen(self, agents: Ints, kinds: Ints, seen: Floats, draws: Ints) -> Ints | None:
        """Return the options that people draw; None if each question must be asked.

        Args:
            kinds: the number of each question's kind in the table; seen, draws: as of `choice_kernel.look`.
        """
        if self.people is None or not self._answers_as_own or (own := self._own_of_all(agents, self.people)) is None:
            return None
        seen[:, ACTIVITY], seen[:, OWN] = self.people.activity[agents], own
        chosen, room = np.empty(len(kinds), dtype=np.int64), np.empty((2, self._table[0].shape[1]))
        choice_kernel.choose(self._key, *self._table, kinds, self._weights, seen, draws, room, chosen)
        return chosen if chosen.min() >= 0 else None

    def _number_of(self, kind: QuestionKind) -> int:
        if kind in self._numbers:
            return self._numbers[kind]
        self._numbers[kind] = len(self._numbers)
        options = [self._options((kind.state, kind.trigger, *kind.options)) for kind in self._numbers]
        sizes = np.array([len(of_options) for of_options, _ in options], dtype=np.int64)
        constants, forms = np.zeros((len(options), sizes.max())), np.zeros((len(options), sizes.max()), dtype=np.int64)
        for row, each in enumerate(options):
            constants[row, : sizes[row]], forms[row, : sizes[row]] = each
        self._table = constants, forms, sizes
        return self._numbers[kind]

    def _own_of_all(self, agents: Ints, people: People) -> Floats | None:
        if self._of_traits is None or self._of_traits[0] is not people:
            of_all = np.zeros(len(people.activity))
            for name, weight in self._traits:
                of_all += weight * people.numbers(name)
            self._of_traits = people, of_all
        total: Floats = self._of_traits[1][agents]
        for name, by_value in self._attributes:
            values = people.column(f"agent.{name}")
            values = None if values is None else values[agents]
            if values is None or (not isinstance(by_value, float) and values.dtype.kind not in "Ub"):
                return None
            if isinstance(by_value, float):
                total += by_value * values.astype(np.float64)
            else:
                total += np.array([by_value.get(str(value), 0.0) for value in values.tolist()])
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
        return Judgement(tuple(self.distribution(agent, current_state, trigger, options, context)))

    def drawn(self, probabilities: Sequence[float], agent: int, tick: int, context: Any = None) -> int:
        return pick(probabilities, drawn_about(context, self._seed, agent, tick, Draw.CHOICE))

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
        (constants, forms), weights = self._options(key), np.empty(len(options))
        forms = np.zeros_like(forms) if context is None else forms
        of_post, persona, own = (0.0,) * ACTIVITY if context is None else _seen(context), agent.persona, 0.0
        for name, weight in self._traits:
            own += weight * getattr(persona.traits, name)
        for name, by_value in self._attributes:
            value = persona.attributes[name]
            own += by_value * float(value) if isinstance(by_value, float) else by_value.get(str(value), 0.0)
        row = np.array([*of_post, persona.activity, own], dtype=np.float64)
        choice_kernel.weigh(constants, forms, self._weights, row, weights, weights.copy())
        found: list[float] = weights.tolist()
        return found

    def _options(self, key: tuple[str, ...]) -> tuple[Floats, Ints]:
        if key not in self._kinds:
            state, trigger, *options = key
            constants, forms = list[float](), list[int]()
            for option in options:
                at_once = self._of_rows.get(trigger, {}).get((state, option))
                effect = Effect(at_once) if at_once else self._effects.get(option)
                is_fixed = option in self._coefficients.states or effect not in self._constants
                constants.append(self._coefficients.states.get(option, self._constants.get(effect, 0.0)))
                forms.append(FIXED if is_fixed else SPREADS if effect in _SPREADING else ENGAGES)
            self._kinds[key] = np.array(constants, dtype=np.float64), np.array(forms, dtype=np.int64)
        return self._kinds[key]
