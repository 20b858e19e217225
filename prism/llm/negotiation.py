"""The negotiation with a server at start: a small real question, asked in one way after another until one works.

It begins with the first rungs, in which a server that can do everything is asked. After a failure one dimension goes
down by one rung, and the failure says which: a refusal by the field that it names, a reply by what is wrong with it. If
a refusal names nothing, the question is asked with nothing but the model and the messages; where that works, each of
the other fields is tried again by itself, so that none is given up that the server takes.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from prism.llm.capabilities import Capabilities, Thinking, UnusableReplyError
from prism.llm.failure import FINAL, LLMFailureException
from prism.llm.http import StatusError, error_text
from prism.llm.json_object import extract_object, has_reasoning, without_reasoning
from prism.llm.port import Completion
from prism.llm.replies import ErrorReplyError
from prism.llm.startup_check import follows_schema, retry_until_usable

MOST_REQUESTS = 16
"""The most requests of a negotiation that are answered or refused. Repetitions after passing failures do not count."""

TOKEN_FLOORS = (256, 1024)
"""The limits that are tried after an answer was cut: models that think, or that write blanks, need more tokens."""

_REFUSING = frozenset({400, 415, 422, 500, 501})
"""The statuses by which servers refuse a field; some say 500 for it."""

_NO_ROUTE = frozenset({404, 405})
_TRIES_FIRST, _TRIES_PROMPT = 3, 2
_PASSING = frozenset({"timeout", "overloaded", "loading", "server_error", "connection_error"})

Ask = Callable[[Capabilities, float], Awaitable[Completion]]
"""Asks the small question in one way, within so many seconds."""


class Ladder(msgspec.Struct, frozen=True, kw_only=True):
    """The rungs of one protocol.

    Args:
        rungs: the rungs of each dimension, the best first.
        thinkings: the rungs of thinking that are tried with each schema where an answer cannot be read.
        optional: the fields that may be left out.
    """

    first: Capabilities
    rungs: dict[str, tuple[str, ...]]
    thinkings: tuple[Thinking, ...]
    optional: tuple[str, ...]


OLLAMA = Ladder(
    first=Capabilities(thinking="off", token_field="num_predict", schema="format", path="/api/chat"),  # noqa: S106
    rungs={
        "thinking": ("off", "ignored"),
        "token_field": ("num_predict", "none"),
        "temperature": ("temperature", "none"),
        "seed": ("seed", "none"),
        "schema": ("format", "json_object", "prompt"),
        "roles": ("system", "merged"),
        "stream": ("false", "none", "true"),
    },
    thinkings=("off", "ignored"),
    optional=("keep_alive", "tools", "num_ctx"),
)
OPENAI = Ladder(
    first=Capabilities(
        thinking="ignored",
        token_field="max_tokens",  # noqa: S106  # the name of a field
        schema="json_schema",
        path="/v1/chat/completions",
    ),
    rungs={
        "thinking": ("ignored", "off_by_template", "off_by_effort", "off_by_switch"),
        "token_field": ("max_tokens", "max_completion_tokens", "none"),
        "temperature": ("temperature", "none"),
        "seed": ("seed", "random_seed", "none"),
        "schema": ("json_schema", "json_object", "structured_outputs", "guided_json", "prompt"),
        "roles": ("system", "merged"),
        "stream": ("false", "none", "true"),
        "path": ("/v1/chat/completions", "/chat/completions"),
    },
    thinkings=(),
    optional=("strict",),
)

_NAMES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (dimension, re.compile(pattern))
    for dimension, pattern in (
        ("token_field", r"max_(?:\w+_)?tokens|max \w* ?tokens|num_predict"),
        ("temperature", r"temperature"),
        ("seed", r"(?:\b|_)seed\b"),
        (
            "schema",
            r"response[_ ]format|json[_ ](schema|object|mode)|structured[_ ]output|guided_|grammar|\b(schema|format)\b",
        ),
        ("thinking", r"\bthink\b|thinking|reasoning|chat_template_kwargs"),
        ("roles", r"system (?:role|message|prompt|instruction)|\broles?\b|developer instruction"),
        *((field, rf"\b{field}\b") for field in ("strict", "stream", "tools", "keep_alive", "num_ctx")),
    )
)
"""The words by which refusals name the dimensions, and the fields that may be left out."""

_PLACES = frozenset({"param", "parameter", "params", "field", "loc"})
"""The keys under which error bodies name the field that they refuse."""


class Negotiation:
    """One negotiation.

    Args:
        num_predict: the most tokens of an answer that the configuration asks for.
        path_is_set: True if the path is the user's own, which is not tried otherwise.
    """

    def __init__(
        self, ladder: Ladder, way: Capabilities, ask: Ask, *, num_predict: int, path_is_set: bool = False
    ) -> None:
        self.way = way
        self.requests = 0
        """The requests so far that were answered or refused."""
        self.is_understood = False
        """True once a reply was one of this protocol, usable or not."""
        self._ladder = ladder
        self._begun = way
        self._ask = ask
        self._num_predict = num_predict
        self._path_is_set = path_is_set
        self._tried: list[Capabilities] = []
        self._refused: set[tuple[str, str]] = set()
        self._said = ""
        self._bare: Capabilities | None = None
        self._pending: list[Capabilities] = []
        self._routes: list[Capabilities] = []
        self._answered: LLMFailureException | None = None

    async def agree(self, warm_up_s: float, deadline_s: float) -> Completion:
        """Return an answer in the way that works from now on, `way`; it shows the usual latency.

        Args:
            warm_up_s: the limit of the first question in each way, for which the server may load the model.

        Raises:
            LLMFailureException: no way works.
        """
        while True:
            self._tried.append(self.way)
            try:
                await self._answer(self.way, warm_up_s)
                if self.way == self._bare:
                    await self._restore(deadline_s)
                return await self._answer(self.way, deadline_s)
            except LLMFailureException as failure:
                self.way = self._next(failure)

    def tried(self) -> str:
        """Return what was tried besides the first way, for messages; empty if nothing was."""
        first = self._begun.table()
        found = [
            f"{name} {words}"
            for way in self._tried
            for name, words in way.table().items()
            if words != first[name] and name != "unsent"
        ]
        fields = [f"no {field}" for way in self._tried for field in way.unsent]
        return ", ".join(dict.fromkeys([*found, *fields]))

    def paths(self) -> str:
        return " nor ".join(dict.fromkeys(way.path for way in self._tried))

    async def _answer(self, way: Capabilities, deadline_s: float, tries: int | None = None) -> Completion:
        """Return a usable answer in this way. Raises: LLMFailureException."""

        async def ask() -> Completion:
            self._said = ""
            try:
                completion = await self._ask(way, deadline_s)
            except LLMFailureException as failure:
                self.requests += failure.reason not in _PASSING
                self.is_understood |= isinstance(failure.__cause__, UnusableReplyError)
                raise
            self.requests += 1
            self.is_understood = True
            self._said = completion.text
            return completion

        def is_usable(completion: Completion) -> bool:
            text = completion.text
            is_free = way.schema == "prompt" or way.text == "reasoning"
            return follows_schema(
                (extract_object(text) or without_reasoning(text)[0]) if is_free else text, loosely=is_free
            )

        if tries is None:
            tries = _TRIES_FIRST if way == self._begun else _TRIES_PROMPT if way.schema == "prompt" else 1
        return await retry_until_usable(ask, is_usable, unusable_tries=tries, is_final=self._is_final)

    def _is_final(self, failure: LLMFailureException) -> bool:
        """Return whether the same question would fail again for the same reason."""
        match failure.__cause__:
            case UnusableReplyError(problem="cut"):
                return True
            case UnusableReplyError(problem="empty", reply=reply):
                return reply.speaks_elsewhere
            case StatusError(status=status, body=body) if status in _REFUSING:
                return failure.reason in FINAL or any(self._steps(body))
        return failure.reason in FINAL

    def _next(self, failure: LLMFailureException) -> Capabilities:
        """Return the way to try next. Raises: LLMFailureException if there is none, the given one."""
        if self.requests >= MOST_REQUESTS:
            raise failure
        if failure.status_code is None:
            # The server has answered. If it then refuses the next way, the rest of these is tried.
            self._answered, self._pending = failure, list(self._candidates(failure))
        for way in self._pending or self._candidates(failure):
            if way not in self._tried and not self._is_refused(way):
                return way
        raise self._answered or failure

    def _is_refused(self, way: Capabilities) -> bool:
        return any(getattr(way, name) == value for name, value in self._refused)

    def _candidates(self, failure: LLMFailureException) -> Iterator[Capabilities]:
        match failure.__cause__:
            case StatusError(status=status, body=body) if status in _NO_ROUTE:
                yield from self._after_no_route(body)
            case StatusError(status=status, body=body):
                if status in _REFUSING:
                    yield from self._after_refusal(body)
            case ErrorReplyError(body=body):
                yield from self._after_refusal(body)
            case UnusableReplyError() as error:
                yield from self._after_reply(error)
            case _ if failure.reason == "invalid_response":
                yield from self._after_text()

    def _after_no_route(self, body: str) -> Iterator[Capabilities]:
        """Yield the ways to try after a 404: there is no chat here, or a router has no provider for a field."""
        for name, way in self._steps(body):
            self._refuse(name)
            yield way
        if "model" in error_text(body).lower():
            return
        ways = [] if self._path_is_set else list(self._lower("path"))
        if body.lstrip().startswith("{") and self.way.schema == "json_schema":
            ways += [replace(self.way, unsent=(*self.way.unsent, "strict"))] * ("strict" not in self.way.unsent)
            ways += [replace(self.way, schema=schema) for schema in ("json_object", "prompt")]
        self._routes += [way for way in ways if way not in self._routes]
        yield from self._routes

    def _refuse(self, name: str) -> None:
        """Note that the server refuses the present rung of a dimension."""
        if name in self._ladder.rungs:
            self._refused.add((name, getattr(self.way, name)))

    def _after_refusal(self, body: str) -> Iterator[Capabilities]:
        steps = list(self._steps(body))
        for name, way in steps:
            self._refuse(name)
            yield way
        # Nothing more is named: as before there was any negotiation, the other schemas come first.
        for schema in ("json_object", "prompt"):
            if not steps and self.way != self._bare:
                yield replace(self.way, schema=schema)
        if self._bare is None:
            self._bare = self._barest()
            yield self._bare

    def _steps(self, body: str) -> Iterator[tuple[str, Capabilities]]:
        """Yield each dimension that a refusal names and that has another rung, with the way in which it is lower."""
        for name in named_in(body):
            if name in self._ladder.rungs:
                for way in self._lower(name):
                    yield name, way
                    break
            elif name in self._ladder.optional and name not in self.way.unsent:
                yield name, replace(self.way, unsent=(*self.way.unsent, name))

    def _lower(self, name: str) -> Iterator[Capabilities]:
        rungs, now = self._ladder.rungs.get(name, ()), getattr(self.way, name)
        for value in rungs[rungs.index(now) + 1 :] if now in rungs else ():
            if (name, value) not in self._refused:
                yield _with(self.way, name, value)

    def _after_reply(self, error: UnusableReplyError) -> Iterator[Capabilities]:
        reply, way = error.reply, self.way
        if error.problem == "unfinished":
            yield replace(way, ending="unstated")
        if reply.parts and not reply.content:
            yield replace(way, text="parts")
        if reply.tool_call and not reply.content:
            yield replace(way, text="tool_call")
        if error.problem == "cut":
            yield from self._after_cut(thinks=bool(reply.reasoning) or has_reasoning(reply.content or reply.parts))
            way = replace(way, token_floor=TOKEN_FLOORS[0])
        elif reply.reasoning and not reply.content and not way.thinking.startswith("off_by"):
            yield replace(way, text="reasoning")
            yield from self._unthinking(replace(way, text="content"))
        if error.problem != "cut" or reply.content:
            yield from self._other_texts(way)

    def _after_cut(self, *, thinks: bool) -> Iterator[Capabilities]:
        """Yield the ways in which an answer may be short enough, or may be longer.

        Args:
            thinks: True if the model thought: not to think is cheaper than a longer answer.
        """
        way = self.way
        if thinks and way.token_floor == 0:
            yield from self._unthinking(way)
        told = self._begun.thinking if way.thinking.startswith("off_by") else way.thinking
        for floor in TOKEN_FLOORS:
            if floor > way.limit(self._num_predict):
                yield replace(way, thinking=told, token_floor=floor)

    def _unthinking(self, way: Capabilities) -> Iterator[Capabilities]:
        for value in self._ladder.rungs["thinking"]:
            if value.startswith("off_by"):
                yield _with(way, "thinking", value)

    def _after_text(self) -> Iterator[Capabilities]:
        way = self.way
        if not self.is_understood and not self._path_is_set:  # there is a page where the chat should be
            yield from self._lower("path")
        yield from self._other_texts(way)
        if way.text == "reasoning":
            yield from self._unthinking(replace(way, text="content"))

    def _other_texts(self, way: Capabilities) -> Iterator[Capabilities]:
        """Yield the ways that may bring an answer that can be read."""
        if has_reasoning(self._said) and way.thinking != "stripped":
            yield replace(way, thinking="stripped")
        thinkings = () if way.thinking == "stripped" else self._ladder.thinkings
        for schema in self._ladder.rungs["schema"]:
            for thinking in thinkings or (way.thinking,):
                yield _with(replace(way, thinking=thinking), "schema", schema)

    def _barest(self) -> Capabilities:
        """Return the way in which nothing but the model and the messages is sent."""
        return replace(
            self.way,
            thinking="ignored",
            token_field="none",  # noqa: S106
            token_floor=0,
            temperature="none",
            seed="none",
            schema="prompt",
            roles="merged",
            stream="none",
            unsent=self._ladder.optional,
        )

    async def _restore(self, deadline_s: float) -> None:
        """Take back each field that the server refuses only beside another one."""
        bare = self.way
        for name, value in self._given_up():
            richer = _with(self.way, name, value)
            if getattr(self.way, name) != getattr(bare, name) or self._is_refused(richer):
                continue
            if self.requests >= MOST_REQUESTS - 1:
                return
            try:
                await self._answer(richer, deadline_s, tries=1)
            except LLMFailureException:
                continue
            self.way = richer

    def _given_up(self) -> Iterator[tuple[str, Any]]:
        """Yield the fields that the barest way does not send, with their rungs; those that decide most come first."""
        for name in ("temperature", "unsent", "stream", "token_field", "seed", "roles", "thinking", "schema"):
            whole = (getattr(self._begun, name),)
            values = self._ladder.rungs[name] if name in ("token_field", "seed") else whole
            for value in values:
                if value != getattr(self.way, name):
                    yield name, value


def _with(way: Capabilities, name: str, value: Any) -> Capabilities:
    return replace(way, **{name: value})


def named_in(body: str) -> list[str]:
    """Return the dimensions and fields that a refusal names, the likeliest first.

    The field that the body gives as a parameter comes before those in its words: these may name what to use instead.
    A body that repeats the request is searched last.
    """
    try:
        found = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        found = None
    names: dict[str, None] = {}
    for text in (" ".join(_places(found)), " ".join(_messages(found)), error_text(body)):
        plain = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text).lower()
        hits = ((pattern.search(plain), name) for name, pattern in _NAMES)
        names |= dict.fromkeys(name for _, name in sorted((hit.start(), name) for hit, name in hits if hit))
        if names:
            break
    return list(names)


def _places(found: Any, depth: int = 0) -> Iterator[str]:
    """Yield the fields that an error body names as the place of the error."""
    if depth > 5:
        return
    if isinstance(found, dict):
        for key, value in found.items():
            if key in _PLACES and value:
                yield " ".join(map(str, value)) if isinstance(value, list) else str(value)
            elif key != "input":
                yield from _places(value, depth + 1)
    elif isinstance(found, list):
        for value in found:
            yield from _places(value, depth + 1)


def _messages(found: Any, depth: int = 0) -> Iterator[str]:
    if depth > 5:
        return
    if isinstance(found, dict):
        for key, value in found.items():
            if isinstance(value, str) and key in ("message", "msg", "error", "detail"):
                yield value
            elif key != "input":
                yield from _messages(value, depth + 1)
    elif isinstance(found, list):
        for value in found:
            yield from _messages(value, depth + 1)
