"""The metrics of an experiment: its cells, its losses and its nodes, over HTTP, while it is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from actors.metrics.exposition import histogram_family, rendered
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
        running = sum(now.running.values())
        states = {"done": self._known + now.done, "failed": now.failed, "running": running, "waiting": now.waiting}
        yield _gauge("prism_experiment_cells", "Cells by state.", "state", states)
        losses = CounterMetricFamily("prism_experiment_losses", "Workers and results lost.", labels=("reason",))
        for reason, times in now.losses.items():
            losses.add_metric((reason,), times)
        yield losses
        yield histogram_family("prism_experiment_cell_seconds", "Seconds of a cell.", (), {(): now.seconds})
        cells = {name: float(load.cells or 0) for name, load in now.nodes.items()}
        yield _gauge("prism_experiment_node_cells", "Cells that a node runs.", "node", cells)
        cpu = {name: load.cpu for name, load in now.nodes.items()}
        yield _gauge("prism_experiment_node_cpu", "Share of a node's processors that is busy.", "node", cpu)
        memory = {name: load.memory for name, load in now.nodes.items()}
        yield _gauge("prism_experiment_node_memory", "Share of a node's memory that is used.", "node", memory)


def _gauge(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=(label,))
    for value, number in values.items():
        family.add_metric((value,), number)
    return family


@contextmanager
def served(collector: ExperimentCollector, port: int) -> Iterator[str]:
    """Serve the metrics of an experiment on 127.0.0.1 in the block, and provide the address."""
    registry = CollectorRegistry()
    registry.register(collector)

    def scrape(request: Request) -> Response:
        kind, body = rendered(registry, request.headers.get("Accept", ""))
        return Response(body, headers={"Content-Type": kind})

    async def health(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    pages: dict[str, Render] = {"/metrics": scrape, "/healthz": health}
    server = MetricsServer(MetricsConfig(enabled=True, port=port), pages, names=("metrics.host", "--metrics-port"))
    try:
        yield server.url
    finally:
        server.close()
