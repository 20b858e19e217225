"""A run's snapshot in the Prometheus format, and in OpenMetrics for those who ask for it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar

from actors.metrics.histogram import Counts
from actors.metrics.instruments import INSTRUMENTS, TIMINGS
from actors.metrics.observer import Metrics
from actors.metrics.process import ProcessMetrics
from prism.measure import Measure

TEXT = "text/plain; version=0.0.4; charset=utf-8"


class Exposition:
    """Everything that is shown of a run, its process and its interpreter.

    Args:
        registry: one of its own, not the client's global one.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._process = ProcessMetrics()
        registry.register(self._process)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)

    def show(self, metrics: Metrics) -> None:
        """Show this run too."""
        self._registry.register(_RunCollector(metrics))

    def render(self, accept: str = "") -> tuple[str, bytes]:
        """Content type and text.

        Args:
            accept: what the reader wants, as in the HTTP header; only OpenMetrics has exemplars.
        """
        wanted = {kind.split(";")[0].strip().lower() for kind in accept.split(",")}
        if "application/openmetrics-text" in wanted:
            text = openmetrics.generate_latest(self._registry)  # type: ignore[no-untyped-call]
            return openmetrics.CONTENT_TYPE_LATEST, text
        return TEXT, generate_latest(self._registry)

    def close(self) -> None:
        """Let go of what it holds of the process."""
        self._process.close()


class _RunCollector(Collector):
    """Renders the latest snapshot at each scrape.

    Args:
        metrics: who publishes it.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def describe(self) -> Sequence[Metric]:
        """Nothing: the registry would render a snapshot just to learn the names."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Every metric of the run; none before there is a simulation."""
        now = self._metrics.snapshot
        if now is None:
            return
        for each in INSTRUMENTS:
            yield _family(each.name, each.kind, each.help, each.labels, each.series(now))
        for timing in TIMINGS:
            yield _histogram(timing.name, timing.help, timing.labels, now.timings[timing.name])
        yield from _measured(now.measures)
        beat = self._metrics.lag.now()
        latest, longest = (0.0, 0.0) if beat is None else (beat.lag_s, beat.lag_s_max)
        yield GaugeMetricFamily("prism_event_loop_lag_seconds", "How late the event loop is.", latest)
        yield GaugeMetricFamily("prism_event_loop_lag_seconds_max", "The longest lag of the last minute.", longest)


def _family(name: str, kind: str, text: str, labels: Sequence[str], series: Mapping[tuple[str, ...], float]) -> Metric:
    make = CounterMetricFamily if kind == "counter" else GaugeMetricFamily
    family = make(name, text, labels=labels)
    for values, number in series.items():
        family.add_metric(values, float(number))
    return family


def _histogram(name: str, text: str, labels: Sequence[str], series: Mapping[tuple[str, ...], Counts]) -> Metric:
    family = HistogramMetricFamily(name, text, labels=labels)
    for values, counts in series.items():
        family.add_metric(values, _buckets(counts), counts.total)
    return family


def _buckets(counts: Counts) -> list[tuple[str, float] | tuple[str, float, Exemplar]]:
    """Accumulated buckets, as the format wants them."""
    seen = 0
    buckets: list[tuple[str, float] | tuple[str, float, Exemplar]] = []
    for bound, count, example in zip((*counts.bounds, math.inf), counts.counts, counts.examples, strict=True):
        seen += count
        le = "+Inf" if math.isinf(bound) else repr(bound)
        if example is None:
            buckets.append((le, float(seen)))
        else:
            tick = Exemplar({"tick": str(example.tick)}, example.value, example.timestamp_s)
            buckets.append((le, float(seen), tick))
    return buckets


def _measured(measures: Sequence[Measure]) -> Iterator[Metric]:
    """A world's measures, those of one name together."""
    by_name: dict[str, list[Measure]] = {}
    for measure in measures:
        by_name.setdefault(measure.name, []).append(measure)
    for name, group in by_name.items():
        first = group[0]
        series = {tuple(each.labels[label] for label in first.labels): each.value for each in group}
        yield _family(name, first.kind, first.help, tuple(first.labels), series)
