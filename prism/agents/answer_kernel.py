"""The answers of a wave as bytes: each is what its agent would have encoded, and most are alike but for the agent."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import msgpack

from prism.kernels import compiled_as, kernel

GIVEN = -1
"""The number of an answer that is encoded already."""
NUMBER_BYTES = 5
"""The most bytes of an agent's number."""


@kernel
def put_number(out: Any, at: Any, number: Any) -> Any:
    """Write a whole number from 0 to 2**32 - 1 as msgpack does; return the place after it."""
    if number < 1 << 7:
        out[at] = number
        return at + 1
    if number < 1 << 8:
        out[at], out[at + 1] = 0xCC, number
        return at + 2
    if number < 1 << 16:
        out[at], out[at + 1], out[at + 2] = 0xCD, number >> 8, number & 0xFF
        return at + 3
    out[at], out[at + 1], out[at + 2] = 0xCE, number >> 24, number >> 16 & 0xFF
    out[at + 3], out[at + 4] = number >> 8 & 0xFF, number & 0xFF
    return at + 5


@kernel
def put_bytes(out: Any, at: Any, source: Any, start: Any, stop: Any) -> Any:
    """Write the bytes from `start` to before `stop` of a source; return the place after them."""
    for place in range(start, stop):
        out[at] = source[place]
        at += 1
    return at


def _by_byte(
    agents: Any, numbers: Any, head: Any, tails: Any, starts: Any, given: Any, given_starts: Any, out: Any
) -> Any:
    """Do what `write_answers` does."""
    at, which = 0, 0
    for place in range(len(agents)):
        if numbers[place] == GIVEN:
            at = put_bytes(out, at, given, given_starts[which], given_starts[which + 1])
            which += 1
            continue
        at = put_bytes(out, at, head, 0, len(head))
        at = put_number(out, at, agents[place])
        at = put_bytes(out, at, tails, starts[numbers[place]], starts[numbers[place] + 1])
    return at


@compiled_as(_by_byte)
def write_answers(
    agents: Any, numbers: Any, head: Any, tails: Any, starts: Any, given: Any, given_starts: Any, out: Any
) -> Any:
    """Write the answers of agents, one after the other; return the number of bytes.

    Args:
        numbers: the number of the tail of each one's answer, or GIVEN.
        head: what comes before an agent's number; tails: what comes after it, of tail n from `starts[n]` on.
        given: the answers that are encoded already, of the n-th from `given_starts[n]` on.
    """
    before, after, ready = head.tobytes(), tails.tobytes(), given.tobytes()
    ends, given_ends, encode, which = starts.tolist(), given_starts.tolist(), msgpack.Encoder().encode, 0
    words = []
    for agent, number in zip(agents.tolist(), numbers.tolist(), strict=True):
        if number == GIVEN:
            words.append(ready[given_ends[which] : given_ends[which + 1]])
            which += 1
        else:
            words += before, encode(agent), after[ends[number] : ends[number + 1]]
    found = np.frombuffer(b"".join(words), dtype=np.uint8)
    out[: len(found)] = found
    return len(found)
