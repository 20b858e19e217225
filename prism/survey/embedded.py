"""Answers without a model: the expressions of a questionnaire, worked out for each person."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from prism.config.attributes import AttributeConfig
from prism.errors import ExpressionError
from prism.expressions import Field, compiled, parse
from prism.expressions.tree import ValueKind
from prism.kernel_delays import LEAST_DRAW, normal_quantile
from prism.rng import Draw, uniform
from prism.social.vocabulary import social_vocabulary
from prism.statechart.oracle import TEXT_CHARS, one_line
from prism.survey.questionnaire import Item, Questionnaire

_DRAWS = ("draw.uniform", "draw.normal")
Answered = int | str | None


class EmbeddedAnswers:
    """The answers to the questions of a questionnaire, by their expressions.

    `draw.uniform` and `draw.normal` are two random numbers of the run's seed, the person and the question.
    """

    def __init__(self, questionnaire: Questionnaire, attributes: Mapping[str, AttributeConfig], seed: int) -> None:
        words = social_vocabulary(attributes)
        self._seed = seed
        self._key = 0
        fields = {name: field for name, field in words.fields.items() if name.startswith("agent.") or name in _DRAWS}
        readers = {name: words.readers[name] for name in fields}
        readers["draw.uniform"] = lambda person, _: self._drawn(person, Draw.SURVEY)
        readers["draw.normal"] = lambda person, _: normal_quantile(
            max(self._drawn(person, Draw.SURVEY_NORMAL), LEAST_DRAW)
        )
        self._answers = [(item, _answer_of(questionnaire, item, fields, readers)) for item in questionnaire.items]

    def of(self, person: Any) -> dict[str, Answered]:
        """Return `{question: the answer}` of a `SocialAgent`. A missing answer is None."""
        found: dict[str, Answered] = {}
        for item, answer in self._answers:
            self._key = item.key
            found[item.id] = answer(person)
        return found

    def _drawn(self, person: Any, draw: Draw) -> float:
        return uniform(self._seed, person.agent_id, 0, draw, self._key)


def _answer_of(
    questionnaire: Questionnaire, item: Item, fields: Mapping[str, Field], readers: Mapping[str, Any]
) -> Callable[[Any], Answered]:
    if item.answer is None:
        problem = "is missing: without a model a question is answered by an expression, such as agent.opinion * 3 + 4"
        raise questionnaire.refusal(item, "answer", problem)
    kinds: list[ValueKind] = ["text"] if item.open else ["number"]
    if len(item.options) == 2:
        kinds.append("bool")
    if item.options:
        kinds.append("text")
    wrong = ""
    for kind in kinds:
        try:
            expression = parse(item.answer, fields, kind=kind)
        except ExpressionError as error:
            wrong = wrong or str(error)
            continue
        read = compiled(expression, readers)
        taken = _TAKEN[kind]
        # Refuse a text attribute whose declared values are not all among the options.
        root = expression.root if kind == "text" else None
        values = getattr(getattr(root, "field", None), "values", ())
        other = [value for value in values if value not in item.options]
        if item.options and other:
            raise questionnaire.refusal(item, "answer", f"may give {other[0]!r}, which is none of the options")
        return lambda person: taken(item, read(person, None))
    raise questionnaire.refusal(item, "answer", wrong)


def _by_number(item: Item, value: float) -> Answered:
    """Return the nearest whole number on a scale, or the option with this number, from 1 on; None for no number."""
    if math.isnan(value):
        return None
    low, high = (1, len(item.options)) if item.scale is None else item.scale
    number = math.floor(min(max(value, low), high) + 0.5)
    return number if item.scale is not None else item.options[number - 1]


def _by_text(item: Item, value: str) -> Answered:
    if item.options:
        return value if value in item.options else None
    return one_line(value, TEXT_CHARS) or None


_TAKEN: Mapping[ValueKind, Callable[[Item, Any], Answered]] = {
    "number": _by_number,
    "bool": lambda item, value: item.options[0 if value else 1],  # the first of two options if the condition holds
    "text": _by_text,
}
"""`{type of an expression: what its value answers}`."""
