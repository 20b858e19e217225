"""The answers of a wave as bytes, equal to those that the agents would encode; most differ only in the agent."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import msgpack

from prism.kernels import compiled_as, kernel

GIVEN = -1
"""The number of an answer that is encoded already."""
NUMBER_BYTES = 9
"""The most bytes of a number."""


@kernel
def put_number(out: Any, at: Any, number: Any) -> Any:
    """Write a whole number from 0 to 2**63 - 1 as msgpack does; return the place after it."""
    if number < 1 << 7:
        out[at] = number
        return at + 1
    if number < 1 << 8:
        out[at], out[at + 1] = 0xCC, number
        return at + 2
    if number < 1 << 16:
        out[at], out[at + 1], out[at + 2] = 0xCD, number >> 8, number & 0xFF
        return at + 3
    size = 4 if number < 1 << 32 else 8
    out[at] = 0xCE if size == 4 else 0xCF  # the bytes that say how many follow
    for byte in range(size):
        out[at + size - byte] = number >> 8 * byte & 0xFF
    return at + size + 1


def _bytes_one_by_one(out: Any, at: Any, source: Any, start: Any, stop: Any) -> Any:
    for place in range(start, stop):
        out[at] = source[place]
        at += 1
    return at


@compiled_as(_bytes_one_by_one)
def put_bytes(out: Any, at: Any, source: Any, start: Any, stop: Any) -> Any:
    """Write the bytes from `start` to before `stop` of a source; return the place after them."""
    out[at : at + stop - start] = source[start:stop]
    return at + stop - start


def _by_byte(
    agents: Any,
    numbers: Any,
    tick: Any,
    heads: Any,
    tails: Any,
    starts: Any,
    asks: Any,
    contexts: Any,
    ends: Any,
    given: Any,
    given_starts: Any,
    out: Any,
) -> Any:
    at, which, asked, context = 0, 0, 0, 0
    for place in range(len(agents)):
        number = numbers[place]
        if number == GIVEN:
            at = put_bytes(out, at, given, given_starts[which], given_starts[which + 1])
            which += 1
            continue
        at = put_bytes(out, at, heads[asks[number]], 0, heads.shape[1])
        at = put_number(out, put_number(out, at, tick), agents[place])
        at = put_bytes(out, at, tails, starts[number], starts[number + 1])
        if asks[number]:
            at = put_bytes(out, at, contexts, context, ends[asked])
            context = ends[asked]
            asked += 1
    return at


@compiled_as(_by_byte)
def write_answers(
    agents: Any,
    numbers: Any,
    tick: Any,
    heads: Any,
    tails: Any,
    starts: Any,
    asks: Any,
    contexts: Any,
    ends: Any,
    given: Any,
    given_starts: Any,
    out: Any,
) -> Any:
    """Write the answers of agents, one after the other; return the number of bytes.

    Args:
        numbers: the number of the tail of each one's answer, or GIVEN.
        heads: what comes before the tick, in an update and in a question.
        tails: what comes after it, of tail n from `starts[n]` on; asks: 1 for each that is a question's, else 0.
            The number of the tick and the agent's come between the two.
        contexts: what comes at the end of questions, of the n-th to before `ends[n]`.
        given: the answers that are encoded already, of the n-th from `given_starts[n]` on.
    """
    encode, after, ready, about = msgpack.Encoder().encode, tails.tobytes(), given.tobytes(), contexts.tobytes()
    cuts, given_cuts, stops = starts.tolist(), given_starts.tolist(), ends.tolist()
    before = [row.tobytes() + encode(int(tick)) for row in heads]
    words, which, asked, context, is_question = [], 0, 0, 0, asks.tolist()
    for agent, number in zip(agents.tolist(), numbers.tolist(), strict=True):
        if number == GIVEN:
            words.append(ready[given_cuts[which] : given_cuts[which + 1]])
            which += 1
            continue
        words += before[is_question[number]], encode(agent), after[cuts[number] : cuts[number + 1]]
        if is_question[number]:
            words.append(about[context : stops[asked]])
            context = stops[asked]
            asked += 1
    found = np.frombuffer(b"".join(words), dtype=np.uint8)
    out[: len(found)] = found
    return len(found)
