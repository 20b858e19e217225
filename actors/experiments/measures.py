"""The measures of an experiment: numbers that are read from a run that has ended."""

from __future__ import annotations

import importlib
import math
import numbers
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from actors.core.errors import RunDirectoryError
from actors.core.files import sha256_of
from actors.factory.domain_code import raised
from actors.runs.directory import RunDirectory
from actors.runs.inputs import keep_files
from actors.runs.rounds_csv import ROUNDS, read_rounds
from prism.errors import SettingError

ROUNDS_PREFIX = "rounds."
MEAN, GROWTH = "mean.", "growth."
"""The words between the prefix and a column, for its mean over the rounds, or its mean change in a round."""
SHORT = {
    "engagement": "behaviour.engagement_per_post_seen",
    "largest_cascade": "largest_cascade.size",
    "deepest_cascade": "largest_cascade.depth",
}
"""`{name: place}` of measures that stand deeper in `summary.json`."""

OwnMeasure = Callable[[Path], float]


def load_own(place: str, beside: Path, key: str) -> OwnMeasure:
    """Import and return a measure of one's own: `module:function`, which is given the directory of a run.

    Args:
        beside: the directory of the experiment's file, in which modules are looked for after Python's path.
        key: the key in that file that names it.

    Raises:
        SettingError: it cannot be imported, or is no function.
    """
    module, _, name = place.partition(":")
    if str(beside.resolve()) not in sys.path:
        sys.path.append(str(beside.resolve()))
    try:
        found = getattr(importlib.import_module(module), name)
    except Exception as error:  # somebody else's code may raise anything
        raise SettingError("measures", f"{place} cannot be imported: {raised(error)}", keys=[key]) from error
    if not callable(found):
        raise SettingError("measures", f"{place} is no function", keys=[key])
    own: OwnMeasure = found
    return own


def code_of_own(own: OwnMeasure) -> str:
    """Return the SHA-256 of the file of a measure's module; empty if it has none that can be read."""
    file = _file_of(own)
    try:
        return sha256_of(file) if file else ""
    except OSError:
        return ""


def keep_own(out: Path, own: Iterable[OwnMeasure]) -> None:
    """Keep the modules of measures of one's own in the directory of their experiment, whose plans have their hashes.

    Raises:
        RunDirectoryError: one cannot be read or written.
        DiskFailedError: the disk is full or broken.
    """
    files = (file for each in own if (file := _file_of(each)) is not None)
    keep_files(RunDirectory(out), dict.fromkeys(files))


def _file_of(own: OwnMeasure) -> Path | None:
    """Return the file of a measure's module; None if it has none."""
    file = getattr(sys.modules.get(getattr(own, "__module__", "")), "__file__", None)
    return Path(file) if file else None


def measured(path: Path, measures: Mapping[str, str], own: Mapping[str, OwnMeasure]) -> dict[str, float]:
    """Return `{measure: its value}` of a run that has ended.

    Args:
        measures: `{name: place}`: a path in `summary.json`; `rounds.` and a column, whose value in the last round it
            is; `rounds.mean.` or `rounds.growth.` and a column; or `module:function`, which `own` has by the name.

    Raises:
        RunDirectoryError: the run has no such number.
    """
    summary = RunDirectory(path).summary() or {}
    return {name: _value(path, summary, place, own.get(name)) for name, place in measures.items()}


def _value(path: Path, summary: Mapping[str, Any], place: str, own: OwnMeasure | None) -> float:
    if own is not None:
        try:
            value: Any = own(path)
        except Exception as error:  # somebody else's code may raise anything
            raise RunDirectoryError(f"{path}: {place} raised {raised(error)}") from error
        return _number(path, place, value)
    if place.startswith(ROUNDS_PREFIX):
        found = _by_round(path, place)
        if has_rounds(place):
            return _number(path, place, math.fsum(found) / len(found) if found else None)
        return _number(path, place, found[-1] if found else None)
    return _number(path, place, _found(path, summary, place))


def has_rounds(place: str) -> bool:
    """Return whether a measure is the mean of several values in each run: one for each round."""
    return place.startswith((ROUNDS_PREFIX + MEAN, ROUNDS_PREFIX + GROWTH))


def column_of(place: str) -> str:
    """Return the column of a measure that begins with `rounds.`."""
    return place.removeprefix(ROUNDS_PREFIX).removeprefix(MEAN).removeprefix(GROWTH)


def within_runs(path: Path, measures: Mapping[str, str]) -> dict[str, float]:
    """Return `{measure: the variance of its values over the rounds}` of a run, for the measures that have several.

    Raises:
        RunDirectoryError: the run has no such column.
    """
    found = {name: _by_round(path, place) for name, place in measures.items() if has_rounds(place)}
    return {name: statistics.variance(values) if len(values) > 1 else 0.0 for name, values in found.items()}


def _by_round(path: Path, place: str) -> list[float]:
    """Return the values of a column, one for each round, or their changes from 0 on."""
    rounds, column = read_rounds(path / ROUNDS), column_of(place)
    if column not in rounds:
        raise RunDirectoryError(f"{path}: expected a column of {ROUNDS}: {', '.join(rounds)}, got {column!r}")
    values = rounds[column]
    return (
        [after - before for before, after in zip([0.0, *values], values, strict=False)]
        if place.startswith(ROUNDS_PREFIX + GROWTH)
        else values
    )


def _found(path: Path, summary: Mapping[str, Any], place: str) -> Any:
    value: Any = summary
    for part in SHORT.get(place, place).split("."):
        if not isinstance(value, Mapping) or part not in value:
            known = ", ".join(value) if isinstance(value, Mapping) else "nothing below it"
            raise RunDirectoryError(f"{path}: no measure {place!r}: expected one of {known}")
        value = value[part]
    return value


def _number(path: Path, place: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        inner = f" with {', '.join(value)}" if isinstance(value, Mapping) else f": {value!r}"
        raise RunDirectoryError(f"{path}: the measure {place!r} is no number but {type(value).__name__}{inner}")
    return float(value)
