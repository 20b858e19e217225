"""Designs as tables: a CSV file with a row for each condition and a column for each setting."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from msgspec.structs import replace

from prism.config.document import read_value
from prism.errors import ConfigError
from prism.experiment.design import CONDITIONS_MAX, Condition

NAME = "name"


def table_conditions(text: str, source: str) -> tuple[Condition, ...]:
    """Return the conditions of a CSV text: a header with settings and perhaps `name`, and a row for each condition.

    A cell is read as a value in a configuration: `3`, `0.5`, `true`, `hot`. Without names, a row is called by its
    number: `c1` is the first one below the header.

    Raises:
        ConfigError: what is wrong, with the line and the column.
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[tuple[int, list[str]]] = []
    try:
        rows.extend((reader.line_num, row) for row in reader if any(cell.strip() for cell in row))
    except csv.Error as error:
        raise ConfigError(source, f"is no CSV: {error}", line=reader.line_num) from None
    if len(rows) < 2:
        raise ConfigError(source, "expected a line with the names of settings, and a line for each condition")
    header = [cell.strip().removeprefix("\ufeff") for cell in rows[0][1]]
    _check_header(header, source, rows[0][0])
    if len(rows) - 1 > CONDITIONS_MAX:
        raise ConfigError(source, f"expected at most {CONDITIONS_MAX:,} conditions, got {len(rows) - 1:,}")
    width, found = len(str(len(rows) - 1)), list[Condition]()
    lines: dict[str, int] = {}
    for number, (line, row) in enumerate(rows[1:], start=1):
        each = replace(_condition(header, row, f"c{number:0{width}d}", source, line), header=rows[0][0])
        if each.name in lines:
            problem = f"the name {each.name} stands in line {lines[each.name]}, too"
            raise ConfigError(source, problem, key=NAME, line=line)
        lines[each.name] = line
        found.append(each)
    return tuple(found)


def _check_header(header: Sequence[str], source: str, line: int) -> None:
    for place, name in enumerate(header, start=1):
        if not name:
            raise ConfigError(source, f"column {place} has no name", line=line)
        if header.count(name) > 1:
            raise ConfigError(source, f"the column {name} stands twice", line=line)
    if not [name for name in header if name != NAME]:
        raise ConfigError(source, "expected a column for a setting, such as feed.size", line=line)


def _condition(header: Sequence[str], row: Sequence[str], number: str, source: str, line: int) -> Condition:
    if len(row) != len(header):
        raise ConfigError(source, f"expected {len(header)} cells, got {len(row)}", line=line)
    name, values = number, {}
    for column, cell in zip(header, row, strict=True):
        text = cell.strip()
        if not text:
            raise ConfigError(source, "is empty: expected a value in every row", key=column, line=line)
        if column == NAME:
            name = text
            continue
        try:
            values[column] = read_value(text, source, column)
        except ConfigError as error:
            raise ConfigError(source, error.problem, key=column, line=line) from None
    return Condition(name=name, settings=values, factors=values, line=line)
