"""igraph, imported when a first graph needs it, and without the plotting libraries that it looks for.

`import igraph` imports `matplotlib.pyplot` wherever that is installed, to be able to draw, and takes 0.6 s longer then.
Nothing here draws, and most commands need no graph at all.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from threading import get_ident
from typing import Any

PLOTTING_LIBRARIES = frozenset({"matplotlib", "plotly"})


@cache
def load_igraph() -> Any:
    """Return the module `igraph`.

    A program that wants igraph to draw with matplotlib imports either of them first: a module that is already imported
    stays as it is.
    """
    # An entry None in `sys.modules` would have the same effect, but every thread would see it.
    finder = _NotInstalled()
    sys.meta_path.insert(0, finder)
    try:
        import igraph  # noqa: PLC0415  # late: a command that needs no graph does not wait for it
    finally:
        sys.meta_path.remove(finder)
    return igraph


class _NotInstalled(MetaPathFinder):
    """A finder that refuses the plotting libraries to the thread that makes it, as if they were not installed."""

    def __init__(self) -> None:
        self._thread = get_ident()

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        if fullname in PLOTTING_LIBRARIES and get_ident() == self._thread:
            raise ModuleNotFoundError(f"{fullname} is not imported for igraph", name=fullname)
        return None
