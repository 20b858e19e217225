"""The activity of people, log-normal, so that its mean over people is the configured one."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist
from typing import Final

_share_below: Final = NormalDist().cdf
_HALVINGS: Final = 100
_WIDEST: Final = 40.0


@cache
def activity_scale(mean: float, sigma: float, least: float) -> float:
    """Return the c for which c exp(sigma z - sigma^2 / 2), kept from `least` to 1, has this mean.

    It has three digits, so that it is the same on every machine; the mean is met as exactly.

    Args:
        mean: above 0, and at most 1, which everybody has then; least: at most the mean.
    """
    if not sigma:
        return mean
    # The mean grows with c, so halving finds it: in logs, because c may be very small where the mean is.
    low, high = -_WIDEST, _WIDEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _mean_of(math.exp(middle), sigma, least) < mean else (low, middle)
    return float(f"{math.exp(high):.3g}")


def _mean_of(scale: float, sigma: float, least: float) -> float:
    """Return the mean over people."""
    # The mean has three parts, by z: below `bottom` everybody has `least`, above `top` everybody has 1, and between
    # them the log-normal has its partial mean, which is that of a normal moved by sigma.
    shift = math.log(scale) - sigma * sigma / 2.0
    top = -shift / sigma
    at_top = 1.0 - _share_below(top)
    if not least:
        return scale * _share_below(top - sigma) + at_top
    bottom = (math.log(least) - shift) / sigma
    between = _share_below(top - sigma) - _share_below(bottom - sigma)
    return least * _share_below(bottom) + scale * between + at_top
