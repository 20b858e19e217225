"""The fixtures of the tests of metrics: endpoints."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing

import pytest
from msgspec.structs import replace

from actors.metrics.endpoint import Endpoint
from prism.config import MetricsConfig
from tests.actors.social_runs import SMALL

Serve = Callable[..., Endpoint]


def endpoint(environment: Mapping[str, str] | None = None, **settings: object) -> Endpoint:
    """Return an endpoint with these settings of `metrics`, on any free port unless one is given."""
    metrics = MetricsConfig(**{"enabled": True, "port": 0, **settings})  # type: ignore[arg-type]
    return Endpoint(replace(SMALL, metrics=metrics), environment or {})


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that starts an endpoint, which ends with the test."""
    with ExitStack() as servers:
        yield lambda *given, **settings: servers.enter_context(closing(endpoint(*given, **settings)))
