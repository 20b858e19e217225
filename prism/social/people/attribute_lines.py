"""People's own attributes in words, one line each, so that a user sees what was read and what is drawn."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from prism.checked import field_types
from prism.config.attributes import PLACE, TRAITS, Value
from prism.config.model import ColumnsConfig, PopulationConfig
from prism.expectations import found
from prism.social.people.attributes import described, drawn_attributes
from prism.social.people.persona import Persona
from prism.social.people.profiles import Profile
from prism.wording import counted

DRAWN_SHOWN = 1000
"""People for whom drawn attributes are shown without building: they take some milliseconds."""


def lines_of_columns(
    config: PopulationConfig,
    profiles: Sequence[Profile] | None,
    seed: int,
    size: int | None,
    margins: Collection[str] = (),
) -> Iterator[str]:
    """Yield a line for each attribute, and for each threshold and so on that has a column.

    Args:
        profiles: the profiles of the file; None if there is none, or if it was not read.
        size: the number of people; None if a large file decides it.
        margins: the attributes that come from margins, of which other lines tell.
    """
    unread = config.profiles is not None and profiles is None
    drawn = [drawn_attributes(agent, seed, config.attributes) for agent in range(min(size or DRAWN_SHOWN, DRAWN_SHOWN))]
    for name, declaration in config.attributes.items():
        head = f"{PLACE}.{name}: {declaration.expected}"
        if name in margins:
            continue
        if profiles and name in profiles[0].attributes:
            column = declaration.column or name
            read = [profile.attributes[name] for profile in profiles]
            yield f"{head}, column {column} of {counted(len(profiles), 'profile')}: {described(read)}"
        elif unread and not declaration.is_drawn:
            yield f"{head}, not read: --build reads the file"
        elif declaration.default is not None and declaration.is_complete:
            yield f"{head}, the same for everyone: {found(declaration.default)}"
        else:
            first = counted(len(drawn), "person", "people")
            yield f"{head}, drawn; the first {first}: {described([values[name] for values in drawn])}"
    for name in field_types(ColumnsConfig):
        column = getattr(config.columns, name)
        if column is not None and profiles:
            yield _given_line(name, column, profiles)


def lines_of_people(config: PopulationConfig, personas: Sequence[Persona]) -> Iterator[str]:
    """Yield a line for each attribute, and for each threshold and so on that has a column, over all people."""
    for name, declaration in config.attributes.items():
        values = [persona.attributes[name] for persona in personas]
        yield f"{PLACE}.{name}: {declaration.expected}; {counted(len(values), 'person', 'people')}: {described(values)}"
    for name in field_types(ColumnsConfig):
        if getattr(config.columns, name) is not None:
            given: list[Value] = [getattr(persona.traits if name in TRAITS else persona, name) for persona in personas]
            yield f"population.columns.{name}: {counted(len(given), 'person', 'people')}: {described(given)}"


def _given_line(name: str, column: str, profiles: Sequence[Profile]) -> str:
    given: list[Value] = [profile.given[name] for profile in profiles if name in profile.given]
    blank = len(profiles) - len(given)
    instead = "0" if name in TRAITS else "drawn"
    others = f"; {blank:,} without a value: {instead}" if blank else ""
    of = counted(len(profiles), "profile")
    return f"population.columns.{name}: column {column} of {of}: {described(given)}{others}"
