"""An economy of one nation, for tests without actors, and the quarterly figures that the project ships."""

from typing import Final

from prism.config import Config, load_config
from prism.economy.embedded import embedded_components
from prism.economy.oracle import Components
from prism.economy.series import Figures, parse_series
from tests.paths import ROOT

US_PATH: Final = ROOT / "configs" / "data" / "us-macro-quarterly.csv"
ALONE: Final[Config] = load_config(
    """
simulation: {domain: economy, ticks_per_round: 1, tick_seconds: 7889400}
economy: {nations: [Ada], strengths: [1], preference_spread: 0}
""",
    "alone.yaml",
    environment={},
    overrides=(),
)
"""An economy of one nation, which has the weights of Taylor's rule."""


def components() -> Components:
    return embedded_components(ALONE)


def us_series() -> tuple[Figures, ...]:
    """Return the United States from 1959q1 to 2009q3."""
    return parse_series(US_PATH.read_bytes(), str(US_PATH)).quarters
