"""Tables of ties and graph files as people have them: read as they are meant, or refused with what to set."""

import gzip
from collections import Counter
from typing import Any

import pytest

from actors.factory.file_kinds import parse_graph
from prism.config.model import GraphConfig
from prism.errors import InputError
from prism.social.ties.graph import FollowGraph
from tests.catalogue import catalogue
from tests.field.random_tables import random_table
from tests.paths import real_path
from tests.tiers import Size

CYCLE = {("ada", "bo"), ("bo", "cy"), ("cy", "ada")}
NUMBERS = {("1", "2"), ("2", "3"), ("3", "1")}
HEADER = "set population.graph.header to true or false"
COLUMNS = "set population.graph.columns"
LOST = "has lost digits, so that different people look the same: export ids as text"
PAJEK = '*Vertices 3\n1 "ada"\n2 "bo"\n3 "cy"\n'


def read(text: str, name: str = "t.txt", **settings: Any) -> FollowGraph:
    return parse_graph(text.encode(errors="surrogateescape"), name, GraphConfig(**{"directed": True, **settings}))


def ties_of(graph: FollowGraph) -> set[tuple[str, str]]:
    return {
        (graph.names[person], graph.names[other]) for person in range(graph.size) for other in graph.following(person)
    }


def refusal(text: str, **settings: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(text, **settings)
    return str(caught.value)


CYCLES = {
    "saved by pandas": ",source,target\n0,ada,bo\n1,bo,cy\n2,cy,ada\n",
    "by R": '"from" "to" "weight"\n"1" "ada" "bo" 3\n"2" "bo" "cy" 1\n"3" "cy" "ada" 7\n',
    "the ends the other way round": "cited,citing\nbo,ada\ncy,bo\nada,cy\n",
    "people and their followers": "user_id,follower_id\nbo,ada\ncy,bo\nada,cy\n",
    "people and their friends": "mutual,friend_date,user_id,friend_id\n0,1,ada,bo\n1,5,bo,cy\n0,3,cy,ada\n",
    "Gephi": "Source;Target;Type;Id;Label;Weight\nada;bo;Directed;0;;1,0\nbo;cy;Directed;1;;1,0\n"
    "cy;ada;Directed;2;;1,0",
    "networkx": "ada bo {}\nbo cy {'weight': 3, 'since': 2019}\ncy ada {'weight': 1}\n",
    "names of columns in a comment": "# made by hand\n# FromNodeId\tToNodeId\nada\tbo\nbo\tcy\ncy\tada\n",
    "blank lines, a mark and old line ends": "\ufefffrom,to,\r\n\r\nada,bo,\r\nbo,cy,\r\n,,\r\ncy,ada,\r\n",
    "a last column that is empty everywhere": "src\twhen\ttarget\tnote\nada\t2021-01-11 10:00:00\tbo\t\n"
    "bo\t2021-01-11 10:00:01\tcy\t\ncy\t2021-01-12 09:00:00\tada\t\n",
    "Pajek": f"{PAJEK}*Arcs\n1 2 1.0\n2 3 1.0\n3 1 1.0\n",
    "GML": 'Creator "by hand"\ngraph [\n directed 1\n node [ id 5 label "ada" ]\n node [ id 7 label "bo" ]\n'
    ' node [ id 9 label "cy" ]\n edge [ source 5 target 7 ]\n edge [ source 7 target 9 ]\n'
    " edge [ source 9 target 5 ]\n]",
}


@catalogue("text", CYCLES.values())
@catalogue("name", ["t.csv", "t"])
def test_three_ties_are_the_same_in_every_dialect(text: str, name: str) -> None:
    assert ties_of(read(text, name)) == CYCLE


@catalogue(
    "text",
    [
        "1,0;2,0\n2,0;3,0\n3,0;1,0\n",
        "1.0,2,0.5\n2.0,3,0.25\n3.0,1,0.75\n",
        "1;2;;\n2;3;;x\n3;1;;y\n",
        "1;2;0,5\n2;3;0,75\n3;1;1,25\n",
        "person,buddy,meetings\n1,2,0.5\n2,3,0.25\n3,1,2\n",
    ],
)
def test_numbers_are_the_same_people_however_they_are_written(text: str) -> None:
    graph = read(text)
    assert ties_of(graph) == NUMBERS
    assert tuple(graph.names) == ("1", "2", "3")


REFUSED = rf"""
person,buddy\nada,bo\nbo,cy\n => the first line may be a header and may be a tie: {HEADER}
0,ada\nbo,cy\ndi,bo\n => the first line may be a header and may be a tie: {HEADER}
3 2\n1 2\n2 3\n => the first line may be the numbers of people and ties
user,follower,friend\n1,2,3\n2,3,1\n => more than two columns are named as ends: {COLUMNS}
userId,movieId\n1,2\n2,3\n => a column that is named 'movieId' holds no people: {COLUMNS}
from to\n1 2 1\n2 3 1\n => t.txt:1: the first line has 2 columns, and others have 3: 'from to'
4\n1 2\n2 3\n3 4\n => t.txt:1: expected two ids with spaces or a tab between them, got '4'
blogger,follower\n1,2\n2,3\n => do not tell who follows whom: {COLUMNS}
node2,node1\n1,2\n2,3\n => do not tell who follows whom: {COLUMNS}
      3 ada bo\n     12 bo cy\n      1 cy ada\n => the first two columns have no id in common
ada bo 0,5\nbo cy 0,25\ncy ada 1,5\n => the first two columns have no id in common
Id,Label\n0,ada\n1,bo\n => the first column counts the lines
0,ada\n1,bo\n2,cy\n => the first column counts the lines
user_id,movie_id\n5,10\n7,20\n => the first two columns have no id in common, so the ends may be others: {COLUMNS}
,ada,bo\nada,0,1\nbo,1,0\n => is a table of people by people: expected one tie a line
source,target\n0.5,1.5\n1.5,2.5\n => column 1 holds no ids, but '0.5': {COLUMNS}
1.31E+18,1.32E+18\n1.33E+18,1.31E+18\n => t.txt:1: '1.31E+18' {LOST}
from,to\n1310424242424242432.0,7.0\n => t.txt:2: '1310424242424242432.0' {LOST}
from,to\n1310424242424242431,1310424242424240000\n1310424242424242433,1310424242424250000\n => \
ids such as 1310424242424240000 have lost all digits after the first 15
from,to\nada,bo\nbo,NaN\n => t.txt:3: expected an id, got 'NaN', which stands for a missing one
from,to\nada,bo\nfrom,to\nbo,cy\n => t.txt:3: repeats the header
ada bo cy\nbo cy\ncy ada bo\n => t.txt:2: expected 3 columns as in other lines, got 2: 'bo cy'
% bip unweighted\n1 1\n2 1\n => `bip`: expected ties between people
*Vertices 5 3\n => t.txt:1: bad Pajek: expected the number of vertices, all of one kind
%%MatrixMarket matrix\n3 3 1\n1 2\n => is MatrixMarket: expected a table of ties
graph [\n node [ id 1 ]\n edge [ source 1 target 2 ]\n]\n => t.txt:3: bad GML: no node has the id 2
digraph {{\n ada -> bo\n}}\n => is a Graphviz file: expected a table of ties, GraphML
{{"nodes": []}} => is JSON: expected a table of ties, GraphML
1,2\n3,\n => t.txt:2: expected two ids with a comma between them, got '3,'
1,2\n"3,4\n5,6\n => t.txt:2: expected two ids with a comma between them, got '"3,4'
1 1\n2 2\n => t.txt: holds no ties: expected lines with two different ids
"""


@catalogue(
    ("text", "problem", "settings"),
    [
        *((*line.replace(r"\n", "\n").split(" => "), {}) for line in REFUSED.replace("\\\n", "").strip().splitlines()),
        ("node,community\n1,1\n2,1\n", "a column that is named 'community' holds no people", {"header": True}),
        ("".join(f"{each} {each % 3}\n" for each in range(20)), "the first column counts the lines", {}),
        ("ada,,bo\nbo,,cy\n", f"column 2 is empty: {COLUMNS}", {"columns": (1, 2), "header": False}),
        ("x,y,z\n1,2,3\n", "there is no column 'q': the header has x, y, z", {"columns": ("q", "x")}),
        ("1,2,3\n2,3,4\n", "population.graph.columns: 4 is beyond the 3 columns", {"columns": (1, 4)}),
        (f"{PAJEK}*Arcs\n1 4\n", "t.txt:6: bad Pajek: expected vertices from 1 to 3, got '1 4'", {}),
        (f"{PAJEK}*Arcs\n1 2\n", "is Pajek: population.graph.columns is for tables of ties alone", {"columns": (1, 2)}),
        ("PK\x03\x04", "is a zip archive or spreadsheet", {}),
        ("x" * 70, f"t.txt:1: expected two ids with spaces or a tab between them, got '{'x' * 57}...'", {}),
        ("\ufeff1 2\n3 \udce9\n", "t.txt:2: expected UTF-8 text, got byte 0xe9: save it as UTF-8", {}),
    ],
)
def test_what_fits_in_no_way_or_in_more_than_one_is_refused_in_one_line(
    text: str, problem: str, settings: dict[str, Any]
) -> None:
    message = refusal(text, **settings)
    assert problem in message
    assert "\n" not in message


@catalogue(
    ("text", "settings", "ties"),
    [
        ("0 5 7\n1 7 9\n", {"columns": (2, 3)}, {("5", "7"), ("7", "9")}),
        ("x,y,z\n1,2,3\n2,3,1\n", {"columns": ("z", "x")}, {("3", "1"), ("1", "2")}),
        ("person,buddy\nada,bo\n", {"header": True}, {("ada", "bo")}),
        ("user_id,movie_id\n1,10\n2,20\n", {"columns": (1, 2)}, {("1", "10"), ("2", "20")}),
        ("1::2::5\n2::3::4\n", {"separator": "::", "columns": (1, 2)}, {("1", "2"), ("2", "3")}),
        ("ada knows bo well\nbo knows cy\n", {"columns": (1, 3)}, {("ada", "bo"), ("bo", "cy")}),
    ],
)
def test_the_settings_say_what_a_table_does_not(
    text: str, settings: dict[str, Any], ties: set[tuple[str, str]]
) -> None:
    assert ties_of(read(text, **settings)) == ties


@catalogue(
    ("text", "directed", "ties"),
    [
        ("% sym weighted\n1 2 1\n", True, {("1", "2"), ("2", "1")}),
        ("% asym weighted\n1 2 1\n", False, {("1", "2")}),
        (f"{PAJEK}*Edges\n1 2\n", True, {("ada", "bo"), ("bo", "ada")}),
        (f"{PAJEK}*Arcs\n1 2\n*Edges\n2 3\n", False, {("ada", "bo"), ("bo", "cy"), ("cy", "bo")}),
        ("Source,Target,Type\na,b,Undirected\n", True, {("a", "b"), ("b", "a")}),
        ("Source,Target,Type\na,b,Undirected\nb,c,Directed\n", False, {("a", "b"), ("b", "a"), ("b", "c")}),
    ],
)
def test_a_file_that_says_whether_ties_are_directed_is_believed(
    text: str, directed: bool, ties: set[tuple[str, str]]
) -> None:
    assert ties_of(read(text, directed=directed)) == ties


def test_integer_ids_are_ordered_by_value_and_kept_as_written() -> None:
    assert read("900 10\n9 900\n-5 007").names == ("-5", "007", "9", "10", "900")


def test_ego_facebook_has_its_published_people_and_friendships() -> None:
    data = gzip.decompress(real_path("snap-ego-facebook.txt.gz").read_bytes())
    graph = parse_graph(data, "snap-ego-facebook.txt", GraphConfig())
    assert (graph.size, graph.edges, graph.duplicates, graph.self_loops) == (4039, 2 * 88234, 0, 0)
    assert graph.names == tuple(map(str, range(4039)))


def test_a_line_far_down_that_differs_is_named() -> None:
    lines = ["from,to,weight", *(f"{each},{each + 1},{each % 3}" for each in range(30_000))]
    assert len(ties_of(read("\n".join(lines)))) == 30_000
    lines[29_000] = "7,8"
    assert refusal("\n".join(lines)).startswith("t.txt:29001: expected 3 columns as in other lines, got 2: '7,8'")


def test_no_random_table_is_read_as_another(size: Size) -> None:
    ends = Counter[str]()
    for seed in range(size(2_000, everyday=120)):
        table = random_table(seed)
        assert outcome(table.text, table.told) == table.ties, f"seed {seed}"
        found = outcome(table.text, GraphConfig(directed=True))
        ends["refused" if isinstance(found, str) else "right"] += 1
        assert found == table.ties or (isinstance(found, str) and "population.graph." in found), f"seed {seed}"
    assert ends["right"] > 2 * ends["refused"]


def outcome(text: str, config: GraphConfig) -> set[tuple[str, str]] | str:
    """Return the ties of a table, or the message with which it is refused."""
    try:
        return ties_of(parse_graph(text.encode(), "t.csv", config))
    except InputError as error:
        return str(error)


def test_ids_that_begin_like_a_comment_are_never_dropped_in_silence() -> None:
    told = refusal("source,target\nada,#blm\n#blm,bo\nbo,ada\n")
    assert "t.txt:3: begins like a comment below ties: move it to the top, or put ids with # or % in quotes" in told
    assert read('source,target\nada,#blm\n"#blm",bo\nbo,ada\n').edges == 3
    assert refusal("#a,b\n#b,c\n").endswith("holds no ties: all its lines begin with # or %, and are comments")
