"""The documentation as the tests read it: pages, headings, links, code."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.paths import ROOT

PAGES = (*map(ROOT.joinpath, ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")), *sorted(ROOT.glob("docs/**/*.md")))

_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_INLINE = re.compile(r"`([^`\n]+)`")


class Block(NamedTuple):
    """A fenced block: what stands behind the opening fence, and its text."""

    info: str
    text: str


def read(page: Path) -> str:
    """Return the text of a page."""
    return page.read_text(encoding="utf-8")


def name(page: Path) -> str:
    """Return the path of a page in the project, for the names of tests."""
    return page.relative_to(ROOT).as_posix()


def section(page: Path, heading: str) -> str:
    """Return the text below a heading of the second level, up to the next one."""
    return read(page).split(f"\n## {heading}\n")[1].split("\n## ")[0]


def blocks(page: Path, heading: str | None = None) -> list[Block]:
    """Return the fenced blocks of a page, or of one of its sections, in their order."""
    text = read(page) if heading is None else section(page, heading)
    return [Block(match["info"], match["text"]) for match in _FENCE.finditer(text)]


def prose(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return _FENCE.sub("", read(page))


def links(page: Path) -> list[str]:
    """Return the targets of the links and images of a page."""
    return _LINK.findall(_INLINE.sub("", prose(page)))


def code(page: Path) -> Iterator[str]:
    """Yield each piece of inline code of a page, and each fenced block."""
    yield from _INLINE.findall(prose(page))
    yield from (block.text for block in blocks(page))


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, made as GitHub makes them."""
    found: dict[str, int] = {}
    for heading in _HEADING.findall(prose(page)):
        text = re.sub(r"[^\w\- ]", "", _LINK.sub("", heading).lower()).replace(" ", "-")
        found[text] = found.get(text, -1) + 1
    return {f"{text}-{number}" if number else text for text, last in found.items() for number in range(last + 1)}
