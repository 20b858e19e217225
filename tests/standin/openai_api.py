"""The route /v1/chat/completions, as OpenAI's clients know it.

Source: Ollama, openai/openai.go and middleware/openai.go; vLLM and llama.cpp for what other servers refuse.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.standin.completions import Ask, Chatter, Completion
from tests.standin.decode import Body, decode
from tests.standin.errors import ApiError
from tests.standin.letters import asked_letters
from tests.standin.models import full_name
from tests.standin.settings import Dialect, ServerSettings
from tests.standin.wire import Response, as_json, dump

_FIELDS: Mapping[str, str] = {"model": "string", "messages": "messages", "stream": "bool", "response_format": "map"}
_ERROR_TYPES: Mapping[int, str] = {400: "invalid_request_error", 401: "invalid_request_error", 404: "not_found_error"}
_CREATED = 1_767_607_200


class OpenAiApi(Chatter):
    """/v1/chat/completions: server-sent events only where `stream` is true."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings

    def parse(self, body: bytes) -> Ask:
        """Return the call.

        Raises:
            ApiError: the request is wrong.
        """
        found = decode(body, "ChatCompletionRequest", _FIELDS)
        messages = found.get("messages")
        if not isinstance(messages, list) or not messages:
            raise ApiError(400, "[] is too short - 'messages'")
        name = str(found.get("model") or "")
        if not name:
            raise ApiError(400, "model is required")
        if full_name(name) not in map(full_name, self._settings.models):
            raise ApiError(404, f"model '{name}' not found")
        limit = found.get("max_completion_tokens", found.get("max_tokens"))
        messages = [message for message in messages if isinstance(message, dict)]
        return Ask(
            model=name,
            messages=messages,
            options={"seed": found.get("seed"), "num_predict": limit, "temperature": found.get("temperature")},
            form=_form(self._settings.dialect, found),
            stream=found.get("stream") is True,
            letters=asked_letters(self._settings.logprobs, found, messages),
        )

    def render(self, ask: Ask, completion: Completion) -> Response:
        """Return the answer."""
        reason = completion.done_reason if completion.done else None
        if ask.stream:
            return _events(ask, completion, reason)
        message = {"role": "assistant", "content": completion.content}
        head = _head(ask, completion, "chat.completion")
        listed = {} if completion.logprobs is None else {"logprobs": {"content": completion.logprobs}}
        choice = {"index": 0, "message": message, **listed, "finish_reason": reason}
        return as_json({**head, "choices": [choice], "usage": _usage(completion)})

    def render_error(self, status: int, message: str) -> Response:
        """Return the response of a refusal."""
        return _error(status, message)


def unauthorized(headers: Mapping[str, str], key: str | None) -> Response | None:
    """Return the 401 of a request without the right bearer key; None if the key is right or not needed."""
    if key is None or headers.get("authorization") == f"Bearer {key}":
        return None
    return _error(401, "Incorrect API key provided.", "invalid_api_key")


def _form(dialect: Dialect, body: Body) -> object:
    """Return the format that the dialect makes of response_format: a schema, "json" or None.

    Raises:
        ApiError: the dialect does not take it; status 400.
    """
    asked = body.get("response_format")
    kind = asked.get("type", "text") if isinstance(asked, dict) else "text"
    if kind == "text" or dialect is Dialect.IGNORED or not isinstance(asked, dict):
        return None
    taken = {Dialect.JSON_SCHEMA: ("json_schema", "json_object"), Dialect.JSON_OBJECT: ("json_object",)}
    if kind not in taken.get(dialect, ()):
        raise ApiError(400, f"response_format type '{kind}' is not supported")
    if kind == "json_object":
        return asked.get("schema") or "json"  # llama.cpp takes a schema here
    holder = asked.get("json_schema")
    schema = holder.get("schema") if isinstance(holder, dict) else None
    if not isinstance(schema, dict):
        raise ApiError(400, "response_format json_schema needs a schema")
    return schema


def _events(ask: Ask, completion: Completion, reason: str | None) -> Response:
    head = _head(ask, completion, "chat.completion.chunk")
    deltas = [(completion.content, None), *([("", reason)] if completion.done else [])]
    chunks = [
        {**head, "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": ended}]}
        for text, ended in deltas
    ]
    events = [b"data: %b\n\n" % dump(chunk) for chunk in chunks]
    if completion.done:
        events.append(b"data: [DONE]\n\n")
    return Response(content_type="text/event-stream", parts=tuple(events))


def _head(ask: Ask, completion: Completion, kind: str) -> dict[str, object]:
    return {
        "id": f"chatcmpl-{completion.call}",
        "object": kind,
        "created": _CREATED,
        "model": ask.model,
        "system_fingerprint": "fp_ollama",
    }


def _usage(completion: Completion) -> dict[str, int]:
    return {
        "prompt_tokens": completion.prompt_tokens,
        "completion_tokens": completion.tokens,
        "total_tokens": completion.prompt_tokens + completion.tokens,
    }


def _error(status: int, message: str, code: str | None = None) -> Response:
    kind = _ERROR_TYPES.get(status, "api_error")
    return as_json({"error": {"message": message, "type": kind, "param": None, "code": code}}, status)
