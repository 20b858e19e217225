"""The path of an agent through a run, as the journal has it, and the agent that a user names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from actors.core.errors import RunDirectoryError
from actors.explain.explanation import PathTurn, plain
from actors.explain.retrace import OpenRun
from actors.store.messages import of_agent
from prism.agents import DECIDED, STALE, Question, Update
from prism.events import Event
from prism.quoting import shown

QUESTION = "question"
"""The source of a turn that asked."""
NEAREST = 2
"""The turns on each side of a tick that a message names."""


def its_messages(run: OpenRun, number: int) -> list[Any]:
    """Return every message of an agent up to the run's ticks, in order. It reads the whole record, and blocks."""
    return [*of_agent(run.record, number, until=run.length)]


def before(messages: Iterable[Any], tick: int) -> list[Any]:
    return [each for each in messages if each.tick < tick]


def path_of(messages: Iterable[Any]) -> list[PathTurn]:
    turns: list[PathTurn] = []
    for message in messages:
        add_message(turns, message)
    return turns


def add_message(turns: list[PathTurn], message: Any) -> None:
    """Add a message of an agent to its path: a turn, or an event that the latest turn caused."""
    if isinstance(message, Update):
        turns.append(
            PathTurn(
                tick=message.tick,
                trigger=message.trigger,
                from_state=message.from_state,
                to_state=message.to_state,
                source=str(message.source),
                reason=message.reason,
                effect=plain(message.effect),
            )
        )
    elif isinstance(message, Question):
        turns.append(
            PathTurn(
                tick=message.tick,
                trigger=message.trigger,
                from_state=message.state,
                to_state=message.state,
                source=QUESTION,
                options=message.options,
            )
        )
    elif turns and turns[-1].tick == message.tick:
        turns[-1] = msgspec.structs.replace(turns[-1], events=(*turns[-1].events, event_of(message)))


def event_of(message: Event) -> dict[str, Any]:
    """Return what took place as JSON values, and in words."""
    fields = {name: plain(getattr(message, name)) for name in message.__struct_fields__[2:]}
    return {"kind": message.kind, **fields, "words": message.words}


def decisions(turns: Sequence[PathTurn]) -> Iterator[tuple[tuple[int, str], int]]:
    """Yield the tick and trigger of each question of a path with the tick in which its decision took effect."""
    asked: dict[str, int] = {}
    for each in turns:
        if each.source == QUESTION:
            asked[each.trigger] = each.tick
        elif (each.source in DECIDED or each.reason == STALE) and each.trigger in asked:
            yield (asked.pop(each.trigger), each.trigger), each.tick


def nearest(turns: Sequence[PathTurn], tick: int, noun: str = "turn") -> str:
    """Return the ticks of the turns around a tick, in words."""
    if not turns:
        return "it has had no turn at all"
    ticks = sorted({each.tick for each in turns})
    near = [each for each in ticks if each < tick][-NEAREST:] + [each for each in ticks if each > tick][:NEAREST]
    listed = ", ".join(f"{each:,}" for each in near)
    return (
        f"its nearest {noun} is in tick {listed}"
        if len(near) == 1
        else f"its nearest {noun}s are in the ticks {listed}"
    )


def refuse_ticks(run: OpenRun, *ticks: int | None) -> None:
    for tick in ticks:
        if tick is not None and not 0 <= tick < run.length:
            problem = f"there is no tick {tick:,}; the run has the ticks 0 to {run.length - 1:,}"
            raise RunDirectoryError(f"{run.path}: {problem}")


def chosen_agent(run: OpenRun, agent: int | str) -> tuple[int, str]:
    """Return the number and the name of an agent of a run, given one of the two, or the id in a file of people.

    A whole number is the number of an agent, as a run shows it, and an id only if no agent has this number.
    """
    size = run.domain.size
    known = getattr(getattr(run.domain, "population", None), "ids", ())  # of people in the files of a social run
    bearers = [] if isinstance(agent, int) else sorted({texts.index(agent) for texts in known if agent in texts})
    if isinstance(agent, int) or (agent.isdecimal() and (int(agent) < size or not bearers)):
        number = int(agent)
        if not 0 <= number < size:
            problem = f"there is no agent {number:,}; the run has the agents 0 to {size - 1:,}"
            raise RunDirectoryError(f"{run.path}: {problem}")
        return number, run.name_of(number)
    bearers = bearers or [number for number in range(size) if run.name_of(number) == agent]
    if len(bearers) == 1:
        return bearers[0], run.name_of(bearers[0])
    expected = f"{'an id, ' if known else ''}a name, or a number from 0 to {size - 1:,}"
    problem = f"no agent is called {shown(agent)}; expected {expected}"
    if bearers:
        few = ", ".join(map(str, bearers[:10])) + (", ..." if len(bearers) > 10 else "")
        problem = f"{len(bearers):,} agents are called {shown(agent)}: {few}; name one by its number"
    raise RunDirectoryError(f"{run.path}: {problem}")
