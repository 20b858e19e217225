"""Real cascades that a run is compared with, from a CSV file."""

from __future__ import annotations

import math
from itertools import groupby
from typing import Final

from prism.errors import InputError
from prism.scorecard.trees import ROOT, Tree
from prism.text_files import Table, decode_text, read_table

CASCADE_COLUMNS: Final = ("cascade", "node", "parent", "delay_minutes")


def columns_in(data: bytes, source: str) -> tuple[str, ...]:
    """Return the names in the first line of a table that is not blank, in lower case."""
    return _table(data, source)[0]


def parse_cascades(data: bytes, source: str) -> tuple[Tree, ...]:
    """Return the trees of a CSV file with `CASCADE_COLUMNS`: the rows of a cascade are together, the root (0) first."""
    names, table = _table(data, source)
    if missing := [name for name in CASCADE_COLUMNS if name not in names]:
        problem = f"missing column: {', '.join(missing[:3])}; expected {', '.join(CASCADE_COLUMNS)}"
        raise InputError(source, problem, line=1)
    places = [names.index(name) for name in CASCADE_COLUMNS]
    trees: list[Tree] = []
    seen: dict[str, None] = {}
    for name, rows in groupby(table.rows, key=lambda row: row[1][places[0]]):
        parents: list[int] = []
        minutes: list[float] = []
        for line, fields in rows:
            if name in seen:
                raise InputError(source, f"expected the rows of cascade {name} together", line=line)
            node, parent = (_number(fields[place], source, line, "node or parent") for place in places[1:3])
            if node != len(parents):
                raise InputError(source, f"expected node {len(parents)} of cascade {name}, got {node:g}", line=line)
            if parent != ROOT if node == 0 else not 0 <= parent < node or parent % 1:
                expected = "-1, as of a root" if node == 0 else f"a node before {node:g}"
                raise InputError(source, f"expected {expected}, got {parent:g}", key="parent", line=line)
            parents.append(int(parent))
            minutes.append(_number(fields[places[3]], source, line, CASCADE_COLUMNS[3]))
        trees.append(Tree(tuple(parents), tuple(minutes)))
        seen[name] = None
    if not trees:
        raise InputError(source, "holds no cascades: expected at least one line below the header")
    return tuple(trees)


def _table(data: bytes, source: str) -> tuple[tuple[str, ...], Table]:
    """Return the names of the columns in lower case, and the table."""
    table = read_table(decode_text(data, source), source, CASCADE_COLUMNS)
    if not table.header:
        raise InputError(source, "is empty: expected a line with the names of its columns")
    return tuple(name.lower() for name in table.header), table


def _number(text: str, source: str, line: int, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(source, f"expected a number, got {text[:60]!r}", key=name, line=line)
    return value
