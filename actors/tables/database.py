"""The tables of runs as relations of DuckDB, which are filled when a query first needs them.

`journal.NAME` is a table of the runs' journals as it is declared, with the run, the tick, its time and the wave of each
row, and with names in place of their numbers. `made.NAME` is what Python makes beside them. The exported tables are
views on these, a file below `sql` each, or are made by Python as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

import duckdb
import numpy as np
from msgspec.json import encode

from actors.core.kinds import ASKED
from actors.store.oracle_log import ANSWERS
from actors.store.record import Block, tick_of_rows
from actors.store.run import Recorded
from actors.tables.made import MADE_TYPES, Made
from actors.tables.relations import TYPES, Columns, as_arrays, literal, quoted
from actors.tables.schema import OF_EVENTS, attribute_columns, journal_tables, post_columns, tables_of_runs
from prism.agents import DECIDED, MOVED, STALE
from prism.agents.waves import Kind as Kinds
from prism.cells import Cells
from prism.events import ATTRIBUTES, EFFECTS, KINDS, OF_EVERY_RUN, OF_FEEDS
from prism.rows import Heap, unpacked
from prism.tables import Column, Kind, Table

MEMORY: Final = "512MB"
"""The most memory of DuckDB; the rest goes to a temporary file."""
VIEWS: Final = {
    path.name.removesuffix(".sql"): path.read_text()
    for path in sorted((files("actors.tables") / "sql").iterdir(), key=lambda path: path.name)
    if path.name.endswith(".sql")
}
"""`{view: its query}`."""
_ARRAYS: Final = frozenset({"edges", "made.people"})
"""The relations that stay arrays in memory: there Python has them anyway."""
_WHOLE: Final = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT")
QUERY: Final = "query"
"""The name of the table of a user's query."""
_ACTS: Final = ("posts", "replies", "reshares", "likes")


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
        of_feeds = [run.config for run in runs if "posts" in run.show.event_tables]
        of_columns = attribute_columns(of_feeds), post_columns(of_feeds)
        self._made = [Made(run, self.schema, *of_columns) for run in runs]
        self._of_journals = [journal_tables(run) for run in runs]
        self._types = self._types_of(of_columns[1])
        self._views = dict(VIEWS)
        for table in (each for tables in self._of_journals for each in tables.values()):
            if table.name in self.schema and table.name not in VIEWS:
                columns = ", ".join(quoted(each.name) for each in self.schema[table.name].columns)
                self._views[table.name] = f"SELECT {columns} FROM journal.{quoted(table.name)} ORDER BY rowid"  # noqa: S608  # quoted
        self._kept = dict[str, list[str]]()
        """The queries for the rows of relations that stay arrays."""
        self._loaded = set[str]()
        """The relations that are there, with their rows."""
        self._are_read = False
        self._directory = TemporaryDirectory(prefix="prism-tables-")
        self.database = duckdb.connect()
        # Objects of Python are texts or None: their types are not guessed from the first ones.
        spilled = f"temp_directory={literal(self._directory.name)}"
        for setting in (f"memory_limit='{MEMORY}'", spilled, "timezone='UTC'", "pandas_analyze_sample=0"):
            self._do(f"SET {setting}")
        listed = ", ".join(literal(run.name) for run in runs)
        self._do(f"CREATE SCHEMA journal; CREATE SCHEMA made; CREATE TYPE run_name AS ENUM ({listed})")

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
        except (duckdb.ProgrammingError, duckdb.DataError) as error:
            raise QueryError(str(error)) from None

    def add_query(self, sql: str) -> str:
        """Add the result of a query as a further table, and return its name.

        Raises:
            QueryError: it is wrong.
        """
        found = self.query(sql)
        kinds = {"BOOLEAN": Kind.BOOLEAN, "TIMESTAMP": Kind.TIME, **dict.fromkeys(_WHOLE, Kind.INTEGER)}
        kinds |= dict.fromkeys(("FLOAT", "DOUBLE"), Kind.NUMBER)
        types = zip(found.columns, map(str, found.types), strict=True)
        columns = tuple(
            Column(name=name, kind=Kind.NUMBER if kind.startswith("DECIMAL") else kinds.get(kind, Kind.TEXT), about="")
            for name, kind in types
        )
        self.schema[QUERY] = Table(name=QUERY, about=sql, columns=columns)
        self._views[QUERY] = sql.rstrip().rstrip(";")
        return QUERY

    def rows_of(self, name: str) -> str:
        """Return the query for the rows of a table, with the columns and types of its schema. They are read first."""
        self._load(f"FROM {quoted(name)}")
        columns = (
            f"{quoted(each.name)}::{TYPES[each.kind]} AS {quoted(each.name)}" for each in self.schema[name].columns
        )
        return f"SELECT {', '.join(columns)} FROM {quoted(name)}"  # noqa: S608  # quoted

    def load(self, *names: str) -> None:
        """Read what some tables need of the runs."""
        self._load(" UNION ALL ".join(f"FROM {quoted(name)}" for name in names))

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

    def _do(self, sql: str) -> None:
        self.database.execute(sql).fetchall()

    def _load(self, sql: str) -> None:
        """Create the relations that a query reads, and those that these read."""
        needed = self._needed(sql)
        filled = [name for name in needed if name not in self._views]
        for name in (each for each in filled if each not in _ARRAYS):
            columns = ", ".join(f"{quoted(column)} {kind}" for column, kind in self._types[name].items())
            self._do(f"CREATE TABLE {_relation(name)} ({columns})")
        self._read(filled)
        for made in self._made:
            for name in filled:
                for rows in made.relations.get(name, tuple)():
                    self._insert(name, made.run, rows)
            if any(table.name in filled for table in made.run.show.tables):
                for name, rows in made.gathered():
                    if name in filled:
                        self._insert(name, made.run, rows)
        for name in needed:
            if name in _ARRAYS:
                nothing = ", ".join(f"NULL::{kind} AS {quoted(column)}" for column, kind in self._types[name].items())
                kept = self._kept.get(name) or [f"SELECT {nothing} WHERE false"]
                self._do(f"CREATE VIEW {_relation(name)} AS {' UNION ALL '.join(kept)}")
            elif name in self._views:
                self._do(f"CREATE VIEW {_relation(name)} AS {self._views[name]}")
        self._loaded |= {*needed}

    def _needed(self, sql: str) -> list[str]:
        """Return the relations that a query needs and that are not there, each after those that it reads."""
        found = dict[str, None]()
        for name in self._names_in(sql):
            if name not in self._loaded and (name in self._views or name in self._types):
                found |= dict.fromkeys([*(self._needed(self._views[name]) if name in self._views else ()), name])
        return [*found]

    def _names_in(self, sql: str) -> list[str]:
        """Return the relations that a query reads; common table expressions are among them."""
        ((text,),) = self.database.execute("SELECT json_serialize_sql($1)", [sql]).fetchall()
        tree, found = json.loads(text), list[str]()
        if tree["error"]:
            raise QueryError(tree["error_message"])

        def walk(part: Any) -> None:
            if isinstance(part, dict) and part.get("type") == "BASE_TABLE":
                found.append(f"{part['schema_name']}.{part['table_name']}".removeprefix(".").removeprefix("main."))
            for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
                walk(each)

        walk(tree)
        return found

    def _read(self, relations: Sequence[str]) -> None:
        """Read journals for their relations. The first time they are read to the end, whatever is wanted."""
        wanted = [name.removeprefix("journal.") for name in relations if name.startswith("journal.")]
        done = 0
        for run, tables in zip(self.runs, self._of_journals, strict=True):
            names = [name for name in wanted if name in tables and name != KINDS.name]
            if names or not self._are_read:

                def on_read(read: int, before: int = done) -> None:
                    self._on_read(before + read)

                for block in run.blocks(run.record.all_of(*names) if names else {}, on_read):
                    for name in names:
                        if len(block.tables[name].rows):
                            self._insert(f"journal.{name}", run, _columns_of(run, block, tables[name]))
            if KINDS.name in wanted:
                self._insert("journal.kinds", run, _kinds(run))
            done += run.journal_bytes
        self._are_read = True

    def _insert(self, name: str, run: Recorded, columns: Columns) -> None:
        types = self._types[name]
        arrays = as_arrays(columns, types)
        if not arrays or not len(next(iter(arrays.values()))):
            return
        given = {"run": literal(run.name), **{column: f"c{place}" for place, column in enumerate(arrays)}}
        values = {f"c{place}": each for place, each in enumerate(arrays.values())}
        if name in _ARRAYS:
            kept = self._kept.setdefault(name, [])
            cells = (f"{given.get(column, 'NULL')}::{kind} AS {quoted(column)}" for column, kind in types.items())
            relation = f"{name}_{len(kept)}".replace(".", "_")
            self.database.register(relation, values)
            kept.append(f"SELECT {', '.join(cells)} FROM {relation}")  # noqa: S608  # quoted
            return
        self.database.register("rows_of_python", values)
        listed = ", ".join(f"{cell} AS {quoted(column)}" for column, cell in given.items())
        self._do(f"INSERT INTO {_relation(name)} BY NAME SELECT {listed} FROM rows_of_python")  # noqa: S608  # quoted
        self.database.unregister("rows_of_python")

    def _types_of(self, of_posts: Mapping[str, Column]) -> dict[str, dict[str, str]]:
        """Return `{relation: {column: its type}}` of all relations that are no views."""
        known = {table.name: table for table in (*OF_EVERY_RUN, *OF_FEEDS)}
        found = dict[str, dict[str, str]]()
        for name, table in [*known.items(), *(each for tables in self._of_journals for each in tables.items())]:
            own = {each.name: TYPES[each.kind] for each in table.columns}
            before = {"tick": "BIGINT", "time": "TIMESTAMP", **({"wave": "BIGINT"} if name in known else {})}
            found[f"journal.{name}"] = {"run": "run_name", **found.get(f"journal.{name}", {}), **own, **before}
        found["journal.kinds"] = {"run": "run_name", "kind": "BIGINT", **dict.fromkeys(Kinds._fields, "VARCHAR")}
        found["journal.kinds"] |= {
            "effect_name": "VARCHAR",
            **dict.fromkeys(("moves", "decides", "is_stale"), "BOOLEAN"),
        }
        found["journal.effects"] |= {"name": "VARCHAR"}
        found["journal.attributes"] |= {"number": "DOUBLE", "text": "VARCHAR"}
        for name, table in self.schema.items():
            found[name] = {each.name: TYPES[each.kind] for each in table.columns} | {"run": "run_name"}
        found["made.people"] = {
            **dict.fromkeys(_ACTS, "BIGINT"),
            **found["agents"],
            "initial": "VARCHAR",
            "acts": "BOOLEAN",
        }
        attributes = {column.name: TYPES[column.kind] for column in of_posts.values()}
        found["made.file_posts"] = {"run": "run_name", "number": "BIGINT", "text": "VARCHAR", **attributes}
        return found | {name: {"run": "run_name", **types} for name, types in MADE_TYPES.items()}


def _columns_of(run: Recorded, block: Block, table: Table) -> Columns:
    """Return the rows of a table in a block, with names in place of their numbers, and JSON in place of msgpack."""
    rows = block.tables[table.name]
    ticks = tick_of_rows(rows)
    found: dict[str, Any] = {}
    for column in table.columns:
        values = rows.columns[column.name]
        if isinstance(values, Heap):
            if column.kind is not Kind.PACKED:
                found[column.name] = values.texts()
            elif table.name == ATTRIBUTES.name:
                found |= _split(unpacked(values))
            else:
                decoded = unpacked(values)
                found[column.name] = [encode(each).decode() for each in decoded]
                if table.name == EFFECTS.name:
                    found["name"] = [*map(run.show.effect_name, decoded)]
        else:
            found[column.name] = Cells(values, column.names) if column.names else values
    return {**found, "tick": ticks, "time": run.times(ticks), "wave": np.repeat(rows.waves, rows.rows)}


def _split(values: Any) -> Columns:
    """Return the numbers and the texts among values."""
    if isinstance(values, np.ndarray):
        return {"number": values.astype(np.float64), "text": Cells.same(None, len(values))}
    numbers = [None if isinstance(value, str) else value for value in values]
    return {"number": numbers, "text": [value if isinstance(value, str) else None for value in values]}


def _kinds(run: Recorded) -> Columns:
    kinds = run.record.kinds
    name = run.show.effect_name
    return {
        "kind": np.arange(len(kinds)),
        **{field: [getattr(kind, field) for kind in kinds] for field in Kinds._fields},
        "effect_name": [name(kind.effect) if kind.effect and kind.source != ASKED else None for kind in kinds],
        "moves": np.array([kind.source in MOVED for kind in kinds], np.bool_),
        "decides": np.array([kind.source in DECIDED for kind in kinds], np.bool_),
        "is_stale": np.array([kind.reason == STALE for kind in kinds], np.bool_),
    }


def _relation(name: str) -> str:
    schema, _, own = name.partition(".")
    return f"{schema}.{quoted(own)}" if schema in {"journal", "made"} and own else quoted(name)
