"""The settings of an economy that cannot hold together, and the effect of each kind of intervention on it."""

import re
from typing import Any

import pytest
from msgspec.structs import replace

from actors.runtime.simulation import Simulation
from prism.columns import Columns
from prism.config import Config, InterventionConfig, load_config
from prism.config.interventions import INDICATORS
from prism.economy.domain import EconomyDomain
from prism.economy.series import beginning
from prism.economy.world import EconomyWorld, shocked
from prism.errors import ConfigError
from tests.catalogue import catalogue

CONFLICTS = r"""
economy: {nations: [A, B, A], strengths: [1, 1, 1]} => \
economy.nations: expected values that differ, got 'A' more than once
economy: {nations: ["A\nB"], strengths: [1]} => \
economy.nations[0]: expected a text on one line without spaces around it, got 'A\nB'
economy: {strengths: [1, 2]} => economy.strengths: expected a strength for each nation, got 2 for 5 nations
economy: {taylor: {rate_step: 2}} => economy.taylor.rate_step: expected rate_step <= rate_step_max, got 2 and 1
economy: {initial: {quarter: 1985q1}} => \
economy.initial.quarter: economy.initial.quarter=1985q1 needs economy.initial.path: expected a value, ...
economy: {initial: {inflation: 9.5, path: x.csv}} => \
economy.initial.path: economy.initial.path=x.csv needs economy.initial.inflation: expected 2.0, got 9.5...
economy: {initial: {quarter: 1985q7, path: x.csv}} => \
economy.initial.quarter: expected a quarter such as 1985q1, got '1985q7'
economy: {backtest: {periods: [1985q1]}} => \
economy.backtest.periods[0]: expected a period such as 1987q1-1992q3, got '1985q1'
{simulation: {domain: economy}, run: {tick_s: 1}, oracle: {mode: realtime}} => \
oracle.mode: simulation.domain=economy needs oracle.mode: expected pace, got realtime: no policy can be...
{simulation: {domain: economy}, statechart: {oracle_enabled: false}} => \
statechart.oracle_enabled: simulation.domain=economy needs statechart.oracle_enabled: expected a value, got false: \
there is no policy without an oracle
{simulation: {domain: economy}, oracle: {max_tokens: 10, when_spent: fallback}} => \
oracle.when_spent: simulation.domain=economy needs oracle.when_spent: expected stop, got fallback: no policy can be \
made up in place of an answer
simulation: {ticks_per_round: 3} => simulation.ticks_per_round: expected ticks_per_round >= 4 in the social domain, \
where a session takes as many, got 3
"""


@catalogue("case", CONFLICTS.replace("\\\n", "").strip().splitlines())
def test_settings_that_cannot_hold_together_are_refused(case: str) -> None:
    text, line = case.split(" => ")
    with pytest.raises(ConfigError) as caught:
        load_config(text, "c.yaml", environment={}, overrides=())
    expected, told = f"c.yaml:1: {line}", str(caught.value)
    assert told.startswith(expected.removesuffix("...")) if expected.endswith("...") else told == expected


def test_nations_of_a_domain_of_ones_own_that_would_deliberate_are_refused_with_the_key() -> None:
    config = load_config(overrides={"simulation.domain": "mine:domain"})
    with pytest.raises(ConfigError, match=r"population\.deliberation_minutes: nations decide in .* expected 0, got 4"):
        domain_of(config)


SHORT: dict[str, Any] = {"domain": "economy", "rounds": 3, "ticks_per_round": 4, "seed": 3}
ECONOMY = Config(simulation=SHORT)  # type: ignore[arg-type]


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


NATIONS = "Arvendia, Borland, Castellon, Dravia, Estmark"


@catalogue(
    ("intervention", "message"),
    [
        ({"silence": [5]}, "interventions[0].silence[0]: expected the number of one of 5 nations, 0 to 4, got 5"),
        (
            {"silence": ["Atlantis"]},
            f"interventions[0].silence[0]: expected one of the nations {NATIONS}, got 'Atlantis'",
        ),
        (
            {"set": {"economy.macro.gap_lags": [1.16, 0.25]}},
            "gap_lags: expected weights with which a gap dies out by it",
        ),
        (
            {"set": {"economy.macro.inflation_lags": [0.8, -0.1, 0.28, 0.12]}},
            "inflation_lags: expected weights that add up to 1, got 1.1",
        ),
    ],
)
def test_an_intervention_that_no_economy_can_have_is_refused_before_the_run(
    intervention: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        config_with({"tick": 2, **intervention})
