"""What a run was made of: enough to tell whether another process would make the same one."""

from __future__ import annotations

import platform
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

import prism
from prism.config import Config

PACKAGES = ("prism-sim", "anyio", "igraph", "msgspec", "numpy", "xxhash")
"""The packages whose versions could change a result."""


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
        spent_at: the ticks after which the spend cap ended the run without a summary; None if it did not.
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
    spent_at: int | None = None


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
