"""Imports when they are first needed: of the names of a package, and of large libraries without what nothing needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from threading import get_ident
from types import ModuleType
from typing import Any


class _Without:
    def __init__(self, names: tuple[str, ...]) -> None:
        self._names, self._thread = names, get_ident()

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:  # noqa: ARG002
        if fullname in self._names and get_ident() == self._thread:
            raise ModuleNotFoundError(f"{fullname} is not needed here", name=fullname)


def imported_without(name: str, *without: str) -> ModuleType:
    """Import a module as if some packages were not installed. One that is imported already stays as it is.

    An entry None in `sys.modules` would have the same effect, but every thread would see it.
    """
    sys.meta_path.insert(0, finder := _Without(without))
    try:
        return import_module(name)
    finally:
        sys.meta_path.remove(finder)


@cache
def load_igraph() -> Any:
    """Return the module `igraph`. A program that wants it to draw with matplotlib imports either of them first.

    It would import `matplotlib.pyplot` wherever that is installed, which takes 0.6 s; `wcwidth`, for tables with wide
    letters, is a quarter of the rest. Nothing here draws or prints a graph.
    """
    return imported_without("igraph", "matplotlib", "plotly", "cairocffi", "cairo", "wcwidth")


def lazy_names(
    package: str, modules: Mapping[str, Iterable[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package with `{module: the names that it has from there}` (PEP 562).

    Type checkers read the names from imports below `if TYPE_CHECKING` and must not see these two, or every name would
    look right to them.
    """
    places = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(places[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places})

    return get, names
