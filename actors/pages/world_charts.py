"""Charts of a world's counts over time, and of an economy beside history."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np

from actors.pages.card import Chart, Table
from actors.pages.picture import LINE, TEXT, label, panels, plain_numbers
from actors.pages.rows import Row, more_rows, rows_picture
from actors.pages.series import (
    band_note,
    color_of,
    draw_line,
    group_key,
    interventions_note,
    line_of,
    mark_interventions,
)
from actors.pages.words import count, plural, spread
from actors.results.observed import start_quarter
from actors.results.run_record import RunGroup, RunRecord
from actors.store.rounds import growth_in_rounds, numbers_of
from prism.answers import INDICATORS, moment_in_words
from prism.economy.moments import COLUMNS, QUARTERS_MIN, equal_windows, moments, real_columns
from prism.economy.series import YEAR_QUARTERS, Figures
from prism.quarter import Quarter

PANELS_MAX: Final = 8
_INDICATORS: Final = {name: INDICATORS[name] for name in COLUMNS}
HISTORY: Final = "history"


def world_chart(groups: Sequence[RunGroup]) -> Chart | None:
    """Return a chart of the world's numbers over time: people's acts in each round, or the numbers of another world.

    None if there are fewer than two whole rounds.
    """
    first = groups[0].first
    every = [run for group in groups for run in group.runs]
    names = numbers_of(first.show, first.rounds)
    if not names or any(len(run.rounds.get("round", ())) < 2 for run in every):
        return None
    totals = [name for name in names if first.show.named(name).is_total][:4]
    told = ", ".join(f"{count(first.rounds[name][-1])} {first.show.named(name).name}" for name in totals)
    in_all = f"In all {told}{f' in {first.name}' if len(every) > 1 else ''}."
    return _rounds_chart(
        groups, names, first.show.title, in_all if told else "The numbers of the world at the end of each round."
    )


def measures_chart(groups: Sequence[RunGroup]) -> Chart | None:
    """Return the measures of people and ties over the rounds.

    None if the configuration asks for no measures, or there are fewer than two whole rounds.
    """
    first = groups[0].first
    every = [run for group in groups for run in group.runs]
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
    run, kept = groups[0].first, names[:PANELS_MAX]
    drawn, rows = panels(62.0 * len(kept) + 30, len(kept))
    for axes, name in zip(rows, kept, strict=True):
        number = run.show.named(name)
        for place, group in enumerate(groups):
            draw_line(axes, line_of(group, partial(_values, name=name, is_total=number.is_total)), place)
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        axes.margins(x=0)
        mark_interventions(axes, groups, lambda run, tick: tick / run.config.simulation.ticks_per_round)
        plain_numbers(axes.yaxis, ticks=2)
        label(axes, "round" if name == kept[-1] else "", f"{number}{' in a round' if number.is_total else ''}")
    plain_numbers(rows[-1].xaxis, whole=True)
    left = len(names) - PANELS_MAX
    left_out = f" {plural(left, 'number')} more are in rounds.csv." if left > 0 else ""
    cells = [
        (count(number), *(f"{run.rounds[name][at]:,.6g}" for name in names))
        for at, number in enumerate(run.rounds["round"])
    ]
    return Chart(
        title,
        drawn,
        f"{told}{band_note(groups)}{interventions_note(groups)}{left_out}",
        Table(("round", *(str(run.show.named(name)) for name in names)), cells),
        key=group_key(groups),
    )


def _values(run: RunRecord, name: str, *, is_total: bool) -> tuple[list[float], list[float]]:
    column = run.rounds.get(name, [])
    return run.rounds.get("round", [])[: len(column)], growth_in_rounds(run.rounds, name)[1] if is_total else column


def economy_charts(groups: Sequence[RunGroup], history: Sequence[Figures], source: str) -> list[Chart]:
    """Return an economy's indicators and their moments beside history.

    `history`: real quarters; an empty one leaves history out.
    """
    if not groups[0].first.rounds.get("interest_rate"):
        return []
    charts = [_indicators(groups, history, source)]
    if all(_with_moments(group) for group in groups):
        charts.append(_moment_chart(groups, history, source))
    return charts


def _year(quarter: Quarter) -> float:
    return quarter.year + (quarter.number - 0.5) / YEAR_QUARTERS


def _indicators(groups: Sequence[RunGroup], history: Sequence[Figures], source: str) -> Chart:
    """Return the four indicators over time, beside history at the same time, or beside its usual range."""
    start = start_quarter(groups[0].first.config)
    real = real_columns(history) if history else {}
    years = [_year(each.quarter) for each in history[len(history) - len(next(iter(real.values()), [])) :]]
    drawn, rows = panels(390, len(_INDICATORS))
    is_dated, low, high = start is not None and bool(real), math.inf, -math.inf
    for axes, (name, title) in zip(rows, _INDICATORS.items(), strict=True):
        for place, group in enumerate(groups):
            line = line_of(group, lambda run, name=name: (_quarters(run, start), run.rounds[name]))  # type: ignore[misc]
            draw_line(axes, line, place)
            low, high = min(low, float(line.x[0])), max(high, float(line.x[-1]))
        if is_dated:
            kept = [(x, y) for x, y in zip(years, real[name], strict=True) if low - 1 <= x <= high]
            axes.plot([x for x, _ in kept], [y for _, y in kept], ".", color=TEXT, markersize=2.6)
        elif real:
            axes.axhspan(*np.quantile(real[name], (0.05, 0.95)), color=LINE, alpha=0.18, linewidth=0)
        axes.margins(x=0)
        mark_interventions(axes, groups, partial(_quarter_place, start))
        plain_numbers(axes.yaxis, ticks=3)
        label(axes, "", str(title))
    plain_numbers(rows[-1].xaxis, whole=True)
    rows[-1].xaxis.set_major_formatter(lambda value, _: f"{value:.0f}")
    rows[-1].set_xlabel("year" if start else "quarter", loc="right")
    beside = ""
    if is_dated:
        beside = f" Dots: {source}, the same quarters of history."
    elif real:
        beside = f" Grey: nine tenths of the quarters of {source}."
    ends = {name: groups[0].first.rounds[name][-1] for name in _INDICATORS}
    reading = (
        f"At the end the interest rate is {ends['interest_rate']:.2f}% and inflation {ends['inflation']:.2f}%"
        f"{f' in {groups[0].first.name}' if len(groups) > 1 or len(groups[0].runs) > 1 else ''}."
        f"{band_note(groups)}{interventions_note(groups)}{beside}"
    )
    first = groups[0].first
    table_rows = [
        (_quarter_name(start, at), *(f"{first.rounds[name][at]:.2f}" for name in _INDICATORS))
        for at in range(len(first.rounds["interest_rate"]))
    ]
    key = group_key(groups)
    if real:
        shown = key or (("", color_of(0), "the run" if len(groups[0].runs) == 1 else f"{len(groups[0].runs)} seeds"),)
        key = (*shown, ("", "var(--text)" if is_dated else "var(--line)", HISTORY))
    return Chart("Indicators", drawn, reading, Table(("quarter", *map(str, _INDICATORS.values())), table_rows), key=key)


def _quarters(run: RunRecord, start: Quarter | None) -> list[float]:
    number = len(run.rounds["interest_rate"])
    if start is None:
        return list(run.rounds["round"][:number])
    return [_year(start) + (at + 1) / YEAR_QUARTERS for at in range(number)]


def _quarter_place(start: Quarter | None, run: RunRecord, tick: int) -> float:
    quarters = tick / run.config.simulation.ticks_per_round
    return quarters if start is None else _year(start) + quarters / YEAR_QUARTERS


def _quarter_name(start: Quarter | None, at: int) -> str:
    if start is None:
        return count(at + 1)
    quarter = start
    for _ in range(at + 1):
        quarter = quarter.following
    return str(quarter)


def _with_moments(group: RunGroup) -> list[RunRecord]:
    return [run for run in group.runs if len(run.rounds["interest_rate"]) >= QUARTERS_MIN]


def _moment_chart(groups: Sequence[RunGroup], history: Sequence[Figures], source: str) -> Chart:
    """Return means and standard deviations beside those of equally many real quarters; all moments are in the table."""
    kept: list[list[Mapping[str, Sequence[float]]]] = [[run.rounds for run in _with_moments(group)] for group in groups]
    real: dict[str, float] = {}
    beside = ""
    if len(history) >= YEAR_QUARTERS + QUARTERS_MIN:
        start = start_quarter(groups[0].first.config)
        windows = equal_windows([columns for each in kept for columns in each], history, start)
        rest, real = iter(windows.runs), moments(windows.real)
        kept = [[next(rest) for _ in each] for each in kept]
        beside = f", and {real['interest_rate_mean']:.2f}% in {source}, {windows.period.first} to {windows.period.last}"
    found = [[moments(columns) for columns in each] for each in kept]
    labels = [
        group.label or (group.first.name if len(group.runs) == 1 else f"{len(group.runs)} seeds") for group in groups
    ]
    names = list(found[0][0])
    bars = []
    for name in COLUMNS:
        for place, (who, each) in enumerate(zip([*labels, HISTORY], [*found, [real] if real else []], strict=True)):
            if each:
                mean, sd = (_middle([one[f"{name}_{kind}"] for one in each]) for kind in ("mean", "sd"))
                color = TEXT if who == HISTORY else color_of(place)
                bars.append(Row(f"{_INDICATORS[name].name}: {who}", mean, mean - sd, mean + sd, color))
    first = _middle([one["interest_rate_mean"] for one in found[0]])
    reading = (
        f"Means, with a standard deviation to each side. The mean interest rate is {first:.2f}%{beside}. All moments "
        f"are in the table; docs/economy.md explains them.{more_rows(bars)}"
    )
    rows = [
        (
            moment_in_words(name),
            spread(_known([real.get(name, math.nan)])),
            *(spread(_known([one[name] for one in each])) for each in found),
        )
        for name in names
    ]
    title = "Moments beside history" if real else "Moments"
    return Chart(title, rows_picture(bars, "percent"), reading, Table(("moment", HISTORY, *labels), rows))


def _known(values: Sequence[float]) -> list[float]:
    return [round(value, 3) for value in values if not math.isnan(value)]


def _middle(values: Sequence[float]) -> float:
    return float(np.median(values))
