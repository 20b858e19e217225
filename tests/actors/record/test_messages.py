"""The messages of a journal: each kind is read as it was, by its kind and by its agent."""

from __future__ import annotations

import msgspec
import pytest

from actors.core.errors import JournalError
from actors.core.frames import tick_payload
from actors.core.messages import Message
from actors.record.messages import (
    decoded,
    encoded_in,
    messages_in,
    of_agent,
    those_of,
)
from actors.results.agent_path import event_of
from prism.agents import Question, Update
from prism.events import AttributeSet, Event, FeedShown, Intervened, PostEvent, PostTaken, TieChanged

TICK, AGENT = 300, 70_000
MESSAGES: list[Message] = [
    Intervened(TICK, 2, "publish", {"author": 3}),
    Update(TICK, AGENT, "clock", "red", "green", "rule", {"steps": [1]}, "because"),
    Update(TICK, AGENT - 1, "clock", "red", "green", "rule"),
    Question(TICK, AGENT, "clock", "amber", ("red", "green"), [1, "text"]),
    PostEvent(TICK, AGENT, "reply", 5, 4),
    PostEvent(TICK, AGENT, "publish", 6, None, ("tea",)),
    PostTaken(TICK, AGENT, 6, 1),
    FeedShown(TICK, AGENT, (5, 6)),
    TieChanged(TICK, AGENT, "follow", AGENT - 1, 5),
    AttributeSet(TICK, AGENT, "opinion", 0.5),
]
ENCODED = list(map(msgspec.msgpack.encode, MESSAGES))
PAYLOAD = tick_payload(TICK, ENCODED)


def test_what_took_place_has_words_of_its_own() -> None:
    events = [each for each in MESSAGES if isinstance(each, Event)]
    assert len({each.words for each in events}) == len(events) > 4
    assert [event_of(each)["words"] for each in events] == [each.words for each in events]


def test_messages_are_read_as_they_were() -> None:
    assert messages_in(PAYLOAD) == [decoded(encoded) for encoded in ENCODED]
    assert encoded_in(PAYLOAD) == ENCODED
    for message, read in zip(MESSAGES, messages_in(PAYLOAD), strict=True):
        assert msgspec.to_builtins(read) == msgspec.to_builtins(message)


def test_messages_are_chosen_by_their_kinds_and_by_their_agent() -> None:
    chosen: list[Message] = [*those_of(ENCODED, PostEvent, PostTaken)]
    assert chosen == MESSAGES[4:7]
    assert [*of_agent(ENCODED, TICK, AGENT)] == [ENCODED[1], *ENCODED[3:]]
    assert [*of_agent(ENCODED, TICK, AGENT - 1)] == [ENCODED[2]]
    assert not [*of_agent(ENCODED, TICK, 2)]


def test_a_tick_that_cannot_be_read_is_named() -> None:
    with pytest.raises(JournalError, match=r"^journal\.prism: tick 300 cannot be read: "):
        messages_in(tick_payload(TICK, [msgspec.msgpack.encode([99, TICK, AGENT])]))
    with pytest.raises(JournalError, match=r"^journal\.prism: a tick cannot be read: "):
        messages_in(b"\xc1")
