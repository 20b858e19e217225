"""The directory of one run, and how files are written to it: whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import yaml

from actors.core.errors import JournalError, RunDirectoryError, run_directory_error
from actors.core.ports import Address
from actors.persistence.disk import RealDisk, write_whole
from actors.persistence.journal import JOURNAL, read_header
from actors.persistence.oracle_log import ANSWERS, FIRST_ANSWER
from actors.runs.lock import LOCK
from actors.runs.manifest import Manifest
from actors.runs.rounds_csv import ROUNDS
from prism.config import Config

ADDRESS = "metrics.json"
"""The file in a run's directory that says where its metrics are, while the run is under way."""

WRITTEN_BEFORE_THE_START = (
    "config.yaml",
    "manifest.json",
    "log.jsonl",
    "tape.sqlite",
    ADDRESS,
    ROUNDS,
    JOURNAL,
    ANSWERS,
    LOCK,
)
CONFIG, MANIFEST, SUMMARY = "config.yaml", "manifest.json", "summary.json"

UNSTARTED_FILES = {LOCK, CONFIG, MANIFEST, ANSWERS, *(f".{name}.tmp" for name in (CONFIG, MANIFEST, ANSWERS, JOURNAL))}
"""What there can be of a run whose journal does not exist yet; its lock is the first of them."""


class RunDirectory:
    """The files of one run; `docs/cli.md` lists them.

    Args:
        path: an existing directory that belongs to one run.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, out: Path | None, name: str) -> RunDirectory:
        """A new run directory: `out`, or the next free `runs/<name>-001`.

        What a run left in `out` that was killed before its journal was there is in nobody's way.

        Raises:
            RunDirectoryError: `out` holds files already, or a directory cannot be made.
            DiskFailedError: there is no room for one.
        """
        if out is None:
            return cls(_next_free(Path("runs"), name))
        try:
            out.mkdir(parents=True, exist_ok=True)
            occupied = any(out.iterdir())
        except OSError as error:
            raise run_directory_error(error, f"{out}: cannot be made a run directory") from None
        if occupied and not ((out / LOCK).exists() and cls(out).is_unstarted):
            raise RunDirectoryError(f"{out}: is not empty; a run needs a directory of its own")
        return cls(out)

    @property
    def is_unstarted(self) -> bool:
        """Whether nothing is here but what a run writes before its journal is there."""
        answers = self.path / ANSWERS
        has_answers = answers.is_file() and answers.stat().st_size > FIRST_ANSWER
        return not has_answers and {path.name for path in self.path.iterdir()} <= UNSTARTED_FILES

    @property
    def log(self) -> Path:
        """Where log lines go."""
        return self.path / "log.jsonl"

    def write_config(self, config: Config) -> None:
        """Write the configuration with every default filled in: what `prism run` needs to do it again."""
        text = yaml.safe_dump(msgspec.to_builtins(config), sort_keys=False, allow_unicode=True)
        self.write(CONFIG, text.encode())

    def write_manifest(self, manifest: Manifest) -> None:
        """Write what the run was made of."""
        self.write(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")

    def note_spent(self, tick: int) -> None:
        """Keep in the manifest that the spend cap ended the run after this many ticks."""
        self.write_manifest(msgspec.structs.replace(self.manifest(), spent_at=tick))

    def manifest(self) -> Manifest:
        """What the run was made of.

        Raises:
            RunDirectoryError: this is no run's directory, or its manifest cannot be read.
        """
        path = self.path / MANIFEST
        try:
            return msgspec.json.decode(path.read_bytes(), type=Manifest)
        except FileNotFoundError:
            raise RunDirectoryError(f"{self.path}: is no run's directory: it has no {MANIFEST}") from None
        except OSError as error:
            raise RunDirectoryError(f"{path}: cannot be read: {error.strerror}") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RunDirectoryError(f"{path}: is not what PRISM writes: {error}") from None

    def summary(self) -> dict[str, Any] | None:
        """What the run came to; None while it has not ended, or did not end well."""
        try:
            decoded = msgspec.json.decode((self.path / SUMMARY).read_bytes())
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None
        return decoded if isinstance(decoded, dict) else None

    def discard_unless_begun(self) -> None:
        """Remove what a run that could not start has written; a log with something in it stays."""
        if self._has_begun() or (self.log.exists() and self.log.stat().st_size):
            return
        for name in WRITTEN_BEFORE_THE_START:
            (self.path / name).unlink(missing_ok=True)
            (self.path / f".{name}.tmp").unlink(missing_ok=True)
        with suppress(OSError):  # somebody else's file is in it, or it is where the user stands
            self.path.rmdir()

    def _has_begun(self) -> bool:
        """Whether the journal has a tick."""
        disk = RealDisk(self.path)
        try:
            return disk.size(JOURNAL) > read_header(disk)[1]
        except (OSError, JournalError):
            return False

    def discard(self) -> None:
        """Remove the directory with everything in it: one that was made a moment ago and came to nothing."""
        shutil.rmtree(self.path, ignore_errors=True)

    @contextmanager
    def announcing(self, address: Address | None) -> Iterator[None]:
        """Keep the address of the run's metrics in its directory until the block ends; None announces nothing."""
        if address is None:
            yield
            return
        self.write(ADDRESS, msgspec.json.encode(address) + b"\n")
        try:
            yield
        finally:
            (self.path / ADDRESS).unlink(missing_ok=True)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Turn what the system says about a file that cannot be written into one clear line.

        Raises:
            RunDirectoryError: it may not be written here.
            DiskFailedError: the disk is full or broken.
        """
        try:
            yield
        except OSError as error:
            raise run_directory_error(error, f"{error.filename or self.path}: cannot be written") from None

    def write(self, name: str, content: bytes) -> None:
        """Write a file so that a crash leaves the old one or the new one, never half of it.

        Raises:
            RunDirectoryError: it may not be written here.
            DiskFailedError: the disk is full or broken.
        """
        disk = RealDisk(self.path)
        try:
            write_whole(disk, name, [content])
        except OSError as error:
            raise run_directory_error(error, f"{self.path / name}: cannot be written") from None
        finally:
            disk.close()


def _next_free(parent: Path, name: str) -> Path:
    for number in count(1):
        path = parent / f"{name}-{number:03d}"
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise run_directory_error(error, f"{path}: cannot be made a run directory") from None
        return path
    raise AssertionError("count() does not end")
