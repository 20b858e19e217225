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


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """The seconds of a call: a constant, or log-normal if the 99th percentile is given, of 1 to 15 times the mean.

    `seconds` is the same for the same seed and number of a call, whoever makes it.
    """

    mean_s: float = 0.0
    p99_s: float | None = None
    seed: int = 0

    def seconds(self, call: int) -> float:
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
        ServerSettingsError: a model has no name.
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
