"""Schelling's model of segregation: 1,000 people of two groups on a board, with PRISM's chart and in Mesa.

The rules and sizes are those of the comparison of frameworks by the authors of Agents.jl: 40 by 40 places without
wrapping, 500 people of either group, and three neighbours of eight of one's own group to be happy. Each step, each
unhappy person looks around, and becomes happy or moves to a random empty place; a run ends once all are happy.
Source: Schelling, "Dynamic models of segregation" (1971); github.com/JuliaDynamics/ABMFrameworksComparison.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from enum import StrEnum
from random import Random
from time import process_time
from typing import Any, Final

from benchmarks.peers.systems import Sizes, System, Values, peer
from prism.agents import StatefulAgent
from prism.statechart import Statechart, Transition

SIDE: Final = 40
PEOPLE: Final = 1_000
ENOUGH: Final = 3
"""The neighbours of one's own group with whom one is happy."""
Run = Callable[[int], tuple[int, int]]
"""Runs the model with a seed until all are happy, and returns its steps, and how often somebody looked around."""


class Mood(StrEnum):
    """The states of PRISM's chart."""

    UNHAPPY = "unhappy"
    HAPPY = "happy"


class Board:
    """The places, row by row.

    Args:
        random: places people, and finds empty places.
    """

    def __init__(self, random: Random) -> None:
        places = random.sample(range(SIDE * SIDE), SIDE * SIDE)
        self.random, self.place, self.empty = random, places[:PEOPLE], places[PEOPLE:]
        self.group = [-1] * (SIDE * SIDE)
        """The group of who is on each place; -1: nobody."""
        for person, place in enumerate(self.place):
            self.group[place] = person % 2
        self.around = [
            [row * SIDE + column for row in near(at // SIDE) for column in near(at % SIDE) if row * SIDE + column != at]
            for at in range(SIDE * SIDE)
        ]


def near(line: int) -> range:
    """Return a row or a column, and those beside it."""
    return range(max(0, line - 1), min(SIDE, line + 2))


def has_enough(person: StatefulAgent[Mood], board: Board) -> bool:
    """Return whether enough neighbours are of the person's group."""
    group = board.group
    own = person.agent_id % 2
    return sum([group[each] == own for each in board.around[board.place[person.agent_id]]]) >= ENOUGH


def move(person: StatefulAgent[Mood], board: Board) -> None:
    """Move to a random empty place."""
    at, chosen = board.place[person.agent_id], int(board.random.random() * len(board.empty))
    to, board.empty[chosen] = board.empty[chosen], at
    board.group[to], board.group[at], board.place[person.agent_id] = board.group[at], -1, to


CHART: Final = Statechart(
    Mood,
    (
        Transition("looks", Mood.UNHAPPY, Mood.HAPPY, guard=has_enough),
        Transition("looks", Mood.UNHAPPY, Mood.UNHAPPY, action=move),
    ),
    Mood.UNHAPPY,
)


def prism(seed: int) -> tuple[int, int]:
    """Run the model with PRISM's chart in a plain loop."""
    board, steps, looks = Board(Random(seed)), 0, 0
    unhappy = [StatefulAgent(each, Mood.UNHAPPY, max_history_depth=0) for each in range(PEOPLE)]
    while unhappy:
        for person in unhappy:
            CHART.fire(person, "looks", board)
        looks, steps = looks + len(unhappy), steps + 1
        unhappy = [person for person in unhappy if person.state is Mood.UNHAPPY]
    return steps, looks


def mesa() -> Run:
    """Return the model of Mesa, with its grid of cells."""
    library, space = peer("mesa"), peer("mesa.discrete_space")

    class Person(space.CellAgent):  # type: ignore[misc, name-defined]
        def __init__(self, model: Any, cell: Any, group: int) -> None:
            super().__init__(model)
            self.cell, self.group, self.is_happy = cell, group, False

        def step(self) -> None:
            if self.is_happy:
                return
            own = self.group
            if sum([each.group == own for each in self.cell.neighborhood.agents]) >= ENOUGH:
                self.is_happy = True
            else:
                self.cell = self.model.grid.select_random_empty_cell()

    class Model(library.Model):  # type: ignore[misc, name-defined]
        def __init__(self, seed: int) -> None:
            super().__init__(seed=seed)
            self.grid = space.OrthogonalMooreGrid((SIDE, SIDE), torus=False, capacity=1, random=self.random)
            for person, cell in enumerate(self.random.sample(list(self.grid.all_cells), PEOPLE)):
                Person(self, cell, person % 2)

        def step(self) -> None:
            self.agents.do("step")

    def run(seed: int) -> tuple[int, int]:
        model, steps, looks = Model(seed), 0, 0
        while unhappy := sum([not each.is_happy for each in model.agents]):
            model.step()
            steps, looks = steps + 1, looks + unhappy
        return steps, looks

    return run


def measuring(make: Callable[[], Run]) -> Callable[[Sizes], Values]:
    """Return what measures a model."""

    def measure(sizes: Sizes) -> Values:
        run = make()
        run(0)
        gc.collect()
        gc.disable()
        begun = process_time()
        found = [run(seed) for seed in range(sizes.boards)]
        seconds = process_time() - begun
        steps, looks = map(sum, zip(*found, strict=True))
        return {
            "ms a run": 1e3 * seconds / sizes.boards,
            "us a look": 1e6 * seconds / looks,
            "steps a run": steps / sizes.boards,
            "looks a run": looks / sizes.boards,
        }

    return measure


SYSTEMS: Final = {
    "PRISM's chart": System(measuring(lambda: prism)),
    "Mesa": System(measuring(mesa), "mesa"),
}
