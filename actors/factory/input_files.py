"""The files a run reads: opened here and nowhere else, and hashed so a manifest can say what it was made from."""

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
"""A small .gz can unpack to more than a machine holds; the largest public follow graphs are below this."""
_EDGE_LISTS = (".txt", ".csv", ".tsv")


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """A file's contents: `name` as the user wrote it, `data` unpacked, `sha256` of the file as it lies on the disk."""

    name: str
    data: bytes
    sha256: str


def load_population(config: PopulationConfig, seed: int) -> tuple[Population, dict[str, str]]:
    """The population that the configuration asks for, and the sha256 of each file it took, by its path as written.

    Raises:
        InputError: a file cannot be read or says something that cannot be used.
        ConfigError: the settings do not fit each other.
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
    """The contents of a file, unpacked if its name ends in .gz.

    Raises:
        InputError: it is missing, no regular file, not readable, no whole gzip file, or larger than `bytes_max`.
    """
    name = str(path)
    place = Path(path)
    try:
        if place.is_dir():
            raise InputError(name, "is a directory: expected a file")
        if place.exists() and not place.is_file():
            # A pipe or device cannot be read a second time, by whoever repeats the run.
            raise InputError(name, "is no regular file")
        with place.open("rb") as file:
            raw = file.read(bytes_max + 1)
    except FileNotFoundError:
        raise InputError(name, f"no such file in {place.absolute().parent}") from None
    except OSError as error:
        raise InputError(name, f"cannot be read: {error.strerror}") from None
    data = _unpacked(raw, name, bytes_max) if name.lower().endswith(".gz") else raw
    if max(len(raw), len(data)) > bytes_max:
        raise InputError(name, f"is larger than the {bytes_max:,} bytes that one input file may have")
    return Input(name=name, data=data, sha256=hashlib.sha256(raw).hexdigest())


def parse_graph(source: Input, *, directed: bool) -> FollowGraph:
    """The graph in a file; `directed` says how to read an edge list, while GraphML says it itself.

    Raises:
        InputError: the extension is not one of a graph file, or the contents cannot be used.
    """
    kind = file_format(source.name)
    if kind in _EDGE_LISTS:
        return parse_edges(source.data, source.name, directed=directed)
    if kind == ".graphml":
        return _parse_graphml(source)
    accepted = ", ".join((*_EDGE_LISTS, ".graphml"))
    raise InputError(source.name, f"expected a graph in {accepted} (also .gz), got {kind or 'no extension'}")


def _unpacked(raw: bytes, name: str, bytes_max: int) -> bytes:
    """What the gzip file holds, or a little more than the limit of it."""
    if not raw:
        raise InputError(name, "is no whole gzip file: it is empty")
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as packed:
            return packed.read(bytes_max + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(name, f"is no whole gzip file: {error}") from None


def _parse_graphml(source: Input) -> FollowGraph:
    """The graph in a GraphML file, the first where it holds several."""
    igraph = load_igraph()
    # igraph reads files only. A copy of the bytes that were hashed is what it gets, not a second look at the path.
    with tempfile.TemporaryDirectory(prefix="prism-") as directory:
        copy = Path(directory, "graph.graphml")
        copy.write_bytes(source.data)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # about attributes, of which only the ids are used
                graph = igraph.Graph.Read_GraphML(str(copy))
        except igraph.InternalError as error:
            raise _graphml_error(source.name, str(error)) from None
    ties = from_igraph(graph, mutual=not graph.is_directed(), names=_graphml_ids(graph))
    if not ties.edges:
        raise InputError(source.name, "holds no ties: expected edges between different nodes")
    return ties


def _graphml_error(name: str, message: str) -> InputError:
    """What igraph says, such as `Line 3: what is wrong -- kind`, without its C source position; the line apart."""
    plain = re.sub(r"^Error at [^ ]+: ", "", message).split(" -- ")[0]
    found = re.match(r"Line (\d+): (.*)", plain, re.DOTALL)
    if found is None:
        return InputError(name, f"bad GraphML: {plain}")
    return InputError(name, f"bad GraphML: {' '.join(found[2].split())}", line=int(found[1]))


def _graphml_ids(graph: igraph.Graph) -> list[str] | None:
    """The ids of the nodes, or None where a data key named `id` hides them and does not tell the nodes apart."""
    ids = [str(value) for value in graph.vs["id"]]
    return ids if len(set(ids)) == len(ids) else None
