"""The steps of a calibration, from the design to the holdout. Runs are made by a port, so that all else is pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

import msgspec
import numpy as np

from prism.calibration.calibration_file import Calibration, Point, Target, design_places, point_at, snapped
from prism.calibration.comparison import Comparer, Observed, Real, holdout_targets, pooled, root_mean_square
from prism.calibration.posterior import COVERED, INTERVAL, Inference, Posterior, TruthRanks, ranked
from prism.columns import Floats
from prism.wording import counted

SEEDS_A_STEP: Final = 1_000_000
STEPS: Final = {"design": 1, "confirm": 2}  # with the place of their seeds
FLOOR_RUNS: Final = 2  # the fewest runs of one configuration that have a noise floor
PREDICTED_LEAST: Final = 3
CANDIDATES: Final = 2  # the nearest run and the mean of the posterior, of which one becomes the fit
CONFIRM_NEEDED: Final = 9
"""The fewest runs of the last step: two of the base and of the fit, one for each candidate, and three draws."""
CASCADES_FEW: Final = 30
WIDEN: Final = "widen the ranges, or the model lacks something"
AT_BOUND: Final = 0.02  # the part of a range, at each end, in which a parameter is at its bound
MIDDLE: Final = 0.5
OUT_OF_REACH: Final = 0.001
"""Data that are less likely than this at the mean of their posterior are not those of the model."""
EFFECTIVE_LEAST: Final = 100  # fewer draws than these have no intervals: a few draws of large weights decide
PLACE_DIGITS: Final = 3  # Digits of the mean of a posterior, whose last ones depend on the processor
IDENTIFIED: Final = 0.7
"""The widest interval of a parameter that counts as identified, as a share of the interval that the range alone has."""
CORRELATED: Final = 0.9  # the correlation from which on two parameters are known only in combination
RUNS_LEAST: Final = 50
RUNS_PER_PARAMETER: Final = 10
"""The fewest runs from which a posterior is made, in all and for each parameter (Loeppky, Sacks & Welch 2009)."""


Runner = Callable[[str, Sequence[Point]], list[Observed]]
"""A function that makes the runs of a step, and returns what is compared of each, in the order of the points."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A step that a reported fit must have, and why it was left out; empty if it was done."""

    name: str
    left_out: str = ""


def reasons(steps: Sequence[Step]) -> list[str]:
    """Return why steps were left out, each reason once with its steps."""
    found: dict[str, list[str]] = {}
    for step in steps:
        if step.left_out:
            found.setdefault(step.left_out, []).append(step.name)
    return [f"{', '.join(names)}: {reason}" for reason, names in found.items()]


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    parameter: str
    base: float | None  # its value in the configuration that was fitted; None if that has none
    best: float  # its value in the fit
    # low, high: the 90% interval of the posterior; None without one
    low: float | None = None
    high: float | None = None
    width: float | None = None  # the width of the interval, as a share of that of the range alone
    # whether the data determine it by itself, and not only in combination with another one
    is_identified: bool | None = None
    # the parameter with the largest correlation, and that correlation; None for a single parameter
    with_other: tuple[str, float] | None = None


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """A target or a check: deviations in tolerances."""

    target: str
    is_fitted: bool
    tolerance: float
    real: float | None  # the real number; None for a shape
    # base, fit, holdout: the deviation of the base, of the fit, and of the fit from the holdout; None if unknown
    base: float | None
    fit: float | None
    holdout: float | None
    # low, high: the middle 90% of the predicted values, or distances of a shape; None if nothing was predicted
    low: float | None = None
    high: float | None = None
    # whether the real number is in that range, or the fit is within the tolerance; None if nothing was predicted
    agrees: bool | None = None


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a calibration. Distances are root mean squares of deviations, in tolerances."""

    is_reported: bool  # whether every step was done that a fit needs
    steps: list[Step]
    estimates: list[Estimate]
    compared: list[Compared]
    fit: float | None  # the distance of the fit under seeds of their own; None if there were no such runs
    base: float | None  # the same of the base, under the same seeds
    holdout: float | None  # the distance of the fit from the part of the data that was not fitted; None without one
    floor: float | None  # the median distance of two runs of the fit that differ in their seeds
    ranks: list[TruthRanks]
    # why the fit may be wrong although all parts are there: checks that fail, targets out of reach, too few draws that
    # count, a tiny holdout
    doubts: list[str]
    warnings: list[str]
    runs: dict[str, int]  # `{step: runs}`
    # real ones that were fitted, real ones of the holdout, and those of the fit that were compared
    cascades: tuple[int, int, int]
    incomparable: int  # runs of the design without cascades of the real sizes, which tell nothing by shapes
    # the number of draws of equal weight that tell as much as the posterior; None without a posterior
    effective: float | None


def runs_needed(parameters: int) -> int:
    """Return the fewest comparable runs from which a posterior is made and tested."""
    return max(RUNS_LEAST, RUNS_PER_PARAMETER * parameters)


def required_steps(calibration: Calibration, real: Real, incomparable: int = 0) -> list[Step]:
    """Return the steps that a reported fit must have, and why each is left out, before or after the runs."""
    budget, needed = calibration.budget, runs_needed(len(calibration.parameters)) + incomparable
    lost = f", of which {incomparable:,} have too few cascades of the real sizes" if incomparable else ""
    few, candidates = "", CANDIDATES
    if budget.design < needed:
        candidates = 1
        few = f"{budget.design:,} runs in the design{lost}: give `design` in `budget` {needed:,} or more"
    trials, times = _split_confirm(budget.confirm, candidates)
    short = f"too few runs: give `confirm` in `budget` {CONFIRM_NEEDED} or more"
    drawn = 0 if few else budget.confirm - candidates * trials - 2 * times
    unchecked = "the file has none: give `checks` a number that is not fitted"
    if calibration.checks:
        unchecked = "" if drawn >= PREDICTED_LEAST else few or short
    unheld = "no part of the data is held out: give `holdout` a share of the data, or a target a `holdout`"
    if holdout_targets(calibration.targets, has_cascades=bool(real.holdout)):
        unheld = "" if times else short
    left_out = {
        "noise floor": "" if times >= FLOOR_RUNS else short,
        "ranks of known truths": few,
        "identifiability": few,
        "check on what was not fitted": unchecked,
        "holdout": unheld,
    }
    return [Step(name=name, left_out=reason) for name, reason in left_out.items()]


def _split_confirm(runs: int, candidates: int) -> tuple[int, int]:
    """Return the runs of each candidate, and those of the base and of the fit."""
    times = runs // (candidates + 2)
    return (times // 2 if candidates > 1 else 0), times


def planned_runs(calibration: Calibration) -> dict[str, int]:
    """Return `{step: runs}`, fewer than the budget if a step takes only whole pairs.

    If runs of the design turn out to be no use for a posterior, its draws are left out, and there are fewer still.
    """
    budget = calibration.budget
    has_posterior = budget.design >= runs_needed(len(calibration.parameters))
    without_draws = 2 * (budget.confirm // 3)
    return {"design": budget.design, "confirm": budget.confirm if has_posterior else without_draws}


def calibrated(calibration: Calibration, base: Mapping[str, Any], real: Real, runner: Runner) -> Result:
    asked, parameters, runs = calibration, calibration.parameters, dict.fromkeys(STEPS, 0)
    comparer = Comparer(asked.targets, real.fitted)

    def made(step: str, values: Sequence[Mapping[str, Any]], seeds: Sequence[int]) -> list[Observed]:
        runs[step] += len(values)
        first = asked.seed * 10 * SEEDS_A_STEP + STEPS[step] * SEEDS_A_STEP + 1
        points = [Point(values=dict(each), seed=first + seed) for each, seed in zip(values, seeds, strict=True)]
        return runner(step, points) if points else []

    def run(step: str, places: Floats, seeds: Sequence[int]) -> list[Observed]:
        return made(step, [point_at(parameters, each, 0).values for each in places], seeds)

    def apart(each: Sequence[Observed]) -> float:
        return root_mean_square(comparer.deviations(pooled(each)).values()) if each else math.inf

    # 1. Runs over all ranges, and the posterior that they give.
    places = design_places(parameters, asked.budget.design, asked.seed)
    observed = run("design", places, range(len(places)))
    snapped_places, wanted = snapped(parameters, places), comparer.wanted()
    table = np.array([comparer.statistics(each) for each in observed], dtype=np.float64)
    incomparable = sum(not np.isfinite(each).all() for each in table)
    posterior: Posterior | None = None
    ranks, reach = list[TruthRanks](), 1.0
    if len(table) - incomparable >= runs_needed(len(parameters)):
        from threadpoolctl import threadpool_limits  # noqa: PLC0415  # it comes with scikit-learn

        # Several threads take ten times as long on matrices of this size, and sum in another order on each machine.
        with threadpool_limits(1):
            inference = Inference(parameters, snapped_places, table)
            ranks = ranked(parameters, snapped_places, table, inference, wanted)
            posterior = inference.posterior(wanted)
            reach = inference.reach(posterior, wanted)
    # 2. Choose between the candidates, and run the chosen one and the base under new seeds. So luck in the choice does
    # not lower the distance of the fit. Draws of the posterior get the remaining runs.
    nearest = int(np.argmin([apart([each]) for each in observed])) if observed else None
    candidates = [np.full(len(parameters), MIDDLE) if nearest is None else places[nearest]]
    candidates += [] if posterior is None else [np.round(posterior.mean(), PLACE_DIGITS)]
    trials, times = _split_confirm(asked.budget.confirm, len(candidates))
    tried = [apart(run("confirm", np.tile(each, (trials, 1)), range(trials))) for each in candidates]
    best = candidates[int(np.argmin(tried)) if trials else 0]
    seeds = range(trials, trials + times)
    of_base = made("confirm", [base] * times, seeds)
    of_fit = run("confirm", np.tile(best, (times, 1)), seeds)
    left = asked.budget.confirm - runs["confirm"]
    drawn = np.empty((0, len(parameters))) if posterior is None else posterior.draws(left, asked.seed)
    predicted = run("confirm", drawn, range(seeds.stop, seeds.stop + len(drawn)))
    # 3. What came out.
    of_pairs = [comparer.between(one, other) for one, other in combinations(of_fit, 2)]
    compared = _compared(asked, real, of_base, of_fit, predicted)
    steps = required_steps(asked, real, incomparable)
    held_out = [each.holdout for each in compared if each.holdout is not None]
    result = Result(
        is_reported=not any(step.left_out for step in steps),
        steps=steps,
        estimates=_estimates(asked, base, best, posterior),
        compared=compared,
        fit=apart(of_fit) if of_fit else None,
        base=apart(of_base) if of_base else None,
        holdout=root_mean_square(held_out) if held_out else None,
        floor=float(np.median(of_pairs)) if of_pairs else None,
        ranks=ranks,
        doubts=[],
        warnings=[],
        runs=runs,
        cascades=(len(real.fitted), len(real.holdout), comparer.count_compared(pooled(of_fit))),
        incomparable=incomparable,
        effective=None if posterior is None else posterior.effective,
    )
    doubts, warnings = [*_doubts(asked, result, reach)], [*_warnings(asked, result, best)]
    return msgspec.structs.replace(result, doubts=doubts, warnings=warnings)


def _compared(
    asked: Calibration, real: Real, bases: list[Observed], fits: list[Observed], draws: list[Observed]
) -> list[Compared]:
    every, out = Comparer(asked.compared, real.fitted), holdout_targets(asked.targets, has_cascades=bool(real.holdout))
    of_base, of_fit = (every.deviations(pooled(each)) if each else {} for each in (bases, fits))
    of_out = Comparer(out, real.holdout).deviations(pooled(fits)) if fits and out else {}
    predicted = [every.deviations(each) for each in draws]
    return [
        Compared(
            target=name,
            is_fitted=name in asked.targets,
            tolerance=target.unit,
            real=target.value,
            base=of_base.get(name),
            fit=of_fit.get(name),
            holdout=of_out.get(name),
            **_predicted(target, [each[name] for each in predicted]),
        )
        for name, target in asked.compared.items()
    ]


def _predicted(target: Target, deviations: Sequence[float]) -> dict[str, Any]:
    """Return the middle 90% of predicted values, or distances of a shape, and whether the real number agrees."""
    if len(deviations) < PREDICTED_LEAST:
        return {}
    low, middle, high = (float(each) for each in np.quantile(deviations, (INTERVAL[0], MIDDLE, INTERVAL[1])))
    agrees = middle <= 1.0 if target.value is None else low <= 0.0 <= high or abs(middle) <= 1.0
    real = target.value or 0.0  # 0 of a shape
    return {"low": real + low * target.unit, "high": real + high * target.unit, "agrees": agrees}


def _estimates(
    asked: Calibration, base: Mapping[str, Any], best: Floats, posterior: Posterior | None
) -> list[Estimate]:
    found, names = [], [*asked.parameters]
    limits = np.empty(0) if posterior is None else posterior.quantiles(INTERVAL)
    correlations = np.empty(0) if posterior is None else posterior.correlations()
    for place, (name, parameter) in enumerate(asked.parameters.items()):
        own, known = base.get(name), dict[str, Any]()
        if posterior is not None:
            low, high = (float(each) for each in limits[place])
            others = [each for each in range(len(names)) if each != place]
            other = max(others, key=lambda each: abs(correlations[place, each]), default=None)
            largest = 0.0 if other is None else float(correlations[place, other])
            width = (high - low) / COVERED
            known = {
                "low": parameter.value_at(low),
                "high": parameter.value_at(high),
                "width": width,
                "is_identified": width <= IDENTIFIED and abs(largest) < CORRELATED,
                "with_other": None if other is None else (names[other], largest),
            }
        best_value = parameter.value_at(float(best[place]))
        found.append(Estimate(parameter=name, base=None if own is None else float(own), best=best_value, **known))
    return found


def _doubts(asked: Calibration, result: Result, reach: float) -> Iterator[str]:
    """Yield why a complete fit may still be wrong."""
    for each in result.compared:
        if not each.is_fitted and each.agrees is False:
            yield f"the check {each.target} fails: its real number is outside of what the posterior predicts"
    # The targets that no values reach, alone or together; intervals are then those of a wrong model.
    has_others, is_too_far = len(asked.targets) > 1, reach < OUT_OF_REACH
    if is_too_far and has_others:
        yield f"no values in these ranges reach all targets together (p {reach:.1g}): {WIDEN}"
    for each in result.compared:
        if each.is_fitted and (each.agrees is False or (is_too_far and not has_others)):
            yield f"no values in these ranges reach the target {each.target}: {WIDEN}"
    if result.effective is not None and result.effective < EFFECTIVE_LEAST:
        yield (
            f"the posterior is made of {result.effective:.2g} draws that count, and {EFFECTIVE_LEAST} are needed: fit "
            "fewer parameters, or give narrower ranges"
        )
    for known in result.ranks:
        if not known.is_uniform:
            yield (
                f"the ranks of known truths are not uniform for {known.parameter} (p {known.likelihood:.1g}): its 90% "
                f"intervals hold {known.coverage:.2g} of them"
            )
    if 0 < (held := result.cascades[1]) < CASCADES_FEW:
        yield f"the holdout has {counted(held, 'cascade')} alone, and {CASCADES_FEW} are needed"


def _warnings(asked: Calibration, result: Result, best: Floats) -> Iterator[str]:
    for place, (name, parameter) in zip(best.tolist(), asked.parameters.items(), strict=True):
        is_inside = AT_BOUND < place < 1 - AT_BOUND and parameter.low < parameter.value_at(place) < parameter.high
        if result.is_reported and not is_inside:
            yield f"{name} is at a bound of its range: widen the range"
    for each in result.estimates:
        if each.width is not None and not each.is_identified:
            other = f", and goes with {each.with_other[0]}" if each.with_other and each.width <= IDENTIFIED else ""
            yield f"{each.parameter} cannot be identified from these targets{other}"
    widths = [each.width for each in result.estimates if each.width is not None]
    if widths and min(widths) > IDENTIFIED:
        yield "the posterior is like the ranges: the data tell nothing of these parameters"
    if any(each.shape is not None for each in asked.targets.values()) and result.cascades[2] < CASCADES_FEW:
        few = f"{result.cascades[2]} of the fit have real ones of their sizes, {CASCADES_FEW} are needed"
        yield f"too few cascades: {few}"
    if result.is_reported and result.fit is not None and result.base is not None and result.fit >= result.base:
        yield "the fit is no better than the base"
