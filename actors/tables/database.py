"""The tables of runs as relations of DuckDB, which are filled when a query first needs them.

`journal.NAME` is a table of the runs' journals as it is declared, with the run, the tick and the wave of each row, and
with texts in place of msgpack. `made.NAME` is what Python makes beside them. The exported tables are views on these, a
file below `sql` each, or are made by Python as well. Some functions stand for a column: `moment(run, tick)`, and
`kind_FIELD(kind)` for the fields of `journal.kinds`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

import duckdb
import numpy as np
from msgspec.json import encode

from actors.core.kinds import ASKED
from actors.factory.own_code import domain_error
from actors.store.oracle_log import ANSWERS
from actors.store.record import AGENT, Block, Wanted, tick_of_rows
from actors.store.run import Recorded
from actors.tables.made import MADE_TYPES, Made, template_texts
from actors.tables.relations import TYPES, Columns, literal, numbers_and_texts, quoted, registered
from actors.tables.schema import OF_EVENTS, configs_of_feeds, journal_tables, post_columns, tables_of_runs
from prism.agents import DECIDED, MOVED, STALE
from prism.agents.waves import Kind as Kinds
from prism.columns import places_among
from prism.events import ATTRIBUTES, KINDS, OF_EVERY_RUN, OF_FEEDS, POSTS, UPDATES
from prism.expectations import guess
from prism.rows import Heap, unpacked
from prism.tables import Column, Kind, Table

MEMORY: Final = "75%"
"""The most memory of DuckDB, of the machine's; the rest goes to a temporary directory."""
VIEWS: Final = {
    path.name.removesuffix(".sql"): path.read_text()
    for path in sorted((files("actors.tables") / "sql").iterdir(), key=lambda path: path.name)
    if path.name.endswith(".sql")
}
"""`{view: its query}`."""
_ARRAYS: Final = frozenset({"made.edges", "made.people"})
"""The relations that stay arrays in memory: there Python has them anyway."""
_SMALL: Final = UPDATES.columns
"""The columns whose numbers are small: agents and kinds."""
KIND_FIELDS: Final = (*Kinds._fields, "effect_name")
"""The fields of a kind, and the name of its effect."""
_BESIDE_UPDATES: Final[Wanted] = {"posts": (AGENT, "post"), "likes": (AGENT, "post"), "effects": (AGENT, "value")}
"""What is read beside updates, of what they made."""
_ACTS: Final = ("posts", "replies", "reshares", "likes")
_ALONE: Final[dict[str, Any]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
"""A query fetches nothing from the network, and does not see Python's variables."""
QUERY: Final = "query"
"""The name of the table of a user's query."""


class QueryError(ValueError):
    """The error for a query that is no SELECT, or that names something that there is not."""


class Tables:
    """The tables of some runs, to be used in a `with` block.

    Args:
        runs: with different names.
        on_read: called now and then with the bytes of journals that were read.
    """

    def __init__(self, runs: Sequence[Recorded], on_read: Callable[[int], None] = lambda _: None) -> None:
        self.runs, self._on_read = runs, on_read
        self.schema = tables_of_runs(runs)
        """The tables that the runs may have, by name."""
        self._made = [Made(run, self.schema, configs_of_feeds(runs)) for run in runs]
        self._of_journals = [journal_tables(run) for run in runs]
        self._types = self._types_of()
        self._views = dict(VIEWS)
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
        """The number of each kind of a run."""
        self._kept = dict[str, list[str]]()
        """The queries for the rows of relations that stay arrays."""
        self._loaded = set[str]()
        """The relations that are there, with their rows."""
        self._are_read = False
        self._directory = TemporaryDirectory(prefix="prism-tables-")
        self.database = duckdb.connect(config=_ALONE)
        # Objects of Python are read as texts: their types are not guessed from the first ones.
        for setting in (f"memory_limit='{MEMORY}'", f"temp_directory={literal(self._directory.name)}"):
            self._do(f"SET {setting}")
        listed = ", ".join(literal(run.name) for run in runs)
        self._do("SET timezone='UTC'; SET pandas_analyze_sample=0; ATTACH ':memory:' AS runs (COMPRESS); USE runs")
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
        """Return the result of a query. What it reads of the runs is read first.

        Raises:
            QueryError: it is wrong.
        """
        try:
            self._load(sql)
            return self.database.sql(sql)
        except duckdb.Error as error:
            if unknown := re.match(r"Catalog Error: Table with name (\S+) does not exist", str(error)):
                problem = f"there is no table {unknown[1]}; {guess(unknown[1], [*self.schema, *self._types])}"
                raise QueryError(problem) from None
            raise QueryError(_problem(error)) from None

    def add_query(self, sql: str) -> str:
        """Add the result of a query as a further table, and return its name.

        Raises:
            QueryError: it is wrong.
        """
        found = self.query(sql)
        columns = tuple(
            Column(name=name, kind=_kind_of(str(kind)), about="")
            for name, kind in zip(found.columns, found.types, strict=True)
        )
        self.schema[QUERY] = Table(name=QUERY, about=sql, columns=columns)
        self._views[QUERY] = sql.rstrip().rstrip(";")
        return QUERY

    def rows_of(self, name: str) -> str:
        """Return the query for the rows of a table, with the columns and types of its schema. They are read first.

        Names stay numbers, where DuckDB has them so: files have each once.
        """
        self.load(name)
        cells = (
            quoted(each.name)
            if each.kind is Kind.NAME
            else f"{quoted(each.name)}::{TYPES[each.kind]} AS {quoted(each.name)}"
            for each in self.schema[name].columns
        )
        return f"SELECT {', '.join(cells)} FROM {quoted(name)}"  # noqa: S608  # quoted

    def has(self, name: str) -> bool:
        """Return whether a run has a table, even one without rows. Other tables are there if they have a row."""
        declared = any(name in run.show.event_tables for run in self.runs)
        if name not in OF_EVENTS:
            declared = name != "judgements" or any(run.config.oracle.sharing.by != "none" for run in self.runs)
        return declared or bool(self.query(f"SELECT 1 FROM {quoted(name)} LIMIT 1").fetchall())  # noqa: S608  # quoted

    def note_lost(self) -> None:
        """Note how many answers of models took effect, but are missing in the log."""
        lost = "SELECT run, count(*) FROM questions WHERE source = 'llm' AND calls IS NULL GROUP BY run"
        of_runs = dict(self.query(lost).fetchall())
        for run in self.runs:
            if count := of_runs.get(run.name):
                answers = "1 answer" if count == 1 else f"{count:,} answers"
                run.notes.append(f"{ANSWERS} lacks {answers}, whose latency and cost are not known")

    @contextmanager
    def reading(self, name: str) -> Iterator[None]:
        """Turn an error into a QueryError if it is of a user's query, into a ConfigError if of a domain's own table."""
        try:
            yield
        except (duckdb.ProgrammingError, duckdb.DataError, QueryError) as error:
            if name == QUERY:
                raise QueryError(_problem(error)) from None
            if name not in self._own:
                raise
            raise domain_error(f"its table {name} cannot be read: {_problem(error)}") from None

    def _do(self, sql: str) -> None:
        self.database.execute(sql).fetchall()

    def load(self, *names: str) -> None:
        """Read what some tables need of the runs, at once."""
        self._load(" UNION ALL ".join(f"FROM {quoted(name)}" for name in names))

    def _load(self, sql: str) -> None:
        """Create the relations that a query reads, and those that these read, with their rows."""
        needed = self._needed(sql)
        stored = [name for name in needed if name not in self._views]
        for name in stored:
            if name not in _ARRAYS:
                columns = ", ".join(f"{quoted(column)} {kind}" for column, kind in self._types[name].items())
                self._do(f"CREATE TABLE {_relation(name)} ({columns})")
        self._read(stored)
        for made in self._made:
            for name in stored:
                for rows in made.relations.get(name, tuple)():
                    self._insert(name, made.run, rows)
        for name in needed:
            if name in _ARRAYS:
                nothing = ", ".join(f"NULL::{kind} AS {quoted(column)}" for column, kind in self._types[name].items())
                query = " UNION ALL BY NAME ".join([*self._kept.get(name, ()), f"SELECT {nothing} WHERE false"])
                self._do(f"CREATE VIEW {_relation(name)} AS {query}")
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
        beside = _BESIDE_UPDATES if "updates" in wanted else {}
        done = 0
        for run, tables in zip(self.runs, self._of_journals, strict=True):
            names = [name for name in wanted if name in tables and name != KINDS.name]
            if names or not self._are_read:

                def on_read(read: int, before: int = done) -> None:
                    self._on_read(before + read)

                for block in run.blocks({**beside, **run.record.all_of(*names)} if names else {}, on_read):
                    for name in names:
                        if len(block.tables[name].rows):
                            self._insert(f"journal.{name}", run, self._columns_of(run, block, tables[name]))
                self._numbers_of(run)
            done += run.journal_bytes
        self._are_read = True
        fields = {name: [row[place] for row in self._kinds] for place, name in enumerate(KIND_FIELDS)}
        for name, values in fields.items():
            texts = ", ".join(map(literal, dict.fromkeys(filter(None, values)))) or "''"
            listed = ", ".join(literal(value) if value else "NULL" for value in values)
            self._do(f"CREATE OR REPLACE MACRO kind_{name}(kind) AS ([{listed}]::ENUM({texts})[])[kind + 1]")
        is_so = {"moves": [each in MOVED for each in fields["source"]]}
        is_so |= {"decides": [each in DECIDED for each in fields["source"]]}
        is_so |= {"is_stale": [each == STALE for each in fields["reason"]]}
        for name, truths in is_so.items():
            self._do(f"CREATE OR REPLACE MACRO kind_{name}(kind) AS ({truths}::BOOLEAN[])[kind + 1]")
        for run in self.runs if KINDS.name in wanted else ():  # every join names the run
            self._insert("journal.kinds", run, {"kind": np.arange(len(self._kinds)), **fields})

    def _insert(self, name: str, run: Recorded, columns: Columns) -> None:
        own = {column: values for column, values in columns.items() if column in self._types[name]}
        if not own or not len(next(iter(own.values()))):
            return
        kept = self._kept.setdefault(name, [])
        relation = f"rows_{name.replace('.', '_')}_{len(kept)}"
        query = registered(self.database, relation, own, self._types[name])
        rows = f"SELECT {literal(run.name)}::run_name AS run, * FROM ({query})"  # noqa: S608  # quoted
        if name in _ARRAYS:
            kept.append(rows)
        else:
            self._do(f"INSERT INTO {_relation(name)} BY NAME {rows}")
            self.database.unregister(relation)

    def _columns_of(self, run: Recorded, block: Block, table: Table) -> Columns:
        """Return the rows of a table in a block, with texts in place of msgpack and of numbers of names."""
        rows = block.tables[table.name]
        found: dict[str, Any] = {"tick": tick_of_rows(rows), "wave": np.repeat(rows.waves, rows.rows)}
        for column in table.columns:
            values = rows.columns[column.name]
            if column.kind is Kind.PACKED:
                decoded = unpacked(values)
                if table.name == ATTRIBUTES.name:
                    found |= numbers_and_texts(decoded)
                else:
                    found[column.name] = [encode(each).decode() for each in decoded]
            elif isinstance(values, Heap):
                found[column.name] = values.texts()
            else:
                found[column.name] = np.array(column.names, object)[values] if column.names else values
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
        elif table.name == POSTS.name:
            found["template"] = template_texts(
                run.header.seed, found["tick"], rows.columns["agent"], rows.columns["what"]
            )
        return found

    def _numbers_of(self, run: Recorded) -> list[int]:
        """Return the number of each kind of a run that is known so far."""
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
        found["journal.updates"] |= {"post": "BIGINT"}
        found["journal.posts"] |= {"template": "VARCHAR"}
        found["journal.attributes"] |= {"number": "DOUBLE", "text": "VARCHAR"}
        found |= {name: {each.name: TYPES[each.kind] for each in table.columns} for name, table in self.schema.items()}
        found["made.people"] = dict.fromkeys(_ACTS, "BIGINT") | found["agents"]
        found["made.people"] |= {"initial": "VARCHAR", "acts": "BOOLEAN"}
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
    return " ".join(str(error).partition("\n\nLINE")[0].split())


def _kind_of(name: str) -> Kind:
    """Return the kind of a column of a query by its type in DuckDB."""
    kinds = {"BOOLEAN": Kind.BOOLEAN, "TIMESTAMP": Kind.TIME, **dict.fromkeys(("FLOAT", "DOUBLE"), Kind.NUMBER)}
    if name.startswith("DECIMAL"):
        return Kind.NUMBER
    return Kind.INTEGER if name.endswith(("INT", "INTEGER")) else kinds.get(name, Kind.TEXT)


def _relation(name: str) -> str:
    schema, _, own = name.partition(".")
    return f"{schema}.{quoted(own)}" if schema in {"journal", "made"} and own else quoted(name)
