"""The quirks of servers: ways in which real ones differ from the protocol that they speak.

Unlike a fault, a quirk happens to every request. Each is one entry of `QUIRKS`: a name, a sentence, and its effect on
the stages of an exchange. A server may have several; their effects are applied in the order of the table.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Literal

import msgspec

from tests.standin.wire import Request, Response, as_json, dump

Body = dict[str, Any]
Intercept = Callable[[Request], Response | None]
"""A function that returns the answer to a request of any kind, or None if the server is to serve the request."""

Refuse = Callable[[Body], Response | None]
"""A function that returns the refusal of a chat with this body, or None if the chat is taken."""

Understand = Callable[[Body], Body]
"""Returns the request as the server understands it."""

Say = Callable[[str], str]
"""Returns the text that the model gives instead of another, before it is cut at the limit of tokens."""

Render = Callable[[Body], Body]
"""Returns the body of the reply that is sent instead of another."""

Fail = Callable[[Response], Response]
"""Returns the error response that is sent instead of another."""

Wrap = Callable[[Body], Response]
"""Returns the response that carries the body of a reply."""

_THOUGHT = "The question is about the weather. Perhaps no? A clear sky scatters blue light, so it is plain. " * 3
_OPEN, _CLOSE = "<think>", "</think>"
_BLANKS = " " * 400
_MB = 1_000_000
_OPENAI_FIELDS = frozenset({"model", "messages", "temperature", "max_tokens", "response_format"})


class Quirk(msgspec.Struct, frozen=True, kw_only=True):
    """One way of being different.

    Args:
        name: its name, as for `--quirk`.
        api: the protocol that it is about.
        sentence: what the server does, after "the server".
        routes: `{path asked for: path served}`; a path with an empty one is not found.
        intercept, refuse, understand, say, render, wrap, fail: the effect at each stage.
    """

    name: str
    api: Literal["openai", "ollama", "both"]
    sentence: str
    routes: Mapping[str, str] = {}
    intercept: Intercept | None = None
    refuse: Refuse | None = None
    understand: Understand | None = None
    say: Say | None = None
    render: Render | None = None
    wrap: Wrap | None = None
    fail: Fail | None = None


# Refusals


def _error(message: str, param: str | None = None, status: int = 400) -> Response:
    """Return a refusal as OpenAI writes it."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": "unsupported_parameter"}
    return as_json({"error": error}, status)


def _extra(fields: Iterable[str], body: Body) -> Response:
    """Return a refusal as FastAPI writes it; it repeats the request."""
    problems = [
        {"type": "extra_forbidden", "loc": ["body", field], "msg": "Extra inputs are not permitted", "input": body}
        for field in fields
    ]
    return as_json({"detail": problems}, 422)


def _refusing(field: str, message: str, *, param: bool = True) -> Refuse:
    """Return the refusal of every chat with a field."""
    return lambda body: _error(message, field if param else None) if field in body else None


def _refuse_both_limits(body: Body) -> Response | None:
    field = next((field for field in ("max_tokens", "max_completion_tokens") if field in body), None)
    return None if field is None else _error(f"Unknown parameter: '{field}'.", field)


def _refuse_warmth(body: Body) -> Response | None:
    if body.get("temperature", 1) == 1:
        return None
    said = f"Unsupported value: 'temperature' does not support {body['temperature']} with this model."
    return _error(f"{said} Only the default (1) value is supported.", "temperature")


def _refuse_schema(body: Body) -> Response | None:
    if (body.get("response_format") or {}).get("type") != "json_schema":
        return None
    return _error("Invalid parameter: 'response_format.type' must be 'text' or 'json_object'.", "response_format.type")


def _schema_of(body: Body) -> Body:
    return (body.get("response_format") or {}).get("json_schema") or {}


def _refuse_strict(body: Body) -> Response | None:
    return _error('Unknown name "strict": Cannot find field.') if "strict" in _schema_of(body) else None


def _lose_schema(*, strict: bool) -> Refuse:
    """Return the 404 of a router that has no provider for a schema, or for a strict one."""

    def refuse(body: Body) -> Response | None:
        schema = _schema_of(body)
        if not schema or (strict and not schema.get("strict")):
            return None
        return as_json({"error": {"message": "No endpoints found that can handle the request.", "code": 404}}, 404)

    return refuse


def _refuse_silently(body: Body) -> Response | None:
    return Response(status=400, body=b"Bad Request", content_type="text/plain") if "seed" in body else None


def _refuse_much(body: Body) -> Response | None:
    unknown = sorted(body.keys() - _OPENAI_FIELDS)
    return _extra(unknown, body) if unknown else None


def _refuse_system(body: Body) -> Response | None:
    has_system = any(message.get("role") == "system" for message in body.get("messages", ()))
    return _error("System role not supported", status=500) if has_system else None


def _refuse_option(name: str) -> Refuse:
    """Return the refusal of every chat of Ollama with an option."""
    refusal = as_json({"error": f'invalid option provided: "{name}"'}, 400)
    return lambda body: refusal if name in (body.get("options") or {}) else None


def _refuse_ollama(field: str, message: str) -> Refuse:
    return lambda body: as_json({"error": message}, 400) if field in body else None


def _refuse_schema_of_ollama(body: Body) -> Response | None:
    message = "json: cannot unmarshal object into Go struct field ChatRequest.format of type string"
    return as_json({"error": message}, 400) if isinstance(body.get("format"), dict) else None


def _refuse_list(request: Request) -> Response | None:
    return _error("You have no permission for this.", status=403) if request.path.endswith("/models") else None


def _refuse_probabilities(request: Request) -> Response | None:
    return as_json({"error": "unknown endpoint"}, 404) if request.path == "/v1/systemone" else None


def _refuse_without_api_key(request: Request) -> Response | None:
    if "api-key" in request.headers and "api-version=" in request.query:
        return None
    missing = "api-version" if "api-key" in request.headers else "api-key"
    status = 404 if missing == "api-version" else 401
    return as_json({"error": {"code": str(status), "message": f"Access denied: {missing} is missing."}}, status)


def _refuse_without_x_api_key(request: Request) -> Response | None:
    if request.headers.get("x-api-key") and "authorization" not in request.headers:
        return None
    return as_json({"error": {"code": "missing_key", "message": "Access denied: send your key in X-API-Key."}}, 401)


def _refuse_non_streaming_thought(body: Body) -> Response | None:
    message = "parameter.enable_thinking must be set to false for non-streaming calls"
    return None if body.get("enable_thinking") is False else _error(message)


def _refuse_unstreamed(body: Body) -> Response | None:
    message = "This model only supports streaming: stream must be true"
    return None if body.get("stream") is True else _error(message)


def _show_page(request: Request) -> Response | None:
    return Response(body=b"<!doctype html><p>Hello.", content_type="text/html") if request.path == "/page" else None


def _send_on(_: Request) -> Response:
    return Response(status=308, headers={"Location": "https://api.example.org/v1/chat/completions?key=abc"})


# Understandings


def _without(*fields: str) -> Understand:
    """Return the understanding of a server that ignores fields."""
    return lambda body: {name: value for name, value in body.items() if name not in fields}


def _schema_from(read: Callable[[Body], object]) -> Understand:
    """Return the understanding of a server that takes a schema from a field of its own, and no `response_format`."""

    def understand(body: Body) -> Body:
        schema = read(body)
        rest = {name: value for name, value in body.items() if name != "response_format"}
        if not isinstance(schema, dict):
            return rest
        return {**rest, "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}}

    return understand


def _unthinking_is_unruly(body: Body) -> Body:
    return _without("format")(body) if body.get("think") is False else body


def _wants_json_alone(body: Body) -> Body:
    return {**body, "format": "json"} if isinstance(body.get("format"), dict) else body


# Texts


def _thoughtfully(text: str) -> str:
    return f'{_OPEN}{_THOUGHT} Maybe {{"answer": "no"}}?{_CLOSE}\n{text}'


def _shortly_thoughtfully(text: str) -> str:
    return f"{_OPEN}It is blue.{_CLOSE}\n{text}"


def _padded(text: str) -> str:
    return text.replace("{", "{" + _BLANKS, 1)


def _loosely(text: str) -> str:
    """Return the only pair of an object in a loose wording, which depends on the pair."""
    found = re.search(r'\{"(\w+)": "(\w+)"\}', text)
    if found is None:
        return text
    key, value = found[1], found[2]
    words = value.replace("_", " ").title()
    wordings = (
        f"{words}.",
        f"{{'{key.title()}': '{words}',}}",
        f"```\n{{“{key}”: “{words}”}} // sure\n```",
        f"**{value}**",
    )
    return wordings[zlib.crc32(text.encode()) % len(wordings)]


# Replies


def _on_message(change: Callable[[Body], Body]) -> Render:
    """Return the reply with another message, in either protocol."""

    def render(reply: Body) -> Body:
        if "message" in reply:
            return {**reply, "message": change(reply["message"])}
        choices = [{**choice, "message": change(choice["message"])} for choice in reply.get("choices", ())]
        return {**reply, "choices": choices} if choices else reply

    return render


def _in_parts(message: Body) -> Body:
    return {**message, "content": [{"type": "text", "text": message["content"]}]}


def _as_object(message: Body) -> Body:
    return {**message, "content": _object(str(message["content"]).encode()) or message["content"]}


def _as_reasoning(message: Body) -> Body:
    return {**message, "content": None, "reasoning_content": message["content"]}


def _reasoning_apart(field: str) -> Callable[[Body], Body]:
    """Return the message with its reasoning in a separate field; a message cut within its reasoning has no text."""

    def change(message: Body) -> Body:
        thought, closed, rest = message["content"].partition(_CLOSE)
        if not thought.startswith(_OPEN):
            return message
        return {**message, field: thought.removeprefix(_OPEN), "content": rest.strip() if closed else None}

    return change


def _as_call(message: Body) -> Body:
    function = {"name": "answer", "arguments": message["content"]}
    return {**message, "content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}


def _as_call_of_ollama(message: Body) -> Body:
    try:
        arguments = json.loads(message["content"])
    except ValueError:
        return message
    return {**message, "content": "", "tool_calls": [{"function": {"name": "answer", "arguments": arguments}}]}


def _in_fences(message: Body) -> Body:
    return {**message, "content": f"```json\n{message['content']}\n```"}


def _without_opening(message: Body) -> Body:
    return {**message, "content": message["content"].replace(_OPEN, "", 1)}


def _unfinished(reply: Body) -> Body:
    choices = [{name: part for name, part in choice.items() if name != "finish_reason"} for choice in reply["choices"]]
    return {**reply, "choices": choices}


def _not_done(reply: Body) -> Body:
    return {name: value for name, value in reply.items() if name not in ("done", "done_reason")}


def _uncounted(reply: Body) -> Body:
    return {**reply, "usage": {"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}}


def _other_reason(reply: Body) -> Body:
    names = {"length": "max_tokens", "stop": "end_turn"}
    choices = [{**choice, "finish_reason": names.get(choice["finish_reason"])} for choice in reply["choices"]]
    return {**reply, "choices": choices}


def _as_events(reply: Body) -> Response:
    choices: Any = reply.get("choices") or [{"message": {}, "finish_reason": None}]
    head = {name: value for name, value in reply.items() if name != "choices"}
    text = str(choices[0]["message"].get("content") or "")
    deltas = [{"role": "assistant"}, *({"content": text[i : i + 8]} for i in range(0, len(text), 8))]
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choices[0]["finish_reason"]}]})
    events = b"".join(b"data: %b\n\n" % dump(chunk) for chunk in chunks)
    return Response(body=events + b"data: [DONE]\n\n", content_type="text/event-stream")


def _as_lines(reply: Body) -> Response:
    if "message" not in reply:
        return as_json(reply)
    text = str(reply["message"].get("content") or "")
    lines: list[Body] = [
        {"model": reply["model"], "message": {"role": "assistant", "content": text[i : i + 8]}, "done": False}
        for i in range(0, len(text), 8)
    ]
    lines.append({**reply, "message": {"role": "assistant", "content": ""}})
    return Response(body=b"".join(dump(line) + b"\n" for line in lines), content_type="application/x-ndjson")


def _packed(reply: Body) -> Response:
    return Response(body=gzip.compress(dump(reply)), headers={"Content-Encoding": "gzip"})


def _huge(reply: Body) -> Response:
    return Response(body=b" " * (50 * _MB) + dump(reply)) if "choices" in reply else as_json(reply)


def _bomb(reply: Body) -> Response:
    """Return 300 MB of blanks as gzip: one packed megabyte, three hundred times."""
    if "choices" not in reply:
        return as_json(reply)
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    begin = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # of a gzip file without a name or a time
    megabyte = packer.compress(b" " * _MB) + packer.flush(zlib.Z_FULL_FLUSH)
    return Response(body=begin + megabyte * 300, headers={"Content-Encoding": "gzip"})


def _error_with_200(reply: Body) -> Response:
    return as_json({"error": {"message": "Provider returned error", "code": 502}} if "choices" in reply else reply)


def _failed_with_200(response: Response) -> Response:
    error = _object(response.body).get("error") or response.body.decode(errors="replace")
    said = error if isinstance(error, dict) else {"message": error}
    body = dump({"error": {**said, "code": response.status}})
    return msgspec.structs.replace(response, status=200, body=body, content_type="application/json")


_openai, _ollama, _both = partial(Quirk, api="openai"), partial(Quirk, api="ollama"), partial(Quirk, api="both")
_ALL = (
    _openai(
        name="no_max_tokens",
        sentence="refuses `max_tokens` and names `max_completion_tokens`, as OpenAI's o-series",
        refuse=_refusing(
            "max_tokens",
            "Unsupported parameter: 'max_tokens' is not supported here. Use 'max_completion_tokens' instead.",
        ),
    ),
    _openai(name="no_token_limit", sentence="refuses every limit of tokens", refuse=_refuse_both_limits),
    _openai(
        name="fixed_temperature",
        sentence="refuses every temperature but 1, as OpenAI's o-series",
        refuse=_refuse_warmth,
    ),
    _openai(
        name="no_seed",
        sentence="refuses `seed` in words alone",
        refuse=_refusing("seed", "Unrecognized request argument supplied: seed", param=False),
    ),
    _openai(
        name="random_seed",
        sentence="refuses `seed`, repeats the request, and takes `random_seed`, as Mistral",
        refuse=lambda body: _extra(["seed"], body) if "seed" in body else None,
        understand=lambda body: {**body, "seed": body.get("random_seed")},
    ),
    _openai(
        name="no_json_schema",
        sentence="refuses a `response_format` with a schema and takes `json_object`, as DeepSeek",
        refuse=_refuse_schema,
    ),
    _openai(name="no_strict", sentence="refuses `strict` within the schema", refuse=_refuse_strict),
    _openai(
        name="strict_not_found",
        sentence="answers 404 to a `strict` schema and takes others, as a router without a provider for it",
        refuse=_lose_schema(strict=True),
    ),
    _openai(
        name="schema_not_found",
        sentence="answers 404 to every schema and takes `json_object`, as a router without a provider for it",
        refuse=_lose_schema(strict=False),
    ),
    _openai(
        name="no_response_format",
        sentence="refuses every `response_format`",
        refuse=_refusing("response_format", "response_format is not supported by this model", param=False),
    ),
    _openai(
        name="response_format_ignored",
        sentence="takes every `response_format` and follows none",
        understand=_without("response_format"),
    ),
    _both(
        name="loosely_worded",
        sentence="follows no format, and words its choices loosely, as small models without a grammar",
        understand=_without("response_format", "format"),
        say=_loosely,
    ),
    _openai(
        name="structured_outputs",
        sentence="takes a schema in `structured_outputs` alone, as vLLM",
        refuse=_refusing("response_format", "response_format is not supported; see structured_outputs"),
        understand=_schema_from(lambda body: (body.get("structured_outputs") or {}).get("json")),
    ),
    _openai(
        name="guided_json",
        sentence="takes a schema in `guided_json` alone, as older vLLM",
        refuse=_refusing("response_format", "Unknown argument response_format"),
        understand=_schema_from(lambda body: body.get("guided_json")),
    ),
    _openai(name="silent_refusal", sentence="refuses `seed` with a 400 that names nothing", refuse=_refuse_silently),
    _openai(
        name="strict_fields",
        sentence="refuses all but five fields with a 422 that repeats the request, as many gateways",
        refuse=_refuse_much,
    ),
    _both(
        name="no_system_role",
        sentence="answers 500 to a system message, as models whose template has none",
        refuse=_refuse_system,
    ),
    _openai(
        name="no_thinking_unstreamed",
        sentence="refuses a call that is not streamed unless `enable_thinking` is false, as Alibaba's Qwen",
        refuse=_refuse_non_streaming_thought,
    ),
    _openai(name="content_parts", sentence="sends `content` as a list of parts", render=_on_message(_in_parts)),
    _openai(
        name="content_object",
        sentence="sends `content` as the object that the text would be",
        render=_on_message(_as_object),
    ),
    _openai(
        name="reasoning_only",
        sentence="sends the answer in `reasoning_content`, and `content` null",
        render=_on_message(_as_reasoning),
    ),
    _openai(
        name="reasoning_blank",
        sentence="sends the answer in `reasoning`, and a blank line in `content`",
        render=_on_message(lambda message: {**message, "content": "\n\n", "reasoning": message["content"]}),
    ),
    _openai(
        name="reasoning_first",
        sentence="thinks in `reasoning_content` until `max_tokens` is used up, and answers only with more",
        say=_thoughtfully,
        render=_on_message(_reasoning_apart("reasoning_content")),
    ),
    _both(
        name="thinks_in_answer",
        sentence="thinks in the answer, between `<think>` and `</think>`",
        say=_shortly_thoughtfully,
    ),
    _both(
        name="lone_think_end",
        sentence="thinks in the answer and leaves out the `<think>` at its begin",
        say=_shortly_thoughtfully,
        render=_on_message(_without_opening),
    ),
    _both(
        name="thinks_long_in_answer",
        sentence="thinks in the answer for longer than 64 tokens, with another answer in its thoughts",
        say=_thoughtfully,
    ),
    _openai(
        name="tool_call",
        sentence="sends the answer as the arguments of a tool call, and `content` null",
        render=_on_message(_as_call),
    ),
    _openai(name="no_finish_reason", sentence="sends no `finish_reason`", render=_unfinished),
    _openai(
        name="other_finish_reason",
        sentence="calls the ends of answers `end_turn` and `max_tokens`",
        render=_other_reason,
    ),
    _openai(name="null_usage", sentence="counts no tokens: `usage` holds nulls", render=_uncounted),
    _openai(name="event_stream", sentence="streams events whatever `stream` says", wrap=_as_events),
    _both(name="streams_alone", sentence="refuses every call whose `stream` is not true", refuse=_refuse_unstreamed),
    _both(
        name="packed", sentence="packs every answer with gzip, though it is asked not to, as some proxies", wrap=_packed
    ),
    _openai(name="huge_body", sentence="answers a chat with 50 MB; no setting helps", wrap=_huge),
    _openai(name="gzip_bomb", sentence="answers a chat with 300 MB, packed into 300 kB; no setting helps", wrap=_bomb),
    _openai(
        name="error_with_200",
        sentence="sends an error with status 200, as OpenRouter when a provider fails; no setting helps",
        wrap=_error_with_200,
    ),
    _openai(
        name="errors_with_200",
        sentence="sends each error with status 200, and its status inside as `code`, as routers do",
        fail=_failed_with_200,
    ),
    _openai(
        name="root_path",
        sentence="has `/chat/completions` without `/v1`",
        routes={"/v1/chat/completions": "", "/v1/models": "", "/chat/completions": "/v1/chat/completions"},
    ),
    _openai(
        name="page_elsewhere",
        sentence="answers every path but `/chat/completions` with a page and status 200",
        routes={"/chat/completions": "/v1/chat/completions", "/v1/chat/completions": "/page", "/v1/models": "/page"},
        intercept=_show_page,
    ),
    _openai(name="moved", sentence="has moved, and sends every request on: set `llm.host`", intercept=_send_on),
    _openai(
        name="other_path",
        sentence="has the chat at `/api/v3/chat/completions`: set `llm.request.path`",
        routes={
            "/v1/chat/completions": "",
            "/v1/models": "",
            "/api/v3/chat/completions": "/v1/chat/completions",
            "/api/v3/models": "/v1/models",
        },
    ),
    _openai(
        name="azure",
        sentence="has a path with a deployment, a key in `api-key` and a version in the query, as Azure: set all three",
        routes={
            "/v1/chat/completions": "",
            "/v1/models": "",
            "/openai/deployments/mine/chat/completions": "/v1/chat/completions",
        },
        intercept=_refuse_without_api_key,
    ),
    _openai(
        name="x_api_key",
        sentence="takes the key in `X-API-Key` alone, and refuses an `Authorization`: set `llm.request.headers`",
        intercept=_refuse_without_x_api_key,
    ),
    _openai(name="no_models", sentence="has no list of models", routes={"/v1/models": ""}),
    _openai(name="models_forbidden", sentence="forbids the list of models and allows the chat", intercept=_refuse_list),
    _both(name="padded", sentence="writes 400 blanks into its JSON, as small models under a grammar", say=_padded),
    _both(
        name="endless_blanks",
        sentence="writes blanks after its JSON until it is cut",
        say=lambda text: text + _BLANKS * 20,
    ),
    _both(name="fenced", sentence="puts its JSON into a Markdown fence", render=_on_message(_in_fences)),
    _ollama(name="no_version", sentence="has no `/api/version`", routes={"/api/version": ""}),
    _ollama(
        name="chat_alone",
        sentence="has `/api/chat` and nothing else, as some proxies",
        routes=dict.fromkeys(("/api/version", "/api/tags", "/v1/systemone"), ""),
    ),
    _ollama(
        name="unruly_unless_thinking",
        sentence="ignores `format` where `think` is false, as Ollama with some thinking models",
        understand=_unthinking_is_unruly,
    ),
    _ollama(
        name="thinks_unless_told",
        sentence="ignores `format` where `think` is false, and otherwise thinks for longer than 64 tokens",
        understand=_unthinking_is_unruly,
        say=lambda text: _thoughtfully(text) if text.startswith("{") else text,
        render=_on_message(_reasoning_apart("thinking")),
    ),
    _ollama(
        name="no_think",
        sentence="refuses `think`, as Ollama before 0.9 through strict proxies",
        refuse=_refuse_ollama("think", 'json: unknown field "think"'),
        understand=_without("think"),
    ),
    _ollama(
        name="no_format_schema",
        sentence="takes no schema in `format`, as Ollama before 0.5",
        refuse=_refuse_schema_of_ollama,
    ),
    _ollama(
        name="json_alone", sentence="takes a schema in `format` and keeps to JSON alone", understand=_wants_json_alone
    ),
    _ollama(name="format_ignored", sentence="ignores `format`", understand=_without("format")),
    _ollama(
        name="no_keep_alive",
        sentence="refuses `keep_alive`",
        refuse=_refuse_ollama("keep_alive", "unknown field keep_alive"),
    ),
    _ollama(
        name="no_tools",
        sentence="refuses `tools`, even an empty list",
        refuse=_refuse_ollama("tools", "this model does not support tools"),
    ),
    _ollama(name="no_num_ctx", sentence="refuses the option `num_ctx`", refuse=_refuse_option("num_ctx")),
    _ollama(
        name="tool_call_object",
        sentence="sends the answer as a tool call whose arguments are an object",
        render=_on_message(_as_call_of_ollama),
    ),
    _ollama(
        name="no_systemone", sentence="answers `/v1/systemone` with a 404 in JSON", intercept=_refuse_probabilities
    ),
    _ollama(name="never_done", sentence="sends no `done`", render=_not_done),
    _ollama(name="line_stream", sentence="streams lines whatever `stream` says", wrap=_as_lines),
)

QUIRKS: Mapping[str, Quirk] = {quirk.name: quirk for quirk in _ALL}
"""Every quirk by its name, those of OpenAI's protocol first."""


class Quirks:
    """The quirks of one server, applied in their order.

    Args:
        names: their names.
    """

    def __init__(self, names: Iterable[str]) -> None:
        chosen = set(names)
        self._quirks = [quirk for quirk in _ALL if quirk.name in chosen] if chosen else []

    def route(self, path: str) -> str:
        """Return the path that is served for a path; empty if there is none."""
        for quirk in self._quirks:
            path = quirk.routes.get(path, path)
        return path

    def refusal(self, request: Request) -> Response | None:
        """Return the refusal of a request; None if it is taken."""
        is_chat = request.method == "POST" and request.path.endswith(("/chat/completions", "/api/chat"))
        body = _object(request.body) if self._quirks and is_chat else {}
        for quirk in self._quirks:
            refusal = None if quirk.intercept is None else quirk.intercept(request)
            if refusal is None and quirk.refuse is not None and is_chat:
                refusal = quirk.refuse(body)
            if refusal is not None:
                return refusal
        return None

    def understood(self, body: bytes) -> bytes:
        """Return the request's body as the server understands it."""
        effects = [quirk.understand for quirk in self._quirks if quirk.understand is not None]
        found = _object(body) if effects else {}
        if not found:
            return body
        for understand in effects:
            found = understand(found)
        return dump(found)

    def said(self, text: str) -> str:
        """Return the text of the model."""
        for quirk in self._quirks:
            text = text if quirk.say is None else quirk.say(text)
        return text

    def failed(self, response: Response) -> Response:
        """Return the response that is sent for a call; quirks change only errors here."""
        for quirk in self._quirks:
            if response.status >= 400 and quirk.fail is not None:
                response = quirk.fail(response)
        return response

    def rendered(self, response: Response) -> Response:
        """Return the response that is sent; a stream is sent as it is."""
        if response.parts or response.status != 200 or not any(q.render or q.wrap for q in self._quirks):
            return response
        reply = _object(response.body)
        for quirk in self._quirks:
            reply = reply if quirk.render is None else quirk.render(reply)
        for quirk in self._quirks:
            if quirk.wrap is not None:
                return quirk.wrap(reply)
        return as_json(reply)


def _object(body: bytes) -> Body:
    """Return the object in a body; an empty one where there is none."""
    try:
        found = json.loads(body) if body else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
