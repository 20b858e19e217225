"""The dashboard *Economy*: the interest rate, its causes and its effects."""

from __future__ import annotations

from deploy.grafana.layout import Layout
from deploy.grafana.panels import Look, lines, number, stacked
from deploy.grafana.queries import Query, now, rate, total
from prism.palette import NATIONS, SOURCES

RATE, INFLATION, GROWTH, UNEMPLOYMENT = (
    now(f"prism_economy_{name}") for name in ("interest_rate", "inflation", "gdp_growth", "unemployment")
)
VALUE = now("prism_economy_total_value")

ECONOMY = Layout(
    uid="prism-economy",
    title="PRISM / Economy",
    description="Nations that set one interest rate together. Economy runs only.",
    rows={
        "Now": (
            number("Interest rate", "The common rate.", "percent", Query(RATE), look=Look(decimals=2)),
            number("Inflation", "Of the whole economy.", "percent", Query(INFLATION), look=Look(decimals=2)),
            number("Growth", "Of the gross domestic product.", "percent", Query(GROWTH), look=Look(decimals=2)),
            number("Unemployment", "Of the whole economy.", "percent", Query(UNEMPLOYMENT), look=Look(decimals=2)),
            number("Total value", "Of all nations, in the unit of the configuration.", "short", Query(VALUE)),
            number("Quarters", "Rounds committed.", "locale", Query(now("prism_round"))),
        ),
        "Policy": (
            lines(
                "Interest rate and inflation",
                "The Taylor principle: the rate should rise by more than inflation does.",
                "percent",
                Query(RATE, "interest rate"),
                Query(INFLATION, "inflation"),
                look=Look(width=24),
            ),
            lines(
                "Growth and unemployment",
                "They mirror each other, with a delay: Okun's law.",
                "percent",
                Query(GROWTH, "growth"),
                Query(UNEMPLOYMENT, "unemployment"),
            ),
            lines("Total value", "Of all nations, in the unit of the configuration.", "short", Query(VALUE)),
        ),
        "Nations": (
            stacked(
                "Nations by state",
                "Nations by the state of their proposal. Normal: the sum is the number of nations.",
                "short",
                Query(now("prism_agents", "state"), "{{state}}"),
                NATIONS,
            ),
            stacked(
                "Decisions by source",
                "Transitions a second by source. Normal: no fallbacks.",
                "ops",
                Query(total(rate("prism_decisions_total"), "source"), "{{source}}"),
                SOURCES,
            ),
            lines(
                "Proposals",
                "Policies that nations proposed, by result, since the run began.",
                "short",
                Query(now("prism_economy_proposals_total", "outcome"), "{{outcome}}"),
                look=Look(width=24),
            ),
        ),
    },
)
