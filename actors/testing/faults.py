"""What can go wrong on the wire, and which calls it happens to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from actors.testing.draw import uniform

__all__ = ["MEANINGS", "Fault", "FaultPlan", "FaultPlayer"]


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
    Fault.BUSY: "503 for this call and the next ones, `burst` in a row",
    Fault.ERROR: "500 with an error object",
    Fault.DRIP: "a right answer whose body comes a byte every `drip_s` seconds",
    Fault.STRING_ERROR: "500 whose body is a JSON string, not an object",
    Fault.GARBAGE: "bytes that are not HTTP, then closes",
}


@dataclass(frozen=True, kw_only=True)
class FaultPlan:
    """Which inference calls fail: exact call numbers (from 1) first, else by share of the calls."""

    shares: Mapping[Fault, float] = field(default_factory=dict)
    at: Mapping[int, Fault] = field(default_factory=dict)
    seed: int = 0
    burst: int = 3
    drip_s: float = 0.01

    def __post_init__(self) -> None:
        if min(self.shares.values(), default=0) < 0 or sum(self.shares.values()) > 1 + 1e-9:
            message = f"fault shares must be at least 0 and at most 1 together, not {dict(self.shares)}"
            raise ValueError(message)

    def pick(self, call: int) -> Fault | None:
        """The fault of this call, a function of the seed and the call's number alone."""
        if call in self.at:
            return self.at[call]
        left = uniform("fault", self.seed, call)
        for fault, share in self.shares.items():
            left -= share
            if left < 0:
                return fault
        return None


class FaultPlayer:
    """Plays a plan call by call; it remembers how much of a burst of 503s is still to come."""

    def __init__(self) -> None:
        self._burst_left = 0

    def next(self, plan: FaultPlan, call: int) -> Fault | None:
        """The fault of the next call."""
        if self._burst_left > 0:
            self._burst_left -= 1
            return Fault.BUSY
        fault = plan.pick(call)
        if fault is Fault.BUSY:
            self._burst_left = plan.burst - 1
        return fault
