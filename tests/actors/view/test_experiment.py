"""The local page on the directory of an experiment: its cells, their runs, and charts that follow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.actors.studies.experiments.written import CONDITIONS, SEEDS, write_cell, write_experiment_directory
from tests.actors.view.asking import Asked

SHORT, LONG = CONDITIONS


def test_cells_are_listed_with_their_states_and_again_as_they_end(tmp_path: Path) -> None:
    path = write_experiment_directory(tmp_path / "e", done=3)
    asked = Asked(path)
    before, cells = asked.json("home"), asked.part("experiment")
    assert f"Cells: 3 done, {2 * SEEDS - 3} waiting." in cells
    assert cells.count("cell-done") == 3
    key = f"{0:04x}{4:016x}"
    write_cell(path / "cells" / key, likes=4)
    cells = asked.part("experiment")
    assert "Cells: 4 done" in cells
    assert f'href="#/run/{key}" id="cell-{key}" aria-label="{SHORT}, seed 4: done"' in cells
    assert asked.json("home")["version"] != before["version"]


@pytest.mark.slow
def test_sections_are_those_of_the_report_and_drawn_again_as_cells_end(tmp_path: Path) -> None:
    path = write_experiment_directory(tmp_path / "e", done=SEEDS + 2)
    asked = Asked(path)
    drawn = asked.part("experiment/sections")
    assert "Over 2 matched seeds people gave on average" in drawn
    assert "2 pairs" in drawn
    found = re.findall('<section id="([a-z]+)"', drawn)
    assert found[:6] == ["statistics", "comparisons", "means", "effects", "courses", "thresholds"]
    assert 'data-chart="{' in drawn
    write_cell(path / "cells" / f"{1:04x}{3:016x}", likes=13)
    drawn = asked.part("experiment/sections")
    assert "3 pairs" in drawn
    assert "Over 3 matched seeds" in drawn


def test_cells_are_listed_by_condition_and_seed_and_not_by_their_hashes(tmp_path: Path) -> None:
    path = write_experiment_directory(tmp_path / "e", done=SEEDS + 1)
    for cell in (path / "cells").iterdir():
        (cell / "manifest.json").write_text("{}")
    asked = Asked(path)
    labels = [line.label for line in asked.lines()]
    assert asked.json(f"runs/{f'{1:04x}{1:016x}'}")["label"] == f"{LONG}, seed 1"
    assert labels == [*(f"{SHORT}, seed {seed}" for seed in range(1, SEEDS + 1)), f"{LONG}, seed 1"]
