"""The agents of a run and the ties between them as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from typing import Any, Final, Protocol

import msgspec

from actors.results.movements import FinalStates
from actors.results.recorded_run import RecordedRun, RecordedTick
from actors.results.rows import Rows
from actors.results.schema import Column, Kind, Value
from prism.config import Config
from prism.events import Intervened
from prism.social.persona import Persona
from prism.social.population import Population

_KINDS: Final[Mapping[str, Kind]] = {
    "float": Kind.NUMBER,
    "int": Kind.INTEGER,
    "bool": Kind.BOOLEAN,
    "text": Kind.TEXT,
}
_TRAITS: Final = ("openness", "conscientiousness", "extraversion", "agreeableness", "neuroticism")
_NUMBERS: Final = ("engagement_threshold", "low_threshold", "high_threshold", "activity")
_MADE: Final = ("publish", "reply", "reshare", "like")
Made = Mapping[str, Mapping[int, int]]
"""`{kind of effect: {agent: how many}}`."""


class People(Protocol):
    """The agents of a run, as its domain tells of them."""

    @property
    def initial(self) -> str | None:
        """The state in which all begin; None if it is not known."""

    @property
    def population(self) -> Population | None:
        """The people on a feed; None in another domain."""


def attribute_columns(configs: Iterable[Config]) -> dict[str, Column]:
    """Return `{attribute: its column}` for all attributes that some of these configurations declare.

    An attribute whose type differs among them is a text. Two names that differ in case alone get two columns that a
    database can tell apart.
    """
    found: dict[str, Column] = {}
    taken: set[str] = set()
    for config in configs:
        for name, declared in config.population.attributes.items():
            kind = _KINDS[declared.type]
            if name in found:
                if found[name].kind is not kind:
                    found[name] = msgspec.structs.replace(found[name], kind=Kind.TEXT)
                continue
            column = f"attribute_{name}"
            while column.lower() in taken:
                column += "_"
            taken.add(column.lower())
            found[name] = Column(name=column, kind=kind, about=declared.description or "attribute of people")
    return found


class AgentRows:
    """The rows of `agents`.

    Args:
        attributes: `{attribute: its column}` of the table.
    """

    def __init__(self, rows: Rows, attributes: Mapping[str, Column]) -> None:
        self._rows = rows
        self._attributes = attributes

    def add(self, run: RecordedRun, people: People, states: FinalStates, made: Made) -> None:
        """Add the agents of a run."""
        population = people.population
        followers = [] if population is None else population.graph.follower_counts().tolist()
        strengths = run.config.economy.strengths if run.domain == "economy" else ()
        for agent in range(run.header.agents):
            start = (
                run.name,
                agent,
                _name(run, agent, population),
                states.state.get(agent, people.initial),
                states.since.get(agent, 0),
                states.moves[agent],
            )
            strength = strengths[agent] if agent < len(strengths) else None
            if population is None:
                self._rows.add(*start, *repeat(None, 18), strength)
                continue
            persona = population.personas[agent]
            self._rows.add(
                *start,
                population.graph.names[agent],
                *_persona(persona),
                followers[agent],
                len(population.graph.following(agent)),
                *(made[kind].get(agent, 0) for kind in _MADE),
                strength,
                *self._own(persona),
            )

    def _own(self, persona: Persona) -> Iterator[Value]:
        for name, column in self._attributes.items():
            value = persona.attributes.get(name)
            if column.kind is Kind.TEXT and value is not None and not isinstance(value, str):
                value = str(value).lower() if isinstance(value, bool) else str(value)
            yield float(value) if column.kind is Kind.NUMBER and isinstance(value, int) else value


def _name(run: RecordedRun, agent: int, population: Population | None) -> str | None:
    if population is not None:
        return population.personas[agent].name
    nations = run.config.economy.nations if run.domain == "economy" else ()
    return nations[agent] if agent < len(nations) else None


def _persona(persona: Persona) -> Iterator[Value]:
    """Yield interests, personality, traits and thresholds."""
    yield msgspec.json.encode(persona.interests).decode()
    yield persona.personality
    for name in _TRAITS:
        yield getattr(persona.traits, name)
    for name in _NUMBERS:
        yield getattr(persona, name)


class Edges:
    """The rows of `edges`: the ties at the start, and those that interventions made and ended."""

    def __init__(self, name: str, rows: Rows) -> None:
        self._name = name
        self._rows = rows
        self._changes: list[tuple[int, bool, tuple[Any, Any]]] = []

    def take(self, tick: RecordedTick) -> None:
        """Take over the ties that interventions change in a tick."""
        for message in tick.others:
            if isinstance(message, Intervened):
                for key, follows in (("follow", True), ("unfollow", False)):
                    for tie in message.content.get(key) or ():
                        self._changes.append((tick.tick, follows, (tie[0], tie[1])))

    def finish(self, population: Population) -> None:
        """Add all ties of a run."""
        ended: dict[tuple[int, int], int] = {}
        """`{tie: the tick that ended it}`, of the ties of the start."""
        later: dict[tuple[int, int], list[list[int | None]]] = {}
        """`{tie: its later times, each from its first tick until its end}`."""
        graph = population.graph
        for tick, follows, (one, other) in self._changes:
            tie = population.number(one), population.number(other)
            times = later.setdefault(tie, [])
            begins = graph.follows(*tie) and tie not in ended
            is_there = begins if not times else times[-1][1] is None
            if follows and not is_there:
                times.append([tick, None])
            elif not follows and is_there and times:
                times[-1][1] = tick
            elif not follows and is_there:
                ended[tie] = tick
        for person in range(graph.size):
            following = graph.following(person).tolist()
            count = len(following)
            until = [ended.get((person, other)) for other in following] if ended else [None] * count
            self._rows.extend(([self._name] * count, [person] * count, following, [0] * count, until))
        for (one, other), times in sorted(later.items()):
            for begun, end in times:
                self._rows.add(self._name, one, other, begun, end)
