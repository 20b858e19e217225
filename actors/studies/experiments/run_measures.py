"""The measures of runs: their values, users' own functions, and the names that are known before the first run."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import inspect
from msgspec.structs import replace

from actors.core.errors import RunDirectoryError
from actors.factory.domains import build_domain, is_own
from actors.factory.own_code import (
    OF_OTHERS,
    is_installed,
    on_path,
    paths_of,
    raised,
    sources_of,
    sources_sha256,
    with_siblings,
)
from actors.results.measures import (
    BY,
    CASCADES,
    CASCADES_KNOWN,
    ROUNDS_PREFIX,
    SHORT,
    RunNumbers,
    by_problem,
    cascades_problem,
    numbers_of,
    rounds_place,
)
from actors.runs.directory import RunDirectory
from actors.runs.inputs import keep_files
from actors.runs.summary import Summary
from actors.runtime.counters import Counters, round_of
from actors.store.rounds import ROUNDS
from prism.config import Config, PopulationConfig
from prism.config.attributes import measure_name, unknown_measure
from prism.errors import PrismError, SettingError
from prism.expectations import guess

OwnMeasure = Callable[[Path], float]


def load_own(place: str, beside: Path, key: str) -> OwnMeasure:
    """Import and return a user's own measure: `module:function`, a function of the directory of a run."""
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


def code_of_own(place: str) -> str:
    """Return the SHA-256 of the user's code of a measure: its module or package, and those beside it that it imports.

    Code that it finds in another way, such as with `exec`, does not count.
    """
    return sources_sha256(sources_of(_code(place)))


def keep_own(out: Path, places: Iterable[str]) -> None:
    """Keep the modules of the user's own measures in the directory of the experiment; its plans have their hashes."""
    found = dict.fromkeys(path for place in places for path in _code(place))
    keep_files(
        RunDirectory(out),
        [file for path in found for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])],
    )


def _code(place: str) -> tuple[Path, ...]:
    top = place.partition(":")[0].partition(".")[0]
    spec = None if top in OF_OTHERS else on_path(top)
    places = [] if spec is None else paths_of(spec)
    return with_siblings([each for each in places if not any(map(is_installed, each.parents))])


def measured(path: Path, measures: Mapping[str, str], own: Mapping[str, OwnMeasure]) -> dict[str, float]:
    """Return `{measure: its value}` of a run that has ended."""
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


AGENTS = 30  # the number of people in the small world that is built to find the measures
NAMED_BY_RUNS = ("cascade_sizes", "behaviour.time_by_state", "behaviour.dwell")
"""The entries of a shipped domain whose names a run finds."""
NUMBER, ANYTHING = "a number", "anything"

Entries = Mapping[str, Any]  # `{name: entries below it, or a description in words}`


class KnownMeasures:
    """The measures of the runs of a configuration."""

    def __init__(self, config: Config) -> None:
        # A domain that is shipped counts the same with any settings, so a small one is built.
        built = config
        if not is_own(config):
            plain = replace(Config().simulation, domain=config.simulation.domain)
            built = replace(Config(), simulation=plain, population=PopulationConfig(size=AGENTS))
        domain = build_domain(built).domain
        totals = domain.world.totals()
        measures = config.population.measures
        self._columns = (*round_of(Counters(domain.chart, domain.size), domain, 0, 1), *measures)
        self._attributes = config.population.attributes
        world = _entries(totals, "")
        if is_own(config):  # an entry that is no number now may change by the end of a run
            world = {name: NUMBER if isinstance(each, int | float) else ANYTHING for name, each in totals.items()}
        self._is_social = "cascade_sizes" in totals
        self._summary: Entries = {**_fields(inspect.type_info(Summary)), **world, **dict.fromkeys(measures, NUMBER)}

    def problem(self, place: str, others: Sequence[str] = ()) -> str:
        """Return the problem of a measure; empty if runs have it, or if only a run can tell."""
        if place.startswith(ROUNDS_PREFIX):
            column, _ = rounds_place(place)
            is_known = column in self._columns
            if is_known:
                return ""
            if self._is_social and measure_name(column) is not None:
                return unknown_measure(column, (), self._attributes)
            return f"no column {column!r} in {ROUNDS}: {guess(column, self._columns)}"
        if self._is_social and place.startswith(CASCADES):
            return cascades_problem(place)
        if self._is_social and place.startswith(BY):
            return by_problem(place, self._attributes)
        return self._problem_in_summary(place, others)

    def _problem_in_summary(self, place: str, others: Sequence[str]) -> str:
        found: Any = self._summary
        path = SHORT.get(place, place).split(".")
        for depth, name in enumerate(path):
            if not isinstance(found, Mapping):
                return "" if found == ANYTHING else f"{'.'.join(path[:depth])} is {found}, with nothing below it"
            if name not in found:
                if self._is_social and measure_name(place) is not None:
                    return unknown_measure(place, (), self._attributes)
                # The name that was probably meant is at this depth, or stands for itself.
                here = [".".join([*path[:depth], one]) for one, kind in found.items() if kind not in _OTHERS.values()]
                cascades = CASCADES_KNOWN if "cascade_sizes" in found and place.startswith("cascade") else ()
                known = [*here, *others, *cascades, *(() if depth else SHORT)]
                return f"no measure {place!r}: {guess(place, known)}"
            found = found[name]
        if isinstance(found, Mapping):
            return f"{place} is no number: expected one of {', '.join(f'{place}.{name}' for name in found)}"
        return "" if found in (NUMBER, ANYTHING) else f"{place} is {found}, and no number"


def known_measures(config: Config) -> KnownMeasures | None:
    """Return the measures of the runs of a configuration; None if its domain cannot be built: its runs report why."""
    try:
        return KnownMeasures(config)
    except PrismError:
        return None


def _fields(kind: inspect.Type) -> Any:
    """Return the entries of a record, or a description of a value of another type."""
    if isinstance(kind, inspect.StructType):
        return {field.encode_name: _fields(field.type) for field in kind.fields if field.name != "world"}
    if isinstance(kind, inspect.UnionType):
        return _fields(next(each for each in kind.types if not isinstance(each, inspect.NoneType)))
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        return NUMBER
    return ANYTHING if isinstance(kind, inspect.DictType) else _OTHERS[type(kind)]


_OTHERS = {inspect.StrType: "a text", inspect.BoolType: "true or false", inspect.ListType: "a list"}
"""`{type: its description}` of types that are no numbers."""


def _entries(value: Any, place: str) -> Any:
    if place in NAMED_BY_RUNS:
        return ANYTHING
    if isinstance(value, Mapping):
        return {name: _entries(each, f"{place}.{name}".lstrip(".")) for name, each in value.items()}
    return NUMBER if isinstance(value, int | float) and not isinstance(value, bool) else "a text"
