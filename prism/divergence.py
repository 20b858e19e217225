"""The distance between an oracle's choices and those of simpler deciders on the same questions.

The distance is the Jensen-Shannon divergence in bits, from 0 (the same shares of every option) to 1 (no option in
common). Source: Lin, "Divergence measures based on the Shannon entropy" (1991).

Bits say little about rare options: 1 like of 100 posts and 6 likes are 0.015 bits apart. So each option also has a
ratio of rates.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.columns import Ints
from prism.rng import WORLD, Draw, integer

EMBEDDED: Final = "embedded"
RULE: Final = "rule"
ORACLE: Final = "oracle"
_GROUPS: Final = 64
_RESAMPLES: Final = 400
_ONE: Final = 1 << 40
"""Probabilities are counted in whole units of 2**-40, so that sums do not depend on the order of the answers."""
_DIGITS: Final = 4
_TAIL: Final = 0.025
_STANDARD_ERRORS: Final = 1.959963984540054
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


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """The choices of an oracle on one trigger in one state, beside what simpler deciders would have chosen.

    Args:
        trigger, state: of the questions: the event, and the state in which the agents were.
        questions: those that the oracle answered; `fallbacks`: those that it did not.
        agreement: share of questions on which the oracle chose what the rule did: 0 to 1.
        choices: `{decider: {option: choices}}` of the oracle, the rule and the embedded choice, whose choices are
            expected numbers: the sums of its probabilities.
        against: `{alternative: distance from the oracle}`.
        ratios: `{alternative: {option: ratio of rates}}`, of the options that the alternative takes.
    """

    trigger: str
    state: str
    questions: int
    fallbacks: int
    agreement: float
    choices: dict[str, dict[str, float]]
    against: dict[str, Distance]
    ratios: dict[str, dict[str, Ratio]] = {}


class _Counted:
    """The choices on one kind of question."""

    def __init__(self) -> None:
        self.questions = self.fallbacks = self.same = 0  # `same`: in which the oracle chose what the rule did
        self.options = set[str]()
        self.choices = {decider: Counter[tuple[int, str]]() for decider in (ORACLE, RULE, EMBEDDED)}
        """`{decider: {(group of the bootstrap, option): choices}}`; those of the embedded one are in units."""
        self.has_embedded = True  # whether it is known for all questions: otherwise the two had different ones


class ComparedChoices:
    """Choices of an oracle beside those of rules and of the embedded choice. Their order does not matter."""

    def __init__(self) -> None:
        self._kinds = defaultdict[tuple[str, str], _Counted](_Counted)  # `{(trigger, state): choices}`

    def add(
        self,
        name: tuple[int, int, str],
        state: str,
        options: Sequence[str],
        *,
        chosen: str,
        ruled: str,
        reference: Reference = NO_REFERENCE,
    ) -> None:
        """Count a choice of the oracle.

        Args:
            name: agent, tick and trigger of the question; state: the agent's.
            ruled: what the rule chose.
        """
        agent, tick, trigger = name
        # A hash gives each question one of 64 groups: these are resampled, and not the questions.
        group = integer(_GROUPS, 0, agent, tick, Draw.BOOTSTRAP_GROUP)
        kind = self._kinds[trigger, state]
        kind.questions += 1
        kind.same += chosen == ruled
        kind.options.update((*options, chosen, ruled))
        kind.choices[ORACLE][group, chosen] += 1
        kind.choices[RULE][group, ruled] += 1
        kind.has_embedded &= reference.probabilities is not None
        for option, probability in zip(options, reference.probabilities or (), strict=kind.has_embedded):
            kind.choices[EMBEDDED][group, option] += round(probability * _ONE)

    def add_fallback(self, trigger: str, state: str) -> None:
        self._kinds[trigger, state].fallbacks += 1

    def divergences(self) -> list[Divergence]:
        """Return the divergences of every trigger and state, by name."""
        return [_divergence(*names, kind) for names, kind in sorted(self._kinds.items(), key=lambda each: each[0])]


def _divergence(trigger: str, state: str, kind: _Counted) -> Divergence:
    options = sorted(kind.options)
    tables = dict[str, Ints]()  # each decider's choices by group and option
    for who in (ORACLE, RULE, *([EMBEDDED] if kind.questions and kind.has_embedded else [])):
        tables[who] = np.zeros((_GROUPS, len(options)), dtype=np.int64)
        for (group, option), times in kind.choices[who].items():
            tables[who][group, options.index(option)] = times
    # Each decider's choices of the options, by expectation, and the oracle's distances and ratios from the others.
    counts = {who: (table.sum(axis=0) / (_ONE if who == EMBEDDED else 1)).tolist() for who, table in tables.items()}
    others = [who for who in tables if who != ORACLE and kind.questions]
    return Divergence(
        trigger=trigger,
        state=state,
        questions=kind.questions,
        fallbacks=kind.fallbacks,
        agreement=round(kind.same / kind.questions, _DIGITS) if kind.questions else 0.0,
        choices={
            who: {option: round(each, _DIGITS) for option, each in zip(options, found, strict=True)}
            for who, found in counts.items()
        },
        against={other: _distance(tables[ORACLE], tables[other]) for other in others},
        ratios={
            other: {
                option: _ratio(taken, kind.questions, expected)
                for option, taken, expected in zip(options, counts[ORACLE], counts[other], strict=True)
                if expected > 0.0
            }
            for other in others
        },
    )


def _ratio(taken: float, of: int, expected: float) -> Ratio:
    """Return the ratio of the taken to the expected number, which is above 0, among so many questions.

    The interval is that of the oracle's share by Wilson (1927): on the same questions, the expected rate is not random.
    """
    share, squared = taken / of, _STANDARD_ERRORS**2
    middle = (share + squared / (2.0 * of)) / (1.0 + squared / of)
    reach = _STANDARD_ERRORS / (1.0 + squared / of) * math.sqrt(share * (1.0 - share) / of + squared / (4.0 * of**2))
    low, high = (max(0.0, end) * of / expected for end in (middle - reach, middle + reach))
    return Ratio(
        ratio=round(taken / expected, _DIGITS), low=round(low if taken else 0.0, _DIGITS), high=round(high, _DIGITS)
    )


def _distance(chosen: Ints, other: Ints) -> Distance:
    """Return a divergence with its 95% interval, by a bootstrap (Efron & Tibshirani 1993) over groups."""
    bits = jensen_shannon(chosen.sum(axis=0), other.sum(axis=0))
    first, second = (np.einsum("rg,go->ro", _resamples(), table.astype(np.float64)) for table in (chosen, other))
    kept = first.sum(axis=1) > 0.0
    low, high = moved_interval(jensen_shannon_rows(first[kept], second[kept]), bits)
    return Distance(bits=round(bits, _DIGITS), low=round(low, _DIGITS), high=round(high, _DIGITS))


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


@cache
def _resamples() -> NDArray[np.float64]:
    """Return how often each group is drawn in each resample: shape (400, 64)."""
    table = np.zeros((_RESAMPLES, _GROUPS))
    for resample in range(_RESAMPLES):
        for index in range(_GROUPS):
            table[resample, integer(_GROUPS, 0, WORLD, resample, Draw.BOOTSTRAP, index)] += 1.0
    return table


def jensen_shannon(first: Sequence[float] | Ints, second: Sequence[float] | Ints) -> float:
    """Return the Jensen-Shannon divergence in bits of two lists of weights of the same options."""
    return float(jensen_shannon_rows(np.array([first], dtype=np.float64), np.array([second], dtype=np.float64))[0])


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
