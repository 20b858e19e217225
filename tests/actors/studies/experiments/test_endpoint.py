"""The metrics of an experiment, and its display: what they show is what has happened."""

from __future__ import annotations

import re
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from actors.studies.experiments.batch import Progress
from actors.studies.experiments.cells import Done
from actors.studies.experiments.endpoint import ExperimentCollector, served
from tests.paths import ROOT


def busy() -> Progress:
    """Return the progress of ten cells: three done, one failed, two running."""
    progress = Progress()
    progress.tell(total=10)
    for seconds in (0.2, 0.4, 20.0):
        progress.end(Done(wall_s=seconds))
    progress.end(Done("it failed"))
    progress.lose("node lost")
    progress.lose("node lost")
    progress.tell(running=2)
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
    assert found["prism_run_info", "ray,feed,experiment,"] == 1


def test_every_metric_of_an_experiment_is_documented() -> None:
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(prism_experiment_\w+)(?:\{\w+\})?` \|", text, flags=re.MULTILINE))
    exposed = {family.name for family in text_string_to_metric_families(scraped(busy()))} - {"prism_run_info"}
    assert documented == {f"{name}_total" if name.endswith("losses") else name for name in exposed}
