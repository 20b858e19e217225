"""The oracle as an actor: the one place that decides when a question is asked, and what happens when no answer comes.

    mailbox -> waiting questions -> gate (rate, concurrency) -> the oracle -> answer, or a recorded fallback

Model servers queue without limit and push nobody back, so admission is done here. A question has a deadline from the
moment it arrives, whether it waits or is being answered; past it, the first option is taken and recorded as `timeout`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import anyio
import anyio.abc

from actors.gate import TokenBucket
from actors.mailbox import Mailbox
from actors.messages import Codec, Decided
from prism.agents import Question, Source, StatefulAgent
from prism.config import OracleConfig
from prism.errors import OracleError
from prism.statechart import Oracle


class Waiting(NamedTuple):
    """A question that has arrived."""

    question: Question[Any]
    arrived: float


class OracleStatistics:
    """Counts of the oracle's work, for the summary and the progress display."""

    def __init__(self) -> None:
        self.answered = 0
        self.fallbacks: dict[str, int] = {}
        """`{reason: how often}`."""
        self.concurrency_max = 0
        self.latencies_s: deque[float] = deque(maxlen=10_000)
        """The latest answers' latencies, from arrival to answer."""

    def noted(self, decided: Decided) -> None:
        """A question has been answered, one way or another."""
        self.answered += 1
        if decided.source == Source.ORACLE:
            self.latencies_s.append(decided.latency_s)
        else:
            self.fallbacks[decided.reason] = self.fallbacks.get(decided.reason, 0) + 1


class OracleActor:
    """Answers questions within its limits.

    Args:
        oracle: who knows.
        asker: the agent behind a question, as the oracle may see it.
        codec: the domain's messages.
        engine: where answers go.
        config: the limits.
    """

    def __init__(
        self,
        oracle: Oracle,
        asker: Callable[[Question[Any]], StatefulAgent[Any]],
        codec: Codec,
        engine: Mailbox[bytes],
        config: OracleConfig,
    ) -> None:
        self.statistics = OracleStatistics()
        self._oracle = oracle
        self._asker = asker
        self._codec = codec
        self._engine = engine
        self._config = config
        self._bucket = TokenBucket(config.rate_per_s)
        self._waiting: deque[Waiting] = deque()
        self._open: dict[int, Waiting] = {}
        """`{agent: its question}` from arrival until the answer is with the engine; survives a crash of this actor."""
        self._calling = 0
        self._timer: asyncio.TimerHandle | None = None
        self._room = asyncio.Event()

    @property
    def queue_depth(self) -> int:
        """Questions that wait for their turn."""
        return len(self._waiting)

    @property
    def in_flight(self) -> int:
        """Questions being answered."""
        return self._calling

    async def run(self, mailbox: Mailbox[bytes]) -> None:
        """Answer questions until the mailbox closes."""
        self._waiting = deque(self._open.values())
        self._calling = 0
        try:
            async with anyio.create_task_group() as calls:
                self._pump(calls)
                while batch := await mailbox.receive_all():
                    await self._admit(batch, calls)
        finally:
            if self._timer is not None:
                self._timer.cancel()

    async def _admit(self, batch: list[bytes], calls: anyio.abc.TaskGroup) -> None:
        """Queue what has arrived; past the queue's size, stop reading, so that the mailbox fills and says no."""
        now = anyio.current_time()
        for encoded in batch:
            waiting = Waiting(self._codec.question(encoded), now)
            self._open[waiting.question.agent] = waiting
            self._waiting.append(waiting)
        self._pump(calls)
        while len(self._waiting) >= self._config.queue_size:
            self._room = asyncio.Event()
            await self._room.wait()

    def _pump(self, calls: anyio.abc.TaskGroup) -> None:
        """Start every call that may start now, and come back when the next one may."""
        now = anyio.current_time()
        while self._waiting and self._calling < self._config.max_concurrency:
            expired = self._waiting[0].arrived + self._config.deadline_s <= now
            if not expired and (delay := self._bucket.delay(now)) > 0.0:
                self._wake_after(min(delay, self._waiting[0].arrived + self._config.deadline_s - now), calls)
                break
            if not expired:
                self._bucket.take(now)
            self._calling += 1
            self.statistics.concurrency_max = max(self.statistics.concurrency_max, self._calling)
            calls.start_soon(self._answer, self._waiting.popleft(), calls)
        if len(self._waiting) < self._config.queue_size:
            self._room.set()

    def _wake_after(self, delay_s: float, calls: anyio.abc.TaskGroup) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(delay_s, self._pump, calls)

    async def _answer(self, waiting: Waiting, calls: anyio.abc.TaskGroup) -> None:
        decided = await self._decide(waiting)
        self._calling -= 1
        self.statistics.noted(decided)
        await self._engine.send(self._codec.encode(decided))
        del self._open[decided.agent]
        self._pump(calls)

    async def _decide(self, waiting: Waiting) -> Decided:
        """The oracle's answer, or the first option with the reason why there is none."""
        question, arrived = waiting
        agent = self._asker(question)
        options = [type(agent.state)(option) for option in question.options]
        try:
            with anyio.fail_after(max(0.0, arrived + self._config.deadline_s - anyio.current_time())):
                state = await self._oracle.ask(agent, agent.state, question.trigger, options, question.context)
        except TimeoutError:
            return self._fallback(waiting, Source.TIMEOUT, "deadline")
        except OracleError as error:
            return self._fallback(waiting, Source.FALLBACK, error.reason)
        except Exception as error:  # noqa: BLE001  # an oracle is foreign code: whatever it raises is no answer
            return self._fallback(waiting, Source.FALLBACK, f"error: {type(error).__name__}")
        if state not in options:
            return self._fallback(waiting, Source.FALLBACK, "not an option")
        return Decided(question.tick, question.agent, state, Source.ORACLE, latency_s=anyio.current_time() - arrived)

    def _fallback(self, waiting: Waiting, source: Source, reason: str) -> Decided:
        question = waiting.question
        return Decided(
            question.tick,
            question.agent,
            question.options[0],
            source,
            reason,
            anyio.current_time() - waiting.arrived,
        )
