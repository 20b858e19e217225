"""docs/tables.md lists the tables as the schema has them."""

from __future__ import annotations

from actors.results.schema import shipped_tables
from prism.tables import Table
from tests.catalogue import catalogue
from tests.docs.pages import read
from tests.docs.refresh_tables import DOCUMENT, with_tables

TABLES = shipped_tables()


def test_the_page_has_the_columns_of_the_schema() -> None:
    text = read(DOCUMENT)
    assert text == with_tables(text), "run `python -m tests.docs.refresh_tables`"


@catalogue("table", TABLES.values())
def test_every_key_names_a_column_of_the_same_type_in_another_table(table: Table) -> None:
    assert table.columns[0].name == "run"
    assert set(table.primary) <= {column.name for column in table.columns}
    for column in table.columns:
        if column.key:
            joined, _, name = column.key.partition(".")
            other = next(each for each in TABLES[joined].columns if each.name == name)
            assert other.kind == column.kind
            assert {"run", name} >= set(TABLES[joined].primary), "with the run it is enough to find one row"
