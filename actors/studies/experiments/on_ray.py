"""A Ray cluster that runs cells: each is a task of Ray, on one of its warm processes, on any node.

Ray decides where and when a task runs. PRISM makes the retries itself, so that each loss is counted, and a cell that
ends its process three times differs from a cell that has lost its node.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from actors.core.errors import PlaceError
from actors.core.files import read_regular
from actors.core.processors import processors
from actors.factory.input_files import INPUT_BYTES_MAX, locate_input
from actors.factory.ray_cluster import connected
from actors.studies.experiments.batch import Batch, OnDone, Progress
from actors.studies.experiments.cells import CELLS, Done, cell_path
from actors.studies.experiments.machine import Load
from actors.studies.experiments.node import (
    Order,
    Returned,
    discard,
    load_here,
    order_of,
    piece_of,
    read_by,
    run_order,
)
from actors.studies.experiments.parcels import Arrival
from actors.studies.experiments.plan import Cell
from actors.studies.experiments.processes import cell_bytes
from actors.studies.gateway.service import GatewayPlace
from prism.errors import PrismError

LOAD_EVERY_S = 5.0
ROOM_WAIT_S = 600.0
"""The time that a cluster gets to have room for a cell: one that grows takes minutes to start a node."""
AHEAD = 2  # the cells that are given to Ray for each processor, so that none waits for the driver
AHEAD_MIN = 16  # the cells that are given to Ray at least: waiting ones tell a cluster that it is to grow
CALLS_MAX = 500  # the cells that a process runs before Ray replaces it, so that it cannot grow without end


class _Remote(NamedTuple):
    cell: Any
    piece: Any
    discard: Any
    load: Any


class OnRay(AbstractContextManager["OnRay"]):
    """A Ray cluster."""

    def __init__(
        self, address: str, jobs: int | None, shared: Path | None = None, gateway: GatewayPlace | None = None
    ) -> None:
        self.progress = Progress()
        self._jobs, self._shared, self._gateway = jobs, shared, gateway
        self._cluster = connected(address, jobs or processors(), f"--on {address}")
        self._ray = self._cluster.ray
        self._remote = _remote(self._ray)
        self._nodes = _Nodes(self._ray, self._remote, self.progress)
        self._contents: dict[str, Any] = {}  # `{SHA-256 of an input file: its content in the object store}`

    def run(self, cells: Sequence[Cell], out: Path, on_done: OnDone) -> dict[str, str]:
        call = _Call(self._ray, self._remote, self._nodes, out, Batch(cells, out, on_done, self.progress))
        try:
            while call.batch.is_waiting or call.flying:
                self._nodes.look(call.experiment)
                at_once = self._jobs or max(AHEAD_MIN, AHEAD * self._nodes.processors)
                while call.batch.is_waiting and len(call.flying) < at_once:
                    cell = call.batch.take()
                    path = None if self._shared is None else str(self._shared / CELLS / cell.key)
                    if path is not None:
                        cell_path(call.out, cell).parent.mkdir(parents=True, exist_ok=True)
                    try:
                        contents = {digest: self._content(name, digest) for name, digest in read_by(cell).items()}
                        order = order_of(cell, path, call.experiment, self._gateway)
                    except (PrismError, OSError) as error:
                        call.batch.end(cell, Done(" ".join(str(error).split())))
                        continue
                    needed = cell_bytes(cell.config)
                    self._nodes.needed_bytes = max(self._nodes.needed_bytes, needed)
                    call.flying[self._remote.cell.options(memory=needed).remote(order, contents)] = (cell, None)
                call.collect()
        except BaseException:
            call.cancel()
            raise
        return call.batch.problems

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._cluster.leave()

    def _content(self, name: str, digest: str) -> Any:
        """Return the content of an input file in the object store."""
        if digest not in self._contents:
            content = read_regular(locate_input(name), INPUT_BYTES_MAX)
            if sha256(content).hexdigest() != digest:
                raise PlaceError(f"{name} has changed since the plan was made")
            self._contents[digest] = self._ray.put(content)
        return self._contents[digest]


class _Call:
    """One call of `run`: the cells that Ray has, and the parcels that are on their way."""

    def __init__(self, ray: Any, remote: _Remote, nodes: _Nodes, out: Path, batch: Batch) -> None:
        self.batch, self.out = batch, out
        self.experiment = sha256(f"{socket.gethostname()} {out.resolve()}".encode()).hexdigest()[:16]
        """The name of the experiment on the nodes: the same when it is continued."""
        self.flying: dict[Any, tuple[Cell, tuple[Returned, Arrival] | None]] = {}
        """`{task: its cell; and the parcel, where the task returns a piece of one}`."""
        self._ray, self._remote, self._nodes = ray, remote, nodes

    def collect(self) -> None:
        """Take the tasks that have ended; wait up to a second for one."""
        if not self.flying:
            return
        ready, _ = self._ray.wait(list(self.flying), num_returns=1, timeout=1.0)
        for task in ready:
            cell, arriving = self.flying.pop(task)
            try:
                self._take(cell, arriving, self._ray.get(task))
            except self._ray.exceptions.RayError as error:
                if arriving is not None:
                    arriving[1].close()
                # Let a cell wait again whose task failed, or note why it cannot be run.
                known = self._ray.exceptions
                if isinstance(error, known.RayTaskError | known.RuntimeEnvSetupError):
                    cause = getattr(error, "cause", None) or error
                    said = " ".join(f"{type(cause).__name__}: {cause}".split())
                    hint = "; is PRISM installed on all nodes?" if isinstance(cause, ImportError) else ""
                    self.batch.end(cell, Done(f"its task failed on a node: {said[:500]}{hint}"))
                elif isinstance(error, known.WorkerCrashedError | known.OutOfMemoryError):
                    self.batch.kill(cell, "its process on a node")
                else:
                    self.batch.lose(cell, "node lost")

    def cancel(self) -> None:
        for task in self.flying:
            with suppress(Exception):  # the cluster may be gone
                self._ray.cancel(task, force=True)

    def _take(self, cell: Cell, arriving: tuple[Returned, Arrival] | None, value: Any) -> None:
        """Take what a task has returned: the end of a cell, or a piece of its parcel."""
        if arriving is None:
            returned: Returned = value
            if returned.done.signal or returned.parcel is None:
                self._settle(cell, returned.done)
                return
            try:
                arriving = (returned, Arrival(returned.parcel, cell_path(self.out, cell)))
            except OSError as error:
                self._settle(cell, Done(f"cannot be written: {error.strerror or error}"))
                return
        elif value is None:
            arriving[1].close()
            self.batch.lose(cell, "result lost")
            return
        else:
            arriving[1].add(value)
        self._go_on(cell, *arriving)

    def _go_on(self, cell: Cell, returned: Returned, arrival: Arrival) -> None:
        """Ask for the next piece, or put the files in their place."""
        if (number := arrival.wanted) is not None:
            there = self._nodes.at(self._remote.piece, returned.node)
            self.flying[there.remote(self.experiment, cell.key, number)] = (cell, (returned, arrival))
            return
        try:
            is_whole = arrival.settle()
        except (PrismError, OSError) as error:
            said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            self._settle(cell, Done(f"cannot be written: {said}"))
            return
        finally:
            arrival.close()
        if returned.parcel is not None and returned.parcel.pieces > 1:
            self._nodes.at(self._remote.discard, returned.node).remote(self.experiment, cell.key)
        if is_whole:
            self._settle(cell, returned.done)
        else:
            self.batch.lose(cell, "result lost")

    def _settle(self, cell: Cell, done: Done) -> None:
        if done.signal:
            self.batch.lose(cell, "node lost")
        else:
            self.batch.end(cell, done)


class _Nodes:
    """The nodes of the cluster: their load, and whether any of them has room for a cell."""

    def __init__(self, ray: Any, remote: _Remote, progress: Progress) -> None:
        self.processors = processors()
        self.needed_bytes = 0
        self._ray, self._remote, self._progress = ray, remote, progress
        self._looked = 0.0
        self._roomless_since: float | None = None
        self._asked: dict[Any, str] = {}
        self._names: dict[str, str] = {}
        self._loads: dict[str, Load] = {}

    def at(self, function: Any, node: str) -> Any:
        """Return a function that runs on one node, beside its cells."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415  # an extra

        return function.options(num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False))

    def look(self, experiment: str) -> None:
        """Look at the nodes, every few seconds."""
        self._take_loads()
        if time.monotonic() < self._looked + LOAD_EVERY_S:
            return
        self._looked = time.monotonic()
        alive = [node for node in self._ray.nodes() if node["Alive"]]
        hosts = [str(node["NodeManagerHostname"]) for node in alive]
        self._names = {
            node["NodeID"]: host if hosts.count(host) == 1 else f"{host}-{node['NodeID'][:6]}"
            for node, host in zip(alive, hosts, strict=True)
        }
        self.processors = round(sum(node["Resources"].get("CPU", 0.0) for node in alive))
        self._loads = {name: load for name, load in self._loads.items() if name in self._names.values()}
        self._check_room([node["Resources"] for node in alive])
        for node in self._names:
            if node not in self._asked.values():
                self._asked[self.at(self._remote.load, node).remote(experiment, node)] = node

    def _take_loads(self) -> None:
        if not self._asked:
            return
        ready, _ = self._ray.wait(list(self._asked), num_returns=len(self._asked), timeout=0)
        for task in ready:
            node = self._asked.pop(task)
            with suppress(self._ray.exceptions.RayError):  # it is gone
                if node in self._names:
                    self._loads[self._names[node]] = self._ray.get(task)
        running = {name: load.cells or 0 for name, load in self._loads.items()}
        self._progress.tell(nodes=dict(self._loads), running=running)

    def _check_room(self, resources: Sequence[Mapping[str, float]]) -> None:
        has_room = any(each.get("CPU", 0.0) >= 1 and each.get("memory", 0.0) >= self.needed_bytes for each in resources)
        if has_room:
            self._roomless_since = None
            return
        largest = max((each.get("memory", 0.0) for each in resources if each.get("CPU", 0.0) >= 1), default=0.0)
        problem = (
            f"no node of the cluster has room for a cell: it needs 1 processor and {self.needed_bytes / 1e6:,.0f} MB; "
            f"{len(resources):,} nodes, {largest / 1e6:,.0f} MB at most beside a processor"
        )
        self._progress.tell(note=problem)
        self._roomless_since = self._roomless_since or time.monotonic()
        if time.monotonic() - self._roomless_since >= ROOM_WAIT_S:
            raise PlaceError(problem)


def _remote(ray: Any) -> _Remote:
    return _Remote(
        cell=ray.remote(num_cpus=1, max_retries=0, max_calls=CALLS_MAX)(_run_cell),
        piece=ray.remote(max_retries=3)(piece_of),
        discard=ray.remote(max_retries=0)(discard),
        load=ray.remote(max_retries=0)(load_here),
    )


def _run_cell(order: Order, contents: Mapping[str, Any]) -> Returned:
    """Run a cell on the node on which Ray has put it."""
    import ray  # noqa: PLC0415

    fetch: Callable[[str], bytes] = lambda digest: ray.get(contents[digest])  # noqa: E731
    return run_order(order, ray.get_runtime_context().get_node_id(), fetch)
