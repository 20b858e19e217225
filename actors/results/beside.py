"""Runs compared in sentences, and the context of their measures: cascades, fallbacks, origin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from statistics import fmean
from typing import NamedTuple

import msgspec

from actors.factory.oracle_backends import calibration_label
from actors.results.measures import numbers_of
from actors.runs.compatibility import OWN_PACKAGE
from actors.store.manifest import CONFIG, read_manifest, read_summary
from actors.store.run import read_resolved
from prism.answers import MadeOf, caveats, setting_in_words, words_of
from prism.errors import PrismError
from prism.experiment.answer import Answer, Side, condition_in_words, described_by

LEVELS = ("inflation", "interest_rate", "unemployment", "gdp_growth")
"""Columns of `rounds.csv` that are levels: their course may lie above their last value."""


class Beside(NamedTuple):
    """The context of the measures of a run."""

    values: Mapping[str, float] = {}  # `{place: value}` of the measures that are compared
    fallback_share: float = 0.0  # the share of the oracle's decisions that are fallbacks, 0 to 1
    # the data that its settings are calibrated on, in words; None if they are not calibrated
    calibration: str | None = None
    prism: str = ""  # the version of PRISM that began it; empty if it is not known
    inputs: Mapping[str, str] = {}  # `{name of an input file: SHA-256}`
    seed: int = -1  # of the run; -1 if it is not known


def read_beside(path: Path, places: Iterable[str], *, with_origin: bool = True) -> Beside:
    """Return the context of the measures of a run; parts that cannot be read are left out."""
    summary, numbers, values = read_summary(path), numbers_of(path), {}
    for place in places if summary else ():  # numbers of a run under way are not comparable
        try:
            values[place] = numbers.value(place)
        except PrismError:
            continue
    found = Beside(values=values, fallback_share=summary.get("fallback_share", 0.0))
    if not with_origin:
        return found
    try:
        manifest, config = read_manifest(path), read_resolved(path / CONFIG)
    except (PrismError, OSError, msgspec.MsgspecError):
        return found
    return found._replace(
        calibration=calibration_label(config),
        prism=manifest.packages.get(OWN_PACKAGE, ""),
        inputs={PurePath(name).name: digest for name, digest in manifest.inputs.items()},
        seed=manifest.seed,
    )


def made_of(runs: Iterable[Beside]) -> MadeOf:
    prism, inputs = dict[str, None](), dict[str, str]()
    for run in runs:
        if run.prism:
            prism[run.prism] = None
        inputs |= run.inputs
    return MadeOf(prism=list(prism), inputs=inputs)


SETTINGS_SAID = 2
"""The most settings by which a side is named in a sentence."""


class Compared(NamedTuple):
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

    `sides`: `{side, as it stands in a sentence: the directories of its runs}`; runs that have not ended are left
    out. Of two sides the first is the base, from which the second differs.
    """
    found = {said: [read_beside(path, places) for path in paths] for said, paths in sides.items()}
    ended = {said: [run for run in runs if run.values] for said, runs in found.items()}
    if not places or not all(ended.values()):
        return Compared([], str(made_of(run for runs in found.values() for run in runs)))
    shared = set.intersection(*({run.seed for run in runs} for runs in ended.values()))
    if shared:
        by_seed = {said: {run.seed: run for run in runs} for said, runs in ended.items()}
        ended = {said: [found[seed] for seed in sorted(shared)] for said, found in by_seed.items()}
    answers = []
    for place in places:
        if all(place in run.values for runs in ended.values() for run in runs):
            told = [Side(said, [run.values[place] for run in runs]) for said, runs in ended.items()]
            ordered = told[::-1] if len(told) == 2 else told  # a description tells the difference of its first side
            answers.append(described_by(words_of(place, place), ordered, is_matched=bool(shared)))
    runs = [run for each in ended.values() for run in each]
    calibrations = {said: each[0].calibration for said, each in ended.items()}
    fallbacks = {said: fmean(run.fallback_share for run in each) for said, each in ended.items()}
    return Compared(answers, " ".join([*caveats(calibrations, fallbacks, 0, 0), str(made_of(runs))]))
