"""Settings of the test server: its models, its latency, and the calls that fail."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum, unique
from statistics import NormalDist

import msgspec

from prism.errors import PrismError
from prism.rng import WORLD, Draw, normal, uniform

Reply = Callable[[Sequence[Mapping[str, object]], Mapping[str, object], object], str]
"""Returns the text of a model, from the messages, the options and the format of a request."""


class ModelServerError(PrismError):
    """A test server cannot be started."""


class ServerSettingsError(ModelServerError, ValueError):
    """A setting of the server is out of its range."""

    def __init__(self, setting: str, problem: str) -> None:
        super().__init__(f"{setting}: {problem}")


@unique
class Fault(StrEnum):
    """A way to fail."""

    HANG = "hang"  # accepts the request and never answers; takes no slot
    CUT = "cut"  # closes the connection in the middle of the answer
    RESET = "reset"  # resets the connection before the answer
    BUSY = "busy"  # 503, as if too many calls were waiting
    ERROR = "error"  # 500 with an error object
    NOT_JSON = "not_json"  # 200 whose content is prose where JSON was asked for
    WRONG_STATE = "wrong_state"  # 200 whose content is valid JSON with a value outside the options
    EMPTY = "empty"  # 200 whose content is an empty string


class FaultPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan of the calls that fail: by number first, else by share. Calls are counted from 1.

    Args:
        shares: the share of the calls that fail in each way; at most 1 together.
        at: the calls, by number, that fail in any case, and how.

    Raises:
        ServerSettingsError: a value is out of its range.
    """

    shares: Mapping[Fault, float] = {}
    at: Mapping[int, Fault] = {}
    seed: int = 0

    def __post_init__(self) -> None:
        if not all(share >= 0 for share in self.shares.values()) or sum(self.shares.values()) > 1 + 1e-9:
            given = ", ".join(f"{fault}={share:g}" for fault, share in self.shares.items())
            raise ServerSettingsError("shares of faults", f"must be at least 0 and at most 1 together, not {given}")
        if min(self.at, default=1) < 1:
            raise ServerSettingsError("call of a fault", f"calls are counted from 1, not {min(self.at)}")

    def pick(self, call: int) -> Fault | None:
        """Return the fault of this call: a function of the seed and the call's number alone."""
        if call in self.at:
            return self.at[call]
        left = uniform(self.seed, WORLD, call, Draw.SERVER_FAULT)
        for fault, share in self.shares.items():
            left -= share
            if left < 0:
                return fault
        return None


_Z99 = NormalDist().inv_cdf(0.99)
_MOST = math.exp(_Z99**2 / 2)
"""The largest ratio of the 99th percentile to the mean that a log-normal law can have."""


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """The seconds of a call: a constant, or log-normal if `p99_s` is given.

    Args:
        p99_s: the 99th percentile; 1 to 15 times the mean.

    Raises:
        ServerSettingsError: a value is out of its range.
    """

    mean_s: float = 0.0
    p99_s: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.mean_s < math.inf:
            raise ServerSettingsError("latency mean_s", f"must be a finite number from 0 on, not {self.mean_s}")
        if self.p99_s is None:
            return
        if self.mean_s == 0:
            raise ServerSettingsError("latency p99_s", "needs a mean_s above 0")
        if not 1 <= self.p99_s / self.mean_s < _MOST:
            ratio = self.p99_s / self.mean_s
            raise ServerSettingsError("latency p99_s", f"must be 1 to {_MOST:.1f} times mean_s, not {ratio:.1f}")

    def seconds(self, call: int) -> float:
        """Return the time of the call of this number: the same for the same seed, whoever makes it."""
        if self.p99_s is None:
            return self.mean_s
        # The spread of the log-normal law with this mean and this 99th percentile.
        sigma = _Z99 - math.sqrt(_Z99**2 - 2 * math.log(self.p99_s / self.mean_s))
        return self.mean_s * math.exp(sigma * normal(self.seed, WORLD, call, Draw.SERVER_LATENCY) - sigma**2 / 2)


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The server's behaviour. All but `slots` may be changed while the server runs.

    Args:
        models: the models it has; any other is a 404.
        slots: calls that run at once; the others wait.
        latency: seconds of a call.
        faults: calls that fail, and how.
        reply: says what the model says, from the messages, the options and the format, instead of made-up values.
        keeps: the latest exchanges that `ModelServer.calls` has.

    Raises:
        ServerSettingsError: a value is out of its range.
    """

    models: tuple[str, ...] = ("llama3.2",)
    slots: int = 4
    latency: Latency = Latency()
    faults: FaultPlan = FaultPlan()
    reply: Reply | None = None
    keeps: int = 10_000

    def __post_init__(self) -> None:
        if not all(name.strip() for name in self.models):
            raise ServerSettingsError("models", "each needs a name")
        for name, value, least in (("slots", self.slots, 1), ("keeps", self.keeps, 0)):
            if value < least:
                raise ServerSettingsError(name, f"must be at least {least}, not {value}")
