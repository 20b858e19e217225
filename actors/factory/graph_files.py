"""Graph files of all formats. GraphML and GML are read here, by igraph, which reads only from files."""

from __future__ import annotations

import html
import re
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from prism.config.model import GraphConfig
from prism.errors import InputError
from prism.social.ties.edges import parse_edges
from prism.social.ties.graph import FollowGraph, from_igraph, understood
from prism.social.ties.graph_library import load_igraph
from prism.social.ties.matrix_market import parse_matrix_market
from prism.social.ties.pajek import parse_pajek

if TYPE_CHECKING:
    import igraph

FLOAT_MAX = 2**53
"""igraph keeps the ids of GML as floats, which cannot tell all whole numbers apart from here on."""


def parse_graph(data: bytes, source: str, config: GraphConfig) -> FollowGraph:
    """Return the graph in a file.

    Args:
        data: the file's contents, unpacked.
        source: the file's name, for messages.
        config: how a table is read, and whether it is directed; the other formats say so themselves.

    Raises:
        InputError: the contents cannot be used, or a setting is given that is for tables alone.
    """
    found = graph_format(data, source)
    if found == "table":
        return parse_edges(data, source, config)
    told = {"columns": config.columns, "separator": config.separator, "header": config.header}
    key = next((key for key, value in told.items() if value is not None), None)
    if key is not None:
        name = {"graphml": "GraphML", "gml": "GML", "pajek": "Pajek", "matrix_market": "MatrixMarket"}[found]
        raise InputError(source, f"is {name}: population.graph.{key} is for tables of ties alone")
    if found == "pajek":
        return parse_pajek(data, source)
    if found == "matrix_market":
        return parse_matrix_market(data, source)
    return _parse_graphml(data, source) if found == "graphml" else _parse_gml(data, source)


def _parse_graphml(data: bytes, source: str) -> FollowGraph:
    """Return the graph in a GraphML file, the first if it holds several."""
    graph = _read(data, source, "GraphML")
    return _made(graph, _graphml_ids(graph), source, "GraphML")


def _parse_gml(data: bytes, source: str) -> FollowGraph:
    """Return the graph in a GML file. People are called by their labels, or by ids if labels are missing or repeat."""
    graph = _read(data, source, "GML")
    names = [] if "label" not in graph.vs.attributes() else [html.unescape(_text(each)) for each in graph.vs["label"]]
    if not names or not all(names) or len({*names}) < len(names):
        ids = graph.vs["id"] if "id" in graph.vs.attributes() else range(graph.vcount())
        if any(abs(each) >= FLOAT_MAX for each in ids):
            raise InputError(source, f"bad GML: expected ids below {FLOAT_MAX:,}, or a label of its own for each node")
        names = [_text(each) for each in ids]
    return _made(graph, names, source, "GML")


def _read(data: bytes, source: str, form: str) -> igraph.Graph:
    igraph = load_igraph()
    reader = {"GraphML": igraph.Graph.Read_GraphML, "GML": igraph.Graph.Read_GML}[form]
    # igraph gets a copy of the bytes that were hashed: the file at the path may change meanwhile.
    with tempfile.TemporaryDirectory(prefix="prism-") as directory:
        copy = Path(directory, "graph")
        copy.write_bytes(data)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # about attributes; only the ids are used
                return reader(str(copy))
        except igraph.InternalError as error:
            raise _igraph_error(source, form, str(error)) from None


def _made(graph: igraph.Graph, names: list[str] | None, source: str, form: str) -> FollowGraph:
    mutual = not graph.is_directed()
    ties = from_igraph(graph, mutual=mutual, names=names)
    if not ties.edges:
        raise InputError(source, "holds no ties: expected edges between different nodes")
    first = graph.es[0]
    said = [f"{form}, {'un' if mutual else ''}directed"]
    ties.understood = understood(ties, said, (ties.names[first.source], ties.names[first.target]), mutual=mutual)
    return ties


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _igraph_error(source: str, form: str, message: str) -> InputError:
    """Return the error for a message of igraph, such as `Line 3: problem -- kind`, without its C source position."""
    plain = re.sub(r"^Error at [^ ]+: ", "", message).split(" -- ")[0]
    match = re.match(r"Line (\d+): (.*)", plain, re.DOTALL)
    if match is not None:
        return InputError(source, f"bad {form}: {' '.join(match[2].split())}", line=int(match[1]))
    match = re.search(r", line (\d+)", plain)
    problem = plain.replace(f" in GML file{match[0]}", "") if match else plain
    return InputError(source, f"bad {form}: {problem}", line=int(match[1]) if match else None)


def _graphml_ids(graph: igraph.Graph) -> list[str] | None:
    """Return the ids of the nodes; None where a data key named `id` hides them and is not unique."""
    ids = [str(value) for value in graph.vs["id"]]
    return ids if len({*ids}) == len(ids) else None


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
