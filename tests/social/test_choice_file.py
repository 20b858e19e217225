"""Files of choices that people made: how they are read, and what is refused."""

from __future__ import annotations

import pytest

from prism.errors import InputError
from prism.social.choice_file import GivenChoice, parse_choices
from tests.catalogue import catalogue

KINDS = {
    ("evaluating", "decides"): ("scrolling", "engaging_like"),
    ("composing", "decides"): ("engaging_reply", "scrolling"),
}


def parsed(text: str, source: str = "c.csv") -> list[GivenChoice]:
    return parse_choices(text.encode(), source, 10, KINDS)


def test_a_row_is_a_person_a_post_and_what_was_done() -> None:
    [found] = parsed("did,person,topics,followed,likes,author,text\nengaging_like,3,food; sport,true,7,Ann,Hello\n")
    assert (found.line, found.person, found.state, found.trigger) == (2, 3, "evaluating", "decides")
    assert (found.did, found.options) == ("engaging_like", ("scrolling", "engaging_like"))
    shown = found.shown
    assert (shown.topics, shown.followed, shown.likes) == (("food", "sport"), True, 7)
    assert (shown.author_name, shown.text, shown.topic_match, shown.popularity) == ("Ann", "Hello", -1.0, -1.0)


def test_a_file_of_json_says_the_same() -> None:
    [found] = parsed('[{"did": "scrolling", "person": 0, "state": "composing", "fatigue": 0.5}]', "c.json")
    assert (found.line, found.state, found.shown.fatigue) == (1, "composing", 0.5)


@catalogue(
    ("text", "message"),
    [
        ("", "c.csv: is empty: expected at least one choice"),
        ("person,did\n", "c.csv: holds no choices: expected at least one line below the header"),
        ("person,text\n1,x\n", "c.csv:1: missing column: did; expected some of person, did, trigger"),
        ("person,did,mood\n1,scrolling,x\n", "c.csv:1: unknown column: mood; expected some of person"),
        ("person,did\n10,engaging_like\n", "c.csv:2: person: expected a person of the run, from 0 to 9, got 10"),
        ("person,did\nx,engaging_like\n", "c.csv:2: person: expected a number, got 'x'"),
        ("person,did\n1,like\n", "c.csv:2: did: expected an option of a question (decides in evaluating: scrolling"),
        ("person,did\n1,scrolling\n", "c.csv:2: trigger: scrolling may answer several questions: decides in eval"),
        ("person,did,fatigue\n1,engaging_like,2\n", "c.csv:2: fatigue: expected a number from 0 to 1, got 2"),
        ("person,did,likes\n1,engaging_like,1.5\n", "c.csv:2: likes: expected a whole number, 0 or more, got 1.5"),
        ("person,did,quality\n1,engaging_like,0\n", "c.csv:2: quality: expected a number above 0, got 0"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        parsed(text)
    assert str(refused.value).startswith(message)
