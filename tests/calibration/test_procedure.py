"""The steps of a calibration with a stand-in for runs: what is found, what is refused, and what is warned of."""

from collections.abc import Callable, Sequence
from functools import cache

import msgspec
import numpy as np
import pytest

from prism.calibration.calibration_file import Budget, Calibration, Point, Target
from prism.calibration.comparison import Observed, Real
from prism.calibration.procedure import WIDEN, Result, calibrated, reasons, required_steps
from prism.experiment.design import Range
from tests.catalogue import catalogue

pytest.importorskip("sklearn")

Model = Callable[[dict[str, float], np.random.Generator], dict[str, float]]
BUDGET = Budget(design=50, confirm=14)


class StandIn:
    def __init__(self, model: Model) -> None:
        self.model, self.points = model, dict[str, list[Point]]()

    def __call__(self, step: str, points: Sequence[Point]) -> list[Observed]:
        self.points.setdefault(step, []).extend(points)
        found = [self.model(point.values, np.random.default_rng(point.seed)) for point in points]
        return [Observed(numbers={name: float(value) for name, value in each.items()}) for each in found]


def line(values: dict[str, float], random: np.random.Generator) -> dict[str, float]:
    noise = random.normal(0.0, 0.1, 3)
    return {"a": values["x"] + noise[0], "b": 2 * values["x"] + noise[1], "c": 5.0 + noise[2]}


def target(measure: str, value: float, holdout: float | None = None) -> Target:
    return Target(measure=measure, value=value, tolerance=0.2, source="made up", holdout=holdout)


CALIBRATION = Calibration(
    base="",
    parameters={"x": Range(low=0.0, high=4.0), "idle": Range(low=0.0, high=1.0)},
    targets={"a": target("a", 3.0, holdout=3.1), "b": target("b", 6.0)},
    checks={"c": target("c", 5.0)},
    budget=BUDGET,
    seed=7,
)


def fitted(calibration: Calibration = CALIBRATION, model: Model = line) -> Result:
    return calibrated(calibration, {"x": 1.0, "idle": 0.5}, Real(), StandIn(model))


@cache
def known() -> tuple[Result, StandIn]:
    """Return the result of the calibration whose truth is known, and its runs."""
    runs = StandIn(line)
    return calibrated(CALIBRATION, {"x": 1.0, "idle": 0.5}, Real(), runs), runs


def test_a_known_truth_is_found_and_an_idle_parameter_is_named() -> None:
    result, _ = known()
    x, idle = result.estimates
    assert result.is_reported
    assert (x.low or 9.0) < 3.0 < (x.high or 0.0)
    assert x.best == pytest.approx(3.0, abs=0.2)
    assert x.is_identified is True
    assert idle.is_identified is False
    assert "idle cannot be identified from these targets" in result.warnings
    assert (result.fit or 9.0) < 1.0 < (result.base or 0.0)
    assert result.holdout is not None
    assert (result.runs, result.doubts) == ({"design": 50, "confirm": 14}, [])
    assert all(each.coverage > 0.75 and each.is_uniform for each in result.ranks)


def test_the_same_file_gives_the_same_result_and_no_seed_both_chooses_the_fit_and_confirms_it() -> None:
    result, runs = known()
    other = StandIn(line)
    assert calibrated(CALIBRATION, {"x": 1.0, "idle": 0.5}, Real(), other) == result
    assert other.points == runs.points
    seeds = [{point.seed for point in points} for points in runs.points.values()]
    assert sum(map(len, seeds)) == len(set.union(*seeds))
    assert len(seeds[0]) == 50
    confirmed, best = runs.points["confirm"], {each.parameter: each.best for each in result.estimates}
    of_best = [point.seed for point in confirmed if point.values == best]
    of_base = [point.seed for point in confirmed if point.values == {"x": 1.0, "idle": 0.5}]
    assert len(of_base) == 3
    assert set(of_best) >= set(of_base)
    chosen_by = set(of_best) - set(of_base)
    of_other = [point.seed for point in confirmed if point.seed in chosen_by and point.values != best]
    assert len(chosen_by) == len(of_other) == 1


@catalogue(
    ("changed", "step"),
    [
        ({"checks": {}}, "check on what was not fitted"),
        ({"targets": {"a": target("a", 3.0)}}, "holdout"),
        ({"budget": Budget(design=10, confirm=5)}, "ranks of known truths"),
        ({"budget": Budget(design=10, confirm=3)}, "noise floor"),
    ],
)
def test_no_fit_is_reported_without_a_step(changed: dict[str, object], step: str) -> None:
    calibration = msgspec.structs.replace(CALIBRATION, **changed)
    result = fitted(calibration)
    assert not result.is_reported
    assert required_steps(calibration, Real()) == result.steps, "the file alone says it, too"
    assert step in [each.name for each in result.steps if each.left_out]
    assert all(":" in each for each in reasons(result.steps))
    assert len(set(reasons(result.steps))) == len(reasons(result.steps))


@pytest.mark.slow
def test_a_check_that_fails_and_a_tiny_holdout_make_a_fit_doubtful() -> None:
    wrong = {"c": target("c", 9.0)}
    result = fitted(msgspec.structs.replace(CALIBRATION, checks=wrong))
    assert result.is_reported
    assert result.doubts == ["the check c fails: its real number is outside of what the posterior predicts"]
    held = Real(holdout=((3.0, 1.0, 0.7, 1.3, 5.0),) * 2)
    tiny = calibrated(CALIBRATION, {"x": 1.0, "idle": 0.5}, held, StandIn(line))
    assert tiny.doubts == ["the holdout has 2 cascades alone, and 30 are needed"]


def test_a_parameter_at_its_bound_and_a_target_out_of_reach_are_warned_of() -> None:
    out_of_reach = {"a": target("a", 9.0, holdout=9.0), "b": target("b", 18.0)}
    result = fitted(msgspec.structs.replace(CALIBRATION, targets=out_of_reach))
    assert "x is at a bound of its range: widen the range" in result.warnings
    assert f"no values in these ranges reach the target a: {WIDEN}" in result.doubts
    assert any(each.startswith("no values in these ranges reach all targets together (p ") for each in result.doubts)
    just_outside = {"a": target("a", 4.27, holdout=4.27)}
    result = fitted(msgspec.structs.replace(CALIBRATION, targets=just_outside))
    assert result.doubts == [f"no values in these ranges reach the target a: {WIDEN}"], "though by little"


def test_parameters_that_only_their_sum_tells_apart_are_not_identified() -> None:
    def sum_of(values: dict[str, float], random: np.random.Generator) -> dict[str, float]:
        noise = random.normal(0.0, 0.02, 3)
        whole = values["x"] / 4.0 + values["idle"]
        return {"a": whole + noise[0], "b": whole + noise[1], "c": noise[2]}

    targets = {"a": target("a", 1.0, holdout=1.0), "b": target("b", 1.0)}
    result = fitted(msgspec.structs.replace(CALIBRATION, targets=targets), sum_of)
    assert [each.is_identified for each in result.estimates] == [False, False]
    x = result.estimates[0]
    assert x.with_other is not None
    assert x.with_other[0] == "idle"
    assert x.with_other[1] < -0.9


@pytest.mark.slow
def test_ranks_that_are_not_uniform_make_a_fit_doubtful() -> None:
    def split(values: dict[str, float], random: np.random.Generator) -> dict[str, float]:
        # Seeds move a run up or down by as much, and hardly ever by little: no normal law is like that.
        shift = 0.8 * random.choice([-1.0, 1.0])
        return {
            name: values["x"] + shift + number for name, number in zip("abc", random.normal(0.0, 0.05, 3), strict=True)
        }

    large = msgspec.structs.replace(BUDGET, design=200)
    result = fitted(msgspec.structs.replace(CALIBRATION, budget=large), split)
    assert not result.ranks[0].is_uniform
    assert any(each.startswith("the ranks of known truths are not uniform for x (p ") for each in result.doubts)
