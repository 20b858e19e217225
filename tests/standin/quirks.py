"""The quirks of servers: ways in which real ones differ from the protocol that they speak.

Unlike a fault, a quirk happens to every request. Each is one entry of `QUIRKS`, with its effect on the stages of an
exchange. A server may have several; their effects are applied in the order of the table.
"""

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import Any

import msgspec

from actors.testing.server import Reply

Body = dict[str, Any]

_THOUGHT = "The question is about the weather. Perhaps no? A clear sky scatters blue light, so it is plain. " * 3
_OPEN, _CLOSE = "<think>", "</think>"
_MB = 1_000_000
_CHAT = "/v1/chat/completions"
_OPENAI_FIELDS = frozenset({"model", "messages", "temperature", "max_tokens", "response_format"})


class Quirk(msgspec.Struct, frozen=True, kw_only=True):
    """One way of being different.

    Args:
        routes: `{path asked for: path served}`; a path with an empty one is not found.
        meet: returns the refusal of a request of any kind, from path, query and headers; None if it is taken.
        refuse: returns the refusal of a chat with this body; None if it is taken.
        understand: returns the request as the server understands it.
        say: returns the text that the model gives instead of another, before it is cut at the limit of tokens.
        render: returns the body of the answer that is sent instead of another; `wrap`: returns the whole answer.
        fail: returns the refusal that is sent instead of another.
    """

    routes: Mapping[str, str] = {}
    meet: Callable[[str, str, Mapping[str, str]], Reply | None] | None = None
    refuse: Callable[[Body], Reply | None] | None = None
    understand: Callable[[Body], Body] | None = None
    say: Callable[[str], str] | None = None
    render: Callable[[Body], Body] | None = None
    wrap: Callable[[Body], Reply] | None = None
    fail: Callable[[Reply], Reply] | None = None


# Refusals


def _error(message: str, status: int = 400) -> Reply:
    """Return a refusal as OpenAI writes it."""
    return Reply({"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}, status)


def _refusing(field: str, message: str) -> Quirk:
    """Return the quirk of a server that refuses every chat with a field, or an option, of this name."""

    def refuse(body: Body) -> Reply | None:
        return _error(message) if field in body or field in (body.get("options") or {}) else None

    return Quirk(refuse=refuse)


def _refuse_much(body: Body) -> Reply | None:
    """Return a refusal as FastAPI writes it; it repeats the request."""
    problems = [
        {"type": "extra_forbidden", "loc": ["body", field], "msg": "Extra inputs are not permitted", "input": body}
        for field in sorted(body.keys() - _OPENAI_FIELDS)
    ]
    return Reply({"detail": problems}, 422) if problems else None


def _refuse_schema(body: Body) -> Reply | None:
    if (body.get("response_format") or {}).get("type") == "json_schema" or isinstance(body.get("format"), dict):
        return _error("Invalid parameter: 'response_format.type' must be 'text' or 'json_object'.")
    return None


def _lose_schema(body: Body) -> Reply | None:
    """Return the 404 of a router that has no provider for a strict schema."""
    is_strict = ((body.get("response_format") or {}).get("json_schema") or {}).get("strict")
    message = "No endpoints found that can handle the request."
    return Reply({"error": {"message": message, "code": 404}}, 404) if is_strict else None


def _refuse_system(body: Body) -> Reply | None:
    has_system = any(message.get("role") == "system" for message in body.get("messages", ()))
    return _error("System role not supported", 500) if has_system else None


def _refuse_unstreamed(body: Body) -> Reply | None:
    message = "This model only supports streaming: stream must be true"
    return None if body.get("stream") is True else _error(message)


def _refuse_key(name: str, query: str = "") -> Callable[[str, str, Mapping[str, str]], Reply | None]:
    """Return the refusal of requests without the key in a header of its own, or without a parameter."""

    def meet(_: str, given: str, headers: Mapping[str, str]) -> Reply | None:
        if not headers.get(name.lower()) or "authorization" in headers:
            return _error(f"Access denied: send your key in {name}.", 401)
        return None if query in given else _error(f"Access denied: {query} is missing.", 404)

    return meet


def _without(*fields: str) -> Callable[[Body], Body]:
    """Return the understanding of a server that ignores fields."""
    return lambda body: {name: value for name, value in body.items() if name not in fields}


def _wants_json_alone(body: Body) -> Body:
    return {**body, "format": "json"} if isinstance(body.get("format"), dict) else body


# Texts


def _thoughtfully(text: str) -> str:
    return f'{_OPEN}{_THOUGHT} Maybe {{"answer": "no"}}?{_CLOSE}\n{text}'


# Replies


def _on_message(change: Callable[[Body], Body]) -> Callable[[Body], Body]:
    """Return the change of a reply to that of its message, in either protocol."""

    def render(reply: Body) -> Body:
        if "message" in reply:
            return {**reply, "message": change(reply["message"])}
        return {**reply, "choices": [{**choice, "message": change(choice["message"])} for choice in reply["choices"]]}

    return render


def _unfinished(reply: Body) -> Body:
    if "choices" not in reply:
        return _without("done", "done_reason")(reply)
    return {**reply, "choices": [_without("finish_reason")(choice) for choice in reply["choices"]]}


def _packed(reply: Body) -> Reply:
    return Reply(gzip.compress(json.dumps(reply).encode()), headers={"Content-Encoding": "gzip"})


def _bomb(_: Body) -> Reply:
    """Return 300 MB of blanks as gzip: one packed megabyte, three hundred times."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    begin = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # of a gzip file without a name or a time
    megabyte = packer.compress(b" " * _MB) + packer.flush(zlib.Z_FULL_FLUSH)
    return Reply(begin + megabyte * 300, headers={"Content-Encoding": "gzip"})


def _failed_with_200(reply: Reply) -> Reply:
    return Reply({"error": {**json.loads(reply.body)["error"], "code": reply.status}}, 200, reply.headers)


def _send_on(*_: object) -> Reply:
    return Reply(b"", 308, {"Location": "https://api.example.org/v1/chat/completions?key=abc"})


QUIRKS: Mapping[str, Quirk] = {
    # Fields that are refused
    "no_max_tokens": _refusing("max_tokens", "'max_tokens' is not supported. Use 'max_completion_tokens' instead."),
    "no_seed": _refusing("seed", "Unrecognized request argument supplied: seed"),
    "no_num_ctx": _refusing("num_ctx", 'invalid option provided: "num_ctx"'),
    "no_think": _refusing("think", 'json: unknown field "think"'),
    "silent_refusal": Quirk(refuse=lambda body: Reply(b"Bad Request", 400) if "seed" in body else None),
    "strict_fields": Quirk(refuse=_refuse_much),
    "streams_alone": Quirk(refuse=_refuse_unstreamed),
    # Schemas
    "no_schema": Quirk(refuse=_refuse_schema),
    "strict_not_found": Quirk(refuse=_lose_schema),
    "no_response_format": _refusing("response_format", "response_format is not supported by this model"),
    "format_ignored": Quirk(understand=_without("format", "response_format")),
    "json_alone": Quirk(understand=_wants_json_alone),
    "no_system_role": Quirk(refuse=_refuse_system),
    # Answers in other words, and at other places
    "thinks_in_answer": Quirk(say=lambda text: f"{_OPEN}It is blue.{_CLOSE}\n{text}"),
    "lone_think_end": Quirk(say=lambda text: f"It is blue.{_CLOSE}\n{text}"),
    "thinks_long": Quirk(say=_thoughtfully),
    "endless_blanks": Quirk(say=lambda text: text + " " * 8000),
    "fenced": Quirk(render=_on_message(lambda message: {**message, "content": f"```json\n{message['content']}\n```"})),
    "content_parts": Quirk(
        render=_on_message(lambda message: {**message, "content": [{"type": "text", "text": message["content"]}]})
    ),
    "reasoning_only": Quirk(
        render=_on_message(lambda message: {**message, "content": "\n", "reasoning_content": message["content"]})
    ),
    "unfinished": Quirk(render=_unfinished),
    "streams": Quirk(wrap=lambda reply: Reply(f"data: {json.dumps(reply)}\n\n".encode())),
    "packed": Quirk(wrap=_packed),
    "gzip_bomb": Quirk(wrap=_bomb),
    "error_with_200": Quirk(wrap=lambda _: Reply({"error": {"message": "Provider returned error", "code": 502}})),
    "errors_with_200": Quirk(fail=_failed_with_200),
    # Addresses and keys
    "page": Quirk(meet=lambda *_: Reply(b"<!doctype html><p>Hello.")),
    "moved": Quirk(meet=_send_on),
    "other_path": Quirk(
        routes={_CHAT: "", "/v1/models": "", "/api/v3/chat/completions": _CHAT, "/api/v3/models": "/v1/models"}
    ),
    "azure": Quirk(
        routes={_CHAT: "", "/v1/models": "", "/openai/deployments/mine/chat/completions": _CHAT},
        meet=_refuse_key("api-key", "api-version="),
    ),
    "x_api_key": Quirk(meet=_refuse_key("X-API-Key")),
    "models_forbidden": Quirk(
        meet=lambda path, *_: _error("You have no permission for this.", 403) if path.endswith("/models") else None
    ),
    "chat_alone": Quirk(routes=dict.fromkeys(("/api/version", "/api/tags", "/v1/systemone", "/v1/models"), "")),
}


class Quirks:
    """The quirks of one server, applied in their order, each at one stage of an exchange."""

    def __init__(self, names: Iterable[str]) -> None:
        self._quirks = [quirk for name, quirk in QUIRKS.items() if name in set(names)]

    def _effects(self, stage: str) -> list[Any]:
        return [effect for quirk in self._quirks if (effect := getattr(quirk, stage)) is not None]

    def _changed(self, stage: str, value: Any) -> Any:
        return reduce(lambda found, effect: effect(found), self._effects(stage), value)

    def route(self, path: str) -> str:
        """Return the path that is served for a path; empty if there is none."""
        return reduce(lambda found, routes: routes.get(found, found), self._effects("routes"), path)

    def refuse(self, stage: str, *request: object) -> None:
        """Raise the refusal of a request of any kind (`meet`), or of a chat (`refuse`)."""
        for refusal in filter(None, (effect(*request) for effect in self._effects(stage))):
            raise refusal

    def understood(self, body: Body) -> Body:
        return dict(self._changed("understand", body))

    def said(self, text: str) -> str:
        return str(self._changed("say", text))

    def failed(self, reply: Reply) -> Exception:
        failed: Exception = self._changed("fail", reply)
        return failed

    def rendered(self, reply: Reply) -> Reply:
        """Return the answer that is sent."""
        if reply.status != 200 or not (self._effects("render") or self._effects("wrap")):
            return reply
        body = self._changed("render", json.loads(reply.body))
        wraps = self._effects("wrap")
        return wraps[0](body) if wraps else Reply(body)
