"""Servers with TLS: private authorities, certificates for other names, and addresses with the wrong scheme."""

import asyncio
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


@pytest.fixture(scope="session")
def other_name(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return an authority that has signed for another name."""
    del authority  # it skips where there is no openssl
    return signed_for("DNS:models.example", tmp_path_factory.mktemp("other"))


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
def behind_tls(server: ModelServer, authority: Authority, family: int = socket.AF_INET) -> Iterator[int]:
    """Provide the port of a proxy that speaks TLS, and passes on what it gets to a server."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(authority.signed, authority.key)
    loop, ready, ports = asyncio.new_event_loop(), threading.Event(), list[int]()

    async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError, ssl.SSLError):
            while piece := await source.read(65_536):
                target.write(piece)
                await target.drain()
        with suppress(OSError, ssl.SSLError, RuntimeError):
            target.close()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(server.host, server.port)
        await asyncio.gather(pump(reader, back), pump(there, writer))

    async def listen() -> None:
        host = "127.0.0.1" if family == socket.AF_INET else "::1"
        proxy = await asyncio.start_server(pass_on, host, 0, family=family, ssl=context)
        ports.append(proxy.sockets[0].getsockname()[1])
        ready.set()
        with suppress(asyncio.CancelledError):
            await proxy.serve_forever()

    def serve() -> None:
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(task)
        for each in asyncio.all_tasks(loop):
            each.cancel()
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    task = loop.create_task(listen())
    thread = threading.Thread(target=serve)
    thread.start()
    ready.wait()
    try:
        yield ports[0]
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()


def configure(host: str, backend: str = "openai", **llm: object) -> None:
    sections: dict[str, Any] = {**FEW, "oracle": {"backend": backend}, "llm": {"systemone": "off", **llm}}
    Path("tls.yaml").write_text(yaml.safe_dump(settings(host, **sections)))


@pytest.mark.everyday(1)
@pytest.mark.parametrize("backend", ["ollama", "openai"])
def test_a_private_authority_is_trusted_by_a_setting_or_a_variable(
    backend: str, authority: Authority, prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with ModelServer() as server, behind_tls(server, authority) as port:
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


def test_a_certificate_for_another_name_is_told_as_that(other_name: Authority, prism: Prism) -> None:
    with ModelServer() as server, behind_tls(server, other_name) as port:
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


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6], ids=["IPv4", "IPv6"])
def test_localhost_is_tried_in_both_families(
    family: int, authority: Authority, prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    if family == socket.AF_INET6 and not socket.has_ipv6:
        pytest.skip("there is no IPv6 here")
    resolve = socket.getaddrinfo

    def both(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        """Return what a system says that has both addresses of `localhost` among its hosts."""
        if host not in ("localhost", b"localhost"):
            return resolve(host, port, *rest, **more)
        return [*resolve("127.0.0.1", port, *rest, **more), *resolve("::1", port, **more)]

    monkeypatch.setattr("socket.getaddrinfo", both)
    with ModelServer() as server, behind_tls(server, authority, family) as port:
        configure(f"https://localhost:{port}", ca_file=str(authority.certificate))
        ended = prism("run", "tls.yaml", "--quiet", "--out", "run")
    assert ended.code == 0, ended.err
