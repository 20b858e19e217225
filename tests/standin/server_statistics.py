"""Statistics of the server: its requests, their ends, and how busy it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from tests.standin.exchange import Exchange
from tests.standin.faults import Fault
from tests.standin.spells import SpellKind


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """Counts at one moment: slots and their peaks since the last start, the rest since the object was made.

    `calls` are the inference requests that were well formed; `faults` and `statuses` count all ended requests, by their
    fault and by their HTTP status, if one was sent; `spells` counts the calls that a spell has changed. `outages` are
    those that have begun.
    """

    requests: int
    calls: int
    abandoned: int
    faults: Mapping[Fault, int]
    statuses: Mapping[int, int]
    spells: Mapping[SpellKind, int]
    outages: int
    loads: int
    in_flight: int
    peak_in_flight: int
    busy: int
    peak_busy: int
    waiting: int
    peak_waiting: int
    open_connections: int
    peak_connections: int
    accepted_connections: int
    refused_connections: int


class Counters:
    """The counts of the exchanges that have ended."""

    def __init__(self) -> None:
        self.abandoned = 0
        self.faults: Counter[Fault] = Counter()
        self.statuses: Counter[int] = Counter()
        self.spells: Counter[SpellKind] = Counter()

    def count(self, exchange: Exchange) -> None:
        """Count an exchange that has ended."""
        self.abandoned += exchange.abandoned
        if exchange.fault is not None:
            self.faults[exchange.fault] += 1
        if exchange.spell is not None:
            self.spells[exchange.spell] += 1
        if exchange.status is not None:
            self.statuses[exchange.status] += 1
