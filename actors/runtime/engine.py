"""The engine: the clock, the barrier, and the only writer of the world.

In tick t it sends each due agent one trigger, waits until each has answered once, sorts the answers by agent and
applies them. Answers may arrive in any order; what is committed never depends on it.

An ambiguous turn comes back as a question. The engine hands it to the oracle once the tick is committed and goes on:
the decision takes effect in tick t + k, and the clock waits only if it is not there by then. In real time it does not
wait at all, and takes the first option instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from operator import attrgetter
from time import perf_counter
from typing import Any

import anyio

from actors.core.errors import BarrierError
from actors.core.frames import RunningDigest
from actors.core.mailbox import Mailbox
from actors.core.messages import Codec
from actors.core.ports import Observer, Recorder, Unrecorded
from actors.core.state import EngineState
from actors.runtime.counters import Counters
from actors.runtime.open_questions import OpenQuestions
from prism.agents import Question, Trigger, Update
from prism.config import Config
from prism.domain import World

CHUNK = 256
"""Triggers sent before the loop gets a turn: a millisecond or two of work, so timers and signals are never far off."""

Answer = tuple[int, bytes, Update[Any] | Question[Any]]
_agent = attrgetter("agent")


async def nothing() -> None:
    """What happens after a tick unless somebody says otherwise."""


class EngineActor:
    """Runs ticks.

    Args:
        world: what it alone writes to.
        codec: the domain's messages.
        agents: the agents' mailboxes, by number.
        oracle: the oracle's mailbox.
        config: lookahead, mode and pace.
        counters: counts what is committed.
        recorder: keeps what is committed.
        observer: is told of every tick.
    """

    def __init__(  # noqa: PLR0913  # its neighbours, each of them once
        self,
        world: World,
        codec: Codec,
        agents: Sequence[Mailbox[bytes]],
        oracle: Mailbox[bytes],
        *,
        config: Config,
        counters: Counters,
        recorder: Recorder | None = None,
        observer: Observer | None = None,
    ) -> None:
        self._observer = observer or Observer()
        self.inbox = self._observer.mailbox("engine", config.run.mailbox_capacity)
        """Where agents answer."""
        self.decisions = self._observer.mailbox("decisions", config.run.mailbox_capacity)
        """Where the oracle answers. Apart, because the engine never waits for both at once."""
        self.digest = RunningDigest()
        self.counters = counters
        self.tick = 0
        """Ticks committed so far, which is the number of the next one."""
        self._recorder = recorder or Unrecorded()
        self._world = world
        self._codec = codec
        self._agents = agents
        self.open = OpenQuestions(codec, oracle)
        """The questions that the oracle has yet to answer, or whose answer has yet to take effect."""
        self._lookahead = config.oracle.lookahead_ticks
        self._waits = config.oracle.mode == "pace"
        self._tick_s = config.run.tick_s
        self.unanswered = 0
        """Triggers sent whose answer has not been read."""
        self._frame: list[bytes] = []
        """What this tick has committed so far, as the agents encoded it."""
        self._end = 0
        self._stopping = False

    async def run(
        self,
        ticks: int,
        on_tick: Callable[[int], None] = lambda _: None,
        between: Callable[[], Awaitable[None]] = nothing,
    ) -> None:
        """Run until `ticks` ticks are committed, or the tick after a stop was asked for.

        Ticks that were run before are done again as fast as they go, and before any stop: until then the record is
        ahead of what is in memory, so there is no state of the run to stop in.

        Args:
            on_tick: called with the number of ticks committed, after each.
            between: awaited after that, while nothing changes.
        """
        begun, first = anyio.current_time(), self.tick
        self._end = ticks
        self.open.ask_again(ticks)
        while self.tick < ticks and (not self._stopping or self._recorder.is_recorded(self.tick)):
            started = perf_counter()
            frame = await self._step(self.tick)
            await self._recorder.commit(self.tick, frame)
            self.tick += 1
            self._observer.tick_ended(perf_counter() - started)
            on_tick(self.tick)
            await between()
            if self._recorder.is_recorded(self.tick - 1):
                begun, first = anyio.current_time(), self.tick
            elif self._tick_s:
                await anyio.sleep_until(begun + (self.tick - first) * self._tick_s)

    def stop(self) -> None:
        """Finish the tick and run no other."""
        self._stopping = True

    def state(self) -> EngineState:
        """What it holds, between two ticks."""
        self.open.note(self.decisions.take_all())
        return EngineState(
            tick=self.tick,
            link=self.digest.link,
            late=self.open.late,
            asked=self.open.asked(),
            decided=self.open.decided(),
        )

    def restore(self, state: EngineState) -> None:
        """Go on from a state, before the first tick."""
        self.tick, self.digest.link = state.tick, state.link
        self.open.restore(state.asked, state.decided, state.late)

    async def _step(self, tick: int) -> bytes:
        """One tick's frame. It goes in waves: what happens to agents, then the decisions that are due; then reactions.

        Each wave is committed, and its questions asked, before anything waits for a decision: so the oracle has a
        whole tick's questions more to work on while the clock waits for the slowest answer of k ticks ago.
        """
        triggers = self._world.triggers(tick)
        while True:
            self.counters.triggered(len(triggers))
            await self._exchange(tick, triggers)
            if due := self.open.due(tick):  # without lookahead, what was asked in this wave
                await self._decisions_of(due, tick)
                await self._exchange(tick, [self.open.end(agent, tick) for agent in due])
            if not (triggers := self._world.reactions(tick)):
                break
        frame = self.digest.add(tick, self._frame)
        self._frame = []
        return frame

    async def _decisions_of(self, agents: list[int], tick: int) -> None:
        """Wait until there is a decision for each of these agents. In real time nobody waits.

        In a tick that was run before, whoever's decision came too late then is late again, and nobody else.
        """
        self.open.note(self.decisions.take_all())
        late = self._recorder.late_agents(tick)
        if late is None and not self._waits:
            return
        awaited = [agent for agent in agents if late is None or agent not in late]
        while self.open.lack(awaited):
            self.open.note(await self.decisions.receive_all())
        self.open.forget_decisions(late or ())

    async def _exchange(self, tick: int, triggers: Sequence[Trigger[Any]]) -> None:
        """Send triggers, wait for an answer to each, and commit the answers."""
        answers: list[Answer] = []
        if not triggers:
            await asyncio.sleep(0)  # nobody to wait for, but the loop must get its turn: a stop is not to be missed
        await self._send(triggers, answers, tick)
        while len(answers) < len(triggers):
            self._read(await self.inbox.receive_all(), answers, tick)
        self._commit(answers)

    async def _send(self, triggers: Sequence[Trigger[Any]], answers: list[Answer], tick: int) -> None:
        agents, encode = self._agents, self._codec.encode
        for start in range(0, len(triggers), CHUNK):
            chunk = triggers[start : start + CHUNK]
            for trigger in chunk:
                agents[trigger.agent].put(encode(trigger))
            self.unanswered += len(chunk)
            await asyncio.sleep(0)
            self._read(self.inbox.take_all(), answers, tick)

    def _read(self, batch: list[bytes], answers: list[Answer], tick: int) -> None:
        """Decode a batch of answers, each of which must be to this tick."""
        messages = self._codec.answers(batch)
        for message in messages:
            if message.tick != tick:
                raise BarrierError(message.agent, tick, message.tick)
        answers.extend(zip(map(_agent, messages), batch, messages, strict=True))
        self.unanswered -= len(batch)

    def _commit(self, answers: list[Answer]) -> None:
        """Apply the answers in the order of agents, record them, and ask what they asked."""
        answers.sort()  # by agent, of which there is one each, so nothing else is ever compared
        apply, updates = self._world.apply, []
        for _, encoded, answer in answers:
            if isinstance(answer, Update):
                apply(answer)
                updates.append(answer)
            else:
                self._ask(answer, encoded)
        self.counters.add(updates)
        self._frame.extend([encoded for _, encoded, _ in answers])
        self.open.offer()

    def _ask(self, question: Question[Any], encoded: bytes) -> None:
        self._world.deliberates(question)
        self.counters.question(question)
        due = question.tick + self._lookahead
        self.open.begin(question, due)
        if due < self._end:  # or no tick is left in which an answer could take effect
            self.open.ask(encoded)
