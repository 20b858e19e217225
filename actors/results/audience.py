"""The people of a social run at the start: their names, how many followed each of them, and their attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from actors.factory.input_files import load_population
from prism.config import Config
from prism.config.attributes import Value
from prism.errors import PrismError
from prism.social.people.population import ignore_step


class Audience(NamedTuple):
    """The people of a run by number."""

    names: tuple[str, ...]
    followers: tuple[int, ...]  # how many followed each of them at the start
    # `{attribute: each person's value at the start}` of the wanted attributes
    attributes: Mapping[str, tuple[Value, ...]]


def audience_of(
    config: Config, attributes: Iterable[str], on_step: Callable[[str], None] = ignore_step
) -> Audience | str:
    """Return the people of a configuration; if their files can no longer be read, return the reason.

    Args:
        attributes: the wanted attributes, in the order of the configuration; undeclared ones are left out.
        on_step: called with the next step, in words.
    """
    try:
        population, _ = load_population(config.population, config.simulation.seed, on_step)
    except PrismError as error:
        return str(error)
    names = tuple(persona.name for persona in population.personas)
    followers = tuple(int(count) for count in population.graph.follower_counts())
    asked = {*attributes}
    wanted = [name for name in config.population.attributes if name in asked]
    values = {name: tuple(persona.attributes[name] for persona in population.personas) for name in wanted}
    return Audience(names, followers, values)
