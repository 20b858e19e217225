"""The show of the lights: a table of their phases, a panel for each light, and the names of the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from junction.light import Light
from prism.agents import Question, Update
from prism.show import Message, Number, Row, Show, Tick
from prism.tables import AGENT, INTEGER, NAME, RUN, Table, column

PHASES = Table(
    name="phases",
    about="a time in which a light kept its colour, in the order of their ends; at last those that the run has cut off",
    columns=(
        RUN,
        AGENT,
        column("colour", NAME, "red, green or amber"),
        column("from_tick", INTEGER, "its first tick", "ticks"),
        column("ticks", INTEGER, "its length", "ticks"),
        column("cars", INTEGER, "cars that waited when the oracle was asked about its end; empty if it was not asked"),
    ),
)


class Phases:
    """The rows of `phases`, gathered from the turns of a run."""

    def __init__(self, lights: int) -> None:
        self._began = dict.fromkeys(range(lights), (str(Light.RED), 0))
        self._cars: dict[int, int | None] = {}

    def take(self, tick: Tick) -> Iterator[Row]:
        """Yield the phases that end with a tick."""
        for question in tick.questions:
            self._cars[question.agent] = question.context
        for update in tick.moved:
            yield self._row(update.agent, tick.tick)
            self._began[update.agent] = update.to_state, tick.tick

    def finish(self, ticks: int, rounds: Mapping[str, Sequence[float]]) -> Iterator[Row]:
        """Yield the phases that the end of the run cuts off."""
        for light in self._began:
            yield self._row(light, ticks)

    def _row(self, light: int, end: int) -> Row:
        colour, began = self._began[light]
        return PHASES.name, (light, colour, began, end - began, self._cars.pop(light, None))


class TrafficShow(Show):
    """The tables, names and panels of the lights. PRISM finds it as `SHOW` in `domain.py`."""

    agents = "lights"
    title = "The traffic"
    numbers = (
        Number(column="waiting", name="cars that wait"),
        Number(column="passed", name="cars that passed", is_total=True),
    )
    compared = ("rounds.mean.waiting",)
    tables = (PHASES,)

    def name(self, agent: int) -> str:
        """Return the name of a light."""
        return f"light {agent + 1}"

    def gatherer(self) -> Phases:
        """Return a gatherer of the rows of `phases`."""
        return Phases(self.settings.lights)

    def panel(self, agent: int, messages: Sequence[Message]) -> dict[str, Any]:
        """Return what is shown of a light beside its colour."""
        greens = sum(isinstance(each, Update) and each.to_state == Light.GREEN for each in messages)
        asked = [each.context for each in messages if isinstance(each, Question)]
        return {"turned green": greens, "cars at its last question": asked[-1] if asked else None}

    def seen(self, context: Any) -> dict[str, Any]:
        """Return what a light saw with a trigger."""
        return {"cars that wait": context}
