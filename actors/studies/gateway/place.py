"""A gateway as commands and cells see it: where it is, what it may spend, and what it has counted."""

from __future__ import annotations

import msgspec

from actors.core.files import content_hash
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
    ask_once: bool = False  # whether questions that are the same in two cells are asked once


class GatewayStatistics(msgspec.Struct, kw_only=True):
    totals: Totals  # of the tape, over all processes
    from_tape: int = 0  # answers of this process that were on the tape
    shared: int = 0  # answers of this process that another cell's call gave, or another question's of the same cell
    problem: str = ""


class GatewayPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A gateway, as the workers of an experiment are told of it. Its representation shows no secret."""

    address: str
    token: str
    services: frozenset[str]  # the names of those that cells may ask

    def __repr__(self) -> str:
        return f"GatewayPlace({self.address!r})"

    def of_cell(self, config: Config, cell: str) -> Gateway | None:
        """Return the gateway as one cell sees it; None if the cell asks no model that it knows."""
        if config.oracle.backend == "choice" or (name := service_name(config)) not in self.services:
            return None
        deadline_s = config.oracle.deadline_s
        return Gateway(address=self.address, token=self.token, service=name, cell=cell, deadline_s=deadline_s)


def service_name(config: Config) -> str:
    """Return the name of a configuration's model: equal settings have one name. No secret is in it."""
    return content_hash([config.oracle.backend, config.llm, config.simulation.domain])[:16]


def servers_key(config: Config) -> str:
    """Return a hash of the servers that a configuration asks, for the keys of the tape: no price changes it."""
    llm = config.llm
    named = [config.oracle.backend, llm.host, llm.api_key_env, llm.request.headers, llm.request.query]
    return content_hash(named)[:16]
