"""The files of a calibration's result: the configuration, the result as JSON, and a page in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
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
from prism.calibration import Result, reasons
from prism.config import Config
from prism.quoting import printable

CONFIGURATION, RESULT, PAGE = "calibrated.yaml", "calibration.json", "calibration.md"
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
        config = read_config(plan.base, {**plan.calibration.set, **best})
        keep_those_of(RunDirectory(plan.base.parent), RunDirectory(out), config)
        result_hash = sha256(written).hexdigest()
        asked = plan.calibration
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
            f"{RESULT} and {PAGE} beside it say how well it fits, and what is not known.",
        ]
        heading = [f"# {printable(line)}".rstrip() + "\n" for line in lines]
        write_file(configuration, "".join([*heading, "\n", text]).encode())
    else:
        configuration.unlink(missing_ok=True)  # the configuration of an earlier fit is out of date
    write_file(out / PAGE, page_of(plan, result).encode())
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


UNKNOWN = "-"
WIDTH = "Width: of the interval, as a share of the one that the range alone has. Goes with: the largest correlation."
DEVIATIONS = (
    "Real is in the unit of the measure. Off by: the simulated value minus the real one, in tolerances, so that 1 is "
    "just within; of a shape the distance, without a sign. Predicted:"
    " values under draws of the posterior, in the unit of the measure; of a shape, distances."
)
_MARKS = re.compile(r"[\\\\|*\[\]~`]|(?<!\w)_|_(?!\w)|^(?:[#>]|[+-](?=\s))")
"""The marks of Markdown; `_` is none within a word."""
TRUTHS = (
    "Simulation-based calibration: runs of the design were taken for the data, one after the other, and the posterior "
    "of each was made without it. If the intervals are right, 90% of them hold their truth, and the ranks of truths "
    "among draws are uniform: p is how likely ranks as far from that would be."
)


def page_of(plan: CalibrationPlan, result: Result) -> str:
    asked = plan.calibration
    is_doubtful = result.is_reported and bool(result.doubts)
    parts = [
        f"# Calibration of {_text(plan.base.name)}",
        *([_text(asked.question)] if asked.question else []),
        *([f"**This fit is doubtful:** {_text('; '.join(result.doubts))}."] if is_doubtful else []),
        _headline(result),
        *([_list(map(_text, reasons(result.steps)))] if not result.is_reported else []),
        *([_list(f"**{_text(each)}**" for each in result.warnings)] if result.warnings else []),
        *(_fitted(result) if result.is_reported else []),
        "## Made of",
        _list(_made_of(plan, result)),
    ]
    return "\n\n".join(parts) + "\n"


def _fitted(result: Result) -> list[str]:
    return [
        "## Parameters",
        _table(("setting", "base", "fit", "90% interval", "width", "identified", "goes with"), _parameters(result)),
        WIDTH,
        "## Targets and checks",
        _table(
            (
                *("name", "fitted", "real", "base off by", "fit off by", "holdout off by"),
                *("predicted (90%)", "agrees"),
            ),
            _targets(result),
        ),
        DEVIATIONS,
        "## Ranks of known truths",
        _table(("setting", "truths", "in 90% intervals", "uniform (p)"), _ranks(result)),
        TRUTHS,
    ]


def _headline(result: Result) -> str:
    if not result.is_reported:
        return "**No fit is reported.** What it lacks:"
    count = sum(each.is_fitted and each.holdout is not None for each in result.compared)
    of = sum(each.is_fitted for each in result.compared)
    held_out = f" ({count:,} of {of:,} targets)" if count else ""
    return (
        f"The fit is {_number(result.fit)} from the data, the base {_number(result.base)}, in tolerances (root mean "
        f"square over the targets). On the holdout it is {_number(result.holdout)}{held_out}. Two single runs of the "
        f"fit are {_number(result.floor)} apart; the fit is that of all its runs together."
    )


def _parameters(result: Result) -> Iterator[Sequence[str]]:
    for each in result.estimates:
        interval = UNKNOWN if each.low is None or each.high is None else f"{each.low:g} to {each.high:g}"
        said = UNKNOWN if each.is_identified is None else "yes" if each.is_identified else "no"
        other = UNKNOWN if each.with_other is None else f"{each.with_other[0]} ({each.with_other[1]:.2f})"
        yield each.parameter, _number(each.base), _number(each.best), interval, _number(each.width), said, other


def _targets(result: Result) -> Iterator[Sequence[str]]:
    for each in result.compared:
        predicted = UNKNOWN if each.low is None or each.high is None else f"{each.low:.3g} to {each.high:.3g}"
        agrees = UNKNOWN if each.agrees is None else "yes" if each.agrees else "no"
        deviations = map(_number, (each.real, each.base, each.fit, each.holdout))
        yield each.target, "yes" if each.is_fitted else "no", *deviations, predicted, agrees


def _ranks(result: Result) -> Iterator[Sequence[str]]:
    for each in result.ranks:
        covered = f"{each.coverage:.2f} +- {each.coverage_error:.2f}"
        yield each.parameter, f"{each.truths}", covered, f"{'yes' if each.is_uniform else 'no'} ({each.likelihood:.2g})"


def _made_of(plan: CalibrationPlan, result: Result) -> Iterator[str]:
    asked = plan.calibration
    yield "runs: " + ", ".join(f"{name} {count:,}" for name, count in result.runs.items())
    if asked.data is not None:
        fitted, out, compared = result.cascades
        yield f"cascades: {fitted:,} fitted, {out:,} held out, {compared:,} of the fit compared"
        yield f"data: SHA-256 {plan.data_hash}"
    if result.effective is not None:
        yield f"draws of the posterior that count: {result.effective:,.0f}"
    if result.incomparable:
        yield f"{result.incomparable:,} runs of the design have too few cascades of the real sizes, and no shapes"
    for name, target in asked.compared.items():
        if target.source:
            yield _text(f"{name}: {target.source}")
    yield f"seed {asked.seed}; plan {plan.hash}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(_text(cell) for cell in line) + " |" for line in lines)


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _number(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.3g}"


def _text(text: str) -> str:
    """Return a text on one line, with its marks of Markdown escaped."""
    plain = printable(" ".join(text.split())).replace("&", "&amp;").replace("<", "&lt;")
    return _MARKS.sub(r"\\\g<0>", plain)
