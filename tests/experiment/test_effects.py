"""Effects of factors: functions whose values are known, and their edges."""

from typing import Any

import numpy as np
import pytest

from prism.experiment.design import Design, Range, conditions_of, unit_points
from prism.experiment.effects import effects_on
from tests.catalogue import catalogue


def sampled(kind: str, factors: int, **others: Any) -> Design:
    ranges = {f"x.x{place}": Range(low=0.0, high=1.0) for place in range(1, factors + 1)}
    return Design(kind=kind, factors=ranges, **others)  # type: ignore[arg-type]


def values_of(design: Design, table: Any) -> dict[tuple[str, str], float]:
    """Return `{(factor, kind or level): value}`."""
    found = effects_on("m", design, conditions_of(design), np.asarray(table, dtype=np.float64))
    for each in found.effects:
        assert each.low is None or each.low <= each.value + 1e-9
        assert each.high is None or each.high >= each.value - 1e-9
    return {(each.factor, each.level or each.kind): each.value for each in found.effects}


def test_sobol_indices_of_the_ishigami_function_are_the_analytic_ones() -> None:
    """Ishigami and Homma (1990), a = 7, b = 0.1: first order 0.314, 0.442, 0; total 0.558, 0.442, 0.244."""
    design = sampled("sobol", 3, samples=512)
    x1, x2, x3 = (unit_points(design).T - 0.5) * 2 * np.pi
    exact = np.sin(x1) + 7 * np.sin(x2) ** 2 + 0.1 * x3**4 * np.sin(x1)
    seeds = exact[:, None] + np.array([-2.0, 0.5, 3.0])  # a seed that moves all points alike changes no index
    found = values_of(design, seeds * 1e-9)
    for place, (first, total) in enumerate([(0.3139, 0.5576), (0.4424, 0.4424), (0.0, 0.2437)], start=1):
        assert found[f"x.x{place}", "first_order"] == pytest.approx(first, abs=0.05)
        assert found[f"x.x{place}", "total"] == pytest.approx(total, abs=0.05)


def test_slopes_of_a_latin_hypercube_are_those_of_a_plane() -> None:
    design = sampled("latin_hypercube", 2, samples=40)
    x1, x2 = unit_points(design).T
    found = values_of(design, (3 * x1 - 4 * x2)[:, None] + np.array([-1.0, 1.0]))
    assert found["x.x1", "slope"] == pytest.approx(3 * x1.std() / (3 * x1 - 4 * x2).std(), rel=1e-4)
    assert found["x.x2", "slope"] == pytest.approx(-4 * x2.std() / (3 * x1 - 4 * x2).std(), rel=1e-4)


def test_levels_are_compared_with_all_and_one_at_a_time_with_the_first() -> None:
    levels: dict[str, Any] = {"x.a": [1, 2], "x.b": ["p", "q", "r"]}
    full = [[1.0, 2], [2, 3], [3, 4], [11, 14], [12, 15], [13, 16]]
    found = values_of(Design(kind="factorial", factors=levels), full)
    assert found["x.a", "1"] == pytest.approx(-5.5)
    assert found["x.a", "2"] == pytest.approx(5.5)
    assert [found["x.b", level] for level in "pqr"] == pytest.approx([-1, 0, 1])
    alone = values_of(Design(kind="one_at_a_time", factors=levels), [[1.0, 2], [4, 6], [0, 1], [9, 9]])
    assert alone == pytest.approx({("x.a", "2"): 3.5, ("x.b", "q"): -1.0, ("x.b", "r"): 7.5})


@catalogue(
    ("design", "count", "note"),
    [
        (sampled("latin_hypercube", 3, samples=7), 7, "m: no slopes: 3 factors need 8 conditions or more"),
        (sampled("sobol", 1, samples=2), 6, "m: all values are equal, so there are no effects"),
    ],
)
def test_effects_that_cannot_be_told_are_said(design: Design, count: int, note: str) -> None:
    table = np.ones((count, 3)) if "equal" in note else np.random.default_rng(1).normal(size=(count, 3))
    found = effects_on("m", design, conditions_of(design), table)
    assert (found.effects, found.note) == ([], note)


def test_effects_that_are_rounding_alone_are_zero_and_have_no_interval() -> None:
    design = Design(kind="factorial", factors={"x": [1, 2, 3], "y": ["a", "b"]})
    found = effects_on("m", design, conditions_of(design), np.array([[0.1, 0.2, 0.7, 0.3]] * 6))
    assert {(each.value, each.low, each.high) for each in found.effects} == {(0.0, None, None)}
