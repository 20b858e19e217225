"""The ties and attributes that people change as tables: each change, the times of ties, and the values at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from actors.record.messages import those_of
from actors.record.run import Recorded, RecordedTick
from actors.results.table_files import Rows
from prism.events import AttributeSet, Intervened, TieChanged
from prism.social.people.population import Population
from prism.tables import Value

Changed = TieChanged | AttributeSet | Intervened
"""A message that may change a tie or an attribute."""


class TieChange(NamedTuple):
    """A tie that is made or ended."""

    tick: int  # the first tick in which the change holds
    one: int
    other: int
    follows: bool  # True if the tie is made, False if it is ended


def changes_in(messages: Iterable[bytes]) -> Iterator[Changed]:
    """Return a tick's messages that may change a tie or an attribute, as they were encoded."""
    return those_of(messages, TieChanged, AttributeSet, Intervened)


def tie_changes(messages: Iterable[Changed], number: Callable[[Any], int]) -> Iterator[TieChange]:
    """Yield the ties that messages make and end, in order. A mute changes no tie.

    A change of a person holds from the next tick on, and that of an intervention from its tick on.

    Args:
        number: returns the number of a person whom an intervention names.
    """
    for each in messages:
        if isinstance(each, TieChanged) and each.kind != "mute":
            yield TieChange(each.tick + 1, each.agent, each.whom, each.kind == "follow")
        elif isinstance(each, Intervened):
            for kind in ("follow", "unfollow"):
                for one, other in each.content.get(kind) or ():
                    yield TieChange(each.tick, number(one), number(other), kind == "follow")


Tie = tuple[int, int]
"""The follower, and the person who is followed."""


class TieTables:
    """The rows of `ties` and `edges`: the ties at the start, and those that people and interventions make and end.

    `ties, edges`: the rows; None for a table that is not wanted.
    """

    def __init__(self, run: Recorded, ties: Rows | None, edges: Rows | None) -> None:
        self.followers, self.following = Counter[int](), Counter[int]()
        """`{agent: how many more at the end than at the start}`, once `finish` is done."""
        self._run = run
        self._ties = ties
        self._edges = edges
        self._changes: list[TieChanged | Intervened] = []

    def take(self, tick: RecordedTick) -> None:
        for message in tick.others:
            if isinstance(message, TieChanged) and self._ties is not None:
                of = message.agent, message.kind, message.whom, message.post
                self._ties.add(self._run.name, tick.tick, tick.time, *of)
            if isinstance(message, TieChanged | Intervened):
                self._changes.append(message)

    def finish(self, population: Population) -> None:
        """Add all times of ties, and count the ties at the end."""
        ended: dict[Tie, int] = {}
        """`{tie: the tick that ended it}`, of the ties of the start."""
        later: dict[Tie, list[list[int | None]]] = {}
        """`{tie: its later times, each from its first tick until its end}`."""
        graph = population.graph
        for tick, one, other, follows in tie_changes(self._changes, population.number):
            tie = one, other
            times = later.setdefault(tie, [])
            begins = graph.follows(*tie) and tie not in ended
            is_there = begins if not times else times[-1][1] is None
            if follows == is_there:
                continue
            if follows:
                times.append([tick, None])
            elif times:
                times[-1][1] = tick
            else:
                ended[tie] = tick
            self.following[tie[0]] += 1 if follows else -1
            self.followers[tie[1]] += 1 if follows else -1
        if (rows := self._edges) is not None:
            name = self._run.name
            for person in range(graph.size):
                following = graph.following(person).tolist()
                count = len(following)
                until = [ended.get((person, other)) for other in following] if ended else [None] * count
                rows.extend(([name] * count, [person] * count, following, [0] * count, until))
            for (one, other), spans in sorted(later.items()):
                for begun, end in spans:
                    rows.add(name, one, other, begun, end)


class AttributeChanges:
    """The rows of `attribute_changes`, and the values at the end. `rows`: the rows; None if they are not wanted."""

    def __init__(self, run: Recorded, rows: Rows | None, people: Callable[[], Population | None]) -> None:
        self.latest: dict[tuple[int, str], Value] = {}
        """`{(agent, attribute): its value}` of those that have changed."""
        self._run = run
        self._rows = rows
        self._people = people

    def take(self, tick: RecordedTick) -> None:
        for message in tick.others:
            if isinstance(message, AttributeSet):
                key = message.agent, message.name
                if self._rows is not None:
                    population = None if key in self.latest else self._people()
                    drawn = None if population is None else population.personas[key[0]].attributes.get(key[1])
                    before = self.latest.get(key, drawn)
                    start = self._run.name, tick.tick, tick.time, message.agent, message.name
                    self._rows.add(*start, *_number_and_text(message.value), *_number_and_text(before))
                self.latest[key] = message.value


def _number_and_text(value: Value) -> tuple[float | None, str | None]:
    if value is None or isinstance(value, str):
        return None, value
    return float(value), None
