"""Archetypes: the groups of questions that may share a judgement, by fields of the question.

An archetype is a pure function of the question: its state, trigger and options, and the group of each field's value.
A field's values are grouped as declared: `exact`, `4 bins` of equal width over its range, or `log2` of a count.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import msgspec

from prism.errors import ExpressionError
from prism.expectations import guess
from prism.expressions import Field
from prism.statechart.behaviour import Reader

Value = float | int | bool | str  # the value of a field: a number, a truth value or a text


def in_words(value: Value) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


Name = tuple[int, int, str]  # the name of a question: its agent, tick and trigger


class Judged(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=10):
    """A distribution that the oracle gave to one question, for others to share, or to audit what they share."""

    asked: int  # the tick of the question; `agent` and `trigger`: its agent and its trigger
    agent: int
    trigger: str
    probabilities: tuple[float, ...]  # of the options, in the question's order; they add up to 1
    key: tuple[float | int | bool | str, ...]  # its archetype: state, trigger and options, and the group of each field
    values: tuple[float | int | bool | str, ...] = ()  # of its fields
    # in an audit, the distribution that its archetype shares; empty for a question that was asked for all
    shared: tuple[float, ...] = ()
    # the answers that the distribution was counted from; 0 for probabilities that the oracle gave itself
    samples: int = 0
    # the probability with which it was audited; it changes where a resume changes `oracle.sharing.audit`
    chance: float = 1.0
    calls: int = 0  # to a model that it took

    @property
    def weight(self) -> float:
        """The number of shared questions that an audit stands for."""
        return 1.0 / self.chance

    @property
    def calls_at_least(self) -> int:
        """The calls that it took, as far as they are recorded: one for each sample, and 1 or more."""
        return max(1, self.samples, self.calls)

    @property
    def name(self) -> Name:
        return self.agent, self.asked, self.trigger

    @property
    def kind(self) -> tuple[float | int | bool | str, ...]:
        """The state, trigger and options of the question: the part of `key` before the groups."""
        return self.key[: 2 + len(self.probabilities)]

    @property
    def is_audit(self) -> bool:
        """True for a question that was asked although its archetype has a judgement."""
        return bool(self.shared)


EXACT: Final = "exact"
LOG2: Final = "log2"
LOG2_FROM: Final = 2  # the first value that shares its group by the logarithm with another whole number
BINS_MAX: Final = 1000
_BINS: Final = re.compile(r"([1-9][0-9]*) bins?")

NOTHING: Final = ""  # the value of a field of the context, for a question without one

DEFAULT_BINS: Final = 4  # the bins of a number with a range that an archetype has unless it is declared


class Grouping(NamedTuple):
    """The groups of one field's values."""

    name: str  # the field
    text: str  # the groups as declared, such as `4 bins`
    read: Reader  # returns the field's value for an agent and a context
    group: Callable[[Any], Value]
    words: Callable[[Any], str] = str  # returns a group in words, such as `0.25 to 0.5`


def grouping(name: str, text: str, known: Mapping[str, tuple[Field, Reader]]) -> Grouping:
    # 1. The full name of the field, which a short one may stand for.
    ends = [name] if name in known else [each for each in known if each.rpartition(".")[2] == name]
    if not ends:
        last = dict.fromkeys(each.rpartition(".")[2] for each in sorted(known))
        raise ExpressionError(name, 1, f"no such field: {guess(name.rpartition('.')[2], last)}")
    if ends[1:]:
        raise ExpressionError(name, 1, f"stands for {' and '.join(ends)}")
    full = ends[0]
    field, read = known[full]
    # 2. Its groups.
    if field.kind == "texts":
        problem = "has several texts at a time, and groups are of single values: leave it out, or name another field"
        raise ExpressionError(text, 1, f"{full} {problem}")
    if text == EXACT:
        return Grouping(full, text, read, lambda value: value, in_words)
    # Below 2 a number has no groups by its logarithm but 0 and 1.
    is_counted = field.is_number and field.low >= 0.0 and field.bounds[1] >= LOG2_FROM
    if text == LOG2 and is_counted:  # 0 below 1, and then 1 for 1, 2 for 2 to 3, 3 for 4 to 7, and so on

        def words(group: int) -> str:
            low, high = 2 ** (group - 1) if group else 0, 2**group - 1
            return f"{low}" if low == high else f"{low} to {high}"

        return Grouping(full, text, read, lambda value: int(value).bit_length(), words)
    is_binned = field.is_number and _is_bounded(field)
    found = _BINS.fullmatch(text)
    if found is not None and is_binned and (bins := int(found[1])) <= BINS_MAX:
        low, width = field.bounds[0], (field.bounds[1] - field.bounds[0]) / bins
        return Grouping(
            full,
            text,
            read,
            lambda value: min(bins - 1, max(0, int((value - low) / width))) if width else 0,
            lambda group: f"{low + group * width:.4g} to {low + (group + 1) * width:.4g}",
        )
    bins_said = f"1 to {BINS_MAX} bins, such as `{DEFAULT_BINS} bins`"
    ways = [EXACT, *([LOG2] if is_counted else []), *([bins_said] if is_binned else [])]
    raise ExpressionError(text, 1, f"{full} is grouped by {' or '.join(ways)}, got {text!r}")


def default_groupings(names: Iterable[str], known: Mapping[str, tuple[Field, Reader]]) -> list[Grouping]:
    """Return the groups of these fields as their kinds suggest: bins of a range, `log2` of a count, all else exact.

    Texts of several words, such as interests, have no groups and are left out.
    """
    chosen = []
    for name in names:
        field, _ = known[name]
        if field.kind == "texts":
            continue
        if not field.is_number:
            text = EXACT
        else:
            text = f"{DEFAULT_BINS} bins" if _is_bounded(field) else LOG2 if field.low >= 0.0 else EXACT
        chosen.append(grouping(name, text, known))
    return chosen


class Archetypes:
    """The archetypes of questions by declared fields."""

    def __init__(self, groupings: Sequence[Grouping], known: Mapping[str, tuple[Field, Reader]]) -> None:
        self.groupings = tuple(groupings)
        self._known = {name: read for name, (field, read) in sorted(known.items()) if field.kind != "texts"}

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self._known)

    def values(self, agent: Any, context: Any) -> tuple[Value, ...]:
        """Return the value of each of `names`, for a question of this agent."""
        return tuple(_read(name, read, agent, context) for name, read in self._known.items())

    def key(self, agent: Any, context: Any) -> tuple[Value, ...]:
        """Return the group of each field of the key, for a question of this agent."""
        values = (_read(each.name, each.read, agent, context) for each in self.groupings)
        return tuple(
            NOTHING if value == NOTHING else each.group(value)
            for each, value in zip(self.groupings, values, strict=True)
        )

    def words(self, key: Sequence[Value]) -> str:
        """Return a key in words: `post.topic_match: 0.5 to 0.75, post.followed: yes`."""
        return ", ".join(
            f"{each.name}: {'none' if group == NOTHING else each.words(group)}"
            for each, group in zip(self.groupings, key, strict=True)
        )


def _read(name: str, read: Reader, agent: Any, context: Any) -> Value:
    if context is None and not name.startswith("agent."):
        return NOTHING
    value: Value = read(agent, context)
    return value


def _is_bounded(field: Field) -> bool:
    return math.isfinite(field.low) and math.isfinite(field.high) and field.high - field.low <= BINS_MAX
