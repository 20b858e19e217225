"""The checks of interventions against the rest of a configuration.

An error names the intervention, also if another setting was set last: otherwise it would not say which one is wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from prism.config.checks import SHIPPED_DOMAINS
from prism.config.domain_settings import DOMAIN
from prism.config.graph_fit import Conflict
from prism.config.interventions import (
    CHANGEABLE,
    KINDS_OF,
    PLACE,
    PUBLISHED_AT_ONCE,
    InterventionConfig,
    not_numbered,
    numbered_nation,
    placed_agents,
)
from prism.config.model import EconomyConfig, PopulationConfig, SimulationConfig
from prism.expectations import join

if TYPE_CHECKING:
    from prism.config.config import Config


def find_intervention_conflicts(config: Config, interventions: Sequence[InterventionConfig]) -> list[Conflict]:
    """Return the first conflict of each intervention with the domain or the length of the run.

    If there is no such conflict, return those with the agents of the run, which depend on the domain.
    """
    simulation = config.simulation
    firsts = (next(_conflicts(f"{PLACE}[{index}]", simulation, each), None) for index, each in enumerate(interventions))
    if found := [conflict for conflict in firsts if conflict is not None]:
        return found
    if simulation.domain == "social":
        crowded = _crowded_conflicts(interventions, simulation.ticks_per_round)
        return [*_people_conflicts(interventions, config.population), *crowded]
    return list(_nation_conflicts(interventions, config.economy)) if simulation.domain == "economy" else []


def _people_conflicts(interventions: Sequence[InterventionConfig], population: PopulationConfig) -> Iterator[Conflict]:
    """Yield the numbers that no person has, where the number of people is known before they are made."""
    if population.graph.path is not None or population.profiles is not None:
        return
    for place, agent in placed_agents(interventions):
        if isinstance(agent, int) and agent >= population.size:
            problem = not_numbered(agent, population.size, "people")
            yield Conflict((place,), problem)


def _crowded_conflicts(interventions: Sequence[InterventionConfig], ticks_per_round: int) -> Iterator[Conflict]:
    """Yield the first post of an author in a tick for which no draws of its own are left."""
    published = Counter[tuple[int, int | str]]()
    for index, each in enumerate(interventions):
        if each.publish is not None:
            posts = each.at(ticks_per_round), each.publish.author
            published[posts] += 1
            if published[posts] == PUBLISHED_AT_ONCE + 1:
                problem = (
                    f"expected at most {PUBLISHED_AT_ONCE} posts of an author in a tick: take other authors or ticks"
                )
                yield Conflict((f"{PLACE}[{index}].publish.author",), problem)


def _nation_conflicts(interventions: Sequence[InterventionConfig], economy: EconomyConfig) -> Iterator[Conflict]:
    for place, agent in placed_agents(interventions):
        try:
            numbered_nation(agent, economy.nations)
        except LookupError as error:
            yield Conflict((place,), str(error.args[0]))


def _conflicts(place: str, simulation: SimulationConfig, each: InterventionConfig) -> Iterator[Conflict]:
    tick = each.at(simulation.ticks_per_round)
    if tick >= simulation.length:
        yield Conflict(
            (f"{place}.{each.when}",),
            f"expected an intervention before the end of the run, at tick {simulation.length:,}, got "
            + (f"tick {tick:,}" if each.round is None else f"round {each.round:,}, which begins at tick {tick:,}"),
        )
    if each.until_round is not None and (each.until_round - 1) * simulation.ticks_per_round <= tick:
        yield Conflict(
            (f"{place}.until_round",), f"expected a round that begins after tick {tick:,}, got round {each.until_round}"
        )
    yield from _kind_conflicts(place, simulation, each)


def _kind_conflicts(place: str, simulation: SimulationConfig, each: InterventionConfig) -> Iterator[Conflict]:
    domain = simulation.domain
    if domain not in SHIPPED_DOMAINS:
        for path in each.set or ():
            if not path.startswith(f"{DOMAIN}."):
                yield Conflict(
                    (join(f"{place}.set", path),), f"expected a setting of the run's own domain, such as {DOMAIN}.NAME"
                )
        return
    if each.kind not in KINDS_OF[domain]:
        yield Conflict(
            (f"{place}.{each.kind}",),
            f"the {domain} domain has no {each.kind}: expected one of {', '.join(KINDS_OF[domain])}",
        )
    for path in each.set or ():
        if path not in CHANGEABLE[domain]:
            yield Conflict(
                (join(f"{place}.set", path),),
                "cannot change while a run goes on: expected one of " + ", ".join(CHANGEABLE[domain]),
            )
