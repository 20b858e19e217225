"""Graphs in MatrixMarket files, as SuiteSparse, Network Repository and scipy write them: an entry is a tie.

Source: Boisvert, Pozo & Remington, "The Matrix Market exchange formats" (1996).
"""

from __future__ import annotations

import numpy as np

from prism.errors import InputError
from prism.social.ties.cells import COUNT
from prism.social.ties.graph import FollowGraph, Numbered, check_people, graph_of_file
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

    def wrong(problem: str, line: int | None = None) -> InputError:
        return InputError(source, f"bad MatrixMarket: {problem}", line=line)

    # 1. The first line says what the values are, and whether the matrix is symmetric.
    words = lines[0].lower().split()
    if len(words) != 5 or words[1:3] != ["matrix", "coordinate"] or words[3] not in _VALUES:
        expected = "expected `%%MatrixMarket matrix coordinate` and pattern, integer or real"
        raise wrong(f"{expected}, got {lines[0][:60]!r}", 1)
    if words[4] not in ("general", "symmetric"):
        raise wrong(f"expected a general or symmetric matrix, got {words[4]!r}", 1)
    values, mutual = _VALUES[words[3]], words[4] == "symmetric"
    # 2. The first of the others has the size.
    kept = [(number, cells) for number, line in enumerate(lines, 1) if (cells := line.split()) and cells[0][0] != "%"]
    if not kept:
        raise wrong("expected a line with its size, got the end of the file")
    (head, cells), *rows = kept
    if len(cells) != 3 or not all(map(COUNT.fullmatch, cells)) or cells[0] != cells[1]:
        expected = "expected the numbers of rows, of columns (as many) and of entries"
        raise wrong(f"{expected}, got {' '.join(cells)[:60]!r}", head)
    size, entries = int(cells[0]), int(cells[2])
    check_people(size, source, head)
    if len(rows) != entries:
        raise wrong(f"expected {entries:,} entries, got {len(rows):,}", head)
    # 3. The entries, whose rows and columns count from 1.
    ties = list[tuple[int, int]]()
    for number, cells in rows:
        try:
            row, column, *entry = int(cells[0]), int(cells[1]), *map(float, cells[2:])
        except (ValueError, IndexError):
            row, column, entry = 0, 0, []
        if not (0 < row <= size and 0 < column <= size and len(entry) == values):
            expected = f"expected a row and a column from 1 to {size}{' and its value' if values else ''}"
            raise wrong(f"{expected}, got {' '.join(cells)[:60]!r}", number)
        if not values or any(entry):
            ties.append((row - 1, column - 1))
    said = [f"a {'symmetric' if mutual else 'general'} MatrixMarket matrix"]
    if zeros := len(rows) - len(ties):
        said.append(f"{zeros:,} entries of 0 are no ties")
    ends = np.array(ties, dtype=np.int64).reshape(-1, 2)
    return graph_of_file(source, Numbered(size, 1), ends, said, "entries beside the diagonal", mutual=mutual)
