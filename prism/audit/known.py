"""Tests whether a model knows the study: the question that it is asked, and the fixed rule that judges its answer.

The model is told what a person sees, and asked to name what is being studied. It knows the study if its answer has a
word of the study that nobody has told it: a word of the study's question, hypotheses and factors that the prompt has
not. Source of the examination: PIMMUR (2025), arXiv 2509.18052.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec
import numpy as np
from msgspec.structs import replace

from prism.audit.shift import FEWEST, LEVEL, Estimate
from prism.columns import Floats, Ints

ASK_STUDY: Final = (
    "The situation below was shown to a participant. If it belongs to a scientific study, name in one sentence what "
    "is being studied. If that cannot be told from it, answer: unknown."
)
MATTERS: Final = 0.1  # a share of answers above this, for certain, is a finding
_WORD: Final = re.compile(r"[a-z]{4,}")
_WORDS: Final = """
about after before being between change changes condition does each effect effects more most than that their
them then there these they this those under what when where which while with without would will have from into
less many much same such some study person people post posts user users social media number average mean share
rate higher lower larger smaller difference different
"""
_COMMON: Final = frozenset(_WORDS.split())
"""Words that any answer may have."""
_ENDINGS: Final = (
    *("ization", "ations", "ation", "ities", "ity", "ings", "ing"),
    *("ies", "ers", "er", "ed", "es", "s", "y"),
)


class Known(msgspec.Struct, frozen=True, kw_only=True):
    asked: int
    named: int  # the answers that name the study
    share: Estimate  # 0 to 1
    words: tuple[str, ...]  # the words of the study that count
    examples: tuple[str, ...] = ()  # answers that name it, the shortest first
    # the p value of: no more than `MATTERS` would name it; None if the study has no words of its own, or too few
    # were asked
    p: float | None = None
    p_holm: float = 1.0
    knows: bool | None = None
    missing: dict[str, int] = {}

    def judged(self, p_holm: float) -> Known:
        return replace(self, p_holm=p_holm, knows=p_holm <= LEVEL)


def stems(text: str) -> frozenset[str]:
    """Return the stems of the words of a text that are not common ones."""
    words = [word for word in _WORD.findall(text.lower()) if word not in _COMMON]
    ends = (next((end for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= 4), "") for word in words)
    return frozenset(word.removesuffix(end) for word, end in zip(words, ends, strict=True))


def known_of(answers: Iterable[tuple[str, str]], study: frozenset[str]) -> Known:
    """Return what the answers show.

    Args:
        answers: (answer, all that the model was told).
    """
    from scipy.stats import binomtest  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

    every = list(answers)
    naming = [answer for answer, told in every if stems(answer) & (study - stems(told))]
    named = len(naming)
    is_tested = len(every) >= FEWEST and bool(study)
    return Known(
        asked=len(every),
        named=named,
        share=wilson(named, len(every)),
        words=tuple(sorted(study)),
        examples=tuple(sorted({*naming}, key=len)[:3]),
        p=float(binomtest(named, len(every), MATTERS, alternative="greater").pvalue) if is_tested else None,
    )


def wilson(times: int, of: int) -> Estimate:
    """Return a share with its interval. Source: Wilson (1927)."""
    if not of:
        return Estimate(value=0.0)
    from scipy.stats import binomtest  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

    ends = binomtest(times, of).proportion_ci(1.0 - LEVEL, method="wilson")
    return Estimate(value=times / of, low=float(ends.low), high=float(ends.high))


def share_over_people(shares: Floats, people: Ints) -> Estimate:
    """Return the mean of shares with the interval of one answer a person: the answers of one person may be alike."""
    mean, count = float(shares.mean()), len(np.unique(people))
    return replace(wilson(round(mean * count), count), value=mean)
