"""A Ray cluster that runs cells: each is a task of Ray, on one of its warm processes, on any node.

Ray decides where and when a task runs. PRISM makes the retries itself, so that each loss is counted, and a cell that
ends its process three times differs from a cell that has lost its node.
"""

from __future__ import annotations

import platform
import shutil
import socket
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import version
from ipaddress import ip_address
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from actors.core.errors import PlaceError
from actors.core.files import drafted_directory, read_regular, write_file
from actors.core.machine import processors
from actors.factory.input_files import (
    INPUT_BYTES_MAX,
    is_kept,
    kept_inputs,
    kept_sha256,
    locate_input,
    note_files,
    place_of,
    plain_name,
    share_inputs,
)
from actors.factory.own_code import sources_below
from actors.factory.ray_cluster import connected, is_there
from actors.runs.compatibility import OWN_PACKAGE, code_sha256
from actors.runs.inputs import with_kept_files
from actors.store.lock import LOCK, locked
from actors.studies.experiments.cells import CELLS, KILLED, LOST, Done, Executor, LostError, Task, cell_path, work
from actors.studies.experiments.plan import Cell
from actors.studies.experiments.shared_oracle import asks_model
from actors.studies.gateway.place import GatewayPlace
from prism.config import Config
from prism.errors import PrismError


class Order(NamedTuple):
    key: str
    config: Config
    inputs: Mapping[str, str]  # `{input file, as the user wrote it: SHA-256}`
    versions: Mapping[str, str]  # those of the driver, by `versions_here`
    network: str = ""  # that of the driver, by `network_here`
    gateway: GatewayPlace | None = None  # asks the servers of models for the cell; None if it asks for itself
    # `{name: content}` of the code that a run has kept and the configuration names; empty without any
    code: Mapping[str, bytes] = {}


class Returned(NamedTuple):
    done: Done
    # `{name: content}` of the cell's files; None without files
    files: Mapping[str, bytes] | None = None


def versions_here() -> dict[str, str]:
    """Return the versions that driver and node must have in common."""
    major, minor, _ = platform.python_version_tuple()
    return {"Python": f"{major}.{minor}", "PRISM": version(OWN_PACKAGE), "PRISM's code": code_sha256()[:12]}


def read_by(cell: Cell) -> dict[str, str]:
    """Return `{file that a cell reads: SHA-256}`: its inputs, and those that a run has kept, such as a tape."""
    config = cell.config
    kept = (name for name in kept_inputs(config) if name != config.simulation.domain_path)
    return {**{name: str(kept_sha256(name)) for name in kept}, **cell.inputs}


def order_of(cell: Cell, gateway: GatewayPlace | None = None) -> Order:
    """Return the order for a cell, from the machine of the experiment."""
    read = read_by(cell)
    config, kept = with_kept_files(cell.config, read)
    code = config.simulation.domain_path
    return Order(
        key=cell.key,
        config=config,
        inputs={name: read[source] for name, source in kept.items()},
        versions=versions_here(),
        network=network_here(),
        gateway=gateway,
        code={} if code is None or not is_kept(code) else sources_below(place_of(code), place_of(code)),
    )


def run_order(order: Order, fetch: Callable[[str], bytes]) -> Returned:
    """Run a cell in this process, and leave nothing on the node.

    Args:
        fetch: returns the content of an input file, by its SHA-256.
    """
    here = f"the node {socket.gethostname()}"
    for name, mine in versions_here().items():
        if mine != order.versions[name]:
            problem = f"{here} has {name} {mine}, not {order.versions[name]}; install the same on all nodes"
            return Returned(Done(problem))
    if order.gateway is not None and asks_model(order.config) and (problem := no_way_to(order.gateway, order.network)):
        return Returned(Done(problem))
    share_inputs()
    with TemporaryDirectory(prefix="prism-cell-") as directory:
        path = Path(directory, CELLS, order.key)
        for name, digest in order.inputs.items():
            content = fetch(digest)
            if sha256(content).hexdigest() != digest:
                raise OSError(f"the input file {plain_name(name)} was damaged on its way")
            placed = Path(directory, digest)
            write_file(placed, content)
            placed.chmod(0o444)  # a cell links it, and could not go on after a kill with a link that can be written
            note_files({name: placed})
        if order.code:
            code = Path(directory, "code")
            _write(order.code, code)
            note_files({str(order.config.simulation.domain_path): code})
        path.parent.mkdir(exist_ok=True)
        done = work(Task(order.config, path, order.inputs, order.gateway))
        if not path.is_dir():
            return Returned(done)
        files = {str(each.relative_to(path)): each.read_bytes() for each in sorted(path.rglob("*")) if each.is_file()}
    done = done._replace(problem=done.problem.replace(str(path), "").lstrip(": "))
    return Returned(done, {name: content for name, content in files.items() if name != LOCK})


def _write(files: Mapping[str, bytes], directory: Path) -> None:
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)


def put(files: Mapping[str, bytes], path: Path) -> None:
    """Write the files of a cell that have come from a node to its directory, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for place in map(PurePosixPath, files):
        if place.is_absolute() or ".." in place.parts:
            raise OSError(f"{str(place)!r} is no file of a cell")
    with drafted_directory(path) as draft:
        _write(files, draft)
        if path.exists():
            with locked(path):
                shutil.rmtree(path)


REACH_WAIT_S = 15.0  # the longest time in which the gateway is looked for
REACH_EVERY_S = 0.5


def network_here() -> str:
    """Return a name of the network of this process: processes with equal names share a loopback device."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/net').readlink()}"
    except OSError:  # another system than Linux
        return socket.gethostname()


def no_way_to(gateway: GatewayPlace, network: str) -> str:
    """Return the reason why this node cannot ask the gateway, on one line; empty if it can.

    Args:
        network: that of the command. The loopback device of another network leads to another program, which must not be
            asked: a request has the token.
    """
    parts, problem = urlsplit(gateway.address), ""
    host, port = parts.hostname or "", parts.port or 0
    try:
        is_loopback = ip_address(host).is_loopback
    except ValueError:
        is_loopback = host == "localhost"
    if is_loopback and network != network_here():
        problem = f"{host}:{port} is on the command's machine alone"
    until = time.monotonic() + REACH_WAIT_S
    while not problem and not is_there(host, port):
        if time.monotonic() > until:
            problem = f"nothing answers at {host}:{port}, or the port is closed to it"
        time.sleep(REACH_EVERY_S)
    hint = "set oracle.address to an address of the command's machine that all nodes reach"
    return problem and f"the node {socket.gethostname()} cannot reach the gateway: {problem}; {hint}"


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

    def at_once(self, *, are_suspect: bool) -> int:  # noqa: ARG002  # the interface's
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
        """Look at the cluster every few seconds: its processors, and those that work. Ray may also run other work."""
        if time.monotonic() < self._looked + LOOK_EVERY_S:
            return
        self._looked = time.monotonic()
        total, idle = self._ray.cluster_resources().get("CPU", 0.0), self._ray.available_resources().get("CPU", 0.0)
        self._processors = round(total)
        self.tell(running=min(running, round(total - idle)))


def _run_cell(order: Order, contents: Mapping[str, Any]) -> Returned:
    import ray  # noqa: PLC0415

    return run_order(order, lambda digest: ray.get(contents[digest]))
