"""The files of a calibration's result: the configuration, and the result as JSON."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec.structs import replace

from actors.core.files import write_file
from actors.factory.calibrated import fitted_settings
from actors.factory.config_file import read_config
from actors.factory.domains import code_of
from actors.runs.compatibility import manifest_of
from actors.runs.directory import RunDirectory
from actors.runs.inputs import keep_those_of
from actors.studies.calibration.calibration_plan import CalibrationPlan
from actors.studies.experiments.plan import other_than
from prism.calibration.procedure import Result
from prism.config import Config
from prism.quoting import printable

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
    configuration = out / CONFIGURATION
    if result.is_reported:
        best = {each.parameter: each.best for each in result.estimates}
        config = read_config(plan.base, {**asked.set, **best})
        keep_those_of(RunDirectory(plan.base.parent), RunDirectory(out), config)
        result_hash = sha256(written).hexdigest()
        count = len(asked.targets)
        targets = "1 target" if count == 1 else f"{count} targets"
        data = targets if asked.data is None else Path(asked.data).name
        seedless = replace(config, simulation=replace(config.simulation, seed=Config().simulation.seed))
        content = other_than(msgspec.to_builtins(seedless), msgspec.to_builtins(Config()))
        content.pop("metrics", None)
        doubts = {"doubts": "; ".join(result.doubts)} if result.doubts else {}
        found = _rounded({"data": data, "fit": result.fit, "holdout": result.holdout, **doubts, "result": result_hash})
        content["run"] = content.get("run", {}) | {"calibration": {**found, "settings": fitted_settings(config)}}
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110)
        lines = [
            f"Calibrated on {data} by `prism calibrate {plan.path.name}`, plan {plan.hash[:16]}.",
            *(f"DOUBTFUL: {each}." for each in result.doubts),
            f"{RESULT} beside it says how well it fits, and what is not known.",
        ]
        heading = [f"# {printable(line)}".rstrip() + "\n" for line in lines]
        write_file(configuration, "".join([*heading, "\n", text]).encode())
    else:
        configuration.unlink(missing_ok=True)  # the configuration of an earlier fit is out of date
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
