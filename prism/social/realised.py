"""The counts that say what a run's feeds and people really did, beside what was configured.

Every count takes constant time: time in a state is kept as agents in it times the tick plus a correction, so nobody is
looked at to know it. Stays are counted by their length, exactly below a thousand ticks and to three digits above, so
memory does not grow with the length of a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.columns import Column, Columns, Ints, pack, pack_items
from prism.config import FeedConfig

EXACT_TICKS: Final = 1000
"""Stays shorter than this are counted by their exact length, longer ones by their first three digits."""

STAYS_AT_ONCE: Final = 4096
"""Stays that are counted together, about: those of a small wave alone would take as long."""

DAY_S: Final = 86_400.0
NOTABLE: Final = 0.05
"""The difference between realised and configured out-of-network share at which a run says so."""


class FeedCounts(msgspec.Struct, kw_only=True):
    """Counts of what the feeds of a run were to have and of what they had.

    Args:
        feeds: feeds built, one a session.
        places: places that they were to have, by `feed.size`.
        places_outside: those of them for posts from out of network, by `feed.out_of_network`, without rounding.
        shown: posts in them; `shown_outside`: those of them from out of network.
        short_inside: places that the in-network side could not fill; `short_outside`: the other side's.
        seen: posts that came into somebody's view; `considered`: those at which somebody looked closely.
    """

    feeds: int = 0
    places: int = 0
    places_outside: float = 0.0
    shown: int = 0
    shown_outside: int = 0
    short_inside: int = 0
    short_outside: int = 0
    seen: int = 0
    considered: int = 0


class Realised:
    """Counts of feeds, and of the time that people spend in their states.

    Args:
        people: the number of people; all start in `initial`.
        tick_s: simulated seconds a tick.
    """

    def __init__(self, people: int, initial: str, tick_s: float) -> None:
        self.feeds = FeedCounts()
        self._people = people
        self._tick_s = tick_s
        self._inside: Counter[str] = Counter({initial: people})
        """People in each state now."""
        self._correction: Counter[str] = Counter({initial: 0})
        """Person-ticks in each state so far, less the people in it now times the ticks so far."""
        self._stays: Counter[tuple[str, int]] = Counter()
        """`{(state, ticks): stays of that length that have ended}`."""
        self._states: Sequence[str] = ()
        self._ended: list[tuple[NDArray[np.int16], Ints]] = []
        """The states, by number, and ticks of stays that are not counted yet; `_uncounted`: how many these are."""
        self._uncounted = 0

    def built(self, in_network: Ints, out_of_network: Ints, config: FeedConfig) -> None:
        """Count feeds, by the number of their posts of each side."""
        counts, outside, feeds = self.feeds, round(config.size * config.out_of_network), len(in_network)
        counts.feeds += feeds
        counts.places += config.size * feeds
        each = np.full(feeds + 1, config.size * config.out_of_network)
        each[0] = counts.places_outside
        counts.places_outside = float(np.cumsum(each)[-1])  # one by one: a product would be rounded otherwise
        counts.shown += int(in_network.sum() + out_of_network.sum())
        counts.shown_outside += int(out_of_network.sum())
        counts.short_inside += int(np.maximum(0, config.size - outside - in_network).sum())
        counts.short_outside += int(np.maximum(0, outside - out_of_network).sum())

    def moved(self, before: str, after: str, count: int, tick: int) -> None:
        """Count so many transitions at a tick."""
        self._inside[before] -= count
        self._correction[before] += tick * count
        self._inside[after] += count
        self._correction[after] -= tick * count

    def stayed(self, states: Sequence[str], numbers: NDArray[np.int16], ticks: Ints) -> None:
        """Count stays that have ended, by the number of each one's state among the states, and by its ticks.

        Args:
            states: the states, the same at each call.
        """
        self._states = states
        self._ended.append((numbers, ticks))
        self._uncounted += len(ticks)
        if self._uncounted >= STAYS_AT_ONCE:
            self._count()

    def _count(self) -> None:
        """Count the stays that are not counted yet."""
        if not self._ended:
            return
        numbers, ticks = map(np.concatenate, zip(*self._ended, strict=True))
        self._ended.clear()
        self._uncounted = 0
        keys = numbers * np.int64(EXACT_TICKS) + ticks
        is_exact = ticks < EXACT_TICKS
        stays = np.bincount(keys[is_exact])
        for key in stays.nonzero()[0].tolist():
            self._stays[self._states[key // EXACT_TICKS], key % EXACT_TICKS] += int(stays[key])
        for number, length in zip(numbers[~is_exact].tolist(), ticks[~is_exact].tolist(), strict=True):
            self._stays[self._states[number], _rounded(length)] += 1

    def person_ticks(self, ticks: int) -> dict[str, int]:
        """Return `{state: ticks that people have spent in it, all together}` after so many ticks."""
        return {state: count * ticks + self._correction[state] for state, count in self._inside.items()}

    def counts(self) -> dict[str, int]:
        """Return the counts that are also columns of `rounds.csv`."""
        counts = self.feeds
        return {
            "feeds": counts.feeds,
            "posts_shown": counts.shown,
            "posts_seen": counts.seen,
            "posts_considered": counts.considered,
        }

    def feed(self, fill: str) -> dict[str, Any]:
        """Return what the feeds were to have beside what they had, as JSON values."""
        counts = self.feeds
        return {
            "fill": fill,
            "length": _pair(counts.places, counts.feeds, counts.shown, counts.feeds),
            "out_of_network": _pair(counts.places_outside, counts.places, counts.shown_outside, counts.shown),
            "short": {"in_network": counts.short_inside, "out_of_network": counts.short_outside},
        }

    def behaviour(self, ticks: int, engagements: int, actions: int) -> dict[str, Any]:
        """Return what people did, as JSON values.

        Args:
            ticks: those so far.
            engagements: likes, replies and reshares so far.
            actions: these, and the originals that people have written.
        """
        spent = self.person_ticks(ticks)
        days = self._people * ticks * self._tick_s / DAY_S
        return {
            "engagement_per_post_seen": _ratio(engagements, self.feeds.seen),
            "actions_per_person_day": _ratio(actions, days),
            "time_by_state": {state: _ratio(spent[state], self._people * ticks) for state in sorted(spent)},
            "dwell": self._dwell(),
        }

    def columns(self) -> Iterator[Column]:
        """Yield the counts, for `restore`."""
        self._count()
        yield from pack("realised_feeds", [self.feeds])
        yield from pack_items("realised_inside", dict(sorted(self._inside.items())))
        yield from pack_items("realised_correction", dict(sorted(self._correction.items())))
        yield from pack_items(
            "realised_stays", {f"{ticks} {state}": n for (state, ticks), n in sorted(self._stays.items())}
        )

    def restore(self, columns: Columns) -> None:
        """Take over the counts that these columns hold."""
        self.feeds = columns.value("realised_feeds", FeedCounts)
        self._inside = Counter(columns.items("realised_inside", str, int))
        self._correction = Counter(columns.items("realised_correction", str, int))
        self._stays = Counter()
        for name, count in columns.items("realised_stays", str, int).items():
            ticks, _, state = name.partition(" ")
            self._stays[state, int(ticks)] = count

    def _dwell(self) -> dict[str, dict[str, float]]:
        """Return the lengths of the stays that have ended, by state."""
        self._count()
        by_state: dict[str, Counter[int]] = {}
        for (state, ticks), count in self._stays.items():
            by_state.setdefault(state, Counter())[ticks] += count
        return {state: self._lengths(by_state[state]) for state in sorted(by_state)}

    def _lengths(self, stays: Counter[int]) -> dict[str, float]:
        number = stays.total()
        found = {
            "mean": sum(ticks * count for ticks, count in stays.items()) / number,
            "median": _quantile(stays, 0.5),
            "p90": _quantile(stays, 0.9),
        }
        ticks = {f"{name}_ticks": round(value, 4) for name, value in found.items()}
        minutes = {f"{name}_minutes": round(value * self._tick_s / 60.0, 4) for name, value in found.items()}
        return {"stays": number, **ticks, **minutes}


def feed_warning(world: Mapping[str, Any]) -> str:
    """Return one line if the feeds had another share from out of network than configured, with the reason; else "".

    Args:
        world: the world's part of a summary.
    """
    feed = world.get("feed")
    if not feed or not world.get("posts_shown"):
        return ""
    share, short = feed["out_of_network"], feed["short"]
    if abs(share["realised"] - share["configured"]) <= NOTABLE:
        return ""
    if not any(short.values()):
        return f"out of network {share['realised']:.1%}, not {share['configured']:.1%}: a feed has whole posts only"
    are = "not followed" if short["out_of_network"] > short["in_network"] else "followed"
    return (
        f"out of network {share['realised']:.1%}, not {share['configured']:.1%}: too few posts by people who are {are}"
    )


def _pair(configured: float, of_configured: float, realised: float, of_realised: float) -> dict[str, float]:
    return {"configured": _ratio(configured, of_configured), "realised": _ratio(realised, of_realised)}


def _ratio(part: float, whole: float) -> float:
    return round(part / whole, 6) if whole else 0.0


def _rounded(ticks: int) -> int:
    """Return the length by which a stay is counted."""
    step = 1
    while ticks >= EXACT_TICKS * step:
        step *= 10
    return ticks - ticks % step


def _quantile(stays: Counter[int], share: float) -> int:
    """Return the shortest length that at least this share of the stays do not exceed."""
    left = share * stays.total()
    for ticks in sorted(stays):
        left -= stays[ticks]
        if left <= 0:
            return ticks
    return max(stays, default=0)
