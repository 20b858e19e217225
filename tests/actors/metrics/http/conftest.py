"""The fixtures of the tests of the HTTP endpoint: a server, and a certificate."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from actors.metrics.http_server import MetricsServer, Render
from prism.config import MetricsConfig
from tests.actors.metrics.http.support import ANY, PAGES, Serve


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


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    directory = tmp_path_factory.mktemp("tls")
    cert, key = directory / "cert.pem", directory / "key.pem"
    command: list[Any] = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    command += ["-nodes", "-days", "1", "-subj", "/CN=prism", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key
