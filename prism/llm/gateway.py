"""The gateway of an experiment, as one of its cells sees it: a proxy that asks the servers of models for all cells.

A client that is told of a gateway sends it the requests that it would send to the server, without any secret.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

import msgspec

from prism.llm.failure import Usage

ATTEMPT_HEADER: Final = "X-Prism-Attempt"
"""The number of unusable answers that the question has had: each attempt is asked, and kept, by itself."""
DEADLINE_HEADER: Final = "X-Prism-Deadline"
"""The seconds that a call may take from its start at the server: the wait for other cells is no part of it."""
FAILURE_HEADER: Final = "X-Prism-Failure"
"""The reason why the server has sent no reply, such as `timeout`; or `unavailable`, which ends the cell's run."""
CONNECT_S: Final = 10.0
# A command that was killed resets its connections. One whose machine is gone is noticed by TCP: after a minute of
# silence, and five probes in 10 s each without an answer.
ALIVE: Final = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 5))
        if hasattr(socket, name)
    ),
]


class Gateway(msgspec.Struct, frozen=True, kw_only=True):
    """A gateway. Its representation shows no secret.

    Args:
        token: the secret that each request must carry.
        service: the name that the gateway has for the cell's servers and settings of a model.
        cell: the name of the cell, the same whenever it is run.
        deadline_s: the longest that one call for a question may take, from its start at the server.
    """

    address: str
    token: str
    service: str
    cell: str
    deadline_s: float

    def __repr__(self) -> str:
        return f"Gateway({self.address!r})"

    @property
    def base(self) -> str:
        """The address under which the cell finds the paths of its model's server."""
        return f"{self.address.rstrip('/')}/{self.service}/{self.cell}"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", DEADLINE_HEADER: repr(self.deadline_s)}


class Replied(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The reply of a server, as a gateway passes it on and keeps it.

    Args:
        body: its text without any secret, or the detail of a failure.
        failure: why there is no reply, as in `FAILURE_HEADER`.
        pause_s: the pause that the server asked for.
        is_answer: False for an error, also with status 200: the request is sent again.
        usage: the tokens of the call.
    """

    status: int = 200
    body: str
    failure: str = ""
    pause_s: float = 0.0
    is_answer: bool = False
    usage: Usage = Usage()


GATEWAY: ContextVar[Gateway | None] = ContextVar("GATEWAY", default=None)
"""The gateway that all models of this task and those begun in it are asked through; None if they are asked directly."""


@contextmanager
def through(gateway: Gateway | None) -> Iterator[None]:
    """Let the questions of the block go through a gateway."""
    token = GATEWAY.set(gateway)
    try:
        yield
    finally:
        GATEWAY.reset(token)
