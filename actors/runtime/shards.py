"""The messages between the shards of a run and its engine."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from actors.core.kinds import AnswerRows
from actors.core.state import EngineState, RunState
from actors.oracle.admission import caps_of
from actors.runtime.answers import Answers
from actors.runtime.engine import EngineActor
from prism.agents import Trigger
from prism.columns import Bundles, Floats, Ints
from prism.config import Config
from prism.domain import Domain, HasTurns
from prism.errors import ConfigError

WRITING = 0.03
"""The work of writing an activation down, as a share of the work of its turn. The part that the engine does while it
would only wait for others is left out."""

Acts = tuple[Ints, ...]
"""The acts of each wave of a tick, as of `acts` of the domain's shard."""


class TurnedWave(NamedTuple):
    """The turns of the agents of a shard in one wave of a tick, which has two.

    Args:
        answers: the rows of the journal; acts: as of `acts` of the domain's shard.
    """

    answers: AnswerRows
    acts: Ints

    @property
    def nbytes(self) -> int:
        return self.answers.nbytes + self.acts.nbytes


class Turned(NamedTuple):
    """The turns of the agents of a shard in one tick.

    Args:
        waves: the turns of each wave. The second is empty if the engine's oracle answers all questions: the engine then
            asks for these turns by `Shards.decide`.
        triggers: those of the first wave; asked: the number of questions that the shard has answered.
        questions: those for the engine's oracle, as the agents encoded them.
    """

    waves: tuple[TurnedWave, ...]
    triggers: int
    asked: int
    questions: Sequence[bytes]


class Stepped(NamedTuple):
    """A step of a shard.

    Args:
        rows: the updates by kind, as of `actors.runtime.counters.Counters`, of the tick that has been applied; counts:
            those of the world; changes: as of `take_changes` of the domain's shard, of each of its waves.
        busy_s: the seconds that it took.
        turned: the turns of the next tick; None if they were not wanted.
    """

    rows: Mapping[tuple[str, str, str, str], int]
    counts: Ints
    changes: Sequence[Floats]
    busy_s: float
    turned: Turned | None


class Shared(NamedTuple):
    """The facts that a shard knows between two ticks, and the engine does not.

    Args:
        own: its agents; states: as of `take_states` of the domain's shard.
        asked, decided: its open questions, as of `EngineState`.
    """

    own: range
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
    """Return a domain as one whose agents can be divided.

    Raises:
        ConfigError: they cannot be.
    """
    if not isinstance(domain, HasTurns):
        problem = f"a {type(domain).__name__} cannot be divided"
        raise ConfigError("configuration", problem, key="run.shards")
    return domain


def shard_of(domain: Domain) -> Any:
    """Return a domain's world as one of several.

    It raises the errors of `divided`.
    """
    return divided(domain).shard()


def ranges_of(config: Config, domain: Domain) -> list[range]:
    """Return the agents of each shard. The engine's, the first, has fewer, as it also writes everything down."""
    count = config.run.shards
    first = max(0.0, (1.0 + WRITING) / count - WRITING)
    own: list[range] = shard_of(domain).ranges([first, *[(1.0 - first) / max(1, count - 1)] * (count - 1)])
    return own


_NOBODY = Answers()


class PartEngine(EngineActor):
    """An engine that takes the turns of a tick for some agents, and applies them once it knows the acts of the others.

    Args:
        part: the world as one of several.
        own: the agents.
    """

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
        questions = ((due, self._codec.question(asked).agent, asked) for due, asked in state.asked)
        own = msgspec.structs.replace(
            state,
            asked=tuple((due, asked) for due, agent, asked in questions if agent in self._own),
            decided=tuple(each for each in state.decided if self._codec.decided(each).agent in self._own),
        )
        super().restore(own)

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

    async def settle(self, acts: Acts) -> None:
        """Apply the tick whose turns were taken: in each wave those below, the own agents, and those above."""
        self.changes = []
        for others, own in zip(acts, self._waves, strict=True):
            self._part.carry_out(self.tick, others[others[:, 0] < self._own.start])
            await self._apply(own.updates)
            self._part.carry_out(self.tick, others[others[:, 0] >= self._own.stop])
            if self._part.has_changes:
                self.changes.append(self._part.take_changes())
            self.end_wave()
        self._world.reactions(self.tick)

    @abstractmethod
    def end_wave(self) -> None:
        """Note what took place in a wave that has been applied."""
