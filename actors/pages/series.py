"""Lines over time of one run, of runs with several seeds, or of several configurations, on the same axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from actors.pages.picture import TEXT
from actors.pages.words import plural
from actors.results.run_record import RunGroup, RunRecord
from prism.columns import Floats
from prism.palette import BLUE, BROWN, GREEN, GREY, INDIGO, ORANGE, PLUM, PURPLE, SKY, VERMILION

MARKS_MAX = 40
"""The most interventions that are marked: more lines would hide the others."""
GROUP_COLORS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, GREY, BROWN, INDIGO, PLUM)
GROUP_DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)), (0, (3, 1)), (0, (8, 2)), (0, (2, 3)))

SEEDS_DRAWN = 20
"""The most runs of a group that have a line of their own: more would be a band again."""


class Line(NamedTuple):
    """Values over time: of one run, or the median and the range of several."""

    x: Floats  # places in time; the others have as many values
    middle: Floats  # the value, or the median; low, high: the range
    low: Floats
    high: Floats
    each: Floats  # the values of each run, a row for each


Values = Callable[[RunRecord], tuple[Sequence[float], Sequence[float]]]
"""Returns the places in time and the values of a run."""


def line_of(group: RunGroup, values: Values) -> Line:
    """Return the line of a group of runs, up to the end of the shortest."""
    found = [values(run) for run in group.runs]
    length = min(len(places) for places, _ in found)
    table = np.array([each[:length] for _, each in found], dtype=np.float64).reshape(len(found), length)
    places = np.array(found[0][0][:length], dtype=np.float64)
    if not length:
        return Line(places, places, places, places, table)
    return Line(places, np.median(table, axis=0), table.min(axis=0), table.max(axis=0), table)


def color_of(place: int) -> str:
    return GROUP_COLORS[place % len(GROUP_COLORS)]


def draw_line(axes: Axes, line: Line, place: int, *, color: str | None = None) -> None:
    """Draw a line with its range, and a thin line for each run; dashes tell the groups apart where colours do not."""
    shade = color or color_of(place)
    if len(line.x) == 1:
        axes.plot(line.x, line.middle, "o", color=shade, markersize=5)
        axes.vlines(line.x, line.low, line.high, color=shade)
        return
    draw_seeds(axes, line.x, line.each, shade)
    if (line.high > line.low).any():
        axes.fill_between(line.x, line.low, line.high, color=shade, alpha=0.12, linewidth=0)
    axes.plot(line.x, line.middle, color=shade, linestyle=GROUP_DASHES[place % len(GROUP_DASHES)])


def draw_seeds(axes: Axes, x: Floats, each: Floats, shade: str) -> None:
    """Draw a thin line for each of several runs, the first ones if they are very many."""
    for values in each[:SEEDS_DRAWN] if len(each) > 1 else ():
        axes.plot(x, values, color=shade, linewidth=0.7, alpha=0.6, solid_joinstyle="round")


def mark_interventions(axes: Axes, groups: Sequence[RunGroup], place: Callable[[RunRecord, int], float]) -> None:
    """Draw a dotted line where an intervention happened; with several groups, of the colour of the group that had it.

    Args:
        axes: a chart over time whose lines are drawn.
        place: returns a tick's place in time in a run.
    """
    for number, group in enumerate(groups):
        places = [place(group.first, tick) for tick, _ in group.first.course.interventions]
        mark_places(axes, places, TEXT if len(groups) == 1 else color_of(number))


def mark_places(axes: Axes, places: Sequence[float], color: str) -> None:
    """Draw a dotted line at each of these places in time, within the axis as it is."""
    low, high = axes.get_xlim()
    for x in sorted({min(max(place, low), high) for place in places})[:MARKS_MAX]:
        axes.axvline(x, color=color, linewidth=1.0, linestyle=":")


def interventions_note(groups: Sequence[RunGroup]) -> str:
    """Return the sentence that explains the dotted lines; empty if there is none."""
    most = max(len(group.first.course.interventions) for group in groups)
    if not most:
        return ""
    if len(groups) > 1:
        return " Dotted lines: interventions."
    shown = f", of which {MARKS_MAX} are shown" if most > MARKS_MAX else ""
    return f" Dotted lines: {plural(most, 'intervention')}{shown}."


def group_key(groups: Sequence[RunGroup], *, has_lines: bool = True) -> tuple[tuple[str, str, str], ...]:
    """Return the key of the groups; none for a single group, which the text names.

    `has_lines`: whether the picture has lines, whose dashes are named, too.
    """
    if len(groups) == 1:
        return ()
    return tuple(
        ("", color_of(place), f"{group.label}{runs_note(group)}{dashes_note(place) if has_lines else ''}")
        for place, group in enumerate(groups)
    )


def dashes_note(place: int) -> str:
    """Return the words for the dashes of a group's line; empty for a whole line."""
    words = ("", "dashed", "dotted", "dashes and dots", "short dashes", "long dashes", "sparse dots")
    word = words[place % len(words)]
    return f", {word}" if word else ""


def runs_note(group: RunGroup) -> str:
    """Return how many runs a group has, if there are several."""
    return f" ({len(group.runs)} seeds)" if len(group.runs) > 1 else ""


def band_note(groups: Sequence[RunGroup]) -> str:
    """Return the sentence that explains lines and bands; empty if there is nothing to explain."""
    if all(len(group.runs) == 1 for group in groups):
        return ""
    return " A thin line is a seed, a thick one their median; bands reach from the lowest to the highest."
