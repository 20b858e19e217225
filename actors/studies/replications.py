"""Replications, which are published studies done again: the plan of each, and the ledger of what came out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from actors.core.errors import RunDirectoryError
from actors.core.files import content_hash, read_json, sha256_of
from actors.factory.file_kinds import REPLICATION, telling_kind
from actors.factory.own_code import raised
from actors.factory.shipped import replications
from actors.store.manifest import read_summary
from actors.studies.experiments.cells import cell_path
from actors.studies.experiments.outcome import Outcome, Values
from actors.studies.experiments.plan import Plan, found_beside, make_plan, placed, text_of
from actors.studies.experiments.run_measures import code_of_own, load_own
from prism.answers import figure
from prism.errors import ConfigError, SettingError
from prism.experiment.design import refusal
from prism.experiment.replication import Compared, Replication, check_answers, compare, pseudo_values, read_replication

PAGE = "docs/replications.md"
RUNS_LEAST = 3  # the fewest seeds of a number over all runs: it is worked out with each run left out


class ReplicationPlan(msgspec.Struct, frozen=True, kw_only=True):
    path: Path  # the file of the replication
    replication: Replication
    experiment: Plan
    functions: dict[str, Callable[..., Any]]  # `{module:function: the function}` of all functions that the file names
    data: Path | None  # the file of the data; None if the replication needs no data
    hash: str  # the hash of figures, experiment, functions and data; PRISM's version is no part of it


def load_replication(path: Path) -> Replication:
    with telling_kind(path, REPLICATION):
        return read_replication(text_of(path, "a YAML file with a replication", PAGE), str(path))


def make_replication_plan(path: Path) -> ReplicationPlan:
    """Return the plan of the replication in a file, and load its experiment and functions."""
    replication = load_replication(path)
    try:
        where = "; it is not part of PRISM" + (f": {replication.data_from}" if replication.data_from else "")
        data = None if replication.data is None else _file(path, replication.data, "data", where)
        file = _file(path, replication.experiment, "experiment")
        places = {f"over_worlds.{name}": place for name, place in replication.over_worlds.items()}
        computed = {f"figures.{name}.computed": each.computed for name, each in replication.figures.items()}
        places |= {key: place for key, place in computed.items() if place is not None}
        if wrong := [key for key, place in places.items() if ":" not in place]:
            raise refusal(wrong[0], f"expected module:function, got {places[wrong[0]]!r}")
        functions = {place: load_own(place, file.parent, key) for key, place in places.items()}
        experiment = make_plan(file)
        check_answers(replication, experiment.experiment)
        if replication.over_worlds and len(experiment.experiment.seeds) < RUNS_LEAST:
            raise refusal("over_worlds", f"expected an experiment with {RUNS_LEAST} seeds or more")
    except SettingError as error:
        raise placed(text_of(path), path, error) from error.__cause__
    code = {place: code_of_own(place) for place in functions}
    asked = replace(replication, experiment="", remarks=[], data=None, data_from="")
    planned = replace(experiment.experiment, source="", base="", hypotheses=(), thresholds=(), question="")
    told = {key: value for key, value in msgspec.to_builtins(planned).items() if value}  # a new key changes no hash
    parts = [asked, told, experiment.own_code, experiment.meanings, code, None if data is None else sha256_of(data)]
    return ReplicationPlan(
        path=path,
        replication=replication,
        experiment=experiment,
        functions=functions,
        data=data,
        hash=content_hash(parts),
    )


def _file(path: Path, name: str, key: str, more: str = "") -> Path:
    found = found_beside(path, name)
    if not found.is_file():
        raise refusal(key, f"no such file: {name}, beside this file or in {Path.cwd()}{more}")
    return found


def computed_from_data(plan: ReplicationPlan, place: str) -> tuple[float, float | None]:
    """Return a number that is computed from the data, and its standard error if there is one."""
    try:
        found = plan.functions[place](plan.data)
        numbers = tuple(map(float, found)) if isinstance(found, Sequence) else (float(found),)
        value, *rest = numbers
        (error,) = rest or (None,)
    except Exception as error:  # a user's code may raise anything
        problem = f"{place}: expected a number, or a number and its standard error, got an error: {error}"
        raise ConfigError(str(plan.path), problem) from error
    return value, error


LINE = "replication.json"
DIGITS = 6  # significant digits of written numbers: the last digits of a sum depend on the processor


class Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of the ledger."""

    name: str
    figures: list[Compared]  # the figures beside the published ones
    runs: int
    calls: int  # to a model
    seconds: float  # the sum of the times of all runs
    digest: str  # the hash of the digests of all runs: equal digests mean equal runs
    asked: str  # the hash of the plan, which tells whether the file has changed since
    prism: list[str]  # the versions of PRISM that made the runs


def line_of(plan: ReplicationPlan, out: Path, part: Plan, values: Values, outcome: Outcome) -> Line:
    """Return the line of a replication whose cells all have a result."""
    experiment = part.experiment
    by_condition = {
        (measure, each.name): [values[each.name, seed][measure] for seed in experiment.seeds]
        for measure in experiment.measures
        for each in experiment.conditions
    }
    tables = {**by_condition, **_over_worlds(plan, out, part)}
    figures = []
    for name, asked in plan.replication.figures.items():
        computed = None if asked.computed is None else computed_from_data(plan, asked.computed)
        first, *second = (tables[asked.measure, each] for each in asked.names)
        here = [one - other for one, other in zip(first, second[0], strict=True)] if second else first
        found = compare(name, asked, here, computed)
        ends = {end: float(f"{getattr(found, end):.{DIGITS}g}") for end in ("here", "low", "high")}
        figures.append(replace(found, **ends))
    summaries = [(cell, read_summary(cell_path(out, cell))) for cell in part.cells]
    digests = [[cell.condition, cell.seed, summary["digest"]] for cell, summary in summaries]
    return Line(
        name=plan.path.stem,
        figures=figures,
        runs=len({cell.key for cell in part.cells}),
        calls=0 if outcome.model is None else outcome.model.calls,
        seconds=round(sum({cell.key: summary["wall_s"] for cell, summary in summaries}.values()), 1),
        digest=sha256(msgspec.json.encode(digests)).hexdigest()[:32],
        asked=plan.hash,
        prism=outcome.made_of.prism,
    )


def _over_worlds(plan: ReplicationPlan, out: Path, part: Plan) -> dict[tuple[str, str], list[float]]:
    """Return `{(measure, condition): a value for each run}` of numbers that are worked out from all runs.

    Only the conditions that a figure is about are read.
    """
    found, figures = {}, plan.replication.figures.values()
    for measure, condition in sorted({(each.measure, name) for each in figures for name in each.names}):
        if (place := plan.replication.over_worlds.get(measure)) is None:
            continue
        runs = [cell_path(out, cell) for cell in part.cells if cell.condition == condition]
        try:
            found[measure, condition] = pseudo_values(runs, plan.functions[place])
        except Exception as error:  # a user's code may raise anything
            raise RunDirectoryError(f"{out}: {place} ({condition}) raised {raised(error)}") from error
    return found


def read_line(path: Path) -> Line | None:
    """Return the line in a file; None if there is no file."""
    try:
        return read_json(path, Line)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunDirectoryError(
            f"{path}: is no line of a ledger: {error.strerror or error}; remove it, and replicate again"
        ) from None


OUT = Path("replications")
NONE = "-"
HERE_SAID = (
    "here is the mean of the runs, and in brackets the range of compatible figures; for a direction (greater or less "
    "than 0), the 95% interval of the mean"
)
"""The explanation of the numbers of `cells_of`."""


class Entry(NamedTuple):
    """A replication and its last line: the one in this directory, or else the one that comes with PRISM."""

    name: str
    path: Path
    line: Line | None
    is_own: bool = False  # whether the line is of this directory


def entries() -> list[Entry]:
    """Return the entries of all replications that come with PRISM."""
    found = []
    for name, path in replications().items():
        own = read_line(OUT / name / LINE)
        found.append(Entry(name, path, own or read_line(path.with_suffix(".json")), is_own=own is not None))
    return found


def hits(line: Line, *, fitted: bool) -> str:
    """Return the hits among the fitted or the predicted figures, such as `3 of 5`."""
    found = [each.is_hit for each in line.figures if each.fitted == fitted]
    return f"{sum(found)} of {len(found)}" if found else NONE


def cells_of(each: Compared) -> tuple[str, str, str, str, str]:
    """Return a figure, what was published, what is here as `HERE_SAID` explains it, `hit` or the miss, and its kind."""
    between = "" if each.low == each.high else f" ({figure(each.low)} to {figure(each.high)})"
    outcome = "hit" if each.is_hit else f"miss: {each.why}"
    kind = "fitted" if each.fitted else "predicted"
    return each.figure, each.published, f"{figure(each.here)}{between}", outcome, kind
