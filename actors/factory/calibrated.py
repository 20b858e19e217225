"""The data that settings are calibrated on, and the settings that were changed since."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import msgspec

from prism.config import Config
from prism.config.yaml_text import flat
from prism.quoting import printable

NOT_COMPARED = ("metrics.", "run.", "simulation.seed", "simulation.domain_path")
"""The beginnings of settings that do not make another configuration: they change results by chance, or not at all."""
NAMES_SHOWN = 3


def calibration_label(config: Config) -> str | None:
    """Return what the settings are calibrated on, and what was changed since, in words; None if they are not."""
    calibration = config.run.calibration
    if calibration.data is None:
        return None
    label = f"calibrated on {printable(calibration.data)}"
    label += "" if calibration.holdout is None else f", holdout {calibration.holdout:.3g}"
    label += f" (doubtful: {printable(calibration.doubts)})" if calibration.doubts else ""
    # A file counts by its name, wherever it is.
    fitted, found = _fitted(Config()) | calibration.settings, _fitted(config)
    changed = [name for name in {**fitted, **found} if _named(fitted.get(name)) != _named(found.get(name))]
    if not changed:
        return label
    more = f" and {len(changed) - NAMES_SHOWN} more" if len(changed) > NAMES_SHOWN else ""
    return f"{label}, but {', '.join(changed[:NAMES_SHOWN])}{more} {'was' if len(changed) == 1 else 'were'} changed"


def fitted_settings(config: Config) -> dict[str, Any]:
    """Return `{setting: value}` of non-default settings that a fit may depend on; None for a key that is gone."""
    default, found = _fitted(Config()), _fitted(config)
    return {name: found.get(name) for name in {**default, **found} if default.get(name) != found.get(name)}


def _named(value: Any) -> Any:
    return PurePath(value).name if isinstance(value, str) else value


def _fitted(config: Config) -> dict[str, Any]:
    """Return `{setting: value}` of the settings that a fit may depend on."""
    return {key: value for key, value in flat(msgspec.to_builtins(config)) if not key.startswith(NOT_COMPARED)}
