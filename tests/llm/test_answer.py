"""The JSON objects in a text: found in whatever stands around them, in linear time."""

from __future__ import annotations

import json
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.errors import OracleResponseError
from prism.llm.answer import extract_object, json_objects, read_answer, without_reasoning
from prism.llm.reply import Reply, text_of
from prism.statechart import AgentState, parse_oracle_response
from tests.catalogue import catalogue

COMPOSING, SCROLLING = '{"next_state": "composing"}', '{"next_state": "scrolling"}'
OPTIONS = [AgentState.COMPOSING, AgentState.SCROLLING]


def decided(text: str) -> AgentState:
    return read_answer(text, lambda part: parse_oracle_response(part, OPTIONS), (OracleResponseError,))


@catalogue(
    ("text", "found"),
    [
        ("none", None),
        ("{", None),
        ('a {"b": "}"} c', {"b": "}"}),
        ('{"a": {"b": 1}} {"c": 2}', {"c": 2}),
        ('{"a": {"b": 1}} {x}', {"a": {"b": 1}}),
        ('{"y": 1} {x}', {"y": 1}),
        ('{"a": {"b": 1}, oops}', {"b": 1}),
        ('{"a": [1, -2.5e3, true, null, {}, [], {"b": "\\"}{\\u00e9"}]}', None),
        ('{"a": 01} {"a": "\n"} {"a": "\\x"}', None),
        ('a "quoted { {"b": 1}', {"b": 1}),
        ('{"quoted {"b": 1}', {"b": 1}),
        ('{"a": "quoted {"b": 1}', {"b": 1}),
        ('{"a":' * 50_000, None),
    ],
)
def test_the_last_whole_object_is_found(text: str, found: object) -> None:
    extracted = extract_object(text)
    expected = json.loads(text) if text.startswith('{"a": [1') else found
    assert (None if extracted is None else json.loads(extracted)) == expected


@catalogue(
    "text",
    [
        f"<think>Maybe {COMPOSING}? No</think>{SCROLLING}",
        f"<think>Maybe {COMPOSING}? No{SCROLLING}",
        f"Maybe {COMPOSING}? No</think>{SCROLLING}",
        f"<thinking>{COMPOSING}</thinking>\n```json\n{SCROLLING}\n```",
        f"<REASONING effort='low'>{COMPOSING}</REASONING> {SCROLLING}",
        f"<thought>a <think> b {COMPOSING}</thought>{SCROLLING}",
        f"<think><think>a</think>{COMPOSING}</think>{SCROLLING}",
        f"[THINK]{COMPOSING}[/THINK]{SCROLLING}",
        f"{SCROLLING}<think>or {COMPOSING}</think>",
        f"{SCROLLING}<think>or {COMPOSING}",
        f'First {COMPOSING}, then {SCROLLING}, not {{"next_state": "dancing"}} or {{}}.',
        f"{SCROLLING} {{see above}}",
        '{"thought": "<think>", "next_state": "scrolling"}',
    ],
)
def test_the_last_object_that_names_an_option_and_is_no_reasoning_counts(text: str) -> None:
    assert decided(text) is AgentState.SCROLLING


@catalogue(
    "text", [f"<think>Maybe {COMPOSING}</think>", f"{COMPOSING}</think> I do not know", "<think>", "</think>", "", "{}"]
)
def test_reasoning_alone_is_no_answer(text: str) -> None:
    with pytest.raises(OracleResponseError):
        decided(text)


def test_the_problem_named_is_that_of_the_last_object() -> None:
    with pytest.raises(OracleResponseError, match="dancing"):
        decided('{"next_state": "singing"} {"next_state": "dancing"}')


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
json_values = scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.text(), scalars, max_size=2)
# A colon in front of an object could make it a part of another one, and a tag could make it reasoning.
prose = st.text(alphabet='{}[]",\\ \n`ax1é', max_size=30)


@given(
    before=prose,
    after=prose,
    rest=st.dictionaries(st.text(), json_values, max_size=2),
    is_fenced=st.booleans(),
    indent=st.sampled_from([None, 2]),
    is_ascii=st.booleans(),
)
def test_an_object_is_found_whole_in_any_prose(
    before: str, after: str, rest: dict[str, Any], is_fenced: bool, indent: int | None, is_ascii: bool
) -> None:
    answer = {"next_state": "scrolling", **rest}
    said = json.dumps(answer, indent=indent, ensure_ascii=is_ascii)
    text = f"{before}\n```json\n{said}\n```\n{after}" if is_fenced else f"{before}{said}{after}"
    assert answer in [json.loads(found) for found in json_objects(text)]


@given(st.text(alphabet='{}[]":,\\ a1', max_size=60))
def test_all_that_is_found_is_json_and_in_its_order(text: str) -> None:
    at = 0
    for found in json_objects(text):
        assert isinstance(json.loads(found), dict)
        at = text.index(found, at) + len(found)


@given(prose, st.sampled_from(["think", "thinking", "reasoning", "thought"]), prose)
def test_text_outside_of_reasoning_stays(before: str, tag: str, inside: str) -> None:
    said, unfinished = without_reasoning(f"{before}<{tag}>{inside}</{tag}>after")
    assert (said, unfinished) == (f"{before}\nafter", "")


@catalogue(
    "piece",
    [
        "{",
        "{ ",
        '{"a":',
        '{"',
        '{"\\',
        '{"a":"',
        "{}",
        '{"a":[{},',
        "[",
        "<think>",
        "</think>",
        "<",
        '{"a{\n',
        '{"a":1,',
    ],
)
def test_the_time_is_linear_in_the_length(piece: str) -> None:
    def seconds(size: int) -> float:
        text, begun = piece * (size // len(piece)), process_time()
        with pytest.raises(OracleResponseError):
            decided(text)
        return process_time() - begun

    # Quadratic time would be four hundred times as long; the rest is for the clock and the machine.
    assert seconds(200_000) < 100 * seconds(10_000) + 0.2


@catalogue(
    ("content", "text"),
    [
        (f"<think>{COMPOSING}</think> {SCROLLING}", SCROLLING),
        (f"<think>{COMPOSING}, no: {SCROLLING}", f"{COMPOSING}, no: {SCROLLING}"),
        (f"{SCROLLING}<think>{COMPOSING}", SCROLLING),
    ],
)
def test_a_server_that_thinks_in_its_answers_is_read_without_its_thoughts(content: str, text: str) -> None:
    assert text_of(Reply(text=content, ending="stop"), 64, is_json=True) == text
    assert decided(text) is AgentState.SCROLLING
