"""Growth: the time of an activation as people, ties, posts and ticks become more, and the exponent of its growth.

Each run is `configs/friends.yaml` compiled and one thing changed. The exponent is the slope of a line
through the logs, by least squares: 0 if an activation costs the same at any size, 1 if it costs twice as much at twice
the size. Its interval is a bootstrap of the measured points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import process_time
from typing import Any, Final, NamedTuple

import anyio
import numpy as np

from actors.factory.config_file import read_config
from actors.factory.domains import build_domain
from actors.runtime.simulation import Simulation
from benchmarks.peers.systems import Sizes, System, Values
from prism.kernels import WORTH_COMPILING

RESAMPLES: Final = 2000
ROUND: Final = 24
"""Ticks of a round."""


class Fit(NamedTuple):
    """An exponent and the ends of its interval of 95%."""

    exponent: float
    low: float
    high: float


def fit(sizes: Sequence[float], costs: Sequence[float], seed: int = 0) -> Fit:
    """Return the exponent of the growth of costs with sizes.

    Raises:
        ValueError: there are fewer than three points or two sizes, or one of them is not above 0.
    """
    if len(sizes) < 3 or len(set(sizes)) < 2 or min(*sizes, *costs) <= 0:
        raise ValueError("expected three points or more, of two sizes or more, all above 0")
    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(costs, float))
    draws = np.random.default_rng(seed).integers(len(x), size=(RESAMPLES, len(x)))
    draws = draws[np.ptp(x[draws], axis=1) > 0]  # one size alone gives no line
    low, high = np.percentile(_slopes(x[draws], y[draws]), [2.5, 97.5])
    return Fit(float(_slopes(x[None], y[None])[0]), float(low), float(high))


def _slopes(x: Any, y: Any) -> Any:
    """Return the slope of each row's line."""
    away = x - x.mean(axis=1, keepdims=True)
    return (away * y).sum(axis=1) / (away * away).sum(axis=1)


def measure(settings: Callable[[Sizes], Sequence[str]], thing: str, sizes: Sizes) -> Values:
    """Return the cost of an activation, and how much there was of what grows; building does not count."""
    given = ["run.activation=compiled", *settings(sizes)]
    anyio.run(_simulation([*given, "simulation.ticks=24"]).run)  # it loads the kernels
    simulation = _simulation(given)
    begun = process_time()
    anyio.run(simulation.run)
    seconds = process_time() - begun
    config, domain = simulation.config, simulation.domain
    count: dict[str, Callable[[], float]] = {
        "people": lambda: domain.size,
        "ties": lambda: domain.size * config.population.graph.degree_among(domain.size),
        "posts": lambda: domain.world.totals()["posts"],
        "ticks": lambda: simulation.engine.tick,
    }
    return {"size": count[thing](), "us an activation": seconds / simulation.counters.activations * 1e6}


def _simulation(settings: Sequence[str]) -> Simulation:
    """Return a simulation whose kernels are compiled, however small it is."""
    config = read_config("configs/friends.yaml", settings)
    domain: Any = build_domain(config).domain
    domain.prepare(WORTH_COMPILING)
    return Simulation(config, domain)


def _people(share: int, sizes: Sizes) -> list[str]:
    return [f"population.size={sizes.people // share}", "simulation.rounds=2"]


def _ties(degree: int, sizes: Sizes) -> list[str]:
    return [f"population.graph.degree={degree}", f"simulation.ticks={sizes.ticks // 4}"]


def _posts(rate: float, sizes: Sizes) -> list[str]:
    return [f"population.posts_per_session={rate}", f"simulation.ticks={sizes.ticks // 4}"]


def _ticks(share: int, sizes: Sizes) -> list[str]:
    return [f"simulation.ticks={sizes.ticks // share}"]


SHARES: Final = (16, 8, 4, 2, 1)


def _system(settings: Callable[[Sizes], Sequence[str]], thing: str) -> System:
    return System(partial(measure, settings, thing))


SYSTEMS: Final = {
    **{f"people, 1/{share} of all": _system(partial(_people, share), "people") for share in SHARES},
    **{f"ties, {degree} each": _system(partial(_ties, degree), "ties") for degree in (4, 8, 16, 32, 64)},
    **{f"posts, {rate} a session": _system(partial(_posts, rate), "posts") for rate in (0.06, 0.12, 0.24, 0.48, 0.96)},
    **{f"ticks, 1/{share} of all": _system(partial(_ticks, share), "ticks") for share in SHARES},
}
"""Systems by their names: the word before the comma is the thing that grows."""
