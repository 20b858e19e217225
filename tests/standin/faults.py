"""Faults on the wire, and the plan of the calls that get them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum, unique

import msgspec

from actors.testing.settings import ServerSettingsError
from prism.rng import WORLD, Draw, uniform

_ROUNDING = 1e-9


@unique
class Fault(StrEnum):
    """A way to fail. `MEANINGS` has the one-line meaning of each."""

    HANG = "hang"
    CUT = "cut"
    RESET = "reset"
    NOT_DONE = "not_done"
    NOT_JSON = "not_json"
    WRONG_STATE = "wrong_state"
    EMPTY = "empty"
    BUSY = "busy"
    ERROR = "error"
    DRIP = "drip"
    STRING_ERROR = "string_error"
    GARBAGE = "garbage"


MEANINGS: Mapping[Fault, str] = {
    Fault.HANG: "accepts the request and never answers; takes no slot",
    Fault.CUT: "closes in the middle of the body: Content-Length, or the chunks, promised more",
    Fault.RESET: "resets the connection (RST) where the headers should come",
    Fault.NOT_DONE: "200 with the whole content but done: false (finish_reason: null), and no more",
    Fault.NOT_JSON: "200 whose content is prose where JSON was asked for",
    Fault.WRONG_STATE: "200 whose content is valid JSON with a value outside the options",
    Fault.EMPTY: "200 whose content is an empty string",
    Fault.BUSY: "503 for this call and the next ones, three in a row unless told otherwise",
    Fault.ERROR: "500 with an error object",
    Fault.DRIP: "a right answer that comes a byte at a time, ten milliseconds each unless told otherwise",
    Fault.STRING_ERROR: "500 whose body is a JSON string, not an object",
    Fault.GARBAGE: "bytes that are not HTTP, then closes",
}


def evenly(share: float) -> dict[Fault, float]:
    """Return shares of faults that add up to this share of the calls: each fault gets an equal part."""
    return dict.fromkeys(Fault, share / len(Fault))


class FaultPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan of the inference calls that fail: by number first, else by share. Calls are counted from 1.

    Args:
        shares: the share of the calls that fail in each way; at most 1 together.
        at: the calls, by number, that fail in any case, and how.
        seed: of the draws.
        burst: the calls in a row that a `busy` fault answers with 503.
        drip_s: the seconds between two bytes of a `drip`.

    Raises:
        ServerSettingsError: a value is out of its range.
    """

    shares: Mapping[Fault, float] = {}
    at: Mapping[int, Fault] = {}
    seed: int = 0
    burst: int = 3
    drip_s: float = 0.01

    def __post_init__(self) -> None:
        if not all(share >= 0 for share in self.shares.values()) or sum(self.shares.values()) > 1 + _ROUNDING:
            given = ", ".join(f"{fault}={share:g}" for fault, share in self.shares.items())
            raise ServerSettingsError("shares of faults", f"must be at least 0 and at most 1 together, not {given}")
        if min(self.at, default=1) < 1:
            raise ServerSettingsError("call of a fault", f"calls are counted from 1, not {min(self.at)}")
        if self.burst < 1:
            raise ServerSettingsError("burst", f"must be at least 1, not {self.burst}")
        if not 0 <= self.drip_s < float("inf"):
            raise ServerSettingsError("drip_s", f"must be at least 0, not {self.drip_s}")

    def pick(self, call: int) -> Fault | None:
        """Return the fault of this call: a function of the seed and the call's number alone."""
        if call in self.at:
            return self.at[call]
        if not self.shares:
            return None
        # A busy fault takes `burst` calls in a row, so fewer of them are drawn, from fewer draws than there are calls.
        draws = 1 - self.shares.get(Fault.BUSY, 0.0) * (1 - 1 / self.burst)
        left = draws * uniform(self.seed, WORLD, call, Draw.SERVER_FAULT)
        for fault, share in self.shares.items():
            left -= share / self.burst if fault is Fault.BUSY else share
            if left < 0:
                return fault
        return None


class FaultPlayer:
    """Plays a plan call by call; it remembers how much of a burst of 503s is still to come."""

    def __init__(self) -> None:
        self._burst_left = 0

    def next(self, plan: FaultPlan, call: int) -> Fault | None:
        """Return the fault of the next call."""
        if self._burst_left > 0:
            self._burst_left -= 1
            return Fault.BUSY
        fault = plan.pick(call)
        if fault is Fault.BUSY:
            self._burst_left = plan.burst - 1
        return fault
