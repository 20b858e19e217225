"""One call to an oracle, and single calls: each question is asked once, within the limits, and not again if it fails.

Single calls are for questions that no run waits for. While the server is away they wait like those of a run; in a
configuration that takes fallbacks then, they are not asked.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from contextlib import nullcontext
from http import HTTPStatus
from typing import Any

import anyio
from anyio.abc import TaskGroup

from actors.oracle.admission import Admission, Answer, Call, fallback
from prism.agents import Question, Source, StatefulAgent
from prism.config import OracleConfig, PricesConfig
from prism.errors import OracleError, OracleUnavailableError
from prism.llm import LLMFailureException
from prism.llm.spending import Ledger, cost_usd, metered, tokens_of
from prism.statechart import Oracle
from prism.wording import clauses


async def call_oracle(
    oracle: Oracle[Any],
    agent: StatefulAgent[Any],
    question: Question[Any],
    within_s: float,
    samples: int = 0,
    *,
    test: int | None = None,
) -> Answer:
    """Return the oracle's answer, or a fallback with the reason why there is none.

    Args:
        samples: above 0, the oracle is asked for the probabilities of all options; if it has none, they are counted
            from so many answers.
        test: the number of a test question, which is asked in place of this one: its answer has no meaning.

    Raises:
        OracleUnavailableError: there is no oracle to ask, now or later.
    """
    options = [type(agent.state)(option) for option in question.options]
    about = agent, agent.state, question.trigger, options, question.context
    answer = fallback(question, Source.TIMEOUT, "deadline", f"none within {within_s:.3g} s")
    try:
        # Without a limit no scope is made: that takes longer than to compute an answer.
        with nullcontext() if within_s == math.inf else anyio.move_on_after(max(0.0, within_s)):
            if test is not None:
                await oracle.test(agent, test)
                answer = Answer(question.options[0], oracle.source)
            elif samples:
                judgement = await oracle.judge(*about, samples)
                number = oracle.drawn(judgement.probabilities, question.agent, question.tick, question.context)
                method = judgement.method or oracle.method
                answer = Answer(question.options[number], oracle.source, method=method, judgement=judgement)
            else:
                state, content, method = await oracle.checked_answer(*about)
                answer = Answer(state, oracle.source, content=content, method=method or oracle.method)
        return answer
    except OracleUnavailableError:
        raise  # the tape has no answer, or there is no backend: a fallback would hide that
    except (Exception, asyncio.CancelledError) as error:  # an oracle is foreign code, and may raise anything
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0:
            raise  # this task is cancelled; an oracle may also raise it for a task of its own
        # The fallback for an error of the oracle, with the pause and the rate limit that the server gave.
        reason = error.reason if isinstance(error, OracleError) else "error"
        reason = "timeout" if isinstance(error, TimeoutError) else reason
        failed = fallback(question, Source.FALLBACK, reason, f"{type(error).__name__}: {error}")
        if isinstance(error, OracleError):
            failed = failed._replace(is_unreadable=error.is_answer)
        if not isinstance(error, LLMFailureException):
            return failed
        return failed._replace(
            detail=clauses(failed.detail, error.advice),
            retry_after_s=error.retry_after_s,
            is_rate_limited=error.status_code == HTTPStatus.TOO_MANY_REQUESTS,
        )


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
