"""Measure whether a calibration recovers known truths: `python -m benchmarks.calibration`.

Each trial draws five parameters of a small model from their ranges, makes data with them, and calibrates as `prism
calibrate` does, by the same code, with milliseconds a run. Four of the parameters leave traces in the statistics, the
fifth leaves none. It prints for each parameter the share of the trials whose 90% interval has the truth, its Monte
Carlo error, the bias, the width of the interval, and in how many trials the parameter was named as identified.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from time import perf_counter
from typing import Final

import numpy as np

from prism.calibration.calibration_file import Budget, Calibration, Point, Target, point_at
from prism.calibration.comparison import Observed, Real
from prism.calibration.procedure import Result, calibrated
from prism.experiment.design import Range

PARAMETERS: Final[dict[str, Range]] = {
    "rate": Range(low=2.0, high=20.0, scale="log"),
    "spread": Range(low=0.2, high=1.5),
    "share": Range(low=0.1, high=0.7),
    "memory": Range(low=0.0, high=0.9),
    "colour": Range(low=0.0, high=1.0),
}
TOLERANCES: Final = {"mean": 0.5, "deviation": 0.1, "liked": 0.05, "lag": 0.1, "zeros": 0.05, "largest": 0.5}
CHECKED: Final = ("zeros", "largest")
DAYS: Final = 200
BUDGET: Final = Budget(design=320, confirm=24)
WANTED: Final = (0.85, 0.95)
IDENTIFIABLE: Final = 4


def simulated(point: Point) -> dict[str, float]:
    """Return the statistics of one run: daily counts with memory, marks with a spread, and likes."""
    random, values = np.random.default_rng(point.seed), point.values
    level, counts = 0.0, []
    for step in random.normal(size=DAYS):
        level = values["memory"] * level + math.sqrt(1 - values["memory"] ** 2) * step
        counts.append(random.poisson(values["rate"] * math.exp(0.5 * level - 0.125)))
    series, marks = np.array(counts, dtype=np.float64), random.normal(0.0, values["spread"], DAYS)
    apart = series - series.mean()
    return {
        "mean": float(series.mean()),
        "deviation": float(marks.std()),
        "liked": float((random.random(DAYS) < values["share"]).mean()),
        "lag": float((apart[1:] * apart[:-1]).mean() / max(1e-9, apart.var())),
        "zeros": float((series == 0.0).mean()),
        "largest": float(marks.max()),
    }


def made(step: str, points: Sequence[Point]) -> list[Observed]:  # noqa: ARG001  # the port has a step
    """Return the statistics of runs of the small model, in place of cells."""
    return [Observed(numbers=simulated(point)) for point in points]


def trial(number: int, budget: Budget = BUDGET) -> tuple[dict[str, float], Result]:
    """Return the truth of a trial, as places in the ranges, and the result of its calibration."""
    random = np.random.default_rng([20260101, number])
    places = random.random(len(PARAMETERS))
    truth = point_at(PARAMETERS, places, 0)
    data, again = (simulated(Point(values=truth.values, seed=int(random.integers(2**60)))) for _ in range(2))
    targets = {
        name: Target(measure=name, value=data[name], tolerance=tolerance, source="simulated", holdout=again[name])
        for name, tolerance in TOLERANCES.items()
    }
    calibration = Calibration(
        base="",
        parameters=PARAMETERS,
        targets={name: target for name, target in targets.items() if name not in CHECKED},
        checks={name: targets[name] for name in CHECKED},
        budget=budget,
        seed=number + 1,
    )
    base = point_at(PARAMETERS, [0.5] * len(PARAMETERS), 0).values
    return dict(truth.values), calibrated(calibration, base, Real(), made)


def main() -> None:
    """Print a row for each parameter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=50)
    trials = parser.parse_args().trials
    begun, found = perf_counter(), [trial(number) for number in range(trials)]
    error = math.sqrt(0.9 * 0.1 / trials)
    print(f"{trials} trials of {BUDGET.runs} runs, {(perf_counter() - begun) / trials:.1f} s each; 90% intervals")
    print(
        "| parameter | covered | error | own estimate | bias | width | identified in |\n|---|---|---|---|---|---|---|"
    )
    inside = np.zeros((trials, len(PARAMETERS)))
    for place, parameter in enumerate(PARAMETERS):
        rows = [(truth[parameter], result.estimates[place], result.ranks[place]) for truth, result in found]
        intervals = [(each.low or 0.0, each.high or 0.0) for _, each, _ in rows]
        inside[:, place] = [low <= row[0] <= high for (low, high), row in zip(intervals, rows, strict=True)]
        place_of = PARAMETERS[parameter].place_of
        bias = np.mean([place_of(each.best) - place_of(value) for value, each, _ in rows])
        own, width = (
            np.mean([known.coverage for *_, known in rows]),
            np.mean([each.width or 0.0 for _, each, _ in rows]),
        )
        named = sum(bool(each.is_identified) for _, each, _ in rows)
        covered = f"{inside[:, place].mean():.2f} | {error:.2f} | {own:.2f}"
        print(f"| {parameter} | {covered} | {bias:+.3f} | {width:.2f} | {named} of {trials} |")
    four = inside[:, :IDENTIFIABLE]
    print(
        f"the four together: {four.mean():.3f} +- {math.sqrt(0.09 / four.size):.3f} (wanted {WANTED[0]} to {WANTED[1]})"
    )
    print(f"reported: {sum(result.is_reported for _, result in found)} of {trials}")


if __name__ == "__main__":
    main()
