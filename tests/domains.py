"""The traffic lights of `prism init --template domain`, with faults and hooks: the runtime runs any domain."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from junction import domain, world
from junction.chart import CHART
from junction.light import Light, TrafficLight
from junction.settings import Settings
from prism.agents import Trigger, Update
from prism.llm.port import LanguageModel
from prism.statechart import Oracle, Statechart

__all__ = ["Crossing", "GreenWave", "Light", "TrafficDomain", "TrafficLight", "traffic_chart"]

Hook = Callable[[TrafficLight, Any], Any]


class GreenWave(Oracle[Any]):
    """An oracle that lets traffic pass if it may."""

    async def ask(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Any:
        return Light.GREEN


def note_nothing(light: TrafficLight, context: Any) -> None:
    """Do nothing: an action without a fault."""


def traffic_chart(action: Hook = note_nothing, guard: Hook = lambda *_: True) -> Statechart[Light]:
    """Return the template's chart with an action in each row, and with another guard where a red light turns."""
    rows = [replace(row, action=action) for row in CHART.transitions]
    return Statechart(
        states=Light,
        initial=Light.RED,
        transitions=[replace(row, guard=guard) if row.source == Light.RED else row for row in rows],
    )


class Crossing(world.Crossing):
    """The template's world: a clock for every light that neither deliberates nor is quarantined; it keeps updates."""

    def __init__(self, size: int) -> None:
        super().__init__(Settings(lights=size, arrivals=0.0), seed=0)
        self.updates: list[Update[int]] = []

    def triggers(self, tick: int) -> list[Trigger[int]]:
        return [replace(trigger, context=tick) for trigger in super().triggers(tick)]

    def apply(self, update: Update[int]) -> None:
        self.updates.append(update)
        super().apply(update)

    def totals(self) -> dict[str, Any]:
        return {"lights": len(self.lights)}


class TrafficDomain(domain.TrafficDomain):
    """The template's domain, of lights that turn at every tick."""

    def __init__(self, size: int = 3, chart: Statechart[Light] | None = None) -> None:
        super().__init__(Settings(lights=size), seed=0)
        self.chart = chart or traffic_chart()
        self.world: Crossing = Crossing(size)

    def oracle(self, model: LanguageModel | None = None) -> Oracle[Any]:
        return GreenWave()
