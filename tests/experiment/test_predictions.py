"""Files of predictions, and scores of forecasts."""

from statistics import NormalDist, fmean

import numpy as np
import pytest

from prism.errors import ConfigError
from prism.experiment import read_experiment, read_predictions, scored_predictions, scores_in_words
from prism.experiment.predictions import Forecast, naive, scored
from tests.catalogue import catalogue

EXPERIMENT = read_experiment(
    "question: Does it matter?\nbase: base.yaml\nseeds: 3\nmeasures: {likes: likes}\n"
    "design: {conditions: {a: {feed.size: 3}, b: {feed.size: 5}}}\n",
    "e.yaml",
)
HEAD = "by: A. Author\npredictions:\n"


@catalogue(
    ("line", "problem"),
    [
        ("{measure: like, condition: a, mean: 1, sd: 1}", "no 'like' among the measures: did you mean likes?"),
        ("{measure: likes, condition: c, mean: 1, sd: 1}", "no 'c' among the conditions: expected one of a, b"),
        ("{measure: likes, mean: 1, sd: 1}", "expected a condition, or a contrast of two"),
        ("{measure: likes, contrast: [a, a], mean: 1, sd: 1}", "expected two different conditions"),
        ("{measure: likes, condition: a, mean: 1}", "predictions[1].sd: is missing"),
        ("{measure: likes, condition: a, mean: 1, sd: 0}", "expected a finite mean, and a finite sd above 0"),
        ("{measure: likes, condition: a, mean: x, sd: 1}", "expected float, got 'x'"),
        ("{measure: likes, condition: b, mean: 1, sd: 1}", "likes: b is predicted twice"),
        ("{condition: a, mean: 1, sd: 1}", "predictions[1].measure: is missing; expected a measure of the experiment"),
    ],
)
def test_a_wrong_prediction_is_named_with_its_line(line: str, problem: str) -> None:
    text = f"{HEAD}  - {{measure: likes, condition: b, mean: 1, sd: 2}}\n  - {line}\n"
    with pytest.raises(ConfigError) as error:
        read_predictions(text, "guess.yaml", EXPERIMENT)
    assert str(error.value).startswith("guess.yaml:4: predictions[1]")
    assert problem in str(error.value)


def test_predictions_are_scored_beside_a_forecast_that_knows_the_reference() -> None:
    text = (
        f"{HEAD}  - {{measure: likes, condition: a, mean: 10, sd: 1}}\n"
        "  - {measure: likes, condition: b, mean: 20, sd: 1}\n"
        "  - {measure: likes, contrast: [b, a], mean: 0, sd: 1}\n"
    )
    predictions = read_predictions(text, "g.yaml", EXPERIMENT)
    figures = {
        ("likes", ("a",)): [9.0, 10.0, 11.0],
        ("likes", ("b",)): [19.0, 20.0, 21.0],
        ("likes", ("b", "a")): [10.0],
    }
    scores = scored_predictions(predictions, figures)
    known, good, bad = scores
    assert known.reference is None, "the naive forecast is given this outcome"
    assert good.score is not None
    assert good.reference is not None
    assert good.score.crps < good.reference.crps
    assert bad.score is not None
    assert bad.score.holds == (False, False)
    said = scores_in_words(scores, predictions.reference)
    assert said.startswith(
        "2 of 3 outcomes lie in their 50% interval, 2 of 3 in their 90% interval. By CRPS 1 of 2 are"
    )
    lost = scored_predictions(predictions, {})
    assert [each.score for each in lost] == [None] * 3
    assert scores_in_words(lost, "a") == "None of the predicted outcomes is known."


NORMAL = Forecast(mean=12.0, sd=3.0)
TRUTH = NormalDist(12.0, 3.0)


@catalogue("value", [3.0, 11.5, 33.0])
def test_a_score_is_the_integral_of_the_distribution(value: float) -> None:
    grid = np.linspace(-30.0, 70.0, 1001)
    heights = [(TRUTH.cdf(float(each)) - (each >= value)) ** 2 for each in grid]
    score = scored(NORMAL, value)
    assert score.crps == pytest.approx(float(np.trapezoid(heights, grid)), abs=0.06)


def test_a_naive_forecast_holds_the_mean_of_as_many_other_values_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(2)
    pairs = [(random.normal(size=6), random.normal(size=6).mean()) for _ in range(150)]
    held = [scored(naive(list(known)), float(new)).holds for known, new in pairs]
    assert fmean(half for half, _ in held) == pytest.approx(0.5, abs=0.1)
    assert fmean(most for _, most in held) == pytest.approx(0.9, abs=0.05)
    assert scored(naive([2.0, 2.0]), 3.0).crps == 1.0
