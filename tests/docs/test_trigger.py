"""docs/concepts.md names the modules of actors that a tick passes through: all of them, and no others."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import anyio
import pytest

from actors.core.ports import Observer
from actors.factory.domains import build_domain
from actors.metrics.observation import UNOBSERVED
from actors.runs.create import create_run
from actors.runs.directory import RunDirectory
from actors.runs.execute import Host, execute
from prism.config import Config, load_config
from tests.docs.pages import section
from tests.paths import ROOT

TICKS = 60
AFTER_THE_LAST_TICK = (
    "actors/logs/",
    "actors/core/files.py",
    "actors/runs/directory.py",
    "actors/record/manifest.py",
    "actors/runs/manifest.py",
    "actors/runs/ray_shards.py",
)
"""What threads do when the run has ended: its log is closed, its summary written, its files sealed."""

BY_THE_CLOCK = {
    "actors/runtime/phase.py",
    "actors/core/events.py",
    "actors/record/phase_file.py",
    "actors/metrics/observation.py",
}
"""What is called four times a second, or when a checkpoint is on the disk: a quick run may end before that."""


class ModuleObserver(Observer):
    """Notes the files whose functions are called from the end of the first tick to the end of the last.

    Threads write what the ticks have left, so they are listened to until they end.
    """

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.ticks = 0

    def tick_ended(self, duration_s: float) -> None:
        self.ticks += 1

    def note(self, frame: FrameType, event: str, _: object) -> None:
        is_in_loop = threading.current_thread() is threading.main_thread()
        if event == "call" and self.ticks >= 1 and (self.ticks < TICKS or not is_in_loop):
            self.files.add(frame.f_code.co_filename)


@pytest.fixture
def observer() -> Iterator[ModuleObserver]:
    observer, before = ModuleObserver(), sys.getprofile()
    sys.setprofile(observer.note)
    threading.setprofile(observer.note)
    yield observer
    sys.setprofile(before)
    threading.setprofile(None)


@pytest.fixture
def config() -> Config:
    """A run in which everything happens that the page tells of: questions, rounds, checkpoints."""
    settings = ["population.size=60", "population.ambiguity=0.6", "run.checkpoint_every_ticks=20"]
    settings.append("oracle.rate_per_s=100000")  # without a limit, the embedded oracle needs no queue
    return load_config(None, "test", environment={}, overrides=[*settings, f"simulation.ticks={TICKS}"])


def test_the_page_names_the_modules_that_a_tick_passes_through(
    config: Config, observer: ModuleObserver, tmp_path: Path
) -> None:
    run = create_run(RunDirectory.create(tmp_path / "run", "test"), config, build_domain(config))
    anyio.run(execute, run, Host(observer=observer), UNOBSERVED)
    files = [Path(file) for file in observer.files]
    passed = {file.relative_to(ROOT).as_posix() for file in files if file.is_relative_to(ROOT / "actors")}
    passed = {file for file in passed if not file.startswith(AFTER_THE_LAST_TICK)}
    page = section(ROOT / "docs" / "concepts.md", "The way of one trigger")
    page = page.partition("\n### When a call fails\n")[0]  # nothing fails in this run
    named = set(re.findall(r"`(actors/[\w/]+\.py)`", page))
    assert (sorted(named - passed - BY_THE_CLOCK), sorted(passed - named)) == ([], [])
