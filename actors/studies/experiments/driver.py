"""The places where the cells of an experiment are run, and their run there, of sequential seeds batch by batch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from actors.core.errors import PlaceError
from actors.studies.experiments.batch import Executor
from actors.studies.experiments.cells import cell_path, is_done
from actors.studies.experiments.outcome import Values, read_values
from actors.studies.experiments.plan import Cell, Plan
from actors.studies.experiments.processes import Processes
from actors.studies.gateway.place import GatewayPlace
from prism.experiment import Sequential, Stopped, stopped

PROCESSES = "processes"


def cells_to_do(plan: Plan, out: Path) -> list[Cell]:
    """Return the cells that are not done yet, each key once."""
    left = {cell.key: cell for cell in plan.cells}
    return [cell for cell in left.values() if not is_done(cell_path(out, cell))]


class Where(msgspec.Struct, frozen=True, kw_only=True):
    # `processes` of this machine; `ray`, the cluster that runs here or one that is started for the experiment;
    # `ray://HOST:PORT`, a cluster elsewhere; `HOST:PORT`, the cluster that this node is part of
    on: str = PROCESSES
    jobs: int | None = None  # cells at once, 1 or more; None for one on each processor, as far as the memory holds them
    # the experiment's directory as the nodes of a cluster see it, where they can write to it; None to send results over
    # the network
    shared: Path | None = None
    gateway: GatewayPlace | None = None  # asks the servers of models for all cells; None if each asks for itself


@contextmanager
def opened(where: Where) -> Iterator[Executor]:
    """Provide the place where cells are run. Its workers end with the block."""
    executor: Executor
    if where.on == PROCESSES:
        executor = Processes(where.jobs, where.gateway)
    else:
        if where.on != "ray" and re.fullmatch(r"(ray://)?[^\s/:]+:\d{1,5}", where.on) is None:
            raise PlaceError(f"--on {where.on}: expected processes, ray, ray://HOST:PORT or HOST:PORT")
        from actors.studies.experiments.on_ray import OnRay  # noqa: PLC0415  # an extra

        executor = OnRay(where.on, where.jobs, where.shared, where.gateway)
    with executor:
        yield executor


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
