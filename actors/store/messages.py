"""The rows of ticks as objects: an object for each update, question, intervention and event, in their order.

A reader of many rows takes their columns from `record.py` instead, which needs a hundredth of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from operator import attrgetter, ne
from types import MappingProxyType
from typing import Any, Final, Protocol

import msgspec
import numpy as np

from actors.core.errors import JournalError
from actors.core.frames import DECODE_ERRORS, HEAD
from actors.core.messages import Message
from actors.store.journal import JOURNAL
from actors.store.record import AGENT, Record, selected
from prism.agents import Question, Update
from prism.agents.waves import SEEN, Kind
from prism.events import (
    INTERVENTIONS,
    QUESTIONS,
    UPDATES,
    AttributeSet,
    FeedShown,
    Intervened,
    PostEvent,
    PostTaken,
    TieChanged,
    events_in,
)
from prism.rows import Heap, Part, Tick, Values, listed, read_rows, values_at
from prism.tables import PACKED_HEAP, Shape

_TABLES: Final[dict[Any, tuple[str, ...]]] = {
    Update: ("updates", "effects"),
    Question: ("questions",),
    Intervened: ("interventions",),
    PostEvent: ("posts", "likes"),
    PostTaken: ("posts",),
    FeedShown: ("feeds",),
    TieChanged: ("ties",),
    AttributeSet: ("attributes",),
}
"""`{class of messages: the tables with their rows}`."""
_EVENTS: Final = ("posts", "likes", "feeds", "ties", "attributes")

_agent = attrgetter("agent")
_decode: Callable[[bytes], Any] = msgspec.msgpack.Decoder().decode
_options: Callable[[str], tuple[str, ...]] = lru_cache(msgspec.json.Decoder(tuple[str, ...]).decode)


def tables_of(*wanted: type[Any]) -> tuple[str, ...]:
    """Return the tables with the rows of some messages; of all by default."""
    return tuple(dict.fromkeys(name for kind in wanted or _TABLES for name in _TABLES[kind]))


def messages_in(tick: Tick, shapes: Sequence[Shape], kinds: Sequence[Kind], *wanted: type[Any]) -> list[Any]:
    """Return the messages of a tick: in each wave first interventions, then answers and what took place by agent.

    `wanted`: their classes, all by default; no object is made for the rows of others. A value that cannot be read is a
    JournalError.
    """
    tables = {name: part for name in tables_of(*wanted) if (part := tick.tables.get(name)) is not None}
    try:
        found = list(_made(tick.tick, tables, shapes, kinds))
    except (*DECODE_ERRORS, IndexError) as error:
        raise JournalError(f"{JOURNAL}: tick {tick.tick} cannot be read: {error}") from None
    return [each for each in found if type(each) in wanted] if wanted else found


class HasKinds(Protocol):
    """A record, or the engine of a simulation: the tables of its run, and the kinds that are known."""

    @property
    def shapes(self) -> Sequence[Shape]: ...

    @property
    def kinds(self) -> Sequence[Kind]: ...


Framed = tuple[bytes, HasKinds]  # the frame of a tick, and what has its tables and kinds


def messages_of(frame: bytes, of: HasKinds, *wanted: type[Any], agents: Collection[int] | None = None) -> list[Any]:
    """Return the messages in the frame of a tick, as `messages_in` does.

    `agents`: those whose messages are wanted; None for all, and for interventions, too.
    """
    tick = read_rows(frame[HEAD.size :], of.shapes)
    if agents is not None:
        chosen, names = [*agents], {*tables_of(*wanted)} - {INTERVENTIONS.name}
        own = {
            name: part.where(np.isin(part.columns[0], chosen)) for name, part in tick.tables.items() if name in names
        }
        tick = tick._replace(tables=own)
    return messages_in(tick, of.shapes, of.kinds, *wanted)


def differing_agents(was: Framed, would: Framed, size: int) -> list[int]:
    """Return those of so many agents whose rows of a tick differ in any byte between two futures."""
    one, other = (read_rows(frame[HEAD.size :], of.shapes).tables for frame, of in (was, would))
    numbers = {kind: number for number, kind in enumerate(was[1].kinds)}
    kinds = np.array([numbers.setdefault(kind, len(numbers)) for kind in would[1].kinds], "<u4")
    differs = np.zeros(size, np.bool_)
    for name, columns in {shape.name: shape.columns for shape in would[1].shapes}.items():
        parts = [tables[name].columns for tables in (one, other) if name in tables and columns[0][0] == AGENT]
        if len(parts) < 2:
            differs[[agent for agents, *_ in parts for agent in agents.tolist()]] = True
            continue
        # Agents with as many rows in both futures: their rows side by side.
        mine, its = (np.bincount(agents, minlength=size) for agents, *_ in parts)
        differs |= (has_others := mine != its)
        orders = [np.argsort(agents, kind="stable") for agents, *_ in parts]
        rows = [order[~has_others[agents[order]]] for order, (agents, *_) in zip(orders, parts, strict=True)]
        for place, both in enumerate(zip(*parts, strict=True)):
            mine, its = map(values_at, both, rows)
            if isinstance(mine, Heap):
                is_other = np.array([*map(ne, mine.values(), its.values())], np.bool_)
            else:
                its = kinds[its] if place == 1 and name in (UPDATES.name, QUESTIONS.name) else its
                is_other = mine.view(bits := f"u{mine.itemsize}") != its.view(bits)
            differs[parts[0][0][rows[0][is_other]]] = True
    found: list[int] = np.flatnonzero(differs).tolist()
    return found


def read_messages(
    record: Record,
    *wanted: type[Any],
    kept: Mapping[str, Callable[[Any], Any]] = MappingProxyType({}),
    first: int = 0,
    until: int | None = None,
) -> Iterator[Any]:
    """Yield the messages of a run from one tick to before another, in their order, as `messages_in` does.

    `kept`: `{table: returns of its columns whether each row is kept}`; of other tables all rows are.
    """
    for block in record.blocks(first, until, record.all_of(*tables_of(*wanted))):
        tables = {
            name: selected(table, kept[name](table.columns)) if name in kept else table
            for name, table in block.tables.items()
        }
        for tick in block._replace(tables=tables).each_tick():
            yield from messages_in(tick, record.shapes, record.kinds, *wanted)


def of_agent(record: Record, agent: int, first: int = 0, until: int | None = None) -> Iterator[Message]:
    """Yield the messages of one agent, as `read_messages` does."""
    wanted = [each for each in _TABLES if each is not Intervened]
    kept = dict.fromkeys(tables_of(*wanted), lambda columns: np.equal(columns[AGENT], agent))
    return read_messages(record, *wanted, kept=kept, first=first, until=until)


def _made(tick: int, tables: dict[str, Part], shapes: Sequence[Shape], kinds: Sequence[Kind]) -> Iterator[Any]:
    events = [name for name in _EVENTS if name in tables]
    for wave in range(max((len(part.waves) for part in tables.values()), default=0)):
        rows = {name: part.of_wave(wave) for name, part in tables.items() if wave < len(part.waves)}
        for number, kind, content in _rows(rows.get("interventions")):
            yield Intervened(tick, number, kind.decode(), _decode(content))
        answers: list[Any] = []
        effects = {agent: _decode(value) for agent, value in _rows(rows.get("effects"))}
        for agent, number in _rows(rows.get("updates")):
            trigger, before, after, source, effect, reason = kinds[number]
            answers.append(Update(tick, agent, trigger, before, after, source, effect or effects.get(agent), reason))
        if (questions := rows.get("questions")) is not None:
            answers += questions_in(repeat(tick), questions, shapes, kinds)
            answers.sort(key=_agent)
        yield from answers
        if events:
            yield from events_in(tick, {name: rows[name] for name in events if name in rows})


def questions_in(
    ticks: Iterable[int], columns: Sequence[Values], shapes: Sequence[Shape], kinds: Sequence[Kind]
) -> Iterator[Question[Any]]:
    """Yield rows of questions as objects. `ticks`: that of each row."""
    shape = next(shape for shape in shapes if shape.name == "questions")
    agents, numbers = map(listed, columns[:2])
    seen = _contexts(shape.columns[2:], columns[2:])
    for tick, agent, number, context in zip(ticks, agents, numbers, seen, strict=False):
        kind = kinds[number]
        yield Question(tick, agent, kind.trigger, kind.from_state, _options(kind.effect), context)


def _contexts(columns: Sequence[tuple[str, str]], values: Sequence[Values]) -> Iterator[Any]:
    """Yield the context of each question as it was encoded, without its class and the fields that it does not have."""
    if columns[0][0] != SEEN:
        return map(_decode, values[0].values())
    is_seen, *fields = (_CONVERT.get(dtype, listed)(each) for (_, dtype), each in zip(columns, values, strict=True))
    if not any(_ABSENT in field for (_, dtype), field in zip(columns[1:], fields, strict=True) if dtype == PACKED_HEAP):
        return (row if seen else None for seen, *row in zip(is_seen, *fields, strict=True))
    rows = zip(is_seen, *fields, strict=True)
    return ([each for each in row if each is not _ABSENT] if seen else None for seen, *row in rows)


_ABSENT: Final = object()  # a field that a context does not have
_CONVERT: Final[dict[str, Callable[[Any], list[Any]]]] = {
    "|u1": lambda values: values.astype(bool).tolist(),
    "heap": Heap.texts,
    PACKED_HEAP: lambda values: [_decode(each) if each else _ABSENT for each in values.values()],
}


def _rows(columns: Sequence[Values] | None) -> Iterator[tuple[Any, ...]]:
    return iter(()) if columns is None else zip(*map(listed, columns), strict=True)
