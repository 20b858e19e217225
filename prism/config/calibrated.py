"""The label of a calibrated configuration: what it is calibrated on, and which settings were changed since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

import msgspec

from prism.config.config import Config
from prism.config.yaml_text import join
from prism.quoting import printable

NOT_FITTED = ("run", "metrics", "simulation.seed", "simulation.domain_path")
"""Settings that no fit depends on, or on chance alone."""
NAMES_SHOWN = 3
UNCALIBRATED = "; its coefficients are uncalibrated"
"""The end of an oracle's description, which the label of a calibrated configuration replaces."""


def calibration_label(config: Config) -> str | None:
    """Return what the settings are calibrated on, and what was changed since, in words; None if they are not."""
    calibration = config.run.calibration
    if calibration.data is None:
        return None
    holdout = "" if calibration.holdout is None else f", holdout {calibration.holdout:.3g}"
    if calibration.doubts:
        holdout += f" (doubtful: {printable(calibration.doubts)})"
    data = printable(calibration.data)
    changed = changed_settings(config)
    if not changed:
        return f"calibrated on {data}{holdout}"
    more = f" and {len(changed) - NAMES_SHOWN} more" if len(changed) > NAMES_SHOWN else ""
    were = "was" if len(changed) == 1 else "were"
    return f"calibrated on {data}{holdout}, but {', '.join(changed[:NAMES_SHOWN])}{more} {were} changed"


def fitted_settings(config: Config) -> dict[str, Any]:
    """Return `{setting: value}` of non-default settings that a fit may depend on; None for a key that is gone."""
    default = dict(_flat(msgspec.to_builtins(Config()), ""))
    found = dict(_flat(msgspec.to_builtins(config), ""))
    return {name: found.get(name) for name in {**default, **found} if default.get(name) != found.get(name)}


def changed_settings(config: Config) -> list[str]:
    """Return the settings that are not those of the fit. A file counts by its name, wherever it is."""
    fitted = {**dict(_flat(msgspec.to_builtins(Config()), "")), **config.run.calibration.settings}
    found = dict(_flat(msgspec.to_builtins(config), ""))
    return [name for name in {**fitted, **found} if _named(fitted.get(name)) != _named(found.get(name))]


def _named(value: Any) -> Any:
    return PurePath(value).name if isinstance(value, str) else value


def _flat(settings: Mapping[str, Any], section: str) -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        path = join(section, name)
        if path in NOT_FITTED:
            continue
        if isinstance(value, dict) and value:
            yield from _flat(value, path)
        elif value != {}:
            yield path, value
