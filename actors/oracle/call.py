"""One call to an oracle, and its answer: an option in any case, with a reason if it is a fallback."""

from __future__ import annotations

import asyncio
import math
from contextlib import nullcontext
from http import HTTPStatus
from typing import Any, NamedTuple

import anyio

from prism.agents import Question, Source, StatefulAgent
from prism.errors import OracleError, OracleUnavailableError
from prism.llm import LLMFailureException
from prism.llm.spending import Spending
from prism.statechart import Judgement, Oracle
from prism.wording import clauses


class Answer(NamedTuple):
    """The answer to a question: that of the oracle, or a fallback.

    Args:
        source: a `Source`: who took it.
        reason: why it is a fallback, a word from a closed set; empty for an answer of the oracle.
        detail: what happened, in words, for the log.
        content: what the oracle answered besides the option.
        is_unreadable: True if the model answered, and what it said is of no use.
        method: how the oracle found its answer; empty for a fallback.
        spent: the calls to a model that it took.
    """

    state: str
    source: str
    reason: str = ""
    detail: str = ""
    content: str = ""
    retry_after_s: float = 0.0
    is_rate_limited: bool = False
    is_unreadable: bool = False
    method: str = ""
    spent: Spending = ()
    judgement: Judgement | None = None


def fallback(question: Question[Any], source: Source, reason: str, detail: str = "") -> Answer:
    """Return the first option, with the reason why there is no usable answer."""
    return Answer(question.options[0], source, reason, detail)


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
