"""The quality of a post: what it is worth to everybody, whatever their own taste.

Sources: Salganik, Dodds & Watts, "Experimental study of inequality and unpredictability in an artificial cultural
market" (2006), for a quality that all share beside what is private; Bakshy et al., "Everyone's an influencer" (2011),
for the heavy tail of what content becomes. The log-normal form is a choice: docs/decisions/035-shared-quality.md.
"""

from __future__ import annotations

import math

from prism.rng import Draw, normal


def drawn_quality(seed: int, author: int, tick: int, sigma: float) -> float:
    """Return the quality of the original that an author makes at a tick: exp(sigma z - sigma^2 / 2), 1 on average."""
    return math.exp(sigma * normal(seed, author, tick, Draw.QUALITY) - sigma * sigma / 2.0)
