"""Batches of sequential seeds: cells are run until the intervals are narrow enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec.structs import replace

from actors.studies.experiments.outcome import Values, read_values
from actors.studies.experiments.plan import Plan
from prism.experiment import Sequential, Stopped, stopped

RunCells = Callable[[Plan], Mapping[str, str]]
"""Runs the cells of a plan that are not done, and returns `{key: problem}` of those that failed."""


def first_seeds(plan: Plan, count: int) -> Plan:
    seeds = plan.experiment.seeds[:count]
    kept = frozenset(seeds)
    cells = tuple(cell for cell in plan.cells if cell.seed in kept)
    return replace(plan, experiment=replace(plan.experiment, seeds=seeds), cells=cells)


def run_batches(plan: Plan, out: Path, run_cells: RunCells) -> tuple[Plan, Values, dict[str, str], Stopped | None]:
    """Run a plan; if its seeds are sequential, in batches, until its rule stops.

    Each call checks the rule from the first batch on, whatever cells are done already. So an interrupted experiment
    ends where an uninterrupted one does.

    Returns:
        the plan with the seeds that were run, its values, `{cell: problem}`, and why it stopped.
    """
    rule = plan.experiment.sequential
    for count in [len(plan.experiment.seeds)] if rule is None else rule.counts():
        part = first_seeds(plan, count)
        failed = dict(run_cells(part))
        values, unread = read_values(part, out, failed)
        problems = {**failed, **unread}
        end = None if rule is None else look(part, rule, values, has_failed=bool(problems))
        if end is not None:
            break
    return part, values, problems, end


def look(part: Plan, rule: Sequential, values: Values, *, has_failed: bool = False) -> Stopped | None:
    """Return the end of sequential seeds if their rule stops here, or None to go on."""
    seeds = part.experiment.seeds
    names = [each.name for each in part.experiment.conditions]
    if rule.contrast is not None:
        names = list(rule.contrast)
        seeds = tuple(seed for seed in seeds if all((name, seed) in values for name in names))
    found = {name: [values[name, seed][rule.measure] for seed in seeds if (name, seed) in values] for name in names}
    return stopped(rule, found, len(part.experiment.seeds), has_failed=has_failed)
