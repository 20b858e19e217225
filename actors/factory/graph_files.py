"""Graph files of all formats. GraphML is read here, by igraph, which reads only from files."""

from __future__ import annotations

import re
import tempfile
import warnings
from pathlib import Path
from typing import Final, Literal

from prism.config.model import GraphConfig
from prism.errors import InputError
from prism.imports import load_igraph
from prism.social.ties.edges import parse_edges
from prism.social.ties.formats import parse_gml, parse_pajek
from prism.social.ties.graph import FollowGraph, Numbered, check_people, ends_of, graph_of_file
from prism.text_files import binary_kind


def parse_graph(data: bytes, source: str, config: GraphConfig) -> FollowGraph:
    """Return the graph in a file."""
    found = graph_format(data, source)
    if found == "table":
        return parse_edges(data, source, config)
    told = {"columns": config.columns, "separator": config.separator, "header": config.header}
    key = next((key for key, value in told.items() if value is not None), None)
    if key is not None:
        name = {"graphml": "GraphML", "gml": "GML", "pajek": "Pajek"}[found]
        raise InputError(source, f"is {name}: population.graph.{key} is for tables of ties alone")
    if found == "pajek":
        return parse_pajek(data, source)
    return _parse_graphml(data, source) if found == "graphml" else parse_gml(data, source)


def _parse_graphml(data: bytes, source: str) -> FollowGraph:
    """Return the graph in a GraphML file, the first if it holds several."""
    igraph = load_igraph()
    # igraph gets a copy of the bytes that were hashed: the file at the path may change meanwhile.
    with tempfile.TemporaryDirectory(prefix="prism-") as directory:
        copy = Path(directory, "graph")
        copy.write_bytes(data)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # about attributes; only the ids are used
                graph = igraph.Graph.Read_GraphML(str(copy))
        except igraph.InternalError as error:
            # Its messages are such as `Line 3: problem -- kind`, behind a position in C source.
            problem = re.sub(r"^Error at [^ ]+: ", "", str(error)).split(" -- ")[0]
            match = re.match(r"Line (\d+): (.*)", problem, re.DOTALL)
            line = None if match is None else int(match[1])
            told = " ".join((match[2] if match else problem).split())
            raise InputError(source, f"bad GraphML: {told}", line=line) from None
    check_people(graph.vcount(), source)
    mutual = not graph.is_directed()
    # A data key named `id` hides the ids of the nodes; without different values it names nobody.
    ids = [*map(str, graph.vs["id"])]
    names = ids if len({*ids}) == len(ids) else Numbered(len(ids))
    said = [f"GraphML, {'un' if mutual else ''}directed"]
    return graph_of_file(source, names, ends_of(graph), said, "edges between different nodes", mutual=mutual)


GraphFormat = Literal["graphml", "gml", "pajek", "table"]

HEAD_BYTES: Final = 64 * 1024
"""The beginning of a file, in which its format shows."""

EXPECTED: Final = "expected a table of ties, GraphML, GML or Pajek"
_FORMATS: Final[dict[GraphFormat, re.Pattern[str]]] = {
    "pajek": re.compile(r"(?:\s*%[^\n]*\n)*\s*\*(?:network|vertices)\b", re.IGNORECASE),
    "graphml": re.compile(r"\s*<(?:.*?<)??(?:\w+:)?graphml\b", re.DOTALL),
    "gml": re.compile(
        r"(?:\s*(?:#[^\n]*|[A-Za-z]\w*[ \t]+(?:\"[^\"]*\"|[^\s\[]+)[ \t]*)\n)*\s*graph\s*\[", re.IGNORECASE
    ),
}
_OTHERS: Final = {
    "XML without an element `graphml`": re.compile(r"\s*<"),
    "a Graphviz file": re.compile(r"\s*(?:(?://|#)[^\n]*\n\s*)*(?:strict\s+)?(?:di)?graph\b[^\n\[{]*\{", re.IGNORECASE),
    "GDF": re.compile(r"\s*nodedef>", re.IGNORECASE),
    "JSON": re.compile(r"\s*[\[{]"),
    "MatrixMarket": re.compile(r"%%matrixmarket\b", re.IGNORECASE),
}


def graph_format(data: bytes, source: str) -> GraphFormat:
    """Return the format of a file's content. Content of no known format is taken for a table of ties."""
    if (kind := binary_kind(data)) is not None:
        raise InputError(source, f"is {kind}: {EXPECTED}")
    head = data[:HEAD_BYTES].decode("utf-8-sig", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    for form, beginning in _FORMATS.items():
        if beginning.match(head):
            return form
    for what, beginning in _OTHERS.items():
        if beginning.match(head):
            raise InputError(source, f"is {what}: {EXPECTED}")
    return "table"
