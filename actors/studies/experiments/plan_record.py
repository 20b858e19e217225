"""The record of an experiment's plans: those made before the first result, and those made after it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from actors.core.errors import RunDirectoryError, run_directory_error
from actors.core.files import NotJsonError, read_json, write_json
from actors.studies.experiments.plan import Plan
from prism.experiment import Experiment, Hypothesis

PLANS = "plans"


class PlannedCell(msgspec.Struct, frozen=True, array_like=True):
    condition: str
    seed: int
    key: str  # the name of its directory in `cells`


class PlanFile(msgspec.Struct, frozen=True, kw_only=True):
    hash: str  # the hash of all that was planned
    cells_done: int  # the cells that had a result when it was made; 0 of a plan that came before all results
    experiment: Experiment  # as its file had it
    own_code: dict[str, str]  # `{measure: SHA-256}` of the modules of the user's own measures
    meanings: dict[str, str]  # `{condition: hash}` of the content of each
    cells: list[PlannedCell]


def _kept(plan: Plan, cells_done: int) -> PlanFile:
    """Return what is kept of a plan. No place of this machine is: of an absolute path only the name."""
    base = Path(plan.experiment.base)
    named = base.name if base.is_absolute() else plan.experiment.base
    return PlanFile(
        hash=plan.hash,
        cells_done=cells_done,
        experiment=replace(plan.experiment, source=plan.path.name, base=named, predictions=None),
        own_code=plan.own_code,
        meanings=plan.meanings,
        cells=[PlannedCell(cell.condition, cell.seed, cell.key) for cell in plan.cells],
    )


def read_plans(out: Path) -> list[PlanFile]:
    """Return the plans in the directory of an experiment, in the order in which they were made."""
    return [read_json(path, PlanFile) for path in sorted((out / PLANS).glob("*.json"))]


def record_plan(out: Path, plan: Plan, cells_done: int) -> Promised:
    """Write the plan, unless it is there, and return what it has promised."""
    directory = out / PLANS
    try:
        directory.mkdir(exist_ok=True)
        kept = sorted(directory.glob("*.json"))
        if not any(plan.hash[:16] in path.name for path in kept):
            write_json(directory / f"{len(kept) + 1:03d}-{plan.hash[:16]}.json", _kept(plan, cells_done))
    except OSError as error:
        raise run_directory_error(error, f"{directory}: cannot be used") from None
    return promised_so_far(out, plan)


class Promised(NamedTuple):
    """The hypotheses that were planned before the first result."""

    planned: Sequence[Hypothesis] = ()  # those whose measure and conditions meant then what they mean now
    # those of the last plan before the first result that are not among these. They count in every correction:
    # otherwise removing a hypothesis with a bad result would help the others.
    lost: Sequence[Hypothesis] = ()
    notes: Sequence[str] = ()  # what weakens the p values, a sentence each


def promised_so_far(out: Path, plan: Plan) -> Promised:
    try:
        return promised(read_plans(out), _kept(plan, 0))
    except NotJsonError as error:
        raise RunDirectoryError(f"{out / PLANS}: holds a file that is no plan: {error.strerror}") from None


def promised(plans: Sequence[PlanFile], now: PlanFile) -> Promised:
    """Return what the plans before the first result have promised of a plan."""
    first = [plan for plan in plans if not plan.cells_done]
    then = [_meaning(plan, each) for plan in first for each in plan.experiment.hypotheses]
    planned = [each for each in now.experiment.hypotheses if _meaning(now, each) in then]
    lost = [each for each in first[-1].experiment.hypotheses if each not in planned] if first else []
    said = [hypothesis for hypothesis, *_ in then]
    notes = list[str]()
    known = set[int]()
    for plan in plans:  # seeds in place of others are added ones, too, also if there are not more of them
        if plan.cells_done and known and not known.issuperset(plan.experiment.seeds) and not notes:
            counts = ", then ".join(str(len({*each.experiment.seeds})) for each in plans)
            notes.append(
                f"seeds were added after there were results ({counts}): p values hold for a number that was fixed "
                "before. Give a replication another directory"
            )
        known.update(plan.experiment.seeds)
    notes += [
        f"removed after there were results: {each.with_test}: p values are corrected for it all the same"
        for each in lost
        if each not in now.experiment.hypotheses
    ]
    notes += [
        f"exploratory, although it was planned in these words: {each.with_test}: its measure, or the settings, input "
        "files or code of its conditions, those of the base among them, are others than before the first result"
        for each in now.experiment.hypotheses
        if each in said and each not in planned
    ]
    return Promised(planned, lost, notes)


def _meaning(plan: PlanFile, each: Hypothesis) -> tuple[Hypothesis, list[str | None], list[tuple[str, str]]]:
    """Return a hypothesis with all that decides what it means: its measure and its conditions."""
    measure = [plan.experiment.measures[each.measure], plan.own_code.get(each.measure)]
    return each, measure, [(name, plan.meanings[name]) for name in each.contrast]
