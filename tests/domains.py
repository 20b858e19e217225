"""A domain of traffic lights only: the runtime runs it, so the runtime knows neither people nor posts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum, unique
from functools import partial
from typing import Any, ClassVar

from prism.agents import MOVED, Question, Source, StatefulAgent, Trigger, Update
from prism.columns import Column, Columns, pack
from prism.domain import World
from prism.llm.port import LanguageModel
from prism.statechart import Oracle, Statechart, Transition


@unique
class Light(StrEnum):
    RED = "red"
    GREEN = "green"
    AMBER = "amber"


class TrafficLight(StatefulAgent[Light]):
    states: ClassVar[type[Light]] = Light

    def effect(self) -> int:
        return self.tick


class GreenWave(Oracle[Any]):
    """An oracle that lets traffic pass if it may."""

    async def ask(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Any:
        return Light.GREEN


Hook = Callable[[TrafficLight, Any], Any]


def note_nothing(light: TrafficLight, context: Any) -> None:
    """Do nothing: an action without a fault."""


def traffic_chart(action: Hook = note_nothing, guard: Hook = lambda *_: True) -> Statechart[Light]:
    """Return the chart: red, green, amber; after amber the choice is ambiguous, to stop or to continue."""
    amber = partial(Transition, "clock", Light.AMBER, action=action, guard=lambda *_: True, oracle=True)
    return Statechart(
        states=Light,
        initial=Light.RED,
        transitions=(
            Transition("clock", Light.RED, Light.GREEN, guard=guard, action=action),
            Transition("clock", Light.GREEN, Light.AMBER, action=action),
            amber(Light.RED),
            amber(Light.GREEN),
        ),
    )


class Crossing(World):
    """The world: a clock that ticks for every light that neither deliberates nor is quarantined."""

    def __init__(self, size: int) -> None:
        self.lights = [Light.RED] * size
        self.quiet: set[int] = set()
        self.updates: list[Update[int]] = []

    def triggers(self, tick: int) -> list[Trigger[int]]:
        return [Trigger(tick, number, "clock", tick) for number in range(len(self.lights)) if number not in self.quiet]

    def apply(self, update: Update[int]) -> None:
        self.updates.append(update)
        if update.source in MOVED:
            self.lights[update.agent] = Light(update.to_state)
        if update.source == Source.QUARANTINE:
            self.quiet.add(update.agent)
        else:
            self.quiet.discard(update.agent)

    def deliberates(self, question: Question[int]) -> None:
        self.quiet.add(question.agent)

    def totals(self) -> dict[str, Any]:
        return {"lights": len(self.lights)}

    def columns(self) -> Iterator[Column]:
        yield from pack("lights", self.lights)
        yield from pack("quiet", sorted(self.quiet))

    def restore(self, columns: Columns) -> None:
        self.lights = columns.values("lights", Light)
        self.quiet = set(columns.values("quiet", int))


class TrafficDomain:
    """Some lights, their chart and their crossing."""

    context_type: Any = int
    effect_type: Any = int
    priority = 0
    checkpoint_every_ticks = 10

    def __init__(self, size: int = 3, chart: Statechart[Light] | None = None) -> None:
        self.size = size
        self.chart = chart or traffic_chart()
        self.world = Crossing(size)

    def agent(self, agent_id: int) -> TrafficLight:
        return TrafficLight(agent_id, self.world.lights[agent_id])

    def asker(self, question: Question[int]) -> TrafficLight:
        return TrafficLight(question.agent, Light(question.state), tick=question.tick)

    def oracle(self, model: LanguageModel | None = None) -> Oracle[Any]:
        return GreenWave()
