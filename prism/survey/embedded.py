"""Answers without a model: the expressions of a questionnaire, worked out for each person."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
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

    `draw.uniform` and `draw.normal` are two random numbers of the run's seed, the person, the question and the repeat.
    """

    def __init__(self, questionnaire: Questionnaire, attributes: Mapping[str, AttributeConfig], seed: int) -> None:
        words = social_vocabulary(attributes)
        self._seed = seed
        self._repeats = range(1, questionnaire.repeat + 1)
        self._key = 0
        fields = {name: field for name, field in words.fields.items() if name.startswith("agent.") or name in _DRAWS}
        readers = {name: words.readers[name] for name in fields}
        readers["draw.uniform"] = lambda person, _: self._drawn(person, Draw.SURVEY)
        readers["draw.normal"] = lambda person, _: normal_quantile(
            max(self._drawn(person, Draw.SURVEY_NORMAL), LEAST_DRAW)
        )
        self._answers = [(item, _answer_of(questionnaire, item, fields, readers)) for item in questionnaire.items]

    def of(self, person: Any) -> dict[tuple[str, int], Answered]:
        """Return `{(question, repeat): the answer}` of a `SocialAgent`. A missing answer is None."""
        found: dict[tuple[str, int], Answered] = {}
        for item, answer in self._answers:
            for repeat in self._repeats:
                self._key = item.key(repeat)
                found[item.id, repeat] = answer(person)
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
        # Refuse a text attribute whose declared values are not all among the options.
        root = expression.root if kind == "text" else None
        values = getattr(getattr(root, "field", None), "values", ())
        other = [value for value in values if value not in item.options]
        if item.options and other:
            raise questionnaire.refusal(item, "answer", f"may give {other[0]!r}, which is none of the options")
        return partial(_taken, kind, item, read)
    raise questionnaire.refusal(item, "answer", wrong)


def _taken(kind: ValueKind, item: Item, read: Callable[[Any, Any], Any], person: Any) -> Answered:
    """Return what the value of an expression answers for a person: None for no answer.

    A number is the nearest one on a scale, or the number of an option from 1 on; a condition is the first of two
    options if it holds; a text is an option, or an answer in words.
    """
    value = read(person, None)
    if kind == "bool":
        return item.options[0 if value else 1]
    if kind == "text":
        text = str(value)
        return (text if text in item.options else None) if item.options else one_line(text, TEXT_CHARS) or None
    if math.isnan(value):
        return None
    low, high = (1, len(item.options)) if item.scale is None else item.scale
    number: int = math.floor(min(max(value, low), high) + 0.5)
    return number if item.scale is not None else item.options[number - 1]
