"""Predictions of the outcomes of an experiment, and their scores once the outcomes are known.

An outcome is the mean of a measure over the seeds of a condition, or the mean difference of two conditions.

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
from msgspec import Meta

from prism.config.yaml_text import read_as
from prism.experiment.design import check_contrast, check_known, refusal
from prism.experiment.experiment_file import Experiment

SHARES: Final = (0.5, 0.9)  # the shares of the central intervals whose coverage is counted


class Prediction(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A prediction of one outcome: a normal distribution.

    Args:
        mean, sd: of the distribution.
        measure: a measure of the experiment.
        condition: the condition whose mean is predicted; None for a contrast.
        contrast: two conditions instead: the mean of the first one minus the mean of the second is predicted.
    """

    mean: float
    sd: float
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
        predictions: a list of predictions, each with measure, condition or contrast, and a distribution.
    """

    by: Annotated[str, Meta(min_length=1, max_length=200)]
    predictions: Annotated[tuple[Prediction, ...], Meta(min_length=1, max_length=10_000)]


def read_predictions(text: str, source: str, experiment: Experiment) -> Predictions:
    """Return the predictions of an experiment that a YAML text describes."""
    conditions = [each.name for each in experiment.conditions]

    def checked(found: Predictions) -> Predictions:
        for place, each in enumerate(found.predictions):
            key = f"predictions[{place}]"
            check_known(each.measure, list(experiment.measures), "measures", f"{key}.measure")
            if (each.condition is None) == (each.contrast is None):
                raise refusal(key, "expected a condition, or a contrast of two")
            check_contrast(each.names, conditions, f"{key}.{'condition' if each.condition else 'contrast'}")
            if not (math.isfinite(each.mean) and math.isfinite(each.sd) and each.sd > 0.0):
                raise refusal(key, "expected a finite mean, and a finite sd above 0")
            if any((each.measure, each.names) == (other.measure, other.names) for other in found.predictions[:place]):
                raise refusal(key, f"{each} is predicted twice")
        return found

    return read_as(text, source, Predictions, checked)[0]


class Score(msgspec.Struct, frozen=True, kw_only=True):
    intervals: tuple[tuple[float, float], ...]  # the central intervals, with the shares in `SHARES`
    holds: tuple[bool, ...]  # whether each of them holds the number
    crps: float  # in the unit of the number


class ScoredPrediction(msgspec.Struct, frozen=True, kw_only=True):
    outcome: str  # what was predicted, in words
    observed: float | None = None  # the outcome; None if it is not known, and then there is no score
    score: Score | None = None


class PredictionScores(msgspec.Struct, frozen=True, kw_only=True):
    """The predictions of an experiment beside its outcomes."""

    seal: str  # the hash of the sealed file
    # by, at: the author, and the time of the sealing, as the file says
    by: str
    at: str
    text: str  # the result in sentences
    notes: list[str]  # reasons to trust the result less, a sentence each
    scores: list[ScoredPrediction]


def scored(forecast: Prediction, value: float) -> Score:
    from scipy.stats import norm  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

    mean, sd, apart = forecast.mean, forecast.sd, abs(value - forecast.mean)
    ends, z = [float(norm.ppf((1.0 + share) / 2)) * sd for share in SHARES], apart / sd
    return Score(
        intervals=tuple((mean - end, mean + end) for end in ends),
        holds=tuple(apart <= end for end in ends),
        crps=sd * (z * (2 * float(norm.cdf(z)) - 1) + 2 * float(norm.pdf(z)) - 1 / math.sqrt(math.pi)),
    )


Figures = Mapping[tuple[str, tuple[str, ...]], Sequence[float]]
"""`{(measure, the condition or the two of a contrast): the values whose mean is the outcome}`."""


def scored_predictions(predictions: Predictions, figures: Figures) -> list[ScoredPrediction]:
    """Return each prediction beside its outcome, with its score."""
    found = []
    for each in predictions.predictions:
        values = figures.get((each.measure, each.names), ())
        observed = fmean(values) if values else None
        score = None if observed is None else scored(each, observed)
        found.append(ScoredPrediction(outcome=str(each), observed=observed, score=score))
    return found


def scores_in_words(scores: Sequence[ScoredPrediction]) -> str:
    """Return the coverage in a sentence."""
    found = [each.score for each in scores if each.score is not None]
    if not found:
        return "None of the predicted outcomes is known."
    held = [sum(score.holds[place] for score in found) for place in range(len(SHARES))]
    first, *others = (f"{count:,} of {len(found):,}" for count in held)
    rest = (f", {count} in their {share:.0%} interval" for count, share in zip(others, SHARES[1:], strict=True))
    return f"{first} outcomes lie in their {SHARES[0]:.0%} interval{''.join(rest)}."
