"""The page that a scraper gets, with the process beside the run."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.actors.metrics.support import Watched, finished


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
