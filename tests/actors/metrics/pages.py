"""The pages that a server of metrics serves in its tests."""

from collections.abc import Callable, Mapping

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from actors.metrics.endpoint import MetricsServer, Render
from prism.config import MetricsConfig

ANY = MetricsConfig(port=0)
Serve = Callable[..., MetricsServer]


async def stuck(_: Request) -> Response:
    return PlainTextResponse("stuck\n", 503)


def broken(_: Request) -> Response:
    raise ValueError("a secret thing")


PAGES: Mapping[str, Render] = {
    "/metrics": lambda _: Response(b"up 1\n", headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}),
    "/healthz": stuck,
    "/broken": broken,
}
