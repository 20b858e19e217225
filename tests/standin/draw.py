"""Draws for a server's answers: a pure function of their key, so the order of the calls does not matter."""

from __future__ import annotations

import xxhash

from prism.rng import WORLD, Draw, integer, uniform

_BOUND = 1 << 48


def key_of(*parts: object) -> int:
    """Return the key that stands for these values in `number_for` and `share_for`."""
    return xxhash.xxh3_64_intdigest(repr(parts).encode())


def number_for(key: int, *parts: object) -> int:
    """Return an integer of 48 random bits for the key and the purpose."""
    return integer(_BOUND, key_of(key, *parts), WORLD, 0, Draw.SERVER_ANSWER)


def share_for(key: int, *parts: object) -> float:
    """Return a float in [0, 1) for the key and the purpose."""
    return uniform(key_of(key, *parts), WORLD, 0, Draw.SERVER_ANSWER)
