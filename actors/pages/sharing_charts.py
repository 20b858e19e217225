"""Charts of shared judgements: the shares of options with sharing and without it."""

from __future__ import annotations

from collections.abc import Sequence

from actors.pages.card import Chart, Table
from actors.pages.picture import TEXT
from actors.pages.rows import Row, more_rows, rows_picture
from actors.pages.sharing_words import interval
from actors.pages.words import count, plural
from actors.results.run_record import RunGroup
from prism.palette import BLUE
from prism.sharing.audit import FEWEST
from prism.sharing.summary import SharingSummary


def sharing_charts(groups: Sequence[RunGroup]) -> list[Chart]:
    """Return a chart of the judgements that the first run of each group has shared; no chart without sharing."""
    found = [(group, group.first.summary.sharing) for group in groups if group.first.summary is not None]
    return [
        _shares(sharing, f" ({group.label})" if len(groups) > 1 else "")
        for group, sharing in found
        if sharing is not None and sharing.shares
    ]


def _shares(sharing: SharingSummary, of: str) -> Chart:
    bars, rows = [], []
    for each in sharing.shares:
        for option, shared in each.shared.items():
            corrected = each.corrected.get(option)
            row = Row(f"{each.trigger} ({each.state}): {option}", color=TEXT, bar=shared)
            if corrected is not None:
                row = row._replace(mean=corrected.mean, low=corrected.low, high=corrected.high)
            bars.append(row)
            rows.append(
                (
                    f"{each.trigger} ({each.state})",
                    option,
                    f"{shared:.4f}",
                    "" if corrected is None else interval(corrected, 4),
                    count(each.questions),
                    count(each.audits),
                )
            )
    columns = ("trigger", "option", "as shared", "if all were asked (95%)", "questions", "audits")
    return Chart(
        f"What was shared{of}",
        rows_picture(bars, "share of questions"),
        _reading(sharing) + more_rows(bars),
        Table(columns, rows, frozenset({0, 1, 3})),
        key=(("", BLUE, "as shared"), ("", "var(--text)", "if all had been asked, with its 95% interval")),
    )


def _reading(sharing: SharingSummary) -> str:
    asked = sharing.asked_for_all + sharing.audited
    drew = count(sharing.shared)
    each = f"{sharing.questions_per_call:,.1f} for each that was asked"
    parts = [f"{plural(asked, 'question')} were asked, and {drew} drew from what they got: {each}."]
    if sharing.divergence is None:
        parts.append("There were no audits, so the error is not known.")
    else:
        parts.append(
            f"What was shared is {interval(sharing.divergence, 4)} bits from what these people would have got, "
            f"by {plural(sharing.audited, 'audit')}."
        )
    if sharing.furthest:
        first = sharing.furthest[0]
        bits = interval(first.divergence, 4)
        parts.append(f'The largest part of the error is that of "{first.archetype}", with {bits} bits.')
    if sharing.audited >= FEWEST:
        parts.append("prism sharing RUN tells what likes, cascades and states would be if everybody had been asked.")
    return " ".join(parts)
