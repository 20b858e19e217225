"""The standing of an experiment at one instant: cells by state, losses, and the load of each node."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping

import msgspec

from actors.metrics.histogram import Counts, Histogram
from actors.studies.experiments.cells import Done
from actors.studies.experiments.machine import Load

LOSSES = ("worker killed", "node lost", "result lost", "worker replaced")
"""The reasons for which a cell is begun again, and `worker replaced`, by which no cell is lost."""
SECONDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 14400.0, 86400.0)
"""The upper bounds of the histogram of seconds a cell."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    total: int  # the cells that were to be run
    # done, failed: those that have ended
    done: int
    failed: int
    running: Mapping[str, int]  # `{node: cells that it runs}`
    losses: Mapping[str, int]  # `{reason: times}`, all of `LOSSES`
    seconds: Counts  # the time of the cells that are done
    nodes: Mapping[str, Load]
    note: str  # the latest thing to say, in a line; empty if there is none

    @property
    def waiting(self) -> int:
        """The cells that are neither ended nor running."""
        return max(0, self.total - self.done - self.failed - sum(self.running.values()))


class Progress:
    """The progress of an experiment. One thread tells it what happens, and others read its standing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._total = self._done = self._failed = 0
        self._running: dict[str, int] = {}
        self._nodes: dict[str, Load] = {}
        self._losses = Counter(dict.fromkeys(LOSSES, 0))
        self._seconds = Histogram(SECONDS)
        self._note = ""

    def add(self, cells: int) -> None:
        with self._lock:
            self._total += cells

    def end(self, done: Done) -> None:
        with self._lock:
            if done.problem:
                self._failed += 1
            else:
                self._done += 1
                self._seconds.observe(done.wall_s)

    def lose(self, reason: str) -> None:
        """Note a loss for one of the reasons in `LOSSES`."""
        with self._lock:
            self._losses[reason] += 1

    def run_on(self, running: Mapping[str, int]) -> None:
        with self._lock:
            self._running = dict(running)

    def load(self, nodes: Mapping[str, Load]) -> None:
        with self._lock:
            self._nodes = dict(nodes)

    def say(self, note: str) -> None:
        with self._lock:
            self._note = note

    def standing(self) -> Standing:
        with self._lock:
            return Standing(
                total=self._total,
                done=self._done,
                failed=self._failed,
                running=dict(self._running),
                losses=dict(self._losses),
                seconds=self._seconds.counts(),
                nodes=dict(self._nodes),
                note=self._note,
            )
