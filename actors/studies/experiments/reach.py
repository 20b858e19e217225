"""The way of a node to the gateway: checked before a cell runs there, since a cell would blame its model's server."""

from __future__ import annotations

import socket
import time
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from actors.studies.gateway.place import GatewayPlace

REACHED_S = 3.0
REACH_WAIT_S = 15.0
"""The time for a gateway that was killed to begin again."""
REACH_EVERY_S = 0.5


def network_here() -> str:
    """Return a name of the network of this process: processes with equal names share a loopback device."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/net').readlink()}"
    except OSError:  # another system than Linux
        return socket.gethostname()


def is_there(host: str, port: int) -> bool:
    """Return whether something listens at an address."""
    try:
        with socket.create_connection((host, port), timeout=REACHED_S):
            return True
    except OSError:
        return False


def no_way_to(gateway: GatewayPlace, network: str) -> str:
    """Return why this node cannot ask the gateway, on one line; empty if it can.

    Args:
        network: that of the command. At the loopback device of another network is somebody else, who is not asked:
            a request has the token.
    """
    parts = urlsplit(gateway.address)
    host, port = parts.hostname or "", parts.port or 0
    if _is_loopback(host) and network != network_here():
        return _said(f"{host}:{port} is on the command's machine alone")
    until = time.monotonic() + REACH_WAIT_S
    while not is_there(host, port):
        if time.monotonic() > until:
            return _said(f"nothing answers at {host}:{port}, or the port is closed to it")
        time.sleep(REACH_EVERY_S)
    return ""


def _said(problem: str) -> str:
    return (
        f"the node {socket.gethostname()} cannot reach the gateway: {problem}; "
        "set oracle.address to an address of the command's machine that all nodes reach"
    )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
