"""The fixtures of the tests of metrics: a server of pages."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing

import pytest
from starlette.responses import Response

from actors.metrics.endpoint import MetricsServer, Render
from prism.config import MetricsConfig

Serve = Callable[..., MetricsServer]
PAGES: Mapping[str, Render] = {"/metrics": lambda _: Response(b"up 1\n")}


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that starts a server, which ends with the test."""
    with ExitStack() as servers:

        def start(config: MetricsConfig | None = None, environment: Mapping[str, str] | None = None) -> MetricsServer:
            made = MetricsServer(config or MetricsConfig(port=0), PAGES, environment or {})
            return servers.enter_context(closing(made))

        yield start
