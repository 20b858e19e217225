"""The ledger of replications: a line for each, with its figures beside the published ones, and a page of all lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from actors.core.errors import RunDirectoryError
from actors.core.files import read_json
from actors.factory.own_code import raised
from actors.factory.shipped import replications
from actors.store.manifest import read_summary
from actors.studies.experiments.cells import cell_path
from actors.studies.experiments.outcome import Outcome, Values
from actors.studies.experiments.plan import Plan
from actors.studies.replications.replication_plan import ReplicationPlan, computed_from_data
from prism.answers import figure
from prism.experiment.replication import Compared, compare, pseudo_values

LINE = "replication.json"
DIGITS = 6  # significant digits of written numbers: the last digits of a sum depend on the processor


class Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of the ledger.

    Args:
        name: the name of the replication.
        figures: the figures beside the published ones.
        runs, calls: the number of runs, and of calls to a model.
        seconds: the sum of the times of all runs.
        digest: the hash of the digests of all runs: equal digests mean equal runs.
        asked: the hash of the plan, which tells whether the file has changed since.
        prism: the versions of PRISM that made the runs.
    """

    name: str
    figures: list[Compared]
    runs: int
    calls: int
    seconds: float
    digest: str
    asked: str
    prism: list[str]


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
        sides = [tables[asked.measure, each] for each in asked.contrast or (asked.condition or "",)]
        here = [one - other for one, other in zip(*sides, strict=True)] if asked.contrast else sides[0]
        found = compare(name, asked, here, computed)
        ends = {end: float(f"{getattr(found, end):.{DIGITS}g}") for end in ("here", "low", "high")}
        figures.append(msgspec.structs.replace(found, **ends))
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


Tables = Mapping[tuple[str, str], list[float]]  # `{(measure, condition): a value for each seed}`


def _over_worlds(plan: ReplicationPlan, out: Path, part: Plan) -> Tables:
    """Return the numbers that are worked out from all runs of a condition, as a value for each run.

    Only the conditions that a figure is about are read.
    """
    figures = plan.replication.figures.values()
    asked = {(each.measure, name) for each in figures for name in each.contrast or (each.condition or "",)}
    found = {}
    for measure, condition in sorted(asked):
        place = plan.replication.over_worlds.get(measure)
        if place is None:
            continue
        runs = [cell_path(out, cell) for cell in part.cells if cell.condition == condition]

        def number(some: object, function: Callable[..., Any] = plan.functions[place]) -> float:
            return float(function(some))

        try:
            found[measure, condition] = pseudo_values(runs, number)
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
