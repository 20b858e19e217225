"""The messages of a journal: the only place that decodes them.

A tick is decoded as a whole, or its messages stay encoded: a reader of few messages selects them by their first bytes,
which give the kind and the agent, and decodes only those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from actors.core.errors import JournalError
from actors.core.frames import DECODE_ERRORS, Damage
from actors.core.messages import KINDS, Message
from actors.persistence.disk import RealDisk
from actors.persistence.journal import JOURNAL, TickFrame, read_ticks

M = TypeVar("M", bound=Message)
T = TypeVar("T")

_TAGS: dict[Any, int] = {kind: tag for tag, kind in KINDS.items()}
_OF_AGENTS = [tag for tag, kind in KINDS.items() if "agent" in kind.__struct_fields__]

_decode: Callable[[bytes], Message] = msgspec.msgpack.Decoder(Message).decode
_tick = msgspec.msgpack.Decoder(tuple[int, msgspec.Raw]).decode
_encoded = msgspec.msgpack.Decoder(tuple[int, list[msgspec.Raw]]).decode
_whole: Callable[[bytes], tuple[int, list[Message]]] = msgspec.msgpack.Decoder(tuple[int, list[Message]]).decode
_encode = msgspec.msgpack.Encoder().encode


def messages_in(payload: bytes) -> list[Message]:
    """Return the messages of a tick.

    Raises:
        JournalError: it holds no tick.
    """
    return _read(_whole, payload)


def encoded_in(payload: bytes) -> list[bytes]:
    """Return the messages of a tick as they were encoded.

    Raises:
        JournalError: the payload holds no tick.
    """
    return list(map(bytes, _read(_encoded, payload)))


def decoded(message: bytes) -> Message:
    """Return a message.

    Raises:
        JournalError: it is no message of a journal.
    """
    try:
        return _decode(message)
    except DECODE_ERRORS as error:
        raise JournalError(f"{JOURNAL}: an answer of an agent cannot be read: {error}") from None


def those_of(messages: Iterable[bytes], *kinds: type[M]) -> Iterator[M]:
    """Yield the messages of some kinds in a tick; no other messages are decoded.

    Raises:
        JournalError: one of them cannot be read.
    """
    tags = frozenset(map(_TAGS.__getitem__, kinds))
    for encoded in messages:
        if encoded[1] in tags:
            yield decoded(encoded)  # type: ignore[misc]  # its tag says its class


def of_agent(messages: Iterable[bytes], tick: int, agent: int) -> Iterator[bytes]:
    of_it = tuple(bytes([tag]) + _encode(tick) + _encode(agent) for tag in _OF_AGENTS)
    return (encoded for encoded in messages if encoded.startswith(of_it, 1))  # after the number of its fields


def whole_ticks(path: Path) -> Iterator[TickFrame]:
    """Yield the ticks of a run from the first on, each with the place of its frame, up to any damage.

    Raises:
        JournalError: the journal cannot be read.
    """
    for frame in read_ticks(RealDisk(path)):
        if isinstance(frame, Damage):
            return
        yield frame


def ticks_of(path: Path, first: int = 0, until: int | None = None) -> Iterator[list[bytes]]:
    """Yield the messages of each tick of a run as they were encoded, up to any damage.

    Args:
        first: the first tick; `until`: the one after the last; None for all ticks.

    Raises:
        JournalError: the journal cannot be read.
    """
    return (encoded_in(frame.payload) for frame in islice(whole_ticks(path), first, until))


def _read(decode: Callable[[bytes], tuple[int, list[T]]], payload: bytes) -> list[T]:
    try:
        return decode(payload)[1]
    except DECODE_ERRORS as error:
        name = "a tick"
        with suppress(*DECODE_ERRORS):
            name = f"tick {_tick(payload)[0]}"
        raise JournalError(f"{JOURNAL}: {name} cannot be read: {error}") from None
