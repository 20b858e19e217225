"""A chart in SCXML, the W3C's notation, for other tools that draw, check or run statecharts."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree as ET

from prism.statechart.definition import RowDefinition, StateDefinition
from prism.statechart.outline import Outline

NAMESPACE = "http://www.w3.org/2005/07/scxml"


def scxml(chart: Outline) -> str:
    """Return the XML. Actions are `<log>` elements, and what SCXML has no word for is an attribute `data-...`."""
    root = ET.Element("scxml", {"xmlns": NAMESPACE, "version": "1.0", "initial": chart.definition.initial})
    if chart.definition.name:
        root.set("name", chart.definition.name)
    for state in chart.definition.states:
        _add_state(root, state)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_state(parent: ET.Element, state: StateDefinition) -> None:
    element = ET.SubElement(parent, "state", {"id": state.name})
    stated = {
        "initial": state.initial,
        "data-role": state.role,
        "data-effect": state.effect,
        "data-description": state.description,
        "data-after": "" if state.after is None else f"{state.after.trigger} {state.after}",
    }
    _set(element, stated)
    for tag, actions in (("onentry", state.on_entry), ("onexit", state.on_exit)):
        if actions:
            _add_actions(ET.SubElement(element, tag), actions)
    for row in state.rows:
        _add_row(element, row)
    for inner in state.states:
        _add_state(element, inner)


def _add_row(parent: ET.Element, row: RowDefinition) -> None:
    element = ET.SubElement(parent, "transition", {"event": row.trigger})
    stated = {
        "target": row.target,
        "cond": row.when,
        "data-oracle": "" if row.oracle is None else str(row.oracle).lower(),
        "data-label": row.label,
        "data-effect": row.effect,
        "data-set": "; ".join(map(str, row.sets)),
    }
    _set(element, stated)
    _add_actions(element, row.do)


def _set(element: ET.Element, attributes: Mapping[str, str]) -> None:
    for name, value in attributes.items():
        if value:
            element.set(name, value)


def _add_actions(parent: ET.Element, actions: tuple[str, ...]) -> None:
    for action in actions:
        ET.SubElement(parent, "log", {"label": "do", "expr": f"'{action}'"})
