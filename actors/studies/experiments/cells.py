"""The cells of an experiment: each is a run in a directory named by its key, and is begun, continued or done."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from actors.core.errors import REPEAT, RESUME, RunDirectoryError, RunLockedError
from actors.factory.domains import entrust
from actors.factory.input_files import note_files
from actors.factory.own_code import raised
from actors.results.api import resume, run
from actors.results.result import RunResult
from actors.runs.directory import RunDirectory
from actors.runs.replay import at_once
from actors.store.lock import locked
from actors.store.manifest import CONFIG, MANIFEST, read_manifest, read_summary
from actors.studies.experiments.plan import settings_hash
from actors.studies.gateway.place import GatewayPlace
from prism.config import Config
from prism.errors import PrismError
from prism.llm.gateway import through

CELLS = "cells"
LOCKED_WAIT_S = 1.0
LOCKED_TRIES = 10  # a worker whose driver was killed ends within a second; until then it holds the lock of its cell


class Task(NamedTuple):
    """The work of a process: a cell, its directory, and the hashes of its input files when it was planned."""

    config: Config
    path: Path
    inputs: Mapping[str, str]
    gateway: GatewayPlace | None = None  # asks the servers of models for the cell; None if it asks for itself
    # `{kept input that the configuration names: its place here}`, which another process does not know
    kept: Mapping[str, Path] = {}


class Done(NamedTuple):
    problem: str = ""  # why it has no result, on one line; empty if it has
    wall_s: float = 0.0  # the time that it took here; 0 if it was done already
    signal: str = ""  # the signal that stopped it, as on a node that is shut down; empty if no signal did


class HasKey(Protocol):
    """A cell, or what a file of its plan keeps of it."""

    @property
    def key(self) -> str: ...


def cell_path(out: Path, cell: HasKey) -> Path:
    return out / CELLS / cell.key


def is_done(path: Path) -> bool:
    """Return whether the run of a cell has all its ticks, as its summary says. Nothing else of it is read."""
    return str(read_summary(path).get("status", "")).startswith("done")


def count_done(out: Path) -> int:
    """Return the number of cells in an experiment's directory that are done, of this plan and of earlier ones."""
    return sum(is_done(path) for path in (out / CELLS).glob("*"))


def cells_begun(out: Path) -> list[Path]:
    """Return the runs in an experiment's directory, whether they have ended or not."""
    return [*(out / CELLS).glob("*")]


def work(task: Task) -> Done:
    """Run a cell, or continue it, in this process. It raises no error: the returned end names the problem."""
    try:
        begun = time.monotonic()
        for _ in range(LOCKED_TRIES):
            try:
                gateway = task.gateway
                asked = None if gateway is None else gateway.of_cell(task.config, settings_hash(task.config))
                with through(asked):
                    note_files(task.kept)
                    entrust(task.config)  # its user has planned it, maybe on another machine
                    result = _executed(task)
                # Discard a run whose input files are not those of its key: they have changed since the plan
                # was made.
                used = {*read_manifest(task.path).inputs.values()}
                for name, planned in task.inputs.items():
                    if planned not in used:
                        _discard(task.path)
                        raise RunDirectoryError(
                            f"{task.path}: {name} has changed since the plan was made, so the run is discarded"
                        )
            except RunLockedError:
                time.sleep(LOCKED_WAIT_S)
                continue
            if not result.is_done:
                stopped_by = result.summary.stopped_by or ""
                signal = stopped_by if stopped_by.startswith("SIG") else ""
                return Done(f"{task.path}: stopped before its end by {stopped_by}", signal=signal)
            return Done(wall_s=time.monotonic() - begun)
        return Done(f"{task.path}: another process still works on it")
    except PrismError as error:
        return Done(" ".join(str(error).replace(RESUME, REPEAT).split()))
    except MemoryError:
        return Done(f"{task.path}: needs more memory than its process may use")
    except OSError as error:  # the error of a directory that cannot be made again
        return Done(f"{task.path}: {error.strerror or error}")
    except Exception as error:  # noqa: BLE001  # a user's code, of a domain or a chart, may raise anything
        return Done(f"{task.path}: raised {raised(error)}")


def _executed(task: Task) -> RunResult:
    path = task.path
    # A run can be continued if it has a journal, and a manifest that can be read.
    manifest = None
    if (path / MANIFEST).exists() and (path / CONFIG).exists() and not RunDirectory(path).is_unstarted:
        with suppress(RunDirectoryError):
            manifest = read_manifest(path)
    if manifest is not None:
        return resume(path)
    if path.exists():
        _discard(path)
    return run(at_once(task.config), out=path)


def _discard(path: Path) -> None:
    """Remove a cell's directory, unless another process works on it."""
    with locked(path):
        shutil.rmtree(path)
