"""A builder of HTML: elements whose texts and attributes are escaped when they are written, and nowhere else.

Text is data: a name such as `<script>` is shown as it is. Only elements and
pictures of `actors.plots` make markup. Names of elements and attributes are the code's own, and are checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from html import escape
from typing import Any, Final, NamedTuple

from prism.quoting import visible

VOID: Final = frozenset({"br", "col", "hr", "img", "input", "link", "meta"})
RAW: Final = "style"
"""The element whose text HTML does not unescape: style rules, which are the code's own."""

BLOCKS: Final = frozenset({"details", "div", "figure", "h2", "h3", "head", "li", "nav", "p", "section", "tr"})
"""Elements that are followed by a new line, for people who read the file."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9:-]*")


class Element(NamedTuple):
    name: str  # such as `p`
    attributes: dict[str, str]  # `{name: value}`, not yet escaped
    children: tuple[Node, ...]  # elements and texts, not yet escaped


class Picture(NamedTuple):
    """A chart on a page, which is drawn when the page is written."""

    chart: Any  # of `actors.plots`
    name: str  # its HTML id, which no other picture of the page has
    title: str  # its content in words, for screen readers


Node = Element | str | Picture
Draw = Callable[[Picture], str]
"""Draws a picture as HTML: a report as SVG without a script, the local page as one that a script brings to life."""


def _no_picture(picture: Picture) -> str:
    raise ValueError(f"expected a page without pictures, got {picture.title!r}")


def tag(name: str, /, *children: Node | None, **attributes: str | int | float | None) -> Element:
    """Return an element without what is None. `class_` is the attribute `class`, and `_` inside a name is `-`."""
    named = {key.rstrip("_").replace("_", "-"): str(value) for key, value in attributes.items() if value is not None}
    kept = tuple(child for child in children if child is not None)
    for each in (name, *named):
        if not _NAME.fullmatch(each) or each.startswith("on"):
            raise ValueError(f"expected the name of an element or attribute, got {each!r}")
    if name == RAW and any(not isinstance(child, str) or "<" in child for child in kept):
        raise ValueError("expected style rules without markup")
    return Element(name, named, kept)


def facts(pairs: Iterable[tuple[str, Node]], looks: str = "facts", label: str | None = None) -> Element:
    """Return names and values, side by side."""
    named = (tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs)
    return tag("dl", *named, class_=looks, aria_label=label)


def rendered(node: Node, draw: Draw = _no_picture) -> str:
    return "".join(_parts(node, draw))


def page(*children: Node | None, draw: Draw = _no_picture) -> str:
    return f"<!DOCTYPE html>\n{rendered(tag('html', *children, lang='en'), draw)}\n"


def _parts(node: Node, draw: Draw) -> Iterator[str]:
    if isinstance(node, Picture | str):
        yield f"{draw(node)}\n" if isinstance(node, Picture) else escape(visible(node), quote=False)
        return
    attributes = "".join(f' {name}="{escape(visible(value))}"' for name, value in node.attributes.items())
    yield f"<{node.name}{attributes}>"
    if node.name in VOID:
        return
    for child in node.children:
        if node.name == RAW and isinstance(child, str):
            yield child
        else:
            yield from _parts(child, draw)
    yield f"</{node.name}>"
    if node.name in BLOCKS:
        yield "\n"
