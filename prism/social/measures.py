"""Measures of people and their ties at a moment, such as segregation, and counts of what feeds and people really did.

Ties are follows, each counted once, from the follower (its tail) to the followee (its head); a friendship is two.
Groups are numbered from 0 on, and each person is in one. Where a measure is not defined, such as a correlation with a
number that is the same for all, it is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from prism.columns import Column, Columns, Floats, Ints, pack_array, places_in_lists
from prism.config.attributes import MeasureName, measure_name
from prism.no_effect import NotAsConfigured
from prism.social import tables as col
from prism.social.state import SocialState
from prism.social.tables import Lists

ROUNDING: Final = 1e-12
"""The share of the largest value up to which values are the same: sums in another order differ by less."""


def ends_of(followers: Lists) -> tuple[Ints, Ints]:
    """Return the follower and the followee of each tie, each of shape (ties,)."""
    lengths = followers.ends - followers.starts
    places = np.repeat(followers.starts, lengths) + places_in_lists(lengths)
    return followers.values[places].astype(np.int64), np.repeat(np.arange(len(lengths)), lengths)


def ei_index(tails: Ints, heads: Ints, groups: Ints) -> float:
    """Return the ties between groups less those within, divided by all: -1, all within, to 1, all between.

    Source: Krackhardt & Stern (1988), here over directed ties.
    """
    return 1.0 - 2.0 * float(np.mean(groups[tails] == groups[heads])) if len(tails) else 0.0


def modularity(tails: Ints, heads: Ints, groups: Ints) -> float:
    """Return the share of ties within groups less the share expected if ties were drawn by degrees alone: -1 to 1.

    Source: Leicht & Newman (2008) for directed ties; if all are mutual it is the modularity of Newman & Girvan (2004).
    """
    within, expected = _within(tails, heads, groups)
    return within - expected


def nominal_assortativity(tails: Ints, heads: Ints, groups: Ints) -> float:
    """Return the assortativity of groups: 1 if all ties are within them, 0 if they are as by chance.

    Source: Newman (2003), equation 2.
    """
    within, expected = _within(tails, heads, groups)
    return (within - expected) / (1.0 - expected) if expected < 1.0 else 0.0


def _within(tails: Ints, heads: Ints, groups: Ints) -> tuple[float, float]:
    """Return the share of ties within groups, and the one expected from how many leave and reach each group."""
    if not len(tails):
        return 0.0, 0.0
    count = int(groups.max()) + 1
    leave, reach = (np.bincount(groups[ends], minlength=count) / len(tails) for ends in (tails, heads))
    return float(np.mean(groups[tails] == groups[heads])), float(leave @ reach)


def correlation(one: Floats, other: Floats) -> float:
    """Return Pearson's correlation of two numbers of each person, or of each tie: -1 to 1."""
    if len(one) < 2 or is_constant(one) or is_constant(other):
        return 0.0
    one, other = one - one.mean(), other - other.mean()
    return float(np.clip((one @ other) / np.sqrt((one @ one) * (other @ other)), -1.0, 1.0))


def gini(counts: NDArray[np.int64]) -> float:
    """Return Gini's coefficient of people's counts, zeros included: from 0, all alike, to 1 - 1 / people.

    Source: Gini (1912), in the form for sorted values.
    """
    total, size = float(counts.sum()), len(counts)
    if not total:
        return 0.0
    ranks = np.arange(1, size + 1, dtype=np.float64)
    return float(2.0 * (ranks @ np.sort(counts)) / (size * total) - (size + 1) / size)


def variance(values: Floats) -> float:
    return 0.0 if is_constant(values) else float(np.var(values))


def bimodality(values: Floats) -> float:
    """Return Sarle's bimodality coefficient: 5/9 of a uniform distribution, more of two peaks; 0 to 1.

    It is 0 of fewer than four people. Source: SAS Institute (1990); Pfister, Schwarz, Janczyk, Dale & Freeman (2013)
    for the corrections of skewness and kurtosis for the number of people.
    """
    size = len(values)
    if size < 4 or is_constant(values):
        return 0.0
    apart = values - values.mean()
    apart /= np.sqrt(np.mean(apart**2))  # before powers of it, which could be too small for a float
    skew, excess = float(np.mean(apart**3)), float(np.mean(apart**4)) - 3.0
    skew *= np.sqrt(size * (size - 1)) / (size - 2)
    excess = (size - 1) / ((size - 2) * (size - 3)) * ((size + 1) * excess + 6.0)
    return float((skew**2 + 1.0) / (excess + 3.0 * (size - 1) ** 2 / ((size - 2) * (size - 3))))


def is_constant(values: Floats) -> bool:
    """Return whether all values are the same but for rounding, as after a consensus, or there are none."""
    return not len(values) or bool(np.ptp(values) <= ROUNDING * np.abs(values).max())


DIGITS = 6  # the digits of a measure: the last ones of a float depend on the processor
_OF_GROUPS = {"ei_index": ei_index, "modularity": modularity, "assortativity": nominal_assortativity}


def measured(
    names: Sequence[str], followers: Lists, reshares: Ints, column: Callable[[str], NDArray[Any] | None]
) -> dict[str, float]:
    """Return `{measure: its value}` at a moment, rounded to DIGITS digits.

    Args:
        reshares: how often the posts of each person were reshared so far.
        column: returns the values of everybody for a field `agent.NAME`; None if somebody has no value.
    """
    ends = cache(lambda: ends_of(followers))

    def attention(measure: MeasureName) -> Ints:
        return reshares if measure.attention == "reshares" else np.asarray(followers.ends - followers.starts)

    def value(name: str) -> float:
        measure = measure_name(name)
        if measure is not None and measure.kind == "gini":
            return gini(attention(measure))
        values = None if measure is None else column(f"agent.{measure.attribute}")
        if measure is None or values is None:
            raise ValueError(f"{name}: nobody has what it is about")
        if values.dtype.kind not in "fi":
            return _OF_GROUPS[measure.kind](*ends(), np.unique(values, return_inverse=True)[1])
        values = values.astype(np.float64)
        if measure.kind == "assortativity":  # over ties, of the follower and the followee: Newman (2003), equation 21
            return correlation(*(values[each] for each in ends()))
        if measure.kind == "correlation":
            return correlation(values, attention(measure).astype(np.float64))
        return variance(values) if measure.kind == "variance" else bimodality(values)

    return {name: float(f"{value(name):.{DIGITS}g}") for name in names}


DAY_S: Final = 86_400.0
NOTABLE: Final = 0.05  # the difference between realised and configured out-of-network share from which on a run warns
OFF: Final = 0.01  # the same of shares that are drawn or wired to be exact


class Realised:
    """Counts of feeds, and of the time that people spend in their states, as kernels have counted them.

    Every count takes constant time: time in a state is kept as agents in it times the tick plus a correction.
    """

    def __init__(self, state: SocialState, states: Sequence[str], tick_s: float) -> None:
        self._state, self._states, self._tick_s = state, states, tick_s

    def counts(self) -> dict[str, int]:
        names = "feeds", "posts_shown", "posts_seen", "posts_considered"
        places = [col.BUILT, col.SHOWN_ALL, col.SEEN, col.CONSIDERED]
        return dict(zip(names, self._state.t.counts.feeds[places].tolist(), strict=True))

    def feed(self, fill: str) -> dict[str, Any]:
        feeds = self._state.t.counts.feeds.tolist()
        shown = feeds[col.SHOWN_ALL]
        asked = float(self._state.t.counts.share[0])  # places outside, by setting, without rounding
        return {
            "fill": fill,
            "length": _pair(feeds[col.PLACES], feeds[col.BUILT], shown, feeds[col.BUILT]),
            "out_of_network": _pair(asked, feeds[col.PLACES], feeds[col.SHOWN_OUTSIDE], shown),
            "short": {"in_network": feeds[col.SHORT_INSIDE], "out_of_network": feeds[col.SHORT_OUTSIDE]},
        }

    def behaviour(self, ticks: int, engagements: int, actions: int) -> dict[str, Any]:
        """Return what people did, as JSON values: `actions` are engagements, and originals that people have written."""
        t = self._state.t
        rows, time = zip(self._states, t.inside.tolist(), strict=True), len(t.people) * ticks
        spent = {state: count * ticks + correction for state, (count, correction) in rows if count or correction}
        return {
            "engagement_per_post_seen": _ratio(engagements, int(t.counts.feeds[col.SEEN])),
            "actions_per_person_day": _ratio(actions, time * self._tick_s / DAY_S),
            "time_by_state": {state: _ratio(spent[state], time) for state in sorted(spent)},
        }

    def columns(self) -> Iterator[Column]:
        t = self._state.t
        yield from pack_array("feed_counts", t.counts.feeds)
        yield from pack_array("feed_share", t.counts.share)
        yield from pack_array("inside", t.inside.ravel())

    def restore(self, columns: Columns, states: Ints) -> None:
        """Take over columns whose states have these numbers here: -1 for one that the chart of a fork does not have."""
        t = self._state.t
        t.counts.feeds[:] = columns.array("feed_counts")
        t.counts.share[:] = columns.values("feed_share", float)
        inside, is_here = columns.array("inside").reshape(-1, 2), states >= 0
        t.inside[:] = 0
        t.inside[states[is_here]] = inside[is_here]


def unlike_configured(world: Mapping[str, Any]) -> Iterator[NotAsConfigured]:
    """Yield the shares that came out otherwise than configured, if the world's part of a summary has them."""
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
