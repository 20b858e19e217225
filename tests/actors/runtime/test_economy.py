"""Economies on the actors: the order of a turn, what a failure leaves, and that nothing depends on the schedule."""

import logging

import pytest
from msgspec.structs import replace
from structlog.typing import EventDict

from prism.economy.macro import Lags, draw_shocks, step
from prism.errors import OracleFailedError
from tests.actors.economies import START, EconomyRun
from tests.catalogue import catalogue
from tests.schedules import in_schedules, run_scheduled

ARMY = "Deploy military forces"


@in_schedules(8)
async def test_proposals_are_applied_one_after_the_other_each_to_the_rate_that_the_one_before_left() -> None:
    done = await EconomyRun().run()
    assert done.asked("agent", 0)[0][1] == START.interest_rate
    for turn in range(4):
        assert len({rate for _, rate in done.asked("agent", turn)}) == 1, "all see what the last quarter left"
        applied = done.asked("engine", turn)
        assert [name for name, _ in applied] == ["Ada", "Bo", "Cy"]
        rates = [rate for _, rate in applied]
        assert rates[0] == done.asked("agent", turn)[0][1]
        assert len(set(rates)) == 3, "each of them has moved it"


@in_schedules(8)
async def test_a_quarter_ends_with_the_answer_of_the_economy_to_the_rate_that_was_set() -> None:
    done = await EconomyRun("simulation.ticks=1").run()
    world, macro = done.world, done.config.economy.macro
    rate = world.state.global_state.interest_rate
    assert rate > START.interest_rate
    expected = step(replace(START, interest_rate=rate), Lags.beginning(START, macro), macro, draw_shocks(macro, 3, 0))
    assert (world.state.global_state, world.lags) == expected
    assert world.state.turn == done.simulation.engine.tick == 1


@catalogue("nation", [0, 2])
def test_a_proposal_that_is_not_economic_is_skipped_in_its_turn_with_a_line_that_says_so(
    nation: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    name = ("Ada", "Bo", "Cy")[nation]
    done = run_scheduled(5, EconomyRun(policies={(name, 2): ARMY}).run)
    assert [record.message for record in caplog.records if record.levelname == "INFO"] == [
        f"SKIPPED Agent [{name}] due to unvalidated Action"
    ]
    assert name not in dict(done.asked("engine", 2))
    assert len(done.asked("engine", 3)) == 3, "it may propose again"
    assert {key: done.world.totals()[key] for key in ("proposed", "accepted", "rejected", "applied")} == {
        "proposed": 12,
        "accepted": 11,
        "rejected": 1,
        "applied": 11,
    }


@catalogue("trigger", ["turn_begins", "review", "apply"])
def test_a_nation_that_crashes_is_skipped_and_takes_part_in_the_next_quarter(
    trigger: str, logged: list[EventDict]
) -> None:
    ran = EconomyRun(crashes=lambda nation, name, turn: (nation, name, turn) == (1, trigger, 1))
    done = run_scheduled(7, ran.run)
    totals = done.world.totals()
    assert done.world.state.turn == 4
    assert totals["applied"] == 11
    assert totals["accepted"] + totals["rejected"] == 12
    assert totals["rejected"] == (0 if trigger == "apply" else 1)
    assert [event["event"] for event in logged] == ["agent_restarted"]
    assert [name for name, _ in done.asked("engine", 2)] == ["Ada", "Bo", "Cy"]


@catalogue("component", ["agent", "validator", "engine"])
def test_a_question_without_an_answer_ends_the_run_with_the_quarter_before_it(
    component: str, logged: list[EventDict]
) -> None:
    undisturbed = run_scheduled(1, EconomyRun("simulation.ticks=2").run)
    ran = EconomyRun(fails=lambda part, name, turn: (part, name, turn) == (component, "Bo", 2))

    async def fail() -> str:
        with pytest.raises(ExceptionGroup) as caught:
            await ran.run()
        error: BaseException = caught.value
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        assert isinstance(error, OracleFailedError)
        return str(error)

    line = run_scheduled(9, fail)
    assert line.startswith("agent 1 got no answer to ")
    assert "in tick 2: timeout" in line
    assert ran.digest == undisturbed.digest, "what was committed is the two quarters before"
