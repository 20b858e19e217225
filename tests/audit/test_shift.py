"""Shifts of answers: what is found of a planted one, and how often chance alone is taken for one."""

import msgspec
import numpy as np
import pytest

from prism.audit.record import Audit, judged
from prism.audit.shift import Asked, Position, Shift, exchange_of, followed, positions_of, shift_of
from prism.columns import Floats
from tests.audit import audits

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


def audit(*shifts: Shift, positions: tuple[Position, ...] = ()) -> Audit:
    return judged(msgspec.structs.replace(audits.audit(), shifts=shifts, positions=positions))


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
        wording, *sound = audit(*ways).shifts
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
    [judgement] = audit(shift).shifts
    assert judgement.finding == "moves"
    assert abs(judgement.options[0].points.value) < 10.0
    assert judgement.turned.value > 80.0


def test_equal_answers_surely_hold_and_few_people_tell_nothing() -> None:
    random = np.random.default_rng(0)
    same = drawn(random, world(random, 60)[1])
    [holds] = audit(shift_of("order", "", Asked(np.arange(60), OPTIONS, same, np.stack([same, same])))).shifts
    assert (holds.finding, holds.p_holm, holds.turned.value) == ("holds", 1.0, 0.0)
    opposite = same[:, ::-1]
    few = Asked(np.arange(60) % 5, OPTIONS, opposite, np.stack([same, same]))
    [unknown] = audit(shift_of("order", "", few)).shifts
    assert (unknown.finding, unknown.p) == ("cannot tell", None)


def test_probabilities_need_one_asking() -> None:
    random = np.random.default_rng(1)
    _, before = world(random, 60)
    after = np.column_stack([before[:, 0] * 0.6, 1.0 - before[:, 0] * 0.6 - before[:, 2], before[:, 2]])
    [moved] = audit(shift_of("persona", "", Asked(np.arange(60), OPTIONS, after, before[None]))).shifts
    [same] = audit(shift_of("persona", "", Asked(np.arange(60), OPTIONS, before + 0.0, before[None]))).shifts
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


def test_a_second_test_raises_the_p_value_of_the_first() -> None:
    shift = shift_of("order", "", asked(np.random.default_rng(1), *2 * (world(np.random.default_rng(1))[1],)))
    shifts = [msgspec.structs.replace(shift, p=p) for p in (0.02, 0.001, 0.03, None)]
    assert [each.p_holm for each in audit(*shifts).shifts] == pytest.approx([0.04, 0.003, 0.04, 1.0])


def test_the_place_of_an_option_is_found_and_an_option_that_is_often_shown_first_is_no_place() -> None:
    random, people = np.random.default_rng(4), np.arange(200) // 2
    shown = [random.permutation(4).tolist() for _ in people]
    taken = np.eye(4)[[each[0] if row % 2 else 1 for row, each in enumerate(shown)]]
    first, last = audit(positions=positions_of(people, taken, shown)).positions
    assert (first.place, first.finding, last.finding) == ("first", "moves", "holds")
    assert first.points.value > 30.0
    # Nearly all answers are one option, and it happens to be shown first in half of the questions.
    shown = [[1, 0, 2, 3] if row % 2 else each for row, each in enumerate(shown)]
    usual = np.eye(4)[[1] * 190 + [2] * 10]
    assert [each.finding for each in audit(positions=positions_of(people, usual, shown)).positions] == ["holds"] * 2


def test_exchanged_sights_are_followed_by_a_sound_model_and_not_by_one_that_ignores_them() -> None:
    moves = []
    for seed in range(10):
        random = np.random.default_rng(seed)
        seen, own = world(random)
        partners = np.argsort(np.argsort(seen))
        others = np.roll(np.argsort(seen), 60)[partners]
        leaning = own[others] - own
        theirs = drawn(random, own)[others]
        following = exchange_of(asked(random, own, own[others]), leaning, theirs, seed=seed)
        ignoring = exchange_of(asked(random, own, own), leaning, theirs, seed=seed)
        few = Asked(np.arange(12), OPTIONS, drawn(random, own[:12]), np.stack([drawn(random, own[:12])] * 2))
        moves.append((following.moves, ignoring.moves, exchange_of(few, leaning[:12], theirs[:12]).moves))
    assert sum(following is True for following, _, _ in moves) >= 9
    assert sum(ignoring is False for _, ignoring, _ in moves) >= 9
    assert not any(few is False for *_, few in moves)


def test_recorded_answers_tell_whether_they_follow_what_was_seen_and_not_who_a_person_is() -> None:
    random, people = np.random.default_rng(7), np.arange(200) // 4
    seen, likely = world(random, 200)
    assert followed(people, drawn(random, likely), seen[:, None]) < 0.01
    by_person = world(random, 50)
    assert followed(people, drawn(random, by_person[1][people]), by_person[0][people][:, None] + seen[:, None]) > 0.05
