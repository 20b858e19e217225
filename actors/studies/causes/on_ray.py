"""Futures on a Ray cluster: its nodes get the files of the run, and slices of the futures that are wanted."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import anyio
from anyio import to_thread

from actors.core.errors import ActorError, PlaceError
from actors.core.processors import processors
from actors.factory.own_code import known_code
from actors.factory.ray_cluster import connected
from actors.studies.causes.futures import Futures, Outcome
from actors.studies.causes.processes import OnOutcome, beside_the_first
from actors.studies.causes.undone import Undone, outcomes_of
from actors.studies.experiments.node import Sort, place_run, sort_here

SLICES = 4  # the slices for each processor: many and small, so that no processor waits long for another one at the end
SLICE_MAX = 32
"""The most futures of a slice. Their outcomes arrive together, so larger slices would make the progress jump."""
AHEAD = 2  # the slices for each processor that are given to Ray at a time
LOSSES_MAX = 3  # the times that a slice is given to another process after the one before was lost


class _Run(NamedTuple):
    """A run whose futures are wanted."""

    study: str  # its name on the nodes
    key: str  # the id of its files in the object store
    # of, ticks: as for `Futures`
    of: str
    ticks: int
    trusts: bool  # whether its code may be run
    sort: Sort  # the versions of the first process


class OnRay(AbstractContextManager["OnRay"]):
    """A Ray cluster that runs futures of one run.

    Args:
        path: the run's directory; of: the measure; ticks: the number of ticks of the run that count.
        on: the address of the cluster, as experiments have it.
        jobs: slices at once; None for as many as there is room for.

    Raises:
        PlaceError: Ray is not installed, or there is no cluster at the address.
    """

    def __init__(self, path: Path, of: str, ticks: int, on: str, jobs: int | None) -> None:
        self._cluster = connected(on, jobs or processors(), f"--on {on}")
        self._ray = self._cluster.ray
        self._at_once = jobs or max(1, round(self._ray.cluster_resources().get("CPU", 1.0)))
        files = {str(each.relative_to(path)): each.read_bytes() for each in sorted(path.rglob("*")) if each.is_file()}
        self._files = self._ray.put(files)
        study = sha256(f"{socket.gethostname()} {path.resolve()}".encode()).hexdigest()[:16]
        self._run = _Run(study, self._files.hex(), of, ticks, known_code.trusts, sort_here())
        self._remote = self._ray.remote(num_cpus=1, max_retries=LOSSES_MAX)(_outcomes)
        self._flying: dict[Any, Sequence[int]] = {}  # `{task: the places of its futures among those that are wanted}`

    async def outcomes_of(self, wanted: Sequence[Undone], on_outcome: OnOutcome = lambda _: None) -> list[Outcome]:
        """Run futures, and return their outcomes in the given order."""
        order = sorted(range(len(wanted)), key=lambda place: wanted[place].tick)
        size = max(1, min(SLICE_MAX, len(order) // (SLICES * self._at_once)))
        left = [order[start : start + size] for start in range(0, len(order), size)][::-1]
        found: dict[int, Outcome] = {}
        while left or self._flying:
            while left and len(self._flying) < AHEAD * self._at_once:
                places = left.pop()
                task = self._remote.remote([self._files], self._run, [wanted[place] for place in places])
                self._flying[task] = places
            ready, _ = await to_thread.run_sync(partial(self._ray.wait, [*self._flying], num_returns=1, timeout=1.0))
            for task in ready:
                try:
                    outcomes: list[Outcome] = self._ray.get(task)
                except self._ray.exceptions.RayError as error:
                    cause = getattr(error, "cause", None) or error
                    said = " ".join(f"{type(cause).__name__}: {cause}".split())[:500]
                    raise ActorError(f"futures failed on a node: {said}") from None
                found |= zip(self._flying.pop(task), outcomes, strict=True)
                for each in outcomes:
                    on_outcome(each)
        return [found[place] for place in range(len(wanted))]

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """Leave the cluster; it ends if it was started here."""
        for task in self._flying:
            with suppress(Exception):  # the cluster may be gone
                self._ray.cancel(task, force=True)
        self._cluster.leave()


def _outcomes(files: Sequence[Any], run: _Run, wanted: Sequence[Undone]) -> list[Outcome]:
    """Return the outcomes of futures. Ray calls this on a node.

    Args:
        files: a list with one reference to `{name: content}` of the run's files. Ray fetches no references within a
            list, so only a process that has not opened the run yet fetches them.
    """
    if other := sort_here().differs_from(run.sort):
        raise PlaceError(f"the node {socket.gethostname()} has {other}; install the same on all nodes")
    with beside_the_first(trusts=run.trusts):
        if run not in _opened:
            import ray  # noqa: PLC0415  # an extra

            _opened.clear()
            _opened[run] = Futures(place_run(run.study, ray.get(files[0])), run.of, ticks=run.ticks)
        return anyio.run(outcomes_of, _opened[run], wanted)


_opened: dict[_Run, Futures] = {}  # the run that this process of a node has opened
