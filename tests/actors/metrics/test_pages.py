"""The HTTP endpoint: where it listens, who may read, with a certificate, and the wait for the last scrapes."""

import base64
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from itertools import cycle
from pathlib import Path
from threading import Thread

import pytest
from msgspec.structs import replace

from actors.core.errors import AddressError
from actors.core.events import PhaseChanged, RunEnded
from actors.core.phase import Phase
from actors.metrics.endpoint import OF_PROMETHEUS, Endpoint, Scrapes
from actors.metrics.exposition import Exposition, Lifecycle
from deploy.scrape import Scrape
from prism.config import MetricsConfig
from prism.errors import ConfigError
from tests.actors.http.support import ask
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


def test_probes_say_whether_the_run_is_alive_and_ready(serve: Serve) -> None:
    server = serve()

    def asked() -> tuple[int, int]:
        return ask(server, "/healthz").status, ask(server, "/readyz").status

    assert asked() == (200, 503)
    server.hear(PhaseChanged(phase=Phase.RUNNING, before=Phase.STARTING, after_s=0.0))
    metrics = server.observe("run")
    metrics.is_under_way = True
    metrics.lag.beat()
    assert asked() == (200, 200)
    metrics.lag._clock = lambda: time.monotonic() + 3600.0  # the event loop has been blocked for an hour
    assert asked() == (503, 200)
    metrics.is_under_way = False
    assert asked() == (200, 200)
    answer = ask(server, "/admin")
    assert (answer.status, answer.body) == (404, "there are only /metrics, /healthz, /readyz\n")


def test_a_scrape_shows_one_phase_also_if_it_changes_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    lifecycle, phases = Lifecycle(), cycle(Phase)
    monkeypatch.setattr(Lifecycle, "phase", property(lambda _: next(phases), lambda *_: None), raising=False)
    shown = Scrape.parse(Exposition(lifecycle).render().decode(), 0.0).by("prism_run_phase", "phase")
    assert sum(shown.values()) == 1


def test_only_who_knows_the_password_reads_the_metrics(serve: Serve) -> None:
    server = serve({"PRISM_METRICS_PASSWORD": "pä:ss"}, username="ann")
    right = base64.b64encode("ann:pä:ss".encode()).decode()
    assert "prism_run_phase" in ask(server, "/metrics", Authorization=f"Basic {right}").body
    assert ask(server, "/metrics", Authorization=f"basic {right}").status == 200
    wrong = base64.b64encode(b"ann:pass").decode()
    for header in (f"Basic {wrong}", f"Bearer {right}", "Basic", "Basic ===", "Basic \xff", ""):
        answer = ask(server, "/metrics", Authorization=header)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Basic realm="prism"')
        assert "prism_" not in answer.body
    assert ask(server, "/metrics").status == 401
    assert ask(server, "/metrics?", method="HEAD").status == 401
    with pytest.raises(ConfigError, match=r"metrics.username: expected the password of 'ann' in \$PRISM_METRICS_PASS"):
        endpoint(username="ann")


def test_an_address_of_another_machine_says_so_in_one_line() -> None:
    for host in ("203.0.113.7", "a" * 300):
        with pytest.raises(AddressError, match=r"cannot listen on .* set metrics.host to an address of this machine"):
            endpoint(host=host)


@pytest.mark.parametrize(("host", "begins"), [("0.0.0.0", "http://127.0.0.1:"), ("::1", "http://[::1]:")])
def test_the_address_is_one_that_can_be_reached_from_here(host: str, begins: str, serve: Serve) -> None:
    if host == "::1" and not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    assert serve(host=host).url.startswith(begins)


def test_with_a_certificate_it_speaks_tls_and_one_that_cannot_be_used_is_a_mistake(
    certificate: tuple[Path, Path], serve: Serve, tmp_path: Path
) -> None:
    cert, key = map(str, certificate)
    server = serve(tls_cert=cert, tls_key=key)
    assert server.url.startswith("https://127.0.0.1:")
    assert ask(server, "/healthz", tls=ssl.create_default_context(cafile=cert)).body == "starting\n"
    old = ssl.create_default_context(cafile=cert)
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(OSError, match=r"."):
        ask(server, tls=old)
    locked = str(tmp_path / "locked.pem")
    command = ["openssl", "ec", "-in", key, "-aes256", "-passout", "pass:secret", "-out", locked]
    subprocess.run(command, check=True, capture_output=True)
    for chosen, problem in (
        ((cert, None), r"metrics.tls_key: expected the key of the certificate, got null"),
        ((None, key), r"metrics.tls_cert: expected the certificate of this key, got null"),
        ((cert, "/none.pem"), r"metrics.tls_cert: .* cannot be used for TLS: No such file or directory"),
        ((key, key), r"metrics.tls_cert: .* cannot be used for TLS: "),
        ((cert, locked), r"metrics.tls_cert: .* cannot be used for TLS: "),
    ):
        with pytest.raises(ConfigError, match=problem):
            endpoint(tls_cert=chosen[0], tls_key=chosen[1])


def scraped_at(*times: float, ended: float) -> Scrapes:
    now_s = [0.0]
    scrapes = Scrapes(lambda: now_s[-1])
    for time_s in times:
        now_s.append(time_s)
        scrapes.add()
    now_s.append(ended)
    return scrapes


def test_nobody_waits_for_a_scraper_that_is_gone_or_was_never_there() -> None:
    scraped_at(ended=0.0).wait_for(60.0)
    scraped_at(0.0, 15.0, ended=75.1).wait_for(60.0)


def test_the_wait_ends_with_the_second_scrape_after_the_end() -> None:
    scrapes = scraped_at(0.0, 1000.0, ended=1000.0)
    waiting = Thread(target=scrapes.wait_for, args=(3600.0,), daemon=True)
    waiting.start()
    scrapes.add()
    scrapes.add()
    waiting.join(30.0)
    assert not waiting.is_alive()


def test_a_reader_that_does_not_scrape_as_prometheus_does_is_not_waited_for(serve: Serve) -> None:
    server = serve(linger_s=3600.0)
    assert ask(server, "/metrics").status == 200
    server.hear(RunEnded(reason="SIGTERM", ticks=1))
    server.close()  # at once
    assert ask(other := serve(), "/metrics", "GET", None, **{OF_PROMETHEUS: "10"}).status == 200
    assert other._scrapes._latest > float("-inf")
