"""The dashboard *Oracle*: its speed, its queue, its cost and its failures."""

from __future__ import annotations

from deploy.grafana.layout import Layout
from deploy.grafana.panels import buckets, lines, number, stacked, states
from deploy.grafana.queries import Query, of_run, quantiles, rate, total

LATENCY, WAIT = "prism_llm_request_duration_seconds", "prism_oracle_queue_wait_seconds"

_OPEN, _HALF_OPEN = (
    f"sum without (state) ({of_run(f'prism_oracle_breaker_state{{state={state!r}}}')})"
    for state in ("open", "half_open")
)
BREAKER = f"2 * {_OPEN} + {_HALF_OPEN}"
BREAKER_STATES = {0: ("closed", "green"), 1: ("half open", "orange"), 2: ("open", "red")}

ORACLE = Layout(
    uid="prism-oracle",
    title="PRISM / Oracle",
    description="The oracle that decides ambiguous choices: its speed, its queue, its limits and its failures.",
    rows={
        "Now": (
            number(
                "Breaker", "Open: the server gets no calls.", "none", Query(BREAKER, "breaker"), names=BREAKER_STATES
            ),
            number("Calls", "Calls that ended a second.", "ops", Query(total(rate(f"{LATENCY}_count")), "calls/s")),
            number("In flight", "Calls under way.", "short", Query(of_run("prism_llm_requests_in_flight"), "calls")),
            number(
                "Waiting", "Questions not yet put.", "short", Query(of_run("prism_oracle_queue_depth"), "questions")
            ),
            number(
                "Tokens",
                "Tokens that the model has read and written; 0 for the embedded oracle.",
                "short",
                Query(total(of_run("prism_llm_tokens_total")), "tokens"),
            ),
            number(
                "Cost",
                "US dollars in the whole run, by llm.prices; 0 without prices.",
                "currencyUSD",
                Query(total(of_run("prism_llm_cost_usd_total")), "dollars"),
            ),
        ),
        "Latency": (
            buckets(
                "Latency of calls",
                "Calls by duration, failed ones included: one row a bucket, its upper bound on the axis.",
                "s",
                total(of_run(f"increase({LATENCY}_bucket[$__rate_interval])"), "le"),
            ),
            lines("Latency", "Of all calls, failed ones included.", "s", *quantiles(LATENCY)),
            stacked(
                "Calls by outcome",
                "Calls that ended a second. Every outcome except ok leads to a second call or to a fallback.",
                "ops",
                Query(total(rate(f"{LATENCY}_count"), "outcome"), "{{outcome}}"),
            ),
        ),
        "Queue": (
            lines(
                "Questions waiting",
                "A queue keeps a server busy; if it grows for hours, answers will come too late.",
                "short",
                Query(of_run("prism_oracle_queue_depth"), "waiting"),
            ),
            lines(
                "Wait of questions",
                "From question to call. PrismOracleSaturated fires when p95 stays above 10 s.",
                "s",
                *quantiles(WAIT),
            ),
            lines(
                "Concurrency",
                "Calls under way, and the most that are allowed. Adaptive concurrency changes the limit.",
                "short",
                Query(of_run("prism_llm_requests_in_flight"), "in flight"),
                Query(of_run("prism_llm_concurrency_limit"), "limit"),
            ),
            lines(
                "Tokens and calls",
                "Tokens and calls of the model a second, counted over resumes.",
                "short",
                Query(total(rate("prism_llm_tokens_total"), "type"), "{{type}}"),
                Query(total(rate("prism_llm_calls_total")), "calls"),
            ),
        ),
        "Failures": (
            stacked(
                "Fallbacks by reason",
                "Decisions a second that took the first option, without an answer. Reasons: docs/failures.md.",
                "ops",
                Query(total(rate("prism_fallbacks_total"), "reason"), "{{reason}}"),
            ),
            lines(
                "Outage",
                "Seconds for which questions have been held, because the server is away. The clock waits as long.",
                "s",
                Query(total(of_run("prism_oracle_outage_seconds"), "reason"), "{{reason}}"),
            ),
            stacked(
                "Questions asked again",
                "Calls a second that failed and are made again: late answers, but no lost ones.",
                "ops",
                Query(total(rate("prism_oracle_retries_total"), "reason"), "{{reason}}"),
            ),
            states(
                "Circuit breaker",
                "Open while the server gets no calls, half open during a probe.",
                Query(BREAKER, "breaker"),
                BREAKER_STATES,
            ),
        ),
    },
)
