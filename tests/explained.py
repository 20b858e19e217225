"""The turns of all agents of a run, explained."""

from pathlib import Path

import anyio

from actors.core.messages import name_of_question
from actors.explain.questions import questions_of
from actors.explain.retrace import OpenRun, Trace, retrace
from actors.explain.tree import Node
from actors.explain.turns import turn_nodes


def everybody(path: Path, first: int, last: int) -> tuple[Node, ...]:
    """Return the turns in the ticks from `first` to `last`, in the order in which they were triggered."""

    async def turns() -> list[Node]:
        run = OpenRun(path)
        until = min(last + run.config.deliberation_ticks + 1, run.length)  # by then their questions are decided
        trace = Trace(None, first, until - 1)
        await retrace(run, trace, until)
        decided = {
            name_of_question(each.question): each.trigger.tick
            for each in trace.turns
            if each.question is not None and each.trigger.decision is not None
        }
        return [*turn_nodes(run, trace.turns, await questions_of(run, trace, decided))]

    return tuple(each for each in anyio.run(turns) if each.value["tick"] <= last)
