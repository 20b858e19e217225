"""HTML from elements: no text can become markup."""

from html.parser import HTMLParser

import pytest

from actors.pages.html import page, rendered, tag
from prism.quoting import visible
from tests.catalogue import catalogue
from tests.hostile_texts import TEXTS


class Seen(HTMLParser):
    """What a parser finds: elements, attributes and text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[str] = []
        self.attributes: dict[str, str | None] = {}
        self.text = ""

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append(name)
        self.attributes |= dict(attributes)

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(html: str) -> Seen:
    seen = Seen()
    seen.feed(html)
    seen.close()
    return seen


@catalogue("text", TEXTS.values())
def test_a_text_stays_a_text(text: str) -> None:
    seen = parsed(rendered(tag("p", text, title=text, class_="a")))
    assert seen.elements == ["p"]
    assert seen.attributes == {"title": visible(text), "class": "a"}
    assert seen.text.strip("\n") == visible(text).strip("\n")


@catalogue("name", ["p onclick=x", "script>", "", "on", "onclick"])
def test_only_names_name_elements_and_attributes(name: str) -> None:
    with pytest.raises(ValueError, match="expected the name"):
        tag(name)


def test_a_page_is_a_whole_document() -> None:
    html = page(tag("head", tag("title", "a < b")), tag("body", tag("br"), "x", None))
    assert html.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert "a &lt; b" in html
    assert "</br>" not in html
