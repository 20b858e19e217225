"""The file of a questionnaire: its questions, the rounds after which they are asked, and how often."""

from __future__ import annotations

import re
from collections import Counter
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from prism.config.yaml_text import read_as
from prism.errors import ConfigError, SettingError
from prism.statechart.oracle import one_line

ITEMS_MAX: Final = 200  # the most questions of a file
OPTIONS_MAX: Final = 50
OPTION_CHARS: Final = 100
TEXT_CHARS: Final = 2_000  # the most characters of a question
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
                raise SettingError("questions", problem, keys=[f"questions[{place}].id"])
        moments = {f"round {file.at}": file.at} if isinstance(file.at, int) else file.at
        if moments is not None and not 1 <= len(moments) <= MOMENTS_MAX:
            raise SettingError("at", f"expected 1 to {MOMENTS_MAX} moments, got {len(moments)}", keys=["at"])
        return items, moments or {}, file.repeat

    (items, at, repeat), top = read_as(text, source, _File, checked)
    lines = {item.id: top.line(f"questions[{place}].id") for place, item in enumerate(items)}
    return Questionnaire(source=source, items=items, lines=lines, at=at, repeat=repeat)


def _checked(item: Item, key: str) -> Item:
    if not _NAME.fullmatch(item.id):
        problem = f"expected at most 60 letters, digits and underscores, the first a letter, got {item.id!r}"
        raise _wrong(key, "id", problem)
    kinds = [name for name in ("options", "scale", "open") if getattr(item, name) not in ((), None, False)]
    if len(kinds) != 1:
        got = " and ".join(kinds) or "none of them"
        raise _wrong(key, "id", f"expected one of options, scale and open: true for the question {item.id}, got {got}")
    text = one_line(item.text, TEXT_CHARS + 1)
    if not 1 <= len(text) <= TEXT_CHARS:
        raise _wrong(key, "text", f"expected 1 to {TEXT_CHARS:,} characters, got {len(text):,} or more")
    if item.options:
        if item.labels:
            raise _wrong(key, "labels", "expected none: only a scale has labels")
        options = tuple(one_line(option, OPTION_CHARS + 1) for option in item.options)
        if not 2 <= len(options) <= OPTIONS_MAX:
            raise _wrong(key, "options", f"expected 2 to {OPTIONS_MAX} options, got {len(options)}")
        for place, option in enumerate(options):
            if not 1 <= len(option) <= OPTION_CHARS:
                problem = f"expected 1 to {OPTION_CHARS} characters, got {len(option)}"
                raise _wrong(key, f"options[{place}]", problem)
            if option.lower() in [before.lower() for before in options[:place]]:
                raise _wrong(key, f"options[{place}]", f"expected another option than those before it, got {option!r}")
        return msgspec.structs.replace(item, text=text, options=options)
    if item.labels and (item.scale is None or len(item.labels) != 2):
        raise _wrong(key, "labels", f"expected two texts, for the ends of a scale, got {len(item.labels)}")
    if (scale := item.scale) is not None and (
        len(scale) != 2 or not 1 <= scale[1] - scale[0] < POINTS_MAX or max(map(abs, scale)) > 1_000_000
    ):
        got = ", ".join(map(str, scale[:5]))
        problem = f"expected two whole numbers, the lowest and the highest, at most 100 apart, as [1, 7], got [{got}]"
        raise _wrong(key, "scale", problem)
    return msgspec.structs.replace(item, text=text, labels=tuple(one_line(each, OPTION_CHARS) for each in item.labels))


def _wrong(key: str, name: str, problem: str) -> SettingError:
    return SettingError("questions", problem, keys=[f"{key}.{name}"])
