"""The agents and the symbols of messages, encoded by the earlier messages of the same agents.

A tick's messages come in runs, in each of which agents ascend. Most agents of a run can be predicted: an agent that has
just begun to scroll sees a post in the next tick, and an effect follows its update. So a segment does not name these
agents. It stores the contexts in which agents are likely to act: the agent's last symbol, how many ticks ago it was,
and the run of the tick. For each agent in such a context the segment has a bit: the agent acts in this run, or does
not. Only other agents are named. Writer and reader follow the same history, so both know the context of each agent.

An agent's message is given by a number, its symbol; there are few symbols. Symbols come in the order of contexts:
people who did the same before often do the same now, and equal symbols compress well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from actors.persistence.fields import Ints, from_planes, planes
from actors.persistence.streams import Blocks

Context = tuple[int, int, int]
"""A context: the symbol of an agent's last message, how many ticks ago it was, and the run of the tick, at most 3."""

TICKS: Final = 8
"""The ticks without a message after which an agent is no longer predicted."""
RUNS: Final = 4
"""Runs of a tick that are told apart."""
_RUN: Final = 64
"""The mean number of messages in a run from which agents are predicted: each run takes about a hundred microseconds."""
_SEEN_RUNS: Final = 16
"""Runs of a tick that are looked at to find contexts."""
_ACTING: Final = 24
"""In a context that counts, at least one agent in this many acts."""
_LEAST: Final = 8
"""Agents who must have acted in a context that counts."""
_SAMPLE: Final = 1 << 16
"""Messages from which contexts are found, about."""
_LIMIT: Final = 1 << 27
"""The limit of agents' numbers up to which agents are predicted: four bytes are kept for each number."""


class Said(NamedTuple):
    """Messages of consecutive ticks, in their order.

    Args:
        ticks: of each message, from 0, ascending.
        agents: the agent of each message; `symbols`: its symbol.
        counts: the messages of each tick.
    """

    ticks: Ints
    agents: Ints
    symbols: Ints
    counts: Ints

    @classmethod
    def of(cls, counts: Ints, agents: Ints, symbols: Ints) -> Said:
        """Return messages, given the number of messages in each tick."""
        return cls(np.repeat(np.arange(len(counts), dtype=np.int32), counts), agents, symbols, counts)

    def begins_run(self) -> NDArray[np.bool_]:
        begins = np.ones(len(self.agents), dtype=np.bool_)
        begins[1:] = (self.ticks[1:] != self.ticks[:-1]) | (self.agents[1:] <= self.agents[:-1])
        return begins


class _Run(NamedTuple):
    """A run that is over."""

    tick: int
    number: int
    agents: Ints
    symbols: Ints


class _History:
    """The last message of every agent.

    Args:
        contexts: those that count, in the order in which they are stored.
        agents: the limit of agents' numbers; `symbols`: the limit of symbols.
    """

    def __init__(self, contexts: list[Context], agents: int, symbols: int) -> None:
        self._rank = np.full((RUNS, TICKS + 1, symbols), -1, dtype=np.int64)
        for rank, (symbol, ago, run) in enumerate(contexts):
            self._rank[run, ago, symbol] = rank
        self._counts: NDArray[np.bool_] = np.any(self._rank >= 0, axis=2)
        self._last = np.full(agents if contexts else 0, -1, dtype=np.int32)
        """The run in which each agent spoke last."""
        self._runs = deque[_Run]()
        self._number = 0

    def foreseen(self, tick: int, place: int) -> Ints:
        """Return the agents who are in a context that counts, in the order of contexts, then of agents."""
        while self._runs and tick - self._runs[0].tick > TICKS:
            self._runs.popleft()
        agents, ranks, run = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.int64)], min(place, RUNS - 1)
        for earlier in self._runs:
            ago = tick - earlier.tick
            if self._counts[run, ago]:
                rank = self._rank[run, ago, earlier.symbols]
                those = np.flatnonzero((rank >= 0) & (self._last[earlier.agents] == earlier.number))
                agents.append(earlier.agents[those])
                ranks.append(rank[those])
        found = np.concatenate(agents)
        order = np.argsort(np.concatenate(ranks) << 40 | found)  # agents have numbers below 2**31
        return found[order]

    def add(self, tick: int, agents: Ints, symbols: Ints) -> None:
        if len(self._last):
            self._last[agents] = self._number
            self._runs.append(_Run(tick, self._number, agents, symbols))
            self._number += 1


def tell(said: Said, symbols: int) -> Blocks:
    """Return the blocks with the agents and symbols of messages.

    Args:
        symbols: the limit of symbols.
    """
    begins = said.begins_run()
    starts = np.flatnonzero(begins)
    ticks = said.ticks[starts]
    limit = int(said.agents.max(initial=-1)) + 1
    contexts = _contexts(said, symbols) if len(said.agents) >= _RUN * len(starts) and limit <= _LIMIT else []
    history = _History(contexts, limit, symbols)
    bits, others, gaps, spoken = list[NDArray[Any]](), list[int](), list[NDArray[Any]](), list[NDArray[Any]]()
    is_here = np.zeros(limit if contexts else 0, dtype=np.bool_)
    place, before = 0, -1
    ends = np.append(starts, len(begins))[1:]
    for tick, start, end in zip(ticks.tolist(), starts.tolist(), ends.tolist(), strict=True):
        place, before = place + 1 if tick == before else 0, tick
        agents, these = said.agents[start:end], said.symbols[start:end]
        named, places = agents, np.arange(len(agents))
        if contexts:
            known = history.foreseen(tick, place)
            is_here[agents] = True
            acting = is_here[known]
            bits.append(acting)
            is_here[known] = False
            unknown = is_here[agents]
            is_here[agents] = False
            named = agents[unknown]
            places = np.concatenate((np.searchsorted(agents, known[acting]), np.flatnonzero(unknown)))
            history.add(tick, agents, these)
        others.append(len(named))
        gaps.append(np.diff(named, prepend=0))
        spoken.append(these[places].astype(_dtype(symbols)))
    return {
        "runs": planes(np.bincount(ticks, minlength=len(said.counts)).astype("<u4")),
        "contexts": msgspec.msgpack.encode(contexts),
        "bits": np.packbits(_joined(bits, "?"), bitorder="little").tobytes(),
        "others": planes(np.array(others, dtype="<u4")),
        "gaps": planes(_joined(gaps, "<u4")),
        "symbols": planes(_joined(spoken, _dtype(symbols))),
    }


def told(blocks: Mapping[str, bytes], symbols: int) -> Said:
    """Return the agents and symbols of messages.

    Args:
        symbols: the limit of symbols.

    Raises:
        ValueError: the blocks do not fit one another.
        KeyError: one is missing.
    """
    contexts = msgspec.msgpack.decode(blocks["contexts"], type=list[Context])
    others = from_planes(blocks["others"], "<u4").astype(np.int64)
    named = _within_runs(from_planes(blocks["gaps"], "<u4").astype(np.int32), others)
    in_order = from_planes(blocks["symbols"], _dtype(symbols)).astype(np.int32)
    runs = from_planes(blocks["runs"], "<u4").astype(np.int64)
    if not contexts:
        counts = _sums(others, runs)
        return Said.of(counts, named, in_order)
    parts = [*_retold(blocks, contexts, (runs, others, named, in_order), symbols)]
    sizes = np.array([len(agents) for agents, _ in parts], dtype=np.int64)
    agents = np.concatenate([agents for agents, _ in parts])
    return Said.of(_sums(sizes, runs), agents, np.concatenate([spoken for _, spoken in parts]))


def _retold(
    blocks: Mapping[str, bytes], contexts: list[Context], columns: tuple[Ints, Ints, Ints, Ints], symbols: int
) -> Iterator[tuple[Ints, Ints]]:
    """Yield the agents and the symbols of each run."""
    runs, others, named, in_order = columns
    bits = np.unpackbits(np.frombuffer(blocks["bits"], np.uint8), bitorder="little").astype(np.bool_)
    # Every agent in a context was named before, so the largest named number bounds all numbers.
    history = _History(contexts, int(named.max(initial=-1)) + 1, symbols)
    bit = at = of_named = 0
    for number, (tick, place) in enumerate(
        (tick, place) for tick, count in enumerate(runs.tolist()) for place in range(count)
    ):
        known = history.foreseen(tick, place)
        acting = known[bits[bit : bit + len(known)]]
        bit += len(known)
        count = int(others[number])
        agents = np.concatenate((acting, named[of_named : of_named + count]))
        of_named += count
        order = np.argsort(agents)
        agents, spoken = agents[order], in_order[at : at + len(agents)][order]
        at += len(agents)
        history.add(tick, agents, spoken)
        yield agents, spoken


def _contexts(said: Said, symbols: int) -> list[Context]:
    """Return the contexts that count, by a sample of agents; contexts in which most agents act come last."""
    every = max(1, len(said.agents) // _SAMPLE)
    mine = np.flatnonzero(said.agents % every == 0)
    begins, ticks = said.begins_run(), said.ticks
    of_run = np.cumsum(begins) - 1
    run_ticks = ticks[begins]
    first_run = np.searchsorted(run_ticks, np.arange(len(said.counts)))
    runs_of = np.bincount(run_ticks, minlength=len(said.counts))
    agents, symbols_of, run, tick = said.agents[mine], said.symbols[mine], of_run[mine], ticks[mine]
    following = _following(agents, run)
    shape = symbols, TICKS + 1, RUNS
    seen, acted = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for ago in range(min(TICKS, len(said.counts) - 1) + 1):
        there = tick + ago < len(said.counts)
        later = np.minimum(tick + ago, len(said.counts) - 1)
        for place in range(min(int(runs_of.max(initial=0)), _SEEN_RUNS)):
            those = first_run[later] + place
            waiting = there & (place < runs_of[later]) & (those > run) & (those <= following)
            acting = waiting & (those == following)
            number = min(place, RUNS - 1)
            seen[:, ago, number] += np.bincount(symbols_of[waiting], minlength=symbols)
            acted[:, ago, number] += np.bincount(symbols_of[acting], minlength=symbols)
    counting = np.argwhere((acted >= _LEAST) & (acted * _ACTING >= seen))
    rate = acted[tuple(counting.T)] / seen[tuple(counting.T)]
    return [(int(symbol), int(ago), int(run)) for symbol, ago, run in counting[np.argsort(rate, kind="stable")]]


def _joined(parts: list[NDArray[Any]], dtype: str) -> NDArray[Any]:
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.zeros(0, dtype)


def _following(agents: Ints, runs: Ints) -> Ints:
    """Return the run of each agent's next message; the largest integer if there is no next message."""
    order = np.lexsort((runs, agents))
    following = np.full(len(agents), np.iinfo(np.int64).max)
    same = agents[order][1:] == agents[order][:-1]
    following[order[:-1][same]] = runs[order[1:][same]]
    return following


def _within_runs(gaps: Ints, counts: Ints) -> Ints:
    sums = np.append(0, np.cumsum(gaps))
    found: Ints = (sums[1:] - np.repeat(sums[np.cumsum(counts) - counts], counts)).astype(np.int32)
    return found


def _sums(values: Ints, counts: Ints) -> Ints:
    """Return the sums of consecutive groups of values, given the size of each group."""
    sums, ends = np.append(0, np.cumsum(values)), np.cumsum(counts)
    found: Ints = sums[ends] - sums[ends - counts]
    return found


def _dtype(limit: int) -> str:
    return "<u1" if limit <= 1 << 8 else "<u2" if limit <= 1 << 16 else "<u4"
