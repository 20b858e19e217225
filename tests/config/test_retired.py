"""Settings that there are no more are refused wherever they are set, with what to write in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from prism.clock import whole_ticks
from prism.config import Config, MacroConfig, OracleConfig, PopulationConfig, SimulationConfig, load_config
from prism.errors import ConfigError, SettingError

GONE = "oracle.lookahead_ticks: is no setting any more: "
WRITE = f"{GONE}people deliberate in simulated minutes; write population.deliberation_minutes"


def refused(
    text: str | None = None, environment: Mapping[str, str] | None = None, overrides: Sequence[str] = ()
) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(text, "c.yaml", environment=environment or {}, overrides=overrides)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("oracle:\n  lookahead_ticks: 8", f"c.yaml:2: {WRITE}: 8, which is 8 ticks of 60 s"),
        (
            "simulation: {tick_seconds: 90}\noracle: {lookahead_ticks: 3}",
            f"c.yaml:2: {WRITE}: 4.5, which is 3 ticks of 90 s",
        ),
        ("oracle: {lookahead_ticks: 0}", f"c.yaml:1: {WRITE}: 0, which is 0 ticks of 60 s"),
        ("oracle: {lookahead_ticks: many}", f"c.yaml:1: {WRITE}"),
        (f"oracle: {{lookahead_ticks: 1{'0' * 400}}}", f"c.yaml:1: {WRITE}"),  # more than a float can be
        (
            "simulation: {domain: economy}\noracle: {lookahead_ticks: 0}",
            f"c.yaml:2: {GONE}an economy settles a quarter in its own tick; leave it out",
        ),
    ],
)
def test_a_file_with_it_is_refused_with_the_equal_minutes(text: str, line: str) -> None:
    assert refused(text) == line


def test_an_override_and_the_environment_are_refused_with_the_length_of_a_tick_from_the_file() -> None:
    text, told = "simulation: {tick_seconds: 30}", f"{WRITE}: 1, which is 2 ticks of 30 s"
    assert refused(text, overrides=["oracle.lookahead_ticks=2"]) == f"--set: {told}"
    name = "PRISM_ORACLE__LOOKAHEAD_TICKS"
    assert refused(text, environment={name: "2"}) == f"{name}: {told}"


def test_the_one_lag_of_demand_is_refused_with_the_two_there_are() -> None:
    told = "is no setting any more: the output gap has two lags; write economy.macro.gap_lags"
    key = "economy.macro.gap_persistence"
    text = "simulation: {domain: economy}\neconomy:\n  macro:\n    gap_persistence: 0.91"
    assert refused(text) == f"c.yaml:4: {key}: {told}: [0.91, 0] for this one alone"
    assert refused(overrides=[f"{key}=high"]) == f"--set: {key}: {told}"
    changes = f"simulation: {{domain: economy}}\ninterventions:\n  - {{tick: 2, set: {{{key}: 0.9}}}}"
    assert refused(changes) == f"c.yaml:3: interventions[0].set.{key}: {told}: [0.9, 0] for this one alone"
    with pytest.raises(SettingError, match=r"^MacroConfig: economy.macro.gap_persistence: is no setting any more"):
        MacroConfig(gap_persistence=0.91)  # type: ignore[call-arg]


def test_a_section_in_python_refuses_it() -> None:
    with pytest.raises(SettingError) as caught:
        OracleConfig(lookahead_ticks=4)  # type: ignore[call-arg]
    assert str(caught.value) == f"OracleConfig: {WRITE}"


@pytest.mark.parametrize(
    ("minutes", "tick_seconds", "ticks"),
    [
        (4.0, 60.0, 4),
        (0.0, 60.0, 0),
        (4.0, 300.0, 1),
        (5.0, 300.0, 1),
        (5.1, 300.0, 2),
        (1.1, 6.0, 11),  # 1.1 * 60 / 6 is 11.000000000000002 in binary numbers
        (0.15, 10.0, 1),
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
