"""The network of a run's people, drawn in the background: places, followers and some of the ties."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock, Thread
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from actors.factory.domains import show_of
from actors.factory.input_files import load_population
from prism.columns import Floats
from prism.config import Config
from prism.errors import PrismError
from prism.social.people.population import Population
from prism.social.ties.graph import FollowGraph
from prism.wording import counted

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
        # The vector by which the density of people pushes each person.
        cells = ((places + 2) * (GRID / 4)).astype(np.int64).clip(1, GRID - 2)
        density = np.bincount(cells[:, 0] * GRID + cells[:, 1], minlength=GRID * GRID).reshape(GRID, GRID)
        waves = np.fft.fftfreq(GRID)[:, None] ** 2 + np.fft.rfftfreq(GRID)[None, :] ** 2
        waves[0, 0] = np.inf  # the mean density pushes nobody
        hill = np.fft.irfft2(np.fft.rfft2(density / len(places)) / waves, (GRID, GRID))
        down, across = np.gradient(hill, axis=0), np.gradient(hill, axis=1)
        pushed = -np.stack([slope[cells[:, 0], cells[:, 1]] for slope in (down, across)], axis=1)
        lengths = np.hypot(pushed[:, 0], pushed[:, 1])
        typical = float(np.median(lengths)) or 1.0
        push = np.asarray(pushed * (0.09 / (typical + lengths))[:, None])
        places += SPREAD * (1 - 0.6 * share) * pull + push * (1 - share)
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


def _centred(places: Floats) -> Floats:
    places = places - places.mean(axis=0)
    radius = float(np.quantile(np.hypot(places[:, 0], places[:, 1]), 0.98)) or 1.0
    return np.asarray((places / radius).clip(-1.9, 1.9))


DRAWN_MAX = 100_000
"""The most people that are drawn; of more, as many are chosen evenly."""
BUILT_MAX = 1_000_000
"""The largest population that is built here: it takes as much memory as in a run."""
TIES_MAX = 40_000
"""The most lines that are drawn; of more, as many are chosen evenly."""
PULLS_MAX = 200_000
"""The most lines by which people are placed; of more, as many are chosen evenly."""
LAID_OUT = 0.3
"""The share of the work that is done before places are worked out."""


class NetworkNow(msgspec.Struct, frozen=True, kw_only=True):
    """The network as far as it is there."""

    share: float = 0.0  # the share of the work that is done, from 0 to 1
    step: str = "not begun"
    problem: str = ""  # why there is no network; empty if there is one, or will be
    words: str = ""  # what the picture shows and what it leaves out; empty until it is there


class Drawn(NamedTuple):
    """The picture's numbers."""

    people: NDArray[np.int32]  # the number of each person drawn, ascending: (people,)
    places: NDArray[np.float32]  # the place of each on the picture, between -1 and 1: (people, 2)
    followers: NDArray[np.float32]
    ties: NDArray[np.int32]  # both ends of each line, as rows of `people`: (lines, 2)

    def packed(self) -> bytes:
        """Return the numbers one after the other, little-endian: two counts, people, places, followers, ties."""
        counts = np.array([len(self.people), len(self.ties)], dtype="<i4")
        parts = (counts, self.people.astype("<i4"), self.places.astype("<f4"), self.followers.astype("<f4"))
        return b"".join(part.tobytes() for part in (*parts, self.ties.astype("<i4")))


class NetworkDrawing:
    """The drawing of one run's network, made once, in a thread of its own."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._thread: Thread | None = None
        self._lock = Lock()
        self.now = NetworkNow()
        self.drawn: Drawn | None = None
        self.population: Population | None = None
        """The people, once they are made; None before."""

    def begin(self) -> None:
        """Begin to draw, unless it has begun."""
        if self._thread is None:
            self._thread = Thread(target=self._run, name="network", daemon=True)
            self._thread.start()

    def people(self) -> Population | None:
        """Return the people, made on the first call; None if the run has no network of people, or one too large."""
        config = self._config
        with self._lock:
            is_built = "network" in show_of(config).pictures and config.population.size <= BUILT_MAX
            if self.population is None and is_built:
                self.population, _ = load_population(config.population, config.simulation.seed, self._say)
        return self.population

    def _run(self) -> None:
        try:
            self._draw()
        except (PrismError, ValueError, LookupError, MemoryError, OSError) as error:
            self.now = NetworkNow(problem=str(error) or "this process may use no more memory")

    def _draw(self) -> None:
        config = self._config
        if "network" not in show_of(config).pictures:
            self.now = NetworkNow(problem=f"the domain {config.simulation.domain} has no network of people")
            return
        if (population := self.people()) is None:
            problem = (
                f"{config.population.size:,} people are more than the {BUILT_MAX:,} whose ties are worked out here"
            )
            self.now = NetworkNow(problem=problem)
            return
        self._say("choosing whom to draw", LAID_OUT)
        people, tails, heads, ties, all_ties = drawn_ties(population.graph)
        step = f"placing {len(people):,} people"
        pulls = slice(None, None, -(-len(tails) // PULLS_MAX) or None)
        places = layout(
            len(people), tails[pulls], heads[pulls], lambda done: self._say(step, LAID_OUT + (1 - LAID_OUT) * done)
        )
        shown = np.unique(np.linspace(0, len(tails) - 1, min(TIES_MAX, len(tails))).astype(np.int64))
        self.drawn = Drawn(
            people,
            places.astype(np.float32),
            population.graph.follower_counts()[people].astype(np.float32),
            np.stack([tails[shown], heads[shown]], axis=1),
        )
        words = (
            f"{len(people):,} of {counted(population.size, 'person', 'people')}, and {int(ties[shown].sum()):,} of "
            f"{counted(all_ties, 'tie')}; two people who follow each other share a line. Each is near those to whom "
            f"a sample of {counted(len(tails[pulls]), 'line')} leads; larger points have more followers. Press a "
            "person, or give a number beside, to look closer."
        )
        self.now = NetworkNow(share=1.0, step="", words=words)

    def _say(self, step: str, share: float = 0.05) -> None:
        self.now = NetworkNow(share=share, step=step)


def drawn_ties(
    graph: FollowGraph,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], int]:
    """Return the people that are drawn and the lines between them.

    Two people who follow each other have two ties, and one line.

    Returns:
        The numbers of the people; for each line the rows of its two ends among these people, and its number of ties, 1
        or 2; and the number of ties of all people. Shapes: (people,), (lines,), (lines,), (lines,).
    """
    people = np.unique(np.linspace(0, graph.size - 1, min(DRAWN_MAX, graph.size)).astype(np.int64))
    row_of = np.full(graph.size, -1)
    row_of[people] = np.arange(len(people))
    ends = np.array(graph.ties())
    rows = row_of[ends]
    tails, heads = rows[:, (rows >= 0).all(axis=0)]
    pairs, ties = np.unique(np.minimum(tails, heads) * len(people) + np.maximum(tails, heads), return_counts=True)
    first, second = (each.astype(np.int32) for each in np.divmod(pairs, len(people)))
    return people.astype(np.int32), first, second, ties, ends.shape[1]
