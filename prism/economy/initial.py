"""The state in which an economy starts: as configured, or as in a real quarter."""

from __future__ import annotations

from collections.abc import Sequence

from prism.config.model import InitialConfig
from prism.economy.series import Figures, year_growth, year_inflation
from prism.economy.state import GlobalState
from prism.errors import InputError
from prism.quarter import Quarter


def initial_state(initial: InitialConfig, series: Sequence[Figures] = ()) -> GlobalState:
    """Return the indicators at the start.

    Args:
        initial: the settings.
        series: the quarters of the file at `initial.path`, if there is one. Its inflation and growth are those of the
            year up to the quarter, so that one unusual quarter does not decide the course of a run.

    Raises:
        InputError: the quarter is not in the series, or has no whole year before it.
    """
    if initial.path is None:
        return GlobalState(
            interest_rate=initial.interest_rate,
            inflation=initial.inflation,
            gdp_growth=initial.gdp_growth,
            unemployment=initial.unemployment,
            total_economic_value=initial.total_economic_value,
        )
    place = _place(initial, series)
    inflation, growth = year_inflation(series, place), year_growth(series, place)
    if inflation is None or growth is None:
        problem = (
            f"has {place} quarters before {series[place].quarter}: expected at least 4, for the inflation of a year"
        )
        raise InputError(initial.path, problem)
    return GlobalState(
        interest_rate=series[place].interest_rate,
        inflation=inflation,
        gdp_growth=growth,
        unemployment=series[place].unemployment,
        total_economic_value=series[place].real_gdp,
    )


def _place(initial: InitialConfig, series: Sequence[Figures]) -> int:
    """Return the index of the first quarter in the series."""
    if initial.quarter is None:
        return len(series) - 1
    wanted = Quarter.parse(initial.quarter)
    for place, figures in enumerate(series):
        if figures.quarter == wanted:
            return place
    problem = f"has no quarter {wanted} (economy.initial.quarter): expected one from {series[0].quarter} to "
    raise InputError(str(initial.path), f"{problem}{series[-1].quarter}")
