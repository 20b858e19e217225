"""The kind of a file by its content: the format of a graph, or what a file is that was given in another's place."""

from __future__ import annotations

import csv
import json
import re
import tempfile
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

from actors.core.files import opened, read_descriptor
from prism.config import Config
from prism.config.config import settings
from prism.config.model import GraphConfig
from prism.errors import ConfigError, InputError
from prism.imports import load_igraph
from prism.social.people.margins import FIGURES
from prism.social.people.population import HOUR_COLUMNS as HOURS
from prism.social.people.profiles import DESCRIBING
from prism.social.posts.post_file import TEXT
from prism.social.ties.files import named_ends, parse_edges, parse_gml, parse_pajek
from prism.social.ties.graph import FollowGraph, Numbered, check_people, ends_of, graph_of_file
from prism.text_files import SEPARATORS, binary_kind

RUN: Final = "`prism run` takes it, and the key `base` of an experiment"
EXPERIMENT: Final = "`prism experiment` takes it"
CALIBRATION: Final = "`prism calibrate` takes it"
REPLICATION: Final = "`prism replicate` takes it"
PREDICTIONS: Final = "`prism experiment seal` takes it"
QUESTIONNAIRE: Final = "`prism ask` takes it"
CHART: Final = "statechart.file takes it"
GRAPH: Final = "population.graph.path takes it"
PEOPLE: Final = "population.profiles takes it"
POSTS: Final = "population.posts.file takes it"
SHARES: Final = "population.margins takes it"
HOURLY: Final = "population.activity.hours takes it, and --against of a report"
FIGURES_OF_QUARTERS: Final = "economy.initial.path takes it, and --against of a report"
DESIGN: Final = "the key `design.file` of an experiment takes it"
_CASCADES: Final = "--against of a report takes it, and the key `data` of a calibration"

_KEYS: Final[tuple[tuple[frozenset[str], str, str], ...]] = (
    (frozenset({"question", "design"}), "an experiment", EXPERIMENT),
    (frozenset({"question", "parameters"}), "a calibration", CALIBRATION),
    (frozenset({"claim", "figures"}), "a replication", REPLICATION),
    (frozenset({"by", "predictions"}), "a file of predictions", PREDICTIONS),
    (frozenset({"questions"}), "a questionnaire", QUESTIONNAIRE),
    (frozenset({"initial", "states"}), "a chart", CHART),
)
"""`(keys at the top of a YAML file, the kind of file in words, the place that takes it)`."""
BRACKETS_MAX: Final = 20  # the most objects of JSON around or before the first one that describes something


@contextmanager
def telling_kind(name: str | Path, wanted: str, path: Path | None = None) -> Iterator[None]:
    """Replace an error about a file by the kind of the file, if it is not of the wanted one; columns only add a hint.

    Args:
        name: the file as errors call it; `path`: the place of it, if that is another.
        wanted: the place that takes files of the wanted kind.

    Raises:
        InputError: the file is of another kind.
    """
    try:
        yield
    except ConfigError as error:
        if error.source != str(name):
            raise
        try:
            with opened(path or Path(name)) as descriptor:
                data = read_descriptor(descriptor, HEAD_BYTES)
            if data.startswith(b"\x1f\x8b"):
                data = zlib.decompressobj(31).decompress(data, HEAD_BYTES)
        except (OSError, zlib.error):
            raise error from None
        if data.startswith(b"PAR1"):
            raise
        kinds = [*_kinds(data)]
        is_sure = bool(kinds)
        kinds = kinds or [*_kinds_of_rows(data.decode("utf-8-sig", errors="replace"))]
        if not kinds or any(place == wanted for _, place in kinds) or error.problem.startswith(f"is {kinds[0][0]}"):
            raise
        kind, place = kinds[0]
        if is_sure:
            raise InputError(str(name), f"is {kind}: {place}") from error
        problem = f"{error.problem}; it looks like {kind}: {place}"
        raise InputError(str(name), problem, key=error.key, line=error.line) from error


def _kinds(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield the kinds of a file with this beginning, each with the place that takes it."""
    if (kind := binary_kind(data)) is not None:
        yield kind, "expected text"
        return
    try:
        form = graph_format(data, "")
    except InputError:
        form = "table"
    if form != "table":
        yield f"a graph ({form})", GRAPH
        return
    text = data.decode("utf-8-sig", errors="replace")
    keys = {*re.findall(r"^([A-Za-z_]\w*):(?=\s)", text, re.MULTILINE)}
    for marks, kind, place in _KEYS:
        if marks <= keys:
            yield kind, place
    if keys and keys <= {*Config.__struct_fields__}:
        yield "the configuration of a run", RUN


def _kinds_of_rows(text: str) -> Iterator[tuple[str, str]]:
    """Yield the likely kinds of a file whose columns, or keys of objects, are those of a text."""
    from prism.economy.series import is_series  # noqa: PLC0415  # most runs need neither
    from prism.scorecard.cascades import CASCADE_COLUMNS  # noqa: PLC0415

    columns = _columns(text)
    if {*HOURS} <= {*columns}:
        yield "a table of counts by hour", HOURLY
    if {*CASCADE_COLUMNS} <= {*columns}:
        yield "a table of cascades", _CASCADES
    if is_series(columns):
        yield "a table of quarterly figures", FIGURES_OF_QUARTERS
    if named_ends(columns) or re.match(r"(?:[#%].*\n)*(?:-?[0-9]+[ \t,;]+-?[0-9]+\s*\n){3}", text):
        yield "a table of ties", GRAPH
    if {each.path for each in settings()} & {*columns}:
        yield "a table of conditions", DESIGN
    if TEXT in columns:
        yield "a file of posts", POSTS
    if {*DESCRIBING} & {*columns}:
        yield "a list of people", PEOPLE
    if {*FIGURES} & {*columns}:
        yield "a table of shares", SHARES


def _columns(text: str) -> list[str]:
    """Return the names of the columns of a table, or the keys of the first object of JSON, in lower case."""
    if re.match(r"\s*[\[{]", text):
        first: dict[str, Any] = {}
        for bracket in islice(re.finditer(r"\{", text), BRACKETS_MAX):
            try:
                first, _ = json.JSONDecoder().raw_decode(text, bracket.start())
            except (ValueError, RecursionError):
                continue
            if not any(isinstance(value, list) and value and isinstance(value[0], dict) for value in first.values()):
                break
        return [name.strip().lower() for name in first]
    header = found[0] if (found := re.search(r"\S[^\r\n]*", text)) else ""
    rows = (next(csv.reader([header], delimiter=separator), []) for separator in SEPARATORS)
    return [name.strip().lower() for name in max(rows, key=len)]


def parse_graph(data: bytes, source: str, config: GraphConfig) -> FollowGraph:
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

HEAD_BYTES: Final = 64 * 1024  # the beginning of a file, in which its format shows

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
