"""An oracle actor alone: questions from traffic lights go in, decisions come out, and time is virtual."""

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
from prism.statechart import Oracle
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
