"""The replies of servers, read into one record whatever the protocol.

Servers differ in details that their clients must accept: a text in parts, counts that are null, a stream where
none was asked for, an error with status 200. This module accepts them, so that no adapter has to know them.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from prism.llm.capabilities import Finish, Reply
from prism.llm.failure import Usage
from prism.llm.http import StatusError, error_text, retry_after_s

_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "token_limit"})
"""The reasons of servers for an answer that ended at the limit of tokens, in small letters."""

_REFUSING = frozenset({"content_filter", "refusal", "safety", "prohibited_content", "blocklist", "spii", "recitation"})
"""The reasons of servers for an answer that was withheld, in small letters."""

_EVENT = re.compile(rb"^data:", re.MULTILINE)
"""The beginning of an event; comments and other fields may stand before it."""

_REASONING = ("reasoning_content", "reasoning", "thinking", "reasoning_text")
"""The fields in which servers put reasoning that stands apart from the answer."""

_STATUSES = {
    "invalid_request_error": 400,
    "bad_request": 400,
    "context_length_exceeded": 400,
    "content_filter": 400,
    "content_policy_violation": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "unauthorized": 401,
    "insufficient_balance": 402,
    "insufficient_credits": 402,
    "payment_required": 402,
    "permission_error": 403,
    "permission_denied": 403,
    "forbidden": 403,
    "not_found_error": 404,
    "not_found": 404,
    "model_not_found": 404,
    "request_timeout": 408,
    "insufficient_quota": 429,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "too_many_requests": 429,
    "resource_exhausted": 429,
    "server_error": 500,
    "internal_error": 500,
    "internal_server_error": 500,
    "api_error": 500,
    "bad_gateway": 502,
    "overloaded_error": 503,
    "overloaded": 503,
    "service_unavailable": 503,
    "unavailable": 503,
    "timeout_error": 504,
    "gateway_timeout": 504,
}
"""`{word: status}`: the words by which errors with status 200 name their real status."""

_MOST_TOKENS = 10**9
"""A count from here on is a mistake of the server."""

_Object = Mapping[str, Any]


class ErrorReplyError(ValueError):
    """An error of the server that was sent with status 200 and names no other.

    Args:
        body: the error, as an error's body has it.
    """

    def __init__(self, body: str) -> None:
        self.body = body
        super().__init__(error_text(body))


def read_completion(body: bytes, headers: Mapping[str, str] = MappingProxyType({})) -> Reply:
    """Return the reply of `/v1/chat/completions`.

    Args:
        headers: the headers of the response, in which an error may ask for a pause.

    Raises:
        ValueError: it is no such reply, or an error that names no status (`ErrorReplyError`).
        StatusError: it is an error that was sent with status 200 and names another status.
    """
    is_stream = not body.lstrip().startswith(b"{") and _EVENT.search(body) is not None
    try:
        reply = _merged_events(body) if is_stream else _object(body)
        _raise_error_within(reply)
    except StatusError as error:
        error.pause_s = retry_after_s(headers)
        raise
    choices = reply.get("choices")
    if not isinstance(choices, list):
        problem = f"the reply has no choices: {_shown(body)}"
        raise ValueError(problem)
    choice = _first(choices)
    message = choice.get("message")
    return _reply(
        message if isinstance(message, dict) else {"content": choice.get("text")},
        ending=_ending(choice.get("finish_reason")),
        unstated=str(choice.get("finish_reason") or "no finish_reason"),
        model=reply.get("model"),
        usage=_usage(reply.get("usage")),
    )


def read_chat(body: bytes) -> Reply:
    """Return the reply of Ollama's `/api/chat`.

    Raises:
        ValueError: it is no such reply, or an error that names no status (`ErrorReplyError`).
        StatusError: it is an error that was sent with status 200 and names another status.
    """
    reply = _merged_lines(body)
    _raise_error_within(reply)
    message = reply.get("message")
    if not isinstance(message, dict):
        problem = f"the reply has no message: {_shown(body)}"
        raise ValueError(problem)
    is_done = reply.get("done") is True
    return _reply(
        message,
        ending=_ending(reply.get("done_reason") or "stop") if is_done else "unstated",
        unstated="done: false",
        model=reply.get("model"),
        usage=Usage(_count(reply, "prompt_eval_count"), _count(reply, "eval_count")),
    )


def _reply(message: _Object, *, ending: Finish, unstated: str, model: object, usage: Usage) -> Reply:
    content = message.get("content")
    if isinstance(content, str) and not content.strip():
        content = ""
    refusal = message.get("refusal")
    if isinstance(refusal, str) and not content:
        ending, unstated = "refused", refusal.strip() or "an empty refusal"
    reasonings = (message.get(name) for name in _REASONING)
    return Reply(
        content=content if isinstance(content, str) else "",
        parts="" if isinstance(content, str) else _joined(content),
        reasoning=next((text for text in reasonings if isinstance(text, str) and text), ""),
        tool_call=_arguments(message),
        ending=ending,
        unstated=unstated,
        model=model if isinstance(model, str) else "",
        usage=usage,
    )


def _joined(parts: object) -> str:
    """Return the text of an answer that comes in parts; parts of another kind, such as reasoning, are not in it."""
    if isinstance(parts, dict):
        if "text" not in parts:  # the answer itself, which the server has decoded
            return json.dumps(parts)
        parts = [parts]
    if not isinstance(parts, list):
        return ""
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return "".join(text for text in texts if isinstance(text, str))


def _arguments(message: _Object) -> str:
    """Return the arguments of the only call of a tool, as JSON; OpenAI sends them as a text, Ollama as an object."""
    calls = message.get("tool_calls")
    call = calls[0] if isinstance(calls, list) and calls else message
    function = call.get("function") or call.get("function_call") if isinstance(call, dict) else None
    arguments = function.get("arguments") if isinstance(function, dict) else None
    if isinstance(arguments, dict):
        return json.dumps(arguments)
    return arguments if isinstance(arguments, str) else ""


def _ending(reason: object) -> Finish:
    if not isinstance(reason, str) or not reason:
        return "unstated"
    if reason.lower() in _REFUSING:
        return "refused"
    return "cut" if reason.lower() in _CUT else "stop"


def _usage(found: object) -> Usage:
    """Return the tokens that a completion took, as far as the server counts them."""
    usage = found if isinstance(found, dict) else {}
    read = _count(usage, "prompt_tokens")
    cached = _count(usage.get("prompt_tokens_details"), "cached_tokens")
    return Usage(read, _count(usage, "completion_tokens"), min(cached, read))


def _count(holder: object, name: str) -> int:
    """Return a number of tokens; 0 where there is none."""
    value = holder.get(name) if isinstance(holder, dict) else None
    return int(value) if isinstance(value, int | float) and 0 < value < _MOST_TOKENS else 0


def _first(choices: object) -> _Object:
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}


def _object(body: bytes) -> _Object:
    found = msgspec.json.decode(body.removeprefix(codecs.BOM_UTF8))
    if not isinstance(found, dict):
        message = f"the reply is no object: {_shown(body)}"
        raise ValueError(message)
    return found


def _raise_error_within(reply: _Object) -> None:
    """Raise the error in a reply with status 200, under the status that it names by a number or a word."""
    first = _first(reply.get("choices"))
    error = first.get("error") or (None if first else reply.get("error"))
    if not error and reply.get("object") == "error":
        error = {name: value for name, value in reply.items() if name != "object"}
    if not error:
        return
    text = json.dumps({"error": error})
    holders = [holder for holder in (error, reply) if isinstance(holder, dict)]
    named = [str(holder.get(name)) for holder in holders for name in ("code", "status", "status_code", "type")]
    numbers = (int(name) for name in named if name.isdecimal() and 400 <= int(name) < 600)
    words = (_STATUSES[name.lower()] for name in named if name.lower() in _STATUSES)
    status = next(numbers, next(words, None))
    if status is not None:
        raise StatusError(status, text)
    raise ErrorReplyError(text)


def _merged_events(body: bytes) -> _Object:
    merged = _Merged()
    for event in _lines(body, prefix=b"data:"):
        _raise_error_within(event)
        part = _first(event.get("choices"))
        merged.add(event, part.get("delta"))
        if part.get("finish_reason"):
            merged.head["finish_reason"] = part["finish_reason"]
    choice = {"message": merged.message, "finish_reason": merged.head.get("finish_reason")}
    return {"model": merged.head.get("model"), "usage": merged.head.get("usage"), "choices": [choice]}


def _merged_lines(body: bytes) -> _Object:
    if b"\n" not in body.strip():
        return _object(body)
    try:
        return _object(body)
    except ValueError:
        merged = _Merged()
    for line in _lines(body):
        _raise_error_within(line)
        merged.add(line, line.get("message"))
    return {**merged.head, "message": merged.message}


class _Merged:
    """A reply whose text comes piece by piece."""

    def __init__(self) -> None:
        self.head: dict[str, Any] = {}
        self._pieces: dict[str, list[str]] = {}
        self._calls: object = None

    def add(self, part: _Object, delta: object) -> None:
        """Take one piece: later fields replace earlier ones, and texts are joined."""
        self.head.update({name: value for name, value in part.items() if value is not None and name != "message"})
        for name, value in delta.items() if isinstance(delta, dict) else ():
            if isinstance(value, str) and name != "role":
                self._pieces.setdefault(name, []).append(value)
            elif name == "tool_calls" and value:
                self._calls = value

    @property
    def message(self) -> _Object:
        texts = {name: "".join(pieces) for name, pieces in self._pieces.items()}
        return {**texts, "tool_calls": self._calls}


def _lines(body: bytes, prefix: bytes = b"") -> Iterator[_Object]:
    for line in body.splitlines():
        text = line.strip().removeprefix(prefix).strip()
        if text and line.strip().startswith(prefix) and text != b"[DONE]":
            yield _object(text)


def _shown(body: bytes) -> str:
    return repr(body[:80].decode(errors="replace"))
