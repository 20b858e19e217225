"""Activity by hour of the day: 24 figures, of a configuration or of a table of counts.

Source: Malmgren et al., "A Poissonian explanation for heavy tails in e-mail communication" (2008), where the rate of a
person's messages is a base rate times a factor of the hour.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.config.model import DAY_HOURS, hours_problem
from prism.errors import InputError
from prism.expectations import found
from prism.text_files import TABLES, check_format, decode_text, plain_number, read_table
from prism.wording import counted

COLUMNS: Final = tuple(f"h{hour:02d}" for hour in range(DAY_HOURS))
"""The columns of a table of counts. Others may be there, too."""


class Hours(NamedTuple):
    """A table of counts."""

    counts: NDArray[np.float64]  # a row for each account, a column for each hour
    others: tuple[str, ...] = ()  # the names of its other columns

    def understood(self, path: str) -> str:
        unused = f"; not used: {', '.join(f'`{name}`' for name in self.others)}" if self.others else ""
        return f"{path}: the sums of {counted(len(self.counts), 'row')} are everybody's hours{unused}"


def factors(hours: Hours | tuple[float, ...] | None) -> NDArray[np.float64]:
    """Return the factors of activity of the hours of a day, whose mean is 1; none if all hours are alike.

    Args:
        hours: the figures of a configuration, or a table, of which the sums of all rows count.
    """
    if hours is None:
        return np.zeros(0)
    columns = np.array([hours]) if not isinstance(hours, Hours) else hours.counts
    figures = np.array([math.fsum(column) for column in columns.T])
    return np.asarray(DAY_HOURS * figures / math.fsum(figures))


def hour_at(epoch: datetime, seconds: float) -> int:
    """Return the hour, 0 to 23, that a clock with the epoch's UTC offset shows so many seconds after the epoch."""
    return (epoch + timedelta(seconds=seconds)).hour


def parse_hours(data: bytes, source: str, _: object = None) -> Hours:
    """Return the columns h00 to h23 of a table."""
    check_format(source, "counts by hour", TABLES)
    table = read_table(decode_text(data, source), source, COLUMNS)
    header = [name.lower() for name in table.header]
    for name in COLUMNS:
        if header.count(name) != 1:
            problem = f"expected a header with each of h00 to h23 once, got {header.count(name)} times {name}"
            raise InputError(source, problem, line=1)
    places, accounts = [header.index(name) for name in COLUMNS], list[list[float]]()
    for line, row in table.rows:
        accounts.append([])
        for name, place in zip(COLUMNS, places, strict=True):
            count = plain_number(row[place])
            if count is None or not 0.0 <= count <= 1e15:
                raise InputError(
                    source, f"expected a count from 0 to 1e15, got {found(row[place])}", key=name, line=line
                )
            accounts[-1].append(count)
    counts = np.array(accounts).reshape(-1, DAY_HOURS)
    if problem := hours_problem(tuple(counts.sum(axis=0).tolist())):
        raise InputError(source, problem)
    return Hours(counts, tuple(name for name in table.header if name.lower() not in COLUMNS))
