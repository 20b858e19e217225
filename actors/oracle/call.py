"""One question put to an oracle, and what came of it: an option in any case, with the reason where it is a fallback."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import anyio

from prism.agents import Question, Source, StatefulAgent
from prism.errors import OracleError, OracleUnavailableError
from prism.statechart import Oracle


class Answer(NamedTuple):
    """The settled choice.

    Args:
        state: the option taken.
        source: who took it.
        reason: why it is a fallback, a word from a closed set; empty for an answer.
        detail: what happened, in words, for the log.
        content: what the oracle said beyond the option.
    """

    state: str
    source: str
    reason: str = ""
    detail: str = ""
    content: str = ""


def fallback(question: Question[Any], source: Source, reason: str, detail: str = "") -> Answer:
    """The first option, which is what the chart's rules would have done, or the most passive of the options."""
    return Answer(question.options[0], source, reason, detail)


async def call_oracle(
    oracle: Oracle[Any], agent: StatefulAgent[Any], question: Question[Any], within_s: float
) -> Answer:
    """The oracle's answer, or the fallback with the reason why there is none.

    Args:
        within_s: how long it may take.

    Raises:
        OracleUnavailableError: nobody can answer, now or later.
    """
    options = [type(agent.state)(option) for option in question.options]
    with anyio.move_on_after(max(0.0, within_s)):
        try:
            state, content = await oracle.answer(agent, agent.state, question.trigger, options, question.context)
        except OracleUnavailableError:
            raise  # a tape without the answer, a backend that is not there: a fallback would hide that
        except (Exception, asyncio.CancelledError) as error:  # an oracle is foreign code: this is no answer
            if _is_cancelled(error):
                raise
            return fallback(question, Source.FALLBACK, _reason(error), f"{type(error).__name__}: {error}")
        if state in options:
            return Answer(state, oracle.source, content=content)
        return fallback(question, Source.FALLBACK, "not_an_option", repr(state))
    return fallback(question, Source.TIMEOUT, "deadline", f"none within {within_s:.3g} s")


def _is_cancelled(error: BaseException) -> bool:
    """Whether it is we who are cancelled; an oracle may also await something of its own that was."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def _reason(error: BaseException) -> str:
    """The word under which a fallback is counted."""
    if isinstance(error, TimeoutError):
        return "timeout"
    return error.reason if isinstance(error, OracleError) else "error"
