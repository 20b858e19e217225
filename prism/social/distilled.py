"""The embedded oracle of a distilled file: it answers as the logit that was fitted to a model's judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from prism.agents.social_agent import SocialAgent
from prism.config import Config
from prism.errors import InputError
from prism.sharing.archetype import Archetypes
from prism.sharing.distilled import Distilled
from prism.sharing.surrogate import Surrogate
from prism.social.choice import ChoiceOracle
from prism.social.sharing import question_fields
from prism.statechart import AgentState, Behaviour


class DistilledOracle(ChoiceOracle):
    """An embedded oracle whose probabilities are those of a distilled file; of other questions, the embedded choice's.

    Args:
        config: the run's configuration.
        behaviour: the people's chart.
        distilled: the file's content; `name`: the file, for messages.

    Raises:
        InputError: the logit has a field that questions do not have, or is none.
    """

    def __init__(self, config: Config, behaviour: Behaviour[Any], distilled: Distilled, name: str) -> None:
        super().__init__(config.oracle.choice, config.simulation.seed, behaviour)
        self._fields = Archetypes((), question_fields(config))
        try:
            self._logits: Mapping[tuple[str, ...], Surrogate] = {
                (each.state, each.trigger, *each.options): each.surrogate(self._fields.names)
                for each in distilled.questions
            }
        except ValueError as error:
            raise InputError(name, str(error), key="oracle.distilled") from None
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
        logit = self._logits.get((current_state.value, trigger, *(option.value for option in options)))
        if logit is None:
            return super().distribution(agent, current_state, trigger, options, context)
        return list(logit.predict(self._fields.values(agent, context)))
