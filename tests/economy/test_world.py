"""The world of an economy by itself: what it keeps, shows and gives back."""

import logging
import statistics
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.agents import Decision, Question, Source, Trigger, Update, turn
from prism.columns import Columns
from prism.config import Config, load_config
from prism.economy import GlobalState
from prism.economy.macro import draw_shocks
from prism.economy.nation import ECONOMY_CHART, Nation, PolicyState
from prism.economy.oracle import Components, EconomyOracle
from prism.economy.world import EconomyWorld, RatePath
from prism.errors import ConfigError
from tests.economy.support import ALONE, components

START = GlobalState(interest_rate=4.0, inflation=5.0)


def world(config: Config = ALONE) -> EconomyWorld:
    return EconomyWorld(config, START)


def with_settings(*overrides: str) -> Config:
    text = msgspec.json.encode(ALONE).decode()
    return load_config(text, "alone.yaml", environment={}, overrides=overrides)


async def pass_quarters(world: EconomyWorld, components: Components, first: int, end: int) -> None:
    """Take a world through the quarters from `first` up to `end`."""
    for tick in range(first, end):
        await _pass_wave(world, components, world.triggers(tick))
        while triggers := world.reactions(tick):
            await _pass_wave(world, components, triggers)


async def _pass_wave(world: EconomyWorld, components: Components, triggers: Sequence[Trigger[Any]]) -> None:
    for update in [await _update(world, components, trigger) for trigger in triggers]:
        world.apply(update)


async def _update(world: EconomyWorld, components: Components, trigger: Trigger[Any]) -> Update[Any]:
    nation = Nation(trigger.agent, world.names[trigger.agent], world.stages[trigger.agent], tick=trigger.tick)
    question = turn(ECONOMY_CHART, nation, trigger)
    assert isinstance(question, Question)
    options = [PolicyState(option) for option in question.options]
    answer = await EconomyOracle(components).answer(nation, nation.state, trigger.name, options, trigger.context)
    decision = Decision(answer.state, Source.ORACLE, trigger.tick, "", answer.content)
    update = turn(ECONOMY_CHART, nation, Trigger(trigger.tick, trigger.agent, trigger.name, trigger.context, decision))
    assert isinstance(update, Update)
    return update


async def test_a_restored_world_goes_on_as_the_one_it_was_made_from() -> None:
    one = world()
    await pass_quarters(one, components(), 0, 3)
    other = world()
    columns = Columns(one.columns())
    other.restore(columns)
    assert columns.unread == []
    for each in (one, other):
        await pass_quarters(each, components(), 3, 5)
    assert other.state == one.state
    assert other.totals() == one.totals()
    assert (other.stages, other.entered) == (one.stages, one.entered)


async def test_a_policy_shock_moves_the_rate_that_the_nations_have_set_and_everything_after_it() -> None:
    shaken, calm = world(with_settings("economy.macro.rate_shock=0.5")), world()
    shock = draw_shocks(shaken.config.economy.macro, ALONE.simulation.seed, 0).rate
    for each in (shaken, calm):
        await pass_quarters(each, components(), 0, 1)
    rates = [each.state.global_state.interest_rate for each in (shaken, calm)]
    assert rates[0] - rates[1] == pytest.approx(shock)
    assert shaken.path.last == rates[0]
    gaps = [each.lags.gaps[0] for each in (shaken, calm)]
    # The rate counts with a quarter of its size in the mean of the year.
    assert gaps[0] - gaps[1] == pytest.approx(-calm.config.economy.macro.rate_effect * shock / 4.0)


async def test_a_restored_world_has_the_nations_of_the_run_and_the_strengths_of_its_own_configuration() -> None:
    strong = world(with_settings("economy.strengths=[9]"))
    strong.restore(Columns(world().columns()))
    assert strong.state.agents["Ada"].economic_strength == 9.0
    strange = world(with_settings("economy.nations=[Bo]"))
    with pytest.raises(ConfigError, match=r"economy.nations: expected the nations of the run so far, Ada, got Bo"):
        strange.restore(Columns(world().columns()))


async def test_totals_have_the_indicators_as_decimals_and_what_became_of_proposals_as_whole_numbers() -> None:
    done = world()
    await pass_quarters(done, components(), 0, 4)
    totals = done.totals()
    for name in ("interest_rate", "inflation", "gdp_growth", "unemployment", "total_economic_value"):
        assert totals[name] == round(getattr(done.state.global_state, name), 4)
        assert isinstance(totals[name], float)
    assert {name: totals[name] for name in ("proposed", "accepted", "rejected", "applied")} == {
        "proposed": 4,
        "accepted": 4,
        "rejected": 0,
        "applied": 4,
    }


async def test_measures_have_the_same_names_and_labels_from_the_first_quarter_to_the_last() -> None:
    done = world()
    before = [(each.name, each.kind, each.labels) for each in done.measures()]
    await pass_quarters(done, components(), 0, 2)
    assert [(each.name, each.kind, each.labels) for each in done.measures()] == before
    values = {each.name: each.value for each in done.measures()}
    assert values["prism_economy_interest_rate"] == done.state.global_state.interest_rate
    assert values["prism_economy_total_value"] == done.state.global_state.total_economic_value


async def test_a_situation_is_the_same_size_however_long_the_run() -> None:
    done = world()
    first = msgspec.json.encode(done.triggers(0)[0])
    await pass_quarters(done, components(), 0, 6)
    later = msgspec.json.encode(done.triggers(6)[0])
    assert done.state.reasoning_chains
    assert len(later) < len(first) + 80, "longer numbers, and nothing else"


def test_a_nation_that_moves_without_a_proposal_is_neither_rejected_nor_skipped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    quiet = world()
    quiet.triggers(0)
    quiet.apply(Update(0, 0, "turn_begins", "observing", "observing", Source.RULE))
    assert quiet.reactions(0) == []
    assert (quiet.counts, quiet.state.turn, caplog.messages) == ({}, 1, [])


def test_a_stage_left_over_from_a_crash_is_no_proposal() -> None:
    left = world()
    left.stages[0] = PolicyState.ACCEPTED
    left.triggers(4)
    left.apply(Update(4, 0, "turn_begins", "accepted", "accepted", Source.CRASH))
    assert left.reactions(4) == []
    assert left.counts == {"rejected": 1}


@given(st.lists(st.floats(-100.0, 1000.0), min_size=1, max_size=60))
def test_the_path_of_the_rate_is_summed_up_as_the_whole_list_would_be(rates: list[float]) -> None:
    path = RatePath.beginning(4.0)
    for rate in rates:
        path.add(rate)
    summary = path.summary()
    assert summary["mean"] == pytest.approx(statistics.fmean(rates), abs=1e-3)
    assert summary["standard_deviation"] == pytest.approx(statistics.pstdev(rates), abs=1e-3)
    assert (summary["lowest"], summary["highest"]) == (round(min(4.0, *rates), 4), round(max(4.0, *rates), 4))
    assert summary["changes"] == sum(before != after for before, after in zip([4.0, *rates], rates, strict=False))
