"""Other futures of a recorded run: forked in memory from the run done again, each with one thing changed.

Every draw is keyed by its purpose, so a future differs from the run only where something was changed, and by what
follows from that. Up to a fork each tick is compared with the journal; nothing is written.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from anyio import to_thread
from msgspec.structs import replace

from actors.core.messages import Decided, QuestionName, name_of_question
from actors.core.ports import Record
from actors.core.state import RunState
from actors.explain.retrace import OpenRun, recovered_run
from actors.explain.what_if import Substitute
from actors.factory.domains import build_domain
from actors.runs.compatibility import changed_code
from actors.runs.directory import RunDirectory
from actors.runs.replay import Part, Replay, naming_changed_code, parts_of, run_parts
from actors.runtime.simulation import Simulation
from actors.store.answers import KeptAnswers
from actors.studies.causes.oracles import Asking, open_asking
from actors.studies.causes.track import Track, track_of
from prism.agents import Question
from prism.bundles import Bundles
from prism.columns import Columns
from prism.config import Config, InterventionConfig
from prism.domain import Domain, HasFutures, HasTurns
from prism.rng import WORLD, Draw, integer
from prism.statechart import Oracle

SEEDS = 1 << 31  # the seeds of other draws are below this


def seed_of_draws(seed: int, number: int) -> int:
    """Return the seed of other draws of a run, by their number."""
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


class Snapshot(NamedTuple):
    tick: int
    # state, columns: the actors and the world; None before tick 0
    state: RunState | None
    columns: Bundles
    track: Track  # the track of the ticks so far


class Outcome(NamedTuple):
    value: float  # of the measure
    kept: int  # the number of questions with a recorded answer
    computed: int = 0  # of those that the embedded oracle has answered
    asked: int = 0  # the number of questions that were put to the model's server
    taped: int = 0  # of those answered from their tape


class Futures:
    """A recorded run, and its other futures."""

    def __init__(self, path: Path, of: str, ticks: int | None = None) -> None:
        self.run = OpenRun(path, until=ticks)
        self.track = track_of(self.run, of)  # the track of the run before its first tick
        self._parts = parts_of(RunDirectory(path), self.run.config, self.run.domain, self.run.length)
        self._bases = [each.domain for each in self._parts]
        self.known = KeptAnswers(path, self.run.length)
        """The recorded answers; none for a run whose oracle computes its answers."""
        self._asking: Asking | None = None

    @property
    def may_draw_anew(self) -> bool:
        """True if its futures can be run under other draws, with the same agents and the same past."""
        return isinstance(self.run.domain, HasFutures)

    @asynccontextmanager
    async def asking(self, most: int, tape: Path) -> AsyncIterator[None]:
        """Let the run's model answer at most so many new questions within the block: see `open_asking`."""
        async with open_asking(self.run, most, tape) as asking:
            self._asking = asking
            try:
                yield
            finally:
                self._asking = None

    def prepare(self, number: int) -> None:
        """Compile or load the kernels if this saves time for so many futures. It blocks."""
        if isinstance(self.run.domain, HasTurns):
            self.run.domain.prepare(self.run.domain.size * self.run.length * number)

    async def recorded(self) -> Outcome:
        """Return the outcome of the run itself, and compare each of its ticks with the journal."""
        track = self.track.copy()
        start, record = await self.start(0, track)
        value = track.value(await self._again(start, self.run.length, record, track))
        return Outcome(value, len(self.known))

    async def start(self, before: int, track: Track) -> tuple[Snapshot, Replay]:
        """Return the run at its latest checkpoint up to a tick, and a record that compares the ticks after it.

        What other code has made is done again from the start.
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
                simulation = await self._again(now, tick, record, track)
                state, columns = await simulation.checkpoint()
                now = Snapshot(tick, state, columns, track.copy())
            yield now

    async def future(self, at: Snapshot, change: Change, draws: int | None = None, drawn_at: int = 0) -> Outcome:
        """Run a future to the last tick of the run.

        Args:
            draws: the seed of all draws from tick `drawn_at` on; None for the run's own draws.
        """
        track = at.track.copy()
        record = Departed(self.run.length, self.known, change, track)
        parts = self._parts_between(at.tick, self.run.length, change, draws, drawn_at)
        oracles: list[Substitute] = []
        # Another option for a question without a recorded answer is taken by the oracle itself.
        replaces = {} if change.asked is None or change.decided is not None else {change.asked: change.option}

        def oracle_of(_: Part, domain: Domain) -> Oracle[Any]:
            """Return the oracle of questions without a recorded answer: the model, if it may be asked, or embedded."""
            if self._asking is not None:
                oracles.append(self._asking.oracle(domain.oracle(), replaces))
            elif replaces:
                oracles.append(Substitute(0, domain.oracle(), None, None, replaces))
            else:
                return domain.oracle()
            return oracles[-1]

        def on_begin(simulation: Simulation) -> None:
            if change.withheld is not None and isinstance(simulation.domain, HasFutures):
                simulation.domain.withhold(change.withheld)

        begin = partial(_restore, at=at)
        simulation = await run_parts(parts, record, begin, on_begin, track.add_round, oracle_of)
        if simulation is None:
            raise ValueError(f"tick {at.tick} is not before the end of the run")
        asked, taped = sum(each.asked_now for each in oracles), sum(each.taped for each in oracles)
        computed = record.computed - asked - taped
        return Outcome(track.value(simulation), record.kept, computed, asked, taped)

    async def _again(self, now: Snapshot, until: int, record: Replay, track: Track) -> Simulation:
        parts = self._parts_between(now.tick, until)
        with naming_changed_code(self.run.manifest, self.run.now):
            simulation = await run_parts(parts, record, partial(_restore, at=now), lambda _: None, track.add_round)
        if simulation is None:
            raise ValueError(f"tick {until} is not after tick {now.tick}")
        return simulation

    def _parts_between(
        self, start: int, end: int, change: Change | None = None, draws: int | None = None, drawn_at: int = 0
    ) -> list[Part]:
        """Return the parts of the run, or of a future with a change, from one tick to another."""
        found: list[Part] = []
        for place, part in enumerate(self._parts):
            last = min(part.until, end)
            config = part.config if change is None else changed(part.config, change, asks=self._asking is not None)
            for until in [*(each for each in (drawn_at,) if draws is not None and start < each < last), last]:
                if until > start:
                    seed = self.run.config.simulation.seed if draws is None or start < drawn_at else draws
                    base = self._bases[place]
                    if base is None:
                        base = self._bases[place] = build_domain(part.config).domain
                    domain = base.anew(seed) if isinstance(base, HasFutures) else build_domain(part.config).domain
                    found.append(Part(until, config, domain))
                    start = until
        return found


class Departed(Record):
    """The record of a future: nothing is kept, and questions that are the same as in the run keep their answers."""

    def __init__(self, ticks: int, known: KeptAnswers | None, change: Change, track: Track | Any) -> None:
        self.track, self.shapes = track, track.record.shapes
        self.kept = self.computed = 0
        self._ticks, self._known = ticks, known
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
        self.kept += found is not None
        self.computed += found is None
        return found

    def has_answers(self) -> bool:
        """Return whether questions must be asked one by one: without recorded answers, only up to the one changed."""
        return bool(self._known) or self._asked is not None

    async def keep(self, *records: bytes) -> None: ...

    async def commit(self, tick: int, frame: bytes) -> None:
        self.track.add_tick(tick, frame)


def changed(config: Config, change: Change, *, asks: bool) -> Config:
    """Return the configuration of a future with its change: without limits on time and money."""
    interventions = [*config.interventions]
    if change.undone in interventions:
        interventions.remove(change.undone)
    if change.added is not None:
        interventions.insert(0, change.added)
    limits = ("max_calls", "max_tokens", "max_usd", "max_fallback_share", *(() if asks else ("rate_per_s",)))
    return replace(
        config,
        interventions=tuple(interventions),
        oracle=replace(config.oracle.unshared, mode="pace", **dict.fromkeys(limits)),
        run=replace(config.run, record_feeds=False),
    )


def _restore(simulation: Simulation, at: Snapshot) -> None:
    if at.state is not None:
        simulation.restore(at.state, Columns(at.columns))
