"""A run as the page shows it: its files, read in the background as far as they go."""

from __future__ import annotations

from pathlib import Path
from threading import Lock, Thread
from typing import NamedTuple

from actors.core.errors import ActorError
from actors.factory.domains import chart_of, is_own
from actors.persistence.disk import RealDisk
from actors.persistence.journal import journal_size, read_header
from actors.record.manifest import CONFIG
from actors.record.run import read_resolved
from actors.view.network import NetworkDrawing
from actors.view.record import Record
from actors.view.run_list import name_of, shown
from prism.config import Config
from prism.drawing import outline
from prism.drawing.outline import Outline
from prism.errors import ConfigError, PrismError

TICKS_AT_ONCE = 50
"""Ticks that are read before others may look at the record again."""


class Opened(NamedTuple):
    """A configuration, and what follows from it.

    Args:
        chart: None if it is not to be had; `chart_problem`: the reason.
        network: the drawing of its people.
    """

    config: Config
    chart: Outline | None
    chart_problem: str
    network: NetworkDrawing


class ViewedRun:
    """One run.

    Args:
        path: its directory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = name_of(path)
        self.problem = ""
        """The reason for which the run cannot be shown; empty if it can."""
        self.opened: Opened | None = None
        """None if its configuration cannot be read, or has not been yet."""
        self.record: Record | None = None
        self._lock = Lock()
        self._reader: Thread | None = None
        self._damage = ""
        """The reason for which the rest of the journal cannot be read; empty if it can."""
        self._is_closed = False

    @property
    def chart(self) -> Outline | None:
        """The chart; None if it is not to be had."""
        return None if self.opened is None else self.opened.chart

    @property
    def is_reading(self) -> bool:
        """True while the journal is being read."""
        return self._reader is not None and self._reader.is_alive()

    def follow(self) -> None:
        """Begin to read what is there and has not been read, in a thread of its own, unless one is doing so."""
        with self._lock:
            if self.is_reading:
                return
            try:
                self._open()
                self.problem = self._damage
                if self.record is None or not self.record.is_behind():
                    return
            except (PrismError, OSError) as error:
                self.problem = _words(error)
                return
            self._reader = Thread(target=self._read, args=(self.record,), name=f"read {self.name}", daemon=True)
            self._reader.start()

    def wait(self) -> None:
        """Wait until what there was to read has been read."""
        reader = self._reader
        if reader is not None:
            reader.join()

    def close(self) -> None:
        """Read no further: nobody looks at the run any more."""
        self._is_closed = True

    def _open(self) -> None:
        """Open the run; anew if another run has taken its place, or its journal is shorter than what was read."""
        if self.record is not None and read_header(RealDisk(self.path))[0] != self.record.header:
            self.opened = self.record = None
        if self.opened is None:
            config = read_resolved(self.path / CONFIG)
            self.opened = Opened(config, *_chart(config), NetworkDrawing(config))
        if self.record is None or journal_size(RealDisk(self.path)) < self.record.read_bytes:
            self.record = Record(self.path, _states(self.chart))
            self.problem = self._damage = ""

    def _read(self, record: Record) -> None:
        try:
            while not self._is_closed and record.read_on(TICKS_AT_ONCE):
                pass
        except (PrismError, OSError) as error:
            self.problem = self._damage = _words(error)


def _chart(config: Config) -> tuple[Outline | None, str]:
    """Return the chart, or the reason why it is not to be had: no code is run to look at a run."""
    if is_own(config):
        return None, "only the domain's own code knows it, and no code of a run is run to look at it"
    try:
        return outline(chart_of(config)), ""
    except (ConfigError, ActorError) as error:
        return None, shown(str(error))


def _states(chart: Outline | None) -> list[str]:
    """Return the states of a chart, that in which everybody begins first; none without a chart."""
    if chart is None:
        return []
    definition = chart.definition
    leaves = [path[-1].name for path in definition.walk() if not path[-1].states]
    entered = {path[-1].name: path[-1].entered for path in definition.walk()}
    first = entered.get(definition.initial, definition.initial)
    return [first, *(name for name in leaves if name != first)]


def _words(error: Exception) -> str:
    if isinstance(error, OSError):
        return shown(f"{error.filename or 'a file'}: cannot be read: {error.strerror or error}")
    return shown(str(error))
