"""The probability of an original post, for each person: it may grow with the number of followers.

Source: Huberman, Romero & Wu, "Social networks that matter: Twitter under the microscope" (2009), where people with
more followers post more. The power is a plausible form of it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from prism.social.graph import FollowGraph

CERTAIN: Final = 1.0 - 1e-12
"""From here on a probability counts as capped at 1: the scale of the others is a float."""


def posting_rates(graph: FollowGraph, mean: float, exponent: float) -> NDArray[np.float64]:
    """Return the probability of an original post in a session of each person.

        rate(i) = min(1, c (1 + followers(i))^exponent)

    with the c that makes `mean` the mean over people. There is one for every mean from 0 to 1.

    Args:
        mean: the mean over people, 0 to 1.
        exponent: 0 gives everybody the mean.
    """
    weights = (1.0 + graph.follower_counts()) ** exponent
    order = np.sort(weights)[::-1]
    # With the k largest at 1, c is what remains of the sum over the sum of the other weights. The smallest k for which
    # the next largest stays at 1 or below is the right one.
    others = order[::-1].cumsum()[::-1]
    wanted = mean * graph.size - np.arange(graph.size)
    scales = np.maximum(wanted, 0.0) / others
    fits = scales * order <= 2.0 - CERTAIN
    scale = float(scales[int(fits.argmax())])
    rates: NDArray[np.float64] = np.minimum(1.0, scale * weights)
    return rates
