"""Replies of both protocols as servers really send them, and the text that counts in them."""

import json
from typing import Any

import pytest

from prism.llm.http import RefusedAnswerError, Reply, UnusableAnswerError, read_reply, text_of
from prism.llm.model_client import added
from tests.catalogue import catalogue

YES = '{"answer": "yes"}'


def completion(message: Any, **choice: Any) -> bytes:
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop", **choice}], "model": "m"}).encode()


@catalogue(
    ("message", "text"),
    [
        ({"content": YES}, YES),
        ({"content": [{"type": "thinking", "thinking": [{"text": "no"}]}, {"text": YES}]}, YES),
        ({"content": {"text": YES}}, YES),
        ({"content": {"answer": "yes"}}, YES),
        ({"content": "\n", "reasoning": YES}, YES),
        ({"content": "", "reasoning": f"Hm, {YES}?"}, ""),
        ({"content": 7, "reasoning": {}}, ""),
        (None, ""),
    ],
)
def test_the_text_is_found_wherever_it_stands(message: Any, text: str) -> None:
    assert read_reply(completion(message)).text == text


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
    assert read_reply(completion({"content": YES}, finish_reason=reason)).ending == ending


@catalogue("usage", [None, [], {}, {"prompt_tokens": None}, {"prompt_tokens": "9"}, {"prompt_tokens": 1e300}])
def test_tokens_that_are_not_counted_are_none(usage: Any) -> None:
    body = {"choices": [{"message": {"content": YES}, "finish_reason": "stop"}], "usage": usage, "model": None}
    reply = read_reply(json.dumps(body).encode())
    assert (reply.usage, reply.model) == ((0, 0, 0), "")


@catalogue("body", [b"", b"text", b"[]", b"{}", b"\xff", b'{"choices": {}}', b"[" * 100_000, b"data: x"])
def test_anything_else_is_no_reply(body: bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        read_reply(body)


def text(said: str, ending: Any = "stop", *, is_json: bool = True, is_free: bool = False, reasoning: str = "") -> str:
    return text_of(Reply(text=said, ending=ending, reasoning=reasoning), 64, is_json=is_json, is_free=is_free)


def test_json_that_is_whole_counts_though_it_was_cut_and_nothing_else_does() -> None:
    assert text(f"{YES}   \n", "cut").strip() == YES
    assert text("Well,", "cut", is_json=False) == "Well,"
    for said in ("", YES[:-1], "Well,", '"yes"'):
        with pytest.raises(UnusableAnswerError, match=r"^the answer was cut at 64 tokens; raise llm.num_predict$"):
            text(said, "cut")


def test_an_answer_whose_end_is_not_said_counts_if_its_json_is_whole() -> None:
    assert text(YES, "unstated") == YES
    assert text(f"Well: {YES}", "unstated", is_free=True) == f"Well: {YES}"
    for said, is_free in ((f"Well: {YES}", False), (YES[:-1], True)):
        with pytest.raises(UnusableAnswerError, match="stopped before the end"):
            text(said, "unstated", is_free=is_free)


def test_reasoning_is_no_part_of_an_answer_and_a_tag_in_one_is() -> None:
    assert text(f'<think>Perhaps {{"answer": "no"}}?</think>\n{YES}') == YES
    assert text('{"text": "I <think> so"}') == '{"text": "I <think> so"}'


def test_an_answer_that_says_nothing_is_a_refusal_unless_the_model_thought() -> None:
    with pytest.raises(RefusedAnswerError, match="the answer is empty"):
        text("")
    with pytest.raises(UnusableAnswerError, match="the answer is empty") as caught:
        text("", reasoning="Hm.")
    assert not isinstance(caught.value, RefusedAnswerError)
    with pytest.raises(RefusedAnswerError, match="refuses to answer"):
        text("I cannot", "refused")


def test_fields_of_the_users_own_go_over_those_of_a_question() -> None:
    body = {"seed": 1, "options": {"num_ctx": 2, "top_k": 3}}
    assert added(body, {"seed": None, "options": {"top_k": 9}, "user": "me"}) == {
        "options": {"num_ctx": 2, "top_k": 9},
        "user": "me",
    }
    assert body == {"seed": 1, "options": {"num_ctx": 2, "top_k": 3}}
