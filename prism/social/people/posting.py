"""The writing of people: how much more or less than others each takes part, and the original posts of a session.

Sources: Muchnik et al., "Origins of power-law degree distribution in the heterogeneity of human activity in social
networks" (2013), for the heavy tail of people's activity; Wojcik & Hughes, "Sizing up Twitter users" (2019), where a
tenth of the people makes 80% of the posts; Huberman, Romero & Wu, "Social networks that matter: Twitter under the
microscope" (2009), where people with more followers post more. The log-normal form and the power are choices:
docs/decisions/005-worlds.md.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from prism.rng import Draw, mapped, normals
from prism.social.ties.graph import FollowGraph

MOST: Final = 7.0
"""The most originals of one person in a session: each of those of one tick has a name of its own."""
CAPPED: Final = MOST * (1.0 - 1e-12)
"""From here on a rate counts as capped: the scale of the others is a float."""


def posting_rates(
    graph: FollowGraph, mean: float, exponent: float, participation: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the mean number of original posts in a session of each person.

        rate(i) = min(7, c participation(i) (1 + followers(i))^exponent)

    with the c that makes `mean` the mean over people. There is one for every mean from 0 to 7.

    Args:
        mean: the mean over people, 0 to 7.
        exponent: 0 leaves out the followers; participation: above 0, of each person.
    """
    weights = participation * (1.0 + graph.follower_counts()) ** exponent
    order = np.sort(weights)[::-1]
    # With the k largest at 7, c is what remains of the sum over the sum of the other weights. The smallest k for which
    # the next largest stays at 7 or below is the right one.
    others = order[::-1].cumsum()[::-1]
    wanted = mean * graph.size - MOST * np.arange(graph.size)
    scales = np.maximum(wanted, 0.0) / others
    fits = scales * order <= 2.0 * MOST - CAPPED
    scale = float(scales[int(fits.argmax())])
    rates: NDArray[np.float64] = np.minimum(MOST, scale * weights)
    return rates


def participation(size: int, seed: int, sigma: float) -> NDArray[np.float64]:
    """Return the participation of each person, exp(sigma z - sigma^2 / 2), which is 1 on average.

    Args:
        size: the number of people; sigma: 0 gives everybody 1.
    """
    if not sigma:
        return np.ones(size)
    return mapped(math.exp, sigma * normals(seed, np.arange(size), 0, Draw.PARTICIPATION) - sigma * sigma / 2.0)
