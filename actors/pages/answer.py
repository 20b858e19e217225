"""The sentences with which a page begins: the answer, and its limits."""

from __future__ import annotations

from collections.abc import Sequence

from actors.pages.html import Element, Node, tag
from actors.pages.words import plural
from prism.experiment import Answer

SHOWN_MAX = 4
"""The most answers at the top of a page."""


def lead_of(answers: Sequence[Answer], limits: str) -> Element:
    """Return the answers to the hypotheses, and their limits in one paragraph.

    Args:
        limits: caveats, versions and inputs.
    """
    several = len(answers) > 1
    parts: list[Node] = []
    for answer in answers[:SHOWN_MAX]:
        named = [tag("span", answer.hypothesis, class_="quiet")] if several and answer.hypothesis else []
        parts.append(tag("p", f"{answer.text} ", *named, class_="answer"))
    if len(answers) > SHOWN_MAX:
        parts.append(tag("p", f"{plural(len(answers) - SHOWN_MAX, 'answer')} more stand below.", class_="quiet"))
    return tag("div", *parts, tag("p", limits, class_="limits quiet"), class_="answers")
