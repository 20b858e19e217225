"""The answers of an experiment in sentences, with their limits, from its values and the files of its cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from actors.results.beside import Beside, read_beside
from actors.store.manifest import read_summary
from actors.studies.experiments.cells import cell_path
from actors.studies.experiments.plan import Plan
from actors.studies.experiments.plan_record import PlanFile
from prism.answers import caveats, words_of
from prism.experiment import (
    UNPAIRED,
    Answer,
    Comparison,
    Experiment,
    Side,
    answered,
    condition_in_words,
    described_by,
)
from prism.no_effect import remarks_on_many

ORIGINS_MAX = 50  # the most conditions whose calibration and inputs are looked at

Key = tuple[str, int]  # a condition and a seed
Values = Mapping[Key, Mapping[str, float]]


def read_all_beside(plan: Plan | PlanFile, out: Path, values: Values) -> dict[Key, Beside]:
    """Return the context of the runs that are done; of each of the first conditions one run is read for its origin."""
    origins = {each.name for each in plan.experiment.conditions[:ORIGINS_MAX]}
    found: dict[Key, Beside] = {}
    for cell in plan.cells:
        if (key := (cell.condition, cell.seed)) in values:
            found[key] = read_beside(cell_path(out, cell), (), with_origin=cell.condition in origins)
            origins.discard(cell.condition)
    return found


def answers_of(
    asked: Experiment,
    values: Values,
    judged: Sequence[Comparison],
    *,
    exploratory: Sequence[str] = (),
    is_final: bool = True,
) -> list[Answer]:
    """Return the answer to each hypothesis, the planned ones first; without hypotheses, describe the first measure."""
    if not asked.hypotheses:  # in the conditions, if all of them have a seed in common
        name = next(iter(asked.measures))
        sides = _sides(asked, values, name, [each.name for each in asked.conditions], is_matched=True)
        return [described_by(words_of(name, asked.measures[name]), sides)] if all(side.values for side in sides) else []
    tested, answers = {each.hypothesis.with_test: each for each in judged}, []
    for each in sorted(asked.hypotheses, key=lambda each: each.with_test in exploratory):
        found = tested.get(each.with_test)
        if found is not None:
            is_matched = each.test not in UNPAIRED
            first, second = _sides(asked, values, each.measure, each.contrast, is_matched=is_matched)
            words = words_of(each.measure, asked.measures[each.measure])
            answers.append(answered(found, words, first, second, asked.alpha))
        elif is_final:
            text = "Not tested: fewer than two seeds have a result."
            answers.append(Answer(hypothesis=each.with_test, finding="undecided", text=text))
    return answers


def _sides(
    asked: Experiment,
    values: Values,
    measure: str,
    names: Sequence[str],
    *,
    is_matched: bool,
) -> list[Side]:
    """Return a measure in some conditions, with what may point the other way; matched sides have the same seeds."""
    kept = {name: [seed for seed in asked.seeds if measure in values.get((name, seed), {})] for name in names}
    if is_matched:
        shared = [seed for seed in asked.seeds if all(seed in seeds for seeds in kept.values())]
        kept = dict.fromkeys(kept, shared)
    settings, sides = {each.name: each.settings for each in asked.conditions}, []
    for name, seeds in kept.items():
        measured = [values[name, seed][measure] for seed in seeds]
        sides.append(Side(condition_in_words(name, settings[name]), measured))
    return sides


def remarks_of(plan: Plan | PlanFile, out: Path, values: Values) -> list[str]:
    """Return what was not as configured in the cells that are done, what had no effect, and what did not move."""
    summaries: dict[str, list[dict[str, Any]]] = {}
    for cell in plan.cells:
        if (cell.condition, cell.seed) in values:
            summaries.setdefault(cell.condition, []).append(read_summary(cell_path(out, cell)))
    lines = remarks_on_many(summaries)
    for name in plan.experiment.measures:
        found = [each[name] for each in values.values() if name in each]
        if len(found) > 1 and min(found) == max(found):
            lines.append(
                f"the measure {name} is {found[0]:.4g} in all {len(found):,} runs: nothing that differs moves it"
            )
    return lines


def caveats_of(
    asked: Experiment, beside: Mapping[Key, Beside], missing: Mapping[str, Sequence[int]], exploratory: Sequence[str]
) -> list[str]:
    """Return the limits of all answers, a sentence each."""
    said = {each.name: condition_in_words(each.name, each.settings) for each in asked.conditions}
    by_condition: dict[str, list[Beside]] = {}
    for (condition, _), cell in beside.items():
        by_condition.setdefault(condition, []).append(cell)
    known = {name: [cell for cell in cells if cell.prism] for name, cells in by_condition.items()}
    calibrations = {said[name]: cells[0].calibration for name, cells in known.items() if cells}
    fallbacks = {said[name]: fmean(cell.fallback_share for cell in cells) for name, cells in by_condition.items()}
    return caveats(calibrations, fallbacks, sum(map(len, missing.values())), len(exploratory))
