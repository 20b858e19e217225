"""The rules of the lights one by one, and whole runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors import build_domain, read_config, resume, run
from junction.chart import CHART
from junction.domain import TrafficDomain
from junction.light import Light, TrafficLight
from junction.settings import Settings
from prism.errors import ConfigError

CONFIG = Path(__file__).parents[1] / "config.yaml"


def options(state: Light, cars: int) -> list[Light]:
    """Return the states that a light may turn to."""
    return [row.target for row in CHART.candidates(TrafficLight(0, state), "clock", cars) if row.target is not None]


def test_a_red_light_stays_red_where_nobody_waits() -> None:
    assert options(Light.RED, cars=0) == []
    assert options(Light.RED, cars=1) == [Light.GREEN]


def test_after_amber_the_choice_is_open() -> None:
    assert options(Light.AMBER, cars=0) == [Light.RED, Light.GREEN]


@pytest.mark.parametrize(("cars", "answer"), [(0, Light.RED), (2, Light.GREEN), (9, Light.GREEN)])
def test_the_oracle_lets_cars_pass_while_many_wait(cars: int, answer: Light) -> None:
    oracle = TrafficDomain(Settings(patience=2), seed=1).oracle()
    asked = oracle.ask(TrafficLight(0, Light.AMBER), Light.AMBER, "clock", [Light.RED, Light.GREEN], cars)
    with pytest.raises(StopIteration) as ended:
        asked.send(None)  # it waits for nothing, so one step is all
    assert ended.value.value == answer


def test_cars_wait_where_no_light_turns() -> None:
    world = build_domain(read_config(CONFIG)).domain.world
    for tick in range(50):
        world.triggers(tick)
    totals = world.totals()
    assert totals["waiting"] > 0
    assert totals["passed"] == 0


def test_more_cars_mean_more_waiting() -> None:
    quiet, busy = (run(read_config(CONFIG, {"domain.arrivals": share})) for share in (0.1, 0.9))
    assert quiet.summary.world["waiting"] < busy.summary.world["waiting"]
    assert f"and {busy.summary.world['waiting']:,} still wait." in busy.summary.in_words[0]


def test_a_run_that_was_stopped_goes_on_to_the_same_end(tmp_path: Path) -> None:
    config = read_config(CONFIG)
    whole = run(config)
    run(config, out=tmp_path / "run", ticks=100)
    assert resume(tmp_path / "run", ticks=config.simulation.length).summary.digest == whole.summary.digest


def test_the_phases_of_a_light_follow_each_other(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    phases = run(read_config(CONFIG), out=tmp_path / "run", ticks=60).table("phases", "pandas")
    assert {*phases["colour"]} == {"red", "green", "amber"}
    for _, of_light in phases.groupby("agent"):
        ends = [*(of_light["from_tick"] + of_light["ticks"])]
        assert [0, *ends] == [*of_light["from_tick"], 60]


def test_a_wrong_setting_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"domain\.lights: expected int 1 to 100000, got 0"):
        read_config(CONFIG, {"domain.lights": 0})
