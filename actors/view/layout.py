"""Places for the people of a network, so that those who are tied lie close together: in seconds for 100,000 of them.

The usual layouts take minutes for so many. This one lets ties pull and lets everybody push everybody else, as they do,
but works out the push on a grid: the density of people is spread by a Fourier transform, and everybody moves down its
slope. A step takes time in proportion to people and ties. Source for forces on a grid: Hockney & Eastwood (1981),
"Computer simulation using particles". It draws no random number: equal networks have equal places on one machine.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from prism.columns import Floats

Ints = NDArray[np.int32]

STEPS = 60
GRID = 256
"""Cells of the grid a side; its outer quarter on each side stays empty, so that nobody is pushed from the far side."""
SPREAD = 0.62
"""The share of the way to the middle of the people with a tie to a person that the person goes in a step, at first."""
GOLDEN = np.pi * (3 - np.sqrt(5))


def layout(size: int, tails: Ints, heads: Ints, on_step: Callable[[float], None] = lambda _: None) -> Floats:
    """Return the places of people as an array of `(size, 2)`, each between -1 and 1.

    Args:
        tails, heads: the two ends of each tie.
        on_step: called with the share that is done.
    """
    degrees = np.bincount(tails, minlength=size) + np.bincount(heads, minlength=size)
    places = _begin(degrees)
    for step in range(STEPS):
        share = step / STEPS
        pull = _middles(places, tails, heads, degrees) - places
        places += SPREAD * (1 - 0.6 * share) * pull + _push(places) * (1 - share)
        places = _centred(places)
        on_step((step + 1) / STEPS)
    # Places whose distances from the middle are spread evenly over a disc, so that no part is crowded.
    radii = np.hypot(places[:, 0], places[:, 1])
    ranks = np.empty(len(places))
    ranks[np.argsort(radii, kind="stable")] = np.arange(len(places))
    wanted = np.sqrt((ranks + 0.5) / max(len(places), 1))
    mixed = 0.35 * radii / max(float(radii.max(initial=0.0)), 1e-9) + 0.65 * wanted
    factors = np.divide(mixed, radii, out=np.zeros_like(radii), where=radii > 0)
    return np.asarray(places * factors[:, None])


def _begin(degrees: NDArray[np.int64]) -> Floats:
    """Return places on a sunflower's spiral, those with most ties in its middle."""
    size = len(degrees)
    ranks = np.empty(size)
    ranks[np.argsort(-degrees, kind="stable")] = np.arange(size)
    radii, angles = np.sqrt((ranks + 0.5) / max(size, 1)), ranks * GOLDEN
    return np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)


def _middles(places: Floats, tails: Ints, heads: Ints, degrees: NDArray[np.int64]) -> Floats:
    """Return the middle of the people to whom each person has a tie; the person's own place without ties."""
    size, middles = len(places), places.copy()
    tied = degrees > 0
    for axis in (0, 1):
        at = places[:, axis]
        total = np.bincount(tails, at[heads], size) + np.bincount(heads, at[tails], size)
        middles[tied, axis] = total[tied] / degrees[tied]
    return middles


def _push(places: Floats) -> Floats:
    """Return the vector by which the density of people pushes each person."""
    cells = ((places + 2) * (GRID / 4)).astype(np.int64).clip(1, GRID - 2)
    density = np.bincount(cells[:, 0] * GRID + cells[:, 1], minlength=GRID * GRID).reshape(GRID, GRID)
    waves = np.fft.fftfreq(GRID)[:, None] ** 2 + np.fft.rfftfreq(GRID)[None, :] ** 2
    waves[0, 0] = np.inf  # the mean density pushes nobody
    hill = np.fft.irfft2(np.fft.rfft2(density / len(places)) / waves, (GRID, GRID))
    down, across = np.gradient(hill, axis=0), np.gradient(hill, axis=1)
    pushed = -np.stack([slope[cells[:, 0], cells[:, 1]] for slope in (down, across)], axis=1)
    lengths = np.hypot(pushed[:, 0], pushed[:, 1])
    typical = float(np.median(lengths)) or 1.0
    return np.asarray(pushed * (0.09 / (typical + lengths))[:, None])


def _centred(places: Floats) -> Floats:
    places = places - places.mean(axis=0)
    radius = float(np.quantile(np.hypot(places[:, 0], places[:, 1]), 0.98)) or 1.0
    return np.asarray((places / radius).clip(-1.9, 1.9))
