"""Calibration of a configuration: its plan, its runs as cells of an experiment, and the files of its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import yaml
from msgspec.structs import replace

from actors.core.errors import RunDirectoryError
from actors.core.files import sha256_of, write_file
from actors.factory.config_file import read_config
from actors.factory.domains import code_of, show_of
from actors.factory.file_kinds import CALIBRATION, telling_kind
from actors.factory.input_files import fitting_memory, read_input
from actors.factory.oracle_backends import fitted_settings
from actors.results.observed import observed_feed
from actors.runs.compatibility import manifest_of
from actors.runs.directory import RunDirectory
from actors.runs.inputs import keep_those_of
from actors.studies.experiments.cells import CELLS, Executor, cell_path, is_done
from actors.studies.experiments.plan import Cell, cells_of, check_measures, found_beside, other_than, placed, text_of
from actors.studies.experiments.run_measures import OwnMeasure, code_of_own, load_own, measured
from actors.studies.experiments.shared_oracle import Asking, asks_model
from prism.calibration.calibration_file import SHAPES, Calibration, Point, read_calibration
from prism.calibration.comparison import Observed, Real, parted, rows_in, table_of
from prism.calibration.procedure import Result, calibrated
from prism.config import Config
from prism.config.load import MAPPING_SOURCE
from prism.config.yaml_text import flat
from prism.errors import ConfigError, SettingError
from prism.experiment.design import refusal
from prism.quoting import printable
from prism.scorecard.cascades import parse_cascades
from prism.scorecard.facts import month_share, rank_correlation
from prism.wording import counted

FEED = "feed."
FEED_NUMBERS = ("feed.posts_without_reaction", "feed.posts_of_top_tenth", "feed.size_and_virality")
"""The numbers of a social run that are worked out from its journal."""
PAGE = "docs/experiments.md"


class CalibrationPlan(msgspec.Struct, frozen=True, kw_only=True):
    path: Path  # the file of the calibration
    calibration: Calibration
    base: Path  # the file of the configuration that is fitted
    config: Config  # that configuration, with the settings for all runs
    values: dict[str, Any]  # `{setting: its value there}` of the parameters
    real: Real  # the real cascades, in their two parts
    data_hash: str | None  # SHA-256 of the file of the data; None if there is none
    own: dict[str, OwnMeasure]  # `{measure: its function}` of the user's own measures
    own_code: dict[str, str]  # SHA-256 of their modules
    hash: str  # the hash of all that decides the result, except the code of PRISM


def make_calibration_plan(path: Path) -> CalibrationPlan:
    """Return the plan of the calibration in a file: the base, the parameters and the targets are checked."""
    text = text_of(path, "a YAML file with a calibration", PAGE)
    with telling_kind(path, CALIBRATION):
        calibration = read_calibration(text, str(path))
    base = found_beside(path, calibration.base)
    try:
        config = _config(calibration, base, {})
        for name, parameter in calibration.parameters.items():
            for place in (0.0, 1.0):
                _config(calibration, base, {name: parameter.value_at(place)})
        own = _checked_measures(calibration, path, config)
    except SettingError as error:
        raise placed(text, path, error) from error.__cause__
    settings = flat(msgspec.to_builtins(config))
    numbers = {key: each for key, each in settings if isinstance(each, int | float) and not isinstance(each, bool)}
    real, data_hash = Real(), None
    if calibration.data is not None:
        data = found_beside(path, calibration.data)
        with fitting_memory(str(data)):
            source = read_input(data)
            real = parted(parse_cascades(source.data, source.name), calibration.holdout)
        data_hash = sha256_of(data)
    own_code = {place: code_of_own(place) for place in own}
    # Of the limits on a model, the hash has only whether runs share answers: the others change no result.
    deciding: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(calibration, base="", data=None))
    del deciding["oracle"]
    if calibration.oracle.ask_once:
        deciding["ask_once"] = True
    planned = [deciding, config, data_hash, own_code]
    return CalibrationPlan(
        path=path,
        calibration=calibration,
        base=base,
        config=config,
        values={name: numbers[name] for name in calibration.parameters if name in numbers},
        real=real,
        data_hash=data_hash,
        own=own,
        own_code=own_code,
        hash=sha256(msgspec.json.encode(planned, order="sorted")).hexdigest(),
    )


def cell_of(plan: CalibrationPlan, step: str, point: Point) -> Cell:
    config = _config(plan.calibration, plan.base, point.values)
    return cells_of(config, step, [point.seed], ask_once=plan.calibration.oracle.ask_once)[0]


def asking_of_calibration(plan: CalibrationPlan) -> Asking:
    """Return the runs of a calibration that ask models: all or none, and of the same servers."""
    configs = [plan.config] if asks_model(plan.config) else []
    return Asking(str(plan.path), plan.calibration.oracle, configs)


def _config(calibration: Calibration, base: Path, values: dict[str, Any]) -> Config:
    try:
        return read_config(base, {**calibration.set, **values, "metrics.enabled": False})
    except ConfigError as error:
        if error.source != MAPPING_SOURCE:
            raise
        place = ", ".join(f"{name}={value}" for name, value in values.items())
        at = f" (at {place})" if place else ""
        section = "parameters" if error.key in values else "set"
        raise refusal(f"{section}.{error.key}", f"{error.problem}{at}") from error


def _checked_measures(calibration: Calibration, path: Path, config: Config) -> dict[str, OwnMeasure]:
    """Return the user's own measures that targets and checks name, and refuse measures that no run will have."""
    sections = [("targets", calibration.targets), ("checks", calibration.checks)]
    keys = {f"{section}.{name}": target for section, targets in sections for name, target in targets.items()}
    places = {f"{key}.measure": target.measure for key, target in keys.items() if target.measure is not None}
    own = {place: load_own(place, path.parent, key) for key, place in places.items() if ":" in place}
    of_feeds = {key: place for key, place in places.items() if place in FEED_NUMBERS}
    cascades = [*of_feeds, *(f"{key}.shape" for key, target in keys.items() if target.shape is not None)]
    if cascades and "cascades" not in show_of(config).pictures:
        raise refusal(cascades[0], f"is of cascades, and the base has the domain {config.simulation.domain}")
    check_measures({key: place for key, place in places.items() if key not in of_feeds}, [config], FEED_NUMBERS)
    return own


OnRuns = Callable[[str, int], None]
"""It is called with the number of runs of a step that are done."""


def run_calibration(plan: CalibrationPlan, out: Path, executor: Executor, on_runs: OnRuns) -> Result:
    """Run a calibration, whose runs are cells: each is done once, even after interruptions."""

    def run(step: str, points: Sequence[Point]) -> list[Observed]:
        cells = [cell_of(plan, step, point) for point in points]
        once = {cell.key: cell for cell in cells}
        left = [cell for cell in once.values() if not is_done(cell_path(out, cell))]
        on_runs(step, len(cells) - len(left))
        problems = executor.run(left, out, lambda _, __: on_runs(step, 1)) if left else {}
        for key, problem in problems.items():
            more = f" and {len(problems) - 1:,} more" if len(problems) > 1 else ""
            told = f"{problem}; mend it, and run it again: what is done is kept"
            raise RunDirectoryError(f"{out / CELLS / key}{more}: {told}")
        return [observed_of(plan, out, cell) for cell in cells]

    return calibrated(plan.calibration, plan.values, plan.real, run)


SMALLER = 0.9  # Cascades smaller than this part of the smallest real one have no real counterpart


def observed_of(plan: CalibrationPlan, out: Path, cell: Cell) -> Observed:
    path, compared = cell_path(out, cell), plan.calibration.compared.values()
    places = {str(each.measure): str(each.measure) for each in compared if each.measure is not None}
    plain = {name: place for name, place in places.items() if not name.startswith(FEED)}
    numbers = measured(path, plain, plan.own)
    if len(plain) == len(places) and all(each.shape is None for each in compared):
        return Observed(numbers=numbers)
    feed = observed_feed(path, cell.config)
    table = table_of(feed.shapes)
    least = min((row[0] for row in (*plan.real.fitted, *plan.real.holdout)), default=2.0)  # the smallest real one
    rows = table[table[:, 0] >= SMALLER * least]
    found = {
        "feed.posts_without_reaction": float((table[:, 0] == 1.0).mean()) if len(table) else 1.0,
        "feed.posts_of_top_tenth": month_share(feed.posts_by_person.astype(np.float64), feed.days),
        "feed.size_and_virality": (
            rank_correlation(rows[:, 0], rows[:, SHAPES.index("virality")]) if len(rows) > 1 else 0.0
        ),
    }
    numbers |= {name: found[name] for name in places if name.startswith(FEED)}
    return Observed(numbers=numbers, cascades=rows_in(rows))


CONFIGURATION, RESULT = "calibrated.yaml", "calibration.json"
DIGITS = 6  # significant digits of written numbers: the last digits of a regression depend on the processor


def write_result(plan: CalibrationPlan, out: Path, result: Result) -> None:
    """Write the files of a result. A fit that is not reported leaves no configuration."""
    asked = plan.calibration
    manifest = manifest_of(plan.config, {}, code_of(plan.config))
    content: dict[str, Any] = {
        "question": asked.question,
        "base": plan.base.name,
        "data": None if asked.data is None else {"name": Path(asked.data).name, "sha256": plan.data_hash},
        "plan": plan.hash,
        "seed": asked.seed,
        "code": manifest.code,
        "packages": manifest.packages,
        "settings": asked.set,
        "parameters": asked.parameters,
        "targets": asked.targets,
        "checks": asked.checks,
        "budget": asked.budget,
        "result": result,
    }
    written = msgspec.json.format(msgspec.json.encode(_rounded(content), order="sorted"), indent=2) + b"\n"
    if result.is_reported:
        best = {each.parameter: each.best for each in result.estimates}
        config = read_config(plan.base, {**asked.set, **best})
        keep_those_of(RunDirectory(plan.base.parent), RunDirectory(out), config)
        data = counted(len(asked.targets), "target") if asked.data is None else Path(asked.data).name
        seedless = replace(config, simulation=replace(config.simulation, seed=Config().simulation.seed))
        content = other_than(msgspec.to_builtins(seedless), msgspec.to_builtins(Config()))
        content.pop("metrics", None)
        doubts = {"doubts": "; ".join(result.doubts)} if result.doubts else {}
        found = {"data": data, "fit": result.fit, "holdout": result.holdout, **doubts}
        found = _rounded(found) | {"result": sha256(written).hexdigest(), "settings": fitted_settings(config)}
        content["run"] = content.get("run", {}) | {"calibration": found}
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110)
        lines = [
            f"Calibrated on {data} by `prism calibrate {plan.path.name}`, plan {plan.hash[:16]}.",
            *(f"DOUBTFUL: {each}." for each in result.doubts),
            f"{RESULT} beside it says how well it fits, and what is not known.",
        ]
        heading = [f"# {printable(line)}".rstrip() + "\n" for line in lines]
        write_file(out / CONFIGURATION, "".join([*heading, "\n", text]).encode())
    else:
        (out / CONFIGURATION).unlink(missing_ok=True)  # the configuration of an earlier fit is out of date
    write_file(out / RESULT, written)


def _rounded(value: Any) -> Any:
    plain = msgspec.to_builtins(value)
    if isinstance(plain, float):
        return float(f"{plain:.{DIGITS}g}")
    if isinstance(plain, dict):
        return {name: _rounded(each) for name, each in plain.items()}
    if isinstance(plain, list | tuple):
        return [_rounded(each) for each in plain]
    return plain
