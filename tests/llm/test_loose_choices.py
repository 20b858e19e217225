"""Choices in the loose wordings of small models: read as the option that is meant, or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from enum import StrEnum
from pathlib import Path
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from prism.errors import OracleResponseError
from prism.llm import OpenAICompatClient
from prism.llm.answer import LOOSE_CHARS_MAX, loose_choice, read_choice
from prism.llm.oracle import SocialModelOracle
from prism.statechart import AgentState
from tests.catalogue import catalogue
from tests.llm.support import OPTIONS, Person, config_for
from tests.standin import ModelServer, ServerSettings, SystemOne
from tests.wire.support import config, run

LIKE = "engaging_like"

LOOSE = {
    "title_case": '{"next_state": "Engaging Like"}',
    "capitals": '{"next_state": "ENGAGING_LIKE"}',
    "camel_case": '{"next_state": "engagingLike"}',
    "full_stop": '{"next_state": "engaging_like."}',
    "key_in_capitals": '{"NEXT_STATE": "engaging_like"}',
    "key_in_camel_case": '{"nextState": "engaging_like"}',
    "single_quotes": "{'next_state': 'engaging_like'}",
    "no_quotes": "{next_state: engaging_like}",
    "typographic_quotes": "{“next_state”: “engaging_like”}",
    "comma_too_many": '{"next_state": "engaging_like",}',
    "two_objects": '{"next_state": "engaging_like"}\n{"next_state": "engaging_like"}',
    "two_loose_objects": "{'next_state': 'engaging_like'} {'next_state': 'Engaging like'}",
    "bare_word": "engaging_like",
    "word_in_quotes": '"engaging_like"',
    "bold": "**engaging_like**",
    "fenced_object": "```json\n{'next_state': 'engaging_like'}\n```",
    "object_in_prose": "Here is my answer: {'next_state': 'engaging_like'}",
    "after_a_thought": "<think>scrolling is dull</think>Engaging like",
}

UNCLEAR = {
    "negated": "not engaging_like",
    "negated_in_an_object": '{"next_state": "not engaging_like"}',
    "shouted": "!engaging_like",
    "a_part": '{"next_state": "engaging"}',
    "another_word": '{"next_state": "liking"}',
    "two_words": "engaging_like or composing",
    "two_options_in_one_text": '{"next_state": "scrolling | composing"}',
    "an_option_and_none": "{'next_state': 'composing', 'next_state': 'dancing'}",
    "another_option_in_a_comment": "{'next_state': 'composing' // or scrolling\n}",
    "another_option_around": "{'next_state': 'composing'} rather than scrolling",
    "two_loose_objects": "{'next_state': 'scrolling'} {'next_state': 'composing'}",
    "a_comment": '{"next_state": "composing" // I like trains\n}',
    "a_list": "{'next_state': ['composing', 'scrolling']}",
    "a_label": "next_state: composing",
    "prose": "I would go with composing, I think.",
    "another_key": "{'state': 'composing'}",
    "nothing": " ",
}


WORDED = {
    "engaging_like": "like_the_post",
    "Engaging Like": "Like The Post",
    "Engaging like": "Like the post",
    "ENGAGING_LIKE": "LIKE_THE_POST",
    "engagingLike": "likeThePost",
    "next_state": "choice",
    "NEXT_STATE": "CHOICE",
    "nextState": "Choice",
}
"""`{text in an answer about states: the same about the words for them}`."""


def own(names: Sequence[str]) -> list[StrEnum]:
    """Return options with these names."""
    kind: Any = StrEnum
    return list(kind("Own", [(f"O{number}", name) for number, name in enumerate(names)]))


def parsed(text: str, options: Sequence[StrEnum]) -> StrEnum | None:
    """Return the option that the oracle reads in a text; None if it reads none."""
    try:
        return read_choice(text, options)[0]
    except OracleResponseError:
        return None


@catalogue("text", LOOSE.values())
def test_a_loose_wording_is_the_option_that_it_can_only_mean(text: str) -> None:
    assert parsed(text, OPTIONS) is AgentState.ENGAGING_LIKE


@catalogue("text", UNCLEAR.values())
def test_what_may_mean_something_else_is_not_taken(text: str) -> None:
    assert parsed(text, OPTIONS) is None


@catalogue(
    ("names", "text", "meant"),
    [
        (("go", "Go"), "GO", None),
        (("go", "Go"), '{"next_state": "GO"}', None),
        (("go", "Go"), '{"next_state": "go"}', "go"),
        (("Go", "go"), '{"next_state": "go"}', "go"),
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
    found = parsed(text, own(names))
    assert (None if found is None else found.value) == meant


Wording = Callable[[str], str]
NAMES: dict[str, Wording] = {
    "as_it_is": str,
    "title": lambda name: name.replace("_", " ").title(),
    "spaces": lambda name: name.replace("_", " "),
    "hyphens": lambda name: name.replace("_", "-"),
    "full_stop": lambda name: f"{name}.",
    "negated": lambda name: f"not {name}",
    "cut": lambda name: name[:-1],
}
TEXTS: dict[str, Callable[[str, str], str]] = {
    "json": lambda key, name: json.dumps({key: name}),
    "python": lambda key, name: f"{{'{key}': '{name}'}}",
    "comma": lambda key, name: f'{{"{key}": "{name}",}}',
    "comment": lambda key, name: f'{{"{key}": "{name}" // sure\n}}',
    "quotes": lambda key, name: f"{{“{key}”: “{name}”}}",
    "word": lambda _, name: name,
    "fence": lambda key, name: f"```json\n{{'{key}': '{name}'}}\n```",
    "denied": lambda key, name: f"Never {{'{key}': '{name}'}}",
}


def letters(name: str) -> str:
    return re.sub(r"[_\- .]+", "", name).lower()


words = st.text("abAB_-1 .", min_size=1, max_size=6).filter(lambda name: name[-1].isalnum() and name[0] not in "_ .")
wordings = st.tuples(
    st.sampled_from(sorted(NAMES)),
    st.sampled_from(sorted(TEXTS)),
    st.sampled_from(["next_state", "Next_State", "next state", "nextState"]),
)


@given(st.data(), wordings)
def test_the_choice_of_random_options_in_random_words_is_the_right_one_or_none(
    data: st.DataObject, drawn: tuple[str, str, str]
) -> None:
    (wording, text, key), options = drawn, own(data.draw(st.lists(words, min_size=2, max_size=5, unique=True)))
    said = data.draw(st.lists(st.sampled_from(options), min_size=1, max_size=2))
    worded = [NAMES[wording](option.value) for option in said]
    assume(wording != "cut" or not {letters(option) for option in options} & {letters(each) for each in worded})
    values = {option.value for option in options}
    assume(all(each == option or each not in values for option, each in zip(said, worded, strict=True)))
    found = parsed("\n".join(TEXTS[text](key, each) for each in worded), options)
    means_none = wording in ("negated", "cut") or text == "denied" or (len(set(said)) > 1 and text != "json")
    assert found in ((None,) if means_none else (None, said[-1])), worded


@catalogue("piece", ["{", "{'a':", "'", "{'a': 'b',", "/*", "//", "{#", "“", "a, ", "{a:b} ", "{'a': '\\"])
def test_the_longest_text_is_read(piece: str) -> None:
    assert loose_choice((piece * LOOSE_CHARS_MAX)[:LOOSE_CHARS_MAX], "next_state", ["a", "b"]) is None
    assert loose_choice(piece * LOOSE_CHARS_MAX + "\na", "next_state", ["a", "b"]) is None


def in_words(text: str) -> str:
    """Return an answer about states as one about the words for them."""
    for name, words in WORDED.items():
        text = text.replace(name, words)
    return text


def saying(*texts: str) -> ServerSettings:
    """Return the settings of a server that keeps no format, and says these texts in turn when a person is asked."""
    turn = iter(range(10**6))

    def say(messages: Sequence[Mapping[str, object]], _options: object, _form: object) -> str:
        if any("sky" in str(message["content"]) for message in messages):
            return "{'Answer': 'Yes'}"
        return texts[next(turn) % len(texts)]

    return ServerSettings(reply=say, quirks=("format_ignored",), systemone=SystemOne.OFF)


async def test_a_model_that_words_its_choices_loosely_is_counted_as_loose_choice(tmp_path: Path) -> None:
    with ModelServer(saying(*map(in_words, LOOSE.values()))) as server:
        summary = await run(config(server.url, oracle={"backend": "openai"}, population={"size": 150}), tmp_path)
    assert summary.oracle_questions > len(LOOSE)
    assert summary.decisions_by_method == {"repaired": summary.oracle_questions}
    assert summary.fallbacks == 0


async def test_an_unclear_answer_is_asked_again_and_the_repaired_ones_are_counted_beside_the_others(
    tmp_path: Path,
) -> None:
    exact = json.dumps({"choice": "like the post"})
    with ModelServer(saying("not like the post", exact, "Like The Post.", exact)) as server:
        oracle = {"backend": "openai", "max_concurrency": 1, "max_attempts": 3}
        summary = await run(config(server.url, oracle=oracle, population={"size": 40}), tmp_path)
    methods = summary.decisions_by_method
    assert methods.keys() == {"json", "repaired"}
    assert sum(methods.values()) == summary.oracle_questions
    assert summary.retries_by_reason["invalid_response"] >= methods["repaired"] > 0


async def test_a_loosely_worded_answer_with_a_text_keeps_its_text() -> None:
    said = "{'choice': 'Write a Response or Original-Content', 'text': 'It is a long line', 'reason': 'trains',}"
    settings = ServerSettings(reply=lambda *_: said, quirks=("format_ignored",))
    async with ModelServer(settings) as server, aclosing(OpenAICompatClient(config_for(server), {})) as model:
        oracle = SocialModelOracle(model, config_for(server), 1, writers=[AgentState.COMPOSING])
        answer = await oracle.answer(Person(), AgentState.EVALUATING, "decides", OPTIONS)
    assert (answer.state, answer.method) == (AgentState.COMPOSING, "repaired")
    assert json.loads(answer.content) == {"text": "It is a long line", "reason": "trains"}
