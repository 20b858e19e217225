"""Sequential seeds: as many as it takes until the interval of a measure is narrow enough, and no more than a limit.

The rule looks at the width of intervals and never at the sign of a difference or at a p value, so it favours no
hypothesis. Source: Chow and Robbins (1965); Kelley, Darku and Chattopadhyay (2018) on accuracy in place of power.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from prism.errors import SettingError
from prism.experiment.design import check_contrast
from prism.experiment.intervals import Interval, described

LEAST, MOST, STEP = 10, 200, 10
SEEDS_MAX = 100_000
LEAST_MIN = 5  # the fewest seeds before the first look: an interval of three or four is narrow by chance too often


class Sequential(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rule of sequential seeds, as the file has it.

    Args:
        measure: the measure whose intervals are looked at.
        half_width: half of the width that is narrow enough, in the unit of the measure.
        relative: the same as a share of the mean's size; of a contrast, of the second condition's mean.
        contrast: two conditions, whose difference is looked at; None for the means of all conditions.
        least: the seeds before the first look.
        most: the seeds after which it ends in any case.
        step: the seeds between two looks.
    """

    measure: str
    half_width: Annotated[float, Meta(gt=0.0)] | None = None
    relative: Annotated[float, Meta(gt=0.0)] | None = None
    contrast: tuple[str, str] | None = None
    least: Annotated[int, Meta(ge=LEAST_MIN, le=SEEDS_MAX)] = LEAST
    most: Annotated[int, Meta(ge=LEAST_MIN, le=SEEDS_MAX)] = MOST
    step: Annotated[int, Meta(ge=1, le=SEEDS_MAX)] = STEP

    def __str__(self) -> str:
        of = "" if self.contrast is None else f", {self.contrast[0]} minus {self.contrast[1]}"
        share = f"{self.relative or 0:.3g} of the mean" if self.half_width is None else f"{self.half_width:g}"
        return f"until the 95% interval of {self.measure}{of} has a half-width of at most {share}"

    def counts(self) -> list[int]:
        """Return the numbers of seeds at which it looks."""
        return [*range(self.least, self.most, self.step), self.most]


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    reason: Literal["narrow", "most", "failed"]  # `narrow`, `most` seeds were run, or cells `failed`
    seeds: int  # that were run of each condition
    looks: int  # at the intervals
    widest: str  # the condition, or the difference, whose interval is the widest relative to the wanted width
    half_width: float | None  # half of the width of its interval; None if it has none
    wanted: float  # half of the width that was narrow enough

    def __str__(self) -> str:
        reasons = {
            "narrow": "every interval is narrow enough",
            "most": "the limit is reached, and an interval is still too wide",
            "failed": "cells have no result",
        }
        width = "cannot be worked out" if self.half_width is None else f"has a half-width of {self.half_width:.4g}"
        looks = "1 look" if self.looks == 1 else f"{self.looks:,} looks"
        end = f"stopped at {self.seeds:,} seeds after {looks}: {reasons[self.reason]}"
        return f"{end}; the widest interval, of {self.widest}, {width}, and {self.wanted:.4g} was wanted"


def check_sequential(rule: Sequential, conditions: Sequence[str]) -> None:
    """Refuse a rule whose parts do not go together."""
    if (rule.half_width is None) == (rule.relative is None):
        raise SettingError("seeds", "expected half_width or relative", keys=["seeds"])
    if rule.most < rule.least:
        problem = f"expected at least {rule.least:,}, the key least, got {rule.most:,}"
        raise SettingError("seeds", problem, keys=["seeds.most"])
    check_contrast(rule.contrast or (), conditions, "seeds.contrast")


def stopped(
    rule: Sequential, values: Mapping[str, Sequence[float]], seeds: int, *, has_failed: bool = False
) -> Stopped | None:
    """Return the end if the rule stops here, or None to go on.

    An interval that cannot be worked out, because all values are equal, is not narrow: other seeds may give other
    values.

    Args:
        values: `{condition: its values}`, of a contrast's two conditions under the same seeds in the same order.
        seeds: that were run of each condition.
        has_failed: whether a cell has no result. Then it stops: an interval of the remaining values would decide by
            chance.
    """
    looked = []
    for name, over, mean in _intervals(rule, values):
        half = None if over.low is None or over.high is None else (over.high - over.low) / 2
        wanted = (rule.relative or 0.0) * abs(mean) if rule.half_width is None else rule.half_width
        times_too_wide = math.inf if half is None or wanted == 0.0 else half / wanted
        looked.append((times_too_wide, name, half, wanted))
    _, name, half, wanted = max(looked, key=lambda each: each[0])
    reason: Literal["narrow", "most", "failed"]
    if has_failed:
        reason = "failed"
    elif half is not None and half <= wanted:
        reason = "narrow"
    elif seeds >= rule.most:
        reason = "most"
    else:
        return None
    looks = rule.counts().index(seeds) + 1
    return Stopped(reason=reason, seeds=seeds, looks=looks, widest=name, half_width=half, wanted=wanted)


def _intervals(rule: Sequential, values: Mapping[str, Sequence[float]]) -> list[tuple[str, Interval, float]]:
    """Return what is looked at: its name, its interval, and the mean that `relative` is a share of."""
    if rule.contrast is None:
        every = {name: described(found) for name, found in values.items() if found}
        return [(name, over, over.mean) for name, over in every.items()] or [("all", _NONE, 0.0)]
    first, second = (values.get(name, ()) for name in rule.contrast)
    name = f"{rule.contrast[0]} minus {rule.contrast[1]}"
    differences = [one - other for one, other in zip(first, second, strict=True)]
    if not differences:
        return [(name, _NONE, 0.0)]
    return [(name, described(differences), math.fsum(second) / len(second))]


_NONE = Interval(mean=0.0, low=None, high=None, sd=0.0, count=0)
