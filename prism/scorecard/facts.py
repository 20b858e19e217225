"""Stylised facts: numbers of the real world beside those of runs, and whether they agree, for economies and feeds.

The concentration of posts on a few people is that of a month, and does not depend on the length of a run. In an hour
nearly nobody posts twice: the tenth of all people who post most has every post, and the tenth of those who posted has
little more than a tenth. What people do in a month follows from their rates, and the distribution of rates is found
from the counts of the run: it is the mixture of Poisson laws under which these counts are likeliest.

Source: Kiefer & Wolfowitz (1956) for the mixture; Dempster, Laird & Rubin (1977) for its steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum, unique
from typing import Final

import msgspec
import numpy as np
from msgspec.structs import replace

from prism.columns import Floats, Ints
from prism.config.model import DAY_HOURS
from prism.distribution import effective_number, student
from prism.economy.moments import equal_windows, moments
from prism.economy.series import Figures
from prism.quarter import Quarter
from prism.scorecard.cascades import NEIGHBOURS, Matching, Shapes, together
from prism.social.people.population import hour_at
from prism.wording import counted


@unique
class Agreement(StrEnum):
    """The agreement of a run with a fact: the limit is met, or missed, or the run has too little to tell."""

    MET = "met"
    MISSED = "missed"
    UNKNOWN = "unknown"


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    name: str  # what is measured
    real: float | None = None  # the real figure; None if only its limit is known
    simulated: float | None = None  # the run's; None if the run has none
    # low, high: its 95% interval; None if there is none
    low: float | None = None
    high: float | None = None
    # the Kolmogorov-Smirnov or another distance of the two distributions, 0 to 1; None for single numbers
    distance: float | None = None
    limit: str  # what counts as agreement, in words
    agreement: Agreement = Agreement.UNKNOWN  # whether the run agrees
    source: str  # where the real figure is from
    note: str = ""  # what else one must know; may be empty


def agreement_of(is_met: bool) -> Agreement:
    return Agreement.MET if is_met else Agreement.MISSED


RUNS_MIN: Final = 20  # the fewest runs from whose spread a moment is judged


def macro_facts(
    runs: Sequence[Mapping[str, Sequence[float]]], figures: Sequence[Figures], source: str, start: Quarter | None = None
) -> list[Fact]:
    """Return the moments of runs beside those of equally many real quarters.

    Args:
        runs: `{column: its value in each quarter}` of each run.
        figures: the real quarters.
        source: the name of their file.
        start: the quarter from whose figures the runs started; None if from none.

    Raises:
        ValueError: a run or the real figures have too few quarters.
    """
    windows = equal_windows(runs, figures, start)
    found, real = [moments(run) for run in windows.runs], moments(windows.real)
    quarters = len(windows.real["interest_rate"])
    period = f"{source}, {windows.period.first} to {windows.period.last}: {quarters} quarters, as of the runs"
    facts = []
    for name, value in real.items():
        fact = Fact(name=name, limit="in the interval", source=period, note="not defined: something does not vary")
        known = [each[name] for each in found if math.isfinite(each[name])]
        if known and math.isfinite(value):
            note = f"{len(known)} runs; {RUNS_MIN} needed for an interval"
            fact = replace(fact, real=value, simulated=float(np.median(known)), note=note)
        if math.isfinite(value) and len(known) >= RUNS_MIN:
            low, high = interval_of_runs(known)
            agreement, note = agreement_of(low <= value <= high), f"median of {len(known)} runs"
            fact = replace(fact, low=low, high=high, agreement=agreement, note=note)
        facts.append(fact)
    return facts


def interval_of_runs(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends between which another run is in 90% of cases, beside 19 runs or more.

    Source: Weibull (1939). Plain percentiles of 20 runs hold another one in 81%.
    """
    low, high = np.percentile(values, (5.0, 95.0), method="weibull")
    return float(low), float(high)


SHAPE_LIMIT: Final = 0.25  # the largest distance of two distributions of shapes that counts as agreement
CASCADES_MIN: Final = 30  # the fewest cascades of comparable sizes that are judged
PEOPLE_MIN: Final = 5000
"""The fewest people whose cascades have shapes: among fewer, large cascades are most of the world."""
SEEDS_MIN: Final = 3  # the fewest runs whose shapes are judged: those of single runs differ by a tenth and more
SINGLE_REAL, SINGLE_LIMIT = 0.71, 0.1
LARGE_POSTS: Final = 100
LARGE_PER: Final = 10_000
LARGE_REAL: Final = 2.5  # Cascades of so many posts and more, of 10,000 originals
LARGE_TIMES: Final = 3.0
"""The largest ratio of the run's number to the real one, and of the real one to the run's, that agrees."""
ENGAGEMENT_MOST: Final = 0.05
TOP_REAL, TOP_LIMIT = 0.8, 0.1
SECONDS_AN_HOUR: Final = 3600.0
HOURS_LIMIT: Final = 0.1
CORRELATION_LIMIT: Final = 0.2

_SHAPES: Final = (
    ("depth", "depth", "Vosoughi et al. 2018"),
    ("breadth_share", "breadth share", "Vosoughi et al. 2018"),
    ("virality", "virality", "Goel et al. 2016"),
    ("half_minutes", "minutes to half", "the cascades' own delays"),
)
"""(name, words, source) of each."""
_MATCHED: Final = "; at equal sizes as in Juul & Ugander 2021"
_SYSOMOS: Final = "Sysomos 2010: 71% of 1.2 billion tweets had neither reply nor retweet"
_PEW: Final = "Wojcik & Hughes 2019 (Pew): a tenth of the users make 80% of the tweets"
_GOEL: Final = "Goel et al. 2016: virality is low whatever the size"
_LARGE: Final = "Goel et al. 2016: one of 4,000 originals on Twitter reaches 100 and more"
_TOO_YOUNG: Final = "no original is old enough"
_ENGAGEMENT: Final = "order of magnitude of published engagement rates; not one study's figure"
TOP_SHARE: Final = 0.1
MONTH_DAYS: Final = 30.0
RATES: Final = 80  # rates of the mixture, evenly spaced by their logarithms, and one of nearly none
STEPS: Final = 1000
FEWEST: Final = 2.0
"""Intervals assume at least this many authors of equal weights, though one may have nearly all cascades."""
LEAST_RATE: Final = 1e-9


def month_share(posts: Floats, days: float) -> float:
    """Return the share of a month's posts by the tenth, of those who post in a month, with the highest rates.

    Args:
        posts: of each person in a run.
        days: the length of the run.

    Returns:
        From 0 to 1; 0 if nobody has posted.
    """
    if not posts.any():
        return 0.0
    rates, weights = rates_of(posts)
    posting = weights * -np.expm1(-rates * MONTH_DAYS / days)
    made = weights * rates
    left = np.clip(TOP_SHARE * posting.sum() - (np.cumsum(posting[::-1])[::-1] - posting), 0.0, posting)
    share = np.divide(left, posting, out=np.zeros_like(left), where=posting > 0.0)
    return float((share * made).sum() / made.sum())


def rates_of(posts: Floats) -> tuple[Floats, Floats]:
    """Return rates, lowest first, in posts during the run, and the share of the people who have each."""
    counts, people = np.unique(posts, return_counts=True)
    rates = np.concatenate(([LEAST_RATE], np.geomspace(0.01, max(2.0, 1.5 * counts[-1]), RATES)))
    log_factorials = np.array([math.lgamma(each + 1.0) for each in counts])
    likely = np.exp(counts[:, None] * np.log(rates) - rates - log_factorials[:, None])
    weights = np.full(len(rates), 1.0 / len(rates))
    for _ in range(STEPS):
        parts = likely * weights
        weights = (people / parts.sum(axis=1)) @ parts / people.sum()
    return rates, weights


class Feed(msgspec.Struct, frozen=True, kw_only=True):
    shapes: Shapes  # the cascades whose originals are old enough to be done
    authors: Ints  # who wrote the original of each
    posts_by_person: Ints  # posts of any kind that each person made
    ticks: Ints  # the tick of every post and like
    epoch: datetime  # the simulated time of tick 0
    tick_seconds: float  # simulated seconds of a tick
    length: int  # ticks of the run
    # likes, replies and reshares for each post that was seen; None if it is not known
    engagement_per_post_seen: float | None
    left_out: int = 0  # originals that were too young to count

    @property
    def days(self) -> float:
        return self.length * self.tick_seconds / (DAY_HOURS * SECONDS_AN_HOUR)


def social_facts(
    feeds: Sequence[Feed], cascades: Shapes | None = None, hours: Sequence[Sequence[float]] = ()
) -> list[Fact]:
    """Return every fact that the figures at hand allow."""
    ours, facts = _Cascades(feeds), list[Fact]()
    if cascades is not None:
        people, runs = min((len(feed.posts_by_person) for feed in feeds), default=0), len(feeds)
        doubt = f"{counted(runs, 'run')} of {people:,} people; shapes need {PEOPLE_MIN:,} people and {SEEDS_MIN} seeds"
        facts = _cascade_facts(ours, cascades, "" if people >= PEOPLE_MIN and runs >= SEEDS_MIN else doubt)
    facts += [_single_posts(ours, sum(feed.left_out for feed in feeds)), _large_cascades(ours)]
    engagement = Fact(name="engagement per post seen", limit=f"<= {ENGAGEMENT_MOST}", source=_ENGAGEMENT)
    if known := [each.engagement_per_post_seen for each in feeds if each.engagement_per_post_seen is not None]:
        value = sum(known) / len(known)
        facts.append(replace(engagement, simulated=value, agreement=agreement_of(value <= ENGAGEMENT_MOST)))
    else:
        facts.append(replace(engagement, note="no summary says how many posts were seen"))
    facts.append(_concentration(feeds))
    if hours:
        facts.append(_hours(feeds, np.array(hours, dtype=np.float64)))
    return facts


class _Cascades:
    """The shapes of the cascades of runs, and a number for each author; authors of different runs are different."""

    def __init__(self, feeds: Sequence[Feed]) -> None:
        self.shapes = together(feed.shapes for feed in feeds)
        names = np.concatenate([feed.authors + (place << 40) for place, feed in enumerate(feeds)])
        _, firsts, numbers = np.unique(names, return_index=True, return_inverse=True)
        self.authors = np.argsort(np.argsort(firsts))[numbers]  # in the order in which they first wrote

    def share_interval(self, is_counted: Floats) -> tuple[float, float] | None:
        """Return the 95% interval of the share of the cascades that are counted; None without an interval.

        It is Student's t with the error of the jackknife over authors, on the scale of the logarithm of the odds. Its
        degrees of freedom are those of as many authors of equal weights. docs/realism.md has the coverage.

        It has no interval if all cascades are counted, if none is counted, or if no author changes the share.

        Source: Student (1908), Tukey (1958); Haldane (1956) for the half that is added to both counts.
        """
        counted, written = (
            np.bincount(self.authors, weights=each).astype(np.float64)
            for each in (is_counted, np.ones_like(is_counted))
        )
        other = written - counted
        found, without = (
            np.log((yes + 0.5) / (no + 0.5))
            for yes, no in ((counted.sum(), other.sum()), (counted.sum() - counted, other.sum() - other))
        )
        error = math.sqrt((len(written) - 1) * without.var())
        if not (counted.any() and other.any() and error):
            return None
        reach = error * student(max(FEWEST, effective_number(written)) - 1.0)
        low, high = (float(1.0 / (1.0 + np.exp(-end))) for end in (found - reach, found + reach))
        share = float(is_counted.mean())  # the added halves may move a narrow interval away from it
        return min(low, share), max(high, share)


def _cascade_facts(ours: _Cascades, real: Shapes, doubt: str) -> list[Fact]:
    """Compare the shapes of cascades at equal sizes, if enough cascades have real ones of their size."""
    sizes, real_sizes = (each.size.astype(np.float64) for each in (ours.shapes, real))
    matching = Matching(sizes, real_sizes)
    authors = len(np.unique(ours.authors[matching.kept]))
    few = f"{len(matching)} cascades have {NEIGHBOURS} real ones of their size; {CASCADES_MIN} needed"
    is_few = len(matching) < CASCADES_MIN
    note = "; ".join(filter(None, (doubt, few if is_few else "")))
    facts = []
    for name, label, source in _SHAPES:
        simulated, theirs = (getattr(each, name).astype(np.float64) for each in (ours.shapes, real))
        limit, middle = f"distance <= {SHAPE_LIMIT}", float(np.median(theirs))
        fact = Fact(name=label, real=middle, limit=limit, source=source + _MATCHED, note=note)
        if not is_few:  # it is not judged if there is a doubt
            found = matching.compare(simulated, theirs)
            told = f"medians of {found.matched} cascades by {authors} authors, beside real ones (as many as "
            fact = replace(
                fact,
                real=found.real,
                simulated=found.simulated,
                distance=found.distance,
                agreement=Agreement.UNKNOWN if note else agreement_of(found.distance <= SHAPE_LIMIT),
                note="; ".join(filter(None, (note, f"{told}{found.effective:.0f} of equal weights)"))),
            )
        facts.append(fact)
    virality, real_virality = ours.shapes.virality, real.virality
    weights = None if is_few else matching.real_weights()
    theirs_together = rank_correlation(real_sizes, real_virality, weights)
    limit = f"real +- {CORRELATION_LIMIT}"
    fact = Fact(name="size and virality", real=theirs_together, limit=limit, source=_GOEL, note=note)
    if not is_few:  # that of the real cascades has the weights of the run's sizes
        kept = sizes[matching.kept], virality[matching.kept]
        together_here = rank_correlation(*kept)
        is_met = abs(together_here - theirs_together) <= CORRELATION_LIMIT
        fact = replace(fact, simulated=together_here, agreement=Agreement.UNKNOWN if doubt else agreement_of(is_met))
    return [*facts, fact]


def _single_posts(ours: _Cascades, left_out: int) -> Fact:
    limit = f"real +- {SINGLE_LIMIT}"
    fact = Fact(name="posts without reaction", real=SINGLE_REAL, limit=limit, source=_SYSOMOS, note=_TOO_YOUNG)
    if not (count := len(ours.authors)):
        return fact
    is_single = (ours.shapes.size == 1).astype(np.float64)
    share = float(is_single.mean())
    low, high = ours.share_interval(is_single) or (None, None)
    agreement = agreement_of(abs(share - SINGLE_REAL) <= SINGLE_LIMIT)
    note = f"of {count:,} originals; {left_out:,} too young to count" if left_out else f"of {count:,}"
    return replace(fact, simulated=share, low=low, high=high, agreement=agreement, note=note)


def _large_cascades(ours: _Cascades) -> Fact:
    """Compare the upper end of the distribution of sizes, of which a published figure is known."""
    least, most = LARGE_REAL / LARGE_TIMES, LARGE_REAL * LARGE_TIMES
    name, limit = f"{LARGE_POSTS}+ posts, of {LARGE_PER:,}", f"{least:.2g} to {most:.2g}"
    fact = Fact(name=name, real=LARGE_REAL, limit=limit, source=_LARGE, note=_TOO_YOUNG)
    count, needed = len(ours.authors), LARGE_TIMES * LARGE_PER / LARGE_REAL
    if not count:
        return fact
    is_large = (ours.shapes.size >= LARGE_POSTS).astype(np.float64)
    is_few = not is_large.any() and count < needed
    share, interval = LARGE_PER * float(is_large.mean()), ours.share_interval(is_large)
    low, high = (None, None) if interval is None else (LARGE_PER * each for each in interval)
    note = f"{is_large.sum():.0f} of {count:,} originals; the data count reshares alone"
    note = f"none in {count:,} originals; {needed:,.0f} needed to tell" if is_few else note
    agreement = Agreement.UNKNOWN if is_few else agreement_of(least <= share <= most)
    return replace(fact, simulated=share, low=low, high=high, agreement=agreement, note=note)


def _concentration(feeds: Sequence[Feed]) -> Fact:
    fact = Fact(name="posts of the top tenth", real=TOP_REAL, limit=f"real +- {TOP_LIMIT}", source=_PEW)
    posts = np.concatenate([feed.posts_by_person for feed in feeds]).astype(np.float64)
    if not posts.sum():
        return replace(fact, note="nobody has posted")
    days = max(feed.days for feed in feeds)
    share = month_share(posts, days)
    note = f"the tenth of those who would post within {MONTH_DAYS:g} days, by rates in {DAY_HOURS * days:.3g} hours"
    agreement = agreement_of(abs(share - TOP_REAL) <= TOP_LIMIT)
    return replace(fact, simulated=share, agreement=agreement, note=note)


def _hours(feeds: Sequence[Feed], accounts: Floats) -> Fact:
    """Compare the shares of the hours, of whole days only. The distance is half the sum of the differences."""
    shares = accounts.sum(axis=0) / accounts.sum()
    limit, source = f"distance <= {HOURS_LIMIT}", "the file of hours"
    fact = Fact(name="hours of the day", real=_busiest(shares), limit=limit, source=source)
    counts = np.zeros(DAY_HOURS)  # the posts and likes in each hour of the day
    for feed in feeds:
        day_ticks = DAY_HOURS * SECONDS_AN_HOUR / feed.tick_seconds
        end = int(feed.length // day_ticks * day_ticks)
        for tick, times in zip(*np.unique(feed.ticks[feed.ticks < end], return_counts=True), strict=True):
            counts[hour_at(feed.epoch, float(tick) * feed.tick_seconds)] += times
    if not counts.sum():
        return replace(fact, note="nothing happened in whole simulated days")
    ours = counts / counts.sum()
    apart = float(np.abs(ours - shares).sum() / 2.0)
    agreement = agreement_of(apart <= HOURS_LIMIT)
    note = "busiest hour over quietest"
    return replace(fact, simulated=_busiest(ours), distance=apart, agreement=agreement, note=note)


def rank_correlation(one: Floats, other: Floats, weights: Floats | None = None) -> float:
    """Return Spearman's correlation, with mean ranks of ties; 0 if one of the two does not vary.

    Args:
        weights: how often each pair counts; once if None.
    """
    times, ranks = np.ones(len(one)) if weights is None else weights, []
    share = times / times.sum()
    for values in (one, other):
        places = np.unique(values, return_inverse=True)[1]
        counts = np.bincount(places, weights=times)
        ranks.append((np.cumsum(counts) - counts / 2.0)[places])
    first, second = (each - share @ each for each in ranks)
    spread = np.sqrt((share @ first**2) * (share @ second**2))
    return float(share @ (first * second) / spread) if spread else 0.0


def _busiest(shares: Floats) -> float:
    """Return the busiest hour over the quietest; infinity if nothing happens in some hour."""
    return float(shares.max() / shares.min()) if shares.min() > 0.0 else math.inf
