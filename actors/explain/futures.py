"""Other futures of a recorded run: forked in memory from the run done again, each with one thing changed.

Every draw is keyed by its purpose, so a future differs from the run only where something was changed, and by what
follows from that. Up to a fork each tick is compared with the journal; nothing is written.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, NamedTuple, Self, TypeVar

from anyio import to_thread
from msgspec.structs import replace

from actors.core.messages import Decided, QuestionName, name_of_question
from actors.core.ports import Record
from actors.core.state import RunState
from actors.explain.retrace import OpenRun, recovered_run
from actors.factory.domains import build_domain
from actors.runs.compatibility import changed_code
from actors.runs.directory import RunDirectory
from actors.runs.replay import Part, Replay, naming_changed_code, parts_of, run_parts
from actors.runtime.simulation import Simulation
from actors.store.oracle_log import KeptAnswers
from prism.agents import Question
from prism.columns import Bundles, Columns
from prism.config import Config, InterventionConfig
from prism.domain import Domain, HasFutures
from prism.economy.nation import decided_otherwise
from prism.rng import WORLD, Draw, integer
from prism.statechart import Answer, Oracle
from prism.tables import Shape

SEEDS = 1 << 31  # the seeds of other draws are below this


def seed_of_draws(seed: int, number: int) -> int:
    return integer(SEEDS, seed, WORLD, number, Draw.OTHER_DRAWS)


class Change(NamedTuple):
    """A change with which a future begins."""

    # an intervention that is carried out besides, before the others of its tick
    added: InterventionConfig | None = None
    undone: InterventionConfig | None = None  # an intervention of the run that is not carried out
    withheld: int | None = None  # the id of a post that its author does not publish
    asked: QuestionName | None = None  # a question that is answered by `option`
    option: str = ""
    decided: Decided | None = None  # that answer as a whole; None if the embedded oracle is to work out the rest of it


class Track:
    """The data that a future keeps of its ticks. This class keeps none."""

    latest_start: float = math.inf  # the latest tick at which the track can begin without the ticks before it

    def copy(self) -> Self:
        return self

    def begin(self, simulation: Simulation) -> None:
        """Note the simulation of a part, before it runs."""

    def add_tick(self, tick: int, frame: bytes) -> None: ...

    def add_round(self, simulation: Simulation) -> None: ...

    def value(self, simulation: Simulation) -> float:  # noqa: ARG002  # it measures nothing
        """Return the measure at the end, from the simulation after the last tick."""
        return 0.0


T = TypeVar("T", bound=Track)


class Snapshot(NamedTuple):
    tick: int
    # state, columns: the actors and the world; None before tick 0
    state: RunState | None
    columns: Bundles
    track: Track  # the track of the ticks so far

    def restore(self, simulation: Simulation) -> None:
        if self.state is not None:
            simulation.restore(self.state, Columns(self.columns))


class Outcome(NamedTuple):
    value: float  # of the measure
    kept: int  # the number of questions with a recorded answer
    computed: int = 0  # of those that the embedded oracle has answered
    taped: int = 0  # of those answered from their tape


LIMITS = ("max_calls", "max_tokens", "max_usd", "max_fallback_share", "rate_per_s")
"""The limits on time and money; futures that ask nobody have none."""


class RunParts:
    """The parts of a run, from which those of its futures are made. Opening it reads files, and blocks."""

    def __init__(self, run: OpenRun) -> None:
        self._seed = run.config.simulation.seed
        self._parts = parts_of(RunDirectory(run.path), run.config, run.domain, run.length)
        self._bases = [each.domain for each in self._parts]

    def between(
        self, start: int, end: int, change: Change | None = None, draws: int | None = None, drawn_at: int = 0
    ) -> list[Part]:
        """Return the parts of the run, or of a future with a change, from one tick to another.

        `draws`: the seed of all draws from tick `drawn_at` on; None for the run's own draws.
        """
        found: list[Part] = []
        for place, part in enumerate(self._parts):
            last = min(part.until, end)
            config = part.config if change is None else changed(part.config, change)
            for until in [*(each for each in (drawn_at,) if draws is not None and start < each < last), last]:
                if until > start:
                    seed = self._seed if draws is None or start < drawn_at else draws
                    base = self._bases[place]
                    if base is None:
                        base = self._bases[place] = build_domain(part.config).domain
                    domain = base.anew(seed) if isinstance(base, HasFutures) else build_domain(part.config).domain
                    found.append(Part(until, config, domain))
                    start = until
        return found


class Futures(Generic[T]):
    """A recorded run, and its other futures. `track_of`: returns the run's track before its first tick; may block."""

    def __init__(self, path: Path, track_of: Callable[[OpenRun], T], ticks: int | None = None) -> None:
        self.run = OpenRun(path, until=ticks)
        self.track = track_of(self.run)
        self._parts = RunParts(self.run)
        self.known = KeptAnswers(path, self.run.length)
        """The recorded answers; none for a run whose oracle computes its answers."""
        self.oracle_of: Callable[[Oracle[Any], Mapping[QuestionName, str]], Oracle[Any]] = _embedded
        """Returns the oracle of a future, given the embedded one and `{question: option}` of fixed answers."""

    @property
    def may_draw_anew(self) -> bool:
        """True if its futures can be run under other draws, with the same agents and the same past."""
        return isinstance(self.run.domain, HasFutures)

    async def recorded(self) -> Outcome:
        """Return the outcome of the run itself, and compare each of its ticks with the journal."""
        track = self.track.copy()
        start, record = await self.start(0, track)
        value = track.value(await self.again(start, self.run.length, record, track))
        return Outcome(value, len(self.known))

    async def start(self, before: int, track: Track) -> tuple[Snapshot, Replay]:
        """Return the run at its latest checkpoint up to a tick, and a record that compares the ticks after it.

        A run that other code has made is done again from the start.
        """
        latest = 0 if changed_code(self.run.manifest, self.run.now) else int(min(before, track.latest_start))
        recovered = await to_thread.run_sync(recovered_run, self.run.path, latest)

        async def add(tick: int, frame: bytes) -> None:
            track.add_tick(tick, frame)

        found, record = recovered.checkpoint, Replay(recovered.recorded, add)
        if found is None:
            return Snapshot(0, None, Bundles([], []), track.copy()), record
        return Snapshot(found.position.tick, found.state, found.columns, track.copy()), record

    async def walk(self, ticks: Sequence[int]) -> AsyncIterator[Snapshot]:
        """Do the run again from the nearest checkpoint, and yield it before each of these ticks, which ascend."""
        track = self.track.copy()
        now, record = await self.start(ticks[0] if ticks else 0, track)
        for tick in ticks:
            if tick > now.tick:
                simulation = await self.again(now, tick, record, track)
                state, columns = await simulation.checkpoint()
                now = Snapshot(tick, state, columns, track.copy())
            yield now

    async def future(  # what differs from the run, and where it begins, ends and is counted
        self,
        at: Snapshot,
        change: Change,
        draws: int | None = None,
        drawn_at: int = 0,
        *,
        until: int = 0,
        since: int = 0,
    ) -> Outcome:
        """Run a future.

        `draws`: the seed of all draws from tick `drawn_at` on; None for the run's own draws. `until`: the number of
        ticks at its end; 0 for those of the run. `since`: the tick from which questions are counted.
        """
        until, track = until or self.run.length, at.track.copy()
        record = Departed(until, self.known, change, track, self.run.record.shapes, since)
        parts = self._parts.between(at.tick, until, change, draws, drawn_at)
        oracles: list[Substitute] = []
        # Another option for a question without a recorded answer is taken by the oracle itself.
        replaces = {} if change.asked is None or change.decided is not None else {change.asked: change.option}

        def oracle_of(_: Part, domain: Domain) -> Oracle[Any]:
            """Return the oracle of questions without a recorded answer."""
            found = self.oracle_of(domain.oracle(), replaces)
            if isinstance(found, Substitute):
                found.since = since
                oracles.append(found)
            return found

        def on_begin(simulation: Simulation) -> None:
            track.begin(simulation)
            if change.withheld is not None and isinstance(simulation.domain, HasFutures):
                simulation.domain.withhold(change.withheld)

        simulation = await run_parts(parts, record, at.restore, on_begin, track.add_round, oracle_of)
        taped = sum(each.taped for each in oracles)
        computed = sum(each.computed for each in oracles) if oracles else record.computed
        return Outcome(track.value(simulation), record.kept, computed, taped)

    async def again(self, now: Snapshot, until: int, record: Replay, track: Track) -> Simulation:
        parts = self._parts.between(now.tick, until)
        with naming_changed_code(self.run.manifest, self.run.now):
            return await run_parts(parts, record, now.restore, track.begin, track.add_round)


class Departed(Record):
    """The record of a future: nothing is kept, and questions that are the same as in the run keep their answers."""

    def __init__(  # what a future has of the run, and what is another
        self,
        ticks: int,
        known: KeptAnswers | None,
        change: Change,
        track: Track,
        shapes: Sequence[Shape],
        since: int = 0,
    ) -> None:
        self.track, self.shapes = track, shapes
        self.kept = self.computed = 0
        self._ticks, self._known, self._since = ticks, known, since
        self._asked, self._decided = change.asked, change.decided

    def is_recorded(self, tick: int) -> bool:
        return tick < self._ticks

    def recorded_ticks(self) -> int:
        return self._ticks

    def late_agents(self, tick: int) -> frozenset[int]:  # noqa: ARG002  # every answer is waited for
        return frozenset()

    def recorded_answer(self, question: Question[Any]) -> Decided | None:
        """Return the recorded answer to a question that is the same in every byte, and another one to that changed."""
        name = name_of_question(question)
        if name == self._asked:
            self._asked = None
            return self._decided
        found = None if self._known is None else self._known.of(question)
        self.kept += found is not None and question.tick >= self._since
        self.computed += found is None and question.tick >= self._since
        return found

    def has_answers(self) -> bool:
        """Return whether questions must be asked one by one: without recorded answers, only up to the one changed."""
        return bool(self._known) or self._asked is not None

    async def keep(self, *records: bytes) -> None: ...

    async def commit(self, tick: int, frame: bytes) -> None:
        self.track.add_tick(tick, frame)


def changed(config: Config, change: Change) -> Config:
    """Return the configuration of a future with its change, without limits."""
    interventions = [*config.interventions]
    if change.undone in interventions:
        interventions.remove(change.undone)
    if change.added is not None:
        interventions.insert(0, change.added)
    oracle = replace(config.oracle.unshared, mode="pace", **dict.fromkeys(LIMITS))
    return replace(config, interventions=tuple(interventions), oracle=oracle)


def _embedded(computed: Oracle[Any], replaces: Mapping[QuestionName, str]) -> Oracle[Any]:
    return Substitute(computed, None, replaces) if replaces else computed


class Substitute(Oracle[Any]):
    """An oracle for questions that were never asked: the tape answers, if there is one, or else a computed oracle.

    `replaces`: `{question: option}` of answers that are fixed, whatever the computed answer is.
    """

    waits = False

    def __init__(self, computed: Oracle[Any], taped: Oracle[Any] | None, replaces: Mapping[QuestionName, str]) -> None:
        self.source, self.falls_back = computed.source, computed.falls_back
        self.since = 0  # the tick from which answers are counted
        self._computed, self._taped, self._replaces = computed, taped, replaces
        self.taped = self.computed = 0

    async def ask(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Any:
        return type(options[0])((await self.answer(agent, current_state, trigger, options, context)).state)

    async def answer(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Answer:
        other = self._replaces.get((agent.agent_id, agent.tick, trigger))
        if other is not None:
            usual = await self._computed.checked_answer(agent, current_state, trigger, options, context)
            content = usual.content if usual.state == other else decided_otherwise(usual.content, other)
            return Answer(type(options[0])(other), content)
        if self._taped is not None:
            with suppress(Exception):  # the tape may have no usable answer to this prompt
                found = await self._taped.checked_answer(agent, current_state, trigger, options, context)
                self.taped += agent.tick >= self.since
                return found
        self.computed += agent.tick >= self.since
        return await self._computed.checked_answer(agent, current_state, trigger, options, context)
