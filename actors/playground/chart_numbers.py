"""The numbers in the text of a chart: the ticks of delays, and those in conditions and new values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import yaml

NUMBER: Final = re.compile(r"\"[^\"]*\"|'[^']*'|(?<![\w.])(\d+(?:\.\d+)?)(?![\w.])")
"""A number, or a text in quotes, in which none is looked for."""
PLACES: Final = ("after", "when", "set")
"""The keys of a state or a row below which numbers can be changed."""


class ChartNumber(NamedTuple):
    """One number of a chart, from `start` to `end` of its text."""

    start: int
    end: int
    label: str  # `resting: after ticks`
    about: str  # its line, and what stands there
    is_whole: bool

    def value(self, text: str) -> float:
        number = text[self.start : self.end]
        return int(number) if self.is_whole else float(number)


def numbers_in(text: str) -> list[ChartNumber]:
    """Return the numbers of a chart that can be changed, in the order of its text."""
    return sorted(_below(text, yaml.compose(text, Loader=yaml.SafeLoader), "", ""))


def with_numbers(text: str, values: Mapping[int, float]) -> str:
    """Return a chart with other values of its numbers, each known by its place among `numbers_in`."""
    found = numbers_in(text)
    for place in sorted(values, reverse=True):  # from the end, so that the places before stay
        digits = f"{values[place]:.6f}".rstrip("0").removesuffix(".")
        text = f"{text[: found[place].start]}{digits}{text[found[place].end :]}"
    return text


def _below(text: str, node: Any, owner: str, key: str) -> Iterator[ChartNumber]:
    """Yield the numbers below a node.

    Args:
        owner: the state or the row that it belongs to.
        key: the keys that lead to it from there, from one of `PLACES` on; empty outside of them.
    """
    if isinstance(node, yaml.SequenceNode):
        for each in node.value:
            yield from _below(text, each, owner, key)
    elif isinstance(node, yaml.MappingNode):
        inner = {one.value: other for one, other in node.value}
        if "trigger" in inner and not key:
            owner = f"{owner} → {inner['target'].value if 'target' in inner else 'oracle'}"
        for name, each in inner.items():
            if name == "states" and not key:
                for state, below in each.value:
                    yield from _below(text, below, state.value, "")
            elif key or name in (*PLACES, "transitions"):
                yield from _below(text, each, owner, f"{key} {name}".removeprefix(" transitions").strip())
    elif key and not key.endswith("trigger"):
        first, last = node.start_mark.index, node.end_mark.index
        inside = (first + 1, last - 1) if node.style in {'"', "'"} else (first, last)
        for found in NUMBER.finditer(text, *inside):
            if found[1] is not None:
                label = f"{owner}: {key}".replace("_", " ")
                about = f"line {node.start_mark.line + 1} of the chart"
                about += "" if found[1] == node.value else f": {node.value}"
                is_whole = key.startswith("after") and "." not in found[1]
                yield ChartNumber(found.start(1), found.end(1), label, about, is_whole)
