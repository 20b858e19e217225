"""A builder of HTML: elements whose texts and attributes are escaped when they are written, and nowhere else.

Text is data: a name such as `<script>` is shown as it is. There is no way to put markup into a page as a string; only
elements make elements. Names of elements and attributes are the code's own, and are checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from html import escape
from typing import Any, Final, NamedTuple
from xml.etree.ElementTree import Element as XmlElement

from prism.quoting import visible

VOID: Final = frozenset({"br", "col", "hr", "img", "input", "link", "meta"})
"""Elements without an end."""
RAW: Final = "style"
"""The element whose text HTML does not unescape: style rules, which are the code's own."""

BLOCKS: Final = frozenset({"details", "div", "figure", "h2", "h3", "head", "li", "nav", "p", "section", "svg", "tr"})
"""Elements that are followed by a new line, for people who read the file."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9:-]*")


class Element(NamedTuple):
    """An element of a page."""

    name: str  # such as `p`
    attributes: dict[str, str]  # `{name: value}`, not yet escaped
    children: tuple[Node, ...]  # elements and texts, not yet escaped


class Picture(NamedTuple):
    """A chart on a page, which is drawn when the page is written."""

    chart: Any  # of `actors.plots`
    name: str  # its HTML id, which no other picture of the page has
    title: str  # its content in words, for screen readers


Node = Element | str | Picture
"""A part of a page."""
Draw = Callable[[Picture], Element]
"""Draws a picture: a report as SVG without a script, the local page as one that a script brings to life."""


def _no_picture(picture: Picture) -> Element:
    raise ValueError(f"expected a page without pictures, got {picture.title!r}")


def tag(name: str, /, *children: Node | None, **attributes: str | int | float | None) -> Element:
    """Return an element.

    Args:
        children: those that are None are left out.
        attributes: `class_` is `class`, and `_` inside a name is `-`. Those that are None are left out.
    """
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


def page(*children: Node | None, draw: Draw = _no_picture, lang: str = "en") -> str:
    """Return a whole document: its head and its body."""
    return f"<!DOCTYPE html>\n{rendered(tag('html', *children, lang=lang), draw)}\n"


def from_xml(element: XmlElement) -> Element:
    """Return an element of XML without namespaces, such as of an SVG picture, as a part of a page."""
    children: list[Node] = [element.text] if element.text and element.text.strip() else []
    for child in element:
        children.append(from_xml(child))
        if child.tail and child.tail.strip():
            children.append(child.tail)
    name, attributes = _local(element.tag), {_local(key): value for key, value in element.attrib.items()}
    return tag(name, *children)._replace(attributes=attributes)


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _parts(node: Node, draw: Draw) -> Iterator[str]:
    if isinstance(node, Picture):
        node = draw(node)
    if isinstance(node, str):
        yield escape(visible(node), quote=False)
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
