"""Building of a domain with its agents; its steps are shown if it takes long."""

from __future__ import annotations

from time import perf_counter

from actors.display.words import duration
from actors.display.work import Standing, live_console, progress_shown
from actors.factory.domains import BuiltDomain, build_domain
from actors.factory.input_files import locate_input
from actors.logs.output import say
from prism.config import Config

SHOWN_FROM, SHOWN_FROM_BYTES = 50_000, 1024**2
"""The number of people, and the bytes of their file, from which the build takes a second or more."""


def build_with_progress(config: Config) -> BuiltDomain:
    """Build the domain of a configuration, and show the steps: on a terminal with their time, elsewhere as lines."""
    population = config.population
    files = [locate_input(name) for name in (population.profiles, population.graph.path) if name is not None]
    is_large = any(path.is_file() and path.stat().st_size > SHOWN_FROM_BYTES for path in files)
    if not is_large and (population.graph.path is not None or population.size < SHOWN_FROM):
        return build_domain(config)
    step, begun, has_lines = "building", perf_counter(), live_console() is None

    def begin(next_step: str) -> None:
        nonlocal step, begun
        step, begun = next_step, perf_counter()
        if has_lines:
            say(step)

    with progress_shown(lambda: Standing(f"{step}, {duration(perf_counter() - begun)}"), has_lines=False):
        return build_domain(config, begin)
