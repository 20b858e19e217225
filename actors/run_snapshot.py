"""How a snapshot of a simulation is taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from actors.core.snapshot import FALLBACK_REASONS, Pairs, RunSnapshot, Tokens, pairs
from actors.mailbox import MailboxStatistics
from prism.agents import MOVED, Source
from prism.llm import OracleStatistics
from prism.statechart import Statechart

if TYPE_CHECKING:
    from actors.simulation import Simulation


@runtime_checkable
class _AsksModel(Protocol):
    """An oracle that knows what its model has read and written."""

    def statistics(self) -> OracleStatistics:
        """The counts so far."""


def take_snapshot(simulation: Simulation, mailboxes: Mapping[str, MailboxStatistics]) -> RunSnapshot:
    """Return the simulation's snapshot. It costs about 0.1 ms, whatever the number of agents."""
    engine, tally, oracle = simulation.engine, simulation.tally, simulation.oracle
    return RunSnapshot(
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
