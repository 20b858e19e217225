"""The test question of the start: several attempts to get a usable answer to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
import msgspec
from msgspec.structs import replace

from prism.errors import OracleUnavailableError
from prism.llm.failure import FINAL, LLMFailureException
from prism.llm.json_object import extract_object, without_reasoning
from prism.llm.loose_choice import repaired
from prism.llm.port import ChatRequest, ChoiceRequest, Completion, LanguageModel, Message

T = TypeVar("T")

_PAUSES_S = (0.0, 0.02, 0.05, 0.1, 0.2)
_UNUSABLE_TRIES = 3
"""The attempts that may end in an answer that cannot be used."""

_ANSWERS = ("yes", "no")
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": list(_ANSWERS)}},
    "required": ["answer"],
    "additionalProperties": False,
}
# It does not ask for JSON, so an answer in JSON shows that the server follows the schema. It has a system message, as
# the questions of people have: some models take none.
SELF_TEST = ChatRequest(
    messages=(
        Message(role="system", content="You answer questions about the weather."),
        Message(role="user", content="Is the sky blue on a clear day? Answer yes or no."),
    ),
    schema=_SCHEMA,
)
CHOICE_TEST = ChoiceRequest(
    state="The sky is clear.", instructions="Is the sky blue?", options=dict.fromkeys(_ANSWERS, None)
)


def follows_schema(text: str, *, loosely: bool = False) -> bool:
    """Return whether the answer to `SELF_TEST` is JSON within its schema, without text around it.

    Args:
        loosely: allow text around it, other keys and a loose wording, as the oracle does.
    """
    if loosely:
        text = extract_object(text) or without_reasoning(text)[0]
        text = repaired(text, "answer", _ANSWERS) or text
    try:
        found = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return False
    answer = found.get("answer") if isinstance(found, dict) else None
    if loosely:
        return isinstance(answer, str) and answer.strip().lower() in _ANSWERS
    return answer in _ANSWERS and list(found) == ["answer"]


async def retry_until_usable(ask: Callable[[int], Awaitable[T]], usable: Callable[[T], bool] = lambda _: True) -> T:
    """Return a usable answer. Ask up to five times: at start, no later call would make up for a bad answer.

    Args:
        ask: asks with this seed: the same one would give the same unusable answer again.

    Raises:
        LLMFailureException: there is none; a final failure and a second timeout end the attempts at once.
    """
    timeouts, unusable, failure = 0, 0, LLMFailureException("invalid_response")
    for pause_s in _PAUSES_S:
        await anyio.sleep(pause_s)
        try:
            answer = await ask(unusable)
        except LLMFailureException as error:
            failure = error
            timeouts += error.reason == "timeout"
            if error.reason in FINAL or timeouts > 1:
                break
        else:
            if usable(answer):
                return answer
            text = answer.text if isinstance(answer, Completion) else str(answer)
            failure = LLMFailureException("invalid_response", detail=f"it answered {text[:80]!r}")
        unusable += failure.is_answer
        if unusable == _UNUSABLE_TRIES:
            break
    raise failure


async def first_answer(model: LanguageModel) -> Completion:
    """Return a model's readable answer to the test question.

    Raises:
        OracleUnavailableError: there is none; the message is one line.
    """
    try:
        return await retry_until_usable(
            lambda seed: model.complete(replace(SELF_TEST, seed=seed)),
            lambda said: follows_schema(said.text, loosely=True),
        )
    except LLMFailureException as error:
        raise OracleUnavailableError(f"{model.name} does not answer: {error.reason}: {error.told}") from error
