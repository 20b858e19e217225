"""The corpus of hostile texts: each is what its place says."""

from __future__ import annotations

import html
from html.parser import HTMLParser

from tests.catalogue import catalogue
from tests.hostile_texts import HARM, MARKUP, TERMINAL, UNICODE, harms_a_terminal


@catalogue("name", TERMINAL)
def test_a_terminal_text_is_recognised_and_its_repr_is_not(name: str) -> None:
    assert harms_a_terminal(TERMINAL[name])
    assert not harms_a_terminal(ascii(TERMINAL[name]))


def test_overrides_of_direction_are_recognised_and_plain_texts_are_not() -> None:
    assert harms_a_terminal(UNICODE["right_to_left_override"])
    assert not harms_a_terminal("two\nlines\tand a tab, 家族 \u05e9\u05dc")


def test_a_text_that_runs_in_a_page_begins_a_tag_that_the_escaped_text_does_not() -> None:
    assert tags_of(MARKUP["script"]) == ["script"]
    begun = {name: tags_of(text) for name, text in MARKUP.items() if "<" in text and HARM in text}
    assert len(begun) > 10
    assert [name for name in begun if tags_of(html.escape(MARKUP[name]))] == []


def tags_of(text: str) -> list[str]:
    """Return the tags that begin in a text, in lower case, as Python's parser of HTML finds them."""
    tags: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            tags.append(tag)

    Tags().feed(text)
    return tags
