"""The metrics of an experiment: its cells and its losses, over HTTP, while it is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from actors.metrics.exposition import TEXT, histogram_family
from actors.metrics.http_server import MetricsServer, Render
from actors.studies.experiments.batch import Standing
from prism.config import MetricsConfig

SCENARIO = "experiment"


class ExperimentCollector(Collector):
    """A collector that renders the standing at each scrape."""

    def __init__(self, name: str, on: str, known: int, standing: Callable[[], Standing]) -> None:
        self._labels = (name, SCENARIO, on, "")
        self._known = known
        self._standing = standing

    def describe(self) -> Sequence[Metric]:
        """Return nothing: otherwise the registry would collect only to learn the names."""
        return ()

    def collect(self) -> Iterator[Metric]:
        now = self._standing()
        info = GaugeMetricFamily("prism_run_info", "Always 1.", labels=("run_id", "scenario", "backend", "seed"))
        info.add_metric(self._labels, 1)
        yield info
        states = {"done": self._known + now.done, "failed": now.failed, "running": now.running, "waiting": now.waiting}
        cells = GaugeMetricFamily("prism_experiment_cells", "Cells by state.", labels=("state",))
        for state, count in states.items():
            cells.add_metric((state,), count)
        yield cells
        losses = CounterMetricFamily("prism_experiment_losses", "Workers and results lost.", labels=("reason",))
        for reason, times in now.losses.items():
            losses.add_metric((reason,), times)
        yield losses
        yield histogram_family("prism_experiment_cell_seconds", "Seconds of a cell.", (), {(): now.seconds})


@contextmanager
def served(collector: ExperimentCollector, port: int) -> Iterator[str]:
    """Serve the metrics of an experiment on 127.0.0.1 in the block, and provide the address."""
    registry = CollectorRegistry()
    registry.register(collector)

    def scrape(_: Request) -> Response:
        return Response(generate_latest(registry), headers={"Content-Type": TEXT})

    async def health(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    pages: dict[str, Render] = {"/metrics": scrape, "/healthz": health}
    server = MetricsServer(MetricsConfig(enabled=True, port=port), pages, names=("metrics.host", "--metrics-port"))
    try:
        yield server.url
    finally:
        server.close()
