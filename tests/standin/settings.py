"""The settings that the server of the tests has besides those of `actors.testing`."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum, unique

import msgspec

from actors.testing import ServerSettings as PlainSettings
from prism.rng import WORLD, Draw, uniform

Weigh = Callable[[str, Sequence[str]], Sequence[float]]
"""Returns the weights of the options of a choice, in their order, from the text of the state."""
SLOWER = 10.0
"""The factor by which a call takes longer in a slow spell."""


class ApiError(Exception):
    """An error that a `reply` raises: the server answers with it."""

    def __init__(self, status: int, message: str) -> None:
        self.status, self.message = status, message
        super().__init__(status, message)


@unique
class SystemOne(StrEnum):
    """The answer of /v1/systemone: of a server before 0.35 (404), of a chat model (400), or of a decision model."""

    OFF = "off"
    UNSUITED = "unsuited"
    ON = "on"


@unique
class Logprobs(StrEnum):
    """The answer to a question for the probabilities of tokens. On Ollama's API the three sound ones are the same."""

    OFF = "off"  # the field is ignored
    GRAMMAR = "grammar"  # as llama.cpp: probabilities after its grammar
    CHOICE = "choice"  # as vLLM: logarithms after its `structured_outputs`
    PLAIN = "plain"  # as OpenAI: the likeliest tokens, nothing kept to the letters; unknown fields are a 400
    RAW = "raw"  # tokens as they were before a grammar, so that letters are missing
    REFUSED = "refused"  # a 400


@unique
class Broken(StrEnum):
    """A way to fail beside those of `Fault`, by which the server of `prism testing serve` fails, too."""

    DRIP = "drip"  # a right answer that comes a byte at a time
    STRING_ERROR = "string_error"  # a 500 whose body is a JSON string
    GARBAGE = "garbage"  # bytes that are not HTTP


@unique
class SpellKind(StrEnum):
    """What a server does for a time, however often it is asked. Faults happen to single calls; spells by the clock."""

    OUTAGE = "outage"  # it is gone: connections are cut, and new ones refused
    SILENCE = "silence"  # it accepts every call and answers none of them; they hang, also after the spell
    BUSY = "busy"  # 503 for every call, without a Retry-After
    LIMIT = "limit"  # 429 for every call, with the rest of the spell as Retry-After
    SLOW = "slow"  # every call takes ten times as long


class Spell(msgspec.Struct, frozen=True, kw_only=True):
    """Spells of one kind: one in each period of `every_s`, at a drawn time, of `least_s` to `most_s`."""

    kind: SpellKind
    every_s: float
    least_s: float
    most_s: float
    seed: int = 0

    def span(self, period: int) -> tuple[float, float]:
        """Return the begin and the end of the spell in a period, counted from 0, in seconds since the server began."""
        number = 2 * list(SpellKind).index(self.kind)
        long, late = (uniform(self.seed, WORLD, period, Draw.SERVER_SPELL, number + each) for each in range(2))
        length_s = self.least_s + (self.most_s - self.least_s) * long
        begin_s = period * self.every_s + (self.every_s - length_s) * late
        return begin_s, begin_s + length_s


def spells_at(spells: tuple[Spell, ...], now_s: float) -> dict[SpellKind, float]:
    """Return `{kind: when it is over}` of the spells under way at this time."""
    spans = ((spell.kind, spell.span(int(now_s // spell.every_s))) for spell in spells)
    return {kind: end_s for kind, (begin_s, end_s) in spans if begin_s <= now_s < end_s}


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
