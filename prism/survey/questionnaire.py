"""The file of a questionnaire: its questions, when and how often they are asked, and their answers without a model."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from prism.config.attributes import AttributeConfig
from prism.config.yaml_text import read_as
from prism.errors import ConfigError, ExpressionError
from prism.experiment.design import refusal
from prism.expressions import Field, compiled, parse
from prism.expressions.tree import ValueKind
from prism.kernel_rng import LEAST_DRAW, normal_quantile
from prism.rng import Draw, uniform
from prism.social.vocabulary import social_vocabulary
from prism.statechart.oracle import TEXT_CHARS, one_line

ITEMS_MAX: Final = 200  # the most questions of a file
OPTIONS_MAX: Final = 50
OPTION_CHARS: Final = 100
QUESTION_CHARS: Final = 2_000
POINTS_MAX: Final = 101  # the most points of a scale, as of 0 to 100
REPEATS_MAX: Final = 100
MOMENTS_MAX: Final = 20
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")


class Item(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question of a questionnaire. It has options, or a scale, or is open.

    Args:
        id: its name in tables.
        text: what people read.
        options: the answers to choose from, for a choice.
        scale: the lowest and the highest whole number that can be answered, for a scale.
        labels: what the two ends of a scale mean.
        open: whether people answer in their own words, on one line.
        answer: the expression that answers without a model; None for a question that only a model can answer.
    """

    id: str
    text: str
    options: tuple[str, ...] = ()
    scale: tuple[int, ...] | None = None
    labels: tuple[str, ...] = ()
    open: bool = False
    answer: str | None = None

    @property
    def choices(self) -> tuple[str, ...]:
        """The answers to choose from, those of a scale as texts from the lowest on; empty for an open question."""
        return self.options if self.scale is None else tuple(map(str, range(self.scale[0], self.scale[1] + 1)))

    @property
    def states(self) -> type[StrEnum]:
        """The answers as an enumeration, which oracles choose from; of an open question, that it was answered."""
        return _states(self.choices or ("answered",))

    def key(self, repeat: int) -> int:
        """Return the number of an asking for draws, from 0 to below 2**56: of the question's name and the repeat."""
        return int.from_bytes(blake2b(f"{self.id} {repeat}".encode(), digest_size=7).digest())


@lru_cache(maxsize=1024)
def _states(choices: tuple[str, ...]) -> type[StrEnum]:
    made: Any = StrEnum("Choice", {f"CHOICE_{number}": text for number, text in enumerate(choices)})  # type: ignore[misc]
    states: type[StrEnum] = made
    return states


class _File(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    questions: Annotated[list[Item], Meta(min_length=1, max_length=ITEMS_MAX)]
    at: Annotated[int, Meta(ge=0)] | dict[str, Annotated[int, Meta(ge=0)]] | None = None
    repeat: Annotated[int, Meta(ge=1, le=REPEATS_MAX)] = 1


class Questionnaire(msgspec.Struct, frozen=True, kw_only=True):
    source: str  # the file, for errors
    items: tuple[Item, ...]  # its questions, each of another id
    lines: dict[str, int | None]  # `{id: the line of the question in the file}`
    # `{moment: the round after which it is}`, in the order in which they are compared; empty for the end
    at: dict[str, int]
    repeat: int  # how often each person is asked each question at each moment

    def refusal(self, item: Item, key: str, problem: str) -> ConfigError:
        return ConfigError(self.source, problem, key=f"{item.id}.{key}", line=self.lines[item.id])


def read_questionnaire(text: str, source: str) -> Questionnaire:
    """Return the questionnaire that a YAML text describes."""

    def checked(file: _File) -> tuple[tuple[Item, ...], dict[str, int], int]:
        items = tuple(_checked(item, f"questions[{place}]") for place, item in enumerate(file.questions))
        seen = Counter[str]()
        for place, item in enumerate(items):
            seen[item.id.lower()] += 1
            if seen[item.id.lower()] > 1:
                problem = f"expected an id of its own for each question, got {item.id!r} a second time"
                raise refusal(f"questions[{place}].id", problem)
        moments = {f"round {file.at}": file.at} if isinstance(file.at, int) else file.at
        if moments is not None and not 1 <= len(moments) <= MOMENTS_MAX:
            raise refusal("at", f"expected 1 to {MOMENTS_MAX} moments, got {len(moments)}")
        return items, moments or {}, file.repeat

    (items, at, repeat), top = read_as(text, source, _File, checked)
    lines = {item.id: top.line(f"questions[{place}].id") for place, item in enumerate(items)}
    return Questionnaire(source=source, items=items, lines=lines, at=at, repeat=repeat)


def _checked(item: Item, key: str) -> Item:
    if not _NAME.fullmatch(item.id):
        problem = f"expected at most 60 letters, digits and underscores, the first a letter, got {item.id!r}"
        raise refusal(f"{key}.id", problem)
    kinds = [name for name in ("options", "scale", "open") if getattr(item, name) not in ((), None, False)]
    if len(kinds) != 1:
        got = " and ".join(kinds) or "none of them"
        raise refusal(
            f"{key}.id", f"expected one of options, scale and open: true for the question {item.id}, got {got}"
        )
    text = one_line(item.text, QUESTION_CHARS + 1)
    if not 1 <= len(text) <= QUESTION_CHARS:
        raise refusal(f"{key}.text", f"expected 1 to {QUESTION_CHARS:,} characters, got {len(text):,} or more")
    if item.options:
        if item.labels:
            raise refusal(f"{key}.labels", "expected none: only a scale has labels")
        options = tuple(one_line(option, OPTION_CHARS + 1) for option in item.options)
        if not 2 <= len(options) <= OPTIONS_MAX:
            raise refusal(f"{key}.options", f"expected 2 to {OPTIONS_MAX} options, got {len(options)}")
        for place, option in enumerate(options):
            if not 1 <= len(option) <= OPTION_CHARS:
                problem = f"expected 1 to {OPTION_CHARS} characters, got {len(option)}"
                raise refusal(f"{key}.options[{place}]", problem)
            if option.lower() in [before.lower() for before in options[:place]]:
                raise refusal(
                    f"{key}.options[{place}]", f"expected another option than those before it, got {option!r}"
                )
        return msgspec.structs.replace(item, text=text, options=options)
    if item.labels and (item.scale is None or len(item.labels) != 2):
        raise refusal(f"{key}.labels", f"expected two texts, for the ends of a scale, got {len(item.labels)}")
    if (scale := item.scale) is not None and (
        len(scale) != 2 or not 1 <= scale[1] - scale[0] < POINTS_MAX or max(map(abs, scale)) > 1_000_000
    ):
        got = ", ".join(map(str, scale[:5]))
        problem = f"expected two whole numbers, the lowest and the highest, at most 100 apart, as [1, 7], got [{got}]"
        raise refusal(f"{key}.scale", problem)
    return msgspec.structs.replace(item, text=text, labels=tuple(one_line(each, OPTION_CHARS) for each in item.labels))


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
