"""Charts of states: how many agents are in each over time, and how they go from one to another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final
from xml.etree import ElementTree

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, to_rgb
from matplotlib.patches import Rectangle

from actors.pages.card import Chart, Table
from actors.pages.picture import (
    GROUND,
    LINE,
    PANEL,
    QUIET,
    SMALL,
    TEXT,
    figure,
    label,
    number,
    panels,
    plain_numbers,
    themed,
    wrapped,
)
from actors.pages.series import band_note, draw_line, group_key, interventions_note, line_of, mark_interventions
from actors.pages.words import count, listed, plural, share
from actors.results.run_record import RunGroup, RunRecord
from prism.drawing import svg
from prism.palette import BLUE, state_styles
from prism.show import Show

STATES_MAX: Final = 12
"""The most states that are drawn; the others are in the table."""
NAME_CHARS: Final = 22
"""The letters of a state's name beside a row of the matrix; a longer one takes two lines."""
PANEL_HEIGHT: Final = 58.0
CHART_SCALE: Final = 0.85
"""The smallest scale of the statechart: at less its letters would be hard to read."""
CELLS_MAX: Final = 14
"""The most states of a matrix of flows: more would leave no room for numbers."""


def state_charts(groups: Sequence[RunGroup]) -> list[Chart]:
    """Return the charts of states; no charts for runs without a tick, and only flows if all agents are in one state."""
    runs = [run for group in groups for run in group.runs]
    if any(not run.course.people or not any(run.course.people) for run in runs):
        return []
    charts = [] if only_state(runs) else [_states(groups)]
    if charts and len(runs) == 1 and len(runs[0].course.people) > 1:
        charts.insert(0, _stack(groups[0]))
    return [*charts, *(_flow(group.first, group.label) for group in groups[:4] if group.first.course.steps)]


def times(run: RunRecord) -> tuple[list[float], str]:
    """Return the places of a run's points in time, and their unit: rounds, or ticks in a short run."""
    course, length = run.course, run.config.simulation.ticks_per_round
    unit = length if course.point_ticks >= length else 1
    ends = [min((place + 1) * course.point_ticks, course.ticks) / unit for place in range(len(course.people))]
    name = run.show.round
    return ends, name if unit == length and (length > 1 or name != Show.round) else "tick"


def only_state(runs: Sequence[RunRecord]) -> str:
    """Return the only state in which agents are at the ends of ticks; empty if there are several."""
    states = {state for run in runs for state, part in run.course.activity.shares.items() if part}
    return states.pop() if len(states) == 1 else ""


def _stack(group: RunGroup) -> Chart:
    """Return the share of agents in each state over time, stacked."""
    run = group.first
    states, agents = run.states, run.course.header.agents
    styles, (x, unit) = state_styles(states), times(run)
    drawn = figure(height=210)
    axes = drawn.subplots()
    bottom = np.zeros(len(x))
    for state in states:
        values = np.array([point.get(state, 0.0) for point in run.course.people]) / agents * 100.0
        axes.fill_between(x, bottom, bottom + values, color=styles[state].color, linewidth=0.4, edgecolor=GROUND)
        bottom += values
    axes.set_ylim(0, 100)
    axes.set_xlim(x[0], x[-1])
    plain_numbers(axes.xaxis, whole=True)
    plain_numbers(axes.yaxis)
    label(axes, unit, f"% of {run.show.agents}")
    mark_interventions(axes, [group], _place)
    spent = run.course.activity.shares
    order = sorted(states, key=lambda state: -spent.get(state, 0.0))
    most = listed([f"{state} ({share(spent.get(state, 0.0))})" for state in order[:2]])
    reading = f"{run.show.agents[:1].upper()}{run.show.agents[1:]} spend most of their time in {most}."
    reading += interventions_note([group])
    table = Table(
        ("state", "share of the time", f"{run.show.agents} at the end"),
        [(state, share(spent.get(state, 0.0)), count(run.course.inside.get(state, 0))) for state in states],
    )
    key = tuple((styles[state].text, styles[state].color, state) for state in states[: 2 * STATES_MAX])
    return Chart("Where everybody is", drawn, reading, table, key=key)


def _states(groups: Sequence[RunGroup]) -> Chart:
    """Return the agents in each state over time, a small panel for each state with a scale of its own."""
    first = groups[0].first
    states = list(dict.fromkeys(state for group in groups for run in group.runs for state in run.states))
    spent = {state: max(group.first.course.activity.shares.get(state, 0.0) for group in groups) for state in states}
    never = [state for state in states if not spent[state]]
    kept = sorted(states, key=lambda state: -spent[state])[:STATES_MAX]
    kept = [state for state in states if state in kept and spent[state]]
    styles, unit = state_styles(first.states), times(first)[1]
    drawn, rows = panels(PANEL_HEIGHT * len(kept) + 30, len(kept))
    for axes, state in zip(rows, kept, strict=True):
        for place, group in enumerate(groups):
            line = line_of(group, partial(_part, state))
            own = styles[state].color if len(groups) == 1 and state in styles else None
            if own and len(line.x) > 1 and len(group.runs) == 1:
                axes.fill_between(line.x, 0, line.middle, color=own, alpha=0.85, linewidth=0)
                axes.plot(line.x, line.middle, color=TEXT, linewidth=0.8)
            else:
                draw_line(axes, line, place, color=own)
        mark = f"{styles[state].text} " if state in styles else ""
        axes.set_ylim(bottom=0)
        axes.margins(x=0)
        mark_interventions(axes, groups, _place)
        plain_numbers(axes.yaxis, ticks=2)
        label(axes, "", wrapped(f"{mark}{state}, %"))
        axes.title.set_color(TEXT)
    plain_numbers(rows[-1].xaxis, whole=True)
    label(rows[-1], unit, f"{rows[-1].get_title(loc='left')}")
    rows[-1].title.set_color(TEXT)
    left = [state for state in states if state not in kept and spent[state]]
    reading = (
        f"The share of {first.show.agents} in each state, as a mean of a {_point(first)}; each panel has its own scale."
        f"{band_note(groups)}{interventions_note(groups)}{f' Not drawn: {listed(left)}.' if left else ''}"
        f"{f' Nobody was in {listed(never)} at the end of a tick.' if never else ''}"
    )
    return Chart("States over time", drawn, reading, _states_table(groups, states, unit), key=group_key(groups))


def _part(state: str, run: RunRecord) -> tuple[list[float], list[float]]:
    """Return the percentage of a run's agents in a state over time."""
    return times(run)[0], [100.0 * point.get(state, 0.0) / run.course.header.agents for point in run.course.people]


def _states_table(groups: Sequence[RunGroup], states: Sequence[str], unit: str) -> Table:
    run = groups[0].first
    if len(groups) == 1 and len(groups[0].runs) == 1:
        places = times(run)[0]
        rows = [
            (f"{place:,.0f}", *(f"{100 * point.get(state, 0.0) / run.course.header.agents:.2f}" for state in states))
            for place, point in zip(places, run.course.people, strict=True)
        ]
        return Table((f"{unit}, to its end", *(f"{state}, %" for state in states)), rows)
    runs = [run for group in groups for run in group.runs]
    rows = [(state, *(share(run.course.activity.shares.get(state, 0.0)) for run in runs)) for state in states]
    return Table(("state, share of the time", *(run.name for run in runs)), rows)


def _flow(run: RunRecord, name: str) -> Chart:
    """Return the transitions from each state to each other, as a matrix."""
    flows: dict[tuple[str, str], int] = {}
    for step, times_ in run.course.steps.items():
        flows[step.before, step.after] = flows.get((step.before, step.after), 0) + times_
    busy = {state for pair in flows for state in pair}
    weights = {state: sum(n for pair, n in flows.items() if state in pair) for state in busy}
    kept = sorted(busy, key=lambda state: -weights[state])[:CELLS_MAX]
    states = [state for state in run.states if state in kept]
    side = len(states)
    drawn = figure(height=92 + 27 * side)
    axes = drawn.subplots()
    norm = LogNorm(1, max(2, *flows.values()))
    for row, before in enumerate(states):
        for column, after in enumerate(states):
            times_ = flows.get((before, after), 0)
            _cell(axes, (column, row), times_, float(norm(times_)) if times_ else 0.0)
    names = [wrapped(state, max(NAME_CHARS, len(state) // 2 + 1)) for state in states]
    axes.set_xlim(-0.5, side - 0.5)
    axes.set_ylim(side - 0.5, -0.5)
    axes.set_xticks(range(side), names, rotation=90)
    axes.set_yticks(range(side), names)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xlabel("to", loc="left")
    axes.set_ylabel("from", loc="top", rotation=0)
    axes.spines[:].set_visible(False)
    (before, after), most = max(flows.items(), key=lambda item: item[1])
    total = sum(flows.values())
    left = len(busy) - side
    more = f" {plural(left, 'state')} with fewer are in the table." if left else ""
    reading = (
        f"{plural(total, 'transition')}; the commonest, {before} to {after}, is {share(most, total)} of them. "
        f"Darker is more, on a logarithmic scale.{more}"
    )
    rows = [
        (step.before, step.trigger, step.after, "decided" if step.is_decided else "rule", count(n))
        for step, n in sorted(run.course.steps.items(), key=lambda item: -item[1])
    ]
    table = Table(("from", "trigger", "to", "by", "transitions"), rows, frozenset({0, 1, 2, 3}))
    return Chart(f"Flow between states{f', {name}' if name else ''}", drawn, reading, table)


def _cell(axes: Axes, place: tuple[int, int], times_: int, depth: float) -> None:
    """Draw a cell of the matrix: its count on a ground that is darker for a larger count."""
    x, y = place
    if not times_:
        axes.add_patch(Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, facecolor="none", edgecolor=LINE, linewidth=0.3))
        return
    white, blue = np.ones(3), np.array(to_rgb(BLUE))
    shade = white + (blue - white) * (0.12 + 0.88 * depth)
    axes.add_patch(Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, facecolor=tuple(shade), edgecolor="none"))
    ink = "#ffffff" if depth > 0.78 else "#101418"
    axes.text(x, y, _short(times_), ha="center", va="center", color=ink, fontsize=SMALL)


def _short(value: int) -> str:
    """Return a count in at most four characters."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.0f}{unit}" if value >= 10 * size else f"{value / size:.1f}{unit}"
    return number(value)


def chart_with_counts(run: RunRecord, name: str) -> Chart | None:
    """Return the statechart with the run's counts on it; None if it cannot be read."""
    if run.chart is None or not run.chart.arrows:
        return None
    root = ElementTree.fromstring(svg(run.chart).encode())  # noqa: S314  # written by prism.drawing
    for element in root.iter():
        for attribute, value in element.attrib.items():
            element.attrib[attribute] = _CHART_COLORS.get(value, value)
    size = [round(float(root.attrib[key])) for key in ("width", "height")]
    never = [arrow for arrow in run.chart.arrows if not arrow.count]
    reading = (
        f"{plural(len(run.states), 'state')} and {plural(len(run.chart.arrows), 'arrow')}; the "
        f"wider an arrow, the more often it was taken. "
        + (f"{plural(len(never), 'arrow')} never." if never else "Each was taken at least once.")
    )
    rows = [
        (
            arrow.source,
            arrow.label.rpartition(" (")[0],
            arrow.target or "as the oracle decides",
            count(arrow.count or 0),
        )
        for arrow in run.chart.arrows
    ]
    drawn = themed(root, f"chart-{name}", "The statechart with the run's counts", size, CHART_SCALE)
    return Chart(
        "The statechart, with what was done on it",
        drawn,
        reading,
        Table(("from", "trigger (? by the oracle)", "to", "times"), rows, frozenset({0, 1, 2})),
        is_wide=True,
    )


_CHART_COLORS = {"white": GROUND, "#475569": QUIET, "#334155": TEXT, "#0f172a": TEXT, "#f8fafc": PANEL}


def _place(run: RunRecord, tick: int) -> float:
    return tick / (run.config.simulation.ticks_per_round if times(run)[1] != "tick" else 1)


def _point(run: RunRecord) -> str:
    length = run.config.simulation.ticks_per_round
    if run.course.point_ticks == length:
        return times(run)[1]
    ticks = run.course.point_ticks
    return "tick" if ticks == 1 else f"stretch of {plural(ticks, 'tick')}"
