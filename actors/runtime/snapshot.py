"""Counts of a simulation in the shape of a snapshot: with every possible key, also those with a count of 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

from actors.core.snapshot import CALL_OUTCOMES, FAILURES, FALLBACK_REASONS, Pairs, Tokens, state_pairs
from prism.agents import MOVED
from prism.llm import HostState
from prism.llm.spending import Spent, wasted
from prism.statechart import Statechart


@runtime_checkable
class _HasHosts(Protocol):
    """An oracle whose model may be on several servers."""

    def hosts(self) -> tuple[HostState, ...]:
        """Return the counts of each of several servers."""


@runtime_checkable
class _HasModels(Protocol):
    """An oracle that may ask different models about different people."""

    def answers_by_model(self) -> dict[str, int]:
        """Return the answers of each of several models."""


def transitions_by_pair(chart: Statechart[Any], rows: Mapping[tuple[str, str, str, str], int]) -> Pairs:
    """Return `{(from, to): count}` for every pair of the chart, from counts of updates by row."""
    counts = dict.fromkeys(state_pairs(chart), 0)
    for (before, after, _, source), count in rows.items():
        if source in MOVED:
            counts[before, after] = counts.get((before, after), 0) + count
    return counts


def by_failure(counted: Mapping[str, float]) -> Mapping[str, float]:
    """Return `{reason: number}` for every reason of a failed call; any other reason counts as `error`."""
    numbers = dict.fromkeys(FAILURES, 0.0)
    for reason, number in counted.items():
        numbers[reason if reason in numbers else "error"] += number
    return numbers


def fallbacks_by_reason(counted: Mapping[str, int]) -> Mapping[str, int]:
    """Return `{reason: count}` for every reason; any other reason that a custom oracle gives counts as `error`."""
    counts = dict.fromkeys(FALLBACK_REASONS, 0)
    for reason, count in counted.items():
        counts[reason if reason in counts else "error"] += count
    return counts


def calls_by_outcome(spending: Iterable[Spent]) -> Mapping[str, int]:
    """Return `{outcome: calls to a model}` for every outcome; any other one counts as `error`."""
    counts: dict[str, int] = dict.fromkeys(CALL_OUTCOMES, 0)
    for spent in spending:
        counts[spent.outcome if spent.outcome in counts else "error"] += spent.calls
    return counts


def tokens_of(spending: Iterable[Spent]) -> Tokens:
    """Return the tokens of calls to a model."""
    spending = tuple(spending)
    return Tokens(
        prompt=sum(spent.prompt_tokens for spent in spending),
        completion=sum(spent.completion_tokens for spent in spending),
        cached=sum(spent.cached_tokens for spent in spending),
        wasted=sum(spent.tokens for spent in wasted(spending)),
    )


def hosts_of(oracle: object) -> tuple[HostState, ...]:
    """Return the state of each of several servers of the oracle's model; nothing for one server, or none."""
    return oracle.hosts() if isinstance(oracle, _HasHosts) else ()


def models_of(oracle: object) -> dict[str, int]:
    """Return `{model: its answers}` of an oracle with several models; empty for one model, or none."""
    return oracle.answers_by_model() if isinstance(oracle, _HasModels) else {}
