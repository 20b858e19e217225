"""The id of a question, and the header that carries it to a model's server.

An id follows from the question alone, so it is the same in the run, in its log, in a server's log and in a replay.
It enters no prompt, no tape and no result.
"""

from __future__ import annotations

from contextvars import ContextVar
from hashlib import sha256
from typing import Final

import msgspec

REQUEST_ID: Final = "X-Request-Id"


def question_id(seed: int, tick: int, agent: int, question: bytes) -> str:
    """Return the id of a question, such as `340-12-9f86d081884c7d65`: its tick, its agent and 16 hexadecimal digits.

    Args:
        question: as msgpack, as agents send it.
    """
    return f"{tick}-{agent}-{sha256(b'%d:' % seed + question).hexdigest()[:16]}"


class Asked(msgspec.Struct):
    """A question while a model is asked, for the names of the requests that this takes.

    Args:
        attempt: the number of this call among those of the question, from 1.
        process: a text that no other process has. A server may refuse a name that another request has just now, and
            two equal runs ask equal questions.
        requests: requests of this call so far: it may take one for probabilities and one for text.
    """

    question: str
    attempt: int
    process: str
    requests: int = 0

    def name_request(self) -> str:
        """Count one more request, and return its name."""
        self.requests += 1
        return f"{self.question}-{self.attempt}-{self.requests}-{self.process}"


ASKED: ContextVar[Asked | None] = ContextVar("ASKED", default=None)
"""The question that this task puts to a model; None outside of a run, as in the check of a server at start."""
