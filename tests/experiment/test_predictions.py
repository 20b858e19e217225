"""Files of predictions: what they mean, what is wrong with a wrong one, and predictions beside their outcomes."""

from __future__ import annotations

import pytest

from prism.errors import ConfigError
from prism.experiment import read_experiment, read_predictions, scored_predictions, scores_in_words
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
