"""HTML from elements: no text can become markup."""

from html.parser import HTMLParser

import pytest

from actors.pages.page import VOID, document, rendered, tag
from prism.quoting import visible
from tests.catalogue import catalogue
from tests.hostile_texts import TEXTS


class Page(HTMLParser):
    """What a parser finds: elements, attributes, texts, ids, addresses, and the rows of tables by their first cells."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements, self.addresses, self.ids = list[str](), list[str](), list[str]()
        self.attributes: dict[str, str | None] = {}
        self.rows: dict[str, list[str]] = {}
        self.text = ""
        self._open, self._row = list[str](), list[str]()
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append(name)
        self.attributes |= dict(attributes)
        self.addresses += [str(value) for key, value in attributes if key in {"href", "src", "xlink:href", "action"}]
        self.ids += [str(value) for key, value in attributes if key == "id"]
        self._open += [] if name in VOID else [name]
        if name == "tr":
            self._row = []
        elif name in {"td", "th"}:
            self._row.append("")

    def handle_endtag(self, name: str) -> None:
        assert self._open.pop() == name
        if name == "tr":
            self.rows.setdefault(self._row[0], self._row[1:])

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._open and self._open[-1] in {"td", "th"}:
            self._row[-1] += data


@catalogue("text", TEXTS.values())
def test_a_text_stays_a_text(text: str) -> None:
    seen = Page(rendered(tag("p", text, title=text, class_="a")))
    assert seen.elements == ["p"]
    assert seen.attributes == {"title": visible(text), "class": "a"}
    assert seen.text.strip("\n") == visible(text).strip("\n")


@catalogue("name", ["p onclick=x", "script>", "", "on", "onclick"])
def test_only_names_name_elements_and_attributes(name: str) -> None:
    with pytest.raises(ValueError, match="expected the name"):
        tag(name)


def test_a_page_is_a_whole_document() -> None:
    html = document("a < b", tag("header", tag("br"), "x", None), [], print)
    assert html.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert "a &lt; b" in html
    assert "</br>" not in html
