"""The draws of `prism.rng` inside kernels, bit for bit.

A draw takes the seed as the words of `keys_of`. Plain Python hashes with xxhash, in C; numba compiles the same hash
from its specification.
"""

from __future__ import annotations

import math
import struct
from typing import Any, Final

import numpy as np
import xxhash
from numpy.typing import NDArray

from prism.kernels import compiled_as, kernel, upper_half
from prism.rng import SECRET

U = np.uint64
ALL_BITS: Final = 0xFFFFFFFFFFFFFFFF
SEED: Final = 4
"""The place of the seed itself among the words."""
_KEY = struct.Struct("<qqqq").pack
_hash = xxhash.xxh3_64_intdigest
_HALF = U(32)
_LENGTH = U(32 * 0x9E3779B185EBCA87 & ALL_BITS)
_AVALANCHE = U(0x165667919E3779F9)
_GOLDEN, _FIRST, _SECOND = U(0x9E3779B97F4A7C15), U(0xBF58476D1CE4E5B9), U(0x94D049BB133111EB)
_11, _27, _30, _31, _37 = U(11), U(27), U(30), U(31), U(37)


def keys_of(seed: int) -> NDArray[np.uint64]:
    """Return the words with which xxh3 mixes a key of 32 bytes, for a seed; and the seed as the last one."""
    words = [(word + (seed, -seed)[place % 2]) & ALL_BITS for place, word in enumerate(SECRET)]
    return np.array([*words, seed & ALL_BITS], dtype=U)


def _bits_of_words(key: Any, agent: Any, tick: Any, draw: Any, index: Any) -> Any:
    """Return what `drawn_bits` does. Source: Collet, the specification of XXH3 for 17 to 128 bytes."""
    a, b, c, d = U(agent) ^ key[0], U(tick) ^ key[1], U(draw) ^ key[2], U(index) ^ key[3]
    bits = (upper_half(a, b) ^ (a * b)) + (upper_half(c, d) ^ (c * d)) + _LENGTH
    bits = (bits ^ (bits >> _37)) * _AVALANCHE
    return bits ^ (bits >> _HALF)


@compiled_as(_bits_of_words)
def drawn_bits(key: Any, agent: Any, tick: Any, draw: Any, index: Any) -> Any:
    """Return the 64 bits of a draw."""
    return U(_hash(_KEY(agent, tick, draw, index), int(key[SEED])))


@kernel
def unit(key: Any, agent: Any, tick: Any, draw: Any, index: Any) -> Any:
    """Return `prism.rng.uniform` of the arguments: a float in [0, 1)."""
    return np.float64(drawn_bits(key, agent, tick, draw, index) >> _11) * 2.0**-53


@kernel
def normal(key: Any, agent: Any, tick: Any, draw: Any, index: Any) -> Any:
    """Return `prism.rng.normal` of the arguments: a standard normal deviate."""
    radius = math.sqrt(-2.0 * math.log(1.0 - unit(key, agent, tick, draw, 2 * index)))
    return radius * math.cos(2.0 * math.pi * unit(key, agent, tick, draw, 2 * index + 1))


def _below_of_words(bound: Any, key: Any, agent: Any, tick: Any, draw: Any, index: Any) -> Any:
    """Return what `below` does."""
    return np.int64(upper_half(drawn_bits(key, agent, tick, draw, index), U(bound)))


@compiled_as(_below_of_words)
def below(bound: Any, key: Any, agent: Any, tick: Any, draw: Any, index: Any) -> Any:
    """Return `prism.rng.integer` of the arguments: a whole number in [0, bound)."""
    return (int(drawn_bits(key, agent, tick, draw, index)) * int(bound)) >> 64


@kernel
def pick(weights: Any, count: Any, total: Any, draw: Any) -> Any:
    """Return what `prism.rng.pick` does, of the first weights, by their sum; -1 if none is above zero."""
    mark, last = draw * total, -1
    for place in range(count):
        if weights[place] > 0.0:
            last = place
        mark -= weights[place]
        if mark < 0.0:
            return place
    return last


def _mixed_words(bits: Any) -> Any:
    """Return what `mixed_bits` does."""
    bits = bits + _GOLDEN
    bits = (bits ^ (bits >> _30)) * _FIRST
    bits = (bits ^ (bits >> _27)) * _SECOND
    return bits ^ (bits >> _31)


@compiled_as(_mixed_words)
def mixed_bits(bits: Any) -> Any:
    """Return 64 random bits for a key.

    Source: SplitMix64, Steele, Lea & Flood, "Fast splittable pseudorandom number generators" (2014).
    """
    mixed = int(bits) + 0x9E3779B97F4A7C15 & ALL_BITS
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 & ALL_BITS
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & ALL_BITS
    return U(mixed ^ (mixed >> 31))


def _scattered_word(number: Any) -> Any:
    """Return what `scattered` does."""
    return U(number) * _GOLDEN


@compiled_as(_scattered_word)
def scattered(number: Any) -> Any:
    """Return another 64-bit number, in whose order the numbers of a range are scattered evenly.

    It is not a random draw, and has no seed. Source: multiplicative hashing by the golden ratio, Knuth, "The Art of
    Computer Programming" 3 (1973).
    """
    return U(int(number) * 0x9E3779B97F4A7C15 & ALL_BITS)
