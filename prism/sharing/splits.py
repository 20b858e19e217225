"""Splits: an archetype whose audits differ more than they may is divided along the field that explains most."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from prism.sharing.audit import Audited, divergences, mean_and_error
from prism.sharing.fields import Fields, Value, in_words
from prism.sharing.records import Judged

FEWEST: Final = 10
"""The fewest audits from which a split may follow."""
FEWEST_IN_PART: Final = 4
"""The fewest judgements of each part."""
SURE: Final = 1.6448536269514722
"""Standard errors by which the mean divergence of audits must exceed the tolerance: wrong in 5% of looks at most.

An archetype is looked at again whenever its judgements have grown by a quarter. So one whose error is just the
tolerance is split more often than that, which costs calls, and makes no error larger.
"""
EXPLAINED: Final = 0.05
"""The share of what the judgements differ by that a split must explain, at least."""
CHANCE: Final = 0.05
"""The probability with which one of all splits that are tried may explain so much by chance."""
TWO: Final = 2
"""Values either of which makes the same split."""
MOST_VALUES: Final = 16
"""The most values of a text at which it may be split: the most common ones."""
QUANTILES: Final = (0.25, 0.5, 0.75)
"""The quantiles of a number's values at which it may be split."""


class Split(NamedTuple):
    """A split of an archetype in two parts.

    Args:
        place: the number of the field; `name`: its name.
        at: a number: values up to it are in the first part; or else the value that is in the first part.
    """

    place: int
    name: str
    at: Value

    def side(self, values: Sequence[Value]) -> int:
        """Return the part of a question with these values: 0 or 1."""
        value = values[self.place]
        if _is_number(self.at) and _is_number(value):
            return 0 if value <= self.at else 1  # type: ignore[operator]  # both are numbers
        return 0 if value == self.at else 1

    def words(self, side: int) -> str:
        """Return a part in words: `agent.openness <= 0.25`."""
        if _is_number(self.at):
            return f"{self.name} {'<=' if side == 0 else '>'} {self.at:.6g}"
        return f"{self.name} {'is' if side == 0 else 'is not'} {in_words(self.at)}"


def find_split(records: Sequence[Judged], fields: Fields, tolerance: float) -> Split | None:
    """Return the split that explains most of what the audits differ by; None if they are near enough to each other.

    Args:
        records: judgements of one archetype that count.
        tolerance: bits that the mean divergence of audits may have.
    """
    if sum(record.is_audit for record in records) < FEWEST or not _is_too_far(records, tolerance):
        return None
    whole = _entropy(records)
    best: tuple[float, Split] | None = None
    spread = whole - math.fsum(_uncertainty(record.probabilities) for record in records) / len(records)
    tried = list(_candidates(records, fields))
    for split in tried:
        parts: tuple[list[Judged], list[Judged]] = ([], [])
        for record in records:
            parts[split.side(record.values)].append(record)
        if min(map(len, parts)) < FEWEST_IN_PART:
            continue
        gain = whole - math.fsum(len(part) * _entropy(part) for part in parts) / len(records)
        if best is None or gain > best[0]:
            best = gain, split
    if best is None:
        return None
    # The share that a split explains by chance is about a chi-squared with one degree of freedom, divided by n, and
    # that exceeds 2 ln(1 / p) with a probability below p. All that are tried share the probability.
    chance = 2.0 * math.log(len(tried) / CHANCE) / len(records)
    return best[1] if best[0] >= max(EXPLAINED, chance) * spread else None


def _is_too_far(records: Sequence[Judged], tolerance: float) -> bool:
    audits = [Audited.of(record) for record in records if record.is_audit]
    mean, error = mean_and_error(divergences(audits).tolist(), [audit.weight for audit in audits])
    return mean - SURE * error > tolerance


def _candidates(records: Sequence[Judged], fields: Fields) -> Iterator[Split]:
    """Yield the splits that come into question, in the order of fields."""
    for place, name in enumerate(fields.names):
        if name not in fields.stated:
            continue
        values = [record.values[place] for record in records]
        numbers = sorted(value for value in values if isinstance(value, int | float) and not isinstance(value, bool))
        if len(numbers) == len(values):
            for at in sorted({numbers[int(share * len(numbers))] for share in QUANTILES}):
                if at < numbers[-1]:
                    yield Split(place, name, at)
        else:
            counts = Counter(values)
            found = sorted(counts, key=lambda value: (-counts[value], str(value)))
            for value in found[: 1 if len(found) == TWO else MOST_VALUES]:
                yield Split(place, name, value)


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _entropy(records: Sequence[Judged]) -> float:
    """Return the entropy in bits of the mean of these distributions."""
    count = len(records)
    columns = zip(*(record.probabilities for record in records), strict=True)
    return _uncertainty([math.fsum(shares) / count for shares in columns])


def _uncertainty(probabilities: Sequence[float]) -> float:
    return -math.fsum(each * math.log2(each) for each in probabilities if each > 0.0)
