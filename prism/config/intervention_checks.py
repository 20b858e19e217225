"""The checks of interventions against the rest of a configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prism.config.checks import SHIPPED_DOMAINS, Conflict
from prism.config.document import join
from prism.config.domain_settings import DOMAIN
from prism.config.interventions import CHANGEABLE, KINDS_OF, PLACE, InterventionConfig
from prism.config.model import SimulationConfig


def find_intervention_conflict(
    simulation: SimulationConfig, interventions: Sequence[InterventionConfig]
) -> Conflict | None:
    """Return the first conflict between an intervention and the domain or the length of the run."""
    for index, each in enumerate(interventions):
        conflict = next(_conflicts(f"{PLACE}[{index}]", simulation, each), None)
        if conflict is not None:
            return conflict
    return None


def _conflicts(place: str, simulation: SimulationConfig, each: InterventionConfig) -> Iterator[Conflict]:
    tick = each.at(simulation.ticks_per_round)
    if tick >= simulation.length:
        yield Conflict(
            keys=(
                f"{place}.{each.when}",
                *(f"simulation.{name}" for name in ("ticks", "rounds", "ticks_per_round")),
            ),
            problem=f"expected an intervention before the end of the run, at tick {simulation.length:,}, got "
            + (f"tick {tick:,}" if each.round is None else f"round {each.round:,}, which begins at tick {tick:,}"),
        )
    if each.until_round is not None and (each.until_round - 1) * simulation.ticks_per_round <= tick:
        yield Conflict(
            keys=(f"{place}.until_round", f"{place}.tick", "simulation.ticks_per_round"),
            problem=f"expected a round that begins after tick {tick:,}, got round {each.until_round}",
        )
    yield from _kind_conflicts(place, simulation, each)


def _kind_conflicts(place: str, simulation: SimulationConfig, each: InterventionConfig) -> Iterator[Conflict]:
    domain = simulation.domain
    if domain not in SHIPPED_DOMAINS:
        for path in each.set or ():
            if not path.startswith(f"{DOMAIN}."):
                yield Conflict(
                    keys=(join(f"{place}.set", path),),
                    problem=f"expected a setting of the run's own domain, such as {DOMAIN}.NAME",
                )
        return
    if each.kind not in KINDS_OF[domain]:
        yield Conflict(
            keys=(f"{place}.{each.kind}", "simulation.domain"),
            problem=f"the {domain} domain has no {each.kind}: expected one of {', '.join(KINDS_OF[domain])}",
        )
    for path in each.set or ():
        if path not in CHANGEABLE[domain]:
            yield Conflict(
                keys=(join(f"{place}.set", path),),
                problem="cannot change while a run goes on: expected one of " + ", ".join(CHANGEABLE[domain]),
            )
