"""How long a call takes once it has a slot."""

import math
from dataclasses import dataclass
from statistics import NormalDist

from actors.testing.draw import uniform

__all__ = ["Latency"]

_Z99 = NormalDist().inv_cdf(0.99)


@dataclass(frozen=True, kw_only=True)
class Latency:
    """A constant time, or log-normal where `p99_s` is given; `slope` stretches it with each other busy slot."""

    mean_s: float = 0.0
    p99_s: float | None = None
    slope: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.p99_s is not None and not 1 <= self.p99_s / self.mean_s < math.exp(_Z99**2 / 2):
            # Past this ratio no log-normal has that mean and that 99th percentile.
            message = f"p99_s must be 1 to {math.exp(_Z99**2 / 2):.1f} times mean_s, not {self.p99_s / self.mean_s:.1f}"
            raise ValueError(message)

    def seconds(self, call: int, others_busy: int) -> float:
        """The time of the `call`-th call: the same for the same seed, whoever makes it."""
        return self._alone_s(call) * (1 + self.slope * others_busy)

    def _alone_s(self, call: int) -> float:
        if self.p99_s is None or self.mean_s == 0:
            return self.mean_s
        sigma = _Z99 - math.sqrt(_Z99**2 - 2 * math.log(self.p99_s / self.mean_s))
        z = NormalDist().inv_cdf(uniform("latency", self.seed, call))
        return self.mean_s * math.exp(sigma * z - sigma**2 / 2)
