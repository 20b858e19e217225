"""A chart for Graphviz: `dot -Tsvg chart.dot`."""

from __future__ import annotations

import json
from collections.abc import Iterator

from prism.drawing.outline import Outline
from prism.statechart.definition import StateDefinition


def dot(chart: Outline) -> str:
    """Return the text of a Graphviz graph. Outer states are clusters; their arrows begin and end at the frame."""
    lines = [
        "digraph chart {",
        "  compound=true; rankdir=TB; fontname=Helvetica;",
        '  node [shape=box, style="rounded,filled", fillcolor=white, fontname=Helvetica];',
        "  edge [fontname=Helvetica, fontsize=10];",
        '  "(start)" [shape=point];',
    ]
    for state in chart.definition.states:
        lines += _state(chart, state, 1)
    inner = chart.entered
    lines.append(_edge("(start)", chart.definition.initial, inner, ""))
    for place, arrow in enumerate(chart.arrows):
        target = arrow.target or f"(oracle {place})"
        if not arrow.target:
            lines.append(f'  {_quoted(target)} [shape=diamond, label=""];')
        lines.append(_edge(arrow.source, target, inner, arrow.label))
    return "\n".join([*lines, "}"]) + "\n"


def _edge(source: str, target: str, inner: dict[str, str], label: str) -> str:
    begin, end = inner.get(source, source), inner.get(target, target)
    parts = [f"label={_quoted(label)}"] if label else []
    parts += [f'ltail="cluster_{source}"'] if begin != source else []
    parts += [f'lhead="cluster_{target}"'] if end != target else []
    return f"  {_quoted(begin)} -> {_quoted(end)} [{', '.join(parts)}];"


def _state(chart: Outline, state: StateDefinition, depth: int) -> Iterator[str]:
    indent = "  " * depth
    if not state.states:
        label = "\n".join([state.name, *chart.notes(state)])
        color = chart.styles()[state.name].color
        yield f'{indent}{_quoted(state.name)} [label={_quoted(label)}, color="{color}", penwidth=3];'
        return
    yield f'{indent}subgraph "cluster_{state.name}" {{'
    yield f"{indent}  label={_quoted(state.name)}; style=rounded;"
    for each in state.states:
        yield from _state(chart, each, depth + 1)
    yield f"{indent}}}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
