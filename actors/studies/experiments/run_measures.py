"""The measures of runs: their values, users' own functions, and the names that are known before the first run."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

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
from prism.config.yaml_text import flat
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
    numbers, found = numbers_of(path), dict[str, float]()
    for name, place in measures.items():
        if name not in own:
            found[name] = numbers.value(place)
            continue
        try:
            value = own[name](path)
        except Exception as error:  # a user's code may raise anything
            raise RunDirectoryError(f"{path}: {place} raised {raised(error)}") from error
        found[name] = numbers.number(place, value)
    return found


AGENTS = 30  # the number of people in the small world that is built to find the measures
NAMED_BY_RUNS = ("cascade_sizes", "behaviour.time_by_state")
"""The entries of a shipped domain whose names a run finds."""


class KnownMeasures:
    """The measures of the runs of a configuration."""

    def __init__(self, config: Config) -> None:
        # A domain that is shipped counts the same with any settings, so a small one is built.
        built = config
        if not is_own(config):
            plain = replace(Config().simulation, domain=config.simulation.domain)
            built = replace(Config(), simulation=plain, population=PopulationConfig(size=AGENTS))
        domain = build_domain(built).domain
        totals, measures = domain.world.totals(), config.population.measures
        self._columns = (*round_of(Counters(domain.chart, domain.size), domain, 0, 1), *measures)
        self._attributes = config.population.attributes
        self._is_social = "cascade_sizes" in totals
        self._numbers, self._open = {*measures}, set[str]()
        """The entries below which there may be numbers that only a run can tell."""
        self._note_fields(inspect.type_info(Summary), "")
        if is_own(config):  # an entry that is no number now may change by the end of a run
            self._numbers |= {*totals}
            self._open |= {*totals}
        else:
            self._open |= {each for each in NAMED_BY_RUNS if each.partition(".")[0] in totals}
            numbers = ((name, value) for name, value in flat(totals) if isinstance(value, int | float))
            told = (name for name, value in numbers if not isinstance(value, bool))
            self._numbers |= {name for name in told if not name.startswith(NAMED_BY_RUNS)}
        self._numbers |= {short for short, place in SHORT.items() if self._has(place)}

    def problem(self, place: str, others: Sequence[str] = ()) -> str:
        """Return the problem of a measure; empty if runs have it, or if only a run can tell."""
        if place.startswith(ROUNDS_PREFIX):
            column, _ = rounds_place(place)
            if column in self._columns:
                return ""
            if self._is_social and measure_name(column) is not None:
                return unknown_measure(column, (), self._attributes)
            return f"no column {column!r} in {ROUNDS}: {guess(column, self._columns)}"
        if self._is_social and place.startswith(CASCADES):
            return cascades_problem(place)
        if self._is_social and place.startswith(BY):
            return by_problem(place, self._attributes)
        if self._has(place):
            return ""
        if self._is_social and measure_name(place) is not None:
            return unknown_measure(place, (), self._attributes)
        cascades = CASCADES_KNOWN if self._is_social and place.startswith("cascade") else ()
        known, top = [*sorted(self._numbers), *others, *cascades], place.partition(".")[0]
        near = [each for each in known if each.partition(".")[0] == top]
        return f"no measure {place!r}: {guess(place, near or known)}"

    def _has(self, place: str) -> bool:
        return place in self._numbers or any(place.startswith(f"{each}.") for each in self._open)

    def _note_fields(self, kind: inspect.Type, place: str) -> None:
        """Note the numbers of a record, with their places in it."""
        if isinstance(kind, inspect.UnionType):
            kind = next(each for each in kind.types if not isinstance(each, inspect.NoneType))
        if isinstance(kind, inspect.StructType):
            for field in kind.fields:
                self._note_fields(field.type, f"{place}.{field.encode_name}".lstrip("."))
        elif isinstance(kind, inspect.IntType | inspect.FloatType):
            self._numbers.add(place)
        elif isinstance(kind, inspect.DictType) and place != "world":
            self._open.add(place)


def known_measures(config: Config) -> KnownMeasures | None:
    """Return the measures of the runs of a configuration; None if its domain cannot be built: its runs report why."""
    try:
        return KnownMeasures(config)
    except PrismError:
        return None
