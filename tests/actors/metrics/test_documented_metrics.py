"""The page that a scraper gets: in the format it asks for, with the process beside the run."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics

from tests.actors.metrics.support import Watched, finished
from tests.catalogue import catalogue


def test_openmetrics_is_whole_and_has_the_tick_of_a_call_as_its_exemplar() -> None:
    watched = Watched()
    finished(watched)
    kind, page = watched.exposition.render("application/openmetrics-text; version=1.0.0, text/plain;q=0.5")
    assert kind.startswith("application/openmetrics-text")
    found = {family.name: family for family in parse_openmetrics(page.decode())}  # type: ignore[no-untyped-call]
    exemplars = [
        sample.exemplar for sample in found["prism_llm_request_duration_seconds"].samples if sample.exemplar is not None
    ]
    assert exemplars
    assert all(0 <= int(exemplar.labels["tick"]) < watched.simulation.ticks for exemplar in exemplars)


@catalogue("accept", ["", "application/json;q=nonsense,,;;", "application/openmetrics-textual"])
def test_whoever_asks_for_anything_else_gets_the_text_format(accept: str) -> None:
    kind, page = Watched().exposition.render(accept)
    assert kind == "text/plain; version=0.0.4; charset=utf-8"
    assert b"_created" not in page
    assert b"# EOF" not in page


def test_process_interpreter_and_collector_are_shown_too() -> None:
    text = Watched().text()
    for name in (
        "process_resident_memory_bytes",
        "process_virtual_memory_bytes",
        "process_cpu_seconds_total",
        "process_start_time_seconds",
        "process_open_fds",
        "process_max_fds",
        "python_info",
        "python_gc_objects_collected_total",
    ):
        assert f"\n{name}" in text


def test_promtool_has_nothing_to_complain_about() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed: apt-get install prometheus")
    watched = Watched()
    finished(watched)
    checked = subprocess.run(
        [promtool, "check", "metrics"], input=watched.text(), capture_output=True, text=True, check=False
    )
    complaints = [line for line in checked.stderr.splitlines() if line.startswith("prism_")]
    assert complaints == []
