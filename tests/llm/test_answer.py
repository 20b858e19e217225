"""The answer in a text: JSON in whatever stands around it, and loose wordings that can mean one option alone."""

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.errors import OracleResponseError
from prism.llm.answer import extract_object, json_objects, loose_choice, read_choice
from prism.llm.reply import Reply, text_of
from prism.statechart import AgentState
from tests.catalogue import catalogue
from tests.llm.support import OPTIONS
from tests.standin import ModelServer, ServerSettings, SystemOne
from tests.wire.support import config, run

LIKE, SCROLL, COMPOSE = (f'{{"next_state": "{each}"}}' for each in ("engaging_like", "scrolling", "composing"))

EXACT = {
    "json": LIKE,
    "blanks": f" \n{LIKE}\t",
    "a_field_more": '{"next_state": "engaging_like", "why": "it is {fun}"}',
    "a_tag_in_a_text": '{"thought": "<think>", "next_state": "engaging_like"}',
    "in_prose": f"I think:\n```json\n{LIKE}\n``` {{see above}}",
    "after_thoughts": f"<think>Maybe {COMPOSE}? No</think>{LIKE}",
    "after_thoughts_whose_beginning_is_lost": f"Maybe {COMPOSE}? No</think>{LIKE}",
    "after_thoughts_of_another_kind": f"[THINK]{COMPOSE}[/THINK]<REASONING effort='low'>{COMPOSE}</REASONING> {LIKE}",
    "before_thoughts": f"{LIKE}<think>or {COMPOSE}",
}
REPAIRED = {
    "the_last_of_several": f'First {COMPOSE}, then {LIKE}, not {{"next_state": "dancing"}} or {{}}.',
    "thoughts_that_never_end": f"<think>Maybe {COMPOSE}? No{LIKE}",
    "title_case": '{"next_state": "Engaging Like"}',
    "capitals": '{"next_state": "ENGAGING_LIKE"}',
    "camel_case": '{"nextState": "engagingLike"}',
    "full_stop": '{"next_state": "engaging_like."}',
    "key_in_capitals": '{"NEXT_STATE": "engaging_like"}',
    "bare_word": "engaging_like",
    "word_in_quotes": '"engaging_like"',
    "bold": "**Engaging like.**",
    "word_after_a_thought": "<think>scrolling is dull</think>Engaging like",
}
UNCLEAR = {
    "thoughts_alone": f"<think>Maybe {LIKE}</think>",
    "thoughts_and_prose": f"{LIKE}</think> I do not know",
    "negated": "not engaging_like",
    "negated_in_an_object": '{"next_state": "not engaging_like"}',
    "shouted": "!engaging_like",
    "a_part": '{"next_state": "engaging"}',
    "another_word": '{"next_state": "liking"}',
    "two_words": "engaging_like or composing",
    "two_options_in_one_text": '{"next_state": "scrolling | composing"}',
    "no_json": "{'next_state': 'composing'}",
    "a_list": '{"next_state": ["composing", "scrolling"]}',
    "a_label": "next_state: composing",
    "prose": "I would go with composing, I think.",
    "another_key": '{"state": "composing"}',
    "nothing": " ",
    "no_object": "{}",
}


def read(text: str, options: Sequence[Any] = OPTIONS) -> tuple[str | None, str]:
    """Return the option in a text and the method; `(None, "")` if it names none."""
    try:
        option, method = read_choice(text, options)
    except OracleResponseError:
        return None, ""
    return option.value, method


def test_every_wording_is_read_as_the_option_that_it_can_only_mean_or_not_at_all() -> None:
    expected = {**dict.fromkeys(EXACT.items(), ""), **dict.fromkeys(REPAIRED.items(), "repaired")}
    for (name, text), method in expected.items():
        assert (name, read(text)) == (name, ("engaging_like", method))
    for name, text in UNCLEAR.items():
        assert (name, read(text)) == (name, (None, ""))


def test_a_loosely_worded_answer_keeps_its_other_texts() -> None:
    said = '{"Choice": "Write A Reply", "text": "It is a long line", "reason": "trains"}'
    found = loose_choice(said, "choice", ["write a reply", "scroll on"])
    assert json.loads(found or "") == {"choice": "write a reply", "text": "It is a long line", "reason": "trains"}


def test_the_problem_named_is_that_of_the_last_object() -> None:
    with pytest.raises(OracleResponseError, match="dancing"):
        read_choice('{"next_state": "singing"} {"next_state": "dancing"}', OPTIONS)


@catalogue(
    ("names", "text", "meant"),
    [
        (("go", "Go"), "GO", None),
        (("go", "Go"), '{"next_state": "GO"}', None),
        (("go", "Go"), '{"next_state": "go"}', "go"),
        (("re_post", "re post"), "Re-Post", None),
        (("not_now", "now"), "not now", "not_now"),
        (("now", "later"), "not now", None),
        (("1", "2"), "-1", None),
        (("12", "2"), "1 2", None),
        (("c++", "c"), "C.", "c"),
        (("été", "hiver"), "ÉTÉ", "été"),
    ],
)
def test_names_that_are_near_each_other_are_told_apart_or_not_taken(
    names: tuple[str, ...], text: str, meant: str | None
) -> None:
    kind: Any = StrEnum
    assert read(text, list(kind("Own", [(f"O{number}", name) for number, name in enumerate(names)])))[0] == meant


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
        assert read(text)[0] is None
        return process_time() - begun

    for (
        piece
    ) in PIECES:  # quadratic time would be four hundred times as long; the rest is for the clock and the machine
        assert seconds(piece, 200_000) < 100 * seconds(piece, 10_000) + 0.5, piece


@catalogue(
    ("content", "text"),
    [
        (f"<think>{COMPOSE}</think> {SCROLL}", SCROLL),
        (f"<think>{COMPOSE}, no: {SCROLL}", f"{COMPOSE}, no: {SCROLL}"),
        (f"{SCROLL}<think>{COMPOSE}", SCROLL),
    ],
)
def test_a_server_that_thinks_in_its_answers_is_read_without_its_thoughts(content: str, text: str) -> None:
    assert text_of(Reply(text=content, ending="stop"), 64, is_json=True) == text
    assert read(text)[0] == AgentState.SCROLLING


async def test_unclear_answers_are_asked_again_and_repaired_ones_are_counted(
    tmp_path: Path,
) -> None:
    loose = '{"Choice": "Write A Reply", "text": "It is a long line", "reason": "trains"}'
    exact, turn = json.dumps({"choice": "like the post", "text": "", "reason": ""}), iter(range(10**6))

    def say(messages: Sequence[Mapping[str, object]], _options: object, _form: object) -> str:
        if any("sky" in str(message["content"]) for message in messages):
            return '{"Answer": "Yes"}'
        return ("not like the post", exact, "Like The Post.", loose)[next(turn) % 4]

    settings = ServerSettings(reply=say, quirks=("format_ignored",), systemone=SystemOne.OFF)
    with ModelServer(settings) as server:
        oracle = {"backend": "openai", "max_concurrency": 1, "max_attempts": 3}
        chosen = config(server.url, oracle=oracle, llm={"writes": True}, population={"size": 40})
        summary = await run(chosen, tmp_path)
    methods = summary.decisions_by_method
    assert methods.keys() == {"json", "repaired"}
    assert sum(methods.values()) == summary.oracle_questions
    assert summary.retries_by_reason["invalid_response"] > 0
