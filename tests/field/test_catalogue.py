"""Small files of the kinds that public projects have: each is read as its writer meant it, or refused with a line."""

import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from actors.factory.file_kinds import parse_graph
from prism.config.attributes import AttributeConfig
from prism.config.model import PEOPLE_MAX, GraphConfig, PopulationConfig
from prism.economy.series import parse_series
from prism.errors import ConfigError, InputError
from prism.experiment.design import Design, conditions_of
from prism.scorecard.cascades import parse_cascades
from prism.social.people.margins import parse_margin
from prism.social.people.population import HOUR_COLUMNS, parse_hours
from prism.social.people.profiles import parse_profiles
from prism.social.posts.post_file import parse_posts
from prism.social.ties.graph import FollowGraph
from prism.text_files import CELL_CHARS_MAX, decode_text
from tests.paths import field_path

CAMP = PopulationConfig(attributes={"camp": AttributeConfig(type="text", default="unknown")})

Ties = set[tuple[str, str]]
RING: Ties = {("ada", "bo"), ("bo", "cy"), ("cy", "ada")}


def graph_in(data: bytes, name: str, **settings: Any) -> tuple[tuple[str, ...], Ties]:
    """Return the people of a graph and who follows whom."""
    graph = parse_graph(data, name, GraphConfig(path=name, **({"directed": True} | settings)))
    return tuple(graph.names), follows_in(graph)


def follows_in(graph: FollowGraph) -> Ties:
    names = graph.names
    return {(names[one], names[other]) for one, other in zip(*graph.ties(), strict=True)}


def people_in(data: bytes, name: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return each person's name and the names of those whom they follow."""
    found = parse_profiles(data, name)
    ties = [(one, other) for one, other in found.ties.tolist() if one != other]
    return [
        (each.name, tuple(found[other].name for one, other in ties if one == place)) for place, each in enumerate(found)
    ]


def camps_in(data: bytes, name: str) -> list[object]:
    return [each.attributes["camp"] for each in parse_profiles(data, name, CAMP)]


def quarters_in(data: bytes, name: str) -> tuple[list[str], list[str], float]:
    """Return the quarters that are read and left out, and the first figure."""
    found = parse_series(data, name)
    read, left_out = [str(each.quarter) for each in found.quarters], [str(quarter) for quarter in found.left_out]
    return read, left_out, found.quarters[0].real_gdp


def conditions_in(data: bytes, name: str) -> Mapping[str, object]:
    design = Design(kind="table", file=name)
    return {each.name: each.settings for each in conditions_of(design, lambda name: (decode_text(data, name), name))}


NUMBERS: Ties = {("1", "2"), ("2", "3"), ("3", "1")}
CATALOGUE: dict[str, tuple[Callable[[bytes, str], object], object]] = {
    "graphs/index_column.csv": (graph_in, (("ada", "bo", "cy"), RING)),
    "graphs/named_index_column.csv": (graph_in, (("10", "20", "30"), {("10", "20"), ("20", "30"), ("30", "10")})),
    "graphs/semicolons_decimal_comma.csv": (graph_in, (("1", "2", "3"), NUMBERS)),
    "graphs/id_first.csv": (graph_in, (("ada", "bo", "cy"), RING)),
    "graphs/header_words.tsv": (graph_in, (("ada", "bo", "cy"), RING)),
    "graphs/float_ids.csv": (graph_in, (("1", "2", "3"), NUMBERS)),
    "graphs/pajek_named_txt.txt": (graph_in, (("ada", "bo", "cy"), RING)),
    "graphs/labels_then_ties.tgf": (graph_in, "labels_then_ties.tgf:4: begins like a"),
    "graphs/pajek_entities.net": (
        graph_in,
        (('Ada "Ace" Nowak', "Bo", "Cy"), {('Ada "Ace" Nowak', "Bo"), ("Bo", "Cy")}),
    ),
    "graphs/bom.gml": (graph_in, (("ada", "bo"), {("ada", "bo"), ("bo", "ada")})),
    "profiles/oasis_follows_by_row.csv": (people_in, [("Ada", ("Bo",)), ("Bo", ("Ada", "Cy")), ("Cy", ())]),
    "profiles/oasis_follows_somebody_absent.csv": (people_in, [("Ada", ("Bo",)), ("Bo", ("Ada",))]),
    "profiles/same_name_twice.csv": (people_in, [("Ada", ("Ada",)), ("Ada", ("Ada",))]),
    "profiles/persona_only.jsonl": (people_in, [("Person 0", ()), ("Person 1", ())]),
    "profiles/wrapped.json": (people_in, [("Ada", ()), ("Bo", ())]),
    "profiles/semicolons.csv": (people_in, [("Ada", ("Bo",)), ("Bo", ("Ada",))]),
    "profiles/numpy_reprs.csv": (people_in, [("Ada", ("Bo",)), ("Bo", ("Ada",))]),
    "profiles/missing_as_nan.csv": (people_in, [("Ada", ()), ("Bo", ())]),
    "profiles/missing_words.csv": (camps_in, ["Norway", "unknown", "unknown", "unknown"]),
    "macro/fred_names.csv": (quarters_in, (["1990q1", "1990q2", "1990q3"], ["1990q4"], 9364.3)),
    "macro/float_years.csv": (quarters_in, (["1990q1", "1990q2"], [], 9364.3)),
    "macro/labels_and_thousands.csv": (quarters_in, (["1990q1"], ["1990q2"], 9364.3)),
    "joined/people.csv": (people_in, [("Ada", ()), ("Bo", ()), ("Cy", ()), ("Di", ())]),
    "joined/ties_other_order.csv": (
        graph_in,
        (("di", "cy", "ada", "bo"), {("di", "cy"), ("cy", "ada"), ("ada", "bo"), ("bo", "di"), ("ada", "cy")}),
    ),
    "joined/ties_one_stranger.csv": (
        graph_in,
        (("di", "cy", "ada", "bo", "eve"), {("di", "cy"), ("cy", "ada"), ("ada", "bo"), ("bo", "eve")}),
    ),
    "joined/ties_of_numbers.csv": (graph_in, (("1", "2", "3", "4"), {("1", "2"), ("2", "3"), ("3", "4")})),
    "designs/semicolons.csv": (
        conditions_in,
        {
            "short": {"feed.size": 3, "feed.algorithm": "interest"},
            "long": {"feed.size": 10, "feed.algorithm": "chronological"},
        },
    ),
}
"""`{file: its reader, and the right outcome}`; a text is the beginning of a refusal."""


def test_each_file_of_the_catalogue_has_its_right_outcome() -> None:
    root = field_path("README.md").parent
    given = {str(path.relative_to(root)) for path in root.glob("*/*")}
    assert given == {*CATALOGUE}, "a file without an outcome here, or an outcome without a file"
    for name, (read, right) in CATALOGUE.items():
        assert outcome(read, (root / name).read_bytes(), Path(name).name) == right, name


def outcome(read: Callable[[bytes, str], object], data: bytes, name: str) -> object:
    """Return the content of a file; of a refusal the part before the second colon behind the line."""
    try:
        return read(data, name)
    except ConfigError as error:
        return " ".join(str(error).split(" ")[:4])


LARGE = 2**53
GML = """graph [
  directed 1
  node [ id {0} label "{2}" graphics [ id 7 label "x" ] ]
  node [
    id {1}
    label "{3}"
  ]
  edge [ source {0} target {1} ]
]
"""


def test_gml_is_read_with_any_ids_marks_and_entities() -> None:
    for one, other, first, second, names in (
        ("0", "1", "ada", "bo", ("ada", "bo")),
        (str(LARGE + 1), str(LARGE), "", "", (str(LARGE + 1), str(LARGE))),
        ("1310424242424240001", "1310424242424240002", "same", "same", ("1310424242424240001", "1310424242424240002")),
        ("-5", "7", "Ada &#34;Ace&#34; &amp; co", "R&ltd", ('Ada "Ace" & co', "R&ltd")),
        ("4294967300", "4", "a # [b]", "007", ("a # [b]", "007")),
    ):
        text = GML.format(one, other, first, second)
        for data in (text, "\ufeff" + text, text.replace("\n", "\r\n"), text.upper() if first == "" else text):
            assert graph_in(data.encode(), "g.gml") == (names, {names}), data
    for text, problem in {
        GML.format(LARGE + 1, LARGE, "a", "b").replace(
            f"source {LARGE + 1}", f"source {LARGE + 2}"
        ): ":8: bad GML: no n",
        GML.format(5, 5, "a", "b"): ":4: bad GML: the id 5 stands twice",
        GML.format(f"{LARGE}.0", 5, "a", "b"): ":3: bad GML: expected a whole number as id",
        GML.format('"x"', 5, "a", "b"): ":3: bad GML: expected a whole number as id",
        GML.format(4, 5, "a", "b")[:-3]: ":8: bad GML: expected ], got the end of the file",
        GML.format(4, 5, "a", "b") + GML.format(6, 7, "c", "d"): ": bad GML: expected one graph, got 2",
        GML.format(4, 5, "a", 'b"c'): ":6: bad GML",
        "graph [ node [ id 1 ] ] ]": ":1: bad GML: expected a key, got ']'",
    }.items():
        with pytest.raises(InputError) as caught:
            graph_in(text.encode(), "g.gml")
        assert str(caught.value).startswith(f"g.gml{problem}"), text


def test_labels_of_pajek_are_whole_or_refused() -> None:
    for label, name in {
        '"Ada &#34;Ace&#34; Nowak" 0.1 0.2 0.5': 'Ada "Ace" Nowak',
        '"Ada Nowak"': "Ada Nowak",
        "Ada&#32;Nowak ellipse x_fact 2": "Ada Nowak",
        '"AT&amp;T & co" [1-5]': "AT&T & co",
        "Ada 0.5 0.5": "Ada",
        '"R&ltd" box ic Red': "R&ltd",
    }.items():
        assert graph_in(f'*Vertices 2\n1 {label}\n2 "Bo"\n*Arcs\n1 2\n'.encode(), "g.net")[0] == (name, "Bo")
    for label in (
        "Ada N",
        "'Ada Nowak'",
        '"Ada "Ace" Nowak"',
        '"Ada',
        'O"Neil',
        '"Ada \\"Ace\\" Nowak"',
        '"Ada" Nowak',
    ):
        with pytest.raises(InputError, match=r"g\.net:2: bad Pajek: expected a number and a label, in quotes if"):
            graph_in(f'*Vertices 2\n1 {label}\n2 "Bo"\n*Arcs\n1 2\n'.encode(), "g.net")


def test_a_list_of_people_above_the_ties_is_refused() -> None:
    for divider in ("#", " # ", "# Edges", "%", "#edges:"):
        with pytest.raises(InputError, match=r"g:3: begins like a comment below ties: move it to the top, or put ids"):
            graph_in(f"1 Ada\n2 Bo\n{divider}\n1 2\n2 1\n".encode(), "g")
    with pytest.raises(InputError, match="g: is GDF: expected a table of ties"):
        graph_in(b"nodedef>name,label\n1,Ada\n2,Bo\nedgedef>node1,node2\n1,2\n", "g")


def test_numbers_of_a_file_are_compared_with_the_limit_of_people_before_anything_is_made() -> None:
    tracemalloc.start()
    try:
        for size in (PEOPLE_MAX + 1, 999_999_999_999):
            with pytest.raises(InputError) as caught:
                graph_in(f"*Vertices {size}\n*Arcs\n1 2\n".encode(), "g")
            assert str(caught.value) == f"g:1: expected at most 10,000,000 people, got {size:,}"
        for text in ("*Vertices " + "9" * 5000, "*Vertices 2\n*Arcs\n1 " + "9" * 5000):
            with pytest.raises(InputError, match=r"bad Pajek: expected "):
                graph_in(text.encode(), "g")
        assert tracemalloc.get_traced_memory()[1] < 10 * 1024**2
    finally:
        tracemalloc.stop()


def test_a_cell_of_any_table_is_bounded() -> None:
    cell = "x" * (CELL_CHARS_MAX + 1)
    hours = ",".join(HOUR_COLUMNS)
    shares = PopulationConfig(attributes={"region": AttributeConfig(type="text")})
    readers: dict[str, Callable[[bytes], object]] = {
        f"name\n{cell}\n": lambda data: parse_profiles(data, "t.csv"),
        f"text\n{cell}\n": lambda data: parse_posts(data, "t.csv", PopulationConfig()),
        f"region,share\n{cell},1\n": lambda data: parse_margin(data, "t.csv", shares),
        f"{hours},note\n{'1,' * 24}{cell}\n": lambda data: parse_hours(data, "t.csv"),
        f"date,realgdp,cpi,tbilrate,unemp\n{cell},1,1,1,1\n": lambda data: parse_series(data, "t.csv"),
        f"cascade,node,parent,delay_minutes\n{cell},0,-1,0\n": lambda data: parse_cascades(data, "t.csv"),
        f"name,feed.size\n{cell},1\n": lambda data: conditions_in(data, "t.csv"),
    }
    for text, read in readers.items():
        with pytest.raises(InputError) as caught:
            read(text.encode())
        assert str(caught.value) == "t.csv:2: expected cells of at most 4,194,304 characters", text[:40]
    with pytest.raises(InputError, match="t:2: expected lines of at most 4,194,304 characters"):
        graph_in(f"a b\n{cell} b\n".encode(), "t")
    long = "x" * 1_000_000
    assert parse_profiles(f"name,persona\nAda,{long}\n".encode(), "t.csv")[0].personality == long


def test_every_table_takes_every_separator() -> None:
    for separator in ",;\t|":

        def data(text: str, separator: str = separator) -> bytes:
            return text.replace("~", separator).encode()

        assert conditions_in(data("name~feed.size\na~3\n\n~\n"), "t") == {"a": {"feed.size": 3}}
        assert conditions_in(data("\ufefffeed.size~population.attributes.a.default\n3~x\n"), "t") == {
            "c1": {"feed.size": 3, "population.attributes.a.default": "x"}
        }
        assert conditions_in(data("population.graph.path~feed.size\nmy edges #1.csv~3\n"), "t") == {
            "c1": {"population.graph.path": "my edges #1.csv", "feed.size": 3}
        }
        assert conditions_in(data("domain.a~domain.b\n3~0.5\n"), "t") == {"c1": {"domain.a": 3, "domain.b": 0.5}}
        assert (
            sum(parse_hours(data("id~" + "~".join(HOUR_COLUMNS) + "\nada" + "~1" * 24 + "\n"), "t.csv").counts.ravel())
            == 24
        )
        rows = "cascade~node~parent~delay_minutes\na~0~-1~0\na~1~0~2.5\n"
        assert parse_cascades(data(rows), "t.csv")[0].parents == (-1, 0)


def test_words_for_a_missing_value_are_missing_unless_they_are_declared() -> None:
    words = ("nan", "NaN", "None", "null", "<NA>", "NULL", "#N/A", " nan ", "")
    for word in words:
        assert camps_in(f"name,camp\nAda,{word}\n".encode(), "p.csv") == ["unknown"], word
    assert camps_in(b'[{"name": "Ada", "camp": "nan"}, {"name": "Bo", "camp": NaN}]', "p.json") == ["unknown"] * 2
    assert camps_in(b"name,camp\nAda,NO\nBo,NA\nCy,none\n", "p.csv") == ["NO", "NA", "none"]
    declared = AttributeConfig(type="text", values=("None", "Catholic"), default="Catholic")
    found = parse_profiles(b"name,camp\nAda,None\nBo,nan\n", "p.csv", PopulationConfig(attributes={"camp": declared}))
    assert [each.attributes["camp"] for each in found] == ["None", "Catholic"]
    number = PopulationConfig(attributes={"age": AttributeConfig(type="int", default=40)})
    assert parse_profiles(b"name,age\nAda,nan\n", "p.csv", number)[0].attributes["age"] == 40
    needed = PopulationConfig(attributes={"camp": AttributeConfig(type="text")})
    with pytest.raises(InputError) as caught:
        parse_profiles(b"name,camp\nAda,nan\n", "p.csv", needed)
    told = "expected text, got 'nan', which stands for a missing value; population.attributes.camp.default would"
    assert str(caught.value).startswith(f"p.csv:2: camp: {told}")
    with pytest.raises(InputError, match=r"m\.csv:3: camp: expected text, got 'nan'"):
        parse_margin(b"camp,share\nleft,0.5\nnan,0.5\n", "m.csv", needed)
