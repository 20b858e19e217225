"""An exchange: one request, and how it ended."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from tests.standin.faults import Fault
from tests.standin.spells import SpellKind

_KEPT_BYTES = 64 << 10


class Exchange(msgspec.Struct, kw_only=True):
    """One request and how it ended. `call` numbers the inference requests from 1; times are monotonic seconds.

    `body` is the decoded JSON, or the text where it is no JSON; of a body over 64 KiB, the first 64 KiB as text.
    `ended_s` is None while the server works on it; `status` is None if no head was sent, as in a hang or a reset;
    `abandoned` means that the client left (or the server was stopped) before the end; `spell` is the spell that the
    call met. `request_id` and `traceparent` are those headers, by which the client names the call.
    """

    method: str
    path: str
    body: Any
    started_s: float
    ended_s: float | None = None
    call: int | None = None
    fault: Fault | None = None
    spell: SpellKind | None = None
    status: int | None = None
    abandoned: bool = False
    request_id: str = ""
    traceparent: str = ""

    def line(self) -> str:
        """Return the exchange as a line of JSON."""
        return json.dumps(msgspec.structs.asdict(self))


def readable(body: bytes) -> object:
    """Return a request's body as an exchange keeps it."""
    if not body:
        return None
    if len(body) <= _KEPT_BYTES:
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            pass
    return body[:_KEPT_BYTES].decode(errors="replace")
