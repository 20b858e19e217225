"""A chart for Mermaid, which GitHub, GitLab and many editors draw."""

from __future__ import annotations

from collections.abc import Iterator

from prism.drawing.outline import Outline
from prism.statechart.definition import StateDefinition

CHOICE = "oracle"


def mermaid(chart: Outline) -> str:
    """Return the text of a Mermaid state diagram (`stateDiagram-v2`)."""
    lines = ["stateDiagram-v2", f"    [*] --> {chart.definition.initial}"]
    for state in chart.definition.states:
        lines += _state(chart, state, 1)
    for place, arrow in enumerate(chart.arrows):
        target = arrow.target or f"{CHOICE}_{place}"
        if not arrow.target:
            lines.append(f"    state {target} <<choice>>")
        lines.append(f"    {arrow.source} --> {target} : {_plain(arrow.label)}")
    return "\n".join(lines) + "\n"


def _state(chart: Outline, state: StateDefinition, depth: int) -> Iterator[str]:
    indent = "    " * depth
    notes = chart.notes(state)
    if state.states:
        yield f"{indent}state {state.name} {{"
        yield f"{indent}    [*] --> {state.initial}"
        for inner in state.states:
            yield from _state(chart, inner, depth + 1)
        yield f"{indent}}}"
    elif notes:
        yield f'{indent}state "{"<br/>".join(map(_plain, [state.name, *notes]))}" as {state.name}'
    else:
        yield f"{indent}state {state.name}"


def _plain(text: str) -> str:
    """Return a text without the characters that end a label."""
    return text.translate({ord('"'): "'", ord(";"): ",", ord("\n"): " "})
