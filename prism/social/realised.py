"""Counts of what the feeds and people of a run really did, beside the configuration.

Every count takes constant time: time in a state is kept as agents in it times the tick plus a correction, so nobody is
looked at to know it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from prism.columns import Column, Columns, Ints, pack_array
from prism.no_effect import NotAsConfigured
from prism.social import tables as col
from prism.social.state import SocialState

DAY_S: Final = 86_400.0
NOTABLE: Final = 0.05
"""The difference between realised and configured out-of-network share from which on a run warns."""
OFF: Final = 0.01
"""The same of shares that are drawn or wired to be exact."""


class Realised:
    """Counts of feeds, and of the time that people spend in their states, as kernels have counted them."""

    def __init__(self, state: SocialState, states: Sequence[str], tick_s: float) -> None:
        self._state, self._states, self._tick_s = state, states, tick_s

    @property
    def _feeds(self) -> list[int]:
        return [*self._state.t.counts.feeds.tolist()]

    def counts(self) -> dict[str, int]:
        feeds = self._feeds
        return {
            "feeds": feeds[col.BUILT],
            "posts_shown": feeds[col.SHOWN_ALL],
            "posts_seen": feeds[col.SEEN],
            "posts_considered": feeds[col.CONSIDERED],
        }

    def feed(self, fill: str) -> dict[str, Any]:
        feeds, shown = self._feeds, self._feeds[col.SHOWN_ALL]
        asked = float(self._state.t.counts.share[0])  # places outside, by setting, without rounding
        return {
            "fill": fill,
            "length": _pair(feeds[col.PLACES], feeds[col.BUILT], shown, feeds[col.BUILT]),
            "out_of_network": _pair(asked, feeds[col.PLACES], feeds[col.SHOWN_OUTSIDE], shown),
            "short": {"in_network": feeds[col.SHORT_INSIDE], "out_of_network": feeds[col.SHORT_OUTSIDE]},
        }

    def behaviour(self, ticks: int, engagements: int, actions: int) -> dict[str, Any]:
        """Return what people did, as JSON values.

        Args:
            ticks: those so far; engagements: likes, replies and reshares so far.
            actions: these, and the originals that people have written.
        """
        t = self._state.t
        rows, time = zip(self._states, t.inside.tolist(), strict=True), len(t.people) * ticks
        spent = {state: count * ticks + correction for state, (count, correction) in rows if count or correction}
        return {
            "engagement_per_post_seen": _ratio(engagements, self._feeds[col.SEEN]),
            "actions_per_person_day": _ratio(actions, time * self._tick_s / DAY_S),
            "time_by_state": {state: _ratio(spent[state], time) for state in sorted(spent)},
        }

    def columns(self) -> Iterator[Column]:
        t = self._state.t
        yield from pack_array("feed_counts", t.counts.feeds)
        yield from pack_array("feed_share", t.counts.share)
        yield from pack_array("inside", t.inside.ravel())

    def restore(self, columns: Columns, states: Ints) -> None:
        """Take over what these columns hold.

        Args:
            states: the numbers that their states have here; -1 for a state that the chart of a fork does not have.
        """
        t = self._state.t
        t.counts.feeds[:] = columns.array("feed_counts")
        t.counts.share[:] = columns.values("feed_share", float)
        inside, is_here = columns.array("inside").reshape(-1, 2), states >= 0
        t.inside[:] = 0
        t.inside[states[is_here]] = inside[is_here]


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
