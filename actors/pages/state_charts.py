"""Charts of states: the agents in each over time, and the statechart with what a run did on it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final
from xml.etree import ElementTree

from actors.pages.card import Chart, Table
from actors.pages.picture import GROUND, PANEL, QUIET, TEXT, label, panels, plain_numbers, themed, wrapped
from actors.pages.series import band_note, draw_line, group_key, interventions_note, line_of, mark_interventions
from actors.pages.words import count, listed, plural, share
from actors.results.run_record import RunGroup, RunRecord
from prism.drawing import svg
from prism.palette import state_styles
from prism.show import Show

STATES_MAX: Final = 12
"""The most states that are drawn; the others are in the table."""
PANEL_HEIGHT: Final = 58.0
CHART_SCALE: Final = 0.85
"""The smallest scale of the statechart: at less its letters would be hard to read."""
_CHART_COLORS = {"white": GROUND, "#475569": QUIET, "#334155": TEXT, "#0f172a": TEXT, "#f8fafc": PANEL}


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


def states_chart(groups: Sequence[RunGroup]) -> Chart | None:
    """Return the agents in each state over time, a small panel for each state with a scale of its own.

    None for runs without a tick, or if all agents are in one state.
    """
    runs = [run for group in groups for run in group.runs]
    if any(not any(run.course.people) for run in runs) or only_state(runs):
        return None
    first = groups[0].first
    states = list(dict.fromkeys(state for run in runs for state in run.states))
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
        label(axes, unit if state == kept[-1] else "", wrapped(f"{mark}{state}, %"))
        axes.title.set_color(TEXT)
    plain_numbers(rows[-1].xaxis, whole=True)
    left = [state for state in states if state not in kept and spent[state]]
    most = sorted(first.states, key=lambda state: -first.course.activity.shares.get(state, 0.0))[:2]
    told = listed([f"{state} ({share(first.course.activity.shares.get(state, 0.0))})" for state in most])
    reading = (
        f"The share of {first.show.agents} in each state, as a mean of a {_point(first)}; each panel has its own "
        f"scale. Most of the time they are in {told}{f' in {first.name}' if len(runs) > 1 else ''}."
        f"{band_note(groups)}{interventions_note(groups)}{f' Not drawn: {listed(left)}.' if left else ''}"
        f"{f' Nobody was in {listed(never)} at the end of a tick.' if never else ''}"
    )
    table = Table(
        ("state, share of the time", *(run.name for run in runs)),
        [(state, *(share(run.course.activity.shares.get(state, 0.0)) for run in runs)) for state in states],
    )
    return Chart("States over time", drawn, reading, table, key=group_key(groups))


def _part(state: str, run: RunRecord) -> tuple[list[float], list[float]]:
    """Return the percentage of a run's agents in a state over time."""
    return times(run)[0], [100.0 * point.get(state, 0.0) / run.course.header.agents for point in run.course.people]


def _place(run: RunRecord, tick: int) -> float:
    return tick / (run.config.simulation.ticks_per_round if times(run)[1] != "tick" else 1)


def _point(run: RunRecord) -> str:
    length = run.config.simulation.ticks_per_round
    if run.course.point_ticks == length:
        return times(run)[1]
    ticks = run.course.point_ticks
    return "tick" if ticks == 1 else f"stretch of {plural(ticks, 'tick')}"


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
    return Chart(
        "The statechart, with what was done on it",
        themed(root, f"chart-{name}", "The statechart with the run's counts", size, CHART_SCALE),
        reading,
        flow_table(run),
        is_wide=True,
    )


def flow_table(run: RunRecord) -> Table:
    """Return the transitions between states by trigger, the commonest first."""
    rows = [
        (step.before, step.trigger, step.after, "decided" if step.is_decided else "rule", count(taken))
        for step, taken in sorted(run.course.steps.items(), key=lambda item: -item[1])
    ]
    return Table(("from", "trigger", "to", "by", "transitions"), rows, frozenset({0, 1, 2, 3}))
