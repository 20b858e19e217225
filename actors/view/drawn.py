"""Parts of the report on the local page: drawn on the first request, and again when something has changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

from actors.core.files import write_file
from actors.core.machine import not_installed
from actors.pages.card import as_live
from actors.pages.html import Node, rendered, tag
from actors.store.posts import MadePost
from actors.view.viewed_run import ViewedRun
from prism.kernels import directory


def written(nodes: Sequence[Node | None]) -> str:
    """Return parts of a page as HTML; charts in it are drawn by the page's script."""
    return "".join(rendered(node, as_live) for node in nodes if node is not None)


def sections_of(runs: Mapping[Path, str]) -> str:
    """Return what the report has of runs of one domain: `{directory: what the page calls it}`."""
    if (problem := problem_of_drawing("the charts of a run")) is not None:
        return written([problem])
    from actors.pages.page_frame import drawn  # noqa: PLC0415
    from actors.pages.report import read_real_of, read_runs, told_of_runs  # noqa: PLC0415

    records = read_runs(list(runs), names=list(runs.values()))
    told = told_of_runs(records, read_real_of(records[0]))
    notices = (tag("p", text, class_="notice") for text in told.notices)
    if len(records) == 1:  # the head of its page says the rest
        return written([*notices, *map(drawn, told.sections)])
    remarks = (tag("p", text, class_="notice") for text in told.remarks)
    return written([told.lead, *notices, *remarks, *map(drawn, told.sections)])


def problem_of_drawing(what: str) -> Node | None:
    """Return an element that names the first package that is needed and missing; None if all are there."""
    for package, extra in (("scipy", "experiments"), ("altair", "plots"), ("vl_convert", "plots")):
        if find_spec(package) is None:
            return tag("p", not_installed(f"{what} need {package}", extra), class_="quiet")
    return None


class Redrawn:
    """The latest drawings of some runs or an experiment. Large runs take long, and others do not wait for them."""

    def __init__(self) -> None:
        self._locks: defaultdict[object, Lock] = defaultdict(Lock)
        self._drawn: dict[object, tuple[object, str]] = {}

    def get(self, of: object, mark: Any, draw: Callable[[], str]) -> str:
        """Return what is drawn for this mark: it is drawn again for another."""
        with self._locks[of]:
            found = self._drawn.get(of)
            if found is None or found[0] != mark:
                found = self._drawn[of] = mark, draw()
                for old in [*self._drawn][:-KEPT_MAX]:
                    self._drawn.pop(old, None)
            return found[1]

    def of_runs(self, runs: Mapping[Path, str], mark: Any) -> str:
        """Return what the report has of runs: `{directory: what the page calls it}`."""
        return self.get(tuple(runs), mark, partial(sections_of, runs))


KEPT_MAX = 16
"""Pages that are kept."""


def cascade_card(run: ViewedRun, tree: Sequence[MadePost]) -> list[Node]:
    """Return the card of one cascade of a run, as the report has it, but for the likes."""
    if (problem := problem_of_drawing("the picture of a cascade")) is not None or run.opened is None:
        return [problem or ""]
    from actors.pages.cascade_charts import tree_chart  # noqa: PLC0415
    from actors.pages.page_frame import grid  # noqa: PLC0415

    return [grid([tree_chart(tree, run.opened.config, "The chosen cascade", run.called)], "chosen")]


_lock = Lock()
_vega: list[bytes] = []


def vega() -> bytes:
    """Return Vega for the page, from the installed package: no network is needed.

    Bundling takes five seconds of processor, so the bundle is kept beside the compiled kernels.
    """
    import vl_convert  # noqa: PLC0415  # an optional package

    made_by = version("vl-convert-python")
    with _lock:
        if not _vega:
            kernels = directory()
            path = None if kernels is None else kernels.parent / f"vega-{made_by}.js"
            if path is None or not path.is_file():
                _vega.append(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").encode())
                if path is not None:
                    write_file(path, _vega[0])
            else:
                _vega.append(path.read_bytes())
        return _vega[0]
