"""Snapshots: the state of a run at one instant, taken on the run's thread, never changed, for any thread to read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

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
    """Tokens that a model has read, written, found in its server's cache, and spent on answers that were not used."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    wasted: int = 0


class Exchange(msgspec.Struct):
    """The bytes that the engine has sent to all shards and received, in this process, and the seconds that it waited.

    `busy_s`: `{shard: seconds in which it worked}`.
    """

    busy_s: dict[str, float]
    sent: int = 0
    received: int = 0
    waited_s: float = 0.0


class Metric(msgspec.Struct, frozen=True):
    """The metric that a field of a snapshot is; a counter if its name, `prism_agents{state}`, ends with `_total`."""

    name: str
    help: str


class OfTicks(Metric, frozen=True):
    """The metric of what happened in ticks: it is shown once their journal is on disk."""


Counts = Mapping[str, int]


class RunSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a run at one instant, between two of its commits.

    A field with a `Metric` is that metric. Costs, tokens, calls and `retries` are of the whole run, and count only what
    is in its files, so a kill does not lower them.

    Args:
        is_in_tick: whether a tick is under way, so that some counts include a part of it already.
        unmoved: turns without a transition, by the reason.
        updates: turns committed; `questions`: turns that asked the oracle instead.
        unanswered: triggers sent whose answer has not been read.
        calls: `{outcome: calls to a model}`, for every outcome.
        cost_usd: the cost of the model; `wasted_usd`: that of calls whose answer was not used; both 0 without prices.
        budgets: `{cap: (used in the whole run, the most)}`, for each spend cap that is set.
        exchange: None for a run without shards.
    """

    is_in_tick: bool
    tick: Annotated[int, OfTicks("prism_ticks_total", "Ticks committed.")]
    ticks: Annotated[int, Metric("prism_ticks_planned", "Ticks of the whole run.")]
    tick_s: Annotated[
        float,
        Metric("prism_tick_interval_seconds", "The least seconds between the beginnings of two ticks: run.tick_s."),
    ]
    round: Annotated[int, OfTicks("prism_round", "Rounds committed.")]
    population: Annotated[int, Metric("prism_population", "Agents in the run.")]
    agents: Annotated[Counts, OfTicks("prism_agents{state}", "Agents in each state.")]
    transitions: Annotated[
        Pairs,
        OfTicks(
            "prism_agent_transitions_total{from_state,to_state}",
            "Changes of state, for each pair that the chart allows.",
        ),
    ]
    decisions: Annotated[Counts, OfTicks("prism_decisions_total{source}", "Transitions, by what decided them.")]
    unmoved: Mapping[str, int]
    updates: int
    questions: int
    unanswered: int
    quarantined: Annotated[int, OfTicks("prism_agents_quarantined", "Quarantined agents.")]
    oracle_restarts: int
    guard_errors: Annotated[int, OfTicks("prism_guard_errors_total", "Guards that raised.")]
    waiting: Annotated[int, Metric("prism_oracle_queue_depth", "Questions in the queue of the oracle.")]
    in_flight: Annotated[int, Metric("prism_llm_requests_in_flight", "Calls to the oracle under way.")]
    concurrency_limit: Annotated[
        int, Metric("prism_llm_concurrency_limit", "The most calls that may be under way now.")
    ]
    concurrency_max: Annotated[
        int, Metric("prism_llm_concurrency_limit_max", "The most that the limit on calls may become.")
    ]
    breaker: str
    fallbacks: Annotated[
        Counts, OfTicks("prism_fallbacks_total{reason}", "Decisions that the oracle did not make, by the reason.")
    ]
    outage_s: Annotated[
        Mapping[str, float],
        Metric(
            "prism_oracle_outage_seconds{reason}",
            "Seconds for which questions have been held because the server is away, by why; 0 when it is not.",
        ),
    ]
    retries: Annotated[
        Mapping[str, float],
        Metric("prism_oracle_retries_total{reason}", "Questions asked again, by why the call before failed."),
    ]
    calls: Mapping[str, int]
    tokens: Tokens
    cost_usd: float
    wasted_usd: float
    budgets: Mapping[str, tuple[float, float]]
    sharing: Annotated[
        Counts,
        Metric(
            "prism_oracle_shared_questions_total{part}",
            "Questions that share judgements and have an answer, by their part.",
        ),
    ]
    sharing_bits: Annotated[
        float,
        Metric(
            "prism_oracle_sharing_divergence",
            "Jensen-Shannon divergence of shared from individual judgements, by audits; 0 before the first.",
        ),
    ]
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
