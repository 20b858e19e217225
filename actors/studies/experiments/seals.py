"""Sealed predictions: files with a hash over predictions and plan, their record in an experiment, and their scores."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import fmean

import msgspec
from msgspec.structs import replace

from actors.core.errors import run_directory_error
from actors.core.files import NotJsonError, content_hash, json_value, opened, read_json, refuse_links, write_json
from actors.factory.input_files import read_input
from actors.runs.directory import LOG
from actors.store.manifest import CONFIG
from actors.studies.experiments.cells import cells_begun
from prism.errors import ConfigError, InputError
from prism.experiment.predictions import Predictions, PredictionScores, scored_predictions, scores_in_words
from prism.text_files import decode_text, plain_number, read_table

SEALS = "seals"
TIME = "%Y-%m-%dT%H:%M:%SZ"  # times in this form sort as time does
FREE = ("hypotheses", "thresholds")
"""The parts of a plan that may change after the sealing: no predicted outcome depends on them."""


class Sealed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sealed file."""

    seal: str  # the hash of all other fields
    at: str  # when it was sealed, by the clock of the machine
    prism: str  # the version of PRISM that sealed it
    cells_begun: int  # the runs of the experiment that had begun, so that their results could be seen
    plan: str  # the hash of the plan
    parts: dict[str, str]  # `{part of the plan: hash}`: question, seeds, each measure, each condition with its inputs
    predictions: Predictions


def sealed_now(plan: str, parts: dict[str, str], predictions: Predictions, begun: int) -> Sealed:
    """Return predictions of the outcomes of a plan, by its hash and those of its parts, sealed."""
    sealed = Sealed(
        seal="",
        at=datetime.now(UTC).strftime(TIME),
        prism=version("prism-sim"),
        cells_begun=begun,
        plan=plan,
        parts=parts,
        predictions=predictions,
    )
    return replace(sealed, seal=content_hash(sealed))


def read_sealed(path: Path) -> Sealed:
    """Return a sealed file whose hash is right."""
    try:
        sealed = read_json(path, Sealed)
    except FileNotFoundError:
        raise ConfigError(str(path), "no such file; expected one that `prism experiment seal` has written") from None
    except NotJsonError as error:
        raise ConfigError(str(path), f"is not a file of `prism experiment seal`: {error.problem}") from None
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror or error}") from None
    if content_hash(replace(sealed, seal="")) != sealed.seal:
        raise ConfigError(
            str(path), f"was changed after it was sealed: its content does not have the hash {sealed.seal[:16]}"
        )
    return sealed


def notes_on_plan(path: Path, sealed: Sealed, plan: str, parts: Mapping[str, str], model: str = "") -> list[str]:
    """Return a note for each change of the plan after the sealing on which no predicted outcome depends.

    Args:
        model: another model than the sealed one, on which all else is confirmed; empty for none.
    """
    if plan == sealed.plan and not model:
        return []
    before = sealed.parts
    changed = [name for name in {**before, **parts} if before.get(name) != parts.get(name)]
    notes = list[str]()
    if model:
        if "model" not in changed:
            problem = "the sealed plan asks it" if "model" in parts else "the plan asks no model"
            raise ConfigError(str(path), f"expected another model than the sealed one, got {model}: {problem}")
        where = " at another server" if "server" in changed else ""
        changed = [name for name in changed if name not in ("model", "server")]
        notes = [f"confirmed on {model}{where}: prompt, parsing, measures, seeds and conditions are as sealed"]
    if wrong := [name for name in changed if name not in FREE]:
        name, more = wrong[0], f", and {len(wrong) - 1:,} more" if wrong[1:] else ""
        what = " (its settings, those of the base among them, its input files or its code)"
        told = f"{what if name.startswith('condition ') else ''} was changed"
        told = " was removed" if name not in parts else " was added" if name not in before else told
        raise ConfigError(str(path), f"was sealed for another plan: the {name}{told} after the sealing{more}")
    notes += [f"the {name} were changed after the sealing" for name in changed]
    return notes or ["the plan is the same, but PRISM has other code than at the sealing"]


def register(out: Path, sealed: Sealed) -> None:
    """Keep a sealed file in the directory of its experiment, unless it is there."""
    path = out / SEALS / f"{sealed.seal[:16]}.json"
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            refuse_links(out)
            write_json(path, sealed)
    except OSError as error:
        raise run_directory_error(error, f"{error.filename or path.parent}: cannot be used") from None


def _begun_at(cell: Path) -> str:
    """Return when a run began, by its log or, where that is older, its configuration's file; empty if unknown."""
    times = list[float]()
    with suppress(OSError):
        times.append((cell / CONFIG).stat().st_mtime)
    with suppress(OSError, ValueError, LookupError, TypeError), opened(cell / LOG) as log:  # a copy has no old files
        first = json_value(os.read(log, 1 << 16).partition(b"\n")[0])["timestamp"]
        times.append(datetime.fromisoformat(first).timestamp())
    return datetime.fromtimestamp(min(times), UTC).strftime(TIME) if times else ""


BYTES_MAX = 16 << 20  # the most bytes of a file of measured figures
COLUMNS = ("condition", "measure", "value")

Figures = dict[tuple[str, tuple[str, ...]], list[float]]
Values = Mapping[tuple[str, int], Mapping[str, float]]  # `{(condition, seed): {measure: value}}`


def scores_of_runs(
    sealed: Sealed, seeds: Sequence[int], values: Values, out: Path, notes: Sequence[str]
) -> PredictionScores:
    """Return the scores of predictions by the runs of their experiment.

    Args:
        seeds: those that were run; `values`: of the measures.
        out: the directory of the experiment.
        notes: what was changed in the plan since the sealing.
    """
    late = list[str]()
    if sealed.cells_begun:
        late = [f"sealed when {sealed.cells_begun:,} runs of the experiment could be seen: this is no prediction"]
    elif (begun := min(filter(None, map(_begun_at, cells_begun(out))), default=sealed.at)) < sealed.at:
        late = [f"a run of it was begun at {begun}, before the sealing at {sealed.at}: this is no prediction"]
    early = "before the first run by this machine's clock and files, which only a seal that others have can confirm"
    order = "not known to be from before the runs" if late else early
    # The values of each outcome by seed; for a contrast, the differences for seeds that both sides have.
    found: Figures = {}
    for each in sealed.predictions.predictions:
        kept = [seed for seed in seeds if all(each.measure in values.get((name, seed), {}) for name in each.names)]
        sides = [[values[name, seed][each.measure] for seed in kept] for name in each.names]
        columns = sides[0] if len(sides) == 1 else [one - other for one, other in zip(*sides, strict=True)]
        found[each.measure, each.names] = columns
    return _scores(sealed, found, order, out, [*late, *notes])


def scores_of_data(path: Path, sealed: Sealed, out: Path, notes: Sequence[str]) -> PredictionScores:
    """Return the scores of predictions by measured figures of a CSV file.

    It has a row for each figure, or several where an outcome is their mean. The table of an experiment has these
    columns. A contrast is the difference of the means of its two conditions.
    """
    read = read_input(path, bytes_max=BYTES_MAX)
    source, predicted = read.name, sealed.predictions.predictions
    table = read_table(decode_text(read.data, source), source, COLUMNS)
    if lacking := [name for name in COLUMNS if name not in table.header]:
        problem = f"expected the columns {', '.join(COLUMNS)}; there is no {lacking[0]}"
        raise InputError(source, problem, line=table.line)
    found: Figures = {}
    for line, cells in table.rows:
        row = dict(zip(table.header, cells, strict=True))
        value = plain_number(row["value"])
        if value is None:
            raise InputError(source, f"expected a number, got {row['value']!r:.80}", key="value", line=line)
        found.setdefault((row["measure"].removeprefix("'"), (row["condition"].removeprefix("'"),)), []).append(value)
    for each in predicted:
        sides = [found.get((each.measure, (name,)), []) for name in each.names]
        if all(sides) and each.contrast:
            found[each.measure, each.names] = [fmean(sides[0]) - fmean(sides[1])]
    if not any((each.measure, each.names) in found for each in predicted):
        raise InputError(source, f"has none of the predicted outcomes, such as {predicted[0]}")
    return _scores(sealed, found, f"scored with {path.name} (SHA-256 {read.sha256[:16]})", out, notes)


def _scores(sealed: Sealed, figures: Figures, order: str, out: Path, notes: Sequence[str]) -> PredictionScores:
    predictions = sealed.predictions
    scores = scored_predictions(predictions, figures)
    unknown = [each.outcome for each in scores if each.observed is None]
    more = f" and {len(unknown) - 1:,} more" if unknown[1:] else ""
    lacking = [f"predicted, and without an outcome: {unknown[0]}{more}"] if unknown else []
    # Of many predictions of one author some come true by chance.
    seals = [read_sealed(path) for path in sorted((out / SEALS).glob("*.json"))]
    count = sum(each.predictions.by == predictions.by and each.seal != sealed.seal for each in seals)
    files = "1 other file" if count == 1 else f"{count:,} other files"
    told = f"{predictions.by} has sealed {files} of predictions of this experiment, which are in {SEALS}"
    return PredictionScores(
        seal=sealed.seal,
        by=predictions.by,
        at=sealed.at,
        text=f"Predictions by {predictions.by}, sealed {sealed.at[:10]}, {order}. " + scores_in_words(scores),
        notes=[*notes, *([told] if count else []), *lacking],
        scores=scores,
    )
