"""What adapters do at start: ask with a schema, be patient with a busy server, and say what is wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import anyio
import msgspec

from prism.errors import OracleUnavailableError
from prism.llm.failure import LLMFailureException
from prism.llm.port import ChatRequest, ChoiceRequest, Completion, Message

T = TypeVar("T")

WARM_UP = 5.0
"""How many times the usual timeout the first call may take: the server loads the model for it."""

_PAUSES_S = (0.0, 0.02, 0.05, 0.1, 0.2)
_UNUSABLE_TRIES = 3
_NAMES_SHOWN = 20

_ANSWERS = ("yes", "no")
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": list(_ANSWERS)}},
    "required": ["answer"],
    "additionalProperties": False,
}
# It does not ask for JSON: what comes back as JSON is the schema's doing.
SELF_TEST = ChatRequest(
    messages=(Message(role="user", content="Is the sky blue on a clear day? Answer yes or no."),), schema=_SCHEMA
)
CHOICE_TEST = ChoiceRequest(
    state="The sky is clear.", instructions="Is the sky blue?", options=dict.fromkeys(_ANSWERS, None)
)


def follows_schema(text: str) -> bool:
    """Whether the answer to `SELF_TEST` is bare JSON within its schema."""
    try:
        answer = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return isinstance(answer, dict) and list(answer) == ["answer"] and answer["answer"] in _ANSWERS


async def patiently(ask: Callable[[], Awaitable[T]], usable: Callable[[T], bool] = lambda _: True) -> T:
    """A usable answer, asked for up to five times: at start there is no later call that would make up for a bad one.

    Raises:
        LLMFailureException: there is none; a client error and a second timeout end it at once.
    """
    timeouts, unusable, failure = 0, 0, LLMFailureException("invalid_response")
    for pause_s in _PAUSES_S:
        await anyio.sleep(pause_s)
        try:
            answer = await ask()
        except LLMFailureException as error:
            failure = error
            timeouts += error.reason == "timeout"
            if error.reason == "client_error" or timeouts > 1:
                break
            continue
        if usable(answer):
            return answer
        unusable += 1
        text = answer.text if isinstance(answer, Completion) else str(answer)
        failure = LLMFailureException("invalid_response", detail=f"it answered {text[:80]!r}")
        if unusable == _UNUSABLE_TRIES:
            break
    raise failure


def key_error(host: str, variable: str, *, given: bool) -> OracleUnavailableError:
    """The server asks for a key, or for another one."""
    if given:
        return OracleUnavailableError(f"{host} refuses the key in ${variable}; set another one")
    return OracleUnavailableError(f"{host} asks for a key; set it in ${variable}")


def listed(names: Sequence[str]) -> str:
    """The models a server has, in words."""
    if not names:
        return "it has none"
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return f"it has {', '.join(sorted(names)[:_NAMES_SHOWN])}{more}"


def full_name(model: str) -> str:
    """The name as Ollama compares it: in lower case, with its tag."""
    tagged = ":" in model.rpartition("/")[2]
    return (model if tagged else f"{model}:latest").lower()
