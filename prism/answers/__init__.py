"""Results in sentences: the words for measures, for a run, and for what limits a result."""

from prism.answers.measure_words import (
    INDICATORS,
    RATES,
    MeasureWords,
    figure,
    moment_in_words,
    named,
    setting_in_words,
    words_of,
)
from prism.answers.run_words import MadeOf, caveats, run_in_words

__all__ = [
    "INDICATORS",
    "RATES",
    "MadeOf",
    "MeasureWords",
    "caveats",
    "figure",
    "moment_in_words",
    "named",
    "run_in_words",
    "setting_in_words",
    "words_of",
]
