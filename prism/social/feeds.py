"""The feeds of all who look in one wave, in one pass over columns. `prism.social.feed` says what a feed is.

Who comes first sees less: a person sees the posts and counts that those before them in the wave have left, and none of
those after them. So what the wave does is noted with who did it, and each reader counts what came before.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prism.columns import Ints, places_in_lists
from prism.rng import Draw, uniforms
from prism.social.network import Network, Witness

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


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
    """Posts that could be shown: the place of the reader, the post's number, and whether it is from out of network."""

    rows: Ints
    numbers: Ints
    outside: Flags

    def only(self, which: Flags | Ints) -> _Candidates:
        return _Candidates(self.rows[which], self.numbers[which], self.outside[which])

    def joined(self, other: _Candidates) -> _Candidates:
        return _Candidates(
            np.concatenate((self.rows, other.rows)),
            np.concatenate((self.numbers, other.numbers)),
            np.concatenate((self.outside, other.outside)),
        )


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
        self._came: list[tuple[Ints, int]] = []
        """The readers' places to which a post came in time, and its number."""
        self._publishers: list[int] = []
        self._engaged: list[tuple[int, int]] = []
        """The cascade, and who engaged with it."""
        self._known = len(network.originals)

    def delivered(self, author: int, number: int, followers: Ints | NDArray[np.int32]) -> None:
        """Note that a post has come to these people."""
        places = self._places[followers]
        places = places[(places >= 0) & (followers > author)]
        if len(places):
            self._came.append((places, number))

    def published(self, author: int) -> None:
        """Note that an original has been published."""
        self._publishers.append(author)

    def engaged(self, agent: int, cascade: int) -> None:
        """Note that somebody has engaged with a cascade."""
        self._engaged.append((cascade, agent))

    def build(self) -> BuiltFeeds:
        """Return the feeds, and remember that they were shown."""
        built = self._built()
        lengths = built.in_network + built.out_of_network
        places = places_in_lists(lengths)
        cascades = self._network.living.cascades(built.numbers).astype(np.int32)
        for place in range(int(lengths.max(initial=0))):
            here = places == place
            self._network.seen.add(self._readers[built.rows[here]], cascades[here])
        return built

    def _built(self) -> BuiltFeeds:
        network, readers = self._network, self._readers
        outside = round(network.feed.size * network.feed.out_of_network)
        found = self._timeline()
        if outside:
            found = found.joined(self._pool())
        found = self._shown_to(found)
        order = self._ranked(found)
        found, keys = found.only(order.places), order
        first = _first_of_each(found.rows, network.living.cascades(found.numbers))
        found, keys = found.only(first), keys.only(first)
        return self._mixed(found, keys, (network.feed.size - outside, outside), len(readers))

    def _timeline(self) -> _Candidates:
        """Return the posts that had come to each reader, without those that newer ones have pushed out."""
        rows, numbers = [], []
        came = np.zeros(len(self._readers), dtype=np.int64)
        depth = self._network.timelines.depth
        for places, number in reversed(self._came):
            kept = places[came[places] < depth]
            came[places] += 1
            rows.append(kept)
            numbers.append(np.full(len(kept), number))
        kept = np.where(came > 0, np.minimum(self._counts, np.maximum(depth - came, 0)), self._counts)
        in_row = np.arange(self._numbers.shape[1]) < kept[:, None]
        row, _ = np.nonzero(in_row)
        all_rows = np.concatenate((row, *rows))
        all_numbers = np.concatenate((self._numbers[in_row].astype(np.int64), *numbers)).astype(np.int64)
        alive = all_numbers >= self._network.living.first
        return _Candidates(all_rows[alive], all_numbers[alive], np.zeros(int(alive.sum()), dtype=np.bool_))

    def _pool(self) -> _Candidates:
        """Return each reader's sample of the originals that there were."""
        network, publishers = self._network, np.array(self._publishers, dtype=np.int64)
        known = self._known + np.searchsorted(publishers, self._readers, side="right")
        start = network.round_start(self.tick)
        rows, numbers = network.originals.sampled_by(self._readers, known, network.feed.pool, network.seed, start)
        return _Candidates(rows, numbers, np.ones(len(rows), dtype=np.bool_))

    def _shown_to(self, found: _Candidates) -> _Candidates:
        """Return the candidates that are not the reader's own, nor of a cascade that they have seen, nor misplaced."""
        network = self._network
        people, authors = self._readers[found.rows], network.living.authors(found.numbers)
        fit = people != authors
        seen, counts = network.seen.latest(self._readers)
        if seen.shape[1]:
            seen[np.arange(seen.shape[1]) >= counts[:, None]] = -1
            cascades = network.living.cascades(found.numbers)
            for column in seen.T:
                fit &= column[found.rows] != cascades
        outsiders = np.flatnonzero(fit & found.outside)
        fit[outsiders] = ~network.ties.follow(people[outsiders], authors[outsiders])
        return found.only(fit)

    def _ranked(self, found: _Candidates) -> _Ranked:
        """Return the order by reader and side, and in it from the highest score on."""
        living = self._network.living
        scores, created, lucks = self.scores(found), living.created(found.numbers), living.lucks(found.numbers)
        ids = living.ids(found.numbers)
        descending = np.lexsort((ids, lucks, created, scores))[::-1]
        side = (found.rows[descending] << 1) | found.outside[descending]
        places = descending[np.argsort(side, kind="stable")]
        return _Ranked(places, scores[places], created[places], lucks[places], ids[places])

    def scores(self, found: _Candidates) -> Floats:
        """Return the score of each candidate, bit for bit as `prism.social.feed` has it."""
        network, feed = self._network, self._network.feed
        created = network.living.created(found.numbers)
        if feed.algorithm == "chronological":
            return created.astype(np.float64)
        people = self._readers[found.rows]
        if feed.algorithm == "random":
            start = network.round_start(self.tick)
            return uniforms(network.seed, people, start, Draw.FEED_ORDER, network.living.origins(found.numbers))
        engagements = self._engagements(found)
        if feed.algorithm == "hot":
            logs = [math.log10(max(1, each)) for each in range(int(engagements.max(initial=0)) + 1)]
            return np.array(logs)[engagements] + created / (feed.hot_rounds * network.ticks_per_round)
        match = network.matches(people, network.living.topic_codes(found.numbers))
        popular = engagements / (engagements + network.relevance.popularity_half)
        return np.asarray(match + popular * feed.popularity_weight)

    def _engagements(self, found: _Candidates) -> Ints:
        """Return the engagements of each candidate's cascade when its reader looked."""
        cascades = self._network.living.cascades(found.numbers)
        engagements = self._network.living.engagements(cascades)
        if not self._engaged:
            return engagements
        done = np.array(self._engaged, dtype=np.int64)
        size = self._network.population.size
        keys = np.sort(done[:, 0] * size + done[:, 1])
        touched = np.flatnonzero(np.isin(cascades, done[:, 0]))
        of, readers = cascades[touched], self._readers[found.rows[touched]]
        later = np.searchsorted(keys, (of + 1) * size) - np.searchsorted(keys, of * size + readers, side="right")
        engagements[touched] -= later
        return engagements

    def _mixed(self, found: _Candidates, keys: _Ranked, quota: tuple[int, int], readers: int) -> BuiltFeeds:
        """Return the first of both sides, by quota, in the order of their scores."""
        side = (found.rows << 1) | found.outside
        counts = np.bincount(side, minlength=2 * readers)
        inside, outside = counts[0::2], counts[1::2]
        wanted_inside, wanted_outside = (np.full(readers, each) for each in quota)
        if self._network.feed.fill == "borrow":
            total = sum(quota)
            wanted_outside = np.minimum(outside, np.maximum(wanted_outside, total - inside))
            wanted_inside = total - wanted_outside
        wanted = np.stack((wanted_inside, wanted_outside), axis=1).ravel()
        places = places_in_lists(counts)
        shown = np.flatnonzero(places < wanted[side])
        rows = found.rows[shown]
        order = np.lexsort((keys.ids[shown], keys.lucks[shown], keys.created[shown], keys.scores[shown]))[::-1]
        order = order[np.argsort(rows[order], kind="stable")]
        return BuiltFeeds(
            rows[order],
            found.numbers[shown][order],
            np.minimum(inside, wanted_inside),
            np.minimum(outside, wanted_outside),
        )


class _Ranked(NamedTuple):
    """Candidates in order: their places before, and what they are ordered by."""

    places: Ints
    scores: Floats
    created: Ints
    lucks: NDArray[np.uint64]
    ids: Ints

    def only(self, which: Ints) -> _Ranked:
        return _Ranked(self.places[which], self.scores[which], self.created[which], self.lucks[which], self.ids[which])


def _first_of_each(rows: Ints, cascades: Ints) -> Ints:
    """Return the places of the first candidate of each reader and cascade, ascending."""
    keys = (rows << 32) | cascades
    order = np.argsort(keys, kind="stable")
    is_first = np.ones(len(keys), dtype=np.bool_)
    is_first[1:] = keys[order][1:] != keys[order][:-1]
    return np.sort(order[is_first])
