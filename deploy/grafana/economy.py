"""The dashboard *Economy*: the interest rate, its causes and its effects."""

from __future__ import annotations

from deploy.grafana.layout import Layout
from deploy.grafana.panels import lines, number, stacked
from deploy.grafana.queries import Query, of_run, rate, total

RATE, INFLATION, GROWTH, UNEMPLOYMENT = (
    of_run(f"prism_economy_{name}") for name in ("interest_rate", "inflation", "gdp_growth", "unemployment")
)
VALUE = of_run("prism_economy_total_value")

ECONOMY = Layout(
    uid="prism-economy",
    title="PRISM / Economy",
    description="Nations that set one interest rate together. Economy runs only.",
    rows={
        "Now": (
            number("Interest rate", "The common rate.", "percent", Query(RATE, "rate")),
            number("Inflation", "Of the whole economy.", "percent", Query(INFLATION, "inflation")),
            number("Growth", "Of the gross domestic product.", "percent", Query(GROWTH, "growth")),
            number("Unemployment", "Of the whole economy.", "percent", Query(UNEMPLOYMENT, "unemployment")),
            number("Total value", "Of all nations, in the unit of the configuration.", "short", Query(VALUE, "value")),
            number("Quarters", "Rounds committed.", "short", Query(of_run("prism_round"), "rounds")),
        ),
        "Policy": (
            lines(
                "Interest rate and inflation",
                "The Taylor principle: the rate should rise by more than inflation does.",
                "percent",
                Query(RATE, "interest rate"),
                Query(INFLATION, "inflation"),
                width=24,
            ),
            lines(
                "Growth and unemployment",
                "They mirror each other, with a delay: Okun's law.",
                "percent",
                Query(GROWTH, "growth"),
                Query(UNEMPLOYMENT, "unemployment"),
            ),
            lines("Total value", "Of all nations, in the unit of the configuration.", "short", Query(VALUE, "value")),
        ),
        "Nations": (
            stacked(
                "Nations by state",
                "Nations by the state of their proposal.",
                "short",
                Query(total(of_run("prism_agents"), "state"), "{{state}}"),
            ),
            stacked(
                "Decisions by source",
                "Transitions a second by source.",
                "ops",
                Query(total(rate("prism_decisions_total"), "source"), "{{source}}"),
            ),
            lines(
                "Proposals",
                "Policies that nations proposed, by result, since the run began.",
                "short",
                Query(total(of_run("prism_economy_proposals_total"), "outcome"), "{{outcome}}"),
                width=24,
            ),
        ),
    },
)
