"""Replies of both protocols as servers really send them, and the text that counts in them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from prism.llm.capabilities import Reply, UnusableReplyError, added, text_of
from prism.llm.http import StatusError
from prism.llm.negotiation import OPENAI
from prism.llm.replies import ErrorReplyError, read_chat, read_completion
from tests.catalogue import catalogue

YES = '{"answer": "yes"}'


def completion(message: Any, **choice: Any) -> bytes:
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop", **choice}], "model": "m"}).encode()


@catalogue(
    ("message", "place", "text"),
    [
        ({"content": YES}, "content", YES),
        ({"content": [{"type": "text", "text": YES[:5]}, {"type": "text", "text": YES[5:]}]}, "parts", YES),
        ({"content": [{"type": "thinking", "thinking": [{"text": "no"}]}, {"text": YES}]}, "parts", YES),
        ({"content": {"text": YES}}, "parts", YES),
        ({"content": None, "reasoning_content": YES}, "reasoning", YES),
        ({"content": "", "reasoning": YES}, "reasoning", YES),
        ({"tool_calls": [{"function": {"arguments": YES}}]}, "tool_call", YES),
        ({"tool_calls": [{"function": {"arguments": {"answer": "yes"}}}]}, "tool_call", YES),
        ({"function_call": {"arguments": YES}}, "tool_call", YES),
        ({"content": 7, "tool_calls": 3, "reasoning": {}}, "content", ""),
        (None, "content", ""),
    ],
)
def test_the_text_is_found_wherever_it_stands(message: Any, place: Any, text: str) -> None:
    assert read_completion(completion(message)).text(place) == text


@catalogue(
    ("reason", "ending"),
    [
        ("stop", "stop"),
        ("end_turn", "stop"),
        ("length", "cut"),
        ("MAX_TOKENS", "cut"),
        (None, "unstated"),
        (3, "unstated"),
    ],
)
def test_the_end_of_an_answer_has_many_names(reason: Any, ending: str) -> None:
    assert read_completion(completion({"content": YES}, finish_reason=reason)).ending == ending


@catalogue("usage", [None, [], {}, {"prompt_tokens": None}, {"prompt_tokens": "9"}, {"prompt_tokens": 1e300}])
def test_tokens_that_are_not_counted_are_none(usage: Any) -> None:
    body = {"choices": [{"message": {"content": YES}, "finish_reason": "stop"}], "usage": usage, "model": None}
    reply = read_completion(json.dumps(body).encode())
    assert (reply.usage, reply.model) == ((0, 0, 0), "")


def test_a_stream_of_events_is_one_reply() -> None:
    chunks = [
        {"choices": [{"delta": {"role": "assistant"}}], "model": "m"},
        {"choices": [{"delta": {"content": YES[:4], "reasoning_content": "Hm"}}]},
        {"choices": [{"delta": {"content": YES[4:]}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}},
    ]
    lines = [": a comment", *(f"data: {json.dumps(chunk)}" for chunk in chunks), "data: [DONE]", ""]
    for end in ("\n\n", "\r\n\r\n"):
        reply = read_completion(end.join(lines[1:]).encode())
        assert (reply.content, reply.reasoning, reply.ending) == (YES, "Hm", "stop")
        assert (reply.model, reply.usage) == ("m", (3, 4, 0))


def test_lines_of_ollama_are_one_reply() -> None:
    lines = [
        {"message": {"content": YES[:4]}, "done": False},
        {"message": {"content": YES[4:]}, "done": False},
        {"message": {"content": ""}, "done": True, "done_reason": "stop", "eval_count": 5, "model": "m"},
    ]
    reply = read_chat("\n".join(map(json.dumps, lines)).encode())
    assert (reply.content, reply.ending, reply.usage.completion_tokens) == (YES, "stop", 5)
    assert read_chat(json.dumps(lines[0], indent=1).encode()).ending == "unstated"


def test_an_error_with_status_200_is_an_error() -> None:
    with pytest.raises(StatusError, match="slow down") as caught:
        read_completion(b'{"error": {"message": "slow down", "code": 429}}')
    assert caught.value.status == 429
    with pytest.raises(ErrorReplyError, match="no seed here"):
        read_completion(b'{"error": {"message": "no seed here", "code": "bad"}}')
    with pytest.raises(ErrorReplyError, match="broken"):
        read_chat(b'{"error": "broken"}')


@catalogue("body", [b"", b"text", b"[]", b"{}", b"\xff", b'{"choices": {}}', b"[" * 100_000, b"data: x"])
def test_anything_else_is_no_reply(body: bytes) -> None:
    for read in (read_completion, read_chat):
        with pytest.raises((ValueError, RecursionError)):
            read(body)


def reply(**fields: Any) -> Reply:
    return Reply(**{"ending": "stop", **fields})


def test_json_that_is_whole_counts_though_it_was_cut_and_nothing_else_does() -> None:
    assert text_of(reply(content=f"{YES}   \n", ending="cut"), OPENAI.first, 64, is_json=True).strip() == YES
    assert text_of(reply(content="Well,", ending="cut"), OPENAI.first, 64, is_json=False) == "Well,"
    for text in ("", YES[:-1], "Well,", '"yes"'):
        with pytest.raises(UnusableReplyError, match=r"^the answer was cut at 64 tokens; raise llm.num_predict$"):
            text_of(reply(content=text, ending="cut"), OPENAI.first, 64, is_json=True)


def test_fields_of_the_users_own_go_over_those_of_a_question() -> None:
    body = {"seed": 1, "options": {"num_ctx": 2, "top_k": 3}}
    assert added(body, {"seed": None, "options": {"top_k": 9}, "user": "me"}) == {
        "options": {"num_ctx": 2, "top_k": 9},
        "user": "me",
    }
    assert body == {"seed": 1, "options": {"num_ctx": 2, "top_k": 3}}
