"""The replies of servers, read into one record whatever the protocol, and the text that counts in them.

Servers differ in details that their clients must accept: a text in parts, counts that are null, an error with status
200. This module accepts them, so that no adapter has to know them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

import msgspec

from prism.llm.answer import extract_object, without_reasoning
from prism.llm.failure import Usage
from prism.llm.http import RefusedAnswerError, StatusError, UnusableAnswerError, error_text, retry_after_s

CUT: Final = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "token_limit"})
"""The reasons of servers for an answer that ended at the limit of tokens, in small letters."""
WITHHELD: Final = frozenset(
    {"content_filter", "refusal", "safety", "prohibited_content", "blocklist", "spii", "recitation"}
)
"""The reasons of servers for an answer that was withheld, in small letters."""
REASONING: Final = ("reasoning_content", "reasoning", "thinking", "reasoning_text")
"""The fields in which servers put reasoning that stands apart from the answer."""
STATUSES: Final = {
    400: "invalid_request_error bad_request context_length_exceeded content_filter content_policy_violation",
    401: "authentication_error invalid_api_key unauthorized",
    402: "insufficient_balance insufficient_credits payment_required",
    403: "permission_error permission_denied forbidden",
    404: "not_found_error not_found model_not_found",
    408: "request_timeout",
    429: "insufficient_quota rate_limit_error rate_limit_exceeded too_many_requests resource_exhausted",
    500: "server_error internal_error internal_server_error api_error",
    502: "bad_gateway",
    503: "overloaded_error overloaded service_unavailable unavailable",
    504: "timeout_error gateway_timeout",
}
"""The words by which errors with status 200 name their real status."""
TOKENS_MAX: Final = 10**9
"""A count from here on is a mistake of the server."""

STREAMS: Final = "its answers come in events, which are not read"
_STATUS_OF = {word: status for status, words in STATUSES.items() for word in words.split()}
_Object = Mapping[str, Any]
_Ending = Literal["stop", "cut", "unstated", "refused"]


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A reply, as any protocol gives it.

    Args:
        text: the answer, in whatever field the server has put it.
        reasoning: the reasoning that stands apart from it.
        ending: `cut` at the limit of tokens, `refused` by the model or a filter behind it, `stop`, or `unstated`.
        unstated: the reason why the ending is unknown, or the words of a refusal, for messages.
    """

    text: str = ""
    reasoning: str = ""
    ending: _Ending
    unstated: str = ""
    model: str = ""
    usage: Usage = Usage()


def text_of(reply: Reply, limit: int, *, is_json: bool, is_free: bool = False) -> str:
    """Return the text of an answer that is complete. In JSON it has no reasoning.

    An answer in JSON that is whole counts even if the model went on until it was cut: small models add blanks forever.
    It also counts if the server does not say that the answer is whole.

    Args:
        limit: the most tokens that were asked for, for the message.
        is_json: True if JSON was asked for; `is_free`: True if there may be a text around it.

    Raises:
        UnusableAnswerError: the answer is not complete.
        RefusedAnswerError: the question is refused, or the answer says nothing at all: filters leave nothing else.
    """
    text = reply.text
    if is_json and not _is_json(text):
        said, unfinished = without_reasoning(text)
        text = said.strip() or unfinished.strip()
    is_whole = is_json and _is_json(text)
    if reply.ending == "refused" and not is_whole:
        raise RefusedAnswerError(f"the model refuses to answer ({reply.unstated})", reply.usage)
    if reply.ending == "unstated" and not (is_whole or (is_json and is_free and extract_object(text) is not None)):
        problem = f"the server stopped before the end of the answer ({reply.unstated})"
        raise UnusableAnswerError(problem, reply.usage)
    if reply.ending == "cut" and is_json and not is_whole:
        raise UnusableAnswerError(f"the answer was cut at {limit} tokens; raise llm.num_predict", reply.usage)
    if not text:
        is_silent = not reply.reasoning and reply.ending != "cut"
        raise (RefusedAnswerError if is_silent else UnusableAnswerError)("the answer is empty", reply.usage)
    return text


def _is_json(text: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except (ValueError, RecursionError):
        return False


def read_reply(body: bytes, headers: Mapping[str, str] = MappingProxyType({})) -> Reply:
    """Return the reply of `/v1/chat/completions`, or of Ollama's `/api/chat`.

    Args:
        headers: the headers of the response, in which an error may ask for a pause.

    Raises:
        ValueError: it is no such reply, or an error that names no status.
        StatusError: it is an error that was sent with status 200 and names another status.
    """
    try:
        reply = _object(body)
    except StatusError as error:
        error.pause_s = retry_after_s(headers)
        raise
    # 1. The message, and why it ended, in the server's words; None if it does not say.
    if isinstance(reply.get("choices"), list):
        choice = _first(reply["choices"])
        message, reason = choice.get("message"), choice.get("finish_reason")
        message = message if isinstance(message, dict) else {"content": choice.get("text")}
        unstated = str(reason or "no finish_reason")
    elif isinstance(message := reply.get("message"), dict):
        reason = (reply.get("done_reason") or "stop") if reply.get("done") is True else None
        unstated = "done: false"
    else:
        raise ValueError(f"the reply has neither choices nor a message: {body[:80].decode(errors='replace')!r}")
    # 2. Its text, in whatever field it is, and the reasoning beside it.
    content = message.get("content")
    text = content if isinstance(content, str) else _joined(content)
    reasonings = (message.get(name) for name in REASONING)
    reasoning = next((text for text in reasonings if isinstance(text, str) and text), "")
    if not text.strip():  # some servers put the answer in another field, and leave this one blank
        text = reasoning if _is_json(reasoning) else ""
    # 3. Its ending.
    ending: _Ending = "stop"
    if not isinstance(reason, str) or not reason:
        ending = "unstated"
    elif reason.lower() in WITHHELD | CUT:
        ending = "refused" if reason.lower() in WITHHELD else "cut"
    refusal = message.get("refusal")
    if isinstance(refusal, str) and not text:
        ending, unstated = "refused", refusal.strip() or "an empty refusal"
    model = reply.get("model")
    named = model if isinstance(model, str) else ""
    return Reply(text=text, reasoning=reasoning, ending=ending, unstated=unstated, model=named, usage=_usage(reply))


def _joined(parts: object) -> str:
    """Return the text of an answer that comes in parts; parts of another kind, such as reasoning, are not in it."""
    if isinstance(parts, dict):
        if "text" not in parts:  # the answer itself, which the server has decoded
            return json.dumps(parts)
        parts = [parts]
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts) if isinstance(parts, list) else ()
    return "".join(text for text in texts if isinstance(text, str))


def usage_of(body: bytes) -> Usage | None:
    """Return the tokens that a reply of any kind names; None if it is an error that names its status."""
    try:
        return _usage(_object(body))
    except StatusError:
        return None
    except (ValueError, RecursionError):
        return Usage()


def _usage(reply: _Object) -> Usage:
    usage = reply.get("usage")
    read = _count(usage, "prompt_tokens") or _count(usage, "input_tokens") or _count(reply, "prompt_eval_count")
    written = _count(usage, "completion_tokens") or _count(usage, "output_tokens") or _count(reply, "eval_count")
    details = usage.get("prompt_tokens_details") if isinstance(usage, dict) else None
    return Usage(read, written, min(read, _count(details, "cached_tokens")))


def _count(holder: object, name: str) -> int:
    """Return a number of tokens; 0 where there is none."""
    value = holder.get(name) if isinstance(holder, dict) else None
    return int(value) if isinstance(value, int | float) and 0 < value < TOKENS_MAX else 0


def _first(found: object) -> _Object:
    return found[0] if isinstance(found, list) and found and isinstance(found[0], dict) else {}


def _object(body: bytes) -> _Object:
    """Return the object of a reply with status 200.

    Raises:
        ValueError: it is none, or an error.
        StatusError: it is an error that names its status by a number or a word.
        UnusableAnswerError: it is a stream.
    """
    if body.lstrip().startswith(b"data:"):
        raise UnusableAnswerError(STREAMS)
    reply = msgspec.json.decode(body)
    if not isinstance(reply, dict):
        raise ValueError(f"the reply is no object: {body[:80].decode(errors='replace')!r}")
    first = _first(reply.get("choices"))
    error = first.get("error") or (None if first else reply.get("error"))
    if not error and reply.get("object") == "error":
        error = {name: value for name, value in reply.items() if name != "object"}
    if not error:
        return reply
    text = json.dumps({"error": error})
    holders = [holder for holder in (error, reply) if isinstance(holder, dict)]
    named = [str(holder.get(name)) for holder in holders for name in ("code", "status", "status_code", "type")]
    numbers = (int(name) for name in named if name.isdecimal() and 400 <= int(name) < 600)
    status = next(numbers, next((_STATUS_OF[name.lower()] for name in named if name.lower() in _STATUS_OF), None))
    if status is not None:
        raise StatusError(status, text)
    raise ValueError(error_text(text))
