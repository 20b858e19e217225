"""A cluster of Ray: the one that runs, or one that is started here."""

from __future__ import annotations

import logging
import os
import socket
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from actors.core.errors import PlaceError
from actors.core.extras import not_installed

SPARE = 6
"""The processes beside those at work that may idle without being ended."""
STORE_BYTES = 512 * 1024**2
"""The object store of a cluster that is started here."""
TRIES = 3
"""The times that a cluster is started here before it is given up."""
REACHED_S = 3.0
"""The time in which an address must answer."""


def connected(address: str, processes: int, asked: str) -> Any:
    """Return the package `ray`, connected to a cluster.

    Args:
        address: `ray` for the cluster that runs here, or else one that is started; `local` for one that is started in
            any case; `ray://HOST:PORT` for a cluster elsewhere; `HOST:PORT` for the one that this node is part of.
        processes: those at once of a cluster that is started.
        asked: the option or setting that needs it, for errors.

    Raises:
        PlaceError: it is not installed, or there is no cluster at the address, or it has other versions.
    """
    if find_spec("ray") is None:
        raise PlaceError(not_installed(f"{asked} needs Ray", "ray"))
    if address.startswith("ray://") and find_spec("grpc") is None:
        problem = f"{asked} needs the package grpcio, not installed here: pip install 'ray[client]'"
        raise PlaceError(f"{problem}; or run this command on a node of the cluster")
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and not is_there(host, int(port)):  # Ray itself waits for half a minute, or for minutes
        usual = "10001 is Ray's client" if address.startswith("ray://") else "6379 is the head"
        raise PlaceError(f"{asked}: nobody answers there; is the cluster up, and is it the right port? {usual}")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray ends a process whose node is gone, and takes the node for gone if the parent of the process is process 1. That
    # is so in a container or under nohup. With this variable Ray looks for that process instead, and this one is there.
    os.environ["RAY_RAYLET_PID"] = str(os.getpid())
    import ray  # noqa: PLC0415  # an extra, and slow to import

    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address not in {"ray", "local"}:
            ray.init(address=address, **options)
            return ray
        if address == "ray" and not left_cluster_is_gone():
            with suppress(ConnectionError):
                ray.init(address="auto", **options)
                return ray
        _start(ray, processes, options)
    except Exception as error:  # noqa: BLE001  # Ray raises a bare one where a node takes too long to start
        raise PlaceError(_unreachable(asked, error)) from None
    return ray


def _start(ray: Any, processes: int, options: dict[str, Any]) -> None:
    """Start a cluster here; a busy machine may take longer than Ray waits for it, so there are some tries."""
    for left in reversed(range(TRIES)):
        try:
            ray.init(
                address="local",
                num_cpus=processes,
                include_dashboard=False,
                object_store_memory=STORE_BYTES,
                # By default Ray begins a process for each reading of the load, and lets cells wait for all other work.
                _system_config={"num_workers_soft_limit": processes + SPARE, "worker_niceness": 0},
                **options,
            )
        except Exception as error:
            ray.shutdown()
            if not left or "timed out" not in str(error):
                raise
        else:
            return


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


def _unreachable(asked: str, error: Exception) -> str:
    said = " ".join(str(error).split())
    if "ersion" in said and ("mismatch" in said or "differ" in said):
        return f"{asked}: the cluster has other versions: {said[:300]}"
    return f"{asked}: no Ray cluster can be used there: {said[:300]}"


def is_there(host: str, port: int) -> bool:
    """Return whether something listens at an address."""
    try:
        with socket.create_connection((host, port), timeout=REACHED_S):
            return True
    except OSError:
        return False
