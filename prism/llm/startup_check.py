"""The check of a server at start: a test question with a schema, several attempts, and clear error messages."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

import anyio
import msgspec

from prism.errors import OracleUnavailableError
from prism.llm.failure import FINAL, LLMFailureException
from prism.llm.loose_choice import repaired
from prism.llm.port import ChatRequest, ChoiceRequest, Completion, Message
from prism.wording import clauses

T = TypeVar("T")

WARM_UP = 5.0
"""The factor on the timeout of the first call, for which the server loads the model."""

_PAUSES_S = (0.0, 0.02, 0.05, 0.1, 0.2)
_UNUSABLE_TRIES = 3
_NAMES_SHOWN = 20
_KEY_HEADER = re.compile(r"\b(?:x-(?:[a-z]+-)*(?:key|token)|api-?key)\b", re.IGNORECASE)
"""The names of headers in which servers other than OpenAI's take a key."""

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
        loosely: allow other keys and a loose wording, as the oracle does.
    """
    if loosely:
        text = repaired(text, "answer", _ANSWERS) or text
    try:
        found = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return False
    answer = found.get("answer") if isinstance(found, dict) else None
    if loosely:
        return isinstance(answer, str) and answer.strip().lower() in _ANSWERS
    return answer in _ANSWERS and list(found) == ["answer"]


def is_final(failure: LLMFailureException) -> bool:
    """Return whether the same request would fail again, because of the request."""
    return failure.reason in FINAL


async def retry_until_usable(
    ask: Callable[[], Awaitable[T]],
    usable: Callable[[T], bool] = lambda _: True,
    *,
    unusable_tries: int = _UNUSABLE_TRIES,
    is_final: Callable[[LLMFailureException], bool] = is_final,
) -> T:
    """Return a usable answer. Ask up to five times: at start, no later call would make up for a bad answer.

    Args:
        unusable_tries: the attempts that may end in an answer that cannot be used.
        is_final: returns whether a failure would only come again.

    Raises:
        LLMFailureException: there is none; a final failure and a second timeout end the attempts at once.
    """
    timeouts, unusable, failure = 0, 0, LLMFailureException("invalid_response")
    for pause_s in _PAUSES_S:
        await anyio.sleep(pause_s)
        try:
            answer = await ask()
        except LLMFailureException as error:
            failure = error
            timeouts += error.reason == "timeout"
            unusable += error.is_answer
            if is_final(error) or timeouts > 1 or unusable == unusable_tries:
                break
            continue
        if usable(answer):
            return answer
        unusable += 1
        text = answer.text if isinstance(answer, Completion) else str(answer)
        failure = LLMFailureException("invalid_response", detail=f"it answered {text[:80]!r}")
        if unusable == unusable_tries:
            break
    raise failure


def key_error(host: str, variable: str, headers: Iterable[str], detail: str, *, given: bool) -> OracleUnavailableError:
    """Return the error of a server that asks for a key, or for another one.

    Args:
        headers: the names of the headers in `llm.request.headers`, which may hold the key.
        detail: the server's words.
        given: whether the variable is set.
    """
    own = ", ".join(f"llm.request.headers.{name}" for name in headers)
    if own:
        return OracleUnavailableError(f"{host} refuses the key; check what {own} holds: {detail}")
    named = _KEY_HEADER.search(detail)
    other = "" if named is None else f", or send it in its header: llm.request.headers={{{named[0]}: ${variable}}}"
    if given:
        return OracleUnavailableError(f"{host} refuses the key in ${variable}; set another one{other}")
    return OracleUnavailableError(f"{host} asks for a key; set it in ${variable}{other}")


def no_chat_error(where: str, paths: str, detail: str) -> OracleUnavailableError:
    return OracleUnavailableError(
        clauses(f"{where} has no chat at {paths}: {detail}", "set llm.request.path to where it is")
    )


def tried_text(tried: str) -> str:
    """Return the last clause of the message of a server that cannot be asked in any way; empty if nothing was tried."""
    return f"tried too: {tried}; set llm.request.extra_body to what it takes, or another llm.model" if tried else ""


def models_text(names: Sequence[str]) -> str:
    """Return the names of a server's models, as part of a message."""
    if not names:
        return "it has none"
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return f"it has {', '.join(sorted(names)[:_NAMES_SHOWN])}{more}"


def full_name(model: str) -> str:
    """Return the name as Ollama compares it: in lower case, with its tag."""
    tagged = ":" in model.rpartition("/")[2]
    return (model if tagged else f"{model}:latest").lower()
