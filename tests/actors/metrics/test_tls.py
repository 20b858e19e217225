"""The endpoint with a certificate."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import pytest

from actors.metrics.endpoint import MetricsServer
from prism.config import MetricsConfig
from prism.errors import ConfigError
from tests.actors.http.support import ask
from tests.actors.metrics.pages import PAGES, Serve


def test_with_a_certificate_it_speaks_tls(certificate: tuple[Path, Path], serve: Serve) -> None:
    server = serve(MetricsConfig(port=0, tls_cert=str(certificate[0]), tls_key=str(certificate[1])))
    assert server.url.startswith("https://127.0.0.1:")
    trusting = ssl.create_default_context(cafile=str(certificate[0]))
    assert ask(server, "/metrics", tls=trusting).body == "up 1\n"
    old = ssl.create_default_context(cafile=str(certificate[0]))
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(OSError, match=r"."):
        ask(server, tls=old)


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
