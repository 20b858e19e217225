"""Graphs in Pajek's format (`.net`), as Pajek, networkx and igraph write them.

Source: Batagelj & Mrvar, "Pajek: a program for large network analysis" (1998).
"""

from __future__ import annotations

import re

import numpy as np

from prism.errors import InputError
from prism.social.ties.cells import COUNT
from prism.social.ties.graph import FollowGraph, Numbered, check_people, graph_of_file
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
                if len(cells) != 2 or not COUNT.fullmatch(cells[1]) or not int(cells[1]):
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
            if len(ends) < 2 or not all(COUNT.fullmatch(cell) and 0 < int(cell) <= size for cell in ends):
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
