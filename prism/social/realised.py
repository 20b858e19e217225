"""Counts of what the feeds and people of a run really did, beside the configuration.

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

from prism.columns import Column, Columns, pack, pack_items
from prism.no_effect import NotAsConfigured
from prism.social import tables as col
from prism.social.state import SocialState
from prism.social.tables import EXACT_TICKS

DAY_S: Final = 86_400.0
NOTABLE: Final = 0.05
"""The difference between realised and configured out-of-network share from which on a run warns."""
OFF: Final = 0.01
"""The same of shares that are drawn or wired to be exact."""


class FeedCounts(msgspec.Struct, kw_only=True):
    """Counts of requested and of filled feed places.

    Args:
        feeds: feeds built, one a session.
        places: places that they could have at most, by `feed.size`.
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


_PLACES: Final = {
    "feeds": col.BUILT,
    "places": col.PLACES,
    "shown": col.SHOWN_ALL,
    "shown_outside": col.SHOWN_OUTSIDE,
    "short_inside": col.SHORT_INSIDE,
    "short_outside": col.SHORT_OUTSIDE,
    "seen": col.SEEN,
    "considered": col.CONSIDERED,
}
"""`{whole number of FeedCounts: its place among the counts of kernels}`."""


class Realised:
    """Counts of feeds, and of the time that people spend in their states, as kernels have counted them."""

    def __init__(self, state: SocialState, states: Sequence[str], tick_s: float) -> None:
        self._state = state
        self._states = states
        self._people = len(state.t.people)
        self._tick_s = tick_s

    @property
    def feeds(self) -> FeedCounts:
        counts = self._state.t.counts
        found = {name: int(counts.feeds[place]) for name, place in _PLACES.items()}
        return FeedCounts(places_outside=float(counts.share[0]), **found)

    def _inside(self) -> dict[str, list[int]]:
        rows = zip(self._states, self._state.t.inside.tolist(), strict=True)
        return {state: row for state, row in rows if any(row)}

    def _stays(self) -> dict[tuple[str, int], int]:
        """Return `{(state, ticks): stays of that length that have ended}`."""
        states, places = np.nonzero(self._state.t.stays)
        counts = self._state.t.stays[states, places].tolist()
        rows = zip(states.tolist(), places.tolist(), counts, strict=True)
        return {(self._states[state], _length(place)): count for state, place, count in rows}

    def person_ticks(self, ticks: int) -> dict[str, int]:
        """Return `{state: ticks that people have spent in it, all together}` after so many ticks."""
        return {state: count * ticks + correction for state, (count, correction) in self._inside().items()}

    def counts(self) -> dict[str, int]:
        counts = self.feeds
        return {
            "feeds": counts.feeds,
            "posts_shown": counts.shown,
            "posts_seen": counts.seen,
            "posts_considered": counts.considered,
        }

    def feed(self, fill: str) -> dict[str, Any]:
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
        inside = sorted(self._inside().items())
        yield from pack("realised_feeds", [self.feeds])
        yield from pack_items("realised_inside", {state: count for state, (count, _) in inside})
        yield from pack_items("realised_correction", {state: correction for state, (_, correction) in inside})
        yield from pack_items(
            "realised_stays", {f"{ticks} {state}": n for (state, ticks), n in sorted(self._stays().items())}
        )

    def restore(self, columns: Columns) -> None:
        t, feeds = self._state.t, columns.value("realised_feeds", FeedCounts)
        for name, place in _PLACES.items():
            t.counts.feeds[place] = getattr(feeds, name)
        t.counts.share[0] = feeds.places_outside
        t.inside[:] = 0
        numbers = {state: number for number, state in enumerate(self._states)}
        for column, name in enumerate(("realised_inside", "realised_correction")):
            for state, count in columns.items(name, str, int).items():
                t.inside[numbers[state], column] = count
        for name, count in columns.items("realised_stays", str, int).items():
            ticks, _, state = name.partition(" ")
            t.stays[numbers[state], _place(int(ticks))] = count

    def _dwell(self) -> dict[str, dict[str, float]]:
        by_state: dict[str, Counter[int]] = {}
        for (state, ticks), count in self._stays().items():
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


def unlike_configured(world: Mapping[str, Any]) -> Iterator[NotAsConfigured]:
    """Yield the shares that came out otherwise than configured: of strangers' posts, of equals' ties, of the margins.

    Args:
        world: the world's part of a summary; that of another domain has none of these.
    """
    feed = world.get("feed")
    if feed and world.get("posts_shown"):
        share, short = feed["out_of_network"], feed["short"]
        lacks_others = feed["fill"] == "share" or short["out_of_network"] > short["in_network"]
        are = "not followed" if lacks_others else "followed"
        reason = f"too few posts by people who are {are}" if any(short.values()) else "a feed has whole posts only"
        if abs(share["realised"] - share["configured"]) > NOTABLE:
            yield NotAsConfigured(place="feed.out_of_network", message=reason, **share)
    ties = world.get("homophily")
    if ties and abs(ties["realised"] - ties["configured"]) > OFF:
        yield NotAsConfigured(
            place="population.graph.homophily",
            message=f"swaps can make or undo no more ties within the same {ties['by']}",
            configured=ties["configured"],
            realised=ties["realised"],
        )
    for table, rows in (world.get("margins") or {}).items():
        worst = max(rows, key=lambda row: abs(row["asked"] - row["came_out"]), default=None)
        if worst is not None and abs(worst["asked"] - worst["came_out"]) > OFF:
            yield NotAsConfigured(
                place="population.margins",
                message=f"{worst['row']} of {table}",
                configured=worst["asked"],
                realised=worst["came_out"],
            )


def _pair(configured: float, of_configured: float, realised: float, of_realised: float) -> dict[str, float]:
    return {"configured": _ratio(configured, of_configured), "realised": _ratio(realised, of_realised)}


def _ratio(part: float, whole: float) -> float:
    return round(part / whole, 6) if whole else 0.0


def _length(place: int) -> int:
    """Return the ticks of the stays that are counted at a place, rounded down to three digits from a thousand on."""
    if place < EXACT_TICKS:
        return place
    steps, digits = divmod(place - EXACT_TICKS, EXACT_TICKS - EXACT_TICKS // 10)
    return (digits + EXACT_TICKS // 10) * int(10 ** (steps + 1))


def _place(ticks: int) -> int:
    steps = 0
    while ticks >= EXACT_TICKS:
        ticks //= 10
        steps += 1
    return ticks + steps * (EXACT_TICKS - EXACT_TICKS // 10)


def _quantile(stays: Counter[int], share: float) -> int:
    left = share * stays.total()
    for ticks in sorted(stays):
        left -= stays[ticks]
        if left <= 0:
            return ticks
    return max(stays, default=0)
