"""A quarter of an economy: proposals, their reviews and applications, and the reasoning behind each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from anyio import to_thread

from actors.core.errors import RunDirectoryError
from actors.core.messages import QuestionName, name_of_question
from actors.explain.questions import questions_of
from actors.explain.retrace import OnBegin, OpenRun, Trace, TracedTurn, retrace
from actors.explain.tree import COLUMNS, Node, plain
from actors.runtime.simulation import Simulation
from actors.store.messages import messages_of
from prism.agents import MOVED, Update
from prism.economy.embedded import EMBEDDED
from prism.economy.nation import Applied, Proposed, Reviewed
from prism.economy.world import EconomyWorld
from prism.events import Intervened
from prism.quoting import compact, number


async def explain_quarter(path: Path, quarter: int, on_begin: OnBegin = lambda _: None) -> Node:
    """Return what happened in a quarter of an economy. `quarter`: its number, from 1, as in `rounds.csv`."""
    run = await to_thread.run_sync(OpenRun, path)
    if not isinstance(run.domain.world, EconomyWorld):
        raise RunDirectoryError(f"{path}: is no economy, so it has no quarters; explain an agent or a post of it")
    if not 1 <= quarter <= run.length:
        raise RunDirectoryError(
            f"{path}: there is no quarter {quarter:,}; the run has the quarters 1 to {run.length:,}"
        )
    tick, states = quarter - 1, list[dict[str, Any]]()
    outside: list[Node] = []

    def note(simulation: Simulation) -> None:
        states.append(plain(simulation.domain.world.state.global_state))  # type: ignore[attr-defined]  # checked

    def begin(simulation: Simulation) -> None:
        note(simulation)
        on_begin(simulation)

    def commit(simulation: Simulation, now: int, frame: bytes) -> None:
        for each in messages_of(frame, simulation.engine, Intervened) if now == tick else ():
            content = {name: value for name, value in plain(each.content).items() if value is not None}
            outside.append(Node(kind="outside", text=f"an intervention: {compact(content)}", value=content))
        note(simulation)

    trace = Trace(None, tick, tick)
    await retrace(run, trace, tick + 1, begin, commit)
    decided = {name_of_question(each.question): tick for each in trace.turns if each.question is not None}
    questions = await questions_of(run, trace, decided)
    before, after = states[-2:]
    indicators = [
        Node(kind="indicator", cells=(name, compact(value), compact(after.get(name)))) for name, value in before.items()
    ]
    nations = (
        _nation(run, nation, [each for each in trace.turns if each.trigger.agent == nation], questions)
        for nation in range(run.domain.size)
    )
    return Node(
        kind="quarter",
        text=f"quarter {quarter:,} (tick {tick:,}) of {run.length:,}",
        value={"quarter": quarter, "tick": tick, "ticks": run.length, "before": before, "after": after},
        children=(
            *run.note_nodes,
            Node(kind=COLUMNS, cells=("indicator", "before", "after")),
            *indicators,
            *outside,
            *nations,
        ),
    )


def _nation(
    run: OpenRun, nation: int, turns: Sequence[TracedTurn], questions: dict[QuestionName, tuple[Node, ...]]
) -> Node:
    """Return the way of one nation through the quarter."""
    value: dict[str, Any] = {
        "agent": nation,
        "name": run.name_of(nation),
        "outcome": "none",  # `applied`; `accepted`, `rejected` or `proposed` if the proposal came no further
        "action": "",
        "is_valid": None,  # the validator's verdict
        "rate_before": None,  # the interest rate that the engine got, and the one that it set, in percent
        "rate_after": None,
    }
    chains = []
    for each in turns:
        update = each.answer
        if not isinstance(update, Update) or update.source not in MOVED or update.effect is None:
            continue
        value["outcome"], step = update.to_state, update.effect
        match step:
            case Proposed():
                value |= {"action": step.decision.action, "outcome": "proposed"}
            case Reviewed():
                value["is_valid"] = step.decision.is_valid
            case Applied():
                situation: Any = each.trigger.context
                value["rate_before"] = situation.state.global_state.interest_rate
                value["rate_after"] = step.decision.new_interest_rate
        chains.append(plain(step.chain))
    return Node(
        kind="nation",
        text=f"{run.called(nation)}: {value['outcome']}",
        value=value,
        children=(*_way(value), *map(_chain, chains), *_asked(turns, questions)),
    )


def _way(value: dict[str, Any]) -> Iterator[Node]:
    if value["action"]:
        yield Node(kind="proposal", text=value["action"])
    if value["is_valid"] is not None:
        yield Node(kind="review", text="valid" if value["is_valid"] else "not valid")
    if value["rate_after"] is not None:
        yield Node(kind="rate", text=f"{number(value['rate_before'])}% -> {number(value['rate_after'])}%")


def _chain(chain: dict[str, Any]) -> Node:
    """Return the reasoning of the agent, the validator or the engine."""
    word = "probability" if chain["model"] == EMBEDDED else "confidence"  # a formula has no confidence
    sure = "" if chain["confidence"] is None else f", {word} {number(chain['confidence'])}"
    model = f" ({chain['model']})" if chain["model"] else ""
    return Node(kind=chain["component"], text=f"{chain['reasoning']}{model}{sure}", value=chain)


def _asked(turns: Sequence[TracedTurn], questions: dict[QuestionName, tuple[Node, ...]]) -> Iterator[Node]:
    for each in turns:
        if each.trigger.decision is None:
            yield Node(kind="step", text=f"tick {each.trigger.tick:,}: {each.trigger.name} in {each.state}")
            yield from () if each.question is None else questions[name_of_question(each.question)]
