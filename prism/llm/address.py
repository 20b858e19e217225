"""The address of a server: host, path, headers and query, with the secrets from the environment in their places."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from prism.config.model import LLMConfig
from prism.credentials import VARIABLE
from prism.errors import OracleUnavailableError
from prism.llm.tls import ca_files

_CHAT = "/chat/completions"


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
    """Return the address that the configuration means.

    The key is sent unless `llm.request.headers` has an authorization.

    Raises:
        OracleUnavailableError: the host is not an address, a variable is not set, or a secret cannot be sent.
    """
    host = _checked_host(config.host)
    key = _read_key(environment, config.api_key_env)
    secrets = {key} if key else set()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    for name, value in config.request.headers.items():
        headers = {other: text for other, text in headers.items() if other.lower() != name.lower()}
        headers[name] = _filled(f"llm.request.headers.{name}", value, environment, secrets)
    query = {
        name: _filled(f"llm.request.query.{name}", value, environment, secrets)
        for name, value in config.request.query.items()
    }
    return Address(
        host=host,
        headers=headers,
        query=query,
        has_key=key is not None,
        secrets=tuple(sorted(secrets, key=len, reverse=True)),  # one may be part of another
        ca_files=ca_files(host, config.ca_file, environment),
    )


def _filled(place: str, value: str, environment: Mapping[str, str], secrets: set[str]) -> str:
    def read(found: re.Match[str]) -> str:
        variable = found[1] or found[2]
        text = _read_key(environment, variable)
        if text is None:
            message = f"{place}: the environment variable {variable} is not set; set it, or leave {place} out"
            raise OracleUnavailableError(message)
        secrets.add(text)
        return text

    return VARIABLE.sub(read, value)


def _read_key(environment: Mapping[str, str], variable: str) -> str | None:
    """Return the key in the environment, or None.

    Raises:
        OracleUnavailableError: no header can carry it. The message of httpx would show the key.
    """
    key = environment.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        message = f"the key in ${variable} has characters that no HTTP header may carry; set it again"
        raise OracleUnavailableError(message)
    return key or None


def _checked_host(host: str) -> str:
    """Return the host as an address that may be shown: with a scheme, without a path's last slash.

    Raises:
        OracleUnavailableError: it is not an address.
    """
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


def split_openai(host: str) -> tuple[str, str | None]:
    """Return the base address without `/v1`, and the path of the chat if the host already ends with it."""
    base = host.removesuffix(_CHAT)
    path = None if base == host else _CHAT
    if base.endswith("/v1"):
        return base.removesuffix("/v1"), None if path is None else f"/v1{path}"
    return base, path


def models_path(chat: str) -> str | None:
    """Return the path of the list of models beside that of the chat; None if it is not known."""
    return f"{chat.removesuffix(_CHAT)}/models" if chat.endswith(_CHAT) else None
