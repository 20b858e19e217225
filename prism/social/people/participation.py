"""The participation of people: how much more or less than others each of them writes and engages.

Sources: Muchnik et al., "Origins of power-law degree distribution in the heterogeneity of human activity in social
networks" (2013), for the heavy tail of people's activity; Wojcik & Hughes, "Sizing up Twitter users" (2019), where a
tenth of the people makes 80% of the posts. The log-normal form is a choice: docs/decisions/035-social-terms.md.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from prism.rng import Draw, mapped, normals


def participation(size: int, seed: int, sigma: float) -> NDArray[np.float64]:
    """Return the participation of each person, exp(sigma z - sigma^2 / 2), which is 1 on average.

    Args:
        size: the number of people; sigma: 0 gives everybody 1.
    """
    if not sigma:
        return np.ones(size)
    return mapped(math.exp, sigma * normals(seed, np.arange(size), 0, Draw.PARTICIPATION) - sigma * sigma / 2.0)
