"""Graphs in Pajek's format (`.net`), as Pajek, networkx and igraph write them.

Source: Batagelj & Mrvar, "Pajek: a program for large network analysis" (1998).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from prism.errors import InputError
from prism.social.ties.cells import COUNT
from prism.social.ties.graph import FollowGraph, Numbered, check_people, understood
from prism.text_files import decode_text, without_entities

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

    Raises:
        InputError: the file has several networks or vertices of two kinds, a line is wrong, or there is no tie.
    """
    parser = _Parser(source)
    for number, line in enumerate(decode_text(data, source).split("\n"), 1):
        if line.strip() and not line.lstrip().startswith("%"):
            parser.read(line, number)
    return parser.graph()


class _Parser:
    """A reader of the lines of one file."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._section = ""
        self._size = 0
        self._labels = dict[int, str]()
        self._arcs = list[tuple[int, int]]()
        self._edges = list[tuple[int, int]]()
        self._first: tuple[int, int] | None = None

    def read(self, line: str, number: int) -> None:
        """Read a line that is neither blank nor a comment."""
        if line.lstrip().startswith("*"):
            self._open(line.split(), number)
        elif self._section == "vertices":
            self._name(line, number)
        elif self._section:
            self._tie(line.split(), number)
        else:
            raise self._error("expected `*Vertices`", line, number)

    def graph(self) -> FollowGraph:
        """Return the graph that the lines made."""
        size, arcs, edges = self._size, self._arcs, self._edges
        labels = [self._labels[person] for person in sorted(self._labels)]
        are_names = all(labels) and len({*labels}) == size
        names = labels if are_names else Numbered(size, 1)
        mutual = not arcs
        ties = np.array(edges if mutual else [*arcs, *_both(edges)], dtype=np.int64).reshape(-1, 2)
        graph = FollowGraph(size, ties[:, 0], ties[:, 1], names=names, mutual=mutual)
        if not graph.edges or self._first is None:
            raise InputError(self._source, "holds no ties: expected arcs or edges between different vertices")
        kinds = " and ".join(name for name, ties in (("arcs", arcs), ("edges", edges)) if ties)
        said = [f"Pajek, {kinds}", f"people are called by their {'labels' if are_names else 'numbers'}"]
        first = (names[self._first[0]], names[self._first[1]])
        graph.understood = understood(graph, said, first, mutual=mutual)
        return graph

    def _open(self, words: Sequence[str], number: int) -> None:
        section = words[0][1:].lower()
        again = section in ("network", "vertices") and self._size > 0
        if section not in _SECTIONS or again:
            wanted = "one network with *Vertices, *Arcs, *Edges, *Arcslist or *Edgeslist"
            raise self._error(f"expected {wanted}", " ".join(words), number)
        if section == "vertices":
            if len(words) != 2 or not COUNT.fullmatch(words[1]) or not int(words[1]):
                raise self._error("expected the number of vertices, all of one kind", " ".join(words), number)
            check_people(int(words[1]), self._source, number)
            self._size = int(words[1])
        self._section = section if section != "network" else ""

    def _name(self, line: str, number: int) -> None:
        found = _VERTEX.fullmatch(line)
        if found is None or (found["rest"] and _REST.match(found["rest"]) is None):
            problem = "expected a number and a label, in quotes if it has spaces, with &#34; for a quote"
            raise self._error(problem, line, number)
        if not 0 < int(found[1]) <= self._size or int(found[1]) - 1 in self._labels:
            raise self._error(f"expected a new vertex from 1 to {self._size} and its label", line, number)
        self._labels[int(found[1]) - 1] = without_entities((found[2] or found[3] or "").strip())

    def _tie(self, cells: Sequence[str], number: int) -> None:
        is_list = self._section.endswith("list")
        ends = cells if is_list else cells[:2]
        if len(ends) < 2 or not all(COUNT.fullmatch(cell) and 0 < int(cell) <= self._size for cell in ends):
            raise self._error(f"expected vertices from 1 to {self._size}", " ".join(cells), number)
        people = [int(cell) - 1 for cell in ends]
        ties = self._arcs if self._section.startswith("arcs") else self._edges
        ties += [(people[0], other) for other in people[1:]]
        self._first = self._first or (people[0], people[1])

    def _error(self, problem: str, line: str, number: int) -> InputError:
        return InputError(self._source, f"bad Pajek: {problem}, got {line.strip()[:60]!r}", line=number)


def _both(edges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield each edge in both directions."""
    for one, other in edges:
        yield one, other
        yield other, one
