"""The file with the phase of a run, for other processes while it is under way."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

import msgspec

from actors.core.events import Event, PhaseChanged
from actors.core.files import open_own, read_json
from actors.core.phase import Phase

PHASE = "phase.json"
PATIENCE_S = 1.0
"""The time for which a run waits for the file at its end: a disk that hangs must not hold up the end."""


class PhaseNote(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the file.

    Args:
        since: Unix time at which the phase began.
        reason: why the run waits; empty if it does not.
    """

    phase: Phase
    since: float
    reason: str = ""


class PhaseFile:
    """A file that a thread writes at each change of phase, and removes at the end. As a context manager it blocks.

    It is only for people to read, so it is not synced, and an error of the disk ends it silently.
    """

    def __init__(self, path: Path) -> None:
        self._path = path / PHASE
        self._notes: SimpleQueue[PhaseNote | None] = SimpleQueue()
        self._writer = Thread(target=self._write, name="phase", daemon=True)

    def __enter__(self) -> PhaseFile:
        self._writer.start()
        self._put(Phase.STARTING)
        return self

    def __exit__(self, *_: object) -> None:
        self._notes.put(None)
        self._writer.join(PATIENCE_S)

    def hear(self, event: Event) -> None:
        if isinstance(event, PhaseChanged):
            self._put(event.phase, event.reason)

    def _put(self, phase: Phase, reason: str = "") -> None:
        self._notes.put(PhaseNote(phase=phase, since=time.time(), reason=reason))

    def _write(self) -> None:
        draft = self._path.with_name(f".{PHASE}.tmp")
        with suppress(OSError):
            while (note := self._notes.get()) is not None:
                draft.unlink(missing_ok=True)
                with os.fdopen(open_own(draft, os.O_WRONLY | os.O_CREAT), "wb") as file:
                    file.write(msgspec.json.encode(note) + b"\n")
                draft.replace(self._path)
        for path in (draft, self._path):
            with suppress(OSError):
                path.unlink(missing_ok=True)


def read_phase(directory: Path) -> PhaseNote | None:
    """Return the content of the file; None if there is no file."""
    try:
        return read_json(directory / PHASE, PhaseNote)
    except OSError:
        return None
