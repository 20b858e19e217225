"""Graphs in GML files, as Gephi, networkx, igraph and yEd write them.

igraph's reader is not used: it keeps ids as floats, so that some above 2^53 become one, and some wrong files make it
end the whole process.

Source: Himsolt, "GML: a portable graph file format" (1997).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from prism.errors import InputError
from prism.social.ties.cells import plain
from prism.social.ties.graph import FollowGraph, check_people, graph_of_file
from prism.text_files import decode_text, without_entities

_TOKEN = re.compile(r"(?P<comment>^[ \t]*#[^\n]*)|\"[^\"]*\"|[\[\]\"]|[^\s\"\[\]]+", re.MULTILINE)
_KEY = re.compile(r"[A-Za-z]\w*")
_WHOLE = re.compile(r"[-+]?[0-9]+")
_EXACT_MAX = 2**53
"""A float from here on does not tell whole numbers apart."""


def parse_gml(data: bytes, source: str) -> FollowGraph:
    """Return the graph in a GML file. With `directed 1` ties are follows, else friendships.

    People are called by their labels, or by their ids if labels are missing or repeat.

    Raises:
        InputError: a block is not closed, an id is missing, stands twice or is no whole number, an edge is between
            unknown nodes, there are two graphs, or there is no tie.
    """
    number_of, labels, edges, graphs = dict[int, int](), list[str](), list[tuple[int, int, int]](), list[str]()
    for name, values, line in _blocks(decode_text(data, source), source):
        if name == "node":
            node = _id(values, "id", source, line)
            if node in number_of:
                raise _wrong(source, line, f"the id {node} stands twice")
            number_of[node] = len(number_of)
            labels.append(without_entities(values.get("label", "").strip('"')))
        elif name == "edge":
            edges.append((_id(values, "source", source, line), _id(values, "target", source, line), line))
        elif name == "graph":
            graphs.append(values.get("directed", "0"))
    if len(graphs) != 1:
        raise InputError(source, f"bad GML: expected one graph, got {len(graphs)}")
    check_people(len(number_of), source)
    for *ends, line in edges:
        strange = next((end for end in ends if end not in number_of), None)
        if strange is not None:
            raise _wrong(source, line, f"no node has the id {strange}")
    mutual, are_names = graphs[0] != "1", all(labels) and len({*labels}) == len(labels)
    names = labels if are_names else [*map(str, number_of)]
    ties = np.array([(number_of[one], number_of[other]) for one, other, _ in edges], dtype=np.int64).reshape(-1, 2)
    said = [f"GML, {'un' if mutual else ''}directed", f"people are called by their {'labels' if are_names else 'ids'}"]
    return graph_of_file(source, names, ties, said, "edges between different nodes", mutual=mutual)


def _blocks(text: str, source: str) -> Iterator[tuple[str, Mapping[str, str], int]]:
    """Yield the name, the plain values and the first line of each block, at the end of each; deeper ones left out."""
    open_blocks, key = list[tuple[str, dict[str, str], int]](), ""
    top = dict[str, str]()
    line, counted_to = 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", counted_to, match.start())
        counted_to, word = match.start(), match[0]
        values = open_blocks[-1][1] if open_blocks else top
        if match["comment"] is not None:
            continue
        if word == '"':
            raise _wrong(source, line, "a quote is not closed")
        if word == "]" and open_blocks and not key:
            block = open_blocks.pop()
            if [name for name, *_ in open_blocks] == ([] if block[0] == "graph" else ["graph"]):
                yield block
        elif key and word == "[":
            open_blocks.append((key, {}, line))
            key = ""
        elif key and word != "]":
            if len(open_blocks) < 3 and key in values and key in ("id", "label", "source", "target", "directed"):
                raise _wrong(source, line, f"{key} stands twice")
            values[key], key = word, ""
        elif _KEY.fullmatch(word):
            key = word.lower()
        else:
            expected = f"a value of {key}" if key else "a key"
            raise _wrong(source, line, f"expected {expected}, got {word[:60]!r}")
    if open_blocks or key:
        raise _wrong(source, line, f"expected {'a value of ' + key if key else ']'}, got the end of the file")


def _id(values: Mapping[str, str], key: str, source: str, line: int) -> int:
    text = values.get(key, "")
    number = int(plain(text)) if _WHOLE.fullmatch(plain(text)) and len(text) < 1000 else None
    if number is None or (number >= _EXACT_MAX and not _WHOLE.fullmatch(text)):
        raise _wrong(source, line, f"expected a whole number as {key}, got {text[:60] or 'nothing'}")
    return number


def _wrong(source: str, line: int, problem: str) -> InputError:
    return InputError(source, f"bad GML: {problem}", line=line)
