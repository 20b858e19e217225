"""The quality of a post: what it is worth to everybody, whatever their own taste.

Sources: Salganik, Dodds & Watts, "Experimental study of inequality and unpredictability in an artificial cultural
market" (2006), for a quality that all share beside what is private; Bakshy et al., "Everyone's an influencer" (2011),
for the heavy tail of what content becomes. The log-normal form is a choice: docs/decisions/035-social-terms.md.
"""

from __future__ import annotations

import math
from typing import Any

from prism.kernel_rng import normal
from prism.kernels import kernel
from prism.rng import Draw

_QUALITY = int(Draw.QUALITY)


@kernel
def drawn_quality(key: Any, author: Any, tick: Any, sigma: Any, place: Any) -> Any:
    """Return the quality of an original that an author makes at a tick: exp(sigma z - sigma^2 / 2), 1 on average.

    Args:
        key: `prism.kernel_rng.keys_of` the run's seed.
        place: of the original among those that the author makes at this tick, from 0 on.
    """
    return math.exp(sigma * normal(key, author, tick, _QUALITY, place) - sigma * sigma / 2.0)
