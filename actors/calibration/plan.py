"""The plan of a calibration: its file, its base, its data, and the cell of each run."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from actors.core.files import sha256_of
from actors.experiments.measures import OwnMeasure, code_of_own, load_own
from actors.experiments.plan import Cell, cells_of, found_beside, text_of
from actors.factory.config_file import read_config
from actors.factory.input_files import fitting_memory, read_input
from prism.calibration import Calibration, Point, Real, parted, point_at, read_calibration
from prism.config import Config
from prism.errors import ConfigError
from prism.scorecard import parse_cascades

FEED = "feed."
FEED_NUMBERS = ("feed.posts_without_reaction", "feed.posts_of_top_tenth", "feed.size_and_virality")
"""The numbers of a social run that are worked out from its journal."""
PAGE = "docs/calibrate.md"


class CalibrationPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan.

    Args:
        path: the file of the calibration.
        base: the file of the configuration that is fitted.
        config: that configuration, with the settings for all runs.
        values: `{setting: its value there}` of the parameters.
        real: the real cascades, in their two parts.
        data_hash: SHA-256 of the file of the data; None if there is none.
        own: `{measure: its function}` of measures of one's own; `own_code`: SHA-256 of their modules.
        hash: of all that decides the result, but for the code of PRISM.
    """

    path: Path
    calibration: Calibration
    base: Path
    config: Config
    values: dict[str, Any]
    real: Real
    data_hash: str | None
    own: dict[str, OwnMeasure]
    own_code: dict[str, str]
    hash: str


def make_calibration_plan(path: Path) -> CalibrationPlan:
    """Return the plan of the calibration in a file: the base, the parameters and the targets are checked.

    Raises:
        ConfigError: the file, the base or a range is wrong; the message names the file and the key.
        InputError: an input file is missing, or cannot be read.
    """
    calibration = read_calibration(text_of(path, "a YAML file with a calibration", PAGE), str(path))
    base = found_beside(path, calibration.base)
    config = _config(calibration, base, {})
    flat = _numbers(config)
    for parameter in calibration.parameters:
        for place in (0.0, 1.0):
            _config(calibration, base, {parameter.setting: parameter.value_at(place)})
    places = {str(each.measure) for each in calibration.compared.values() if each.measure is not None}
    own = {place: load_own(place, path.parent, "targets") for place in sorted(places) if ":" in place}
    _check_feed(calibration, places, config)
    real, data_hash = _real(calibration, path)
    own_code = {name: code_of_own(function) for name, function in own.items()}
    planned = [msgspec.structs.replace(calibration, source="", base="", data=None), config, data_hash, own_code]
    return CalibrationPlan(
        path=path,
        calibration=calibration,
        base=base,
        config=config,
        values={each.setting: flat[each.setting] for each in calibration.parameters if each.setting in flat},
        real=real,
        data_hash=data_hash,
        own=own,
        own_code=own_code,
        hash=sha256(msgspec.json.encode(planned, order="sorted")).hexdigest(),
    )


def cell_of(plan: CalibrationPlan, step: str, point: Point) -> Cell:
    """Return the cell of a run.

    Raises:
        ConfigError: its settings cannot hold together.
    """
    return cells_of(_config(plan.calibration, plan.base, point.values), step, [point.seed])[0]


def middle_of(plan: CalibrationPlan) -> Point:
    """Return the run in the middle of all ranges, for a forecast."""
    parameters = plan.calibration.parameters
    return point_at(parameters, [0.5] * len(parameters), 1)


def _config(calibration: Calibration, base: Path, values: dict[str, Any]) -> Config:
    settings = {**calibration.settings, **values, "metrics.enabled": False}
    try:
        return read_config(base, settings)
    except ConfigError as error:
        if error.source != "overrides":
            raise
        place = ", ".join(f"{name}={value}" for name, value in values.items())
        at = f" (at {place})" if place else ""
        key = f"parameters.{error.key}" if error.key in values else f"set.{error.key}"
        raise ConfigError(calibration.source, f"{error.problem}{at}", key=key) from error


def _numbers(config: Config) -> dict[str, Any]:
    """Return `{setting: value}` of all settings that are numbers."""
    found: dict[str, Any] = {}

    def add(settings: dict[str, Any], section: str) -> None:
        for name, value in settings.items():
            if isinstance(value, dict):
                add(value, f"{section}{name}.")
            elif isinstance(value, int | float) and not isinstance(value, bool):
                found[f"{section}{name}"] = value

    add(msgspec.to_builtins(config), "")
    return found


def _check_feed(calibration: Calibration, places: set[str], config: Config) -> None:
    """Refuse what only a social run has in another domain, and unknown names of it."""
    wrong = next((place for place in sorted(places) if place.startswith(FEED) and place not in FEED_NUMBERS), None)
    if wrong is not None:
        key = next(name for name, each in calibration.compared.items() if each.measure == wrong)
        raise ConfigError(calibration.source, f"expected one of {', '.join(FEED_NUMBERS)}, got {wrong}", key=key)
    needs = [name for name, each in calibration.compared.items() if each.shape or str(each.measure).startswith(FEED)]
    if needs and config.simulation.domain != "social":
        problem = f"is of cascades, and the base has the domain {config.simulation.domain}"
        raise ConfigError(calibration.source, problem, key=needs[0])


def _real(calibration: Calibration, path: Path) -> tuple[Real, str | None]:
    """Return the real cascades, and the hash of their file."""
    if calibration.data is None:
        return Real(), None
    found = found_beside(path, calibration.data)
    with fitting_memory(str(found)):
        source = read_input(found)
        trees = parse_cascades(source.data, source.name)
    return parted(trees, calibration.holdout), sha256_of(found)
