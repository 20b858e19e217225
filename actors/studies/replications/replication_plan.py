"""The plan of a replication: its file, its experiment, its data, and the functions that it names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from actors.core.files import content_hash, sha256_of
from actors.factory.file_kinds import REPLICATION, telling_kind
from actors.studies.experiments.plan import Plan, found_beside, make_plan, placed, text_of
from actors.studies.experiments.run_measures import code_of_own, load_own
from prism.errors import ConfigError, SettingError
from prism.experiment.replication import Replication, check_answers, read_replication

PAGE = "docs/replications.md"
RUNS_LEAST = 3  # the fewest seeds of a number over all runs: it is worked out with each run left out


class ReplicationPlan(msgspec.Struct, frozen=True, kw_only=True):
    path: Path  # the file of the replication
    replication: Replication
    experiment: Plan
    functions: dict[str, Callable[..., Any]]  # `{module:function: the function}` of all functions that the file names
    data: Path | None  # the file of the data; None if the replication needs no data
    hash: str  # the hash of figures, experiment, functions and data; PRISM's version is no part of it


def load_replication(path: Path) -> Replication:
    with telling_kind(path, REPLICATION):
        return read_replication(text_of(path, "a YAML file with a replication", PAGE), str(path))


def make_replication_plan(path: Path) -> ReplicationPlan:
    """Return the plan of the replication in a file, and load its experiment and functions."""
    replication = load_replication(path)
    text = text_of(path)
    try:
        data = _data(replication, path)
        file = found_beside(path, replication.experiment)
        if not file.is_file():
            problem = f"no such file: {replication.experiment}, beside this file or in {Path.cwd()}"
            raise SettingError("replication", problem, keys=["experiment"])
        functions = {place: load_own(place, file.parent, key) for key, place in _places(replication).items()}
        experiment = make_plan(file)
        check_answers(replication, experiment.experiment)
        if replication.over_worlds and len(experiment.experiment.seeds) < RUNS_LEAST:
            problem = f"expected an experiment with {RUNS_LEAST} seeds or more"
            raise SettingError("replication", problem, keys=["over_worlds"])
    except SettingError as error:
        raise placed(text, path, error) from error.__cause__
    code = {place: code_of_own(place) for place in functions}
    asked = replace(replication, experiment="", remarks=[], data=None, data_from="")
    planned = replace(experiment.experiment, source="", base="", hypotheses=(), thresholds=(), question="")
    told = {key: value for key, value in msgspec.to_builtins(planned).items() if value}  # a new key changes no hash
    parts = [asked, told, experiment.own_code, experiment.meanings, code, None if data is None else sha256_of(data)]
    return ReplicationPlan(
        path=path,
        replication=replication,
        experiment=experiment,
        functions=functions,
        data=data,
        hash=content_hash(parts),
    )


def _places(replication: Replication) -> Mapping[str, str]:
    over = {f"over_worlds.{name}": place for name, place in replication.over_worlds.items()}
    computed = {f"figures.{name}.computed": each.computed for name, each in replication.figures.items()}
    places = {**over, **{key: place for key, place in computed.items() if place is not None}}
    for key, place in places.items():
        if ":" not in place:
            raise SettingError("replication", f"expected module:function, got {place!r}", keys=[key])
    return places


def _data(replication: Replication, path: Path) -> Path | None:
    if replication.data is None:
        return None
    found = found_beside(path, replication.data)
    if not found.is_file():
        where = f": {replication.data_from}" if replication.data_from else ""
        problem = (
            f"no such file: {replication.data}, beside this file or in {Path.cwd()}; it is not part of PRISM{where}"
        )
        raise SettingError("replication", problem, keys=["data"])
    return found


def computed_from_data(plan: ReplicationPlan, place: str) -> tuple[float, float | None]:
    """Return a number that is computed from the data, and its standard error if there is one."""
    try:
        found = plan.functions[place](plan.data)
        numbers = tuple(map(float, found)) if isinstance(found, Sequence) else (float(found),)
        value, *rest = numbers
        (error,) = rest or (None,)
    except Exception as error:  # a user's code may raise anything
        problem = f"{place}: expected a number, or a number and its standard error, got an error: {error}"
        raise ConfigError(str(plan.path), problem) from error
    return value, error
