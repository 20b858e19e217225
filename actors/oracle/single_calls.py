"""Single calls: an oracle is asked each question once, within its limits. A call that fails is not made again.

They are for questions that no run waits for. While the server is away they wait like those of a run; in a configuration
that takes fallbacks then, they are not asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import anyio
from anyio.abc import TaskGroup

from actors.oracle.admission import Admission, Call
from actors.oracle.call import Answer, call_oracle
from prism.agents import Question, StatefulAgent
from prism.config import OracleConfig, PricesConfig
from prism.llm.spending import Ledger, cost_usd, metered, tokens_of
from prism.statechart import Oracle


class SingleCalls:
    """The calls for some questions, in the tasks of the caller. The spend caps hold for these calls alone.

    Args:
        samples: above 0, it is asked for probabilities, counted from so many answers if it has none.
    """

    def __init__(
        self, oracle: Oracle[Any], config: OracleConfig, prices: PricesConfig, tasks: TaskGroup, samples: int = 0
    ) -> None:
        self._oracle = oracle
        self._samples = samples
        self._prices = prices
        self._tasks = tasks
        self._admission = Admission(config, oracle, self._used)
        self._calls = self._under_way = 0
        self.spent = Ledger()
        self._ended = asyncio.Event()

    def _used(self) -> dict[str, float]:
        usd = cost_usd(self.spent, self._prices) or 0.0
        return {"calls": self._calls, "tokens": tokens_of(self.spent), "usd": usd}

    async def ask(
        self, agent: StatefulAgent[Any], question: Question[Any], on_answer: Callable[[Answer], None]
    ) -> None:
        """Start the call for a question as soon as the limits allow it. An answer that is computed comes at once."""
        while True:  # until it may start
            now, self._ended = anyio.current_time(), asyncio.Event()
            waiting = self._admission.arrived(question, now)  # the deadline is for the call alone
            if (refusal := self._admission.refusal(waiting, now)) is not None:
                on_answer(refusal)
                return
            wait_s = max(self._admission.room_delay(waiting, self._under_way, now), self._admission.delay(now))
            if wait_s <= 0.0:
                break
            with anyio.move_on_after(wait_s):
                await self._ended.wait()
        self._calls += 1
        self._under_way += 1
        call = self._admission.begin(waiting, now)
        if self._oracle.waits:
            self._tasks.start_soon(self._call, agent, question, call, on_answer)
        else:
            await self._call(agent, question, call, on_answer)

    async def _call(
        self, agent: StatefulAgent[Any], question: Question[Any], call: Call, on_answer: Callable[[Answer], None]
    ) -> None:
        """Ask the oracle. Raises: OracleOutageError after an outage longer than a run waits, OracleUnavailableError."""
        with metered() as ledger:
            answer = await call_oracle(self._oracle, agent, question, call.within_s, self._samples)
        self.spent.add(ledger)
        self._under_way -= 1
        self._ended.set()
        if answer.reason:  # another asking does not get this failure from a tape
            await self._oracle.before_retry(agent, question.trigger, question.context, answer.reason)
        on_answer(answer)
        self._admission.ended(call, answer, anyio.current_time())
