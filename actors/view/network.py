"""The network of a run's people as a picture: places, followers and some of the ties."""

from __future__ import annotations

from concurrent.futures import Future
from threading import Lock, Thread
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from actors.factory.domains import show_of
from actors.factory.input_files import load_population
from prism.columns import Floats
from prism.config import Config
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


def layout(size: int, tails: Ints, heads: Ints) -> Floats:
    """Return the places of people as an array of `(size, 2)`, each between -1 and 1. Ties join `tails` and `heads`."""
    degrees = np.bincount(tails, minlength=size) + np.bincount(heads, minlength=size)
    # At first the people are on a sunflower's spiral, those with most ties in its middle.
    ranks, tied = np.empty(size), degrees > 0
    ranks[np.argsort(-degrees, kind="stable")] = np.arange(size)
    radii, angles = np.sqrt((ranks + 0.5) / max(size, 1)), ranks * GOLDEN
    places = np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)
    for step in range(STEPS):
        share = step / STEPS
        # The way to the middle of the people with a tie to each person; none without ties.
        pull = np.zeros_like(places)
        for axis in (0, 1):
            at = places[:, axis]
            total = np.bincount(tails, at[heads], size) + np.bincount(heads, at[tails], size)
            pull[tied, axis] = total[tied] / degrees[tied] - at[tied]
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
        places -= places.mean(axis=0)
        radius = float(np.quantile(np.hypot(places[:, 0], places[:, 1]), 0.98)) or 1.0
        places = (places / radius).clip(-1.9, 1.9)
    # Places whose distances from the middle are spread evenly over a disc, so that no part is crowded.
    radii = np.hypot(places[:, 0], places[:, 1])
    ranks = np.empty(len(places))
    ranks[np.argsort(radii, kind="stable")] = np.arange(len(places))
    wanted = np.sqrt((ranks + 0.5) / max(len(places), 1))
    mixed = 0.35 * radii / max(float(radii.max(initial=0.0)), 1e-9) + 0.65 * wanted
    factors = np.divide(mixed, radii, out=np.zeros_like(radii), where=radii > 0)
    return np.asarray(places * factors[:, None])


DRAWN_MAX = 100_000  # the most people that are drawn; of more, as many are chosen evenly
BUILT_MAX = 1_000_000  # the largest population that is built here: it takes as much memory as in a run
TIES_MAX = 40_000  # the most lines that are drawn; of more, as many are chosen evenly
PULLS_MAX = 200_000  # the most lines by which people are placed; of more, as many are chosen evenly


class Drawn(NamedTuple):
    people: NDArray[np.int32]  # the number of each person drawn, ascending: (people,)
    places: NDArray[np.float32]  # the place of each on the picture, between -1 and 1: (people, 2)
    followers: NDArray[np.float32]
    ties: NDArray[np.int32]  # both ends of each line, as rows of `people`: (lines, 2)
    words: str  # what the picture shows and what it leaves out

    def packed(self) -> bytes:
        """Return the numbers one after the other, little-endian: two counts, people, places, followers, ties."""
        counts = np.array([len(self.people), len(self.ties)], dtype="<i4")
        parts = (counts, self.people.astype("<i4"), self.places.astype("<f4"), self.followers.astype("<f4"))
        return b"".join(part.tobytes() for part in (*parts, self.ties.astype("<i4")))


class NetworkDrawing:
    """The drawing of one run's network, made once, when it is first asked for."""

    def __init__(self, config: Config) -> None:
        self._config, self._lock, self._drawing = config, Lock(), Lock()
        self._picture = Future[Drawn]()
        self._picture.cancel()  # none is under way
        self.population: Population | None = None
        self.drawn: Drawn | None = None

    def people(self) -> Population | None:
        """Return the people, made on the first call; None if the run has no network of people, or one too large."""
        config = self._config
        with self._lock:
            is_built = "network" in show_of(config).pictures and config.population.size <= BUILT_MAX
            if self.population is None and is_built:
                self.population, _ = load_population(config.population, config.simulation.seed)
        return self.population

    def draw(self) -> Future[Drawn]:
        """Return the picture, which is drawn by a thread of its own from the first call on. It takes long.

        It is a ValueError if there is no network, or one too large. A picture that failed is drawn anew.
        """
        with self._drawing:
            if self._picture.done() and self.drawn is None:
                self._picture = Future()
                self._picture.set_running_or_notify_cancel()  # so a request that is given up does not cancel it
                Thread(target=self._draw, args=(self._picture,), name="network", daemon=True).start()
            return self._picture

    def _draw(self, picture: Future[Drawn]) -> None:
        try:
            if (population := self.people()) is None:
                domain, size = self._config.simulation.domain, self._config.population.size
                has_people = "network" in show_of(self._config).pictures
                raise ValueError(
                    f"{size:,} people are more than the {BUILT_MAX:,} whose ties are worked out here"
                    if has_people
                    else f"the domain {domain} has no network of people"
                )
            self.drawn = _drawn(population)
            picture.set_result(self.drawn)
        except Exception as error:  # noqa: BLE001  # it is raised where the picture is asked for
            picture.set_exception(error)


def _drawn(population: Population) -> Drawn:
    people, tails, heads, ties, all_ties = drawn_ties(population.graph)
    pulls = slice(None, None, -(-len(tails) // PULLS_MAX) or None)
    places = layout(len(people), tails[pulls], heads[pulls])
    shown = np.unique(np.linspace(0, len(tails) - 1, min(TIES_MAX, len(tails))).astype(np.int64))
    followers = population.graph.follower_counts()[people].astype(np.float32)
    words = (
        f"{len(people):,} of {counted(population.size, 'person', 'people')}, and {int(ties[shown].sum()):,} of "
        f"{counted(all_ties, 'tie')}; two people who follow each other share a line. Each is near those to whom "
        f"a sample of {counted(len(tails[pulls]), 'line')} leads; larger points have more followers. Press a "
        "person, or give a number beside, to look closer."
    )
    lines = np.stack([tails[shown], heads[shown]], axis=1)
    return Drawn(people, places.astype(np.float32), followers, lines, words)


def drawn_ties(
    graph: FollowGraph,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], int]:
    """Return the people that are drawn and the lines between them; two who follow each other have one line.

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
