"""The table of archetypes: who is asked for all, who shares and who is audited.

It sees every question once, in the order of questions, and every judgement. A judgement of tick t counts from tick
t + k + 1 on, for k ticks of deliberation: by then the clock has waited for it. So the role of a question follows from
the questions, the answers and the settings alone, in every schedule and after every resume.

    first question of an archetype -> asked for all (owner)
    every other -> draws from what its archetype shares, once that is known
    a few of those, by a draw -> asked by themselves as well (audited)

After a resume the questions of earlier ticks do not come again, but for those that still wait. So the table is rebuilt
from the judgements.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum, unique
from typing import Any, Final, NamedTuple

from prism.agents import Question
from prism.config import Config
from prism.domain import Domain, QuestionFields, said_by
from prism.errors import ConfigError, ExpressionError, together
from prism.expressions import Field
from prism.rng import Draw, uniform
from prism.sharing.archetype import Archetypes, Grouping, Judged, Name, Value, default_groupings, grouping
from prism.statechart import Oracle
from prism.statechart.behaviour import Reader

Key = tuple[Value, ...]  # the state, trigger and options of a question, and the group of each field

KEPT: Final = 1000  # the most judgements in the mean that an archetype shares: the latest ones


@unique
class Role(StrEnum):
    """The part of a question in its archetype."""

    OWNER = "owner"
    SHARED = "shared"
    AUDITED = "audited"


class Rules(NamedTuple):
    seed: int  # the run's seed, for the draws of audits
    audit: float  # the share of shared questions that are audited; 0 to 1
    deliberation: int  # ticks from a question to its decision


class Basis:
    """A distribution that questions share, or will share once the question asked for all has its answer."""

    __slots__ = ("key", "owner", "probabilities")

    def __init__(self, key: Key, owner: Name | None, probabilities: tuple[float, ...] = ()) -> None:
        self.key = key
        self.owner = owner
        self.probabilities = probabilities


class Place(NamedTuple):
    role: Role
    basis: Basis
    values: tuple[Value, ...]  # of its fields


class SharingTable:
    """The archetypes of a run."""

    def __init__(self, archetypes: Archetypes, rules: Rules) -> None:
        self.archetypes = archetypes
        self.rules = rules
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
        of_fields = self.archetypes.key(agent, question.context)
        found = question.state, question.trigger, *question.options, *of_fields
        key, values = found, self.archetypes.values(agent, question.context)
        # Go on to a tick: count the judgements whose deliberation has ended, and repeat earlier questions for
        # all.
        tick = question.tick
        while self._tick < tick:
            self._tick += 1
            self._count(self._tick - self.rules.deliberation - 1)
            for judged in self._earlier.pop(self._tick, ()):
                self._bases[judged.key] = Basis(judged.key, judged.name, judged.probabilities)
        name = question.agent, question.tick, question.trigger
        basis = self._bases.get(key)
        if basis is None:
            basis = self._bases[key] = Basis(key, name)
        if basis.owner == name:  # after a resume it may have its judgement already
            return Place(Role.OWNER, basis, values)
        is_audit = uniform(self.rules.seed, question.agent, question.tick, Draw.AUDIT) < self.rules.audit
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
            self._bases[key] = Basis(key, None, mean_of(counted))


def mean_of(distributions: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """Return the mean of distributions, the same in any order."""
    count = len(distributions)
    return tuple(math.fsum(shares) / count for shares in zip(*distributions, strict=True))


def words_of(archetypes: Archetypes, key: Key) -> str:
    """Return an archetype in words: `decides in evaluating, post.followed: yes`."""
    fields = archetypes.words(key[len(key) - len(archetypes.groupings) :])
    return f"{key[1]} in {key[0]}{', ' if fields else ''}{fields}"


def fields_of(config: Config, domain: Domain) -> QuestionFields:
    if (fields := said_by(domain).fields) is not None:
        return fields
    raise ConfigError(
        "configuration",
        f"questions of the domain {config.simulation.domain} have no fields by which they are alike: expected "
        f"none, got {config.oracle.sharing.by}",
        key="oracle.sharing.by",
    )


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
        key = f"oracle.sharing.archetype.{name}"
        try:
            each = grouping(name, text, known)
        except ExpressionError as error:
            wrong.append(ConfigError("configuration", error.problem, key=key))
            continue
        if each.name in found:
            problem = f"the field has groups already, as {found[each.name][0]}: expected one entry for each field"
            wrong.append(ConfigError("configuration", problem, key=key))
        else:
            found[each.name] = name, each
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
        raise ConfigError(
            "configuration",
            f"the oracle gives no probabilities that could be shared: expected none, got {settings.by}",
            key="oracle.sharing.by",
        )
    rules = Rules(seed=config.simulation.seed, audit=settings.audit, deliberation=config.deliberation_ticks)
    return SharingTable(archetypes, rules)


def calls_a_judgement(config: Config) -> int:
    """Return the most calls that a judgement takes: only a server's answers show whether it has probabilities."""
    oracle, llm = config.oracle, config.llm
    if oracle.backend == "choice":
        return 1
    return 1 if llm.method == "probabilities" or llm.temperature == 0.0 else oracle.sharing.samples
