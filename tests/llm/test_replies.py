"""The text that counts in an answer: JSON in whatever stands around it, and the replies of both protocols."""

import json
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.errors import OracleResponseError
from prism.llm.answer import extract_object, json_objects, read_choice
from prism.llm.http import RefusedAnswerError, Reply, UnusableAnswerError, read_reply, text_of
from prism.llm.model_client import added
from tests.catalogue import catalogue
from tests.llm.support import OPTIONS

LIKE, SCROLL, COMPOSE = (f'{{"next_state": "{each}"}}' for each in ("engaging_like", "scrolling", "composing"))

READ = {
    "json": LIKE,
    "blanks": f" \n{LIKE}\t",
    "capitals": '{"next_state": "ENGAGING_LIKE"}',
    "a_field_more": '{"next_state": "engaging_like", "why": "it is {fun}"}',
    "a_tag_in_a_text": '{"thought": "<think>", "next_state": "engaging_like"}',
    "in_prose": f"I think:\n```json\n{LIKE}\n``` {{see above}}",
    "after_thoughts": f"<think>Maybe {COMPOSE}? No</think>{LIKE}",
    "after_thoughts_whose_beginning_is_lost": f"Maybe {COMPOSE}? No</think>{LIKE}",
    "after_thoughts_of_another_kind": f"[THINK]{COMPOSE}[/THINK]<REASONING effort='low'>{COMPOSE}</REASONING> {LIKE}",
    "before_thoughts": f"{LIKE}<think>or {COMPOSE}",
    "the_last_of_several": f'First {COMPOSE}, then {LIKE}, not {{"next_state": "dancing"}} or {{}}.',
    "thoughts_that_never_end": f"<think>Maybe {COMPOSE}? No{LIKE}",
}
UNCLEAR = {
    "thoughts_alone": f"<think>Maybe {LIKE}</think>",
    "thoughts_and_prose": f"{LIKE}</think> I do not know",
    "a_word": "engaging_like",
    "negated": '{"next_state": "not engaging_like"}',
    "a_part": '{"next_state": "engaging"}',
    "two_options_in_one_text": '{"next_state": "scrolling | composing"}',
    "no_json": "{'next_state': 'composing'}",
    "a_list": '{"next_state": ["composing", "scrolling"]}',
    "another_key": '{"state": "composing"}',
    "nothing": " ",
    "no_object": "{}",
}


def read(text: str) -> str | None:
    """Return the option in a text; None if it names none."""
    try:
        return read_choice(text, OPTIONS).value
    except OracleResponseError:
        return None


def test_an_option_is_read_wherever_it_is_named_and_nothing_else_is_taken_for_one() -> None:
    for name, text in READ.items():
        assert (name, read(text)) == (name, "engaging_like")
    for name, text in UNCLEAR.items():
        assert (name, read(text)) == (name, None)


@catalogue(
    ("text", "found"),
    [
        ("none", None),
        ("{", None),
        ('a {"b": "}"} c', {"b": "}"}),
        ('{"a": {"b": 1}} {"c": 2}', {"c": 2}),
        ('{"a": {"b": 1}} {x}', {"a": {"b": 1}}),
        ('{"a": {"b": 1}, oops}', {"b": 1}),
        ('{"a": 01} {"a": "\n"} {"a": "\\x"} {"a": NaN}', None),
        ('{"a": "quoted {"b": 1}', {"b": 1}),
        ('{"a":' * 50_000, None),
    ],
)
def test_the_last_whole_object_is_found(text: str, found: object) -> None:
    extracted = extract_object(text)
    assert (None if extracted is None else json.loads(extracted)) == found


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
# A colon in front of an object could make it a part of another one, and a tag could make it reasoning.
prose = st.text(alphabet='{}[]",\\ \n`ax1é', max_size=30)


@given(before=prose, after=prose, rest=st.dictionaries(st.text(), scalars, max_size=2))
def test_an_object_is_found_whole_in_any_prose(before: str, after: str, rest: dict[str, Any]) -> None:
    answer = {"next_state": "scrolling", **rest}
    text = f"{before}\n```json\n{json.dumps(answer, ensure_ascii=False)}\n```\n{after}"
    assert answer in [json.loads(found) for found in json_objects(text)]


PIECES = ("{", '{"a":', '{"\\', '{"a":"', "{}", '{"a":[{},', "<think>", "</think>", "<", '{"a{\n', '{"a":1,')


def test_the_time_is_linear_in_the_length() -> None:
    def seconds(piece: str, size: int) -> float:
        text, begun = piece * (size // len(piece)), process_time()
        assert read(text) is None
        return process_time() - begun

    for (
        piece
    ) in PIECES:  # quadratic time would be four hundred times as long; the rest is for the clock and the machine
        assert seconds(piece, 200_000) < 100 * seconds(piece, 10_000) + 0.5, piece


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
