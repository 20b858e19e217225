"""The way of requests through a gateway, which asks the servers for all cells of an experiment."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

from prism.errors import OracleUnavailableError

TOKEN, SERVICE, PLACE = "X-Prism-Token", "X-Prism-Service", "X-Prism-Url"
CELL, PROCESS, WITHIN = "X-Prism-Cell", "X-Prism-Process", "X-Prism-Within-S"
FAILURE = "X-Prism-Failure"
"""The headers between a cell and its gateway. The last one stands in an answer, and says that no server gave one."""

HEARTBEAT_S = 10.0
"""The time between two signs of life of a gateway while a request waits: an interim response, which clients skip."""
SILENCE_S = 6 * HEARTBEAT_S
"""The silence after which a gateway counts as gone."""

STOPS = frozenset({"spent", "tape", "missing"})
"""The failures that end a cell's run: the budget is spent, the tape cannot be written, or a replay has no answer."""


class GatewayRefusedError(OracleUnavailableError):
    """A gateway that asks no more: the run ends after its last whole tick, and goes on from there when it is resumed.

    Args:
        failure: one of `STOPS`.
    """

    def __init__(self, failure: str, detail: str) -> None:
        self.failure = failure
        super().__init__(detail)


class Gateway(msgspec.Struct, frozen=True, kw_only=True):
    """A gateway, as one cell sees it. Its representation shows no secret.

    Args:
        token: the secret that each request must carry.
        service: the servers that the cell's questions are for, by the name that the gateway has for them.
        cell: the name of the cell, the same whenever it is run.
        process: a text that no other process has.
        has_key: True if the gateway has a key for these servers.
        deadline_s: the longest that one call for a question may take, from its start at the server.
    """

    address: str
    token: str
    service: str
    cell: str
    process: str
    has_key: bool = False
    deadline_s: float = math.inf

    def __repr__(self) -> str:
        return f"Gateway({self.address!r})"


GATEWAY: ContextVar[Gateway | None] = ContextVar("GATEWAY", default=None)
"""The gateway that all requests of this task and those begun in it go through; None if they go to the servers."""
WITHIN_S: ContextVar[float] = ContextVar("WITHIN_S", default=math.inf)
"""The time that the call under way may take."""


@contextmanager
def through(gateway: Gateway | None) -> Iterator[None]:
    """Let the requests of the block go through a gateway."""
    token = GATEWAY.set(gateway)
    try:
        yield
    finally:
        GATEWAY.reset(token)
