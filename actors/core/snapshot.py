"""Snapshots: the state of a run at one instant, taken on the run's thread, never changed, for any thread to read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from actors.core.mailbox import MailboxStatistics
from prism.errors import OracleError
from prism.llm import REASONS
from prism.llm.spending import USEFUL
from prism.statechart import Statechart

FAILURES = (*REASONS, "deadline", "not_an_option", OracleError.reason, "error")
"""The reasons why a call to the oracle fails. Any other reason that a custom oracle gives counts as `error`."""

FALLBACK_REASONS = (*FAILURES, "breaker_open", "spent", "late")
"""The reasons of fallbacks: the call failed, there was no call, or the answer came too late in `realtime`."""

CALL_OUTCOMES = (USEFUL, *REASONS, "cancelled", "error")
"""The outcomes of calls to a model; any other outcome of a custom oracle counts as `error`."""

Pairs = Mapping[tuple[str, str], int]


class Tokens(msgspec.Struct, frozen=True):
    """Tokens that a model has read and written.

    Args:
        cached: those of the prompts that the server had in its cache.
        wasted: those of calls whose answer was not used.
    """

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    wasted: int = 0


class Exchange(msgspec.Struct):
    """Counts of what the shards of a run and its engine have exchanged, in this process.

    Args:
        busy_s: `{shard: seconds in which it worked}`.
        sent: bytes that the engine has sent to all shards; `received`: bytes that it has got from them.
        waited_s: seconds for which the engine has waited for them.
    """

    busy_s: dict[str, float]
    sent: int = 0
    received: int = 0
    waited_s: float = 0.0


class RunSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a run at one instant, between two of its commits.

    Args:
        is_in_tick: whether a tick is under way, so that some counts include a part of it already.
        tick: ticks committed, of `ticks` in the whole run; `round`: rounds completed.
        agents: `{state: agents in it}`; they add up to `population`.
        transitions: `{(from, to): count}`, for every pair of the chart.
        decisions: transitions by what decided them; `unmoved`: turns without a transition, by the reason.
        updates: turns committed; `questions`: turns that asked the oracle instead.
        unanswered: triggers sent whose answer has not been read.
        quarantined: agents that take no further part in the run.
        oracle_restarts: crashes of the oracle after which it was restarted.
        guard_errors: guards that raised.
        waiting: questions in the queue; `in_flight`: questions that the oracle is being asked.
        concurrency_limit: the most questions that it may be asked at once; `concurrency_max`: the most that this limit
            may become.
        breaker: its circuit breaker's state.
        fallbacks: `{reason: decisions that took effect and did not come from the oracle}`, for every reason.
        repaired: decisions that took effect and were loosely worded.
        outage_s: `{reason: seconds for which questions have been held, because the server is away}`, for every reason.
        retries: `{reason: count}`, for every reason after which a question may be asked again.
        calls: `{outcome: calls to a model}`, for every outcome; `tokens`: tokens that it read and wrote.
        cost_usd: the cost of the model; `wasted_usd`: that of calls whose answer was not used; both 0 without prices.
            These four and `retries` are of the whole run, and count only what is in its files, so a kill does not lower
            them.
        budgets: `{cap: (used in the whole run, the most)}`, for each spend cap that is set.
        tick_s: the least seconds between the beginnings of two ticks.
        models: `{model: its answers}` of the models of different people; empty if they have one.
        interventions: `{kind: interventions carried out}`, for every kind.
        sharing: `{part of a question that shares: questions with an answer}`, for every part.
        sharing_bits: mean divergence of audits from what was shared; 0 before the first.
        exchange: what shards have exchanged; None for a run without shards.
        mailboxes: counts of the mailboxes `engine`, `decisions` and `oracle`.
    """

    is_in_tick: bool
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
    concurrency_max: int
    breaker: str
    fallbacks: Mapping[str, int]
    repaired: int
    outage_s: Mapping[str, float]
    retries: Mapping[str, float]
    calls: Mapping[str, int]
    tokens: Tokens
    cost_usd: float
    wasted_usd: float
    budgets: Mapping[str, tuple[float, float]]
    tick_s: float
    models: Mapping[str, int]
    interventions: Mapping[str, int]
    sharing: Mapping[str, int]
    sharing_bits: float
    exchange: Exchange | None
    mailboxes: Mapping[str, MailboxStatistics]


@lru_cache(maxsize=16)
def state_pairs(chart: Statechart[Any]) -> tuple[tuple[str, str], ...]:
    """Return every pair of states that the chart has a transition between, in the order of its rows."""
    names: dict[tuple[str, str], None] = {}
    for row in chart.transitions:
        targets = chart.valid_targets(row.source, row.trigger) if row.target is None else [row.target]
        names.update({(row.source.value, target.value): None for target in targets})
    return tuple(names)
