"""Edge lists: text files with one tie a line, as SNAP, KONECT, Gephi and spreadsheets write them.

A line has two ids, separated by spaces, tabs or a comma. Everything after them (a weight, a date) is ignored, and so
are blank lines and lines that begin with `#` or `%`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import islice

import numpy as np

from prism.errors import InputError
from prism.social.graph import FollowGraph
from prism.text_files import decode_text, file_format

_INTEGER = re.compile(r"-?[0-9]{1,18}")
"""The form of an id that is sorted by value; 18 digits fit 64 bits."""
_COMMENTS = ("#", "%")
_TABLES = (".csv", ".tsv")
_HEADERS = (("source", "target"), ("from", "to"), ("follower", "followee"), ("follower", "following"))
_SHOWN = 60
"""The most characters of a wrong line in a message."""


def parse_edges(data: bytes, source: str, *, directed: bool) -> FollowGraph:
    """Return the graph in an edge list.

    People are numbered by ascending id if all ids are integers, else in the order in which they first appear; `names`
    holds their ids as the file has them. Repeated ties and ties of an id to itself are dropped and counted.

    Args:
        data: the file's contents, not compressed.
        source: the file's name: messages show it, and `.csv` and `.tsv` files may have a header.
        directed: `a b` means that a follows b; otherwise they follow each other.

    Raises:
        InputError: the text is not UTF-8, a line does not have two ids, or there is no tie.
    """
    number_of: dict[str, int] = {}
    ends: list[int] = []
    for first, second in _pairs(decode_text(data, source), source):
        ends.append(number_of.setdefault(first, len(number_of)))
        ends.append(number_of.setdefault(second, len(number_of)))
    names = list(number_of)
    ties = np.array(ends, dtype=np.int64)
    if all(map(_INTEGER.fullmatch, names)):
        order = sorted(range(len(names)), key=lambda number: int(names[number]))
        rank = np.empty(len(names), dtype=np.int64)
        rank[order] = np.arange(len(names))
        names, ties = [names[number] for number in order], rank[ties]
    graph = FollowGraph(len(names), ties[0::2], ties[1::2], names=names, mutual=not directed)
    if not graph.edges:
        raise InputError(source, "holds no ties: expected lines with two different ids")
    return graph


def _pairs(text: str, source: str) -> Iterator[tuple[str, str]]:
    """Yield the two ids of each line, without a header."""
    rows = _rows(text, source)
    if file_format(source) in _TABLES:
        head = list(islice(rows, 2))
        yield from head[1:] if _is_header(*head) else head
    yield from rows


def _is_header(first: tuple[str, str] | None = None, second: tuple[str, str] | None = None) -> bool:
    """Return whether a table's first row has column names: words above integers, or a common pair of words."""
    if first is None:
        return False
    if (first[0].lower(), first[1].lower()) in _HEADERS:
        return True
    return second is not None and _are_integers(second) and not _are_integers(first)


def _rows(text: str, source: str) -> Iterator[tuple[str, str]]:
    """Yield the first two fields of each line that is neither blank nor a comment."""
    by_comma: bool | None = None
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not line or line.startswith(_COMMENTS):
            continue
        if by_comma is None:  # one separator for the whole file, so that an id may contain the other
            by_comma = "," in line
        fields = _comma_fields(line) if by_comma else line.split()
        if len(fields) < 2 or not fields[0] or not fields[1]:
            between = "a comma" if by_comma else "spaces or a tab"
            shown = line if len(line) <= _SHOWN else line[:_SHOWN] + "..."
            raise InputError(source, f"expected two ids with {between} between them, got {shown!r}", line=number)
        yield fields[0], fields[1]


def _comma_fields(line: str) -> list[str]:
    """Return the fields of a comma-separated line; none if its quotes do not match, which no id can mean."""
    if '"' not in line:
        return [field.strip() for field in line.split(",")]
    try:
        return [field.strip() for field in next(csv.reader([line], strict=True, skipinitialspace=True))]
    except csv.Error:
        return []


def _are_integers(ids: tuple[str, str]) -> bool:
    return all(map(_INTEGER.fullmatch, ids))
