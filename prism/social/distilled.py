"""The embedded oracle of a distilled file: it answers as the logit that was fitted to a model's judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from prism.config import Config
from prism.errors import InputError
from prism.sharing.archetype import Archetypes
from prism.sharing.distilled import Distilled, DistilledQuestion
from prism.sharing.logit import Predictor
from prism.social.choice import ChoiceOracle
from prism.social.person import SocialAgent
from prism.social.sharing import question_fields
from prism.statechart import AgentState, Behaviour, Statechart

_Kind = tuple[str, str, frozenset[str]]
"""The state, the trigger and the options of a question."""


class DistilledOracle(ChoiceOracle):
    """An embedded oracle whose probabilities are those of a distilled file; of other questions, the embedded choice's.

    Args:
        config: the run's configuration.
        behaviour: the people's chart.
        distilled: the file's content; `name`: the file, for messages.

    Raises:
        InputError: the logit is invalid or has an unknown field, the file has no question of this chart, or it has a
            question twice.
    """

    def __init__(self, config: Config, behaviour: Behaviour[Any], distilled: Distilled, name: str) -> None:
        super().__init__(config.oracle.choice, config.simulation.seed, behaviour)
        _refuse_foreign(distilled, behaviour.chart, name)
        _refuse_double(distilled, name)
        self._fields = Archetypes((), question_fields(config))
        try:
            self._logits: Mapping[_Kind, tuple[Sequence[str], Predictor]] = {
                _kind(each): (each.options, each.predictor(self._fields.names)) for each in distilled.questions
            }
        except ValueError as error:
            raise InputError(name, str(error), key="oracle.sharing.distilled") from None
        self.description = f"distilled from {distilled.model}, no server"

    def distribution(
        self,
        agent: SocialAgent,
        current_state: StrEnum,
        trigger: str,
        options: Sequence[AgentState],
        context: Any = None,
    ) -> list[float]:
        """Return the probability of each option of a question, in order; they add up to 1."""
        logit = self._logits.get((current_state.value, trigger, frozenset(option.value for option in options)))
        if logit is None:
            return super().distribution(agent, current_state, trigger, options, context)
        named, predict = logit  # the file may have the options in another order
        of_option = dict(zip(named, predict(self._fields.values(agent, context)), strict=True))
        return [of_option[option.value] for option in options]


def _kind(question: DistilledQuestion) -> _Kind:
    return question.state, question.trigger, frozenset(question.options)


def _refuse_double(distilled: Distilled, name: str) -> None:
    """Refuse a file that has two answers to one question.

    Raises:
        InputError: it has a question twice, or an option of one.
    """
    seen = set[_Kind]()
    for each in distilled.questions:
        double = next((option for option in each.options if each.options.count(option) > 1), None)
        if double is not None:
            problem = f"has the option {double} of {each.trigger} in {each.state} twice: expected each option once"
            raise InputError(name, problem, key="oracle.sharing.distilled")
        if _kind(each) in seen:
            options = ", ".join(sorted(each.options))
            problem = (
                f"has {each.trigger} in {each.state} with the options {options} twice: expected each question once"
            )
            raise InputError(name, problem, key="oracle.sharing.distilled")
        seen.add(_kind(each))


def _refuse_foreign(distilled: Distilled, chart: Statechart[AgentState], name: str) -> None:
    """Refuse a file with questions that nobody of this chart can ask: it was made from a run of another one.

    Raises:
        InputError: there is such a question, or none at all.
    """
    if not distilled.questions:
        raise InputError(name, "has no questions: expected one at least", key="oracle.sharing.distilled")
    states = {state.value: state for state in chart.states}
    for each in distilled.questions:
        state = states.get(each.state)
        triggers = [] if state is None else chart.valid_triggers(state)
        targets = [] if state is None else [target.value for target in chart.valid_targets(state, each.trigger)]
        if state is None:
            problem, known = f"the state {each.state}", sorted(states)
        elif each.trigger not in triggers:
            problem, known = f"the trigger {each.trigger} in {state}", triggers
        elif (foreign := next((option for option in each.options if option not in targets), None)) is not None:
            problem, known = f"the option {foreign} of {each.trigger} in {state}", targets
        else:
            continue
        problem = f"has {problem}, which the chart has not: expected one of {', '.join(known) or 'none'}"
        raise InputError(name, problem, key="oracle.sharing.distilled")
