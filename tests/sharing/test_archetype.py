"""Archetypes and audits: the groups of a field's values, and intervals that hold the truth as often as they say."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from prism.errors import ExpressionError
from prism.expressions import Field
from prism.sharing.archetypes import Archetypes, Judged, default_groupings, grouping
from prism.sharing.audit import corrected_shares, divergences, mean_with_interval
from tests.catalogue import catalogue

KNOWN: dict[str, tuple[Field, Any]] = {
    "post.match": (Field(name="post.match", kind="float", low=0.0, high=1.0), lambda _, post: post.match),
    "post.likes": (Field(name="post.likes", kind="int", low=0.0, high=1e12), lambda _, post: post.likes),
    "post.topics": (Field(name="post.topics", kind="texts"), lambda _, post: post.topics),
    "agent.mood": (Field(name="agent.mood", kind="text", values=("calm", "cross")), lambda agent, _: agent.mood),
    "agent.age": (Field(name="agent.age", kind="int", low=13, high=99), lambda agent, _: agent.age),
    "post.age": (Field(name="post.age", kind="int", low=0.0, high=1e12), lambda _, post: post.age),
    "agent.heat": (Field(name="agent.heat", kind="float"), lambda agent, _: agent.heat),
}
PERSON = SimpleNamespace(mood="cross", age=40, heat=-3.5)


def post(**values: object) -> SimpleNamespace:
    return SimpleNamespace(**{"match": 0.5, "likes": 0, "topics": ("art",), "age": 3, **values})


def test_bins_are_of_equal_width_and_counts_are_grouped_by_their_logarithm() -> None:
    bins, log2 = grouping("match", "4 bins", KNOWN).group, grouping("likes", "log2", KNOWN).group
    assert [bins(value) for value in (0.0, 0.24, 0.25, 0.5, 0.99, 1.0)] == [0, 0, 1, 2, 3, 3]
    assert [log2(count) for count in (0, 1, 2, 3, 4, 1023, 1024)] == [0, 1, 2, 2, 3, 10, 11]


@catalogue(
    ("name", "text", "problem"),
    [
        ("shoe", "exact", "no such field: expected one of age, heat, mood, likes, match, topics"),
        ("mach", "exact", "no such field: did you mean match?"),
        ("age", "exact", "stands for agent.age and post.age"),
        ("post.likes", "4 bins", "exact or log2, got '4 bins'"),
        ("agent.heat", "log2", "agent.heat is grouped by exact, got 'log2'"),
        ("post.match", "1001 bins", "1 to 1000 bins"),
        ("post.match", "log2", "post.match is grouped by exact or 1 to 1000 bins, such as `4 bins`, got 'log2'"),
        (
            "post.topics",
            "exact",
            "post.topics has several texts at a time, and groups are of single values: leave it out, or name another",
        ),
    ],
)
def test_what_cannot_be_grouped_is_refused_with_what_can(name: str, text: str, problem: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        grouping(name, text, KNOWN)
    assert problem in refused.value.problem


def test_by_default_ranges_are_binned_counts_logged_and_the_rest_exact() -> None:
    chosen = default_groupings(["post.match", "post.likes", "agent.mood", "post.topics", "agent.heat"], KNOWN)
    assert [(each.name, each.text) for each in chosen] == [
        ("post.match", "4 bins"),
        ("post.likes", "log2"),
        ("agent.mood", "exact"),
        ("agent.heat", "exact"),
    ]


def test_a_question_without_a_context_has_nothing_in_the_contexts_fields() -> None:
    archetypes = Archetypes([grouping("match", "2 bins", KNOWN), grouping("mood", "exact", KNOWN)], KNOWN)
    assert archetypes.key(PERSON, None) == ("", "cross")
    assert archetypes.words(("", "cross")) == "post.match: none, agent.mood: cross"
    assert dict(zip(archetypes.names, archetypes.values(PERSON, None), strict=True))["post.likes"] == ""


TRIALS = 150


def audited(own: Any, shared: tuple[float, ...], samples: int = 0) -> Judged:
    return Judged(0, 0, "decides", tuple(own), (), (), shared, samples)


def test_equal_values_between_bounds_have_the_interval_of_the_rule_of_three() -> None:
    none = mean_with_interval([0.0] * 100, (0.0, 1.0))
    assert (none.low, none.high) == pytest.approx((0.0, 0.03), abs=1e-4)
    always = mean_with_interval([-1.0] * 50, (-1.0, 1.0))
    assert (always.low, always.high) == pytest.approx((-1.0, -0.88), abs=1e-3), "surely not 0"
    weighted = mean_with_interval([0.0] * 100, (0.0, 1.0), [10.0] * 50 + [30.0] * 50)
    assert weighted.high == pytest.approx(3 * 30 / 2000, abs=1e-4), "a rare one may have been passed over"
    assert mean_with_interval([0.2] * 8, (0.0, 1.0), [1.0] * 7 + [100.0]).high == 1.0


def test_intervals_of_skewed_values_hold_their_mean() -> None:
    drawn = np.random.default_rng(5).gamma(0.3, 1.0, (TRIALS, 100))
    found = [mean_with_interval(each, (0.0, 9.0)) for each in drawn]
    held = sum((each.low or 0.0) <= 0.3 <= (each.high or 0.0) for each in found)
    assert held >= 0.92 * TRIALS


def test_a_distribution_counted_from_samples_is_hardly_further_away_than_the_true_one() -> None:
    random, shared = np.random.default_rng(7), (0.5, 0.3, 0.2)
    counted = random.multinomial(8, shared, size=3000) / 8
    plain = divergences([audited(each, shared) for each in counted]).mean()
    found = divergences([audited(each, shared, 8) for each in counted]).mean()
    assert plain > 0.03
    assert 0.0 < found < 0.3 * plain, "most of the excess is taken off"


def test_shares_are_corrected_by_what_audits_got() -> None:
    random = np.random.default_rng(8)
    own = random.dirichlet((6.0, 3.0, 1.0), 5000)
    shared = (0.5, 0.4, 0.1)
    held = 0
    for _ in range(60):
        audits = [audited(own[number], shared) for number in random.integers(0, len(own), 80)]
        held += sum(
            (found.low or 0.0) <= truth <= (found.high or 0.0)
            for found, truth in zip(corrected_shares(shared, audits), own.mean(axis=0), strict=True)
        )
    assert held >= 0.92 * 180
    assert corrected_shares(shared, audits)[0].mean == pytest.approx(0.6, abs=0.05)
