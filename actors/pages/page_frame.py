"""The frame of a page that is one file: its head, its header, links to its sections, and the sections."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import unescape
from typing import NamedTuple

from actors.pages.card import Chart, as_svg, card
from actors.pages.html import Element, Node, page, tag
from actors.pages.style import report_css
from actors.plots.render import as_files
from prism.experiment.answer import Answer
from prism.wording import counted

_PICTURE = re.compile(
    r"<h3>([^<]*)</h3>\s*<div [^>]*>(<svg.*?</svg>)\s*</div>\s*<figcaption>(.*?)</figcaption>", re.DOTALL
)
_TAG, _NO_WORD = re.compile(r"<[^>]*>"), re.compile(r"[^a-z0-9]+")
SVG = "http://www.w3.org/2000/svg"
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""The policy of the page, for browsers: it loads nothing."""


class Section(NamedTuple):
    """A section of a page."""

    name: str
    title: str
    parts: list[Node]  # the content below the heading


def document(
    title: str, header: Element, sections: Iterable[Section | None], on_step: Callable[[str], None] = lambda _: None
) -> str:
    """Return a page as an HTML document that loads nothing.

    Args:
        sections: None stands for one without content.
        on_step: called with the title of each, before it is drawn.
    """
    kept = list[Section]()
    for section in filter(None, sections):
        on_step(section.title)
        kept.append(section)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="robots", content="noindex"),
        tag("title", title),
        tag("style", report_css()),
    )
    links = [tag("li", tag("a", section.title, href=f"#{section.name}")) for section in kept]
    body = tag(
        "body",
        header,
        tag("nav", tag("ul", *links), aria_label="Sections"),
        tag("main", *map(drawn, kept)),
        tag("footer", tag("p", "Made by prism report. The file needs no network; save it, send it, print it.")),
    )
    return page(head, body, draw=as_svg)


def pictures(html: str) -> Iterator[tuple[str, bytes]]:
    """Yield the pictures of a page as files for a paper: `(name, content)` of SVG, PDF and PNG; and their captions."""
    captions = []
    for place, found in enumerate(_PICTURE.finditer(html), start=1):
        title, svg, caption = (unescape(_TAG.sub("", found[1])), found[2], unescape(_TAG.sub("", found[3])))
        name = f"{place:02}-{_NO_WORD.sub('-', title.lower()).strip('-')[:60]}"
        captions.append(f"{name}: {title}. {caption}\n")
        for ending, content in as_files(svg.replace("<svg", f'<svg xmlns="{SVG}"', 1)).items():
            yield f"{name}.{ending}", content
    yield "captions.txt", "".join(captions).encode()


def drawn(section: Section) -> Element:
    return tag("section", tag("h2", section.title), *section.parts, id=section.name)


def grid(charts: Sequence[Chart], name: str) -> Element:
    """Return charts side by side, as many in a row as there is room for."""
    return tag("div", *(card(chart, f"{name}-{place}") for place, chart in enumerate(charts)), class_="charts")


def missing(text: str) -> Element:
    """Return the words that stand where something is missing."""
    return tag("p", text, class_="quiet")


def figures(told: Sequence[tuple[str, str]]) -> Element:
    """Return a few facts, each a name with its value, side by side."""
    items = [
        tag("div", tag("dt", name), tag("dd", value, class_="small" if len(value) > 9 else None))
        for name, value in told
    ]
    return tag("dl", *items, class_="figures")


SHOWN_MAX = 4
"""The most answers at the top of a page."""


def lead_of(answers: Sequence[Answer], limits: str) -> Element:
    """Return the answers to the hypotheses, and their limits in one paragraph.

    `limits`: caveats, versions and inputs.
    """
    several = len(answers) > 1
    parts: list[Node] = []
    for answer in answers[:SHOWN_MAX]:
        named = [tag("span", answer.hypothesis, class_="quiet")] if several and answer.hypothesis else []
        parts.append(tag("p", f"{answer.text} ", *named, class_="answer"))
    if len(answers) > SHOWN_MAX:
        parts.append(tag("p", f"{counted(len(answers) - SHOWN_MAX, 'answer')} more stand below.", class_="quiet"))
    return tag("div", *parts, tag("p", limits, class_="limits quiet"), class_="answers")
