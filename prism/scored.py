"""The probabilities of a decider beside what people did: log loss, rates, and calibration.

The log loss is the mean surprise at what was done, -log2 of its probability, in bits (Good 1952). It is lowest for the
true probabilities, so of two deciders the one with the lower loss is nearer to the people. Beside it stands the loss of
base rates, which give every choice the shares of all people: a decider without a lower loss knows nothing about the
differences between people.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from prism.divergence import BINS, STANDARD_ERRORS, Ratio, ratio_of

LEAST: Final = 1e-4
"""The least probability that counts: one of 0 would be an infinite surprise."""
JEFFREYS: Final = 0.5
"""Added to the count of each option where probabilities are shares of a few answers: Jeffreys (1946)."""
_DIGITS: Final = 4


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A choice that somebody made, and what a decider says of it.

    Args:
        options: that there were; probabilities: the decider's, in their order.
        did: one of the options.
        relevance: of the post, 0 to 1; None if there is none.
        samples: the answers that the probabilities are shares of; 0 for probabilities.
    """

    options: tuple[str, ...]
    probabilities: tuple[float, ...]
    did: str
    relevance: float | None = None
    samples: int = 0

    @property
    def usable(self) -> tuple[float, ...]:
        """The probabilities, none of which is 0."""
        added = JEFFREYS / self.samples if self.samples else LEAST
        total = sum(self.probabilities) + added * len(self.probabilities)
        return tuple((each + added) / total for each in self.probabilities)


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """The rate of an option among people, and the rate that the decider expects.

    Args:
        relevance: the range of relevance, such as `0.2 to 0.4`; empty for all choices.
        offered: choices that had the option; done: those that took it; expected: the sum of its probabilities.
        ratio: done over expected, with its 95% interval.
    """

    option: str
    relevance: str
    offered: int
    done: int
    expected: float
    ratio: Ratio


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """The options to which the decider gave a probability in one range.

    Args:
        low, high: the range; options: how many there were; expected, done: shares of them.
    """

    low: float
    high: float
    options: int
    expected: float
    done: float


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """A decider beside what people did.

    Args:
        choices: that were compared.
        log_loss: in bits; low, high: its 95% interval, by the standard error of the mean.
        base_rates, uniform: the log loss of base rates, and of equal probabilities.
        rates: of each option, over all choices and by relevance.
        calibration: by fifths of probability; error: the mean distance of expected and done shares over them.
    """

    choices: int
    log_loss: float
    low: float
    high: float
    base_rates: float
    uniform: float
    error: float
    rates: list[Rate]
    calibration: list[Level]


def scored(choices: Sequence[Choice]) -> Score:
    """Return the score of a decider.

    Raises:
        ValueError: there is no choice.
    """
    if not choices:
        raise ValueError("expected at least one choice, got none")
    count = len(choices)
    losses = [-math.log2(each.usable[each.options.index(each.did)]) for each in choices]
    mean = math.fsum(losses) / count
    error = math.sqrt(math.fsum((each - mean) ** 2 for each in losses) / max(1, count - 1) / count)
    calibration = _calibration(choices)
    options = sum(level.options for level in calibration)
    return Score(
        choices=count,
        log_loss=round(mean, _DIGITS),
        low=round(max(0.0, mean - STANDARD_ERRORS * error), _DIGITS),
        high=round(mean + STANDARD_ERRORS * error, _DIGITS),
        base_rates=round(_base_rates(choices), _DIGITS),
        uniform=round(math.fsum(math.log2(len(each.options)) for each in choices) / count, _DIGITS),
        error=round(sum(level.options * abs(level.expected - level.done) for level in calibration) / options, _DIGITS),
        rates=_rates(choices),
        calibration=calibration,
    )


def _base_rates(choices: Sequence[Choice]) -> float:
    """Return the log loss of the shares of the chosen options, in each set of options by itself."""
    kinds = Counter(each.options for each in choices)
    done = Counter((each.options, each.did) for each in choices)
    return -math.fsum(times * math.log2(times / kinds[options]) for (options, _), times in done.items()) / len(choices)


def _rates(choices: Sequence[Choice]) -> list[Rate]:
    found = []
    names = list(dict.fromkeys(option for each in choices for option in each.options))
    parts = {"": list(choices)}
    for each in choices:
        if each.relevance is not None:
            number = min(BINS - 1, int(each.relevance * BINS))
            parts.setdefault(f"{number / BINS:g} to {(number + 1) / BINS:g}", []).append(each)
    for part in ["", *sorted(parts.keys() - {""})]:
        for name in names:
            having = [each for each in parts[part] if name in each.options]
            expected = math.fsum(each.usable[each.options.index(name)] for each in having)
            if not having:
                continue
            done = sum(each.did == name for each in having)
            ratio = ratio_of(done, len(having), expected)
            rate = Rate(option=name, relevance=part, offered=len(having), done=done, expected=expected, ratio=ratio)
            found.append(rate)
    return found


def _calibration(choices: Sequence[Choice]) -> list[Level]:
    levels: dict[int, list[tuple[float, bool]]] = {}
    for each in choices:
        for option, probability in zip(each.options, each.usable, strict=True):
            levels.setdefault(min(BINS - 1, int(probability * BINS)), []).append((probability, option == each.did))
    return [
        Level(
            low=number / BINS,
            high=(number + 1) / BINS,
            options=len(pairs),
            expected=round(math.fsum(probability for probability, _ in pairs) / len(pairs), _DIGITS),
            done=round(sum(is_done for _, is_done in pairs) / len(pairs), _DIGITS),
        )
        for number, pairs in sorted(levels.items())
    ]
