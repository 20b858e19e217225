"""The explanation of any decision of a run: the path of an agent, and each of its turns with all that led to it.

It costs no call to a model: turns are worked out again, and compared with the journal (`actors.explain.retrace`). It
works while the run is going on, after a kill, and in a fork, up to the last whole tick. `docs/cause.md` shows it.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from msgspec.structs import replace

from actors.core.errors import RunDirectoryError
from actors.explain.agent_path import (
    QUESTION,
    before,
    chosen_agent,
    decisions,
    its_messages,
    nearest,
    path_of,
    refuse_ticks,
)
from actors.explain.explained_turn import explained_turns
from actors.explain.explanation import AgentPath, ExplainedTurn, Explanation, plain
from actors.explain.retrace import OnBegin, OpenRun, Trace, retrace
from actors.factory.domains import look_at_domain
from prism.quoting import shown

LATEST = 20
"""The turns of a path that are shown if no range is asked for."""


def explain_path(path: Path, agent: int | str, first: int | None = None, last: int | None = None) -> AgentPath:
    """Return the path of an agent, as the journal has it: nothing is worked out again.

    Args:
        path: the run's directory.
        agent: the agent's number or name.
        first, last: the first and the last tick; without both, the latest 20 turns.

    Raises:
        RunDirectoryError: there is no such run, agent or tick.
        JournalError: the journal cannot be read.
        ConfigError, InputError: the run's configuration or an input file cannot be used.
    """
    run = OpenRun(path, look_at_domain)
    number, name = chosen_agent(run, agent)
    refuse_ticks(run, first, last)
    whole = path_of(its_messages(run, number))
    turns = whole[-LATEST:]
    if first is not None or last is not None:
        turns = [each for each in whole if (first or 0) <= each.tick <= (run.length if last is None else last)]
    return AgentPath(
        agent=number,
        name=name,
        ticks=run.length,
        turns=tuple(turns),
        turns_in_all=len(whole),
        questions_in_all=sum(each.source == QUESTION for each in whole),
        notes=tuple(run.notes),
    )


def explain_agent(path: Path, agent: int | str, first: int, last: int) -> Explanation:
    """Return an agent's turns in the ticks from `first` to `last`, each with all that led to it.

    It has an event loop of its own, so it is called from a thread without one. It takes as long as a replay from the
    nearest checkpoint at or before `first`; a run keeps its latest ones.

    Args:
        path: the run's directory. Nothing of it is changed, and a run that is going on is not disturbed.
        agent: the agent's number or name.

    Raises:
        RunDirectoryError: there is no such run, agent or tick.
        DivergedError: a tick has another result than the journal.
        JournalError: a file cannot be read.
        ConfigError, InputError: the run's configuration or an input file cannot be used.
    """
    run = OpenRun(path)
    number, name = chosen_agent(run, agent)
    refuse_ticks(run, first, last)
    turns = anyio.run(partial(_explained, run, number, its_messages(run, number), first, last))
    return Explanation(agent=number, name=name, ticks=run.length, turns=tuple(turns), notes=tuple(run.notes))


async def explain_turn(path: Path, agent: int | str, tick: int, on_begin: OnBegin = lambda _: None) -> Explanation:
    """Return an agent's turns in one tick, and those in which the questions that it asked there were decided.

    Raises:
        RunDirectoryError: the agent has no turn in the tick. The others are as for `explain_agent`.
    """
    run = await to_thread.run_sync(OpenRun, path)
    number, name = chosen_agent(run, agent)
    refuse_ticks(run, tick)
    messages = await to_thread.run_sync(its_messages, run, number)
    whole = path_of(messages)
    if all(each.tick != tick for each in whole):
        called = f" ({shown(name)})" if name else ""
        problem = f"agent {number}{called} has no turn in tick {tick:,}; {nearest(whole, tick)}"
        raise RunDirectoryError(f"{path}: {problem}")
    last = max([tick, *(decided for (asked, _), decided in decisions(whole) if asked == tick)])
    found = await _explained(run, number, messages, tick, last, on_begin)
    asked = {each.question.id for each in found if each.tick == tick and each.question is not None}
    turns = [each for each in found if each.tick == tick or (each.question and each.question.id in asked)]
    return Explanation(agent=number, name=name, ticks=run.length, turns=tuple(turns), notes=tuple(run.notes))


async def _explained(
    run: OpenRun, number: int, messages: list[Any], first: int, last: int, on_begin: OnBegin = lambda _: None
) -> list[ExplainedTurn]:
    """Return the turns of an agent in a range of ticks. `messages`: all of the agent."""
    decided = {(number, asked, trigger): tick for (asked, trigger), tick in decisions(path_of(messages))}
    until = max([last, *(tick for (_, asked, _), tick in decided.items() if first <= asked <= last)]) + 1
    trace = Trace({number}, first, until - 1)
    await retrace(run, trace, until, on_begin)
    return [
        each if each.profile else replace(each, profile=plain(run.show.panel(number, before(messages, each.tick))))
        for each in await explained_turns(run, trace, decided)
        if each.tick <= last
    ]
