"""The shadow actor: it puts questions that rules have settled already to the oracle, and nothing follows from it.

A shadow call starts only while no question waits, a call more may be under way, the server is there, and less than half
of every spend cap is used. One that does not start within the deadline is discarded, and one that fails is not made
again. So no question is refused because of it, and the clock never waits for its answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import anyio
import anyio.abc

from actors.core.errors import JournalError, first_error
from actors.core.mailbox import Mailbox
from actors.core.messages import Codec, Shadowed
from actors.core.ports import Answers
from actors.oracle.actor import OracleActor
from actors.oracle.call import call_oracle
from prism.agents import Question, StatefulAgent
from prism.errors import OracleUnavailableError
from prism.llm.spending import Spending, metered

FAILED, LATE, AWAY, SPENT = "failed", "late", "away", "spent"
"""The reasons for no answer: a failed call, no gap in time, an absent server, or half of a spend cap used."""


class ShadowActor:
    """An actor that asks shadow questions in the gaps of an oracle.

    Args:
        oracle: the actor whose oracle, limits and counts these calls share.
        asker: returns the agent that a question is about.
        codec: the domain's messages.
        engine: the mailbox that answers are sent to.
        answers: keeps every answer, and has those that were recorded before a resume.
        deadline_s: the time within which a call must start, and that it may take.
    """

    def __init__(
        self,
        oracle: OracleActor,
        asker: Callable[[Question[Any]], StatefulAgent[Any]],
        codec: Codec,
        engine: Mailbox[bytes],
        answers: Answers,
        deadline_s: float,
    ) -> None:
        self._oracle = oracle
        self._asker = asker
        self._codec = codec
        self._engine = engine
        self._answers = answers
        self._deadline_s = deadline_s if oracle.oracle.waits else math.inf

    async def run(self, mailbox: Mailbox[bytes]) -> None:
        """Ask questions, in their order, until the mailbox closes.

        Raises:
            JournalError: an answer cannot be recorded.
        """
        try:
            async with anyio.create_task_group() as calls:
                while batch := await mailbox.receive_all():
                    arrived = anyio.current_time()
                    for encoded in batch:
                        await self._take(self._codec.question(encoded), arrived, calls)
        except BaseExceptionGroup as group:
            if (error := first_error(group, JournalError)) is not None:
                raise error from None
            raise

    async def _take(self, question: Question[Any], arrived: float, calls: anyio.abc.TaskGroup) -> None:
        """Settle a question, or start its call as soon as there is a gap."""
        if (recorded := self._answers.recorded_shadow(question)) is not None:
            self._oracle.statistics.shadow_calls += 1
            await self._engine.send(self._codec.encode(recorded))
        elif not self._oracle.oracle.waits:  # its answers cost nothing and come at once
            await self._ask(question)
        elif (reason := await self._gap(arrived + self._deadline_s)) is None:
            self._oracle.begin_shadow()
            calls.start_soon(self._call, question)
        else:
            await self._send(question, reason=reason)

    async def _gap(self, expires: float) -> str | None:
        """Wait until a call may start, and return None; or return why it is discarded."""
        while True:
            now, changed = anyio.current_time(), self._oracle.changed
            changed.clear()
            if now >= expires:
                return LATE
            if (reason := self._oracle.shadow_refusal()) is not None:
                return reason
            if (delay_s := self._oracle.shadow_delay(now)) <= 0.0:
                return None
            with anyio.move_on_after(min(delay_s, expires - now)):
                await changed.wait()

    async def _call(self, question: Question[Any]) -> None:
        try:
            await self._ask(question)
        finally:
            self._oracle.end_shadow()

    async def _ask(self, question: Question[Any]) -> None:
        """Ask the oracle, and send what it chose; a failure is one more outcome."""
        begun, name = anyio.current_time(), (question.agent, question.tick, f"shadow {question.trigger}")
        state = method = ""
        with metered() as ledger:
            try:
                answer = await call_oracle(self._oracle.oracle, self._asker(question), question, self._deadline_s)
                state, method = ("", "") if answer.reason else (answer.state, answer.method)
            except OracleUnavailableError:
                pass  # such as a tape without this answer; the run's own questions say whether there is an oracle
            finally:
                self._oracle.statistics.count_spent(name, ledger.total)
        spent = self._oracle.statistics.take_unlogged(name)
        reason, latency_s = "" if state else FAILED, anyio.current_time() - begun
        await self._send(question, state, reason, method=method, latency_s=latency_s, spent=spent, keeps=True)

    async def _send(  # noqa: PLR0913  # what came of a question
        self,
        question: Question[Any],
        state: str = "",
        reason: str = "",
        *,
        method: str = "",
        latency_s: float = 0.0,
        spent: Spending = (),
        keeps: bool = False,
    ) -> None:
        """Tell the engine what came of a question; with `keeps` it is recorded before."""
        tick, agent, trigger = question.tick, question.agent, question.trigger
        shadowed = self._codec.encode(Shadowed(tick, agent, trigger, state, reason, latency_s, spent, method))
        if keeps:
            self._oracle.statistics.shadow_calls += 1
            await self._answers.keep(shadowed)
            self._oracle.statistics.count_written(spent)
        await self._engine.send(shadowed)
