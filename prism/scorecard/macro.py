"""The stylised facts of economies: the moments of quarterly figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from prism.economy.moments import equal_windows, moments
from prism.economy.series import Figures
from prism.quarter import Quarter
from prism.scorecard.facts import Agreement, Fact, agreement_of

RUNS_MIN: Final = 20  # the fewest runs from whose spread a moment is judged
LIMIT: Final = "in the interval"
_INTERVAL: Final = (5.0, 95.0)


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
    return [_fact(name, value, [each[name] for each in found], period) for name, value in real.items()]


def _fact(name: str, real: float, values: Sequence[float], source: str) -> Fact:
    known = [value for value in values if math.isfinite(value)]
    if not known or not math.isfinite(real):
        note = "not defined: something does not vary"
        return Fact(
            name=name, real=None, simulated=None, limit=LIMIT, agreement=Agreement.UNKNOWN, source=source, note=note
        )
    low, high = interval_of_runs(known)
    is_judged = len(known) >= RUNS_MIN
    return Fact(
        name=name,
        real=real,
        simulated=float(np.median(known)),
        low=low if is_judged else None,
        high=high if is_judged else None,
        limit=LIMIT,
        agreement=agreement_of(low <= real <= high) if is_judged else Agreement.UNKNOWN,
        source=source,
        note=f"median of {len(known)} runs" if is_judged else f"{len(known)} runs; {RUNS_MIN} needed for an interval",
    )


def interval_of_runs(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends between which another run is in 90% of cases, beside 19 runs or more.

    Source: Weibull (1939). Plain percentiles of 20 runs hold another one in 81%.
    """
    low, high = np.percentile(values, _INTERVAL, method="weibull")
    return float(low), float(high)
