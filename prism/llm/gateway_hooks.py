"""The hooks by which a request goes to a gateway in place of its server, and a failure comes back from there."""

from __future__ import annotations

import httpx

from prism.llm.gateway import (
    CELL,
    FAILURE,
    GATEWAY,
    PLACE,
    PROCESS,
    SERVICE,
    SILENCE_S,
    STOPS,
    TOKEN,
    WITHIN,
    WITHIN_S,
    Gateway,
    GatewayRefusedError,
)
from prism.llm.question_id import ASKED


async def redirect(request: httpx.Request) -> None:
    """Send the request through the gateway, where there is one: a request hook."""
    gateway = GATEWAY.get()
    if gateway is not None:
        send_to(gateway, request, WITHIN_S.get(), is_question=ASKED.get() is not None)


def send_to(gateway: Gateway, request: httpx.Request, within_s: float, *, is_question: bool) -> None:
    """Send a request to a gateway in place of its server. What may be secret in it is left out.

    Args:
        within_s: the time that the call may take once it has started.
        is_question: False for the check of a server at start, which may take longer.
    """
    for name in ("Authorization", "Cookie"):
        request.headers.pop(name, None)
    limit_s = min(within_s, gateway.deadline_s) if is_question else within_s
    own = {TOKEN: gateway.token, SERVICE: gateway.service, CELL: gateway.cell, PROCESS: gateway.process}
    request.headers.update({**own, PLACE: str(request.url), WITHIN: f"{limit_s:.6g}"})
    request.url = httpx.URL(gateway.address)
    request.headers["Host"] = request.url.netloc.decode("ascii")
    # The wait for a place is no part of the call, so only silence ends it.
    request.extensions["timeout"] = {"connect": SILENCE_S, "read": SILENCE_S, "write": SILENCE_S, "pool": None}


async def raise_failure(response: httpx.Response) -> None:
    """Raise the failure that a gateway reports, as the call itself would have raised it.

    Raises:
        GatewayRefusedError: the gateway asks no more.
        httpx.TransportError: the server could not be reached, or did not answer in time.
        ValueError: what it sent is no answer.
    """
    failure = response.headers.get(FAILURE)
    if failure is None or GATEWAY.get() is None:
        return
    detail = (await response.aread()).decode(errors="replace")
    if failure in STOPS:
        raise GatewayRefusedError(failure, detail)
    if failure == "timeout":
        raise httpx.ReadTimeout(detail)
    if failure == "connection_error":
        raise httpx.ConnectError(detail)
    raise ValueError(detail)
