"""Charts of the factors that a measure depends on: indices of sampled designs, and the shares of its variance."""

from __future__ import annotations

from collections.abc import Sequence

from actors.pages.card import Chart, Table
from actors.pages.experiment_charts import MEASURES_MAX
from actors.pages.rows import Row, more_rows, pages_number, rows_picture, span
from actors.pages.words import NO_VALUE, share
from actors.studies.experiments.outcome import Decomposed
from prism.experiment import Effect, Share
from prism.palette import BLUE, ORANGE

SLOPE, FIRST, TOTAL, MU, MU_STAR, SIGMA = "slope", "first_order", "total", "mu", "mu_star", "sigma"
DRAWN = {
    SLOPE: "standard deviations of the measure for one of the factor",
    FIRST: "share of the variance",
    TOTAL: "share of the variance",
    MU_STAR: "mean size of an elementary effect",
}
"""`{kind of effect: its unit}` of those that are drawn; the others stand in the table."""
NAMES = {
    SLOPE: "slope",
    FIRST: "first-order index",
    TOTAL: "total index",
    MU: "mean effect (mu)",
    MU_STAR: "mean size (mu*)",
    SIGMA: "spread (sigma)",
}
READINGS = {
    SLOPE: "The slope of the measure on each factor, standardised, with its 95% interval (linear regression).",
    TOTAL: (
        "The share of the variance between points that each factor explains alone (open) and with all its "
        "interactions (filled), with 95% intervals (Sobol 2001)."
    ),
    MU_STAR: (
        "The mean size of what a step of each factor does, with its 95% interval (Morris 1991, Campolongo et al. "
        "2007). The spread in the table tells whether it depends on the other factors."
    ),
}
SOURCES = {
    "conditions": "between conditions",
    "seeds": "between seeds, alike in all conditions",
    "rest": "of seeds in single conditions",
    "within_runs": "within runs, over their rounds",
}


def sensitivity_charts(effects: Sequence[Effect]) -> list[Chart]:
    """Return for each measure the indices of its factors, the largest first; none for designs of levels."""
    measures = list(dict.fromkeys(each.measure for each in effects if each.kind in DRAWN))
    return [_indices(name, [each for each in effects if each.measure == name]) for name in measures[:MEASURES_MAX]]


def _indices(measure: str, effects: Sequence[Effect]) -> Chart:
    kinds = {each.kind for each in effects}
    leading = TOTAL if TOTAL in kinds else MU_STAR if MU_STAR in kinds else SLOPE
    size = {each.factor: abs(each.value) for each in effects if each.kind == leading}
    order = sorted(size, key=lambda factor: -size[factor])
    rows = [
        Row(
            factor if kind == leading else f"{factor}, alone",
            each.value,
            each.low,
            each.high,
            BLUE if kind == leading else ORANGE,
            kind == leading,
        )
        for factor in order
        for kind in (leading, FIRST)
        for each in effects
        if (each.factor, each.kind) == (factor, kind)
    ]
    table = Table(
        ("factor", "", "value", "95% interval"),
        [
            (each.factor, NAMES.get(each.kind, each.kind), pages_number(each.value), span(each.low, each.high))
            for factor in order
            for each in effects
            if each.factor == factor
        ],
        frozenset({0, 1}),
    )
    drawn = rows_picture(rows, DRAWN[leading])
    return Chart(f"What {measure} depends on", drawn, READINGS[leading] + more_rows(rows), table)


def variance_chart(variance: Sequence[Decomposed]) -> Chart | None:
    """Return the shares of each measure's variance; None without any."""
    if not variance:
        return None
    rows = [
        Row(f"{each.measure}: {SOURCES.get(part.source, part.source)}", 100.0 * part.share, *_percent(part), BLUE)
        for each in variance
        for part in each.shares
    ]
    table = Table(
        ("measure", "source", "share", "95% interval", "seeds"),
        [
            (
                each.measure,
                SOURCES.get(part.source, part.source),
                share(part.share),
                NO_VALUE if part.low is None or part.high is None else f"{share(part.low)} to {share(part.high)}",
                str(each.seeds),
            )
            for each in variance
            for part in each.shares
        ],
        frozenset({0, 1}),
    )
    reading = (
        "The shares of the variance of each measure, with 95% intervals. What is between seeds cancels out in pairs; "
        "what is of seeds in single conditions does not."
    )
    return Chart("Where the variance comes from", rows_picture(rows, "% of the variance"), reading, table)


def _percent(part: Share) -> tuple[float | None, float | None]:
    low, high = (None if end is None else 100.0 * end for end in (part.low, part.high))
    return low, high
