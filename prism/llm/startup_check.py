"""The test question of the start: several attempts to get a usable answer to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import anyio
import msgspec

from prism.llm.answer import extract_object, loose_choice, without_reasoning
from prism.llm.failure import FINAL, LLMFailureException
from prism.llm.port import ChatRequest, Completion, Message

T = TypeVar("T")

PAUSES_S: Final = (0.0, 0.02, 0.05, 0.1, 0.2)
UNUSABLE_TRIES: Final = 3
"""The attempts that may end in an answer that cannot be used."""
ANSWERS: Final = ("yes", "no")
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": list(ANSWERS)}},
    "required": ["answer"],
    "additionalProperties": False,
}
# It does not ask for JSON, so an answer in JSON shows that the server follows the schema. It has a system message, as
# the questions of people have: some models take none.
SELF_TEST: Final = ChatRequest(
    messages=(
        Message(role="system", content="You answer questions about the weather."),
        Message(role="user", content="Is the sky blue on a clear day? Answer yes or no."),
    ),
    schema=SCHEMA,
)


def follows_schema(text: str, *, loosely: bool = False) -> bool:
    """Return whether the answer to `SELF_TEST` is JSON within its schema, without text around it.

    Args:
        loosely: allow text around it, other keys and a loose wording, as the oracle does.
    """
    if loosely:
        text = extract_object(text) or without_reasoning(text)[0]
        text = loose_choice(text, "answer", ANSWERS) or text
    try:
        found = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return False
    answer = found.get("answer") if isinstance(found, dict) else None
    return answer in ANSWERS and (loosely or list(found) == ["answer"])


async def retry_until_usable(ask: Callable[[int], Awaitable[T]], usable: Callable[[T], bool] = lambda _: True) -> T:
    """Return a usable answer. Ask up to five times: at start, no later call would make up for a bad answer.

    Args:
        ask: asks with this seed: the same one would give the same unusable answer again.

    Raises:
        LLMFailureException: there is none; a final failure and a second timeout end the attempts at once.
    """
    timeouts, unusable, failure = 0, 0, LLMFailureException("invalid_response")
    for pause_s in PAUSES_S:
        await anyio.sleep(pause_s)
        try:
            answer = await ask(unusable)
            if usable(answer):
                return answer
            text = answer.text if isinstance(answer, Completion) else str(answer)
            failure = LLMFailureException("invalid_response", detail=f"it answered {text[:80]!r}")
        except LLMFailureException as error:
            failure = error
        timeouts += failure.reason == "timeout"
        unusable += failure.is_answer
        if failure.reason in FINAL or timeouts > 1 or unusable == UNUSABLE_TRIES:
            break
    raise failure
