"""The HTTP endpoint, over real sockets: what it answers to whom, and what it does not let happen."""

from __future__ import annotations

import base64
import http.client
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec
import pytest
from structlog.typing import EventDict

from actors.errors import MetricsAddressError
from actors.http import CONNECTIONS_MAX, MetricsServer
from actors.page import Page, Render, plain
from prism.config import MetricsConfig
from prism.errors import ConfigError

ANY = MetricsConfig(port=0)
Serve = Callable[..., MetricsServer]


def numbers(_: str) -> Page:
    return Page(HTTPStatus.OK, b"up 1\n", "text/plain; version=0.0.4; charset=utf-8")


def broken(_: str) -> Page:
    raise ValueError("a secret thing")


PAGES: Mapping[str, Render] = {
    "/metrics": numbers,
    "/healthz": lambda _: plain(HTTPStatus.SERVICE_UNAVAILABLE, "stuck"),
    "/accept": lambda accept: plain(HTTPStatus.OK, accept),
    "/broken": broken,
}


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a server that ends with the test."""
    with ExitStack() as servers:

        def start(config: MetricsConfig = ANY, environment: Mapping[str, str] | None = None) -> MetricsServer:
            return servers.enter_context(closing(MetricsServer(config, PAGES, environment or {})))

        yield start


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]
    body: str


def ask(
    server: MetricsServer,
    path: str = "/metrics",
    method: str = "GET",
    tls: ssl.SSLContext | None = None,
    **headers: str,
) -> Answer:
    connection: http.client.HTTPConnection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    if tls is not None:
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=5, context=tls)
    with closing(connection):
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return Answer(answer.status, dict(answer.getheaders()), answer.read().decode())


def send(server: MetricsServer, request: bytes) -> bytes:
    """Whatever comes back to these bytes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as client:
        client.sendall(request)
        received = b""
        with suppress(OSError):  # it may have hung up on us already
            client.shutdown(socket.SHUT_WR)
            while part := client.recv(65_536):
                received += part
        return received


def test_a_page_is_answered_as_it_is(serve: Serve) -> None:
    answer = ask(serve())
    assert (answer.status, answer.body) == (200, "up 1\n")
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.headers["Content-Length"] == "5"


def test_a_query_changes_nothing(serve: Serve) -> None:
    assert ask(serve(), "/metrics?name[]=up&x=%zz").body == "up 1\n"


def test_the_head_of_a_page_has_its_length_and_no_body(serve: Serve) -> None:
    answer = ask(serve(), method="HEAD")
    assert (answer.status, answer.headers["Content-Length"], answer.body) == (200, "5", "")


def test_a_page_is_told_what_the_reader_accepts(serve: Serve) -> None:
    assert ask(serve(), "/accept", Accept="application/openmetrics-text").body == "application/openmetrics-text\n"


def test_a_page_may_say_that_things_are_bad(serve: Serve) -> None:
    answer = ask(serve(), "/healthz")
    assert (answer.status, answer.body) == (503, "stuck\n")


def test_an_unknown_path_is_told_which_there_are(serve: Serve) -> None:
    answer = ask(serve(), "/admin")
    assert (answer.status, answer.body) == (404, "there are only /metrics, /healthz, /accept, /broken\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW"])
def test_there_is_nothing_to_do_but_read(method: str, serve: Serve) -> None:
    answer = ask(serve(), method=method)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")
    assert answer.body == "method not allowed\n"


def test_an_error_is_one_line_to_the_reader_and_its_cause_is_in_the_log(serve: Serve, logged: list[EventDict]) -> None:
    answer = ask(serve(), "/broken")
    assert (answer.status, answer.body) == (500, "this page cannot be made; the run's log says why\n")
    assert [(event["event"], event["error"]) for event in logged] == [
        ("metrics_page_failed", "ValueError: a secret thing")
    ]


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /metrics HTTP/9.9\r\n\r\n",
        b"GET /metrics HTTP/1.1 please\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x00" * 100,
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\n" + b"X-Many: 1\r\n" * 500 + b"\r\n",
        b"GET /metrics HTTP/1.1\r\nX-Long: " + b"a" * 70_000 + b"\r\n\r\n",
        b"GET http://[::1 HTTP/1.1\r\n\r\n",
        b"GET /accept HTTP/1.1\r\nAccept: a\r\n b\r\n\r\n",
        b"",
    ],
)
def test_a_malformed_request_gets_a_short_answer_and_hurts_nobody(request_bytes: bytes, serve: Serve) -> None:
    server = serve()
    answer = send(server, request_bytes)
    assert b"Traceback" not in answer
    assert b"<html" not in answer.lower()
    assert len(answer) < 500
    assert ask(server).status == 200


def test_only_who_knows_the_password_reads_the_metrics(serve: Serve) -> None:
    server = serve(MetricsConfig(port=0, username="ann"), {"PRISM_METRICS_PASSWORD": "pä:ss"})
    right = base64.b64encode("ann:pä:ss".encode()).decode()
    assert ask(server, Authorization=f"Basic {right}").body == "up 1\n"
    assert ask(server, Authorization=f"basic {right}").status == 200
    wrong = base64.b64encode(b"ann:pass").decode()
    for header in (f"Basic {wrong}", f"Bearer {right}", "Basic", "Basic ===", "Basic \xff", ""):
        answer = ask(server, Authorization=header)
        assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, 'Basic realm="prism"')
        assert "up" not in answer.body
    assert ask(server).status == 401
    assert ask(server, "/metrics?", method="HEAD").status == 401


def test_signs_of_life_need_no_password(serve: Serve) -> None:
    server = serve(MetricsConfig(port=0, username="ann"), {"PRISM_METRICS_PASSWORD": "secret"})
    assert ask(server, "/healthz").body == "stuck\n"


def test_a_user_without_a_password_is_a_mistake() -> None:
    with pytest.raises(ConfigError, match=r"metrics.username: expected the password of 'ann' in \$PRISM_METRICS_PASS"):
        MetricsServer(MetricsConfig(port=0, username="ann"), PAGES, {})


def test_a_port_in_use_says_so_in_one_line(serve: Serve) -> None:
    port = serve().port
    with pytest.raises(MetricsAddressError) as caught:
        MetricsServer(MetricsConfig(port=port), PAGES, {})
    assert str(caught.value) == (
        f"metrics: cannot listen on 127.0.0.1:{port}: Address already in use; set metrics.port to another port, or to "
        "0 for any free one"
    )


@pytest.mark.parametrize("host", ["no.such.host.invalid", "203.0.113.7", "a" * 300, "\x00"])
def test_an_address_that_is_not_ours_says_so(host: str) -> None:
    with pytest.raises(MetricsAddressError, match="cannot listen on"):
        MetricsServer(MetricsConfig(port=0, host=host), PAGES, {})


@pytest.mark.parametrize(
    ("host", "begins"), [("127.0.0.1", "http://127.0.0.1:"), ("0.0.0.0", "http://127.0.0.1:"), ("::1", "http://[::1]:")]
)
def test_the_address_is_one_that_can_be_reached_from_here(host: str, begins: str, serve: Serve) -> None:
    if host == "::1" and not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    assert serve(MetricsConfig(port=0, host=host)).url.startswith(begins)


def test_a_silent_client_blocks_nobody(serve: Serve) -> None:
    server = serve()
    with socket.create_connection(("127.0.0.1", server.port)):
        assert ask(server).status == 200


def test_too_many_clients_are_turned_away_until_one_leaves(serve: Serve) -> None:
    server = serve()
    with ExitStack() as clients:
        silent = [
            clients.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(CONNECTIONS_MAX)
        ]
        with pytest.raises(OSError, match=r"."):
            ask(server)
        silent[0].close()
        assert until(lambda: ask(server).status == 200)


@pytest.mark.parametrize("request_bytes", [b"GET", b"GET /metrics HTTP/1.1\r\nX: "])
def test_a_client_that_takes_its_time_does_not_keep_its_place(
    request_bytes: bytes, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.http.LONGEST_S", 0.2)
    server = serve()
    with ExitStack() as clients:
        slow = [
            clients.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(CONNECTIONS_MAX)
        ]

        def is_answered_while_they_go_on() -> bool:
            for each in slow:
                with suppress(OSError):
                    each.sendall(request_bytes[-1:])
            return ask(server).status == 200

        for each in slow:
            each.sendall(request_bytes)
        assert until(is_answered_while_they_go_on)


def test_after_its_end_nobody_listens(serve: Serve) -> None:
    server = MetricsServer(ANY, PAGES, {})
    server.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port))


def until(is_so: Callable[[], bool], within_s: float = 5.0) -> bool:
    """Whether it comes to be so in time."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        try:
            if is_so():
                return True
        except OSError:
            continue
    return False


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


def over_tls(certificate: tuple[Path, Path]) -> MetricsConfig:
    return MetricsConfig(port=0, tls_cert=str(certificate[0]), tls_key=str(certificate[1]))


def test_with_a_certificate_it_speaks_tls(certificate: tuple[Path, Path], serve: Serve) -> None:
    server = serve(over_tls(certificate))
    assert server.url.startswith("https://127.0.0.1:")
    trusting = ssl.create_default_context(cafile=str(certificate[0]))
    assert ask(server, tls=trusting).body == "up 1\n"


def test_over_tls_nobody_else_is_let_in_or_hinders(
    certificate: tuple[Path, Path], serve: Serve, logged: list[EventDict]
) -> None:
    server = serve(over_tls(certificate))
    trusting = ssl.create_default_context(cafile=str(certificate[0]))
    assert b"up" not in send(server, b"GET /metrics HTTP/1.1\r\n\r\n")
    with pytest.raises(ssl.SSLCertVerificationError):
        ask(server, tls=ssl.create_default_context())
    old = ssl.create_default_context(cafile=str(certificate[0]))
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(OSError, match=r"."):
        ask(server, tls=old)
    with socket.create_connection(("127.0.0.1", server.port)):  # it never shakes hands
        assert ask(server, tls=trusting).status == 200
    assert logged == []


def test_a_certificate_that_cannot_be_used_is_a_mistake(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    cert, key = map(str, certificate)
    locked = str(tmp_path / "locked.pem")
    subprocess.run(
        ["openssl", "ec", "-in", key, "-aes256", "-passout", "pass:secret", "-out", locked],
        check=True,
        capture_output=True,
    )
    for chosen, problem in (
        ((cert, None), r"metrics.tls_key: expected the key of the certificate, got null"),
        ((None, key), r"metrics.tls_cert: expected the certificate of this key, got null"),
        ((cert, "/none.pem"), r"metrics.tls_cert: .* cannot be used for TLS: No such file or directory"),
        ((key, key), r"metrics.tls_cert: .* cannot be used for TLS: "),
        ((cert, locked), r"metrics.tls_cert: .* cannot be used for TLS: "),
    ):
        with pytest.raises(ConfigError, match=problem):
            MetricsServer(MetricsConfig(port=0, tls_cert=chosen[0], tls_key=chosen[1]), PAGES, {})
