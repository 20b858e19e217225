"""The running hash of a run: equal for equal runs, and different from the first tick in which two runs differ."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import numpy as np

DIGITS = 32
"""Hexadecimal digits shown: 128 bits are enough to tell runs apart."""


class RunningDigest:
    """A hash chain over the answers of every tick, in the order of agents.

    Each link is SHA-256 over the link before, the tick, and the answers' bytes with their lengths, so neither a lost
    nor a moved nor a doubled answer can go unnoticed.
    """

    def __init__(self) -> None:
        self._link = bytes(32)

    def add(self, tick: int, answers: Sequence[bytes]) -> None:
        """Chain one tick's answers."""
        digest = sha256(self._link)
        digest.update(tick.to_bytes(8, "little"))
        digest.update(np.fromiter(map(len, answers), dtype="<u4", count=len(answers)).tobytes())
        digest.update(b"".join(answers))
        self._link = digest.digest()

    def hexdigest(self) -> str:
        """The digest so far, 32 hexadecimal digits."""
        return self._link.hex()[:DIGITS]
