"""The page about a calibration: its result in words and tables, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from actors.studies.calibration.plan import CalibrationPlan
from prism.calibration import Result, reasons
from prism.quoting import printable

UNKNOWN = "-"
WIDTH = "Width: of the interval, as a share of the one that the range alone has. Goes with: the largest correlation."
DEVIATIONS = (
    "Real is in the unit of the measure. Off by: the simulated value minus the real one, in tolerances, so that 1 is "
    "just within; of a shape the distance, and of a limit what is beyond it, both without a sign; of the nearest run "
    "the size alone. Predicted: values under draws of the posterior, in the unit of the measure; of a shape, distances."
)
_MARKS = re.compile(r"[\\\\|*\[\]~`]|(?<!\w)_|_(?!\w)|^(?:[#>]|[+-](?=\s))")
"""The marks of Markdown; `_` is none within a word."""
TRUTHS = (
    "Simulation-based calibration: runs of the design were taken for the data, one after the other, and the posterior "
    "of each was made without it. If the intervals are right, 90% of them hold their truth, and the ranks of truths "
    "among draws are uniform: p is how likely ranks as far from that would be. Bias: the mean of estimate minus truth; "
    "error: its root mean square; both as shares of the range."
)


def page_of(plan: CalibrationPlan, result: Result) -> str:
    asked = plan.calibration
    parts = [
        f"# Calibration of {_text(plan.base.name)}",
        *([_text(asked.question)] if asked.question else []),
        *([f"**This fit is doubtful:** {_text('; '.join(result.doubts))}."] if _is_doubtful(result) else []),
        _headline(result),
        *([_list(map(_text, reasons(result.steps)))] if not result.is_reported else []),
        *([_list(f"**{_text(each)}**" for each in result.warnings)] if result.warnings else []),
        "## Parameters",
        *(_fitted(result) if result.is_reported else _refused(result)),
        *_screening(result),
        "## Made of",
        _list(_made_of(plan, result)),
    ]
    return "\n\n".join(parts) + "\n"


def _is_doubtful(result: Result) -> bool:
    return result.is_reported and bool(result.doubts)


def _fitted(result: Result) -> list[str]:
    return [
        _table(("setting", "base", "fit", "90% interval", "width", "identified", "goes with"), _parameters(result)),
        WIDTH,
        "## Targets and checks",
        _table(
            (
                *("name", "fitted", "real", "base off by", "fit off by", "holdout off by", "nearest run off by"),
                *("predicted (90%)", "agrees"),
            ),
            _targets(result),
        ),
        DEVIATIONS,
        "## Ranks of known truths",
        _table(
            ("setting", "truths", "in 90% intervals", "in 50%", "uniform (p)", "bias", "error", "width"), _ranks(result)
        ),
        TRUTHS,
    ]


def _refused(result: Result) -> list[str]:
    """Return the tables if no fit is reported: the runs, and no number that a reader could take for a fit."""
    parameters = [(each.parameter, _number(each.base)) for each in result.estimates]
    targets = [
        (each.target, "yes" if each.is_fitted else "no", _number(each.real), _number(each.base), _number(each.nearest))
        for each in result.compared
    ]
    return [
        _table(("setting", "base"), parameters),
        "## Targets and checks",
        _table(("name", "to be fitted", "real", "base off by", "nearest run off by"), targets),
        "Off by: in tolerances, of the nearest run the size alone; it may be another run for each target.",
    ]


def _headline(result: Result) -> str:
    if not result.is_reported:
        return "**No fit is reported.** What it lacks:"
    return (
        f"The fit is {_number(result.fit)} from the data, the base {_number(result.base)}, in tolerances (root mean "
        f"square over the targets). On the holdout it is {_number(result.holdout)}{_held_out(result)}, where it is "
        f"{_number(result.fitted_alike)} on the fitted part in the same targets. Two single runs of the "
        f"fit are {_number(result.floor)} apart"
        + (f", two halves of the data {_number(result.halves)}" if result.halves is not None else "")
        + "; the fit is that of all its runs together."
    )


def _held_out(result: Result) -> str:
    """Return the number of targets over which the holdout is compared, in words; empty without a holdout."""
    count = sum(each.is_fitted and each.holdout is not None for each in result.compared)
    of = sum(each.is_fitted for each in result.compared)
    return f" ({count:,} of {of:,} targets)" if count else ""


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
        deviations = map(_number, (each.real, each.base, each.fit, each.holdout, each.nearest))
        yield each.target, "yes" if each.is_fitted else "no", *deviations, predicted, agrees


def _ranks(result: Result) -> Iterator[Sequence[str]]:
    for each in result.ranks:
        covered = f"{each.coverage:.2f} +- {each.coverage_error:.2f}", f"{each.half:.2f} +- {each.half_error:.2f}"
        uniform = f"{'yes' if each.is_uniform else 'no'} ({each.likelihood:.2g})"
        bias = f"{each.bias:.3f} +- {each.bias_error:.3f}"
        yield each.parameter, f"{each.truths}", *covered, uniform, bias, f"{each.error:.2f}", f"{each.width:.2f}"


def _screening(result: Result) -> list[str]:
    if not result.effects:
        return []
    rows = [(each.parameter, f"{each.mean:.3g}", f"{each.spread:.3g}") for each in result.effects]
    return ["## Screening", _table(("setting", "mean size of its effects", "spread"), rows)]


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
