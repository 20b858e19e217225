"""The time and memory of a run in shards, from those of one process: a model of the exchange in each tick."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

ACT_BYTES: Final = 24
"""The bytes of an act: a person, an effect and a post."""


class Costs(NamedTuple):
    """The costs of a tick, on one processor and one link.

    Args:
        turn_s: an activation, with its acts.
        act_s: an act in a replica.
        engine_s: an activation in the engine: its part of the frame, digest and journal.
        tick_s: a tick in a shard, whatever is done in it; call_s: a call to a shard.
        acts: the acts of an activation; answer_bytes: the bytes of its answer.
        link_bytes_s: the bytes a second of a node's link.
    """

    turn_s: float
    act_s: float
    engine_s: float
    tick_s: float
    call_s: float
    acts: float
    answer_bytes: float
    link_bytes_s: float


MEASURED: Final = Costs(
    turn_s=1.33e-6,
    act_s=0.6e-6,
    engine_s=0.11e-6,
    tick_s=1.0e-3,
    call_s=0.3e-3,
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
        shard_s: the work of each shard; engine_s: that of the engine, which goes on beside it.
        exchange_s: the time in which what is exchanged is on its way; exchange_bytes: its size.
    """

    shard_s: float
    engine_s: float
    exchange_s: float
    exchange_bytes: float

    @property
    def all_s(self) -> float:
        """The time of the tick."""
        return max(self.shard_s + self.exchange_s, self.engine_s)


def tick_in(shards: int, activations: float, costs: Costs = MEASURED) -> Tick:
    """Return a tick with so many activations, in shards on a node each; 1 is one process, which is its own engine."""
    if shards == 1:
        return Tick(activations * (costs.turn_s + costs.engine_s), 0.0, 0.0, 0.0)
    acts = activations * costs.acts
    answers = activations * costs.answer_bytes
    # The store hands what the engine has put on from node to node, so its link is busy for the steps of a tree.
    sent = acts * ACT_BYTES
    exchange_s = costs.call_s + (answers + 2 * sent * math.log2(shards)) / costs.link_bytes_s
    return Tick(
        shard_s=activations * costs.turn_s / shards + acts * costs.act_s + costs.tick_s,
        engine_s=activations * costs.engine_s + acts * costs.act_s + costs.call_s * shards,
        exchange_s=exchange_s,
        exchange_bytes=answers + sent * (1 + shards),
    )
