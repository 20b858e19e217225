"""The routes /api/chat and /api/generate.

Source: Ollama, server/routes.go, api/types.go and docs/api.md, for the order of the checks, status codes and texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.standin.completions import Ask, Chatter, Completion, rfc3339
from tests.standin.decode import Body, check_options, decode, is_zero_duration
from tests.standin.errors import ApiError
from tests.standin.letters import asked_letters
from tests.standin.models import full_name
from tests.standin.settings import ServerSettings
from tests.standin.wire import NDJSON, Response, as_json, dump

_Said = Callable[[str], dict[str, object]]

_SHARED: Mapping[str, str] = {"model": "string", "stream": "bool", "options": "map"}


class ChatApi(Chatter):
    """/api/chat: NDJSON unless `stream` is false; no messages means load the model."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings

    def parse(self, body: bytes) -> Ask:
        """Return the call.

        Raises:
            ApiError: the request is wrong.
        """
        found = decode(body, "ChatRequest", {**_SHARED, "messages": "messages"})
        if not found.get("model"):
            raise ApiError(400, "model is required")
        messages = [message for message in _list(found.get("messages")) if isinstance(message, dict)]
        return _ask(self._settings, found, messages)

    def render(self, ask: Ask, completion: Completion) -> Response:
        """Return the answer, in one object or a line a piece."""
        return _render(ask, completion, lambda text: {"message": {"role": "assistant", "content": text}})

    def render_error(self, status: int, message: str) -> Response:
        """Return the response of a refusal."""
        return as_json({"error": message}, status)


class GenerateApi(Chatter):
    """/api/generate: as chat, for a prompt."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings

    def parse(self, body: bytes) -> Ask:
        """Return the call.

        Raises:
            ApiError: the request is wrong.
        """
        found = decode(body, "GenerateRequest", {**_SHARED, "prompt": "string", "system": "string"})
        if not found.get("model"):  # unlike chat, which says that a model is required
            raise ApiError(404, "model '' not found")
        texts = {"system": found.get("system"), "user": found.get("prompt")}
        messages = [{"role": role, "content": text} for role, text in texts.items() if text]
        return _ask(self._settings, found, messages if found.get("prompt") else [])

    def render(self, ask: Ask, completion: Completion) -> Response:
        """Return the answer, in one object or a line a piece."""
        return _render(ask, completion, lambda text: {"response": text})

    def render_error(self, status: int, message: str) -> Response:
        """Return the response of a refusal."""
        return as_json({"error": message}, status)


def _ask(settings: ServerSettings, body: Body, messages: list[dict[str, object]]) -> Ask:
    name = str(body["model"])
    if full_name(name) not in map(full_name, settings.models):
        raise ApiError(404, f"model '{name}' not found")
    only = None if messages else ("unload" if is_zero_duration(body.get("keep_alive")) else "load")
    if only != "unload" and body.get("think") not in (None, False):
        raise ApiError(400, f'"{name}" does not support thinking')
    options = body.get("options")
    options = options if isinstance(options, dict) else {}
    check_options(options)
    form = body.get("format")
    if form not in (None, "", "json") and not isinstance(form, dict):
        quoted = dump(form).decode().replace('"', '\\"')
        raise ApiError(500, f'invalid format: "{quoted}"; expected "json" or a valid JSON Schema object')
    return Ask(
        model=name,
        messages=messages,
        options=options,
        form=form or None,
        stream=body.get("stream") is not False,
        only=only,
        letters=asked_letters(settings.logprobs, body, messages),
    )


def _render(ask: Ask, completion: Completion, said: _Said) -> Response:
    head: dict[str, object] = {"model": ask.model, "created_at": rfc3339()}
    if ask.only:  # never streamed, and without counts
        return as_json({**head, **said(""), "done": True, "done_reason": ask.only})
    end = {"done": True, "done_reason": completion.done_reason, **completion.metrics()}
    last = end if completion.done else {"done": False}
    if not ask.stream:
        listed = {} if completion.logprobs is None else {"logprobs": completion.logprobs}
        return as_json({**head, **said(completion.content), **listed, **last})
    texts = [completion.content[i : i + 16] for i in range(0, len(completion.content), 16)]
    lines: list[dict[str, object]] = [{**head, **said(text), "done": False} for text in texts]
    if completion.done:
        lines.append({**head, **said(""), **end})
    return Response(content_type=NDJSON, parts=tuple(dump(line) + b"\n" for line in lines))


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
