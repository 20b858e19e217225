"""Writes the lists of columns in docs/tables.md from their schema: `python -m tests.docs.refresh_tables`."""

from collections.abc import Iterator

from actors.tables.schema import shipped_tables
from prism.tables import AGENT, AT, RUN, TICK, Table
from tests.paths import ROOT

TABLES = shipped_tables()

COMMON = (TICK, AT, AGENT)
"""Columns of many tables, which the page explains once; each table begins with `run`."""
DOCUMENT = ROOT / "docs" / "tables.md"
BEGIN = "<!-- tables: written by `python -m tests.docs.refresh_tables` from the schema, do not edit below -->\n"
END = "<!-- tables: end -->"


def with_tables(text: str) -> str:
    """Return the document with the tables between the markers."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    assert begin, f"{DOCUMENT} has lost its marker {BEGIN}"
    assert end, f"{DOCUMENT} has lost its marker {END}"
    return f"{head}{begin}\n{tables_markdown()}\n{end}{tail}"


def tables_markdown() -> str:
    """Return a section for each table."""
    return "\n".join(line for table in TABLES.values() for line in _section(table))


def _section(table: Table) -> Iterator[str]:
    common = [column for column in table.columns if column in COMMON and column.name not in table.primary]
    key = f" Key: {', '.join(f'`{name}`' for name in table.primary)}." if table.primary else ""
    absent = f" Absent if: {table.absent}." if table.absent else ""
    besides = f" It also has {', '.join(f'`{column.name}`' for column in common)}." if common else ""
    yield f"### {table.name}\n"
    yield f"A row is {table.about}.{key}{absent}{besides}\n"
    yield "column | type | meaning\n--- | --- | ---"
    for column in table.columns:
        if column == RUN or column in common:
            continue
        kind = f"{column.kind}, {column.unit}" if column.unit else column.kind
        yield f"`{column.name}` | {kind} | {column.about}{f' (= `{column.key}`)' if column.key else ''}"
    yield f"\nFurther columns: {table.varies}.\n" if table.varies else ""


if __name__ == "__main__":
    DOCUMENT.write_text(with_tables(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
