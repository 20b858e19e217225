"""A replication: its file with the published figures of a study, and their comparison with the runs of an experiment.

A number is compatible if it lies in the prediction interval that the runs and the published noise make: the mean of
the runs, and Student's t times the standard deviation of (mean of the runs - published number). Without published noise
the number is taken for `worlds` runs of the same world, which vary as ours do. A direction is compatible if the 95%
interval of the mean, or of the mean difference, lies on its side of 0.

Source: Student (1908), Satterthwaite (1946), Tukey (1958). docs/decisions/010-evidence.md has the reasons.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Literal, TypeVar

import msgspec
import numpy as np
from msgspec import Meta

from prism.answers import figure
from prism.config.yaml_text import read_as
from prism.experiment.design import check_contrast, check_known, refusal
from prism.experiment.experiment_file import Experiment
from prism.experiment.hypothesis_tests import CONFIDENCE, spread

PUBLISHED = ("value", "range", "direction", "computed")  # the keys with what was published; each figure has one of them

Ends = tuple[float, float]
Text = Annotated[str, Meta(min_length=1, max_length=1000)]


class Published(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A published figure, and the number of the experiment that answers to it.

    Args:
        source: the table, figure or page that it is from.
        measure: a measure of the experiment, or one over its worlds.
        condition: the condition whose mean answers to it.
        contrast: two conditions instead: the difference is the first one minus the second.
        value: the published number.
        range: two ends between which it lies: where it was rounded, or read off a picture.
        direction: the sign of the mean or of the difference, where the study claims a sign and no number.
        computed: `module:function`, which computes from the data the number, or the number and its standard error.
        se: its standard error.
        interval: its 95% interval, instead of a standard error.
        worlds: the number of runs that it summarises, where no noise was published.
        fitted: whether the experiment was fitted to it; otherwise it is a prediction.
    """

    source: Text
    measure: str
    condition: str | None = None
    contrast: tuple[str, str] | None = None
    value: float | None = None
    range: Ends | None = None
    direction: Literal["greater", "less"] | None = None
    computed: str | None = None
    se: Annotated[float, Meta(ge=0.0)] | None = None
    interval: Ends | None = None
    worlds: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    fitted: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The condition, or the two conditions of the contrast."""
        return self.contrast or (self.condition or "",)


class Replication(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a replication's file.

    Args:
        claim: what the study found, in a sentence.
        study: the study: authors, year, title, journal.
        experiment: the file of the experiment, beside this one.
        differs: what is not as in the study, a sentence each.
        data: a file that is not part of PRISM; `data_from`: where it is found.
        over_worlds: `{measure: module:function}` of numbers that are worked out from all runs of a condition.
        figures: `{the figure in words: what was published}`.
        remarks: remarks on the results, such as the reason for a miss; a sentence each.
    """

    claim: Text
    study: Text
    experiment: Text
    differs: list[Text] = []
    data: Text | None = None
    data_from: str = ""
    over_worlds: dict[str, str] = {}
    figures: Annotated[dict[str, Published], Meta(min_length=1)]
    remarks: list[Text] = []


def read_replication(text: str, source: str) -> Replication:
    """Return the replication that a YAML text describes."""
    return read_as(text, source, Replication, _checked)[0]


def check_answers(replication: Replication, experiment: Experiment) -> None:
    """Refuse a figure for which the experiment has no number."""
    conditions = [each.name for each in experiment.conditions]
    measures = [*experiment.measures, *replication.over_worlds]
    if twice := [name for name in replication.over_worlds if name in experiment.measures]:
        raise refusal(f"over_worlds.{twice[0]}", "is the name of a measure of the experiment, too")
    for name, each in replication.figures.items():
        check_known(each.measure, measures, "measures", f"figures.{name}.measure")
        key = "condition" if each.contrast is None else "contrast"
        check_contrast(each.names, conditions, f"figures.{name}.{key}")


def _checked(replication: Replication) -> Replication:
    for name, each in replication.figures.items():
        key = f"figures.{name}"
        for names in (("condition", "contrast"), PUBLISHED):
            given = [one for one in names if getattr(each, one) is not None]
            if len(given) != 1:
                said = f"got {' and '.join(given)}" if given else "got none of them"
                raise refusal(key, f"expected {', '.join(names[:-1])} or {names[-1]}, {said}")
        if each.computed is not None and replication.data is None:
            raise refusal(f"{key}.computed", "is computed from the file at the key data, which is not given")
        noise = [one for one in ("se", "interval") if getattr(each, one) is not None]
        if len(noise) > 1 or (noise and (each.direction or each.computed)):
            raise refusal(f"{key}.{noise[0]}", "expected se or interval, and neither with direction or computed")
        if each.worlds > 1 and (noise or each.direction):
            raise refusal(f"{key}.worlds", "is for a number without published noise: no se, interval or direction")
        for end, ends in (("range", each.range), ("interval", each.interval)):
            if ends is not None and not ends[0] < ends[1]:
                raise refusal(f"{key}.{end}", f"expected two numbers, the lower one first, got {list(ends)}")
    return replication


NORMAL_95 = 1.959964  # half of the width of a 95% interval in standard errors, for intervals that were published
T = TypeVar("T")
Computed = tuple[float, float | None]  # a number that is computed from data, and its standard error


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """A published figure beside what the runs say."""

    figure: str  # the figure in words
    published: str  # what was published, in words
    here: float  # the mean over the runs, or the mean difference
    # low, high: the ends between which a compatible figure lies; of a direction, the 95% interval
    low: float
    high: float
    is_hit: bool  # whether the two are compatible
    why: str  # the reason of a miss; empty for a hit
    fitted: bool  # whether the experiment was fitted to the figure
    source: str  # the table, figure or page of the study


def pseudo_values(runs: Sequence[T], statistic: Callable[[Sequence[T]], float]) -> list[float]:
    """Return a value for each run, whose mean and spread are those of a number that is worked out from all runs."""
    count, whole = len(runs), float(statistic(runs))
    rest = (float(statistic([*runs[:left], *runs[left + 1 :]])) for left in range(count))
    return [count * whole - (count - 1) * each for each in rest]


def compare(name: str, asked: Published, values: Sequence[float], computed: Computed | None) -> Compared:
    """Return a published figure beside the values of the runs."""
    array = np.asarray(values, dtype=np.float64)
    mean, sd, count = float(array.mean()), spread(array), len(array)
    ours = sd**2 / count
    if asked.direction is not None:
        low, high = _ends(mean, ours, ours, count)
        is_hit = low > 0.0 if asked.direction == "greater" else high < 0.0
        why = "" if is_hit else "neither sign found" if low <= 0.0 <= high else "the opposite sign"
        published = f"{asked.direction} than 0"
    else:
        # The ends between which the published number lies, and its standard error; None if it has none.
        (first, last), error = asked.range or (math.nan, math.nan), asked.se
        if computed is not None:
            first, last, error = computed[0], *computed
        elif asked.value is not None:
            first = last = asked.value
        if asked.interval is not None:
            error = (asked.interval[1] - asked.interval[0]) / (2 * NORMAL_95)
        theirs = sd**2 / asked.worlds if error is None else error**2
        low, high = _ends(mean, ours + theirs, ours + theirs if error is None else ours, count)
        why = "too high" if low > last else "too low" if high < first else ""
        published = f"{first:,g}" if first == last else f"{first:,g} to {last:,g}"
        published += "" if error is None else f", se {figure(error, 2)}"
    return Compared(
        figure=name,
        published=published,
        here=mean,
        low=low,
        high=high,
        is_hit=not why,
        why=why,
        fitted=asked.fitted,
        source=asked.source,
    )


def _ends(mean: float, variance: float, of_runs: float, count: int) -> tuple[float, float]:
    """Return the ends of an interval around the mean.

    Args:
        variance: the whole of it; `of_runs`: the part that is estimated from the runs, so that it is uncertain.
    """
    from scipy.stats import t  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

    if variance == 0.0:
        return mean, mean
    freedom = np.inf if of_runs == 0.0 else (count - 1) * (variance / of_runs) ** 2
    reach = float(np.sqrt(variance) * t.ppf((1 + CONFIDENCE) / 2, freedom))
    return mean - reach, mean + reach
