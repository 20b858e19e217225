"""The running hash of a run: equal for equal runs, and different from the first tick in which two runs differ."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

DIGEST_BYTES = 16


class RunningDigest:
    """A hash chain over the answers of every tick, in the order of agents.

    Each link is BLAKE2b over the link before, the tick, and the answers' bytes with their lengths, so neither a lost
    nor a moved nor a doubled answer can go unnoticed.
    """

    def __init__(self) -> None:
        self._link = bytes(DIGEST_BYTES)

    def add(self, tick: int, answers: Sequence[bytes]) -> None:
        """Chain one tick's answers."""
        digest = blake2b(self._link, digest_size=DIGEST_BYTES)
        digest.update(tick.to_bytes(8, "little"))
        digest.update(b"".join([len(answer).to_bytes(4, "little") for answer in answers]))
        digest.update(b"".join(answers))
        self._link = digest.digest()

    def hexdigest(self) -> str:
        """The digest so far, 32 hexadecimal digits."""
        return self._link.hex()
