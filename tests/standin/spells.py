"""Spells: stretches of time in which a server behaves in another way, such as an outage, however often it is asked.

Faults happen to single calls, by their number; spells come by the clock. In each period one spell of a kind begins, at
a drawn time, and is over when the period ends.
"""

from collections.abc import Mapping
from enum import StrEnum, unique

import msgspec

from actors.testing.settings import ServerSettingsError
from prism.rng import WORLD, Draw, uniform


@unique
class SpellKind(StrEnum):
    """A way in which a server behaves during a spell. `SPELLS` has the one-line meaning of each."""

    OUTAGE = "outage"
    SILENCE = "silence"
    BUSY = "busy"
    LIMIT = "limit"
    SLOW = "slow"


SPELLS: Mapping[SpellKind, str] = {
    SpellKind.OUTAGE: "the server is gone: connections are cut, and new ones refused",
    SpellKind.SILENCE: "accepts every call and answers none of them; they hang, also after the spell",
    SpellKind.BUSY: "503 for every call, without a Retry-After",
    SpellKind.LIMIT: "429 for every call, with the rest of the spell as Retry-After",
    SpellKind.SLOW: "every call takes ten times as long",
}
SLOWER = 10.0
"""The factor by which a call takes longer in a slow spell."""


class Spell(msgspec.Struct, frozen=True, kw_only=True):
    """Spells of one kind, one in each period.

    Args:
        kind: what the server does.
        every_s: the length of a period.
        least_s, most_s: the shortest and the longest spell; each is drawn between them.
        seed: of the draws.

    Raises:
        ServerSettingsError: the lengths do not fit each other.
    """

    kind: SpellKind
    every_s: float
    least_s: float
    most_s: float
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.least_s <= self.most_s <= self.every_s < float("inf"):
            given = f"{self.least_s:g}-{self.most_s:g} every {self.every_s:g}"
            raise ServerSettingsError(
                f"seconds of a spell {self.kind}", f"must be 0 < LEAST <= MOST <= EVERY, not {given}"
            )

    def span(self, period: int) -> tuple[float, float]:
        """Return the begin and the end of the spell in a period, counted from 0, in seconds since the server began."""
        number = list(SpellKind).index(self.kind)
        length_s = self.least_s + (self.most_s - self.least_s) * self._share(period, 2 * number)
        begin_s = period * self.every_s + (self.every_s - length_s) * self._share(period, 2 * number + 1)
        return begin_s, begin_s + length_s

    def end(self, now_s: float) -> float | None:
        """Return when the spell under way at this time is over; None if there is none."""
        begin_s, end_s = self.span(int(now_s // self.every_s))
        return end_s if begin_s <= now_s < end_s else None

    def _share(self, period: int, index: int) -> float:
        return uniform(self.seed, WORLD, period, Draw.SERVER_SPELL, index)


def spells_at(spells: tuple[Spell, ...], now_s: float) -> dict[SpellKind, float]:
    """Return `{kind: when it is over}` of the spells under way at this time."""
    return {spell.kind: end_s for spell in spells if (end_s := spell.end(now_s)) is not None}
