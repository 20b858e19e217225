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
from prism.social.people.profile_rows import KINDS
from prism.social.ties.follow_lists import plain_id
from prism.text_files import TABLES, check_format, decode_text, read_table

COLUMNS: Final = tuple(f"h{hour:02d}" for hour in range(DAY_HOURS))
"""The columns of a table of counts. Others may be there, too."""


class Hours(NamedTuple):
    """A table of counts.

    Args:
        counts: a row for each account, a column for each hour.
        ids: the account of each row; empty if the table has no column of ids, which is `column`.
    """

    counts: NDArray[np.float64]
    ids: tuple[str, ...] = ()
    column: str = ""

    @property
    def sums(self) -> list[float]:
        return [math.fsum(column) for column in self.counts.T]


def relative(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows of counts, of which not all in a row are 0, as factors whose mean is 1."""
    factors: NDArray[np.float64] = DAY_HOURS * counts / np.array([[math.fsum(row)] for row in counts])
    return factors


def hour_at(epoch: datetime, seconds: float) -> int:
    """Return the hour, 0 to 23, that a clock with the epoch's UTC offset shows so many seconds after the epoch."""
    return (epoch + timedelta(seconds=seconds)).hour


def parse_hours(data: bytes, source: str, _: object = None) -> Hours:
    """Return the columns h00 to h23 of a table, and the first of the columns that profiles have ids in."""
    check_format(source, "counts by hour", TABLES)
    text = decode_text(data, source)
    table = read_table(text, source, COLUMNS)
    header = [name.lower() for name in table.header]
    for name in COLUMNS:
        if header.count(name) != 1:
            problem = f"expected a header with each of h00 to h23 once, got {header.count(name)} times {name}"
            raise InputError(source, problem, line=1)
    column = next((name for name in (*KINDS["id"], *KINDS["username"]) if name in header), "")
    accounts, ids = list[list[float]](), list[str]()
    for line, row in table.rows:
        if column:
            ids.append(plain_id(row[header.index(column)]))
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
        accounts.append(counts)
    made = Hours(np.array(accounts).reshape(-1, DAY_HOURS), tuple(ids), column)
    if problem := hours_problem(tuple(made.sums)):
        raise InputError(source, problem)
    return made
