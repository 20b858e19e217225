"""The fields of questions on a feed, by which they may share judgements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from prism.config import Config
from prism.config.attributes import TRAITS
from prism.expressions import Field, expression_of
from prism.social.vocabulary import social_vocabulary
from prism.statechart import Statechart
from prism.statechart.behaviour import Reader

_PERSONALITY: Final = Field(name="agent.personality", kind="text", help="the person's personality, in words")

_OF_TERMS: Final[Mapping[str, str]] = {
    "topic": "post.topic_match",
    "tie": "post.followed",
    "activity": "agent.activity",
    "popularity": "post.popularity",
    "fatigue": "post.fatigue",
    "quality": "post.quality",
    "exposure": "post.exposures",
    **{trait: f"agent.{trait}" for trait in TRAITS},
}
"""`{coefficient of the embedded choice: the field that it weights}`."""

_UNSEEN: Final = frozenset(
    {
        "post.relevance",
        "post.appeal",
        "post.quality",
        "post.fatigue",
        "post.exposures",
        "agent.activity",
        "agent.low_threshold",
        "agent.high_threshold",
        "agent.engagement_threshold",
        "agent.timeout_threshold",
        "agent.ticks_in_state",
        "agent.pending_action",
        *(f"agent.{trait}" for trait in TRAITS),
    }
)
"""Fields that no prompt states: a model cannot answer by them."""


def question_fields(config: Config) -> dict[str, tuple[Field, Reader]]:
    """Return `{field: (the field, its reader)}` of every field of a person's question."""
    words = social_vocabulary(config.population.attributes, config.population.posts.attributes)
    fields = {
        name: (field, words.readers[name])
        for name, field in words.fields.items()
        if not name.startswith(("author.", "draw."))  # no question states them
    }
    return {**fields, _PERSONALITY.name: (_PERSONALITY, lambda agent, _: agent.persona.personality)}


class QuestionFields:
    def __init__(self, config: Config, chart: Statechart[Any]) -> None:
        self._config, self._chart = config, chart

    def question_fields(self) -> dict[str, tuple[Field, Reader]]:
        return question_fields(self._config)

    def default_fields(self) -> list[str]:
        """Return the fields of the embedded choice's terms, and of the guards, as far as the oracle may judge.

        A model may judge by those that a prompt states.
        """
        weights = self._config.oracle.choice
        terms = [name for coefficient, name in _OF_TERMS.items() if getattr(weights, coefficient)]
        terms += [f"agent.{name}" for name in weights.attributes]
        stated = {*terms}
        if self._config.oracle.backend != "choice":
            untold = {f"agent.{name}" for name, each in self._config.population.attributes.items() if not each.prompt}
            stated = {*question_fields(self._config)} - _UNSEEN - untold
        guards = [expression_of(row.guard) for row in self._chart.transitions]
        of_guards = [name for each in guards if each is not None for name in each.fields]
        return [name for name in dict.fromkeys([*terms, *of_guards]) if name in stated]
