"""Deciders beside what people did: the score worked out by hand, and deciders whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from prism.scored import LEAST, Choice, scored

OPTIONS = ("scroll", "like")


def choice(like: float, did: str, *, relevance: float | None = None, samples: int = 0) -> Choice:
    return Choice(options=OPTIONS, probabilities=(1.0 - like, like), did=did, relevance=relevance, samples=samples)


def people(truth: list[float], said: list[float], seed: int = 3) -> list[Choice]:
    """Return choices of people who like with these probabilities, of which a decider says others."""
    random = np.random.default_rng(seed)
    return [
        choice(other, OPTIONS[int(random.random() < own)], relevance=own)
        for own, other in zip(truth, said, strict=True)
    ]


def test_the_score_of_four_choices_is_the_one_worked_out_by_hand() -> None:
    found = scored([choice(0.25, "scroll"), choice(0.25, "like"), choice(0.5, "scroll"), choice(0.5, "scroll")])
    assert found.log_loss == pytest.approx((-math.log2(0.75) + 2.0 + 1.0 + 1.0) / 4, abs=2e-3)
    assert found.base_rates == pytest.approx(-(3 * math.log2(0.75) + math.log2(0.25)) / 4, abs=1e-4)
    assert found.uniform == 1.0
    of_all = {rate.option: rate for rate in found.rates if not rate.relevance}
    assert (of_all["like"].done, of_all["like"].offered) == (1, 4)
    assert of_all["like"].expected == pytest.approx(1.5, abs=1e-3)
    assert of_all["like"].ratio.ratio == pytest.approx(1 / 1.5, abs=1e-3)
    assert [(level.low, level.options, level.done) for level in found.calibration] == [
        (0.2, 2, 0.5),
        (0.4, 4, 0.5),
        (0.6, 2, 0.5),
    ]


def test_what_a_decider_excludes_is_a_large_surprise_and_no_infinite_one() -> None:
    assert scored([choice(0.0, "like")]).log_loss == pytest.approx(-math.log2(LEAST), abs=1e-3)
    # None of 8 answers was a like: half an answer more for each option, as Jeffreys has it.
    assert scored([choice(0.0, "like", samples=8)]).log_loss == pytest.approx(-math.log2(0.5 / 9.0), abs=1e-3)


def test_of_two_deciders_the_one_that_says_the_truth_has_the_lower_loss_and_is_calibrated() -> None:
    truth = list(np.random.default_rng(1).uniform(0.01, 0.5, size=4000))
    right, bold = scored(people(truth, truth)), scored(people(truth, [each**0.3 for each in truth]))
    assert right.log_loss < right.base_rates < bold.log_loss
    assert right.error < 0.02 < bold.error
    likes = [rate.ratio for rate in right.rates if rate.option == "like"]
    assert all(ratio.low < 1.0 < ratio.high for ratio in likes)
    assert all(rate.ratio.high < 1.0 for rate in bold.rates if rate.option == "like")


def test_rates_of_what_is_rare_tell_apart_what_bits_do_not() -> None:
    """1 like of 100 posts, where a decider expects 6: 0.015 bits, and a sixth."""
    found = scored(people([0.01] * 5000, [0.06] * 5000))
    like = next(rate.ratio for rate in found.rates if rate.option == "like" and not rate.relevance)
    assert like.high < 0.25


def test_nothing_to_score_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one choice"):
        scored([])
