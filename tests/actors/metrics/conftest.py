"""The fixtures of the tests of metrics: a server of pages."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing

import pytest

from actors.metrics.endpoint import MetricsServer, Render
from prism.config import MetricsConfig
from tests.actors.metrics.pages import ANY, PAGES, Serve


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that starts a server, which ends with the test."""
    with ExitStack() as servers:

        def start(
            config: MetricsConfig = ANY,
            environment: Mapping[str, str] | None = None,
            pages: Mapping[str, Render] = PAGES,
        ) -> MetricsServer:
            return servers.enter_context(closing(MetricsServer(config, pages, environment or {})))

        yield start
