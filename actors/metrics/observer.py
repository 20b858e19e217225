"""Listens to a run, and publishes snapshots of it for other threads to read.

There is one after a tick or a beat of the event loop, every quarter of a second at most, and it is all that a scrape
looks at. So a scrape waits for nothing that the run does, and the states of agents always add up to the population.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog

from actors.core.mailbox import Mailbox
from actors.core.ports import Observer, RunView
from actors.metrics.event_loop import PERIOD_S, LoopLag, TaskCount
from actors.metrics.histogram import Histogram
from actors.metrics.instruments import (
    CALL,
    COMMIT,
    MAILBOX_WAIT,
    OUTCOMES,
    QUEUE_WAIT,
    TICK,
    TIMED,
)
from actors.metrics.mailboxes import MailboxTotals, TimedMailbox
from actors.metrics.snapshot import Labels, Snapshot
from prism.measure import Measure

log = structlog.get_logger(__name__)


class Metrics(Observer):
    """Listens to a run and publishes snapshots of it.

    Args:
        labels: what stays the same for the whole run.
        clock: monotonic seconds; the same for every thread.
    """

    def __init__(self, labels: Labels, clock: Callable[[], float] = time.monotonic) -> None:
        self.lag = LoopLag(clock)
        self.snapshot: Snapshot | None = None
        """The latest one, for any thread; None until there is a simulation."""
        self.is_under_way = False
        """Whether the run has committed a tick and not ended; for any thread."""
        self._labels = labels
        self._clock = clock
        self._tasks = TaskCount(clock)
        self._published_at = self._measured_at = float("-inf")
        self._active = False
        self._run: RunView | None = None
        self._measures: tuple[Measure, ...] = ()
        self._sweep = MailboxTotals(())
        self._mailboxes: dict[str, Mailbox[bytes]] = {}
        self._journal_bytes = self._journal_ticks = 0
        self._checkpoint_s = 0.0
        self._tick, self._commit, self._queue_wait = (Histogram(each.bounds_s) for each in (TICK, COMMIT, QUEUE_WAIT))
        self._calls = {outcome: Histogram(CALL.bounds_s) for outcome in OUTCOMES}
        self._waits = {name: Histogram(MAILBOX_WAIT.bounds_s) for name in TIMED}

    def mailbox(self, name: str, capacity: int) -> Mailbox[bytes]:
        """A mailbox whose batches are timed."""
        self._mailboxes[name] = made = TimedMailbox[bytes](name, capacity, self._waits[name])
        return made

    def run_built(self, run: RunView) -> None:
        """Publish what there is to see of it before it runs."""
        self._run = run
        self._sweep = MailboxTotals(run.mailboxes)
        self._publish(at_tick_end=True)

    async def run(self) -> None:
        """Beat and publish until cancelled."""
        self._active = True
        self._count_tasks()
        self._publish(at_tick_end=True)  # a resumed run is further than when it was made
        try:
            await self.lag.run(self._beaten)
        finally:
            self._active = self.is_under_way = False
            self._publish(at_tick_end=True)

    def tick_ended(self, duration_s: float) -> None:
        """Count a tick, and publish if the world was last measured a while ago: only here is it between two ticks."""
        self._tick.observe(duration_s)
        self.is_under_way = True
        if self._clock() - self._measured_at >= PERIOD_S:
            self._publish(at_tick_end=True)

    def asked(self, waited_s: float) -> None:
        """Count how long a question has waited."""
        self._queue_wait.observe(waited_s)

    def answered(self, reason: str, duration_s: float, tick: int) -> None:
        """Count a call; a reason from outside of the closed set counts as `error`."""
        outcome = reason or "ok"
        self._calls[outcome if outcome in self._calls else "error"].observe(duration_s, tick)

    def committed(self, duration_s: float, size: int, ticks: int = 1) -> None:
        """Count frames written to the journal."""
        self._commit.observe(duration_s)
        self._journal_bytes += size
        self._journal_ticks += ticks

    def resumed(self, size: int, ticks: int) -> None:
        """Count the frames that were there before."""
        self._journal_bytes, self._journal_ticks = size, ticks

    def checkpointed(self) -> None:
        """Note when the latest checkpoint was written."""
        self._checkpoint_s = time.time()

    def _beaten(self) -> None:
        """Publish also in a tick that takes long: what the oracle does then is what one wants to see."""
        self._count_tasks()
        if self._clock() - self._published_at >= PERIOD_S / 2:
            self._publish(at_tick_end=False)

    def _count_tasks(self) -> None:
        if self._run is not None:
            self._tasks.look(len(self._run.mailboxes))

    def _publish(self, *, at_tick_end: bool) -> None:
        run = self._run
        if run is None:
            return
        if at_tick_end:
            self._measure(run)
            self._measured_at = self._clock()
        self._sweep.step()
        self._published_at = self._clock()
        try:
            self.snapshot = self._look(run)
        except Exception as error:  # noqa: BLE001  # likewise: the oracle that is asked for its tokens is foreign, too
            _complain("snapshot_failed", error)

    def _look(self, run: RunView) -> Snapshot:
        return Snapshot(
            labels=self._labels,
            active=self._active,
            run=run.snapshot({name: mailbox.statistics() for name, mailbox in self._mailboxes.items()}),
            measures=self._measures,
            triggers_refused=self._sweep.refused,
            triggers_dropped=self._sweep.dropped,
            agents_depth_max=self._sweep.depth_max,
            journal_bytes=self._journal_bytes,
            journal_ticks=self._journal_ticks,
            checkpoint_s=self._checkpoint_s,
            tasks=self._tasks.latest,
            timings={
                TICK.name: {(): self._tick.counts()},
                COMMIT.name: {(): self._commit.counts()},
                QUEUE_WAIT.name: {(): self._queue_wait.counts()},
                CALL.name: {(self._labels.model, name): each.counts() for name, each in self._calls.items()},
                MAILBOX_WAIT.name: {(name,): each.counts() for name, each in self._waits.items()},
            },
        )

    def _measure(self, run: RunView) -> None:
        try:
            self._measures = tuple(run.measures())
        except Exception as error:  # noqa: BLE001  # a domain is foreign code, and a run must not end over what it shows
            _complain("measures_failed", error)


def _complain(event: str, error: Exception) -> None:
    log.warning(event, actor="metrics", error=f"{type(error).__name__}: {error}"[:200])
