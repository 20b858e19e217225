"""The gateway of an experiment, as one of its cells sees it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec


class Gateway(msgspec.Struct, frozen=True, kw_only=True):
    """A gateway, which asks the servers of models for all cells. Its representation shows no secret.

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
