from __future__ import annotations

import gzip

import pytest

from prism.config.model import GraphConfig
from prism.errors import InputError
from prism.social.ties.edges import parse_edges
from prism.social.ties.graph import FollowGraph
from tests.catalogue import catalogue
from tests.paths import real_path


def parse(text: str, source: str = "ties.txt", *, directed: bool = True) -> FollowGraph:
    return parse_edges(text.encode(), source, GraphConfig(directed=directed))


def real_file(name: str) -> bytes:
    return gzip.decompress(real_path(name).read_bytes())


def test_integer_ids_are_ordered_by_value_and_kept_as_written() -> None:
    assert parse("900 10\n9 900\n-5 007").names == ("-5", "007", "9", "10", "900")


def test_other_ids_are_ordered_by_first_appearance() -> None:
    assert parse("zoe 10\nada zoe\n9 ada").names == ("zoe", "10", "ada", "9")


@catalogue(
    ("source", "data", "message"),
    [
        ("t.txt", b"1 2\n\n3\n", "t.txt:3: expected two ids with spaces or a tab between them, got '3'"),
        ("t.csv", b"1,2\n3,\n", "t.csv:2: expected two ids with a comma between them, got '3,'"),
        ("t.csv", b"1,2\n3 4\n", "t.csv:2: expected two ids with a comma between them, got '3 4'"),
        ("t.csv", b'1,2\n"3,4\n5,6\n', "t.csv:2: expected two ids with a comma between them, got '\"3,4'"),
        (
            "t.txt",
            b"x" * 70,
            f"t.txt:1: expected two ids with spaces or a tab between them, got '{'x' * 60}...'",
        ),
        ("t.txt", b"", "t.txt: holds no ties: expected lines with two different ids"),
        ("t.txt", b"# nothing\n\n", "t.txt: holds no ties: all its lines begin with # or %, and are comments"),
        ("t.txt", b"1 1\n2 2\n", "t.txt: holds no ties: expected lines with two different ids"),
        ("t.txt", b"1 2\n3 \xff\n", "t.txt:2: expected UTF-8 text, got byte 0xff"),
        ("t.txt", b"\xef\xbb\xbf1 2\n3 \xe9\n", "t.txt:2: expected UTF-8 text, got byte 0xe9"),
    ],
)
def test_a_bad_file_is_one_clear_line(source: str, data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_edges(data, source, GraphConfig(directed=True))
    assert str(caught.value) == message


def test_ego_facebook_has_its_published_people_and_friendships() -> None:
    graph = parse_edges(real_file("snap-ego-facebook.txt.gz"), "snap-ego-facebook.txt", GraphConfig())
    assert (graph.size, graph.edges) == (4039, 2 * 88234)
    assert (graph.duplicates, graph.self_loops) == (0, 0)
    assert graph.names == tuple(map(str, range(4039)))
