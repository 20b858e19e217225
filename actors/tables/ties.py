"""The ties that people and interventions change, and the times for which each tie of a run holds."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from actors.store.run import Recorded
from prism.columns import Ints, begins_run, places_among
from prism.events import ON_TIES
from prism.social.people.population import Population
from prism.social.ties.graph import BOUND, ties_from_outside

_decode: Final = msgspec.msgpack.Decoder().decode


class Edges(NamedTuple):
    """The times of ties: those of the start first, then those made later.

    Args:
        columns: `{column: its values}` of the table of edges.
        followers, following: how many more each person has at the end than at the start.
    """

    columns: dict[str, Any]
    followers: Ints
    following: Ints


def edges_of(run: Recorded, population: Population) -> Edges:
    """Return the times for which people of a run follow others."""
    graph, size = population.graph, population.graph.size
    starts, followees, *_ = graph.arrays()
    until, more = np.full(len(followees), -1, np.int32), np.zeros((2, size), np.int64)
    later = np.empty((4, 0), np.int64)
    changes = _changes(run, population)
    if len(changes[0]):
        # 1. The changes of a tie one after the other; in a tick those from outside come first. What is so already is
        #    not changed.
        ticks, is_own, ones, others, follows = changes
        tails, heads = graph.ties()
        order = np.lexsort((is_own, ticks, ones * size + others))
        ties, ticks, follows = (ones * size + others)[order], (ticks + is_own)[order], follows[order]
        places = places_among(tails * size + heads, ties)
        before = np.where(begins_run(ties), places >= 0, np.roll(follows, 1))
        ties, ticks, follows, places = (each[follows != before] for each in (ties, ticks, follows, places))
        # 2. Of a tie of the start the first change is its end; each change that makes a tie lasts until the next.
        is_end = begins_run(ties) & (places >= 0)
        until[places[is_end]] = ticks[is_end]
        goes_on = np.append(~begins_run(ties)[1:], False)  # the last one has no next
        ends = np.where(goes_on, np.roll(ticks, -1), -1)
        later = np.array((ties // size, ties % size, ticks, ends))[:, follows == 1]
        more = np.array([np.bincount(each, 2 * follows - 1, size) for each in (ties % size, ties // size)], np.int64)
    ones = np.repeat(np.arange(size, dtype=np.int32), np.diff(starts))
    first = ones, followees, np.zeros_like(ones), until
    joined = [np.concatenate(each, dtype=np.int32) for each in zip(first, later, strict=True)] if later.size else first
    names = ("follower", "followee", "from_tick", "until_tick")
    columns = dict(zip(names, joined, strict=True))
    return Edges(columns, more[0], more[1])


def _changes(run: Recorded, population: Population) -> Ints:
    """Return of each change the tick, whether it is a person's own, the two people, and whether one follows then."""
    record = run.record
    if "ties" not in record.all_of():
        return np.empty((5, 0), np.int64)
    own = record.table("ties", until=run.length, columns=("agent", "what", "whom"))
    bound = np.isin(own["what"], [ON_TIES.index(each) for each in BOUND])
    made = own["what"] == ON_TIES.index("follow")
    columns = own["tick"], np.ones(len(bound)), own["agent"], own["whom"], made
    done = record.table("interventions", until=run.length, columns=("content",))
    contents = zip(done["tick"].tolist(), map(_decode, done["content"].values()), strict=True)
    outside = [each for tick, content in contents for each in ties_from_outside(tick, content, population.number)]
    first = np.array([(tick, 0, one, other, follows) for tick, one, other, follows in outside], np.int64)
    return np.concatenate((np.array([each[bound] for each in columns], np.int64), first.reshape(-1, 5).T), axis=1)
