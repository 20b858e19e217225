"""The feeds of all who look in one wave, in one pass over columns. docs/feeds.md says what a feed is.

Who comes first sees less: a person sees the posts and counts that those before them in the wave have left, and none of
those after them. So what the wave does is noted with who did it, and each reader counts what came before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.columns import Ints, begins_run, distinct, places_in_lists
from prism.rng import Draw, uniforms
from prism.social.network import Network, Witness
from prism.social.post import NO_POST
from prism.social.tie_filter import may_follow

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
PLACE_BITS: Final = 31
"""The bits of a key that hold the place of the post in the order of posts; the score is above them."""


SEEN_BITS: Final = 9
"""The low bits of a cascade. They tell most of those that a reader has not seen, who has seen about a hundred."""
COMPARED: Final = 1 << 20
"""Seen cascades that are compared with candidates at once."""


class BuiltFeeds(NamedTuple):
    """The feeds of some readers.

    Args:
        rows: the reader of each post, as a place among the readers, ascending; `numbers`: the posts, first to last.
        in_network: posts from people that each reader follows; `out_of_network`: the others.
    """

    rows: Ints
    numbers: Ints
    in_network: Ints
    out_of_network: Ints


class _Candidates(NamedTuple):
    """Posts that could be shown: the place of the reader, the column, different in a row, the post, and its cascade.

    Posts of the timeline have the columns before those of posts from out of network.
    """

    rows: Ints
    columns: Ints
    numbers: Ints
    cascades: Ints

    def only(self, which: Flags | Ints) -> _Candidates:
        return _Candidates(self.rows[which], self.columns[which], self.numbers[which], self.cascades[which])

    def joined(self, other: _Candidates) -> _Candidates:
        return _Candidates(*map(np.concatenate, zip(self, other, strict=True)))


class _Ranked(NamedTuple):
    """Posts of one side: the place of the reader, ascending, the place in the reader's order, and the post's key."""

    rows: Ints
    places: Ints
    keys: Ints


_NO_NUMBERS: Final = np.zeros(0, dtype=np.int64)
_NONE: Final = _Ranked(_NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS)


class FeedWave(Witness):
    """The feeds of one wave. It is made before the wave's effects, told of them, and then builds the feeds.

    Args:
        network: the posts and ties.
        readers: the people whose feeds are built, ascending.
        tick: the tick.
    """

    def __init__(self, network: Network, readers: Ints, tick: int) -> None:
        self._network = network
        self._readers = readers
        self.tick = tick
        self._numbers, self._counts = network.timelines.latest(readers)
        self._places = np.full(network.population.size, -1, dtype=np.int64) if len(readers) else readers
        self._places[readers] = np.arange(len(readers))
        self._came: list[tuple[Ints, Ints]] = []
        """The readers' places to which posts came in time, and their numbers."""
        self._publishers: list[int] = []
        self._engaged: list[tuple[Ints, Ints]] = []
        """The cascades, and who engaged with each."""
        self._known = len(network.originals)
        self._inside = 0
        """The columns of candidates that are posts of the timeline."""

    def delivered(self, numbers: Ints, people: Ints) -> None:
        """Note posts, and the person to whom each has come."""
        places = self._places[people]
        at = (places >= 0).nonzero()[0]
        at = at[people[at] > self._network.living.authors(numbers[at])]
        self._came.append((places[at], numbers[at]))

    def published(self, authors: Sequence[int]) -> None:
        """Note that originals have been published."""
        self._publishers += authors

    def engaged(self, agents: Sequence[int], cascades: Ints) -> None:
        """Note that each of these people has engaged with the cascade at the same place."""
        self._engaged.append((cascades, np.array(agents, dtype=np.int64)))

    def build(self) -> BuiltFeeds:
        """Return the feeds, and remember that they were shown."""
        built = self._built()
        self._network.show(self._readers, built.in_network + built.out_of_network, built.numbers)
        return built

    def _built(self) -> BuiltFeeds:
        feed = self._network.feed
        outside = round(feed.size * feed.out_of_network)
        found = self._timeline()
        if outside:
            found = found.joined(self._pool())
        found = self._shown_to(found)
        keys, is_inside = self._keys(found), found.columns < self._inside
        ours = self._ranked(found.only(is_inside), keys[is_inside])
        others = self._strangers(found, keys, ours) if outside else _NONE
        return self._mixed(ours, others, (feed.size - outside, outside))

    def _timeline(self) -> _Candidates:
        """Return the posts that had come to each reader, without those that newer ones have pushed out."""
        width, depth = self._numbers.shape[1], self._network.timelines.depth
        rows, numbers = map(np.concatenate, zip((_NO_NUMBERS, _NO_NUMBERS), *self._came, strict=True))
        came = np.bincount(rows, minlength=len(self._readers))
        latest = np.argsort(-rows, kind="stable")[::-1]
        columns = places_in_lists(came)
        latest, columns = latest[columns < depth], columns[columns < depth]
        self._inside = width + int(columns.max(initial=-1)) + 1
        kept = np.where(came > 0, np.minimum(self._counts, np.maximum(depth - came, 0)), self._counts)
        row, column = np.nonzero(np.arange(width) < kept[:, None])
        posts = np.concatenate((self._numbers[row, column], numbers[latest]))
        alive = posts >= self._network.living.first
        found = np.concatenate((row, rows[latest])), np.concatenate((column, width + columns)), posts
        return self._candidates(*(each[alive] for each in found))

    def _candidates(self, rows: Ints, columns: Ints, numbers: Ints) -> _Candidates:
        return _Candidates(rows, columns, numbers, self._network.living.cascades(numbers))

    def _pool(self) -> _Candidates:
        """Return each reader's sample of the originals that there were."""
        network, publishers = self._network, np.array(self._publishers, dtype=np.int64)
        known = self._known + np.searchsorted(publishers, self._readers, side="right")
        start = network.round_start(self.tick)
        numbers = network.originals.sampled_by(self._readers, known, network.feed.pool, network.seed, start)
        rows, columns = np.nonzero(numbers != NO_POST)
        return self._candidates(rows, columns + self._inside, numbers[rows, columns])

    def _shown_to(self, found: _Candidates) -> _Candidates:
        """Return the candidates that are not the reader's own, nor of a cascade that they have seen, nor misplaced.

        A cascade may be shown again by somebody else, if the settings say so.
        """
        network = self._network
        people, authors = self._readers[found.rows], network.living.authors(found.numbers)
        fit, own = ~self._were_seen(found), people == authors
        before = (~fit & (found.columns < self._inside)).nonzero()[0]
        fit[before] = network.are_shown_again(self._readers, found.rows[before], found.numbers[before])
        fit &= ~own
        outsiders = (fit & (found.columns >= self._inside)).nonzero()[0]
        outsiders = outsiders[may_follow(network.ties, self._readers, people[outsiders], authors[outsiders])]
        fit[outsiders] = ~network.ties.follow(people[outsiders], authors[outsiders])
        return found.only(fit)

    def _were_seen(self, found: _Candidates) -> Flags:
        """Return for each candidate whether its reader has seen its cascade."""
        seen, counts = self._network.seen.latest(self._readers)
        seen[np.arange(seen.shape[1]) >= counts[:, None]] = -1
        low, starts = (1 << SEEN_BITS) - 1, np.arange(len(seen)) << SEEN_BITS
        may_be = np.zeros(len(seen) << SEEN_BITS, dtype=np.bool_)
        may_be[starts[:, None] + (seen & low)] = True
        were: Flags = may_be[starts[found.rows] + (found.cascades & low)]
        likely, step = were.nonzero()[0], 1 + COMPARED // max(1, seen.shape[1])
        for start in range(0, len(likely), step):
            part = likely[start : start + step]
            were[part] = (seen[found.rows[part]] == found.cascades[part, None]).any(axis=1)
        return were

    def _keys(self, found: _Candidates) -> Ints:
        """Return numbers in the order of the candidates' scores, and where they are equal in that of their posts."""
        scores, living = self.scores(found), self._network.living
        levels = np.searchsorted(distinct(scores), scores)
        return (levels << PLACE_BITS) | living.places(found.numbers)

    def _ranked(self, found: _Candidates, keys: Ints) -> _Ranked:
        """Return the first candidate of each reader and cascade."""
        order = np.lexsort((-keys, found.rows))
        rows, keys = found.rows[order], keys[order]
        first = _first_of_each(rows, found.cascades[order])
        rows = rows[first]
        return _Ranked(rows, places_in_lists(np.bincount(rows, minlength=len(self._readers))), keys[first])

    def _strangers(self, found: _Candidates, keys: Ints, ours: _Ranked) -> _Ranked:
        """Return the candidates from out of network, but for cascades that the reader's own side has.

        They are originals, so no two of them are of one cascade.
        """
        which = (found.columns >= self._inside).nonzero()[0]
        at = found.rows[which], found.columns[which] - self._inside
        shape = len(self._readers), int(at[1].max(initial=-1)) + 1
        table = np.full(shape, -1, dtype=np.int64)
        table[at] = keys[which]
        of = np.full(shape, -1, dtype=np.int32)
        of[at] = found.cascades[which]
        has = self._network.living.cascades(self._numbers_of(ours.keys))
        same, place = (of[ours.rows] == has[:, None]).nonzero()
        table[ours.rows[same], place] = -1
        table = np.sort(table, axis=1)[:, ::-1]
        rows, places = np.nonzero(table >= 0)
        return _Ranked(rows, places, table[rows, places])

    def _numbers_of(self, keys: Ints) -> Ints:
        """Return the numbers of the posts with these keys."""
        return self._network.living.at_places(keys & ((1 << PLACE_BITS) - 1))

    def scores(self, found: _Candidates) -> Floats:
        """Return the score of each candidate, as docs/feeds.md has it."""
        network, feed = self._network, self._network.feed
        if feed.algorithm == "chronological":
            return network.living.created(found.numbers).astype(np.float64)
        people = self._readers[found.rows]
        if feed.algorithm == "random":
            start = network.round_start(self.tick)
            return uniforms(network.seed, people, start, Draw.FEED_ORDER, network.living.origins(found.numbers))
        engagements = self._engagements(found)
        if feed.algorithm == "hot":
            logs = [math.log10(max(1, each)) for each in range(int(engagements.max(initial=0)) + 1)]
            created = network.living.created(found.numbers)
            return np.array(logs)[engagements] + created / (feed.hot_rounds * network.ticks_per_round)
        match = network.matches(people, network.living.topic_codes(found.numbers))
        popular = engagements / (engagements + network.relevance.popularity_half)
        return np.asarray(match + popular * feed.popularity_weight)

    def _engagements(self, found: _Candidates) -> Ints:
        """Return the engagements of each candidate's cascade when its reader looked."""
        cascades = found.cascades
        engagements = self._network.cascades.engagements(cascades)
        if not self._engaged:
            return engagements
        done, agents = map(np.concatenate, zip(*self._engaged, strict=True))
        size = self._network.population.size
        keys = np.sort(done * size + agents)
        oldest = int(cascades.min(initial=done[0]))
        is_touched = np.zeros(int(max(done.max(), cascades.max(initial=0))) - oldest + 1, dtype=np.bool_)
        is_touched[done[done >= oldest] - oldest] = True
        touched = np.flatnonzero(is_touched[cascades - oldest])
        of, readers = cascades[touched], self._readers[found.rows[touched]]
        later = np.searchsorted(keys, (of + 1) * size) - np.searchsorted(keys, of * size + readers, side="right")
        engagements[touched] -= later
        return engagements

    def _mixed(self, ours: _Ranked, others: _Ranked, quota: tuple[int, int]) -> BuiltFeeds:
        """Return the first of both sides, by quota, in the order of their scores."""
        readers, total = len(self._readers), sum(quota)
        inside, outside = (np.bincount(side.rows, minlength=readers) for side in (ours, others))
        wanted_inside, wanted_outside = (np.full(readers, each) for each in quota)
        if self._network.feed.fill == "borrow":
            wanted_outside = np.minimum(outside, np.maximum(wanted_outside, total - inside))
            wanted_inside = total - wanted_outside
        table = np.full((readers, total), -1, dtype=np.int64)
        shown = ours.places < wanted_inside[ours.rows]
        table[ours.rows[shown], ours.places[shown]] = ours.keys[shown]
        shown = others.places < wanted_outside[others.rows]
        table[others.rows[shown], total - 1 - others.places[shown]] = others.keys[shown]
        table = np.sort(table, axis=1)[:, ::-1]
        rows, places = np.nonzero(table >= 0)
        return BuiltFeeds(
            rows,
            self._numbers_of(table[rows, places]),
            np.minimum(inside, wanted_inside),
            np.minimum(outside, wanted_outside),
        )


def _first_of_each(rows: Ints, cascades: Ints) -> Ints:
    """Return the places of the first candidate of each reader and cascade, ascending."""
    keys = (rows << 32) | cascades
    order = np.argsort(keys, kind="stable")
    return np.sort(order[begins_run(keys[order])])
