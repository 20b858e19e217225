"""The table of archetypes: who is asked for all, who shares, who is audited, and which archetypes are split.

It sees every question once, in the order of questions, and every judgement. A judgement of tick t counts from tick
t + k + 1 on, for k ticks of deliberation: by then the clock has waited for it. So what becomes of a question follows
from the questions, the answers and the settings alone, in every schedule and after every resume.

    first question of an archetype -> asked for all (owner)
    every other -> draws from what its archetype shares, once that is known, or from the surrogate where that is nearer
    a few of those, by a draw -> asked by themselves as well (audited)

With a budget, archetypes are asked until a part of it is spent. From then on audits make them, and a question without
an archetype shares the mean of all with its state, trigger and options.

After a resume the questions of earlier ticks do not come again, but for those that still wait. So the table as it was
is made from the judgements, the openings that led to none, and the number of questions in the latest ticks.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import StrEnum, unique
from itertools import chain
from typing import Any, Final, NamedTuple

from prism.agents import Question
from prism.rng import Draw, uniform
from prism.sharing.archetype import Archetypes
from prism.sharing.audit import divergence_from
from prism.sharing.budget import WINDOW, Budget
from prism.sharing.fields import Value
from prism.sharing.group import Group
from prism.sharing.leaf import Basis, Leaf
from prism.sharing.records import Judged, Name, Opening
from prism.sharing.splits import find_split

Key = tuple[Value, ...]
"""The state, trigger and options of a question, and the group of each field."""

SPLIT_GROWTH: Final = 1.25
"""The growth of an archetype's judgements after which a split is looked for again."""


@unique
class Role(StrEnum):
    """The part of a question in its archetype."""

    OWNER = "owner"
    SHARED = "shared"
    SURROGATE = "surrogate"
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


class Place(NamedTuple):
    """The place of a question among those like it.

    Args:
        key: its archetype, before any split.
        values: of its fields, by which its archetype may be split.
        chance: the probability with which it is audited.
        is_whole: whether it shares the mean of all questions with its state, trigger and options.
    """

    role: Role
    basis: Basis
    key: Key
    values: tuple[Value, ...]
    chance: float = 1.0
    is_whole: bool = False

    @property
    def opened(self) -> int:
        """The tick of the first question that was asked for the archetype since it was new; -1 for none."""
        is_of_all = self.is_whole and self.role is not Role.OWNER  # of which an audit tells nothing: it has a key
        return -1 if is_of_all or self.basis.opening is None else self.basis.opening.asked


class SharingTable:
    """The archetypes of a run.

    Args:
        archetypes: groups questions.
        rules: the settings.
        key: returns what questions have in common that share, such as their prompt; by default what `archetypes` says.
        budget: of calls or money; None for no budget.
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
        self.lost: dict[Name, Opening] = {}
        """The openings whose question got no judgement, as long as no judgement tells of them."""
        self.forgotten = 0
        """Those of them that have been forgotten with their archetypes. They count towards a budget."""
        self._rules = rules
        self._key = key or self._archetype
        self.budget = budget
        self._tick = -1
        """The latest tick of a question."""
        self._fits: Iterator[None] | None = None
        """The fits of that tick that are left."""
        self._opened = 0
        """Archetypes that a question was asked for, each time that they were new."""
        self._leaves_new = False
        """True while the budget leaves it to audits to make archetypes."""
        self._roots: dict[Key, Leaf] = {}
        self._expiring: dict[int, list[Leaf]] = {}
        """`{tick: archetypes that may be too old then}`, with a horizon."""
        self._groups: dict[Key, Group] = {}
        """`{(state, trigger, *options): what its questions have in common}`."""
        self._judged: dict[int, list[Judged]] = {}
        """`{tick: judgements of its questions}`, until they count."""
        self._recorded: dict[Name, Judged] = {}
        """The judgements of earlier processes."""
        self._earlier: dict[int, list[Judged | Opening]] = {}
        """`{tick: judgements for all, and openings}` of ticks that this process does not run again, until that tick."""
        self._told: dict[int, list[Opening]] = {}
        """`{tick: openings of which a judgement tells}`, likewise."""
        self._ended: dict[int, list[Opening]] = {}
        """`{tick: lost openings that nothing depends on from then on}`."""

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
                self._earlier.setdefault(judged.asked, []).append(judged)
            if judged.opened >= 0 and judged.asked < begin:
                self._told.setdefault(judged.opened, []).append(judged.opening)

    def restore(self, questions: dict[int, int], lost: Iterable[Opening], forgotten: int) -> None:
        """Take what a checkpoint has, besides the judgements. Called before `place`."""
        self.questions = Counter(questions)
        self.forgotten = self._opened = forgotten
        for opening in lost:
            self.lost[opening.name] = opening
            self._earlier.setdefault(opening.asked, []).append(opening)

    def recorded(self, name: Name) -> Judged | None:
        """Return the judgement that an earlier process has for a question; None if it has none."""
        return self._recorded.get(name)

    def place(self, agent: Any, question: Question[Any]) -> Place:
        """Return the place of the next question. It is called once for each, in the order of questions."""
        key, values = self._key(agent, question), self.archetypes.values(agent, question.context)
        self.advance(question.tick)
        self.questions[question.tick] += 1
        group, leaf = self._group(key, len(question.options)), self._leaf(key, values)
        is_new, is_whole = leaf is None or leaf.is_new, False
        name = question.agent, question.tick, question.trigger
        for owned in (leaf, group.whole):  # after a resume it may have its judgement already
            if owned is not None and owned.basis is not None and owned.basis.owner == name:
                return Place(Role.OWNER, owned.basis, key, values, is_whole=owned is group.whole)
        if group.surrogate is not None and self._is_from_surrogate(group, is_new=is_new):
            opened = None if leaf is None else leaf.opening
            basis, role = Basis(None, None, group.surrogate.predict(values), opened), Role.SURROGATE
        else:
            is_whole = is_new and self._leaves_new
            opening = Opening(name, key, values, len(question.options), is_whole)
            basis, role = self._basis(group.whole if is_whole else self._made(key).leaf(values), opening), Role.SHARED
            if basis.owner == name:
                return Place(Role.OWNER, basis, key, values, is_whole=is_whole)
        chance = self._rules.audit if self.budget is None else self.budget.chance(key, self.questions[question.tick])
        is_audit = uniform(self._rules.seed, question.agent, question.tick, Draw.AUDIT) < chance
        return Place(Role.AUDITED if is_audit else role, basis, key, values, chance, is_whole)

    def _is_from_surrogate(self, group: Group, *, is_new: bool) -> bool:
        """Return whether the surrogate decides in place of an archetype."""
        if not is_new:
            return group.decides_known
        return group.decides_new or (self._leaves_new and group.decides_unasked)

    def _basis(self, leaf: Leaf, opening: Opening) -> Basis:
        """Return what an archetype shares; if it has nothing to share, this question is asked for it."""
        if leaf.is_new:
            self._open(leaf, opening)
        return leaf.basis or leaf.ask(opening.name)

    def _open(self, leaf: Leaf, opening: Opening) -> None:
        """Note that a question is asked for a new archetype.

        Only this counts as asked, and not the questions that follow where there is no answer: those are others when
        answers come at other times. And the mean of all does not count, so that all that do are before it in a tick.
        """
        leaf.open(opening)
        if opening.is_whole:
            return
        self._begin(leaf, opening.asked)
        self._opened += 1
        self._limit_asked()

    def _limit_asked(self) -> None:
        """Leave new archetypes to audits while their part of the budget is spent, by what a judgement costs now."""
        self._leaves_new = self.budget is not None and self._opened >= self.budget.owners

    def _begin(self, leaf: Leaf, tick: int) -> None:
        """Let the judgements of an archetype count from a tick on, up to the horizon."""
        if math.isfinite(self._rules.horizon):
            leaf.begun = tick
            self._expire(leaf)

    def _expire(self, leaf: Leaf) -> None:
        """Let an archetype be forgotten when it will be too old."""
        if math.isfinite(self._rules.horizon):
            self._expiring.setdefault(leaf.begun + math.ceil(self._rules.horizon), []).append(leaf)

    def judged(self, judged: Judged, basis: Basis) -> None:
        """Take a judgement that no earlier process has recorded; `basis` is that of its question."""
        self._judged.setdefault(judged.asked, []).append(judged)
        if judged.opened >= 0:
            self._drop(basis.opening)

    def promote(self, basis: Basis, follower: Name | None) -> None:
        """Ask another question for all, because the one before got no answer; None if there is no other."""
        leaf = basis.leaf
        if leaf is None:
            return
        if basis.opening is not None and basis.opening.name == basis.owner:
            self.lost[basis.opening.name] = basis.opening
        if follower is not None:
            basis.owner = follower
        elif leaf.basis is basis:
            leaf.basis = None

    @property
    def leaves(self) -> int:
        """The number of archetypes that were asked for, or audited."""
        return sum(not leaf.is_new for root in self._roots.values() for leaf in root.leaves())

    def _archetype(self, agent: Any, question: Question[Any]) -> Key:
        of_fields = self.archetypes.key(agent, question.context)
        return question.state, question.trigger, *question.options, *of_fields

    def _leaf(self, key: Key, values: Sequence[Value]) -> Leaf | None:
        """Return the archetype of a question; None if nobody has asked for it, and no audit has made it."""
        root = self._roots.get(key)
        return None if root is None else root.leaf(values)

    def _made(self, key: Key) -> Leaf:
        """Return the archetype with this key, before any split. It is made if there is none."""
        found = self._roots.get(key)
        if found is None:
            found = self._roots[key] = Leaf(words_of(self.archetypes, key))
        return found

    def _group(self, key: Key, options: int) -> Group:
        common = key[: 2 + options]
        found = self._groups.get(common)
        if found is None:
            found = self._groups[common] = Group([str(option) for option in common[2:]], fits=self._rules.surrogate)
        return found

    def advance(self, tick: int) -> None:
        """Go on to a tick: count the judgements whose deliberation has ended, and forget those that are too old."""
        for _ in self.advancing(tick):
            pass

    def advancing(self, tick: int) -> Iterator[None]:
        """Go on to a tick as `advance` does, with a pause after each fit of a surrogate.

        Whoever leaves it in a pause has not lost anything: the next call goes on from there.
        """
        while self._fits is not None or self._tick < tick:
            if self._fits is None:
                self._fits = self._next_tick()
            for _ in self._fits:
                yield
            self._fits = None

    def _next_tick(self) -> Iterator[None]:
        """Go on to the next tick; return the fits that belong to it, with their pauses."""
        self._tick += 1
        deliberation = self._rules.deliberation
        for leaf in self._expiring.pop(self._tick, ()):
            if leaf.begun + self._rules.horizon <= self._tick:
                self._forget(leaf)
        touched = self._count(self._tick - deliberation - 1)
        for ended in self._ended.pop(self._tick, ()):
            self.forgotten += self._drop(ended)
        if self.budget is not None:
            self.budget.begin(self._tick, self.questions)
        self._limit_asked()
        # A resume places the questions again that wait since the deliberation began, so it needs what was before.
        self.questions.pop(self._tick - WINDOW - deliberation - 1, None)
        for asked in sorted(self._earlier.pop(self._tick, ()), key=_by_name):
            self._ask_again(asked)
        for told in self._told.pop(self._tick, ()):
            self._drop(self._open_again(told).opening)
        fields, tolerance = self.archetypes.fields, self._rules.tolerance
        return chain.from_iterable(group.fit(fields, tolerance) for group in touched)

    def _drop(self, opening: Opening | None) -> bool:
        """Drop a lost opening; return whether it was one. Others may have its name: those of which judgements tell."""
        if opening is None or self.lost.get(opening.name) != opening:
            return False
        del self.lost[opening.name]
        return True

    def _forget(self, leaf: Leaf) -> None:
        """Forget the judgements of an archetype; and its opening, once all questions up to now have been decided.

        An opening that led to no judgement is of no consequence then, unless it kept one from counting.
        """
        if leaf.opening is not None and not leaf.has_refused:
            self._ended.setdefault(self._tick + self._rules.deliberation + 1, []).append(leaf.opening)
        leaf.forget(self._tick)

    def _ask_again(self, asked: Judged | Opening) -> None:
        """Let a question of an earlier process be asked for its archetype: with its judgement, if it has one."""
        leaf = self._open_again(asked.opening if isinstance(asked, Judged) else asked)
        if isinstance(asked, Judged):
            leaf.ask(asked.name).probabilities = asked.probabilities

    def _open_again(self, opening: Opening) -> Leaf:
        """Let a question of an earlier process be the first that is asked for its archetype, if it is; return that."""
        whole = self._group(opening.key, opening.options).whole
        leaf = whole if opening.is_whole else self._made(opening.key).leaf(opening.values)
        if leaf.is_new:
            self._open(leaf, opening)
        return leaf

    def _count(self, tick: int) -> Collection[Group]:
        """Count the judgements of a tick, and split the archetypes that they show to be several.

        Returns:
            The groups of these judgements.
        """
        counted = sorted(self._judged.pop(tick, ()), key=_by_question)
        if self.budget is not None:
            self.budget.count(counted, _audit_divergences(counted))
        changed: dict[int, Leaf] = {}
        touched: dict[int, Group] = {}
        for judged in counted:
            group = self._group(judged.key, len(judged.probabilities))
            leaf = self._made(judged.key).leaf(judged.values)
            self._recorded.pop(judged.name, None)  # its question has been decided, and does not come again
            group.compare(judged, leaf)
            group.add(judged)
            touched[id(group)] = group
            if leaf.is_new and not leaf.records and judged.asked >= leaf.begun:  # an audit makes it
                self._begin(leaf, judged.asked)
            if leaf.add(judged):
                changed[id(leaf)] = leaf
        for leaf in changed.values():
            self.splits += self._split(leaf)
        if self.budget is not None:
            for group in touched.values():
                group.whole.settle()
        return touched.values()

    def _split(self, leaf: Leaf) -> int:
        """Split an archetype and its parts as long as their audits ask for it; return the number of splits."""
        split = None
        if leaf.counted >= leaf.look_at:
            leaf.look_at = math.ceil(SPLIT_GROWTH * leaf.counted)
            split = find_split(leaf.records, self.archetypes.fields, self._rules.tolerance)
        if split is None:
            leaf.settle()
            return 0
        parts = leaf.divide(split)
        for part in parts:
            self._expire(part)
        return 1 + sum(self._split(part) for part in parts)


def words_of(archetypes: Archetypes, key: Key) -> str:
    """Return an archetype in words: `decides in evaluating, post.followed: yes`."""
    fields = archetypes.words(key[len(key) - len(archetypes.groupings) :])
    return f"{key[1]} in {key[0]}{', ' if fields else ''}{fields}"


def _audit_divergences(judged: Sequence[Judged]) -> list[float]:
    return [divergence_from(each, each.shared) for each in judged if each.is_audit]


def _by_question(judged: Judged) -> tuple[int, str]:
    return judged.agent, judged.trigger


def _by_name(asked: Judged | Opening) -> Name:
    return asked.name
