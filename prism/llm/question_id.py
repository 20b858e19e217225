"""The id of a question, and the headers that carry it to a model's server.

An id follows from the question alone, so it is the same in the run, in its log, in a server's log and in a replay.
It enters no prompt, no tape and no result.
"""

from __future__ import annotations

from contextvars import ContextVar
from hashlib import sha256

import msgspec

REQUEST_ID = "X-Request-Id"
TRACE_PARENT = "traceparent"
NAMING = REQUEST_ID, TRACE_PARENT

_DIGITS = 16


def question_id(seed: int, tick: int, agent: int, question: bytes) -> str:
    """Return the id of a question, such as `340-12-9f86d081884c7d65`: its tick, its agent and 16 hexadecimal digits.

    Args:
        question: as msgpack, as agents send it.
    """
    return f"{tick}-{agent}-{_hexadecimal(b'%d:' % seed + question, _DIGITS)}"


def call_span(question: str, attempt: int) -> str:
    """Return the id of the span of one call.

    Args:
        attempt: the number of the call among those of the question, from 1.
    """
    return _hexadecimal(f"{question}-{attempt}".encode(), 16)


class TraceIds(msgspec.Struct, frozen=True, kw_only=True):
    """The ids of a run's traces, one trace for each tick.

    Args:
        run: the run's name, which keeps apart the traces of runs that are equal otherwise.
    """

    seed: int
    run: str = ""

    def trace(self, tick: int) -> str:
        """Return the id of a tick's trace: 32 hexadecimal digits."""
        return _hexadecimal(f"{self.run}:{self.seed}:{tick}".encode(), 32)

    def question(self, tick: int, agent: int, question: bytes) -> str:
        """Return the id of a question, which does not depend on the run's name."""
        return question_id(self.seed, tick, agent, question)


class Asked(msgspec.Struct):
    """A question while a model is asked, for the headers of the requests that this takes.

    Args:
        trace: the id of its tick's trace.
        attempt: the number of this call among those of the question, from 1.
        process: a text that no other process has. A server may refuse a name that another request has just now, and
            two equal runs ask equal questions.
        requests: requests of this call so far: it may take one for probabilities and one for text.
    """

    question: str
    trace: str
    attempt: int
    process: str
    requests: int = 0

    def headers(self) -> dict[str, str]:
        """Count one more request, and return its headers.

        The span in `traceparent` is that of the call. The name in `X-Request-Id` is that of the request alone.
        """
        self.requests += 1
        span = call_span(self.question, self.attempt)
        return {
            REQUEST_ID: f"{self.question}-{self.attempt}-{self.requests}-{self.process}",
            TRACE_PARENT: f"00-{self.trace}-{span}-01",
        }


ASKED: ContextVar[Asked | None] = ContextVar("ASKED", default=None)
"""The question that this task puts to a model; None outside of a run, as in the check of a server at start."""


def _hexadecimal(data: bytes, digits: int) -> str:
    return sha256(data).hexdigest()[:digits]
