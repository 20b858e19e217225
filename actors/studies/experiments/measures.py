"""The measures of an experiment: numbers that are read from a run that has ended."""

from __future__ import annotations

import importlib
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from actors.core.errors import RunDirectoryError
from actors.core.files import sha256_of
from actors.factory.domain_code import raised
from actors.results.measures import RunNumbers, has_rounds, numbers_of
from actors.runs.directory import RunDirectory
from actors.runs.inputs import keep_files
from prism.errors import SettingError

OwnMeasure = Callable[[Path], float]


def load_own(place: str, beside: Path, key: str) -> OwnMeasure:
    """Import and return a user's own measure: `module:function`, a function of the directory of a run.

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
    except Exception as error:  # a user's code may raise anything
        raise SettingError("measures", f"{place} cannot be imported: {raised(error)}", keys=[key]) from error
    if not callable(found):
        raise SettingError("measures", f"{place} is no function", keys=[key])
    own: OwnMeasure = found
    return own


def code_of_own(own: OwnMeasure) -> str:
    """Return the SHA-256 of the file of a measure's module; empty if there is no readable file."""
    file = _file_of(own)
    try:
        return sha256_of(file) if file else ""
    except OSError:
        return ""


def keep_own(out: Path, own: Iterable[OwnMeasure]) -> None:
    """Keep the modules of the user's own measures in the directory of the experiment; its plans have their hashes.

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
        measures: `{name: place}`: a place of `actors.results.measures`; or `module:function`, which `own` has by the
            name.

    Raises:
        RunDirectoryError: the run has no such number.
    """
    numbers = numbers_of(path)
    return {name: _value(path, numbers, place, own.get(name)) for name, place in measures.items()}


def _value(path: Path, numbers: RunNumbers, place: str, own: OwnMeasure | None) -> float:
    if own is None:
        return numbers.value(place)
    try:
        value = own(path)
    except Exception as error:  # a user's code may raise anything
        raise RunDirectoryError(f"{path}: {place} raised {raised(error)}") from error
    return numbers.number(place, value)


def within_runs(path: Path, measures: Mapping[str, str]) -> dict[str, float]:
    """Return `{measure: the variance of its values over the rounds}` of a run, for the measures that have several.

    Raises:
        RunDirectoryError: the run has no such column.
    """
    numbers = numbers_of(path)
    found = {name: numbers.over_rounds(place) for name, place in measures.items() if has_rounds(place)}
    return {name: statistics.variance(values) if len(values) > 1 else 0.0 for name, values in found.items()}
