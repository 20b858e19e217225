"""Graph files that say themselves how they are read: GML and Pajek.

igraph's readers are not used. The one of GML keeps ids as floats, so that some above 2^53 become one, and some wrong
files make it end the whole process. The one of Pajek makes all ties undirected if edges stand beside arcs, and takes a
bad line for the end of the file.

Sources: Himsolt, "GML: a portable graph file format" (1997); Batagelj & Mrvar, "Pajek: a program for large network
analysis" (1998).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from prism.errors import InputError
from prism.social.ties.graph import FollowGraph, Numbered, check_people, graph_of_file
from prism.text_files import decode_text, without_entities

_TOKEN = re.compile(r"(?P<comment>^[ \t]*#[^\n]*)|\"[^\"]*\"|[\[\]\"]|[^\s\"\[\]]+", re.MULTILINE)
_KEY = re.compile(r"[A-Za-z]\w*")
_WHOLE = re.compile(r"[-+]?[0-9]{1,999}")
_COUNT = re.compile(r"[0-9]{1,18}")


def parse_gml(data: bytes, source: str) -> FollowGraph:
    """Return the graph in a GML file. With `directed 1` ties are follows, else friendships.

    People are called by their labels, or by their ids if labels are missing or repeat.
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
    if not _WHOLE.fullmatch(text):
        raise _wrong(source, line, f"expected a whole number as {key}, got {text[:60] or 'nothing'}")
    return int(text)


def _wrong(source: str, line: int, problem: str) -> InputError:
    return InputError(source, f"bad GML: {problem}", line=line)


_SECTIONS = ("network", "vertices", "arcs", "edges", "arcslist", "edgeslist")
_VERTEX = re.compile(r"\s*([0-9]{1,18})(?:\s+(?:\"([^\"]*)\"|([^\s\"]+))(?:\s+(?P<rest>.*))?)?\s*")
_REST = re.compile(
    r"\[|(?:[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?|ellipse|box|diamond|triangle|cross|empty|house|man|woman|circle|s_size|[xy]_fact|phi|[rq]|[bil]c"
    r"|bw|l[ar]|lphi|fos|font|shape|url|hooks?)(?:\s|$)",
    re.IGNORECASE,
)
"""The beginning of what may stand behind a label: coordinates, times, a shape or a parameter of the drawing."""


def parse_pajek(data: bytes, source: str) -> FollowGraph:
    """Return the graph in a Pajek file: an arc means that its first person follows the second, an edge is a friendship.

    People are numbered as vertices are, and called by their labels; by their numbers if labels are missing or repeat.
    """

    def wrong(problem: str) -> InputError:
        return InputError(source, f"bad Pajek: {problem}, got {line.strip()[:60]!r}", line=number)

    section, size, names = "", 0, dict[int, str]()
    arcs, edges = list[tuple[int, int]](), list[tuple[int, int]]()
    for number, line in enumerate(decode_text(data, source).split("\n"), 1):
        cells = line.split()
        if not cells or cells[0].startswith("%"):
            continue
        # 1. The beginning of a section.
        if cells[0].startswith("*"):
            section = cells[0][1:].lower()
            if section not in _SECTIONS or (section in ("network", "vertices") and size > 0):
                raise wrong("expected one network with *Vertices, *Arcs, *Edges, *Arcslist or *Edgeslist")
            if section == "vertices":
                if len(cells) != 2 or not _COUNT.fullmatch(cells[1]) or not int(cells[1]):
                    raise wrong("expected the number of vertices, all of one kind")
                size = int(cells[1])
                check_people(size, source, number)
        # 2. A vertex, by number and label.
        elif section == "vertices":
            found = _VERTEX.fullmatch(line)
            if found is None or (found["rest"] and _REST.match(found["rest"]) is None):
                raise wrong("expected a number and a label, in quotes if it has spaces, with &#34; for a quote")
            if not 0 < int(found[1]) <= size or int(found[1]) in names:
                raise wrong(f"expected a new vertex from 1 to {size} and its label")
            names[int(found[1])] = without_entities((found[2] or found[3] or "").strip())
        elif section in ("", "network"):
            raise wrong("expected `*Vertices`")
        # 3. A tie, or a list of those whom the first one follows.
        else:
            ends = cells if section.endswith("list") else cells[:2]
            if len(ends) < 2 or not all(_COUNT.fullmatch(cell) and 0 < int(cell) <= size for cell in ends):
                raise wrong(f"expected vertices from 1 to {size}")
            one, *others = (int(cell) - 1 for cell in ends)
            ties = arcs if section.startswith("arcs") else edges
            ties += [(one, other) for other in others]
    # 4. The graph. An edge beside arcs is a tie each way.
    labels = [names[vertex] for vertex in sorted(names)]
    are_names = all(labels) and len({*labels}) == size
    called = labels if are_names else Numbered(size, 1)
    both = [tie for one, other in edges for tie in ((one, other), (other, one))]
    pairs = np.array([*arcs, *both] if arcs else edges, dtype=np.int64).reshape(-1, 2)
    kinds = " and ".join(name for name, ties in (("arcs", arcs), ("edges", edges)) if ties)
    said = [f"Pajek, {kinds}", f"people are called by their {'labels' if are_names else 'numbers'}"]
    expected = "arcs or edges between different vertices"
    return graph_of_file(source, called, pairs, said, expected, mutual=not arcs)
