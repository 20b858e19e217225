"""The agents of a run as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from actors.factory.charts import look_at_chart
from actors.record.run import Recorded
from actors.results.built_once import BuiltOnce
from actors.results.change_tables import AttributeChanges, TieTables
from actors.results.movements import FinalStates
from actors.results.rows import Rows
from prism.config import Config
from prism.config.attributes import AttributeConfig
from prism.errors import PrismError
from prism.show import Show
from prism.social.people.persona import Persona
from prism.tables import Column, Kind, Value

_KINDS: Final[Mapping[str, Kind]] = {"float": Kind.NUMBER, "int": Kind.INTEGER, "bool": Kind.BOOLEAN, "text": Kind.TEXT}
_ACTS: Final = {"publish": "posts", "reply": "replies", "reshare": "reshares", "like": "likes"}
"""`{kind of event: the column with its count}`."""
Made = Mapping[str, Mapping[int, int]]
"""`{kind of effect: {agent: how many}}`."""


def attribute_columns(configs: Iterable[Config]) -> dict[tuple[str, bool], Column]:
    """Return `{(attribute, whether at the end): its column}` for the attributes that these configurations declare.

    Those of the start come first, and then those of the end of the attributes that a chart sets.

    An attribute whose type differs among them is a text. Two names that differ in case alone get two columns that a
    database can tell apart.
    """
    configs = [*configs]
    declarations = [(False, config.population.attributes) for config in configs]
    declarations += [(True, _set_by_charts(config)) for config in configs]
    return _columns(declarations, "people")


def post_columns(configs: Iterable[Config]) -> dict[str, Column]:
    """Return `{attribute: its column}` for the attributes of posts that these configurations declare, likewise."""
    columns = _columns([(False, config.population.posts.attributes) for config in configs], "posts")
    return {name: column for (name, _), column in columns.items()}


def _columns(
    declarations: Iterable[tuple[bool, Mapping[str, AttributeConfig]]], of: str
) -> dict[tuple[str, bool], Column]:
    found: dict[tuple[str, bool], Column] = {}
    taken: set[str] = set()
    for is_end, attributes in declarations:
        for name, declared in attributes.items():
            kind, key = _KINDS[declared.type], (name, is_end)
            if key in found:
                if found[key].kind is not kind:
                    found[key] = msgspec.structs.replace(found[key], kind=Kind.TEXT)
                continue
            column = f"attribute_{name}_end" if is_end else f"attribute_{name}"
            while column.lower() in taken:
                column += "_"
            taken.add(column.lower())
            about = declared.description or f"attribute of {of}"
            found[key] = Column(name=column, kind=kind, about=f"{about}, after the last tick" if is_end else about)
    return found


def _set_by_charts(config: Config) -> dict[str, AttributeConfig]:
    """Return the attributes that the chart of a configuration sets; empty if the chart is not available.

    The agents of the run are then not available either, and making them raises the error.
    """
    try:
        names = {change.name for change in look_at_chart(config).behaviour.all_changes}
    except PrismError:
        return {}
    return {name: each for name, each in config.population.attributes.items() if name in names}


class AgentRows:
    """The rows of `agents`.

    Args:
        attributes: `{(attribute, whether at the end): its column}` of the table.
    """

    def __init__(self, rows: Rows, attributes: Mapping[tuple[str, bool], Column]) -> None:
        self._rows = rows
        self._attributes = attributes

    def add(
        self,
        run: Recorded,
        show: Show,
        built: BuiltOnce,
        states: FinalStates,
        made: Made,
        changed: tuple[TieTables, AttributeChanges],
    ) -> None:
        """Add the agents of a run."""
        further = [column.name for column in self._rows.table.columns[6:]]
        population = built.population
        for agent in range(run.header.agents):
            values: dict[str, Value] = {}
            if not built.is_untrusted:
                values |= show.agent_values(built.domain, agent)
            if population is not None and "followers" in values:
                values |= self._of_person(agent, population.personas[agent], values, made, changed)
            self._rows.add(
                run.name,
                agent,
                show.name(agent) or None if population is None else population.personas[agent].name,
                states.state.get(agent, built.initial),
                states.since.get(agent, 0),
                states.moves[agent],
                *map(values.get, further),
            )

    def _of_person(
        self,
        agent: int,
        persona: Persona,
        start: Mapping[str, Any],
        made: Made,
        changed: tuple[TieTables, AttributeChanges],
    ) -> Iterator[tuple[str, Value]]:
        """Yield the counts of a person's acts, and the ties and attributes at the end."""
        ties, attributes = changed
        yield "followers_end", start["followers"] + ties.followers[agent]
        yield "following_end", start["following"] + ties.following[agent]
        for kind, name in _ACTS.items():
            yield name, made[kind].get(agent, 0)
        yield from self._own(agent, persona, attributes.latest)

    def _own(
        self, agent: int, persona: Persona, latest: Mapping[tuple[int, str], Value]
    ) -> Iterator[tuple[str, Value]]:
        for (name, is_end), column in self._attributes.items():
            value = persona.attributes.get(name)
            if is_end:
                value = latest.get((agent, name), value)
            if column.kind is Kind.TEXT and value is not None and not isinstance(value, str):
                value = str(value).lower() if isinstance(value, bool) else str(value)
            yield column.name, float(value) if column.kind is Kind.NUMBER and isinstance(value, int) else value
