"""The servers that cells may ask through a gateway, with their secrets."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from actors.core.files import content_hash
from prism.config import Config, RequestConfig
from prism.config.model import PricesConfig


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """One or several servers of a model, as a configuration names them, with their secrets."""

    key: str  # a hash of its settings, without prices and secrets, for the keys of the tape
    origins: frozenset[str]  # the beginnings of the addresses to which a request may go
    # headers, query: of every request
    headers: dict[str, str]
    query: dict[str, str]
    secrets: tuple[str, ...]  # the texts that no message, file or cell may see
    has_key: bool
    prices: PricesConfig  # of the model's tokens
    ca_files: dict[str, str]  # `{setting or variable: file}` of certificates that the servers are trusted by

    def __repr__(self) -> str:
        return f"Service({sorted(self.origins)})"


def service_name(config: Config) -> str:
    """Return the name of the servers that a configuration asks: equal settings have one name. No secret is in it."""
    return _hash([_named(config), config.llm.prices])


def _named(config: Config) -> list[object]:
    llm = config.llm
    return [config.oracle.backend, list(llm.addresses), llm.api_key_env, llm.request.headers, llm.request.query]


def _hash(named: object) -> str:
    return content_hash(named)[:16]


def service_of(config: Config, environment: Mapping[str, str] | None) -> Service:
    """Return the servers that a configuration asks, with their secrets from the environment.

    Args:
        environment: None for a replay, which needs no secrets.
    """
    from prism.llm.address import address_of  # noqa: PLC0415  # an HTTP client takes 0.2 s to import

    llm = config.llm
    if environment is None:
        llm, environment = msgspec.structs.replace(llm, request=RequestConfig(path=llm.request.path)), {}
    found = [
        address_of(msgspec.structs.replace(llm, host=each, hosts=(), host_weights=()), environment)
        for each in llm.addresses
    ]
    headers = dict(found[0].headers)
    secrets = set(found[0].secrets)
    own = environment.get("OLLAMA_API_KEY", "").strip() if config.oracle.backend == "ollama" else ""
    if own and "authorization" not in {name.lower() for name in headers}:  # as its package does
        headers["Authorization"] = f"Bearer {own}"
        secrets.add(own)
    return Service(
        key=_hash(_named(config)),
        origins=frozenset(origin(each.host) for each in found),
        headers=headers,
        query=found[0].query,
        secrets=tuple(sorted(secrets, key=len, reverse=True)),
        has_key=found[0].has_key,
        prices=llm.prices,
        ca_files={place: file for each in found for place, file in each.ca_files.items()},
    )


def origin(address: str) -> str:
    """Return scheme, host and port of an address."""
    parts = urlsplit(address)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"{parts.scheme}://{parts.hostname}:{port}"
