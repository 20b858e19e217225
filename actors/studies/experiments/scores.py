"""Sealed predictions in an experiment's directory: the runs begun before, the data opened since, and the scores."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from statistics import fmean

import msgspec
from msgspec.structs import replace

from actors.core.errors import RunDirectoryError, run_directory_error
from actors.core.files import json_value, opened, read_json, read_regular, refuse_links, write_json
from actors.record.manifest import CONFIG, MANIFEST
from actors.runs.directory import LOG
from actors.studies.experiments.cells import CELLS
from actors.studies.experiments.plan import Plan
from actors.studies.experiments.sealed_file import Sealed, as_time, now
from prism.errors import ConfigError
from prism.experiment import (
    SHARES,
    Predictions,
    PredictionScores,
    ScoredPrediction,
    scored_predictions,
    scores_in_words,
)

SEALS = "seals"


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """A file of measured figures that the predictions were scored with: its name, its hash, and when it was opened."""

    file: str
    sha256: str
    at: str


class Registered(msgspec.Struct, frozen=True, kw_only=True):
    """A sealed file as it is registered in the directory of an experiment."""

    cells_begun: int  # the number of runs that had begun when it was registered
    sealed: Sealed
    opened: list[Opened] = []  # the files that it was scored with, in the order in which they were opened


def cells_begun(out: Path) -> int:
    """Return the number of runs in the directory of an experiment, whether they have ended or not."""
    return sum(1 for _ in (out / CELLS).glob("*"))


def begun_at(cell: Path) -> str:
    """Return when a run began, in the form of a sealed file, by its oldest file or its log; empty if unknown."""
    times = list[float]()
    for name in (CONFIG, MANIFEST, LOG):
        with suppress(OSError):
            times.append((cell / name).stat().st_mtime)
    with suppress(OSError, ValueError, LookupError, TypeError), opened(cell / LOG) as log:
        first = json_value(os.read(log, 1 << 16).partition(b"\n")[0])["timestamp"]
        times.append(datetime.fromisoformat(first).timestamp())
    return as_time(min(times)) if times else ""


def register(out: Path, sealed: Sealed) -> Registered:
    """Register a sealed file in the directory of the experiment, unless it is registered, and return its record."""
    path = _place(out, sealed)
    if not path.exists():
        return _written(out, Registered(cells_begun=cells_begun(out), sealed=sealed))
    registered = _read(path)
    if registered.sealed != sealed:
        raise RunDirectoryError(f"{path}: was changed after it was sealed")
    return registered


def open_data(out: Path, registered: Registered, file: Path, digest: str) -> Registered:
    """Record that data are opened for a sealed file, and return its record; the first opening of each file stays."""
    if any(each.sha256 == digest for each in registered.opened):
        return registered
    opened = Opened(file=file.name, sha256=digest, at=now())
    return _written(out, replace(registered, opened=[*registered.opened, opened]))


def notes_on_data(out: Path, registered: Registered, digest: str) -> list[str]:
    """Return a note for each reason why predictions may have been made or chosen after the data were opened."""
    first, notes = registered.opened[0], list[str]()
    if first.sha256 != digest:
        before = f"{first.file} ({first.sha256[:16]}) at {first.at}"
        notes.append(f"other data were opened for these predictions before: {before}")
    earlier = (opened for other in _others(out, registered) for opened in other.opened if opened.sha256 == digest)
    if any(opened.at <= registered.sealed.at for opened in earlier):
        notes.append("these data were opened for another sealed file before this one was sealed: this is no prediction")
    return [*notes, *notes_on_others(out, registered)]


def notes_on_others(out: Path, registered: Registered) -> list[str]:
    """Return a note if the author has sealed other predictions of the experiment: one of many comes true by chance."""
    by = registered.sealed.predictions.by
    count = sum(other.sealed.predictions.by == by for other in _others(out, registered))
    files = "1 other file" if count == 1 else f"{count:,} other files"
    return [f"{by} has sealed {files} of predictions of this experiment, which are in {SEALS}"] if count else []


def _others(out: Path, registered: Registered) -> list[Registered]:
    paths = (path for path in sorted((out / SEALS).glob("*.json")) if path != _place(out, registered.sealed))
    return [_read(path) for path in paths]


def _read(path: Path) -> Registered:
    try:
        return read_json(path, Registered)
    except OSError as error:
        raise RunDirectoryError(f"{path}: cannot be read: {error.strerror or error}") from None


def notes_on_order(out: Path, registered: Registered) -> list[str]:
    """Return a note if predictions may have been made after the runs that they are scored with."""
    sealed = registered.sealed
    begun = min((at for cell in (out / CELLS).glob("*") if (at := begun_at(cell))), default="")
    if not sealed.cells_begun and begun and begun < sealed.at:
        return [f"a run of it was begun at {begun}, before the sealing at {sealed.at}: this is no prediction"]
    if sealed.cells_begun:
        return [f"sealed when {sealed.cells_begun:,} runs of the experiment could be seen: this is no prediction"]
    if registered.cells_begun:
        seen = f"{registered.cells_begun:,} runs of it had begun"
        return [f"the experiment's directory got the sealed file after {seen}: only the file says when it was sealed"]
    return []


def _written(out: Path, registered: Registered) -> Registered:
    path = _place(out, registered.sealed)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        refuse_links(out)
        write_json(path, registered)
    except OSError as error:
        raise run_directory_error(error, f"{error.filename or path.parent}: cannot be used") from None
    return registered


def _place(out: Path, sealed: Sealed) -> Path:
    return out / SEALS / f"{sealed.seal[:16]}.json"


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
        try:
            value = float(row["value"] or "")
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            problem = f"expected a number, got {row['value']!r}"
            raise ConfigError(str(path), problem, key="value", line=reader.line_num)
        found.setdefault(((row["measure"] or "").removeprefix("'"), names), []).append(value)
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
