"""The directory of one run, and how files are written to it: whole or not at all."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import yaml

from actors.errors import RunDirectoryError
from prism.config import Config

PACKAGES = ("prism-sim", "anyio", "igraph", "msgspec", "numpy", "xxhash")
"""The packages whose versions could change a result."""

WRITTEN_BEFORE_THE_START = ("config.yaml", "manifest.json", "log.jsonl", "rounds.csv", "tape.sqlite")


class RunDirectory:
    """`config.yaml` (resolved), `manifest.json`, `log.jsonl`, `rounds.csv` and, at the end, `summary.json`.

    Args:
        path: an existing directory that belongs to one run.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, out: Path | None, name: str) -> RunDirectory:
        """A new run directory: `out`, or the next free `runs/<name>-001`.

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
        if occupied:
            raise RunDirectoryError(f"{out}: is not empty; a run needs a directory of its own")
        return cls(out)

    @property
    def log(self) -> Path:
        """Where log lines go."""
        return self.path / "log.jsonl"

    @property
    def rounds(self) -> Path:
        """Where a row for each round goes."""
        return self.path / "rounds.csv"

    def write_config(self, config: Config) -> None:
        """Write the configuration with every default filled in: what `prism run` needs to do it again."""
        text = yaml.safe_dump(msgspec.to_builtins(config), sort_keys=False, allow_unicode=True)
        self.write("config.yaml", text.encode())

    def write_manifest(self, config: Config, inputs: dict[str, str]) -> None:
        """Write what the run was made of: versions, seed and the SHA-256 of every input file."""
        manifest: dict[str, Any] = {
            "python": platform.python_version(),
            "platform": platform.platform(),
            "packages": {package: version(package) for package in PACKAGES},
            "seed": config.simulation.seed,
            "inputs": inputs,
        }
        self.write("manifest.json", msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")

    def discard_unless_begun(self) -> None:
        """Remove what a run that could not start has written; a log with something in it stays."""
        if self.log.exists() and self.log.stat().st_size:
            return
        for name in WRITTEN_BEFORE_THE_START:
            (self.path / name).unlink(missing_ok=True)
        with suppress(OSError):  # somebody else's file is in it, or it is where the user stands
            self.path.rmdir()

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
