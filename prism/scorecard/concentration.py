"""The concentration of posts on a few people, over a time that does not depend on the length of a run.

In an hour nearly nobody posts twice: the tenth of all people who post most has every post, and the tenth of those who
posted has little more than a tenth. Both move towards the same share as time passes. So a run of a day cannot stand
beside figures of a month. What people do in a month follows from their rates, and the distribution of rates is found
from the counts of the run: it is the mixture of Poisson laws under which these counts are likeliest.

Source: Kiefer & Wolfowitz (1956) for the mixture; Dempster, Laird & Rubin (1977) for its steps.
"""

from __future__ import annotations

from math import lgamma
from typing import Final

import numpy as np

from prism.columns import Floats
from prism.scorecard.matched import INTERVAL

TOP_SHARE: Final = 0.1
MONTH_DAYS: Final = 30.0
RATES: Final = 80  # rates of the mixture, evenly spaced by their logarithms, and one of nearly none
STEPS: Final = 1000
LEAST_RATE: Final = 1e-9
MONTH_RESAMPLES: Final = 100  # resamples behind an interval; each takes all steps


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


def month_interval(posts: Floats, days: float, random: np.random.Generator) -> tuple[float, float]:
    """Return the 95% interval of `month_share` over resampled people. docs/realism.md has its coverage."""
    resampled = [month_share(random.choice(posts, size=len(posts)), days) for _ in range(MONTH_RESAMPLES)]
    low, high = np.percentile(resampled, INTERVAL)
    return float(low), float(high)


def rates_of(posts: Floats) -> tuple[Floats, Floats]:
    """Return rates, lowest first, in posts during the run, and the share of the people who have each."""
    counts, people = np.unique(posts, return_counts=True)
    rates = np.concatenate(([LEAST_RATE], np.geomspace(0.01, max(2.0, 1.5 * counts[-1]), RATES)))
    log_factorials = np.array([lgamma(each + 1.0) for each in counts])
    likely = np.exp(counts[:, None] * np.log(rates) - rates - log_factorials[:, None])
    weights = np.full(len(rates), 1.0 / len(rates))
    for _ in range(STEPS):
        parts = likely * weights
        weights = (people / parts.sum(axis=1)) @ parts / people.sum()
    return rates, weights


def top_share(values: Floats, share: float) -> float:
    """Return the part of the sum that the largest values have, so large a share of all; 0 if the sum is 0."""
    count = max(1, round(len(values) * share))
    total = values.sum()
    return float(np.sort(values)[-count:].sum() / total) if total else 0.0
