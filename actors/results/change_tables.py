"""The ties and attributes that people change as tables: each change, the times of ties, and the values at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from actors.results.part import Part
from actors.results.table_files import BATCH_ROWS, Rows
from actors.store.record import Block, tick_of_rows
from actors.store.run import Recorded
from prism.cells import Cells
from prism.columns import Floats, Ints, begins_run, places_among
from prism.config.attributes import Value
from prism.events import ON_TIES
from prism.rows import unpacked
from prism.social.people.population import Population
from prism.social.ties.changes import BOUND, ties_from_outside

_decode: Final = msgspec.msgpack.Decoder().decode


class TieTables(Part):
    """The rows of `ties` and `edges`: the ties at the start, and those that people and interventions make and end.

    Args:
        ties, edges: the rows; None for a table that is not wanted.
    """

    def __init__(self, run: Recorded, ties: Rows | None, edges: Rows | None) -> None:
        super().__init__(run)
        self.followers, self.following = (np.zeros(run.header.agents, np.int64) for _ in range(2))
        """How many more each agent has at the end than at the start, once `count` is done."""
        self._ties, self._edges = ties, edges
        self.wanted = {"ties": ("agent", "what", "whom", "post"), "interventions": ("content",)}
        self._changes: list[NDArray[np.int64]] = [np.empty((5, 0), np.int64)]
        """Of each change of a person the tick, 1, the two people, and whether one follows then."""
        self._outside: list[tuple[int, Any]] = []
        """The ticks and contents of interventions."""

    def take(self, block: Block) -> None:
        table, done = block.tables["ties"], block.tables["interventions"]
        ticks, (agents, what, whom, posts) = tick_of_rows(table), table.columns.values()
        if self._ties is not None:
            self.add(self._ties, ticks, agents, Cells(what, ON_TIES), whom, posts)
        kinds = np.array([*(ON_TIES.index(each) for each in BOUND)])
        bound = np.isin(what, kinds)
        columns_of_changes = ticks, np.ones(len(ticks)), agents, whom, what == kinds[0]
        self._changes.append(np.array([each[bound] for each in columns_of_changes], np.int64))
        contents = map(_decode, done.columns["content"].values())
        self._outside += zip(tick_of_rows(done).tolist(), contents, strict=True)

    def count(self, population: Population) -> None:
        """Add all times of ties, and count the ties at the end."""
        graph, size = population.graph, population.graph.size
        starts, followees = graph.followees()
        until = np.full(len(followees), -1)
        outside = [each for told in self._outside for each in ties_from_outside(*told, population.number)]
        first = np.array([(tick, 0, one, other, follows) for tick, one, other, follows in outside], np.int64)
        ticks, is_own, ones, others, follows = np.concatenate((*self._changes, first.reshape(-1, 5).T), axis=1)
        later: Sequence[Ints] = (np.empty(0, np.int64),) * 4
        if len(ticks):
            # 1. The changes of a tie one after the other; in a tick those from outside come first. What is so already
            #    is not changed.
            tails, heads = graph.ties()
            order = np.lexsort((is_own, ticks, ones * size + others))
            ties, ticks, follows = (ones * size + others)[order], (ticks + is_own)[order], follows[order]
            places = places_among(tails * size + heads, ties)
            before = np.where(begins_run(ties), places >= 0, np.roll(follows, 1))
            ties, ticks, follows, places = (each[follows != before] for each in (ties, ticks, follows, places))
            # 2. Of a tie of the start the first change is its end; each change that makes a tie lasts until the next.
            is_end = begins_run(ties) & (places >= 0)
            until[places[is_end]] = ticks[is_end]
            goes_on = np.append(~begins_run(ties)[1:], False)  # the last one has no next
            ends = np.where(goes_on, np.roll(ticks, -1), -1)
            made = follows == 1
            later = [each[made] for each in (ties // size, ties % size, ticks, ends)]
            signs = 2 * follows - 1
            self.following += np.bincount(ties // size, signs, size).astype(np.int64)
            self.followers += np.bincount(ties % size, signs, size).astype(np.int64)
        if (rows := self._edges) is None:
            return
        people = max(1, size * BATCH_ROWS // max(1, len(followees)))
        for person in range(0, size, people):
            of = starts[person : person + people + 1]
            part, ones = slice(of[0], of[-1]), np.repeat(np.arange(person, person + len(of) - 1), np.diff(of))
            self._add_edges(rows, ones, followees[part], np.zeros_like(ones), until[part])
        self._add_edges(rows, *later)

    def _add_edges(self, rows: Rows, ones: Ints, others: NDArray[Any], first: Ints, until: Ints) -> None:
        rows.extend(Cells.same(self.run.name, len(ones)), ones, others, first, Cells.from_zero(until))


class _Values(NamedTuple):
    """Values of an attribute: numbers, whether each is one, and the numbers of texts; -1 for no text."""

    numbers: Floats
    is_number: NDArray[np.bool_]
    texts: NDArray[np.int32]

    def at(self, places: Any) -> _Values:
        return _Values(*(each[places] for each in self))

    def put(self, places: Any, values: _Values) -> None:
        self.numbers[places], self.is_number[places], self.texts[places] = values

    def cells(self, texts: Sequence[str]) -> tuple[Cells, Cells]:
        return Cells(self.numbers, is_there=self.is_number), Cells(self.texts, texts)


class AttributeChanges(Part):
    """The rows of `attribute_changes`, and the values at the end.

    Args:
        rows: None if they are not wanted.
        drawn: returns the values of an attribute at the start, None for no value; nothing if they are not known.
    """

    def __init__(self, run: Recorded, rows: Rows | None, drawn: Callable[[str], Sequence[Value | None]]) -> None:
        super().__init__(run)
        self.wanted = {"attributes": ("agent", "name", "value")}
        self._rows, self._drawn = rows, drawn
        self._latest: dict[str, _Values] = {}
        self._texts: dict[str, int] = {}

    def take(self, block: Block) -> None:
        table = block.tables["attributes"]
        ticks, agents = tick_of_rows(table), table.columns["agent"]
        names, of_row = table.columns["name"].numbered()
        new, old = self._nothing(len(ticks)), self._nothing(len(ticks))
        for number, name in enumerate(names):
            places = np.flatnonzero(of_row == number)
            whose, values = agents[places], self._values(unpacked(table.columns["value"].at(places)))
            if name not in self._latest:
                latest = self._latest[name] = self._nothing(self.run.header.agents)
                if self._rows is not None and len(drawn := self._drawn(name)):
                    latest.put(slice(None), self._values(drawn))
            new.put(places, values)
            # The value before is that of the change of the same person before it, if there is one in these rows.
            order = np.argsort(whose, kind="stable")
            is_first = begins_run(whose[order])
            old.put(places[order[is_first]], self._latest[name].at(whose[order[is_first]]))
            followed = np.flatnonzero(~is_first)
            old.put(places[order[followed]], values.at(order[followed - 1]))
            self._latest[name].put(whose, values)  # of several changes of a person the last one stays
        if self._rows is not None:
            texts = [*self._texts]
            self.add(self._rows, ticks, agents, Cells(of_row, names), *new.cells(texts), *old.cells(texts))

    def end(self, name: str, start: Sequence[Value | None]) -> list[Value | None]:
        """Return the values of an attribute at the end. `start`: those at the start."""
        if (latest := self._latest.get(name)) is None:
            return [*start]
        texts, kind = [*self._texts], _TYPES[self.run.config.population.attributes[name].type]
        found = [*start]
        for agent in np.flatnonzero(latest.is_number).tolist():
            found[agent] = kind(latest.numbers[agent])
        for agent in np.flatnonzero(latest.texts >= 0).tolist():
            found[agent] = texts[latest.texts[agent]]
        return found

    def _nothing(self, count: int) -> _Values:
        return _Values(np.zeros(count), np.zeros(count, np.bool_), np.full(count, -1, np.int32))

    def _values(self, values: Any) -> _Values:
        found = self._nothing(len(values))
        if isinstance(values, np.ndarray):
            return found._replace(numbers=values.astype(np.float64), is_number=~found.is_number)
        for place, value in enumerate(values):
            if isinstance(value, str):
                found.texts[place] = self._texts.setdefault(value, len(self._texts))
            elif value is not None:
                found.numbers[place], found.is_number[place] = value, True
        return found


_TYPES: Final[dict[str, Callable[[Any], Value]]] = {"float": float, "int": int, "bool": bool, "text": str}
