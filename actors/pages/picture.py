"""Pictures of a page: drawn by matplotlib, with text as text, and with colours that follow the page's theme.

A figure is drawn with a stand-in for each colour of the theme. In the SVG they become CSS variables, so that one file
is light or dark as its reader wants, and light on paper. Measures are pixels of the page: a figure is shown 1 to 1.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from textwrap import wrap
from threading import RLock
from typing import Any, Final
from xml.etree import ElementTree

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, MaxNLocator

from actors.pages.html import Element, from_xml, shown, tag

WIDTH, HEIGHT = 344, 224
"""The usual size of a picture in pixels: it fits a phone of 390 pixels with its margins."""
FONT = 11.0
"""The size of letters in pixels; the smallest are those of `SMALL`."""
SMALL = 10.0
WORDS = 50
"""The letters of a line that is as wide as a picture."""
_DOTS: Final = 72.0
"""Pixels of an inch: with this number, matplotlib's points are pixels."""

TEXT, QUIET, LINE, GROUND, PANEL = "#010203", "#010204", "#010205", "#010206", "#010207"
"""Stand-ins for the colours of `actors.pages.style`."""
_ROLES = {TEXT: "text", QUIET: "quiet", LINE: "line", GROUND: "ground", PANEL: "panel"}
_STYLE: Final[Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "prism",
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
    "font.size": SMALL,
    "axes.titlesize": FONT,
    "axes.labelsize": SMALL,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "text.color": TEXT,
    "axes.edgecolor": LINE,
    "axes.labelcolor": QUIET,
    "axes.titlecolor": TEXT,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "axes.titlelocation": "left",
    "axes.titleweight": "normal",
    "figure.facecolor": "none",
    "grid.color": LINE,
    "grid.alpha": 0.28,
    "grid.linewidth": 0.6,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": QUIET,
    "ytick.labelcolor": QUIET,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "lines.linewidth": 1.6,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "legend.borderaxespad": 0.0,
    "hatch.linewidth": 0.6,
}
_DRAWING = RLock()
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_SPACE = re.compile(r"\s+")
_REFERENCE = re.compile(r"url\(#([^)]*)\)")


@contextmanager
def style() -> Iterator[None]:
    """Draw in the style of pages within the block; one thread at a time, because matplotlib's settings are global."""
    with _DRAWING, rc_context(_STYLE):
        yield


def figure(width: float = WIDTH, height: float = HEIGHT) -> Figure:
    """Return an empty figure of this size in pixels."""
    layout = ConstrainedLayoutEngine(w_pad=3 / _DOTS, h_pad=3 / _DOTS, hspace=0.03, wspace=0.03)
    return Figure(figsize=(width / _DOTS, height / _DOTS), dpi=_DOTS, layout=layout)


def panels(height: float, rows: int, columns: int = 1, *, width: float = WIDTH) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels that share their horizontal axis, row by row."""
    drawn = figure(width, height)
    grid: Any = drawn.subplots(rows, columns, sharex=True, squeeze=False)
    return drawn, [axes for row in grid for axes in row]


def label(axes: Axes, x: str = "", y: str = "", *, grid: str = "y") -> None:
    """Label axes, with units, and draw quiet grid lines; `grid` is `x`, `y`, `both` or empty."""
    axes.set_xlabel(shown(x), loc="right")
    if y:  # the label stands above the axis, horizontally, so that it is easy to read
        axes.set_title(shown(y), color=QUIET, fontsize=SMALL, pad=5)
    if grid:
        axes.grid(axis=grid)  # type: ignore[arg-type]


def wrapped(text: str, letters: int = WORDS) -> str:
    """Return a text on as many lines as it needs, each with at most so many letters, so that no label is cut."""
    return "\n".join(wrap(shown(" ".join(text.split())), letters)) or " "


def words_at(axes: Axes, y: float, text: str) -> None:
    """Write wrapped words at the left end of a row, upwards from a place; a drawn line does not cross them."""
    ground = {"facecolor": GROUND, "edgecolor": "none", "pad": 1.0, "alpha": 0.85}
    axes.text(
        0.0,
        y,
        text,
        transform=axes.get_yaxis_transform(),
        fontsize=SMALL,
        color=TEXT,
        va="bottom",
        linespacing=1.15,
        bbox=ground,
        zorder=5,
    )


def plain_numbers(axis: Any, *, whole: bool = False, ticks: int = 5) -> None:
    """Write the numbers of an axis with thousands separators, at a few round places."""
    axis.set_major_locator(MaxNLocator(ticks, integer=whole, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))


def log_numbers(axis: Any) -> None:
    """Write the powers of ten of a logarithmic axis as plain numbers."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    axis.set_minor_formatter(FuncFormatter(lambda *_: ""))


def number(value: float) -> str:
    """Return a number for an axis: `1,200`, `0.05`; from 10,000 on in thousands or millions, as `25k`, `3M`."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(size, 1e4):
            return f"{value / size:,.4g}{unit}"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4g}"


def picture(drawn: Figure, name: str, title: str) -> Element:
    """Return a figure as an SVG element.

    Args:
        name: the prefix of the ids in it, which no other picture of the page has.
        title: its content in words, for screen readers.
    """
    content = io.StringIO()
    with style(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # the text is written in the reader's font
        drawn.savefig(content, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    root = ElementTree.fromstring(content.getvalue().encode())  # noqa: S314  # written here
    width, height = (round(float(inches) * _DOTS) for inches in drawn.get_size_inches())
    return themed(root, name, title, (width, height))


def themed(root: ElementTree.Element, name: str, title: str, size: Sequence[int], least: float = 0.0) -> Element:
    """Return an SVG document as an element whose colours are those of the page, and whose ids are its own.

    `least`: the smallest scale at which it is shown; a narrower page scrolls it.
    """
    for parent in list(root.iter()):
        for child in list(parent):
            if _local(child.tag) in {"metadata", "style", "title"}:
                parent.remove(child)
    for element in root.iter():
        # Shorten an element's attributes, make its ids its own, and put variables in place of colours.
        element.attrib.pop("clip-path", None)  # limits are set, so nothing lies outside
        for key, given in list(element.attrib.items()):
            value = _cleaned(_local(key), given, element, name)
            if value is None:
                del element.attrib[key]
            else:
                element.attrib[key] = _REFERENCE.sub(rf"url(#{name}-\1)", value)
    drawn = from_xml(root)
    attributes = {
        "viewBox": root.attrib.get("viewBox", f"0 0 {size[0]} {size[1]}"),
        "width": str(size[0]),
        "height": str(size[1]),
        "role": "img",
        "aria-labelledby": f"{name}-title",
        **({"style": f"min-width: {least * size[0]:.0f}px; max-width: {size[0]}px"} if least else {}),
    }
    heading = tag("title", title, id=f"{name}-title")
    return Element("svg", attributes, (heading, *drawn.children))


def _cleaned(key: str, value: str, element: ElementTree.Element, name: str) -> str | None:
    """Return the value of an attribute as the page has it; None leaves it out."""
    if key == "id":
        return f"{name}-{value}" if _local(element.tag) in {"path", "marker"} else None
    if key == "href":
        return f"#{name}-{value.removeprefix('#')}"
    if key in {"style", "fill", "stroke"}:
        for stand_in, role in _ROLES.items():
            value = value.replace(stand_in, f"var(--{role})")
        return value
    if key in {"d", "points", "x", "y", "transform"}:
        rounded = _NUMBER.sub(lambda found: f"{float(found.group()):.2f}".rstrip("0").rstrip("."), value)
        return _SPACE.sub(" ", rounded).strip()
    return value


def _local(name: str) -> str:
    return name.rpartition("}")[2]
