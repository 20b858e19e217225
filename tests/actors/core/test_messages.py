from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.core.messages import Codec, Decided
from prism.agents import Question, Trigger, Update
from prism.social.posts.post import PostView

CODEC = Codec(PostView, str)

numbers = st.integers(0, 2**63 - 1)
texts = st.text(st.characters(codec="utf-8"), max_size=20)
shares = st.floats(0.0, 1.0)
views = st.builds(
    PostView,
    id=numbers,
    author=numbers,
    author_name=texts,
    text=texts,
    topics=st.lists(texts, max_size=3).map(tuple),
    age_ticks=numbers,
    likes=numbers,
    replies=numbers,
    reshares=numbers,
    velocity=st.floats(0.0, allow_infinity=False),
    popularity=shares,
    followed=st.booleans(),
    topic_match=shares,
    appeal=shares,
    fatigue=shares,
)
updates = st.builds(Update[str], numbers, numbers, texts, texts, texts, texts, st.none() | texts, texts)
questions = st.builds(
    Question[PostView], numbers, numbers, texts, texts, st.lists(texts, max_size=4).map(tuple), st.none() | views
)


@given(answers=st.lists(updates | questions, max_size=8))
def test_a_batch_of_answers_comes_back_in_its_order_each_as_what_it_was(
    answers: list[Update[str] | Question[PostView]],
) -> None:
    decoded = CODEC.answers([CODEC.encode(answer) for answer in answers])
    assert decoded == answers
    assert [type(answer) for answer in decoded] == [type(answer) for answer in answers]


def test_every_message_says_by_its_tag_what_it_is() -> None:
    messages: list[msgspec.Struct] = [
        Trigger[PostView](1, 2, "a"),
        Update[str](1, 2, "a", "b", "c", "rule"),
        Question[PostView](1, 2, "a", "b", ("c",)),
        Decided(1, 2, "t", "c", "oracle"),
    ]
    tags = [msgspec.msgpack.decode(CODEC.encode(each))[0] for each in messages]
    assert tags == [1, 2, 3, 4]


def test_what_no_agent_may_answer_and_what_is_of_another_domain_is_refused() -> None:
    messages: list[Any] = [
        Trigger(1, 2, "a"),
        Decided(1, 2, "t", "c", "oracle"),
        Update(1, 2, "a", "b", "c", "rule", 7),
    ]
    for message in messages:
        with pytest.raises(msgspec.ValidationError):
            CODEC.answers([CODEC.encode(message)])
    with pytest.raises(msgspec.ValidationError):
        CODEC.trigger(CODEC.encode(Trigger(1, 2, "a", "no view")))
