"""What server to be."""

from dataclasses import dataclass, field
from enum import StrEnum

from actors.testing.answers import Reply
from actors.testing.faults import FaultPlan
from actors.testing.latency import Latency

__all__ = ["Dialect", "ServerSettings", "SystemOne"]


class SystemOne(StrEnum):
    """What /v1/systemone answers: as a server before 0.35 (404), for a chat model (400), or for a decision model."""

    OFF = "off"
    UNSUITED = "unsuited"
    ON = "on"


class Dialect(StrEnum):
    """The response_format that /v1/chat/completions takes.

    json_schema and json_object, the latter alone, or none (400); `ignored` accepts all and follows none, as some
    servers do.
    """

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    NONE = "none"
    IGNORED = "ignored"


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """The server's behaviour. It can be exchanged while the server runs; slots and queue count from the next start."""

    models: tuple[str, ...] = ("llama3.2",)
    version: str = "0.40.12"
    slots: int = 4
    max_queue: int = 512
    load_s: float = 0.0
    latency: Latency = field(default_factory=Latency)
    faults: FaultPlan = field(default_factory=FaultPlan)
    systemone: SystemOne = SystemOne.ON
    dialect: Dialect = Dialect.JSON_SCHEMA
    key: str | None = None
    live: bool = False
    reply: Reply | None = None
