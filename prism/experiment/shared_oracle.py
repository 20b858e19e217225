"""The limits on what all cells of an experiment ask of a model together."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

EVERYWHERE = frozenset({"0.0.0.0", "::", "[::]", "*"})  # noqa: S104  # they are refused


class SharedOracle(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The section `oracle` of an experiment's file. Without a value the largest of the cells' own limits counts.

    Args:
        max_concurrency: calls under way at once, over all cells and servers.
        rate_per_s: calls started a second.
        max_calls, max_tokens, max_usd: the budget, over all runs of the experiment in one directory.
        ask_once: whether requests that are the same in two cells are asked once.
        address: the address on which cells reach the gateway; another than loopback for workers on other machines.
    """

    max_concurrency: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    rate_per_s: Annotated[float, Meta(ge=0.001, le=100_000.0)] | None = None
    max_calls: Annotated[int, Meta(ge=0)] | None = None
    max_tokens: Annotated[int, Meta(ge=0)] | None = None
    max_usd: Annotated[float, Meta(ge=0.0)] | None = None
    ask_once: bool = False
    address: Annotated[str, Meta(min_length=1, max_length=255)] = "127.0.0.1"

    def __post_init__(self) -> None:
        """Refuse an address that means all of a machine: a node would take it for itself."""
        if self.address in EVERYWHERE:
            raise ValueError(f"expected the one address of this machine that all nodes reach, got {self.address}")
