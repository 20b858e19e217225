"""A gateway as commands and cells see it: where it is, what it may spend, what it has counted, and its tape.

Every reply of a server is on the tape before a cell gets it, with the total of all calls. The latest reply to a request
stands under its key, so a failure stays until an answer takes its place.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from actors.core.files import content_hash, refuse_link
from prism.config import Config
from prism.llm.headers import Gateway, Replied
from prism.llm.tape import HEADER_KEY, TapeError, TapeFile

TOTALS_KEY = b"totals"


class Totals(msgspec.Struct, kw_only=True):
    """The calls on a tape and what they cost, failed ones included."""

    calls: int = 0  # that have reached a server
    failed: int = 0  # those of them without an answer
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0

    def plus(self, other: Totals) -> Totals:
        pairs = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return Totals(**dict(zip(self.__struct_fields__, map(sum, pairs), strict=True)))


_replies = msgspec.json.Decoder(Replied)
_totals = msgspec.json.Decoder(Totals)


class ExperimentTape(TapeFile):
    """The replies of servers in a file. Who records holds the lock of its directory. It raises as `TapeFile`."""

    def __init__(self, path: Path, mode: Literal["record", "replay", "look"]) -> None:
        if mode == "record":
            try:
                for end in ("", "-wal", "-shm", "-journal"):  # SQLite opens these by itself
                    refuse_link(path.with_name(f"{path.name}{end}"))
            except OSError as error:
                raise TapeError(path, f"cannot be opened: {error.strerror}") from None
        super().__init__(path, mode)
        try:
            if self._row(HEADER_KEY) is not None:
                raise TapeError(self.path, "is the tape of a run, and not of an experiment")
            row = self._row(TOTALS_KEY)
            self.totals = Totals() if row is None else self._decode(row, _totals)
        except TapeError:
            self.close()
            raise

    def read(self, key: bytes) -> Replied | None:
        row = self._row(key)
        return None if row is None else self._decode(row, _replies)

    def write(self, key: bytes, reply: Replied, question: str, added: Totals) -> None:
        """Write a reply, and add to the totals, or do neither. One thread at a time may call it."""
        totals = self.totals.plus(added)
        self._execute(
            "INSERT OR REPLACE INTO answers VALUES (?, ?, ?), (?, '', ?)",
            *(key, question, msgspec.json.encode(reply), TOTALS_KEY, msgspec.json.encode(totals)),
        )
        self.totals = totals


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
