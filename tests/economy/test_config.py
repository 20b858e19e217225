import pytest

from prism.config import load_config
from prism.economy.domain import EconomyDomain
from prism.economy.series import beginning
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
        EconomyDomain(config, beginning(config.economy.initial, config.economy.macro).state)
