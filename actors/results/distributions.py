"""The attributes that people change, over the rounds of a run: all values, from the start to the last round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from actors.store.record import Record, readable
from prism.columns import Floats
from prism.config import Config
from prism.config.attributes import AttributeConfig, Value
from prism.rows import unpacked
from prism.social.measures import bimodality, variance

ROUNDS_MAX: Final = 60
"""The most rounds whose ends are kept: of a longer run they are evenly chosen, and the last one."""
VALUES_MAX: Final = 1001
"""The most values that are kept of a moment: of more people they are evenly chosen by rank."""


class Cluster(NamedTuple):
    """The people on one side of the mean: how many they are, and their median."""

    people: int
    median: float


class Moment(NamedTuple):
    """A number of everybody at the end of a round."""

    values: Floats  # ascending, of shape (people,) or (VALUES_MAX,)
    mean: float
    spread: float
    bimodality: float  # as computed by `prism.social.measures.bimodality`
    sides: tuple[Cluster, Cluster]  # the people below the mean, and the others


class NumberCourse(NamedTuple):
    """A number of people over the rounds."""

    name: str
    rounds: list[int]  # ascending; 0 is the start, 1 the end of the first round
    moments: list[Moment]


class ValueCourse(NamedTuple):
    """A text or a truth value of people over the rounds."""

    name: str
    rounds: list[int]  # as for `NumberCourse`
    shares: list[dict[str, float]]  # the share of people with each value: of all values at any of these rounds, 0 to 1


AttributeCourse = NumberCourse | ValueCourse


def read_distributions(
    path: Path, config: Config, drawn: Mapping[str, Sequence[Value | None]], ticks: int
) -> tuple[AttributeCourse, ...]:
    """Return the attributes that differ at the ends of rounds, in their order. It reads the journal once.

    Args:
        path: the run's directory.
        drawn: the values at the start, of the attributes that people change.
        ticks: whole ticks of the run; rounds that are not whole are left out.
    """
    length = config.simulation.ticks_per_round
    last = ticks // length
    kept = {*range(0, last + 1, max(1, -(-last // ROUNDS_MAX))), last}
    columns = {name: _Column(name, config.population.attributes[name], values) for name, values in drawn.items()}
    record, moments = Record(path), [each * length for each in sorted(kept)[1:]]
    for block in record.blocks(until=last * length, wanted=record.all_of("attributes")):
        at, end = block.first, block.first + block.ticks
        with readable(block):
            while at < end:
                until = min(moments[0], end)
                changes = block.part(at, until).tables["attributes"].columns
                names, of_row = changes["name"].numbered()
                for number, name in enumerate(names):
                    if name in columns:
                        places = np.flatnonzero(of_row == number)
                        columns[name].values[changes["agent"][places]] = unpacked(changes["value"].at(places))
                at = until
                if at == moments[0]:
                    del moments[0]
                    for column in columns.values():
                        column.keep()
    return tuple(column.course(sorted(kept)) for column in columns.values() if column.differs)


class _Column:
    """An attribute of everybody while a journal is read."""

    def __init__(self, name: str, declared: AttributeConfig, values: Sequence[Value | None]) -> None:
        self._name = name
        self._is_number = declared.type in ("float", "int")
        self.values: NDArray[Any] = np.array(values, dtype=np.float64 if self._is_number else object)
        self._first = self.values.copy()
        self.differs = False
        """True if somebody had another value than at the start, at one of the moments."""
        self._moments: list[Moment] = []
        self._counts: list[Counter[str]] = []
        self.keep()

    def keep(self) -> None:
        """Keep the distribution of the values at this moment."""
        self.differs = self.differs or bool((self.values != self._first).any())
        if self._is_number:
            self._moments.append(moment_of(self.values))
        else:
            self._counts.append(Counter(map(_text, self.values)))

    def course(self, rounds: list[int]) -> AttributeCourse:
        if not self._is_number:
            every = dict.fromkeys(text for counted in self._counts for text in counted)
            shares = [{text: counted[text] / counted.total() for text in every} for counted in self._counts]
            return ValueCourse(self._name, rounds, shares)
        return NumberCourse(self._name, rounds, self._moments)


def moment_of(values: Floats) -> Moment:
    """Return the distribution of a number over all people. `values`: of shape (people,), in any order."""
    mean = float(values.mean())
    is_below = values < mean
    sides = [values[is_below], values[~is_below]]
    ranks = np.linspace(0, len(values) - 1, min(len(values), VALUES_MAX)).round().astype(np.int64)
    below, above = (Cluster(len(side), float(np.median(side)) if len(side) else mean) for side in sides)
    return Moment(np.sort(values)[ranks], mean, float(np.sqrt(variance(values))), bimodality(values), (below, above))


def _text(value: Value) -> str:
    return value if isinstance(value, str) else "true" if value else "false"
