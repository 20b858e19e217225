"""The tables of one run, gathered while its journal is read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np

from actors.core.errors import ActorError
from actors.factory.own_code import domain_error, raised
from actors.results.change_tables import AttributeChanges, TieTables
from actors.results.declared import DeclaredTables, declared_tables
from actors.results.measures import ACTS
from actors.results.part import Part
from actors.results.people import BuiltOnce, Moves
from actors.results.post_tables import Feeds, PostTables
from actors.results.question_table import Questions, add_judgements
from actors.results.schema import OF_EVENTS, tables_of
from actors.results.table_files import Rows
from actors.store.listing import list_run
from actors.store.messages import messages_in
from actors.store.record import Block, Wanted
from actors.store.rounds import ROUNDS
from actors.store.run import Recorded, shown_path
from prism.agents import MOVED, Question, Update
from prism.cells import Cells, Filled
from prism.errors import PrismError
from prism.show import Row, Show
from prism.social.people.people import People
from prism.tables import Column, Kind, Value


class Attributes(NamedTuple):
    """The columns of own attributes."""

    of_people: Mapping[tuple[str, bool], Column]  # `{(attribute, whether at the end): its column}`
    of_posts: Sequence[str]  # the attributes of posts, in the order of their columns


class RunTables:
    """The tables of one run.

    Args:
        tables: the rows of the tables that are wanted, by name.
    """

    def __init__(  # the source and the target of rows
        self,
        run: Recorded,
        tables: Mapping[str, Rows],
        attributes: Attributes,
        rounds: RoundsTable,
    ) -> None:
        show, recorded, declared = run.show, {shape.name for shape in run.record.shapes}, declared_tables(run)
        self._run, self._tables = run, tables
        self._attributes, self._rounds = attributes, rounds
        self._domain = BuiltOnce(run)
        for name in (*tables_of([show]), *declared):
            if name in tables and _has(run, show, name):
                tables[name].begin()
        # The parts that make the rows of the tables that are wanted.
        agents, of_posts = tables.get("agents"), (tables.get("posts"), tables.get("engagements"))
        self._parts: list[Part] = [DeclaredTables(run, tables)]
        self._moves = Moves(run, tables.get("transitions"))
        if agents is not None or "transitions" in tables:
            self._parts.append(self._moves)
        self._posts = self._ties = self._changes = None
        if recorded >= {"posts", "likes"} and (agents is not None or any(of_posts)):
            is_feed = "posts" in show.event_tables
            self._posts = PostTables(run, *of_posts, attributes.of_posts, is_feed=is_feed)
            self._parts.append(self._posts)
        if "feeds" in recorded and (rows := tables.get("feeds")) is not None:
            self._parts.append(Feeds(run, rows))
        ties, edges, changes = (tables.get(name) for name in ("ties", "edges", "attribute_changes"))
        if "ties" in recorded and any(each is not None for each in (ties, edges, agents)):
            self._ties = TieTables(run, ties, edges)
            self._parts.append(self._ties)
        if "attributes" in recorded and (changes is not None or agents is not None):
            self._changes = AttributeChanges(run, changes, self._drawn)
            self._parts.append(self._changes)
        if (rows := tables.get("questions")) is not None:
            self._parts.append(Questions(run, rows, self._domain))
        if any(table.name in tables for table in show.tables):
            self._parts.append(Gathered(run, tables, rounds))

    def write(self, on_read: Callable[[int], None]) -> None:
        run, tables = self._run, self._tables
        # 1. What rows need of the whole run.
        if looking := [part for part in self._parts if part.before]:
            for block in run.blocks(_together(part.before for part in looking)):
                for part in looking:
                    part.look(block)
            for part in looking:
                part.ready()
        # 2. The rows.
        taking = [part for part in self._parts if part.wanted]
        for block in run.blocks(_together(part.wanted for part in taking), on_read):
            for part in taking:
                part.take(block)
        for part in self._parts:
            part.finish()
        if (rows := tables.get("rounds")) is not None:
            self._rounds.add_to(rows)
        rows = tables.get("judgements") if _has(run, run.show, "judgements") else None
        if rows is not None and not self._domain.is_untrusted:
            add_judgements(run, rows, self._domain.domain)
        # 3. The agents, and the ties between people.
        agents = tables.get("agents")
        population = self._domain.population if agents is not None or "edges" in tables else None
        if population is not None and self._ties is not None:
            self._ties.count(population)
        if agents is not None:
            self._add_agents(agents)
        if (rows := tables.get("runs")) is not None:
            simulation, forks = run.config.simulation, run.manifest.forks
            rows.add(
                *(run.name, shown_path(run.path), list_run(run.path).status.value, simulation.domain),
                *(run.header.seed, run.header.agents, run.length, simulation.length),
                *(simulation.ticks_per_round, simulation.tick_seconds, run.time_at(0), run.digest),
                run.manifest.oracle or None,
                *((forks[-1].parent, forks[-1].tick) if forks else (None, None)),
                *(run.header.prism, run.header.config_sha256, msgspec.json.encode(run.header.config).decode()),
            )

    def _drawn(self, attribute: str) -> Sequence[Value | None]:
        """Return the values of an attribute at the start; nothing without people."""
        population = self._domain.population
        return () if population is None else People(population.personas).attribute(attribute)

    def _add_agents(self, rows: Rows) -> None:
        """Add the rows of `agents`."""
        run, built, moves = self._run, self._domain, self._moves
        count, population = run.header.agents, built.population
        values: dict[str, Any] = {} if built.is_untrusted else {**run.show.agent_values(built.domain)}
        if population is not None and "followers" in values:
            # The counts of a person's acts, and the ties and attributes at the end.
            if self._ties is not None:
                for name, more in (("followers", self._ties.followers), ("following", self._ties.following)):
                    values[f"{name}_end"] = values[name].values + more
            if self._posts is not None:
                values |= {name: self._posts.made[kind] for name, kind in ACTS.items()}
            for (name, is_end), column in self._attributes.of_people.items():
                found = self._drawn(name)
                if is_end and self._changes is not None:
                    found = self._changes.end(name, found)
                values[column.name] = [_as_kind(column.kind, value) for value in found]
        states = Cells.of_texts([*(kind.to_state for kind in run.record.kinds), built.initial])
        names: Filled
        if population is None:
            names = [run.show.name(agent) or None for agent in range(count)]
        else:
            names = People(population.personas).texts("name")
        further = [values.get(column.name, [None] * count) for column in rows.table.columns[6:]]
        rows.extend(
            Cells.same(run.name, count),
            *(np.arange(count), names),
            states.at(np.where(moves.last < 0, len(states) - 1, moves.last)),
            *(moves.since, moves.times, *further),
        )


class _Tick(NamedTuple):
    """A tick as `prism.show.Tick` wants it."""

    tick: int
    time: int
    moved: list[Update[Any]]
    questions: list[Question[Any]]
    others: list[Any]


class Gathered(Part):
    """The rows that the gatherer of a domain makes of each tick, with an object for each of its rows."""

    def __init__(self, run: Recorded, tables: Mapping[str, Rows], rounds: RoundsTable) -> None:
        super().__init__(run)
        self.wanted = run.record.all_of()
        self._tables, self._rounds, self._gatherer = tables, rounds, run.show.gatherer()

    def take(self, block: Block) -> None:
        for rows in block.each_tick():
            messages = messages_in(rows, self.run.record.shapes, self.run.record.kinds)
            moved = [each for each in messages if isinstance(each, Update) and each.source in MOVED]
            questions = [each for each in messages if isinstance(each, Question)]
            others = [each for each in messages if not isinstance(each, Update | Question)]
            tick = _Tick(rows.tick, self.run.time_at(rows.tick), moved, questions, others)
            self._add(partial(self._gatherer.take, tick))

    def finish(self) -> None:
        self._add(lambda: self._gatherer.finish(self.run.length, self._rounds.read()))

    def _add(self, rows: Callable[[], Iterable[Row]]) -> None:
        try:
            for name, values in rows():
                table = self._tables.get(name)
                if table is not None:
                    table.add(self.run.name, *values)
        except (PrismError, ActorError):
            raise
        except Exception as error:  # a user's own code may raise any error
            raise domain_error(f"{self.run.domain_name}: its tables cannot be gathered: {raised(error)}") from error


def _together(of: Iterable[Wanted]) -> Wanted:
    """Return all columns that are wanted."""
    found: dict[str, set[str]] = {}
    for wanted in of:
        for name, columns in wanted.items():
            found.setdefault(name, set()).update(columns)
    return found


def _as_kind(kind: Kind, value: Value) -> Value:
    """Return the value of an attribute as its column has it; runs may declare it with another type."""
    if kind is Kind.TEXT and value is not None and not isinstance(value, str):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return float(value) if kind is Kind.NUMBER and isinstance(value, int) else value


def _has(run: Recorded, show: Show, table: str) -> bool:
    """Return whether a run has a table, even one without rows. Other tables begin with their first row, if any."""
    if table in OF_EVENTS:
        return table in show.event_tables
    return table != "judgements" or run.config.oracle.sharing.by != "none"


_OWN = ("round", "tick")
"""The columns that every run has."""


class RoundsTable:
    """The rows of a run's rounds.csv at the creation of this object: rows that a run adds later are not read."""

    def __init__(self, run: Recorded) -> None:
        self._run = run
        self.kinds = {name: _kind(column) for name, column in run.rounds.items() if column}
        """`{column: its kind}`."""

    def read(self) -> dict[str, list[float]]:
        """Return the columns of the rounds that end among the ticks that were read."""
        return self._run.rounds_until(self._run.length)

    def add_to(self, rows: Rows) -> None:
        """Add the rows of the rounds that end among the ticks that were read."""
        run, rounds = self._run, self.read()
        numbers, ticks = rounds.get("round", []), [*map(int, rounds.get("tick", ()))]
        own = [(column.name, float if column.kind is Kind.NUMBER else int) for column in rows.table.columns[4:]]
        values = ([*map(number_of, rounds[name])] if name in rounds else [None] * len(ticks) for name, number_of in own)
        rows.extend(Cells.same(run.name, len(ticks)), numbers, ticks, [*map(run.time_at, ticks)], *values)
        if not numbers and run.length >= run.config.simulation.ticks_per_round:
            run.notes.append(f"{ROUNDS} has no rows; `prism resume` writes them again")


def _kind(column: Sequence[float]) -> Kind:
    return Kind.INTEGER if all(isinstance(cell, int) for cell in column) else Kind.NUMBER


def columns_of(rounds: Sequence[RoundsTable]) -> list[Column]:
    """Return the columns that rows of rounds have beyond round, tick and time, for all runs together."""
    kinds: dict[str, Kind] = {}
    for each in rounds:
        for name, kind in each.kinds.items():
            if name not in _OWN:
                kinds[name] = Kind.NUMBER if Kind.NUMBER in (kind, kinds.get(name)) else kind
    return [Column(name=name, kind=kind, about="as in rounds.csv") for name, kind in kinds.items()]
