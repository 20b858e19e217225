"""The stylised facts of economies: the moments of quarterly figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from prism.economy.moments import moments, real_columns
from prism.economy.series import YEAR_QUARTERS, Figures
from prism.scorecard.facts import Agreement, Fact, agreement_of

RUNS_MIN: Final = 20
"""The fewest runs from whose spread a moment is judged."""
LIMIT: Final = "in the interval"
_INTERVAL: Final = (5.0, 95.0)


def macro_facts(runs: Sequence[Mapping[str, Sequence[float]]], figures: Sequence[Figures], source: str) -> list[Fact]:
    """Return the moments of runs beside those of real figures.

    Args:
        runs: `{column: its value in each quarter}` of each run.
        figures: the real quarters.
        source: the name of their file.

    Raises:
        ValueError: a run or the real figures have too few quarters.
    """
    found = [moments(run) for run in runs]
    real = moments(real_columns(figures))
    period = f"{source}, {figures[YEAR_QUARTERS].quarter} to {figures[-1].quarter}"
    return [_fact(name, value, [each[name] for each in found], period) for name, value in real.items()]


def _fact(name: str, real: float, values: Sequence[float], source: str) -> Fact:
    known = [value for value in values if math.isfinite(value)]
    if not known or not math.isfinite(real):
        note = "not defined: something does not vary"
        return Fact(
            name=name, real=None, simulated=None, limit=LIMIT, agreement=Agreement.UNKNOWN, source=source, note=note
        )
    low, high = (float(edge) for edge in np.percentile(known, _INTERVAL))
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
