"""The calls that the runs of a study will make to a model together, beside their budget, as rows of text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from actors.display.words import usd
from actors.runs.forecast import Forecast
from actors.studies.experiments.shared_oracle import Asking, limits_of, used_so_far
from prism.config import Config


class Asked(NamedTuple):
    """The calls that cells will make to a model together.

    Args:
        rows: `(name, text)` on calls and budget; none without a model.
        least_s: the time that the calls take, within the limits over all cells, for the least and the most seeds.
    """

    rows: list[tuple[str, str]]
    least_s: list[float]


def asked_together(asking: Asking, out: Path, forecasts: Sequence[Sequence[Forecast]]) -> Asked:
    """Return the calls that cells will make to a model together, and whether the budget is enough for them."""
    if not any(forecasts):
        return Asked([], [0.0 for _ in forecasts])
    limits, used = limits_of(asking), used_so_far(out)
    calls = [sum(each.calls for each in part) for part in forecasts]
    amounts = [_sum(part) for part in forecasts]
    shown = ["cost unknown: set llm.prices" if each is None else usd(each) for each in amounts]
    about = "at most about" if limits.ask_once else "about"
    why = ", fewer as equal questions are asked once" if limits.ask_once else ""
    text = f"{about} {to([f'{each:,}' for each in calls])} to a model, {to(shown)}{why}"
    rows = [("calls", f"{text}; {limits.max_concurrency:,} at once over all cells")]
    tokens = sum(each.prompt_tokens + each.completion_tokens for each in forecasts[-1])
    budgets = [
        _budget("calls", limits.max_calls, used.calls, calls[-1]),
        _budget("tokens", limits.max_tokens, used.prompt_tokens + used.completion_tokens, tokens),
        _budget("usd", limits.max_usd, used.usd, amounts[-1] or 0.0),
    ]
    rows += [("budget", text) for text in budgets if text]
    rate = limits.rate_per_s
    return Asked(
        rows,
        [
            max(
                sum(each.calls * each.latency_s for each in part) / limits.max_concurrency,
                0.0 if rate is None else count / rate,
            )
            for part, count in zip(forecasts, calls, strict=True)
        ],
    )


def run_s(forecast: Forecast, config: Config) -> float:
    """Return the seconds that a run takes: the time of its ticks, or of its model calls if these take longer."""
    hours = forecast.hours if config.oracle.backend != "choice" else 0.0
    return max(forecast.tick_s * config.simulation.length, hours * 3600)


def _sum(part: Sequence[Forecast]) -> float | None:
    """Return the total cost of calls; None if a price is unknown."""
    costs = [each.usd for each in part]
    return None if None in costs else sum(each or 0.0 for each in costs)


def _budget(name: str, most: float | None, used: float, needed: float) -> str:
    if most is None:
        return ""
    amounts = [usd(each) if name == "usd" else f"{round(each):,}" for each in (most, used)]
    unit = "" if name == "usd" else f" {name}"
    said = "enough" if used + needed <= most else f"not enough: cells stop there; raise oracle.max_{name}"
    return f"{amounts[0]}{unit} for all cells, {amounts[1]} used so far; {said}"


def to(texts: Sequence[str]) -> str:
    """Return the texts of the least and of the most seeds, joined by `to`; equal texts once."""
    return " to ".join(dict.fromkeys(texts))
