"""The capabilities of a server: the way in which it is asked, and the place where its answers stand.

Each field of `Capabilities` is one dimension, and each value one rung. The first rungs are those of a server that can
do everything; `prism.llm.negotiation` steps down from them where a server cannot.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from prism.llm.failure import Usage
from prism.llm.http import RefusedAnswerError, UnusableAnswerError
from prism.llm.json_object import extract_object, without_reasoning
from prism.llm.port import Message

Thinking = Literal["off", "ignored", "off_by_template", "off_by_effort", "off_by_switch", "stripped"]
TokenField = Literal["num_predict", "max_tokens", "max_completion_tokens", "none"]
Schema = Literal["format", "json_schema", "json_object", "structured_outputs", "guided_json", "prompt"]
Place = Literal["content", "parts", "reasoning", "tool_call"]
Ending = Literal["stated", "unstated"]

IN_PROMPT: tuple[Schema, ...] = ("json_object", "prompt")
"""The rungs at which the schema stands in the prompt, because the server is not told it in another way."""

THINKING_FIELDS: dict[Thinking, dict[str, Any]] = {
    "off_by_template": {"chat_template_kwargs": {"enable_thinking": False}},
    "off_by_effort": {"reasoning_effort": "none"},
    "off_by_switch": {"enable_thinking": False},
}
"""The fields by which servers with OpenAI's interface are told not to think: there is no common one."""

_RULE = "Answer with one JSON object that follows this JSON schema, and with nothing else:"


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """The way in which one server is asked.

    Args:
        thinking: `off`: the server is told not to think (`think: false`); `ignored`: it is told nothing, and reasoning
            that comes apart from the answer is not read; `off_by_...`: it is told so in another field; `stripped`:
            reasoning within the answer is removed.
        token_field: the field with the most tokens of an answer.
        token_floor: the least that this field says, whatever the request allows; 0 if the request decides.
        temperature, seed: the field that carries it, or `none`.
        schema: the field that carries the schema; `prompt` if the schema stands in the prompt alone.
        roles: `merged` if the system message is a part of the first message of the user.
        text: the place of the answer in the reply.
        ending: `unstated` if replies do not say that they are whole.
        stream: the value of the field of this name; `none` if it is not sent, `true` if the server does nothing else.
        path: the path of the chat, after the host.
        unsent: other fields that the server refuses.
    """

    thinking: Thinking
    token_field: TokenField
    token_floor: int = 0
    temperature: Literal["temperature", "none"] = "temperature"
    seed: Literal["seed", "random_seed", "none"] = "seed"
    schema: Schema
    roles: Literal["system", "merged"] = "system"
    text: Place = "content"
    ending: Ending = "stated"
    stream: Literal["false", "none", "true"] = "false"
    path: str
    unsent: tuple[str, ...] = ()

    def table(self) -> dict[str, str]:
        """Return every dimension with its rung in words, for people and manifests."""
        values = msgspec.structs.asdict(self)
        return {name: _words(value) for name, value in values.items()}

    def changes(self, first: Capabilities) -> dict[str, str]:
        """Return the dimensions that differ from the first rungs and on which an answer may depend.

        The schema is not among them, because it is the `dialect` of an identity; nor is the path, which like the host
        says only where the model is.
        """
        return {name: words for name, words in self.differences(first).items() if name not in ("schema", "path")}

    def differences(self, first: Capabilities) -> dict[str, str]:
        """Return every dimension that differs from the first rungs, with its rung in words."""
        before = first.table()
        return {name: words for name, words in self.table().items() if words != before[name]}

    def sent(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a request without those that the server refuses; one called `none` never goes out."""
        refused = {"none", *self.unsent}
        refused |= {
            name for name, rung in (("temperature", self.temperature), ("stream", self.stream)) if rung == "none"
        }
        return {name: value for name, value in fields.items() if name not in refused}

    def limit(self, asked: int) -> int:
        """Return the most tokens of an answer, where the request asks for this many."""
        return max(asked, self.token_floor)


def way_of(table: Mapping[str, str]) -> Capabilities | None:
    """Return the capabilities that a table was made of; None if it is empty, or of another version.

    Args:
        table: as `Capabilities.table` returns it.
    """
    unsent = table.get("unsent", "none")
    fields = {**table, "unsent": () if unsent == "none" else tuple(unsent.split(", "))}
    try:
        return msgspec.convert(fields, Capabilities, strict=False)
    except msgspec.ValidationError:
        return None


def _words(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    return str(value)


Finish = Literal["stop", "cut", "unstated", "refused"]


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A reply, as any protocol gives it.

    Args:
        content, parts, reasoning, tool_call: the text at each place, empty where there is none.
        ending: `cut` at the limit of tokens, `refused` by the model or a filter behind it, `stop`, or `unstated`.
        unstated: the reason why the ending is unknown, or the words of a refusal, for messages.
    """

    content: str = ""
    parts: str = ""
    reasoning: str = ""
    tool_call: str = ""
    ending: Finish
    unstated: str = ""
    model: str = ""
    usage: Usage = Usage()

    @property
    def speaks_elsewhere(self) -> bool:
        """True if there is a text at another place than the content."""
        return bool(self.parts or self.tool_call or self.reasoning)

    def text(self, place: Place) -> str:
        """Return the text at a place. A server that sends parts may send a plain text at any time."""
        match place:
            case "content":
                return self.content
            case "parts":
                return self.parts or self.content
            case "reasoning":
                return self.reasoning
            case "tool_call":
                return self.tool_call


class UnusableReplyError(UnusableAnswerError):
    """A reply without a usable answer.

    Args:
        problem: cut, empty, or unfinished.
    """

    def __init__(self, problem: Literal["cut", "empty", "unfinished"], reply: Reply, message: str) -> None:
        self.problem = problem
        self.reply = reply
        super().__init__(message, reply.usage)


class SilentReplyError(UnusableReplyError, RefusedAnswerError):
    """A reply that says nothing at all, and is complete: filters leave nothing else of what they refuse."""


def text_of(reply: Reply, way: Capabilities, limit: int, *, is_json: bool) -> str:
    """Return the text of an answer that is complete.

    An answer in JSON that is whole counts even if the model went on until it was cut: small models add blanks forever.

    Raises:
        UnusableReplyError: the answer is not complete.
        RefusedAnswerError: the question is refused.
    """
    text = reply.text(way.text)
    if way.thinking == "stripped":
        said, unfinished = without_reasoning(text)
        text = said.strip() or unfinished.strip()
    is_whole = is_json and _is_json(text)
    if reply.ending == "refused" and not is_whole:
        raise RefusedAnswerError(f"the model refuses to answer ({reply.unstated})", reply.usage)
    if way.ending == "unstated" and way.schema == "prompt":  # there is text around the JSON
        is_whole = is_json and extract_object(text) is not None
    if reply.ending == "unstated" and not (way.ending == "unstated" and is_whole):
        raise UnusableReplyError(
            "unfinished", reply, f"the server stopped before the end of the answer ({reply.unstated})"
        )
    if reply.ending == "cut" and is_json and not _is_json(text):
        raise UnusableReplyError("cut", reply, f"the answer was cut at {limit} tokens; raise llm.num_predict")
    if not text:
        is_silent = not reply.speaks_elsewhere and reply.ending != "cut"
        raise (SilentReplyError if is_silent else UnusableReplyError)("empty", reply, "the answer is empty")
    return text


def _is_json(text: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except (ValueError, RecursionError):
        return False


def messages_of(messages: Sequence[Message], schema: dict[str, Any] | None, way: Capabilities) -> list[dict[str, str]]:
    """Return the chat as it is sent: with the schema in the system message, or without a system message, if need be."""
    if schema is not None and way.schema in IN_PROMPT:
        messages = _with_schema(messages, schema)
    if way.roles == "merged":
        messages = _merged(messages)
    return [{"role": message.role, "content": message.content} for message in messages]


def _with_schema(messages: Sequence[Message], schema: dict[str, Any]) -> Sequence[Message]:
    """Return the chat with the schema in its one system message, at the front, where prefix caches keep it."""
    rule = f"{_RULE}\n{json.dumps(schema)}"
    first, *rest = messages
    if first.role == "system":
        return (Message(role="system", content=f"{first.content}\n\n{rule}"), *rest)
    return (Message(role="system", content=rule), *messages)


def _merged(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the chat with its system message at the begin of the user's first message."""
    first, *rest = messages
    if first.role != "system":
        return messages
    if not rest or rest[0].role != "user":
        return (Message(role="user", content=first.content), *rest)
    return (Message(role="user", content=f"{first.content}\n\n{rest[0].content}"), *rest[1:])


def added(body: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request's fields with the user's own over them; null leaves a field out, and objects are merged."""
    merged = dict(body)
    for name, value in extra.items():
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, dict) and isinstance(merged.get(name), dict):
            merged[name] = added(merged[name], value)
        else:
            merged[name] = value
    return merged


def canonical(extra: Mapping[str, Any]) -> str:
    """Return the user's own fields as one text, the same for equal ones; empty if there are none."""
    return json.dumps(extra, sort_keys=True) if extra else ""
