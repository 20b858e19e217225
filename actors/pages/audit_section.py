"""The audit of a run or an experiment on a page: findings, the shifts of answers, and the verdict on each claim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from actors.core.errors import RunDirectoryError
from actors.pages.card import Chart, Table, chart_of, table_of
from actors.pages.html import Node, tag
from actors.pages.page_frame import Section, grid, missing
from actors.plots.rows import Row, rows
from actors.studies.audit.record import read_audit
from prism.audit import Audit, examined, findings_or_none
from prism.audit.words import interval
from prism.palette import BLUE, VERMILION


def audit_section(study: Path, digests: Sequence[str] | None = None) -> Section | None:
    """Return the section of what `prism audit` has found; None if the study has no audit.

    Args:
        digests: of the study's runs as they are now; None if they are not known.
    """
    try:
        found = read_audit(study)
    except RunDirectoryError as error:
        return Section("audit", "Audit", [missing(str(error))])
    if found is None:
        return None
    parts: list[Node] = [tag("p", found.paragraph)]
    if digests is not None and {*digests} != {*found.digests}:
        parts.append(missing("The runs have changed since the audit: prism audit makes it again."))
    told = findings_or_none(found)
    parts.append(tag("ul", *(tag("li", each) for each in (*told, *examined(found), *found.notes))))
    charts = [chart for chart in (_shifts(found),) if chart is not None]
    parts += [grid(charts, "audit")] if charts else []
    if found.claims:
        columns = ("claim", "another", "effect", "change", "95% from", "to", "verdict")
        claims = Table(columns, [*_claims(found)])
        parts.append(table_of(claims, "What is left of each claim", is_shown=True))
    return Section("audit", "Audit", parts)


def _shifts(found: Audit) -> Chart | None:
    bars, cells = [], []
    for shift in found.shifts:
        for each in shift.options:
            points = each.points
            name = f"{shift.what}: {each.option}"
            color = VERMILION if shift.finding == "moves" else BLUE
            bars.append(Row(name, points.value, points.low, points.high, color))
            cells.append((name, f"{each.before:.1%}", f"{each.after:.1%}", interval(points), shift.finding))
    if not bars:
        return None
    reading = (
        f"0 points are the same share as in the study. A shift matters from {found.least:g} points on; ways of asking "
        "that surely shift answers so far are in another colour."
    )
    table = Table(("another", "share", "then", "points, with 95%", "answers"), cells)
    return chart_of(rows(bars, "percentage points", "Shifts when asked in another way", reading), table)


def _claims(found: Audit) -> Iterator[tuple[str, ...]]:
    for claim in found.claims:
        yield claim.claim, "as the study has it", f"{claim.effect:.4g}", "", "", "", claim.verdict
        for each in claim.carried:
            numbers = (each.change.value, each.change.low, each.change.high)
            change = ("-" if number is None else f"{round(number, 9) + 0.0:.3g}" for number in numbers)
            yield "", each.way, f"{each.effect.value:.4g}", *change, each.verdict
