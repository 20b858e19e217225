"""The dashboard *Cost*: what the model has cost and will cost, what of it was wasted, and when the budget ends."""

from __future__ import annotations

from deploy.grafana.layout import Layout
from deploy.grafana.palette import BAD, WARNING
from deploy.grafana.panels import Look, lines, number
from deploy.grafana.queries import (
    COST,
    COST_AT_END,
    SECONDS_LEFT,
    Query,
    now,
    rate,
    share,
    total,
    trend,
)

CALLS, TOKENS = "prism_llm_calls_total", "prism_llm_tokens_total"
USD_PER_HOUR = f"3600 * {trend('prism_llm_cost_usd_total')}"
DECISIONS = now('prism_decisions_total{source="llm"}')
BUDGET_LEFT_S = share(
    f"({now('prism_llm_budget', 'cap')} - {now('prism_llm_budget_used', 'cap')})",
    trend("prism_llm_budget_used", "cap"),
)
NO_CAP = "no cap"

COST_DASHBOARD = Layout(
    uid="prism-cost",
    title="PRISM / Cost",
    description="What the model has cost and will cost, what of it was wasted, and when the budget ends. Dollars are "
    "by llm.prices, and 0 without them. All numbers are of the whole run, over all resumes.",
    rows={
        "In one look": (
            number("Spent", "US dollars so far.", "currencyUSD", Query(COST), look=Look(decimals=2)),
            number("An hour", "US dollars an hour, over the last 15 minutes.", "currencyUSD", Query(USD_PER_HOUR)),
            number(
                "At the end",
                "US dollars at the last tick, at the rate of the last 15 minutes.",
                "currencyUSD",
                Query(COST_AT_END),
                look=Look(decimals=2),
            ),
            number(
                "The budget ends",
                "When each spend cap is reached, at the rate of the last 15 minutes. Before the end of the run: "
                "PrismBudgetEndsFirst in docs/operations.md.",
                "dateTimeAsIso",
                Query(f"1000 * (time() + {BUDGET_LEFT_S})", "{{cap}}"),
                look=Look(nothing=NO_CAP),
            ),
            number(
                "Wasted calls",
                "The share of all calls whose answer was not used. Normal: a few percent. Calls by outcome on the "
                "dashboard Oracle says why.",
                "percentunit",
                Query(share(now(f'{CALLS}{{outcome!="ok"}}'), now(CALLS))),
                limits=((0.05, WARNING), (0.2, BAD)),
                look=Look(decimals=1, nothing="no calls"),
            ),
            number(
                "Prompt cache",
                "The share of all prompt tokens that the server had in its cache. 0 if it does not tell.",
                "percentunit",
                Query(share(now("prism_llm_cached_tokens_total"), now(f'{TOKENS}{{type="prompt"}}'))),
                look=Look(decimals=1, nothing="no tokens"),
            ),
        ),
        "Budget": (
            lines(
                "Budget used",
                "The used part of each spend cap. At 100% the run stops, or decides by fallback.",
                "percentunit",
                Query(share(now("prism_llm_budget_used", "cap"), now("prism_llm_budget", "cap")), "{{cap}}"),
                look=Look(nothing=NO_CAP),
            ),
            lines(
                "Time left",
                "To the last tick, and to each cap, at the rates of the last 15 minutes. Normal: the run is below.",
                "s",
                Query(SECONDS_LEFT, "run"),
                Query(BUDGET_LEFT_S, "{{cap}}"),
                look=Look(logarithmic=True),
            ),
        ),
        "Spending": (
            lines("Dollars", "US dollars so far.", "currencyUSD", Query(COST)),
            lines(
                "Dollars an hour",
                "All calls, and those whose answer was not used.",
                "currencyUSD",
                Query(f"3600 * {total(rate('prism_llm_cost_usd_total'))}", "all"),
                Query(f"3600 * {total(rate('prism_llm_wasted_cost_usd_total'))}", "wasted"),
            ),
            lines(
                "Tokens a second",
                "Read (prompt, and what of it was in the cache), written (completion), and wasted.",
                "short",
                Query(total(rate(TOKENS), "type"), "{{type}}"),
                Query(total(rate("prism_llm_cached_tokens_total")), "cached"),
                Query(total(rate("prism_llm_wasted_tokens_total")), "wasted"),
            ),
            lines(
                "Calls a second",
                "All calls, and those without a used answer.",
                "ops",
                Query(total(rate(CALLS)), "all"),
                Query(total(rate(f'{CALLS}{{outcome!="ok"}}')), "wasted"),
            ),
        ),
        "A decision": (
            lines(
                "Dollars a decision",
                "The cost so far, for each choice that the model has decided.",
                "currencyUSD",
                Query(share(COST, DECISIONS)),
            ),
            lines(
                "Calls and tokens a decision",
                "So far. Normal: a little more than one call; equal questions share one, so it may be less.",
                "short",
                Query(share(now(CALLS), DECISIONS), "calls"),
                Query(share(now(TOKENS), DECISIONS), "tokens"),
                look=Look(logarithmic=True),
            ),
        ),
    },
)
