"""The file of a calibration: a base, data, parameters with ranges, targets, checks, a holdout and a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta

from prism.columns import Floats
from prism.config.yaml_text import read_as
from prism.experiment.design import Range, refusal
from prism.experiment.experiment_file import SEED_KEY, SharedOracle

WITHOUT_EFFECT = ("run.", "metrics.", "llm.prices.")  # settings that change no result of a run
SIZE = "size"
SHAPES = (SIZE, "depth", "breadth_share", "virality", "half_minutes")
SHAPE_TOLERANCE = 0.25
"""The distance of two distributions of shapes that counts as one tolerance: the limit of the scorecard."""
RUNS_MAX = 100_000
PARAMETERS_MAX = 30
DESIGN = 300  # the runs of a design from which emulators learn well


class Target(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number of the real world, or a shape of its cascades, with the same of a run.

    Args:
        measure: where a run has the number; see docs/experiments.md.
        shape: a number of each cascade, whose distribution is compared with that of the data: at equal sizes, except
            for the size itself.
        value: the real number.
        tolerance: the deviation that counts as 1, in the unit of the measure; of a shape, the distance that does.
        error: the standard error of the real number, for the posterior; None if it is taken for exact.
        source: where the real number is from.
        holdout: the real number in the part of the data that is not fitted.
    """

    measure: str | None = None
    shape: Literal["size", "depth", "breadth_share", "virality", "half_minutes"] | None = None
    value: float | None = None
    tolerance: Annotated[float, Meta(gt=0.0)] | None = None
    error: Annotated[float, Meta(ge=0.0)] | None = None
    source: str = ""
    holdout: float | None = None

    @property
    def unit(self) -> float:
        """The deviation that counts as 1."""
        return SHAPE_TOLERANCE if self.tolerance is None else self.tolerance


class Budget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The runs of each step.

    Args:
        design: spread over the ranges, for the posterior and its test.
        confirm: under seeds of their own: the best fits, the base, and draws of the posterior.
    """

    design: Annotated[int, Meta(ge=0, le=RUNS_MAX)] = DESIGN
    confirm: Annotated[int, Meta(ge=0, le=RUNS_MAX)] = 40

    @property
    def runs(self) -> int:
        return self.design + self.confirm


class Calibration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a calibration's file."""

    question: Annotated[str, Meta(max_length=1000)] = ""
    base: str  # the configuration that is fitted, as the file names it
    set: dict[str, Any] = {}  # `{dotted path: value}` for all runs
    data: str | None = None  # the file of real cascades, as the file names it; None if there is none
    holdout: Annotated[float, Meta(ge=0.0, le=0.9)] = 0.0  # the share of the cascades that is not fitted
    # what is fitted: before the data, all places in a range are equally likely
    parameters: Annotated[dict[str, Range], Meta(min_length=1, max_length=PARAMETERS_MAX)]
    targets: dict[str, Target]  # what it is fitted to
    checks: dict[str, Target] = {}  # what is compared after the fit, and not fitted
    budget: Budget = Budget()
    seed: Annotated[int, Meta(ge=0, le=10**9)] = 1  # of all draws, and of the seeds of the runs
    oracle: SharedOracle = SharedOracle()  # the limits on what all runs ask of a model together

    @property
    def compared(self) -> dict[str, Target]:
        return {**self.targets, **self.checks}


def read_calibration(text: str, source: str) -> Calibration:
    """Return the calibration that a YAML text describes."""
    return read_as(text, source, Calibration, _checked)[0]


def _checked(file: Calibration) -> Calibration:
    if not 1 <= len(file.parameters) <= PARAMETERS_MAX:
        raise refusal("parameters", f"expected 1 to {PARAMETERS_MAX} parameters, got {len(file.parameters)}")
    if not file.targets:
        raise refusal("targets", "expected one target or more")
    # What is set in two places, and parameters that are no ranges or without an effect.
    for part, names in (("set", file.set), ("parameters", file.parameters)):
        if SEED_KEY in names:
            raise refusal(f"{part}.{SEED_KEY}", "follows from the key seed")
    for name, each in file.parameters.items():
        if each.problem:
            raise refusal(f"parameters.{name}", each.problem)
        if name.startswith(WITHOUT_EFFECT):
            raise refusal(f"parameters.{name}", "changes no result of a run, so nothing can be fitted by it")
        if name in file.set:
            raise refusal(f"set.{name}", "is a parameter, too")
    if twice := [name for name in file.checks if name in file.targets]:
        raise refusal(f"checks.{twice[0]}", "is a target, too: a check is not fitted")
    for part, targets in (("targets", file.targets), ("checks", file.checks)):
        for name, target in targets.items():
            _check_target(f"{part}.{name}", target, has_data=file.data is not None)
    if file.holdout and file.data is None:
        raise refusal("holdout", "is a share of the cascades in data, and there is no data; give targets a holdout")
    return file


def _check_target(key: str, target: Target, *, has_data: bool) -> None:
    if (target.measure is None) == (target.shape is None):
        raise refusal(key, "expected a measure or a shape")
    if target.shape is None:
        needs = {"value": "the real number", "tolerance": "the deviation that counts as 1"}
        needs["source"] = "where the number is from"
        if lacking := [name for name in needs if getattr(target, name) in (None, "")]:
            raise refusal(key, f"expected a {lacking[0]}: {needs[lacking[0]]}")
    elif given := [name for name in ("value", "holdout", "error") if getattr(target, name) is not None]:
        raise refusal(f"{key}.{given[0]}", "a shape is compared with the data, and has no number of its own")
    elif not has_data:
        raise refusal(f"{key}.shape", "is compared with cascades, and there is no data")


Parameters = Mapping[str, Range]  # `{dotted path of a setting that is fitted: its range}`


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A run: values of the parameters, and a seed."""

    values: dict[str, Any]
    seed: int


def point_at(parameters: Parameters, places: Sequence[float] | Floats, seed: int) -> Point:
    values = {name: parameters[name].value_at(float(place)) for name, place in zip(parameters, places, strict=True)}
    return Point(values=values, seed=seed)


def snapped(parameters: Parameters, places: Floats) -> Floats:
    """Return places, (draws, parameters); those of whole-number parameters are moved to whole numbers."""
    found = places.copy()
    for column, each in enumerate(parameters.values()):
        if each.whole:
            found[:, column] = [each.place_of(each.value_at(float(place))) for place in places[:, column]]
    return found


def design_places(parameters: Parameters, runs: int, seed: int) -> Floats:
    """Return places that fill the ranges evenly: a scrambled Sobol sequence, so that more runs keep the first ones."""
    if not runs:
        return np.empty((0, len(parameters)))
    from scipy.stats import qmc  # noqa: PLC0415  # half a second

    sobol = qmc.Sobol(len(parameters), scramble=True, seed=seed)
    return np.asarray(sobol.random_base2(max(0, (runs - 1).bit_length()))[:runs])
