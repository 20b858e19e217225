"""The directory of one run, and how files are written to it: whole or not at all."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import yaml

import prism
from actors.answer_log import ANSWERS
from actors.answer_log import MAGIC as ANSWERS_MAGIC
from actors.disk import RealDisk
from actors.errors import JournalError, RunDirectoryError
from actors.journal import JOURNAL, read_header
from actors.lock import LOCK
from actors.series import ROUNDS
from prism.config import Config

PACKAGES = ("prism-sim", "anyio", "igraph", "msgspec", "numpy", "xxhash")
"""The packages whose versions could change a result."""

WRITTEN_BEFORE_THE_START = (
    "config.yaml",
    "manifest.json",
    "log.jsonl",
    "tape.sqlite",
    "metrics.json",
    ROUNDS,
    JOURNAL,
    ANSWERS,
    LOCK,
)
CONFIG, MANIFEST, SUMMARY = "config.yaml", "manifest.json", "summary.json"

UNBORN = {LOCK, CONFIG, MANIFEST, ANSWERS, *(f".{name}.tmp" for name in (CONFIG, MANIFEST, ANSWERS, JOURNAL))}
"""What there can be of a run whose journal does not exist yet; its lock is the first of them."""


class Fork(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run branched off another.

    Args:
        parent: the other run's directory, as it was named.
        tick: ticks the two have in common.
        digest: of those ticks.
        config: the file with the settings they were run with.
    """

    parent: str
    tick: int
    digest: str
    config: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a run was made of.

    Args:
        code: SHA-256 over the source of `prism`, which decides everything that is journalled.
        inputs: `{input file: SHA-256}`.
        oracle: who answers, in words: backend, model, server and its version, tape.
        forks: the runs it branched off, the oldest first; empty for a run of its own.
        resumed: the ticks it was resumed at.
        accepted: settings that `prism resume --force` has changed since, and their values. What it said of packages
            and code is replaced by what they are then.
    """

    python: str
    platform: str
    packages: dict[str, str]
    code: str
    seed: int
    inputs: dict[str, str]
    oracle: str = ""
    forks: tuple[Fork, ...] = ()
    resumed: tuple[int, ...] = ()
    accepted: dict[str, Any] = {}


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
        """
        if out is None:
            return cls(_next_free(Path("runs"), name))
        try:
            out.mkdir(parents=True, exist_ok=True)
            occupied = any(out.iterdir())
        except OSError as error:
            raise RunDirectoryError(f"{out}: cannot be made a run directory: {error.strerror}") from None
        if occupied and not ((out / LOCK).exists() and cls(out).is_unborn):
            raise RunDirectoryError(f"{out}: is not empty; a run needs a directory of its own")
        return cls(out)

    @property
    def is_unborn(self) -> bool:
        """Whether nothing is here but what a run writes before its journal is there."""
        answers = self.path / ANSWERS
        has_answers = answers.is_file() and answers.stat().st_size > len(ANSWERS_MAGIC)
        return not has_answers and {path.name for path in self.path.iterdir()} <= UNBORN

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
    def writing(self) -> Iterator[None]:
        """Turn what the system says about a file that cannot be written into one clear line."""
        try:
            yield
        except OSError as error:
            raise RunDirectoryError(f"{error.filename or self.path}: cannot be written: {error.strerror}") from None

    def write(self, name: str, content: bytes) -> None:
        """Write a file so that a crash leaves the old one or the new one, never half of it.

        Raises:
            RunDirectoryError: it cannot be written, as on a full disk.
        """
        target, draft = self.path / name, self.path / f".{name}.tmp"
        try:
            with draft.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(target)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise RunDirectoryError(f"{target}: cannot be written: {error.strerror}") from None


def manifest_of(config: Config, inputs: dict[str, str]) -> Manifest:
    """The manifest of a new run in this process."""
    return Manifest(
        python=platform.python_version(),
        platform=platform.platform(),
        packages={package: version(package) for package in PACKAGES},
        code=code_sha256(),
        seed=config.simulation.seed,
        inputs=inputs,
    )


def code_sha256() -> str:
    """SHA-256 over the source of `prism`: file names and contents, in order of name."""
    digest = sha256()
    root = Path(prism.__path__[0])
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _next_free(parent: Path, name: str) -> Path:
    for number in count(1):
        path = parent / f"{name}-{number:03d}"
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise RunDirectoryError(f"{path}: cannot be made a run directory: {error.strerror}") from None
        return path
    raise AssertionError("count() does not end")
