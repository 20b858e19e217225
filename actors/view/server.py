"""The server of the local page: it listens, prints its address, and ends at once on Ctrl-C."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from contextlib import closing
from urllib.parse import quote

import uvicorn

from actors.core.errors import ViewAddressError
from actors.view.access import TOKEN, Guard, is_loopback
from actors.view.app import Site

TOKEN_BYTES = 24


def serve(site: Site, host: str, port: int, token: str, on_ready: Callable[[str], None]) -> None:
    """Serve the page until the process is interrupted.

    Args:
        site: what is served.
        port: 0 for any that is free.
        token: what an address that others can reach demands; empty for a random one.
        on_ready: called with the address, its token included, once it is listened on.

    Raises:
        ViewAddressError: the address cannot be listened on.
    """
    listener = _listen(host, port)
    taken = listener.getsockname()[1]
    secret = "" if is_loopback(host) else token or secrets.token_urlsafe(TOKEN_BYTES)
    guard = Guard(site.app(), host=host, port=taken, token=secret)
    config = uvicorn.Config(
        guard,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=1,
        limit_concurrency=64,
    )
    name = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)  # noqa: S104  # a comparison
    shown = f"[{name}]" if ":" in name else name
    on_ready(
        f"http://{shown}:{taken}/" + (f"?{TOKEN}={quote(secret, safe='', errors='surrogateescape')}" if secret else "")
    )
    with listener, closing(site.explainer):
        uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(64)
        except OSError:
            listener.close()
            raise
    except (OSError, UnicodeError) as error:
        problem = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ViewAddressError(host, port, problem) from None
    return listener
