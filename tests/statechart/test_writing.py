"""Texts that a model writes with its choice: one line, bounded, and only where a text belongs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.errors import OracleResponseError
from prism.statechart import AgentState
from prism.statechart.oracle import REASON_CHARS, TEXT_CHARS, Written, one_line, parse_written, writing_schema
from tests.catalogue import catalogue

SCROLLING, COMPOSING = AgentState.SCROLLING, AgentState.COMPOSING
KEY = "choice"
OPTIONS, WRITERS = [SCROLLING, COMPOSING], [COMPOSING]


def said(state: str, **fields: object) -> str:
    return json.dumps({KEY: state, **fields})


@given(st.text() | st.text(st.characters(categories=["Cc", "Cf", "Zs", "Zl", "Zp", "Cs"])), st.integers(1, 300))
def test_a_text_is_one_visible_line_that_utf_8_can_hold(text: str, most: int) -> None:
    line = one_line(text, most)
    assert len(line) <= most
    assert line.isprintable()
    assert line == line.strip()
    assert line.encode().decode() == line


def test_the_text_and_the_reason_of_a_writing_state_are_taken_and_cut() -> None:
    answer = said("COMPOSING", text=f"Hello\n\x1b[31m there {'x' * 500}", reason="y" * 500)
    state, written = parse_written(answer, OPTIONS, WRITERS, KEY)
    assert state is COMPOSING
    assert written.text.startswith("Hello [31m there xxx")
    assert (len(written.text), len(written.reason)) == (TEXT_CHARS, REASON_CHARS)


def test_a_text_where_none_belongs_is_left_out() -> None:
    found = parse_written(said("scrolling", text="Hello", reason="Nothing new."), OPTIONS, WRITERS, KEY)
    assert found == (SCROLLING, Written(reason="Nothing new."))


@catalogue("fields", [{}, {"text": None}, {"text": 7, "reason": ["no"]}, {"text": " \n "}])
def test_a_choice_without_a_text_is_a_choice(fields: dict[str, object]) -> None:
    assert parse_written(said("composing", **fields), OPTIONS, WRITERS, KEY) == (COMPOSING, Written())


def test_an_answer_that_names_no_option_has_no_text_either() -> None:
    with pytest.raises(OracleResponseError, match="no such option as 'resting'"):
        parse_written(said("resting", text="Hello"), OPTIONS, WRITERS, KEY)


def test_the_schema_has_the_options_and_no_lengths() -> None:
    schema = writing_schema(OPTIONS, KEY)
    assert schema["properties"][KEY]["enum"] == ["scrolling", "composing"]
    assert schema["required"] == list(schema["properties"])
    assert "maxLength" not in json.dumps(schema)
