"""The outcome of an experiment: its tidy table, the comparisons that were planned, and the files with both."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from actors.core.files import write_file, write_json
from actors.results.beside import Beside, made_of
from actors.results.measures import has_rounds
from actors.results.table_files import FORMULA_STARTS
from actors.studies.experiments.answers import answers_of, caveats_of, read_all_beside
from actors.studies.experiments.cells import cell_path
from actors.studies.experiments.measures import measured, within_runs
from actors.studies.experiments.plan import Plan
from actors.studies.experiments.shared_oracle import ModelUse
from prism.answers import MadeOf
from prism.errors import PrismError
from prism.experiment import (
    FEW_SEEDS,
    OF_SEVERAL,
    UNPAIRED,
    Answer,
    Comparison,
    Condition,
    Effect,
    Effects,
    Hypothesis,
    Interval,
    PredictionScores,
    SeveralCompared,
    Share,
    Stopped,
    Threshold,
    compared,
    compared_groups,
    corrected,
    decomposed,
    described,
    effects_on,
    groups_of,
)
from prism.quoting import as_text

RESULTS, OUTCOME = "results.csv", "outcome.json"
INTERVALS_MAX = 200
"""The most conditions whose means have intervals of their own: those of a sampled design are not looked at singly."""

Array = NDArray[np.float64]


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


class Decomposed(msgspec.Struct, frozen=True, kw_only=True):
    measure: str
    seeds: int
    shares: list[Share]


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
    comparisons: list[Comparison]  # of the hypotheses on two conditions
    exploratory: list[str]  # the hypotheses that no plan had before the first result, in words, with their tests
    thresholds: list[Judged]
    missing: dict[str, list[int]]  # `{condition: seeds without a result}`
    model: ModelUse | None = None  # the use of a model; None if no cell asks a model
    several: list[SeveralCompared] = []  # of those on more
    variance: list[Decomposed] = []  # of each measure that varies, where there are several conditions
    effects: list[Effect] = []  # of the factors of a design, on each measure
    notes: list[str] = []  # remarks on the outcome, in words
    stopped: Stopped | None = None  # the end of sequential seeds; None if their number was fixed
    predictions: PredictionScores | None = None  # the scores of the predictions that the file names; None without any


Values = Mapping[tuple[str, int], Mapping[str, float]]
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


def read_within(plan: Plan, out: Path, values: Values) -> Values:
    """Return the variance over the rounds of each run that has values, of the measures that have several a run."""
    experiment = plan.experiment
    if not any(map(has_rounds, experiment.measures.values())):
        return {}
    cells = [cell for cell in plan.cells if (cell.condition, cell.seed) in values]
    return {(cell.condition, cell.seed): within_runs(cell_path(out, cell), experiment.measures) for cell in cells}


def read_beside_cells(plan: Plan, out: Path, values: Values) -> dict[tuple[str, int], Beside]:
    cells = (((cell.condition, cell.seed), cell.key) for cell in plan.cells)
    return read_all_beside(plan.experiment, cells, out, values)


def outcome_of(  # what each file of the directory says
    plan: Plan,
    values: Values,
    planned: Iterable[Hypothesis],
    within: Values | None = None,
    notes: Sequence[str] = (),
    lost: Sequence[Hypothesis] = (),
    *,
    beside: Mapping[tuple[str, int], Beside] | None = None,
) -> Outcome:
    """Return the outcome. A pair counts if both of its cells are done.

    Args:
        planned: the hypotheses that a plan had before the first result.
        within: the variance over the rounds of each run, of the measures that have one.
        notes: the notes so far.
        lost: the hypotheses that were planned, too, and are no longer there or mean something else.
        beside: the context of the measures of the cells, for the answers in sentences.
    """
    experiment, known = plan.experiment, list(planned)
    comparisons = [
        each for each in (_comparison(plan, values, one) for one in experiment.hypotheses) if each is not None
    ]
    judged = corrected(comparisons, experiment.alpha, experiment.hypotheses, known, lost)
    has_intervals = len(experiment.conditions) <= INTERVALS_MAX
    tables = {name: _table(plan, values, name) for name in experiment.measures}
    effects = {name: _effects(plan, name, table) for name, table in tables.items()}
    exploratory = [each.with_test for each in experiment.hypotheses if each not in known]
    cells, missing = beside or {}, _missing(plan, values)
    return Outcome(
        question=experiment.question,
        plan=plan.hash,
        answers=answers_of(experiment, experiment.seeds, values, cells, judged, exploratory=exploratory),
        caveats=caveats_of(experiment, cells, missing, exploratory),
        made_of=made_of(cells.values()),
        conditions=[
            Described(condition=each.name, measure=name, over_seeds=described(found, with_interval=has_intervals))
            for each in experiment.conditions
            for name in experiment.measures
            if (found := _of(plan, values, each.name, name))
        ],
        comparisons=[each for each in judged if isinstance(each, Comparison)],
        several=[each for each in judged if isinstance(each, SeveralCompared)],
        exploratory=exploratory,
        thresholds=[limit for each in experiment.thresholds if (limit := _judged(plan, values, each)) is not None],
        missing=missing,
        variance=[each for each in (_decomposed(plan, name, tables[name], within or {}) for name in tables) if each],
        effects=[effect for each in effects.values() for effect in each.effects],
        notes=[*notes, *_notes(plan, values, judged), *(each.note for each in effects.values() if each.note)],
    )


def _of(plan: Plan, values: Values, condition: str, measure: str) -> list[float]:
    seeds = plan.experiment.seeds
    return [values[condition, seed][measure] for seed in seeds if (condition, seed) in values]


def _comparison(plan: Plan, values: Values, hypothesis: Hypothesis) -> Comparison | SeveralCompared | None:
    """Return the comparison; None if a group has fewer than two seeds.

    A seed has one value in a group: the mean over the group's conditions, all of which have to be done. Paired tests
    take the seeds that all groups have.
    """
    groups = groups_of(hypothesis, plan.experiment.design, plan.experiment.conditions)
    found = {name: _by_seed(plan, values, names, hypothesis.measure) for name, names in groups.items()}
    if hypothesis.test not in UNPAIRED:
        shared = [seed for seed in plan.experiment.seeds if all(seed in each for each in found.values())]
        found = {name: {seed: each[seed] for seed in shared} for name, each in found.items()}
    lists = {name: list(each.values()) for name, each in found.items()}
    if min(map(len, lists.values())) < 2:
        return None
    if hypothesis.test in OF_SEVERAL:
        return compared_groups(hypothesis, lists)
    first, second = lists.values()
    return compared(hypothesis, first, second)


def _by_seed(plan: Plan, values: Values, conditions: Sequence[str], measure: str) -> dict[int, float]:
    return {
        seed: sum(values[name, seed][measure] for name in conditions) / len(conditions)
        for seed in plan.experiment.seeds
        if all((name, seed) in values for name in conditions)
    }


def _seeds_of_all(plan: Plan, values: Values) -> list[int]:
    names = [each.name for each in plan.experiment.conditions]
    return [seed for seed in plan.experiment.seeds if all((name, seed) in values for name in names)]


def _table(plan: Plan, values: Values, measure: str) -> Array:
    """Return the values of a measure: a row for each condition, a column for each seed that all conditions have."""
    seeds = _seeds_of_all(plan, values)
    rows = [[values[each.name, seed][measure] for seed in seeds] for each in plan.experiment.conditions]
    return np.array(rows, dtype=np.float64)


def _decomposed(plan: Plan, measure: str, table: Array, within: Values) -> Decomposed | None:
    if min(table.shape) < 2:
        return None
    variances = _table(plan, within, measure) if any(measure in each for each in within.values()) else None
    if variances is not None and variances.shape != table.shape:
        variances = None
    shares = decomposed(table, variances)
    return Decomposed(measure=measure, seeds=table.shape[1], shares=shares) if shares else None


def _effects(plan: Plan, measure: str, table: Array) -> Effects:
    if plan.experiment.design.kind == "list":
        return Effects()
    if table.shape[1] < 2:
        return Effects(note=f"{measure}: no effects of factors: fewer than two seeds have all conditions")
    return effects_on(measure, plan.experiment.design, plan.experiment.conditions, table)


def _notes(plan: Plan, values: Values, comparisons: Sequence[Comparison | SeveralCompared]) -> Iterator[str]:
    """Yield notes for a reader of the tables: on missing cells, and on tests that could not be made."""
    experiment = plan.experiment
    missing = _missing(plan, values)
    if missing:
        shared, of = len(_seeds_of_all(plan, values)), len(experiment.seeds)
        yield (
            "cells are missing: means are over different seeds; paired tests take the seeds that their conditions "
            f"share, and variance and effects the {shared:,} of {of:,} that all share. If cells fail because of what "
            "they measure, no number here is sound"
        )
    tested = {each.hypothesis.with_test: each.basis.untested for each in comparisons}
    for each in experiment.hypotheses:
        problem = tested.get(each.with_test, "fewer than two seeds have a result")
        if problem:
            yield f"not tested, but counted by Holm's correction: {each.with_test}: {problem}"
    for test in comparisons:
        if isinstance(test, Comparison) and test.supported and _holds_zero(test):
            yield (
                f"{test.hypothesis.with_test}: supported by its test, though the interval of the difference holds "
                "0: the interval is two-sided and of the mean, the test may have a direction or look at ranks"
            )
    counts = [len(found) for each in experiment.conditions if (found := _seeds_done(plan, values, each.name))]
    if counts and min(counts) < FEW_SEEDS:
        yield (
            f"an interval of {min(counts):,} seeds is rough: below {FEW_SEEDS} that of skewed values, such as the "
            "largest cascade, holds the truth less often than it says"
        )


def _seeds_done(plan: Plan, values: Values, condition: str) -> list[int]:
    return [seed for seed in plan.experiment.seeds if (condition, seed) in values]


def _holds_zero(comparison: Comparison) -> bool:
    """Return whether the interval of a difference that a hypothesis looks for holds 0."""
    low, high = comparison.difference.low, comparison.difference.high
    return comparison.hypothesis.test != "equivalence" and low is not None and high is not None and low <= 0.0 <= high


def _judged(plan: Plan, values: Values, threshold: Threshold) -> Judged | None:
    names = (
        [threshold.condition] if threshold.condition is not None else [each.name for each in plan.experiment.conditions]
    )
    means = {name: sum(found) / len(found) for name in names if (found := _of(plan, values, name, threshold.measure))}
    if not means:
        return None
    name = max(means, key=lambda each: _excess(threshold, means[each]))
    return Judged(threshold=threshold, condition=name, mean=means[name], is_met=_excess(threshold, means[name]) <= 0)


def _excess(threshold: Threshold, mean: float) -> float:
    """Return how far a mean is beyond the limits; 0 or less within them."""
    above = -float("inf") if threshold.most is None else mean - threshold.most
    below = -float("inf") if threshold.least is None else threshold.least - mean
    return max(above, below)


def _missing(plan: Plan, values: Values) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for cell in plan.cells:
        if (cell.condition, cell.seed) not in values:
            found.setdefault(cell.condition, []).append(cell.seed)
    return found


def write_outcome(out: Path, plan: Plan, values: Values, outcome: Outcome) -> None:
    """Write the tidy table, also as Parquet where pyarrow is, and the outcome; each whole or not at all."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    factors = factors_of(plan)
    writer.writerow(["condition", *factors, "seed", "measure", "value"])
    writer.writerows(_rows(plan, values, factors))
    write_file(out / RESULTS, text.getvalue().encode())
    write_parquet(out, plan, values)
    write_json(out / OUTCOME, outcome)


def _rows(plan: Plan, values: Values, factors: Sequence[str]) -> Iterator[list[Any]]:
    for condition in plan.experiment.conditions:
        for seed in plan.experiment.seeds:
            found = values.get((condition.name, seed))
            for measure in plan.experiment.measures if found is not None else ():
                levels = [_cell(levels_of(condition).get(name, "")) for name in factors]
                yield [_cell(condition.name), *levels, seed, _cell(measure), repr(found[measure]) if found else ""]


def _cell(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula; a value that is no text or number is JSON."""
    if isinstance(value, str):
        return f"'{value}" if value and value[0] in FORMULA_STARTS else value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else msgspec.json.encode(value).decode()


PARQUET = "results.parquet"
COLUMNS: Mapping[str, str] = {
    "condition": "string",
    "seed": "int64",
    "measure": "string",
    "value": "double",
    "cell": "string",
}
"""`{column: its type}` of the columns that every experiment has; those of factors stand after `condition`."""
INT_BITS = 63


def write_parquet(out: Path, plan: Plan, values: Mapping[tuple[str, int], Mapping[str, float]]) -> bool:
    """Write the table, whole or not at all, and return whether it was written: not without pyarrow."""
    if find_spec("pyarrow") is None:
        return False
    import pyarrow as pa  # noqa: PLC0415  # an extra, and slow to import
    from pyarrow import parquet  # noqa: PLC0415

    names = factors_of(plan)
    kinds = {name: factor_type([levels_of(each).get(name) for each in plan.experiment.conditions]) for name in names}
    types = {"condition": COLUMNS["condition"], **kinds, **COLUMNS}
    columns: dict[str, list[Any]] = {name: [] for name in types}
    for row in _typed_rows(plan, values, kinds):
        for name, value in zip(types, row, strict=True):
            columns[name].append(value)
    schema = pa.schema(
        [(name, pa.type_for_alias(kind)) for name, kind in types.items()],
        metadata={"question": plan.experiment.question, "plan": plan.hash},
    )
    file = io.BytesIO()
    parquet.write_table(pa.table(columns, schema=schema), file, compression="zstd")
    write_file(out / PARQUET, file.getvalue())
    return True


def factors_of(plan: Plan) -> list[str]:
    """Return the factors of the design, in its order; of a list, the settings that its conditions give."""
    return list(dict.fromkeys(name for each in plan.experiment.conditions for name in levels_of(each)))


def levels_of(condition: Condition) -> dict[str, Any]:
    """Return the level of each factor of a condition; in a list, each setting that it gives."""
    return condition.factors or condition.settings


def factor_type(levels: Sequence[Any]) -> str:
    """Return the type of a factor's column: of whole numbers, numbers, yes and no, or texts; other levels are JSON."""
    given = [level for level in levels if level is not None]
    if given and all(isinstance(level, bool) for level in given):
        return "bool"
    if any(isinstance(level, bool) or not isinstance(level, int | float) for level in given) or not given:
        return "string"
    are_whole = all(isinstance(level, int) and level.bit_length() <= INT_BITS for level in given)
    return "int64" if are_whole else "double"


def _typed_rows(
    plan: Plan, values: Mapping[tuple[str, int], Mapping[str, float]], kinds: Mapping[str, str]
) -> Iterator[list[Any]]:
    keys = {(cell.condition, cell.seed): cell.key for cell in plan.cells}
    for condition in plan.experiment.conditions:
        levels = [_level(levels_of(condition).get(name), kind) for name, kind in kinds.items()]
        for seed in plan.experiment.seeds:
            found = values.get((condition.name, seed))
            for measure in plan.experiment.measures if found is not None else ():
                value = found[measure] if found else None
                yield [condition.name, *levels, seed, measure, value, keys[condition.name, seed]]


def _level(level: Any, kind: str) -> Any:
    if level is None or kind != "string":
        return float(level) if kind == "double" and level is not None else level
    return as_text(level)
