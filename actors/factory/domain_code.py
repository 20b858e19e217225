"""The code of a domain of one's own: found by the name in a configuration, imported, and known by its files."""

from __future__ import annotations

import importlib
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from difflib import get_close_matches
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from actors.factory.kept_code import KeptCodeError, note_import, paths_of, place_in, use_kept_code, with_siblings
from actors.factory.kept_inputs import sources_of
from prism.config import SimulationConfig
from prism.config.checks import SHIPPED_DOMAINS
from prism.errors import ConfigError, PrismError

GROUP = "prism.domains"
"""The group of entry points in which an installed package offers its domains by name."""

KEY = "simulation.domain"

_REFERENCE = re.compile(r"(?P<module>[^\W\d]\w*(\.[^\W\d]\w*)*):(?P<attribute>[^\W\d]\w*(\.[^\W\d]\w*)*)")
_added: set[Path] = set()
"""The directories that were added to Python's path for a domain."""


class DomainCode(NamedTuple):
    """The object that a configuration names as its domain, and the code that it comes from.

    Args:
        reference: its place, as `module:attribute`.
        value: the object, of any kind.
        files: the file of the module, or the directories of the package, at the top of the module's name.
        directory: the directory in which Python found it; None for an installed package, which needs no directory.
    """

    reference: str
    value: Any
    files: tuple[Path, ...]
    directory: Path | None


def domain_error(problem: str) -> ConfigError:
    """Return the error for a domain that cannot be used."""
    return ConfigError("run", problem, key=KEY)


def find_domain_code(simulation: SimulationConfig, beside: Path | None = None) -> DomainCode:
    """Import the module of a domain, which runs its code, and return what the configuration names.

    Code that a run has kept comes first, if `simulation.domain_path` names it. Otherwise Python's path does, then
    `simulation.domain_path`, then `beside`, then the working directory.

    Args:
        beside: the directory of the configuration's file; None without a file.

    Raises:
        ConfigError: there is no such module or attribute, or importing it fails.
    """
    reference = _reference_of(simulation.domain)
    module, _, attribute = reference.partition(":")
    top = module.partition(".")[0]
    try:
        kept = use_kept_code(simulation.domain_path)
    except KeptCodeError as error:
        raise domain_error(str(error)) from None
    if kept is not None and place_in(kept, top).exists():
        value = _attribute_of(_imported(module), module, attribute)
        return DomainCode(reference, value, tuple(sorted(kept.iterdir())), kept)
    places = [*_named_directory(simulation.domain_path, beside), *([] if beside is None else [beside]), Path.cwd()]
    if simulation.domain_path is not None and kept is None:
        _add_to_path(places[0])
    spec = _located(top, places)
    value = _attribute_of(_imported(module), module, attribute)
    files = _files_of(top, spec)
    directory = files[0].parent
    if is_installed(directory):
        return DomainCode(reference, value, files, None)
    return DomainCode(reference, value, with_siblings(*files), directory)


def raised(error: BaseException, files: tuple[Path, ...] = ()) -> str:
    """Return an error of somebody else's code in words, with its place in that code."""
    said = " ".join(str(error).split())
    text = f"{type(error).__name__}: {said}" if said else type(error).__name__
    if isinstance(error, SyntaxError):
        return text  # it says the place itself
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
    own = [frame for frame in frames if any(Path(frame.filename).is_relative_to(place) for place in files)] or frames
    return f"{text} ({own[-1].filename}:{own[-1].lineno})" if own else text


def _named_directory(name: str | None, beside: Path | None) -> Iterator[Path]:
    """Yield the directory of `simulation.domain_path`: as it is named from here, or else beside the configuration."""
    if name is not None:
        path = Path(name)
        yield path.absolute() if path.exists() or beside is None else (beside / path).absolute()


def _reference_of(name: str) -> str:
    """Return the place of a domain as `module:attribute`; an installed one is looked up."""
    if _REFERENCE.fullmatch(name):
        return name
    offered = {point.name: point for point in entry_points(group=GROUP)}
    if name not in offered:
        known = [*SHIPPED_DOMAINS, *sorted(offered)]
        close = get_close_matches(name, known, n=1)
        is_module = re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", name)
        guess = f"; did you mean {close[0]}?" if close else f"; did you mean {name}:build?" if is_module else ""
        raise domain_error(
            f"expected {', '.join(known)}, or module:function for a domain of your own, got {name!r}{guess}"
        )
    _refuse_two_offers([point for point in entry_points(group=GROUP) if point.name == name])
    reference = offered[name].value
    if not _REFERENCE.fullmatch(reference):
        raise domain_error(f"the entry point {name} is {reference!r}; expected module:function")
    return reference


def _refuse_two_offers(points: list[EntryPoint]) -> None:
    if len({point.value for point in points}) > 1:
        owners = " and ".join(sorted(point.dist.name if point.dist is not None else point.value for point in points))
        raise domain_error(f"{owners} both install a domain called {points[0].name}; name one as module:function")


def _located(top: str, places: list[Path]) -> ModuleSpec:
    """Return the specification of a top-level module; a directory that it is found in is added to Python's path."""
    if top == "__main__":
        raise domain_error("a domain in __main__ cannot be found again; write it to a module of its own")
    spec = find_spec(top)
    if spec is None:
        place = next((place for place in places if PathFinder.find_spec(top, [str(place)])), None)
        if place is not None:
            _add_to_path(place)
            spec = find_spec(top)
    if spec is None:
        looked = ", ".join(dict.fromkeys(str(place.absolute()) for place in places))
        raise domain_error(
            f"no module {top!r} on Python's path or in {looked}; install it, or name its directory "
            "in simulation.domain_path or PYTHONPATH"
        )
    _refuse_namesake(top, spec, places)
    return spec


def _refuse_namesake(top: str, spec: ModuleSpec, places: list[Path]) -> None:
    """Refuse a module that another configuration has brought, where this one has its own of the same name."""
    found = {path.parent for path in paths_of(spec)}
    if not found & _added:
        return
    for place in places:
        other = PathFinder.find_spec(top, [str(place)])
        if other is not None and (directory := place.resolve()) not in found:
            if sources_of(paths_of(other)) == sources_of(paths_of(spec)):
                return
            first = ", ".join(map(str, sorted(found)))
            raise domain_error(
                f"the module {top!r} is that of {first} in this process, and there is another in {directory}; "
                "run it in a process of its own"
            )
        if other is not None:
            return


def _add_to_path(directory: Path) -> None:
    """Let Python find modules in a directory, after all those that it finds already."""
    resolved = directory.resolve()
    if str(resolved) not in sys.path:
        sys.path.append(str(resolved))
        _added.add(resolved)


def _imported(module: str) -> Any:
    try:
        imported = importlib.import_module(module)
        note_import(module.partition(".")[0])
        return imported
    except PrismError:
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(f"{error.name}.")):
            raise domain_error(f"no module {error.name!r}") from None
        raise domain_error(f"{module} cannot be imported: {raised(error)}") from error
    except (Exception, SystemExit) as error:  # somebody else's code may raise anything
        raise domain_error(f"{module} cannot be imported: {raised(error)}") from error


def _attribute_of(module: Any, name: str, path: str) -> Any:
    value = module
    for part in path.split("."):
        if not hasattr(value, part):
            close = get_close_matches(part, [each for each in dir(value) if not each.startswith("__")], n=1)
            guess = f"; did you mean {close[0]}?" if close else ""
            raise domain_error(f"{name} has no {part!r}{guess}")
        value = getattr(value, part)
    return value


def _files_of(top: str, spec: ModuleSpec) -> tuple[Path, ...]:
    """Return the places of the source of a top-level module.

    Raises:
        ConfigError: it has none, so that a change of it could not be noticed.
    """
    paths = paths_of(spec)
    if not paths or any(path.is_file() and path.suffix != ".py" for path in paths):
        raise domain_error(f"the module {top!r} has no Python source in a file, by which a resume could know it again")
    return tuple(paths)


def is_installed(directory: Path) -> bool:
    """Return whether a directory is one of this Python: another Python has its own."""
    return directory.name in {"site-packages", "dist-packages"} or str(directory) in sysconfig.get_paths().values()
