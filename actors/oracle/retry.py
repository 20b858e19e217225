"""The rules for asking a question again after a call that failed."""

from __future__ import annotations

from typing import Any

from prism.agents import Question
from prism.config import OracleConfig
from prism.rng import Draw, uniform
from prism.statechart import Oracle

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0

NOT_COUNTED = frozenset({"connection_error", "overloaded", "loading"})
"""Failures that are not due to the question: it is asked again for as long as its deadline allows."""
COUNTED = frozenset({"timeout", "deadline", "server_error", "invalid_response"})
"""Failures that may pass, and that may come from the question: it is asked `oracle.max_attempts` times."""
REFUSED = "refused"
"""The failure of one question on a server that answers others: it is asked `oracle.max_attempts` times in any case."""
UNREADABLE = frozenset({"invalid_response", REFUSED})
"""Failures that would come again if the server sampled from the same seed."""
FINAL = "client_error"
"""The failure that every question would have."""


def attempts_of(config: OracleConfig, oracle: Oracle[Any]) -> int:
    """Return the times that a question may be asked. In `realtime` there is no time for a second one."""
    return config.max_attempts if config.mode == "pace" and oracle.waits else 1


def pause_s(question: Question[Any], tries: int) -> float:
    """Return the seconds to wait before a question is asked again: 0.5 s, doubled each time up to 30 s, with jitter.

    The jitter is a function of the question alone, so that questions that failed together are not asked together.

    Args:
        tries: the times that it was asked, at least 1.
    """
    longest_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(tries - 1, 10))
    share = 0.5 + 0.5 * uniform(0, question.agent, question.tick, Draw.BACKOFF, tries)
    return longest_s * share
