"""The snapshot of a run as text for Prometheus, with the phase of the run and its counts of events."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

import msgspec
from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from actors.core.events import EVENTS, Event, PhaseChanged, RunEnded
from actors.core.phase import ENDS, Phase
from actors.metrics.instruments import INSTRUMENTS, TIMINGS, Series
from actors.metrics.observer import Metrics
from actors.metrics.snapshot import Counts
from prism.domain import Measure


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """The phase at one instant. It never changes.

    Args:
        since: Unix time at which the phase began.
        ended: why the run has ended; empty until then.
        events: `{name: events so far}`, for every kind.
    """

    phase: Phase
    since: float
    reason: str = ""
    ended: str = ""
    events: Mapping[str, int]


class Lifecycle:
    """A listener of a run that keeps its phase and its counts of events. For any thread."""

    def __init__(self) -> None:
        counts = {event.name(): 0 for event in EVENTS}
        self.now = Moment(phase=Phase.STARTING, since=time.time(), events=counts)
        """The phase now."""

    def hear(self, event: Event) -> None:
        before, time_s = self.now, time.time()
        counts = {**before.events, event.name(): before.events[event.name()] + 1}
        now = msgspec.structs.replace(before, events=counts)
        if isinstance(event, PhaseChanged):
            now = msgspec.structs.replace(now, phase=event.phase, since=time_s, reason=event.reason)
        elif isinstance(event, RunEnded):
            now = msgspec.structs.replace(now, ended=event.reason)
        self.now = now


TEXT = "text/plain; version=0.0.4; charset=utf-8"


class Exposition(Collector):
    """The metrics of a run, of its process and of its interpreter, as text.

    The phase and the events of the run are there before it is built and after its end; its other metrics are those of
    the latest snapshot.

    Args:
        registry: a registry of its own, not the client's global one.
        lifecycle: has the phase of the run.
    """

    def __init__(self, registry: CollectorRegistry, lifecycle: Lifecycle) -> None:
        self._registry = registry
        self._lifecycle = lifecycle
        self._metrics: Metrics | None = None
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)
        registry.register(self)

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
        moment = self._lifecycle.now
        phases: Series = {(phase.value,): phase is moment.phase for phase in Phase}
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
