"""Charts as files: SVG with text as text and no script, whose colours follow the page's theme; PDF and PNG.

Charts are made in the light theme. In the SVG of a page its colours become CSS variables, so that one file is light or
dark as its reader wants, and light on paper.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import vl_convert

from prism.palette import LIGHT

PNG_SCALE: Final = 3.0
HALO: Final = "paint-order: stroke; stroke: var(--ground); stroke-linejoin: round; stroke-width: 3px"
"""The style of texts in pictures: lines do not cross them."""
_NUMBER: Final = re.compile(r"-?\d+\.\d{2,}")
_COLORS: Final = re.compile("|".join(LIGHT.values()), re.IGNORECASE)
_ROLES: Final = {color: name for name, color in LIGHT.items()}
_VARIABLE: Final = re.compile(r"var\(--(\w+)\)")
_LEFT_OUT: Final = re.compile(
    r' (?:(?:class|role|aria-\w+|clip-path|pointer-events|font-family|stroke-miterlimit|text-rendering)="[^"]*"'
    r'|(?:opacity="1"|font-weight="normal"|stroke-dasharray="1,0"|transform="translate\(0,0\)"))'
)
"""The attributes that Vega writes for its own use, or that are as without them."""
_EMPTY: Final = re.compile(r'<path(?: [^>]*)? (?:class="background"|display="none")[^>]*>(?:</path>)?|<defs>.*?</defs>')
_TAG: Final = re.compile(r"<[^>]*>")
_DRAG: Final = "[mousedown, window:mouseup] > window:mousemove!"
_WHEEL: Final = "wheel![event.ctrlKey]"
_FONT: Final = "Arial, Liberation Sans, DejaVu Sans, sans-serif"


def render(chart: Any, *, has_title: bool = False) -> str:
    """Return a chart of `actors.plots` as an SVG document in the variables `--text`, `--quiet`, `--line` and so on."""
    spec = chart.to_dict(validate=False)
    if not has_title:
        spec.pop("title", None)
    spec["config"] = {**spec.get("config", {}), "background": "transparent"}
    svg = _EMPTY.sub("", vl_convert.vegalite_to_svg(spec))

    def shortened(tag: re.Match[str]) -> str:
        """Return a tag without what is of no use, and with numbers of one digit."""
        return _NUMBER.sub(lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), _LEFT_OUT.sub("", tag[0]))

    while (shorter := _TAG.sub(shortened, svg).replace("<g></g>", "")) != svg:
        svg = shorter
    return variables(svg.replace("<svg", f'<svg font-family="{_FONT}"', 1))


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
    fields = {each["field"] for each in encoding.values() if isinstance(each, dict) and "field" in each}
    names = [("panel", "of")] if is_faceted else []
    names += [(field, title) for field, title in (("series", "line"), ("of", "of")) if field in fields]
    if not names:
        return []
    # Vega-Lite looks for a field without a format in the wrong place where it tells of the nearest point.
    text = {"type": "nominal", "formatType": "toString", "format": ""}
    told: list[dict[str, Any]] = [{**text, "field": field, "title": title} for field, title in names]
    numbers = []
    for name in ("x", "y"):
        each = encoding.get(name, {})
        if "field" in each and each.get("axis") is not None:
            title = " ".join(each["axis"].get("title") or ["value"]) + (", from" if f"{name}2" in encoding else "")
            numbers.append((each["field"], title))
    if "x2" in encoding:
        numbers.append((encoding["x2"]["field"], "to"))
    number = {"type": "quantitative", "format": ",.4~g"}
    return told + [{**number, "field": field, "title": title} for field, title in numbers]


def variables(svg: str) -> str:
    """Return an SVG document with variables in place of the colours of the light theme."""
    return _COLORS.sub(lambda found: f"var(--{_ROLES[found.group().lower()]})", svg)


def plain(svg: str) -> str:
    """Return an SVG document with the colours of the light theme in place of variables: for a file of its own."""
    styled = svg.replace(">", f"><style>text {{ {HALO} }}</style>", 1)
    return _VARIABLE.sub(lambda found: LIGHT[found.group(1)], styled)


def as_files(svg: str) -> dict[str, bytes]:
    """Return an SVG of a page as files for a paper: `{ending: content}` of SVG, PDF and PNG, in the light theme."""
    text = plain(svg)
    return {
        "svg": text.encode(),
        "pdf": vl_convert.svg_to_pdf(text),
        "png": vl_convert.svg_to_png(text, scale=PNG_SCALE),
    }
