"""Settings of the server: what it has, how fast it is, how it fails."""

from __future__ import annotations

from enum import StrEnum, unique

import msgspec

from actors.testing.settings import Latency, ServerSettingsError
from tests.standin.answers import Reply, Weigh
from tests.standin.faults import FaultPlan
from tests.standin.quirks import QUIRKS
from tests.standin.spells import Spell


@unique
class SystemOne(StrEnum):
    """The answer of /v1/systemone: of a server before 0.35 (404), of a chat model (400), or of a decision model."""

    OFF = "off"
    UNSUITED = "unsuited"
    ON = "on"


@unique
class Dialect(StrEnum):
    """The response_format that /v1/chat/completions takes.

    json_schema and json_object, the latter alone, or none (400); `ignored` accepts all and follows none, as some
    servers do.
    """

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    NONE = "none"
    IGNORED = "ignored"


@unique
class Logprobs(StrEnum):
    """The answer to a question for the probabilities of tokens.

    off: the field is ignored. grammar, as llama.cpp: probabilities after its grammar. choice, as vLLM: logarithms after
    its `structured_outputs`. plain, as OpenAI: the likeliest tokens, nothing kept to the letters, and unknown fields
    are a 400. raw: tokens as they were before a grammar, so that letters are missing. refused: a 400. On Ollama's API
    grammar, choice and plain are the same.
    """

    OFF = "off"
    GRAMMAR = "grammar"
    CHOICE = "choice"
    PLAIN = "plain"
    RAW = "raw"
    REFUSED = "refused"


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The server's behaviour. It can be exchanged while the server runs; from the next start: slots, queue, outages.

    Args:
        models: the models it has, or none; any other is a 404.
        version: of Ollama, as it names it.
        slots: calls that run at once (OLLAMA_NUM_PARALLEL).
        max_queue: calls that wait for a slot (OLLAMA_MAX_QUEUE); more get a 503.
        max_connections: open connections; more get a 503 and are closed.
        rate_per_s: calls that it takes a second; more get a 429. None for any number.
        says_when: whether a 429 says in `Retry-After`, in whole seconds, when a call is taken again.
        load_s: seconds to load a model, at its first call and after a change of num_ctx.
        latency: seconds of a call.
        faults: calls that fail, and how.
        spells: times in which it behaves in another way, in seconds since the latest start; one of each kind.
        systemone: the answer of /v1/systemone.
        dialect: the response_format of the OpenAI API.
        quirks: the names of its quirks, in `QUIRKS`.
        logprobs: the answer to a question for the probabilities of tokens.
        key: the bearer key that /v1/* asks for.
        live: answer the same request differently every time, as a model above temperature 0 does.
        reply: says what the model says, from the messages, the options and the format, instead of made-up values.
        weigh: returns the weights of the options of /v1/systemone, from the state as text and the options, instead of
            made-up ones.
        keeps: the latest exchanges that `ModelServer.requests` remembers.

    Raises:
        ServerSettingsError: a value is out of its range.
    """

    models: tuple[str, ...] = ("llama3.2",)
    version: str = "0.40.12"
    slots: int = 4
    max_queue: int = 512
    max_connections: int = 1_000
    rate_per_s: float | None = None
    says_when: bool = False
    load_s: float = 0.0
    latency: Latency = Latency()
    faults: FaultPlan = FaultPlan()
    spells: tuple[Spell, ...] = ()
    systemone: SystemOne = SystemOne.ON
    dialect: Dialect = Dialect.JSON_SCHEMA
    quirks: tuple[str, ...] = ()
    logprobs: Logprobs = Logprobs.OFF
    key: str | None = None
    live: bool = False
    reply: Reply | None = None
    weigh: Weigh | None = None
    keeps: int = 10_000

    def __post_init__(self) -> None:
        if not all(name.strip() for name in self.models):
            raise ServerSettingsError("models", "each needs a name")
        for quirk in self.quirks:
            if quirk not in QUIRKS:
                raise ServerSettingsError("quirks", f"{quirk!r} is no quirk; there are {', '.join(QUIRKS)}")
        if len({spell.kind for spell in self.spells}) < len(self.spells):
            raise ServerSettingsError("spells", "there may be one of each kind")
        self._check_counts()
        if self.rate_per_s is not None and not 0 < self.rate_per_s < float("inf"):
            raise ServerSettingsError("rate_per_s", f"must be greater than 0, not {self.rate_per_s}")
        if not 0 <= self.load_s < float("inf"):
            raise ServerSettingsError("load_s", f"must be at least 0, not {self.load_s}")

    def _check_counts(self) -> None:
        for name, value, least in (
            ("slots", self.slots, 1),
            ("max_queue", self.max_queue, 0),
            ("max_connections", self.max_connections, 1),
            ("keeps", self.keeps, 0),
        ):
            if value < least:
                raise ServerSettingsError(name, f"must be at least {least}, not {value}")
