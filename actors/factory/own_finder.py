"""The finder of modules in directories of somebody's own: of those that their user has asked for, from source alone.

Such a directory stands last on Python's path, and without this everything in it could be imported: a `numpy_extra.py`
beside a chart would be run as soon as any library looks for an optional package of this name. A compiled file beside a
source is not used, because it could be of other code than the source says.
"""

from __future__ import annotations

import sys
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
from typing import Any

from actors.factory.code_units import unit_in
from actors.factory.kept_code import paths_of
from actors.factory.known_code import known_code

added_directories: dict[Path, bool] = {}
"""`{directory that was added to Python's path: whether its user has asked for all that is imported from it}`."""


class SourceLoader(SourceFileLoader):
    """Loads a module from its source, never from a compiled file beside it."""

    def path_stats(self, path: Any) -> Any:
        """Refuse to say how old the source is, by which Python would know a compiled file of it."""
        raise OSError(None, "compiled files are not used", str(path))


class OwnFinder(FileFinder):
    """Finds what may be run here in a directory of somebody's own."""

    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the specification of a module; None for one that its user has not asked for."""
        spec = super().find_spec(fullname, target)
        if spec is None or "." in fullname:  # of a package that was allowed as a whole
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
        raise ImportError(f"{path}: is no directory of somebody's own")
    return OwnFinder(path, *_LOADERS)
