"""The table of archetypes: who is asked for all, who shares, who is audited, and which archetypes are split.

It sees every question once, in the order of questions, and every judgement. A judgement of tick t counts from tick
t + k + 1 on, for k ticks of deliberation: by then the clock has waited for it. So what becomes of a question follows
from the questions, the answers and the settings alone, in every schedule and after every resume.

    first question of an archetype -> asked for all (owner)
    every other -> draws from what its archetype shares, once that is known
    a few of those, by a draw -> asked by themselves as well (audited)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum, unique
from typing import Any, NamedTuple

from prism.agents import Question
from prism.rng import Draw, uniform
from prism.sharing.archetype import Archetypes, Value
from prism.sharing.records import Judged, Name
from prism.sharing.splits import Split, find_split

Key = tuple[Value, ...]
"""The state, trigger and options of a question, and the group of each field."""


@unique
class Role(StrEnum):
    """The part of a question in its archetype."""

    OWNER = "owner"
    SHARED = "shared"
    AUDITED = "audited"


class Basis:
    """A distribution that questions share, or will share once the question asked for all has its answer.

    Args:
        leaf: the archetype.
        owner: the name of the question that is asked for all; None if the distribution is known already.
    """

    __slots__ = ("leaf", "owner", "probabilities")

    def __init__(self, leaf: _Leaf, owner: Name | None, probabilities: tuple[float, ...] = ()) -> None:
        self.leaf = leaf
        self.owner = owner
        self.probabilities = probabilities


class Place(NamedTuple):
    """The place of a question among those like it.

    Args:
        key: its archetype, before any split.
        values: of its fields, by which its archetype may be split.
    """

    role: Role
    basis: Basis
    key: Key
    values: tuple[Value, ...]


class SharingTable:
    """The archetypes of a run.

    Args:
        archetypes: groups questions.
        key: returns what questions have in common that share, such as their prompt; by default what `archetypes` says.
        seed: the run's seed, for the draws of audits.
        audit: the share of shared questions that are audited; 0 to 1.
        horizon: ticks after which an archetype is asked again; None for never.
        tolerance: the divergence in bits above which an archetype is split, if its audits are sure of it.
        deliberation: ticks from a question to its decision.
    """

    def __init__(  # noqa: PLR0913  # each setting once
        self,
        archetypes: Archetypes,
        *,
        key: Callable[[Any, Question[Any]], Key] | None = None,
        seed: int,
        audit: float,
        horizon: int | None,
        tolerance: float,
        deliberation: int,
    ) -> None:
        self.archetypes = archetypes
        self.splits = 0
        """Archetypes that were split so far."""
        self._key = key or self._archetype
        self._seed = seed
        self._audit = audit
        self._horizon = math.inf if horizon is None else horizon
        self._tolerance = tolerance
        self._deliberation = deliberation
        self._tick = -1
        """The latest tick of a question."""
        self._roots: dict[Key, _Leaf] = {}
        self._judged: dict[int, list[Judged]] = {}
        """`{tick: judgements of its questions}`, until they count."""
        self._recorded: dict[Name, Judged] = {}
        """The judgements of earlier processes."""
        self._owners_before: dict[int, list[Judged]] = {}
        """`{tick: judgements for all}` of ticks that this process does not run again, until that tick."""

    def load(self, recorded: Iterable[Judged], begin: int) -> None:
        """Take the judgements of earlier processes. Called before `place`.

        Args:
            begin: the first tick that this process runs: only judgements of earlier ones are of questions that it
                may not see again.
        """
        for judged in recorded:
            self._recorded[judged.name] = judged
            self._judged.setdefault(judged.asked, []).append(judged)
            if not judged.is_audit and judged.asked < begin:
                self._owners_before.setdefault(judged.asked, []).append(judged)

    def recorded(self, name: Name) -> Judged | None:
        """Return the judgement that an earlier process has for a question; None if it has none."""
        return self._recorded.get(name)

    def place(self, agent: Any, question: Question[Any]) -> Place:
        """Return the place of the next question. It is called once for each, in the order of questions."""
        self._advance(question.tick)
        key = self._key(agent, question)
        values = self.archetypes.values(agent, question.context)
        leaf = self._root(key).leaf(values)
        name = question.agent, question.tick, question.trigger
        basis = leaf.basis
        if basis is None or question.tick - leaf.begun >= self._horizon:
            return Place(Role.OWNER, leaf.own(name), key, values)
        if basis.owner == name:
            return Place(Role.OWNER, basis, key, values)
        drawn = uniform(self._seed, question.agent, question.tick, Draw.AUDIT)
        return Place(Role.AUDITED if drawn < self._audit else Role.SHARED, basis, key, values)

    def judged(self, judged: Judged) -> None:
        """Take a judgement that no earlier process has recorded."""
        self._judged.setdefault(judged.asked, []).append(judged)

    def promote(self, basis: Basis, follower: Name | None) -> None:
        """Ask another question for all, because the one before got no answer; None if there is no other."""
        leaf = basis.leaf
        if follower is not None:
            basis.owner = follower
            if leaf.basis is basis:
                leaf.begun = follower[1]
        elif leaf.basis is basis:
            leaf.basis = None

    @property
    def leaves(self) -> int:
        """The number of archetypes."""
        return sum(root.count() for root in self._roots.values())

    def _archetype(self, agent: Any, question: Question[Any]) -> Key:
        of_fields = self.archetypes.key(agent, question.context)
        return question.state, question.trigger, *question.options, *of_fields

    def _root(self, key: Key) -> _Leaf:
        found = self._roots.get(key)
        if found is None:
            found = self._roots[key] = _Leaf(words_of(self.archetypes, key))
        return found

    def _advance(self, tick: int) -> None:
        """Let the judgements count that the clock has waited for by the beginning of a tick."""
        while self._tick < tick:
            self._tick += 1
            self._count(self._tick - self._deliberation - 1)
            for judged in self._owners_before.pop(self._tick, ()):
                leaf = self._root(judged.key).leaf(judged.values)
                leaf.own(judged.name).probabilities = judged.probabilities

    def _count(self, tick: int) -> None:
        """Let the judgements of a tick count, and split the archetypes that they show to be several."""
        changed: dict[int, _Leaf] = {}
        for judged in sorted(self._judged.pop(tick, ()), key=_name):
            leaf = self._root(judged.key).leaf(judged.values)
            if leaf.add(judged):
                changed[id(leaf)] = leaf
        for leaf in changed.values():
            self.splits += self._split(leaf)

    def _split(self, leaf: _Leaf) -> int:
        """Split an archetype and its parts as long as their audits ask for it; return the number of splits."""
        split = find_split(leaf.records, self.archetypes.names, self._tolerance)
        if split is None:
            leaf.settle()
            return 0
        parts = leaf.divide(split)
        return 1 + sum(self._split(part) for part in parts)


def words_of(archetypes: Archetypes, key: Key) -> str:
    """Return an archetype in words: `decides in evaluating, post.followed: True`."""
    fields = archetypes.words(key[len(key) - len(archetypes.groupings) :])
    return f"{key[1]} in {key[0]}{', ' if fields else ''}{fields}"


def _name(judged: Judged) -> tuple[int, str]:
    return judged.agent, judged.trigger


class _Leaf:
    """An archetype, or a part of one that was split.

    Args:
        words: its key.
    """

    __slots__ = ("_parts", "_split", "basis", "begun", "records", "words")

    def __init__(self, words: str) -> None:
        self.words = words
        self.basis: Basis | None = None
        """The distribution that its questions share now; None before the first of them."""
        self.begun = 0
        """The tick of the question that was asked for all."""
        self.records: list[Judged] = []
        """The judgements that count."""
        self._split: Split | None = None
        self._parts: tuple[_Leaf, _Leaf] | None = None

    def leaf(self, values: Sequence[Value]) -> _Leaf:
        """Return the part to which a question with these values belongs."""
        found = self
        while found._split is not None and found._parts is not None:
            found = found._parts[found._split.side(values)]
        return found

    def count(self) -> int:
        """Return the number of its parts; 1 if it was never split."""
        return 1 if self._parts is None else sum(part.count() for part in self._parts)

    def own(self, name: Name) -> Basis:
        """Begin with a question that is asked for all."""
        self.begun, self.records = name[1], []
        self.basis = Basis(self, name)
        return self.basis

    def add(self, judged: Judged) -> bool:
        """Let a judgement count; return False for one from before the latest question that was asked for all."""
        if judged.asked < self.begun:
            return False
        self.records.append(judged)
        return True

    def settle(self) -> None:
        """Share the mean of all judgements that count, if there is one."""
        if self.records:
            self.basis = Basis(self, None, mean_of(self.records))

    def divide(self, split: Split) -> tuple[_Leaf, _Leaf]:
        """Split it in two, and give each part its judgements; return the parts."""
        self._split = split
        parts = _Leaf(f"{self.words}, {split.words(0)}"), _Leaf(f"{self.words}, {split.words(1)}")
        self._parts = parts
        for part in parts:
            part.begun = self.begun
        for judged in self.records:
            parts[split.side(judged.values)].records.append(judged)
        self.records, self.basis = [], None
        return parts


def mean_of(records: Sequence[Judged]) -> tuple[float, ...]:
    """Return the mean of the distributions, the same in any order."""
    count = len(records)
    return tuple(math.fsum(shares) / count for shares in zip(*(each.probabilities for each in records), strict=True))
