"""Predictions of the outcomes of an experiment, and their scores once the outcomes are known.

An outcome is the mean of a measure over the seeds of a condition, or the mean difference of two conditions. Beside each
score stands the score of a naive forecast, which is given the outcomes of one condition and predicts the same for the
others.

The score is the continuous ranked probability score (CRPS): the integral of the squared difference between the
distribution function and a step at the number, in the unit of the number (Matheson & Winkler 1976). Less is better,
and it is proper: on average the distribution from which the number is drawn has the lowest score, so nobody gains by
stating another one than the believed one (Gneiting & Raftery 2007).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Annotated, Final

import msgspec
import numpy as np
from msgspec import Meta
from msgspec.structs import replace

from prism.config.yaml_text import read_as
from prism.errors import SettingError
from prism.experiment.design import check_contrast, check_known
from prism.experiment.experiment_file import Experiment
from prism.experiment.intervals import spread

SHARES: Final = (0.5, 0.9)  # the shares of the central intervals whose coverage is counted


class Forecast(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A normal distribution of one number; with an sd of 0 it is a single number."""

    mean: float
    sd: float


class Score(msgspec.Struct, frozen=True, kw_only=True):
    intervals: tuple[tuple[float, float], ...]  # the central intervals, with the shares in `SHARES`
    holds: tuple[bool, ...]  # whether each of them holds the number
    crps: float  # in the unit of the number


def scored(forecast: Forecast, value: float) -> Score:
    from scipy.stats import norm  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

    mean, sd, apart = forecast.mean, forecast.sd, abs(value - forecast.mean)
    ends = [float(norm.ppf((1.0 + share) / 2)) * sd for share in SHARES]
    z = apart / sd if sd else 0.0
    crps = sd * (z * (2 * float(norm.cdf(z)) - 1) + 2 * float(norm.pdf(z)) - 1 / math.sqrt(math.pi))
    return Score(
        intervals=tuple((mean - end, mean + end) for end in ends),
        holds=tuple(apart <= end for end in ends),
        crps=crps if sd else apart,
    )


def naive(values: Sequence[float], around: float | None = None) -> Forecast:
    """Return the forecast that the mean of as many other values is like these.

    It is as wide as Student's t in the middle: both give the same probability to one standard deviation.

    Args:
        around: its centre, if that is not the mean of the values.
    """
    centre, count = fmean(values) if around is None else around, len(values)
    sd = spread(np.asarray(values, dtype=np.float64))
    if not sd:
        return Forecast(mean=centre, sd=0.0)
    from scipy.stats import norm, t  # noqa: PLC0415

    return Forecast(mean=centre, sd=sd * math.sqrt(2 / count) * float(t.ppf(norm.cdf(1.0), count - 1)))


class Prediction(Forecast, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A prediction of one outcome.

    Args:
        measure: a measure of the experiment.
        condition: the condition whose mean is predicted; None for a contrast.
        contrast: two conditions instead: the mean of the first one minus the mean of the second is predicted.
    """

    measure: str
    condition: str | None = None
    contrast: tuple[str, str] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return self.contrast or (self.condition or "",)

    def __str__(self) -> str:
        return f"{self.measure}: {' minus '.join(self.names)}"


class Predictions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of predictions.

    Args:
        by: the author's name.
        reference: the condition whose outcomes the naive forecast is given; if empty, the first one of the experiment.
        predictions: a list of predictions, each with measure, condition or contrast, and a distribution.
    """

    by: Annotated[str, Meta(min_length=1, max_length=200)]
    reference: str = ""
    predictions: Annotated[tuple[Prediction, ...], Meta(min_length=1, max_length=10_000)]


def read_predictions(text: str, source: str, experiment: Experiment) -> Predictions:
    """Return the predictions of an experiment that a YAML text describes."""
    conditions = [each.name for each in experiment.conditions]

    def checked(found: Predictions) -> Predictions:
        found = replace(found, reference=found.reference or conditions[0])
        check_known(found.reference, conditions, "conditions", "reference")
        for place, each in enumerate(found.predictions):
            key = f"predictions[{place}]"
            check_known(each.measure, list(experiment.measures), "measures", f"{key}.measure")
            if (each.condition is None) == (each.contrast is None):
                raise SettingError("predictions", "expected a condition, or a contrast of two", keys=[key])
            check_contrast(each.names, conditions, f"{key}.{'condition' if each.condition else 'contrast'}")
            if not (math.isfinite(each.mean) and math.isfinite(each.sd) and each.sd > 0.0):
                raise SettingError("predictions", "expected a finite mean, and a finite sd above 0", keys=[key])
            if any((each.measure, each.names) == (other.measure, other.names) for other in found.predictions[:place]):
                raise SettingError("predictions", f"{each} is predicted twice", keys=[key])
        return found

    return read_as(text, source, Predictions, checked)[0]


class ScoredPrediction(msgspec.Struct, frozen=True, kw_only=True):
    outcome: str  # what was predicted, in words
    observed: float | None = None  # the outcome; None if it is not known, and then there are no scores
    score: Score | None = None
    # the scores of the naive forecast; None for an outcome of the condition that it is given
    reference: Score | None = None


class PredictionScores(msgspec.Struct, frozen=True, kw_only=True):
    """The predictions of an experiment beside its outcomes."""

    seal: str  # the hash of the sealed file
    # by, at: the author, and the time of the sealing, as the file says
    by: str
    at: str
    text: str  # the result in sentences
    notes: list[str]  # reasons to trust the result less, a sentence each
    scores: list[ScoredPrediction]


Figures = Mapping[tuple[str, tuple[str, ...]], Sequence[float]]
"""`{(measure, the condition or the two of a contrast): the values whose mean is the outcome}`."""


def scored_predictions(predictions: Predictions, figures: Figures) -> list[ScoredPrediction]:
    """Return each prediction beside its outcome, with the scores of both forecasts."""
    found = []
    for each in predictions.predictions:
        values = figures.get((each.measure, each.names), ())
        if not values:
            found.append(ScoredPrediction(outcome=str(each)))
            continue
        known, observed = figures.get((each.measure, (predictions.reference,)), ()), fmean(values)
        has_reference = known and each.condition != predictions.reference
        simple = naive(known, 0.0 if each.contrast else None) if has_reference else None
        score, reference = scored(each, observed), None if simple is None else scored(simple, observed)
        found.append(ScoredPrediction(outcome=str(each), observed=observed, score=score, reference=reference))
    return found


def scores_in_words(scores: Sequence[ScoredPrediction], reference: str) -> str:
    """Return coverage and scores in sentences."""
    found = [(each.score, each.reference) for each in scores if each.score is not None]
    if not found:
        return "None of the predicted outcomes is known."
    held = [sum(score.holds[place] for score, _ in found) for place in range(len(SHARES))]
    first, *others = (
        f"{count:,} of {len(found):,}{{}} in their {share:.0%} interval"
        for count, share in zip(held, SHARES, strict=True)
    )
    counted = ", ".join([first.format(" outcomes lie"), *(each.format("") for each in others)])
    pairs = [(score, other) for score, other in found if other is not None]
    if not pairs:
        return f"{counted}."
    nearer = sum(score.crps < other.crps for score, other in pairs)
    simple = f"the naive forecast that all is as under {reference}"
    return f"{counted}. By CRPS {nearer:,} of {len(pairs):,} are better than {simple}."
