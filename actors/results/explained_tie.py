"""The tie from one person to another: each change of it, and which turn decided on it."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from anyio import to_thread

from actors.core.errors import RunDirectoryError
from actors.record.messages import ticks_of
from actors.results.agent_path import chosen_agent
from actors.results.changes import changes_in, tie_changes
from actors.results.explained_post import ROUNDS_BEFORE, TURNS_KEPT, cause_of
from actors.results.explanation import Cause, ExplainedTie, ExplainedTieChange
from actors.results.retrace import OnBegin, OpenRun, Trace, TracedTurn, retrace
from prism.events import TieChanged
from prism.social.people.population import Population


async def explain_tie(
    path: Path, agent: int | str, whom: int | str, on_begin: OnBegin = lambda _: None
) -> ExplainedTie:
    """Return each change of the tie from one person to another, with the turn that decided on it.

    The person is traced from before the first change to the last one, which takes as long as a replay of these ticks
    from the nearest checkpoint.

    Args:
        agent, whom: the two people, by number or name.
    """
    run = await to_thread.run_sync(OpenRun, path)
    (number, name), (other, other_name) = chosen_agent(run, agent), chosen_agent(run, whom)
    population = getattr(run.domain, "population", None)
    if not isinstance(population, Population):
        raise RunDirectoryError(f"{path}: has no people on a feed, so there are no ties between them")
    found = await to_thread.run_sync(_changes_of, run, population, number, other)
    causes = await _causes(run, [each for each in found if isinstance(each, TieChanged)], on_begin)
    return ExplainedTie(
        agent=number,
        name=name,
        whom=other,
        whom_name=other_name,
        ticks=run.length,
        follows_at_start=bool(population.graph.follows(number, other)),
        changes=tuple(
            ExplainedTieChange(tick=each.tick, kind=each.kind, post=each.post, cause=causes.get((each.tick, each.kind)))
            if isinstance(each, TieChanged)
            else each
            for each in found
        ),
        notes=tuple(run.notes),
    )


def _changes_of(run: OpenRun, people: Population, agent: int, whom: int) -> list[TieChanged | ExplainedTieChange]:
    """Return the changes of a tie: those of interventions as they are shown. It reads the whole journal, and blocks."""
    found: list[TieChanged | ExplainedTieChange] = []
    for messages in ticks_of(run.path, until=run.length):
        for message in changes_in(messages):
            if isinstance(message, TieChanged):
                found += [message] if (message.agent, message.whom) == (agent, whom) else []
                continue
            for tick, one, other, follows in tie_changes([message], people.number):
                if (one, other) == (agent, whom):
                    found.append(ExplainedTieChange(tick=tick, kind="follow" if follows else "unfollow"))
    return found


async def _causes(run: OpenRun, changes: list[TieChanged], on_begin: OnBegin) -> dict[tuple[int, str], Cause]:
    """Return `{(tick, kind): the turn that decided on the change}`."""
    if not changes:
        return {}
    first = max(0, changes[0].tick - ROUNDS_BEFORE * run.config.simulation.ticks_per_round)
    trace = Trace({changes[0].agent}, first, changes[-1].tick)
    latest: deque[TracedTurn] = deque(maxlen=TURNS_KEPT)
    causes: dict[tuple[int, str], Cause] = {}

    def commit(*_: object) -> None:
        for turn in trace.turns:
            latest.append(turn)
            for event in turn.events:
                if isinstance(event, TieChanged) and event in changes:
                    causes[event.tick, event.kind] = cause_of(event, latest)
        trace.turns.clear()

    await retrace(run, trace, changes[-1].tick + 1, on_begin, commit)
    return causes
