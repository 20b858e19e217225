"""Building of a domain with its agents; its steps are shown if it takes long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

from rich.live import Live
from rich.text import Text

from actors.display.console import SafeConsole
from actors.display.words import duration
from actors.factory.domains import BuiltDomain, build_domain
from actors.factory.input_files import locate_input
from actors.logs.output import output, say
from prism.config import Config, PopulationConfig

SHOWN_FROM, SHOWN_FROM_BYTES = 50_000, 1024**2
"""The number of people, and the bytes of their file, from which the build takes a second or more."""


def build_with_progress(config: Config, *, quiet: bool = False) -> BuiltDomain:
    """Build the domain of a configuration, and show the steps."""
    if not quiet and _is_large(config.population):
        with _step_display() as show_step:
            return build_domain(config, show_step)
    return build_domain(config)


def _is_large(population: PopulationConfig) -> bool:
    """Return whether the build is likely to take long, by the configuration and the size of its files."""
    files = [locate_input(name) for name in (population.profiles, population.graph.path) if name is not None]
    if any(path.is_file() and path.stat().st_size > SHOWN_FROM_BYTES for path in files):
        return True
    return population.graph.path is None and population.size >= SHOWN_FROM


@contextmanager
def _step_display() -> Iterator[Callable[[str], None]]:
    """Provide a function that shows a step: on a terminal with its time so far, elsewhere as a line."""
    console = SafeConsole(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal or output.is_json:
        yield say
        return
    steps = _Steps()
    with Live(get_renderable=steps.text, console=console, refresh_per_second=4, transient=True):
        yield steps.begin


class _Steps:
    """The present step, and the time since it began."""

    def __init__(self) -> None:
        self._step = "building"
        self._begun = perf_counter()

    def begin(self, step: str) -> None:
        """Begin another step."""
        self._step, self._begun = step, perf_counter()

    def text(self) -> Text:
        """Return the line to show."""
        return Text(f"prism: {self._step}, {duration(perf_counter() - self._begun)}")
