"""The draws of `prism.rng` inside kernels, bit for bit, and the length of a delay by its law and a draw.

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
SEED: Final = 4  # the place of the seed itself among the words
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
    return U(number) * _GOLDEN


@compiled_as(_scattered_word)
def scattered(number: Any) -> Any:
    """Return another 64-bit number, in whose order the numbers of a range are scattered evenly.

    It is not a random draw, and has no seed. Source: multiplicative hashing by the golden ratio, Knuth, "The Art of
    Computer Programming" 3 (1973).
    """
    return U(int(number) * 0x9E3779B97F4A7C15 & ALL_BITS)


# Delays

CONSTANT, UNIFORM, GEOMETRIC, LOG_NORMAL = range(4)
DELAY_MAX: Final = 10**9  # the most ticks of a delay, whatever its law draws
LEAST_DRAW: Final = 2.0**-54  # replaces a draw of 0, which has no quantile


@kernel
def normal_quantile(share: Any) -> Any:
    """Return the number below which a standard normal deviate is with this probability, above 0 and below 1.

    Source: Wichura, "Algorithm AS 241: the percentage points of the normal distribution" (1988).
    """
    q = share - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        above = 2.5090809287301226727e3 * r + 3.3430575583588128105e4
        above = ((above * r + 6.7265770927008700853e4) * r + 4.5921953931549871457e4) * r + 1.3731693765509461125e4
        above = ((above * r + 1.9715909503065514427e3) * r + 1.3314166789178437745e2) * r + 3.3871328727963666080e0
        below = 5.2264952788528545610e3 * r + 2.8729085735721942674e4
        below = ((below * r + 3.9307895800092710610e4) * r + 2.1213794301586595867e4) * r + 5.3941960214247511077e3
        below = ((below * r + 6.8718700749205790830e2) * r + 4.2313330701600911252e1) * r + 1.0
        return above * q / below
    r = math.sqrt(-math.log(share if q <= 0.0 else 1.0 - share))
    if r <= 5.0:
        r -= 1.6
        above = 7.74545014278341407640e-4 * r + 2.27238449892691845833e-2
        above = ((above * r + 2.41780725177450611770e-1) * r + 1.27045825245236838258e0) * r + 3.64784832476320460504e0
        above = ((above * r + 5.76949722146069140550e0) * r + 4.63033784615654529590e0) * r + 1.42343711074968357734e0
        below = 1.05075007164441684324e-9 * r + 5.47593808499534494600e-4
        below = (
            (below * r + 1.51986665636164571966e-2) * r + 1.48103976427480074590e-1
        ) * r + 6.89767334985100004550e-1
        below = ((below * r + 1.67638483018380384940e0) * r + 2.05319162663775882187e0) * r + 1.0
    else:
        r -= 5.0
        above = 2.01033439929228813265e-7 * r + 2.71155556874348757815e-5
        above = (
            (above * r + 1.24266094738807843860e-3) * r + 2.65321895265761230930e-2
        ) * r + 2.96560571828504891230e-1
        above = ((above * r + 1.78482653991729133580e0) * r + 5.46378491116411436990e0) * r + 6.65790464350110377720e0
        below = 2.04426310338993978564e-15 * r + 1.42151175831644588870e-7
        below = (
            (below * r + 1.84631831751005468180e-5) * r + 7.86869131145613259100e-4
        ) * r + 1.48753612908506148525e-2
        below = ((below * r + 1.36929880922735805310e-1) * r + 5.99832206555887937690e-1) * r + 1.0
    found = above / below
    return -found if q < 0.0 else found


@kernel
def delay_ticks(law: Any, first: Any, second: Any, draw: Any) -> Any:
    """Return a delay in ticks, from 1 to DELAY_MAX.

    Args:
        law: CONSTANT, with the ticks as `first`; UNIFORM, from `first` to `second`; GEOMETRIC, with the mean `first`;
            or LOG_NORMAL, with the median `first` and the standard deviation `second` of the logarithm.
        draw: a float in [0, 1), for the laws that are distributions.
    """
    length = first
    if law == UNIFORM:
        length = math.floor(first + draw * (second - first + 1)) * 1.0
    elif law == GEOMETRIC:
        length = 1.0 if first <= 1.0 else math.log1p(-draw) / math.log1p(-1.0 / first)
    elif law == LOG_NORMAL:
        length = first * math.exp(min(second * normal_quantile(max(draw, LEAST_DRAW)), 700.0))
    return int(min(max(1.0, math.ceil(min(length, 2.0 * DELAY_MAX)) * 1.0), 1.0 * DELAY_MAX))
