"""Experiments: their files, the conditions of a design, and the comparison of conditions over seeds."""

from prism.experiment.answer import (
    FEW_SEEDS,
    Answer,
    Side,
    answered,
    condition_in_words,
    described_by,
)
from prism.experiment.design import SAMPLED, Condition, Design, Range, conditions_for, conditions_of
from prism.experiment.effects import Effect, Effects, effects_on
from prism.experiment.experiment_file import Experiment, SharedOracle, Threshold, key_of_setting, read_experiment
from prism.experiment.hypothesis_tests import (
    UNPAIRED,
    Comparison,
    Hypothesis,
    compared,
    corrected,
    holm,
    p_value,
    smallest_p,
)
from prism.experiment.intervals import Interval, described
from prism.experiment.power import effect_found
from prism.experiment.predictions import (
    SHARES,
    Predictions,
    PredictionScores,
    ScoredPrediction,
    read_predictions,
    scored_predictions,
    scores_in_words,
)
from prism.experiment.replication import (
    Compared,
    Published,
    Replication,
    check_answers,
    compare,
    pseudo_values,
    read_replication,
)

__all__ = [
    "FEW_SEEDS",
    "SAMPLED",
    "SHARES",
    "UNPAIRED",
    "Answer",
    "Compared",
    "Comparison",
    "Condition",
    "Design",
    "Effect",
    "Effects",
    "Experiment",
    "Hypothesis",
    "Interval",
    "PredictionScores",
    "Predictions",
    "Published",
    "Range",
    "Replication",
    "ScoredPrediction",
    "SharedOracle",
    "Side",
    "Threshold",
    "answered",
    "check_answers",
    "compare",
    "compared",
    "condition_in_words",
    "conditions_for",
    "conditions_of",
    "corrected",
    "described",
    "described_by",
    "effect_found",
    "effects_on",
    "holm",
    "key_of_setting",
    "p_value",
    "pseudo_values",
    "read_experiment",
    "read_predictions",
    "read_replication",
    "scored_predictions",
    "scores_in_words",
    "smallest_p",
]
