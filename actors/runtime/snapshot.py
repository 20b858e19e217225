"""Counts of a simulation in the shape of a snapshot: with every possible key, also those with a count of 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from actors.core.snapshot import FAILURES, FALLBACK_REASONS, Pairs, Tokens, state_pairs
from prism.agents import MOVED, Source
from prism.llm import HostState, OracleStatistics
from prism.statechart import Statechart


@runtime_checkable
class _AsksModel(Protocol):
    """An oracle that counts the tokens of its model."""

    def statistics(self) -> OracleStatistics:
        """Return the counts so far."""


@runtime_checkable
class _HasHosts(Protocol):
    """An oracle whose model may be on several servers."""

    def hosts(self) -> tuple[HostState, ...]:
        """Return the counts of each of several servers."""


def transitions_by_pair(chart: Statechart[Any], rows: Mapping[tuple[str, str, str, str], int]) -> Pairs:
    """Return `{(from, to): count}` for every pair of the chart, from counts of updates by row."""
    counts = dict.fromkeys(state_pairs(chart), 0)
    for (before, after, _, source), count in rows.items():
        if Source(source) in MOVED:
            counts[before, after] = counts.get((before, after), 0) + count
    return counts


def by_failure(counted: Mapping[str, float]) -> Mapping[str, float]:
    """Return `{reason: number}` for every reason of a failed call; any other reason counts as `error`."""
    numbers = dict.fromkeys(FAILURES, 0.0)
    for reason, number in counted.items():
        numbers[reason if reason in numbers else "error"] += number
    return numbers


def fallbacks_by_reason(counted: Mapping[str, int], late: int) -> Mapping[str, int]:
    """Return `{reason: count}` for every reason; any other reason that a custom oracle gives counts as `error`."""
    counts = dict.fromkeys(FALLBACK_REASONS, 0)
    for reason, count in counted.items():
        counts[reason if reason in counts else "error"] += count
    counts["late"] += late
    return counts


def tokens_of(oracle: object) -> Tokens:
    """Return the tokens that the oracle's model has read and written; zeros for an oracle without a model."""
    if not isinstance(oracle, _AsksModel):
        return Tokens()
    counts = oracle.statistics()
    return Tokens(counts.prompt_tokens, counts.completion_tokens)


def hosts_of(oracle: object) -> tuple[HostState, ...]:
    """Return the state of each of several servers of the oracle's model; nothing for one server, or none."""
    return oracle.hosts() if isinstance(oracle, _HasHosts) else ()
