"""The engine of a run in shards: it puts their blocks together to the frames of one process.

    shards: turns of tick t -> answers and acts -> engine: all acts, by agent -> shards: apply tick t, turns of t + 1

The engine is itself the first shard. There is one exchange a tick: while the others apply it and take the next turns,
the engine does the same for its own agents, writes down what took place, and makes the frame. If a model is asked, the
engine's oracle gets the questions of all shards, and a tick with decisions has a second exchange, which brings them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import itemgetter
from time import perf_counter
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import msgspec
import numpy as np

from actors.core.kinds import AnswerRows
from actors.core.messages import Codec
from actors.core.snapshot import Exchange
from actors.core.state import EngineState, OracleState, RunState
from actors.oracle.admission import caps_of
from actors.runtime.activation import Answers
from actors.runtime.engine import EngineActor, do_nothing
from actors.runtime.simulation import Simulation
from prism.agents import Trigger
from prism.columns import Bundles, Column, Columns, Floats, Ints, begins_and_ends, blocks_in, joined, packed, unpacked
from prism.config import Config
from prism.domain import Domain, HasTurns
from prism.errors import ConfigError

WRITING = 0.03
"""The work of writing an activation down, as a share of the work of its turn. The part that the engine does while it
would only wait for others is left out."""

Acts = tuple[Ints, ...]
"""The acts of each wave of a tick, as of `acts` of the domain's shard."""


class TurnedWave(NamedTuple):
    """The turns of the agents of a shard in one wave of a tick, which has two; acts: those of the domain's shard."""

    answers: AnswerRows
    acts: Ints

    @property
    def nbytes(self) -> int:
        return self.answers.nbytes + self.acts.nbytes


class Turned(NamedTuple):
    """The turns of the agents of a shard in one tick, whose first wave has so many triggers.

    The second wave is empty if the engine's oracle answers all questions, which come as they were encoded: the engine
    asks for its turns by `Shards.decide`. `asked`: the number of questions that the shard has answered.
    """

    waves: tuple[TurnedWave, ...]
    triggers: int
    asked: int
    questions: Sequence[bytes]


class Stepped(NamedTuple):
    """A step of a shard: the updates by kind, the world's counts and each wave's changes in the tick that it applied.

    `busy_s`: the seconds that it took; `turned`: the turns of the next tick, None if they were not wanted.
    """

    rows: Mapping[tuple[str, str, str, str], int]
    counts: Ints
    changes: Sequence[Floats]
    busy_s: float
    turned: Turned | None


class Shared(NamedTuple):
    """The states and the open questions that a shard knows between two ticks, and the engine does not."""

    states: Any
    asked: tuple[tuple[int, bytes], ...]
    decided: tuple[bytes, ...]


class Shards(Protocol):
    """The shards of a run but for the engine's, in the order of their agents."""

    def step(self, acts: Acts | None, changes: Floats | None, *, begins: bool) -> Awaitable[Sequence[Stepped]]:
        """Let all shards take a step: see `Shard.step`. They may begin before the result is awaited."""

    def decide(self, tick: int, decisions: Sequence[Sequence[bytes]]) -> Awaitable[Sequence[TurnedWave]]:
        """Let the agents of each shard take the turns of these triggers: see `PartEngine.decide`."""

    async def share(self) -> Sequence[Shared]:
        """Return what the shards know between two ticks, but for the rows of their agents."""

    def blocks(self, shard: int) -> AsyncIterator[bytes]:
        """Return the blocks of a shard's agents, as of `Shard.blocks`. It may begin before the first is awaited."""

    async def restore(self, state: RunState, columns: Bundles) -> None:
        """Let all shards continue from a checkpoint: each gets what all have in common, and its own blocks."""


def divided(domain: Domain) -> HasTurns:
    """Return a domain as one whose agents can be divided, or raise a ConfigError."""
    if not isinstance(domain, HasTurns):
        problem = f"a {type(domain).__name__} cannot be divided"
        raise ConfigError("configuration", problem, key="run.shards")
    return domain


def ranges_of(config: Config, domain: Domain) -> list[range]:
    """Return the agents of each shard. The engine's, the first, has fewer, as it also writes everything down."""
    count = config.run.shards
    first = max(0.0, (1.0 + WRITING) / count - WRITING)
    shares = [first, *[(1.0 - first) / max(1, count - 1)] * (count - 1)]
    own: list[range] = divided(domain).shard().ranges(shares)
    return own


_NOBODY = Answers()


class PartEngine(EngineActor):
    """An engine that takes the turns of its `own` agents, and applies them once it knows the acts of the others."""

    def __init__(self, *args: Any, part: Any, own: range, **options: Any) -> None:
        super().__init__(*args, **options)
        self._part, self._own = part, own
        self._end = options["config"].simulation.length
        oracle = options["config"].oracle
        self._asks_engine = oracle.backend != "choice" or oracle.rate_per_s is not None or bool(caps_of(oracle))
        """Whether all questions go through the engine's oracle; else each shard answers its own at once."""
        self._waves: list[Answers] = []
        self.changes: list[Floats] = []
        """The changes of the own agents in each wave of the tick that was applied last; empty if none can be made."""

    def restore(self, state: EngineState) -> None:
        """Continue from a state, with the questions of the own agents, or of all if the engine's oracle answers."""
        if self._asks_engine:
            super().restore(state)
            return
        asked = tuple(each for each in state.asked if self._codec.question(each[1]).agent in self._own)
        decided = tuple(each for each in state.decided if self._codec.decided(each).agent in self._own)
        super().restore(msgspec.structs.replace(state, asked=asked, decided=decided))

    async def turn(self, tick: int) -> Turned:
        """Take the turns of the next tick, on the state at its beginning.

        If the engine's oracle answers the questions of all shards, these are the turns of the first wave only.
        """
        if tick in self._interventions:
            self._intervene(tick)
        triggers = self._world.triggers(tick)
        first = await self._agents.exchange(tick, triggers)
        asked, questions = self.counters.questions, list[bytes]()
        if self._asks_engine:
            questions, second = self._questions_of(first), _NOBODY
        else:
            self._ask_those_of(first)
            # Answer the questions, and take the turns of the second wave.
            self.open_questions.offer()
            decided = list[Sequence[Trigger[Any]]]()
            if due := self.open_questions.take_due(tick):
                decided.append(self.open_questions.close_all(due, tick))
            if (chosen := self.open_questions.take_chosen(tick)) is not None:
                decided.append(chosen)
            if len(decided) > 1:
                raise RuntimeError(f"tick {tick}: expected the decisions of one wave, got those of {len(decided)}")
            second = await self._agents.exchange(tick, decided[0]) if decided else _NOBODY
        self._waves = [first, second]
        waves = tuple(map(self._turned_wave, self._waves))
        return Turned(waves, len(triggers), self.counters.questions - asked, questions)

    async def decide(self, tick: int, decisions: Sequence[Trigger[Any]]) -> TurnedWave:
        """Take the turns of the own agents whose decisions take effect in the tick whose first wave is taken."""
        self._waves[1] = await self._agents.exchange(tick, decisions)
        return self._turned_wave(self._waves[1])

    def _turned_wave(self, wave: Answers) -> TurnedWave:
        return TurnedWave(wave.rows().to_send(), self._part.acts(wave.updates))

    def _questions_of(self, answers: Answers) -> list[bytes]:
        """Let the agents that ask deliberate, and return their questions."""
        if answers.questions is not None:
            self._world.all_deliberate(answers.questions)
        if answers.asked:
            return [encoded for _, encoded in answers.asked]
        return [*map(self._codec.encode, answers.questions or ())]

    def settle(self, acts: Acts) -> None:
        """Apply the tick whose turns were taken: in each wave those below, the own agents, and those above."""
        self.changes = []
        for others, own in zip(acts, self._waves, strict=True):
            self._part.carry_out(self.tick, others[others[:, 0] < self._own.start])
            self._apply(own.updates)
            self._part.carry_out(self.tick, others[others[:, 0] >= self._own.stop])
            if self._part.has_changes:
                self.changes.append(self._part.take_changes())
            self.end_wave()
        self._world.reactions(self.tick)

    @abstractmethod
    def end_wave(self) -> None:
        """Note what took place in a wave that has been applied."""


class Shard:
    """A shard of a run with its agents and a domain of its own, in whatever process it is."""

    def __init__(self, config: Config, domain: Domain, own: range) -> None:
        self._part, self._own = divided(domain).shard(), own
        self._simulation = Simulation(config, domain, engine=partial(ShardEngine, part=self._part, own=own))
        self._engine = cast("ShardEngine", self._simulation.engine)
        self._trigger = Codec(domain.context_type, domain.effect_type).trigger
        self._decided_s = 0.0
        """The seconds that decisions have taken since the last step."""
        self._part.keep(own, is_whole=False)
        self._simulation.agents.begin(None)  # type: ignore[arg-type]  # turns that are taken at once have no tasks

    async def restore(self, state: RunState, columns: Bundles) -> None:
        """Continue from a checkpoint, of which it needs the blocks with its own agents."""
        own = RunState(engine=state.engine, supervisor=state.supervisor, oracle=OracleState())
        self._simulation.restore(own, Columns(columns))
        self._part.keep(self._own, is_whole=False)
        self._engine.open_questions.ask_again(self._simulation.ticks)

    async def step(self, acts: Acts | None, changes: Floats | None, *, begins: bool) -> Stepped:
        """Apply a tick, and take the turns of the next one if it begins.

        Args:
            acts: those of all agents in the tick whose turns were taken last; None if it is applied.
            changes: those of all agents in the tick that was applied last; None for none.
        """
        begun, made = perf_counter(), list[Floats]()
        if acts is not None:
            self._engine.settle(acts)
            self._engine.tick += 1
            made = self._engine.changes
        if changes is not None:
            self._part.put_changes(changes)
        rows, counts = self._engine.take_counts()
        turned = await self._engine.turn(self._engine.tick) if begins else None
        busy_s, self._decided_s = self._decided_s + perf_counter() - begun, 0.0
        return Stepped(rows, counts, made, busy_s, turned)

    async def decide(self, tick: int, decisions: Sequence[bytes]) -> TurnedWave:
        begun = perf_counter()
        wave = await self._engine.decide(tick, [*map(self._trigger, decisions)])
        self._decided_s += perf_counter() - begun
        return wave

    def share(self) -> Shared:
        return self._engine.share()

    def blocks(self) -> Iterator[bytes]:
        """Yield the packed blocks of the own agents, between two ticks; the first and the last may be only parts."""
        return (packed([*pieces]) for pieces in self._part.about(blocks_in(self._own)))


class ShardEngine(PartEngine):
    """The engine of a shard. The engine of the run writes down what took place."""

    def restore(self, state: EngineState) -> None:
        if self._asks_engine:  # the engine of the run keeps the questions
            state = msgspec.structs.replace(state, asked=(), decided=())
        super().restore(state)

    def _intervene(self, tick: int) -> None:
        for _, each in self._interventions[tick]:
            self._world.intervene(tick, each)

    def end_wave(self) -> None:
        self._world.take_rows()

    def take_counts(self) -> tuple[Mapping[tuple[str, str, str, str], int], Ints]:
        """Return the updates by kind, and the counts of the world, since the last call."""
        rows, self.counters.rows = self.counters.rows, Counter()
        return rows, self._part.take_counts()

    def share(self) -> Shared:
        return Shared(self._part.take_states(), self.open_questions.asked(), self.open_questions.decided())


Of = TypeVar("Of")


class ShardedEngine(PartEngine):
    """The engine of a run in shards: the first of them, and the one writer."""

    def __init__(self, *args: Any, shards: Shards, domain: Domain, **options: Any) -> None:
        config = options["config"]
        self._ranges = ranges_of(config, domain)
        super().__init__(*args, part=divided(domain).shard(), own=self._ranges[0], **options)
        self._shards = shards
        self._part.keep(self._own, is_whole=True)
        self._ends = np.array([own.stop for own in self._ranges])
        """The ends of the ranges of agents."""
        self.exchange: Exchange = Exchange({str(shard): 0.0 for shard in range(config.run.shards)})
        self._ahead: Awaitable[Sequence[Stepped]] | None = None
        """The step of the others with the turns of the next tick; None while all stand between two ticks."""
        self._own_turned: Turned | None = None
        """The own turns of the next tick; None while all stand between two ticks."""
        self._happened: list[Mapping[str, Sequence[Any]]] = []
        """The events of each wave of the tick that was applied last."""
        self._told: Floats | None = None
        """The changes of all agents in the tick that was applied last, which the others do not know yet."""
        self._every = 1
        self._ticks_per_round = config.simulation.ticks_per_round
        self._gathered = -1
        """The tick of the last `gather`."""
        self._asked: list[tuple[int, bytes]] = []
        """The open questions of the others, as of `EngineState`, in the tick of the last `gather`."""
        self._decided: list[bytes] = []

    @property
    def is_ahead(self) -> bool:
        return self._ahead is not None

    async def run(
        self,
        ticks: int,
        on_tick: Callable[[int], None] = lambda _: None,
        between: Callable[[], Awaitable[None]] = do_nothing,
        every: int = 1,
    ) -> None:
        self._every = every
        await super().run(ticks, on_tick, between, every)

    async def _run_ticks(self, until: int) -> list[bytes]:  # noqa: ARG002
        """Run one tick: take its turns, tell all shards all acts, and make the frame."""
        # 1. The turns: the others begin, unless they have begun already.
        others = self._ahead or self._shards.step(None, self._told, begins=True)
        own = await self._busy(self.turn(self.tick)) if self._own_turned is None else self._own_turned
        stepped = await self._waited(others)
        self._ahead = self._own_turned = None
        turned: Sequence[Turned] = [own, *(each.turned for each in stepped if each.turned is not None)]
        self.counters.activations += sum(each.triggers for each in turned)
        asked = sum(each.asked for each in turned[1:])  # the engine has counted its own
        self.counters.questions += asked
        if asked and self.tick + self._deliberation < self._end and self.on_computed is not None:
            self.on_computed(asked)
        if self._asks_engine:
            # Put the questions of all shards to the oracle, in the order of agents.
            self.exchange.received += sum(len(each) for one in turned[1:] for each in one.questions)
            for encoded in chain.from_iterable(each.questions for each in turned):
                self._open(self._codec.question(encoded), encoded)
            self.open_questions.offer()
            turned = await self._decide(turned, self.tick)
        # 2. The acts of all, by agent. All go on with them, unless somebody looks at the run after this tick.
        waves = [*zip(*(each.waves for each in turned), strict=True)]
        acts = tuple(np.concatenate([each.acts for each in wave]) for wave in waves)
        self.exchange.sent += sum(each.nbytes for each in acts) * len(stepped)
        #    Changes are read by the next turns, and counts before an intervention belong to the settings before it.
        after = self.tick + 1
        looks = after in self._interventions or self._part.has_changes or after >= self._end or self.is_stopping
        looks = looks or 0 in (after % self._every, after % self._ticks_per_round)
        others = self._shards.step(acts, None, begins=not looks)
        self._happened = []
        begun = perf_counter()
        self.settle(acts)
        self.exchange.busy_s["0"] += perf_counter() - begun
        changes: list[Sequence[Floats]] = []
        if looks:
            changes = [each.changes for each in await self._waited(others)]
        else:
            self._ahead, self._own_turned = others, await self._busy(self.turn(self.tick + 1))
        # 3. The frame comes last, as the others may soon be ready for the next exchange, and then wait for this one.
        if changes and self._part.has_changes:
            self._take_over([np.concatenate(of_wave) for of_wave in zip(*changes, strict=True)])
        for wave, happened in zip(waves, self._happened, strict=True):
            self._kinds.add(self._rows, [each.answers for each in wave])
            self.reactions.add(self._add_rows(happened))
        return [self.end_frame(self.tick)]

    async def _decide(self, turned: Sequence[Turned], tick: int) -> Sequence[Turned]:
        """Await the decisions that take effect in this tick, and return the turns with those of their agents."""
        if not (due := self.open_questions.take_due(tick)):
            return turned
        await self._await_answers(due, tick)
        by_shard: list[list[Trigger[Any]]] = [[] for _ in self._ends]
        for each in self.open_questions.close_all(due, tick):
            by_shard[np.searchsorted(self._ends, each.agent, side="right")].append(each)
        encoded = [[*map(self._codec.encode, each)] for each in by_shard[1:]]
        self.exchange.sent += sum(map(len, chain.from_iterable(encoded)))
        others = self._shards.decide(tick, encoded)
        own = await self._busy(self.decide(tick, by_shard[0]))
        begun, decided = perf_counter(), await others
        self.exchange.waited_s += perf_counter() - begun
        self.exchange.received += sum(each.nbytes for each in decided)
        second = zip(turned, [own, *decided], strict=True)
        return [each._replace(waves=(each.waves[0], wave)) for each, wave in second]

    def end_wave(self) -> None:
        self._happened.append(self._world.take_rows())

    def _take_over(self, changes: Sequence[Floats]) -> None:
        """Apply the changes that agents of other shards have made in each wave, and note what all are to be told."""
        pairs = zip(changes, self._happened, strict=True)
        self._happened = [self._part.with_changes(*each) for each in pairs]
        others = np.concatenate(changes)
        self._part.put_changes(others)
        self._told = np.concatenate((*self.changes, others))
        self.exchange.received += others.nbytes
        self.exchange.sent += self._told.nbytes * (len(self.exchange.busy_s) - 1)

    async def _busy(self, work: Awaitable[Of]) -> Of:
        begun, found = perf_counter(), await work
        self.exchange.busy_s["0"] += perf_counter() - begun
        return found

    async def _waited(self, step: Awaitable[Sequence[Stepped]]) -> Sequence[Stepped]:
        """Return the result of a step, and count the wait for it and what it has brought."""
        begun, stepped = perf_counter(), await step
        self.exchange.waited_s += perf_counter() - begun
        for shard, each in enumerate(stepped, 1):
            self.exchange.busy_s[str(shard)] += each.busy_s
            self.counters.rows.update(each.rows)
            self._part.add_counts(each.counts)
            if each.turned is not None:
                self.exchange.received += sum(one.nbytes for one in each.turned.waves)
        return stepped

    def own_part(self, columns: Bundles) -> Bundles:
        return columns.about(self._own)

    async def scatter(self, state: RunState, columns: Bundles) -> None:
        self._part.keep(self._own, is_whole=True)
        await self._shards.restore(state, columns)

    async def gather(self) -> None:
        """Take over the counts and open questions of the shards, between two ticks."""
        if self._gathered == self.tick:
            return
        self._gathered, shared = self.tick, await self._shards.share()
        for each in shared:
            self._part.add_states(each.states)
        self._asked = [*chain.from_iterable(each.asked for each in shared)]
        self._decided = [*chain.from_iterable(each.decided for each in shared)]

    async def columns(self) -> AsyncIterator[Column | bytes]:
        """Yield the columns: see `EngineActor.columns`. The blocks of other shards come from them, and are not kept."""
        others = [self._shards.blocks(shard) for shard in range(len(self._ranges) - 1)]  # they all begin
        for column in self._part.common():
            yield column
        begun: list[Column] = []
        async for agents, found in self._blocks(others):
            begins, ends = begins_and_ends(agents, self._ranges[-1].stop)
            if begins and ends and isinstance(found, bytes):
                yield found
                continue
            pieces = unpacked(found) if isinstance(found, bytes) else found
            if not (begins and ends):  # several shards have agents of this block
                begun = joined([[] if begins else begun, pieces])
                pieces = begun if ends else ()
            for column in pieces:
                yield column

    async def _blocks(
        self, others: Sequence[AsyncIterator[bytes]]
    ) -> AsyncIterator[tuple[range, Iterable[Column] | bytes]]:
        """Yield the agents that a shard has in a block, and their pieces; those of other shards are packed."""
        for each in zip(blocks_in(self._own), self._part.about(blocks_in(self._own)), strict=True):
            yield each
        for own, blocks in zip(self._ranges[1:], others, strict=True):
            for agents in blocks_in(own):
                yield agents, await anext(blocks)
            await anext(blocks, b"")  # its end: the loop would have to close a generator that has not reached it

    def state(self) -> EngineState:
        state = super().state()
        asked = sorted([*state.asked, *self._asked], key=itemgetter(0))
        decided = [*state.decided, *self._decided]
        if self._decided:  # empty if one oracle answers for all: its answers stay in the order of arrival
            decided.sort(key=lambda each: self._codec.decided(each).asked)
        return msgspec.structs.replace(state, asked=tuple(asked), decided=tuple(decided))
