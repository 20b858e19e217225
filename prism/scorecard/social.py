"""The stylised facts of social feeds: cascades, silence, concentration, and the hours of the day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec
import numpy as np

from prism.config.model import DAY_HOURS
from prism.scorecard.facts import Fact, agreement_of, unknown
from prism.scorecard.matched import INTERVAL, RESAMPLES, Comparison, Floats, Matching
from prism.scorecard.trees import Tree, TreeShape, shape_of
from prism.social.hours import hour_at

SHAPE_LIMIT: Final = 0.25
"""The largest distance of two distributions of shapes that counts as agreement. Two real samples differ by 0.1."""
CASCADES_MIN: Final = 30
"""The fewest cascades of comparable sizes that are judged."""
SINGLE_REAL, SINGLE_LIMIT = 0.71, 0.1
ENGAGEMENT_MOST: Final = 0.05
TOP_SHARE, TOP_REAL, TOP_LIMIT = 0.1, 0.8, 0.1
SECONDS_AN_HOUR: Final = 3600.0
HOURS_LIMIT: Final = 0.1
CORRELATION_LIMIT: Final = 0.2

_SHAPES: Final = (
    ("depth", "depth"),
    ("breadth_share", "breadth share"),
    ("virality", "virality"),
    ("half_minutes", "minutes to half"),
)
_SHAPE_SOURCES: Final = {
    "depth": "Vosoughi et al. 2018",
    "breadth_share": "Vosoughi et al. 2018",
    "virality": "Goel et al. 2016",
    "half_minutes": "the cascades' own delays",
}
_MATCHED: Final = "; at equal sizes as in Juul & Ugander 2021"
_SYSOMOS: Final = "Sysomos 2010: 71% of 1.2 billion tweets had neither reply nor retweet"
_PEW: Final = "Wojcik & Hughes 2019 (Pew): a tenth of the users make 80% of the tweets"
_GOEL: Final = "Goel et al. 2016: virality is low whatever the size"
_ENGAGEMENT: Final = "order of magnitude of published engagement rates; not one study's figure"


class Feed(msgspec.Struct, frozen=True, kw_only=True):
    """A social run, as its journal tells it.

    Args:
        trees: the cascades whose originals are old enough to be done.
        posts_by_person: posts of any kind that each person made.
        ticks: the tick of every post and like.
        epoch: the simulated time of tick 0.
        tick_seconds: simulated seconds of a tick.
        length: ticks of the run.
        engagement_per_post_seen: likes, replies and reshares for each post that was seen; None if it is not known.
        left_out: originals that were too young to count.
    """

    trees: tuple[Tree, ...]
    posts_by_person: tuple[int, ...]
    ticks: tuple[int, ...]
    epoch: datetime
    tick_seconds: float
    length: int
    engagement_per_post_seen: float | None
    left_out: int = 0


def social_facts(
    feeds: Sequence[Feed], cascades: Sequence[Tree] = (), hours: Sequence[Sequence[float]] = (), seed: int = 0
) -> list[Fact]:
    """Return every fact that the figures at hand allow.

    Args:
        feeds: what happened in runs of one configuration; they are taken together.
        cascades: real cascades; none leaves their facts out.
        hours: the activity of real accounts in each hour of the day; none leaves that fact out.
        seed: of the resamples behind the intervals.
    """
    random = np.random.default_rng(seed)
    shapes = [shape_of(tree) for feed in feeds for tree in feed.trees]
    facts = _cascade_facts(shapes, [shape_of(tree) for tree in cascades], seed) if cascades else []
    facts.append(_single_posts(shapes, random, sum(feed.left_out for feed in feeds)))
    facts.append(_engagement([feed.engagement_per_post_seen for feed in feeds]))
    people = [count for feed in feeds for count in feed.posts_by_person]
    facts.append(_concentration(np.array(people, dtype=np.float64), random))
    if hours:
        facts.append(_hours(feeds, np.array(hours, dtype=np.float64), random))
    return facts


def _cascade_facts(simulated: list[TreeShape], real: list[TreeShape], seed: int) -> list[Fact]:
    sizes, real_sizes = _column(simulated, "size"), _column(real, "size")
    matching = Matching(sizes, real_sizes, seed)
    limit = f"distance <= {SHAPE_LIMIT}"
    if len(matching) < CASCADES_MIN:
        smallest = int(real_sizes.min())
        note = (
            f"{len(matching)} cascades have the sizes of the real ones, from {smallest} posts on; {CASCADES_MIN} needed"
        )
        shapes = [
            unknown(label, _SHAPE_SOURCES[name] + _MATCHED, limit, note, float(np.median(_column(real, name))))
            for name, label in _SHAPES
        ]
        theirs = rank_correlation(real_sizes, _column(real, "virality"))
        return [*shapes, unknown("size and virality", _GOEL, f"real +- {CORRELATION_LIMIT}", note, theirs)]
    facts = [
        _shape_fact(
            label, _SHAPE_SOURCES[name] + _MATCHED, matching.compare(_column(simulated, name), _column(real, name))
        )
        for name, label in _SHAPES
    ]
    return [*facts, _size_and_virality(simulated, real, matching)]


def _shape_fact(name: str, source: str, found: Comparison) -> Fact:
    return Fact(
        name=name,
        real=found.real,
        simulated=found.simulated,
        low=found.simulated_low,
        high=found.simulated_high,
        distance=found.distance,
        limit=f"distance <= {SHAPE_LIMIT}",
        agreement=agreement_of(found.distance <= SHAPE_LIMIT),
        source=source,
        note=(
            f"medians of {found.matched} cascades; distance {found.distance_low:.2f} to {found.distance_high:.2f}, "
            f"between two real samples {found.between_samples:.2f}"
        ),
    )


def _size_and_virality(simulated: list[TreeShape], real: list[TreeShape], matching: Matching) -> Fact:
    kept = [simulated[place] for place in matching.kept]
    ours, theirs = (rank_correlation(_column(each, "size"), _column(each, "virality")) for each in (kept, real))
    return Fact(
        name="size and virality",
        real=theirs,
        simulated=ours,
        limit=f"real +- {CORRELATION_LIMIT}",
        agreement=agreement_of(abs(ours - theirs) <= CORRELATION_LIMIT),
        source=_GOEL,
    )


def _single_posts(shapes: list[TreeShape], random: np.random.Generator, left_out: int) -> Fact:
    name, limit = "posts without reaction", f"real +- {SINGLE_LIMIT}"
    if not shapes:
        return unknown(name, _SYSOMOS, limit, "no original is old enough", SINGLE_REAL)
    single = (_column(shapes, "size") == 1.0).astype(np.float64)
    low, high = _resampled_mean(single, random)
    share = float(single.mean())
    return Fact(
        name=name,
        real=SINGLE_REAL,
        simulated=share,
        low=low,
        high=high,
        limit=limit,
        agreement=agreement_of(abs(share - SINGLE_REAL) <= SINGLE_LIMIT),
        source=_SYSOMOS,
        note=f"of {len(shapes):,} originals; {left_out:,} too young to count" if left_out else f"of {len(shapes):,}",
    )


def _engagement(values: Sequence[float | None]) -> Fact:
    name, limit = "engagement per post seen", f"<= {ENGAGEMENT_MOST}"
    known = [value for value in values if value is not None]
    if not known:
        return unknown(name, _ENGAGEMENT, limit, "no summary says how many posts were seen")
    value = sum(known) / len(known)
    return Fact(
        name=name,
        real=None,
        simulated=value,
        limit=limit,
        agreement=agreement_of(value <= ENGAGEMENT_MOST),
        source=_ENGAGEMENT,
    )


def _concentration(posts: Floats, random: np.random.Generator) -> Fact:
    name, limit = "posts of the top tenth", f"real +- {TOP_LIMIT}"
    if not posts.sum():
        return unknown(name, _PEW, limit, "nobody has posted", TOP_REAL)
    share = top_share(posts, TOP_SHARE)
    resampled = [top_share(random.choice(posts, size=len(posts)), TOP_SHARE) for _ in range(RESAMPLES)]
    low, high = np.percentile(resampled, INTERVAL)
    return Fact(
        name=name,
        real=TOP_REAL,
        simulated=share,
        low=float(low),
        high=float(high),
        limit=limit,
        agreement=agreement_of(abs(share - TOP_REAL) <= TOP_LIMIT),
        source=_PEW,
        note="",
    )


def _hours(feeds: Sequence[Feed], accounts: Floats, random: np.random.Generator) -> Fact:
    """Compare the shares of the hours, of whole days only. The distance is half the sum of the differences."""
    name, limit, source = "hours of the day", f"distance <= {HOURS_LIMIT}", "the file of hours"
    shares = accounts.sum(axis=0) / accounts.sum()
    counts = sum((_counts_by_hour(feed) for feed in feeds), np.zeros(DAY_HOURS))
    if not counts.sum():
        return unknown(name, source, limit, "nothing happened in whole simulated days", _busiest(shares))
    ours = counts / counts.sum()
    apart = float(np.abs(ours - shares).sum() / 2.0)
    halves = []
    for _ in range(RESAMPLES):
        one, other = (random.choice(accounts, size=len(accounts)).sum(axis=0) for _ in range(2))
        if one.sum() and other.sum():
            halves.append(float(np.abs(one / one.sum() - other / other.sum()).sum() / 2.0))
    return Fact(
        name=name,
        real=_busiest(shares),
        simulated=_busiest(ours),
        distance=apart,
        limit=limit,
        agreement=agreement_of(apart <= HOURS_LIMIT),
        source=source,
        note=f"busiest hour over quietest; two samples of the accounts are {np.median(halves):.2f} apart",
    )


def _counts_by_hour(feed: Feed) -> Floats:
    """Return the posts and likes in each hour of the day, over the whole days of a run."""
    counts = np.zeros(DAY_HOURS)
    day_ticks = DAY_HOURS * SECONDS_AN_HOUR / feed.tick_seconds
    end = int(feed.length // day_ticks * day_ticks)
    for tick in feed.ticks:
        if tick < end:
            counts[hour_at(feed.epoch, tick * feed.tick_seconds)] += 1.0
    return counts


def top_share(values: Floats, share: float) -> float:
    """Return the part of the sum that the largest values have, so large a share of all values; the sum is above 0."""
    count = max(1, round(len(values) * share))
    total = values.sum()
    return float(np.sort(values)[-count:].sum() / total) if total else 0.0


def rank_correlation(one: Floats, other: Floats) -> float:
    """Return Spearman's correlation, with mean ranks of ties; 0 if one of the two does not vary."""
    ranks = [_ranks(each) for each in (one, other)]
    spread = ranks[0].std() * ranks[1].std()
    if not spread:
        return 0.0
    return float(((ranks[0] - ranks[0].mean()) * (ranks[1] - ranks[1].mean())).mean() / spread)


def _ranks(values: Floats) -> Floats:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: Floats = (ends - (counts - 1) / 2.0)[places]
    return ranks


def _busiest(shares: Floats) -> float:
    """Return the busiest hour over the quietest; infinity if nothing happens in some hour."""
    return float(shares.max() / shares.min()) if shares.min() > 0.0 else float("inf")


def _resampled_mean(values: Floats, random: np.random.Generator) -> tuple[float, float]:
    means = [random.choice(values, size=len(values)).mean() for _ in range(RESAMPLES)]
    low, high = np.percentile(means, INTERVAL)
    return float(low), float(high)


def _column(shapes: Sequence[TreeShape], name: str) -> Floats:
    return np.array([getattr(shape, name) for shape in shapes], dtype=np.float64)
