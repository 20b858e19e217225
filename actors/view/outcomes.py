"""The outcomes of a run, by round: the numbers that its domain shows, or all numbers of its world."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from actors.core.errors import ActorError
from actors.factory.domains import show_of
from actors.factory.input_files import fitting_memory, read_input
from actors.store.rounds import RoundsTable, growth_in_rounds, numbers_of, read_rounds
from prism.config import Config
from prism.errors import PrismError
from prism.show import Number, Show

OUTCOMES_MAX: Final = 8
"""The most numbers of another world that are shown."""
FIGURES_MAX: Final = 5
"""The most figures of a run in a list."""


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A number at the end of a run, or of a run so far."""

    name: str
    value: float
    unit: str = ""  # of the value; empty for a count


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """A number of the world in each round."""

    key: str
    name: str
    unit: str
    is_count: bool  # whether the values are counts in each round; else they are levels at its end
    values: list[float]
    before: float = 0.0  # the count before the first of them, in a fork
    target: float | None = None  # the level that is aimed at; None without one
    history: list[float | None] = []  # the real level in each round; None: not known


class Outcomes(msgspec.Struct, frozen=True, kw_only=True):
    """The outcomes of a run, as far as it has come."""

    ticks: list[int]
    names: list[str]  # the name of each round, such as the quarter `1985q2`; empty where rounds have numbers alone
    outcomes: list[Outcome]
    source: str = ""  # the name of the file that history comes from; empty without history


def outcomes_of(path: Path, config: Config, inputs: dict[str, str]) -> Outcomes:
    """Return the outcomes of the rounds that have ended.

    `inputs`: `{input file: SHA-256}` when the run began. History comes only from a file that is still the same.
    """
    rounds = read_rounds(path)
    ticks = [int(tick) - 1 for tick in rounds.get("tick", [])]
    show = show_of(config)
    names = list(show.round_names(ticks))
    history, source = _history(show, inputs)
    outcomes = []
    for name in numbers_of(show, rounds)[:OUTCOMES_MAX]:
        real = [history.get(name, {}).get(each) for each in names]
        is_there = any(each is not None for each in real)
        outcomes.append(_outcome(rounds, name, show.named(name), real if is_there else []))
    is_known = any(one.history for one in outcomes)
    return Outcomes(ticks=ticks, names=names, outcomes=outcomes, source=source if is_known else "")


def figures_of(path: Path, show: Show, summary: dict[str, Any]) -> list[Figure]:
    """Return the few main figures of a run at its end, or so far.

    Args:
        path: the directory of the run; a run whose `rounds.csv` cannot be read has no figures.
        summary: if the run has ended, it has the largest cascade.
    """
    try:
        rounds = read_rounds(path)
    except ActorError:
        return []
    if not rounds.get("round"):
        return []
    figures = []
    for name in numbers_of(show, rounds)[:FIGURES_MAX]:
        each = show.named(name)
        figures.append(Figure(name=each.name, value=rounds[name][-1], unit="" if each.is_total else each.unit or " "))
    largest = summary.get("largest_cascade")
    if isinstance(largest, dict) and isinstance(size := largest.get("size"), int) and abs(size) < 1 << 53:
        figures.append(Figure(name="posts in the largest cascade", value=size))
    return figures


def _outcome(rounds: RoundsTable, name: str, number: Number, history: list[float | None]) -> Outcome:
    """Return a number of the world: a level at the end of each round, or the growth of a total in each round."""
    before, values = growth_in_rounds(rounds, name) if number.is_total else (0.0, rounds[name])
    return Outcome(
        key=name,
        name=number.name,
        unit=number.unit or ("in each round" if number.is_total else "at the end of each round"),
        is_count=number.is_total,
        values=values,
        before=before,
        target=number.target,
        history=history,
    )


def _history(show: Show, inputs: dict[str, str]) -> tuple[Mapping[str, Mapping[str, float]], str]:
    """Return `{column: {name of a round: real level}}` of a domain's file of history, and the file's name."""
    path = show.history_file
    if path is not None:
        with suppress(PrismError, OSError, ValueError), fitting_memory(path):
            source = read_input(path)
            if inputs.get(source.name) == source.sha256:
                return show.history(source.data, source.name), Path(source.name).name
    return {}, ""
