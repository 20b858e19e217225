"""The outcomes of a run, by round: what people did, an economy's indicators, or the numbers of another world."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import msgspec

from actors.core.errors import ActorError
from actors.factory.input_files import fitting_memory, read_input
from actors.record.rounds import ENGINE_COLUMNS, PEOPLE_COLUMNS, RoundsTable, read_rounds
from prism.answers import INDICATORS
from prism.config import Config
from prism.economy.moments import real_columns
from prism.economy.series_file import parse_series
from prism.errors import PrismError
from prism.quarter import Quarter

OUTCOMES_MAX: Final = 8
"""The most numbers of another world that are shown."""
FIGURES_MAX: Final = 5
"""The most figures of a run in a list."""


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A number at the end of a run, or as far as it has come.

    Args:
        unit: of the value; empty for a count.
    """

    name: str
    value: float
    unit: str = ""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """A number of the world in each round.

    Args:
        is_count: whether the values are counts in each round; else they are levels at its end.
        before: the count before the first of them, in a fork.
        target: the level that the nations aim at; None without one.
        history: the real level in each round's quarter, None where it is not known; empty without history.
    """

    key: str
    name: str
    unit: str
    is_count: bool
    values: list[float]
    before: float = 0.0
    target: float | None = None
    history: list[float | None] = []


class Outcomes(msgspec.Struct, frozen=True, kw_only=True):
    """The outcomes of a run, as far as it has come.

    Args:
        ticks: the last tick of each round.
        quarters: the quarter of each round of an economy, such as `1985q2`; empty in another domain.
        source: the name of the file that history comes from; empty without history.
    """

    ticks: list[int]
    quarters: list[str]
    outcomes: list[Outcome]
    source: str = ""


def outcomes_of(path: Path, config: Config, inputs: dict[str, str]) -> Outcomes:
    """Return the outcomes of the rounds that have ended.

    Args:
        path: the directory of the run.
        inputs: `{input file: SHA-256}` when the run began. History comes only from a file that is still the same.

    Raises:
        JournalError: `rounds.csv` is not what PRISM wrote.
    """
    rounds = read_rounds(path)
    ticks = [int(tick) - 1 for tick in rounds.get("tick", [])]
    domain = config.simulation.domain
    if domain == "economy":
        quarters = quarters_of(config, ticks)
        history, source = _history(config, inputs)
        outcomes = [
            Outcome(
                key=key,
                name=each.name,
                unit=each.unit,
                is_count=False,
                values=rounds[key],
                target=config.economy.taylor.inflation_target if key == "inflation" else None,
                history=_at(history.get(key, {}), quarters),
            )
            for key, each in INDICATORS.items()
            if key in rounds
        ]
        is_known = any(one.history for one in outcomes)
        return Outcomes(ticks=ticks, quarters=quarters, outcomes=outcomes, source=source if is_known else "")
    counted = PEOPLE_COLUMNS if domain == "social" else ()
    names = counted or _levels(rounds)
    make = _count if counted else _level
    outcomes = [make(rounds, name) for name in names[:OUTCOMES_MAX] if name in rounds]
    return Outcomes(ticks=ticks, quarters=[], outcomes=outcomes)


def quarters_of(config: Config, ticks: list[int]) -> list[str]:
    """Return the quarter of each round, whose last ticks are given.

    They follow the real quarter from which the economy starts. Without one, the simulated dates say the quarters.
    """
    simulation, initial = config.simulation, config.economy.initial
    if initial.quarter is not None:
        quarter, quarters = Quarter.parse(initial.quarter), list[str]()
        for _ in ticks:
            quarter = quarter.following
            quarters.append(str(quarter))
        return quarters
    try:
        dates = [simulation.epoch + timedelta(seconds=tick * simulation.tick_seconds) for tick in ticks]
    except OverflowError:  # later than the last year that a date can have
        return []
    return [str(Quarter(date.year, (date.month + 2) // 3)) for date in dates]


def figures_of(path: Path, domain: str, summary: dict[str, Any]) -> list[Figure]:
    """Return the few figures that say how a run has ended, or how far it is.

    Args:
        path: the directory of the run; a run whose `rounds.csv` cannot be read has no figures.
        summary: that of a run that has ended knows its largest cascade.
    """
    try:
        rounds = read_rounds(path)
    except ActorError:
        return []
    if not rounds.get("round"):
        return []
    if domain == "economy":
        return [
            Figure(name=each.name, value=rounds[key][-1], unit=each.unit)
            for key, each in INDICATORS.items()
            if key in rounds and each.unit.startswith("%")
        ]
    if domain != "social":
        return [Figure(name=_plain(name), value=rounds[name][-1], unit=" ") for name in _levels(rounds)[:FIGURES_MAX]]
    figures = [Figure(name=name, value=rounds[name][-1]) for name in PEOPLE_COLUMNS if name in rounds]
    largest = summary.get("largest_cascade")
    if isinstance(largest, dict) and isinstance(largest.get("size"), int):
        figures.append(Figure(name="posts in the largest cascade", value=largest["size"]))
    return figures


def _levels(rounds: RoundsTable) -> list[str]:
    return [name for name in rounds if name not in ENGINE_COLUMNS and any(rounds[name])]


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _level(rounds: RoundsTable, name: str) -> Outcome:
    return Outcome(key=name, name=_plain(name), unit="at the end of each round", is_count=False, values=rounds[name])


def _count(rounds: RoundsTable, name: str) -> Outcome:
    """Return what each round has added to a total. The first row of a fork has all that its parent had done."""
    column, first = rounds[name], rounds["round"][0] if rounds["round"] else 1
    before = 0.0 if first == 1 or not column else column[0]
    values = [now - then for now, then in zip(column, [before, *column[:-1]], strict=False)]
    return Outcome(key=name, name=_plain(name), unit="in each round", is_count=True, values=values, before=before)


def _at(history: dict[str, float], quarters: list[str]) -> list[float | None]:
    """Return the real level in each quarter; nothing if none is known."""
    found = [history.get(quarter) for quarter in quarters]
    return found if any(each is not None for each in found) else []


def _history(config: Config, inputs: dict[str, str]) -> tuple[dict[str, dict[str, float]], str]:
    """Return `{column: {quarter: level}}` of the file that an economy starts from, and its name; nothing without it."""
    path = config.economy.initial.path
    if path is None:
        return {}, ""
    with suppress(PrismError, OSError, ValueError), fitting_memory(path):
        source = read_input(path)
        if inputs.get(source.name) == source.sha256:
            figures = parse_series(source.data, source.name).quarters
            columns = real_columns(figures)
            quarters = [str(each.quarter) for each in figures]
            return {
                name: dict(zip(quarters[len(quarters) - len(column) :], column, strict=True))
                for name, column in columns.items()
            }, Path(source.name).name
    return {}, ""
