"""The code that a run has kept: checked, and found by Python before any other of its name."""

from __future__ import annotations

import ast
import importlib
import sys
from contextlib import suppress
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

from actors.factory.kept_inputs import is_kept, kept_sha256, place_of, sources_below, sources_of, sources_sha256


class KeptCodeError(Exception):
    """The error for kept code that cannot be used; its text gives the reason."""


def kept_directory(name: str | None) -> Path | None:
    """Return the directory of the code that a run has kept; None without any. Nothing of it is run.

    Raises:
        KeptCodeError: it is not what the run has kept.
    """
    if name is None or not is_kept(name):
        return None
    directory = place_of(name).resolve()
    if not directory.is_dir():
        raise KeptCodeError(f"{directory}: no such directory; the run has kept its code there")
    _refuse_other_than_kept(directory, str(kept_sha256(name)))
    return directory


def use_kept_code(directory: Path) -> None:
    """Let Python find the code that a run has kept before any other.

    Args:
        directory: as `kept_directory` returns it.

    Raises:
        KeptCodeError: this process runs other code of the same name already.
    """
    for place in sorted(directory.iterdir()):
        _refuse_other_module(place)
    sys.dont_write_bytecode = True  # a compiled file there would be a file that the run has not kept
    if str(directory) in sys.path:
        sys.path.remove(str(directory))
    sys.path.insert(0, str(directory))
    importlib.invalidate_caches()


def _refuse_other_than_kept(directory: Path, expected: str) -> None:
    sources = sources_below(directory, directory)
    others = {path.relative_to(directory).as_posix() for path in directory.rglob("*") if not path.is_dir()}
    if sources_sha256(sources) != expected or others != sources.keys():
        strange = min(others - sources.keys(), default="its SHA-256 is another")
        raise KeptCodeError(f"{directory}: is not the code that the run has kept: {strange}")


def _refuse_other_module(place: Path) -> None:
    """Refuse a module that this process has imported with another content than a run has kept."""
    top = place.stem
    module = sys.modules.get(top)
    if module is None or note_import(top) == sources_sha256(sources_of([place])):
        return
    found = getattr(module, "__file__", None) or top
    raise KeptCodeError(
        f"the module {top!r} of this process is that of {found}, and the run has kept another in {place}; "
        "do it in a process of its own"
    )


_imported_as: dict[str, tuple[object, str]] = {}
"""`{top-level module: (the module, SHA-256 of its code)}`, as this process has imported it."""


def note_import(top: str) -> str:
    """Return the SHA-256 of the code of an imported module, as it was at the first call, which follows its import."""
    module = sys.modules[top]
    known, digest = _imported_as.get(top, (None, ""))
    if known is not module:
        spec = getattr(module, "__spec__", None)
        digest = "" if spec is None else sources_sha256(sources_of(paths_of(spec)))
        _imported_as[top] = (module, digest)
    return digest


def place_in(directory: Path, top: str) -> Path:
    """Return the package of this name in a directory, or the module."""
    return directory / top if (directory / top).is_dir() else directory / f"{top}.py"


def with_siblings(*files: Path) -> tuple[Path, ...]:
    """Return the files or packages, and those beside them that they import, wherever the statement stands."""
    found = dict.fromkeys(files)
    unread = [*files]
    while unread:
        place = unread.pop()
        for name in sorted(_imports_of(place) - _OF_OTHERS):
            sibling = place_in(place.parent, name)
            if sibling not in found and sibling.exists() and _is_found_at(name, sibling):
                found[sibling] = None
                unread.append(sibling)
    return tuple(found)


_OF_OTHERS = sys.stdlib_module_names | {"prism", "actors"}
"""Modules of Python or PRISM; a file of the same name beside the code is not meant by an import."""


def _is_found_at(name: str, place: Path) -> bool:
    """Return whether Python would find a top-level module in this place, and not in an earlier place of its path."""
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return False
    return spec is None or place.resolve() in paths_of(spec)


def _imports_of(place: Path) -> set[str]:
    """Return the top-level modules that the code of a file or a package imports by their full names."""
    names = set[str]()
    for name, source in sources_of([place]).items():
        if name.endswith(".py"):
            with suppress(SyntaxError, ValueError):
                for node in ast.walk(ast.parse(source)):
                    if isinstance(node, ast.Import):
                        names |= {each.name.partition(".")[0] for each in node.names}
                    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                        names.add(node.module.partition(".")[0])
    return names


def paths_of(spec: ModuleSpec) -> list[Path]:
    """Return the directories of a package, or the file of a module, if they exist."""
    named = [spec.origin] if spec.submodule_search_locations is None else list(spec.submodule_search_locations)
    return [Path(name).resolve() for name in named if name is not None and Path(name).exists()]
