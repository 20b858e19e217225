"""The record of an experiment's plans: what was planned before the first result, and what after it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from actors.core.errors import RunDirectoryError, run_directory_error
from actors.core.files import write_file
from actors.experiments.plan import Plan
from prism.experiment import Hypothesis

PLANS = "plans"


def looks_before(out: Path) -> list[str]:
    """Return a note if seeds were added once there were results: such p values are not what they say.

    Seeds in place of others are added ones, too, also if there are not more of them.
    """
    try:
        found = [msgspec.json.decode(path.read_bytes()) for path in sorted((out / PLANS).glob("*.json"))]
        seeds = [set(each["experiment"]["seeds"]) for each in found]
        is_late = [bool(each["cells_done"]) for each in found]
    except (OSError, msgspec.MsgspecError, LookupError, TypeError):
        return []
    known, said = set[int](), ", then ".join(str(len(each)) for each in seeds)
    are_added = False
    for each, late in zip(seeds, is_late, strict=True):
        are_added = are_added or (late and bool(known) and not each <= known)
        known |= each
    if not are_added:
        return []
    problem = f"seeds were added after there were results ({said}): p values hold for a number that was fixed before"
    return [f"{problem}. Take sequential seeds, or give a replication another directory"]


def record_plan(out: Path, plan: Plan, cells_done: int) -> list[Hypothesis]:
    """Write the plan, unless it is there, and return its hypotheses that were planned before the first result.

    A hypothesis counts as planned if its measure and its conditions meant then what they mean now.

    Raises:
        RunDirectoryError: the plans cannot be read or written.
    """
    directory = out / PLANS
    try:
        directory.mkdir(exist_ok=True)
        kept = sorted(directory.glob("*.json"))
        if not any(plan.hash[:16] in path.name for path in kept):
            content = {
                "hash": plan.hash,
                "cells_done": cells_done,
                "experiment": plan.experiment,
                "own_code": plan.own_code,
                "cells": [(cell.condition, cell.seed, cell.key) for cell in plan.cells],
            }
            path = directory / f"{len(kept) + 1:03d}-{plan.hash[:16]}.json"
            write_file(path, msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")
            kept.append(path)
        found = [msgspec.json.decode(path.read_bytes()) for path in kept]
        first = [promise for each in found if not each["cells_done"] for promise in _promises(each)]
        now = _promises(msgspec.to_builtins({"experiment": plan.experiment, "own_code": plan.own_code}))
        return [each for each, promise in zip(plan.experiment.hypotheses, now, strict=True) if promise in first]
    except OSError as error:
        raise run_directory_error(error, f"{directory}: cannot be used") from None
    except (msgspec.MsgspecError, LookupError, TypeError) as error:
        raise RunDirectoryError(f"{directory}: holds a file that is no plan: {error}") from None


def _promises(plan: Mapping[str, Any]) -> list[Any]:
    """Return each hypothesis of a plan with all that decides what it means: its measure and its conditions."""
    experiment, own_code = plan["experiment"], plan.get("own_code", {})
    settings = {each["name"]: each["settings"] for each in experiment["conditions"]}
    return [
        [
            msgspec.to_builtins(msgspec.convert(each, Hypothesis)),
            experiment["measures"][each["measure"]],
            own_code.get(each["measure"], ""),
            [settings[name] for name in each.get("contrast") or each.get("conditions") or settings],
            [experiment["base"], experiment["settings"]],
        ]
        for each in experiment["hypotheses"]
    ]
