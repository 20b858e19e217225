"""Sequential seeds: the rule looks at widths alone, and stops where it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from prism.errors import ConfigError
from prism.experiment import Sequential, described, read_experiment, stopped
from tests.catalogue import catalogue

HEAD = "question: Does it matter?\nbase: base.yaml\nmeasures: {likes: likes}\n"
LIST = "design: {conditions: {a: {feed.size: 3}, b: {feed.size: 5}}}\n"


def rule(**others: Any) -> Sequential:
    return Sequential(**{"measure": "likes", "half_width": 0.5, "least": 10, "most": 40, "step": 10, **others})


def drawn(seed: int, count: int, scale: float = 1.0) -> list[float]:
    return list(np.random.default_rng(seed).normal(10.0, scale, size=count))


def test_it_goes_on_while_one_interval_is_too_wide_and_stops_when_all_are_narrow() -> None:
    narrow, wide = drawn(1, 20, 0.5), drawn(2, 20, 3.0)
    assert stopped(rule(), {"a": narrow, "b": wide}, 20) is None
    end = stopped(rule(), {"a": narrow, "b": drawn(3, 20, 0.6)}, 20)
    assert end is not None
    assert (end.reason, end.seeds, end.looks, end.widest, end.wanted) == ("narrow", 20, 2, "b", 0.5)
    over = described(drawn(3, 20, 0.6))
    assert end.half_width == pytest.approx(((over.high or 0) - (over.low or 0)) / 2)
    assert str(end).startswith(
        "stopped at 20 seeds after 2 looks: every interval is narrow enough; the widest interval"
    )
    assert ", of b, has a half-width of 0." in str(end)


def test_a_contrast_is_looked_at_by_its_pairs_and_its_sign_does_not_matter() -> None:
    shared = np.array(drawn(4, 10, 5.0))
    own = np.random.default_rng(5).normal(size=(2, 10)) * 0.2
    values = {"a": list(shared + own[0] + 3), "b": list(shared + own[1])}
    assert stopped(rule(), values, 10) is None, "each mean alone is wide"
    end = stopped(rule(contrast=("a", "b")), values, 10)
    assert end is not None
    assert end.reason == "narrow"
    mirrored = stopped(rule(contrast=("b", "a")), values, 10)
    assert mirrored is not None
    assert mirrored.half_width == pytest.approx(end.half_width, rel=0.2)


def test_equal_values_are_no_narrow_interval_and_the_limit_ends_it() -> None:
    values = {"a": [3.0] * 10, "b": drawn(8, 10, 0.1)}
    assert stopped(rule(), values, 10) is None
    end = stopped(rule(), {"a": [3.0] * 40, "b": drawn(8, 40, 0.1)}, 40)
    assert end is not None
    assert (end.reason, end.widest, end.half_width) == ("most", "a", None)
    assert "the widest interval, of a, cannot be worked out" in str(end)


def test_failed_cells_end_it_at_once_also_where_nothing_has_a_result() -> None:
    end = stopped(rule(), {"a": drawn(9, 9, 0.1), "b": drawn(9, 10, 0.1)}, 10, has_failed=True)
    assert end is not None
    assert end.reason == "failed"
    for contrast in (None, ("a", "b")):
        none = stopped(rule(contrast=contrast), {"a": [], "b": []}, 10, has_failed=True)
        assert none is not None
        assert (none.reason, none.half_width) == ("failed", None)


@catalogue(
    ("seeds", "problem"),
    [
        (
            "{measure: love, half_width: 1}",
            "e.yaml:5: seeds.measure: no 'love' among the measures: expected one of likes",
        ),
        ("{measure: likes}", "e.yaml:5: seeds: expected half_width or relative"),
        ("{measure: likes, half_width: .inf}", "e.yaml:5: seeds.half_width: expected float > 0 or none, got .inf"),
        (
            "{measure: likes, half_width: 1, most: 9}",
            "e.yaml:5: seeds.most: expected at least 10, the key least, got 9",
        ),
        (
            "{measure: likes, half_width: 1, contrast: [a, c]}",
            "e.yaml:5: seeds.contrast: no 'c' among the conditions: expected one of a, b",
        ),
        (
            "{measure: likes, half_width: 1, contrast: [a, a]}",
            "e.yaml:5: seeds.contrast: expected two different conditions",
        ),
    ],
)
def test_a_rule_that_cannot_be_is_refused_with_its_line(seeds: str, problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_experiment(f"{HEAD}{LIST}seeds: {seeds}\n", "e.yaml")
    assert str(refused.value).replace("`", "").startswith(problem)
