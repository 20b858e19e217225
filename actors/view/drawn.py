"""Parts of the reports on the local page: drawn on the first request, and again when something has changed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from actors.core.files import write_file
from actors.core.machine import not_installed
from actors.pages.card import as_live
from actors.pages.html import Node, rendered, tag
from actors.store.course import MadePost
from actors.view.viewed_run import ViewedRun
from prism.kernels import directory

KEPT_MAX = 16
"""The drawings of runs, and of experiments, that are kept: those of large runs take long."""


def written(nodes: Sequence[Node | None]) -> str:
    """Return parts of a page as HTML; charts in it are drawn by the page's script."""
    return "".join(rendered(node, as_live) for node in nodes if node is not None)


@lru_cache(KEPT_MAX)
def sections_of(runs: tuple[tuple[Path, str], ...], _: str) -> str:
    """Return what the report has of runs of one domain: `(directory, what the page calls it)`.

    Besides them it takes their version: they are drawn again for another one.
    """
    if (problem := problem_of_drawing("the charts of a run")) is not None:
        return written([problem])
    from actors.pages.page_frame import drawn  # noqa: PLC0415
    from actors.pages.report import read_real_of, read_runs, told_of_runs  # noqa: PLC0415

    records = read_runs([path for path, _ in runs], names=[label for _, label in runs])
    told = told_of_runs(records, read_real_of(records[0]))
    is_alone = len(records) == 1  # then the head of its page says the rest
    warned = told.notices if is_alone else [*told.notices, *told.remarks]
    notices = (tag("p", text, class_="notice") for text in warned)
    return written([None if is_alone else told.lead, *notices, *map(drawn, filter(None, told.sections))])


@lru_cache(KEPT_MAX)
def sections_of_experiment(path: Path, _: str) -> str:
    """Return the answers and the sections of an experiment's report. Besides its directory it takes its version."""
    if (problem := problem_of_drawing("the charts of an experiment")) is not None:
        return written([problem])
    from actors.pages.experiment_report import experiment_sections, lead, remarks_of  # noqa: PLC0415
    from actors.pages.page_frame import drawn  # noqa: PLC0415  # altair is an optional package
    from actors.studies.experiments.record import read_experiment_record  # noqa: PLC0415

    record = read_experiment_record(path)
    return written([lead(record), *remarks_of(record), *map(drawn, filter(None, experiment_sections(record)))])


def problem_of_drawing(what: str) -> Node | None:
    """Return an element that names the first package that is needed and missing; None if all are there."""
    for package, extra in (("scipy", "experiments"), ("altair", "plots"), ("vl_convert", "plots")):
        if find_spec(package) is None:
            return tag("p", not_installed(f"{what} need {package}", extra), class_="quiet")
    return None


def cascade_card(run: ViewedRun, tree: Sequence[MadePost]) -> list[Node]:
    """Return the card of one cascade of a run, as the report has it, but for the likes."""
    if (problem := problem_of_drawing("the picture of a cascade")) is not None or run.config is None:
        return [problem or ""]
    from actors.pages.cascade_charts import tree_chart  # noqa: PLC0415
    from actors.pages.page_frame import grid  # noqa: PLC0415

    return [grid([tree_chart(tree, run.config, "The chosen cascade", run.called)], "chosen")]


@lru_cache(1)
def vega() -> bytes:
    """Return Vega for the page, from the installed package: no network is needed.

    Bundling takes five seconds of processor, so the bundle is kept beside the compiled kernels.
    """
    import vl_convert  # noqa: PLC0415  # an optional package

    kernels = directory()
    path = None if kernels is None else kernels.parent / f"vega-{version('vl-convert-python')}.js"
    if path is not None and path.is_file():
        return path.read_bytes()
    bundle: bytes = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").encode()
    if path is not None:
        write_file(path, bundle)
    return bundle
