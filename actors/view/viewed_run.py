"""A run as the page shows it: its files, read in the background as far as they go."""

from __future__ import annotations

from pathlib import Path
from threading import Lock, Thread
from typing import NamedTuple

from actors.core.errors import ActorError
from actors.factory.domains import chart_of, is_own, show_of
from actors.pages.page import Element, tag
from actors.store.followed import Followed
from actors.store.manifest import CONFIG
from actors.store.run import header_in, read_resolved
from actors.view.network import NetworkDrawing
from actors.view.run_list import shown
from prism.config import Config
from prism.errors import ConfigError, PrismError
from prism.palette import MARK_SHAPES, state_styles
from prism.show import Show
from prism.statechart.outline import Outline, outline


class Looks(NamedTuple):
    """The looks of a state."""

    number: int  # in the arrays of states
    color: str
    shape: str  # its mark, as an SVG path in a square of 12 by 12


class ViewedRun:
    """One run. `label`: what the page calls it."""

    def __init__(self, path: Path, label: str) -> None:
        self.path, self.label = path, label
        self.problem = ""  # the reason for which the run cannot be shown; empty if it can
        self.config: Config | None = None
        """None if it cannot be read, or has not been yet; `chart` and `network` are made from it."""
        self.chart: Outline | None = None
        self.network = NetworkDrawing(Config())
        self.journal: Followed | None = None
        self._lock = Lock()
        self._reader: Thread | None = None
        self._damage = ""  # the reason for which the rest of the journal cannot be read; empty if it can
        self._is_closed = False

    @property
    def show(self) -> Show:
        """The words of its domain."""
        return Show(Config()) if self.config is None else show_of(self.config)

    @property
    def styles(self) -> dict[str, Looks]:
        """The looks of each state, in the order of their names."""
        if self.journal is None or not self.journal.states:
            return {}
        numbers = {name: number for number, name in enumerate(self.journal.states)}
        return {
            name: Looks(number=numbers[name], color=style.color, shape=MARK_SHAPES[style.mark])
            for name, style in state_styles(sorted(numbers)).items()
        }

    def chip(self, state: str) -> Element:
        """Return a state as an element: its mark, and its name."""
        looks, words = self.styles.get(state), tag("span", state.replace("_", " "))
        if looks is None:
            return words
        shape = tag("path", d=looks.shape, fill=looks.color, fill_rule="evenodd", class_="mark-shape")
        mark = tag("svg", shape, viewBox="0 0 12 12", width=12, height=12, class_="mark", aria_hidden="true")
        return tag("span", mark, words, class_="chip")

    def called(self, agent: int) -> str:
        """Return what the page calls an agent: its name, as soon as it is known, or its number."""
        people = self.network.population
        return self.show.called(agent) if people is None else people.name(agent)

    @property
    def is_reading(self) -> bool:
        return self._reader is not None and self._reader.is_alive()

    def follow(self) -> None:
        """Start a thread that reads the new part of the journal, unless such a thread is running."""
        with self._lock:
            if self.is_reading:
                return
            try:
                self._open()
                self.problem = self._damage
                if self.journal is None or not self.journal.is_behind():
                    return
            except (PrismError, OSError) as error:
                self.problem = _words(error)
                return
            self._reader = Thread(target=self._read, args=(self.journal,), name=f"read {self.label}", daemon=True)
            self._reader.start()

    def close(self) -> None:
        """Stop reading: no one looks at the run any more."""
        self._is_closed = True

    def _open(self) -> None:
        """Open the run, and again if another run has taken its place or its journal is shorter than the part read."""
        if self.journal is not None and header_in(self.path) != self.journal.header:
            self.config = self.journal = None
        if self.config is None:
            config = read_resolved(self.path / CONFIG)
            self.chart, self.network = _chart(config), NetworkDrawing(config)
            self.config = config
        if self.journal is None or self.journal.all_bytes < self.journal.read_bytes:
            states = () if self.chart is None else dict.fromkeys([self.chart.initial, *self.chart.states])
            self.journal = Followed(self.path, list(states))
            self.problem = self._damage = ""

    def _read(self, journal: Followed) -> None:
        try:
            while not self._is_closed and journal.read_on():
                pass
        except (PrismError, OSError) as error:
            self.problem = self._damage = _words(error)


def _chart(config: Config) -> Outline | None:
    """Return the chart; None if it cannot be read, or only code of the run knows it, which looking must not run."""
    if is_own(config):
        return None
    try:
        return outline(chart_of(config))
    except (ConfigError, ActorError):
        return None


def _words(error: Exception) -> str:
    if isinstance(error, OSError):
        return shown(f"{error.filename or 'a file'}: cannot be read: {error.strerror or error}")
    return shown(str(error))
