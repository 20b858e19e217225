"""The file of a questionnaire: what it says, and what is refused with its line."""

from __future__ import annotations

import pytest

from prism.config.attributes import AttributeConfig
from prism.errors import ConfigError
from prism.survey import EmbeddedAnswers, read_questionnaire
from tests.catalogue import catalogue

FILE = """
at: {before: 2, after: 8}
repeat: 3
questions:
  - id: trust
    text: How much do you
      trust the news?
    scale: [-3, 3]
    labels: [not at all, very much]
  - {id: side, text: "Which side?", options: ["yes", "no", maybe]}
  - {id: why, text: "Why?", open: true}
"""


def read(text: str) -> str:
    with pytest.raises(ConfigError) as refused:
        read_questionnaire(text, "asked.yaml")
    return str(refused.value)


def question(keys: str) -> str:
    return f"at: 1\nquestions:\n  - {{id: a, text: b, open: true}}\n  - {{id: c, text: d, {keys}}}\n"


def test_a_file_says_what_is_asked_when_and_how_often() -> None:
    found = read_questionnaire(FILE, "asked.yaml")
    assert (found.at, found.repeat) == ({"before": 2, "after": 8}, 3)
    trust, side, why = found.items
    assert trust.text == "How much do you trust the news?"
    assert trust.choices == ("-3", "-2", "-1", "0", "1", "2", "3")
    assert side.choices == ("yes", "no", "maybe")
    assert why.choices == ()
    assert [option.value for option in side.states] == ["yes", "no", "maybe"]


@catalogue(
    ("text", "problem"),
    [
        (question("opn: true"), "asked.yaml:4: questions[1].opn: unknown key; did you mean open?"),
        (question("labels: [x, y]"), "asked.yaml:4: questions[1].id: expected one of options, scale and open: true"),
        (question("open: true, scale: [1, 7]"), "for the question c, got scale and open"),
        (question("scale: [1]"), "asked.yaml:4: questions[1].scale: expected two whole numbers, the lowest"),
        (question("scale: [0, 101]"), "at most 100 apart"),
        (question("scale: [1, 7], labels: [x]"), "expected two texts, for the ends of a scale, got 1"),
        (question("options: [x]"), "expected 2 to 50 options, got 1"),
        (question("options: [x, X]"), "questions[1].options[1]: expected another option than those before it, got 'X'"),
        (question("options: [x, '  ']"), "questions[1].options[1]: expected 1 to 100 characters, got 0"),
        (question("options: [x, y], labels: [u, v]"), "questions[1].labels: expected none: only a scale has labels"),
        (question("open: true").replace("id: c", "id: A"), "asked.yaml:4: questions[1].id: expected an id of its own"),
        (question("open: true").replace("id: c", "id: 2nd"), "questions[1].id: expected at most 60 letters"),
        (question("open: true").replace("text: d", "text: ''"), "questions[1].text: expected 1 to 2,000 characters"),
        (question("open: true").replace("at: 1", "at: {}"), "asked.yaml:1: at: expected 1 to 20 moments, got 0"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(text: str, problem: str) -> None:
    told = read(text)
    assert problem in told
    assert "\n" not in told


@catalogue(
    ("keys", "problem"),
    [
        ("scale: [1, 7]", "asked.yaml:4: c.answer: is missing"),
        (
            "scale: [1, 7], answer: agent.age > 3",
            "c.answer: column 1 of 'agent.age > 3': expected a number, found a condition",
        ),
        ("scale: [1, 7], answer: post.likes", "unknown field post.likes"),
        ("options: [left, up], answer: agent.camp", "c.answer: may give 'right', which is none of the options"),
    ],
)
def test_an_expression_that_gives_no_answer_of_its_kind_is_refused(keys: str, problem: str) -> None:
    asked = read_questionnaire(
        question(keys).replace("open: true}\n  -", "scale: [1, 2], answer: '1'}\n  -"), "asked.yaml"
    )
    declared = {
        "age": AttributeConfig(type="int", min=0, max=99),
        "camp": AttributeConfig(type="text", values=("left", "right")),
    }
    with pytest.raises(ConfigError) as refused:
        EmbeddedAnswers(asked, declared, seed=1)
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)
