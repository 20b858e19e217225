"""The distance between an oracle's choices and those of a simpler decider on the same questions.

The distance is the Jensen-Shannon divergence in bits, from 0 (the same shares of every option) to 1 (no option in
common). Source: Lin, "Divergence measures based on the Shannon entropy" (1991).

Its interval is a bootstrap over questions. Each question belongs to one of 64 groups, by a hash, and the groups are
resampled: so a run of any length keeps 64 groups of counts, and no questions. Source: Efron & Tibshirani (1993), with
the percentile interval moved by the bootstrap's own estimate of the bias. Probabilities are counted in whole units of
2**-40, so that sums do not depend on the order in which they are made.

Bits say little about rare options: 1 like of 100 posts and 6 likes are 0.015 bits apart. So each option also has a
ratio of rates: the oracle's rate over the expected rate of the alternative. The interval is that of the oracle's
share by Wilson (1927): on the same questions, the alternative's expected rate is not random.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.agents.questions import QuestionColumns
from prism.columns import Ints
from prism.rng import WORLD, Draw, integer, integers

FIRST_OPTION: Final = "first_option"
EMBEDDED: Final = "embedded"
RULE: Final = "rule"
BINS: Final = 5
"""Bins of relevance: 0 to 0.2, and so on."""

_GROUPS: Final = 64
_RESAMPLES: Final = 400
_UNKNOWN: Final = BINS
"""The bin of questions without a relevance."""
_ONE: Final = 1 << 40
AT_ONCE: Final = 1024
"""The number of choices that are kept and then counted together."""
FEWEST_AT_ONCE: Final = 16
"""The fewest choices of one kind that are counted in arrays: for fewer, one by one is faster."""
_DIGITS: Final = 4
_TAIL: Final = 0.025
STANDARD_ERRORS: Final = 1.959963984540054
"""The standard errors on each side of a share that hold the true one in 19 of 20 samples."""


class Reference(NamedTuple):
    """The embedded view of a question that an oracle answers.

    Args:
        relevance: of the post, or whatever the choice is about, to the agent: 0 to 1; None if there is none.
        probabilities: of the options, in their order, by the embedded choice; None if it has none.
    """

    relevance: float | None = None
    probabilities: Sequence[float] | None = None


NO_REFERENCE: Final = Reference()


class Compared(NamedTuple):
    """A choice of the oracle that is compared with the first option.

    Args:
        agent, tick, trigger, state, options: of the question.
        chosen: by the oracle.
    """

    agent: int
    tick: int
    trigger: str
    state: str
    options: Sequence[str]
    chosen: str
    reference: Reference = NO_REFERENCE


class Distance(msgspec.Struct, frozen=True, kw_only=True):
    """A Jensen-Shannon divergence in bits, with the ends of its 95% interval; each from 0 to 1."""

    bits: float
    low: float
    high: float


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """The oracle's rate of an option over that of an alternative, with the ends of its 95% interval."""

    ratio: float
    low: float
    high: float


class RelevanceBin(msgspec.Struct, frozen=True, kw_only=True):
    """The questions of one range of relevance.

    Args:
        low, high: the range, without its upper end but for 1.
        agreement: share of questions on which the oracle chose what the simplest alternative does: 0 to 1.
        against: `{alternative: distance}`; ratios: `{alternative: {option: ratio of rates}}`.
    """

    low: float
    high: float
    questions: int
    agreement: float
    against: dict[str, Distance]
    ratios: dict[str, dict[str, Ratio]] = {}


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """The choices of an oracle on one trigger in one state, beside what simpler deciders would have chosen.

    Args:
        trigger, state: of the questions: the event, and the state in which the agents were.
        questions: the questions that the oracle answered, without fallbacks.
        fallbacks: the questions that it did not answer.
        agreement: share of questions on which the oracle chose what the first alternative does: 0 to 1.
        choices: `{decider: {option: choices}}`: of the `oracle` and each alternative; the embedded one's are expected
            numbers, the sums of its probabilities.
        offered: `{option: questions that it was an option of}`.
        against: `{alternative: distance from the oracle}`.
        ratios: `{alternative: {option: ratio of rates}}`, of the options that the alternative takes; none against the
            first option, which takes no other.
        by_relevance: the same for the questions of each range of relevance that has some.
    """

    trigger: str
    state: str
    questions: int
    fallbacks: int
    agreement: float
    choices: dict[str, dict[str, float]]
    offered: dict[str, int]
    against: dict[str, Distance]
    by_relevance: list[RelevanceBin]
    ratios: dict[str, dict[str, Ratio]] = {}


class Cell(msgspec.Struct, array_like=True):
    """The counts of one bin and group, by the number of the option.

    Args:
        same: questions on which the oracle chose what the alternative does.
        chosen: by the oracle; `other`: by the alternative; `expected`: probabilities of the embedded choice, in units.
        known: questions whose `expected` is known.
    """

    questions: int = 0
    same: int = 0
    known: int = 0
    chosen: list[int] = []
    other: list[int] = []
    expected: list[int] = []


class ChoiceCounts(msgspec.Struct, array_like=True):
    """The counts of one trigger in one state.

    Args:
        options: every option so far, in the order of their first appearance.
        fallbacks: questions without a choice.
        cells: `{bin * 64 + group: counts}`.
        offered: `{option: questions that it was an option of}`.
    """

    options: list[str] = []
    fallbacks: int = 0
    cells: dict[int, Cell] = {}
    offered: dict[str, int] = {}

    def offer(self, options: Sequence[str], questions: int) -> None:
        """Count questions with these options."""
        for option in options:
            self.offered[option] = self.offered.get(option, 0) + questions

    def cell(self, key: int) -> Cell:
        """Return a cell with room for every option so far."""
        cell, size = self.cells.get(key), len(self.options)
        if cell is None:
            cell = self.cells[key] = Cell()
        if len(cell.chosen) < size:
            for row in (cell.chosen, cell.other, cell.expected):
                row.extend([0] * (size - len(row)))
        return cell


CountsState = tuple[tuple[str, str, ChoiceCounts], ...]
"""The counts, as a checkpoint keeps them: `(trigger, state, counts)`."""


class ComparedChoices:
    """Counts of choices, from which divergences are worked out. The order in which choices are added does not matter.

    Args:
        alternative: the name of the alternative beside the embedded choice: `first_option` or `rule`.
    """

    def __init__(self, alternative: str = FIRST_OPTION) -> None:
        self._alternative = alternative
        self._counted: dict[tuple[str, str], ChoiceCounts] = {}
        self._kept: list[Compared] = []
        """Choices that are not counted yet."""
        self._columns: list[QuestionColumns] = []
        self._in_columns = 0
        """The choices in them."""
        self._bits: dict[tuple[str, str], float] | None = None
        """The result of `bits`; None once more is counted."""

    def add(
        self,
        name: tuple[int, int, str],
        state: str,
        options: Sequence[str],
        *,
        chosen: str,
        other: str,
        reference: Reference = NO_REFERENCE,
    ) -> None:
        """Count a choice of the oracle.

        Args:
            name: agent, tick and trigger of the question.
            state: the agent's state.
            other: what the alternative chose.
        """
        agent, tick, trigger = name
        counts = self._of(trigger, state)
        numbers = [_number(counts, option) for option in options]
        counts.offer(options, 1)
        taken, instead = _number(counts, chosen), _number(counts, other)
        group = integer(_GROUPS, 0, agent, tick, Draw.BOOTSTRAP_GROUP)
        cell = counts.cell(_bin(reference.relevance) * _GROUPS + group)
        cell.questions += 1
        cell.same += taken == instead
        cell.chosen[taken] += 1
        cell.other[instead] += 1
        if reference.probabilities is not None:
            cell.known += 1
            for number, probability in zip(numbers, reference.probabilities, strict=True):
                cell.expected[number] += round(probability * _ONE)

    def add_all(self, choices: Sequence[Compared]) -> None:
        """Count many choices of the oracle as `add` does: together, and at the latest when the counts are read."""
        self._kept += choices
        if len(self._kept) >= AT_ONCE:
            self._count()

    def add_columns(self, choices: QuestionColumns) -> None:
        """Count choices of the oracle among the options of an embedded choice: many at once, as `add_all`."""
        self._columns.append(choices)
        self._in_columns += len(choices.codes)
        if self._in_columns >= AT_ONCE:
            self._count()

    def _count_columns(self) -> None:
        """Count the choices that are kept in columns."""
        kept, self._columns, self._in_columns = self._columns, [], 0
        codes, agents, ticks, relevance, taken = (np.concatenate(each) for each in [*zip(*kept, strict=True)][1:6])
        groups = integers(_GROUPS, 0, agents, ticks, Draw.BOOTSTRAP_GROUP)
        is_known = ~np.isnan(relevance)
        bins = np.full(len(codes), _UNKNOWN)
        bins[is_known] = np.clip((relevance[is_known] * BINS).astype(np.int64), 0, BINS - 1)
        keys, width = bins * _GROUPS + groups, max(each.probabilities.shape[1] for each in kept)
        units, at = np.zeros((len(codes), width), dtype=np.int64), 0
        for each in kept:
            shares = each.probabilities
            units[at : at + len(shares), : shares.shape[1]] = np.rint(shares * _ONE)
            at += len(shares)
        for code in np.unique(codes).tolist():
            trigger, state, options = kept[-1].kinds[code]
            these = codes == code
            known = np.ones(int(these.sum()), dtype=np.bool_)
            self._add_rows(trigger, state, options, keys[these], taken[these], known, units[these, : len(options)])

    def _count(self) -> None:
        if self._columns:
            self._count_columns()
        kinds: dict[tuple[str, str, Sequence[str]], list[Compared]] = {}
        kept, self._kept = self._kept, []
        for each in kept:
            kinds.setdefault((each.trigger, each.state, each.options), []).append(each)
        for kind in kinds.values():
            if len(kind) >= FEWEST_AT_ONCE and all(each.chosen in each.options for each in kind):
                self._add_kind(kind)
                continue
            for one in kind:
                name = one.agent, one.tick, one.trigger
                self.add(name, one.state, one.options, chosen=one.chosen, other=one.options[0], reference=one.reference)

    def _add_kind(self, kind: Sequence[Compared]) -> None:
        """Count choices with the same trigger, state and options."""
        options = kind[0].options
        places = {option: at for at, option in enumerate(options)}
        agents = np.array([each.agent for each in kind], dtype=np.int64)
        ticks = np.array([each.tick for each in kind], dtype=np.int64)
        groups = integers(_GROUPS, 0, agents, ticks, Draw.BOOTSTRAP_GROUP)
        bins = np.array([_bin(each.reference.relevance) for each in kind])
        taken = np.array([places[each.chosen] for each in kind])
        known = np.array([each.reference.probabilities is not None for each in kind])
        shares = [each.reference.probabilities for each in kind if each.reference.probabilities is not None]
        units = np.rint(np.array(shares).reshape(-1, len(options)) * _ONE).astype(np.int64)
        self._add_rows(kind[0].trigger, kind[0].state, options, bins * _GROUPS + groups, taken, known, units)

    def _add_rows(  # a kind, and the columns of its choices
        self,
        trigger: str,
        state: str,
        options: Sequence[str],
        of_choices: Ints,
        taken: Ints,
        known: NDArray[np.bool_],
        units: Ints,
    ) -> None:
        """Count choices with the same trigger, state and options.

        Args:
            of_choices: the key of each choice's cell; taken: the number of its option.
            known: whether its probabilities are known; units: the probabilities of those.
        """
        counts, size = self._of(trigger, state), len(options)
        numbers = [_number(counts, option) for option in options]
        counts.offer(options, len(taken))
        keys, cells = np.unique(of_choices, return_inverse=True)
        chosen = np.bincount(cells * size + taken, minlength=len(keys) * size).reshape(-1, size)
        expected = np.zeros((len(keys), size), dtype=np.int64)
        np.add.at(expected, cells[known], units)
        questions = chosen.sum(axis=1)
        known_of = np.bincount(cells[known], minlength=len(keys))
        rows = zip(
            keys.tolist(), questions.tolist(), known_of.tolist(), chosen.tolist(), expected.tolist(), strict=True
        )
        for key, asked, sure, of_option, parts in rows:
            cell = counts.cell(key)
            cell.questions += asked
            cell.same += of_option[0]
            cell.known += sure
            cell.other[numbers[0]] += asked
            for number, count, part in zip(numbers, of_option, parts, strict=True):
                cell.chosen[number] += count
                cell.expected[number] += part

    def add_fallback(self, trigger: str, state: str) -> None:
        """Count a question that the oracle did not answer."""
        self._of(trigger, state).fallbacks += 1

    def state(self) -> CountsState:
        """Return a fixed copy of the counts so far, in an order that does not depend on the order of counting."""
        return tuple(
            (trigger, state, _in_order(counts)) for (trigger, state), counts in sorted(self._counts.items(), key=_name)
        )

    def restore(self, state: CountsState) -> None:
        """Set the counts to those of a checkpoint."""
        self._kept.clear()
        self._columns, self._in_columns = [], 0
        self._counted = {(trigger, place): deepcopy(counts) for trigger, place, counts in state}
        self._bits = None

    def add_counts(self, state: CountsState) -> None:
        """Add the counts of other choices, as their `state` has them."""
        for trigger, place, more in state:
            counts = self._of(trigger, place)
            numbers = [_number(counts, option) for option in more.options]
            counts.fallbacks += more.fallbacks
            for option, questions in more.offered.items():
                counts.offer([option], questions)
            for key, other in more.cells.items():
                cell = counts.cell(key)
                cell.questions, cell.same = cell.questions + other.questions, cell.same + other.same
                cell.known += other.known
                for row, added in (
                    (cell.chosen, other.chosen),
                    (cell.other, other.other),
                    (cell.expected, other.expected),
                ):
                    for number, count in zip(numbers, added, strict=False):
                        row[number] += count

    def bits(self) -> dict[tuple[str, str], float]:
        """Return `{(trigger, alternative): divergence in bits}`, over all states of a trigger.

        Metrics ask twice a tick, so the result is kept until more is counted.
        """
        self._count()
        if self._bits is not None:
            return dict(self._bits)
        found: dict[tuple[str, str], float] = {}
        for trigger in sorted({trigger for trigger, _ in self._counts}):
            merged = _merged([counts for (name, _), counts in self._counts.items() if name == trigger])
            for alternative, distance in _distances(merged, self._alternative, resampled=False).items():
                found[trigger, alternative] = distance.bits
        self._bits = found
        return dict(found)

    def divergences(self) -> list[Divergence]:
        """Return the divergences of every trigger and state, by name."""
        return [
            _divergence(trigger, state, counts, self._alternative)
            for (trigger, state), counts in sorted(self._counts.items(), key=_name)
        ]

    @property
    def _counts(self) -> dict[tuple[str, str], ChoiceCounts]:
        """The counts of all choices so far, by trigger and state."""
        self._count()
        return self._counted

    def _of(self, trigger: str, state: str) -> ChoiceCounts:
        """Return the counts of choices, which are about to change."""
        self._bits = None
        return self._counted.setdefault((trigger, state), ChoiceCounts())


def jensen_shannon(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the Jensen-Shannon divergence of two distributions in bits.

    Args:
        first, second: weights of the same options, not negative; they need not add up to 1.

    Raises:
        ValueError: the weights are of different numbers of options, or one side has no weight above 0.
    """
    if len(first) != len(second) or not (sum(first) > 0.0 and sum(second) > 0.0):
        raise ValueError(f"expected weights of the same options with a positive sum, got {first} and {second}")
    rows = jensen_shannon_rows(np.array([first], dtype=np.float64), np.array([second], dtype=np.float64))
    return float(rows[0])


def _divergence(trigger: str, state: str, counts: ChoiceCounts, alternative: str) -> Divergence:
    sums = _sums(counts)
    by_decider = {"oracle": sums.chosen, alternative: sums.other}
    choices = {
        decider: {option: float(count) for option, count in sorted(zip(counts.options, by_option, strict=True))}
        for decider, by_option in by_decider.items()
    }
    if sums.is_known:
        shares = sorted(zip(counts.options, sums.expected, strict=True))
        choices[EMBEDDED] = {option: round(float(units) / _ONE, _DIGITS) for option, units in shares}
    return Divergence(
        trigger=trigger,
        state=state,
        questions=sums.questions,
        fallbacks=counts.fallbacks,
        agreement=sums.agreement,
        choices=choices,
        offered=dict(sorted(counts.offered.items())),
        against=_distances(counts, alternative),
        by_relevance=[_bin_of(counts, number, alternative) for number in range(BINS) if _cells(counts, number)],
        ratios=_ratios(counts.options, sums, alternative),
    )


def _bin_of(counts: ChoiceCounts, number: int, alternative: str) -> RelevanceBin:
    part = ChoiceCounts(options=counts.options, cells=_cells(counts, number))
    sums = _sums(part)
    return RelevanceBin(
        low=number / BINS,
        high=(number + 1) / BINS,
        questions=sums.questions,
        agreement=sums.agreement,
        against=_distances(part, alternative),
        ratios=_ratios(counts.options, sums, alternative),
    )


def _ratios(options: Sequence[str], sums: _Sums, alternative: str) -> dict[str, dict[str, Ratio]]:
    """Return `{alternative: {option: ratio}}` for the alternatives that take several options."""
    sides = {} if alternative == FIRST_OPTION else {alternative: [float(count) for count in sums.other]}
    if sums.is_known:
        sides[EMBEDDED] = [float(units) / _ONE for units in sums.expected]
    return {
        name: {
            option: ratio_of(chosen, sums.questions, times)
            for option, chosen, times in sorted(zip(options, sums.chosen, expected, strict=True))
            if times > 0.0
        }
        for name, expected in sides.items()
    }


def ratio_of(taken: int, of: int, expected: float) -> Ratio:
    """Return the ratio of the taken to the expected number, which is above 0, among so many cases."""
    share, squared = taken / of, STANDARD_ERRORS**2
    middle = (share + squared / (2.0 * of)) / (1.0 + squared / of)
    reach = STANDARD_ERRORS / (1.0 + squared / of) * math.sqrt(share * (1.0 - share) / of + squared / (4.0 * of**2))
    low, high = (max(0.0, end) * of / expected for end in (middle - reach, middle + reach))
    return Ratio(
        ratio=round(taken / expected, _DIGITS), low=round(low if taken else 0.0, _DIGITS), high=round(high, _DIGITS)
    )


def _cells(counts: ChoiceCounts, number: int) -> dict[int, Cell]:
    return {key: cell for key, cell in counts.cells.items() if key // _GROUPS == number}


class _Sums(NamedTuple):
    """The counts of several cells together, each by the number of the option."""

    questions: int
    same: int
    known: int
    chosen: list[int]
    other: list[int]
    expected: list[int]

    @property
    def is_known(self) -> bool:
        return 0 < self.questions == self.known

    @property
    def agreement(self) -> float:
        return round(self.same / self.questions, _DIGITS) if self.questions else 0.0


def _sums(counts: ChoiceCounts) -> _Sums:
    cells, size = list(counts.cells.values()), len(counts.options)
    chosen, other, expected = ([0] * size for _ in range(3))
    for cell in cells:
        for total, part in ((chosen, cell.chosen), (other, cell.other), (expected, cell.expected)):
            for index, count in enumerate(part):
                total[index] += count
    totals = (
        sum(cell.questions for cell in cells),
        sum(cell.same for cell in cells),
        sum(cell.known for cell in cells),
    )
    return _Sums(*totals, chosen, other, expected)


def _distances(counts: ChoiceCounts, alternative: str, *, resampled: bool = True) -> dict[str, Distance]:
    """Return `{alternative: distance}`; empty without questions.

    Args:
        resampled: False leaves the interval at the value itself, which takes no time.
    """
    sums = _sums(counts)
    if not sums.questions:
        return {}
    sides = {alternative: ("other", sums.other)} | ({EMBEDDED: ("expected", sums.expected)} if sums.is_known else {})
    found = {}
    for name, (field, totals) in sides.items():
        bits = jensen_shannon(sums.chosen, totals)
        low, high = _interval(counts, field, bits) if resampled else (bits, bits)
        found[name] = Distance(bits=round(bits, _DIGITS), low=round(low, _DIGITS), high=round(high, _DIGITS))
    return found


def _interval(counts: ChoiceCounts, field: str, bits: float) -> tuple[float, float]:
    """Return the ends of the 95% interval of a divergence."""
    chosen, other = (_by_group(counts, name) for name in ("chosen", field))
    drawn = _resamples()
    sampled = np.einsum("rg,go->ro", drawn, chosen), np.einsum("rg,go->ro", drawn, other)
    kept = sampled[0].sum(axis=1) > 0.0
    values = jensen_shannon_rows(sampled[0][kept], sampled[1][kept])
    return moved_interval(values, bits)


def moved_interval(resampled: NDArray[np.float64], found: float, widening: float = 1.0) -> tuple[float, float]:
    """Return the ends of the 95% interval of a distance from 0 to 1: the percentiles, moved by the bootstrap's bias.

    The distance of two samples is above 0 even if nothing differs, and that of two resamples is larger still.

    Args:
        resampled: the distance in each resample; found: that of the samples themselves, which the interval holds.
        widening: the factor by which both ends are moved away from the distance.
    """
    mean = float(resampled.mean())
    low, high = (found + widening * (float(end) - mean) for end in np.quantile(resampled, [_TAIL, 1.0 - _TAIL]))
    return max(0.0, min(low, found)), min(1.0, max(high, found))


def _by_group(counts: ChoiceCounts, field: str) -> NDArray[np.float64]:
    """Return the counts of each group and option: shape (64, options)."""
    table = np.zeros((_GROUPS, len(counts.options)))
    for key, cell in counts.cells.items():
        row = getattr(cell, field)
        table[key % _GROUPS, : len(row)] += row
    return table


@cache
def _resamples() -> NDArray[np.float64]:
    """Return how often each group is drawn in each resample: shape (400, 64)."""
    table = np.zeros((_RESAMPLES, _GROUPS))
    for resample in range(_RESAMPLES):
        for index in range(_GROUPS):
            table[resample, integer(_GROUPS, 0, WORLD, resample, Draw.BOOTSTRAP, index)] += 1.0
    return table


def jensen_shannon_rows(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the divergence of each pair of rows in bits; each row is of weights, with a positive sum."""
    p, q = (side / side.sum(axis=1, keepdims=True) for side in (first, second))
    mean = (p + q) / 2.0
    total = np.zeros(len(p))
    for side in (p, q):
        ratio = np.divide(side, mean, out=np.ones_like(side), where=side > 0.0)
        total += (side * np.log2(ratio)).sum(axis=1)
    clipped: NDArray[np.float64] = np.clip(total / 2.0, 0.0, 1.0)
    return clipped


def _merged(all_counts: Sequence[ChoiceCounts]) -> ChoiceCounts:
    """Return the sums of several counts, by option, in one cell."""
    merged = ChoiceCounts(options=list(dict.fromkeys(option for counts in all_counts for option in counts.options)))
    cell = merged.cell(0)
    for counts in all_counts:
        sums = _sums(counts)
        cell.questions, cell.known = cell.questions + sums.questions, cell.known + sums.known
        for field, totals in (("chosen", sums.chosen), ("other", sums.other), ("expected", sums.expected)):
            for option, count in zip(counts.options, totals, strict=True):
                getattr(cell, field)[merged.options.index(option)] += count
    return merged


def _bin(relevance: float | None) -> int:
    if relevance is None or math.isnan(relevance):
        return _UNKNOWN
    return min(max(int(relevance * BINS), 0), BINS - 1)


def _number(counts: ChoiceCounts, option: str) -> int:
    try:
        return counts.options.index(option)
    except ValueError:
        counts.options.append(option)
        return len(counts.options) - 1


def _in_order(counts: ChoiceCounts) -> ChoiceCounts:
    """Return a copy of counts whose options and cells are in the order of their names and keys."""
    options, cells = sorted(counts.options), dict[int, Cell]()
    places = [*map(counts.options.index, options)]
    for key, cell in sorted(counts.cells.items()):
        rows = [
            [row[place] if place < len(row) else 0 for place in places]
            for row in (cell.chosen, cell.other, cell.expected)
        ]
        cells[key] = Cell(cell.questions, cell.same, cell.known, *rows)
    return ChoiceCounts(options, counts.fallbacks, cells, dict(sorted(counts.offered.items())))


def _name(item: tuple[tuple[str, str], ChoiceCounts]) -> tuple[str, str]:
    return item[0]
