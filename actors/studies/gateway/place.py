"""A gateway as others see it: its place, its limits, and its counts."""

from __future__ import annotations

import secrets

import msgspec

from actors.studies.gateway.service import service_name
from actors.studies.gateway.tape import Totals
from prism.config import Config
from prism.llm.gateway import Gateway


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    max_concurrency: int  # calls at once
    rate_per_s: float | None = None  # calls started a second
    # max_calls, max_tokens, max_usd: over all calls that the tape has
    max_calls: int | None = None
    max_tokens: int | None = None
    max_usd: float | None = None
    ask_once: bool = False  # whether requests that are the same in two cells are asked once


class GatewayStatistics(msgspec.Struct, kw_only=True):
    totals: Totals  # of the tape, over all processes
    from_tape: int = 0  # answers of this process that were on the tape
    shared: int = 0  # answers of this process that another cell's call gave, or another question's of the same cell
    refused: int = 0  # requests that were refused, because the budget is spent
    under_way: int = 0
    under_way_max: int = 0  # the most calls at once
    waiting: int = 0
    problem: str = ""


class GatewayPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A gateway, as the workers of an experiment are told of it. Its representation shows no secret."""

    address: str
    token: str
    services: dict[str, bool]  # `{name: whether the gateway has a key for it}`

    def __repr__(self) -> str:
        return f"GatewayPlace({self.address!r})"

    def of_cell(self, config: Config, cell: str) -> Gateway | None:
        """Return the gateway as one cell sees it; None if the cell asks no server that it knows."""
        if config.oracle.backend == "choice" or (name := service_name(config)) not in self.services:
            return None
        return Gateway(
            address=self.address,
            token=self.token,
            service=name,
            cell=cell,
            process=secrets.token_hex(6),
            has_key=self.services[name],
            deadline_s=config.oracle.deadline_s,
        )
