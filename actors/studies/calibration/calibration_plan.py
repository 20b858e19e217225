"""The plan of a calibration: its file, its base, its data, and the cell of each run."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from actors.core.files import sha256_of
from actors.factory.config_file import read_config
from actors.factory.domains import show_of
from actors.factory.file_kinds import CALIBRATION, telling_kind
from actors.factory.input_files import fitting_memory, read_input
from actors.studies.experiments.plan import Cell, cells_of, check_measures, found_beside, placed, text_of
from actors.studies.experiments.run_measures import OwnMeasure, code_of_own, load_own
from actors.studies.experiments.shared_oracle import Asking, asks_model
from prism.calibration.calibration_file import Calibration, Point, read_calibration
from prism.calibration.comparison import Real, parted
from prism.config import Config
from prism.config.load import MAPPING_SOURCE
from prism.config.yaml_text import flat
from prism.errors import ConfigError, SettingError
from prism.scorecard.trees import parse_cascades

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
    settings = {**calibration.set, **values, "metrics.enabled": False}
    try:
        return read_config(base, settings)
    except ConfigError as error:
        if error.source != MAPPING_SOURCE:
            raise
        place = ", ".join(f"{name}={value}" for name, value in values.items())
        at = f" (at {place})" if place else ""
        key = f"parameters.{error.key}" if error.key in values else f"set.{error.key}"
        raise SettingError("calibration", f"{error.problem}{at}", keys=[key]) from error


def _checked_measures(calibration: Calibration, path: Path, config: Config) -> dict[str, OwnMeasure]:
    """Return the user's own measures that targets and checks name, and refuse measures that no run will have."""
    sections = [("targets", calibration.targets), ("checks", calibration.checks)]
    keys = {f"{section}.{name}": target for section, targets in sections for name, target in targets.items()}
    places = {f"{key}.measure": target.measure for key, target in keys.items() if target.measure is not None}
    own = {place: load_own(place, path.parent, key) for key, place in places.items() if ":" in place}
    of_feeds = {key: place for key, place in places.items() if place in FEED_NUMBERS}
    cascades = [*of_feeds, *(f"{key}.shape" for key, target in keys.items() if target.shape is not None)]
    if cascades and "cascades" not in show_of(config).pictures:
        problem = f"is of cascades, and the base has the domain {config.simulation.domain}"
        raise SettingError("calibration", problem, keys=[cascades[0]])
    check_measures({key: place for key, place in places.items() if key not in of_feeds}, [config], FEED_NUMBERS)
    return own
