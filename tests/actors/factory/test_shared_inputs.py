"""Input files that several runs of a process share: read once, and the same results."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.factory.input_files import inputs_shared, load_population
from actors.results.api import run
from prism.config import Config, GraphConfig, PopulationConfig
from prism.config.load import load_config
from prism.social.ties import edges

RING = "".join(f"{each} {(each + 1) % 60}\n{each} {(each + 7) % 60}\n" for each in range(60))
TEXT = """
simulation: {rounds: 2, ticks_per_round: 24}
population: {graph: {path: GRAPH}, activity: {mean: 0.9, sigma: 0.1}}
interventions:
  - {tick: 10, unfollow: [[0, 1], [1, 2], [2, 3]]}
"""


def test_runs_that_share_a_graph_end_as_runs_that_read_it(tmp_path: Path) -> None:
    graph = tmp_path / "graph.txt"
    graph.write_text(RING)
    config = load_config(TEXT.replace("GRAPH", str(graph)))
    alone = run(config).summary.digest
    with inputs_shared():
        assert [run(config).summary.digest for _ in range(3)] == [alone] * 3


def test_a_graph_is_parsed_once_until_its_content_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = list[bytes]()

    def counted(data: bytes, source: str, config: GraphConfig) -> object:
        parsed.append(data)
        return edges.parse_edges(data, source, config)

    monkeypatch.setattr("actors.factory.graph_files.parse_edges", counted)
    graph = tmp_path / "graph.txt"
    graph.write_text(RING)
    config = Config().population
    config = PopulationConfig(graph=type(config.graph)(path=str(graph)))
    with inputs_shared():
        first, second = (load_population(config, seed)[0].graph for seed in (1, 2))
        assert first is second
        graph.write_text(RING + "0 2\n")
        third = load_population(config, 1)[0].graph
        assert third.edges == first.edges + 2, "a friendship counts as two"
        assert len(parsed) == 2
        for number in range(4):
            (tmp_path / f"{number}.txt").write_text(RING + f"0 {number + 2}\n")
            load_population(PopulationConfig(graph=type(config.graph)(path=str(tmp_path / f"{number}.txt"))), 1)
        load_population(config, 1)
        assert len(parsed) == 7, "four are kept, the latest"
    load_population(config, 1)
    assert len(parsed) == 8, "outside of the block nothing is kept"
