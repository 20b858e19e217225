"""igraph, imported when a first graph needs it, and without the plotting libraries that it looks for.

`import igraph` imports `matplotlib.pyplot` wherever that is installed, to be able to draw, and takes 0.6 s longer then.
Nothing here draws, and most commands need no graph at all.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
    with _without_plotting():
        import igraph  # noqa: PLC0415  # late: a command that needs no graph does not wait for it
    return igraph


@contextmanager
def _without_plotting() -> Iterator[None]:
    """Return a context in which the plotting libraries seem not to be installed, for this thread alone.

    A finder that refuses them leaves no trace when it is removed. An entry None in `sys.modules` would have the same
    effect, but every thread would see it, and it is hard to tell from an entry that was there before.
    """
    finder = _NotInstalled(get_ident())
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _NotInstalled(MetaPathFinder):
    """A finder that refuses the plotting libraries to one thread, as if they were not installed."""

    def __init__(self, thread: int) -> None:
        self._thread = thread

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        # Called only for what is not in `sys.modules`. Parts such as `matplotlib.pyplot` are let through: igraph asks
        # for them only where matplotlib itself is there already.
        if fullname in PLOTTING_LIBRARIES and get_ident() == self._thread:
            raise ModuleNotFoundError(f"{fullname} is not imported for igraph", name=fullname)
        return None
