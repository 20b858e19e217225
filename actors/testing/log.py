"""What the server was asked, and how busy it was."""

import json
from dataclasses import asdict, dataclass

from actors.testing.faults import Fault

__all__ = ["Exchange", "Statistics"]


@dataclass(kw_only=True)
class Exchange:
    """One request. `call` numbers the inference requests from 1; times are monotonic seconds.

    `ended_s` is None while the server works on it; `status` is None if no head was sent, as in a hang or a reset;
    `abandoned` means that the client left (or the server was stopped) before the end.
    """

    method: str
    path: str
    body: object
    started_s: float
    ended_s: float | None = None
    call: int | None = None
    fault: Fault | None = None
    status: int | None = None
    abandoned: bool = False

    def line(self) -> str:
        """The exchange as a line of JSON."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Counts at one moment: slots and their peaks since the last start, the rest since the object was made."""

    open_connections: int
    peak_connections: int
    accepted_connections: int
    calls: int
    loads: int
    in_flight: int
    peak_in_flight: int
    busy: int
    peak_busy: int
    waiting: int
    peak_waiting: int
