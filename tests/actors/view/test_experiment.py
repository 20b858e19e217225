"""The local page on the directory of an experiment: its cells, their runs, and charts that follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.actors.studies.experiments.written import CONDITIONS, SEEDS, write_cell, write_experiment_directory
from tests.actors.view.asking import Asked

SHORT, LONG = CONDITIONS


def test_cells_are_listed_with_their_states_and_again_as_they_end(tmp_path: Path) -> None:
    path = write_experiment_directory(tmp_path / "e", done=3)
    asked = Asked(path)
    page = asked.json("experiment")
    assert page["counts"] == {"done": 3, "running": 0, "interrupted": 0, "waiting": 2 * SEEDS - 3}
    cells = page["conditions"][0]["cells"]
    assert [state for _, _, state in cells[:4]] == ["done", "done", "done", "waiting"]
    write_cell(path / "cells" / cells[3][1], likes=4)
    again = asked.json("experiment")
    assert again["counts"]["done"] == 4
    assert again["version"] != page["version"]


@pytest.mark.slow
def test_charts_are_those_of_the_report_and_drawn_again_as_cells_end(tmp_path: Path) -> None:
    path = write_experiment_directory(tmp_path / "e", done=SEEDS + 2)
    asked = Asked(path)
    lead, *drawn = asked.json("experiment/charts")
    assert "Over 2 matched seeds people gave on average" in str(lead)
    sections = {attributes["id"]: children for _, attributes, children in drawn}
    assert list(sections) == ["statistics", "comparisons", "means", "effects", "courses", "thresholds"]
    assert "2 pairs" in str(sections["statistics"])
    key = asked.json("experiment")["conditions"][1]["cells"][2][1]
    write_cell(path / "cells" / key, likes=13)
    lead, statistics, *_ = asked.json("experiment/charts")
    assert "3 pairs" in str(statistics)
    assert "Over 3 matched seeds" in str(lead)


def test_cells_are_listed_by_condition_and_seed_and_not_by_their_hashes(tmp_path: Path) -> None:
    path = write_experiment_directory(tmp_path / "e", done=SEEDS + 1)
    for cell in (path / "cells").iterdir():
        (cell / "manifest.json").write_text("{}")
    labels = [line["label"] for line in Asked(path).json("runs")["runs"]]
    assert labels == [*(f"{SHORT}, seed {seed}" for seed in range(1, SEEDS + 1)), f"{LONG}, seed 1"]
