"""The table of archetypes: who is asked for all, who shares, who is audited, and which archetypes are split.

It sees every question once, in the order of questions, and every judgement. A judgement of tick t counts from tick
t + k + 1 on, for k ticks of deliberation: by then the clock has waited for it. So what becomes of a question follows
from the questions, the answers and the settings alone, in every schedule and after every resume.

    first question of an archetype -> asked for all (owner)
    every other -> draws from what its archetype shares, once that is known, or from the surrogate where that is nearer
    a few of those, by a draw -> asked by themselves as well (audited)

With a budget, archetypes are asked until a part of it is spent. From then on audits make them, and a question without
an archetype shares the mean of all with its state, trigger and options.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum, unique
from typing import Any, Final, NamedTuple

from prism.agents import Question
from prism.rng import Draw, uniform
from prism.sharing.archetype import Archetypes
from prism.sharing.audit import divergence_from
from prism.sharing.budget import WINDOW, Budget
from prism.sharing.fields import Fields, Value
from prism.sharing.records import Judged, Name
from prism.sharing.splits import SURE, Split, find_split
from prism.sharing.surrogate import Surrogate, fit_surrogate, held_out

Key = tuple[Value, ...]
"""The state, trigger and options of a question, and the group of each field."""

KEPT: Final = 1000
"""The most judgements of an archetype that it shares the mean of: the latest."""
FITTED: Final = 4000
"""The most judgements that a surrogate is fitted to: the latest."""
GROWTH: Final = 1.25
"""The growth of the judgements after which an archetype is looked at, and a surrogate is fitted, again."""
GROWTH_OF_FEW: Final = 1.1
"""The same for a surrogate of few judgements, to which each one more matters."""
FEWEST_TO_FIT: Final = 30
FEWEST_TO_TRUST: Final = 10
"""The fewest audits that a surrogate was compared on before it is used."""
COMPARED: Final = 200
"""The latest audits on which a surrogate is compared with archetypes."""
VALIDATED: Final = 1000
"""The most judgements of a cross-validation: the latest."""


@unique
class Role(StrEnum):
    """The part of a question in its archetype."""

    OWNER = "owner"
    SHARED = "shared"
    MODELLED = "modelled"
    AUDITED = "audited"


class Rules(NamedTuple):
    """The settings of a run that shares.

    Args:
        seed: the run's seed, for the draws of audits.
        audit: the share of shared questions that are audited; 0 to 1.
        horizon: ticks after which an archetype is asked again; infinite for never.
        tolerance: the divergence in bits above which an archetype is split, if its audits are sure of it, and up to
            which a surrogate decides for archetypes without a judgement.
        deliberation: ticks from a question to its decision.
        surrogate: whether a surrogate is fitted.
    """

    seed: int
    audit: float
    horizon: float
    tolerance: float
    deliberation: int
    surrogate: bool = False


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
        chance: the probability with which it is audited.
    """

    role: Role
    basis: Basis
    key: Key
    values: tuple[Value, ...]
    chance: float = 1.0


class SharingTable:
    """The archetypes of a run.

    Args:
        archetypes: groups questions.
        rules: the settings.
        key: returns what questions have in common that share, such as their prompt; by default what `archetypes` says.
        budget: of calls; None for no budget.
    """

    def __init__(
        self,
        archetypes: Archetypes,
        rules: Rules,
        *,
        key: Callable[[Any, Question[Any]], Key] | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.archetypes = archetypes
        self.splits = 0
        """Archetypes that were split so far."""
        self.questions: Counter[int] = Counter()
        """`{tick: its questions}` of the latest ticks."""
        self._rules = rules
        self._key = key or self._archetype
        self._budget = budget
        self._tick = -1
        """The latest tick of a question."""
        self._owners_before_tick = self._owners_in_tick = 0
        """Questions asked for all, in earlier ticks and in this one."""
        self._roots: dict[Key, _Leaf] = {}
        self._groups: dict[Key, _Group] = {}
        """`{(state, trigger, *options): what its questions have in common}`."""
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
        self.questions[question.tick] += 1
        key, values = self._key(agent, question), self.archetypes.values(agent, question.context)
        group = self._group(key, len(question.options))
        leaf = self._root(key).leaf(values)
        if leaf.basis is not None and question.tick - leaf.begun >= self._rules.horizon:
            leaf.forget()
        if group.surrogate is not None and self._is_modelled(leaf, group):
            basis, role = Basis(leaf, None, group.surrogate.predict(values)), Role.MODELLED
        else:
            leaf, role = self._owned(leaf, group), Role.SHARED
            name = question.agent, question.tick, question.trigger
            basis = leaf.basis or self._own(leaf, name)
            if basis.owner == name:
                return Place(Role.OWNER, basis, key, values)
        chance = self._rules.audit if self._budget is None else self._budget.chance(key)
        is_audit = uniform(self._rules.seed, question.agent, question.tick, Draw.AUDIT) < chance
        return Place(Role.AUDITED if is_audit else role, basis, key, values, chance)

    def _is_modelled(self, leaf: _Leaf, group: _Group) -> bool:
        """Return whether the surrogate decides in place of an archetype."""
        if not leaf.is_new:
            return group.decides_known
        return group.decides_new or (self._leaves_unasked and group.decides_unasked)

    @property
    def _leaves_unasked(self) -> bool:
        """True if the budget leaves it to audits to make archetypes."""
        return self._budget is not None and self._owners_before_tick >= self._budget.owners

    def _owned(self, leaf: _Leaf, group: _Group) -> _Leaf:
        """Return the archetype that is asked: itself, unless the budget leaves that to audits."""
        return group.whole if leaf.is_new and self._leaves_unasked else leaf

    def _own(self, leaf: _Leaf, name: Name) -> Basis:
        self._owners_in_tick += 1
        return leaf.own(name)

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
            leaf.basis, leaf.is_new = None, False

    @property
    def surrogates(self) -> list[Surrogate]:
        """The surrogates that are fitted."""
        return [group.surrogate for _, group in sorted(self._groups.items(), key=_text) if group.surrogate is not None]

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

    def _group(self, key: Key, options: int) -> _Group:
        common = key[: 2 + options]
        found = self._groups.get(common)
        if found is None:
            found = self._groups[common] = _Group([str(option) for option in common[2:]], fits=self._rules.surrogate)
        return found

    def _advance(self, tick: int) -> None:
        """Let the judgements count that the clock has waited for by the beginning of a tick."""
        while self._tick < tick:
            self._tick += 1
            self._owners_before_tick, self._owners_in_tick = self._owners_before_tick + self._owners_in_tick, 0
            self._count(self._tick - self._rules.deliberation - 1)
            if self._budget is not None:
                self._budget.begin(self._tick, self.questions)
            self.questions.pop(self._tick - WINDOW, None)
            for judged in self._owners_before.pop(self._tick, ()):
                group = self._group(judged.key, len(judged.probabilities))
                leaf = self._owned(self._root(judged.key).leaf(judged.values), group)
                self._own(leaf, judged.name).probabilities = judged.probabilities

    def _count(self, tick: int) -> None:
        """Let the judgements of a tick count, and split the archetypes that they show to be several."""
        counted = sorted(self._judged.pop(tick, ()), key=_name)
        if self._budget is not None:
            self._budget.count(counted, _bits(counted))
        changed: dict[int, _Leaf] = {}
        touched: dict[int, _Group] = {}
        for judged in counted:
            group = self._group(judged.key, len(judged.probabilities))
            leaf = self._root(judged.key).leaf(judged.values)
            group.compare(judged, leaf)
            group.add(judged)
            touched[id(group)] = group
            if leaf.add(judged, self._rules.horizon):
                changed[id(leaf)] = leaf
        for leaf in changed.values():
            self.splits += self._split(leaf)
        for group in touched.values():
            if self._budget is not None:
                group.whole.settle()
            group.fit(self.archetypes.fields, self._rules.tolerance)

    def _split(self, leaf: _Leaf) -> int:
        """Split an archetype and its parts as long as their audits ask for it; return the number of splits."""
        split = None
        if len(leaf.records) >= leaf.look_at:
            leaf.look_at = math.ceil(GROWTH * len(leaf.records))
            split = find_split(leaf.records, self.archetypes.fields, self._rules.tolerance)
        if split is None:
            leaf.settle()
            return 0
        parts = leaf.divide(split)
        return 1 + sum(self._split(part) for part in parts)


def words_of(archetypes: Archetypes, key: Key) -> str:
    """Return an archetype in words: `decides in evaluating, post.followed: True`."""
    fields = archetypes.words(key[len(key) - len(archetypes.groupings) :])
    return f"{key[1]} in {key[0]}{', ' if fields else ''}{fields}"


def _bits(judged: Sequence[Judged]) -> list[float]:
    """Return the divergence of each audit."""
    return [divergence_from(each, each.shared) for each in judged if each.is_audit]


def _text(item: tuple[Key, object]) -> str:
    return str(item[0])


def _name(judged: Judged) -> tuple[int, str]:
    return judged.agent, judged.trigger


class _Leaf:
    """An archetype, or a part of one that was split.

    Args:
        words: its key.
    """

    __slots__ = ("_parts", "_split", "basis", "begun", "is_new", "look_at", "records", "words")

    def __init__(self, words: str) -> None:
        self.words = words
        self.is_new = True
        """False once a question has been asked for all: if it gets no answer, the next one is asked for all."""
        self.look_at = 0
        """The number of judgements from which a split is looked for again."""
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
        self.begun, self.records, self.look_at, self.is_new = name[1], [], 0, False
        self.basis = Basis(self, name)
        return self.basis

    def forget(self) -> None:
        """Forget its judgements, which are too old."""
        self.records, self.look_at, self.basis, self.is_new = [], 0, None, True

    def add(self, judged: Judged, horizon: float) -> bool:
        """Let a judgement count; return False for one from before the latest question that was asked for all.

        One that is `horizon` ticks younger than the others stands alone: those were forgotten when it was asked.
        """
        if judged.asked < self.begun:
            return False
        if judged.asked - self.begun >= horizon:
            self.forget()
            self.begun = judged.asked
        self.records.append(judged)
        if len(self.records) > KEPT:
            del self.records[0]
        return True

    def settle(self) -> None:
        """Share the mean of all judgements that count, if there is one."""
        if self.records:
            self.basis, self.is_new = Basis(self, None, mean_of(self.records)), False

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


class _Group:
    """The questions of one state and trigger with the same options.

    Args:
        options: the options.
        fits: whether a surrogate is fitted.
    """

    def __init__(self, options: Sequence[str], *, fits: bool) -> None:
        self.options = tuple(options)
        self._fits = fits
        self.whole = _Leaf("all")
        """All of them as one archetype, for a run with a budget."""
        self.surrogate: Surrogate | None = None
        self._records: deque[Judged] = deque(maxlen=FITTED)
        self._number = 0
        self._fit_at = FEWEST_TO_FIT
        self._audits: deque[_Compared] = deque(maxlen=COMPARED)
        self.decides_new = self.decides_known = self.decides_unasked = False
        """True if the surrogate decides for archetypes without a judgement, for those with one, and for those that the
        budget leaves without one."""

    def add(self, judged: Judged) -> None:
        """Let a judgement count."""
        self._records.append(judged)
        self._number += 1
        self.whole.add(judged, math.inf)

    def compare(self, judged: Judged, leaf: _Leaf) -> None:
        """Compare the surrogate, the archetype and the mean of all on an audit that none of them knows yet."""
        if not (self._fits and judged.is_audit):
            return
        surrogate = None if self.surrogate is None else divergence_from(judged, self.surrogate.predict(judged.values))
        self._audits.append(_Compared(judged, surrogate, _bits_of(judged, leaf), _bits_of(judged, self.whole)))

    def fit(self, fields: Fields, tolerance: float) -> None:
        """Fit the surrogate again if there are enough new judgements, and see whether audits trust it.

        A new one is compared on the latest audits, which it is fitted to, by cross-validation.

        Args:
            tolerance: bits that it may be away, for an archetype without a judgement.
        """
        if not self._fits:
            return
        if self._number >= self._fit_at:
            self._fit_at = math.ceil((GROWTH if self._number >= COMPARED else GROWTH_OF_FEW) * self._number)
            records = list(self._records)
            self._cross_validate(records[-VALIDATED:], fields)
            self.surrogate = fit_surrogate(records, fields, self.options)
        compared = [each for each in self._audits if each.surrogate is not None]
        self.decides_known = _is_nearer([(each.surrogate, each.archetype) for each in compared])
        self.decides_unasked = _is_nearer([(each.surrogate, each.whole) for each in compared])
        own = [each.surrogate for each in compared if each.surrogate is not None]
        self.decides_new = len(own) >= FEWEST_TO_TRUST and _limit(own) <= tolerance

    def _cross_validate(self, records: Sequence[Judged], fields: Fields) -> None:
        said = {each.name: held for each, held in zip(records, held_out(records, fields, self.options), strict=True)}
        for place, each in enumerate(self._audits):
            if (held := said.get(each.judged.name)) is not None:
                self._audits[place] = each._replace(surrogate=divergence_from(each.judged, held))


class _Compared(NamedTuple):
    """An audit, and the divergence in bits of what was said of it without knowing it; None where nothing was."""

    judged: Judged
    surrogate: float | None
    archetype: float | None
    whole: float | None


def _bits_of(judged: Judged, leaf: _Leaf) -> float | None:
    shared = () if leaf.basis is None else leaf.basis.probabilities
    return divergence_from(judged, shared) if shared else None


def _is_nearer(pairs: Sequence[tuple[float | None, float | None]]) -> bool:
    """Return whether the first of each pair is less in the mean, where both are known."""
    differences = [one - other for one, other in pairs if one is not None and other is not None]
    return len(differences) >= FEWEST_TO_TRUST and math.fsum(differences) < 0.0


def _limit(values: Sequence[float]) -> float:
    """Return the value below which the mean surely is."""
    count, mean = len(values), math.fsum(values) / len(values)
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1) / count)
    return mean + SURE * error


def mean_of(records: Sequence[Judged]) -> tuple[float, ...]:
    """Return the mean of the distributions, the same in any order."""
    count = len(records)
    return tuple(math.fsum(shares) / count for shares in zip(*(each.probabilities for each in records), strict=True))
