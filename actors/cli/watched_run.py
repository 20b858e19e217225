"""A run of another process, seen by its metrics and its events."""

from __future__ import annotations

import time
from collections.abc import Mapping
from threading import Thread
from typing import Any

import msgspec

from actors.cli.metrics_client import Interval, MetricsClient, Scrape
from actors.core.phase import Phase
from actors.display.trends import Trends
from prism.quoting import printable

WINDOW_S = 10.0
"""Rates are over the latest scrapes of this time."""
TICKS, PLANNED, CALLS = "prism_ticks_total", "prism_ticks_planned", "prism_llm_request_duration_seconds"

Event = Mapping[str, Any]
"""An event as the page `/events` has it: a JSON object."""


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """A look at a run: all that is known of it at one moment. It never changes, so any thread may read it.

    Args:
        interval: the latest seconds; None before the run was seen.
        problem: why it cannot be seen now; empty if it can.
        events: its latest events, the oldest first.
        ended: how it has ended, in a line; empty until then.
    """

    interval: Interval | None = None
    problem: str = ""
    events: tuple[Event, ...] = ()
    ended: str = ""

    @property
    def seen(self) -> Interval:
        """The latest interval of a run that was seen."""
        if self.interval is None:
            raise ValueError("the run has not been seen")
        return self.interval


class WatchedRun:
    """A run that is looked at from time to time.

    Args:
        client: reads its metrics.
    """

    def __init__(self, client: MetricsClient) -> None:
        self.client = client
        self.now = Sighting()
        self.trends = Trends()
        self._intervals = client.intervals(0.0, WINDOW_S)

    def look(self) -> Sighting:
        """Look at the run now. It may take seconds if nobody answers."""
        before = self.now
        interval, problem = next(self._intervals)
        if interval is None:
            ended = before.ended or self.client.outcome or ""
            self.now = msgspec.structs.replace(before, problem=problem, ended=ended)
        else:
            events = self.client.events()
            self._add_to_trends(interval)
            self.now = Sighting(interval=interval, events=events, ended=self._end(interval.after, events))
        return self.now

    def look_every(self, seconds: float) -> None:
        """Look at the run in a thread of its own until it has ended."""

        def run() -> None:
            while not self.look().ended:
                time.sleep(seconds)

        Thread(target=run, name=f"watch {self.client.name}", daemon=True).start()

    def _add_to_trends(self, interval: Interval) -> None:
        now = interval.after
        values = {
            "ticks/s": ticks_per_s(interval),
            "queue": now.value("prism_oracle_queue_depth"),
            "latency": interval.quantile(0.95, CALLS, outcome="ok") or 0.0,
        }
        self.trends.add(now.moment_s, values, {"fallbacks": now.value("prism_fallbacks_total")})

    def _end(self, now: Scrape, events: tuple[Event, ...]) -> str:
        reason = next((reason for reason, on in now.by("prism_run_ended", "reason").items() if on), "")
        if not reason:
            return ""
        last = next((event for event in reversed(events) if event.get("event") == "run_ended"), {})
        count = last.get("ticks", int(ticks(now)))
        return self.client.end_words(reason, count, str(last.get("detail", "")))


def ticks(now: Scrape) -> float:
    """Return the ticks of the run; while it does recorded ticks again, the ticks of its journal."""
    return now.value(TICKS if now.has(TICKS) else "prism_journal_ticks_total")


def ticks_per_s(interval: Interval) -> float:
    """Return the ticks a second; 0 if the scrape before showed no ticks, because the run did recorded ticks again."""
    return interval.rate(lambda scrape: scrape.value(TICKS)) if interval.before.has(TICKS) else 0.0


def phase_of(now: Scrape) -> str:
    """Return the phase of the run; empty before its first."""
    return next((phase for phase, on in now.by("prism_run_phase", "phase").items() if on), "")


def phase_parts(sighting: Sighting, interval: Interval) -> tuple[str, float, str, int]:
    """Return the phase, its seconds so far, the reason for it, and the recorded ticks that are to be done again."""
    now = interval.after
    phase = phase_of(now)
    since_s = max(0.0, time.time() - now.value("prism_run_phase_since_timestamp_seconds"))
    change = _latest(sighting, "phase_changed")
    reason = printable(str(change.get("reason", ""))) if change.get("phase") == phase else ""
    to_redo = 0
    if phase == Phase.RECOVERING:
        recovered = int(_latest(sighting, "run_resumed").get("recovered", 0))
        to_redo = max(0, recovered - int(now.value("prism_ticks_replayed_total")))
    return phase, since_s, reason, to_redo


def _latest(sighting: Sighting, name: str) -> Event:
    return next((event for event in reversed(sighting.events) if event.get("event") == name), {})
