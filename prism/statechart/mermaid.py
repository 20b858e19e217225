"""A chart for Mermaid, which GitHub, GitLab and many editors draw."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from prism.palette import state_styles
from prism.statechart.definition import StateDefinition
from prism.statechart.outline import Outline

CHOICE = "oracle"
KEYWORDS = frozenset({"accdescr", "acctitle", "as", "class", "classdef", "direction", "end", "note", "state", "style"})
"""Words that Mermaid does not read as the id of a state."""


def mermaid(chart: Outline) -> str:
    """Return the text of a Mermaid state diagram (`stateDiagram-v2`)."""
    ids = _ids(chart)
    lines = ["stateDiagram-v2", f"    [*] --> {ids[chart.definition.initial]}"]
    for state in chart.definition.states:
        lines += _state(chart, state, ids, 1)
    for place, arrow in enumerate(chart.arrows):
        target = ids[arrow.target] if arrow.target else f"{CHOICE}_{place}"
        if not arrow.target:
            lines.append(f"    state {target} <<choice>>")
        lines.append(f"    {ids[arrow.source]} --> {target} : {_plain(arrow.label)}")
    for place, (name, style) in enumerate(state_styles(chart.states).items()):
        lines += [
            f"    classDef look{place} stroke:{style.color},stroke-width:3px",
            f"    class {ids[name]} look{place}",
        ]
    return "\n".join(lines) + "\n"


def _ids(chart: Outline) -> dict[str, str]:
    """Return `{state: its id}`: its name, unless Mermaid would not read that as one, or would read it as a keyword."""
    names = [path[-1].name for path in chart.definition.walk()]
    return {
        name: name if re.fullmatch(r"\w+", name) and name.lower() not in KEYWORDS else f"state_{place}"
        for place, name in enumerate(names)
    }


def _state(chart: Outline, state: StateDefinition, ids: Mapping[str, str], depth: int) -> Iterator[str]:
    indent = "    " * depth
    notes = chart.notes(state)
    if state.states:
        own = ids[state.name]
        yield f"{indent}state {own} {{" if own == state.name else f'{indent}state "{_plain(state.name)}" as {own} {{'
        yield f"{indent}    [*] --> {ids[state.initial]}"
        for inner in state.states:
            yield from _state(chart, inner, ids, depth + 1)
        yield f"{indent}}}"
    elif notes or ids[state.name] != state.name:
        yield f'{indent}state "{"<br/>".join(map(_plain, [state.name, *notes]))}" as {ids[state.name]}'
    else:
        yield f"{indent}state {state.name}"


def _plain(text: str) -> str:
    """Return a text without the characters that end a label."""
    return text.translate({ord('"'): "'", ord(";"): ",", ord("\n"): " "})
