"""Latency: the time that a call takes once it has a slot."""

from __future__ import annotations

import math
from statistics import NormalDist

import msgspec

from actors.testing.errors import ServerSettingsError
from prism.rng import WORLD, Draw, normal

_Z99 = NormalDist().inv_cdf(0.99)
_MOST = math.exp(_Z99**2 / 2)
"""Past this ratio no log-normal has that mean and that 99th percentile."""


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """The seconds of a call: a constant, or log-normal where `p99_s` is given.

    Args:
        mean_s: the mean.
        p99_s: the 99th percentile; 1 to 15 times the mean.
        slope: each other busy slot makes a call longer by this share of it.
        seed: of the draws.

    Raises:
        ServerSettingsError: a value is out of its range.
    """

    mean_s: float = 0.0
    p99_s: float | None = None
    slope: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value in (("mean_s", self.mean_s), ("slope", self.slope)):
            if not 0 <= value < math.inf:
                raise ServerSettingsError(f"latency {name}", f"must be at least 0, not {value}")
        if self.p99_s is None:
            return
        if self.mean_s == 0:
            raise ServerSettingsError("latency p99_s", "needs a mean_s above 0")
        if not 1 <= self.p99_s / self.mean_s < _MOST:
            ratio = self.p99_s / self.mean_s
            raise ServerSettingsError("latency p99_s", f"must be 1 to {_MOST:.1f} times mean_s, not {ratio:.1f}")

    def seconds(self, call: int, others_busy: int) -> float:
        """Return the time of the call of this number: the same for the same seed, whoever makes it."""
        return self._alone_s(call) * (1 + self.slope * others_busy)

    def _alone_s(self, call: int) -> float:
        if self.p99_s is None:
            return self.mean_s
        sigma = _Z99 - math.sqrt(_Z99**2 - 2 * math.log(self.p99_s / self.mean_s))
        return self.mean_s * math.exp(sigma * normal(self.seed, WORLD, call, Draw.SERVER_LATENCY) - sigma**2 / 2)
