"""The attributes of people that change or that kernels read: their columns, and how a chart changes them.

A kernel works out the new value of an attribute from what the person sees when the row is taken. The value holds from
the next tick on, so all who act in a tick see the same values in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism import kernels
from prism.columns import Column, Columns, Floats, Ints, pack, pack_array
from prism.config.attributes import AttributeConfig, Value
from prism.config.model import PopulationConfig
from prism.errors import ConfigError
from prism.expressions import Expression, compiled
from prism.expressions.tree import reads_view
from prism.rng import Draw
from prism.rows import Heap, Values
from prism.social.field_source import HEAD, FieldSource, FieldTables, drawn_in_view
from prism.social.people.persona import Attributes
from prism.social.posts.post import PostView
from prism.social.state import SocialState
from prism.social.vocabulary import drawn_readers, of_reader, own_field, social_vocabulary
from prism.statechart.behaviour import Behaviour, Change, Reader

NO_CHANGE: Final = -1
NO_CHANGES: Final = np.zeros((0, 3))
"""An array of changes without a row: the person, the column and the new value of each."""
_NOBODY: Final = np.zeros(0, dtype=np.int64)

_TAIL: Final = """

def change(tables, tick, agents, numbers, given, following, changed):
    t = address_of(tables)
    count = 0
    for at in range(len(agents)):
        person = agents[at]
        if numbers[at] < 0 or t.people[person].silent:
            continue
        if work_out(t, tick, person, numbers[at], given, following):
            changed[count] = person
            count += 1
    return count
"""


class ChangingAttributes:
    """The attributes of people that change, or that delays, rankings or others read, a column each.

    A number is itself, a truth value is 1 or 0, and a text is its number among the words.

    Args:
        ranked_by: the fields that rankings of feeds read, and the attribute that makes groups.
    """

    def __init__(
        self,
        state: SocialState,
        tables: FieldTables,
        behaviour: Behaviour[Any],
        declared: Mapping[str, AttributeConfig],
        ranked_by: frozenset[str],
    ) -> None:
        self._state, self._behaviour = state, behaviour
        read = behaviour.read_outside_guards.union(
            *(row.when.fields for row in behaviour.chart.transitions if row.when is not None)
        )
        used = {change.field.name for change in behaviour.all_changes}
        used |= {delay.field for delay in behaviour.delays.values()}
        used |= {of_reader(name) for name in read if name.startswith("author.")}
        used |= {of_reader(name) for name in ranked_by}
        own = {f"agent.{name}": name for name in declared}
        self.fields = {name: own_field(place, declared[name]) for place, name in own.items() if place in used}
        """`{attribute: its field}`, in the order of the columns."""
        self.places = {name: place for place, name in enumerate(self.fields)}  # `{attribute: its column}`
        self.tables = tables._replace(places=self.places)
        self.of_authors = tuple(name for name in self.fields if f"author.{name}" in read)
        changed = {change.name for change in behaviour.all_changes}
        self._changing = tuple(name for name in self.fields if name in changed)
        self.stayed: dict[str, Sequence[Value]] = {}
        """`{attribute: everybody's values}` of attributes that people changed before a fork and no longer change."""
        rows = ((trigger, *ends) for trigger, by_ends in behaviour.changes.items() for ends in by_ends)
        self.rows = {row: number for number, row in enumerate(rows)}
        """`{(trigger, state before, state after): its number}` of the rows that change attributes."""
        self._following: Floats = np.zeros((1, 1))
        if self.fields:
            columns = [self.tables.people.column(f"agent.{name}") for name in self.fields]
            first = [self.tables.words.numbers(values.tolist()) for values in columns if values is not None]
            self._following = np.array(first).T.copy()
        state.t = state.t._replace(attributes=self._following.copy())
        self._changed = np.zeros(0, dtype=np.int64)
        self.latest: list[Floats] = []
        self.count = 0
        self._kernel: Any = None
        self._given: Floats = np.zeros((1, 1))

    def value(self, person: int, name: str) -> Value:
        return self._value(name, float(self._table[person, self.places[name]]))

    def column(self, field: str) -> NDArray[Any] | None:
        """Return the values of everybody for a field `agent.NAME` that changes; None for any other."""
        name = field.removeprefix("agent.")
        if name in self.stayed:
            return np.array(self.stayed[name])
        if name not in self._changing:
            return None
        values, kind = self._table[:, self.places[name]], self.fields[name].kind
        if kind == "text":
            return np.array([*map(self.tables.words.text, values.astype(np.int64).tolist())])
        return values.astype({"int": np.int64, "bool": np.bool_}.get(kind, np.float64))

    def of_author(self, author: int) -> dict[str, Value]:
        return {name: self.value(author, name) for name in self.of_authors}

    @property
    def _table(self) -> Floats:
        return self._state.t.attributes

    def _value(self, name: str, number: float) -> Value:
        match self.fields[name].kind:
            case "text":
                return self.tables.words.text(int(number))
            case "bool":
                return bool(number)
            case "int":
                return int(number)
        return number

    # Changes

    def prepare(self) -> None:
        if self.rows:
            fields = FieldSource(self.tables, drawn_in_view(Draw.CHANGE, Draw.CHANGE_NORMAL))
            lines = ["def work_out(t, tick, person, number, given, following):", "    is_changed = False"]
            for (trigger, before, after), number in self.rows.items():
                lines.append(f"    if number == {number}:")
                for each in self._behaviour.changes[trigger][before, after]:
                    needs_view = reads_view(each.fields)
                    lines += ["        if has_view(t, person):"] * needs_view
                    lines += self._assignment(each, fields, 12 if needs_view else 8)
            text = HEAD + "\n".join([*lines, "    return is_changed"]) + _TAIL
            self._kernel = kernels.generated("changes", text).change
            self._given = fields.columns()
            self._kernel(self._state.held, 0, _NOBODY, _NOBODY, self._given, self._following, _NOBODY)

    def work_out(self, tick: int, agents: Ints, numbers: Ints) -> Ints:
        """Work out people's attributes from the next tick on, and return the people whose attributes change.

        Args:
            agents: the people whose rows are taken, before any other effect of these.
            numbers: of each one's row among `rows`; NO_CHANGE for a row that changes nothing.
        """
        if not (numbers >= 0).any():
            return _NOBODY
        changed = np.empty(len(agents), dtype=np.int64)
        count = self._kernel(self._state.held, tick, agents, numbers, self._given, self._following, changed)
        return changed[:count]

    def change(self, changed: Ints) -> Floats:
        """Give people their new values from the next tick on; return the person, the column and the value of each."""
        if not len(changed):
            return NO_CHANGES
        self._changed = np.concatenate((self._changed, changed))
        following = self._following[changed]
        rows, places = np.nonzero(following != self._table[changed])
        self.count += len(rows)
        self.latest.append(np.column_stack((changed[rows], places, following[rows, places])))
        return self.latest[-1]

    def put(self, changes: Floats) -> None:
        people, places = changes[:, 0].astype(np.int64), changes[:, 1].astype(np.int64)
        self._table[people, places] = self._following[people, places] = changes[:, 2]
        self.count += len(changes)

    def rows_of(self, changes: Floats) -> tuple[Values, ...]:
        """Return changes as rows of the table of attributes."""
        names = [[*self.fields][int(place)] for place in changes[:, 1]]
        values = [self._value(name, value) for name, value in zip(names, changes[:, 2].tolist(), strict=True)]
        return (
            changes[:, 0].astype(np.int64),
            Heap.of([name.encode() for name in names]),
            Heap.of([*map(msgspec.msgpack.encode, values)]),
        )

    def settle(self) -> None:
        self.latest.clear()
        if len(self._changed):
            self._table[self._changed] = self._following[self._changed]
            self._changed = self._changed[:0]

    def _assignment(self, change: Change, fields: FieldSource, indent: int) -> list[str]:
        def source_of(expression: Expression) -> str:
            found = fields.value(expression)
            if found is None:
                file = self._behaviour.definition
                problem = f"cannot be worked out for many at once, so no attribute can be set to it: {expression}"
                raise ConfigError(file.file.source if file else "chart", problem, key=f"set.{change.name}")
            return found

        place, lines = self.places[change.name], fields.lines(change.fields, indent)
        now = f"t.attributes[person, {place}]"
        if change.when is not None:
            lines.append(f"{' ' * indent}if {source_of(change.when)}:")
            indent += 4
        space, value = " " * indent, source_of(change.to)
        lines.append(f"{space}value = {value} * 1.0")
        if change.field.is_number:
            low, high = change.field.bounds
            lines.append(f"{space}value = min(max(value, {low!r}), {high!r}) if value == value else {now}")
        if change.field.kind == "int":
            lines.append(f"{space}value = math.floor(value + 0.5) * 1.0")
        lines += [f"{space}is_changed = is_changed or value != {now}", f"{space}following[person, {place}] = value"]
        return lines

    # Checkpoints

    def columns(self) -> Iterator[Column]:
        def as_texts(piece: NDArray[Any]) -> NDArray[Any]:
            return np.array([*map(self.tables.words.text, piece.astype(np.int64).tolist())], dtype=object)

        for name in self._changing:
            cut = as_texts if self.fields[name].kind == "text" else np.asarray
            yield from pack_array(f"attribute.{name}", self._table[:, self.places[name]], cut)
        for name, values in self.stayed.items():
            yield from pack(f"attribute.{name}", values)
        if self.count:
            yield from pack("attribute_changes", [self.count])

    def restore(self, columns: Columns) -> None:
        """Take over the values that these columns hold. What the chart of a fork does not set stays as it is."""
        for column in columns.unread:
            name = column.removeprefix("attribute.")
            if name == column:
                continue
            values: list[Value] = columns.values(column, float | str)  # type: ignore[arg-type]  # msgspec takes it
            if name not in self._changing:
                self.stayed[name] = values
                self.tables.people.changing = self.column
            if name in self.places:
                self._table[:, self.places[name]] = self.tables.words.numbers(values)
        self._following = self._table.copy()
        if "attribute_changes" in columns.unread:
            self.count = columns.value("attribute_changes", int)


class LiveAttributes(Mapping[str, Value]):
    """The attributes of a person: those that change as they are now, the others as they were drawn."""

    __slots__ = ("_changing", "_drawn", "_person")

    def __init__(self, drawn: Attributes, changing: ChangingAttributes, person: int) -> None:
        self._drawn, self._changing, self._person = drawn, changing, person

    def __getitem__(self, name: str) -> Value:
        if name in self._changing.stayed:
            return self._changing.stayed[name][self._person]
        if name not in self._changing.places:
            return self._drawn[name]
        return self._changing.value(self._person, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._drawn)

    def __len__(self) -> int:
        return len(self._drawn)


class ReadChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of an attribute, as it is worked out."""

    name: str
    to: str  # the expression of its new value
    when: str  # its condition; empty if there is none
    values: dict[str, Any]  # of the fields that these read; empty where they need a post in view, and none is
    holds: bool  # whether it is worked out: its condition holds, and the fields that it reads have values
    found: Value | None  # of the expression, before it is kept in its range; None if it has none or does not hold
    before: Value  # the value that the attribute has


class ChangeReader:
    """The changes of a chart as functions of a person and the post in view."""

    def __init__(self, behaviour: Behaviour[Any], people: PopulationConfig) -> None:
        self._changes = behaviour.changes
        self._readers: dict[str, Reader] = {
            **social_vocabulary(people.attributes, people.posts.attributes).readers,
            **drawn_readers(Draw.CHANGE, Draw.CHANGE_NORMAL),
        }
        self._compiled: dict[Expression, Reader] = {}

    def read(self, trigger: str, agent: Any, view: PostView | None) -> dict[str, tuple[ReadChange, ...]]:
        """Return the changes of each row of the agent's state with this trigger, by the state after it."""
        return {
            after: tuple(map(partial(self._read, agent=agent, view=view), changes))
            for (before, after), changes in self._changes.get(trigger, {}).items()
            if before == str(agent.state)
        }

    def _read(self, change: Change, agent: Any, view: PostView | None) -> ReadChange:
        is_there = view is not None or not reads_view(change.fields)
        values = {each: self._readers[each](agent, view) for each in change.fields} if is_there else {}
        holds = is_there and (change.when is None or bool(self._value(change.when, agent, view)))
        found = self._value(change.to, agent, view) if holds else None
        return ReadChange(
            name=change.name,
            to=change.to.text,
            when="" if change.when is None else change.when.text,
            values=values,
            holds=holds,
            found=None if isinstance(found, float) and found != found else found,  # noqa: PLR0124  # not a number
            before=agent.persona.attributes[change.name],
        )

    def _value(self, expression: Expression, agent: Any, view: PostView | None) -> Any:
        if expression not in self._compiled:
            self._compiled[expression] = compiled(expression, self._readers)
        return self._compiled[expression](agent, view)
