"""Imports of large libraries when they are first needed, without packages that they look for and nothing here needs.

`import igraph` imports `matplotlib.pyplot` wherever that is installed, to be able to draw, and takes 0.6 s longer then;
`wcwidth`, for tables with wide letters, is a quarter of the rest. Nothing here draws or prints a graph.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.abc import MetaPathFinder
from threading import get_ident
from types import ModuleType
from typing import Any


class _Without(MetaPathFinder):
    """A finder that says to one thread that some packages are not installed."""

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
    """Return the module `igraph`. A program that wants it to draw with matplotlib imports either of them first."""
    return imported_without("igraph", "matplotlib", "plotly", "cairocffi", "cairo", "wcwidth")
