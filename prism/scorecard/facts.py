"""Stylised facts: numbers of the real world beside those of runs, whether they agree, and the facts of economies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum, unique
from typing import Final

import msgspec
import numpy as np
from msgspec.structs import replace

from prism.economy.moments import equal_windows, moments
from prism.economy.series import Figures
from prism.quarter import Quarter


@unique
class Agreement(StrEnum):
    """The agreement of a run with a fact: the limit is met, or missed, or the run has too little to tell."""

    MET = "met"
    MISSED = "missed"
    UNKNOWN = "unknown"


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    name: str  # what is measured
    real: float | None = None  # the real figure; None if only its limit is known
    simulated: float | None = None  # the run's; None if the run has none
    # low, high: its 95% interval; None if there is none
    low: float | None = None
    high: float | None = None
    # the Kolmogorov-Smirnov or another distance of the two distributions, 0 to 1; None for single numbers
    distance: float | None = None
    limit: str  # what counts as agreement, in words
    agreement: Agreement = Agreement.UNKNOWN  # whether the run agrees
    source: str  # where the real figure is from
    note: str = ""  # what else one must know; may be empty


def agreement_of(is_met: bool) -> Agreement:
    return Agreement.MET if is_met else Agreement.MISSED


RUNS_MIN: Final = 20  # the fewest runs from whose spread a moment is judged


def macro_facts(
    runs: Sequence[Mapping[str, Sequence[float]]], figures: Sequence[Figures], source: str, start: Quarter | None = None
) -> list[Fact]:
    """Return the moments of runs beside those of equally many real quarters.

    Args:
        runs: `{column: its value in each quarter}` of each run.
        figures: the real quarters.
        source: the name of their file.
        start: the quarter from whose figures the runs started; None if from none.

    Raises:
        ValueError: a run or the real figures have too few quarters.
    """
    windows = equal_windows(runs, figures, start)
    found, real = [moments(run) for run in windows.runs], moments(windows.real)
    quarters = len(windows.real["interest_rate"])
    period = f"{source}, {windows.period.first} to {windows.period.last}: {quarters} quarters, as of the runs"
    facts = []
    for name, value in real.items():
        fact = Fact(name=name, limit="in the interval", source=period, note="not defined: something does not vary")
        known = [each[name] for each in found if math.isfinite(each[name])]
        if known and math.isfinite(value):
            note = f"{len(known)} runs; {RUNS_MIN} needed for an interval"
            fact = replace(fact, real=value, simulated=float(np.median(known)), note=note)
        if math.isfinite(value) and len(known) >= RUNS_MIN:
            low, high = interval_of_runs(known)
            agreement, note = agreement_of(low <= value <= high), f"median of {len(known)} runs"
            fact = replace(fact, low=low, high=high, agreement=agreement, note=note)
        facts.append(fact)
    return facts


def interval_of_runs(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends between which another run is in 90% of cases, beside 19 runs or more.

    Source: Weibull (1939). Plain percentiles of 20 runs hold another one in 81%.
    """
    low, high = np.percentile(values, (5.0, 95.0), method="weibull")
    return float(low), float(high)
