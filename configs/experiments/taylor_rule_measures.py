"""The measures of `taylor-rule.yaml`: the rule beside the rates of history, and the weights that these show."""

from pathlib import Path

import numpy as np

from actors import read_result
from actors.factory.input_files import read_input
from prism.economy.backtest import Forecast, backtest
from prism.economy.series import parse_series
from prism.quarter import Period

BLOCK = 8
"""The quarters in a row that a draw takes: rates of one year depend on those of the year before."""


def deviation(path: Path) -> float:
    """Return the mean of the actual rate less the rule's, in points."""
    return float(np.mean([each.actual_rate - each.rule_rate for each in _quarters(path)]))


def distance(path: Path) -> float:
    """Return the mean distance of the two, in points."""
    return float(np.mean([abs(each.actual_rate - each.rule_rate) for each in _quarters(path)]))


def inflation_weight(path: Path) -> float:
    """Return how many points the rate rises with a point of inflation."""
    return _weights(path)[1]


def output_weight(path: Path) -> float:
    """Return how many points the rate rises with a point of the output gap."""
    return _weights(path)[2]


def _weights(path: Path) -> list[float]:
    """Return the weights by least squares, of quarters that the seed of the run draws in blocks (Kuensch 1989)."""
    quarters = _quarters(path)
    rng = np.random.default_rng(read_result(path).config.simulation.seed)
    starts = rng.integers(0, len(quarters) - BLOCK + 1, size=-(-len(quarters) // BLOCK))
    drawn = [quarters[start + place] for start in starts for place in range(BLOCK)][: len(quarters)]
    known = [[1.0, each.inflation, each.output_gap] for each in drawn]
    found = np.linalg.lstsq(np.array(known), np.array([each.actual_rate for each in drawn]), rcond=None)[0]
    return [float(weight) for weight in found]


def _quarters(path: Path) -> list[Forecast]:
    """Return the quarters of the condition's period, each with the rule's rate and the actual one."""
    config = read_result(path).config
    (file,) = (path / "inputs").glob("*/*.csv")
    source = read_input(str(file))
    period = Period.parse(config.economy.backtest.periods[0])
    series = parse_series(source.data, source.name).quarters
    return [each for each in backtest(series, config.economy) if each.quarter in period]
