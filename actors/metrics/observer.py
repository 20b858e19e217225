"""The observer that publishes snapshots of a run, for other threads to read, and measures the lag of its event loop.

It takes a snapshot after a tick or a beat of the event loop, at most four a second, and a scrape reads only the
latest. So a scrape does not wait for the run, and the numbers of agents by state always add up to the population.

Counters continue over the processes of a run, and never fall. So no number is shown that a kill could take back:
what happened in a tick is shown once the journal has the tick on disk, and a call to a model once it is in the oracle's
log. While a resumed run does recorded ticks again, its counts are behind what was shown before, so they are not shown.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import NamedTuple

import anyio

from actors.core.events import Event
from actors.core.mailbox import MailboxStatistics
from actors.core.ports import Address, Observer
from actors.core.snapshot import RunSnapshot
from actors.logs.setup import log_failure
from actors.metrics.instruments import CALL, COMMIT, OUTCOMES, QUEUE_WAIT, TICK, Histogram, Snapshot, TickEnd, model_of
from actors.runtime.simulation import Simulation
from prism.config import Config
from prism.domain import Measure

PERIOD_S = 0.25
BEATS = 240
"""The beats among which the longest lag is reported, a minute of them: longer than a usual interval of scrapes."""


class LoopLag:
    """A task that asks to be woken at a certain time, and measures how much later it was woken. Any thread may read it.

    These beats also answer `/healthz`: a blocked loop has no beats, which other threads can see.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._beats: deque[tuple[float, float]] = deque(maxlen=BEATS)
        """`(time, lag)` of the latest beats, the oldest first."""

    async def run(self, on_beat: Callable[[], None] = lambda: None) -> None:
        while True:
            self.beat()
            on_beat()
            await anyio.sleep(PERIOD_S)

    def beat(self) -> None:
        now = self._clock()
        due = self._beats[-1][0] + PERIOD_S if self._beats else now
        self._beats.append((now, max(0.0, now - due)))

    def now(self) -> tuple[float, float]:
        """Return the lag, also of an overdue beat, and the longest of the last minute, in seconds; 0 at first."""
        beats = tuple(self._beats)
        if not beats:
            return 0.0, 0.0
        at, lag_s = beats[-1]
        lag_s = max(lag_s, self._clock() - at - PERIOD_S)
        return lag_s, max(lag_s, *(each for _, each in beats))

    @property
    def age_s(self) -> float | None:
        beats = tuple(self._beats)
        return self._clock() - beats[-1][0] if beats else None


COUNT_PERIOD_S = 5.0
AGENTS_MAX = 100_000
"""The most agents with which tasks are counted: with more, a count holds up the loop for more than about 25 ms."""
NOTICED_LATE = 1.05
"""The factor by which a call may be longer than a limit and still count as ended by the limit."""


class Metrics(Observer):
    """An observer of a run that publishes snapshots of it, by a monotonic clock that all threads share."""

    def __init__(self, config: Config, run_id: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.lag = LoopLag(clock)
        self.snapshot: Snapshot | None = None
        """The latest snapshot, for any thread; None until there is a simulation."""
        self.is_under_way = False
        """True while the run has committed a tick and not ended; for any thread."""
        self._config = config
        self._run_id = run_id
        self._clock = clock
        self._tasks: int | None = None
        self._published_at = self._measured_at = self._counted_at = float("-inf")
        self._run: Simulation | None = None
        self._run_now: RunSnapshot | None = None
        self._measures: tuple[Measure, ...] = ()
        self._tick_ends: deque[TickEnd] = deque()
        """Ends of ticks that the journal does not have on disk yet: at most four a second."""
        self._committed: TickEnd | None = None
        self._tick_noted: int | None = None
        self._has_journal = False
        self._ticks_recorded = self._ticks_replayed = 0
        self._before: Mapping[str, MailboxStatistics] = {}
        self._journal_bytes = self._journal_ticks = 0
        self._checkpoint_s = 0.0
        self._tick, self._commit, self._queue_wait = (
            Histogram(timing.bounds_in(config)) for timing in (TICK, COMMIT, QUEUE_WAIT)
        )
        self._calls = {outcome: Histogram(CALL.bounds_in(config)) for outcome in OUTCOMES}
        self._ends_calls = {"timeout": config.llm.timeout_s, "deadline": config.oracle.deadline_s}

    def run_built(self, run: Simulation) -> None:
        """Take the run. Publish a snapshot of it, unless it may have a past that is not restored yet."""
        self._run = run
        if not self._has_journal:
            self._publish()

    async def run(self) -> None:
        self._count_tasks()
        self._publish()
        try:
            await self.lag.run(self._on_beat)
        finally:
            self.is_under_way = False
            self._publish()

    def tick_ended(self, duration_s: float) -> None:
        """Count a tick, and publish if the last measures are old: the world may only be measured between two ticks."""
        self._tick.observe(duration_s)
        self.is_under_way = True
        if self._clock() - self._measured_at >= PERIOD_S:
            self._publish()

    def tick_replayed(self) -> None:
        """Count a tick that was done again. Nothing else of it is counted."""
        self.is_under_way = True
        self._ticks_replayed += 1
        if self._run is not None:
            self._before = self._run.mailbox_statistics()

    def asked(self, waited_s: float) -> None:
        self._queue_wait.observe(waited_s)

    def answered(self, reason: str, duration_s: float) -> None:
        """Count a call; a reason that is not in the closed set counts as `error`.

        A call that a limit ends is measured a moment after the limit. That moment is the event loop's delay, so it is
        left out: otherwise the call would be in the bucket above its limit.
        """
        outcome = reason or "ok"
        limit_s = self._ends_calls.get(outcome, duration_s)
        if limit_s < duration_s <= limit_s * NOTICED_LATE:
            duration_s = limit_s
        self._calls[outcome if outcome in self._calls else "error"].observe(duration_s)

    def computed(self, number: int, each_s: float) -> None:
        self._queue_wait.observe(0.0, number)
        self._calls["ok"].observe(each_s, number)

    def committed(self, duration_s: float, size: int, ticks: int = 1) -> None:
        """Count frames written to the journal, and show the counts of their ticks."""
        self._commit.observe(duration_s)
        self._journal_bytes += size
        self._journal_ticks += ticks
        if self._tick_ends and self._run_now is not None:
            self._show(self._run_now)

    def resumed(self, size: int, ticks: int) -> None:
        """Count the frames of an earlier process. Every run with a journal calls this, even a new one."""
        self._has_journal = True
        self._journal_bytes, self._journal_ticks = size, ticks
        self._ticks_recorded = ticks

    def checkpointed(self) -> None:
        self._checkpoint_s = time.time()

    def _on_beat(self) -> None:
        """Publish within a long tick too, because the oracle's numbers matter then."""
        self._count_tasks()
        if self._clock() - self._published_at >= PERIOD_S / 2:
            self._publish()

    def _count_tasks(self) -> None:
        """Count the tasks of the loop: they can only be counted in a list of all, which takes 0.3 us a task."""
        run, now = self._run, self._clock()
        if run is not None and len(run.mailboxes) <= AGENTS_MAX and now - self._counted_at >= COUNT_PERIOD_S:
            self._tasks, self._counted_at = len(asyncio.all_tasks()), now

    def _publish(self) -> None:
        run = self._run
        if run is None:
            return
        self._published_at = self._clock()
        try:
            now = run.snapshot()
        except Exception as error:  # noqa: BLE001  # an oracle's counts are foreign code: an error there must not end the run
            log_failure("snapshot_failed", error)
            return
        if not now.is_in_tick and now.tick >= self._ticks_recorded:
            self._note_tick_end(run, now)
        self._show(now)

    def _note_tick_end(self, run: Simulation, now: RunSnapshot) -> None:
        """Keep the end of a tick until the journal has it on disk."""
        self._measured_at = self._clock()
        if now.tick == self._tick_noted:
            return
        self._tick_noted = now.tick
        try:
            self._measures = tuple(run.measures())
        except Exception as error:  # noqa: BLE001  # a domain is foreign code: an error there must not end the run
            log_failure("measures_failed", error)
        self._tick_ends.append(TickEnd(now, self._measures))

    def _show(self, now: RunSnapshot) -> None:
        self._run_now = now
        while self._tick_ends and (not self._has_journal or self._tick_ends[0].run.tick <= self._journal_ticks):
            self._committed = self._tick_ends.popleft()
        self.snapshot = Snapshot(
            config=self._config,
            run_id=self._run_id,
            run=now,
            committed=self._committed,
            ticks_replayed=self._ticks_replayed,
            before=self._before,
            journal_bytes=self._journal_bytes,
            journal_ticks=self._journal_ticks,
            checkpoint_s=self._checkpoint_s,
            tasks=self._tasks,
            timings={
                TICK.name: {(): self._tick.counts()},
                COMMIT.name: {(): self._commit.counts()},
                QUEUE_WAIT.name: {(): self._queue_wait.counts()},
                CALL.name: {
                    (model_of(self._config), outcome): calls.counts() for outcome, calls in self._calls.items()
                },
            },
        )


class Observation(NamedTuple):
    """The address of a run's metrics, if any, what returns its observer for its name, and what notes its events."""

    address: Address | None
    observe: Callable[[str], Observer]
    hear: Callable[[Event], None]


UNOBSERVED = Observation(None, lambda _: Observer(), lambda _: None)
"""The observation of a run without metrics: its observer keeps nothing."""


@contextmanager
def observation(config: Config) -> Iterator[Observation]:
    """Provide the observation of a run. It listens on its address at once."""
    if not config.metrics.enabled:
        yield UNOBSERVED
        return
    # Imported here, because the Prometheus client takes 60 ms to import and most runs are not observed.
    from actors.metrics.endpoint import Endpoint  # noqa: PLC0415

    with closing(Endpoint(config)) as endpoint:
        yield Observation(Address(url=endpoint.url), endpoint.observe, endpoint.hear)
