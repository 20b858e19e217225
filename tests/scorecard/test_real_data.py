from __future__ import annotations

import pytest

from prism.errors import InputError
from prism.scorecard import Tree, parse_cascades
from tests.catalogue import catalogue

HEADER = "cascade,node,parent,delay_minutes\n"


def test_the_rows_of_a_cascade_are_a_tree() -> None:
    found = parse_cascades((HEADER + "a,0,-1,0\na,1,0,0.5\nb,0,-1,0\na b,0,-1,0\n").encode(), "c.csv")
    assert found == (Tree((-1, 0), (0.0, 0.5)), Tree((-1,), (0.0,)), Tree((-1,), (0.0,)))


@catalogue(
    ("text", "problem"),
    [
        ("", "c.csv: is empty: expected a line with the names of its columns"),
        (HEADER, "c.csv: holds no cascades: expected at least one line below the header"),
        ("cascade,node\n", "c.csv:1: missing column: parent, delay_minutes; expected cascade, node, parent, delay_"),
        (HEADER + "1,0,-1\n", "c.csv:2: expected 4 columns, got 3"),
        (HEADER + "1,0,-1,0\n1,2,0,0\n", "c.csv:3: expected node 1 of cascade 1, got 2"),
        (HEADER + "1,0,0,0\n", "c.csv:2: parent: expected -1, as of a root, got 0"),
        (HEADER + "1,0,-1,0\n1,1,1,0\n", "c.csv:3: parent: expected a node before 1, got 1"),
        (HEADER + "1,0,-1,x\n", "c.csv:2: delay_minutes: expected a number, got 'x'"),
        (HEADER + "1,0,-1,0\n2,0,-1,0\n1,0,-1,0\n", "c.csv:4: expected the rows of cascade 1 together"),
    ],
)
def test_bad_cascades_are_refused_with_their_line(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_cascades(text.encode(), "c.csv")
    assert str(caught.value).startswith(problem)


def test_blank_lines_and_quotes_are_no_matter() -> None:
    text = '\n"cascade","node","parent","delay_minutes"\n\n1,0,-1,"0"\n\n'
    assert parse_cascades(text.encode(), "c.csv") == (Tree((-1,), (0.0,)),)
