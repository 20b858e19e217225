"""A Ray cluster that is short of memory: its monitor ends the process of a cell, and the command says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.actors.studies.experiments.cluster import in_namespace, why_not
from tests.actors.studies.experiments.files import EXPERIMENT, write_experiment

CELLS = 4
BASE = """
simulation: {rounds: 400, ticks_per_round: 24}
population: {size: 200, activity: {mean: 0.9, sigma: 0.1}}
"""


@pytest.mark.slow
@pytest.mark.timeout(420)
def test_cells_that_the_memory_monitor_ends_are_counted_as_losses_and_fail_in_the_end(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reason := why_not("ray"):
        pytest.skip(reason)
    monkeypatch.chdir(short)
    monkeypatch.setenv("RAY_memory_usage_threshold", "0.001")
    monkeypatch.setenv("RAY_memory_monitor_refresh_ms", "100")
    write_experiment(short, EXPERIMENT.replace("seeds: 3", "seeds: 2"), BASE)
    found = in_namespace(short, "tests.actors.studies.experiments.cluster_short_of_memory")
    assert found["code"] == "2", found["said"]
    assert found["said"].count("its process on a node was killed 3 times; is there enough memory?") == CELLS + 1
    assert f"{CELLS} of {CELLS} cells have no result" in found["said"]
