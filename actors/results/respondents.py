"""People of a recorded run as they were at a moment of it, with what they had lately seen and done."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from actors.core.errors import RunDirectoryError
from actors.core.frames import HEAD
from actors.core.messages import Codec
from actors.persistence.journal import answers_of
from actors.results.agent_path import chosen_agent
from actors.results.retrace import OnBegin, OpenRun, Trace, retrace
from actors.runtime.simulation import Simulation
from prism.agents import Trigger
from prism.agents.social_agent import SocialAgent
from prism.events import PostEvent
from prism.social.domain import SocialDomain
from prism.social.network import Network
from prism.social.post import PostView, author_of
from prism.survey import Memory, Respondent
from prism.survey.respondent import done_line, seen_line

LATELY_ROUNDS = 5
"""The rounds before a moment in which things were seen and done lately."""
REMEMBERED = 10
"""The most posts seen, and the most things done, that a person is reminded of."""
SEES_POST = "sees_post"
_RANGE = re.compile(r"(\d+)-(\d+)")

Answers = Callable[[SocialAgent], dict[tuple[str, int], int | str | None]]


def people_of(run: OpenRun) -> SocialDomain:
    """Return the domain of a run of people.

    Raises:
        RunDirectoryError: it is a run of another domain.
    """
    if not isinstance(run.domain, SocialDomain):
        name = run.config.simulation.domain
        raise RunDirectoryError(f"{run.directory.path}: questions are put to people on a feed, not to agents of {name}")
    return run.domain


def chosen_people(run: OpenRun, named: str) -> list[int]:
    """Return the numbers of the people in a list such as `0-99,120,Ada Novak`, in order; of all for an empty one.

    Raises:
        RunDirectoryError: there is no such person, or several have the name.
    """
    if not named.strip():
        return list(range(run.domain.size))
    found: set[int] = set()
    for part in filter(None, map(str.strip, named.split(","))):
        between = _RANGE.fullmatch(part)
        ends = between.groups() if between is not None else (part,)
        numbers = [chosen_agent(run, end)[0] for end in ends]
        if numbers[0] > numbers[-1]:
            raise RunDirectoryError(f"{run.directory.path}: expected agents from the lower number on, got {part}")
        found.update(range(numbers[0], numbers[-1] + 1))
    return sorted(found)


def checked_tick(run: OpenRun, tick: int) -> int:
    """Return a number of ticks, if the run has so many.

    Raises:
        RunDirectoryError: it has not.
    """
    if tick > run.ticks:
        problem = f"there is no moment after {tick:,} ticks; the run has {run.ticks:,} ticks"
        raise RunDirectoryError(f"{run.directory.path}: {problem}")
    return tick


def tick_of(run: OpenRun, round_number: int) -> int:
    """Return the whole ticks at the end of a round; of round 0, the beginning, none.

    Raises:
        RunDirectoryError: the run has no such round.
    """
    length = run.config.simulation.ticks_per_round
    if round_number * length > run.ticks:
        problem = f"there is no end of round {round_number:,}; the run has {run.ticks // length:,} whole rounds"
        raise RunDirectoryError(f"{run.directory.path}: {problem}, and round 0 is its beginning")
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
        moment: its name; tick: the whole ticks before it, at most those of the run.
        numbers: of the people.
        answers: works out their answers, if no model is asked.

    Raises:
        DivergedError: a tick has another result than the journal.
        JournalError: a file cannot be read.
    """
    lately = _Lately(numbers)
    domain = run.domain
    if tick:
        first = max(0, tick - LATELY_ROUNDS * run.config.simulation.ticks_per_round)

        def begin(simulation: Simulation) -> None:
            lately.attach(simulation, first)
            on_begin(simulation)

        simulation = await retrace(run, Trace((), first, first), tick, begin, lately.committed)
        domain = simulation.domain
    people: Any = domain
    return [_respondent(people.agent(number), moment, tick, lately.of(number), answers) for number in numbers]


def _respondent(person: SocialAgent, moment: str, tick: int, memory: Memory, answers: Answers | None) -> Respondent:
    return Respondent(
        number=person.agent_id,
        tick=tick,
        moment=moment,
        name=person.name,
        interests=person.interests,
        personality=person.personality,
        facts=dict(person.facts),
        attributes=dict(person.attributes),
        memory=memory,
        answers={} if answers is None else answers(person),
    )


class _Lately:
    """The latest that some people have seen and done, while ticks are done again.

    Args:
        people: their numbers.
    """

    def __init__(self, people: Iterable[int]) -> None:
        self._people = frozenset(people)
        self._seen: dict[int, deque[str]] = {}
        self._done: dict[int, deque[str]] = {}
        self._first = 0

    def attach(self, simulation: Simulation, first: int) -> None:
        """Look at a simulation that is about to run, from a tick on."""
        self._first = first
        simulation.engine.on_triggers = self._note

    def _note(self, triggers: Sequence[Trigger[Any]]) -> None:
        for trigger in triggers:
            is_wanted = trigger.name == SEES_POST and trigger.agent in self._people and trigger.tick >= self._first
            if is_wanted and isinstance(trigger.context, PostView):
                _add(self._seen, trigger.agent, seen_line(trigger.context))

    def committed(self, simulation: Simulation, tick: int, frame: bytes) -> None:
        """Take over what people have done in a tick."""
        domain = simulation.domain
        if tick < self._first or not isinstance(domain, SocialDomain):
            return
        network: Network = domain.world.network
        codec = Codec(domain.context_type, domain.effect_type)
        for event in codec.array(answers_of(frame[HEAD.size :])):
            if isinstance(event, PostEvent) and event.agent in self._people:
                about = event.post if event.parent is None else event.parent
                author = domain.population.name(author_of(about))
                line = done_line(event.kind, author, _text(network, event.post), _text(network, event.parent))
                _add(self._done, event.agent, line)

    def of(self, person: int) -> Memory:
        """Return what a person has seen and done."""
        return Memory(seen=tuple(self._seen.get(person, ())), done=tuple(self._done.get(person, ())))


def _add(lines: dict[int, deque[str]], person: int, line: str) -> None:
    lines.setdefault(person, deque(maxlen=REMEMBERED)).append(line)


def _text(network: Network, post: int | None) -> str:
    """Return the text of a post; empty for none, and for one that is forgotten."""
    found = None if post is None else network.post(post)
    return "" if found is None else network.text(found)
