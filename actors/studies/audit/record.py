"""The record of an audit in the directory of its study."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec

from actors.core.errors import RunDirectoryError, run_directory_error
from actors.core.files import NotJsonError, read_json, refuse_links, write_json
from prism.audit.record import Audit
from prism.llm import Tape

AUDIT = "audit"
RECORD = "audit.json"
TAPE = ".sqlite"


def directory_of(study: Path) -> Path:
    place = study / AUDIT
    try:
        refuse_links(study)
        place.mkdir(exist_ok=True)
    except OSError as error:
        raise run_directory_error(error, f"{error.filename or place}: cannot be written") from None
    return place


def keep_audit(study: Path, found: Audit) -> Path:
    write_json(directory_of(study) / RECORD, found)
    return study / AUDIT / RECORD


def answers_kept(study: Path) -> int:
    """Return how many answers are on the tapes of an audit. It reads them, and blocks."""
    kept = 0
    for file in (study / AUDIT).glob(f"*{TAPE}"):
        with closing(Tape(file, "look")) as tape:
            found = tape.statistics()
        kept += found["completion"] + found["distribution"]
    return kept


def read_audit(study: Path) -> Audit | None:
    file = study / AUDIT / RECORD
    try:
        return read_json(file, Audit)
    except FileNotFoundError:
        return None
    except (NotJsonError, msgspec.ValidationError) as error:
        problem = f"is no audit of this version: {error}; `prism audit {study}` makes it again from its answers"
        raise RunDirectoryError(f"{file}: {problem}") from None
    except OSError as error:
        raise RunDirectoryError(f"{file}: cannot be read: {error.strerror or error}") from None
