"""The outcome of an experiment: its tidy table, planned comparisons, the answers in sentences, and their files."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
import numpy as np

from actors.core.files import write_file, write_json
from actors.results.beside import Beside, made_of, read_beside
from actors.store.manifest import read_summary
from actors.studies.experiments.cells import cell_path
from actors.studies.experiments.plan import Plan, PlanFile, Promised
from actors.studies.experiments.run_measures import measured
from actors.studies.experiments.shared_oracle import ModelUse
from actors.tables.files import FORMULA_STARTS
from prism.answers import MadeOf, caveats, words_of
from prism.errors import PrismError
from prism.experiment.answer import FEW_SEEDS, Answer, Side, answered, condition_in_words, described_by
from prism.experiment.effects import Effect, effects_on
from prism.experiment.experiment_file import Experiment, Threshold
from prism.experiment.hypothesis_tests import UNPAIRED, Comparison, Hypothesis, Interval, compared, corrected, described
from prism.no_effect import remarks_on_many

RESULTS, OUTCOME = "results.csv", "outcome.json"


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """A measure of a condition over its seeds."""

    condition: str
    measure: str
    over_seeds: Interval


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A threshold and the mean that it limits, of the condition that is furthest from it."""

    threshold: Threshold
    condition: str
    mean: float
    is_met: bool


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    question: str
    plan: str  # the hash of the plan
    # the answers to the hypotheses in sentences, the planned ones first; without hypotheses, a description of the first
    # measure
    answers: list[Answer] = []
    caveats: list[str] = []  # the limits of all answers, a sentence each
    # what was not as configured in the cells, what had no effect, and measures that did not move, a line each
    remarks: list[str] = []
    made_of: MadeOf = MadeOf(prism=[], inputs={})  # the versions of PRISM and the input files of the runs
    conditions: list[Described]
    comparisons: list[Comparison]  # of the hypotheses
    exploratory: list[str]  # the hypotheses that no plan had before the first result, in words, with their tests
    thresholds: list[Judged]
    missing: dict[str, list[int]]  # `{condition: seeds without a result}`
    model: ModelUse | None = None  # the use of a model; None if no cell asks a model
    effects: list[Effect] = []  # of the factors of a design, on each measure
    notes: list[str] = []  # remarks on the outcome, in words


Key = tuple[str, int]  # a condition and a seed
Values = Mapping[Key, Mapping[str, float]]
"""`{(condition, seed): {measure: value}}` of the cells that are done."""


def read_values(plan: Plan, out: Path, failed: Mapping[str, str]) -> tuple[Values, dict[str, str]]:
    """Return the values of all cells but the failed ones, and `{cell's directory: problem}` of those without values."""
    values: dict[tuple[str, int], Mapping[str, float]] = {}
    problems: dict[str, str] = {}
    for cell in plan.cells:
        if cell.key in failed:
            continue
        try:
            values[cell.condition, cell.seed] = measured(cell_path(out, cell), plan.experiment.measures, plan.own)
        except PrismError as error:
            problems[cell.key] = str(error)
    return values, problems


def outcome_of(
    plan: Plan | PlanFile,
    values: Values,
    promised: Promised = Promised(),  # noqa: B008  # it does not change
    out: Path | None = None,
    *,
    is_final: bool = True,
) -> Outcome:
    """Return the outcome. A pair counts if both of its cells are done.

    Args:
        promised: what was planned before the first result.
        out: the directory of the experiment, whose runs are read for all that is said besides the numbers.
        is_final: whether all cells have ended. Before that nothing is said of thresholds and effects.
    """
    experiment, seeds = plan.experiment, plan.experiment.seeds
    names = [each.name for each in experiment.conditions]
    # Means.
    conditions = [
        Described(condition=name, measure=measure, over_seeds=described(found))
        for name in names
        for measure in experiment.measures
        if (found := list(_by_seed(values, name, measure, seeds).values()))
    ]
    # Hypotheses.
    tested = [_comparison(plan, each, values) for each in experiment.hypotheses]
    comparisons = [each for each in tested if each is not None]
    judged = corrected(comparisons, experiment.alpha, experiment.hypotheses, promised.planned)
    exploratory = [each.with_test for each in experiment.hypotheses if each not in promised.planned]
    missing: dict[str, list[int]] = {}
    for cell in plan.cells:
        if (cell.condition, cell.seed) not in values:
            missing.setdefault(cell.condition, []).append(cell.seed)
    # Effects, over the seeds that all conditions have: a row for each condition, a column for each seed.
    effects, notes = list[Effect](), list[str]()
    shared = [seed for seed in seeds if all((name, seed) in values for name in names)]
    if is_final:
        notes += _notes(experiment, values, judged, len(shared) if missing else None)
    for measure in experiment.measures if is_final and experiment.design.kind != "list" else ():
        if len(shared) < 2:
            notes.append(f"{measure}: no effects of factors: fewer than two seeds have all conditions")
            continue
        table = np.array([[values[name, seed][measure] for seed in shared] for name in names], dtype=np.float64)
        of_factors = effects_on(measure, experiment.design, experiment.conditions, table)
        effects += of_factors.effects
        notes += [of_factors.note] if of_factors.note else []
    beside = {} if out is None else read_all_beside(plan, out, values)
    return Outcome(
        question=experiment.question,
        plan=plan.hash,
        answers=answers_of(experiment, values, judged, exploratory=exploratory, is_final=is_final),
        caveats=caveats_of(experiment, beside, missing, exploratory),
        remarks=[] if out is None else remarks_of(plan, out, values),
        made_of=made_of(beside.values()),
        conditions=conditions,
        comparisons=judged,
        exploratory=exploratory,
        thresholds=[limit for each in experiment.thresholds if (limit := _judged(experiment, values, each)) is not None]
        if is_final
        else [],
        missing=missing,
        effects=effects,
        notes=[*promised.notes, *notes],
    )


def _comparison(plan: Plan | PlanFile, hypothesis: Hypothesis, values: Values) -> Comparison | None:
    """Return the comparison of a hypothesis; None if one of its conditions has fewer than two seeds.

    Paired tests take the seeds that both have.
    """
    seeds = plan.experiment.seeds
    first, second = (_by_seed(values, name, hypothesis.measure, seeds) for name in hypothesis.contrast)
    if hypothesis.test not in UNPAIRED:
        first, second = (
            {seed: own[seed] for seed in own if seed in other} for own, other in ((first, second), (second, first))
        )
    if min(len(first), len(second)) < 2:
        return None
    return compared(hypothesis, list(first.values()), list(second.values()))


def _by_seed(values: Values, name: str, measure: str, seeds: Sequence[int]) -> dict[int, float]:
    """Return `{seed: the value of a condition}`."""
    return {seed: values[name, seed][measure] for seed in seeds if measure in values.get((name, seed), {})}


def _notes(
    experiment: Experiment, values: Values, comparisons: Sequence[Comparison], shared: int | None
) -> Iterator[str]:
    """Yield notes for a reader of the tables: on missing cells, and on tests that could not be made.

    Args:
        shared: the seeds that all conditions have; None if no cell is missing.
    """
    if shared is not None:
        yield (
            "cells are missing: means are over different seeds; paired tests take the seeds that their conditions "
            f"share, and effects the {shared:,} of {len(experiment.seeds):,} that all share. If cells "
            "fail because of what they measure, no number here is sound"
        )
    tested = {each.hypothesis.with_test: each.untested for each in comparisons}
    for each in experiment.hypotheses:
        problem = tested.get(each.with_test, "fewer than two seeds have a result")
        if problem:
            yield f"not tested, but counted by Holm's correction: {each.with_test}: {problem}"
    counts = Counter(condition for condition, _ in values).values()
    if counts and min(counts) < FEW_SEEDS:
        yield (
            f"an interval of {min(counts):,} seeds is rough: below {FEW_SEEDS} that of skewed values, such as the "
            "largest cascade, holds the truth less often than it says"
        )


def _judged(experiment: Experiment, values: Values, threshold: Threshold) -> Judged | None:
    names = [threshold.condition] if threshold.condition is not None else [each.name for each in experiment.conditions]
    columns = {name: _by_seed(values, name, threshold.measure, experiment.seeds) for name in names}
    means = {name: sum(found.values()) / len(found) for name, found in columns.items() if found}
    if not means:
        return None

    def excess(mean: float) -> float:  # how far it is beyond the limits; 0 or less within them
        above = -float("inf") if threshold.most is None else mean - threshold.most
        below = -float("inf") if threshold.least is None else threshold.least - mean
        return max(above, below)

    name = max(means, key=lambda each: excess(means[each]))
    return Judged(threshold=threshold, condition=name, mean=means[name], is_met=excess(means[name]) <= 0)


def write_outcome(out: Path, plan: Plan, values: Values, outcome: Outcome) -> None:
    """Write the tidy table and the outcome, each whole or not at all."""
    # The level of each factor of the design, in its order; in a list, each setting that its conditions give.
    levels = {each.name: each.factors or each.settings for each in plan.experiment.conditions}
    factors = list(dict.fromkeys(name for each in levels.values() for name in each))
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["condition", *factors, "seed", "measure", "value"])
    for condition, own in levels.items():
        for seed in plan.experiment.seeds:
            for measure, value in values.get((condition, seed), {}).items():
                cells = [_cell(own.get(name, "")) for name in factors]
                writer.writerow([_cell(condition), *cells, seed, _cell(measure), repr(value)])
    write_file(out / RESULTS, text.getvalue().encode())
    write_json(out / OUTCOME, outcome)


def _cell(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula; a value that is no text or number is JSON."""
    if isinstance(value, str):
        return f"'{value}" if value and value[0] in FORMULA_STARTS else value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else msgspec.json.encode(value).decode()


ORIGINS_MAX = 50  # the most conditions whose calibration and inputs are looked at


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
