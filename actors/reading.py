"""What a run shows of itself at one moment: read on the run's thread, never changed afterwards, safe in every other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import msgspec

from actors.mailbox import MailboxStatistics
from actors.simulation import Simulation
from prism.agents import MOVED, Source
from prism.errors import OracleError
from prism.llm import REASONS, OracleStatistics
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


class Reading(msgspec.Struct, frozen=True, kw_only=True):
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


@runtime_checkable
class _AsksModel(Protocol):
    """An oracle that knows what its model has read and written."""

    def statistics(self) -> OracleStatistics:
        """The counts so far."""


def read(simulation: Simulation, mailboxes: Mapping[str, MailboxStatistics]) -> Reading:
    """The simulation now. It costs about 0.1 ms, whatever the number of agents."""
    engine, tally, oracle = simulation.engine, simulation.tally, simulation.oracle
    return Reading(
        tick=engine.tick,
        ticks=simulation.ticks,
        round=engine.tick // simulation.config.simulation.ticks_per_round,
        population=simulation.domain.size,
        agents=tally.agents_by_state(),
        transitions=_transitions(simulation.domain.chart, tally.rows),
        decisions=tally.decisions_by_source(),
        unmoved=tally.unmoved_by_source(),
        updates=sum(tally.rows.values()),
        questions=tally.questions,
        unanswered=engine.unanswered,
        quarantined=simulation.supervisor.quarantined,
        oracle_restarts=simulation.supervisor.service_restarts,
        guard_errors=sum(simulation.guard_errors().values()),
        waiting=oracle.queue_depth,
        in_flight=oracle.in_flight,
        concurrency_limit=oracle.admission.limit.limit,
        breaker=oracle.admission.breaker.state.value,
        fallbacks=_fallbacks(oracle.statistics.fallbacks, engine.open.late),
        tokens=_tokens(oracle.oracle),
        mailboxes=mailboxes,
    )


def _transitions(chart: Statechart[Any], rows: Mapping[tuple[str, str, str, str], int]) -> Pairs:
    counts = dict.fromkeys(pairs(chart), 0)
    for (before, after, _, source), count in rows.items():
        if Source(source) in MOVED:
            counts[before, after] = counts.get((before, after), 0) + count
    return counts


def pairs(chart: Statechart[Any]) -> list[tuple[str, str]]:
    """Every pair of states that the chart has a way between, in the order of its rows."""
    found: dict[tuple[str, str], None] = {}
    for row in chart.transitions:
        targets = chart.valid_targets(row.source, row.trigger) if row.target is None else [row.target]
        found.update({(row.source.value, target.value): None for target in targets})
    return list(found)


def _fallbacks(counted: Mapping[str, int], late: int) -> Mapping[str, int]:
    counts = dict.fromkeys(FALLBACK_REASONS, 0)
    for reason, count in counted.items():
        counts[reason if reason in counts else "error"] += count
    counts["late"] += late
    return counts


def _tokens(oracle: object) -> Tokens:
    if not isinstance(oracle, _AsksModel):
        return Tokens()
    counts = oracle.statistics()
    return Tokens(counts.prompt_tokens, counts.completion_tokens)
