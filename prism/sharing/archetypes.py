"""Archetypes: the groups of questions that may share a judgement, and which of them are asked, share or are audited.

An archetype is a pure function of the question: its state, trigger and options, and the group of each field's value.
A field's values are grouped as declared: `exact`, `4 bins` of equal width over its range, or `log2` of a count.

    first question of an archetype -> asked for all (owner)
    every other -> draws from what its archetype shares, once that is known
    a few of those, by a draw -> asked by themselves as well (audited)

A judgement of tick t counts from tick t + k + 1 on, for k ticks of deliberation: by then the clock has waited for it.
So the role of a question follows from the questions, the answers and the settings alone, in every schedule and after
every resume. Then the questions of earlier ticks do not come again, but for those that still wait, so the table of
archetypes is rebuilt from the judgements.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum, unique
from functools import cached_property
from typing import Any, Final, NamedTuple

import msgspec

from prism.agents import Question
from prism.config import Config
from prism.domain import Domain, QuestionFields, said_by
from prism.errors import ConfigError, ExpressionError, together
from prism.expectations import guess
from prism.expressions import Field
from prism.rng import Draw, uniform
from prism.statechart import Oracle
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
        if field.kind != "texts":
            of_number = f"{DEFAULT_BINS} bins" if _is_bounded(field) else LOG2 if field.low >= 0.0 else EXACT
            chosen.append(grouping(name, of_number if field.is_number else EXACT, known))
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


Key = tuple[Value, ...]  # the state, trigger and options of a question, and the group of each field

KEPT: Final = 1000  # the most judgements in the mean that an archetype shares: the latest ones


@unique
class Role(StrEnum):
    """The part of a question in its archetype."""

    OWNER = "owner"
    SHARED = "shared"
    AUDITED = "audited"


class Basis:
    """A distribution that questions share, or will share once the question asked for all has its answer."""

    __slots__ = ("key", "owner", "probabilities")

    def __init__(self, key: Key, owner: Name | None, probabilities: tuple[float, ...] = ()) -> None:
        self.key, self.owner, self.probabilities = key, owner, probabilities


class Place(NamedTuple):
    role: Role
    basis: Basis
    values: tuple[Value, ...]  # of its fields


class SharingTable:
    """The archetypes of a run.

    Args:
        seed: of the run, for the draws of audits.
        audit: the share of shared questions that are audited; 0 to 1.
        deliberation: ticks from a question to its decision.
    """

    def __init__(self, archetypes: Archetypes, seed: int, audit: float, deliberation: int) -> None:
        self.archetypes, self.audit = archetypes, audit
        self._seed, self._deliberation = seed, deliberation
        self._tick = -1  # the latest tick of a question
        self._bases: dict[Key, Basis] = {}  # `{archetype: what its questions share now}`
        self._counted: dict[Key, deque[tuple[float, ...]]] = {}  # `{archetype: its judgements that count}`
        self._judged: dict[int, list[Judged]] = {}  # `{tick: judgements of its questions}`, until they count
        self._recorded: dict[Name, Judged] = {}  # the judgements of earlier processes
        self._earlier: dict[int, list[Judged]] = {}
        """`{tick: judgements for all}` of ticks that this process does not run again, until that tick."""
        self._known = set[Key]()  # the archetypes with a judgement

    def load(self, recorded: Iterable[Judged], begin: int) -> None:
        """Take the judgements of earlier processes. Called before `place`.

        Args:
            begin: the first tick that this process runs: only judgements of earlier ones are of questions that it
                may not see again.
        """
        for judged in recorded:
            self._recorded[judged.name] = judged
            self.judged(judged)
            if not judged.is_audit and judged.asked < begin:
                self._earlier.setdefault(judged.asked, []).append(judged)

    def recorded(self, name: Name) -> Judged | None:
        """Return the judgement that an earlier process has for a question; None without a judgement."""
        return self._recorded.get(name)

    def place(self, agent: Any, question: Question[Any]) -> Place:
        """Return the place of the next question. It is called once for each, in the order of questions."""
        key = question.state, question.trigger, *question.options, *self.archetypes.key(agent, question.context)
        values = self.archetypes.values(agent, question.context)
        # Go on to its tick: count the judgements whose deliberation has ended, and repeat earlier questions for all.
        while self._tick < question.tick:
            self._tick += 1
            self._count(self._tick - self._deliberation - 1)
            for judged in self._earlier.pop(self._tick, ()):
                self._bases[judged.key] = Basis(judged.key, judged.name, judged.probabilities)
        name = question.agent, question.tick, question.trigger
        basis = self._bases.get(key)
        if basis is None:
            basis = self._bases[key] = Basis(key, name)
        if basis.owner == name:  # after a resume it may have its judgement already
            return Place(Role.OWNER, basis, values)
        is_audit = uniform(self._seed, question.agent, question.tick, Draw.AUDIT) < self.audit
        return Place(Role.AUDITED if is_audit else Role.SHARED, basis, values)

    def judged(self, judged: Judged) -> None:
        """Take a judgement, which counts once the deliberation of its question has ended."""
        self._judged.setdefault(judged.asked, []).append(judged)
        self._known.add(judged.key)

    def promote(self, basis: Basis, follower: Name | None) -> None:
        """Ask another question for all, because the one before got no answer; None if there is no other."""
        if follower is not None:
            basis.owner = follower
        elif self._bases.get(basis.key) is basis:
            del self._bases[basis.key]

    @property
    def known(self) -> int:
        return len(self._known)

    def _count(self, tick: int) -> None:
        """Count the judgements of a tick: their archetypes share the mean of all that count."""
        changed: dict[Key, deque[tuple[float, ...]]] = {}
        for judged in sorted(self._judged.pop(tick, ()), key=lambda each: (each.agent, each.trigger)):
            self._recorded.pop(judged.name, None)  # its question has been decided, and does not come again
            counted = changed[judged.key] = self._counted.setdefault(judged.key, deque(maxlen=KEPT))
            counted.append(judged.probabilities)
        for key, counted in changed.items():
            means = (math.fsum(shares) / len(counted) for shares in zip(*counted, strict=True))  # the same in any order
            self._bases[key] = Basis(key, None, tuple(means))


def words_of(archetypes: Archetypes, key: Key) -> str:
    """Return an archetype in words: `decides in evaluating, post.followed: yes`."""
    fields = archetypes.words(key[len(key) - len(archetypes.groupings) :])
    return f"{key[1]} in {key[0]}{', ' if fields else ''}{fields}"


def fields_of(config: Config, domain: Domain) -> QuestionFields:
    if (fields := said_by(domain).fields) is not None:
        return fields
    problem = (
        f"questions of the domain {config.simulation.domain} have no fields by which they are alike: expected none, "
        f"got {config.oracle.sharing.by}"
    )
    raise ConfigError("configuration", problem, key="oracle.sharing.by")


def archetypes_of(config: Config, fields: QuestionFields) -> Archetypes:
    """Return the archetypes of a run."""
    known = fields.question_fields()
    if not config.oracle.sharing.archetype:
        return Archetypes(default_groupings(fields.default_fields(), known), known)
    return Archetypes(declared_groupings(config.oracle.sharing.archetype, known), known)


def declared_groupings(declared: Mapping[str, str], known: Mapping[str, tuple[Field, Reader]]) -> list[Grouping]:
    """Return the groups of the fields that a configuration declares."""
    found: dict[str, tuple[str, Grouping]] = {}
    wrong: list[ConfigError] = []
    for name, text in declared.items():
        problem = ""
        try:
            each = grouping(name, text, known)
        except ExpressionError as error:
            problem = error.problem
        else:
            if each.name in found:
                was = found[each.name][0]
                problem = f"the field has groups already, as {was}: expected one entry for each field"
            found.setdefault(each.name, (name, each))
        wrong += [ConfigError("configuration", problem, key=f"oracle.sharing.archetype.{name}")] if problem else []
    if wrong:
        raise together(wrong)
    return [each for _, each in found.values()]


def sharing_table(config: Config, domain: Domain, oracle: Oracle[Any]) -> SharingTable | None:
    """Return the table of archetypes of a run; None if its questions share nothing."""
    settings = config.oracle.sharing
    if settings.by == "none" or not config.statechart.oracle_enabled:
        return None
    archetypes = archetypes_of(config, fields_of(config, domain))
    if not oracle.judges:
        problem = f"the oracle gives no probabilities that could be shared: expected none, got {settings.by}"
        raise ConfigError("configuration", problem, key="oracle.sharing.by")
    return SharingTable(archetypes, config.simulation.seed, settings.audit, config.deliberation_ticks)


def calls_a_judgement(config: Config) -> int:
    """Return the most calls that a judgement takes: only a server's answers show whether it has probabilities."""
    oracle, llm = config.oracle, config.llm
    if oracle.backend == "choice":
        return 1
    return 1 if llm.method == "probabilities" or llm.temperature == 0.0 else oracle.sharing.samples
