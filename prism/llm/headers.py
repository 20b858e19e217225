"""The headers of requests to a model's server: the name of the question, and what a gateway is told.

An experiment's gateway is a proxy that asks the servers of models for all cells. A client that is told of one sends it
the requests that it would send to the server, without any secret.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256
from typing import Final

import msgspec

from prism.llm.failure import Usage

REQUEST_ID: Final = "X-Request-Id"
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


def question_id(seed: int, tick: int, agent: int, question: bytes) -> str:
    """Return the id of a question: its tick, its agent and 16 hexadecimal digits, as `340-12-9f86d081884c7d65`.

    It follows from the question alone, as msgpack, so it is the same in the run, in its log, in a server's log and in a
    replay. It enters no prompt, no tape and no result.
    """
    return f"{tick}-{agent}-{sha256(b'%d:' % seed + question).hexdigest()[:16]}"


class Asked(msgspec.Struct):
    """A question while a model is asked, for the names of the requests that this takes.

    Args:
        attempt: the number of this call among those of the question, from 1.
        process: a text that no other process has. A server may refuse a name that another request has just now, and
            two equal runs ask equal questions.
        requests: requests of this call so far: it may take one for probabilities and one for text.
    """

    question: str
    attempt: int
    process: str
    requests: int = 0

    def name_request(self) -> str:
        """Count one more request, and return its name."""
        self.requests += 1
        return f"{self.question}-{self.attempt}-{self.requests}-{self.process}"


ASKED: ContextVar[Asked | None] = ContextVar("ASKED", default=None)
"""The question that this task puts to a model; None outside of a run, as in the check of a server at start."""


class Gateway(msgspec.Struct, frozen=True, kw_only=True):
    """A gateway, and the secret that each request must carry. Its representation shows no secret.

    Args:
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
    token = GATEWAY.set(gateway)
    try:
        yield
    finally:
        GATEWAY.reset(token)
