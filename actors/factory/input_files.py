"""The input files of a run. They are opened only here, and hashed, so that the manifest can name their content."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import tempfile
import warnings
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from prism.config.model import PopulationConfig
from prism.errors import InputError
from prism.social.edges import parse_edges
from prism.social.graph import FollowGraph, from_igraph
from prism.social.graph_library import load_igraph
from prism.social.population import Population, build_population
from prism.social.profiles import parse_profiles
from prism.text_files import file_format

if TYPE_CHECKING:
    import igraph

INPUT_BYTES_MAX = 4 * 1024**3
"""The most bytes of one file, unpacked. A small .gz can unpack to more than the memory; public follow graphs fit."""
_EDGE_LISTS = (".txt", ".csv", ".tsv")


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """A file's contents: `name` as the user wrote it, `data` unpacked, `sha256` of the file as it is on disk."""

    name: str
    data: bytes
    sha256: str


def load_population(config: PopulationConfig, seed: int) -> tuple[Population, dict[str, str]]:
    """Return the population that the configuration asks for, and `{input file, as the user wrote it: SHA-256}`.

    Raises:
        InputError: a file cannot be read, or its content cannot be used.
        ConfigError: the settings contradict each other.
    """
    hashes: dict[str, str] = {}
    profiles = graph = None
    if config.profiles is not None:
        source = read_input(config.profiles)
        hashes[source.name] = source.sha256
        profiles = parse_profiles(source.data, source.name)
    if config.graph.path is not None:
        source = read_input(config.graph.path)
        hashes[source.name] = source.sha256
        graph = parse_graph(source, directed=config.graph.directed)
    return build_population(config, seed, profiles=profiles, graph=graph), hashes


def read_input(path: str | Path, *, bytes_max: int = INPUT_BYTES_MAX) -> Input:
    """Return the contents of a file, unpacked if its name ends in .gz.

    Raises:
        InputError: it is missing, no regular file, not readable, no whole gzip file, or larger than `bytes_max`.
    """
    name = str(path)
    location = Path(path)
    try:
        if location.is_dir():
            raise InputError(name, "is a directory: expected a file")
        if location.exists() and not location.is_file():
            # A pipe or a device cannot be read a second time, when the run is repeated.
            raise InputError(name, "is no regular file")
        with location.open("rb") as file:
            raw = file.read(bytes_max + 1)
    except FileNotFoundError:
        raise InputError(name, f"no such file in {location.absolute().parent}") from None
    except OSError as error:
        raise InputError(name, f"cannot be read: {error.strerror}") from None
    data = _unpack(raw, name, bytes_max) if name.lower().endswith(".gz") else raw
    if max(len(raw), len(data)) > bytes_max:
        raise InputError(name, f"is larger than the {bytes_max:,} bytes that one input file may have")
    return Input(name=name, data=data, sha256=hashlib.sha256(raw).hexdigest())


def parse_graph(source: Input, *, directed: bool) -> FollowGraph:
    """Return the graph in a file.

    Args:
        directed: whether an edge list is directed; a GraphML file says so itself.

    Raises:
        InputError: the extension is not that of a graph file, or the contents cannot be used.
    """
    kind = file_format(source.name)
    if kind in _EDGE_LISTS:
        return parse_edges(source.data, source.name, directed=directed)
    if kind == ".graphml":
        return _parse_graphml(source)
    accepted = ", ".join((*_EDGE_LISTS, ".graphml"))
    raise InputError(source.name, f"expected a graph in {accepted} (also .gz), got {kind or 'no extension'}")


def _unpack(raw: bytes, name: str, bytes_max: int) -> bytes:
    """Return the content of the gzip file, or its first bytes up to one over the limit."""
    if not raw:
        raise InputError(name, "is no whole gzip file: it is empty")
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as packed:
            return packed.read(bytes_max + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(name, f"is no whole gzip file: {error}") from None


def _parse_graphml(source: Input) -> FollowGraph:
    """Return the graph in a GraphML file, the first if it holds several."""
    igraph = load_igraph()
    # igraph reads files only. It gets a copy of the bytes that were hashed: the file at the path may change meanwhile.
    with tempfile.TemporaryDirectory(prefix="prism-") as directory:
        copy = Path(directory, "graph.graphml")
        copy.write_bytes(source.data)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # about attributes; only the ids are used
                graph = igraph.Graph.Read_GraphML(str(copy))
        except igraph.InternalError as error:
            raise _graphml_error(source.name, str(error)) from None
    ties = from_igraph(graph, mutual=not graph.is_directed(), names=_graphml_ids(graph))
    if not ties.edges:
        raise InputError(source.name, "holds no ties: expected edges between different nodes")
    return ties


def _graphml_error(name: str, message: str) -> InputError:
    """Return the error for a message of igraph, such as `Line 3: problem -- kind`, without its C source position."""
    plain = re.sub(r"^Error at [^ ]+: ", "", message).split(" -- ")[0]
    match = re.match(r"Line (\d+): (.*)", plain, re.DOTALL)
    if match is None:
        return InputError(name, f"bad GraphML: {plain}")
    return InputError(name, f"bad GraphML: {' '.join(match[2].split())}", line=int(match[1]))


def _graphml_ids(graph: igraph.Graph) -> list[str] | None:
    """Return the ids of the nodes; None where a data key named `id` hides them and is not unique."""
    ids = [str(value) for value in graph.vs["id"]]
    return ids if len(set(ids)) == len(ids) else None
