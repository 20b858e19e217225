"""The dashboard *Oracle*: its speed, its queue, its limits and its failures."""

from __future__ import annotations

from deploy.grafana.layout import Layout
from deploy.grafana.palette import BAD, WARNING, Named
from deploy.grafana.panels import Look, buckets, lines, number, stacked, state, states
from deploy.grafana.queries import Query, limit, now, of_run, quantile, quantiles, rate, share, total
from prism.palette import GREEN, VERMILION, YELLOW

LATENCY, WAIT = "prism_llm_request_duration_seconds", "prism_oracle_queue_wait_seconds"
DEADLINE = limit("prism_oracle_deadline_seconds", "deadline")
TIMEOUT = limit("prism_llm_timeout_seconds", "timeout")

_OPEN, _HALF_OPEN = (now(f"prism_oracle_breaker_state{{state={state!r}}}") for state in ("open", "half_open"))
BREAKER = f"2 * {_OPEN} + {_HALF_OPEN}"
BREAKER_STATES = {0: Named("closed", GREEN), 1: Named("half open", YELLOW), 2: Named("open", VERMILION)}

ORACLE = Layout(
    uid="prism-oracle",
    title="PRISM / Oracle",
    description="The oracle that decides ambiguous choices: its speed, its queue, its limits and its failures.",
    rows={
        "In one look": (
            state(
                "Breaker",
                "Normal: closed. Open: the server gets no calls; see PrismBreakerOpen in docs/operations.md.",
                Query(BREAKER),
                BREAKER_STATES,
            ),
            number("Calls a second", "Calls that ended a second.", "ops", Query(total(rate(f"{LATENCY}_count")))),
            number(
                "Failed calls",
                "The share of calls without a usable answer. Normal: near 0. Calls by outcome says why they fail.",
                "percentunit",
                Query(share(total(rate(f'{LATENCY}_count{{outcome!="ok"}}')), total(rate(f"{LATENCY}_count")))),
                limits=((0.05, WARNING), (0.5, BAD)),
                look=Look(decimals=1, nothing="no calls"),
            ),
            number("Latency, p95", "Of all calls, failed ones included.", "s", Query(quantile(0.95, LATENCY))),
            number(
                "Waiting",
                "Questions not yet put. Normal: level; a queue keeps the server busy.",
                "short",
                Query(now("prism_oracle_queue_depth")),
            ),
            number(
                "Outage",
                "Seconds for which questions have been held, because the server is away. Normal: 0. Nothing is lost.",
                "s",
                Query(now("prism_oracle_outage_seconds")),
                limits=((1, WARNING), (300, BAD)),
            ),
        ),
        "Latency": (
            buckets(
                "Latency of calls",
                "Calls by duration, failed ones included: one row a bucket, its upper bound on the axis.",
                "s",
                total(of_run(f"increase({LATENCY}_bucket[$__rate_interval])"), "le"),
            ),
            lines(
                "Latency",
                "Of all calls, failed ones included, against llm.timeout_s and oracle.deadline_s.",
                "s",
                *quantiles(LATENCY),
                TIMEOUT,
                DEADLINE,
                look=Look(width=24, logarithmic=True),
            ),
            stacked(
                "Calls by outcome",
                "Calls that ended a second. Every outcome except ok leads to a second call or to a fallback.",
                "ops",
                Query(total(rate(f"{LATENCY}_count"), "outcome"), "{{outcome}}"),
                {"ok": GREEN},
            ),
        ),
        "Queue": (
            lines(
                "Questions waiting",
                "Normal: level. If it grows for hours, answers will come too late.",
                "short",
                Query(now("prism_oracle_queue_depth")),
            ),
            lines(
                "Wait of questions",
                "From question to call. PrismOracleSaturated fires when p95 stays above 10 s.",
                "s",
                *quantiles(WAIT),
                DEADLINE,
                look=Look(logarithmic=True),
            ),
            lines(
                "Concurrency",
                "Calls under way, and the most that are allowed now. Normal with a queue: in flight is at the limit.",
                "short",
                Query(now("prism_llm_requests_in_flight"), "in flight"),
                limit("prism_llm_concurrency_limit", "limit"),
                look=Look(width=24),
            ),
        ),
        "Shared judgements": (
            stacked(
                "Shared judgements",
                "Answers a second that share judgements, by their part. See docs/language-models.md.",
                "ops",
                Query(total(rate("prism_oracle_shared_questions_total"), "part"), "{{part}}"),
            ),
            lines(
                "Error of sharing",
                "Divergence in bits of shared from individual judgements, by audits. See docs/language-models.md.",
                "none",
                Query(now("prism_oracle_sharing_divergence"), "divergence"),
                look=Look(width=24),
            ),
        ),
        "Failures": (
            stacked(
                "Fallbacks by reason",
                "Decisions a second that took the first option, without an answer. Reasons: docs/runs.md.",
                "ops",
                Query(total(rate("prism_fallbacks_total"), "reason"), "{{reason}}"),
            ),
            stacked(
                "Questions asked again",
                "Calls a second that failed and are made again: late answers, but no lost ones.",
                "ops",
                Query(total(rate("prism_oracle_retries_total"), "reason"), "{{reason}}"),
            ),
            lines(
                "Outage",
                "Seconds for which questions have been held, because the server is away. The clock waits as long.",
                "s",
                Query(now("prism_oracle_outage_seconds", "reason"), "{{reason}}"),
                look=Look(table=True),
            ),
            states(
                "Circuit breaker",
                "Normal: closed. Open while the server gets no calls, half open during a probe.",
                Query(BREAKER),
                BREAKER_STATES,
            ),
        ),
    },
)
