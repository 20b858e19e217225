"""Charts as files: SVG with text as text and no script, whose colours follow the page's theme; PDF and PNG.

Charts are made in the light theme. In the SVG of a page its colours become CSS variables, so that one file is light or
dark as its reader wants, and light on paper.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, Final
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import vl_convert

from prism.palette import DARK, LIGHT

PNG_SCALE: Final = 3.0
"""Pixels of a PNG for each pixel of a chart."""
HALO: Final = {"paint-order": "stroke", "stroke": LIGHT["ground"], "stroke-linejoin": "round", "stroke-width": "3"}
"""The attributes of texts: lines do not cross them."""
OFTEN: Final = 8
"""A shape that is drawn more often in a group is written once."""
_PLACE: Final = re.compile(r"translate\(([^,]+),([^)]+)\)")
_SVG: Final = "{http://www.w3.org/2000/svg}"
_NUMBER: Final = re.compile(r"-?\d+\.\d{2,}")
_COLORS: Final = re.compile("|".join(LIGHT.values()), re.IGNORECASE)
_ROLES: Final = {color: name for name, color in LIGHT.items()}
_VARIABLE: Final = re.compile(r"var\(--(\w+)\)")
_GEOMETRY: Final = frozenset({"d", "transform", "x", "y", "x1", "x2", "y1", "y2"})
_KEPT: Final = _GEOMETRY | {
    *("dx", "dy", "fill", "fill-opacity", "font-size", "font-weight", "height", "opacity", "paint-order", "stroke"),
    *(
        "stroke-dasharray",
        "stroke-linecap",
        "stroke-linejoin",
        "stroke-opacity",
        "stroke-width",
        "text-anchor",
        "viewBox",
        "width",
    ),
}
_USUAL: Final = {
    ("font-weight", "normal"),
    ("opacity", "1"),
    ("stroke-dasharray", "1,0"),
    ("transform", "translate(0,0)"),
}
_NAMES: Final = ("series", "of")
_TOLD: Final = ",.4~g"
_DRAG: Final = "[mousedown, window:mouseup] > window:mousemove!"
_WHEEL: Final = "wheel![event.ctrlKey]"
_FONT: Final = "Arial, Liberation Sans, DejaVu Sans, sans-serif"
_INHERITED: Final = _KEPT - _GEOMETRY - {"dx", "dy", "height", "opacity", "viewBox", "width"}
"""The attributes that a group may have for all that is in it."""


def render(chart: Any, *, has_title: bool = False) -> str:
    """Return a chart of `actors.plots` as an SVG document in the variables `--text`, `--quiet`, `--line` and so on.

    Args:
        chart: an Altair chart.
        has_title: whether its title stands in it; a page has it above the picture.
    """
    spec = chart.to_dict(validate=False)
    if not has_title:
        spec.pop("title", None)
    spec["config"] = {**spec.get("config", {}), "background": "transparent"}
    root = ElementTree.fromstring(vl_convert.vegalite_to_svg(spec).encode())  # noqa: S314  # made here
    shapes: dict[str, str] = {}
    _shorten(root, shapes)
    for outline, name in shapes.items():
        root.insert(0, Element(f"{_SVG}defs"))
        root[0].append(Element(f"{_SVG}path", {"id": name, "d": outline}))
    root.set("font-family", _FONT)
    ElementTree.register_namespace("", _SVG.strip("{}"))
    return variables(ElementTree.tostring(root, encoding="unicode"))


def live(chart: Any) -> str:
    """Return a chart for Vega in a page, as JSON: in the variables of the page's theme, with tooltips and zoom.

    The wheel zooms with Ctrl alone, so that it scrolls the page otherwise; in a chart with panels it zooms the common
    axis. A chart over the time of a run has a line at the tick that the page shows: the value of its signal `at`.
    """
    spec = chart.to_dict(validate=False)
    for told_by_the_page in ("title", "description"):
        spec.pop(told_by_the_page, None)
    plainly = {"background": "transparent", "aria": False, "mark": {"aria": False}, "customFormatTypes": True}
    spec["config"] = {**spec.get("config", {}), **plainly}
    layers = spec.get("spec", spec)["layer"]
    axes = ("x",) if "facet" in spec else ("x", "y")
    for layer in layers:
        channels = [(name, layer.get("encoding", {}).get(name, {})) for name in axes]
        zoomed = [name for name, each in channels if "field" in each and each.get("axis") is not None]
        if zoomed:
            select = {"type": "interval", "encodings": zoomed, "translate": _DRAG, "zoom": _WHEEL}
            layer["params"] = [{"name": "zoom", "select": select, "bind": "scales"}]
            break
    for layer in reversed(list(layers)):  # the dots of single runs are above what tells of the nearest point
        told = _told(layer.get("encoding", {}), is_faceted="facet" in spec)
        if layer["mark"]["type"] == "line" and told:  # a line tells of its first point alone, so each point has a dot
            kept = {key: value for key, value in layer.items() if key not in ("mark", "params")}
            places = {key: value for key, value in layer["encoding"].items() if key in ("x", "y")}
            mark = {"type": "point", "filled": True, "opacity": 0, "size": 90}
            dots = {**kept, "mark": mark, "encoding": {**places, "tooltip": told}}
            if "detail" not in layer["encoding"]:
                names = layer["encoding"].get("stroke", {}).get("scale", {}).get("domain", ())
                near = {"type": "point", "nearest": True, "encodings": ["x", "y"] if len(names) > 1 else ["x"]}
                dots["params"] = [{"name": "near", "select": near}]
            layers.append(dots)
        elif told and layer["mark"]["type"] in ("point", "rule"):
            layer["encoding"]["tooltip"] = told
    if "clock" in spec.get("usermeta", {}):
        spec["params"] = [*spec.get("params", ()), {"name": "at", "value": spec["usermeta"]["clock"][0]}]
        now = {"x": {"datum": {"expr": "at"}, "type": "quantitative"}}
        mark = {"type": "rule", "color": LIGHT["text"], "strokeWidth": 1.3, "clip": True}
        layers.append({"data": {"values": [{}]}, "mark": mark, "encoding": now})
    return variables(json.dumps(spec))


def _told(encoding: dict[str, Any], *, is_faceted: bool) -> list[dict[str, Any]]:
    """Return what a pointer over a mark tells: its name, and its numbers with the words of their axes."""
    names = [("panel", "of")] if is_faceted else []
    names += [(field, "line" if field == "series" else "of") for field in _NAMES if field in _fields(encoding)]
    # Vega-Lite looks for a field without a format in the wrong place where it tells of the nearest point.
    text = {"type": "nominal", "formatType": "toString", "format": ""}
    told: list[dict[str, Any]] = [{**text, "field": field, "title": title} for field, title in names]
    if not names:
        return []
    for name in ("x", "y"):
        each = encoding.get(name, {})
        if "field" in each and each.get("axis") is not None:
            title = " ".join(each["axis"].get("title") or ["value"]) + (", from" if f"{name}2" in encoding else "")
            told.append({"field": each["field"], "type": "quantitative", "title": title, "format": _TOLD})
    if "x2" in encoding:
        told.append({"field": encoding["x2"]["field"], "type": "quantitative", "title": "to", "format": _TOLD})
    return told


def _fields(encoding: dict[str, Any]) -> set[str]:
    return {each["field"] for each in encoding.values() if isinstance(each, dict) and "field" in each}


def variables(svg: str) -> str:
    """Return an SVG document with variables in place of the colours of the light theme."""
    return _COLORS.sub(lambda found: f"var(--{_ROLES[found.group().lower()]})", svg)


def plain(svg: str, *, dark: bool = False) -> str:
    """Return an SVG document with the colours of a theme in place of variables: for a file of its own."""
    colors = DARK if dark else LIGHT
    return _VARIABLE.sub(lambda found: colors[found.group(1)], svg)


def as_files(svg: str) -> dict[str, bytes]:
    """Return an SVG of a page as files for a paper: `{ending: content}` of SVG, PDF and PNG, in the light theme."""
    text = plain(svg)
    return {
        "svg": text.encode(),
        "pdf": vl_convert.svg_to_pdf(text),
        "png": vl_convert.svg_to_png(text, scale=PNG_SCALE),
    }


def dark(chart: Any) -> Any:
    """Return a chart in the dark theme: for a dark notebook, or slides."""
    spec = _COLORS.sub(lambda found: DARK[_ROLES[found.group().lower()]], json.dumps(chart.to_dict()))
    return type(chart).from_dict(json.loads(spec))


def _shorten(parent: Element, shapes: dict[str, str]) -> None:
    """Leave out what Vega writes for its own use, and say once what many elements share."""
    for child in list(parent):
        if _local(child) in {"defs", "clipPath"} or _is_empty(child):
            parent.remove(child)
            continue
        _shorten(child, shapes)
        if _local(child) == "g" and not len(child):
            parent.remove(child)
    if _local(parent) == "text":
        parent.attrib.update(HALO)
    for key, value in list(parent.attrib.items()):
        if key not in _KEPT or (key, value) in _USUAL:
            del parent.attrib[key]
        elif key in _GEOMETRY:
            parent.attrib[key] = _NUMBER.sub(lambda found: f"{float(found.group()):.1f}".removesuffix(".0"), value)
    if _local(parent) == "g":
        _unwrap(parent)
        _share(parent, shapes)


def _unwrap(group: Element) -> None:
    """Put what is in groups without attributes in their place."""
    for place, child in reversed(list(enumerate(group))):
        if _local(child) == "g" and not child.attrib:
            group[place : place + 1] = list(child)


def _share(group: Element, shapes: dict[str, str]) -> None:
    """Move the attributes that all children have to the group, and write shapes that are drawn often once."""
    children = list(group)
    for key in sorted(_INHERITED & children[0].attrib.keys()) if len(children) > 1 else ():
        value = children[0].attrib[key]
        if all(child.attrib.get(key) == value for child in children):
            group.set(key, value)
            for child in children:
                del child.attrib[key]
    drawn = Counter(child.get("d", "") for child in children)
    for child in children:
        if drawn[outline := child.get("d", "")] > OFTEN and outline:
            child.tag = f"{_SVG}use"
            child.set("href", f"#{shapes.setdefault(child.attrib.pop('d'), f's{len(shapes)}')}")
            if at := _PLACE.fullmatch(child.attrib.get("transform", "")):
                del child.attrib["transform"]
                child.set("x", at[1])
                child.set("y", at[2])


def _is_empty(element: Element) -> bool:
    attributes = element.attrib
    if attributes.get("display") == "none" or attributes.get("class") == "background":
        return True
    return _local(element) == "path" and not attributes.get("d")


def _local(element: Element) -> str:
    return str(element.tag).removeprefix(_SVG)
