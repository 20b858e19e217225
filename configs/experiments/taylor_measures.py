"""The measures of `taylor.yaml`: variances over the quarters of a run."""

from pathlib import Path

import numpy as np

from actors import read_result

FIRST_QUARTER = 40
"""The quarters before it are not measured: they still have traces of the figures from which the economy starts."""


def inflation_variance(path: Path) -> float:
    """Return the variance of inflation, in squared points."""
    return _variance(path, "inflation")


def unemployment_variance(path: Path) -> float:
    """Return the variance of unemployment, in squared points."""
    return _variance(path, "unemployment")


def rate_variance(path: Path) -> float:
    """Return the variance of the interest rate, in squared points."""
    return _variance(path, "interest_rate")


def _variance(path: Path, column: str) -> float:
    return float(np.var(read_result(path).rounds[column][FIRST_QUARTER:], ddof=1))
