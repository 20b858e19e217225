"""Columns give back the bytes of every tick that they were made of, whatever is in it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.core.frames import tick_payload
from actors.persistence.blocks import WHOLE, Form, pack, unpack
from prism.agents import Question, Update
from prism.events import FeedShown, Intervened, PostEvent

encode = msgspec.msgpack.encode
NUMBERS = st.one_of(st.integers(0, 2**63 - 1), st.sampled_from([0, 127, 128, 255, 256, 65535, 65536, 2**32 - 1, 2**32]))
TEXTS = st.text(max_size=40)
VALUES = st.one_of(st.none(), TEXTS, st.floats(), st.lists(TEXTS, max_size=3), st.booleans(), st.binary(max_size=9))
NAMES = st.sampled_from(["", "like", "sees_post", "x" * 31, "é" * 15])
Message = Update[Any] | Question[Any] | PostEvent | FeedShown | Intervened


def messages(tick: int) -> st.SearchStrategy[Message]:
    """The messages that a tick may hold."""
    at = st.just(tick)
    return st.one_of(
        st.builds(Update, at, NUMBERS, NAMES, NAMES, NAMES, NAMES, VALUES, TEXTS),
        st.builds(Question, at, NUMBERS, NAMES, NAMES, st.just(("a", "b")), st.lists(VALUES, max_size=4)),
        st.builds(PostEvent, at, NUMBERS, NAMES, NUMBERS, st.none() | NUMBERS, st.just(("food",))),
        st.builds(FeedShown, at, NUMBERS, st.lists(NUMBERS, max_size=5).map(tuple)),
        st.builds(Intervened, at, NUMBERS, st.just("silence"), st.just({"silence": [1, 2]})),
    )


@st.composite
def runs(draw: st.DrawFn) -> tuple[int, list[bytes]]:
    """The first tick, and the payloads of some ticks."""
    first = draw(st.sampled_from([0, 1, 120, 250, 65_530, 2**32 - 2]))
    count = draw(st.integers(1, 12))
    ticks = [draw(st.lists(messages(first + number), max_size=8)) for number in range(count)]
    return first, [tick_payload(first + number, [encode(each) for each in tick]) for number, tick in enumerate(ticks)]


@given(runs())
def test_every_tick_comes_back_byte_for_byte_and_in_columns(run: tuple[int, list[bytes]]) -> None:
    first, payloads = run
    forms, blocks = pack(first, payloads)
    assert WHOLE not in blocks
    assert unpack(first, forms, blocks) == payloads


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xff" * 40,
        encode([0, [[2, 0]]]),  # too short for an agent
        encode([0, [[2, 0, -1, "a"]]]),
        encode([0, [[2, 0, "a text", "a"]]]),
        encode([0, [[300, 0, 1, "a"]]]),
        encode([0, [list(range(20))]]),
        encode([0, [{"a": 1}]]),
        encode([0, ["text"]]),
        encode([5, []]),  # another tick
        tick_payload(0, [encode([2, 1, 3, "of another tick"])]),
        tick_payload(0, [b"\x93\x02\x00\xcd\x00\x05"]),  # an integer that is longer than it need be
        tick_payload(0, [encode([7, 0, 1, [], 3, 4, 5])]),
    ],
)
def test_a_tick_of_any_other_form_is_kept_as_it_is(payload: bytes) -> None:
    good = tick_payload(1, [encode(Update[Any](1, 2, "clock", "red", "green", "rule"))])
    forms, blocks = pack(0, [payload, good])
    assert list(blocks) == [WHOLE]
    assert unpack(0, forms, blocks) == [payload, good]


def test_many_updates_of_few_kinds_take_next_to_nothing() -> None:
    updates = [encode(Update[Any](7, agent, "clock", "red", "green", "rule")) for agent in range(5_000)]
    payload = tick_payload(7, updates)
    forms, blocks = pack(7, [payload])
    assert forms == [Form(0x99, 2, "ir")]
    assert msgspec.msgpack.decode(blocks["0.1.values"]) == [["clock", "red", "green", "rule", None, ""]]
    assert unpack(7, forms, blocks) == [payload]
