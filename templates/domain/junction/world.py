"""The world: the rows of cars at the lights. Only PRISM's engine calls what changes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from junction.light import Light
from junction.settings import Settings
from prism.agents import MOVED, Question, Source, Trigger, Update
from prism.columns import Column, Columns, pack
from prism.domain import Measure, World
from prism.events import AGENT_COLUMN
from prism.rng import uniform
from prism.tables import INTEGER, Table, column

PASSES = Table(
    name="passes",
    about="the cars that passed when a light turned green",
    columns=(AGENT_COLUMN, column("cars", INTEGER, "how many passed", "cars")),
)
"""A table of the run: its rows are in the journal, in exports and in `result.table("passes")`."""

ARRIVAL = 1
"""The number of the random draw for arrivals. Another draw of the same light and tick would have another number."""


class Crossing(World):
    """Some lights, and the cars that wait at each.

    Args:
        seed: every random draw follows from it.
    """

    tables = (PASSES,)

    def __init__(self, settings: Settings, seed: int) -> None:
        self.settings = settings
        self.seed = seed
        self.lights = [Light.RED] * settings.lights
        self.since = [0] * settings.lights
        """The tick in which each light turned last."""
        self.cars = [0] * settings.lights
        self.passed = 0
        self.passes: list[tuple[int, int]] = []
        """The new rows of the table."""
        self.away: dict[int, None] = {}
        """Lights that wait for the oracle, or have crashed for good. A dict, because a set has no order."""

    def triggers(self, tick: int) -> list[Trigger[int]]:
        """Let cars arrive, and return a trigger for every light that can answer, with the number of its cars."""
        for light in range(len(self.lights)):
            self.cars[light] += uniform(self.seed, light, tick, ARRIVAL) < self.settings.arrivals
        here = (light for light in range(len(self.lights)) if light not in self.away)
        return [Trigger(tick, light, "clock", self.cars[light]) for light in here]

    def apply(self, update: Update[int]) -> None:
        """Turn a light, and let cars pass where it turned green."""
        self.away.pop(update.agent, None)
        if update.source == Source.QUARANTINE:
            self.away[update.agent] = None
        elif update.source in MOVED:
            self.lights[update.agent] = Light(update.to_state)
            self.since[update.agent] = update.tick
            if update.to_state == Light.GREEN:
                passing = min(self.cars[update.agent], self.settings.cars_per_green)
                self.cars[update.agent] -= passing
                self.passed += passing
                self.passes.append((update.agent, passing))

    def take_rows(self) -> dict[str, list[tuple[int, int]]]:
        """Return the rows of the table since the last call, and forget them."""
        rows, self.passes = self.passes, []
        return {PASSES.name: rows}

    def deliberates(self, question: Question[int]) -> None:
        """Note that a light waits for the oracle."""
        self.away[question.agent] = None

    def totals(self) -> dict[str, Any]:
        """Return this world's part of the summary, and of each row of `rounds.csv`."""
        return {"waiting": sum(self.cars), "passed": self.passed}

    def measures(self) -> Sequence[Measure]:
        """Return the numbers that are shown while it runs."""
        return [
            Measure(name="junction_cars_waiting", help="Cars that wait.", kind="gauge", value=sum(self.cars)),
            Measure(name="junction_cars_passed_total", help="Cars that passed.", kind="counter", value=self.passed),
        ]

    def highlights(self) -> Sequence[str]:
        """Return a line for the display of a run."""
        return [f"{sum(self.cars):,} cars wait, {self.passed:,} have passed"]

    def columns(self) -> Iterator[Column]:
        """Yield all that a resume needs."""
        yield from pack("lights", self.lights)
        yield from pack("since", self.since)
        yield from pack("cars", self.cars)
        yield from pack("passed", [self.passed])
        yield from pack("away", list(self.away))

    def restore(self, columns: Columns) -> None:
        """Take over what `columns` gave."""
        self.lights = columns.values("lights", Light)
        self.since = columns.values("since", int)
        self.cars = columns.values("cars", int)
        (self.passed,) = columns.values("passed", int)
        self.away = dict.fromkeys(columns.values("away", int))
