"""Another future of a run: one answer is replaced, and the ticks after it are done again in memory.

Questions that are the same in every byte keep their recorded answers, others are answered from the tape if it has the
same prompt, and otherwise by the embedded choice. No model is asked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
from anyio import to_thread

from actors.core.errors import RunDirectoryError
from actors.core.messages import Decided, QuestionName
from actors.explain.futures import Change, Futures, Substitute, Track
from actors.explain.questions import requests_of
from actors.explain.retrace import OnBegin, OpenRun
from actors.explain.tree import COLUMNS, Node
from actors.explain.turns import (
    QUESTION,
    PathTurn,
    chosen_agent,
    decisions,
    its_messages,
    nearest,
    path_of,
    refuse_ticks,
)
from actors.runtime.simulation import Simulation
from actors.store.messages import Framed, differing_agents, messages_of
from prism.agents import Question, Source, Update
from prism.economy.nation import decided_otherwise
from prism.events import AttributeSet, PostEvent, TieChanged
from prism.llm import TapedModel
from prism.quoting import compact, printable
from prism.wording import counted


async def what_if(  # one for each option of the command
    path: Path, agent: int | str, tick: int, answer: str, ticks: int | None = None, on_begin: OnBegin = lambda _: None
) -> Node:
    """Return what would have been different with another answer to an agent's question. Nothing is written.

    Args:
        tick: the tick of the question, or that in which its decision took effect.
        answer: one of the question's options.
        ticks: the ticks to compare, from the one in which the decision takes effect; by default a round.

    Raises:
        RunDirectoryError: there is no such run, agent, tick or question, or the answer is none of its options.
        DivergedError: a tick before the answer's effect has another result than the journal.
        JournalError, ConfigError, InputError: as for `explain_turns`.
    """
    futures = await to_thread.run_sync(Futures, path, lambda _: Track())
    run = futures.run
    number = chosen_agent(run, agent)
    refuse_ticks(run, tick)
    whole = path_of(await to_thread.run_sync(its_messages, run, number), run.called)
    turn, decided_in = _asked(run, whole, (number, tick), answer)
    name = number, turn.tick, turn.trigger
    logged = futures.known.named(name)  # its answer in the oracle's log; the embedded oracle keeps none
    moves = (each for each in whole if (each.tick, each.trigger) == (decided_in, turn.trigger) and not each.options)
    was = next(moves).to_state if logged is None else logged.state
    wanted = decided_in + (run.config.simulation.ticks_per_round if ticks is None else ticks)
    until, notes = min(wanted, run.length), list(run.notes)
    if until < wanted:
        notes.append(f"the run has {run.length:,} ticks so far, so {until - decided_in:,} are compared")
    if answer == was:
        notes.append(f"{answer} is the answer that was given")
    both = _Kept(decided_in, on_begin), _Kept(decided_in, on_begin)
    # 1. The recorded ticks once more, to the end of those that are compared.
    start, record = await futures.start(turn.tick, both[0])
    await futures.again(start, until, record, both[0])
    # 2. The same ticks with the other answer.
    change = Change(asked=name, option=answer, decided=None if logged is None else answer_as(name, answer, logged))
    with ExitStack() as stack:
        if run.config.oracle.backend != "choice":  # then a tape may have the answers
            requests = stack.enter_context(requests_of(run))
            taped = run.domain.oracle(requests) if isinstance(requests, TapedModel) else None
            futures.oracle_of = lambda computed, replaces: Substitute(computed, taped, replaces)
        async for at in futures.walk([turn.tick]):
            other = await futures.future(at._replace(track=both[1]), change, until=until, since=decided_in)
    value = {
        "agent": number,
        "name": run.name_of(number),
        "asked": turn.tick,
        "trigger": turn.trigger,
        "state": turn.from_state,
        "options": [*turn.options],
        "decided_in": decided_in,
        "was": was,
        "would_be": answer,
        "until": until,
        # The questions of the other future by who answered: the log has the same question, the tape the same prompt.
        "recorded": other.kept,
        "taped": other.taped,
        "computed": other.computed,
    }
    ways = {"recorded": "as recorded, being the same", "taped": "by the tape", "computed": "by the embedded choice"}
    answered = ", ".join(f"{value[kind]:,} {how}" for kind, how in ways.items() if value[kind])
    told = {
        "answer": f"{answer} instead of {was}, of {', '.join(turn.options)}",
        "compared": f"ticks {decided_in:,} to {until - 1:,}",
        "answered": f"questions of the other future: {answered or 'none is left'}",
    }
    children = (
        *(Node(kind, text) for kind, text in told.items()),
        *(Node("note", note) for note in notes),
        *_differences(run, number, *both),
    )
    words = f"{run.called(number)}, question of tick {turn.tick:,}: {turn.trigger} in {turn.from_state}"
    return Node("what_if", words, value=value, children=children)


def _asked(run: OpenRun, whole: list[PathTurn], place: tuple[int, int], answer: str) -> tuple[PathTurn, int]:
    """Return the question that an agent asked or was decided in a tick, with this option; and the decision's tick."""
    path, (number, tick) = run.path, place
    decided = dict(decisions(whole))
    questions = [each for each in whole if each.source == QUESTION]
    here = [each for each in questions if tick in (each.tick, decided.get((each.tick, each.trigger)))]
    if not here:
        near = nearest(questions, tick, "question") if questions else "it has never asked one"
        raise RunDirectoryError(f"{path}: {printable(run.called(number))} has no question in tick {tick:,}; {near}")
    turn = next((each for each in here if answer in each.options), None)
    if turn is None:
        options = "; or: ".join(", ".join(each.options) for each in here)
        raise RunDirectoryError(f"{path}: {answer!r} is no option of the question in tick {tick:,}; it has: {options}")
    at = decided.get((turn.tick, turn.trigger))
    if at is None:
        raise RunDirectoryError(f"{path}: the question of tick {turn.tick:,} has no decision in the journal yet")
    return turn, at


def answer_as(name: QuestionName, option: str, was: Decided) -> Decided:
    """Return another answer to a question, with the content that it would have; its source is an oracle in any case."""
    content = was.content if option == was.state else decided_otherwise(was.content, option)
    source = was.source if was.source in (Source.LLM, Source.ORACLE) else str(Source.LLM)
    return Decided(name[1], name[0], name[2], option, source, content=content)


LARGEST = 10  # the agents that are listed


class _Kept(Track):
    """A future whose ticks are kept from one on."""

    simulation: Simulation  # the running one, or the latest

    def __init__(self, first: int, on_begin: OnBegin) -> None:
        self._first, self._on_begin = first, on_begin
        self.ticks: dict[int, Framed] = {}

    def begin(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self._on_begin(simulation)

    def add_tick(self, tick: int, frame: bytes) -> None:
        if tick >= self._first:
            self.ticks[tick] = frame, self.simulation.engine


def _differences(run: OpenRun, number: int, was: _Kept, would: _Kept) -> Iterator[Node]:
    """Yield the differences between two futures, of which the first is the run. `number`: of the agent asked."""
    acting, apart, events = defaultdict[int, list[int]](list), list[dict[str, int]](), (Counter[str](), Counter[str]())
    own: tuple[list[Any], list[Any]] = ([], [])  # the agent's messages in each future
    for tick, of_would in would.ticks.items():
        both = was.ticks[tick], of_would
        differing = differing_agents(*both, run.domain.size)
        acts = defaultdict[int, list[Any]](list), defaultdict[int, list[Any]](list)
        for future, framed in enumerate(both):
            events[future].update(event.kind for event in messages_of(*framed, PostEvent, TieChanged))
            for message in messages_of(*framed, agents={*differing, number}):
                acts[future][message.agent] += _act(message)
                if message.agent == number:
                    own[future].append(message)
        changed = [each for each in differing if acts[0][each] != acts[1][each]]
        for each in changed:
            acting[each].append(tick)
        if differing:
            apart.append({"tick": tick, "agents": len(differing), "acting": len(changed)})
    # The agent's two paths side by side, a row for each tick with a turn of either.
    yield Node(COLUMNS, cells=("tick", "as it was", "would be"))
    paths = [path_of(messages, run.called) for messages in own]
    for tick in sorted({turn.tick for path in paths for turn in path}):
        turns = [[turn for turn in path if turn.tick == tick] for path in paths]
        one, other = map(_moves, turns)
        value = dict(zip(("was", "would_be"), map(msgspec.to_builtins, turns), strict=True))
        cells = f"{tick:,}", one, "the same" if one == other else other
        yield Node("turns", cells=cells, value={"tick": tick, **value})
    # How many agents differ in each tick in which any does.
    if apart:
        yield Node(COLUMNS, cells=("tick", "agents whose journals differ", "that did something else"))
    else:
        yield Node("hint", "no agent's journal differs in any tick")
    for row in apart:
        yield Node("apart", cells=tuple(f"{each:,}" for each in row.values()), value=row)
    ends = was.simulation, would.simulation
    yield from _counted("took place", *events, equal=True)
    yield from _counted("states", *(each.counters.agents_by_state() for each in ends))
    yield from _counted("totals", *(_numbers(each.domain.world.totals()) for each in ends))
    ordered = sorted(acting.items(), key=lambda each: (-len(each[1]), each[1][0], each[0]))
    if ordered:
        yield Node(COLUMNS, cells=("did something else", "in", "from tick"))
    for agent, ticks in ordered[:LARGEST]:
        value = {"agent": agent, "name": run.name_of(agent), "first": ticks[0], "ticks": len(ticks)}
        yield Node("acted", cells=(run.called(agent), counted(len(ticks), "tick"), f"{ticks[0]:,}"), value=value)


def _act(message: Any) -> list[Any]:
    """Return what an agent did by a message, which is less than its row; nothing for what was done to it."""
    match message:
        case Update():
            return [(message.trigger, message.to_state, message.effect)]
        case Question():
            return [(message.trigger, message.options)]
        case PostEvent():
            return [message.kind]  # ids count an author's posts, so they shift
        case TieChanged():
            return [(message.kind, message.whom)]
        case AttributeSet():
            return [(message.name, message.value)]
    return []


def _moves(turns: Sequence[PathTurn]) -> str:
    moves = [
        ", ".join([each.to_state, *(event["kind"] for event in each.events)]) for each in turns if not each.options
    ]
    return "; ".join(moves) or ("asks the oracle" if turns else "-")


def _counted(title: str, was: Mapping[str, Any], would: Mapping[str, Any], *, equal: bool = False) -> Iterator[Node]:
    """Yield the numbers that differ, or all of them, in the order of the first future."""
    names = [*was, *(name for name in would if name not in was)]
    found = [(name, was.get(name, 0), would.get(name, 0)) for name in names]
    rows = [each for each in found if equal or each[1] != each[2]]
    if rows:
        yield Node(COLUMNS, cells=(title, "as it was", "would be"))
    for name, one, other in rows:
        cells = name, compact(one), compact(other)
        yield Node(title, cells=cells, value={"name": name, "was": one, "would_be": other})


def _numbers(totals: dict[str, Any]) -> dict[str, float]:
    return {
        name: value for name, value in totals.items() if isinstance(value, int | float) and not isinstance(value, bool)
    }
