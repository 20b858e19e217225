"""The steps of a calibration, from the design to the holdout. Runs are made by a port, so that all else is pure."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from prism.calibration.calibration_file import (
    DESIGN,
    Budget,
    Calibration,
    Point,
    Target,
    design_places,
    point_at,
    snapped,
    split,
)
from prism.calibration.comparison import (
    Comparer,
    Observed,
    Real,
    holdout_targets,
    pairs_apart,
    pooled,
    root_mean_square,
)
from prism.calibration.posterior import (
    CORRELATED,
    COVERED,
    IDENTIFIED,
    INTERVAL,
    Inference,
    Posterior,
    TruthRanks,
    ranked,
)
from prism.columns import Floats

SEEDS_A_STEP: Final = 1_000_000
STEPS: Final = {"design": 1, "confirm": 2}  # with the place of their seeds
FLOOR_RUNS: Final = 2  # the fewest runs of one configuration that have a noise floor
PREDICTED_LEAST: Final = 3
CANDIDATES: Final = 2  # the nearest run and the mean of the posterior, of which one becomes the fit
CASCADES_FEW: Final = 30
WIDEN: Final = "widen the ranges, or the model lacks something"
AT_BOUND: Final = 0.02  # the part of a range, at each end, in which a parameter is at its bound
MIDDLE: Final = 0.5
OUT_OF_REACH: Final = 0.001
"""Data that are less likely than this at the mean of their posterior are not those of the model."""
EFFECTIVE_LEAST: Final = 100  # fewer draws than these have no intervals: a few draws of large weights decide
PLACE_DIGITS: Final = 3  # Digits of the mean of a posterior, whose last ones depend on the processor
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
    nearest: float  # the smallest deviation of all runs
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
    fitted_alike: float | None  # the distance of the fit from the fitted part, in the same targets
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


def calibrated(calibration: Calibration, base: Mapping[str, Any], real: Real, runner: Runner) -> Result:
    return _Procedure(calibration, base, real, runner).result()


def _split_confirm(runs: int, candidates: int) -> tuple[int, int]:
    times = runs // (candidates + 2)
    return (times // 2 if candidates > 1 else 0), times


CONFIRM_NEEDED: Final = 9
"""The fewest runs of the last step: two of the base and of the fit, one for each candidate, and three draws."""


def runs_needed(parameters: int) -> int:
    """Return the fewest comparable runs from which a posterior is made and tested."""
    return max(RUNS_LEAST, RUNS_PER_PARAMETER * parameters)


def required_steps(calibration: Calibration, real: Real, incomparable: int = 0) -> list[Step]:
    """Return the steps that a reported fit must have, and why each is left out, before or after the runs."""
    budget = calibration.runs
    has_posterior = budget.design - incomparable >= runs_needed(len(calibration.parameters))
    few = "" if has_posterior else _short_design(calibration, incomparable)
    candidates = CANDIDATES if has_posterior else 1
    trials, times = _split_confirm(budget.confirm, candidates)
    short = f"too few runs: give {_enough(calibration, 'confirm', CONFIRM_NEEDED)}"
    drawn = budget.confirm - candidates * trials - 2 * times if has_posterior else 0
    checks = "" if drawn >= PREDICTED_LEAST else few or short
    out = holdout_targets(calibration.targets, has_cascades=bool(real.holdout))
    none = "no part of the data is held out: give `holdout` a share of the data, or a target a `holdout`"
    return [
        Step(name="noise floor", left_out="" if times >= FLOOR_RUNS else short),
        Step(name="ranks of known truths", left_out=few),
        Step(name="identifiability", left_out=few),
        Step(
            name="check on what was not fitted",
            left_out=checks if calibration.checks else "the file has none: give `checks` a number that is not fitted",
        ),
        Step(name="holdout", left_out=none if not out else "" if times else short),
    ]


def _short_design(calibration: Calibration, incomparable: int) -> str:
    needed = runs_needed(len(calibration.parameters)) + incomparable
    lost = f", of which {incomparable:,} have too few cascades of the real sizes" if incomparable else ""
    return (
        f"{calibration.runs.design:,} runs in the design{lost}: give {_enough(calibration, 'design', needed)}, and "
        f"{max(DESIGN, needed):,} in the design for narrow intervals"
    )


def _enough(calibration: Calibration, step: str, needed: int) -> str:
    """Return the budget that gives a step the runs it needs, written as the file writes it."""
    if isinstance(calibration.budget, Budget):
        return f"`{step}` in `budget` {needed:,} or more"
    number = next(runs for runs in itertools.count(1) if getattr(split(runs), step) >= needed)
    return f"`budget` {number:,} or more"


def few_for_intervals(calibration: Calibration) -> str:
    """Return the remark that a larger design would give narrower intervals; empty if the design is large."""
    had = calibration.runs.design
    return f"the design has {had:,} runs: with {DESIGN} or more, intervals are narrower" if had < DESIGN else ""


def planned_runs(calibration: Calibration) -> dict[str, int]:
    """Return `{step: runs}`, fewer than the budget if a step takes only whole pairs.

    If runs of the design turn out to be no use for a posterior, its draws are left out, and there are fewer still.
    """
    budget, parameters = calibration.runs, len(calibration.parameters)
    has_posterior = budget.design >= runs_needed(parameters)
    return {
        "design": budget.design,
        "confirm": budget.confirm if has_posterior else 2 * (budget.confirm // 3),  # without draws
    }


class _Procedure:
    def __init__(self, calibration: Calibration, base: Mapping[str, Any], real: Real, runner: Runner) -> None:
        self._asked, self._base, self._real, self._runner = calibration, base, real, runner
        self._parameters = calibration.parameters
        self._names = [*calibration.parameters]
        self._comparer = Comparer(calibration.targets, real.fitted)
        self._all = Comparer(calibration.compared, real.fitted)
        self._reach = 1.0
        self._nearest = dict.fromkeys(calibration.compared, float("inf"))
        self._runs = dict.fromkeys(STEPS, 0)
        # The runs of the last step, and the places of the fit.
        self._of_base, self._of_fit, self._predicted = list[Observed](), list[Observed](), list[Observed]()
        self._best = np.full(len(self._names), MIDDLE)

    def result(self) -> Result:
        asked, real = self._asked, self._real
        places = design_places(self._parameters, asked.runs.design, asked.seed)
        observed = self._run("design", places)
        deviations = [self._all.deviations(each) for each in observed]
        self._nearest |= {name: min(abs(each[name]) for each in deviations) for name in self._nearest if deviations}
        distances = [root_mean_square(each[name] for name in asked.targets) for each in deviations]
        posterior, ranks, incomparable = self._infer(snapped(self._parameters, places), observed)
        # Choose between the candidates, and run the chosen one and the base under new seeds. So luck in the
        # choice does not lower the distance of the fit. Draws of the posterior get the remaining runs.
        candidates = [places[int(np.argmin(distances))] if distances else self._best]
        candidates += [] if posterior is None else [np.round(posterior.mean(), PLACE_DIGITS)]
        trials, times = _split_confirm(asked.runs.confirm, len(candidates))
        tried = [self._apart(self._run("confirm", np.tile(each, (trials, 1)), range(trials))) for each in candidates]
        self._best = candidates[int(np.argmin(tried)) if trials else 0]
        seeds = range(trials, trials + times)
        of_base = [Point(values=dict(self._base), seed=self._seed("confirm", seed)) for seed in seeds]
        self._of_base = self._made("confirm", of_base)
        self._of_fit = self._run("confirm", np.tile(self._best, (times, 1)), seeds)
        left = asked.runs.confirm - self._runs["confirm"]
        drawn = np.empty((0, len(self._names))) if posterior is None else posterior.draws(left, asked.seed)
        self._predicted = self._run("confirm", drawn, range(seeds.stop, seeds.stop + len(drawn)))
        # What came out.
        apart = pairs_apart(self._comparer, self._of_fit)
        out = holdout_targets(asked.targets, has_cascades=bool(real.holdout))
        compared = self._compared(out)
        steps = required_steps(asked, real, incomparable)
        effective = None if posterior is None else posterior.effective
        of_fitted_part = [each.fit for each in compared if each.target in out and each.fit is not None]
        result = Result(
            is_reported=not any(step.left_out for step in steps),
            steps=steps,
            estimates=self._estimates(posterior),
            compared=compared,
            fit=self._apart(self._of_fit) if self._of_fit else None,
            base=self._apart(self._of_base) if self._of_base else None,
            holdout=root_mean_square(each.holdout for each in compared if each.holdout is not None) if out else None,
            fitted_alike=root_mean_square(of_fitted_part) if out else None,
            floor=float(np.median(apart)) if apart else None,
            ranks=ranks,
            doubts=self._doubts(compared, ranks, effective),
            warnings=[],
            runs=self._runs,
            cascades=(len(real.fitted), len(real.holdout), self._comparer.count_compared(pooled(self._of_fit))),
            incomparable=incomparable,
            effective=effective,
        )
        has_shapes = any(each.shape is not None for each in self._asked.targets.values())
        found = [
            f"{each.parameter} is at a bound of its range: widen the range"
            for each, parameter, place in zip(result.estimates, self._parameters.values(), self._best, strict=True)
            if result.is_reported
            and (not AT_BOUND < place < 1 - AT_BOUND or parameter.value_at(place) in (parameter.low, parameter.high))
        ]
        found += _unidentified(result.estimates, few_for_intervals(self._asked))
        found += [
            f"no run comes near the target {each.target}: the nearest is {each.nearest:.3g} tolerances away"
            for each in result.compared
            if each.is_fitted and 1.0 < each.nearest < float("inf")
        ]
        if has_shapes and result.cascades[2] < CASCADES_FEW:
            found.append(
                f"too few cascades: {result.cascades[2]} of the fit have real ones of their sizes, "
                f"{CASCADES_FEW} are needed"
            )
        if result.is_reported and result.fit is not None and result.base is not None and result.fit >= result.base:
            found.append("the fit is no better than the base")
        return msgspec.structs.replace(result, warnings=found)

    def _seed(self, step: str, number: int) -> int:
        return self._asked.seed * 10 * SEEDS_A_STEP + STEPS[step] * SEEDS_A_STEP + 1 + number

    def _run(self, step: str, places: Floats, seeds: Sequence[int] | None = None) -> list[Observed]:
        """Run places; seeds are counted within the step, and by default each run has one of its own."""
        own = range(self._runs[step], self._runs[step] + len(places)) if seeds is None else seeds
        pairs = zip(places, own, strict=True)
        return self._made(step, [point_at(self._parameters, each, self._seed(step, seed)) for each, seed in pairs])

    def _made(self, step: str, points: Sequence[Point]) -> list[Observed]:
        self._runs[step] += len(points)
        return self._runner(step, points) if points else []

    def _infer(self, places: Floats, observed: Sequence[Observed]) -> tuple[Posterior | None, list[TruthRanks], int]:
        statistics, wanted = [self._comparer.statistics(each) for each in observed], self._comparer.wanted()
        incomparable = sum(not np.isfinite(each).all() for each in statistics)
        if len(statistics) - incomparable < runs_needed(len(self._names)):
            return None, [], incomparable
        table = np.array(statistics, dtype=np.float64)
        from threadpoolctl import threadpool_limits  # noqa: PLC0415  # it comes with scikit-learn

        # Several threads take ten times as long on matrices of this size, and sum in another order on each machine.
        with threadpool_limits(1):
            inference = Inference(self._parameters, places, table)
            ranks = ranked(self._parameters, places, table, inference, wanted)
            posterior = inference.posterior(wanted)
            self._reach = inference.reach(posterior, wanted)
            return posterior, ranks, incomparable

    def _apart(self, runs: Sequence[Observed]) -> float:
        return root_mean_square(self._comparer.deviations(pooled(runs)).values()) if runs else float("inf")

    def _compared(self, out: Mapping[str, Target]) -> list[Compared]:
        of_fit = self._all.deviations(pooled(self._of_fit)) if self._of_fit else {}
        of_base = self._all.deviations(pooled(self._of_base)) if self._of_base else {}
        of_out = Comparer(out, self._real.holdout).deviations(pooled(self._of_fit)) if self._of_fit and out else {}
        predicted = [self._all.deviations(each) for each in self._predicted]
        found = []
        for name, target in self._asked.compared.items():
            low, high, agrees = _predicted(target, [each[name] for each in predicted])
            found.append(
                Compared(
                    target=name,
                    is_fitted=name in self._asked.targets,
                    tolerance=target.unit,
                    real=next((each for each in (target.value, target.most, target.least) if each is not None), None),
                    base=of_base.get(name),
                    fit=of_fit.get(name),
                    holdout=of_out.get(name),
                    nearest=self._nearest[name],
                    low=low,
                    high=high,
                    agrees=agrees,
                )
            )
        return found

    def _estimates(self, posterior: Posterior | None) -> list[Estimate]:
        found = []
        limits = None if posterior is None else posterior.quantiles(INTERVAL)
        correlations = None if posterior is None else posterior.correlations()
        for place, (name, parameter) in enumerate(self._parameters.items()):
            base = self._base.get(name)
            estimate = Estimate(
                parameter=name,
                base=None if base is None else float(base),
                best=parameter.value_at(float(self._best[place])),
            )
            if limits is not None and correlations is not None:
                low, high = (float(each) for each in limits[place])
                others = [each for each in range(len(self._names)) if each != place]
                other = max(others, key=lambda each: abs(correlations[place, each]), default=None)
                width = (high - low) / COVERED
                largest = 0.0 if other is None else float(correlations[place, other])
                estimate = msgspec.structs.replace(
                    estimate,
                    low=parameter.value_at(low),
                    high=parameter.value_at(high),
                    width=width,
                    is_identified=width <= IDENTIFIED and abs(largest) < CORRELATED,
                    with_other=None if other is None else (self._names[other], largest),
                )
            found.append(estimate)
        return found

    def _doubts(self, compared: Sequence[Compared], ranks: Sequence[TruthRanks], effective: float | None) -> list[str]:
        """Return why a complete fit may still be wrong."""
        held = len(self._real.holdout)
        few = (
            f"the holdout has {held} {'cascade' if held == 1 else 'cascades'} alone, and {CASCADES_FEW} are needed"
            if 0 < held < CASCADES_FEW
            else ""
        )
        failed = [each.target for each in compared if not each.is_fitted and each.agrees is False]
        said = [f"the check {name} fails: its real number is outside of what the posterior predicts" for name in failed]
        # The targets that no values reach, alone or together; intervals are then those of a wrong model.
        found = []
        has_others, is_too_far = len(self._asked.targets) > 1, self._reach < OUT_OF_REACH
        if is_too_far and has_others:
            found.append(f"all targets together (p {self._reach:.1g})")
        for each in compared:
            if each.is_fitted and (each.agrees is False or (is_too_far and not has_others)):
                others = " together with the others" if has_others and each.nearest <= 1.0 else ""
                found.append(f"the target {each.target}{others}")
        said += [f"no values in these ranges reach {what}: {WIDEN}" for what in found]
        if effective is not None and effective < EFFECTIVE_LEAST:
            said.append(
                f"the posterior is made of {effective:.2g} draws that count, and {EFFECTIVE_LEAST} are needed: fit "
                "fewer parameters, or give narrower ranges"
            )
        said += [
            f"the ranks of known truths are not uniform for {each.parameter} (p {each.likelihood:.1g}): its 90% "
            f"intervals hold {each.coverage:.2g} of them"
            for each in ranks
            if not each.is_uniform
        ]
        return [*said, *([few] if few else [])]


def _unidentified(estimates: Sequence[Estimate], few: str) -> list[str]:
    found = list[str]()
    for each in estimates:
        if each.width is not None and not each.is_identified:
            other = f", and goes with {each.with_other[0]}" if each.with_other and each.width <= IDENTIFIED else ""
            found.append(f"{each.parameter} cannot be identified from these targets{other}")
    if found and few:
        found.append(few)
    widths = [each.width for each in estimates if each.width is not None]
    if widths and min(widths) > IDENTIFIED:
        found.append("the posterior is like the ranges: the data tell nothing of these parameters")
    return found


def _predicted(target: Target, deviations: Sequence[float]) -> tuple[float | None, float | None, bool | None]:
    """Return the middle 90% of predicted values, or distances of a shape, and whether the real number agrees."""
    if len(deviations) < PREDICTED_LEAST:
        return None, None, None
    low, middle, high = (float(each) for each in np.quantile(deviations, (INTERVAL[0], MIDDLE, INTERVAL[1])))
    if target.value is None:  # a limit, or a shape
        return low * target.unit, high * target.unit, middle <= 1.0
    return target.value + low * target.unit, target.value + high * target.unit, low <= 0.0 <= high or abs(middle) <= 1.0
