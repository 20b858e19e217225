"""Input files of runs: read, checked, kept, and shared by runs of one process."""

import gzip
import hashlib
import os
import re
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.factory import input_files
from actors.factory.domains import build_domain
from actors.factory.file_kinds import EXPECTED, parse_graph
from actors.factory.input_files import load_population, read_input, share_inputs
from prism.config import Config, GraphConfig, PopulationConfig
from prism.config.config import find_misfit
from prism.errors import ConfigError, InputError, SettingError
from prism.social.ties import files
from prism.social.ties.graph import FollowGraph, generate
from tests.catalogue import catalogue

GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<graph edgedefault="{direction}">
<node id="ada"/><node id="bo"/><node id="cy"/>
<edge source="ada" target="cy"/>
</graph>
</graphml>
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def graph_in(path: str, *, directed: bool, bytes_max: int = 1000) -> FollowGraph:
    source = read_input(path, bytes_max=bytes_max)
    return parse_graph(source.data, source.name, GraphConfig(directed=directed))


def failure(path: str, *, bytes_max: int = 1000) -> str:
    with pytest.raises(InputError) as caught:
        graph_in(path, bytes_max=bytes_max, directed=True)
    return str(caught.value)


def test_tables_in_parquet_are_read_as_tables_are(here: Path) -> None:
    people = "SELECT * FROM (VALUES (7, 'Ada', ['rail, night', 'tea'], [9]), (9, 'Bo', NULL, NULL)) AS people"
    names = "(user_id, name, interested_topics, following_list)"
    duckdb.sql(f"COPY ({people} {names}) TO 'people.parquet'")
    duckdb.sql("COPY (FROM (VALUES (1.5, 7, 9), (2.5, 9, 7)) AS ties (weight, source, target)) TO 'ties.parquet'")
    config = PopulationConfig(profiles="people.parquet", graph=GraphConfig(path="ties.parquet", directed=True))
    population, hashes = load_population(config, 1)
    assert [persona.name for persona in population.personas] == ["Ada", "Bo"]
    assert population.personas[0].interests == ("rail, night", "tea")
    assert population.graph.follows(0, 1)
    assert hashes["ties.parquet"] == hashlib.sha256(Path("ties.parquet").read_bytes()).hexdigest()
    duckdb.sql("COPY (SELECT 1 AS x) TO 'people.parquet'")
    with pytest.raises(InputError, match=r"^people\.parquet:1: expected a column that describes people .*, got: x$"):
        load_population(config, 1)
    Path("ties.parquet").write_bytes(b"PAR1 and no more")
    assert failure("ties.parquet").startswith("ties.parquet: cannot be read as Parquet: ")


def test_a_gzip_file_is_unpacked_and_hashed_as_it_lies_on_the_disk(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(b"1 2\n") + gzip.compress(b"2 3\n")
    Path("t.txt.gz").write_bytes(packed)
    source = read_input("t.txt.gz")
    assert (source.data, source.sha256) == (b"1 2\n2 3\n", hashlib.sha256(packed).hexdigest())
    # A small file may unpack at any ratio; a large one that unpacks to far more than text does is refused.
    packed = gzip.compress(b"1 2\n" * 100_000)
    Path("t.txt.gz").write_bytes(packed)
    assert len(read_input("t.txt.gz").data) == 400_000 > len(packed) * 100
    monkeypatch.setattr("actors.factory.input_files.UNPACK_FREE_BYTES", 1000)
    with pytest.raises(InputError, match=f"unpacks to more than 100 times its size of {len(packed):,} bytes"):
        read_input("t.txt.gz")


def test_what_cannot_be_read_is_named(here: Path) -> None:
    assert failure("graphs/t.txt") == f"graphs/t.txt: no such file in {here}/graphs"
    os.mkfifo("p.txt")
    assert failure("p.txt") == "p.txt: is a named pipe: expected a file"
    Path("t.txt").write_bytes(b"1 2\n" * 300)
    assert failure("t.txt") == "t.txt: is larger than the 1,000 bytes that one input file may have"


@catalogue(
    ("packed", "reason"),
    [
        (b"1 2\n", "Not a gzipped file (b'1 ')"),
        (gzip.compress(b"1 2\n" * 50)[:-9], "Compressed file ended before the end-of-stream marker was reached"),
        (gzip.compress(b"1 2\n")[:-8] + bytes(8), "CRC check failed 0x0 != "),
        (b"", "it is empty"),
    ],
)
def test_a_corrupt_gzip_file_is_one_clear_line(here: Path, packed: bytes, reason: str) -> None:
    Path("t.txt.gz").write_bytes(packed)
    assert failure("t.txt.gz").startswith(f"t.txt.gz: is no whole gzip file: {reason}")


def test_the_content_tells_the_format_and_whether_ties_have_a_direction(here: Path) -> None:
    for name in ("t.gml", "t"):
        Path(name).write_bytes(gzip.compress(b"1 2\n2 3\n"))
        assert graph_in(name, directed=True).edges == 2
    for directed in (True, False):
        Path("t.graphml").write_text(GRAPHML.format(direction="directed" if directed else "undirected"))
        graph = graph_in("t.graphml", directed=not directed)
        assert graph.names == ("ada", "bo", "cy")
        assert (graph.follows(0, 2), graph.follows(2, 0)) == (True, not directed)


@catalogue(
    ("text", "message"),
    [
        ("<graphml>\n<graph", "t.graphml:2: bad GraphML: Couldn't find end of Start Tag graph."),
        ("<html></html>", f"t.graphml: is XML without an element `graphml`: {EXPECTED}"),
        (
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed"/></graphml>',
            "t.graphml: holds no ties: expected edges between different nodes",
        ),
    ],
)
def test_a_bad_graphml_file_is_one_clear_line(here: Path, text: str, message: str) -> None:
    Path("t.graphml").write_text(text)
    assert failure("t.graphml") == message


def test_ties_of_people_who_are_looked_at_are_drawn_when_they_are_asked_for_and_are_the_same() -> None:
    config = PopulationConfig(size=200)
    (whole, _), (looked_at, _) = (load_population(config, 3, looks=looks) for looks in (False, True))
    assert looked_at.name(7) == whole.name(7)
    assert "edges" not in vars(looked_at.graph), "nobody has asked for ties"
    assert looked_at.graph.edges == whole.graph.edges > 0
    assert looked_at.graph.following(7).tolist() == whole.graph.following(7).tolist()


RING = "".join(f"{each} {(each + 1) % 60}\n{each} {(each + 7) % 60}\n" for each in range(60))


def test_a_graph_is_parsed_once_until_its_content_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = list[bytes]()

    def counted(data: bytes, source: str, config: GraphConfig) -> object:
        parsed.append(data)
        return files.parse_edges(data, source, config)

    monkeypatch.setattr("actors.factory.file_kinds.parse_edges", counted)
    graph = tmp_path / "graph.txt"
    graph.write_text(RING)
    config = Config().population
    config = PopulationConfig(graph=type(config.graph)(path=str(graph)))
    load_population(config, 1)
    monkeypatch.setattr(input_files, "_kept", None)
    share_inputs()
    first, second = (load_population(config, seed)[0].graph for seed in (1, 2))
    assert first is second
    graph.write_text(RING + "0 2\n")
    third = load_population(config, 1)[0].graph
    assert third.edges == first.edges + 2, "a friendship counts as two"
    assert len(parsed) == 3, "at first nothing was kept"
    for number in range(4):
        (tmp_path / f"{number}.txt").write_text(RING + f"0 {number + 2}\n")
        load_population(PopulationConfig(graph=type(config.graph)(path=str(tmp_path / f"{number}.txt"))), 1)
    load_population(config, 1)
    assert len(parsed) == 8, "four are kept, the latest"


GRAPHS = st.builds(
    GraphConfig,
    kind=st.sampled_from(("barabasi_albert", "power_law", "stochastic_block", "watts_strogatz")),
    degree=st.integers(1, 14),
    blocks=st.integers(1, 14),
    mixing=st.sampled_from((0.0, 0.1, 0.5, 0.9, 1.0)),
)


@given(size=st.integers(1, 14), graph=GRAPHS)
def test_settings_are_refused_of_which_no_graph_can_be_made_and_no_others(size: int, graph: GraphConfig) -> None:
    population = PopulationConfig(size=size, graph=graph)
    misfit = find_misfit(graph, size)
    if misfit is None:
        built = build_domain(Config(population=population))
        assert (built.domain.size, built.inputs) == (size, {})
        return
    with pytest.raises(SettingError, match=re.escape(misfit.problem)):
        Config(population=population)
    with pytest.raises(ConfigError, match=re.escape(misfit.problem)):
        generate(graph, size, 1)
