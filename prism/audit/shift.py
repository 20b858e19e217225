"""The shift of answers when recorded questions are asked again in another way, and whether chance alone may make it.

The same question has several askings: the recorded one, one more in the same way, and one in another way. If the way
does not matter, nothing tells which asking is which. So the test exchanges them person by person: it is exact, also for
few people who are asked often. It looks at two things, the share of each option and the answers that change in both
directions. Source: Fisher (1935), Westfall & Young, "Resampling-based multiple testing" (1993).

Intervals are Student's, over people: answers of one person count together. Source: Liang & Zeger (1986).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from prism.columns import Floats, Ints
from prism.distribution import student

LEVEL: Final = 0.05  # the share of false findings that is accepted over all ways together
LEAST: Final = 10.0  # the points from which on a shift matters
FEWEST: Final = 8  # the fewest people who can show anything
EXCHANGES: Final = 4000  # the exchanges behind a p value
WITHIN: Final = 1000  # the exchanges within a person's own answers
FOLLOWS: Final = 0.01  # the p value up to which answers follow what is seen; above it nothing shows that they do
SEEN: Final = 30.0  # the fewest answers by which own and other people's differ that can show that answers do not follow
_ROWS: Final = 500  # exchanges at once

Finding = Literal["moves", "holds", "cannot tell"]
"""moves: the answers shift by as much as matters, and not by chance. holds: they surely shift by less."""


def _finding(p_holm: float, size: float, reach: float) -> Finding:
    if p_holm <= LEVEL and size >= LEAST:
        return "moves"
    return "holds" if reach < LEAST else "cannot tell"


class Asked(NamedTuple):
    people: Ints  # shape (questions,): the person of each
    options: tuple[str, ...]
    other: Floats  # shape (questions, options): the probabilities in the other way; 1 for the option that was named
    # shape (askings, questions, options): those in the way of the run, the recorded asking first
    same: Floats


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A number with the ends of its 95% interval; None for both where too few people are behind it."""

    value: float
    low: float | None = None
    high: float | None = None

    def changed(self, change: Callable[[float], float]) -> Estimate:
        """Return it with its value and ends changed alike."""
        low, high = (None if end is None else change(end) for end in (self.low, self.high))
        return Estimate(value=change(self.value), low=low, high=high)

    @property
    def reach(self) -> float:
        """The largest distance from 0 that the interval has."""
        return math.inf if self.low is None or self.high is None else max(abs(self.low), abs(self.high))


class OptionShift(msgspec.Struct, frozen=True, kw_only=True):
    option: str
    before: float  # its share among the answers in the way of the run, 0 to 1
    after: float  # in the other way
    points: Estimate  # the difference in percentage points
    ratio: Estimate | None = None  # the ratio of the two shares; None if one of them is 0


class Shift(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of one other way of asking on the answers."""

    way: str
    what: str  # what was changed, in words
    questions: int
    people: int
    options: tuple[OptionShift, ...] = ()
    # the answers that are others than in the run, in points, beyond those that change if all is asked the same again;
    # 0 for another temperature, which turns answers by chance alone
    turned: Estimate = Estimate(value=0.0)
    by_seen: dict[str, tuple[OptionShift, ...]] = {}  # `{group of what was seen: the shifts in it}`
    p: float | None = None  # the probability of such a shift by chance; None if too few people were asked
    p_holm: float = 1.0  # p, corrected for all tests of the audit together
    finding: Finding = "cannot tell"
    missing: dict[str, int] = {}  # `{reason: questions without an answer}`

    def judged(self, p_holm: float) -> Shift:
        reach = max((one.points.reach for one in self.options), default=math.inf)
        reach = max(reach, 0.0 if self.turned.high is None else self.turned.high)
        return replace(self, p_holm=p_holm, finding=_finding(p_holm, self.size, reach))

    @property
    def largest(self) -> OptionShift | None:
        return max(self.options, key=lambda each: abs(each.points.value), default=None)

    @property
    def size(self) -> float:
        """The larger of the largest shift of an option and of the answers that turned, in points."""
        largest = self.largest
        return max(self.turned.value, 0.0 if largest is None else abs(largest.points.value))


def over_people(values: Floats, people: Ints, scale: float = 1.0) -> Estimate:
    """Return the mean of values, in which those of one person count together."""
    if not len(values):
        return Estimate(value=0.0)
    mean, groups = float(values.mean()), np.unique(people, return_inverse=True)[1]
    sums = np.bincount(groups, values - mean)
    if len(sums) < FEWEST:
        return Estimate(value=scale * mean)
    error = math.sqrt(float((sums**2).sum()) * len(sums) / (len(sums) - 1)) / len(values)
    reach = student(len(sums) - 1) * error
    return Estimate(value=scale * mean, low=scale * (mean - reach), high=scale * (mean + reach))


def shifts_of(asked: Asked) -> tuple[OptionShift, ...]:
    before = asked.same.mean(axis=0)
    found = []
    for place, option in enumerate(asked.options):
        was, now = float(before[:, place].mean()), float(asked.other[:, place].mean())
        points = over_people(asked.other[:, place] - before[:, place], asked.people, 100.0)
        ratio = None
        if was > 0.0 and now > 0.0:  # by the linear form of its logarithm
            logs = over_people(asked.other[:, place] / now - before[:, place] / was, asked.people)
            ratio = replace(logs, value=0.0).changed(lambda end, ratio=now / was: ratio * math.exp(end))  # type: ignore[misc]
        found.append(OptionShift(option=option, before=was, after=now, points=points, ratio=ratio))
    return tuple(found)


def shift_of(
    way: str,
    what: str,
    asked: Asked,
    seen: Sequence[str] = (),
    likely: Floats | None = None,
    seed: int = 0,
    *,
    is_random: bool = False,
) -> Shift:
    """Return the shift of answers in one other way, before the correction for several tests.

    Args:
        seen: the group of what was seen in each question, for a table.
        likely: the probability to act of each question by a model of answers to others: shifts may differ by it.
        is_random: whether the way changes how far answers are left to chance, so that turned ones say nothing.
    """
    people = len(np.unique(asked.people))
    by_seen = {}
    for group in dict.fromkeys(sorted(seen)):
        rows = np.array([each == group for each in seen], dtype=np.bool_)
        part = asked._replace(people=asked.people[rows], other=asked.other[rows], same=asked.same[:, rows])
        by_seen[group] = shifts_of(part)
    turned, p_turned = Estimate(value=0.0), 1.0
    # Both sides are exchanged as a whole: repeated answers of a model that leaves nothing to chance are no new ones.
    differences = asked.other - asked.same.mean(axis=0)
    if likely is not None and likely.std() > 0.0:
        differences = np.hstack([differences, differences * ((likely - likely.mean()) / likely.std())[:, None]])
    if not is_random:
        excess = _excess(np.concatenate((asked.other[None], asked.same)))
        turned = over_people(excess[0], asked.people, 100.0)
        p_turned = _p_of_turned(asked, excess, turned, seed)
    p = None
    if people >= FEWEST:
        p_of_shares = _exchanged(np.stack([differences, -differences]), asked.people, seed)
        p = min(1.0, 2.0 * min(p_turned, p_of_shares))
    return Shift(
        way=way,
        what=what,
        questions=len(asked.people),
        people=people,
        options=shifts_of(asked),
        turned=turned,
        by_seen=by_seen if len(by_seen) > 1 else {},
        p=p,
    )


def _p_of_turned(asked: Asked, moved: Floats, turned: Estimate, seed: int) -> float:
    """Return the p value that no answer turned.

    Args:
        moved: shape (askings, questions): how far each asking is from the others, if it were the odd one.
        turned: the answers that turned beyond chance, in points.
    """
    if not len(asked.people):
        return 1.0
    if len(asked.same) > 1:
        return _exchanged(moved[..., None], asked.people, seed, directed=True)
    # Of probabilities nothing is chance, but a few points are no turn; of single answers one asking tells nothing.
    is_exact = bool(((asked.same > 0.0) & (asked.same < 1.0)).any())
    return 1.0 if not is_exact or turned.low is None or turned.low <= 1.0 else 0.0


def _excess(askings: Floats) -> Floats:
    """Return, for each asking as the odd one, its distance from the others less the distance of the others.

    Shape (askings, questions). A distance is the share of the probability that must move, 0 to 1.
    """
    apart = np.abs(askings[:, None] - askings[None]).sum(axis=3) / 2.0
    count = len(askings)
    to_others = apart.sum(axis=1) / (count - 1)
    among = 0.0 if count == 2 else (apart.sum(axis=(0, 1)) - 2.0 * apart.sum(axis=1)) / ((count - 1) * (count - 2))
    found: Floats = to_others - among
    return found


def _exchanged(values: Floats, people: Ints, seed: int, *, directed: bool = False) -> float:
    """Return the p value of the largest sum over questions, by exchanging the askings of each person.

    Args:
        values: shape (askings, questions, columns): of each asking, if it were the odd one; the first one is.
        directed: whether only sums above 0 count.
    """
    groups = np.unique(people, return_inverse=True)[1]
    count = int(groups.max()) + 1
    sums = np.stack([np.stack([np.bincount(groups, column, count) for column in each.T]) for each in values])
    # shape (askings, columns, people). The unit of each column: how far exchanges move it.
    unit = np.sqrt((sums**2).mean(axis=0).sum(axis=1))
    unit[unit <= 1e-9] = np.inf

    def largest(totals: Floats) -> Floats:
        highest: Floats = ((totals if directed else np.abs(totals)) / unit).max(axis=-1)
        return highest

    found, random, reached = largest(sums[0].sum(axis=1)), np.random.default_rng(seed), 1
    for _ in range(EXCHANGES // _ROWS):
        odd = random.integers(len(values), size=(_ROWS, count))
        totals = np.zeros((_ROWS, sums.shape[1]))
        for asking, each in enumerate(sums):
            totals += (odd == asking).astype(np.float64) @ each.T
        reached += int((largest(totals) >= found - 1e-9).sum())
    return reached / (EXCHANGES + 1)


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of the first or the last place in a list on the option that stands there."""

    place: str  # `first` or `last`
    answers: int
    points: Estimate  # above its usual share
    p: float | None = None  # the probability of such an effect by chance; None if too few people were asked
    p_holm: float = 1.0
    finding: Finding = "cannot tell"

    def judged(self, p_holm: float) -> Position:
        reach = math.inf if self.points.high is None else self.points.high
        return replace(self, p_holm=p_holm, finding=_finding(p_holm, self.points.value, reach))


def positions_of(people: Ints, answers: Floats, shown: Sequence[Sequence[int]], seed: int = 0) -> tuple[Position, ...]:
    """Return the effects of the first and the last place.

    The effect is how much more often than usual an option is taken there, so it does not matter which options happen
    to be shown first. The test draws the places anew, as each option might have been shown in each of them.

    Args:
        answers: shape (answers, options): the probabilities of the options.
        shown: the numbers of each question's options, in the order in which they were shown.
    """
    offered, counts = np.zeros_like(answers), np.array([len(each) for each in shown])
    for row, each in enumerate(shown):
        offered[row, each] = 1.0
    usual = offered * answers.mean(axis=0) + 1e-12
    beyond = answers - usual / usual.sum(axis=1, keepdims=True)
    in_places = np.zeros_like(answers)  # the same in the order of the places
    for row, each in enumerate(shown):
        in_places[row, : len(each)] = beyond[row, each]
    random, rows, found = np.random.default_rng(seed), np.arange(len(shown)), []
    drawn = (random.random((EXCHANGES, len(shown))) * counts).astype(np.int64)
    by_chance = in_places[rows, drawn].sum(axis=1)
    for name, places in (("first", np.zeros(len(shown), dtype=np.int64)), ("last", counts - 1)):
        taken = in_places[rows, places]
        p = (1 + int((by_chance >= taken.sum() - 1e-9).sum())) / (EXCHANGES + 1)
        points, is_tested = over_people(taken, people, 100.0), len(np.unique(people)) >= FEWEST
        found.append(Position(place=name, answers=len(people), points=points, p=p if is_tested else None))
    return tuple(found)


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """The effect on answers if each person gets what another person saw."""

    questions: int
    turned: Estimate  # as of a `Shift`
    p: float  # the p value of: answers do not follow what is seen
    moves: bool | None  # False: the prompt fixes the answer. None: too little was asked, or the outcome is unclear


def exchange_of(asked: Asked, leaning: Floats, theirs: Floats, p_recorded: float = 1.0, seed: int = 0) -> Exchange:
    """Return the effect of the exchange.

    Answers that follow what is seen turn away from the person's own answers, towards those of the other person, and as
    the study's other answers tell.

    Args:
        theirs: shape (questions, options): the recorded answer of the person who saw it first.
        leaning: shape (questions, options): how much likelier each option is with what is seen instead, by a model of
            answers to other questions; zeros without one.
        p_recorded: the p value of: recorded answers do not follow what was seen. See `followed`.
    """
    askings = np.concatenate((asked.other[None], asked.same))
    beyond = askings - (askings.sum(axis=0) - askings) / (len(askings) - 1)
    towards = leaning / np.maximum(np.abs(leaning).sum(axis=1, keepdims=True) / 2.0, 1e-9)
    along = (beyond * towards).sum(axis=2) / 2.0
    excess = _excess(askings)
    turned = over_people(excess[0], asked.people, 100.0)
    moved = excess + (beyond * theirs).sum(axis=2)
    p_turned = _p_of_turned(asked, moved, turned, seed)
    p_along = _exchanged(along[..., None], asked.people, seed, directed=True) if len(asked.people) else 1.0
    p = min(1.0, 3.0 * min(p_turned, p_along, p_recorded))
    # Answers that follow entirely move by twice the distance to the other person's; it must be large enough to be seen.
    apart = np.abs(asked.same.mean(axis=0) - theirs).sum(axis=1) / 2.0
    high = over_people(moved[0], asked.people).high
    moves = None
    if p <= FOLLOWS:
        moves = True
    elif high is not None and apart.sum() >= SEEN and high < apart.mean() / 2.0:
        moves = False
    return Exchange(questions=len(asked.people), turned=turned, p=p, moves=moves)


def followed(people: Ints, taken: Floats, seen: Floats, seed: int = 0) -> float:
    """Return the p value that answers do not follow what is seen, by exchanging the answers of each person.

    `taken` has 1 for the option that was taken, shape (questions, options); `seen` has shape (questions, features).
    """
    groups = np.unique(people, return_inverse=True)[1]
    counts = np.bincount(groups)
    own = seen - np.stack([np.bincount(groups, column) / counts for column in seen.T], axis=1)[groups]
    width, shares = own.std(axis=0), taken.mean(axis=0)
    own = own[:, width > 1e-9] / width[width > 1e-9]
    scaled = taken[:, shares > 0.0] / np.sqrt(shares[shares > 0.0])
    found, random, reached = float(((scaled.T @ own) ** 2).sum()), np.random.default_rng(seed), 1
    in_groups = own[np.argsort(groups, kind="stable")]
    for _ in range(WITHIN):
        mixed = scaled[np.lexsort((random.random(len(groups)), groups))]
        reached += float(((mixed.T @ in_groups) ** 2).sum()) >= found - 1e-9
    return reached / (WITHIN + 1)
