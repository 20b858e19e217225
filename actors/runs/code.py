"""The code that decides a run, as a hash of its files; and the user's own code, with its permission to be run."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

import prism
from actors.factory.domains import own_code
from actors.factory.own_code import OwnCode, sources_below, sources_of, sources_sha256, unknown_code
from actors.store.manifest import CONFIG, Manifest, read_manifest
from actors.store.run import read_resolved
from prism.config import Config
from prism.errors import PrismError

ROOMS = ("core", "factory", "oracle", "runtime")
"""The rooms of `actors` that, with `prism`, decide the content of a tick. The others keep it or show it."""


@cache
def code_sha256() -> str:
    """Return the SHA-256 over the files of `prism` and of the `ROOMS` of `actors`."""
    return sources_sha256(deciding_sources())


def deciding_sources() -> dict[str, bytes]:
    """Return `{file name: source}` of the code that decides a run: Python, and charts."""
    package, rooms = Path(prism.__path__[0]), Path(__file__).parents[1]
    sources = dict(sources_below(package, package.parent))
    for room in ROOMS:
        sources |= sources_below(rooms / room, rooms.parent)
    return sources


@cache
def own_code_sha256(places: tuple[Path, ...]) -> str:
    """Return the SHA-256 over a domain's own code; empty without any.

    A process reads it once, as it imports a module once: later edits do not run in this process.

    Args:
        places: the file of a module, or the directories of a package.
    """
    sources = sources_of(places)
    return sources_sha256(sources) if sources else ""


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


def unknown_code_of(path: Path, overrides: Sequence[str] = ()) -> list[OwnCode]:
    """Return the code that running a directory's run again would run, and that its user has not run here before.

    No code is run here. Code that cannot be read or found is left out: it cannot run, and a run of it says why.

    Args:
        overrides: `a.b=value` each: settings that the run is to have.
    """
    named: dict[str, Sequence[str]] = {CONFIG: overrides}
    with suppress(PrismError):
        named |= {fork.config: () for fork in read_manifest(path).forks}
    found: dict[str, OwnCode] = {}
    for name, changes in named.items():
        with suppress(PrismError):  # an error of this file alone: the code that other files name is still asked about
            found |= {code.key: code for code in own_code(read_resolved(path / name, changes))}
    return unknown_code(found.values())
