"""The measures of an experiment: numbers that are read from a run that has ended."""

from __future__ import annotations

import ast
import importlib
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from actors.core.errors import RunDirectoryError
from actors.core.files import read_regular
from actors.factory.input_files import SOURCE_BYTES_MAX
from actors.factory.own_code import is_installed, paths_of, raised, sources_sha256
from actors.results.measures import RunNumbers, has_rounds, numbers_of
from actors.runs.directory import RunDirectory
from actors.runs.inputs import keep_files
from prism.errors import SettingError

OwnMeasure = Callable[[Path], float]
NOT_OWN: Final = frozenset({"prism", "actors", *sys.stdlib_module_names})


def load_own(place: str, beside: Path, key: str) -> OwnMeasure:
    """Import and return a user's own measure: `module:function`, a function of the directory of a run."""
    module, _, name = place.partition(":")
    if str(beside.resolve()) not in sys.path:
        sys.path.append(str(beside.resolve()))
    try:
        found = getattr(importlib.import_module(module), name)
    except Exception as error:  # a user's code may raise anything
        raise SettingError("measures", f"{place} cannot be imported: {raised(error)}", keys=[key]) from error
    if not callable(found):
        raise SettingError("measures", f"{place} is no function", keys=[key])
    own: OwnMeasure = found
    return own


def code_of_own(place: str) -> str:
    """Return the SHA-256 of all code of the user's that a measure can import, by the names that stand in it.

    Code that it reads in another way, such as with `exec`, is not found.
    """
    files = own_files(place)
    return sources_sha256({f"{at} {file.name}": read_regular(file, SOURCE_BYTES_MAX) for at, file in enumerate(files)})


def keep_own(out: Path, places: Iterable[str]) -> None:
    """Keep the modules of the user's own measures in the directory of the experiment; its plans have their hashes."""
    keep_files(RunDirectory(out), dict.fromkeys(file for place in places for file in own_files(place)))


def own_files(place: str) -> list[Path]:
    """Return the files of the module of a measure, and of all modules of the user's that these name, in order of names.

    A module is named by an import anywhere in a file, or by a text: `import_module("helper")`. Of a package all files
    count. What is installed, and PRISM, is not the user's own.
    """
    found: dict[str, list[Path]] = {}
    names = [(place.partition(":")[0], True)]
    while names:
        name, is_import = names.pop()
        if (top := name.partition(".")[0]) in found or top in NOT_OWN:
            continue
        try:
            spec = find_spec(top)
        except (ImportError, ValueError, AttributeError):
            spec = None
        if spec is None or (spec.origin is None and not is_import):  # a text may be the name of any directory
            continue
        places = [each for each in paths_of(spec) if not _is_installed(each)]
        found[top] = [file for each in places for file in ([each] if each.is_file() else _modules_below(each))]
        names += (named for file in found[top] if file.suffix == ".py" for named in _named_in(file))
    return [*dict.fromkeys(file for _, files in sorted(found.items()) for file in files)]


def _modules_below(package: Path) -> list[Path]:
    """Return the files of a package that Python could import, its own ones first."""
    files = [path for path in package.rglob("*") if path.name.endswith((*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES))]
    return sorted(files, key=lambda path: (path.parent != package, path))


def _named_in(file: Path) -> Iterator[tuple[str, bool]]:
    """Yield the modules that a file of Python may import, and whether each stands in an import."""
    try:
        tree = ast.parse(read_regular(file, SOURCE_BYTES_MAX))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # then it cannot be imported either
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, True) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module, True
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value.partition(":")[0]
            if all(part.isidentifier() for part in name.split(".")):
                yield name, False


def _is_installed(place: Path) -> bool:
    return any(is_installed(above) for above in place.parents)


def measured(path: Path, measures: Mapping[str, str], own: Mapping[str, OwnMeasure]) -> dict[str, float]:
    """Return `{measure: its value}` of a run that has ended.

    Args:
        measures: `{name: place}`: a place of `actors.results.measures`; or `module:function`, which `own` has by the
            name.
    """
    numbers = numbers_of(path)
    return {name: _value(path, numbers, place, own.get(name)) for name, place in measures.items()}


def _value(path: Path, numbers: RunNumbers, place: str, own: OwnMeasure | None) -> float:
    if own is None:
        return numbers.value(place)
    try:
        value = own(path)
    except Exception as error:  # a user's code may raise anything
        raise RunDirectoryError(f"{path}: {place} raised {raised(error)}") from error
    return numbers.number(place, value)


def within_runs(path: Path, measures: Mapping[str, str]) -> dict[str, float]:
    """Return `{measure: the variance of its values over the rounds}` of a run, for the measures that have several."""
    numbers = numbers_of(path)
    found = {name: numbers.over_rounds(place) for name, place in measures.items() if has_rounds(place)}
    return {name: statistics.variance(values) if len(values) > 1 else 0.0 for name, values in found.items()}
