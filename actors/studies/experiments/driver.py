"""The places where the cells of an experiment are run, and the cells that are to be run there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from actors.core.errors import PlaceError
from actors.studies.experiments.batch import Executor
from actors.studies.experiments.cells import cell_path, is_done
from actors.studies.experiments.plan import Cell, Plan
from actors.studies.experiments.processes import Processes
from actors.studies.gateway.place import GatewayPlace

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

        executor = OnRay(where.on, where.jobs, where.gateway)
    with executor:
        yield executor
