"""The tables of one run, gathered while its journal is read once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from actors.core.errors import ActorError
from actors.factory.charts import look_at_chart
from actors.factory.own_code import domain_error, raised
from actors.record.listing import list_run
from actors.record.rounds import ROUNDS
from actors.record.run import Recorded, RecordedTick, shown_path
from actors.results.change_tables import AttributeChanges, TieTables
from actors.results.measures import ACTS
from actors.results.people import BuiltOnce, add_transitions
from actors.results.post_tables import PostTables, add_feeds
from actors.results.question_table import Questions, add_judgements
from actors.results.schema import OF_EVENTS, tables_of
from actors.results.table_files import Rows
from prism.errors import PrismError
from prism.show import Gatherer, Row, Show
from prism.tables import Column, Kind


class Attributes(NamedTuple):
    """The columns of own attributes."""

    of_people: Mapping[tuple[str, bool], Column]  # `{(attribute, whether at the end): its column}`
    of_posts: Sequence[str]  # the attributes of posts, in the order of their columns


class RunTables:
    """The tables of one run.

    Args:
        tables: the rows of the tables that are wanted, by name.
        draft: the directory that is being written.
    """

    def __init__(  # the source and the target of rows
        self,
        run: Recorded,
        show: Show,
        tables: Mapping[str, Rows],
        draft: Path,
        attributes: Attributes,
        rounds: RoundsTable,
    ) -> None:
        self._run, self._show, self._tables = run, show, tables
        self._attributes, self._rounds = attributes, rounds
        self._domain = BuiltOnce(run)
        self._states: dict[int, str] = {}
        """`{agent: its state}` of those that have moved; `_since`: the tick in which it entered it."""
        self._since: dict[int, int] = {}
        self._moves = Counter[int]()
        """`{agent: the updates that moved it}`."""
        self._ties = TieTables(run, tables.get("ties"), tables.get("edges"))
        self._changes = AttributeChanges(run, tables.get("attribute_changes"), lambda: self._domain.population)
        self._questions: Questions | None = None
        self._gatherer: Gatherer | None = None
        self._posts: PostTables | None = None
        for name in tables_of([show]):
            if name in tables and _has(run, show, name):
                tables[name].begin()
        # The functions that are given each tick, for the tables that are wanted.
        self._takers: list[Callable[[RecordedTick], None]] = [self._ties.take, self._changes.take]
        if "agents" in tables:
            self._takers.append(self._move)
        if (rows := tables.get("transitions")) is not None:
            self._takers.append(partial(add_transitions, run, rows, show))
        if any(name in tables for name in ("posts", "engagements", "agents")):
            is_feed = "posts" in show.event_tables
            behaviour = look_at_chart(run.config).behaviour if is_feed and run.config.llm.writes else None
            self._posts = PostTables(run, tables, behaviour, draft, attributes.of_posts, is_feed=is_feed)
            self._takers.append(self._posts.take)
        if (rows := tables.get("feeds")) is not None:
            self._takers.append(partial(add_feeds, run, rows))
        if (rows := tables.get("questions")) is not None:
            self._questions = Questions(run, rows, show, self._domain.probabilities)
            self._takers.append(self._questions.take)
        if any(table.name in tables for table in show.tables):
            gatherer = self._gatherer = show.gatherer()
            self._takers.append(lambda tick: self._gather(lambda: gatherer.take(tick)))

    def write(self, on_read: Callable[[int], None]) -> None:
        run, tables = self._run, self._tables
        try:
            for tick in run.ticks(on_read):
                for take in self._takers:
                    take(tick)
            if (rows := tables.get("rounds")) is not None:
                self._rounds.add_to(rows)
            if self._posts is not None:
                self._posts.finish()
        finally:
            if self._posts is not None:
                self._posts.close()
        if self._questions is not None:
            self._questions.finish()
        rows = tables.get("judgements") if _has(run, self._show, "judgements") else None
        if rows is not None and not self._domain.is_untrusted:
            add_judgements(run, rows, self._domain.domain)
        if (gatherer := self._gatherer) is not None:
            self._gather(lambda: gatherer.finish(run.length, self._rounds.read()))
        # The agents, and the ties between people.
        rows = tables.get("agents")
        population = self._domain.population if rows is not None or "edges" in tables else None
        if population is not None:
            self._ties.finish(population)
        if rows is not None:
            self._add_agents(rows)
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

    def _move(self, tick: RecordedTick) -> None:
        """Take over the moves of a tick."""
        agents = [update.agent for update in tick.moved]
        self._states.update(zip(agents, [update.to_state for update in tick.moved], strict=True))
        self._since.update(dict.fromkeys(agents, tick.tick))
        self._moves.update(agents)

    def _add_agents(self, rows: Rows) -> None:
        """Add the rows of `agents`."""
        run, show, built = self._run, self._show, self._domain
        further, population = [column.name for column in rows.table.columns[6:]], built.population
        made = {} if self._posts is None else self._posts.made
        for agent in range(run.header.agents):
            values = {} if built.is_untrusted else dict(show.agent_values(built.domain, agent))
            if population is not None and "followers" in values:
                # The counts of a person's acts, and the ties and attributes at the end.
                start: dict[str, Any] = values
                values["followers_end"] = start["followers"] + self._ties.followers[agent]
                values["following_end"] = start["following"] + self._ties.following[agent]
                values |= {name: made[kind].get(agent, 0) for name, kind in ACTS.items()}
                for (name, is_end), column in self._attributes.of_people.items():
                    value = population.personas[agent].attributes.get(name)
                    if is_end:
                        value = self._changes.latest.get((agent, name), value)
                    if column.kind is Kind.TEXT and value is not None and not isinstance(value, str):
                        value = str(value).lower() if isinstance(value, bool) else str(value)
                    is_whole = column.kind is Kind.NUMBER and isinstance(value, int)
                    values[column.name] = float(value) if is_whole and value is not None else value
            rows.add(
                run.name,
                agent,
                show.name(agent) or None if population is None else population.personas[agent].name,
                self._states.get(agent, built.initial),
                self._since.get(agent, 0),
                self._moves[agent],
                *map(values.get, further),
            )

    def _gather(self, rows: Callable[[], Iterable[Row]]) -> None:
        try:
            for name, values in rows():
                table = self._tables.get(name)
                if table is not None:
                    table.add(self._run.name, *values)
        except (PrismError, ActorError):
            raise
        except Exception as error:  # a user's own code may raise any error
            raise domain_error(f"{self._run.domain_name}: its tables cannot be gathered: {raised(error)}") from error


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
        rounds = self.read()
        own = [(column.name, float if column.kind is Kind.NUMBER else int) for column in rows.table.columns[4:]]
        for place, number in enumerate(rounds.get("round", ())):
            tick = int(rounds["tick"][place])
            values = (number_of(rounds[name][place]) if name in rounds else None for name, number_of in own)
            rows.add(self._run.name, number, tick, self._run.time_at(tick), *values)
        if not rounds.get("round") and self._run.length >= self._run.config.simulation.ticks_per_round:
            self._run.notes.append(f"{ROUNDS} has no rows; `prism resume` writes them again")


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
