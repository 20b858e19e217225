"""Writes the tables of settings and of columns in docs, and configs/schema.json: `python -m tests.docs.refresh`."""

import json
from collections.abc import Iterator
from pathlib import Path

from actors.tables.schema import shipped_tables
from prism.config import settings
from prism.config.config import schema
from prism.tables import AGENT, AT, RUN, TICK, Table
from tests.paths import ROOT

COMMON = (TICK, AT, AGENT)
"""Columns of many tables, which the page explains once; each table begins with `run`."""
SCHEMA = ROOT / "configs" / "schema.json"
SETTINGS, TABLES = (ROOT / "docs" / f"{name}.md" for name in ("settings", "tables"))
BEGIN = "<!-- {}: written by `python -m tests.docs.refresh`, do not edit below -->\n"
END = "<!-- {}: end -->"


def settings_markdown() -> str:
    """Return the table of all settings, without outer pipes."""
    rows = [("key", "type", "default", "meaning"), ("---",) * 4]
    rows += [(f"`{each.path}`", each.type, f"`{each.default}`", each.description) for each in settings()]
    return "\n".join(" | ".join(cell.replace("|", chr(92) + "|") for cell in row) for row in rows) + "\n"


def tables_markdown() -> str:
    """Return a section for each table."""
    return "\n".join(line for table in shipped_tables().values() for line in _section(table))


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


def refreshed() -> dict[Path, str]:
    """Return the content that each file should have: of a page, anew what is between its markers."""
    found = {SCHEMA: json.dumps(schema(), indent=1) + "\n"}
    for page, markdown in ((SETTINGS, settings_markdown()), (TABLES, tables_markdown())):
        begin, end = (mark.format(page.stem) for mark in (BEGIN, END))
        head, *rest = page.read_text(encoding="utf-8").split(begin)
        assert len(rest) == 1, f"{page} has lost its marker {begin}"
        assert rest[0].count(end) == 1, f"{page} has lost its marker {end}"
        found[page] = f"{head}{begin}\n{markdown}\n{end}{rest[0].partition(end)[2]}"
    return found


if __name__ == "__main__":
    for path, text in refreshed().items():
        path.write_text(text, encoding="utf-8")
