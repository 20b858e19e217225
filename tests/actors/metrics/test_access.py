"""Where the endpoint listens, and who may read there."""

from __future__ import annotations

import base64
import socket

import pytest

from actors.core.errors import AddressError
from actors.metrics.endpoint import MetricsServer
from prism.config import MetricsConfig
from prism.errors import ConfigError
from tests.actors.http.support import ask
from tests.actors.metrics.pages import PAGES, Serve


def test_only_who_knows_the_password_reads_the_metrics(serve: Serve) -> None:
    server = serve(MetricsConfig(port=0, username="ann"), {"PRISM_METRICS_PASSWORD": "pä:ss"})
    right = base64.b64encode("ann:pä:ss".encode()).decode()
    assert ask(server, "/metrics", Authorization=f"Basic {right}").body == "up 1\n"
    assert ask(server, "/metrics", Authorization=f"basic {right}").status == 200
    wrong = base64.b64encode(b"ann:pass").decode()
    for header in (f"Basic {wrong}", f"Bearer {right}", "Basic", "Basic ===", "Basic \xff", ""):
        answer = ask(server, "/metrics", Authorization=header)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Basic realm="prism"')
        assert "up" not in answer.body
    assert ask(server, "/metrics").status == 401
    assert ask(server, "/metrics?", method="HEAD").status == 401


def test_a_user_without_a_password_is_a_mistake() -> None:
    with pytest.raises(ConfigError, match=r"metrics.username: expected the password of 'ann' in \$PRISM_METRICS_PASS"):
        MetricsServer(MetricsConfig(port=0, username="ann"), PAGES, {})


def test_a_port_in_use_says_so_in_one_line(serve: Serve) -> None:
    port = serve().port
    with pytest.raises(AddressError) as caught:
        MetricsServer(MetricsConfig(port=port), PAGES, {})
    assert str(caught.value) == (
        f"metrics: cannot listen on 127.0.0.1:{port}: Address already in use; set metrics.port to another port, or to "
        "0 for any free one"
    )
    for host in ("203.0.113.7", "a" * 300):
        with pytest.raises(AddressError, match=r"cannot listen on .* set metrics.host to an address of this machine"):
            MetricsServer(MetricsConfig(port=0, host=host), PAGES, {})


@pytest.mark.parametrize(("host", "begins"), [("0.0.0.0", "http://127.0.0.1:"), ("::1", "http://[::1]:")])
def test_the_address_is_one_that_can_be_reached_from_here(host: str, begins: str, serve: Serve) -> None:
    if host == "::1" and not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    assert serve(MetricsConfig(port=0, host=host)).url.startswith(begins)
