"""The servers that cells may ask through a gateway, and the gateway as cells and commands see it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from actors.core.files import content_hash
from actors.studies.gateway.tape import Totals
from prism.config import Config, RequestConfig
from prism.config.model import PricesConfig
from prism.llm.gateway import Gateway


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
    """Return the servers that a configuration asks, with their secrets from the environment."""
    from prism.llm.address import address_of  # noqa: PLC0415  # an HTTP client takes 0.2 s to import

    llm = config.llm
    if environment is None:
        llm, environment = msgspec.structs.replace(llm, request=RequestConfig(path=llm.request.path)), {}
    found = [address_of(msgspec.structs.replace(llm, host=each, hosts=()), environment) for each in llm.addresses]
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


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    max_concurrency: int  # calls at once
    rate_per_s: float | None = None  # calls started a second
    # max_calls, max_tokens, max_usd: over all calls that the tape has
    max_calls: int | None = None
    max_tokens: int | None = None
    max_usd: float | None = None
    ask_once: bool = False  # whether requests that are the same in two cells are asked once


class GatewayStatistics(msgspec.Struct, kw_only=True):
    totals: Totals  # of the tape, over all processes
    from_tape: int = 0  # answers of this process that were on the tape
    shared: int = 0  # answers of this process that another cell's call gave, or another question's of the same cell
    refused: int = 0  # requests that were refused, because the budget is spent
    under_way: int = 0
    under_way_max: int = 0  # the most calls at once
    waiting: int = 0
    problem: str = ""


class GatewayPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A gateway, as the workers of an experiment are told of it. Its representation shows no secret."""

    address: str
    token: str
    services: dict[str, bool]  # `{name: whether the gateway has a key for it}`

    def __repr__(self) -> str:
        return f"GatewayPlace({self.address!r})"

    def of_cell(self, config: Config, cell: str) -> Gateway | None:
        """Return the gateway as one cell sees it; None if the cell asks no server that it knows."""
        if config.oracle.backend == "choice" or (name := service_name(config)) not in self.services:
            return None
        return Gateway(
            address=self.address,
            token=self.token,
            service=name,
            cell=cell,
            process=secrets.token_hex(6),
            has_key=self.services[name],
            deadline_s=config.oracle.deadline_s,
        )
