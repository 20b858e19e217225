"""The manifest of a run: the versions, the seed and the hashes of all that its result depends on."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

from actors.record.manifest import Manifest
from actors.runs.code import code_sha256, own_code_sha256
from prism.config import Config

OWN_PACKAGE = "prism-sim"
PACKAGES = (OWN_PACKAGE, "anyio", "igraph", "msgspec", "numpy", "xxhash")
"""The packages whose versions could change a result."""


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
