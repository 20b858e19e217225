"""The server of the local page: it listens, prints its address, and ends at once on Ctrl-C."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from time import sleep
from typing import Final
from urllib.parse import quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from actors.http.server import Server, ServerOptions, address_of, listen
from actors.logs.setup import logging_to
from actors.view.app import Site

POLICY: Final = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self' data:; style-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
FOREIGN: Final = frozenset({"cross-site", "same-site"})
"""The words by which a browser says that the page of another site asks. It cannot read the answer, but asking may
begin work, such as that on an explanation; so it may only follow a link to the page."""
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
TOKEN: Final = "token"  # noqa: S105  # the name of the parameter


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """The guard in front of the page.

    Args:
        port: its port; a cookie belongs to one port, though browsers share cookies among the ports of a host.
        token: the token that every client must show; empty if no other machine can reach the address.
        site: the name of its command, the methods that are passed on, and the pages that may show it.
    """

    def __init__(self, app: ASGIApp, *, host: str, port: int, token: str = "", site: Site | type[Site] = Site) -> None:
        self._app, self._site, self._token = app, site, token
        self._headers = {**HEADERS, "Content-Security-Policy": f"{POLICY}; frame-ancestors {site.frame}"}
        self._names = LOOPBACK | {host.lower()} | (set() if is_loopback(host) else {socket.gethostname().lower()})
        self._is_open = not is_loopback(host)
        self._cookie = f"prism-view-{port}"
        self._proof = hashlib.sha256(_bytes(token)).hexdigest()
        """The value of the cookie: the token itself may have characters that no cookie can hold."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers[name] = value
            await send(message)

        await (self._app if refusal is None else refusal)(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that is not passed on; None for one that is."""
        headers, methods = Headers(scope=scope), self._site.methods
        if not self._is_own(headers.get("host", "")):
            return self._refused("this name is not that of this machine", 421)
        if scope["method"] not in methods:
            return self._refused("nothing can be changed here", 405, Allow=", ".join(methods))
        if headers.get("sec-fetch-site") in FOREIGN and scope["path"] != "/":
            return self._refused("another site may not ask", 403)
        return self._unknown(scope) if self._token else None

    def _refused(self, problem: str, status: int, **headers: str) -> Response:
        return PlainTextResponse(f"prism {self._site.name}: {problem}\n", status, headers)

    def _is_own(self, given: str) -> bool:
        """Return whether the name in a `Host` header is this machine's; no other site has an address of digits."""
        name = given.rsplit(":", 1)[0] if not given.endswith("]") else given
        name = name.strip("[]").lower()
        if name in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return self._is_open

    def _unknown(self, scope: Scope) -> Response | None:
        """Return the answer to a client that has no token, or has just shown it; None for a client with the cookie."""
        request = Request(scope)
        query, given = request.query_params.multi_items(), request.query_params.get(TOKEN)
        if given is not None and hmac.compare_digest(_bytes(given), _bytes(self._token)):
            rest = urlencode([(name, value) for name, value in query if name != TOKEN])
            answer = RedirectResponse(f"/?{rest}" if rest else "/", 303)
            answer.set_cookie(self._cookie, self._proof, httponly=True, samesite="strict", path="/")
            return answer
        if hmac.compare_digest(_bytes(request.cookies.get(self._cookie, "")), _bytes(self._proof)):
            return None
        return self._refused("open the address that was printed, with its token", 401)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


TOKEN_BYTES = 24
SIGNAL_WITHIN_S: Final = 0.25
OPTIONS: Final = ServerOptions(name="view", workers=8, answer_max_s=600.0)
"""A browser asks for six files at once; the numbers of a large run over a slow line take minutes."""


@contextmanager
def served(site: Site, host: str, port: int, token: str) -> Iterator[str]:
    """Serve the page in a thread during the block; yield the address, its token included.

    `port`: 0 for any that is free. `token`: for an address that others can reach; empty for a random one.
    """
    with closing(site):
        listener = listen(host, port, site.name, ("--host", "--port"))
        taken = listener.getsockname()[1]
        secret = "" if is_loopback(host) else token or secrets.token_urlsafe(TOKEN_BYTES)
        guard = Guard(site.app(), host=host, port=taken, token=secret, site=site)
        query = f"?{TOKEN}={quote(secret, safe='', errors='surrogateescape')}" if secret else ""
        with closing(Server(guard, listener, OPTIONS)):
            yield f"{address_of(host, taken, socket.gethostname())}/{query}"


def serve(site: Site, host: str, port: int, token: str, on_ready: Callable[[str], None]) -> None:
    """Serve the page until the process is interrupted. `on_ready`: called with the address once it is listened on."""
    told = list[int]()
    before = signal.signal(signal.SIGTERM, lambda number, _: told.append(number))
    with logging_to(None), served(site, host, port, token) as address:
        on_ready(address)
        while not told:  # no wait without end: a signal that comes just before such a wait does not end it
            sleep(SIGNAL_WITHIN_S)
    signal.signal(signal.SIGTERM, before)
    signal.raise_signal(signal.SIGTERM)
