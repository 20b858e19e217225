from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from actors.store.messages import questions_in
from actors.store.question_bytes import question_bytes
from prism.agents import Question
from prism.agents.contexts import Contexts
from prism.agents.waves import Kind
from prism.events import QUESTIONS
from prism.tables import Shape

KINDS = [
    Kind("decides", "evaluating", "", "asked", '["scrolling","composing"]', ""),
    Kind("t" * 300, "é", "scrolling", "rule", "like", ""),
    Kind("", "x", "", "asked", "[]", ""),
]
WHOLE = st.integers(-(1 << 63), (1 << 63) - 1) | st.sampled_from(
    [sign * (1 << bits) + off for bits in (5, 7, 8, 15, 16, 31, 32) for sign in (-1, 1) for off in (-1, 0, 1)]
)


class Seen(msgspec.Struct, array_like=True):
    """A context with each sort of field."""

    number: int
    share: float
    is_new: bool
    text: str
    topics: tuple[str, ...] = ()


SEEN = st.builds(
    Seen,
    WHOLE,
    st.floats(allow_nan=False),
    st.booleans(),
    st.text(max_size=40) | st.just("x" * 70_000),
    st.lists(st.text(max_size=3), max_size=20).map(tuple),
)


@given(
    asked=st.lists(
        st.tuples(st.integers(0, 1 << 40), st.integers(0, 1 << 31), st.sampled_from([0, 2]), st.none() | SEEN),
        min_size=1,
        max_size=8,
    ),
    is_plain=st.booleans(),
)
def test_the_bytes_of_questions_are_those_that_agents_send(
    asked: list[tuple[int, int, int, Seen | None]], is_plain: bool
) -> None:
    contexts = Contexts(Seen if is_plain else dict[str, Any])
    seen = [each if is_plain or each is None else {"text": each.text} for *_, each in asked]
    stored = [(each.name, each.stored) for each in (*QUESTIONS.columns, *contexts.columns)]
    shape = Shape("questions", tuple(stored))
    ticks, agents, codes = (np.array(each) for each in zip(*((row[0], row[1], row[2]) for row in asked), strict=True))
    columns = [agents, codes, *contexts.values(seen)]
    wanted = [b"7:" + msgspec.msgpack.encode(each) for each in questions_in(ticks.tolist(), columns, [shape], KINDS)]
    assert question_bytes(b"7:", ticks, columns, shape, KINDS).values() == wanted
    assert wanted[0][2:4] == msgspec.msgpack.encode(Question(0, 0, "", "", ()))[:2]
