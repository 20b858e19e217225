"""The originals of everybody: each is as likely to be sampled, however many there are."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from prism.social.originals import FIRST_SIZE, Originals
from prism.social.post import NO_POST, Post, origin_of, post_id
from tests.social.scalar_feed import luck, sampled


def original(author: int, tick: int = 0) -> Post:
    new = post_id(author, 0)
    return Post(id=new, author=author, text="", topics=(), created=tick, root=new, origin=origin_of(author, tick, 0))


def originals(count: int, part_size: int) -> Originals:
    kept = Originals(part_size)
    for author in range(count):
        kept.extend([author], [original(author).origin])
    return kept


def test_of_few_originals_all_can_be_sampled() -> None:
    assert sampled(originals(100, 100), 100, 1, 7, 0) == [*range(100)]


@pytest.mark.everyday(1)
@pytest.mark.parametrize("count", [501, 1000, 3000])
def test_of_many_originals_a_part_is_sampled_and_over_readers_each_is_as_likely(count: int) -> None:
    kept, readers, seen, sizes = originals(count, 500), 6000, Counter[int](), Counter[int]()
    for reader in range(readers):
        found = sampled(kept, 20, 1, reader, 24)
        assert len(found) == len(set(found)) == 20
        seen.update(found)
        sizes[len(sampled(kept, 1000, 1, reader, 24))] += 1
    mean = 20 * readers / count
    assert len(seen) == count
    assert max(seen.values()) < 1.8 * mean
    assert min(seen.values()) > 0.4 * mean
    assert 240 <= sum(size * times for size, times in sizes.items()) / readers <= 510
    first, second = (sum(seen[author] for author in half) for half in (range(count // 2), range(count // 2, count)))
    assert 0.9 < first / second < 1.1, "neither early nor late originals, nor low or high numbers, are shown more"


def test_a_reader_has_another_part_in_each_round_and_the_same_one_twice() -> None:
    kept = originals(1000, 100)
    rounds = [sampled(kept, 1000, 1, 5, start) for start in range(0, 240, 24)]
    assert rounds == [sampled(kept, 1000, 1, 5, start) for start in range(0, 240, 24)]
    assert len(set(map(tuple, rounds))) > 4


def test_one_original_more_changes_one_place_of_a_sample_at_most() -> None:
    before, after = originals(300, 100), originals(301, 100)
    for reader in range(200):
        assert len(set(sampled(before, 10, 1, reader, 0)) - set(sampled(after, 10, 1, reader, 0))) <= 1


def test_forgotten_originals_are_dropped_and_new_ones_take_their_room() -> None:
    kept = originals(10, 100)
    for author in range(10, 5 * FIRST_SIZE):
        kept.extend([author], [original(author).origin])
        kept.drop_before(author - 9)
        assert len(kept) == 10
    assert kept.newest(3) == [author - 2, author - 1, author]
    assert len(sampled(kept, 100, 1, 1, 0)) == 10


def test_the_luck_of_equal_posts_does_not_follow_the_number_of_their_author() -> None:
    wins = sum(
        luck(original(author, tick)) > luck(original(author + step, tick))
        for author in range(100)
        for step in range(1, 30)
        for tick in range(20)
    )
    assert 0.45 < wins / (100 * 29 * 20) < 0.55
    assert len({luck(original(author, tick)) for author in range(1000) for tick in range(20)}) == 20_000


@pytest.mark.slow
@pytest.mark.parametrize("known", [0, 15, 290, 1400])
def test_samples_of_many_readers_at_once_are_those_that_each_gets_alone(known: int) -> None:
    kept, readers = originals(known + 60, 500), np.arange(0, 600, 2)
    knows = np.sort(known + readers % 61)
    at_once = kept.sampled_by(readers, knows, 20, 1, 24)
    alone = dict[int, Originals]()
    for reader, knew, row in zip(readers.tolist(), knows.tolist(), at_once.tolist(), strict=True):
        early = alone.setdefault(knew, originals(knew, 500))
        assert sorted(each for each in row if each != NO_POST) == sorted(sampled(early, 20, 1, reader, 24))
