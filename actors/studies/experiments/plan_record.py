"""The record of an experiment's plans: those made before the first result, and those made after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from actors.core.errors import RunDirectoryError, run_directory_error
from actors.core.files import NotJsonError, read_json, write_json
from actors.studies.experiments.plan import Plan
from prism.experiment import Experiment, Hypothesis

PLANS = "plans"


def notes_on_plans(out: Path, plan: str) -> list[str]:
    """Return notes, in words, where the plans in a directory weaken the p values of one of them."""
    try:
        found = [read_json(path) for path in sorted((out / PLANS).glob("*.json"))]
        now = [each for each in found if each["hash"] == plan]
        return [*_seeds_added(found), *(_changed_since(found, now[0]) if now else [])]
    except (OSError, LookupError, TypeError):
        return []


def _seeds_added(plans: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a note if seeds were added once there were results: then p values are too small.

    Seeds in place of others are added ones, too, also if there are not more of them.
    """
    seeds = [set(each["experiment"]["seeds"]) for each in plans]
    known, said = set[int](), ", then ".join(str(len(each)) for each in seeds)
    are_added = False
    for each, plan in zip(seeds, plans, strict=True):
        are_added = are_added or (bool(plan["cells_done"]) and bool(known) and not each <= known)
        known |= each
    if not are_added:
        return []
    problem = f"seeds were added after there were results ({said}): p values hold for a number that was fixed before"
    return [f"{problem}. Take sequential seeds, or give a replication another directory"]


def record_plan(out: Path, plan: Plan, cells_done: int) -> list[Hypothesis]:
    """Write the plan, unless it is there, and return its hypotheses that were planned before the first result.

    A hypothesis counts as planned if its measure and its conditions meant then what they mean now.
    """
    directory = out / PLANS
    try:
        directory.mkdir(exist_ok=True)
        kept = sorted(directory.glob("*.json"))
        if not any(plan.hash[:16] in path.name for path in kept):
            content = {
                "hash": plan.hash,
                "cells_done": cells_done,
                "experiment": _without_places(plan),
                "own_code": plan.own_code,
                "meanings": plan.meanings,
                "cells": [(cell.condition, cell.seed, cell.key) for cell in plan.cells],
            }
            path = directory / f"{len(kept) + 1:03d}-{plan.hash[:16]}.json"
            write_json(path, content)
    except OSError as error:
        raise run_directory_error(error, f"{directory}: cannot be used") from None
    return promised_so_far(out, plan)[0]


def _without_places(plan: Plan) -> Experiment:
    """Return the experiment of a plan without places of this machine: an absolute path by its name alone."""
    base = Path(plan.experiment.base)
    named = base.name if base.is_absolute() else plan.experiment.base
    return replace(plan.experiment, source=plan.path.name, base=named, predictions=None)


def promised_so_far(out: Path, plan: Plan) -> tuple[list[Hypothesis], list[Hypothesis]]:
    """Return the hypotheses that were planned before the first result: those of a plan, and the lost ones."""
    directory = out / PLANS
    now = {"experiment": plan.experiment, "own_code": plan.own_code, "meanings": plan.meanings}
    try:
        found = [read_json(path) for path in sorted(directory.glob("*.json"))]
        return planned_first(found, msgspec.to_builtins(now)), lost_since(found, msgspec.to_builtins(now))
    except (NotJsonError, LookupError, TypeError) as error:
        raise RunDirectoryError(f"{directory}: holds a file that is no plan: {error}") from None


def planned_first(plans: Sequence[Mapping[str, Any]], now: Mapping[str, Any]) -> list[Hypothesis]:
    """Return the hypotheses of a plan that were planned before the first result, and meant then what they mean now."""
    kept = []
    for each in plans:
        if not each["cells_done"]:
            then = _promises(each)
            kept += [promise[0] for promise in _promises(now) if promise in then]
    return [each for each in _hypotheses(now) if each in kept]


def lost_since(plans: Sequence[Mapping[str, Any]], now: Mapping[str, Any]) -> list[Hypothesis]:
    """Return the hypotheses of the last plan before the first result that are not among the planned ones of a plan now.

    They count in every correction: otherwise removing a hypothesis with a bad result would help the others.
    """
    before = [each for each in plans if not each["cells_done"]]
    planned = planned_first(plans, now)
    return [each for each in _hypotheses(before[-1]) if each not in planned] if before else []


def _changed_since(plans: Sequence[Mapping[str, Any]], now: Mapping[str, Any]) -> list[str]:
    """Return a note for each hypothesis that was planned before the first result, and is now removed or changed."""
    said = [one for each in plans if not each["cells_done"] for one in _hypotheses(each)]
    planned = planned_first(plans, now)
    removed = [
        f"removed after there were results: {each.with_test}: p values are corrected for it all the same"
        for each in lost_since(plans, now)
        if each not in _hypotheses(now)
    ]
    return removed + [
        f"exploratory, although it was planned in these words: {each.with_test}: its measure, or the settings, input "
        "files or code of its conditions, those of the base among them, are others than before the first result"
        for each in _hypotheses(now)
        if each in said and each not in planned
    ]


def _hypotheses(plan: Mapping[str, Any]) -> list[Hypothesis]:
    return msgspec.convert(plan["experiment"]["hypotheses"], list[Hypothesis])


def _promises(plan: Mapping[str, Any]) -> list[tuple[Hypothesis, list[Any]]]:
    """Return each hypothesis of a plan with all that decides what it means: its measure and its conditions."""
    experiment, own_code, meanings = plan["experiment"], plan["own_code"], plan["meanings"]
    found = []
    for raw, hypothesis in zip(experiment["hypotheses"], _hypotheses(plan), strict=True):
        names = hypothesis.names or tuple(each["name"] for each in experiment["conditions"])
        measure = [experiment["measures"][raw["measure"]], own_code.get(raw["measure"], "")]
        found.append((hypothesis, [measure, [[name, meanings[name]] for name in names]]))
    return found
