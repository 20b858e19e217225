"""The tables of runs as relations of DuckDB, which are filled when a query first needs them.

`journal.NAME` is a table of the runs' journals as it is declared, with the run, the tick and the wave of each row, and
with texts in place of msgpack. `made.NAME` is what Python makes beside them. The exported tables are views on these, a
file below `sql` each, or are made by Python as well. Some functions stand for a column: `moment(run, tick)`, and
`kind_FIELD(kind)` for the fields of `journal.kinds`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.resources import files
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

import duckdb
import numpy as np

from actors.core.kinds import ASKED
from actors.factory.own_code import domain_error
from actors.store.record import AGENT, Block, Wanted, tick_of_rows
from actors.store.run import Recorded
from actors.tables.arrow import TYPES, Coded, Columns, Stream, literal, parts_of, quoted
from actors.tables.made import MADE_TYPES, Made, coded, numbers_and_texts
from actors.tables.schema import OF_EVENTS, configs_of_feeds, journal_tables, post_columns, tables_of_runs
from prism.agents import DECIDED, MOVED, STALE
from prism.agents.waves import Kind as Kinds
from prism.columns import places_among
from prism.events import ATTRIBUTES, KINDS, OF_EVERY_RUN, OF_FEEDS, UPDATES
from prism.expectations import guess
from prism.rows import Heap, unpacked
from prism.tables import Column, Kind, Table

MEMORY: Final = "1GB"  # the most memory of DuckDB; the rest goes to a temporary directory
VIEWS: Final = {
    path.name.removesuffix(".sql"): path.read_text()
    for path in sorted((files("actors.tables") / "sql").iterdir(), key=lambda path: path.name)
    if path.name.endswith(".sql")
}
_STREAMED: Final = ("journal.updates", "made.edges", "made.engagements", "made.questions")
"""The largest relations, which are not kept: each query that names them reads them again."""
_SMALL: Final = UPDATES.columns  # the columns whose numbers are small: agents and kinds
KIND_FIELDS: Final = (*Kinds._fields, "effect_name")
_EFFECTS: Final[Wanted] = {"effects": (AGENT,)}
_OF_UPDATES: Final[Wanted] = {
    "updates": (AGENT, "kind"),
    "posts": (AGENT, "post"),
    "likes": (AGENT, "post"),
    "effects": (AGENT, "value"),
}
"""The columns that are read of updates, and of the posts, likes and effects that they made."""
_ALONE: Final[dict[str, Any]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
"""A query fetches nothing from the network, and does not see Python's variables."""
QUERY: Final = "query"  # the name of the table of a user's query


class QueryError(ValueError):
    """The error for a query that is no SELECT, or that names something that there is not."""


class Tables:
    """The tables of some runs with different names, for a `with` block. `on_read`: called with the bytes read."""

    def __init__(self, runs: Sequence[Recorded], on_read: Callable[[int], None] = lambda _: None) -> None:
        self.runs, self._on_read = runs, on_read
        self._of_journals = [journal_tables(run) for run in runs]
        self.schema = tables_of_runs(runs, self._of_journals)
        self._made = [Made(run, self.schema, configs_of_feeds(runs)) for run in runs]
        self._types = self._types_of()
        self._views = dict(VIEWS)
        if "posts" not in self._types["agents"]:  # no run has people on a feed
            del self._views["engagement_by_group"]
        self._own = {table.name for run in runs for table in run.show.tables}
        for table in self.schema.values():
            if table.name in self._own:
                cells = (f"q.{quoted(each.name)}::{TYPES[each.kind]} AS {quoted(each.name)}" for each in table.columns)
                self._views[table.name] = f"SELECT {', '.join(cells)} FROM ({table.query}) AS q"  # noqa: S608  # quoted
            elif f"journal.{table.name}" in self._types and table.name not in VIEWS:
                own = ", ".join(quoted(each.name) for each in table.columns[3:])
                relation = f"journal.{quoted(table.name)}"
                self._views[table.name] = f"SELECT run, tick, moment(run, tick) AS time, {own} FROM {relation}"  # noqa: S608  # quoted
        self._kinds = dict[tuple[str | None, ...], int]()
        """The number of each kind of the runs, with the name of its effect: runs number theirs on their own."""
        self._numbers = {run.name: list[int]() for run in runs}
        self._streams = list[Stream]()
        self._loaded = set[str]()  # the relations that are there, with their rows
        self._are_read = False
        self._directory = TemporaryDirectory(prefix="prism-tables-")
        self.database = duckdb.connect(config=_ALONE)
        for setting in (f"memory_limit='{MEMORY}'", f"temp_directory={literal(self._directory.name)}"):
            self._do(f"SET {setting}")
        listed = ", ".join(literal(run.name) for run in runs)
        self._do("SET timezone='UTC'; ATTACH ':memory:' AS runs (COMPRESS); USE runs")
        self._do(f"CREATE SCHEMA journal; CREATE SCHEMA made; CREATE TYPE run_name AS ENUM ({listed})")
        for function in dict.fromkeys(each for run in runs for each in run.show.functions):
            self.database.create_function(function.__name__, function, ["VARCHAR"], "VARCHAR")
        starts, steps = [run.time_at(0) for run in runs], [run.config.simulation.tick_seconds * 1e6 for run in runs]
        start, step = (
            str(each[0]) if len({*each}) == 1 else f"{each}[enum_code(run::run_name) + 1]" for each in (starts, steps)
        )
        self._do(f"CREATE MACRO moment(run, tick) AS make_timestamp({start} + (tick * {step}::DOUBLE)::BIGINT)")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.database.close()
        self._directory.cleanup()

    def query(self, sql: str) -> duckdb.DuckDBPyRelation:
        """Return the result of a query, or raise a QueryError. What it reads of the runs is read first."""
        try:
            self._load(sql)
            return self.database.sql(sql)
        except duckdb.Error as error:
            if unknown := re.match(r"Catalog Error: Table with name (\S+) does not exist", str(error)):
                problem = f"there is no table {unknown[1]}; {guess(unknown[1], [*self.schema, *self._types])}"
                raise QueryError(problem) from None
            raise QueryError(_problem(error)) from None

    def add_query(self, sql: str) -> str:
        """Add the result of a query as a further table, and return its name, or raise a QueryError."""
        found = self.query(sql)
        kinds = zip(found.columns, found.types, strict=True)
        columns = tuple(Column(name=name, kind=_kind_of(str(kind)), about="") for name, kind in kinds)
        self.schema[QUERY] = Table(name=QUERY, about=sql, columns=columns)
        self._views[QUERY] = sql.rstrip().rstrip(";")
        return QUERY

    def rows_of(self, name: str) -> str:
        """Return the query for the rows of a table, which are read first. Names stay numbers, as DuckDB has them."""
        self.load(name)
        cells = []
        for each in self.schema[name].columns:
            own = quoted(each.name)
            cells.append(own if each.kind is Kind.NAME else f"{own}::{TYPES[each.kind]} AS {own}")
        return f"SELECT {', '.join(cells)} FROM {quoted(name)}"  # noqa: S608  # quoted

    def has(self, name: str) -> bool:
        """Return whether a run has a table, even one without rows. Other tables are there if they have a row."""
        declared = any(name in run.show.event_tables for run in self.runs)
        return declared or name not in OF_EVENTS or bool(self.query(f"SELECT 1 FROM {quoted(name)} LIMIT 1").fetchall())  # noqa: S608  # quoted

    @contextmanager
    def reading(self, name: str) -> Iterator[None]:
        """Turn an error of a user's query into a QueryError, and one of a domain's own table into a ConfigError."""
        try:
            yield
        except (duckdb.ProgrammingError, duckdb.DataError, QueryError) as error:
            self._raise_own()
            if name == QUERY:
                raise QueryError(_problem(error)) from None
            if name not in self._own:
                raise
            raise domain_error(f"its table {name} cannot be read: {_problem(error)}") from None

    def _raise_own(self) -> None:
        for stream in self._streams:
            if stream.error is not None:
                raise stream.error from None

    def _do(self, sql: str) -> None:
        try:
            self.database.execute(sql).fetchall()
        except duckdb.Error:
            self._raise_own()
            raise

    def load(self, *names: str) -> None:
        self._load(" UNION ALL ".join(f"FROM {quoted(name)}" for name in names))

    def _load(self, sql: str) -> None:
        """Create the relations that a query reads, and those that these read, with their rows."""
        needed = self._needed(sql)
        stored = [name for name in needed if name not in self._views]
        for name in stored:
            if name not in _STREAMED:
                columns = ", ".join(f"{quoted(column)} {kind}" for column, kind in self._types[name].items())
                self._do(f"CREATE TABLE {_relation(name)} ({columns})")
        self._read(stored)
        for made in self._made:
            for name in (each for each in made.relations if each in stored and each not in _STREAMED):
                for rows in made.relations[name]():
                    self._insert(name, made.run, rows)
            made.forget()
        for name in needed:
            if name in _STREAMED:
                self._do(f"CREATE VIEW {_relation(name)} AS {' UNION ALL '.join(self._streamed(name))}")
            elif name in self._views:
                with self.reading(name):
                    self._do(f"CREATE VIEW {_relation(name)} AS {self._views[name]}")
        self._loaded |= {*needed}

    def _needed(self, sql: str) -> list[str]:
        """Return the relations that a query needs and that are not there, each after those that it reads."""
        ((text,),) = self.database.execute("SELECT json_serialize_sql($1)", [sql]).fetchall()
        tree, found, own = json.loads(text), dict[str, None](), set[str]()
        if tree["error"]:
            raise QueryError(tree["error_message"])

        def walk(part: Any) -> None:
            if isinstance(part, dict) and part.get("type") == "BASE_TABLE":
                found[f"{part['schema_name']}.{part['table_name']}".removeprefix(".").removeprefix("main.")] = None
            elif isinstance(part, dict) and "cte_map" in part:
                own.update(each["key"] for each in part["cte_map"]["map"])
            for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
                walk(each)

        walk(tree)
        needed = dict[str, None]()
        for name in (each for each in found if each not in own | self._loaded):
            if name in self._views:
                with self.reading(name):
                    needed |= dict.fromkeys(self._needed(self._views[name]))
            if name in self._views or name in self._types:
                needed[name] = None
        return [*needed]

    def _read(self, relations: Sequence[str]) -> None:
        """Read journals for their relations. The first time they are read to the end, whatever is wanted."""
        wanted = [name.removeprefix("journal.") for name in relations if name.startswith("journal.")]
        done = 0
        for run, tables in zip(self.runs, self._of_journals, strict=True):
            names = [name for name in wanted if name in tables and name not in (KINDS.name, UPDATES.name)]
            if names or not self._are_read:

                def on_read(read: int, before: int = done) -> None:
                    self._on_read(before + read)

                for block in run.blocks(run.record.all_of(*names), on_read):
                    for name in names:
                        if len(block.tables[name].rows):
                            self._insert(f"journal.{name}", run, self._columns_of(run, block, tables[name]))
                self._numbers_of(run)
            if UPDATES.name in wanted and any(len(each.tables["effects"].rows) for each in run.blocks(_EFFECTS)):
                for _ in self._updates(run):  # the effects of some have names of their own, which get numbers now
                    pass
            done += run.journal_bytes
        self._are_read = True
        fields = {name: [row[place] for row in self._kinds] for place, name in enumerate(KIND_FIELDS)}
        for name, values in fields.items():
            texts = ", ".join(map(literal, dict.fromkeys(filter(None, values)))) or "''"
            listed = ", ".join(literal(value) if value else "NULL" for value in values)
            self._do(f"CREATE OR REPLACE MACRO kind_{name}(kind) AS ([{listed}]::ENUM({texts})[])[kind + 1]")
        is_so = ("moves", "source", MOVED), ("decides", "source", DECIDED), ("is_stale", "reason", {STALE})
        for name, field, wanted_values in is_so:
            truths = [each in wanted_values for each in fields[field]]
            self._do(f"CREATE OR REPLACE MACRO kind_{name}(kind) AS ({truths}::BOOLEAN[])[kind + 1]")
        for run in self.runs if KINDS.name in wanted else ():  # every join names the run
            self._insert("journal.kinds", run, {"kind": np.arange(len(self._kinds)), **fields})

    def _insert(self, name: str, run: Recorded, columns: Columns) -> None:
        own = {column: values for column, values in columns.items() if column in self._types[name]}
        if not own or not len(next(iter(own.values()))):
            return
        types = {column: self._types[name][column] for column in own}
        of_codes = [column for column, values in own.items() if isinstance(values, Coded)]
        self._streams.append(Stream(types, partial(parts_of, own), of_codes))
        self.database.register("given", self._streams[-1])
        rows = f"SELECT {literal(run.name)}::run_name AS run, * FROM given"  # noqa: S608  # quoted
        self._do(f"INSERT INTO {_relation(name)} BY NAME {rows}")
        self.database.unregister("given")
        self._streams.pop()

    def _streamed(self, name: str) -> Iterator[str]:
        """Yield a query for the rows of each run, which are read when it is asked."""
        types = {column: kind for column, kind in self._types[name].items() if column != "run"}
        for made in self._made:
            blocks = made.relations.get(name, partial(self._updates, made.run))
            blocks = partial(self._questions, made) if name == "made.questions" else blocks
            self._streams.append(Stream(types, blocks, ("kind",) if name == "made.engagements" else ()))
            relation = f"streamed_{len(self._streams)}"
            self.database.register(relation, self._streams[-1])
            yield f"SELECT {literal(made.run.name)}::run_name AS run, * FROM {relation}"  # noqa: S608  # quoted

    def _questions(self, made: Made) -> Iterator[Columns]:
        for rows in made.relations["made.questions"]():
            numbers = np.array([*self._numbers_of(made.run), -1])
            yield {**rows, "kind": numbers[rows["kind"]], "decided": numbers[rows["decided"]]}

    def _updates(self, run: Recorded) -> Iterable[Columns]:
        at = self.runs.index(run) << 40
        for block in run.blocks(_OF_UPDATES):
            if count := len(block.tables[UPDATES.name].columns["kind"]):
                # A table of DuckDB has such numbers; a view does not.
                yield {"rowid": np.arange(at, at + count), **self._columns_of(run, block, UPDATES)}
                at += count

    def _columns_of(self, run: Recorded, block: Block, table: Table) -> Columns:
        """Return the rows of a table in a block, with JSON in place of msgpack, and texts in place of their numbers."""
        rows = block.tables[table.name]
        found: dict[str, Any] = {"tick": tick_of_rows(rows), "wave": np.repeat(rows.waves, rows.rows)}
        for column in table.columns:
            values = rows.columns[column.name]
            if column.kind is Kind.PACKED:
                if table.name == ATTRIBUTES.name:
                    found |= numbers_and_texts(unpacked(values))
                else:
                    found[column.name] = coded(values.values(), {})
            else:
                found[column.name] = Coded(values, column.names) if column.names else values
                if isinstance(values, Heap):
                    values.data.tobytes().decode()  # DuckDB takes any bytes
        if table.name in {"updates", "questions"}:
            found["kind"] = np.array(self._numbers_of(run), np.int32)[found["kind"]]
        if table.name == "updates":
            found["post"] = np.full(len(found["kind"]), -1)
            keys, agents = block.keys("updates", run.header.agents), run.header.agents
            for name in ("posts", "likes"):  # what an update made or liked is noted in its wave
                if name in block.tables and len(block.tables[name].rows):
                    places = places_among(keys, block.keys(name, agents))
                    found["post"][places[places >= 0]] = block.tables[name].columns["post"][places >= 0]
            if "effects" in block.tables and len(block.tables["effects"].rows):
                effects = block.tables["effects"].columns["value"]
                places, old = places_among(keys, block.keys("effects", agents)), rows.columns["kind"]
                for place, effect in zip(places.tolist(), unpacked(effects), strict=True):
                    kind = run.record.kinds[old[place]]
                    found["kind"][place] = self._number((*kind, run.show.effect_name(effect)))
        return found

    def _numbers_of(self, run: Recorded) -> list[int]:
        found, name = self._numbers[run.name], run.show.effect_name
        for kind in run.record.kinds[len(found) :]:
            effect = name(kind.effect) if kind.effect and kind.source != ASKED else None
            found.append(self._number((*kind, effect)))
        return found

    def _number(self, kind: tuple[str | None, ...]) -> int:
        return self._kinds.setdefault(kind, len(self._kinds))

    def _types_of(self) -> dict[str, dict[str, str]]:
        """Return `{relation: {column: its type}}` of all relations that are no views."""
        known = {table.name: table for table in (*OF_EVERY_RUN, *OF_FEEDS)}
        found = dict[str, dict[str, str]]()
        for name, table in [*known.items(), *(each for tables in self._of_journals for each in tables.items())]:
            own = {each.name: "INTEGER" if each in _SMALL else TYPES[each.kind] for each in table.columns}
            before = {"run": "run_name", "tick": "INTEGER", "wave": "SMALLINT"}
            found[f"journal.{name}"] = {**before, **found.get(f"journal.{name}", {}), **own}
        found["journal.kinds"] = {"kind": "INTEGER", **dict.fromkeys(KIND_FIELDS, "VARCHAR")}
        found["journal.updates"] |= {"post": "BIGINT", "rowid": "BIGINT"}
        found["journal.attributes"] |= {"number": "DOUBLE", "text": "VARCHAR"}
        found |= {name: {each.name: TYPES[each.kind] for each in table.columns} for name, table in self.schema.items()}
        of_posts = {each.name: TYPES[each.kind] for each in post_columns(configs_of_feeds(self.runs)).values()}
        found["made.file_posts"] = {"number": "BIGINT", "text": "VARCHAR", **of_posts}
        return {name: {**types, "run": "run_name"} for name, types in {**found, **MADE_TYPES}.items()}


def with_texts(found: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Return the result of a query with texts in place of the numbers by which DuckDB keeps names."""
    kinds = zip(map(quoted, found.columns), map(str, found.types), strict=True)
    return found.project(
        ", ".join(f"{name}::VARCHAR AS {name}" if kind.startswith("ENUM") else name for name, kind in kinds)
    )


def _problem(error: Exception) -> str:
    """Return an error of DuckDB on one line, without the line of the query."""
    if "Only SELECT statements" in str(error):
        return "expected a SELECT: the tables of runs can only be read"
    return " ".join(str(error).partition("\n\nLINE")[0].split())


def _kind_of(name: str) -> Kind:
    if name.endswith(("INT", "INTEGER")):
        return Kind.INTEGER
    if name in {"FLOAT", "DOUBLE"} or name.startswith("DECIMAL"):
        return Kind.NUMBER
    return {"BOOLEAN": Kind.BOOLEAN, "TIMESTAMP": Kind.TIME}.get(name, Kind.TEXT)


def _relation(name: str) -> str:
    schema, _, own = name.partition(".")
    return f"{schema}.{quoted(own)}" if schema in {"journal", "made"} and own else quoted(name)
