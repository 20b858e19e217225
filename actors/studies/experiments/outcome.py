"""The outcome of an experiment: its tidy table, planned comparisons, the answers in sentences, and their files."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
import numpy as np

from actors.core.files import write_file, write_json
from actors.results.measures import Beside, made_of, read_beside
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
from prism.experiment.hypothesis_tests import UNPAIRED, Comparison, Interval, compared, corrected, described
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
    experiment, names = plan.experiment, [each.name for each in plan.experiment.conditions]
    conditions = [
        Described(condition=name, measure=measure, over_seeds=described(found))
        for name in names
        for measure in experiment.measures
        if (found := _columns(experiment, values, measure, [name])[0])
    ]
    comparisons = []
    for each in experiment.hypotheses:
        sides = _columns(experiment, values, each.measure, each.contrast, is_matched=each.test not in UNPAIRED)
        comparisons += [compared(each, *sides)] if min(map(len, sides)) > 1 else []
    judged = corrected(comparisons, experiment.alpha, experiment.hypotheses, promised.planned)
    exploratory = [each.with_test for each in experiment.hypotheses if each not in promised.planned]
    missing: dict[str, list[int]] = {}
    for cell in plan.cells:
        if (cell.condition, cell.seed) not in values:
            missing.setdefault(cell.condition, []).append(cell.seed)
    effects, notes, thresholds = list[Effect](), list[str](), list[Judged]()
    if is_final:
        shared = [seed for seed in experiment.seeds if all((name, seed) in values for name in names)]
        notes += _notes(experiment, values, judged, len(shared) if missing else None)
        thresholds = [limit for each in experiment.thresholds if (limit := _judged(experiment, values, each))]
        for measure in experiment.measures if experiment.design.kind != "list" else ():
            if len(shared) < 2:
                notes.append(f"{measure}: no effects of factors: fewer than two seeds have all conditions")
                continue
            table = np.array([[values[name, seed][measure] for seed in shared] for name in names], dtype=np.float64)
            of_factors = effects_on(measure, experiment.design, experiment.conditions, table)
            effects += of_factors.effects
            notes += [of_factors.note] if of_factors.note else []
    beside, remarks = ({}, []) if out is None else (_beside(plan, out, values), _remarks(plan, out, values))
    return Outcome(
        question=experiment.question,
        plan=plan.hash,
        answers=_answers(experiment, values, judged, exploratory, is_final=is_final),
        caveats=_caveats(experiment, beside, missing, exploratory),
        remarks=remarks,
        made_of=made_of([cell for cells in beside.values() for cell in cells]),
        conditions=conditions,
        comparisons=judged,
        exploratory=exploratory,
        thresholds=thresholds,
        missing=missing,
        effects=effects,
        notes=[*promised.notes, *notes],
    )


def _columns(
    asked: Experiment, values: Values, measure: str, names: Sequence[str], *, is_matched: bool = False
) -> list[list[float]]:
    """Return a measure in some conditions over their seeds; if matched, over those that all of them have."""
    kept = [[seed for seed in asked.seeds if measure in values.get((name, seed), {})] for name in names]
    if is_matched:
        kept = [[seed for seed in kept[0] if all(seed in seeds for seeds in kept)]] * len(kept)
    return [[values[name, seed][measure] for seed in seeds] for name, seeds in zip(names, kept, strict=True)]


def _notes(
    experiment: Experiment, values: Values, comparisons: Sequence[Comparison], shared: int | None
) -> Iterator[str]:
    """Yield notes on missing cells, and on tests that could not be made.

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
        if problem := tested.get(each.with_test, "fewer than two seeds have a result"):
            yield f"not tested, but counted by Holm's correction: {each.with_test}: {problem}"
    counts = Counter(condition for condition, _ in values).values()
    if counts and min(counts) < FEW_SEEDS:
        yield (
            f"an interval of {min(counts):,} seeds is rough: below {FEW_SEEDS} that of skewed values, such as the "
            "largest cascade, holds the truth less often than it says"
        )


def _judged(experiment: Experiment, values: Values, threshold: Threshold) -> Judged | None:
    """Return a threshold with the mean that is furthest beyond its limits, or nearest to them; None without means."""
    names = [threshold.condition] if threshold.condition is not None else [each.name for each in experiment.conditions]
    columns = zip(names, _columns(experiment, values, threshold.measure, names), strict=True)
    means = {name: sum(found) / len(found) for name, found in columns if found}
    if not means:
        return None
    least = -math.inf if threshold.least is None else threshold.least
    most = math.inf if threshold.most is None else threshold.most
    beyond = {name: max(mean - most, least - mean) for name, mean in means.items()}
    name = max(beyond, key=beyond.__getitem__)
    return Judged(threshold=threshold, condition=name, mean=means[name], is_met=beyond[name] <= 0)


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


def _beside(plan: Plan | PlanFile, out: Path, values: Values) -> dict[str, list[Beside]]:
    """Return `{condition: the context of its runs}`; of each of the first conditions one run is read for its origin."""
    origins = {each.name for each in plan.experiment.conditions[:ORIGINS_MAX]}
    found: dict[str, list[Beside]] = {}
    for cell in plan.cells:
        if (cell.condition, cell.seed) in values:
            read = read_beside(cell_path(out, cell), (), with_origin=cell.condition in origins)
            found.setdefault(cell.condition, []).append(read)
            origins.discard(cell.condition)
    return found


def _answers(
    asked: Experiment, values: Values, judged: Sequence[Comparison], exploratory: Sequence[str], *, is_final: bool
) -> list[Answer]:
    """Return the answer to each hypothesis, the planned ones first; without hypotheses, describe the first measure."""
    said = {each.name: condition_in_words(each.name, each.settings) for each in asked.conditions}

    def sides_of(measure: str, names: Sequence[str], *, is_matched: bool) -> list[Side]:
        columns = _columns(asked, values, measure, names, is_matched=is_matched)
        return [Side(said[name], column) for name, column in zip(names, columns, strict=True)]

    if not asked.hypotheses:  # in the conditions, if all of them have a seed in common
        name = next(iter(asked.measures))
        sides = sides_of(name, [*said], is_matched=True)
        return [described_by(words_of(name, asked.measures[name]), sides)] if sides[0].values else []
    tested, answers = {each.hypothesis.with_test: each for each in judged}, []
    for each in sorted(asked.hypotheses, key=lambda each: each.with_test in exploratory):
        if (found := tested.get(each.with_test)) is not None:
            words = words_of(each.measure, asked.measures[each.measure])
            first, second = sides_of(each.measure, each.contrast, is_matched=each.test not in UNPAIRED)
            answers.append(answered(found, words, first, second, asked.alpha))
        elif is_final:
            text = "Not tested: fewer than two seeds have a result."
            answers.append(Answer(hypothesis=each.with_test, finding="undecided", text=text))
    return answers


def _remarks(plan: Plan | PlanFile, out: Path, values: Values) -> list[str]:
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


def _caveats(
    asked: Experiment,
    beside: Mapping[str, Sequence[Beside]],
    missing: Mapping[str, Sequence[int]],
    exploratory: Sequence[str],
) -> list[str]:
    """Return the limits of all answers, a sentence each."""
    said = {each.name: condition_in_words(each.name, each.settings) for each in asked.conditions}
    known = {name: [cell for cell in cells if cell.prism] for name, cells in beside.items()}
    calibrations = {said[name]: cells[0].calibration for name, cells in known.items() if cells}
    fallbacks = {said[name]: fmean(cell.fallback_share for cell in cells) for name, cells in beside.items()}
    return caveats(calibrations, fallbacks, sum(map(len, missing.values())), len(exploratory))
