"""Shifts of answers: what is found of a planted one, and how often chance alone is taken for one."""

from __future__ import annotations

import numpy as np
import pytest

from prism.audit import Asked, exchange_of, judged, positions_of, shift_of
from prism.columns import Floats

OPTIONS = ("scroll", "like", "reply")


def world(random: np.random.Generator, questions: int = 120) -> tuple[Floats, Floats]:
    """Return what people see, and the probabilities of their options."""
    seen = random.normal(size=questions)
    acts = 1.0 / (1.0 + np.exp(0.5 - 1.5 * seen))
    return seen, np.column_stack([1.0 - acts, 0.7 * acts, 0.3 * acts])


def drawn(random: np.random.Generator, probabilities: Floats) -> Floats:
    taken = (random.random((len(probabilities), 1)) > probabilities.cumsum(axis=1)).sum(axis=1)
    named: Floats = np.eye(probabilities.shape[1])[np.minimum(taken, probabilities.shape[1] - 1)]
    return named


def asked(random: np.random.Generator, before: Floats, after: Floats) -> Asked:
    """Return two askings in the way of the run and one in another way, of people who are asked twice each."""
    people = np.arange(len(before)) // 2
    return Asked(people, OPTIONS, drawn(random, after), np.stack([drawn(random, before), drawn(random, before)]))


def test_a_large_shift_is_found_with_its_size_and_chance_alone_is_not() -> None:
    found, false = 0, 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        _, before = world(random)
        after = before.copy()
        moved = 0.35 * before[:, 0]
        after[:, 0] -= moved
        after[:, 1] += moved
        ways = [shift_of("wording", "wording", asked(random, before, after), seed=seed)]
        ways += [shift_of(f"sound {each}", "", asked(random, before, before), seed=seed) for each in range(4)]
        wording, *sound = judged(ways, 10.0)
        found += wording.finding == "moves"
        false += any(each.finding == "moves" for each in sound)
        assert wording.largest is not None
        assert wording.largest.option in ("scroll", "like")
    assert found >= 17
    assert false <= 2


def test_answers_that_turn_in_both_directions_are_found_without_a_shift_of_shares() -> None:
    random = np.random.default_rng(3)
    before = np.tile([[0.98, 0.02, 0.0], [0.02, 0.98, 0.0]], (40, 1))
    shift = shift_of("wording", "wording", asked(random, before, before[::-1]))
    [judgement] = judged([shift], 10.0)
    assert judgement.finding == "moves"
    assert abs(judgement.options[0].points.value) < 10.0
    assert judgement.turned.value > 80.0


def test_equal_answers_surely_hold_and_few_people_tell_nothing() -> None:
    random = np.random.default_rng(0)
    same = drawn(random, world(random, 60)[1])
    [holds] = judged([shift_of("order", "", Asked(np.arange(60), OPTIONS, same, np.stack([same, same])))], 10.0)
    assert (holds.finding, holds.p_holm, holds.turned.value) == ("holds", 1.0, 0.0)
    opposite = same[:, ::-1]
    few = Asked(np.arange(60) % 5, OPTIONS, opposite, np.stack([same, same]))
    [unknown] = judged([shift_of("order", "", few)], 10.0)
    assert unknown.finding == "cannot tell"


def test_probabilities_need_one_asking() -> None:
    random = np.random.default_rng(1)
    _, before = world(random, 60)
    after = np.column_stack([before[:, 0] * 0.6, 1.0 - before[:, 0] * 0.6 - before[:, 2], before[:, 2]])
    [moved] = judged([shift_of("persona", "", Asked(np.arange(60), OPTIONS, after, before[None]))], 10.0)
    [same] = judged([shift_of("persona", "", Asked(np.arange(60), OPTIONS, before + 0.0, before[None]))], 10.0)
    assert (moved.finding, same.finding) == ("moves", "holds")
    [ratio] = [each.ratio for each in moved.options if each.option == "scroll"]
    assert ratio is not None
    assert ratio.value == pytest.approx(0.6)


def test_what_was_seen_groups_the_shifts() -> None:
    random = np.random.default_rng(1)
    _, before = world(random, 60)
    groups = ["near", "far"] * 30
    shift = shift_of("persona", "", Asked(np.arange(60), OPTIONS, before, before[None]), groups)
    assert list(shift.by_seen) == ["far", "near"]


def test_the_place_of_an_option_is_found() -> None:
    people, counts = np.arange(100), np.full(100, 4)
    first = np.array([np.arange(100) % 10 < 7, np.arange(100) % 10 == 9], dtype=np.float64)
    found, last = positions_of(people, first, counts, 10.0)
    assert (found.place, found.finding, round(found.points.value)) == ("first", "moves", 45)
    assert last.finding == "holds"


def test_exchanged_sights_are_followed_by_a_sound_model_and_not_by_one_that_ignores_them() -> None:
    moves = []
    for seed in range(10):
        random = np.random.default_rng(seed)
        seen, own = world(random)
        partners = np.argsort(np.argsort(seen))
        others = np.roll(np.argsort(seen), 60)[partners]
        leaning = own[others] - own
        theirs = drawn(random, own)[others]
        following = exchange_of(asked(random, own, own[others]), leaning, theirs, seed)
        ignoring = exchange_of(asked(random, own, own), leaning, theirs, seed)
        moves.append((following.moves, ignoring.moves))
    assert sum(following is True for following, _ in moves) >= 9
    assert not any(ignoring is True for _, ignoring in moves)
