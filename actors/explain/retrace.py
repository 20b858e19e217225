"""Recorded ticks, done again from the nearest checkpoint, with the turns of some agents traced on the way.

Every tick is compared with the journal, and so is every traced turn, which is worked out a second time where the engine
sends its trigger, because the agent has not changed yet. So a trace equals the recorded run, or there is an error.
Nothing is written. A run without a trace has no extra cost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from anyio import to_thread
from msgspec.structs import replace

from actors.core.errors import DivergedError, RunDirectoryError
from actors.core.messages import Codec, QuestionName, name_of_question
from actors.explain.tree import Node, plain
from actors.factory.domains import BuiltDomain, build_domain
from actors.runs.compatibility import refuse_unless_compatible
from actors.runs.directory import RunDirectory
from actors.runs.replay import Replay, naming_changed_code, parts_of, restore, run_parts, triggers_of
from actors.runtime.simulation import Simulation
from actors.store.disk import RealDisk
from actors.store.messages import messages_of
from actors.store.recovery import Recovered, recover
from actors.store.run import Recorded
from prism.agents import Question, Source, StatefulAgent, Trigger, Update, turn
from prism.config import Config
from prism.domain import NO_REFERENCE, Domain, HasTurns, said_by
from prism.events import Event
from prism.expressions import readers_of
from prism.sharing.archetypes import Place, words_of
from prism.social.changing import ReadChange
from prism.social.domain import SocialDomain
from prism.social.people.persona import Persona
from prism.social.people.population import Population
from prism.statechart import Choice, RowOutcome, Transition, outcomes

OnBegin = Callable[[Simulation], None]
OnCommit = Callable[[Simulation, int, bytes], None]


class OpenRun(Recorded):
    """A run up to its last whole tick, with its domain, built from its settings from its last fork on.

    `build`: `look_at_domain` if nothing of it is run; `until`: the most ticks that count, because a run may be going
    on.
    """

    def __init__(
        self, path: Path, build: Callable[[Config], BuiltDomain] = build_domain, until: int | None = None
    ) -> None:
        super().__init__(path)
        recovered = recovered_run(path, 0)
        self.length = recovered.recorded.ticks if until is None else min(until, recovered.recorded.ticks)
        if not self.length:
            raise RunDirectoryError(f"{path}: has no whole tick yet, so there is nothing to explain")
        built = build(self.config)
        self.domain: Domain = built.domain
        self.now = refuse_unless_compatible(path, self.header, self.manifest, self.config, built, accept_settings=True)
        """The manifest that this code would write."""
        self.notes += [note for note in recovered.notes if ": cut at byte" in note]

    def name_of(self, agent: int) -> str:
        """Return the name of an agent: its own, or the one that its domain shows; empty if it has none."""
        people = getattr(self.domain, "population", None)
        if isinstance(people, Population):
            return people.name(agent)
        name = getattr(self.domain.agent(agent), "name", "")
        return name if name and isinstance(name, str) else self.show.name(agent)

    def called(self, agent: int) -> str:
        """Return an agent in words: a nation by its name, others also by the number that commands take."""
        name = self.name_of(agent)
        if name in ("", f"Person {agent}"):  # a file of people that gives none
            return f"{self.show.agent} {agent}"
        return name if self.domain_name == "economy" else f"{name} ({self.show.agent} {agent})"

    def prepare(self, futures: int) -> None:
        """Compile or load the kernels if this saves time for so many futures. It blocks."""
        if isinstance(self.domain, HasTurns):
            self.domain.prepare(self.domain.size * self.length * futures)

    @property
    def note_nodes(self) -> Iterator[Node]:
        return (Node("note", note) for note in self.notes)


def recovered_run(path: Path, before: int) -> Recovered:
    """Return the run up to any damage, from the latest checkpoint of this tick or an earlier one."""
    return recover(RealDisk(path), repair=False, before=before, cut_damage=True)


class TracedTurn:
    """A turn as it was traced: the agent before it, the choice of the chart, and the result.

    `ask`: whether questions may be asked.
    """

    def __init__(self, domain: Domain, trigger: Trigger[Any], *, ask: bool) -> None:
        chart, name, context = domain.chart, trigger.name, trigger.context
        agent = domain.agent(trigger.agent)
        since = trigger.tick if trigger.decision is None else trigger.decision.asked
        self.trigger, self.domain, self.agent = trigger, domain, agent
        self.outcomes: tuple[RowOutcome[Any], ...] = ()
        self.chosen: Transition[Any] | Choice[Any] | None = None
        self.question: Question[Any] | None = None
        """The question that the turn asks, or whose decision it carries out; None for neither."""
        if since >= agent.entered:  # otherwise it is a decision for a state that the agent has left
            agent.tick = since
            chosen = self.chosen = chart.select(agent, name, context)
            if isinstance(chosen, Choice):
                asks = ask and (len(chosen.options) > 1 or name in agent.open_triggers)
                if asks or trigger.decision is not None:
                    self.question = Question(since, trigger.agent, name, chosen.source, chosen.targets, context)
            self.outcomes = outcomes(chart, agent, name, context)
        self.state = str(agent.state)
        self.ticks_in_state = trigger.tick - agent.entered
        self.asker = None if self.question is None else fixed(domain.asker(self.question))
        """The agent as the oracle may see it, if the turn asks or carries out a decision."""
        self.reference = NO_REFERENCE if self.question is None else said_by(domain).reference(self.question)
        self.values = [_values_of(each.row.guard, agent, context) for each in self.outcomes]
        self.changes: Mapping[str, tuple[ReadChange, ...]] = {}
        """`{state after: the changes of attributes that a row to it makes}`."""
        if isinstance(domain, SocialDomain):
            self.changes = domain.changes(trigger.agent, trigger.tick, name)
        self.profile = plain(getattr(agent, "persona", {}))  # the persona, as it is now
        self.answer: Update[Any] | Question[Any] | None = None  # the agent's answer in the journal
        self.expected: bytes | None = None  # its answer by itself; None if its code raises
        self.events: list[Event] = []


def fixed(agent: StatefulAgent[Any]) -> StatefulAgent[Any]:
    """Return an agent whose persona stays as it is now: the persona of people who change is live."""
    persona = getattr(agent, "persona", None)
    if isinstance(persona, Persona) and not isinstance(persona.attributes, dict):
        agent.persona = replace(persona, attributes=dict(persona.attributes))  # type: ignore[attr-defined]
    return agent


class PlacedQuestion(NamedTuple):
    """A question among those that share judgements: its place, and its archetype in words."""

    place: Place
    archetype: str


class Trace:
    """The turns of some agents in a range of ticks. `agents`: the numbers of the agents; None for all."""

    def __init__(self, agents: Collection[int] | None, first: int, last: int) -> None:
        self.agents = agents
        self.first = first
        self.last = last
        self.turns: list[TracedTurn] = []
        self.places: dict[QuestionName, PlacedQuestion] = {}
        """`{question: its place}` of those that share judgements, also of those whose decisions are traced alone."""
        self._tick: list[TracedTurn] = []

    def attach(self, simulation: Simulation) -> None:
        """Trace a simulation that is about to run: its engine tells of each wave of triggers."""
        domain = simulation.domain
        codec = Codec(domain.context_type, domain.effect_type)
        ask = simulation.config.statechart.oracle_enabled
        agents = None if self.agents is None else frozenset(self.agents)
        chosen = None if agents is None else sorted(agents)

        def note(triggers: Sequence[Trigger[Any]]) -> None:
            if chosen == [] or not triggers or not self.first <= triggers[0].tick <= self.last:
                return
            for trigger in triggers if chosen is None else triggers_of(triggers, lambda those: np.isin(those, chosen)):
                received = codec.trigger(codec.encode(trigger))
                traced = TracedTurn(domain, received, ask=ask)
                with suppress(Exception):  # the supervisor has recorded the crash: it is the journal's answer
                    answer = turn(domain.chart, domain.agent(trigger.agent), received, ask=ask)
                    traced.expected = codec.encode(answer)
                self._tick.append(traced)

        simulation.engine.on_triggers = note
        if (sharing := simulation.oracle.sharing) is not None:
            since, archetypes = self.first - simulation.config.deliberation_ticks - 1, sharing.table.archetypes

            def note_place(question: Question[Any], place: Place) -> None:
                """Keep the place of a question that may belong to a traced turn."""
                if since <= question.tick <= self.last and (agents is None or question.agent in agents):
                    placed = PlacedQuestion(place, words_of(archetypes, place.basis.key))
                    self.places[name_of_question(question)] = placed

            sharing.on_placed = note_place

    def committed(self, simulation: Simulation, frame: bytes) -> None:
        """Compare the tick's traced turns with its frame, and keep them."""
        if not self._tick:
            return
        waiting: dict[int, deque[TracedTurn]] = {}
        for each in self._tick:
            waiting.setdefault(each.trigger.agent, deque()).append(each)
        latest: dict[int, TracedTurn] = {}
        codec = Codec(simulation.domain.context_type, simulation.domain.effect_type)
        for message in messages_of(frame, simulation.engine, agents=waiting):
            agent = message.agent
            if isinstance(message, Event):
                if agent in latest:
                    latest[agent].events.append(message)
            elif waiting[agent]:
                found = latest[agent] = waiting[agent].popleft()
                encoded = codec.encode(message)
                is_failure = isinstance(message, Update) and message.source in (Source.CRASH, Source.QUARANTINE)
                if not is_failure and found.expected != encoded:
                    trigger, decides = found.trigger, "something besides its state and its trigger decides it"
                    problem = f"its turn on {trigger.name!r} comes out otherwise by itself than in the run: {decides}"
                    raise DivergedError(trigger.tick, f"agent {agent}: {problem}")
                found.answer = codec.answer(encoded)
        self.turns += self._tick
        self._tick = []


def _values_of(guard: object, agent: StatefulAgent[Any], context: Any) -> dict[str, Any]:
    found = {}
    for name, read in readers_of(guard).items():
        try:
            found[name] = read(agent, context)
        except Exception as error:  # noqa: BLE001  # the guard's outcome says that it raised
            found[name] = f"{type(error).__name__}: {error}"
    return found


async def retrace(
    run: OpenRun, trace: Trace, until: int, on_begin: OnBegin = lambda _: None, on_commit: OnCommit = lambda *_: None
) -> Simulation:
    """Do the ticks up to `until` again, from the nearest checkpoint before the trace, and return the simulation.

    The domain of the run cannot be used again: another trace needs the run opened again.

    Args:
        until: more than `trace.first`, and at most the ticks of the run.
        on_begin: called with the simulation of each part before it runs.
        on_commit: called with the simulation, the tick and its frame after each tick, before the next one begins.
    """
    # If shared judgements are wanted, the questions of the first decisions are asked again, too.
    before = run.config.deliberation_ticks + 1 if run.config.oracle.sharing.by != "none" else 0
    recovered = await to_thread.run_sync(recovered_run, run.path, max(0, trace.first - before))
    with naming_changed_code(run.manifest, run.now):
        running: list[Simulation] = []

        def begin(simulation: Simulation) -> None:
            running.append(simulation)
            trace.attach(simulation)
            on_begin(simulation)

        async def commit(tick: int, frame: bytes) -> None:
            trace.committed(running[-1], frame)
            on_commit(running[-1], tick, frame)

        start, record = recovered.checkpoint, Replay(recovered.recorded, commit)
        found = await to_thread.run_sync(parts_of, RunDirectory(run.path), run.config, run.domain, until)
        parts = [part for part in found if start is None or part.until > start.position.tick]
        return await run_parts(parts, record, partial(restore, checkpoint=start), begin)
