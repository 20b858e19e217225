"""A quarter of an economy: proposals, their reviews and applications, and the reasoning behind each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anyio import to_thread

from actors.core.errors import RunDirectoryError
from actors.core.messages import name_of_question
from actors.explain.explained_turn import explained_turns
from actors.explain.explanation import ExplainedProposal, ExplainedQuarter, ExplainedTurn, plain
from actors.explain.retrace import OnBegin, OpenRun, Trace, TracedTurn, retrace
from actors.runtime.simulation import Simulation
from actors.store.messages import messages_of
from prism.agents import MOVED, Update
from prism.economy.nation import Applied, Proposed, Reviewed
from prism.economy.world import EconomyWorld
from prism.events import Intervened


async def explain_quarter(path: Path, quarter: int, on_begin: OnBegin = lambda _: None) -> ExplainedQuarter:
    """Return what happened in a quarter of an economy. `quarter`: its number, from 1, as in `rounds.csv`."""
    run = await to_thread.run_sync(OpenRun, path)
    if not isinstance(run.domain.world, EconomyWorld):
        raise RunDirectoryError(f"{path}: is no economy, so it has no quarters; explain an agent or a post of it")
    if not 1 <= quarter <= run.length:
        raise RunDirectoryError(
            f"{path}: there is no quarter {quarter:,}; the run has the quarters 1 to {run.length:,}"
        )
    tick, states = quarter - 1, list[dict[str, Any]]()
    done: list[dict[str, Any]] = []

    def note(simulation: Simulation) -> None:
        states.append(plain(simulation.domain.world.state.global_state))  # type: ignore[attr-defined]  # checked

    def begin(simulation: Simulation) -> None:
        note(simulation)
        on_begin(simulation)

    def commit(simulation: Simulation, now: int, frame: bytes) -> None:
        if now == tick:
            done.extend(plain(each.content) for each in messages_of(frame, simulation.engine, Intervened))
        note(simulation)

    trace = Trace(None, tick, tick)
    await retrace(run, trace, tick + 1, begin, commit)
    decided = {name_of_question(each.question): tick for each in trace.turns if each.question is not None}
    turns = await explained_turns(run, trace, decided)
    return ExplainedQuarter(
        quarter=quarter,
        tick=tick,
        ticks=run.length,
        before=states[-2],
        after=states[-1],
        interventions=tuple(done),
        proposals=tuple(
            _proposal(run, nation, trace.turns, [each for each in turns if each.agent == nation])
            for nation in range(run.domain.size)
        ),
        notes=tuple(run.notes),
    )


def _proposal(run: OpenRun, nation: int, traced: Sequence[TracedTurn], turns: list[ExplainedTurn]) -> ExplainedProposal:
    """Return the way of one nation through the quarter."""
    own = [each for each in traced if each.trigger.agent == nation]
    steps = [
        (each, each.answer, each.answer.effect)
        for each in own
        if isinstance(each.answer, Update) and each.answer.source in MOVED and each.answer.effect is not None
    ]
    action, outcome = "", "none"
    is_valid: bool | None = None
    before: float | None = None
    after: float | None = None
    for each, update, step in steps:
        outcome = update.to_state
        match step:
            case Proposed():
                action, outcome = step.decision.action, "proposed"
            case Reviewed():
                is_valid = step.decision.is_valid
            case Applied():
                situation: Any = each.trigger.context
                before = situation.state.global_state.interest_rate
                after = step.decision.new_interest_rate
    return ExplainedProposal(
        agent=nation,
        name=run.name_of(nation),
        outcome=outcome,
        action=action,
        is_valid=is_valid,
        rate_before=before,
        rate_after=after,
        chains=tuple(plain(step.chain) for _, _, step in steps),
        turns=tuple(turns),
    )
