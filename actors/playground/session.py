"""One page of `prism play`: its moves, the fan of seeds of the last one, and its pins, each made by other processes.

A move ends the processes of the move before. What becomes of a run is an event, and the page asks for those that it has
not had.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from itertools import count
from pathlib import Path
from threading import Lock, Thread
from time import monotonic
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from actors.core.machine import processors
from actors.playground.controls import Changes, Controls
from actors.playground.words import changed_in_words, fan_in_words
from actors.playground.world import Played, play
from actors.studies.experiments.processes import Pool
from prism.config import Config
from prism.errors import ConfigError

FANS: Final = (1, 5, 20, 100)
"""The numbers of seeds that a page can ask for; at each of them the interval is told."""
SEEDS: Final = 20
KILLED: Final = "its process was ended from outside, perhaps for lack of memory"
SHOWN_MAX: Final = 2
"""The moves whose files are kept: the last one, and the one before, which a panel may still read."""


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message to the page: `kind` is `answer`, `seed`, `fan`, `pin` or `failed`."""

    number: int  # ascending
    move: int
    kind: str
    played: Played | None = None
    before: Played | None = None  # the run that it is compared with
    run: str = ""  # the name of the run whose panels can be shown
    key: str = ""  # of a pin
    words: list[str] = []
    problem: str = ""


class Session:
    """One page.

    Args:
        place: the directory of its runs, whose names begin with `name`.
        beside: makes the runs of pins, which no move ends.
        begin: called first in each process.
    """

    def __init__(  # each thing that a page needs once
        self, controls: Controls, place: Path, name: str, beside: Pool, begin: Callable[[], None]
    ) -> None:
        self.name = name
        self.seen = monotonic()
        """When the page last asked."""
        self._controls, self._place, self._beside, self._begin_process = controls, place, beside, begin
        self._lock, self._numbers = Lock(), count(1)
        self._pool: Pool | None = None
        self._ending: Thread | None = None
        self._move, self._gesture = 0, None
        self._runs: list[Path] = []
        self._events: list[Event] = []
        self._now: dict[int, Played] = {}
        self._before: dict[int, Played] = {}

    def move(self, changes: Changes, gesture: Any, seeds: int) -> int:
        """Run the configuration with these changes, in place of what is under way, and return the move's number.

        Args:
            gesture: moves with an equal one are one movement of a slider, and are compared with the run before it.
            seeds: of the fan, one of `FANS`.

        Raises:
            ConfigError: the changes cannot be made.
        """
        config = self._controls.configured(changes)
        if seeds not in FANS:
            raise ConfigError("the page", f"expected one of {', '.join(map(str, FANS))} seeds, got {seeds!r:.20}")
        with self._lock:
            if self._move < 0:
                raise LookupError("this page was closed here: load it again")
            self._ending = Thread(target=self._end, args=(self._pool, f"{self.name}-{self._move}-*", self._ending))
            self._ending.start()
            if gesture != self._gesture and self._now:
                self._before = self._now
            self._move += 1
            self._gesture, self._now = gesture, {}
            self._events = [each for each in self._events if each.kind == "pin"]
            self._pool = pool = Pool(processors(), self._begin_process)
            move, path = self._move, self._place / f"{self.name}-{self._move}"
            self._runs.append(path)
            while len(self._runs) > SHOWN_MAX:
                shutil.rmtree(self._runs.pop(0), ignore_errors=True)

        def begin_fan(found: Played) -> None:
            before = self._before.get(found.seed) or next(iter(self._before.values()), None)
            words = changed_in_words(before, found)
            self._tell(move, "answer", found, run=path.name, before=before, words=words)
            simulation = config.simulation
            for place in range(1, seeds):
                other = replace(config, simulation=replace(simulation, seed=(simulation.seed + place) % 2**63))
                self._begin(pool, move, add_seed, other, path.with_name(f"{path.name}-{place}"), is_shown=False)

        def add_seed(found: Played) -> None:
            self._tell(move, "seed", replace(found, words=(), remarks=()))
            if len(self._now) in FANS:
                self._tell(move, "fan", words=fan_in_words(dict(self._now), self._before))

        self._begin(pool, move, begin_fan, config, path)
        return move

    def pin(self, key: str, changes: Changes) -> None:
        """Run the configuration with these changes beside the moves, and tell what came of it under this key.

        Raises:
            ConfigError: the changes cannot be made.
        """
        config, path = self._controls.configured(changes), self._place / f"{self.name}-pin-{next(self._numbers)}"

        def tell(found: Played) -> None:
            self._tell(None, "pin", found, key=key)

        self._begin(self._beside, None, tell, config, path, is_shown=False)

    def measured(self) -> list[str]:
        """Return the places of the numbers of the run that is shown; none before there is one."""
        return [each.place for run in [*self._now.values()][:1] for each in run.measures]

    def events(self, after: int) -> list[Event]:
        """Return the events with a higher number."""
        self.seen = monotonic()
        return [each for each in self._events if each.number > after]

    def close(self) -> None:
        """End all processes, and remove the files."""
        with self._lock:
            self._move = -1
        self._end(self._pool, f"{self.name}-*", self._ending)

    def _end(self, pool: Pool | None, files: str, before: Thread | None) -> None:
        """End the processes of a move, after those of the moves before."""
        if pool is not None:
            pool.stop(at_once=True)
        if before is not None:
            before.join()
        for path in self._place.glob(files):
            shutil.rmtree(path, ignore_errors=True)

    def _begin(  # what is run, where, and what is done with it
        self,
        pool: Pool,
        move: int | None,
        take: Callable[[Played], None],
        config: Config,
        path: Path,
        *,
        is_shown: bool = True,
    ) -> None:
        """Begin a run, and pass on what came of it, unless there has been another move."""

        def ended(future: Future[Played | str]) -> None:
            if move not in (None, self._move) or future.cancelled():
                return
            error = future.exception()
            if error is None:
                found = future.result()
            else:
                found = KILLED if isinstance(error, BrokenProcessPool) else f"{type(error).__name__}: {error}"
            if isinstance(found, Played):
                take(found)
            else:
                self._tell(move, "failed", problem=found)

        try:
            pool.submit(play, config, path, is_shown=is_shown).add_done_callback(ended)
        except BrokenProcessPool:
            self._tell(move, "failed", problem=KILLED)
        except RuntimeError:  # the pool was stopped meanwhile, for another move
            return

    def _tell(self, move: int | None, kind: str, played: Played | None = None, **more: Any) -> None:
        with self._lock:
            if move in (None, self._move):
                if played is not None and move is not None:
                    self._now[played.seed] = played
                number = next(self._numbers)
                self._events.append(Event(number=number, move=self._move, kind=kind, played=played, **more))
