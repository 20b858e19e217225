"""The code of a user's own domain or chart: found by the name in a configuration, known by its files, imported.

It is imported only if its user has allowed it (`actors.factory.known_code`). Finding it runs no code.
"""

from __future__ import annotations

import importlib
import re
import sysconfig
import traceback
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from importlib.machinery import ModuleSpec
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from actors.core.errors import UntrustedCodeError
from actors.factory.kept_code import (
    KeptCodeError,
    kept_directory,
    note_import,
    paths_of,
    place_in,
    use_kept_code,
    with_siblings,
)
from actors.factory.kept_inputs import sources_of
from actors.factory.known_code import known_code
from actors.factory.own_finder import CodeUnit, add_to_path, added_directories, spec_in, unit_in
from prism.config import SimulationConfig
from prism.config.checks import SHIPPED_DOMAINS
from prism.errors import ConfigError, PrismError

GROUP = "prism.domains"
"""The group of entry points in which an installed package offers its domains by name."""

KEY = "simulation.domain"

_REFERENCE = re.compile(r"(?P<module>[^\W\d]\w*(\.[^\W\d]\w*)*):(?P<attribute>[^\W\d]\w*(\.[^\W\d]\w*)*)")


class LocatedCode(NamedTuple):
    """Code that a configuration names: found, and not run.

    Args:
        reference: its place, as `module:attribute`.
        files: the file of the top-level module, or the directories of the top-level package, and the files and
            directories beside it that it imports; for code that a run has kept, all of its files.
        directory: the directory in which Python finds it; None for an installed package, which needs no directory.
        units: these modules and packages, the one at the top of the name first.
        is_kept: whether a run has kept it.
    """

    reference: str
    files: tuple[Path, ...]
    directory: Path | None
    units: tuple[CodeUnit, ...]
    is_kept: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys by which it is known, each a hash and a name."""
        return (f"{self.units[0].sha256} {self.reference}", *(unit.key for unit in self.units))

    @property
    def sources(self) -> dict[Path, str]:
        """`{file: SHA-256}`."""
        return {file: sha256 for unit in self.units for file, sha256 in unit.sources}


class DomainCode(NamedTuple):
    """The object that a configuration names as its domain, and the code that it comes from.

    Args:
        reference, files, directory: as for `LocatedCode`.
        value: the object, of any kind.
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

    Args:
        beside: as in `locate_code`.

    Raises:
        ConfigError: there is no such module or attribute, or importing it fails.
        UntrustedCodeError: its user has not asked for it.
    """
    code = locate_code(simulation, beside)
    refuse_unknown([code])
    if code.is_kept and code.directory is not None:
        try:
            use_kept_code(code.directory)
        except KeptCodeError as error:
            raise domain_error(str(error)) from None
    module, _, attribute = code.reference.partition(":")
    value = _attribute_of(_imported(module), module, attribute)
    return DomainCode(code.reference, value, code.files, code.directory)


def locate_code(simulation: SimulationConfig, beside: Path | None = None) -> LocatedCode:
    """Return the place and the hashes of the code that a configuration names. No code is run.

    Code that a run has kept comes first, if `simulation.domain_path` names it. Otherwise Python's path does, then
    `simulation.domain_path`, then `beside`, then the working directory.

    Args:
        beside: the directory of the configuration's file; None without a file.

    Raises:
        ConfigError: there is no such module, or it cannot be read.
    """
    try:
        return _found(simulation, beside)
    except OSError as error:
        raise domain_error(f"{error.filename or 'the code'} cannot be read: {error.strerror or error}") from None


def _found(simulation: SimulationConfig, beside: Path | None) -> LocatedCode:
    """Do what `locate_code` does. Raises: ConfigError, OSError."""
    reference = _reference_of(simulation.domain)
    top = reference.partition(":")[0].partition(".")[0]
    try:
        kept = kept_directory(simulation.domain_path)
    except KeptCodeError as error:
        raise domain_error(str(error)) from None
    if kept is not None and (first := place_in(kept, top)).exists():
        # Python looks in this directory first, so all code in it has to be known.
        files = tuple(sorted(kept.iterdir()))
        return LocatedCode(reference, files, kept, _units([first, *files]), is_kept=True)
    places = [*_named_directory(simulation.domain_path, beside), *([] if beside is None else [beside]), Path.cwd()]
    if simulation.domain_path is not None and kept is None:
        add_to_path(places[0])
    files = _files_of(top, _located(top, places))
    if is_installed(files[0].parent):
        return LocatedCode(reference, files, None, _units(files))
    found = with_siblings(*files)
    return LocatedCode(reference, found, files[0].parent, _units(found))


def _units(places: Iterable[Path]) -> tuple[CodeUnit, ...]:
    """Return the modules and packages in some places."""
    return tuple(unit_in(place) for place in dict.fromkeys(places))


def allow(codes: Iterable[LocatedCode]) -> None:
    """Allow code to be run here, now and later, with its imports from its directory. Its user has asked for it."""
    for code in codes:
        known_code.add(code.keys)
        if code.directory in added_directories:
            added_directories[code.directory] = True


def unknown_code(codes: Iterable[LocatedCode]) -> list[LocatedCode]:
    """Return the code that its user has not asked for."""
    return [code for code in codes if not known_code.has(code.keys)]


def refuse_unknown(codes: Iterable[LocatedCode]) -> None:
    """Refuse to run code that its user has not asked for; with --trust, allow it.

    Raises:
        UntrustedCodeError: there is some.
    """
    unknown = unknown_code(codes)
    if unknown and known_code.trusts:
        allow(unknown)
    elif unknown:
        raise untrusted(unknown)


def untrusted(unknown: Iterable[LocatedCode]) -> UntrustedCodeError:
    """Return the error for code that its user has not asked for."""
    files = {file: sha256 for code in unknown for file, sha256 in code.sources.items()}
    return UntrustedCodeError(files, is_changed=any(known_code.has_other(code.reference) for code in unknown))


def raised(error: BaseException, files: tuple[Path, ...] = ()) -> str:
    """Return an error of the user's own code in words, with its place in that code."""
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
    """Return the place of a domain as `module:attribute`; the place of an installed domain is looked up."""
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
    spec = _on_path(top)
    if spec is None:
        place = next((place for place in places if spec_in(place, top)), None)
        if place is not None:
            add_to_path(place)
            spec = spec_in(place, top)
    if spec is None:
        looked = ", ".join(dict.fromkeys(str(place.absolute()) for place in places))
        raise domain_error(
            f"no module {top!r} on Python's path or in {looked}; install it, or name its directory "
            "in simulation.domain_path or PYTHONPATH"
        )
    _refuse_namesake(top, spec, places)
    return spec


def _on_path(top: str) -> ModuleSpec | None:
    """Return the specification of a module on Python's path, also of one that may not be run here."""
    spec = find_spec(top)
    if spec is None:
        spec = next((found for each in added_directories if (found := spec_in(each, top)) is not None), None)
    return spec


def _refuse_namesake(top: str, spec: ModuleSpec, places: list[Path]) -> None:
    """Refuse a module of another configuration, if this configuration has its own module of the same name."""
    found = {path.parent for path in paths_of(spec)}
    if not found & added_directories.keys():
        return
    for place in places:
        other = spec_in(place, top)
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
    except (Exception, SystemExit) as error:  # a user's code may raise anything
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
    """Return whether a directory belongs to this Python's installation."""
    return directory.name in {"site-packages", "dist-packages"} or str(directory) in sysconfig.get_paths().values()
