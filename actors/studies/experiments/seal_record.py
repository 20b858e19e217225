"""The record of sealed predictions in an experiment's directory: the runs begun before, and the data opened since."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from actors.core.errors import RunDirectoryError, run_directory_error
from actors.core.files import json_value, opened, read_json, refuse_links, write_json
from actors.record.manifest import CONFIG, MANIFEST
from actors.runs.directory import LOG
from actors.studies.experiments.cells import CELLS
from actors.studies.experiments.sealed_file import Sealed, as_time, now

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
