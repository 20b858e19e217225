"""The measures of people and their ties that a run was asked for, as they are at a moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism.columns import Ints
from prism.config.measures import MeasureName, measure_name
from prism.social.measures import (
    Floats,
    assortativity,
    bimodality,
    correlation,
    ei_index,
    ends_of,
    gini,
    modularity,
    nominal_assortativity,
    variance,
)
from prism.social.tables import Lists

DIGITS = 6
"""The digits of a measure: the last ones of a float depend on the processor."""
_OF_GROUPS = {"ei_index": ei_index, "modularity": modularity, "assortativity": nominal_assortativity}


class Moment:
    """People and their ties at a moment; what several measures share is worked out once.

    Args:
        followers: those of each person.
        reshares: how often the posts of each person were reshared so far.
        column: returns the values of everybody for a field `agent.NAME`; None if somebody has none.
    """

    def __init__(self, followers: Lists, reshares: Ints, column: Callable[[str], NDArray[Any] | None]) -> None:
        self._followers, self._reshares, self._column = followers, reshares, column

    def measured(self, names: Sequence[str]) -> dict[str, float]:
        """Return `{measure: its value}`, rounded to DIGITS digits."""
        return {name: float(f"{self._value(name):.{DIGITS}g}") for name in names}

    def _value(self, name: str) -> float:
        measure = measure_name(name)
        if measure is None:
            raise ValueError(f"no measure {name!r}")
        if measure.kind == "gini":
            return gini(self._attention(measure))
        values = self._column(f"agent.{measure.attribute}")
        if values is None:
            raise ValueError(f"{name}: nobody has {measure.attribute!r}")
        if values.dtype.kind in "fi":
            return self._of_numbers(measure, values.astype(np.float64))
        groups = np.unique(values, return_inverse=True)[1]
        return _OF_GROUPS[measure.kind](*self._ends, groups)

    def _of_numbers(self, measure: MeasureName, values: Floats) -> float:
        if measure.kind == "assortativity":
            return assortativity(*self._ends, values)
        if measure.kind == "correlation":
            return correlation(values, self._attention(measure).astype(np.float64))
        return variance(values) if measure.kind == "variance" else bimodality(values)

    def _attention(self, measure: MeasureName) -> Ints:
        if measure.attention == "reshares":
            return self._reshares
        return np.asarray(self._followers.ends - self._followers.starts)

    @cached_property
    def _ends(self) -> tuple[Ints, Ints]:
        return ends_of(self._followers)
