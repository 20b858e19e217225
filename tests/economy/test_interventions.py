"""The effect of each kind of intervention on an economy."""

from typing import Any

import pytest
from msgspec.structs import replace

from actors.runtime.simulation import Simulation
from prism.columns import Columns
from prism.config import Config, InterventionConfig
from prism.config.interventions import INDICATORS
from prism.economy.domain import EconomyDomain
from prism.economy.series import beginning
from prism.economy.world import EconomyWorld, shocked
from prism.errors import ConfigError
from tests.catalogue import catalogue


def made(**settings: Any) -> Config:
    """Return a configuration of settings as a file gives them."""
    return Config(**settings)


ECONOMY = made(simulation={"domain": "economy", "rounds": 3, "ticks_per_round": 4, "seed": 3})


def config_with(*interventions: dict[str, Any]) -> Config:
    return replace(ECONOMY, interventions=list(interventions))


def domain_of(config: Config) -> EconomyDomain:
    return EconomyDomain(config, beginning(config.economy.initial, config.economy.macro).state)


async def ran(*interventions: dict[str, Any]) -> EconomyWorld:
    config = config_with(*interventions)
    domain = domain_of(config)
    await Simulation(config, domain, domain.oracle()).run()
    return domain.world


def test_a_shock_adds_points_and_to_the_value_percent() -> None:
    world = domain_of(ECONOMY).world
    before = world.state.global_state
    world.intervene(0, InterventionConfig(tick=0, shock={"inflation": 2.0, "total_economic_value": -10.0}))
    after = world.state.global_state
    assert after.inflation == before.inflation + 2.0
    assert after.total_economic_value == pytest.approx(before.total_economic_value * 0.9)
    assert (after.interest_rate, after.gdp_growth) == (before.interest_rate, before.gdp_growth)


@catalogue(
    ("name", "low", "high"),
    [
        ("interest_rate", -10.0, 100.0),
        ("inflation", -50.0, 100.0),
        ("gdp_growth", -50.0, 50.0),
        ("unemployment", 0.0, 100.0),
    ],
)
def test_a_shock_stays_within_the_range_of_its_indicator(name: str, low: float, high: float) -> None:
    assert name in INDICATORS
    assert shocked(name, 3.0, -1000.0) == low
    assert shocked(name, 3.0, 1000.0) == high
    assert shocked(name, 3.0, 1.5) == 4.5
    value = "total_economic_value"  # in percent, and not below 0
    assert (shocked(value, 50.0, -200.0), shocked(value, 50.0, 100.0)) == (0.0, 100.0)


async def test_a_shock_to_unemployment_moves_output_and_a_shock_to_inflation_the_whole_year() -> None:
    world = domain_of(ECONOMY).world
    world.intervene(0, InterventionConfig(tick=0, shock={"inflation": 2.0, "unemployment": 1.0}))
    world.triggers(0)
    world.quarantined = dict.fromkeys(range(5))
    assert world.reactions(0) == []
    # The gap is -2 after the shock; the mean rate is 4 and inflation 4, so a real rate of 0 is 2 below neutral.
    assert world.lags.gaps == pytest.approx((1.16 * -2.0 + 0.25 * 2.0 + 0.10 * 2.0, -2.0))
    assert world.lags.inflations[1:] == pytest.approx((4.0, 4.0, 4.0))
    assert world.lags.inflations[0] == pytest.approx(0.8 * 4.0 + 0.2 * 2.0 + 0.14 * -2.0)


async def test_lags_and_the_persistence_of_shocks_change_from_their_quarter_on_and_after_a_checkpoint() -> None:
    settings = {
        "economy.macro.gap_lags": [0.5, 0.25],
        "economy.macro.inflation_lags": [1.0, 0.0, 0.0, 0.0],
        "economy.macro.gap_shock_persistence": 0.5,
    }
    changes = {"tick": 2, "set": settings}, {"tick": 2, "shock": {"unemployment": 2.0}}, {"round": 2, "silence": [1]}
    calm, changed = await ran(), await ran(*changes)
    assert changed.lags != calm.lags
    copy = domain_of(ECONOMY).world
    columns = Columns(changed.columns())
    copy.restore(columns)
    assert columns.unread == []
    assert [*copy.columns()] == [*changed.columns()]
    assert (copy.lags, copy.silenced) == (changed.lags, {1: None})
    assert copy.config.economy.macro.gap_lags == (0.5, 0.25)
    assert copy.config.economy.macro == changed.config.economy.macro


def test_lags_that_no_economy_can_have_are_refused_before_the_run() -> None:
    with pytest.raises(ConfigError, match=r"gap_lags: expected weights with which a gap dies out by itself"):
        config_with({"tick": 2, "set": {"economy.macro.gap_lags": [1.16, 0.25]}})
    with pytest.raises(ConfigError, match=r"inflation_lags: expected weights that add up to 1, got 1\.1"):
        config_with({"tick": 2, "set": {"economy.macro.inflation_lags": [0.8, -0.1, 0.28, 0.12]}})


async def test_a_silenced_nation_takes_no_part_until_its_silence_ends() -> None:
    whole = await ran()
    for_ever = await ran({"tick": 0, "silence": ["Dravia", 0]})
    for_a_year = await ran({"round": 2, "silence": [3], "until_round": 3})
    assert whole.counts["proposed"] == 5 * 12
    assert for_ever.counts["proposed"] == 3 * 12
    assert for_a_year.counts["proposed"] == 5 * 12 - 4
    nobody = await ran({"tick": 0, "silence": [0, 1, 2, 3, 4]})
    assert (nobody.state.turn, nobody.counts["proposed"]) == (12, 0), "it goes on"
    assert for_ever.counts["rejected"] == for_a_year.counts["rejected"] == whole.counts["rejected"]


@pytest.mark.parametrize(
    ("nation", "message"),
    [
        (5, "expected the number of one of 5 nations, 0 to 4, got 5"),
        ("Atlantis", "expected one of the nations Arvendia, Borland, Castellon, Dravia, Estmark, got 'Atlantis'"),
    ],
)
def test_an_intervention_on_no_nation_is_refused(nation: int | str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config_with({"tick": 3, "silence": [nation]})
    assert str(caught.value) == f"Config: interventions[0].silence[0]: {message}"
