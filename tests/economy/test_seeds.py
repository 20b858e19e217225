"""The shipped economy under many seeds: it stays within what real economies have been, and a seed decides it."""

from __future__ import annotations

import math

from msgspec.structs import replace

from prism.config import load_config
from prism.economy.embedded import embedded_components
from prism.economy.initial import initial_lags, initial_state
from prism.economy.moments import COLUMNS, is_deflation_trap, moments
from prism.economy.world import EconomyWorld
from tests.economy.history import us_series
from tests.economy.quarters import pass_quarters
from tests.paths import ROOT
from tests.tiers import Size

QUARTERS = 40
SHIPPED = load_config((ROOT / "configs" / "economy.yaml").read_text(), "economy.yaml", environment={}, overrides=())


async def path_of(seed: int) -> dict[str, list[float]]:
    """The columns of the shipped economy under a seed."""
    config = replace(SHIPPED, simulation=replace(SHIPPED.simulation, seed=seed))
    initial, series = config.economy.initial, us_series()
    lags = initial_lags(initial, config.economy.macro, series)
    world, components = EconomyWorld(config, initial_state(initial, series), lags), embedded_components(config)
    columns: dict[str, list[float]] = {name: [] for name in COLUMNS}
    for tick in range(QUARTERS):
        await pass_quarters(world, components, tick, tick + 1)
        for name, column in columns.items():
            column.append(getattr(world.state.global_state, name))
    return columns


async def test_every_seed_stays_within_what_real_economies_have_been(size: Size) -> None:
    seeds, traps = size(100, everyday=4), 0
    for seed in range(1, seeds + 1):
        columns = await path_of(seed)
        assert all(math.isfinite(each) for each in moments(columns).values())
        assert -10.0 < min(columns["inflation"]) <= max(columns["inflation"]) < 20.0
        assert 0.0 <= min(columns["interest_rate"]) <= max(columns["interest_rate"]) < 25.0
        assert 0.5 < min(columns["unemployment"]) <= max(columns["unemployment"]) < 15.0
        assert -25.0 < min(columns["gdp_growth"]) <= max(columns["gdp_growth"]) < 30.0
        traps += is_deflation_trap(columns["interest_rate"], columns["inflation"])
    assert traps <= 0.1 * seeds


async def test_a_seed_decides_every_quarter() -> None:
    assert await path_of(3) == await path_of(3) != await path_of(4)
