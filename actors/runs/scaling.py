"""The time and memory of a run in shards, from those of one process: a model of the exchange in each tick."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from actors.runtime.shards import shares_of

ACT_BYTES: Final = 24
"""The bytes of an act: a person, an effect and a post."""


class Costs(NamedTuple):
    """The costs of a tick, on one processor and one link.

    Args:
        turn_s: an activation, with its acts.
        act_s: an act of somebody of another shard.
        engine_s: an activation in the engine: its part of frame and digest.
        seal_s: a byte of answers in the sealing of the journal, which goes on beside the ticks.
        tick_s: a tick in a shard, whatever is done in it; call_s: a call to a shard.
        latency_s: the time until an exchange has arrived, whatever its size.
        acts: the acts of an activation; answer_bytes: the bytes of its answer.
        link_bytes_s: the bytes a second of a node's link.
    """

    turn_s: float
    act_s: float
    engine_s: float
    seal_s: float
    tick_s: float
    call_s: float
    latency_s: float
    acts: float
    answer_bytes: float
    link_bytes_s: float


MEASURED: Final = Costs(
    turn_s=1.20e-6,
    act_s=0.6e-6,
    engine_s=0.11e-6,
    seal_s=27e-9,
    tick_s=1.0e-3,
    call_s=0.3e-3,
    latency_s=6e-3,
    acts=0.08,
    answer_bytes=50.0,
    link_bytes_s=1.25e9,
)
"""Measured with `python -m benchmarks.shards`; the link has 10 Gbit/s."""

STARTS_S: Final = 15.0
"""The time in which a cluster starts on one machine, and its shards make their worlds."""


class Tick(NamedTuple):
    """A tick in shards.

    Args:
        people_s: the turns of the people of a shard; acts_s: the acts of others; written_s: what the engine does for
            all.
        shard_s: all work of a shard; engine_s: that of the engine, which is also a shard.
        exchange_s: the time in which what is exchanged is on its way; exchange_bytes: its size.
        seal_s: the work of the sealing of the journal.
    """

    people_s: float
    acts_s: float
    written_s: float
    shard_s: float
    engine_s: float
    exchange_s: float
    exchange_bytes: float
    seal_s: float

    @property
    def all_s(self) -> float:
        return max(self.shard_s + self.exchange_s, self.engine_s)


def tick_in(shards: int, activations: float, costs: Costs = MEASURED) -> Tick:
    """Return a tick with so many activations, in shards on a node each; the first is the engine's."""
    first, *others = shares_of(shards)
    turns_s, written_s = activations * costs.turn_s, activations * costs.engine_s
    acts, answers = activations * costs.acts, activations * costs.answer_bytes
    if shards == 1:
        engine_s = turns_s + written_s + costs.tick_s
        return Tick(turns_s, 0.0, written_s, 0.0, engine_s, 0.0, 0.0, answers * costs.seal_s)
    # Every shard carries out all acts. The store hands what the engine has put on from node to node, so its link is
    # busy for the steps of a tree.
    people_s, carried_s = others[0] * turns_s, acts * costs.act_s * (shards - 1.0) / shards
    sent, received, calls_s = acts * ACT_BYTES, answers * (1.0 - first), costs.call_s * (shards - 1)
    return Tick(
        people_s=people_s,
        acts_s=carried_s,
        written_s=written_s + calls_s,
        shard_s=people_s + carried_s + costs.tick_s,
        engine_s=first * turns_s + carried_s + written_s + costs.tick_s + calls_s,
        exchange_s=costs.latency_s + (received + 2 * sent * math.log2(shards)) / costs.link_bytes_s,
        exchange_bytes=received + sent * shards,
        seal_s=answers * costs.seal_s,
    )


def activations_in(tick_s: float, costs: Costs = MEASURED) -> float:
    return max(0.0, tick_s - costs.tick_s) / (costs.turn_s + costs.engine_s)


ALONE_MIB: Final = 200.0
"""The memory of a process with nobody in it."""
COMMON: Final = 0.49
"""The part of the memory for people that every shard needs for all of them: ties, and what they are like."""


def memory_in(shards: int, memory_mib: float) -> float:
    """Return the memory of each of so many processes, where one process needs this, in MiB."""
    of_people = max(0.0, memory_mib - ALONE_MIB)
    return min(memory_mib, ALONE_MIB + of_people * (COMMON + (1.0 - COMMON) / shards))
