"""A module or package of somebody's own as a unit: its files with their hashes, read and not run."""

from __future__ import annotations

from hashlib import sha256
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
)
from pathlib import Path
from typing import Final, NamedTuple

from actors.core.files import read_regular
from actors.factory.kept_inputs import SOURCE_BYTES_MAX

SUFFIXES: Final = (*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES)
"""The ends of the names of files that Python imports from a directory of somebody's own."""


class CodeUnit(NamedTuple):
    """A module, or a package with all its modules.

    Args:
        name: by which it is imported.
        sources: `(file, SHA-256)` of each file, in order of name.
        sha256: over all of them.
    """

    name: str
    sources: tuple[tuple[Path, str], ...]
    sha256: str

    @property
    def key(self) -> str:
        """The key by which it is known."""
        return f"{self.sha256} {self.name}"


def spec_in(directory: Path, name: str) -> ModuleSpec | None:
    """Return the specification of a top-level module in a directory, whether it may be run or not."""
    loaders = (ExtensionFileLoader, EXTENSION_SUFFIXES), (SourceFileLoader, SOURCE_SUFFIXES)
    return FileFinder(str(directory.resolve()), *loaders).find_spec(name)


def unit_in(place: Path) -> CodeUnit:
    """Return the module in a file, or the package in a directory.

    Raises:
        OSError: a file cannot be read.
    """
    files, root = _files_in(place), place if place.is_dir() else place.parent
    sources = tuple((file, sha256(read_regular(file, SOURCE_BYTES_MAX)).hexdigest()) for file in files)
    digest = sha256()
    for file, each in sources:
        digest.update(f"{file.relative_to(root).as_posix()}\0{each}\0".encode())
    return CodeUnit(place.name.partition(".")[0], sources, digest.hexdigest())


def _files_in(place: Path) -> list[Path]:
    """Return a module's file, or those of a package that Python could import, `__init__.py` first."""
    if not place.is_dir():
        return [place]
    files = [path for path in place.rglob("*") if path.name.endswith(SUFFIXES)]
    return sorted(files, key=lambda path: (path.parent != place, path))
