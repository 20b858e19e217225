"""The manifest of a run: the versions, the seed and the hashes of all that its result depends on."""

from __future__ import annotations

import platform
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from actors.runs.code import code_sha256, own_code_sha256
from prism.config import Config

OWN_PACKAGE = "prism-sim"
PACKAGES = (OWN_PACKAGE, "anyio", "igraph", "msgspec", "numpy", "xxhash")
"""The packages whose versions could change a result."""


class Fork(msgspec.Struct, frozen=True, kw_only=True):
    """The branching of a run from another.

    Args:
        parent: the other run's name: that of its directory.
        tick: ticks that the two have in common.
        digest: the digest after those ticks.
        config: the file with the settings that they were run with.
        repaired: the other run's lost answers that `prism repair` asked for again; 0 for `prism fork`.
    """

    parent: str
    tick: int
    digest: str
    config: str
    repaired: int = 0


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a run before its last tick, on purpose.

    Args:
        tick: ticks committed before it.
        reason: the name of a signal, or another of `actors.core.ends`, but not an error.
        detail: what the server did, in a word; empty if no server is to blame.
    """

    tick: int
    reason: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest of a run: what it was made of.

    Args:
        code: SHA-256 over the syntax trees of the code that decides everything in the journal.
        domain_code: the same of the code of a domain of its own; empty for one that comes with PRISM.
        inputs: `{input file: SHA-256}`.
        oracle: the oracle in words: backend, model, server and its version, tape.
        capabilities: `{dimension: the way in which the model's server is asked}`; empty without a server.
        forks: the branchings that led to the run, the oldest first; empty for a run that is no fork.
        resumed: the ticks at which it was resumed.
        accepted: `{setting: value}` that `prism resume --accept-settings` has changed.
        stopped: what stopped the run before its last tick; None if nothing did, or it crashed.
        sealed: `{file: SHA-256}` of files in the directory, as they were when they were written whole: configurations
            from the start, the others from the end of the run.
        checkpoints: the checkpoints that there were at the end of the run; empty while it is under way.
        seal: the SHA-256 of the manifest with an empty seal.
    """

    python: str
    platform: str
    packages: dict[str, str]
    code: str
    domain_code: str = ""
    seed: int
    inputs: dict[str, str]
    oracle: str = ""
    capabilities: dict[str, str] = {}
    forks: tuple[Fork, ...] = ()
    resumed: tuple[int, ...] = ()
    accepted: dict[str, Any] = {}
    stopped: Stop | None = None
    sealed: dict[str, str] = {}
    checkpoints: tuple[str, ...] = ()
    seal: str = ""


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the file of a manifest, with its seal."""
    unsealed = _encode(msgspec.structs.replace(manifest, seal=""))
    return _encode(msgspec.structs.replace(manifest, seal=sha256(unsealed).hexdigest()))


def is_as_written(content: bytes) -> bool:
    """Return whether a manifest that can be decoded is what was written, byte by byte."""
    if not (seal := str(msgspec.json.decode(content).get("seal", ""))):
        return False
    before, _, after = content.rpartition(seal.encode())
    return sha256(before + after).hexdigest() == seal


def _encode(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def manifest_of(config: Config, inputs: dict[str, str], domain_code: tuple[Path, ...] = ()) -> Manifest:
    """Return the manifest of a new run in this process.

    Args:
        domain_code: the files and directories of the code of a domain of its own.
    """
    return Manifest(
        python=platform.python_version(),
        platform=platform.platform(),
        packages={package: version(package) for package in PACKAGES},
        code=code_sha256(),
        domain_code=own_code_sha256(domain_code),
        seed=config.simulation.seed,
        inputs=inputs,
    )
