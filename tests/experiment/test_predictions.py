"""Files of predictions, and scores of forecasts."""

from statistics import NormalDist

import numpy as np
import pytest

from prism.errors import ConfigError
from prism.experiment.experiment_file import read_experiment
from prism.experiment.predictions import Prediction, read_predictions, scored, scored_predictions, scores_in_words
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


def test_predictions_are_scored_where_the_outcome_is_known() -> None:
    text = (
        f"{HEAD}  - {{measure: likes, condition: b, mean: 20, sd: 1}}\n"
        "  - {measure: likes, contrast: [b, a], mean: 0, sd: 1}\n"
    )
    predictions = read_predictions(text, "g.yaml", EXPERIMENT)
    good, bad = scored_predictions(predictions, {("likes", ("b",)): [19.0, 21.0], ("likes", ("b", "a")): [10.0]})
    assert good.score is not None
    assert bad.score is not None
    assert (good.observed, good.score.holds, bad.score.holds) == (20.0, (True, True), (False, False))
    assert good.score.crps < bad.score.crps
    assert scores_in_words([good, bad]) == "1 of 2 outcomes lie in their 50% interval, 1 of 2 in their 90% interval."
    lost = scored_predictions(predictions, {})
    assert [each.score for each in lost] == [None] * 2
    assert scores_in_words(lost) == "None of the predicted outcomes is known."


NORMAL = Prediction(mean=12.0, sd=3.0, measure="likes")
TRUTH = NormalDist(12.0, 3.0)


@catalogue("value", [3.0, 11.5, 33.0])
def test_a_score_is_the_integral_of_the_distribution(value: float) -> None:
    grid = np.linspace(-30.0, 70.0, 1001)
    heights = [(TRUTH.cdf(float(each)) - (each >= value)) ** 2 for each in grid]
    score = scored(NORMAL, value)
    assert score.crps == pytest.approx(float(np.trapezoid(heights, grid)), abs=0.06)
