"""How long people deliberate, in ticks."""

from __future__ import annotations

from prism.clock import whole_ticks
from prism.config import Config, PopulationConfig, SimulationConfig
from tests.catalogue import catalogue


@catalogue(
    ("minutes", "tick_seconds", "ticks"),
    [
        (4.0, 60.0, 4),
        (0.0, 60.0, 0),
        (4.0, 300.0, 1),
        (5.1, 300.0, 2),
        (1.1, 6.0, 11),  # 1.1 * 60 / 6 is 11.000000000000002 in binary numbers
        (1e-12, 60.0, 1),
    ],
)
def test_minutes_are_whole_ticks_rounded_up(minutes: float, tick_seconds: float, ticks: int) -> None:
    assert whole_ticks(minutes, tick_seconds) == ticks
    config = Config(
        simulation=SimulationConfig(tick_seconds=tick_seconds),
        population=PopulationConfig(deliberation_minutes=minutes),
    )
    assert config.deliberation_ticks == ticks


def test_an_economy_does_not_deliberate() -> None:
    people = PopulationConfig(deliberation_minutes=30.0)
    config = Config(simulation=SimulationConfig(domain="economy", tick_seconds=60.0), population=people)
    assert config.deliberation_ticks == 0
