from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.core.messages import Codec, Decided
from prism.agents import Question, Trigger, Update
from prism.social.posts.post import PostView

CODEC = Codec(PostView, str)


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
            CODEC.answer(CODEC.encode(message))
    with pytest.raises(msgspec.ValidationError):
        CODEC.trigger(CODEC.encode(Trigger(1, 2, "a", "no view")))
