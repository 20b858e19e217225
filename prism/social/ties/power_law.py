"""The static power-law graph of Goh, Kahng & Kim (2001): ties drawn one after the other, with weights of both ends.

Sources of the shuffle: Fisher & Yates (1938); Lemire, "Fast random integer generation in an interval" (2019).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from prism.columns import Floats, Ints, distinct, places_among
from prism.rng import WORLD, Draw, bits_of, uniforms

_AT_ONCE: Final = 1 << 18
"""Ties whose ends are drawn at once: the processor's cache holds their numbers."""
_FEW: Final = 1024
_32, _LOW, _ONE = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(1)


def power_law_ties(size: int, ties: int, out_exponent: float, in_exponent: float, seed: int) -> Ints:
    """Return different ties of `size` people, each as follower * size + followee, ascending.

    It is the graph that igraph's Static_Power_Law makes of the same draws, without its correction for finite sizes.

    Args:
        out_exponent: of the number of people one follows; in_exponent: of the number of followers.
    """
    # 1. Each person's weight as a follower and as a followee; the latter are shuffled. Exponents have 32 bits there.
    powers = [-1.0 / (float(np.float32(exponent)) - 1.0) for exponent in (out_exponent, in_exponent)]
    weights = [[math.pow(rank, power) for rank in range(size, 0, -1)] for power in powers]
    # `drawn` counts the draws so far: the ties below take the next ones. A place whose draw is refused gets another.
    values = weights[1]
    drawn, left = 0, np.arange(len(values), 1, -1, dtype=np.uint64)
    while len(left):
        bits = bits_of(seed, WORLD, 0, Draw.GRAPH, np.arange(drawn + 1, drawn + 1 + len(left))) >> _32
        products = bits * left
        left_out = np.flatnonzero((products & _LOW) < (_LOW + _ONE) % left)
        whole = int(left_out[0]) if len(left_out) else len(left)
        for place, other in zip(left[:whole].tolist(), (products[:whole] >> _32).tolist(), strict=True):
            values[place - 1], values[other] = values[other], values[place - 1]
        drawn, left = drawn + min(whole + 1, len(left)), left[whole:]
    sums = [np.cumsum(each) for each in weights]
    # For evenly spaced marks, a place among the sums that is not after the first sum from the mark on.
    marks = [np.linspace(0.0, each[-1], 4 * len(each) + 1) for each in sums]
    starts = [np.maximum(np.searchsorted(*each) - 1, 0) for each in zip(sums, marks, strict=True)]
    # 2. Draw ties until there are enough. Nobody follows themselves, and no tie is kept twice.
    known = np.empty(0, dtype=np.int64)
    while missing := ties - len(known):
        new = [np.empty(0, dtype=np.int64)]
        for start in range(0, max(missing, _FEW), _AT_ONCE):
            count = min(max(missing, _FEW) - start, _AT_ONCE)
            draws = uniforms(seed, WORLD, 0, Draw.GRAPH, np.arange(drawn + 1, drawn + 1 + 2 * count))
            drawn += 2 * count
            tails, heads = (_places(*each, draws[end::2]) for end, each in enumerate(zip(sums, starts, strict=True)))
            new.append((tails * size + heads)[tails != heads])
        found = np.concatenate(new)
        if missing < _FEW:  # only the first ones are wanted
            found = np.array([*dict.fromkeys(found[places_among(known, found) < 0].tolist())][:missing], np.int64)
        found = distinct(found)
        found = found[places_among(known, found) < 0]
        known = np.insert(known, np.searchsorted(known, found), found) if len(known) else found
    return known


def _places(sums: Floats, starts: Ints, units: NDArray[np.float64]) -> Ints:
    """Return the place of the first sum that is not below each mark, as `np.searchsorted` in a fifth of its time.

    Args:
        units: the marks, as shares of the last sum.
    """
    marks = units * sums[-1]
    places = starts[(units * (len(starts) - 1)).astype(np.int64)]
    while (is_below := sums[places] < marks).any():
        places += is_below
    return places
