"""The macroeconomic model of an economy against the United States: its parameters, forecasts and moments.

Estimates are least squares on 1960q2 to 1983q4, with the output gap as the distance of log output from a quadratic
trend of 1959q1 to 1983q4. Forecasts are made in each quarter from 1983q4 on, with the trend of output fitted to the
quarters up to then, and without any later figure; the figures themselves are revised ones. They are made by the
model of the runs, `prism.economy.macro.step`. Moments are those of the embedded adviser, engine and economy under many
seeds, over as many quarters as the figures beside them; the first seed is compared with a real run.

    python -m benchmarks.macro [--seeds 1000] [--rounds 199] [--rate-shocks 0 0.3 0.5 0.7 1]
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from actors import read_config, run
from prism.config import Config, EconomyConfig, InitialConfig, MacroConfig, TaylorConfig
from prism.economy.embedded import EmbeddedEconomy
from prism.economy.macro import Lags, draw_shocks, output_gap, policy_rate, rate_with_shock, step, taylor_rate
from prism.economy.moments import COLUMNS, moments, real_columns
from prism.economy.series import Figures, beginning, parse_series, quarter_inflation, year_change
from prism.models import Action, GlobalState
from prism.quarter import Period

Array = NDArray[np.float64]
Columns = Mapping[str, Sequence[float]]
Errors = Mapping[str, Mapping[tuple[str, int], float]]
"""`{forecaster: {(column, horizon in quarters): root mean squared error in points}}`."""

ROOT: Final = Path(__file__).parents[1]
SERIES: Final = ROOT / "configs" / "data" / "us-macro-quarterly.csv"
CONFIG: Final = ROOT / "configs" / "economy.yaml"
FIRST: Final = 5
"""The place in the series of 1960q2, the first quarter with all lags."""
LAST_FITTED: Final = 99
"""The place in the series of 1983q4."""
HORIZONS: Final = (1, 4)
JUDGED: Final = {name: Period.parse(name) for name in ("1960q1-2009q3", "1984q1-2009q3", "1997q1-2009q3")}
"""All figures; the calm years; and those after the samples of all published figures that the model has."""
START: Final = "1960q1"
"""The quarter from whose figures the runs start: they are as long as the history that they are compared with."""
INTERVAL: Final = (5.0, 95.0)


class Estimate(NamedTuple):
    """One equation fitted by least squares.

    Args:
        coefficients, errors: of each regressor, with its standard error.
        covariance: of the coefficients.
        deviation: standard deviation of the residuals.
        autocorrelation: of the residuals with those of the quarter before.
    """

    coefficients: dict[str, float]
    errors: dict[str, float]
    covariance: Array
    deviation: float
    autocorrelation: float


def fitted(target: Array, regressors: Mapping[str, Array]) -> Estimate:
    """Return the least-squares fit of a target on regressors, all of one length."""
    columns = np.column_stack(list(regressors.values()))
    found = np.linalg.lstsq(columns, target, rcond=None)[0]
    left = target - columns @ found
    variance = float(left @ left) / (len(target) - len(found))
    covariance = variance * np.linalg.inv(columns.T @ columns)
    errors = np.sqrt(np.diag(covariance))
    return Estimate(
        {name: float(each) for name, each in zip(regressors, found, strict=True)},
        {name: float(each) for name, each in zip(regressors, errors, strict=True)},
        np.asarray(covariance, dtype=np.float64),
        math.sqrt(variance),
        float(np.corrcoef(left[1:], left[:-1])[0, 1]),
    )


class History:
    """The series of the United States as arrays: log output, and the percentages of each quarter."""

    def __init__(self, series: Sequence[Figures]) -> None:
        self.series = series
        self.output = np.array([100.0 * math.log(each.real_gdp) for each in series])
        self.rate = np.array([each.interest_rate for each in series])
        self.unemployment = np.array([each.unemployment for each in series])
        self.inflation = np.array([math.nan, *(quarter_inflation(series, place) for place in range(1, len(series)))])
        columns = real_columns(series)
        self.indicators = {name: np.array([math.nan] * 4 + columns[name]) for name in COLUMNS}
        """`{column of a run: its value in each quarter}`; NaN in the first year."""

    def gap(self, last: int) -> Array:
        """Return the output gap of each quarter up to `last`: the distance from a quadratic trend of these quarters."""
        time = np.arange(last + 1, dtype=np.float64)
        known = self.output[: last + 1]
        return np.asarray(known - np.polyval(np.polyfit(time, known, 2), time))

    def year_mean(self, values: Array, at: NDArray[np.int_]) -> Array:
        """Return the mean of a series over four quarters up to each of the places."""
        return np.asarray((values[at] + values[at - 1] + values[at - 2] + values[at - 3]) / 4.0)


def estimates(history: History) -> dict[str, Estimate]:
    """Return the equations of the model, fitted to 1960q2 to 1983q4."""
    at = np.arange(FIRST, LAST_FITTED + 1)
    gap, prices, work = history.gap(LAST_FITTED), history.inflation, history.unemployment
    one, natural = np.ones(len(at)), float(work[: LAST_FITTED + 1].mean())
    real = history.year_mean(history.rate, at - 1) - history.year_mean(prices, at - 1)
    lags = {f"inflation {age} before": prices[at - age] for age in range(1, 5)}
    published = sum(weight * prices[at - age] for age, weight in enumerate(MacroConfig().inflation_lags, 1))
    change, distance = work[at] - work[at - 1], work - natural + gap_of_okun(gap, len(work))
    return {
        "demand": fitted(
            gap[at], {"gap 1 before": gap[at - 1], "gap 2 before": gap[at - 2], "real rate": -real, "constant": one}
        ),
        "prices": fitted(prices[at], {**lags, "gap 1 before": gap[at - 1], "constant": one}),
        "prices, published lags": fitted(
            prices[at], {"their sum": np.asarray(published), "gap 1 before": gap[at - 1], "constant": one}
        ),
        "work": fitted(
            change,
            {
                "change before": work[at - 1] - work[at - 2],
                "change of the gap": gap[at - 1] - gap[at],
                "distance": -distance[at - 1],
            },
        ),
        "work, in levels": fitted(work[at] - natural, {"before": work[at - 1] - natural, "gap": -gap[at]}),
        "work, without a lag": fitted(work[at], {"gap": -gap[at], "constant": one}),
        "rate": fitted(
            history.rate[at],
            {
                "rate before": history.rate[at - 1],
                "inflation": history.year_mean(prices, at),
                "gap": gap[at],
                "constant": one,
            },
        ),
    }


def gap_of_okun(gap: Array, length: int) -> Array:
    """Return the points of unemployment that go with each gap in balance; NaN where there is no gap."""
    return np.concatenate([gap / MacroConfig().okun, np.full(length - len(gap), math.nan)])


def estimated_economy(found: Mapping[str, Estimate], history: History) -> EconomyConfig:
    """Return the settings that the estimates give, with nothing published in them."""
    demand, prices, work, rate = (found[name].coefficients for name in ("demand", "prices", "work", "rate"))
    ages = [prices[f"inflation {age} before"] for age in range(1, 5)]
    total = math.fsum(ages)
    known = slice(0, LAST_FITTED + 1)
    trend = 4.0 * float(history.output[LAST_FITTED] - history.output[0]) / LAST_FITTED
    smoothing = rate["rate before"]
    response = rate["inflation"] / (1.0 - smoothing)
    effect = max(0.0, demand["real rate"])  # the estimate has the wrong sign, and no setting can have that
    macro = MacroConfig(
        natural_unemployment=float(history.unemployment[known].mean()),
        okun=1.0 / found["work, without a lag"].coefficients["gap"],
        trend_growth=100.0 * math.expm1(trend / 100.0),
        gap_lags=(demand["gap 1 before"], demand["gap 2 before"]),
        rate_effect=effect,
        inflation_lags=tuple(each / total for each in ages),
        phillips_slope=prices["gap 1 before"],
        anchoring=1.0 - total,
        anchor=prices["constant"] / (1.0 - total),
        okun_lag=work["change before"],
        okun_impact=work["change of the gap"],
        okun_pull=work["distance"],
    )
    rule = TaylorConfig(
        smoothing=smoothing,
        inflation_weight=response - 1.0,
        output_weight=rate["gap"] / (1.0 - smoothing),
        neutral_rate=rate["constant"] / (1.0 - smoothing) + (response - 1.0) * 2.0,
    )
    return EconomyConfig(macro=macro, taylor=rule)


def forecast(history: History, origin: int, economy: EconomyConfig) -> list[GlobalState]:
    """Return the model's indicators of each quarter up to the farthest horizon, from the figures up to `origin`."""
    macro, rule, series = economy.macro, economy.taylor, history.series
    gap = history.gap(origin)
    p1, p2, p3, p4 = (float(history.inflation[origin - age]) for age in range(4))
    r1, r2, r3 = (float(history.rate[origin - age]) for age in range(1, 4))
    now = series[origin]
    state = GlobalState(
        interest_rate=now.interest_rate,
        inflation=fmean((p1, p2, p3, p4)),
        gdp_growth=year_change(series, origin, "real_gdp") or 0.0,
        unemployment=now.unemployment,
    )
    lags = Lags(
        gaps=(float(gap[-1]), float(gap[-2])),
        inflations=(p1, p2, p3, p4),
        rates=(r1, r2, r3),
        unemployment=now.unemployment,
        unemployment_change=now.unemployment - series[origin - 1].unemployment,
    )
    ahead = []
    for _ in range(max(HORIZONS)):
        state, lags = step(state, lags, macro)
        asked = taylor_rate(state.inflation, output_gap(state.unemployment, macro), rule)
        state = replace(state, interest_rate=policy_rate(asked, state.interest_rate, rule))
        ahead.append(state)
    return ahead


def autoregression(values: Array) -> Callable[[int, int], float]:
    """Return the forecast of an AR(4) with a constant, fitted up to 1983q4: a function of origin and horizon."""
    at = np.arange(8, LAST_FITTED + 1)
    lags = {f"{age}": values[at - age] for age in range(1, 5)}
    found = fitted(values[at], {**lags, "constant": np.ones(len(at))}).coefficients

    def ahead(origin: int, horizon: int) -> float:
        known = [float(values[origin - age]) for age in range(3, -1, -1)]
        for _ in range(horizon):
            known.append(found["constant"] + sum(found[f"{age}"] * known[-age] for age in range(1, 5)))
        return known[-1]

    return ahead


def forecast_errors(history: History, economies: Mapping[str, EconomyConfig]) -> Errors:
    """Return the errors of each forecaster over all quarters from 1984q1 on."""
    origins = range(LAST_FITTED, len(history.series) - 1)
    paths = {name: {at: forecast(history, at, each) for at in origins} for name, each in economies.items()}
    errors: dict[str, dict[tuple[str, int], float]] = {name: {} for name in ("no change", "AR(4)", *economies)}
    for column, values in history.indicators.items():
        ahead = autoregression(values)
        for horizon in HORIZONS:
            judged = [at for at in origins if at + horizon < len(values)]
            guesses = {
                "no change": [values[at] for at in judged],
                "AR(4)": [ahead(at, horizon) for at in judged],
                **{name: [getattr(path[at][horizon - 1], column) for at in judged] for name, path in paths.items()},
            }
            actual = np.array([values[at + horizon] for at in judged])
            for name, guess in guesses.items():
                errors[name][column, horizon] = float(np.sqrt(np.mean((np.array(guess) - actual) ** 2)))
    return errors


def config_of(seed: int, rounds: int, rate_shock: float) -> Config:
    """Return `configs/economy.yaml` from 1960q1 on."""
    overrides = {"simulation.seed": seed, "simulation.rounds": rounds, "economy.macro.rate_shock": rate_shock}
    config = read_config(CONFIG, overrides)
    return replace(config, economy=replace(config.economy, initial=InitialConfig(path=str(SERIES), quarter=START)))


def simulated(config: Config, series: Sequence[Figures]) -> Columns:
    """Return the columns of a run: the embedded components and the economy, without the rest of a run."""
    economy, seed = config.economy, config.simulation.seed
    state, lags = beginning(economy.initial, economy.macro, series)
    embedded = EmbeddedEconomy(economy, seed)
    columns: dict[str, list[float]] = {name: [] for name in COLUMNS}
    for tick in range(config.simulation.rounds):
        actions = [
            Action(agent_name=nation, action_string=embedded.propose(nation, state).action)
            for nation in economy.nations
        ]
        for action in actions:
            state = replace(state, interest_rate=embedded.evaluate(action, state).new_interest_rate)
        shocks = draw_shocks(economy.macro, seed, tick)
        rate = rate_with_shock(state.interest_rate, shocks.rate, economy.taylor.rate_floor)
        state, lags = step(replace(state, interest_rate=rate), lags, economy.macro, shocks)
        for name, column in columns.items():
            column.append(getattr(state, name))
    return columns


def largest_difference(config: Config, series: Sequence[Figures]) -> float:
    """Return the largest difference between the columns of a real run and of `simulated`."""
    real, ours = run(config).rounds, simulated(config, series)
    return max(abs(one - other) for name in COLUMNS for one, other in zip(real[name], ours[name], strict=True))


def print_estimates(found: Mapping[str, Estimate]) -> None:
    """Print each equation with its standard errors."""
    print("| equation | estimates (standard errors) | residuals: deviation | autocorrelation |\n|---|---|---|---|")
    for name, each in found.items():
        told = "; ".join(f"{what} {value:.3f} ({each.errors[what]:.3f})" for what, value in each.coefficients.items())
        print(f"| {name} | {told} | {each.deviation:.2f} | {each.autocorrelation:+.2f} |")
    prices = found["prices"]
    ages = np.array([1.0 if name.startswith("inflation") else 0.0 for name in prices.coefficients])
    total = math.fsum(value for name, value in prices.coefficients.items() if name.startswith("inflation"))
    error = math.sqrt(float(ages @ prices.covariance @ ages))
    print(f"\nanchoring, 1 less the sum of the lags: {1.0 - total:.2f} ({error:.2f})")
    print(f"the anchor: {prices.coefficients['constant'] / (1.0 - total):.1f}\n")


def print_forecasts(errors: Errors) -> None:
    """Print the table of forecast errors."""
    names = list(errors)
    print(f"| RMSE 1984q1-2009q3 | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    for column, horizon in errors[names[0]]:
        cells = " | ".join(f"{errors[name][column, horizon]:.2f}" for name in names)
        print(f"| {column.replace('_', ' ')}, {horizon} ahead | {cells} |")
    print()


def print_moments(runs: Sequence[Columns], series: Sequence[Figures]) -> None:
    """Print each moment of the data, the interval of the runs over as many quarters, and whether it holds the data."""
    names = [name for name in moments(runs[0]) if name != "deflation_trap"]
    print(f"| moment | {' | '.join(f'{period} | runs' for period in JUDGED)} |\n|---|{'---|---|' * len(JUDGED)}")
    told = [judged(runs, series, period) for period in JUDGED.values()]
    for name in names:
        cells = [
            f"{each[name].real:.2f}{'' if each[name].is_inside else ' **no**'} | "
            f"{each[name].middle:.2f} ({each[name].low:.2f} to {each[name].high:.2f})"
            for each in told
        ]
        print(f"| `{name}` | {' | '.join(cells)} |")
    traps = sum(moments(each)["deflation_trap"] for each in runs)
    print(f"\nin a deflation trap at the end: {traps:.0f} of {len(runs)} seeds")


class Judged(NamedTuple):
    """A moment of the data beside the 5%, the median and the 95% of runs of the same length."""

    real: float
    low: float
    middle: float
    high: float

    @property
    def is_inside(self) -> bool:
        """True if nine tenths of the runs have the data between them."""
        return self.low <= self.real <= self.high


def judged(runs: Sequence[Columns], series: Sequence[Figures], period: Period) -> dict[str, Judged]:
    """Return each moment beside the data; of the runs the last quarters count, as many as the period has."""
    columns = real_columns(series, period)
    count, real = len(columns["inflation"]), moments(columns)
    found = [moments({name: column[-count:] for name, column in each.items()}) for each in runs]
    return {
        name: Judged(value, *np.nanpercentile([each[name] for each in found], [INTERVAL[0], 50.0, INTERVAL[1]]))
        for name, value in real.items()
        if name != "deflation_trap"
    }


def print_shocks(by_shock: Mapping[float, Sequence[Columns]], series: Sequence[Figures]) -> None:
    """Print how many moments hold the data under each policy shock, and the moments that it is about."""
    shown = ("rate_change_autocorrelation", "interest_rate_autocorrelation", "big_move_share")
    print(f"| `rate_shock` | {' | '.join(JUDGED)} | {' | '.join(f'`{name}`' for name in shown)} |")
    print(f"|---|{'---|' * (len(JUDGED) + len(shown))}")
    for shock, runs in by_shock.items():
        told = [judged(runs, series, period) for period in JUDGED.values()]
        counts = [f"{sum(found.is_inside for found in each.values())} of {len(each)}" for each in told]
        middles = [f"{told[0][name].middle:.2f}" for name in shown]
        print(f"| {shock:g} | {' | '.join([*counts, *middles])} |")


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1000, help="runs; 0 leaves the table of moments out")
    parser.add_argument("--rounds", type=int, default=199, help="quarters of a run")
    parser.add_argument("--rate-shocks", type=float, nargs="+", default=[0.0, 0.3, 0.5, 0.7, 1.0])
    options = parser.parse_args()
    series = parse_series(SERIES.read_bytes(), SERIES.name).quarters
    history = History(series)
    found = estimates(history)
    print_estimates(found)
    defaults: Config = read_config(CONFIG)
    economies = {"as in `configs/economy.yaml`": defaults.economy, "as estimated": estimated_economy(found, history)}
    print_forecasts(forecast_errors(history, economies))
    if options.seeds:
        runs = {
            shock: [simulated(config_of(seed, options.rounds, shock), series) for seed in range(1, options.seeds + 1)]
            for shock in options.rate_shocks
        }
        first = options.rate_shocks[0]
        print_moments(runs[first], series)
        print_shocks(runs, series)
        print(f"\na real run differs by {largest_difference(config_of(1, options.rounds, first), series):.1e}")


if __name__ == "__main__":
    main()
