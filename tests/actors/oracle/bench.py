"""An oracle actor alone, in virtual time: questions of traffic lights go in, decisions of a faulty server come out."""

from collections.abc import Callable
from typing import Any

import anyio
import anyio.abc

from actors.core.errors import first_error
from actors.core.mailbox import Mailbox
from actors.core.messages import Codec, Decided
from actors.core.ports import Observer, Record
from actors.oracle.actor import OracleActor
from prism.agents import Question, StatefulAgent
from prism.config import OracleConfig, PricesConfig
from prism.errors import OracleOutageError, OracleSpentError
from prism.llm import LLMFailureException
from prism.statechart import ATTEMPT, Oracle
from tests.domains import TrafficDomain


def question(agent: int, tick: int = 0) -> Question[int]:
    return Question(tick, agent, "clock", "amber", ("red", "green"), tick)


def falling_back(**settings: Any) -> OracleConfig:
    """Return a configuration in which no question is asked twice, and a server that is away means fallbacks."""
    return OracleConfig(on_outage="fallback", max_attempts=1, **settings)


class Kept(Record):
    """The records that the oracle's log would have."""

    def __init__(self) -> None:
        self.records: list[bytes] = []

    async def keep(self, *records: bytes) -> None:
        self.records.extend(records)


class Bench:
    """An oracle actor between its two mailboxes."""

    def __init__(
        self,
        oracle: Oracle[Any],
        config: OracleConfig | None = None,
        *,
        asker: Callable[[Question[Any]], StatefulAgent[Any]] | None = None,
        capacity: int = 1000,
        prices: PricesConfig | None = None,
        ticks: int = 0,
        is_awaited: bool = True,
        answers: Record | None = None,
        observer: Observer | None = None,
    ) -> None:
        config = config or OracleConfig()
        domain = TrafficDomain()
        self.codec = Codec(int, int)
        self.inbox: Mailbox[bytes] = Mailbox("oracle", config.queue_size)
        self.engine: Mailbox[bytes] = Mailbox("engine", capacity)
        self.stops = 0
        self.actor = OracleActor(
            oracle,
            asker or domain.asker,
            self.codec,
            self.engine,
            config,
            answers=answers,
            on_spent=self._stop_spent,
            on_spoilt=self._count_stop,
            prices=prices,
            ticks=lambda: ticks,
            is_awaited=lambda: is_awaited,
            observer=observer,
        )

    def put(self, *questions: Question[int]) -> list[bool]:
        """Return the mailbox's reply to each question."""
        return [self.inbox.put(self.codec.encode(each)) for each in questions]

    async def decided(self, count: int) -> list[Decided]:
        """Return this number of next decisions."""
        decisions: list[Decided] = []
        while len(decisions) < count:
            decisions.extend(self.codec.decided(encoded) for encoded in await self.engine.receive_all())
        return decisions

    async def ask(self, *questions: Question[int]) -> list[Decided]:
        """Return the decisions on these questions, by agent, after the actor has ended."""
        assert all(self.put(*questions))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.actor.run, self.inbox)
            decisions = await self.decided(len(questions))
            self.inbox.close()
        return sorted(decisions, key=lambda each: (each.asked, each.agent))

    async def stopped(self, after_s: float, *questions: Question[int]) -> OracleOutageError | None:
        """Tell the actor, after this time, that the run is to stop.

        Returns:
            The error with which it gives up; None if it has answered all of these questions.
        """
        assert all(self.put(*questions))

        async def stop() -> None:
            await anyio.sleep(after_s)
            self.actor.stop_waiting()

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.actor.run, self.inbox)
                tasks.start_soon(stop)
                await self.decided(len(questions))
                tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            return first_error(group, OracleOutageError)
        return None

    async def spent(self, *questions: Question[int]) -> tuple[OracleSpentError | None, list[Decided]]:
        """Put questions of which the cap allows only some; return the error at the cap, and the decisions."""
        assert all(self.put(*questions))
        try:
            await self.actor.run(self.inbox)
        except OracleSpentError as error:
            return error, [self.codec.decided(encoded) for encoded in self.engine.take_all()]
        return None, []

    def _stop_spent(self) -> None:
        self._count_stop()
        self.actor.stop_waiting()

    def _count_stop(self) -> None:
        self.stops += 1


Fault = Callable[[float, int], str | None]
"""`(time, number of the call)` -> the reason of its failure; None for an answer."""


class FaultyServer(Oracle[Any]):
    """An oracle that answers with the last option, and fails as scripted.

    Args:
        fault: the fault of each call.
        takes_s: the time of a call; a `timeout` takes `timeout_s`.
        test_fault: the fault of each call for its test question; None if it has none.
    """

    def __init__(
        self,
        fault: Fault = lambda *_: None,
        *,
        takes_s: float = 0.1,
        timeout_s: float = 5.0,
        test_fault: Fault | None = None,
    ) -> None:
        self._test_fault = test_fault
        self.tests = 0
        self.fault = fault
        self.takes_s = takes_s
        self.timeout_s = timeout_s
        self.retry_after_s = 0.0
        self.asked: list[tuple[float, int, int]] = []
        """`(time, agent, attempt)` of every call."""
        self.forgotten: list[tuple[int, str]] = []

    @property
    def has_test(self) -> bool:
        return self._test_fault is not None

    async def test(self, agent: Any, number: int) -> None:
        assert self._test_fault is not None
        self.tests += 1
        await anyio.sleep(self.takes_s)
        if (reason := self._test_fault(anyio.current_time(), self.tests)) is not None:
            raise LLMFailureException(reason)  # type: ignore[arg-type]

    async def ask(self, agent: Any, current_state: Any, trigger: str, options: Any, context: Any = None) -> Any:
        self.asked.append((anyio.current_time(), agent.agent_id, ATTEMPT.get()))
        reason = self.fault(anyio.current_time(), len(self.asked))
        if reason == "hang":
            await anyio.Event().wait()
        if reason == "connection_error":
            await anyio.sleep(0.001)
        elif reason == "timeout":
            await anyio.sleep(self.timeout_s)
        elif reason not in {"overloaded", "limited"}:
            await anyio.sleep(self.takes_s)
        if reason is not None:
            status = {"limited": 429, "overloaded": 503}.get(reason)
            said = "overloaded" if reason == "limited" else reason
            raise LLMFailureException(said, status_code=status, retry_after_s=self.retry_after_s)  # type: ignore[arg-type]
        return options[-1]

    async def before_retry(self, agent: Any, trigger: str, context: Any, reason: str) -> None:
        self.forgotten.append((agent.agent_id, reason))


def away(begin: float, end: float, reason: str = "connection_error") -> Fault:
    """Return the faults of a server that is away between two times."""
    return lambda now, _: reason if begin <= now < end else None


def limited(rate_per_s: float, burst: int) -> Fault:
    """Return the faults of a server that takes this many calls a second, `burst` at once, and refuses the others."""
    tokens, seen = float(burst), 0.0

    def fault(now: float, _: int) -> str | None:
        nonlocal tokens, seen
        tokens, seen = min(float(burst), tokens + (now - seen) * rate_per_s), now
        if tokens < 1.0:
            return "limited"
        tokens -= 1.0
        return None

    return fault
