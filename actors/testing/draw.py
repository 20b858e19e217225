"""Repeatable numbers: each is a pure function of the key it is drawn for, so runs repeat whatever the task order."""

from hashlib import blake2b

__all__ = ["number", "uniform"]


def number(*key: object) -> int:
    """A 64-bit number for the key."""
    return int.from_bytes(blake2b(repr(key).encode(), digest_size=8).digest(), "big")


def uniform(*key: object) -> float:
    """A float strictly between 0 and 1 for the key."""
    return ((number(*key) >> 12) + 0.5) / 2**52
