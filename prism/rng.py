"""Random draws that depend on their purpose only, never on the order in which they are made.

Each draw is a hash of (seed, agent, tick, draw, index): the same in any process and after any restart, in 0.2 us and
without the 2.5 KB an agent of `random.Random`.

Source: counter-based generators, Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011); xxh3 replaces
Philox because one call on 32 bytes is what Python does fastest.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum, unique
from itertools import repeat
from typing import Any, Final

import numpy as np
import xxhash
from numpy.typing import NDArray

_KEY = struct.Struct("<qqqq").pack
_hash = xxhash.xxh3_64_intdigest
_TO_UNIT = 2.0**-53
_U = np.uint64
_LOW = _U(0xFFFFFFFF)
ALL_BITS: Final = 0xFFFFFFFFFFFFFFFF
HASHES_AT_ONCE = 8192
"""Hashes for which the processor's cache has room: more at once take twice the time each."""
FEW: Final = 100
"""Up to this number, draws are made one by one: the calls of numpy take as long as 150 hashes."""
SECRET: Final = (0xBE4BA423396CFEB8, 0x1CAD21F72C81017C, 0xDB979083E96DD4DE, 0x1F67B3B7A4A44072)
"""The first words of the constant that xxh3 mixes into every key."""

Whole = int | NDArray[Any]
"""A whole number, or an array of them."""

WORLD = -1
"""The agent number of draws that belong to no agent."""


@unique
class Draw(IntEnum):
    """The purpose of a draw. Each has its own number, which is never reused: two purposes must not share a draw."""

    PERSONA = 1
    ACTIVITY = 2
    THRESHOLD = 3
    INTERESTS = 4
    NAME = 5
    PERSONALITY = 6
    GRAPH = 7
    ONLINE = 8
    ARRIVAL = 9
    PUBLISHES = 10
    TOPIC = 11
    TEXT = 12
    INTENTION = 13
    ATTENTION = 14
    FEED_POOL = 15
    FEED_ORDER = 16
    CHOICE = 17
    APPEAL = 18
    PREFERENCE = 19
    DEMAND_SHOCK = 20
    PRICE_SHOCK = 21
    ATTRIBUTE = 22
    DELAY = 23
    QUALITY = 24
    FEED_PART = 26
    MARGIN = 27
    CHART = 28
    CHANGE = 29
    HOMOPHILY = 30
    CHART_NORMAL = 31
    CHANGE_NORMAL = 32
    OFFERED = 33
    POST_CHOICE = 34
    RESPONSE = 35
    SPEED = 36
    PARTICIPATION = 37
    FEED_SHARE = 38
    UNEMPLOYMENT_SHOCK = 40
    RATE_SHOCK = 41
    # Numbers far from the others: these draws change no result. A client's wait, the seed of a server's sampling, and
    # the behaviour of a server for tests.
    BACKOFF = 1001
    SERVER_SEED = 1002
    SERVER_FAULT = 1003
    SERVER_LATENCY = 1004
    SERVER_ANSWER = 1005
    SERVER_SPELL = 1006
    AUDIT = 1010
    SURVEY = 1011
    SURVEY_NORMAL = 1012
    CAUSE_SAMPLE = 1013
    OTHER_DRAWS = 1014
    OPTION_ORDER = 1015
    AUDIT_SAMPLE = 1016
    AUDIT_ORDER = 1017
    AUDIT_RULE = 1018


def uniform(seed: int, agent: int, tick: int, draw: int, index: int = 0) -> float:
    """Return a float in [0, 1) with 53 random bits, a pure function of its arguments.

    Args:
        agent: the agent that the draw belongs to, or `WORLD`.
        tick: 0 before the run; of a draw about a post, the ticks since it came into view.
        draw: the purpose; a `Draw`.
        index: the number of the draw among several for the same purpose, or the origin of the post that it is about.
    """
    return (_hash(_KEY(agent, tick, draw, index), seed) >> 11) * _TO_UNIT


def integer(bound: int, seed: int, agent: int, tick: int, draw: int, index: int = 0) -> int:
    """Return an integer in [0, bound), with bound > 0. The bias of scaling 64 bits is below bound / 2**64."""
    if bound <= 0:
        raise ValueError(f"bound must be positive, got {bound}")
    return (_hash(_KEY(agent, tick, draw, index), seed) * bound) >> 64


def uniforms(seed: int, agent: Whole, tick: Whole, draw: int, index: Whole = 0) -> NDArray[np.float64]:
    """Return `uniform` of each row, bit for bit; at least one of agent, tick and index is an array."""
    return np.asarray((bits_of(seed, agent, tick, draw, index) >> _U(11)).astype(np.float64) * _TO_UNIT)


def integers(bound: int, seed: int, agent: Whole, tick: Whole, draw: int, index: Whole = 0) -> NDArray[np.int64]:
    """Return `integer` of each row, bit for bit, with a bound from 1 to 2**32."""
    if not 0 < bound <= 1 << 32:
        raise ValueError(f"bound must be from 1 to {1 << 32}, got {bound}")
    bits = bits_of(seed, agent, tick, draw, index)
    high, low = (bits >> _U(32)) * _U(bound), (bits & _LOW) * _U(bound)
    return np.asarray(((high + (low >> _U(32))) >> _U(32)).astype(np.int64))


def bits_of(seed: int, agent: Whole, tick: Whole, draw: int, index: Whole = 0) -> NDArray[np.uint64]:
    """Return the 64 bits of the draw of each row; at least one of agent, tick and index is an array."""
    count = max(len(each) for each in (agent, tick, index) if isinstance(each, np.ndarray))
    if count <= FEW:
        keys = map(_KEY, _each(agent), _each(tick), repeat(draw), _each(index))
        return np.array([*map(_hash, keys, repeat(seed))], dtype=np.uint64)
    if count <= HASHES_AT_ONCE:
        return _hashes_of(seed, agent, tick, draw, index)
    cuts = [slice(start, start + HASHES_AT_ONCE) for start in range(0, count, HASHES_AT_ONCE)]
    return np.concatenate([_hashes_of(seed, _cut(agent, cut), _cut(tick, cut), draw, _cut(index, cut)) for cut in cuts])


def _hashes_of(seed: int, agent: Whole, tick: Whole, draw: int, index: Whole) -> NDArray[np.uint64]:
    """Return xxh3_64 of the key of each row, which has 32 bytes.

    Source: Collet, "xxHash fast digest algorithm", the specification of XXH3 for 17 to 128 bytes.
    """
    with np.errstate(over="ignore"):
        first = _folded(_words(agent), _words(tick), SECRET[0], SECRET[1], seed)
        last = _folded(_words(draw), _words(index), SECRET[2], SECRET[3], seed)
        bits = first + last + _U(32 * 0x9E3779B185EBCA87 & ALL_BITS)
        bits = (bits ^ (bits >> _U(37))) * _U(0x165667919E3779F9)
        return np.asarray(bits ^ (bits >> _U(32)))


def _each(values: Whole) -> Iterable[int]:
    return values.tolist() if isinstance(values, np.ndarray) else repeat(values)


def _cut(values: Whole, rows: slice) -> Whole:
    return values[rows] if isinstance(values, np.ndarray) else values


def _words(values: Whole) -> NDArray[np.uint64]:
    return np.asarray(values, dtype=np.int64).astype(np.uint64)


def _folded(left: NDArray[np.uint64], right: NDArray[np.uint64], a: int, b: int, seed: int) -> NDArray[np.uint64]:
    """Return the two halves of a 128-bit product, combined by exclusive or."""
    left, right = left ^ _U((a + seed) & ALL_BITS), right ^ _U((b - seed) & ALL_BITS)
    left_low, left_high, right_low, right_high = left & _LOW, left >> _U(32), right & _LOW, right >> _U(32)
    low = left_low * right_low
    cross = left_high * right_low + (low >> _U(32))
    middle = (cross & _LOW) + left_low * right_high
    high = left_high * right_high + (cross >> _U(32)) + (middle >> _U(32))
    return np.asarray(high ^ ((middle << _U(32)) | (low & _LOW)))


def normal(seed: int, agent: int, tick: int, draw: int, index: int = 0) -> float:
    """Return a standard normal deviate. Source: Box & Muller (1958)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(seed, agent, tick, draw, 2 * index)))
    return radius * math.cos(2.0 * math.pi * uniform(seed, agent, tick, draw, 2 * index + 1))


def normals(seed: int, agents: Whole, tick: Whole, draw: int) -> NDArray[np.float64]:
    """Return `normal` of each row, bit for bit; at least one of agents and tick is an array."""
    logs = mapped(math.log, 1.0 - uniforms(seed, agents, tick, draw, 0))
    angles = 2.0 * math.pi * uniforms(seed, agents, tick, draw, 1)
    return np.asarray(np.sqrt(-2.0 * logs) * mapped(math.cos, angles))


def mapped(function: Callable[[float], float], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a function of each value. NumPy's own may round the last bit otherwise."""
    return np.fromiter(map(function, values.data), np.float64, len(values))


def pick(weights: Sequence[float], unit: float) -> int:
    """Return the index at which `unit`, in [0, 1), falls when the weights, one above zero, are placed side by side."""
    total = math.fsum(weights)
    if not total > 0.0:
        raise ValueError(f"weights must have a positive sum, got {list(weights)}")
    mark = unit * total
    for index, weight in enumerate(weights):
        mark -= weight
        if mark < 0.0:
            return index
    return max(index for index, weight in enumerate(weights) if weight > 0.0)


def mixing_key(seed: int, draw: int) -> np.uint64:
    """Return a word of a purpose, with which keys are combined before they are mixed."""
    return np.uint64(_hash(_KEY(WORLD, 0, draw, 0), seed))


GRAPH_DRAWS = 4096
"""The draws of a graph that are made at once."""


class GraphRandom:
    """A sequence of draws for igraph, with the four methods that it calls: a graph depends on the seed only."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._drawn = 0
        self._ahead: list[int] = []
        """The bits of further draws, the next one last."""

    def _bits(self) -> int:
        if not self._ahead:
            numbers = np.arange(self._drawn + GRAPH_DRAWS, self._drawn, -1)
            self._ahead = bits_of(self._seed, WORLD, 0, Draw.GRAPH, numbers).tolist()
        self._drawn += 1
        return self._ahead.pop()

    def random(self) -> float:
        return (self._bits() >> 11) * _TO_UNIT

    def randint(self, low: int, high: int) -> int:
        return low + ((self._bits() * (high - low + 1)) >> 64)

    def gauss(self, mean: float, deviation: float) -> float:
        self._ahead.clear()  # its two uniform draws have numbers of their own
        self._drawn += 1
        return mean + deviation * normal(self._seed, WORLD, 0, Draw.GRAPH, self._drawn)

    def getrandbits(self, bits: int) -> int:
        return self._bits() >> (64 - bits)
