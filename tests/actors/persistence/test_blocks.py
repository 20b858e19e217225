"""Columns give back the bytes of every tick that they were made of, whatever is in it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.core.frames import tick_payload
from actors.persistence import blocks
from actors.persistence.blocks import WHOLE, Field, Form, pack, unpack
from actors.persistence.streams import Stream
from prism.agents import Question, Update
from prism.events import FeedShown, Intervened, PostEvent
from tests.catalogue import catalogue
from tests.tiers import size

encode = msgspec.msgpack.encode
AGENTS = st.one_of(st.integers(0, 2**31 - 1), st.sampled_from([0, 127, 128, 255, 256, 65535, 65536]))
NUMBERS = st.one_of(st.integers(0, 2**63 - 1), st.sampled_from([0, 127, 128, 255, 256, 65535, 65536, 2**32 - 1, 2**32]))
TEXTS = st.text(max_size=40)
VALUES = st.one_of(st.none(), TEXTS, st.floats(), st.lists(TEXTS, max_size=3), st.booleans(), st.binary(max_size=9))
NAMES = st.sampled_from(["", "like", "sees_post", "x" * 31, "é" * 15])
Message = Update[Any] | Question[Any] | PostEvent | FeedShown | Intervened


def messages(tick: int) -> st.SearchStrategy[Message]:
    """The messages that a tick may hold."""
    at = st.just(tick)
    return st.one_of(
        st.builds(Update, at, AGENTS, NAMES, NAMES, NAMES, NAMES, VALUES | st.lists(NUMBERS, max_size=3), TEXTS),
        st.builds(Question, at, AGENTS, NAMES, NAMES, st.just(("a", "b")), st.lists(VALUES | NUMBERS, max_size=20)),
        st.builds(PostEvent, at, AGENTS, NAMES, NUMBERS, st.none() | NUMBERS, st.just(("food",))),
        st.builds(FeedShown, at, AGENTS, st.lists(NUMBERS, max_size=5).map(tuple)),
        st.builds(Intervened, at, AGENTS, st.just("silence"), st.just({"silence": [1, 2]})),
    )


@st.composite
def runs(draw: st.DrawFn) -> tuple[int, list[bytes]]:
    """The first tick, and the payloads of some ticks."""
    first = draw(st.sampled_from([0, 1, 120, 250, 65_530, 2**32 - 2]))
    count = draw(st.integers(1, 12))
    ticks = [draw(st.lists(messages(first + number), max_size=8)) for number in range(count)]
    return first, [tick_payload(first + number, [encode(each) for each in tick]) for number, tick in enumerate(ticks)]


@given(runs())
@settings(max_examples=size()(150, everyday=6))
def test_every_tick_comes_back_byte_for_byte_and_in_columns(run: tuple[int, list[bytes]]) -> None:
    first, payloads = run
    forms, columns = pack(first, lambda: payloads)
    assert WHOLE not in columns
    with pytest.MonkeyPatch.context() as patch:
        for together in (3, 1 << 17):  # in several parts, and in one
            patch.setattr(blocks, "_TOGETHER", together)
            assert [*unpack(first, forms, columns)] == payloads


@catalogue(
    "payload",
    [
        b"",
        b"\xff" * 40,
        encode([0, [[2, 0]]]),  # too short for an agent
        encode([0, [[2, 0, -1, "a"]]]),
        encode([0, [[2, 0, "a text", "a"]]]),
        encode([0, [[300, 0, 1, "a"]]]),
        encode([0, [list(range(20))]]),
        encode([0, [[2, 0, 2**31, "a"]]]),
        encode([0, [{"a": 1}]]),
        encode([0, ["text"]]),
        encode([5, []]),  # another tick
        tick_payload(0, [encode([2, 1, 3, "of another tick"])]),
        tick_payload(0, [b"\x93\x02\x00\xcd\x00\x05"]),  # an integer that is longer than it need be
    ],
)
def test_a_tick_of_any_other_form_is_kept_as_it_is(payload: bytes) -> None:
    good = tick_payload(1, [encode(Update[Any](1, 2, "clock", "red", "green", "rule"))])
    forms, columns = pack(0, lambda: [payload, good])
    assert list(columns) == [WHOLE]
    assert [*unpack(0, forms, columns)] == [payload, good]


def test_many_updates_of_few_kinds_take_next_to_nothing() -> None:
    updates = [encode(Update[Any](7, agent, "clock", "red", "green", "rule")) for agent in range(5_000)]
    payload = tick_payload(7, updates)
    forms, columns = pack(7, lambda: [payload])
    assert forms == [Form(0x99, 2, (Field("s", ()),))]
    assert msgspec.msgpack.decode(columns["0.0.values"]) == [["clock", "red", "green", "rule", None, ""]]
    assert [*unpack(7, forms, columns)] == [payload]


def view(agent: int, post: int) -> list[Any]:
    """What follows from the post, and what does not."""
    return [post, post >> 24, f"author {post >> 24}", f"text {post}", ["food"], agent % 11, post / 7, agent / 7]


def test_a_field_that_follows_from_another_is_kept_once_for_each_value_of_it() -> None:
    posts = [(agent, (agent % 7 + 1_000 << 24) + agent % 210) for agent in range(3_000)]
    asked = [
        encode(Question(4, agent, "decides", "evaluating", ("a", "b"), view(agent, post))) for agent, post in posts
    ]
    payload = tick_payload(4, asked)
    forms, columns = pack(4, lambda: [payload])
    assert [*unpack(4, forms, columns)] == [payload]
    (form,) = forms
    said, length, post, author, name, text, topics, age, of_post, own = form.items
    assert (said, length) == (Field("s", ()), 8)
    assert post == Field("n", (Stream(2), Stream(1)))  # above 32 bits, so in two parts
    assert author == Field("n", (Stream(0, 2),))  # the upper part
    assert name == Field("t", (Stream(1, keys=(2,)),))
    assert {text, of_post} == {Field("t", (Stream(1, keys=(2, 3)),))}
    assert (topics, age) == (Field("t", (Stream(0),)), Field("n", (Stream(1),)))
    assert own == Field("f", (Stream(8),))
    assert len(columns["0.5"]) == 7
