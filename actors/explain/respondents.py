"""People of a recorded run at one moment, with the things that they had recently seen and done."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from actors.core.errors import RunDirectoryError
from actors.explain.retrace import OnBegin, OpenRun, Trace, retrace
from actors.explain.turns import chosen_agent
from actors.runtime.simulation import Simulation
from prism.agents.social_agent import SocialAgent
from prism.social.domain import SocialDomain
from prism.social.memory import Memory
from prism.survey.oracle import Respondent

LATELY_ROUNDS = 5  # the rounds before a moment that people remember in a run without memory
LINES = 10  # the most things that a person remembers in a run without memory
_RANGE = re.compile(r"(\d+)-(\d+)")

Answers = Callable[[SocialAgent], dict[tuple[str, int], int | str | None]]


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

    The domain of the run is used up by this. `answers`: works out their answers, if no model is asked: then people
    remember only what the run itself keeps.
    """
    domain: Any = run.domain
    if tick:
        first = max(0, tick - LATELY_ROUNDS * run.config.simulation.ticks_per_round)
        latest: Memory | None = None

        def keep(simulation: Simulation, at: int) -> None:
            """Let people remember in a run without memory, from one tick on, whatever checkpoint is the start.

            In a fork they go on with what they remember.
            """
            nonlocal latest
            world: Any = simulation.domain.world
            if world.memory is None and answers is None and numbers and at >= first:
                world.remember(LINES, numbers, latest)
            latest = world.memory

        def begin(simulation: Simulation) -> None:
            keep(simulation, simulation.engine.tick)
            on_begin(simulation)

        trace = Trace((), first, first)
        again = await retrace(run, trace, tick, begin, lambda simulation, at, _: keep(simulation, at + 1))
        domain = again.domain
    memory, found = domain.world.memory, list[Respondent]()
    for number in numbers:
        person = domain.agent(number)
        found.append(
            Respondent(
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
        )
    return found
