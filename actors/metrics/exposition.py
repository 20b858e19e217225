"""The snapshot of a run as text for Prometheus, with the phase of the run and its counts of events."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from actors.core.events import EVENTS, Event, PhaseChanged, RunEnded
from actors.core.phase import ENDS, Phase
from actors.metrics.instruments import INSTRUMENTS, TIMINGS, Series
from actors.metrics.observer import Metrics
from actors.metrics.snapshot import Counts
from prism.domain import Measure


class Lifecycle:
    """A listener of a run that keeps its phase and its counts of events. Any thread may read it."""

    def __init__(self) -> None:
        self.phase, self.reason = Phase.STARTING, ""
        self.since = time.time()
        """Unix time at which the phase began."""
        self.ended = ""
        """Why the run has ended; empty until then."""
        self.events = {event.name(): 0 for event in EVENTS}
        """`{name: events so far}`, for every kind."""

    def hear(self, event: Event) -> None:
        self.events[event.name()] += 1
        if isinstance(event, PhaseChanged):
            self.phase, self.reason, self.since = event.phase, event.reason, time.time()
        elif isinstance(event, RunEnded):
            self.ended = event.reason


TEXT = "text/plain; version=0.0.4; charset=utf-8"


class Exposition(Collector):
    """The metrics of a run, of its process and of its interpreter, as text.

    The phase and the events of the run are there before it is built and after its end; its other metrics are those of
    the latest snapshot.

    Args:
        lifecycle: has the phase of the run.
    """

    def __init__(self, lifecycle: Lifecycle) -> None:
        self._registry = CollectorRegistry()  # its own, not the client's global one
        self._lifecycle = lifecycle
        self._metrics: Metrics | None = None
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self._registry)
        self._registry.register(self)

    def add_run(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def render(self) -> bytes:
        return generate_latest(self._registry)

    def describe(self) -> Sequence[Metric]:
        """Return nothing: otherwise the registry would render a snapshot only to learn the names."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield every metric of the run; only those of its phase and events before there is a simulation."""
        if self._metrics is not None and (now := self._metrics.snapshot) is not None:
            for metric in INSTRUMENTS:
                if (series := metric.series(now)) is not None:
                    yield _family(metric.name, metric.kind, metric.help, metric.labels, series)
            for timing in TIMINGS:
                yield histogram_family(timing.name, timing.help, timing.labels, now.timings[timing.name])
            # A world's measures as metrics, one for each name.
            measures = () if now.committed is None else now.committed.measures
            by_name: dict[str, list[Measure]] = {}
            for measure in measures:
                by_name.setdefault(measure.name, []).append(measure)
            for name, group in by_name.items():
                first = group[0]
                series = {tuple(measure.labels[label] for label in first.labels): measure.value for measure in group}
                yield _family(name, first.kind, first.help, tuple(first.labels), series)
            latest, longest = self._metrics.lag.now()
            yield GaugeMetricFamily("prism_event_loop_lag_seconds", "The lag of the event loop.", latest)
            yield GaugeMetricFamily("prism_event_loop_lag_seconds_max", "The longest lag of the last minute.", longest)
        moment = self._lifecycle
        now_in = moment.phase  # read once: another thread may change it meanwhile
        phases: Series = {(phase.value,): phase is now_in for phase in Phase}
        yield _family("prism_run_phase", "gauge", "1 for the phase that the run is in.", ["phase"], phases)
        began = "Start of the phase, Unix time."
        yield GaugeMetricFamily("prism_run_phase_since_timestamp_seconds", began, moment.since)
        ended: Series = {(reason,): reason == moment.ended for reason in ENDS}
        yield _family("prism_run_ended", "gauge", "1 for why the run has ended.", ["reason"], ended)
        events: Series = {(name,): count for name, count in moment.events.items()}
        yield _family("prism_events_total", "counter", "Events of the run.", ["event"], events)


def _family(name: str, kind: str, text: str, labels: Sequence[str], series: Series) -> Metric:
    make = CounterMetricFamily if kind == "counter" else GaugeMetricFamily
    family = make(name, text, labels=labels)
    for values, number in series.items():
        family.add_metric(values, float(number))
    return family


def histogram_family(name: str, text: str, labels: Sequence[str], series: Mapping[tuple[str, ...], Counts]) -> Metric:
    family = HistogramMetricFamily(name, text, labels=labels)
    for values, counts in series.items():
        bounds = [*map(repr, counts.bounds), "+Inf"]
        family.add_metric(values, [*zip(bounds, accumulate(counts.counts), strict=True)], counts.total)
    return family
