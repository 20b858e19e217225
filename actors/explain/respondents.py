"""People of a recorded run at one moment, with the things that they had recently seen and done."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from actors.core.errors import RunDirectoryError
from actors.explain.path import chosen_agent
from actors.explain.retrace import OnBegin, OpenRun, Trace, retrace
from actors.runtime.simulation import Simulation
from prism.agents.social_agent import SocialAgent
from prism.social.domain import SocialDomain
from prism.social.memory import Memory
from prism.survey import Respondent

LATELY_ROUNDS = 5
"""The rounds before a moment that people remember in a run without memory."""
LINES = 10
"""The most things that a person remembers in a run without memory."""
_RANGE = re.compile(r"(\d+)-(\d+)")

Answers = Callable[[SocialAgent], dict[str, int | str | None]]


def people_of(run: OpenRun) -> SocialDomain:
    if not isinstance(run.domain, SocialDomain):
        name = run.config.simulation.domain
        raise RunDirectoryError(f"{run.path}: questions are put to people on a feed, not to agents of {name}")
    return run.domain


def chosen_people(run: OpenRun, named: str) -> list[int]:
    """Return the numbers of the people in a list such as `0-99,120,Ada Novak`, in order; of all for an empty one."""
    if not named.strip():
        return list(range(run.domain.size))
    found: set[int] = set()
    for part in filter(None, map(str.strip, named.split(","))):
        between = _RANGE.fullmatch(part)
        ends = between.groups() if between is not None else (part,)
        numbers = [chosen_agent(run, end) for end in ends]
        if numbers[0] > numbers[-1]:
            raise RunDirectoryError(f"{run.path}: expected agents from the lower number on, got {part}")
        found.update(range(numbers[0], numbers[-1] + 1))
    return sorted(found)


def tick_of(run: OpenRun, round_number: int) -> int:
    """Return the whole ticks at the end of a round; 0 for round 0, the beginning."""
    length = run.config.simulation.ticks_per_round
    if round_number * length > run.length:
        problem = f"there is no end of round {round_number:,}; the run has {run.length // length:,} whole rounds"
        raise RunDirectoryError(f"{run.path}: {problem}, and round 0 is its beginning")
    return round_number * length


async def respondents_at(
    run: OpenRun,
    moment: str,
    tick: int,
    numbers: Sequence[int],
    answers: Answers | None = None,
    on_begin: OnBegin = lambda _: None,
) -> list[Respondent]:
    """Return people as they were after so many ticks. Nothing is written, and every tick that is done is compared.

    Args:
        run: the run, whose domain is used up by this.
        tick: the whole ticks before it, at most those of the run.
        answers: works out their answers, if no model is asked: then people remember only what the run itself keeps.
    """
    domain: Any = run.domain
    if tick:
        first = max(0, tick - LATELY_ROUNDS * run.config.simulation.ticks_per_round)
        memory = _Memory(first, numbers if answers is None else ())

        def begin(simulation: Simulation) -> None:
            memory.begin(simulation)
            on_begin(simulation)

        domain = (await retrace(run, Trace((), first, first), tick, begin, memory.committed)).domain
    return [_respondent(domain, number, moment, tick, answers) for number in numbers]


def _respondent(domain: SocialDomain, number: int, moment: str, tick: int, answers: Answers | None) -> Respondent:
    person, memory = domain.agent(number), domain.world.memory
    return Respondent(
        number=person.agent_id,
        tick=tick,
        moment=moment,
        name=person.name,
        interests=person.interests,
        personality=person.personality,
        facts=dict(person.facts),
        attributes=dict(person.attributes),
        memory=() if memory is None else memory.lines(number, tick),
        answers={} if answers is None else answers(person),
    )


class _Memory:
    """The memory of some people while ticks are done again: the run's memory, or else that of the latest rounds.

    Args:
        first: the tick from which on a run without memory is remembered, whatever checkpoint is the start.
        people: the numbers of those who remember; without any, nothing is kept.
    """

    def __init__(self, first: int, people: Sequence[int]) -> None:
        self._first, self._people = first, people
        self._latest: Memory | None = None

    def begin(self, simulation: Simulation) -> None:
        """Look at a simulation that is about to run. In a fork people go on with what they remember."""
        self._keep(simulation, simulation.engine.tick)

    def committed(self, simulation: Simulation, tick: int, _: bytes) -> None:
        """Look at a simulation after a tick."""
        self._keep(simulation, tick + 1)

    def _keep(self, simulation: Simulation, tick: int) -> None:
        domain: Any = simulation.domain
        world = domain.world
        if world.memory is None and self._people and tick >= self._first:
            world.remember(LINES, self._people, self._latest)
        self._latest = world.memory
