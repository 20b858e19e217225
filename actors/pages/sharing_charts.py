"""Charts of shared judgements: the shares of options with sharing and without it, and the audited error."""

from __future__ import annotations

from collections.abc import Sequence

from actors.pages.card import Chart, Table
from actors.pages.experiment_charts import Row, rows_picture
from actors.pages.picture import SMALL, TEXT, figure, label, plain_numbers
from actors.pages.sharing_words import in_short, interval
from actors.pages.words import count, plural
from actors.results.run_record import RunGroup
from prism.palette import BLUE, VERMILION
from prism.sharing.audit import FEWEST
from prism.sharing.summary import SharingSummary

ROWS_MAX = 12
"""The most options that are drawn."""


def sharing_charts(groups: Sequence[RunGroup]) -> list[Chart]:
    """Return the charts of the judgements that the first run of each group has shared; no charts without sharing."""
    charts = []
    for group in groups:
        sharing = None if group.first.summary is None else group.first.summary.sharing
        if sharing is None or not sharing.shares:
            continue
        of = f" ({group.label})" if len(groups) > 1 else ""
        charts.append(_shares(sharing, of))
        if sharing.furthest:
            texts = in_short([each.archetype for each in sharing.furthest])
            bits = [each.divergence for each in sharing.furthest]
            lines = [Row(text, each.mean, each.low, each.high, BLUE) for text, each in zip(texts, bits, strict=True)]
            drawn = rows_picture(lines, "bits between shared and individual judgements")
            first = sharing.furthest[0]
            rows = [(each.archetype, count(each.audits), interval(each.divergence, 4)) for each in sharing.furthest]
            furthest = Chart(
                f"Archetypes with the most error{of}",
                drawn,
                f"{plural(sharing.archetypes, 'archetype')}. The largest part of the error "
                f'is that of "{first.archetype}": {interval(first.divergence, 4)} bits by '
                f"{plural(first.audits, 'audit')}. "
                f"The others follow in the order of their parts. A dot without a line has fewer than {FEWEST} audits.",
                Table(("archetype", "audits", "bits (95%)"), rows, frozenset({0, 2})),
            )
            charts.append(furthest)
    return charts


def _shares(sharing: SharingSummary, of: str) -> Chart:
    lines = [(each, option) for each in sharing.shares for option in each.shared]
    shown = lines[:ROWS_MAX]
    drawn = figure(height=56 + 36 * len(shown))
    axes = drawn.subplots()
    for row, (each, option) in enumerate(shown):
        axes.text(0, row - 0.36, f"{each.trigger}: {option}", color=TEXT, fontsize=SMALL, va="center")
        corrected = each.corrected.get(option)
        if corrected is not None and corrected.low is not None and corrected.high is not None:
            axes.plot([corrected.low, corrected.high], [row, row], color=BLUE, linewidth=4, alpha=0.5)
        if corrected is not None:
            axes.plot([corrected.mean], [row], "o", color=BLUE, markersize=6)
        axes.plot([each.shared[option]], [row], "D", color=VERMILION, markersize=5)
    corrected_ones = [each.corrected[option] for each, option in shown if option in each.corrected]
    ends = [each.mean if each.high is None else each.high for each in corrected_ones]
    most = max([*ends, *(each.shared[option] for each, option in shown)])
    axes.set_xlim(-0.02 * most, 1.05 * most)
    axes.set_ylim(len(shown) - 0.55, -0.8)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    plain_numbers(axes.xaxis)
    label(axes, "share of questions", grid="x")
    rows = [
        (
            f"{each.trigger} ({each.state})",
            option,
            f"{each.shared[option]:.4f}",
            interval(each.corrected[option], 4) if option in each.corrected else "",
            count(each.questions),
            count(each.audits),
        )
        for each, option in lines
    ]
    columns = ("trigger", "option", "as shared", "if all were asked (95%)", "questions", "audits")
    return Chart(
        f"What was shared{of}",
        drawn,
        _reading(sharing),
        Table(columns, rows, frozenset({0, 1, 3})),
        key=(("", VERMILION, "as shared"), ("", BLUE, "if all had been asked, with its 95% interval")),
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
    if sharing.audited >= FEWEST:
        parts.append("prism sharing RUN tells what likes, cascades and states would be if everybody had been asked.")
    return " ".join(parts)
