"""Servers with TLS: private authorities, certificates for other names, and addresses with the wrong scheme."""

import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.command import Prism
from tests.standin import ModelServer
from tests.wire.support import settings

FEW = {"population": {"size": 20}, "simulation": {"rounds": 1, "ticks_per_round": 12, "seed": 7}}


class Authority(NamedTuple):
    """A private authority: its certificate, and a certificate with its key that it has signed for a name."""

    certificate: Path
    signed: Path
    key: Path


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return an authority that has signed for `localhost` and 127.0.0.1."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    return signed_for("DNS:localhost,IP:127.0.0.1,IP:::1", tmp_path_factory.mktemp("authority"))


def signed_for(names: str, place: Path) -> Authority:
    root, root_key, key, request, signed = (place / f"{name}.pem" for name in ("root", "rootkey", "key", "csr", "cert"))
    (place / "names").write_text(f"subjectAltName={names}\n")
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *curve, "-days", "2", "-subj", "/CN=our authority", "-keyout", root_key, "-out", root)
    openssl("req", *curve, "-subj", "/CN=server", "-keyout", key, "-out", request)
    openssl(
        *("x509", "-req", "-in", request, "-CA", root, "-CAkey", root_key, "-CAcreateserial", "-days", "2"),
        *("-extfile", place / "names", "-out", signed),
    )
    return Authority(root, signed, key)


def openssl(*arguments: Any) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


@contextmanager
def with_tls(authority: Authority, host: str = "127.0.0.1") -> Iterator[int]:
    """Provide the port of a server that speaks TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(authority.signed, authority.key)
    with ModelServer(host=host) as server:
        listener: Any = server._server
        # The handshake is a matter of the thread of the connection, not of the one that accepts it.
        listener.socket = context.wrap_socket(listener.socket, server_side=True, do_handshake_on_connect=False)
        listener.handle_error = lambda *_: None  # a client may refuse the certificate
        yield server.port


def configure(host: str, backend: str = "openai", **llm: object) -> None:
    sections: dict[str, Any] = {**FEW, "oracle": {"backend": backend}, "llm": {"systemone": "off", **llm}}
    Path("tls.yaml").write_text(yaml.safe_dump(settings(host, **sections)))


@pytest.mark.everyday(1)
@pytest.mark.parametrize("backend", ["ollama", "openai"])
def test_a_private_authority_is_trusted_by_a_setting_or_a_variable(
    backend: str, authority: Authority, prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with with_tls(authority) as port:
        host = f"https://127.0.0.1:{port}"
        configure(host, backend)
        refused = prism("run", "tls.yaml", "--quiet", "--out", "refused")
        configure(host, backend, ca_file=str(authority.certificate))
        by_setting = prism("run", "tls.yaml", "--quiet", "--out", "setting")
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
        configure(host, backend)
        by_variable = prism("run", "tls.yaml", "--quiet", "--out", "variable")
    assert refused.code == 5
    assert refused.err.startswith(f"prism: the certificate of {host} is not trusted: ")
    assert "; set llm.ca_file to the certificates of its authority\n" in refused.err
    assert (by_setting.code, by_variable.code) == (0, 0), by_setting.err + by_variable.err
    assert by_setting.out == by_variable.out


@pytest.mark.usefixtures("authority")  # it skips where there is no openssl
def test_a_certificate_for_another_name_is_told_as_that(prism: Prism, tmp_path: Path) -> None:
    other_name = signed_for("DNS:models.example", tmp_path)
    with with_tls(other_name) as port:
        configure(f"https://127.0.0.1:{port}", ca_file=str(other_name.certificate))
        ended = prism("run", "tls.yaml", "--quiet", "--out", "run")
    assert ended.code == 5
    assert ended.err.startswith(f"prism: the certificate of https://127.0.0.1:{port} is for another name: ")


def test_a_server_without_tls_is_told_as_that(prism: Prism) -> None:
    with ModelServer() as server:
        configure(f"https://127.0.0.1:{server.port}")
        ended = prism("run", "tls.yaml", "--quiet", "--out", "run")
    host = f"127.0.0.1:{server.port}"
    assert (ended.code, ended.err) == (5, f"prism: https://{host} speaks no TLS; set llm.host to http://{host}\n")


def test_files_without_certificates_are_named(prism: Prism) -> None:
    Path("notes.pem").write_text("no certificate\n")
    for name, problem in (("notes.pem", "expected certificates in PEM, got none"), ("none.pem", "cannot be read: ")):
        configure("https://127.0.0.1:1", ca_file=name)
        ended = prism("run", "tls.yaml", "--quiet", "--out", "run")
        assert ended.code == 5
        assert ended.err.startswith(f"prism: llm.ca_file: {name}: {problem}")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_localhost_is_tried_in_both_families(
    host: str, authority: Authority, prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    if host == "::1" and not socket.has_ipv6:
        pytest.skip("there is no IPv6 here")
    resolve = socket.getaddrinfo

    def both(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        """Return what a system says that has both addresses of `localhost` among its hosts."""
        if host not in ("localhost", b"localhost"):
            return resolve(host, port, *rest, **more)
        return [*resolve("127.0.0.1", port, *rest, **more), *resolve("::1", port, **more)]

    monkeypatch.setattr("socket.getaddrinfo", both)
    with with_tls(authority, host) as port:
        configure(f"https://localhost:{port}", ca_file=str(authority.certificate))
        ended = prism("run", "tls.yaml", "--quiet", "--out", "run")
    assert ended.code == 0, ended.err
