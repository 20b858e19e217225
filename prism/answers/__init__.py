"""Results in sentences: the words for measures, for a run, and for what limits a result."""

from prism.answers.limits import MadeOf, caveats
from prism.answers.measure_words import SIZE, MeasureWords, figure, words_of
from prism.answers.run_words import run_in_words

__all__ = ["SIZE", "MadeOf", "MeasureWords", "caveats", "figure", "run_in_words", "words_of"]
