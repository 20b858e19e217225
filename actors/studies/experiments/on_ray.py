"""A Ray cluster that runs cells: each is a task of Ray, on one of its warm processes, on any node.

Ray decides where and when a task runs. PRISM makes the retries itself, so that each loss is counted, and a cell that
ends its process three times differs from a cell that has lost its node.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from actors.core.errors import PlaceError
from actors.core.files import read_regular
from actors.core.machine import processors
from actors.factory.input_files import INPUT_BYTES_MAX, locate_input
from actors.factory.ray_cluster import connected
from actors.studies.experiments.batch import KILLED, LOST, Executor, LostError
from actors.studies.experiments.cells import Done, cell_path
from actors.studies.experiments.node import Order, Returned, order_of, put, read_by, run_order
from actors.studies.experiments.plan import Cell
from actors.studies.gateway.place import GatewayPlace
from prism.errors import PrismError

LOOK_EVERY_S = 5.0
AHEAD = 2  # the cells that are given to Ray for each processor, so that none waits for the driver
AHEAD_MIN = 16  # the cells that are given to Ray at least: waiting ones tell a cluster that it is to grow
CALLS_MAX = 500  # the cells that a process runs before Ray replaces it, so that it cannot grow without end


class OnRay(Executor):
    """A Ray cluster."""

    def __init__(self, address: str, jobs: int | None, gateway: GatewayPlace | None = None) -> None:
        super().__init__()
        self._jobs, self._gateway = jobs, gateway
        self._cluster = connected(address, jobs or processors(), f"--on {address}")
        self._ray = self._cluster.ray
        self._run_cell = self._ray.remote(num_cpus=1, max_retries=0, max_calls=CALLS_MAX)(_run_cell)
        self._contents: dict[str, Any] = {}  # `{SHA-256 of an input file: its content in the object store}`
        self._tasks: dict[Future[Any], Any] = {}  # those that have not ended
        self._processors = processors()
        self._looked = 0.0

    def at_once(self, cells: Sequence[Cell], *, are_suspect: bool) -> int:  # noqa: ARG002  # the interface's
        return self._jobs or max(AHEAD_MIN, AHEAD * self._processors)

    def begin(self, cell: Cell, out: Path) -> Future[Returned]:  # noqa: ARG002  # the interface's
        """Give a cell to Ray."""
        contents = {digest: self._content(name, digest) for name, digest in read_by(cell).items()}
        order = order_of(cell, self._gateway)
        task = self._run_cell.remote(order, contents)
        begun: Future[Returned] = task.future()
        self._tasks[begun] = task
        return begun

    def end(self, cell: Cell, begun: Future[Returned], out: Path) -> Done:
        del self._tasks[begun]
        known = self._ray.exceptions
        try:
            returned = begun.result()
        except (known.RayTaskError, known.RuntimeEnvSetupError) as error:
            cause = getattr(error, "cause", None) or error
            said = " ".join(f"{type(cause).__name__}: {cause}".split())
            hint = "; is PRISM installed on all nodes?" if isinstance(cause, ImportError) else ""
            return Done(f"its task failed on a node: {said[:500]}{hint}")
        except (known.WorkerCrashedError, known.OutOfMemoryError):
            raise LostError(KILLED, "its process on a node was killed") from None
        except known.RayError:
            raise LostError(LOST, "its node was lost") from None
        if returned.done.signal:
            raise LostError(LOST, "its node was lost")
        try:
            if returned.files is not None:
                put(returned.files, cell_path(out, cell))
        except (PrismError, OSError) as error:
            said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            return Done(f"cannot be written: {said}")
        return returned.done

    def stop(self) -> None:
        for task in self._tasks.values():
            with suppress(Exception):  # the cluster may be gone
                self._ray.cancel(task, force=True)

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        self._cluster.leave()

    def _content(self, name: str, digest: str) -> Any:
        """Return the content of an input file in the object store."""
        if digest not in self._contents:
            content = read_regular(locate_input(name), INPUT_BYTES_MAX)
            if sha256(content).hexdigest() != digest:
                raise PlaceError(f"{name} has changed since the plan was made")
            self._contents[digest] = self._ray.put(content)
        return self._contents[digest]

    def look(self, running: int) -> None:
        """Look at the cluster every few seconds: its processors, and those that work.

        Args:
            running: the cells that Ray has now. Ray may also run other work.
        """
        if time.monotonic() < self._looked + LOOK_EVERY_S:
            return
        self._looked = time.monotonic()
        total, idle = (
            each.get("CPU", 0.0) for each in (self._ray.cluster_resources(), self._ray.available_resources())
        )
        self._processors = round(total)
        self.tell(running=min(running, round(total - idle)))


def _run_cell(order: Order, contents: Mapping[str, Any]) -> Returned:
    """Run a cell on the node on which Ray has put it."""
    import ray  # noqa: PLC0415

    return run_order(order, lambda digest: ray.get(contents[digest]))
