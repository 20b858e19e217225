"""Sealed predictions beside the outcomes: those of the experiment's runs, or measured figures of a file."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from statistics import fmean

from actors.core.files import read_regular
from actors.studies.experiments.plan import Plan
from actors.studies.experiments.seal_record import Registered, notes_on_data, notes_on_order, notes_on_others, open_data
from prism.errors import ConfigError
from prism.experiment import (
    SHARES,
    Predictions,
    PredictionScores,
    ScoredPrediction,
    scored_predictions,
    scores_in_words,
)

BYTES_MAX = 16 << 20  # the most bytes of a file of measured figures
COLUMNS = ("condition", "measure", "value")
MINUS = "minus"  # the column of measured figures that are differences: the condition that was subtracted

Figures = dict[tuple[str, tuple[str, ...]], list[float]]
Values = Mapping[tuple[str, int], Mapping[str, float]]  # `{(condition, seed): {measure: value}}`


def scores_of_runs(plan: Plan, registered: Registered, values: Values, out: Path) -> PredictionScores:
    figures = figures_of_runs(registered.sealed.predictions, plan.experiment.seeds, values)
    late = notes_on_order(out, registered)
    early = "before the first run by this machine's clock and files, which only a seal that others have can confirm"
    order = "not known to be from before the runs" if late else early
    return _scores(registered, figures, order, [*late, *notes_on_others(out, registered), *plan.notes])


def scores_of_data(path: Path, plan: Plan, registered: Registered, out: Path) -> PredictionScores:
    """Return the scores of predictions by measured figures of a CSV file; its hash is kept as that of opened data."""
    content = _content(path)
    digest = sha256(content).hexdigest()
    opened = open_data(out, registered, path, digest)
    order = f"scored with {path.name} (SHA-256 {digest[:16]})"
    notes = [*notes_on_data(out, opened, digest), *plan.notes]
    return _scores(registered, figures_of_data(content, path, registered.sealed.predictions), order, notes)


def _scores(registered: Registered, figures: Figures, order: str, notes: Sequence[str]) -> PredictionScores:
    sealed = registered.sealed
    predictions = sealed.predictions
    scores = scored_predictions(predictions, figures)
    unknown = [each.outcome for each in scores if each.observed is None]
    more = f" and {len(unknown) - 1:,} more" if unknown[1:] else ""
    lacking = [f"predicted, and without an outcome: {unknown[0]}{more}"] if unknown else []
    return PredictionScores(
        seal=sealed.seal,
        by=predictions.by,
        at=sealed.at,
        text=f"Predictions by {predictions.by}, sealed {sealed.at[:10]}, {order}. "
        + scores_in_words(scores, predictions.reference),
        notes=[*notes, *lacking],
        scores=scores,
    )


def figures_of_runs(predictions: Predictions, seeds: Sequence[int], values: Values) -> Figures:
    """Return the values of each outcome by seed; for a contrast, the differences for seeds that both sides have."""
    found: Figures = {}
    for each in predictions.predictions:
        for names in (each.names, (predictions.reference,)):
            kept = [seed for seed in seeds if all(each.measure in values.get((name, seed), {}) for name in names)]
            sides = [[values[name, seed][each.measure] for seed in kept] for name in names]
            columns = sides[0] if len(sides) == 1 else [one - other for one, other in zip(*sides, strict=True)]
            found[each.measure, names] = columns
    return found


def figures_of_data(content: bytes, path: Path, predictions: Predictions) -> Figures:
    """Return the measured figures of a CSV file.

    It has a row for each figure, or several where an outcome is their mean. The table of an experiment has these
    columns. A contrast is a row with `minus`, or else the difference of the means of its two conditions.
    """
    reader = csv.DictReader(io.StringIO(content.decode("utf-8-sig", errors="replace"), newline=""))
    if lacking := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
        named = f"expected the columns {', '.join(COLUMNS)}, and perhaps {MINUS}"
        raise ConfigError(str(path), f"{named}; there is no {lacking[0]}", line=1)
    found: Figures = {}
    for row in reader:
        names = tuple(name.removeprefix("'") for name in (row["condition"], row.get(MINUS)) if name)
        found.setdefault(((row["measure"] or "").removeprefix("'"), names), []).append(
            _number(row["value"], path, reader.line_num)
        )
    for each in predictions.predictions:
        sides = [found.get((each.measure, (name,)), []) for name in each.names]
        if all(sides) and (each.measure, each.names) not in found:
            found[each.measure, each.names] = [fmean(sides[0]) - fmean(sides[1])]
    if not any((each.measure, each.names) in found for each in predictions.predictions):
        first = predictions.predictions[0]
        raise ConfigError(str(path), f"has none of the predicted outcomes, such as {first}")
    return found


SCORE_COLUMNS = ("predicted", *(f"{share:.0%} interval" for share in SHARES), "came out", "within", "bits", "CRPS")
SCORES_SAID = "Lower bits and CRPS are better; those of the naive forecast are in brackets, - if it has none"
NONE = "-"


def score_cells(each: ScoredPrediction) -> list[str]:
    score, other = each.score, each.reference
    if score is None or each.observed is None:
        return [each.outcome, *[NONE] * (len(SCORE_COLUMNS) - 1)]
    intervals = [f"{low:.4g} to {high:.4g}" for low, high in score.intervals]
    within = next((f"{share:.0%}" for share, holds in zip(SHARES, score.holds, strict=True) if holds), "neither")
    bits = _beside(score.log_score, None if other is None else other.log_score, ".2f")
    crps = _beside(score.crps, None if other is None else other.crps, ".3g")
    return [each.outcome, *intervals, f"{each.observed:.4g}", within, bits, crps]


def _beside(value: float | None, other: float | None, form: str) -> str:
    ours, theirs = (NONE if each is None else f"{each:{form}}" for each in (value, other))
    return f"{ours} ({theirs})"


def _content(path: Path) -> bytes:
    try:
        return read_regular(path, BYTES_MAX)
    except FileNotFoundError:
        raise ConfigError(str(path), "no such file; expected a CSV file with measured figures") from None
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror or error}") from None


def _number(text: str | None, path: Path, line: int) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(str(path), f"expected a number, got {text!r}", key="value", line=line)
    return value
