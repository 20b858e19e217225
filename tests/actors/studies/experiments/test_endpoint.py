"""The metrics of an experiment, and its display: what they show is what has happened."""

from __future__ import annotations

import re
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console

from actors.cli.experiment import ExperimentDisplay, drawn
from actors.core.errors import AddressError
from actors.studies.experiments.cells import Done
from actors.studies.experiments.endpoint import ExperimentCollector, served
from actors.studies.experiments.machine import Load
from actors.studies.experiments.standing import Progress
from tests.paths import ROOT


def busy() -> Progress:
    """Return the progress of ten cells: three done, one failed, two running."""
    progress = Progress()
    progress.add(10)
    for seconds in (0.2, 0.4, 20.0):
        progress.end(Done(wall_s=seconds))
    progress.end(Done("it failed"))
    progress.lose("node lost")
    progress.lose("node lost")
    progress.run_on({"a": 1, "b": 1})
    progress.load({"a": Load(cpu=0.5, memory=0.25, cells=1), "b\x1b[31m": Load(cpu=1.0, memory=0.75, cells=1)})
    return progress


def samples(text: str) -> dict[tuple[str, str], float]:
    return {
        (sample.name, ",".join(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scraped(progress: Progress, path: str = "/metrics") -> str:
    with served(ExperimentCollector("feed", "ray", 5, progress.standing), 0) as url:
        assert url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(url + path, timeout=10) as answer:
            text: str = answer.read().decode()
    return text


def test_the_metrics_are_those_of_the_experiment() -> None:
    found = samples(scraped(busy()))
    assert {state: found["prism_experiment_cells", state] for state in ("done", "failed", "running", "waiting")} == {
        "done": 8,
        "failed": 1,
        "running": 2,
        "waiting": 4,
    }
    assert found["prism_experiment_losses_total", "node lost"] == 2
    assert found["prism_experiment_losses_total", "worker killed"] == 0
    assert found["prism_experiment_cell_seconds_bucket", "0.25"] == 1
    assert found["prism_experiment_cell_seconds_bucket", "0.5"] == 2
    assert found["prism_experiment_cell_seconds_bucket", "+Inf"] == 3
    assert found["prism_experiment_cell_seconds_sum", ""] == pytest.approx(20.6)
    assert found["prism_experiment_node_cpu", "a"] == 0.5
    assert found["prism_experiment_node_memory", "a"] == 0.25
    assert found["prism_experiment_node_cells", "a"] == 1
    assert found["prism_run_info", "ray,feed,experiment,"] == 1


def test_a_port_in_use_is_refused_and_a_free_one_is_healthy() -> None:
    collector = ExperimentCollector("feed", "processes", 0, Progress().standing)
    with served(collector, 0) as url, pytest.raises(AddressError, match="set --metrics-port to"):
        served(collector, int(url.rpartition(":")[2])).__enter__()
    assert scraped(Progress(), "/healthz") == "ok\n"


def test_every_metric_of_an_experiment_is_documented() -> None:
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(prism_experiment_\w+)(?:\{\w+\})?` \|", text, flags=re.MULTILINE))
    exposed = {family.name for family in text_string_to_metric_families(scraped(busy()))} - {"prism_run_info"}
    assert documented == {f"{name}_total" if name.endswith("losses") else name for name in exposed}


def test_the_display_shows_cells_nodes_losses_and_the_time_left(tmp_path: Path) -> None:
    console = Console(width=100, record=True, file=(tmp_path / "out").open("w"))
    console.print(drawn(busy().standing(), 5, 60.0))
    said = console.export_text()
    console.file.close()
    assert "9 of 15 cells, 1 min 00 s, 1 min 30 s left" in " ".join(said.split())
    assert "2 running, 4 waiting, 1 failed, node lost 2 times" in said
    assert re.search(r"a +1 +50% +25%", said)
    assert "\x1b" not in said
    assert r"b\x1b[31m" in said


def test_the_display_says_that_measures_are_worked_out_after_the_last_cell(capsys: pytest.CaptureFixture[str]) -> None:
    display = ExperimentDisplay(0, quiet=False)
    said = []
    with display.showing(busy().standing):
        for cells in (0, 180):
            display.measuring(cells)
            Console(width=100).print(display._drawn())
            said.append(capsys.readouterr().out)
    assert "working out" not in said[0]
    assert said[1] == f"{said[0]}working out the measures of 180 cells\n"
