"""The manifest of a run, and the summary of its end, as they are in its directory."""

from __future__ import annotations

import shlex
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from actors.core.errors import RunDirectoryError
from actors.core.files import JSON_BYTES_MAX, NotJsonError, json_value, read_json, read_regular, sha256_of
from prism.wording import counted

CONFIG, MANIFEST, SUMMARY = "config.yaml", "manifest.json", "summary.json"
NOT_AS_WRITTEN = "is not what the run has written"
"""The problem of a file whose hash has changed, if nothing more is known."""


class Fork(msgspec.Struct, frozen=True, kw_only=True):
    """The branching of a run from another."""

    parent: str  # the other run's name: that of its directory
    tick: int  # ticks that the two have in common
    digest: str  # the digest after those ticks
    config: str  # the file with the settings of those ticks


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a run before its last tick, on purpose."""

    tick: int  # ticks committed before it
    reason: str  # the name of a signal, or another of `actors.core.phase`, but not an error
    detail: str = ""  # the failure of the server, in a word; empty if no server is the cause

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest of a run: its code, inputs, oracle and settings."""

    python: str
    platform: str
    packages: dict[str, str]
    code: str  # SHA-256 over the syntax trees of the code that decides everything in the journal
    domain_code: str = ""  # the same hash of the code of its own domain; empty for a domain that comes with PRISM
    seed: int
    inputs: dict[str, str]  # `{input file: SHA-256}`
    oracle: str = ""  # the oracle in words: backend, model, server and its version, tape
    dialect: str = ""  # how the model's server is told the schema of an answer; empty without a server
    # the branchings that led to the run, the oldest first; empty for a run that is no fork
    forks: tuple[Fork, ...] = ()
    resumed: tuple[int, ...] = ()  # the ticks at which it was resumed
    accepted: dict[str, Any] = {}  # `{setting: value}` that `prism resume --accept-settings` has changed
    stopped: Stop | None = None  # the stop of the run before its last tick; None if it did not stop, or crashed
    # `{file: SHA-256}` of files in the directory, as they were when they were written whole: configurations from the
    # start, the others from the end of the run
    sealed: dict[str, str] = {}
    # the checkpoints that there were at the end of the run; empty while it is under way
    checkpoints: tuple[str, ...] = ()
    seal: str = ""  # the SHA-256 of the manifest with an empty seal

    @property
    def configs(self) -> tuple[str, ...]:
        """The files of its configurations: its own, and those of its past."""
        return (CONFIG, *(fork.config for fork in self.forks))


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the file of a manifest, with its seal."""
    unsealed = _encode(msgspec.structs.replace(manifest, seal=""))
    return _encode(msgspec.structs.replace(manifest, seal=sha256(unsealed).hexdigest()))


def is_as_written(directory: Path) -> bool:
    """Return whether the manifest, which can be read, has the content for which its seal was made."""
    content = read_regular(directory / MANIFEST, JSON_BYTES_MAX)
    seal: str = json_value(content, Manifest).seal
    if not seal:
        return False
    before, _, after = content.rpartition(seal.encode())
    return sha256(before + after).hexdigest() == seal


def _encode(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def read_manifest(directory: Path) -> Manifest:
    """Read the manifest of a run. If there is none, or it cannot be read, it is a RunDirectoryError."""
    refuse_others(directory)
    path = directory / MANIFEST
    try:
        return read_json(path, Manifest)
    except FileNotFoundError:
        if not directory.exists():
            raise RunDirectoryError(f"{directory}: no such directory") from None
        count = sum(1 for _ in directory.glob(f"*/{MANIFEST}"))
        inside = f"; it has {counted(count, 'run')}: {directory}/*" if count else ""
        raise RunDirectoryError(f"{directory}: is no run's directory: it has no {MANIFEST}{inside}") from None
    except NotJsonError as error:
        raise RunDirectoryError(f"{path}: {error.strerror}") from None
    except OSError as error:
        raise RunDirectoryError(f"{path}: cannot be read: {error.strerror}") from None


def read_summary(directory: Path) -> dict[str, Any]:
    """Return the summary; empty if the run has not ended, or ended in an error."""
    try:
        decoded = read_json(directory / SUMMARY)
    except OSError:
        return {}
    return decoded if isinstance(decoded, dict) else {}


def broken_seals(directory: Path, manifest: Manifest) -> dict[str, str]:
    """Return `{file: its problem}` of the files that have changed since they were sealed, or are missing."""
    problems = dict[str, str]()
    for name, was in manifest.sealed.items():
        try:
            if sha256_of(directory / name) != was:
                problems[name] = NOT_AS_WRITTEN
        except FileNotFoundError:
            problems[name] = "is missing"
        except OSError as error:
            problems[name] = f"cannot be read: {error.strerror}"
    return problems | {name: "is missing" for name in manifest.checkpoints if not (directory / name).is_file()}


def refuse_others(path: Path) -> None:
    """Raise RunDirectoryError if a directory is of a calibration or an experiment; say what shows that."""
    place = shlex.quote(str(path))
    if not (path / "cells").is_dir():
        return
    if (path / "observed").is_dir():
        shows = f"`prism calibrate FILE` shows it, and `prism view {place}/cells` its runs"
        raise RunDirectoryError(f"{path}: is a calibration, not a run; its result is in calibration.json; {shows}")
    if (path / "plans").is_dir():
        shows = f"`prism report {place}` and `prism view {place}` show it"
        raise RunDirectoryError(f"{path}: is an experiment, not a run; {shows}")
