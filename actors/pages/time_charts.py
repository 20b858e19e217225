"""Charts over time: the states of agents, the numbers of a world, and an economy beside history; and the statechart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from actors.pages.card import Chart, Table, chart_of
from actors.pages.groups import courses, notes, round_of, time_of
from actors.pages.words import count, listed, share, spread
from actors.plots.lines import Panel, over_time
from actors.plots.statechart import statechart
from actors.plots.theme import color_of
from actors.results.observed import start_quarter
from actors.results.run_record import RunGroup, RunRecord
from actors.store.rounds import growth_in_rounds, numbers_of
from prism.answers import INDICATORS, moment_in_words
from prism.economy.moments import COLUMNS, QUARTERS_MIN, equal_windows, moments, real_columns
from prism.economy.series import YEAR_QUARTERS, Figures
from prism.palette import state_styles
from prism.quarter import Quarter
from prism.wording import counted

STATES_MAX: Final = 12
"""The most states that are drawn; the others are in the table."""
PANELS_MAX: Final = 8
HISTORY: Final = "history"
_INDICATORS: Final = {name: INDICATORS[name] for name in COLUMNS}


# States


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
    first, is_alone = groups[0].first, len(runs) == 1
    states = list(dict.fromkeys(state for run in runs for state in run.states))
    spent = {state: max(group.first.course.activity.shares.get(state, 0.0) for group in groups) for state in states}
    never = [state for state in states if not spent[state]]
    kept = sorted(states, key=lambda state: -spent[state])[:STATES_MAX]
    styles, panels = state_styles(first.states), dict[str, Panel]()
    for state in states:
        if state in kept and spent[state]:
            mark, color = (f"{styles[state].text} ", styles[state].color) if state in styles else ("", color_of(0))
            own = color if is_alone and len(first.course.people) > 1 else ""
            panels[f"{mark}{state}, %"] = Panel(courses(groups, partial(_percent, state)), own, least=0)
    left = [state for state in states if state not in kept and spent[state]]
    most = sorted(first.states, key=lambda state: -first.course.activity.shares.get(state, 0.0))[:2]
    told = listed([f"{state} ({share(first.course.activity.shares.get(state, 0.0))})" for state in most])
    ticks = first.course.point_ticks
    mean = f"as a mean of {ticks:,} ticks" if ticks > 1 else "after each tick"
    reading = (
        f"The share of {first.show.agents} in each state, {mean}; "
        f"each panel has its own scale. Most of the time they are in {told}{'' if is_alone else f' in {first.name}'}."
        f"{notes(groups)}{f' Not drawn: {listed(left)}.' if left else ''}"
        f"{f' Nobody was in {listed(never)} at the end of a tick.' if never else ''}"
    )
    table = Table(
        ("state, share of the time", *(run.name for run in runs)),
        [(state, *(share(run.course.activity.shares.get(state, 0.0)) for run in runs)) for state in states],
    )
    return chart_of(over_time(panels, "States over time", reading, x=first.show.round, **time_of(groups)), table)


def _percent(state: str, run: RunRecord) -> tuple[list[float], list[float]]:
    """Return the percentage of a run's agents in a state over the rounds."""
    course = run.course
    ends = (min((place + 1) * course.point_ticks, course.ticks) for place in range(len(course.people)))
    values = [100.0 * point.get(state, 0.0) / course.header.agents for point in course.people]
    return [round_of(run, end) for end in ends], values


def chart_with_counts(run: RunRecord) -> Chart | None:
    """Return the statechart with the run's counts on it; None if it cannot be read."""
    if run.chart is None or not run.chart.arrows:
        return None
    never = sum(not arrow.count for arrow in run.chart.arrows)
    taken = f"{counted(never, 'arrow')} never." if never else "Each was taken at least once."
    reading = (
        f"{counted(len(run.states), 'state')} and {counted(len(run.chart.arrows), 'arrow')}; the wider an arrow, the "
        f"more often it was taken. {taken}"
    )
    drawn = statechart(run.chart, "The statechart, with what was done on it", reading)
    return chart_of(drawn, flow_table(run), is_wide=True)


def flow_table(run: RunRecord) -> Table:
    """Return the transitions between states by trigger, the commonest first."""
    found = [
        (step.before, step.trigger, step.after, "decided" if step.is_decided else "rule", taken)
        for step, taken in sorted(run.course.steps.items(), key=lambda item: -item[1])
    ]
    return Table(("from", "trigger", "to", "by", "transitions"), found)


# Numbers of a world


def world_chart(groups: Sequence[RunGroup]) -> Chart | None:
    """Return a chart of the world's numbers over time: people's acts in each round, or the numbers of another world.

    None if there are fewer than two whole rounds.
    """
    first, every = groups[0].first, [run for group in groups for run in group.runs]
    names = numbers_of(first.show, first.rounds)
    if not names or any(len(run.rounds.get("round", ())) < 2 for run in every):
        return None
    totals = [name for name in names if first.show.named(name).is_total][:4]
    told = ", ".join(f"{count(first.rounds[name][-1])} {first.show.named(name).name}" for name in totals)
    in_all = f"In all {told}{f' in {first.name}' if len(every) > 1 else ''}."
    nothing = "The numbers of the world at the end of each round."
    return _rounds_chart(groups, names, first.show.title, in_all if told else nothing)


def measures_chart(groups: Sequence[RunGroup]) -> Chart | None:
    """Return the measures of people and ties over the rounds.

    None if the configuration asks for no measures, or there are fewer than two whole rounds.
    """
    first, every = groups[0].first, [run for group in groups for run in group.runs]
    names = [name for name in first.config.population.measures if all(name in run.rounds for run in every)]
    if not names or any(len(run.rounds["round"]) < 2 for run in every):
        return None
    name = names[0]
    told = (
        f"The measure {name.replace('_', ' ')}{f' of {first.name}' if len(every) > 1 else ''} goes from "
        f"{first.rounds[name][0]:.3g} at the end of the first round to {first.rounds[name][-1]:.3g} at the end of the "
        "last one. docs/runs.md defines the measures."
    )
    return _rounds_chart(groups, names, "People and ties", told)


def _rounds_chart(groups: Sequence[RunGroup], names: Sequence[str], title: str, told: str) -> Chart:
    """Return a chart with a panel over the rounds for each of the first columns; for totals, the growth in a round."""
    run = groups[0].first
    panels = {}
    for name in names[:PANELS_MAX]:
        number = run.show.named(name)
        words = f"{number}{' in a round' if number.is_total else ''}"
        own = courses(groups, partial(_values, name=name, is_total=number.is_total))
        panels[words] = Panel(own, least=0, target=number.target)
    left = len(names) - PANELS_MAX
    left_out = f" {counted(left, 'number')} more are in rounds.csv." if left > 0 else ""
    cells = [
        (count(number), *(f"{run.rounds[name][at]:,.6g}" for name in names))
        for at, number in enumerate(run.rounds["round"])
    ]
    caption = f"{told}{notes(groups)}{_aim(panels)}{left_out}"
    drawn = over_time(panels, title, caption, x="round", height=38, **time_of(groups))
    return chart_of(drawn, Table(("round", *(str(run.show.named(name)) for name in names)), cells))


def _aim(panels: Mapping[str, Panel]) -> str:
    """Return the sentence that explains the lines of targets; empty without any."""
    return " Dashed: the target." if any(each.target is not None for each in panels.values()) else ""


def _values(run: RunRecord, name: str, *, is_total: bool) -> tuple[list[float], list[float]]:
    column = run.rounds.get(name, [])
    return run.rounds.get("round", [])[: len(column)], growth_in_rounds(run.rounds, name)[1] if is_total else column


# An economy


def indicators_chart(groups: Sequence[RunGroup], history: Sequence[Figures], source: str) -> Chart | None:
    """Return the four indicators over time, beside history at the same time; None before the first quarter.

    `history`: real quarters; an empty one leaves history out.
    """
    first = groups[0].first
    if not first.rounds.get("interest_rate"):
        return None
    start, ends = start_quarter(first.config), {name: first.rounds[name][-1] for name in _INDICATORS}

    def year(quarter: Quarter) -> float:
        return quarter.year + (quarter.number - 0.5) / YEAR_QUARTERS

    def place(quarters: float) -> float:
        """Return the place in time after so many quarters of a run."""
        return quarters if start is None else year(start) + quarters / YEAR_QUARTERS

    def column(name: str, run: RunRecord) -> tuple[list[float], list[float]]:
        return [place(each) for each in run.rounds["round"][: len(run.rounds[name])]], run.rounds[name]

    real = real_columns(history) if history else {}
    years = [year(each.quarter) for each in history[len(history) - len(next(iter(real.values()), [])) :]]
    panels: dict[str, Panel] = {}
    for name, title in _INDICATORS.items():
        own = courses(groups, partial(column, name))
        panel = Panel(own, target=first.show.named(name).target)
        if real and start is not None:
            low, high = min(each.x[0] for each in own.values()), max(each.x[-1] for each in own.values())
            kept = [(x, y) for x, y in zip(years, real[name], strict=True) if low <= x <= high]
            panel = panel._replace(dots=([x for x, _ in kept], [y for _, y in kept]))
        panels[str(title)] = panel
    beside = f" Dots: {source}, the same quarters of history." if real and start is not None else ""
    reading = (
        f"At the end the interest rate is {ends['interest_rate']:.2f}% and inflation {ends['inflation']:.2f}%"
        f"{f' in {first.name}' if len(groups) > 1 or len(groups[0].runs) > 1 else ''}."
        f"{notes(groups)}{beside}{_aim(panels)}"
    )
    numbers, length = first.rounds["round"], first.config.simulation.ticks_per_round
    names: Sequence[str] = [*map(count, numbers)]
    if start is not None:  # the quarter of a simulated date says nothing of a round that is no quarter
        names = first.show.round_names(range(length - 1, int(numbers[-1]) * length, length))[-len(numbers) :]
    quarters = zip(names, *(first.rounds[name] for name in _INDICATORS), strict=True)
    rows = [(name, *(f"{value:.2f}" for value in values)) for name, *values in quarters]
    time = time_of(groups, lambda run, tick: place(round_of(run, tick)))
    unit = "quarter" if start is None else "year"
    drawn = over_time(panels, "Indicators", reading, x=unit, height=58, **time)
    return chart_of(drawn, Table(("quarter", *map(str, _INDICATORS.values())), rows))


def moments_table(groups: Sequence[RunGroup], history: Sequence[Figures], source: str) -> tuple[Table, str] | None:
    """Return all moments beside those of equally many real quarters, and the table's caption; None for short runs."""
    kept: list[list[Mapping[str, Sequence[float]]]] = [
        [run.rounds for run in group.runs if len(run.rounds.get("interest_rate", ())) >= QUARTERS_MIN]
        for group in groups
    ]
    if not all(kept):
        return None
    real, beside = dict[str, float](), ""
    if len(history) >= YEAR_QUARTERS + QUARTERS_MIN:
        start = start_quarter(groups[0].first.config)
        windows = equal_windows([columns for each in kept for columns in each], history, start)
        rest, real = iter(windows.runs), moments(windows.real)
        kept = [[next(rest) for _ in each] for each in kept]
        beside = f" beside {source}, {windows.period.first} to {windows.period.last}"
    found = [[moments(columns) for columns in each] for each in kept]
    labels = [
        group.label or (group.first.name if len(group.runs) == 1 else f"{len(group.runs)} seeds") for group in groups
    ]
    cells = [
        (
            moment_in_words(name),
            spread(_known([real.get(name, np.nan)])),
            *(spread(_known([one[name] for one in each])) for each in found),
        )
        for name in found[0][0]
    ]
    return Table(("moment", HISTORY, *labels), cells), f"Moments{beside} (docs/economy.md explains them)"


def _known(values: Sequence[Any]) -> list[float]:
    return [round(float(value), 3) for value in values if not np.isnan(value)]
