"""Another future of a run: one answer is replaced, and the ticks after it are done again in memory.

Up to the tick in which the answer takes effect every tick is compared with the journal. From then on it is another
future: its questions that are the same in every byte keep their recorded answers, others are answered from the tape if
it has the same prompt, and otherwise by the embedded choice. No model is asked unless that is wanted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from anyio import to_thread

from actors.core.errors import RunDirectoryError
from actors.core.messages import Decided, QuestionName, name_of_question
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
from actors.explain.retrace import OnBegin, OpenRun, Trace, do_again, recovered_run, retrace
from actors.explain.tree import COLUMNS, Node
from actors.factory.domains import build_domain
from actors.factory.oracle_backends import open_oracle
from actors.runs.replay import Replay, naming_changed_code
from actors.runtime.simulation import Simulation
from actors.store.answers import KeptAnswers
from actors.store.messages import Framed, differing_agents, messages_of
from actors.store.recorded_ticks import RecordedTicks
from prism.agents import Question, Source, Update
from prism.economy.nation import decided_otherwise
from prism.events import AttributeSet, PostEvent, TieChanged
from prism.llm import TapedModel
from prism.quoting import compact, printable
from prism.statechart import Answer, Oracle
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
        ways = {"recorded": "as recorded, being the same", "taped": "by the tape", "asked_now": "by the model, now"}
        ways["computed"] = "by the embedded choice"
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
    *,
    ask: bool = False,
) -> Node:
    """Return what would have been different with another answer to an agent's question. Nothing is written.

    Args:
        tick: the tick of the question, or that in which its decision took effect.
        answer: one of the question's options.
        ticks: the ticks to compare, from the one in which the decision takes effect; by default a round.
        ask: ask the run's model if there is no recorded answer to the same question. These calls may cost money.

    Raises:
        RunDirectoryError: there is no such run, agent, tick or question, or the answer is none of its options.
        DivergedError: a tick before the answer's effect has another result than the journal.
        OracleUnavailableError: the model is to be asked, and cannot be used.
        JournalError, ConfigError, InputError: as for `explain_turns`.
    """
    run = await to_thread.run_sync(OpenRun, path)
    number = chosen_agent(run, agent)
    refuse_ticks(run, tick)
    whole = path_of(await to_thread.run_sync(its_messages, run, number), run.called)
    known = await to_thread.run_sync(KeptAnswers, path, run.length)
    asked = _asked(run, whole, known, (number, tick), answer)
    wanted = asked.decided_in + (run.config.simulation.ticks_per_round if ticks is None else ticks)
    until, notes = min(wanted, run.length), list(run.notes)
    if until < wanted:
        notes.append(f"the run has {run.length:,} ticks so far, so {until - asked.decided_in:,} are compared")
    if answer == asked.was:
        notes.append(f"{answer} is the answer that was given")
    found = Differences(number, asked.decided_in, run.domain.size)
    # 1. The recorded ticks once more, to the end of those that are compared.
    was = await retrace(run, Trace((), asked.turn.tick, asked.turn.tick), until, on_begin, found.add_was)
    # 2. The same ticks with the other answer.
    other_run = await to_thread.run_sync(OpenRun, path)
    recovered = await to_thread.run_sync(recovered_run, path, asked.turn.tick)
    question = (number, asked.turn.tick, asked.turn.trigger)
    replaced = None if asked.logged is None else answer_as(question, answer, asked.logged)
    async with AsyncExitStack() as stack:
        replaces = {question: answer} if replaced is None else {}
        oracle = await _substitute(other_run, asked.decided_in, replaces, stack, ask=ask)
        record = _Departing(recovered.recorded, known, (question, replaced), asked.decided_in, found.add_would)

        def begin(simulation: Simulation) -> None:
            record.simulation = simulation
            on_begin(simulation)

        with naming_changed_code(other_run.manifest, other_run.now):
            would = await do_again(other_run, recovered, until, record, begin, oracle, capped=ask)
    value = {
        "agent": number,
        "name": run.name_of(number),
        **asked.facts,
        "would_be": answer,
        "until": until,
        # The questions of the other future by who answered: the log has the same question, the tape the same prompt.
        "recorded": record.recorded,
        "taped": oracle.taped,
        "asked_now": oracle.asked_now,
        "computed": oracle.computed,
    }
    children = (
        *(Node(kind=kind, text=text) for kind, text in asked.told(value).items()),
        *(Node(kind="note", text=note) for note in notes),
        *found.nodes(run, was, would),
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


class _Departing(Replay):
    """A replay that leaves the journal at a tick, with another answer to one question.

    Args:
        known: the recorded answers, by their questions.
        replaced: the question, and its other answer; None if an oracle gives the answer.
        departs: the tick from which nothing is compared.
        on_tick: called with the simulation, each tick from then on and its frame.
    """

    def __init__(
        self,
        recorded: RecordedTicks,
        known: KeptAnswers,
        replaced: tuple[QuestionName, Decided | None],
        departs: int,
        on_tick: Callable[[Simulation, int, bytes], None],
    ) -> None:
        super().__init__(recorded)
        self._name, self._replacement = replaced
        self._departs = departs
        self._known = known
        self._on_tick = on_tick
        self.simulation: Simulation | None = None
        """The simulation that runs."""
        self.recorded = 0
        """The questions after the departure that have kept their recorded answers."""

    def late_agents(self, tick: int) -> frozenset[int] | None:
        """Return the late agents of the journal; after the departure no agent is late, because the tick waits."""
        return super().late_agents(tick) if tick < self._departs else frozenset()

    def recorded_answer(self, question: Question[Any]) -> Decided | None:
        """Return the recorded answer to a question that is the same in every byte; None for any other question."""
        name = name_of_question(question)
        if name == self._name:
            return self._replacement
        if question.tick < self._departs:
            return super().recorded_answer(question)
        found = self._known.of(question)
        self.recorded += found is not None
        return found

    def has_answers(self) -> bool:
        """Return True: one answer is replaced."""
        return True

    async def commit(self, tick: int, frame: bytes) -> None:
        """Compare the tick with its record, and after the departure pass it on."""
        if tick < self._departs:
            await super().commit(tick, frame)
        elif self.simulation is not None:
            self._on_tick(self.simulation, tick, frame)


async def _substitute(
    run: OpenRun, departs: int, replaces: Mapping[QuestionName, str], stack: AsyncExitStack, *, ask: bool
) -> Substitute:
    """Return the oracle of the other future."""
    domain = build_domain(run.config).domain
    if run.config.oracle.backend == "choice":
        return Substitute(departs, domain.oracle(), None, None, replaces)
    requests = stack.enter_context(requests_of(run))
    taped = domain.oracle(requests) if isinstance(requests, TapedModel) else None
    asked = None
    if ask:
        untaped = msgspec.structs.replace(run.config.oracle, tape="off")
        config = msgspec.structs.replace(run.config, oracle=untaped)
        asked = (await stack.enter_async_context(open_oracle(config, domain, None))).oracle
    return Substitute(departs, domain.oracle(), taped, asked, replaces)


class Substitute(Oracle[Any]):
    """An oracle for questions that were never asked: the tape, then the model if it may be asked, or a computed one.

    Args:
        departs: the tick from which answers are counted.
        taped: an oracle that answers from the tape alone; None without a tape.
        asked: the oracle that asks the model; None if it is not to be asked.
        replaces: `{question: option}` of answers that are fixed, whatever the computed answer is.
        may_ask: a predicate: whether tape and model may answer a question.
    """

    def __init__(
        self,
        departs: int,
        computed: Oracle[Any],
        taped: Oracle[Any] | None,
        asked: Oracle[Any] | None,
        replaces: Mapping[QuestionName, str],
        may_ask: Callable[[QuestionName], bool] = lambda _: True,
    ) -> None:
        self.source = computed.source if asked is None else asked.source
        self.waits = asked is not None
        self._departs = departs
        self.falls_back = computed.falls_back
        self._computed = computed
        self._taped = taped
        self._asked = asked
        self._replaces, self._may_ask = replaces, may_ask
        self.taped = self.computed = 0
        self._asked_now: set[QuestionName] = set()

    @property
    def asked_now(self) -> int:
        """The number of questions that the model was asked; a retry does not count."""
        return len(self._asked_now)

    async def before_retry(self, agent: Any, trigger: str, context: Any, reason: str) -> None:
        """Let the model forget the outcome of a question that is asked again."""
        if self._asked is not None:
            await self._asked.before_retry(agent, trigger, context, reason)

    async def ask(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Any:
        return type(options[0])((await self.answer(agent, current_state, trigger, options, context)).state)

    async def answer(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Answer:
        """Return the chosen option with its content. It raises as the oracle that is asked."""
        name: QuestionName = agent.agent_id, agent.tick, trigger
        other = self._replaces.get(name)
        if other is not None:
            usual = await self._computed.checked_answer(agent, current_state, trigger, options, context)
            content = usual.content if usual.state == other else decided_otherwise(usual.content, other)
            return Answer(type(options[0])(other), content)
        may_ask = self._may_ask(name)
        if self._taped is not None and may_ask:
            try:
                found = await self._taped.checked_answer(agent, current_state, trigger, options, context)
            except Exception:  # noqa: BLE001  # the tape has no usable answer to this prompt
                found = None
            if found is not None:
                self.taped += agent.tick >= self._departs and name not in self._asked_now
                return found
        if self._asked is not None and may_ask:
            self._asked_now |= {name} if agent.tick >= self._departs else set()
            return await self._asked.checked_answer(agent, current_state, trigger, options, context)
        self.computed += agent.tick >= self._departs
        return await self._computed.checked_answer(agent, current_state, trigger, options, context)


LARGEST = 10
"""The agents and posts that are listed."""


class Differences:
    """The differences between two futures, tick by tick. Each tick of the first is added before that of the second."""

    def __init__(self, agent: int, first: int, size: int) -> None:
        self._agent, self._first, self._size = agent, first, size
        self._was: dict[int, Framed] = {}
        """Each tick as it was."""
        self._messages: tuple[list[Any], list[Any]] = ([], [])  # the agent's own, in each future
        self._events: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        self._engagements: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
        self._ticks: list[dict[str, int]] = []
        self._acting: dict[int, list[int]] = defaultdict(list)

    def add_was(self, simulation: Simulation, tick: int, frame: bytes) -> None:
        if tick >= self._first:
            self._was[tick] = frame, simulation.engine

    def add_would(self, simulation: Simulation, tick: int, frame: bytes) -> None:
        """Compare a tick as it would have been with the same tick as it was."""
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
            about = None if isinstance(event, TieChanged) else event.post if event.kind == "like" else event.parent
            if about is not None:
                self._engagements[future][about] += 1
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

    def nodes(self, run: OpenRun, was: Simulation, would: Simulation) -> Iterator[Node]:
        """Yield the differences. `was`, `would`: the simulations after the last tick of each future."""
        yield from self._paths(run)
        yield from self._apart()
        engaged_was, engaged_would = self._engagements
        posts = sorted(
            engaged_was.keys() | engaged_would.keys(),
            key=lambda post: (-abs(engaged_was[post] - engaged_would[post]), post),
        )
        engaged = tuple({f"post {post}": each[post] for post in posts[:LARGEST]} for each in self._engagements)
        totals = (_numbers(each.domain.world.totals()) for each in (was, would))
        yield from _counted("took place", *self._events, equal=True)
        yield from _counted("states", was.counters.agents_by_state(), would.counters.agents_by_state())
        yield from _counted("totals", *totals)
        yield from _counted("engagements", *engaged)
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
        """Yield how many agents differ in each tick; consecutive ticks without a difference share a row."""
        if not any(each["agents"] for each in self._ticks):
            yield Node(kind="hint", text="no agent's journal differs in any tick")
            return
        yield Node(kind=COLUMNS, cells=("tick", "agents whose journals differ", "that did something else"))
        for differs, group in groupby(self._ticks, lambda each: each["agents"] > 0):
            ticks = [*group]
            for each in ticks if differs else ticks[:1]:
                last = each["tick"] if differs else ticks[-1]["tick"]
                place = f"{each['tick']:,}" if last == each["tick"] else f"{each['tick']:,} to {last:,}"
                cells = place, f"{each['agents']:,}", f"{each['acting']:,}"
                yield Node(kind="apart", cells=cells, value={**each, "last": last})


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
