"""An economy of one nation, for tests without actors."""

from prism.config import Config, load_config
from prism.economy.embedded import embedded_components
from prism.economy.oracle import Components

ALONE: Config = load_config(
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
    """Return the embedded components of `ALONE`."""
    return embedded_components(ALONE)
