"""The turns of all agents of a run, explained."""

from __future__ import annotations

from pathlib import Path

import anyio

from actors.core.messages import name_of_question
from actors.explain.explained_turn import explained_turns
from actors.explain.explanation import ExplainedTurn
from actors.explain.retrace import OpenRun, Trace, retrace


def everybody(path: Path, first: int, last: int) -> tuple[ExplainedTurn, ...]:
    """Return the turns in the ticks from `first` to `last`, in the order in which they were triggered."""

    async def turns() -> list[ExplainedTurn]:
        run = OpenRun(path)
        until = min(last + run.config.deliberation_ticks + 1, run.length)  # by then their questions are decided
        trace = Trace(None, first, until - 1)
        await retrace(run, trace, until)
        decided = {
            name_of_question(each.question): each.trigger.tick
            for each in trace.turns
            if each.question is not None and each.trigger.decision is not None
        }
        return await explained_turns(run, trace, decided)

    return tuple(each for each in anyio.run(turns) if each.tick <= last)
