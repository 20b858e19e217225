"""The audit of a run or an experiment on a page: findings, the shifts of answers, and the verdict on each claim."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from actors.core.errors import RunDirectoryError
from actors.pages.card import Table, table_of
from actors.pages.html import Node, tag
from actors.pages.page_frame import Section, missing
from actors.studies.audit.record import read_audit
from prism.audit.shift import LEAST
from prism.audit.words import examined, findings_or_none, interval


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
    shifts = [
        (
            f"{shift.what}: {each.option}",
            f"{each.before:.1%}",
            f"{each.after:.1%}",
            interval(each.points),
            shift.finding,
        )
        for shift in found.shifts
        for each in shift.options
    ]
    if shifts:
        heads = ("another", "share", "then", "points, with 95%", "answers")
        caption = f"Shifts when asked in another way; one matters from {LEAST:g} points on"
        parts.append(table_of(Table(heads, shifts), caption, is_shown=True))
    rows = list[tuple[str, ...]]()
    for claim in found.claims:
        rows.append((claim.claim, "as the study has it", f"{claim.effect:.4g}", "", "", "", claim.verdict))
        for each in claim.carried:
            numbers = (each.change.value, each.change.low, each.change.high)
            change = ("-" if number is None else f"{round(number, 9) + 0.0:.3g}" for number in numbers)
            rows.append(("", each.way, f"{each.effect.value:.4g}", *change, each.verdict))
    if rows:
        columns = ("claim", "another", "effect", "change", "95% from", "to", "verdict")
        parts.append(table_of(Table(columns, rows), "What is left of each claim", is_shown=True))
    return Section("audit", "Audit", parts)
