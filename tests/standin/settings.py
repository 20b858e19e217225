"""The settings that the server of the tests has besides those of `actors.testing`."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum, unique

from actors.testing import ServerSettings as PlainSettings
from tests.standin.spells import Spell

Weigh = Callable[[str, Sequence[str]], Sequence[float]]
"""Returns the weights of the options of a choice, in their order, from the text of the state."""


class ApiError(Exception):
    """An error that a `reply` raises: the server answers with it."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        self.message = message
        super().__init__(status, message)


@unique
class SystemOne(StrEnum):
    """The answer of /v1/systemone: of a server before 0.35 (404), of a chat model (400), or of a decision model."""

    OFF = "off"
    UNSUITED = "unsuited"
    ON = "on"


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


@unique
class Broken(StrEnum):
    """A way to fail beside those of `Fault`, by which the server of `prism testing serve` fails, too.

    drip: a right answer that comes a byte at a time. string_error: a 500 whose body is a JSON string. garbage: bytes
    that are not HTTP.
    """

    DRIP = "drip"
    STRING_ERROR = "string_error"
    GARBAGE = "garbage"


class ServerSettings(PlainSettings, frozen=True, kw_only=True):
    """The server's behaviour. It can be exchanged while the server runs; from the next start: slots and outages.

    Args:
        broken: the calls, by number, that fail in other ways than `faults`; `drip_s`: the seconds between two bytes.
        spells: times in which it behaves in another way, in seconds since the latest start; one of each kind.
        systemone: the answer of /v1/systemone.
        quirks: the names of its quirks, in `QUIRKS`.
        logprobs: the answer to a question for the probabilities of tokens.
        key: the bearer key that /v1/* asks for.
        live: answer the same request differently every time, as a model above temperature 0 does.
        weigh: returns the weights of the options of /v1/systemone instead of made-up ones.
    """

    broken: Mapping[int, Broken] = {}
    drip_s: float = 0.01
    spells: tuple[Spell, ...] = ()
    systemone: SystemOne = SystemOne.ON
    quirks: tuple[str, ...] = ()
    logprobs: Logprobs = Logprobs.OFF
    key: str | None = None
    live: bool = False
    weigh: Weigh | None = None
