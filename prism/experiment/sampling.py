"""Sampled designs: points between the ends of factors, by SALib and scipy, the same ones on every machine.

| kind | is | source |
|---|---|---|
| latin_hypercube | each range is cut into as many parts as there are points, and each part has one | McKay (1979) |
| sobol | two scrambled Sobol sequences, and the first with one factor after another from the second | Saltelli (2010) |
| morris | trajectories on a grid, on which one factor after another is changed | Morris (1991) |
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism.errors import SettingError
from prism.experiment.design import Condition, Design, Range, refuse_too_many

SEED = 1
LEVELS = 4  # the grid of a Morris design; Morris (1991) has four levels, too

Array = NDArray[np.float64]


def sampled_conditions(design: Design) -> tuple[Condition, ...]:
    """Return the conditions of a sampled design: `c001`, `c002` and so on, in the order that its analysis needs."""
    points = unit_points(design)
    width, found = len(str(len(points))), list[Condition]()
    for number, point in enumerate(points.tolist(), start=1):
        values = {name: _value(design, name, unit) for name, unit in zip(design.factors, point, strict=True)}
        found.append(Condition(name=f"c{number:0{width}d}", settings=values, factors=values))
    return tuple(found)


def unit_points(design: Design) -> Array:
    """Return the points of a design, one a row and a factor a column, between 0 and 1."""
    factors, seed = len(design.factors), SEED if design.seed is None else design.seed
    if design.kind == "latin_hypercube":
        samples = design.samples or 0
        refuse_too_many(samples, "design.samples")
        from scipy.stats import qmc  # noqa: PLC0415  # scipy takes half a second to import, and is an extra

        points: Array = qmc.LatinHypercube(factors, rng=np.random.default_rng(seed)).random(samples)
        return points
    return _sobol(design, factors, seed) if design.kind == "sobol" else _morris(design, factors, seed)


def problem_of(design: Design) -> dict[str, Any]:
    """Return the factors as SALib has them, each from 0 to 1."""
    return {"num_vars": len(design.factors), "names": [*design.factors], "bounds": [[0.0, 1.0]] * len(design.factors)}


def morris_levels(design: Design) -> int:
    return design.levels or LEVELS


def _sobol(design: Design, factors: int, seed: int) -> Array:
    samples = design.samples or 0
    if samples & (samples - 1):
        below, above = 1 << (samples.bit_length() - 1), 1 << samples.bit_length()
        problem = f"a Sobol sequence is balanced for a power of 2 alone: expected {below} or {above}, got {samples}"
        raise SettingError("design", problem, keys=["design.samples"])
    refuse_too_many(samples * (factors + 2), "design.samples", f"points ({samples:,} x ({factors} factors + 2))")
    from SALib.sample import sobol  # noqa: PLC0415  # an extra

    points: Array = sobol.sample(problem_of(design), samples, calc_second_order=False, seed=np.random.default_rng(seed))
    return points


def _morris(design: Design, factors: int, seed: int) -> Array:
    trajectories, levels = design.trajectories or 0, morris_levels(design)
    if levels % 2:
        raise SettingError("design", f"expected an even number of levels, got {levels}", keys=["design.levels"])
    points_said = f"points ({trajectories:,} x ({factors} factors + 1))"
    refuse_too_many(trajectories * (factors + 1), "design.trajectories", points_said)
    from SALib.sample import morris  # noqa: PLC0415  # an extra

    points: Array = morris.sample(problem_of(design), trajectories, num_levels=levels, seed=seed)
    return points.clip(0.0, 1.0)


def _value(design: Design, name: str, unit: float) -> Any:
    """Return a factor's value at a place from 0 to 1.

    The points of a Morris design lie on a grid that has both ends, so they are rounded to the nearest level or whole
    number. Elsewhere each level and whole number has an equal part of the range.
    """
    factor, is_grid = design.factors[name], design.kind == "morris"
    if not isinstance(factor, Range):
        last = len(factor) - 1
        return factor[round(unit * last + 1e-9) if is_grid else min(int(unit * (last + 1)), last)]
    if is_grid and factor.whole and factor.scale == "linear":
        return int(factor.low) + round(unit * (factor.high - factor.low) + 1e-9)
    return factor.value_at(unit)
