"""Runs beside each other in sentences: the measures that their domain compares them by, and their limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from actors.results.beside import Beside, companions, made_of, read_beside
from prism.answers import caveats, setting_in_words, words_of
from prism.experiment import Answer, Side, condition_in_words, described_by

SETTINGS_SAID = 2
"""The most settings by which a side is named in a sentence."""


class Compared(NamedTuple):
    """The comparison of some runs in sentences."""

    answers: list[Answer]  # at least a sentence for each measure; empty if nothing can be compared
    limits: str  # the limits of the answers, and the versions and inputs of the runs


def side_in_words(name: str, settings: Mapping[str, str]) -> str:
    """Return a side as it stands in a sentence.

    Args:
        name: its name in the sentence if its settings are too many, missing, or no words, such as lists and tables.
        settings: the settings that differ from the other sides, as text.
    """
    if list(settings) == ["feed.algorithm"] or not 0 < len(settings) <= SETTINGS_SAID:
        return condition_in_words(name, settings) if settings else f"in {name}"
    if any(not value or value[0] in "[{" for value in settings.values()):
        return f"in {name}"
    return f"with {' and '.join(f'{setting_in_words(key)} {value}' for key, value in settings.items())}"


def compared_runs(places: Sequence[str], sides: Mapping[str, Sequence[Path]]) -> Compared:
    """Return the comparison of runs, with equal seeds if the sides have seeds in common.

    Args:
        sides: `{side, as it stands in a sentence: the directories of its runs}`; runs that have not ended are left
            out. Of two sides the first is the base, from which the second differs.
    """
    wanted = {*places, *(other for place in places for other in companions(place))}
    found = {said: [read_beside(path, wanted) for path in paths] for said, paths in sides.items()}
    ended = {said: [run for run in runs if run.values] for said, runs in found.items()}
    if not places or not all(ended.values()):
        return Compared([], str(made_of(run for runs in found.values() for run in runs)))
    shared = set.intersection(*({run.seed for run in runs} for runs in ended.values()))
    if shared:
        ended = {said: _by_seed(runs, shared) for said, runs in ended.items()}
    answers = []
    for place in places:
        if all(place in run.values for runs in ended.values() for run in runs):
            told = [_side(said, place, runs) for said, runs in ended.items()]
            ordered = told[::-1] if len(told) == 2 else told  # a description tells the difference of its first side
            answers.append(described_by(words_of(place, place), ordered, is_matched=bool(shared)))
    runs = [run for each in ended.values() for run in each]
    calibrations = {said: each[0].calibration for said, each in ended.items()}
    fallbacks = {said: fmean(run.fallback_share for run in each) for said, each in ended.items()}
    return Compared(answers, " ".join([*caveats(calibrations, fallbacks, 0, 0), str(made_of(runs))]))


def _by_seed(runs: Sequence[Beside], seeds: set[int]) -> list[Beside]:
    found = {run.seed: run for run in runs}
    return [found[seed] for seed in sorted(seeds)]


def _side(said: str, place: str, runs: Sequence[Beside]) -> Side:
    others = [other for other in companions(place) if all(other in run.values for run in runs)]
    sizes = [run.sizes for run in runs]
    return Side(
        said=said,
        values=[run.values[place] for run in runs],
        sizes=sizes if all(sizes) else (),
        beside=[(words_of(other, other), [run.values[other] for run in runs]) for other in others],
    )
