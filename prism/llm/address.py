"""The address of a server: host, headers and query with the secrets of the environment; trust in its certificate."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

import httpx
import msgspec

from prism.config.model import LLMConfig
from prism.credentials import VARIABLE
from prism.errors import OracleUnavailableError
from prism.llm.failure import LLMFailureException

CA_FILE: Final = "SSL_CERT_FILE"
"""The environment variable that names a file of trusted certificates, as for OpenSSL."""

_UNTRUSTED = re.compile(r"CERTIFICATE_VERIFY_FAILED\] certificate verify failed: (.*?)(?: \(_ssl\.c:\d+\))?$")
_PLAIN = "WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"
"""What OpenSSL calls an answer that is no part of a handshake."""
_OTHER_NAME = re.compile(r"mismatch|not valid for", re.IGNORECASE)


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """The address of a server. Its representation shows no secret.

    Args:
        host: scheme, name, port and path prefix, as they may be shown.
        has_key: True if `llm.api_key_env` names a key.
        secrets: the texts that no message may show.
        ca_files: `{setting or variable: file}` of certificates that it is trusted by, besides the public ones.
    """

    host: str
    headers: dict[str, str]
    query: dict[str, str]
    has_key: bool
    secrets: tuple[str, ...]
    ca_files: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"Address({self.host!r})"


def address_of(config: LLMConfig, environment: Mapping[str, str]) -> Address:
    """Return the address that the configuration means. The key is sent unless `llm.request.headers` has another.

    Raises:
        OracleUnavailableError: the host is not an address, a variable is not set, or a secret cannot be sent.
    """
    host, key = checked_host(config.host), _read_key(environment, config.api_key_env)
    secrets = {key} if key else set()

    def filled(place: str, value: str) -> str:
        def read(found: re.Match[str]) -> str:
            variable = found[1] or found[2]
            text = _read_key(environment, variable)
            if text is None:
                problem = f"the environment variable {variable} is not set; set it, or leave {place} out"
                raise OracleUnavailableError(f"{place}: {problem}")
            secrets.add(text)
            return text

        return VARIABLE.sub(read, value)

    request = config.request
    headers = {name: filled(f"llm.request.headers.{name}", value) for name, value in request.headers.items()}
    if key and not any(name.lower() == "authorization" for name in headers):
        headers = {"Authorization": f"Bearer {key}", **headers}
    query = {name: filled(f"llm.request.query.{name}", value) for name, value in request.query.items()}
    files = {"llm.ca_file": config.ca_file, f"${CA_FILE}": environment.get(CA_FILE)}
    return Address(
        host=host,
        headers=headers,
        query=query,
        has_key=key is not None,
        secrets=tuple(sorted(secrets, key=len, reverse=True)),  # one may be part of another
        ca_files={place: file for place, file in files.items() if file and urlsplit(host).scheme == "https"},
    )


def _read_key(environment: Mapping[str, str], variable: str) -> str | None:
    key = environment.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):  # the message of httpx would show it
        message = f"the key in ${variable} has characters that no HTTP header may carry; set it again"
        raise OracleUnavailableError(message)
    return key or None


def checked_host(host: str) -> str:
    """Return the host as an address that may be shown: with a scheme, without a path's last slash."""
    address = host if "://" in host else f"http://{host}"
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        message = f"llm.host is not an address such as http://127.0.0.1:11434: {host!r}"
        raise OracleUnavailableError(message)
    return address.rstrip("/")


def verification(address: Address) -> ssl.SSLContext | bool:
    """Return the `verify` of an httpx client: True trusts the public authorities alone.

    Raises:
        OracleUnavailableError: a file cannot be read, or has no certificates.
    """
    if urlsplit(address.host).scheme != "https":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody, and costs no time to make
    if not address.ca_files:
        return True
    context = httpx.create_ssl_context(trust_env=False)
    for place, file in address.ca_files.items():
        try:
            context.load_verify_locations(cafile=file)
        except ssl.SSLError:
            raise OracleUnavailableError(f"{place}: {file}: expected certificates in PEM, got none") from None
        except OSError as error:
            raise OracleUnavailableError(f"{place}: {file}: cannot be read: {error.strerror}") from None
    return context


def tls_problem(host: str, failure: LLMFailureException) -> OracleUnavailableError | None:
    """Return the error of a connection that fails because of TLS; None if TLS is not to blame."""
    if any(each in failure.detail for each in _PLAIN):
        return OracleUnavailableError(f"{host} speaks no TLS; set llm.host to {host.replace('https:', 'http:', 1)}")
    if (found := _UNTRUSTED.search(failure.detail)) is None:
        return None
    problem, advice = "is not trusted", "set llm.ca_file to the certificates of its authority"
    if _OTHER_NAME.search(found[1]):
        problem, advice = "is for another name", "set llm.host to that name"
    return OracleUnavailableError(f"the certificate of {host} {problem}: {found[1]}; {advice}")
