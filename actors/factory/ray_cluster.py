"""A cluster of Ray: the one that runs, or one that is started here."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from threading import Event, Thread, current_thread, main_thread
from typing import Any, Final

from actors.core.errors import PlaceError
from actors.core.machine import not_installed, safe_path

SPARE = 6  # the processes beside those at work that may idle without being ended
STORE_BYTES = 512 * 1024**2  # the object store of a cluster that is started here
TRIES = 3  # the times that a cluster is started here before it is given up
REACHED_S = 3.0  # the time in which an address must answer
PLACE_BYTES_MAX = 18  # the longest directory for temporary files in which Ray's sockets can have names
LOOPBACK_ONLY: Final = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
_TOKEN: Final = secrets.token_hex(32)  # the token of the clusters that are started here. It is in no file.


class Cluster:
    """A Ray cluster that this process is connected to, until `leave`.

    A thread of its own connects, and stays: Ray may wait for minutes for a cluster that accepts a connection and says
    nothing, and no signal ends that wait in the main thread; and the processes that Ray starts end with the thread that
    started them.

    The address `ray` stands for the one that runs, or one started here; `asked` is the place as a user named it.
    """

    def __init__(self, address: str, processes: int, asked: str) -> None:
        self._given = address, processes, asked
        self.ray: Any = None
        self.connected = Future[Cluster]()
        self._left = Event()
        self._place: TemporaryDirectory[str] | None = None
        """The directory of a cluster that was started here, which nobody else may enter."""
        Thread(target=self._run, name="connecting to Ray", daemon=True).start()

    def leave(self) -> None:
        """Leave the cluster; it ends if it was started here."""
        self.ray.shutdown()
        self._left.set()
        if self._place is not None:
            self._place.cleanup()

    def _run(self) -> None:
        self.connected.set_running_or_notify_cancel()
        try:
            self._connect(*self._given)
            self.connected.set_result(self)
        except BaseException as error:  # noqa: BLE001  # it is raised where the result is awaited
            self.connected.set_exception(error)
        else:
            self._left.wait()

    def _connect(self, address: str, processes: int, asked: str) -> None:
        named = os.environ.get("RAY_ADDRESS", "")
        if address == "ray" and named not in {"", "auto"}:
            address, asked = named, f"{asked}, RAY_ADDRESS={named}"
        _refuse_unreachable(address, asked)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Ray ends a process whose node is gone, and takes the node for gone if the parent of the process is process 1.
        # That is so in a container or under nohup. With this variable Ray looks for that process instead, and this one
        # is there.
        os.environ["RAY_RAYLET_PID"] = str(os.getpid())
        try:
            import ray  # noqa: PLC0415  # an extra, and slow to import

            self.ray, options = ray, _options(ray, address)
            if address not in {"ray", "local"}:
                ray.init(address=address, **options)
                return
            if address == "ray" and not left_cluster_is_gone():
                with suppress(ConnectionError):
                    ray.init(address="auto", **options)
                    return
            self._start(processes, options)
        except PlaceError:
            raise
        except Exception as error:  # noqa: BLE001  # Ray raises a bare one where a node takes too long to start
            said = " ".join(str(error).split())
            is_other = "ersion" in said and ("mismatch" in said or "differ" in said)
            problem = "the cluster has other versions" if is_other else "no Ray cluster can be used there"
            raise PlaceError(f"{asked}: {problem}: {said[:300]}") from None

    def _start(self, processes: int, options: dict[str, Any]) -> None:
        """Start a cluster that no other user or machine reaches. A busy machine may need some tries."""
        place = os.environ.get("RAY_TMPDIR") or gettempdir()
        place = place if len(os.fsencode(place)) <= PLACE_BYTES_MAX else "/tmp"  # noqa: S108  # it gets a private one
        # Ray makes its own directory one for everybody, so it lies in one for this user alone.
        self._place = TemporaryDirectory(prefix="prism-ray-", dir=place, ignore_cleanup_errors=True)
        for left in reversed(range(TRIES)):
            try:
                with _private(self.ray), safe_path():
                    self.ray.init(
                        address="local",
                        num_cpus=processes,
                        include_dashboard=False,
                        object_store_memory=STORE_BYTES,
                        _temp_dir=str(Path(self._place.name, "r")),
                        # By default Ray begins a process for each reading of the load, and lets cells wait for all
                        # other work.
                        _system_config={"num_workers_soft_limit": processes + SPARE, "worker_niceness": 0},
                        **options,
                    )
            except Exception as error:
                self.ray.shutdown()
                if not left or "timed out" not in str(error):
                    self._place.cleanup()
                    raise
            else:
                return


def connected(address: str, processes: int, asked: str) -> Cluster:
    """Return a cluster once it is connected; a signal ends the wait for it."""
    cluster = Cluster(address, processes, asked).connected.result()
    heed_signals()
    return cluster


def heed_signals() -> None:
    """Set Python's handler of SIGTERM again: Ray has set one that prints addresses of machine code."""
    if current_thread() is main_thread():
        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM) or signal.SIG_DFL)


def _refuse_unreachable(address: str, asked: str) -> None:
    """Raise an error if Ray is missing, or nobody answers at the address: Ray itself waits for minutes."""
    if find_spec("ray") is None:
        raise PlaceError(not_installed(f"{asked} needs Ray", "ray"))
    if address.startswith("ray://") and find_spec("grpc") is None:
        problem = f"{asked} needs the package grpcio, not installed here: pip install 'ray[client]'"
        raise PlaceError(f"{problem}; or run this command on a node of the cluster")
    if address in {"ray", "local"}:
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        raise PlaceError(f"{asked}: expected HOST:PORT or ray://HOST:PORT")
    if not is_there(host, int(port)):
        usual = "10001 is Ray's client" if address.startswith("ray://") else "6379 is the head"
        raise PlaceError(f"{asked}: nobody answers there; is the cluster up, and is it the right port? {usual}")


def _options(ray: Any, address: str) -> dict[str, Any]:
    options = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address.startswith("ray://"):
        return options

    class Job(ray.job_config.JobConfig):  # type: ignore[misc]
        """A job whose processes import nothing from the working directory, which Ray puts on their path otherwise."""

        def _runtime_env_has_working_dir(self) -> bool:
            return True

    return {**options, "job_config": Job()}


@contextmanager
def _private(ray: Any) -> Iterator[None]:
    """Let a cluster that is started in the block listen on this machine alone, with a token and files of its own."""
    from ray._private import ray_constants  # noqa: PLC0415  # an extra

    # Ray knows this setting by the name of two systems on which a firewall asks about each other address.
    changed = {LOOPBACK_ONLY: "0", "RAY_AUTH_TOKEN": _TOKEN}  # Ray demands a token by itself
    before = {name: os.environ.get(name) for name in changed}
    is_wide, mask = getattr(ray_constants, "ENABLE_RAY_CLUSTER", None), os.umask(0o077)
    os.environ.update(changed)
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        if (found := ray.util.get_node_ip_address()) != "127.0.0.1":
            problem = f"Ray {ray.__version__} would listen at {found}, where other machines reach it"
            raise PlaceError(f"{problem}; start a cluster (`ray start --head`), and name its address")
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = is_wide
        os.umask(mask)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def left_cluster_is_gone() -> bool:
    """Return whether the last cluster of this machine is gone but has left its address.

    Ray removes the file with the address when the cluster ends, but not when it is killed, and then waits for minutes
    for a cluster that is gone, and says nothing.
    """
    if "RAY_ADDRESS" in os.environ:
        return False
    try:
        place = os.environ.get("RAY_TMPDIR") or os.environ.get("TMPDIR") or "/tmp"  # noqa: S108  # as Ray chooses it
        text = Path(place, "ray", "ray_current_cluster").read_text(encoding="utf-8")
        host, _, port = text.strip().rpartition(":")
        return not is_there(host, int(port))
    except (OSError, ValueError):
        return False


def is_there(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=REACHED_S):
            return True
    except OSError:
        return False
