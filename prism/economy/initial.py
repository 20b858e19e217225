"""The state in which an economy starts, and what came before: as configured, or as in a real quarter."""

from __future__ import annotations

import math
from collections.abc import Sequence

from prism.config.model import InitialConfig, MacroConfig
from prism.economy.macro import Lags, output_gap
from prism.economy.series import Figures, quarter_inflation, year_growth, year_inflation
from prism.errors import InputError
from prism.models import GlobalState
from prism.quarter import Quarter
from prism.wording import counted


def initial_state(initial: InitialConfig, series: Sequence[Figures] = ()) -> GlobalState:
    """Return the indicators at the start.

    Args:
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
        before = f"has {counted(place, 'quarter')} before {series[place].quarter}"
        raise InputError(initial.path, f"{before}: expected at least 4, for the inflation of a year")
    return GlobalState(
        interest_rate=series[place].interest_rate,
        inflation=inflation,
        gdp_growth=growth,
        unemployment=series[place].unemployment,
        total_economic_value=series[place].real_gdp,
    )


def start_text(source: str, initial: InitialConfig, series: Sequence[Figures], state: GlobalState) -> str:
    """Return a line with the quarter of a file that a run starts from, and its `initial_state`."""
    return (
        f"{source}: the run starts from {series[_place(initial, series)].quarter}: interest rate "
        f"{state.interest_rate:.4g}%, inflation {state.inflation:.4g}% a year, growth {state.gdp_growth:.4g}% a year, "
        f"unemployment {state.unemployment:.4g}%, real GDP {state.total_economic_value:,.6g}"
    )


def initial_lags(initial: InitialConfig, macro: MacroConfig, series: Sequence[Figures] = ()) -> Lags:
    """Return the past of the first quarter: the year up to the start.

    The output gap is the one that Okun's law gives, and the one before it differs by the growth of the quarter. Without
    a file, the economy was constant for a year before the start.

    Raises:
        InputError: as `initial_state`.
    """
    state = initial_state(initial, series)
    if initial.path is None:
        return Lags.beginning(state, macro)
    place = _place(initial, series)
    p1, p2, p3, p4 = (quarter_inflation(series, place - age) for age in range(4))
    r1, r2, r3 = (series[place - age].interest_rate for age in range(3))
    gap = output_gap(state.unemployment, macro)
    grown = 100.0 * math.log(series[place].real_gdp / series[place - 1].real_gdp)
    lags = Lags(
        gaps=(gap, gap - grown + 25.0 * math.log1p(macro.trend_growth / 100.0)),
        inflations=(p1, p2, p3, p4),
        rates=(r1, r2, r3),
        unemployment=state.unemployment,
        unemployment_change=state.unemployment - series[place - 1].unemployment,
    )
    return lags.moved_to(state, macro)


def _place(initial: InitialConfig, series: Sequence[Figures]) -> int:
    if initial.quarter is None:
        return len(series) - 1
    wanted = Quarter.parse(initial.quarter)
    for place, figures in enumerate(series):
        if figures.quarter == wanted:
            return place
    problem = f"has no quarter {wanted} (economy.initial.quarter): expected one from {series[0].quarter} to "
    raise InputError(str(initial.path), f"{problem}{series[-1].quarter}")
