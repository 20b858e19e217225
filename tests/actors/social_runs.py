"""Small social simulations, whole and in virtual time."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from actors.runtime.simulation import Simulation
from prism.config import Config
from prism.social.domain import SocialDomain
from prism.social.people.population import build_population
from prism.statechart import Oracle
from tests.plain import plain_config
from tests.schedules import run_scheduled

SMALL = plain_config(
    simulation={"seed": 11, "rounds": 3, "ticks_per_round": 12},
    population={"size": 32, "posts_per_session": 0.5, "ambiguity": 0.5, "activity": {"mean": 0.9, "sigma": 0.2}},
    oracle={"deadline_s": 1e6},
)
"""Thirty-two lively and undecided people for three rounds, and an oracle that is never late."""

Ask = Callable[[Oracle[Any]], Oracle[Any]]


def with_oracle(config: Config = SMALL, **settings: object) -> Config:
    """Return the configuration with some settings of its oracle replaced."""
    return msgspec.structs.replace(config, oracle=msgspec.structs.replace(config.oracle, **settings))


def with_sharing(config: Config = SMALL, **settings: object) -> Config:
    """Return the configuration with some settings of its shared judgements replaced."""
    return with_oracle(config, sharing=msgspec.structs.replace(config.oracle.sharing, **settings))


def with_deliberation(ticks: int, config: Config = SMALL) -> Config:
    """Return the configuration in which people deliberate for so many ticks, each of a minute."""
    people = msgspec.structs.replace(config.population, deliberation_minutes=float(ticks))
    return msgspec.structs.replace(config, population=people)


def with_run(config: Config = SMALL, **settings: int) -> Config:
    """Return the configuration with some settings of its run replaced."""
    return msgspec.structs.replace(config, run=msgspec.structs.replace(config.run, **settings))


def with_simulation(config: Config = SMALL, **settings: int) -> Config:
    """Return the configuration with some settings of its simulation replaced."""
    return msgspec.structs.replace(config, simulation=msgspec.structs.replace(config.simulation, **settings))


def simulation(config: Config = SMALL, ask: Ask = lambda oracle: oracle) -> Simulation:
    """Return a simulation that is ready to run.

    Args:
        ask: wraps the domain's oracle.
    """
    domain = SocialDomain(config, build_population(config.population, config.simulation.seed))
    return Simulation(config, domain, ask(domain.oracle()))


async def run(config: Config = SMALL, ask: Ask = lambda oracle: oracle) -> Simulation:
    """Return a simulation that has run."""
    made = simulation(config, ask)
    await made.run()
    return made


def digest_of(config: Config = SMALL, *, schedule: int = 0, ask: Ask = lambda oracle: oracle) -> str:
    """Return the digest of a run in one schedule."""
    return run_scheduled(schedule, partial(run, config, ask)).engine.digest.hexdigest()
