"""The running hash of a run: equal for equal runs, and different from the first tick in which two runs differ."""

from __future__ import annotations

from collections.abc import Sequence

from actors.frames import ORIGIN, encode_frame, link_of, tick_payload

DIGITS = 32
"""Hexadecimal digits shown: 128 bits are enough to tell runs apart."""


class RunningDigest:
    """The chain of the journal's links over the answers of every tick, in the order of agents.

    A run without a journal has the same digest as one with.
    """

    def __init__(self) -> None:
        self.link = ORIGIN

    def add(self, tick: int, answers: Sequence[bytes]) -> bytes:
        """Chain one tick's answers; its frame for the journal."""
        payload = tick_payload(tick, answers)
        self.link = link_of(self.link, payload)
        return encode_frame(self.link, payload)

    def hexdigest(self) -> str:
        """The digest so far, 32 hexadecimal digits."""
        return digest_of(self.link)


def digest_of(link: bytes) -> str:
    """How a link is shown: its first 32 hexadecimal digits."""
    return link.hex()[:DIGITS]
