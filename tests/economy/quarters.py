"""Quarters of an economy without actors: triggers, turns and answers, one after the other."""

from collections.abc import Sequence
from typing import Any

from prism.agents import Decision, Question, Source, Trigger, Update, turn
from prism.economy.chart import ECONOMY_CHART
from prism.economy.components import Components
from prism.economy.nation import Nation, PolicyState
from prism.economy.oracle import EconomyOracle
from prism.economy.world import EconomyWorld


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
