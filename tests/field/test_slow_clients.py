"""Clients that send half a request, or a body a byte at a time: they keep nobody out, and hold up no end."""

import http.client
import re
import resource
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from threading import Thread

import pytest

from actors.core.events import RunEnded
from actors.metrics.endpoint import OF_PROMETHEUS, Endpoint
from prism.config import load_config
from tests.pages.view_server import PRISM
from tests.patience import HANG_S, wait_until
from tests.tiers import Size

BEGINNINGS = (
    b"",
    b"GET / HT",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
    b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\nx",
)


def ask(port: int, path: str = "/", method: str = "GET", **headers: str) -> tuple[int, bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=HANG_S)) as connection:
        connection.request(method, path, headers=headers)
        found = connection.getresponse()
        return found.status, found.read()


def begin(port: int, count: int, stack: ExitStack) -> list[socket.socket]:
    """Return clients that have begun a request."""
    clients = []
    for number in range(count):
        client = stack.enter_context(socket.create_connection(("127.0.0.1", port), HANG_S))
        with suppress(OSError):  # it may have been dropped already
            client.sendall(BEGINNINGS[number % len(BEGINNINGS)])
        clients.append(client)
    return clients


@pytest.fixture
def _many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("_many_files")
def test_the_local_page_is_there_beside_a_crowd_and_ends_at_once(tmp_path: Path, size: Size) -> None:
    command = (*PRISM, "view", str(tmp_path), "--port", "0")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process, ExitStack() as stack:
        stack.callback(process.kill)
        assert process.stdout is not None
        found = re.search(r":(\d+)/", process.stdout.readline())
        assert found is not None
        port = int(found[1])
        begin(port, size(1_000, everyday=200), stack)
        wait_until(lambda: ask(port)[0] != 503)  # some of the crowd have sent a whole head
        assert ask(port)[0] == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(HANG_S) == -signal.SIGTERM


@pytest.mark.parametrize("headers", [{}, {OF_PROMETHEUS: "10"}])
def test_readers_that_do_not_come_again_do_not_hold_up_the_end_of_a_run(headers: dict[str, str]) -> None:
    endpoint = Endpoint(load_config(overrides=["metrics.enabled=true", "metrics.port=0", "metrics.linger_s=3600"]))
    port = int(endpoint.url.rpartition(":")[2])
    for _ in range(20):
        assert ask(port, "/metrics", **headers)[0] == 200
    endpoint.hear(RunEnded(reason="SIGTERM", ticks=1))
    closing_ = Thread(target=endpoint.close)
    closing_.start()
    if headers:  # a Prometheus that has just been here is waited for
        ask(port, "/metrics", **headers)
        assert closing_.is_alive()
        ask(port, "/metrics", **headers)
    closing_.join(HANG_S)
    assert not closing_.is_alive()
