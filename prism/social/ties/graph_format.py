"""The format of a graph file, by its content: the extensions of names are not reliable."""

from __future__ import annotations

import re
from typing import Final, Literal

from prism.errors import InputError

GraphFormat = Literal["graphml", "gml", "pajek", "matrix_market", "table"]

HEAD_BYTES: Final = 64 * 1024
"""The beginning of a file, in which its format shows."""

EXPECTED: Final = "expected a table of ties, GraphML, GML, Pajek or MatrixMarket"
_FORMATS: Final[dict[GraphFormat, re.Pattern[str]]] = {
    "matrix_market": re.compile(r"%%matrixmarket\b", re.IGNORECASE),
    "pajek": re.compile(r"(?:\s*%[^\n]*\n)*\s*\*(?:network|vertices)\b", re.IGNORECASE),
    "graphml": re.compile(r"\s*<(?:.*?<)??(?:\w+:)?graphml\b", re.DOTALL),
    "gml": re.compile(
        r"(?:\s*(?:#[^\n]*|[A-Za-z]\w*[ \t]+(?:\"[^\"]*\"|[^\s\[]+)[ \t]*)\n)*\s*graph\s*\[", re.IGNORECASE
    ),
}
_OTHERS: Final = {
    "XML without an element `graphml`": re.compile(r"\s*<"),
    "a Graphviz file": re.compile(r"\s*(?:(?://|#)[^\n]*\n\s*)*(?:strict\s+)?(?:di)?graph\b[^\n\[{]*\{", re.IGNORECASE),
    "JSON": re.compile(r"\s*[\[{]"),
}
_BINARY: Final = (
    (b"PK\x03\x04", "a zip archive or spreadsheet"),
    (b"PAR1", "a Parquet file"),
    (b"SQLite format 3", "a database"),
)


def graph_format(data: bytes, source: str) -> GraphFormat:
    """Return the format of a file's content. Content of no known format is taken for a table of ties.

    Raises:
        InputError: the format is known and cannot be read.
    """
    for start, what in _BINARY:
        if data.startswith(start):
            raise InputError(source, f"is {what}: {EXPECTED}")
    head = data[:HEAD_BYTES].decode("utf-8-sig", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    for form, beginning in _FORMATS.items():
        if beginning.match(head):
            return form
    for what, beginning in _OTHERS.items():
        if beginning.match(head):
            raise InputError(source, f"is {what}: {EXPECTED}")
    return "table"
