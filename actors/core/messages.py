"""The messages between actors, and their encoding.

| message | from | to | meaning |
|---|---|---|---|
| Trigger | engine | agent | something happened to you |
| Update | agent | engine | my turn is done |
| Question | agent, then engine | engine, then oracle | I cannot tell what I would do; ask the oracle |
| Decided | oracle | engine | this is what the agent would do |

Every message is encoded by its sender, so what crosses a mailbox could cross a wire.
"""

from __future__ import annotations

from typing import Any

import msgspec

from prism.agents import Question, Trigger, Update
from prism.agents.waves import Contexts
from prism.events import Event, Intervened
from prism.llm.spending import Spending

LATE = "late"
"""The reason of a decision whose answer came too late, in `realtime`."""

Message = Update[Any] | Question[Any] | Intervened | Event
"""A row of the journal, as an object."""

QuestionName = tuple[int, int, str]
"""The name of a question: its agent, tick and trigger."""


def name_of_question(question: Question[Any]) -> QuestionName:
    return question.agent, question.tick, question.trigger


class Decided(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=4):
    """The answer to a question. No result depends on `latency_s`, `spent` and `method`.

    Args:
        asked: the tick of the question.
        source: `oracle`, `fallback` or `timeout`.
        reason: why it is a fallback; empty otherwise.
        content: what the oracle answered besides the option, as JSON text.
        latency_s: from the question's arrival to this answer.
        spent: the calls to a model that it took, except those before a `Retried`.
        method: how the oracle found it; empty for a fallback.
    """

    asked: int
    agent: int
    trigger: str
    state: str
    source: str
    reason: str = ""
    content: str = ""
    latency_s: float = 0.0
    spent: Spending = ()
    method: str = ""


class Retried(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=5):
    """A failed call to the oracle, after which its question is asked again. It is recorded only for the counts.

    `spent`: the calls to a model since the question was asked, or since the `Retried` before this one.
    """

    asked: int
    agent: int
    trigger: str
    reason: str
    spent: Spending = ()


class Codec:
    """Encoders and decoders for messages with these types of contexts of triggers and of effects of updates."""

    def __init__(self, context_type: Any, effect_type: Any) -> None:
        self.encode = msgspec.msgpack.Encoder().encode
        self.trigger = msgspec.msgpack.Decoder(Trigger[context_type]).decode
        self.question = msgspec.msgpack.Decoder(Question[context_type]).decode
        self.decided = msgspec.msgpack.Decoder(Decided).decode
        self.answer = msgspec.msgpack.Decoder(Update[effect_type] | Question[context_type]).decode
        self.contexts = Contexts(context_type)
