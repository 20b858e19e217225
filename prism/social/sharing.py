"""The fields of questions on a feed, by which they may share judgements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    return {**fields, _PERSONALITY.name: (_PERSONALITY, _personality)}


class QuestionFields:
    def __init__(self, config: Config, chart: Statechart[Any]) -> None:
        self._config = config
        self._chart = chart

    def question_fields(self) -> dict[str, tuple[Field, Reader]]:
        return question_fields(self._config)

    def _stated(self) -> list[str]:
        """Return the fields that the oracle may judge by: for a model, those that a prompt states."""
        if self._config.oracle.backend == "choice":
            return list(_terms(self._config))
        untold = {f"agent.{name}" for name, each in self._config.population.attributes.items() if not each.prompt}
        return [name for name in question_fields(self._config) if name not in _UNSEEN | untold]

    def default_fields(self) -> list[str]:
        """Return the fields of the embedded choice's terms, and of the guards, as far as the oracle may judge."""
        guards = [expression_of(row.guard) for row in self._chart.transitions]
        of_guards = [name for each in guards if each is not None for name in each.fields]
        stated = set(self._stated())
        return [name for name in dict.fromkeys([*_terms(self._config), *of_guards]) if name in stated]


def _terms(config: Config) -> Iterator[str]:
    weights = config.oracle.choice
    for coefficient, name in _OF_TERMS.items():
        if getattr(weights, coefficient):
            yield name
    for name in weights.attributes:
        yield f"agent.{name}"


def _personality(agent: Any, _: Any) -> str:
    text: str = agent.persona.personality
    return text
