"""The record of an experiment's plans: those made before the first result, and those made after it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

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


def record_plan(out: Path, plan: Plan, cells_done: int) -> list[Hypothesis]:
    """Write the plan, unless it is there, and return its hypotheses that were planned before the first result.

    A hypothesis counts as planned if its measure and its conditions meant then what they mean now.
    """
    directory = out / PLANS
    try:
        directory.mkdir(exist_ok=True)
        kept = sorted(directory.glob("*.json"))
        if not any(plan.hash[:16] in path.name for path in kept):
            write_json(directory / f"{len(kept) + 1:03d}-{plan.hash[:16]}.json", _kept(plan, cells_done))
    except OSError as error:
        raise run_directory_error(error, f"{directory}: cannot be used") from None
    return promised_so_far(out, plan)[0]


def promised_so_far(out: Path, plan: Plan) -> tuple[list[Hypothesis], list[Hypothesis]]:
    """Return the hypotheses that were planned before the first result: those of a plan, and the lost ones."""
    try:
        plans = read_plans(out)
    except NotJsonError as error:
        raise RunDirectoryError(f"{out / PLANS}: holds a file that is no plan: {error.strerror}") from None
    now = _kept(plan, 0)
    return planned_first(plans, now), lost_since(plans, now)


def planned_first(plans: Sequence[PlanFile], now: PlanFile) -> list[Hypothesis]:
    """Return the hypotheses of a plan that were planned before the first result, and meant then what they mean now."""
    kept = []
    for each in plans:
        if not each.cells_done:
            then = _promises(each)
            kept += [promise[0] for promise in _promises(now) if promise in then]
    return [each for each in now.experiment.hypotheses if each in kept]


def lost_since(plans: Sequence[PlanFile], now: PlanFile) -> list[Hypothesis]:
    """Return the hypotheses of the last plan before the first result that are not among the planned ones of a plan now.

    They count in every correction: otherwise removing a hypothesis with a bad result would help the others.
    """
    before = [each for each in plans if not each.cells_done]
    planned = planned_first(plans, now)
    return [each for each in before[-1].experiment.hypotheses if each not in planned] if before else []


def _promises(plan: PlanFile) -> list[tuple[Hypothesis, list[str], list[tuple[str, str]]]]:
    """Return each hypothesis of a plan with all that decides what it means: its measure and its conditions."""
    experiment, found = plan.experiment, []
    for each in experiment.hypotheses:
        measure = [experiment.measures[each.measure], plan.own_code.get(each.measure, "")]
        found.append((each, measure, [(name, plan.meanings[name]) for name in each.contrast]))
    return found


def notes_on_plans(out: Path, plan: str) -> list[str]:
    """Return notes, in words, where the plans in a directory weaken the p values of one of them."""
    try:
        plans = read_plans(out)
        now = next((each for each in plans if each.hash == plan), None)
        return [*_seeds_added(plans), *([] if now is None else _changed_since(plans, now))]
    except (OSError, LookupError):
        return []


def _seeds_added(plans: Sequence[PlanFile]) -> list[str]:
    """Return a note if seeds were added once there were results: then p values are too small.

    Seeds in place of others are added ones, too, also if there are not more of them.
    """
    known, are_added = set[int](), False
    for plan in plans:
        seeds = {*plan.experiment.seeds}
        are_added = are_added or (bool(plan.cells_done) and bool(known) and not seeds <= known)
        known |= seeds
    if not are_added:
        return []
    said = ", then ".join(str(len({*plan.experiment.seeds})) for plan in plans)
    problem = f"seeds were added after there were results ({said}): p values hold for a number that was fixed before"
    return [f"{problem}. Take sequential seeds, or give a replication another directory"]


def _changed_since(plans: Sequence[PlanFile], now: PlanFile) -> list[str]:
    """Return a note for each hypothesis that was planned before the first result, and is now removed or changed."""
    said = [one for each in plans if not each.cells_done for one in each.experiment.hypotheses]
    planned = planned_first(plans, now)
    removed = [
        f"removed after there were results: {each.with_test}: p values are corrected for it all the same"
        for each in lost_since(plans, now)
        if each not in now.experiment.hypotheses
    ]
    return removed + [
        f"exploratory, although it was planned in these words: {each.with_test}: its measure, or the settings, input "
        "files or code of its conditions, those of the base among them, are others than before the first result"
        for each in now.experiment.hypotheses
        if each in said and each not in planned
    ]
