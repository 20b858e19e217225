"""Charts of the attributes that people change, over the rounds of a run, with a sentence on each."""

from __future__ import annotations

from typing import Final

import numpy as np

from actors.pages.card import Chart, Table, chart_of
from actors.pages.groups import interventions_note, time_of
from actors.pages.words import count, listed, share
from actors.plots.lines import Course, Panel, course, over_time
from actors.results.distributions import AttributeCourse, Moment, NumberCourse, ValueCourse
from actors.results.run_record import RunGroup, RunRecord
from prism.answers import figure as digits
from prism.social.measures import is_constant

CHARTS_MAX: Final = 4
"""The most attributes of a run that are drawn: the first ones of the configuration."""
LINES_MAX: Final = 6
"""The most values of a text that have a line."""
QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
TWENTIETHS: Final = np.linspace(0.025, 0.975, 20)
CLOSER, APART = 0.9, 1.1
"""The spread at the end, as a multiple of that of the start, from which people have come closer or moved apart."""
TWO: Final = 0.7
"""The bimodality from which there are two clusters: more than 0.56, of a uniform distribution, and 0.67, of three."""
CLUSTER: Final = 0.1
"""The share of the people that a cluster has at least: fewer are on the fringe."""


def attribute_charts(run: RunRecord) -> list[Chart]:
    """Return a chart for each attribute that people change."""
    return [_chart(run, each) for each in run.attributes[:CHARTS_MAX]]


def attributes_in_words(run: RunRecord) -> list[str]:
    """Return a sentence on each drawn attribute."""
    told = []
    for each in run.attributes[:CHARTS_MAX]:
        if isinstance(each, NumberCourse):
            told.append(_number_in_words(each))
        else:
            first, last = each.shares[0], each.shares[-1]
            shares = [f"{value} from {share(first[value])} to {share(last[value])}" for value in _chosen(each)]
            told.append(f"Shares of the people, {_named(each)}: {listed(shares)}.")
    return told


def _chart(run: RunRecord, of_people: AttributeCourse) -> Chart:
    """Return the chart of an attribute; its table has a row for each round."""
    name, groups, rounds = _named(of_people), [RunGroup("", (run,))], of_people.rounds
    note = interventions_note(groups)
    if isinstance(of_people, NumberCourse):
        values = [each.values for each in of_people.moments]
        low, high = np.quantile(values[-1], (0.25, 0.75))
        half = f"are at {digits(low)}" if low == high else f"are from {digits(low)} to {digits(high)}"
        told = "A twentieth of the people is between two thin lines; the thick one is their median. "
        told += f"At the end the middle half {half}.{note}"
        twentieths = np.array([np.quantile(each, TWENTIETHS) for each in values]).T
        x, middle = np.array(rounds, np.float64), np.array([float(np.median(each)) for each in values])
        panel = {name: Panel({name: Course(x, middle, twentieths[0], twentieths[-1], twentieths)})}
        columns = ["mean", "spread", *(f"{100 * each:.0f}% quantile" for each in QUANTILES)]
        moments = of_people.moments
        cells = [[*map(digits, (each.mean, each.spread, *np.quantile(each.values, QUANTILES)))] for each in moments]
    else:
        lines = {
            f"{name}: {value}": course(rounds, [[100.0 * each[value] for each in of_people.shares]])
            for value in _chosen(of_people)
        }
        columns = [*of_people.shares[0]]
        left = len(columns) - LINES_MAX
        more = f" {left:,} rarer values are left out." if left > 0 else ""
        told = f"The share of the people with each value of {name}.{more}{note}"
        panel = {"% of the people": Panel(lines, least=0)}
        cells = [[share(each[value]) for value in columns] for each in of_people.shares]
    title, is_text = f"{name[:1].upper()}{name[1:]} over the rounds", isinstance(of_people, ValueCourse)
    drawn = over_time(panel, title, told, x="round (0: the start)", legend=is_text, **time_of(groups))
    rows = [(count(at), *row) for at, row in zip(rounds, cells, strict=True)]
    return chart_of(drawn, Table(("round", *columns), rows))


def _named(course: AttributeCourse) -> str:
    return course.name.replace("_", " ")


# Numbers


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


def _chosen(course: ValueCourse) -> list[str]:
    """Return the values that have a line, by the largest share that they had; of truth values only `true`."""
    names = sorted(course.shares[0], key=lambda name: (-max(each[name] for each in course.shares), name))
    return ["true"] if {*names} == {"true", "false"} else names[:LINES_MAX]
