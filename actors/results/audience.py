"""The people of a social run: their names, and how many followed each of them at the start."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from actors.factory.input_files import load_population
from prism.config import Config
from prism.errors import PrismError
from prism.social.population import ignore_step


class Audience(NamedTuple):
    """The people of a run by number.

    Args:
        names: their names.
        followers: how many followed each of them at the start.
    """

    names: tuple[str, ...]
    followers: tuple[int, ...]


def audience_of(config: Config, on_step: Callable[[str], None] = ignore_step) -> Audience | str:
    """Return the people of a configuration; the reason, if their files can no longer be read."""
    try:
        population, _ = load_population(config.population, config.simulation.seed, on_step)
    except PrismError as error:
        return str(error)
    names = tuple(persona.name for persona in population.personas)
    return Audience(names, tuple(int(count) for count in population.graph.follower_counts()))
