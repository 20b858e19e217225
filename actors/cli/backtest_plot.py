"""The plot of a backtest. It needs matplotlib."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from prism.economy.backtest import Forecast

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACTUAL, RULE, INK = "#1b1b1b", "#0072b2", "#4d4d4d"
"""Colours. Blue and black can be told apart with every kind of colour vision (Okabe & Ito 2008), and in print."""
SIZE_INCHES, DOTS_PER_INCH = (8.0, 5.2), 200


def draw(forecasts: Sequence[Forecast], *, lag_quarters: int) -> bytes | None:
    """Return the rates and their difference over time, as a PNG; None without matplotlib."""
    try:
        from matplotlib import rc_context  # noqa: PLC0415  # an optional package, which most runs do not need
        from matplotlib.figure import Figure  # noqa: PLC0415
        from matplotlib.layout_engine import ConstrainedLayoutEngine  # noqa: PLC0415
        from matplotlib.ticker import MaxNLocator  # noqa: PLC0415
    except ImportError:
        return None
    with rc_context({"font.size": 9, "axes.edgecolor": INK, "text.color": INK, "axes.labelcolor": INK}):
        figure = Figure(figsize=SIZE_INCHES, layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1))
        rates, errors = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        _draw_rates(rates, forecasts)
        _draw_errors(errors, forecasts)
        errors.xaxis.set_major_locator(MaxNLocator(integer=True))  # years, also for a short sample
        period = f"{forecasts[0].quarter} to {forecasts[-1].quarter}"
        rates.set_title(f"The policy rule and the 3-month Treasury bill rate, {period}", loc="left", weight="bold")
        figure.supxlabel(
            f"The rule sees inflation and unemployment of {_age(lag_quarters)}. Revised data; natural rate constant.",
            fontsize=7.5,
            x=0.01,
            ha="left",
        )
        picture = io.BytesIO()
        # No date and no version in the file, so that equal backtests have equal bytes on one machine.
        figure.savefig(picture, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return picture.getvalue()


def _draw_rates(axes: Axes, forecasts: Sequence[Forecast]) -> None:
    times = _times(forecasts)
    axes.plot(times, [one.actual_rate for one in forecasts], color=ACTUAL, linewidth=1.6, label="actual")
    axes.plot(times, [one.rule_rate for one in forecasts], color=RULE, linewidth=1.3, label="rule")
    axes.set_ylabel("percent a year")
    axes.legend(frameon=False, loc="upper right", ncols=2)
    _tidy(axes)


def _draw_errors(axes: Axes, forecasts: Sequence[Forecast]) -> None:
    times = _times(forecasts)
    differences = [one.rule_rate - one.actual_rate for one in forecasts]
    axes.fill_between(times, differences, color=RULE, alpha=0.35, linewidth=0)
    axes.axhline(0.0, color=INK, linewidth=0.8)
    axes.set_ylabel("rule less actual,\npoints")
    axes.set_xlim(times[0], times[-1])
    _tidy(axes)


def _times(forecasts: Sequence[Forecast]) -> list[float]:
    """Return the middle of each quarter, in years."""
    return [one.quarter.year + (one.quarter.number - 0.5) / 4.0 for one in forecasts]


def _tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#d9d9d9", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK)


def _age(lag_quarters: int) -> str:
    return {0: "the quarter itself", 1: "the quarter before"}.get(lag_quarters, f"{lag_quarters} quarters before")
