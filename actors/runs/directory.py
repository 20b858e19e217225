"""The directory of one run. Files are written to it whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import yaml

from actors.core.errors import JournalError, RunDirectoryError, run_directory_error
from actors.core.files import json_value, sha256_of
from actors.core.ports import Address
from actors.factory.input_files import INPUTS
from actors.store.checkpoint import checkpoint_names
from actors.store.disk import RealDisk, write_whole
from actors.store.journal import JOURNAL, journal_size, read_tail
from actors.store.lock import LOCK, PHASE
from actors.store.manifest import CONFIG, MANIFEST, SUMMARY, Manifest, Stop, encode_manifest, read_manifest
from actors.store.oracle_log import ANSWERS, FIRST_ANSWER
from actors.store.rounds import ROUNDS
from prism.config import Config

ADDRESS = "metrics.json"  # the file with the address of a run's metrics, while the run is under way

LOG, TAPE = "log.jsonl", "tape.sqlite"
WRITTEN_BEFORE_FIRST_TICK = (CONFIG, MANIFEST, LOG, TAPE, ADDRESS, PHASE, ROUNDS, JOURNAL, ANSWERS, LOCK)

UNSTARTED_FILES = {
    *(INPUTS, LOCK, CONFIG, MANIFEST, ANSWERS, PHASE),
    *(f".{name}.tmp" for name in (CONFIG, MANIFEST, ANSWERS, JOURNAL, PHASE)),
}
"""The files of a run whose journal does not exist yet. Its lock is created first."""


def make_numbered(parent: Path, name: str, what: str) -> Path:
    """Make the next free `<name>-001` in a directory, which is made as well. `what` it was to be is in the error."""
    number = 1
    while True:
        path = parent / f"{name}-{number:03d}"
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            number += 1
        except OSError as error:
            raise run_directory_error(error, f"{path}: cannot be made {what}") from None
        else:
            return path


class RunDirectory:
    """The files of one run; `docs/runs.md` lists them.

    A file that cannot be read or written is a RunDirectoryError, or a DiskFailedError if the disk is full or broken.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.log = path, path / LOG

    @property
    def name(self) -> str:
        name = self.path.name
        return self.path.resolve().name if name in {"", ".."} else name

    @classmethod
    def create(cls, out: Path | None, name: str) -> RunDirectory:
        """Create a run directory: `out`, or the next free `runs/<name>-001`. If `out` holds other files, it is refused.

        Files in `out` of a run that was killed before its journal existed are overwritten.
        """
        if out is None:
            return cls(make_numbered(Path("runs"), name, "a run directory"))
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
        """True if it holds only files that a run writes before its journal exists."""
        answers = self.path / ANSWERS
        has_answers = answers.is_file() and answers.stat().st_size > FIRST_ANSWER
        return not has_answers and {path.name for path in self.path.iterdir()} <= UNSTARTED_FILES

    def write_config(self, config: Config) -> None:
        """Write the configuration with every default filled in: `prism run` can repeat the run from it."""
        text = yaml.safe_dump(msgspec.to_builtins(config), sort_keys=False, allow_unicode=True)
        self.write(CONFIG, text.encode())

    def write_manifest(self, manifest: Manifest) -> None:
        self.write(MANIFEST, encode_manifest(manifest))

    def with_seals(self, manifest: Manifest, names: Iterable[str]) -> Manifest:
        """Return the manifest with the seals of these files as they are now; without one for a file that is missing."""
        sealed = dict(manifest.sealed)
        for name in names:
            try:
                sealed[name] = sha256_of(self.path / name)
            except FileNotFoundError:
                sealed.pop(name, None)
            except OSError as error:
                raise run_directory_error(error, f"{self.path / name}: cannot be read") from None
        return msgspec.structs.replace(manifest, sealed=sealed)

    def logs(self) -> list[Path]:
        """Return the log and the ones that were set aside. They are no files of the result, and are not sealed."""
        return sorted(self.path.glob(f"{LOG}*"))

    def is_tape_sealed(self) -> bool:
        try:
            return sha256_of(self.path / TAPE) == read_manifest(self.path).sealed.get(TAPE)
        except (OSError, RunDirectoryError):
            return False

    def seal_tape(self) -> None:
        """Seal a sealed tape again: a resume that did not begin may have opened it, which writes to it."""
        if TAPE in (manifest := read_manifest(self.path)).sealed and not self.is_tape_sealed():
            self.write_manifest(self.with_seals(manifest, [TAPE]))

    def seal_end(self) -> None:
        """Note in the manifest the end of the run: the seals of its files, and the names of its checkpoints."""
        checkpoints = tuple(checkpoint_names(RealDisk(self.path)))
        manifest = msgspec.structs.replace(read_manifest(self.path), checkpoints=checkpoints)
        self.write_manifest(self.with_seals(manifest, [SUMMARY, TAPE]))

    def record_stop(self, stop: Stop) -> None:
        self.write_manifest(msgspec.structs.replace(read_manifest(self.path), stopped=stop))

    def discard_unless_begun(self) -> None:
        """Remove the files of a run without a tick, and the directory if it is then empty; a log of warnings stays."""
        disk = RealDisk(self.path)
        with suppress(OSError, JournalError):
            if journal_size(disk) > read_tail(disk).sealed.first:
                return
        for line in self.log.read_bytes().splitlines() if self.log.exists() else ():
            with suppress(ValueError):  # a full disk may have cut the line
                if json_value(line, dict[str, Any]).get("level", "") not in ("", "debug", "info"):
                    return
        for name in WRITTEN_BEFORE_FIRST_TICK:
            (self.path / name).unlink(missing_ok=True)
            (self.path / f".{name}.tmp").unlink(missing_ok=True)
        shutil.rmtree(self.path / INPUTS, ignore_errors=True)
        with suppress(OSError):  # another file is in it, or it is the working directory
            self.path.rmdir()

    def discard(self) -> None:
        """Remove the directory with everything in it. Only for a directory that this process has just created."""
        shutil.rmtree(self.path, ignore_errors=True)

    @contextmanager
    def publishing(self, address: Address | None) -> Iterator[None]:
        """Keep the address of the run's metrics in its directory until the block ends; None publishes nothing."""
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
        """Turn an OSError in the block into an error that names the file."""
        try:
            yield
        except OSError as error:
            raise run_directory_error(error, f"{error.filename or self.path}: cannot be written") from None

    def write(self, name: str, content: bytes) -> None:
        """Write a file so that a crash leaves the old one or the new one, never a part of it."""
        disk = RealDisk(self.path)
        try:
            write_whole(disk, name, [content])
        except OSError as error:
            raise run_directory_error(error, f"{self.path / name}: cannot be written") from None
        finally:
            disk.close()
