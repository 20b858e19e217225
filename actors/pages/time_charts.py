"""Charts over the time of runs: states, a world's numbers, people's attributes, and an economy beside history."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from actors.pages.page import Chart, Node, Table, table_of
from actors.pages.words import count, listed, share, spread
from actors.plots.lines import MARKS_MAX, Course, Panel, course, over_time
from actors.plots.statechart import statechart
from actors.plots.theme import TEXT, color_of
from actors.results.observed import start_quarter
from actors.results.run_record import AttributeCourse, Moment, RunGroup, RunRecord
from actors.store.rounds import growth_in_rounds, numbers_of
from prism.answers import INDICATORS, moment_in_words
from prism.answers import figure as digits
from prism.economy.moments import COLUMNS, QUARTERS_MIN, equal_windows, moments, real_columns
from prism.economy.series import YEAR_QUARTERS, Figures
from prism.palette import state_styles
from prism.quarter import Quarter
from prism.social.measures import is_constant
from prism.wording import counted

STATES_MAX: Final = 12  # the most states that are drawn; the others are in the table
PANELS_MAX: Final = 8
_INDICATORS: Final = {name: INDICATORS[name] for name in COLUMNS}


def _round_of(run: RunRecord, tick: int) -> float:
    return tick / run.config.simulation.ticks_per_round


def _courses(
    groups: Sequence[RunGroup], values: Callable[[RunRecord], tuple[Sequence[float], Sequence[float]]]
) -> dict[str, Course]:
    """Return `{name of a group: the course of its runs}`, up to the end of the shortest."""
    found = {}
    for group in groups:
        every = [values(run) for run in group.runs]
        length = min(len(places) for places, _ in every)
        found[group.name] = course(every[0][0][:length], [each[:length] for _, each in every])
    return found


def _over_time(
    groups: Sequence[RunGroup],
    panels: Mapping[str, Panel],
    title: str,
    reading: str,
    place: Callable[[RunRecord, int], float] = _round_of,
    **more: Any,
) -> Any:
    """Return a chart over time with the interventions of runs, in the colour of each group, and a single run's clock.

    The clock is the place of the start, and how far a tick is from the next. `place`: of a tick of a run, in time.
    """
    marks = [
        (place(group.first, tick), TEXT if len(groups) == 1 else color_of(number))
        for number, group in enumerate(groups)
        for tick, _ in group.first.course.interventions
    ]
    run, is_alone = groups[0].first, len(groups) == len(groups[0].runs) == 1
    clock = (place(run, 0), place(run, 1) - place(run, 0)) if is_alone else None
    return over_time(panels, title, reading, marks=marks, clock=clock, **more)


def _notes(groups: Sequence[RunGroup]) -> str:
    """Return the sentences that explain lines, bands and dotted lines; empty if there is nothing to explain."""
    told = ""
    if any(len(group.runs) > 1 for group in groups):
        told = " A thin line is a seed, a thick one their median; bands reach from the lowest to the highest."
    most = max(len(group.first.course.interventions) for group in groups)
    if most and len(groups) > 1:
        told += " Dotted lines: interventions."
    elif most:
        shown = f", of which {MARKS_MAX} are shown" if most > MARKS_MAX else ""
        told += f" Dotted lines: {counted(most, 'intervention')}{shown}."
    return told


# States


def only_state(runs: Sequence[RunRecord]) -> str:
    """Return the only state in which agents are at the ends of ticks; empty if there are several."""
    states = {state for run in runs for state, part in run.course.activity.shares.items() if part}
    return states.pop() if len(states) == 1 else ""


def states_chart(groups: Sequence[RunGroup]) -> Chart | None:
    """Return the agents in each state over time, a panel for each; None without a tick, or if all are in one state."""
    runs = [run for group in groups for run in group.runs]
    if any(not any(run.course.people) for run in runs) or only_state(runs):
        return None
    first, is_alone = groups[0].first, len(runs) == 1
    states = list(dict.fromkeys(state for run in runs for state in run.states))
    spent = {state: max(group.first.course.activity.shares.get(state, 0.0) for group in groups) for state in states}
    never = [state for state in states if not spent[state]]
    kept = sorted(states, key=lambda state: -spent[state])[:STATES_MAX]
    styles, panels = state_styles(first.states), dict[str, Panel]()
    for state in (each for each in states if each in kept and spent[each]):
        mark, color = (f"{styles[state].text} ", styles[state].color) if state in styles else ("", color_of(0))
        own = color if is_alone and len(first.course.people) > 1 else ""
        panels[f"{mark}{state}, %"] = Panel(_courses(groups, partial(_percent, state)), own, least=0)
    left = [state for state in states if state not in kept and spent[state]]
    most = sorted(first.states, key=lambda state: -first.course.activity.shares.get(state, 0.0))[:2]
    told = listed([f"{state} ({share(first.course.activity.shares.get(state, 0.0))})" for state in most])
    ticks = first.course.point_ticks
    mean = f"as a mean of {ticks:,} ticks" if ticks > 1 else "after each tick"
    reading = (
        f"The share of {first.show.agents} in each state, {mean}; "
        f"each panel has its own scale. Most of the time they are in {told}{'' if is_alone else f' in {first.name}'}."
        f"{_notes(groups)}{f' Not drawn: {listed(left)}.' if left else ''}"
        f"{f' Nobody was in {listed(never)} at the end of a tick.' if never else ''}"
    )
    rows = [(state, *(share(run.course.activity.shares.get(state, 0.0)) for run in runs)) for state in states]
    table = Table(("state, share of the time", *(run.name for run in runs)), rows)
    return Chart(_over_time(groups, panels, "States over time", reading, x=first.show.round), table)


def _percent(state: str, run: RunRecord) -> tuple[list[float], list[float]]:
    course = run.course
    ends = (min((place + 1) * course.point_ticks, course.ticks) for place in range(len(course.people)))
    values = [100.0 * point.get(state, 0.0) / course.header.agents for point in course.people]
    return [_round_of(run, end) for end in ends], values


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
    return Chart(drawn, flow_table(run), is_wide=True)


def flow_table(run: RunRecord) -> Table:
    found = [
        (step.before, step.trigger, step.after, "decided" if step.is_decided else "rule", taken)
        for step, taken in run.course.steps.most_common()
    ]
    return Table(("from", "trigger", "to", "by", "transitions"), found)


# Numbers of a world


def world_chart(groups: Sequence[RunGroup]) -> Chart | None:
    """Return people's acts in each round, or the numbers of another world; None for fewer than two whole rounds."""
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
    """Return the configured measures over the rounds; None without any, or for fewer than two whole rounds."""
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

    def values(name: str, run: RunRecord) -> tuple[list[float], list[float]]:
        column, is_total = run.rounds.get(name, []), run.show.named(name).is_total
        times = run.rounds.get("round", [])[: len(column)]
        return times, growth_in_rounds(run.rounds, name)[1] if is_total else column

    run, panels = groups[0].first, dict[str, Panel]()
    for name in names[:PANELS_MAX]:
        number = run.show.named(name)
        words = f"{number}{' in a round' if number.is_total else ''}"
        panels[words] = Panel(_courses(groups, partial(values, name)), least=0, target=number.target)
    left = len(names) - PANELS_MAX
    left_out = f" {counted(left, 'number')} more are in rounds.csv." if left > 0 else ""
    cells = [
        (count(number), *(f"{run.rounds[name][at]:,.6g}" for name in names))
        for at, number in enumerate(run.rounds["round"])
    ]
    drawn = _over_time(groups, panels, title, f"{told}{_notes(groups)}{_aim(panels)}{left_out}", x="round", height=38)
    return Chart(drawn, Table(("round", *(str(run.show.named(name)) for name in names)), cells))


def _aim(panels: Mapping[str, Panel]) -> str:
    return " Dashed: the target." if any(each.target is not None for each in panels.values()) else ""


# The attributes that people change

CHARTS_MAX: Final = 4  # the most attributes of a run that are drawn: the first ones of the configuration
LINES_MAX: Final = 6  # the most values of a text that have a line
QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
TWENTIETHS: Final = np.linspace(0.025, 0.975, 20)
CLOSER, APART = 0.9, 1.1
"""The spread at the end, as a multiple of that of the start, from which people have come closer or moved apart."""
TWO: Final = 0.7
"""The bimodality from which there are two clusters: more than 0.56, of a uniform distribution, and 0.67, of three."""
CLUSTER: Final = 0.1  # the share of the people that a cluster has at least: fewer are on the fringe


def attribute_charts(run: RunRecord) -> list[Chart]:
    """Return a chart for each attribute that people change; its table has a row for each round."""
    return [_attribute_chart(run, each) for each in run.attributes[:CHARTS_MAX]]


def attributes_in_words(run: RunRecord) -> list[str]:
    told = []
    for each in run.attributes[:CHARTS_MAX]:
        if each.is_number:
            told.append(_number_in_words(each))
        else:
            first, *_, last = each.shares
            shares = [f"{value} from {share(first[value])} to {share(last[value])}" for value in _chosen(each)]
            told.append(f"Shares of the people, {_named(each)}: {listed(shares)}.")
    return told


def _attribute_chart(run: RunRecord, of_people: AttributeCourse) -> Chart:
    name, groups, rounds = _named(of_people), [RunGroup("", (run,))], of_people.rounds
    if of_people.is_number:
        values = [each.values for each in of_people.moments]
        low, high = np.quantile(values[-1], (0.25, 0.75))
        half = f"are at {digits(low)}" if low == high else f"are from {digits(low)} to {digits(high)}"
        told = "A twentieth of the people is between two thin lines; the thick one is their median. "
        told += f"At the end the middle half {half}."
        twentieths = np.array([np.quantile(each, TWENTIETHS) for each in values]).T
        x, middle = np.array(rounds, np.float64), np.array([float(np.median(each)) for each in values])
        panel = {name: Panel({name: Course(x, middle, twentieths[0], twentieths[-1], twentieths)})}
        columns = ["mean", "spread", *(f"{100 * each:.0f}% quantile" for each in QUANTILES)]
        moments = of_people.moments
        cells = [[*map(digits, (each.mean, each.spread, *np.quantile(each.values, QUANTILES)))] for each in moments]
    else:
        shares = of_people.shares
        lines = {
            f"{name}: {value}": course(rounds, [[100.0 * each[value] for each in shares]])
            for value in _chosen(of_people)
        }
        columns = [*shares[0]]
        left = len(columns) - LINES_MAX
        told = f"The share of the people with each value of {name}."
        told += f" {left:,} rarer values are left out." if left > 0 else ""
        panel = {"% of the people": Panel(lines, least=0)}
        cells = [[share(each[value]) for value in columns] for each in shares]
    title = f"{name[:1].upper()}{name[1:]} over the rounds"
    reading, time = f"{told}{_notes(groups)}", "round (0: the start)"
    drawn = _over_time(groups, panel, title, reading, x=time, legend=not of_people.is_number)
    rows = [(count(at), *row) for at, row in zip(rounds, cells, strict=True)]
    return Chart(drawn, Table(("round", *columns), rows))


def _named(course: AttributeCourse) -> str:
    return course.name.replace("_", " ")


def _number_in_words(course: AttributeCourse) -> str:
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
    (below, _), (above, _) = moment.sides
    return moment.bimodality >= TWO and min(below, above) >= CLUSTER * (below + above)


def _chosen(course: AttributeCourse) -> list[str]:
    """Return the values that have a line, by the largest share that they had; of truth values only `true`."""
    shares = course.shares
    names = sorted(shares[0], key=lambda name: (-max(each[name] for each in shares), name))
    return ["true"] if {*names} == {"true", "false"} else names[:LINES_MAX]


# An economy


def indicators_chart(groups: Sequence[RunGroup], history: Sequence[Figures], source: str) -> Chart | None:
    """Return the four indicators over time, beside real quarters if there are any; None before the first quarter."""
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
        own = _courses(groups, partial(column, name))
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
        f"{_notes(groups)}{beside}{_aim(panels)}"
    )
    numbers, length = first.rounds["round"], first.config.simulation.ticks_per_round
    names: Sequence[str] = [*map(count, numbers)]
    if start is not None:  # the quarter of a simulated date says nothing of a round that is no quarter
        names = first.show.round_names(range(length - 1, int(numbers[-1]) * length, length))[-len(numbers) :]
    quarters = zip(names, *(first.rounds[name] for name in _INDICATORS), strict=True)
    rows = [(name, *(f"{value:.2f}" for value in values)) for name, *values in quarters]
    unit = "quarter" if start is None else "year"
    drawn = _over_time(
        groups, panels, "Indicators", reading, lambda run, tick: place(_round_of(run, tick)), x=unit, height=58
    )
    return Chart(drawn, Table(("quarter", *map(str, _INDICATORS.values())), rows))


def moments_table(groups: Sequence[RunGroup], history: Sequence[Figures], source: str) -> Node | None:
    """Return the table of all moments beside those of equally many real quarters; None for short runs."""
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

    def known(values: Sequence[Any]) -> str:
        return spread([round(float(value), 3) for value in values if not np.isnan(value)])

    found = [[moments(columns) for columns in each] for each in kept]
    labels = [
        group.label or (group.first.name if len(group.runs) == 1 else f"{len(group.runs)} seeds") for group in groups
    ]
    cells = [
        (
            moment_in_words(name),
            known([real.get(name, np.nan)]),
            *(known([one[name] for one in each]) for each in found),
        )
        for name in found[0][0]
    ]
    return table_of(Table(("moment", "history", *labels), cells), f"Moments{beside} (docs/economy.md explains them)")
