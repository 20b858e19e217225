"""The quarterly figures that the project ships, for tests."""

from prism.economy.series import Figures, parse_series
from tests.paths import ROOT

US_PATH = ROOT / "configs" / "data" / "us-macro-quarterly.csv"


def us_series() -> tuple[Figures, ...]:
    """Return the United States from 1959q1 to 2009q3."""
    return parse_series(US_PATH.read_bytes(), str(US_PATH)).quarters
