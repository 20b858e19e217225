"""Trust in a server's certificate, and the error of a connection that fails because of TLS."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

import httpx
from anyio import to_thread

from prism.errors import OracleUnavailableError
from prism.llm.failure import LLMFailureException

VARIABLE: Final = "SSL_CERT_FILE"
"""The environment variable that names a file of trusted certificates, as for OpenSSL."""
PROBE_S: Final = 2.0
"""The longest time in which a server shows whether it speaks TLS."""

_UNTRUSTED = re.compile(r"CERTIFICATE_VERIFY_FAILED\] certificate verify failed: (.*?)(?: \(_ssl\.c:\d+\))?$")
_OTHER_NAME = re.compile(r"mismatch|not valid for", re.IGNORECASE)
_MAY_BE = frozenset({"connection_error", "timeout", "invalid_response", "refused"})
"""The reasons of failures for which a wrong scheme may be to blame."""


def ca_files(host: str, ca_file: str | None, environment: Mapping[str, str]) -> dict[str, str]:
    """Return `{setting or variable: file}` of certificates that a server is trusted by, besides the public ones.

    Args:
        host: its address; only one with https needs certificates.
    """
    files = {"llm.ca_file": ca_file, f"${VARIABLE}": environment.get(VARIABLE)}
    return {place: file for place, file in files.items() if file and urlsplit(host).scheme == "https"}


def verification(host: str, files: Mapping[str, str]) -> ssl.SSLContext | bool:
    """Return the `verify` of an httpx client: True trusts the public authorities alone.

    Args:
        host: the server's address. One without https gets a context that trusts nobody, which costs no time to make.
        files: those of `ca_files`.

    Raises:
        OracleUnavailableError: a file cannot be read, or has no certificates.
    """
    if urlsplit(host).scheme != "https":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not files:
        return True
    context = httpx.create_ssl_context(trust_env=False)
    for place, file in files.items():
        try:
            context.load_verify_locations(cafile=file)
        except ssl.SSLError:
            raise OracleUnavailableError(f"{place}: {file}: expected certificates in PEM, got none") from None
        except OSError as error:
            raise OracleUnavailableError(f"{place}: {file}: cannot be read: {error.strerror}") from None
    return context


async def tls_problem(host: str, failure: LLMFailureException) -> OracleUnavailableError | None:
    """Return the error of a connection that fails because of TLS; None if TLS is not to blame."""
    if urlsplit(host).scheme != "https":
        if failure.reason in _MAY_BE and await to_thread.run_sync(_speaks_tls, host):
            return OracleUnavailableError(f"{host} speaks TLS; set llm.host to https://{host.removeprefix('http://')}")
        return None
    if found := _UNTRUSTED.search(failure.detail):
        problem, advice = "is not trusted", "set llm.ca_file to the certificates of its authority"
        if _OTHER_NAME.search(found[1]):
            problem, advice = "is for another name", "set llm.host to that name"
        return OracleUnavailableError(f"the certificate of {host} {problem}: {found[1]}; {advice}")
    if failure.reason in _MAY_BE and await to_thread.run_sync(_speaks_plainly, host):
        return OracleUnavailableError(f"{host} speaks no TLS; set llm.host to http://{host.removeprefix('https://')}")
    return None


def _speaks_tls(host: str) -> bool:
    """Return whether a server takes a TLS handshake. No certificate is verified, and nothing is sent."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with suppress(OSError), _connected(host) as plain, context.wrap_socket(plain):
        return True
    return False


def _speaks_plainly(host: str) -> bool:
    """Return whether a server answers a plain request in HTTP."""
    with suppress(OSError), _connected(host) as plain:
        plain.sendall(b"GET / HTTP/1.0\r\n\r\n")
        return plain.recv(16).startswith(b"HTTP/")
    return False


def _connected(host: str) -> socket.socket:
    address = urlsplit(host)
    port = address.port or (443 if address.scheme == "https" else 80)
    return socket.create_connection((address.hostname or "", port), PROBE_S)
