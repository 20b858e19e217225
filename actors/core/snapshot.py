"""The state of a run at one instant: read on the run's thread, never changed afterwards, safe to read elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from actors.core.mailbox import MailboxStatistics
from prism.errors import OracleError
from prism.llm import REASONS
from prism.statechart import Statechart

FAILURES = (*REASONS, "deadline", "not_an_option", OracleError.reason, "error")
"""How a call to the oracle can fail. What an oracle of somebody else's gives as its reason counts as `error`."""

FALLBACK_REASONS = (*FAILURES, "breaker_open", "spent", "late")
"""Why a decision is a fallback: its call failed, or there was none, or its answer was late in real time."""

Pairs = Mapping[tuple[str, str], int]


class Tokens(msgspec.Struct, frozen=True):
    """What a model has read and written."""

    prompt: int = 0
    completion: int = 0


class RunSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a run at one moment, between two of its commits.

    Args:
        tick: ticks committed, of `ticks` in the whole run; `round` rounds.
        agents: `{state: agents in it}`; they add up to `population`.
        transitions: `{(from, to): how often}`, for every pair of the chart.
        decisions: transitions by what settled them; `unmoved` turns that moved nobody, by why.
        updates: turns committed; `questions` those that went to the oracle instead.
        unanswered: triggers sent whose answer has not been read.
        quarantined: agents out for good.
        oracle_restarts: crashes of the oracle after which it went on.
        guard_errors: guards that raised.
        waiting: questions that wait for the oracle; `in_flight` those that it is being asked.
        concurrency_limit: how many it may be asked at once.
        breaker: its circuit breaker's state.
        fallbacks: `{reason: how often}`, for every reason.
        tokens: what a model read and wrote.
        mailboxes: counts of the mailboxes `engine`, `decisions` and `oracle`.
    """

    tick: int
    ticks: int
    round: int
    population: int
    agents: Mapping[str, int]
    transitions: Pairs
    decisions: Mapping[str, int]
    unmoved: Mapping[str, int]
    updates: int
    questions: int
    unanswered: int
    quarantined: int
    oracle_restarts: int
    guard_errors: int
    waiting: int
    in_flight: int
    concurrency_limit: int
    breaker: str
    fallbacks: Mapping[str, int]
    tokens: Tokens
    mailboxes: Mapping[str, MailboxStatistics]


def pairs(chart: Statechart[Any]) -> list[tuple[str, str]]:
    """Every pair of states that the chart has a way between, in the order of its rows."""
    found: dict[tuple[str, str], None] = {}
    for row in chart.transitions:
        targets = chart.valid_targets(row.source, row.trigger) if row.target is None else [row.target]
        found.update({(row.source.value, target.value): None for target in targets})
    return list(found)
