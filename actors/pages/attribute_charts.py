"""Charts of the attributes that people change, over the rounds of a run, with a sentence on each."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from numpy.typing import NDArray

from actors.pages.card import Chart, Table
from actors.pages.picture import TEXT, figure, label, plain_numbers
from actors.pages.series import GROUP_DASHES, color_of, dashes_note, interventions_note, mark_places
from actors.pages.words import count, listed, share
from actors.results.distributions import AttributeCourse, Moment, NumberCourse, ValueCourse
from actors.results.run_record import RunGroup, RunRecord
from prism.answers.measure_words import figure as digits
from prism.columns import Floats
from prism.palette import BLUE
from prism.social.measures import is_constant

CHARTS_MAX: Final = 4
"""The most attributes of a run that are drawn: the first ones of the configuration."""
LINES_MAX: Final = 6
"""The most values of a text that have a line."""
BINS: Final = 40
SHADES: Final = ((0.0, 0.14), (0.01, 0.28), (0.03, 0.46), (0.1, 0.7), (0.3, 1.0))
"""`(share, opacity)`: a cell with more than this share of the people has this opacity, up to the next share."""
QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
CLOSER, APART = 0.9, 1.1
"""The spread at the end, as a multiple of that of the start, from which people have come closer or moved apart."""
TWO: Final = 0.7
"""The bimodality from which there are two clusters: more than 0.56, of a uniform distribution, and 0.67, of three."""
CLUSTER: Final = 0.1
"""The share of the people that a cluster has at least: fewer are on the fringe."""


def attribute_charts(group: RunGroup, *, is_alone: bool) -> list[Chart]:
    """Return a chart for each attribute that people change, of the first run of a group."""
    run = group.first
    of = "" if is_alone else f", {group.label or run.name}"
    return [_chart(run, course, of) for course in run.attributes[:CHARTS_MAX]]


def attributes_in_words(run: RunRecord) -> list[str]:
    """Return a sentence on each drawn attribute."""
    return [
        _number_in_words(course) if isinstance(course, NumberCourse) else _values_in_words(course)
        for course in run.attributes[:CHARTS_MAX]
    ]


def _chart(run: RunRecord, course: AttributeCourse, of: str) -> Chart:
    name = _named(course)
    drawn = figure()
    axes = drawn.subplots()
    reading = _draw_numbers(axes, course) if isinstance(course, NumberCourse) else _draw_values(axes, course)
    axes.set_xlim(-0.5, course.rounds[-1] + 0.5)
    length = run.config.simulation.ticks_per_round
    mark_places(axes, [tick / length for tick, _ in run.course.interventions], TEXT)
    plain_numbers(axes.xaxis, whole=True)
    plain_numbers(axes.yaxis, whole=isinstance(course, NumberCourse) and course.is_whole)
    label(axes, "round (0: the start)", name if isinstance(course, NumberCourse) else "% of the people")
    title = f"{name[:1].upper()}{name[1:]} over the rounds{of}"
    reading += interventions_note([RunGroup("", (run,))])
    key = () if isinstance(course, NumberCourse) else _key(course)
    return Chart(title, drawn, reading, _table(course), key=key)


def _named(course: AttributeCourse) -> str:
    return course.name.replace("_", " ")


# Numbers


def _draw_numbers(axes: Axes, course: NumberCourse) -> str:
    """Draw the people by number and round, and return a sentence that explains the picture."""
    ends = _cell_ends(course)
    x = np.array(course.rounds, dtype=np.float64)
    between = (x[1:] + x[:-1]) / 2
    sides = np.concatenate(([-0.5], between, [x[-1] + 0.5]))
    shares = np.array([np.histogram(each.values, ends)[0] / len(each.values) for each in course.moments])
    shades = np.digitize(shares, [least for least, _ in SHADES], right=True)
    for number, (_, opacity) in enumerate(SHADES, start=1):
        cells = _cells(shades == number, sides, ends)
        if cells is not None:
            axes.add_patch(PathPatch(cells, facecolor=BLUE, edgecolor="none", linewidth=0, alpha=opacity))
    axes.plot(x, [np.median(each.values) for each in course.moments], color=TEXT, linewidth=1.0)
    axes.set_ylim(ends[0], ends[-1])
    last = course.moments[-1]
    low, high = np.quantile(last.values, (0.25, 0.75))
    half = f"are at {digits(low)}" if low == high else f"are from {digits(low)} to {digits(high)}"
    return f"The stronger the colour, the more people; the line is their median. At the end the middle half {half}."


def _cell_ends(course: NumberCourse) -> Floats:
    """Return the ends of the cells of a round; if there are few whole numbers, each has its own cell."""
    low, high = course.low, course.high
    if course.is_whole and high - low < BINS:
        return np.arange(low - 0.5, high + 1.0)
    return np.linspace(low, high, BINS + 1) if high > low else np.array([low - 0.5, low + 0.5])


def _cells(is_so: NDArray[np.bool_], sides: Floats, ends: Floats) -> Path | None:
    """Return the outline of the cells of one shade: of shape (rounds, cells); cells side by side are one piece."""
    pieces = []
    for place, row in enumerate(is_so.T):
        turns = np.flatnonzero(np.diff(np.concatenate(([0], row.astype(np.int8), [0]))))
        low, high = ends[place], ends[place + 1]
        for begin, end in turns.reshape(-1, 2).tolist():
            left, right = sides[begin], sides[end]
            pieces.append(Path([[left, low], [right, low], [right, high], [left, high], [left, low]], closed=True))
    return Path.make_compound_path(*pieces) if pieces else None


def _number_in_words(course: NumberCourse) -> str:
    """Return whether people came closer or moved apart, and whether they are in two clusters."""
    first, last, name = course.moments[0], course.moments[-1], _named(course)
    before = digits(first.spread, 2)
    if is_constant(last.values):
        return (
            f"All people came to the same {name}: {digits(last.mean)}. The spread, a standard deviation, was {before}."
        )
    after = digits(last.spread, 2) if last.spread > first.spread / 1000 else "almost 0"
    if last.spread < CLOSER * first.spread:
        told = f"People came closer in {name}: the spread, a standard deviation, fell from {before} to {after}."
    elif last.spread > APART * first.spread:
        told = f"People moved apart in {name}: the spread, a standard deviation, rose from {before} to {after}."
    else:
        told = f"People stayed as far apart in {name}: the spread, a standard deviation, was {before} and is {after}."
    if _is_split(last):
        verb = "still are" if _is_split(first) else "split into"
        (few, low), (many, high) = last.sides
        told += f" They {verb} two clusters: {few:,} people around {digits(low)} and {many:,} around {digits(high)}."
    return f"{told} The mean went from {digits(first.mean)} to {digits(last.mean)}."


def _is_split(moment: Moment) -> bool:
    below, above = (side.people for side in moment.sides)
    return moment.bimodality >= TWO and min(below, above) >= CLUSTER * (below + above)


# Texts and truth values


def _draw_values(axes: Axes, course: ValueCourse) -> str:
    """Draw the share of the people with each value, and return a sentence that explains the picture."""
    for place, name in enumerate(_chosen(course)):
        shares = [100.0 * each[name] for each in course.shares]
        axes.plot(course.rounds, shares, color=color_of(place), linestyle=GROUP_DASHES[place % len(GROUP_DASHES)])
    axes.set_ylim(0, 103)
    left = len(course.shares[0]) - LINES_MAX
    more = f" {left:,} rarer values are left out." if left > 0 else ""
    return f"The share of the people with each value of {_named(course)}.{more}"


def _chosen(course: ValueCourse) -> list[str]:
    """Return the values that have a line, by the largest share that they had; of truth values only `true`."""
    names = sorted(course.shares[0], key=lambda name: (-max(each[name] for each in course.shares), name))
    return ["true"] if {*names} == {"true", "false"} else names[:LINES_MAX]


def _key(course: ValueCourse) -> tuple[tuple[str, str, str], ...]:
    return tuple(
        ("", color_of(place), f"{_named(course)}: {name}{dashes_note(place)}")
        for place, name in enumerate(_chosen(course))
    )


def _values_in_words(course: ValueCourse) -> str:
    first, last, name = course.shares[0], course.shares[-1], _named(course)
    told = [f"{each} from {share(first[each])} to {share(last[each])}" for each in _chosen(course)]
    return f"Shares of the people, {name}: {listed(told)}."


def _table(course: AttributeCourse) -> Table:
    """Return the numbers of a chart, a row for each round."""
    if isinstance(course, ValueCourse):
        names = [*course.shares[0]]
        rows = [
            (count(at), *(share(each[name]) for name in names))
            for at, each in zip(course.rounds, course.shares, strict=True)
        ]
        return Table(("round", *names), rows)
    columns = ("round", "mean", "spread", *(f"{100 * each:.0f}% quantile" for each in QUANTILES))
    numbers = [(each.mean, each.spread, *np.quantile(each.values, QUANTILES)) for each in course.moments]
    return Table(columns, [(count(at), *map(digits, row)) for at, row in zip(course.rounds, numbers, strict=True)])
