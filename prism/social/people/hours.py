"""Activity by hour of the day: 24 figures, of a configuration or of a table of counts.

Source: Malmgren et al., "A Poissonian explanation for heavy tails in e-mail communication" (2008), where the rate of a
person's messages is a base rate times a factor of the hour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from prism.config.model import DAY_HOURS, hours_problem
from prism.errors import InputError
from prism.expectations import found
from prism.text_files import check_format, check_width, decode_text, separator_of, table_rows

COLUMNS: Final = tuple(f"h{hour:02d}" for hour in range(DAY_HOURS))
"""The columns of a table of counts. Others, such as a person's id, may be there too."""


def relative(figures: Sequence[float]) -> tuple[float, ...]:
    """Return figures of which not all are 0 as factors whose mean is 1."""
    total = math.fsum(figures)
    return tuple(len(figures) * figure / total for figure in figures)


def hour_at(epoch: datetime, seconds: float) -> int:
    """Return the hour, 0 to 23, that a clock with the epoch's UTC offset shows so many seconds after the epoch."""
    return (epoch + timedelta(seconds=seconds)).hour


def hours_lines(hours: object) -> tuple[str, ...]:
    """Return a line about a file of hours, if one is named: its rows are not joined to people."""
    return (f"{hours}: the sums of all rows, the same hours for everybody",) if isinstance(hours, str) else ()


def check_hours_format(source: str) -> None:
    """Refuse a file whose extension is not that of a table."""
    check_format(source, "counts by hour", (".csv", ".tsv"))


def parse_hours(data: bytes, source: str) -> tuple[float, ...]:
    """Return the sums of the columns h00 to h23 of a table."""
    return tuple(math.fsum(column) for column in zip(*parse_accounts(data, source), strict=True))


def parse_accounts(data: bytes, source: str) -> tuple[tuple[float, ...], ...]:
    """Return the columns h00 to h23 of each row of a table, which is an account."""
    check_hours_format(source)
    text = decode_text(data, source)
    table = table_rows(text, source, separator_of(text, COLUMNS))
    header = [name.strip().lower() for name in next(table, (1, []))[1]]
    for name in COLUMNS:
        if header.count(name) != 1:
            problem = f"expected a header with each of h00 to h23 once, got {header.count(name)} times {name}"
            raise InputError(source, problem, line=1)
    accounts = []
    for line, row in table:
        if not any(map(str.strip, row)):
            continue
        check_width(row, len(header), source, line)
        counts = []
        for name in COLUMNS:
            cell = row[header.index(name)]
            try:
                count = float(cell)
            except ValueError:
                count = math.nan
            if not 0.0 <= count <= 1e15:
                raise InputError(source, f"expected a count from 0 to 1e15, got {found(cell)}", key=name, line=line)
            counts.append(count)
        accounts.append(tuple(counts))
    if problem := hours_problem(tuple(math.fsum(row[hour] for row in accounts) for hour in range(DAY_HOURS))):
        raise InputError(source, problem)
    return tuple(accounts)
