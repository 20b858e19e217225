"""Notes on a domain that was built: its people's attributes, and the settings that will have no effect in a run."""

from __future__ import annotations

from prism.checked import field_types
from prism.config import Config
from prism.config.attributes import PLACE, TRAITS
from prism.config.model import ColumnsConfig
from prism.domain import Domain, said_by
from prism.no_effect import NoEffect, idle_interventions, unreached
from prism.social.chart import can_post
from prism.social.domain import SocialDomain
from prism.social.people.attributes import described
from prism.wording import counted


def no_effect_of(config: Config, domain: Domain) -> list[NoEffect]:
    """Return the parts of a configuration that will have no effect in a run of a built domain."""
    known = said_by(domain).no_effect()
    return [*unreached(domain.chart), *(idle_interventions(config) if known is None else known)]


def lines_of_domain(config: Config, domain: Domain) -> tuple[str, ...]:
    """Return a line for each attribute of the people of a built domain, and the domain's notes on its settings."""
    lines = list[str]()
    if isinstance(domain, SocialDomain):
        population, personas = config.population, domain.population.personas
        people = counted(len(personas), "person", "people")
        for name, declaration in population.attributes.items():
            values = [persona.attributes[name] for persona in personas]
            lines.append(f"{PLACE}.{name}: {declaration.expected}; {people}: {described(values)}")
        for name in field_types(ColumnsConfig):  # thresholds and so on that have a column
            if getattr(population.columns, name) is not None:
                given = [getattr(persona.traits if name in TRAITS else persona, name) for persona in personas]
                lines.append(f"population.columns.{name}: {people}: {described(given)}")
        if not can_post(domain.behaviour):
            lines.append("statechart.file: no row has the effect post, so nobody writes an original post")
    return (*lines, *said_by(domain).notes())
