"""Another future of a run: one answer is replaced, and the ticks after it are done again in memory.

Up to the tick in which the answer takes effect every tick is compared with the journal. From then on it is another
future: its questions that are the same in every byte keep their recorded answers, others are answered from the tape if
it has the same prompt, and otherwise by the embedded choice. No model is asked unless that is wanted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from anyio import to_thread

from actors.core.errors import RunDirectoryError
from actors.core.messages import Decided, QuestionName
from actors.explain.futures import Change, Futures, Substitute, Track
from actors.explain.path import (
    QUESTION,
    PathTurn,
    chosen_agent,
    decisions,
    its_messages,
    nearest,
    path_of,
    refuse_ticks,
)
from actors.explain.requests import requests_of
from actors.explain.retrace import OnBegin, OpenRun
from actors.explain.tree import COLUMNS, Node
from actors.runtime.simulation import Simulation
from actors.store.messages import Framed, differing_agents, messages_of
from actors.store.oracle_log import KeptAnswers
from prism.agents import Question, Source, Update
from prism.economy.nation import decided_otherwise
from prism.events import AttributeSet, PostEvent, TieChanged
from prism.llm import TapedModel
from prism.quoting import compact, printable
from prism.wording import counted


class Asked(NamedTuple):
    """A question whose answer is to be replaced."""

    turn: PathTurn
    decided_in: int  # the tick in which its decision took effect
    was: str
    logged: Decided | None  # its answer in the oracle's log; the embedded oracle keeps none

    @property
    def facts(self) -> dict[str, Any]:
        turn = self.turn
        told = {"asked": turn.tick, "trigger": turn.trigger, "state": turn.from_state, "options": [*turn.options]}
        return {**told, "decided_in": self.decided_in, "was": self.was}

    @property
    def words(self) -> str:
        return f"question of tick {self.turn.tick:,}: {self.turn.trigger} in {self.turn.from_state}"

    def told(self, value: Mapping[str, Any]) -> dict[str, str]:
        """Return the other answer, the ticks that are compared, and who answered the questions of the other future."""
        ways = {"recorded": "as recorded, being the same", "taped": "by the tape", "computed": "by the embedded choice"}
        words = ", ".join(f"{value[name]:,} {how}" for name, how in ways.items() if value[name])
        return {
            "answer": f"{value['would_be']} instead of {self.was}, of {', '.join(self.turn.options)}",
            "compared": f"ticks {self.decided_in:,} to {value['until'] - 1:,}",
            "answered": f"questions of the other future: {words or 'none is left'}",
        }


async def what_if(  # one for each option of the command
    path: Path,
    agent: int | str,
    tick: int,
    answer: str,
    ticks: int | None = None,
    on_begin: OnBegin = lambda _: None,
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
    run, known = futures.run, futures.known
    number = chosen_agent(run, agent)
    refuse_ticks(run, tick)
    whole = path_of(await to_thread.run_sync(its_messages, run, number), run.called)
    asked = _asked(run, whole, known, (number, tick), answer)
    wanted = asked.decided_in + (run.config.simulation.ticks_per_round if ticks is None else ticks)
    until, notes = min(wanted, run.length), list(run.notes)
    if until < wanted:
        notes.append(f"the run has {run.length:,} ticks so far, so {until - asked.decided_in:,} are compared")
    if answer == asked.was:
        notes.append(f"{answer} is the answer that was given")
    found = Differences(number, asked.decided_in, run.domain.size, on_begin)
    # 1. The recorded ticks once more, to the end of those that are compared.
    start, record = await futures.start(asked.turn.tick, found.was)
    await futures.again(start, until, record, found.was)
    # 2. The same ticks with the other answer.
    name = number, asked.turn.tick, asked.turn.trigger
    decided = None if asked.logged is None else answer_as(name, answer, asked.logged)
    with ExitStack() as stack:
        if run.config.oracle.backend != "choice":  # then a tape may have the answers
            requests = stack.enter_context(requests_of(run))
            taped = run.domain.oracle(requests) if isinstance(requests, TapedModel) else None
            futures.oracle_of = lambda computed, replaces: Substitute(computed, taped, replaces)
        async for at in futures.walk([asked.turn.tick]):
            change = Change(asked=name, option=answer, decided=decided)
            future = at._replace(track=found.would)
            other = await futures.future(future, change, until=until, since=asked.decided_in)
    value = {
        "agent": number,
        "name": run.name_of(number),
        **asked.facts,
        "would_be": answer,
        "until": until,
        # The questions of the other future by who answered: the log has the same question, the tape the same prompt.
        "recorded": other.kept,
        "taped": other.taped,
        "computed": other.computed,
    }
    children = (
        *(Node(kind=kind, text=text) for kind, text in asked.told(value).items()),
        *(Node(kind="note", text=note) for note in notes),
        *found.nodes(run),
    )
    return Node(kind="what_if", text=f"{run.called(number)}, {asked.words}", value=value, children=children)


def _asked(run: OpenRun, whole: list[PathTurn], known: KeptAnswers, place: tuple[int, int], answer: str) -> Asked:
    """Return the question that an agent asked in a tick, or was decided in it, with this option."""
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
    moves = [each for each in whole if (each.tick, each.trigger) == (at, turn.trigger) and each.source != QUESTION]
    logged = known.named((number, turn.tick, turn.trigger))
    return Asked(turn, at, moves[0].to_state if logged is None else logged.state, logged)


def answer_as(name: QuestionName, option: str, was: Decided) -> Decided:
    """Return another answer to a question, with the content that it would have; its source is an oracle in any case."""
    content = was.content if option == was.state else decided_otherwise(was.content, option)
    source = was.source if was.source in (Source.LLM, Source.ORACLE) else str(Source.LLM)
    return Decided(name[1], name[0], name[2], option, source, content=content)


LARGEST = 10
"""The agents that are listed."""


class _Followed(Track):
    """A future whose ticks are passed on with its simulation."""

    simulation: Simulation  # the running one, or the latest

    def __init__(self, on_tick: Callable[[Simulation, int, bytes], None], on_begin: OnBegin) -> None:
        self._on_tick, self._on_begin = on_tick, on_begin

    def begin(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self._on_begin(simulation)

    def add_tick(self, tick: int, frame: bytes) -> None:
        self._on_tick(self.simulation, tick, frame)


class Differences:
    """The differences between two futures, tick by tick. Each tick of the first is added before that of the second."""

    def __init__(self, agent: int, first: int, size: int, on_begin: OnBegin) -> None:
        self.was, self.would = _Followed(self._add_was, on_begin), _Followed(self._add_would, on_begin)
        self._agent, self._first, self._size = agent, first, size
        self._was: dict[int, Framed] = {}
        """Each tick as it was."""
        self._messages: tuple[list[Any], list[Any]] = ([], [])  # the agent's own, in each future
        self._events: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        self._ticks: list[dict[str, int]] = []
        self._acting: dict[int, list[int]] = defaultdict(list)

    def _add_was(self, simulation: Simulation, tick: int, frame: bytes) -> None:
        if tick >= self._first:
            self._was[tick] = frame, simulation.engine

    def _add_would(self, simulation: Simulation, tick: int, frame: bytes) -> None:
        """Compare a tick as it would have been with the same tick as it was."""
        if tick < self._first:
            return
        was, would = self._was.pop(tick), (frame, simulation.engine)
        differing = differing_agents(was, would, self._size)
        acts_was, acts_would = (self._acts(of, differing, future) for future, of in enumerate((was, would)))
        acting = [each for each in differing if acts_was.get(each) != acts_would.get(each)]
        for each in acting:
            self._acting[each].append(tick)
        self._ticks.append({"tick": tick, "agents": len(differing), "acting": len(acting)})

    def _acts(self, of: Framed, agents: list[int], future: int) -> dict[int, list[Any]]:
        """Return the acts of some agents in a tick, which are not all of their rows; and count the events of all."""
        for event in messages_of(*of, PostEvent, TieChanged):
            self._events[future][event.kind] += 1
        found: dict[int, list[Any]] = defaultdict(list)
        for message in messages_of(*of, agents={*agents, self._agent}):
            acts = found[message.agent]
            match message:
                case Update():
                    acts.append((message.trigger, message.to_state, message.effect))
                case Question():
                    acts.append((message.trigger, message.options))
                case PostEvent():
                    acts.append(message.kind)  # ids count an author's posts, so they shift
                case TieChanged():
                    acts.append((message.kind, message.whom))
                case AttributeSet():
                    acts.append((message.name, message.value))
            if message.agent == self._agent:
                self._messages[future].append(message)
        return found

    def nodes(self, run: OpenRun) -> Iterator[Node]:
        """Yield the differences."""
        was, would = self.was.simulation, self.would.simulation
        yield from self._paths(run)
        yield from self._apart()
        totals = (_numbers(each.domain.world.totals()) for each in (was, would))
        yield from _counted("took place", *self._events, equal=True)
        yield from _counted("states", was.counters.agents_by_state(), would.counters.agents_by_state())
        yield from _counted("totals", *totals)
        acting = sorted(self._acting.items(), key=lambda each: (-len(each[1]), each[1][0], each[0]))
        if acting:
            yield Node(kind=COLUMNS, cells=("did something else", "in", "from tick"))
        for agent, ticks in acting[:LARGEST]:
            value = {"agent": agent, "name": run.name_of(agent), "first": ticks[0], "ticks": len(ticks)}
            cells = run.called(agent), counted(len(ticks), "tick"), f"{ticks[0]:,}"
            yield Node(kind="acted", cells=cells, value=value)

    def _paths(self, run: OpenRun) -> Iterator[Node]:
        """Yield the agent's two paths side by side, a row for each tick with a turn of either."""
        paths: list[dict[int, list[PathTurn]]] = [defaultdict(list), defaultdict(list)]
        for future, path in enumerate(paths):
            for turn in path_of(self._messages[future], run.called):
                path[turn.tick].append(turn)
        yield Node(kind=COLUMNS, cells=("tick", "as it was", "would be"))
        for tick in sorted(paths[0].keys() | paths[1].keys()):
            turns = [path.get(tick, []) for path in paths]
            was, would = map(_moves, turns)
            cells = f"{tick:,}", was, "the same" if was == would else would
            value = dict(zip(("was", "would_be"), map(msgspec.to_builtins, turns), strict=True))
            yield Node(kind="turns", cells=cells, value={"tick": tick, **value})

    def _apart(self) -> Iterator[Node]:
        """Yield how many agents differ in each tick in which any does."""
        if differing := [each for each in self._ticks if each["agents"]]:
            yield Node(kind=COLUMNS, cells=("tick", "agents whose journals differ", "that did something else"))
        else:
            yield Node(kind="hint", text="no agent's journal differs in any tick")
        for each in differing:
            yield Node(kind="apart", cells=tuple(f"{number:,}" for number in each.values()), value=each)


def _moves(turns: Sequence[PathTurn]) -> str:
    """Return the turns of an agent in a tick in words."""
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
        yield Node(kind=COLUMNS, cells=(title, "as it was", "would be"))
    for name, one, other in rows:
        cells = name, compact(one), compact(other)
        yield Node(kind=title, cells=cells, value={"name": name, "was": one, "would_be": other})


def _numbers(totals: dict[str, Any]) -> dict[str, float]:
    return {
        name: value for name, value in totals.items() if isinstance(value, int | float) and not isinstance(value, bool)
    }
