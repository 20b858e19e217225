"""The user's own code that a run names: the part that this user has not run here before, and its permission."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from actors.factory.domains import own_code
from actors.factory.own_code import OwnCode, allow, unknown_code
from actors.store.manifest import CONFIG, read_manifest
from actors.store.run import read_resolved
from prism.errors import PrismError


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


def trust_run(path: Path, overrides: Sequence[str] = ()) -> None:
    """Let the code that a run names be run here, now and later. The arguments are those of `unknown_code_of`."""
    allow(unknown_code_of(path, overrides))
