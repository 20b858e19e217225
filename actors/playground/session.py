"""One page of `prism play`: its moves, the fan of seeds of the last one, and its pins, each made by other processes.

A move ends the processes of the move before. What processes send becomes an event, and the page asks for those that it
has not had.
"""

from __future__ import annotations

import os
import shutil
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from multiprocessing.context import ForkServerContext
from pathlib import Path
from threading import Lock, Thread
from time import monotonic
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from actors.core.machine import processors
from actors.playground.controls import PINS_MAX, Changes, Controls
from actors.playground.words import changed_in_words, fan_in_words
from actors.playground.world import BASE, Failed, Played, work
from actors.studies.experiments.processes import forkserver
from prism.config import Config
from prism.errors import ConfigError

FANS: Final = (1, 5, 20, 100)
"""The numbers of seeds that a page can ask for."""
SEEDS: Final = 20
TOLD_AT: Final = (5, 20, 100)
"""The numbers of seeds at which the interval is told."""
EVENTS_MAX: Final = 400
SHOWN_MAX: Final = 2
"""The moves whose files are kept: the last one, and the one before, which a panel may still read."""
SESSIONS_MAX: Final = 8
LEASE_S: Final = 90.0
"""The time after which a page that has not asked counts as closed: browsers let a hidden page ask once a minute."""


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the page is told.

    Args:
        number: ascending; `move`: the move that it belongs to.
        kind: `begun`, `answer`, `seed`, `fan`, `pin` or `failed`.
        run: the name of the run whose panels can be shown.
        key: of a pin.
        changed: the difference from the run before in a sentence.
    """

    number: int
    move: int
    kind: str
    played: Played | None = None
    run: str = ""
    key: str = ""
    words: Sequence[str] = ()
    problem: str = ""


class Workshop:
    """The processes that make runs: forked from one server, which is ready for the configuration.

    Args:
        base: the directory with the configuration.
    """

    def __init__(self, base: Path) -> None:
        os.environ[BASE] = str(base)
        try:
            self._context: ForkServerContext = forkserver("actors.playground.world")
        finally:
            del os.environ[BASE]

    def begin(
        self, configs: Sequence[Config], directory: Path, on_answer: Callable[[int, Any], None], **how: bool
    ) -> Job:
        """Begin to make runs; `how` is as `work` has it."""
        return Job(self._context, configs, directory, on_answer, {"is_shown": True, "is_kept": False, **how})


class Job:
    """One process with some runs to make.

    Args:
        on_answer: called in a thread with the place of a run and what came of it.
    """

    def __init__(
        self,
        context: ForkServerContext,
        configs: Sequence[Config],
        directory: Path,
        on_answer: Callable[[int, Any], None],
        how: dict[str, bool],
    ) -> None:
        self._directory = directory
        self._on_answer = on_answer
        self._is_cancelled = False
        self._answers, theirs = context.Pipe(duplex=False)
        alive, self._alive = context.Pipe(duplex=False)
        self._process = context.Process(target=work, args=(configs, directory, theirs, alive), kwargs=how, daemon=True)
        self._ends = (theirs, alive)
        self._left = len(configs)
        self._thread = Thread(target=self._follow, name="play", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def cancel(self) -> None:
        """End the process at once, and what it has written."""
        self._is_cancelled = True
        self._alive.close()

    def join(self) -> None:
        self._thread.join(5.0)

    def _follow(self) -> None:
        self._process.start()  # here, because the server of processes may still make itself ready
        for end in self._ends:
            end.close()
        place, found = -1, None
        with suppress(EOFError, OSError):
            while True:
                place, found = self._answers.recv()
                self._left -= 1
                if not self._is_cancelled:
                    self._on_answer(place, found)
        self._answers.close()
        self._process.join()
        if self._left and not self._is_cancelled:
            self._on_answer(place + 1, Failed("its process was ended from outside, perhaps for lack of memory"))
        if self._is_cancelled:
            shutil.rmtree(self._directory, ignore_errors=True)


class Session:
    """One page.

    Args:
        place: the directory of its runs; its name begins their names.
        on_discard: called with the name of a run whose files are removed.
    """

    def __init__(self, controls: Controls, workshop: Workshop, place: Path, name: str) -> None:
        self.controls = controls
        self.name = name
        self.seen = monotonic()
        self._workshop = workshop
        self._place = place
        self._lock = Lock()
        self._numbers = count(1)
        self._move = 0
        self._seeds = 1
        self._gesture: object = None
        self._jobs: list[Job] = []
        self._pins: dict[str, Job] = {}
        self._runs: deque[Path] = deque()
        self._events: deque[Event] = deque(maxlen=EVENTS_MAX)
        self._config = controls.base
        self._now: dict[int, Played] = {}
        self._before: dict[int, Played] = {}

    def move(self, changes: Changes, gesture: object, seeds: int) -> int:
        """Run the configuration with these changes, in place of what is under way, and return the move's number.

        Args:
            gesture: moves with an equal one are one movement of a slider, and are compared with the run before it.
            seeds: of the fan, one of `FANS`.

        Raises:
            ConfigError: the changes cannot be made.
        """
        config = self.controls.configured(changes)
        if seeds not in FANS:
            raise ConfigError("the page", f"expected one of {', '.join(map(str, FANS))} seeds, got {seeds!r:.20}")
        with self._lock:
            self._cancel()
            if gesture != self._gesture and self._now:
                self._before = self._now
            self._gesture, self._config, self._now, self._seeds = gesture, config, {}, seeds
            self._move += 1
            move, directory = self._move, self._place / f"{self.name}-{self._move}"
            self._events.clear()
            self._tell(move=move, kind="begun")
            self._jobs = [
                self._workshop.begin([config], directory, lambda _, found: self._answered(move, directory, found))
            ]
        return move

    def pin(self, key: str, changes: Changes) -> None:
        """Run the configuration with these changes beside the moves, and tell what came of it under this key.

        Raises:
            ConfigError: the changes cannot be made, or there are too many pins.
        """
        config = self.controls.configured(changes)
        with self._lock:
            self._pins = {name: job for name, job in self._pins.items() if job.is_alive}
            if len(self._pins) >= PINS_MAX:
                raise ConfigError("the page", f"expected at most {PINS_MAX} pins at once")
            place = self._place / f"{self.name}-pin-{next(self._numbers)}"
            self._pins[key] = self._workshop.begin([config], place, lambda _, found: self._pinned(key, place, found))

    def events(self, after: int) -> list[Event]:
        """Return the events with a higher number."""
        self.seen = monotonic()
        with self._lock:
            return [each for each in self._events if each.number > after]

    def close(self) -> None:
        """End all processes, and remove the files."""
        with self._lock:
            self._cancel()
            jobs = [*self._jobs, *self._pins.values()]
            for job in jobs:
                job.cancel()
        for job in jobs:
            job.join()
        for path in self._place.glob(f"{self.name}-*"):
            shutil.rmtree(path, ignore_errors=True)

    def _cancel(self) -> None:
        for job in self._jobs:
            job.cancel()

    def _tell(self, **event: Any) -> None:
        self._events.append(Event(number=next(self._numbers), **event))

    def _answered(self, move: int, directory: Path, found: Played | Failed) -> None:
        with self._lock:
            if move != self._move:
                shutil.rmtree(directory, ignore_errors=True)
                return
            if isinstance(found, Failed):
                self._tell(move=move, kind="failed", problem=found.problem)
                return
            self._now = {found.seed: found}
            before = self._before.get(found.seed) or next(iter(self._before.values()), None)
            words = changed_in_words(before, found)
            self._tell(move=move, kind="answer", played=found, run=directory.name, words=words)
            self._runs.append(directory)
            while len(self._runs) > SHOWN_MAX:
                shutil.rmtree(self._runs.popleft(), ignore_errors=True)
            self._begin_fan(move)

    def _begin_fan(self, move: int) -> None:
        """Begin the runs of other seeds: a process for each processor but the one that draws the page."""
        simulation = self._config.simulation
        seeds = [(simulation.seed + place) % 2**63 for place in range(1, self._seeds)]
        configs = [replace(self._config, simulation=replace(simulation, seed=seed)) for seed in seeds]
        at_once = max(1, processors() - 1)
        for place in range(at_once):
            if share := configs[place::at_once]:
                directory = self._place / f"{self.name}-{move}-fan-{place}"
                self._jobs.append(
                    self._workshop.begin(share, directory, lambda _, found: self._seeded(move, found), is_shown=False)
                )

    def _seeded(self, move: int, found: Played | Failed) -> None:
        with self._lock:
            if move != self._move:
                return
            if isinstance(found, Failed):
                self._tell(move=move, kind="failed", problem=found.problem)
                return
            self._now[found.seed] = found
            self._tell(move=move, kind="seed", played=replace(found, words=(), remarks=()))
            now, before = dict(self._now), dict(self._before)
        if len(now) in TOLD_AT:
            words = fan_in_words(now, before)
            with self._lock:
                if move == self._move:
                    self._tell(move=move, kind="fan", words=words)

    def _pinned(self, key: str, directory: Path, found: Played | Failed) -> None:
        shutil.rmtree(directory, ignore_errors=True)
        with self._lock:
            if isinstance(found, Failed):
                self._tell(move=self._move, kind="failed", key=key, problem=found.problem)
            else:
                self._tell(move=self._move, kind="pin", key=key, played=found)
