"""The files of a calibration's result: the configuration, the result as JSON, and a page to read."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import yaml

from actors.core.files import write_file
from actors.factory.config_file import read_config
from actors.factory.domains import code_of
from actors.runs.directory import RunDirectory
from actors.runs.inputs import keep_those_of
from actors.runs.manifest import manifest_of
from actors.studies.calibration.page import page_of
from actors.studies.calibration.plan import CalibrationPlan
from prism.calibration import Result
from prism.config import Config, fitted_settings, settings
from prism.quoting import printable

CONFIGURATION, RESULT, PAGE = "calibrated.yaml", "calibration.json", "calibration.md"
DIGITS = 6  # significant digits of written numbers: the last digits of a regression depend on the processor
NOT_COPIED = ("run.calibration.", "metrics.", "simulation.seed")


def write_result(plan: CalibrationPlan, out: Path, result: Result) -> None:
    """Write the files of a result. A fit that is not reported leaves no configuration."""
    document = _rounded(_document(plan, result))
    content = msgspec.json.format(msgspec.json.encode(document, order="sorted"), indent=2) + b"\n"
    configuration = out / CONFIGURATION
    if result.is_reported:
        best = {each.parameter: each.best for each in result.estimates}
        config = read_config(plan.base, {**plan.calibration.settings, **best})
        keep_those_of(RunDirectory(plan.base.parent), RunDirectory(out), config)
        write_file(configuration, _configuration(plan, config, result, sha256(content).hexdigest()))
    else:
        configuration.unlink(missing_ok=True)  # the configuration of an earlier fit is out of date
    write_file(out / PAGE, page_of(plan, result).encode())
    write_file(out / RESULT, content)


def _document(plan: CalibrationPlan, result: Result) -> dict[str, Any]:
    asked = plan.calibration
    manifest = manifest_of(plan.config, {}, code_of(plan.config))
    return {
        "question": asked.question,
        "base": plan.base.name,
        "data": None if asked.data is None else {"name": Path(asked.data).name, "sha256": plan.data_hash},
        "plan": plan.hash,
        "seed": asked.seed,
        "code": manifest.code,
        "packages": manifest.packages,
        "settings": asked.settings,
        "parameters": asked.parameters,
        "targets": asked.targets,
        "checks": asked.checks,
        "budget": asked.budget,
        "result": result,
    }


def _rounded(value: Any) -> Any:
    plain = msgspec.to_builtins(value)
    if isinstance(plain, float):
        return float(f"{plain:.{DIGITS}g}")
    if isinstance(plain, dict):
        return {name: _rounded(each) for name, each in plain.items()}
    if isinstance(plain, list | tuple):
        return [_rounded(each) for each in plain]
    return plain


def _configuration(plan: CalibrationPlan, config: Config, result: Result, result_hash: str) -> bytes:
    asked = plan.calibration
    count = len(asked.targets)
    targets = "1 target" if count == 1 else f"{count} targets"
    data = targets if asked.data is None else Path(asked.data).name
    content: dict[str, Any] = {}
    ours, default = msgspec.to_builtins(config), msgspec.to_builtins(Config())
    for setting in settings():
        value = _at(ours, setting.path)
        if not setting.path.startswith(NOT_COPIED) and value != _at(default, setting.path):
            _put(content, setting.path, value)
    doubts = {"doubts": "; ".join(result.doubts)} if result.doubts else {}
    found = _rounded({"data": data, "fit": result.fit, "holdout": result.holdout, **doubts, "result": result_hash})
    _put(content, "run.calibration", {**found, "settings": fitted_settings(config)})
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110)
    return "".join([*_heading(plan, result, data), text]).encode()


def _heading(plan: CalibrationPlan, result: Result, data: str) -> list[str]:
    lines = [
        f"Calibrated on {data} by `prism calibrate {plan.path.name}`, plan {plan.hash[:16]}.",
        *(f"DOUBTFUL: {each}." for each in result.doubts),
        f"{RESULT} and {PAGE} beside it say how well it fits, and what is not known.",
        "",
        *(
            f"{each.parameter}: {each.best:g}"
            + ("" if each.low is None or each.high is None else f", 90% interval {each.low:g} to {each.high:g}")
            + ("" if each.is_identified else ", not identified")
            for each in result.estimates
        ),
    ]
    return [f"# {printable(line)}".rstrip() + "\n" for line in lines] + ["\n"]


def _at(settings: Mapping[str, Any], path: str) -> Any:
    value: Any = settings
    for part in path.split("."):
        value = value[part]
    return value


def _put(content: dict[str, Any], path: str, value: Any) -> None:
    *sections, name = path.split(".")
    for section in sections:
        content = content.setdefault(section, {})
    content[name] = value
