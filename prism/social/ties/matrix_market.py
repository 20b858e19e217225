"""Graphs in MatrixMarket files, as SuiteSparse, Network Repository and scipy write them: an entry is a tie.

Source: Boisvert, Pozo & Remington, "The Matrix Market exchange formats" (1996).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prism.errors import InputError
from prism.social.ties.cells import COUNT
from prism.social.ties.graph import FollowGraph, Numbered, check_people, understood
from prism.text_files import decode_text

_VALUES = {"pattern": 0, "integer": 1, "real": 1, "double": 1, "complex": 2}
"""The number of values behind the row and the column of an entry."""


def parse_matrix_market(data: bytes, source: str) -> FollowGraph:
    """Return the graph in a MatrixMarket file: the person of an entry's row follows the one of its column.

    People are numbered as rows are, from 1 on; some may have no tie. A symmetric matrix holds friendships. An entry of
    0 is no tie.

    Raises:
        InputError: the matrix is not square or not sparse, an entry is wrong, or there is no tie.
    """
    lines = decode_text(data, source).split("\n")
    kept = [(number, cells) for number, line in enumerate(lines, 1) if (cells := line.split()) and cells[0][0] != "%"]
    values, mutual = _banner(lines[0], source)
    if not kept:
        raise InputError(source, "bad MatrixMarket: expected a line with its size, got the end of the file")
    size, entries = _size(*kept[0], source)
    check_people(size, source, kept[0][0])
    if len(kept) - 1 != entries:
        raise InputError(
            source, f"bad MatrixMarket: expected {entries:,} entries, got {len(kept) - 1:,}", line=kept[0][0]
        )
    ends, zeros = _entries(kept[1:], size, values, source)
    graph = FollowGraph(size, ends[:, 0], ends[:, 1], names=Numbered(size, 1), mutual=mutual)
    if not graph.edges:
        raise InputError(source, "holds no ties: expected entries beside the diagonal")
    said = [f"a {'symmetric' if mutual else 'general'} MatrixMarket matrix"]
    if zeros:
        said.append(f"{zeros:,} entries of 0 are no ties")
    first = (graph.names[ends[0, 0]], graph.names[ends[0, 1]])
    graph.understood = understood(graph, said, first, mutual=mutual)
    return graph


def _banner(line: str, source: str) -> tuple[int, bool]:
    """Return the number of values of an entry, and whether the matrix is symmetric."""
    words = line.lower().split()
    if len(words) != 5 or words[1:3] != ["matrix", "coordinate"] or words[3] not in _VALUES:
        problem = "expected `%%MatrixMarket matrix coordinate` and pattern, integer or real"
        raise InputError(source, f"bad MatrixMarket: {problem}, got {line[:60]!r}", line=1)
    if words[4] not in ("general", "symmetric"):
        raise InputError(source, f"bad MatrixMarket: expected a general or symmetric matrix, got {words[4]!r}", line=1)
    return _VALUES[words[3]], words[4] == "symmetric"


def _size(number: int, cells: Sequence[str], source: str) -> tuple[int, int]:
    """Return the number of people and of entries."""
    if len(cells) != 3 or not all(map(COUNT.fullmatch, cells)) or cells[0] != cells[1]:
        problem = f"expected the numbers of rows, of columns (as many) and of entries, got {' '.join(cells)[:60]!r}"
        raise InputError(source, f"bad MatrixMarket: {problem}", line=number)
    return int(cells[0]), int(cells[2])


def _entries(
    kept: Sequence[tuple[int, list[str]]], size: int, values: int, source: str
) -> tuple[NDArray[np.int64], int]:
    """Return the row and the column of each entry from 0 on, of shape (entries, 2), and the number of entries of 0."""
    ends, zeros = list[tuple[int, int]](), 0
    for number, cells in kept:
        try:
            row, column, *entry = int(cells[0]), int(cells[1]), *map(float, cells[2:])
        except (ValueError, IndexError):
            row, column, entry = 0, 0, []
        if not (0 < row <= size and 0 < column <= size and len(entry) == values):
            problem = f"expected a row and a column from 1 to {size}{' and its value' if values else ''}"
            raise InputError(source, f"bad MatrixMarket: {problem}, got {' '.join(cells)[:60]!r}", line=number)
        if values and not any(entry):
            zeros += 1
        else:
            ends.append((row - 1, column - 1))
    return np.array(ends, dtype=np.int64).reshape(-1, 2), zeros
