"""Predictions of the outcomes of an experiment, and their scores once the outcomes are known.

An outcome is the mean of a measure over the seeds of a condition, or the mean difference of two conditions. Beside each
score stands the score of a naive forecast, which is given the outcomes of one condition and predicts the same for the
others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from prism.answers import figure
from prism.config.yaml_text import read_as
from prism.errors import SettingError
from prism.experiment.design import check_contrast, check_known
from prism.experiment.experiment_file import Experiment
from prism.experiment.scoring import SHARES, Forecast, Score, naive, scored


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
    """Return coverage, log scores and ranked probability scores in sentences."""
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
    gains = [
        other.log_score - score.log_score
        for score, other in pairs
        if score.log_score is not None and other.log_score is not None
    ]
    bits = ", which is a single number here, so there are no bits to compare"
    if gains:
        gain = fmean(gains)
        bits = f", and their log score is {figure(abs(gain))} bits {'better' if gain >= 0 else 'worse'} on average"
    return f"{counted}. By CRPS {nearer:,} of {len(pairs):,} are better than {simple}{bits}."
