"""A rule for every test of actors: no task may make a blocking call."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.blocking import nothing_blocks

READERS = {"causes", "explain", "results", "runs", "store", "tables"}
"""The rooms whose tests read and write files in tasks; their tests of the event loop say so."""


@pytest.fixture(autouse=True)
def _nothing_blocks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let a blocking call in a task fail the test: sleeping, files, sockets, locks."""
    with nullcontext() if request.path.parent.name in READERS else nothing_blocks():
        yield


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
