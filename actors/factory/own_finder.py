"""The finder of modules in users' own directories, from source alone, and these modules as units with hashes.

Such a directory stands last on Python's path. Only code that its user has allowed is found there: otherwise a
`numpy_extra.py` beside a chart would be run as soon as any library looks for an optional package of this name. A
compiled file beside a source is not used, because it could come from other code.
"""

from __future__ import annotations

import sys
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
from types import ModuleType
from typing import Any, Final, NamedTuple

from actors.core.files import read_regular
from actors.factory.kept_code import paths_of
from actors.factory.kept_inputs import SOURCE_BYTES_MAX
from actors.factory.known_code import known_code

added_directories: dict[Path, bool] = {}
"""`{directory that was added to Python's path: whether its user has allowed all imports from it}`."""


class SourceLoader(SourceFileLoader):
    """Loads a module from its source, never from a compiled file beside it."""

    def path_stats(self, path: Any) -> Any:
        """Refuse to give the age of the source: Python would use it to accept a compiled file."""
        raise OSError(None, "compiled files are not used", str(path))


class OwnFinder(FileFinder):
    """A finder of the code in a user's own directory that may be run here."""

    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the specification of a module; None if its user has not allowed it."""
        spec = super().find_spec(fullname, target)
        if spec is None or "." in fullname:  # a part of a package that was allowed as a whole
            return spec
        try:
            keys = [unit_in(place).key for place in paths_of(spec)]
        except OSError:
            return None
        if added_directories.get(Path(self.path)):
            known_code.add(keys)
        return spec if keys and known_code.has(keys) else None


_LOADERS: tuple[tuple[Any, list[str]], ...] = (
    (ExtensionFileLoader, EXTENSION_SUFFIXES),
    (SourceLoader, SOURCE_SUFFIXES),
)


def add_to_path(directory: Path) -> None:
    """Let Python find modules in a directory, after all those that it finds already."""
    resolved = directory.resolve()
    if str(resolved) in sys.path:
        return
    if _own_finder not in sys.path_hooks:
        sys.path_hooks.insert(0, _own_finder)
    added_directories[resolved] = False
    sys.path.append(str(resolved))
    sys.path_importer_cache.pop(str(resolved), None)


def _own_finder(path: str) -> OwnFinder:
    """Return the finder of a directory that was added, or of one of its packages.

    Raises:
        ImportError: the directory belongs to another entry of Python's path, such as an environment inside of it.
    """
    entries = [Path(entry) for entry in sys.path if entry and Path(path).is_relative_to(entry)]
    if not entries or max(entries, key=lambda entry: len(entry.parts)) not in added_directories:
        raise ImportError(f"{path}: is not in a directory of the user's own code")
    return OwnFinder(path, *_LOADERS)


SUFFIXES: Final = (*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES)
"""The suffixes of files that Python imports from a user's own directory."""


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
