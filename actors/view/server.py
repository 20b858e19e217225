"""The server of the local page: it listens, prints its address, and ends at once on Ctrl-C."""

from __future__ import annotations

import secrets
import signal
import socket
from collections.abc import Callable
from contextlib import closing
from threading import Event
from typing import Final
from urllib.parse import quote

from actors.http.connection import ServerOptions
from actors.http.server import Server, address_of, listen
from actors.logs.setup import logging_to
from actors.view.access import TOKEN, Guard, is_loopback
from actors.view.app import Site

TOKEN_BYTES = 24
OPTIONS: Final = ServerOptions(name="view", workers=8, answer_max_s=600.0)
"""A browser asks for six files at once; the numbers of a large run over a slow line take minutes."""


def serve(site: Site, host: str, port: int, token: str, on_ready: Callable[[str], None]) -> None:
    """Serve the page until the process is interrupted.

    Args:
        port: 0 for any that is free.
        token: the token for an address that others can reach; empty for a random token.
        on_ready: called with the address, its token included, once it is listened on.
    """
    listener = listen(host, port, "view", ("--host", "--port"))
    taken = listener.getsockname()[1]
    secret = "" if is_loopback(host) else token or secrets.token_urlsafe(TOKEN_BYTES)
    guard = Guard(site.app(), host=host, port=taken, token=secret)
    terminated = Event()
    before = signal.signal(signal.SIGTERM, lambda *_: terminated.set())
    with logging_to(None), closing(site.explainer), closing(Server(guard, listener, OPTIONS)):
        query = f"?{TOKEN}={quote(secret, safe='', errors='surrogateescape')}" if secret else ""
        on_ready(f"{address_of(host, taken, socket.gethostname())}/{query}")
        terminated.wait()
    signal.signal(signal.SIGTERM, before)
    signal.raise_signal(signal.SIGTERM)
