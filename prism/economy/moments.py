"""The moments of an economy: a few numbers that say how its quarters behave, the same for a run and for history.

They are computed from the columns of `rounds.csv`: the interest rate, inflation over the year, the growth of the
quarter at an annual rate, and unemployment. `real_columns` makes the same columns of real figures.

A moment of forty quarters is not one of two hundred: it varies more, and deviations and autocorrelations are smaller.
So runs stand beside as many real quarters as they have (`equal_windows`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from prism.economy.series import YEAR_QUARTERS, Figures, year_change
from prism.quarter import Period, Quarter

COLUMNS: Final = ("interest_rate", "inflation", "gdp_growth", "unemployment")
"""The columns that moments are made of, by their names in `rounds.csv`."""
QUARTERS_MIN: Final = 12  # the fewest quarters that have moments: three years
BIG_MOVE: Final = 1.0  # points by which a rate moves in a quarter with a big move
ZERO_RATE: Final = 0.25  # the rate, in percent, up to which it counts as zero: one step of policy
TRAP_QUARTERS: Final = 8  # the quarters at the end of a series that decide whether it is in a deflation trap

_ROUNDING: Final = 1e-9  # rates are sums of steps, so a move of a point may be a little less than 1


def moments(series: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the moments of an economy. One that is not defined is NaN: the correlation of a column without variation.

    Args:
        series: `{column: its value in each quarter}`, with at least `COLUMNS`, all of one length.

    Raises:
        ValueError: a column is missing, too short, or not as long as the others.
    """
    if missing := [name for name in COLUMNS if name not in series]:
        raise ValueError(f"expected the columns {', '.join(COLUMNS)}; missing: {', '.join(missing)}")
    columns = {name: series[name] for name in COLUMNS}
    rate, inflation, growth, unemployment = columns.values()
    if len({*map(len, columns.values())}) > 1:
        lengths = ", ".join(f"{name} {len(column)}" for name, column in columns.items())
        raise ValueError(f"expected columns of one length, got {lengths}")
    if len(rate) < QUARTERS_MIN:
        raise ValueError(f"expected at least {QUARTERS_MIN} quarters, got {len(rate)}")
    rate_moves, work = np.diff(rate).tolist(), np.diff(unemployment).tolist()
    okun = correlation(growth[1:], work)
    return {
        **{f"{name}_mean": statistics.fmean(column) for name, column in columns.items()},
        **{f"{name}_sd": statistics.pstdev(column) for name, column in columns.items()},
        **{f"{name}_autocorrelation": autocorrelation(column) for name, column in columns.items()},
        "rate_change_autocorrelation": autocorrelation(rate_moves),  # of changes from quarter to quarter
        "gdp_growth_kurtosis": standardised_moment(growth, 4) - 3.0,  # heaviness of the tails: 0 of a normal law
        "unemployment_skew": standardised_moment(unemployment, 3),  # above 0 where it rises higher than it falls
        "okun_correlation": okun,  # of growth with the change of unemployment in the same quarter; -1 is an exact law
        # points of unemployment for a percent of growth at an annual rate, by least squares
        "okun_slope": math.nan if math.isnan(okun) else okun * float(np.std(work) / np.std(growth[1:])),
        "rate_inflation_correlation": correlation(rate, inflation),  # in one quarter; then a year before, and later
        "rate_inflation_before_correlation": correlation(rate[YEAR_QUARTERS:], inflation[:-YEAR_QUARTERS]),
        "rate_inflation_after_correlation": correlation(rate[:-YEAR_QUARTERS], inflation[YEAR_QUARTERS:]),
        # shares of quarters: the rate moves by a point or more, or is zero; prices are lower than a year before
        "big_move_share": statistics.fmean(abs(move) >= BIG_MOVE - _ROUNDING for move in rate_moves),
        "zero_rate_share": statistics.fmean(each <= ZERO_RATE for each in rate),
        "deflation_share": statistics.fmean(each < 0.0 for each in inflation),
        "deflation_trap": float(is_deflation_trap(rate, inflation)),  # 1 or 0
    }


def real_columns(figures: Sequence[Figures], period: Period | None = None) -> dict[str, list[float]]:
    """Return real figures as `COLUMNS`, from the first quarter on that has a year before it.

    Inflation is the rise of prices over the year, growth that of the quarter at an annual rate, as in a run.
    """
    columns: dict[str, list[float]] = {name: [] for name in COLUMNS}
    for place in range(YEAR_QUARTERS, len(figures)):
        now, before = figures[place], figures[place - 1]
        inflation = year_change(figures, place, "price_index")
        if inflation is not None and (period is None or now.quarter in period):
            growth = 100.0 * ((now.real_gdp / before.real_gdp) ** YEAR_QUARTERS - 1.0)
            for name, value in zip(COLUMNS, (now.interest_rate, inflation, growth, now.unemployment), strict=True):
                columns[name].append(value)
    return columns


class Windows(NamedTuple):
    """Runs and real figures over equally many quarters."""

    runs: list[dict[str, Sequence[float]]]  # `{column: its value in each quarter}` of each run
    real: dict[str, list[float]]
    period: Period


def equal_windows(
    runs: Sequence[Mapping[str, Sequence[float]]], figures: Sequence[Figures], start: Quarter | None = None
) -> Windows:
    """Return runs and real figures over equally many quarters.

    Runs that start in a quarter of the figures have the quarters after it, as far as the figures go. Others, and runs
    whose start leaves less than `QUARTERS_MIN`, have the last quarters of both.

    Args:
        runs: `{column: its value in each quarter}` of each, at least one.
        figures: with a year before the first one that counts.
        start: the quarter from whose figures the runs started.
    """
    length, known = min(len(run["interest_rate"]) for run in runs), figures[YEAR_QUARTERS:]
    after = [each for each in known if start is not None and each.quarter > start][:length]
    is_dated = len(after) >= min(QUARTERS_MIN, length)
    kept = after if is_dated else known[-length:]
    count = len(kept)
    part = slice(count) if is_dated else slice(length - count, length)
    period = Period(kept[0].quarter, kept[-1].quarter)
    return Windows(
        runs=[{name: run[name][:length][part] for name in COLUMNS} for run in runs],
        real=real_columns(figures, period),
        period=period,
    )


def is_deflation_trap(rate: Sequence[float], inflation: Sequence[float]) -> bool:
    """Return whether a series ends in a deflation trap: no rate is left to cut, and prices fall, for two years."""
    last = zip(rate[-TRAP_QUARTERS:], inflation[-TRAP_QUARTERS:], strict=True)
    return len(rate) >= TRAP_QUARTERS and all(each <= ZERO_RATE and prices < 0.0 for each, prices in last)


def autocorrelation(column: Sequence[float]) -> float:
    """Return the correlation of a column with itself a quarter before; NaN if it does not vary."""
    return correlation(column[1:], column[:-1])


def standardised_moment(column: Sequence[float], power: int) -> float:
    """Return the mean of a power of the distances from the mean, in standard deviations; NaN if nothing varies."""
    spread = np.std(column) if min(column) < max(column) else 0.0
    return float(np.mean(((np.asarray(column) - np.mean(column)) / spread) ** power)) if spread > 0.0 else math.nan


def correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Pearson's correlation of two columns; NaN if one of them does not vary."""
    # Sums cannot tell: the mean of twelve times 0.1 is not 0.1.
    varies = all(min(column) < max(column) and np.var(column) > 0.0 for column in (first, second))
    try:
        return statistics.correlation(first, second) if varies else math.nan
    except statistics.StatisticsError:  # the product of the squares of tiny differences is 0
        return math.nan
