"""The five dashboards: how a run stands, its oracle, its cost, its process, and an economy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actors.core.phase import Phase
from deploy.grafana.panels import (
    AMBIGUOUS,
    BAD,
    BREAKER,
    BUDGET_LEFT_S,
    CHECKPOINT_AGE,
    COST,
    COST_AT_END,
    COST_TREND,
    FAULTS,
    NOT_THERE,
    PHASE,
    SECONDS_LEFT,
    SHARD_WORK,
    UNDECIDED,
    WARNING,
    WAS_THERE,
    board,
    buckets,
    lines,
    most,
    now,
    number,
    quantiles,
    rate,
    share,
    stacked,
    state,
    states,
)
from prism.palette import BLUE, GREEN, GREY, NATIONS, ORANGE, PEOPLE, PURPLE, SKY, SOURCES, VERMILION, YELLOW

PHASES: Mapping[Phase, str] = {
    Phase.STARTING: SKY,
    Phase.RECOVERING: PURPLE,
    Phase.RUNNING: GREEN,
    Phase.WAITING_FOR_ORACLE: YELLOW,
    Phase.WAITING_FOR_DISK: ORANGE,
    Phase.STOPPING: BLUE,
    Phase.ENDED: GREY,
}
PHASE_NAMES = {
    **{place: (phase.value.replace("_", " "), PHASES[phase]) for place, phase in enumerate(Phase, start=1)},
    NOT_THERE: ("not there", VERMILION),
}
BREAKER_STATES = {0: ("closed", GREEN), 1: ("half open", YELLOW), 2: ("open", VERMILION)}
LATENCY, CALLS, TOKENS = "prism_llm_request_duration_seconds", "prism_llm_calls_total", "prism_llm_tokens_total"
DECIDED_BY_MODEL = now('prism_decisions_total{source="llm"}')
DEADLINE = {"deadline": now("prism_oracle_deadline_seconds")}

OVERVIEW = board(
    "overview",
    "Run overview",
    "How a run stands in one look, its agents, and who decides for them.",
    {
        "In one look": (
            state(
                "Is it running? | none | The phase. Not there: on its machine, prism runs tells whether it has ended "
                "or was killed. Waiting: see PrismWaitingForOracle and PrismWaitingForDisk in docs/operations.md.",
                f"{PHASE} or {NOT_THERE} * ({WAS_THERE})",
                PHASE_NAMES,
            ),
            number(
                "How far? | percentunit | Ticks committed, of all that are planned. Empty while a resumed run does "
                "its recorded ticks again.",
                share(now("prism_ticks_total"), now("prism_ticks_planned")),
                width=3,
            ),
            number(
                "Ticks | locale | Ticks committed, and ticks of the whole run.",
                {"done": now("prism_ticks_total"), "of": now("prism_ticks_planned")},
            ),
            number(
                "When will it end? | dateTimeAsIso | At the speed of the last 15 minutes. Nothing while no tick is "
                "committed.",
                f"1000 * (time() + {SECONDS_LEFT})",
            ),
            number(
                "What will it cost? | currencyUSD | US dollars at the last tick, at the rate of the last 15 minutes; "
                "0 without llm.prices. More: dashboard Cost.",
                COST_AT_END,
                width=3,
            ),
            number(
                "Is it sound? Fallbacks | percentunit | The share of all ambiguous choices of the run that took a "
                "fallback, so that nobody decided them. Normal: 0. What to do: PrismFallbackShareHigh in "
                "docs/operations.md; prism fork asks again.",
                share(now(UNDECIDED), now(AMBIGUOUS)),
                ((0.001, WARNING), (0.05, BAD)),
                width=3,
                nothing="no choices",
            ),
            number(
                "Is it sound? Faults | short | Guards that raised, agents in quarantine, messages lost, agents "
                "missing in the states. Normal: 0. Dashboard Runtime tells which; prism verify tells whether the "
                "files agree with each other.",
                FAULTS,
                ((1, BAD),),
                width=3,
            ),
        ),
        "Pace": (
            states(
                "Phase | none | What the run does, over time. Normal: running from the first tick to the last.",
                PHASE,
                PHASE_NAMES,
            ),
            lines(
                "Ticks a second | short | Normal: level. Falls to nothing while the clock waits for late answers or "
                "for the disk.",
                rate("prism_ticks_total"),
            ),
            lines(
                "Tick duration | s | Waiting for late answers included. Near the deadline, the server is too slow "
                "for this pace.",
                quantiles("prism_tick_duration_seconds"),
                DEADLINE,
                logarithmic=True,
            ),
        ),
        "Agents": (
            stacked(
                "Agents by state | short | Normal: the sum is a level line, which is the population; "
                "PrismPopulationNotConserved says when not.",
                now("prism_agents", "state"),
                "state",
                PEOPLE,
            ),
            lines(
                "The ten most frequent transitions | ops | Changes of state a second, of the ten pairs of states "
                "with the most of them in the time shown.",
                {"{{from_state}} to {{to_state}}": most(10, "prism_agent_transitions_total", "from_state", "to_state")},
                width=24,
                table=True,
            ),
        ),
        "Who decides": (
            stacked(
                "Model against fallback | ops | Ambiguous choices a second, by who decided them; what rules decide "
                "is left out. Normal: no fallbacks.",
                rate(AMBIGUOUS, "source"),
                "source",
                {source: color for source, color in SOURCES.items() if source != "rule"},
            ),
            lines(
                "Fallback share | percentunit | Of the ambiguous choices. Above 10% for ten minutes "
                "PrismFallbackShareHigh fires; the run stops above its limit, counted over its latest 1,000 choices.",
                share(rate(UNDECIDED), rate(AMBIGUOUS)),
                {"limit": now("prism_fallback_share_limit")},
            ),
            lines(
                "Ambiguous share | percentunit | Of all transitions: how much of the run is left to the oracle. "
                "Rules decide the rest.",
                share(rate(AMBIGUOUS), rate("prism_decisions_total")),
            ),
        ),
        "Social": (
            lines(
                "Posts | ops | Posts a second: original ones, replies and reshares. Social runs only.",
                {"{{kind}}": rate("prism_posts_total", "kind")},
            ),
            lines("Likes | ops | Likes a second. Social runs only.", rate("prism_likes_total")),
        ),
    },
)

ORACLE = board(
    "oracle",
    "Oracle",
    "The oracle that decides ambiguous choices: its speed, its queue, its limits and its failures.",
    {
        "In one look": (
            state(
                "Breaker | none | Normal: closed. Open: the server gets no calls; see PrismBreakerOpen in "
                "docs/operations.md.",
                BREAKER,
                BREAKER_STATES,
            ),
            number("Calls a second | ops | Calls that ended a second.", rate(f"{LATENCY}_count")),
            number(
                "Failed calls | percentunit | The share of calls without a usable answer. Normal: near 0. Calls by "
                "outcome says why they fail.",
                share(rate(f'{LATENCY}_count{{outcome!="ok"}}'), rate(f"{LATENCY}_count")),
                ((0.05, WARNING), (0.5, BAD)),
                nothing="no calls",
            ),
            number("Latency, p95 | s | Of all calls, failed ones included.", quantiles(LATENCY)["p95"], width=6),
            number(
                "Outage | s | Seconds for which questions have been held, because the server is away. Normal: 0. "
                "Nothing is lost.",
                now("prism_oracle_outage_seconds"),
                ((1, WARNING), (300, BAD)),
                width=6,
            ),
        ),
        "Latency": (
            buckets(
                "Latency of calls | short | Calls by duration, failed ones included: one row a bucket, its upper bound "
                "on the axis.",
                now(f"increase({LATENCY}_bucket[$__rate_interval])", "le"),
            ),
            lines(
                "Latency | s | Of all calls, failed ones included, against llm.timeout_s and oracle.deadline_s.",
                quantiles(LATENCY),
                {"timeout": now("prism_llm_timeout_seconds"), **DEADLINE},
                width=24,
                logarithmic=True,
            ),
            stacked(
                "Calls by outcome | ops | Calls that ended a second. Every outcome except ok leads to a second call "
                "or to a fallback.",
                rate(f"{LATENCY}_count", "outcome"),
                "outcome",
                {"ok": GREEN},
            ),
        ),
        "Queue": (
            lines(
                "Questions waiting | short | Normal: level; a queue keeps the server busy. If it grows for hours, "
                "answers will come too late.",
                now("prism_oracle_queue_depth"),
            ),
            lines(
                "Wait of questions | s | From question to call. PrismOracleSaturated fires when p95 stays above 10 s.",
                quantiles("prism_oracle_queue_wait_seconds"),
                DEADLINE,
                logarithmic=True,
            ),
            lines(
                "Concurrency | short | Calls under way, and the most that are allowed now. Normal with a queue: in "
                "flight is at the limit.",
                {"in flight": now("prism_llm_requests_in_flight")},
                {"limit": now("prism_llm_concurrency_limit")},
                width=24,
            ),
        ),
        "Shared judgements": (
            stacked(
                "Shared judgements | ops | Answers a second that share judgements, by their part. See "
                "docs/language-models.md.",
                rate("prism_oracle_shared_questions_total", "part"),
                "part",
            ),
            lines(
                "Error of sharing | none | Divergence in bits of shared from individual judgements, by audits. See "
                "docs/language-models.md.",
                now("prism_oracle_sharing_divergence"),
                width=24,
            ),
        ),
        "Failures": (
            stacked(
                "Fallbacks by reason | ops | Decisions a second that took the first option, without an answer. "
                "Reasons: docs/runs.md.",
                rate("prism_fallbacks_total", "reason"),
                "reason",
            ),
            stacked(
                "Questions asked again | ops | Calls a second that failed and are made again: late answers, but no "
                "lost ones.",
                rate("prism_oracle_retries_total", "reason"),
                "reason",
            ),
        ),
    },
)

COSTS = board(
    "cost",
    "Cost",
    "What the model has cost and will cost, what of it was wasted, and when the budget ends. Dollars are by "
    "llm.prices, and 0 without them. All numbers are of the whole run, over all resumes.",
    {
        "In one look": (
            number("Spent | currencyUSD | US dollars so far.", COST),
            number("An hour | currencyUSD | US dollars an hour, over the last 15 minutes.", f"3600 * {COST_TREND}"),
            number(
                "At the end | currencyUSD | US dollars at the last tick, at the rate of the last 15 minutes.",
                COST_AT_END,
            ),
            number(
                "The budget ends | dateTimeAsIso | When each spend cap is reached, at the rate of the last 15 "
                "minutes. Before the end of the run: PrismBudgetEndsFirst in docs/operations.md.",
                {"{{cap}}": f"1000 * (time() + {BUDGET_LEFT_S})"},
                nothing="no cap",
            ),
            number(
                "Wasted calls | percentunit | The share of all calls whose answer was not used. Normal: a few "
                "percent. Calls by outcome on the dashboard Oracle says why.",
                share(now(f'{CALLS}{{outcome!="ok"}}'), now(CALLS)),
                ((0.05, WARNING), (0.2, BAD)),
                nothing="no calls",
            ),
            number(
                "Prompt cache | percentunit | The share of all prompt tokens that the server had in its cache. 0 if "
                "it does not tell.",
                share(now("prism_llm_cached_tokens_total"), now(f'{TOKENS}{{type="prompt"}}')),
                nothing="no tokens",
            ),
        ),
        "Budget": (
            lines(
                "Budget used | percentunit | The used part of each spend cap. At 100% the run stops, or decides by "
                "fallback.",
                {"{{cap}}": share(now("prism_llm_budget_used", "cap"), now("prism_llm_budget", "cap"))},
                nothing="no cap",
            ),
            lines(
                "Time left | s | To the last tick, and to each cap, at the rates of the last 15 minutes. Normal: the "
                "run is below.",
                {"run": SECONDS_LEFT, "{{cap}}": BUDGET_LEFT_S},
                logarithmic=True,
            ),
        ),
        "Spending": (
            lines(
                "Dollars an hour | currencyUSD | All calls, and those whose answer was not used.",
                {
                    "all": f"3600 * {rate('prism_llm_cost_usd_total')}",
                    "wasted": f"3600 * {rate('prism_llm_wasted_cost_usd_total')}",
                },
            ),
            lines(
                "Tokens a second | short | Read (prompt, and what of it was in the cache), written (completion), and "
                "wasted.",
                {
                    "{{type}}": rate(TOKENS, "type"),
                    "cached": rate("prism_llm_cached_tokens_total"),
                    "wasted": rate("prism_llm_wasted_tokens_total"),
                },
            ),
            lines(
                "Dollars a decision | currencyUSD | The cost so far, for each choice that the model has decided.",
                share(COST, DECIDED_BY_MODEL),
            ),
            lines(
                "Calls and tokens a decision | short | So far. Normal: a little more than one call; equal questions "
                "share one, so it may be less.",
                {"calls": share(now(CALLS), DECIDED_BY_MODEL), "tokens": share(now(TOKENS), DECIDED_BY_MODEL)},
                logarithmic=True,
            ),
        ),
    },
)

RUNTIME = board(
    "runtime",
    "Runtime",
    "The process of a run: its queues, its resources and its files.",
    {
        "In one look": (
            number("CPU | short | Cores busy. At 1, the run is the bottleneck.", rate("process_cpu_seconds_total")),
            number(
                "Loop lag | s | The longest delay of the event loop in the last minute. Above 1 s: "
                "PrismEventLoopLagging.",
                now("prism_event_loop_lag_seconds_max"),
                ((0.25, WARNING), (1.0, BAD)),
                width=5,
            ),
            number(
                "Quarantined | short | Agents that crashed too often and take no more turns. Normal: 0; log.jsonl "
                "has each crash.",
                now("prism_agents_quarantined"),
                ((1, BAD),),
                width=5,
            ),
            number("Journal | bytes | Bytes on disk.", now("prism_journal_bytes_total"), width=5),
            number(
                "Checkpoint age | s | The time that a resume after a crash would have to run again. Empty before the "
                "first checkpoint.",
                CHECKPOINT_AGE,
                width=5,
            ),
        ),
        "Messages": (
            lines(
                "Messages waiting | short | By mailbox; those of agents are added up. A sample may fall anywhere "
                "within a tick.",
                {"{{mailbox}}": now("prism_mailbox_messages", "mailbox")},
            ),
            lines(
                "Messages | ops | A second, by kind. A refused message is sent again by its sender.",
                {"{{kind}} {{outcome}}": rate("prism_messages_total", "kind", "outcome")},
                table=True,
            ),
            lines(
                "Crashes | short | By kind of actor and reaction, since the run began; and guards that raised. "
                "Normal: 0.",
                {
                    "{{kind}} {{reason}}": now("prism_actor_restarts_total", "kind", "reason"),
                    "guard errors": now("prism_guard_errors_total"),
                },
                width=24,
                table=True,
            ),
        ),
        "Shards": (
            lines(
                "Work of shards | percentunit | Share of the time in which each shard works; only with run.shards. "
                "See docs/scale.md.",
                {"{{shard}}": SHARD_WORK},
            ),
            lines(
                "Wait for shards | percentunit | Share of the time in which the engine waits for the slowest shard; "
                "only with run.shards.",
                rate("prism_shard_wait_seconds_total"),
            ),
            lines(
                "Exchange with shards | Bps | Bytes a second, by direction; only with run.shards.",
                {"{{direction}}": rate("prism_shard_bytes_total", "direction")},
                width=24,
            ),
        ),
        "Process and disk": (
            lines(
                "Memory | bytes | Resident. Rises while a run fills its tables, then stays; PrismMemoryGrowing looks "
                "at six hours of it.",
                now("process_resident_memory_bytes"),
            ),
            lines(
                "File descriptors and tasks | short | Open descriptors, and the event loop's tasks besides agents. "
                "Calls under way raise both.",
                {"descriptors": now("process_open_fds"), "tasks": now("(prism_event_loop_tasks - prism_population)")},
            ),
            lines(
                "Ticks committed and on disk | short | A second. If the first two differ for long, the journal does "
                "not advance. A resume does ticks again.",
                {
                    "committed": rate("prism_tick_duration_seconds_count"),
                    "on disk": rate("prism_journal_ticks_total"),
                    "done again": rate("prism_ticks_replayed_total"),
                },
            ),
            lines(
                "Commit duration | s | Writing and syncing the frames of a tick. PrismDiskSlow fires when p95 stays "
                "above 1 s.",
                quantiles("prism_commit_duration_seconds"),
                logarithmic=True,
            ),
        ),
    },
)

RATE, INFLATION, GROWTH, UNEMPLOYMENT, VALUE = (
    now(f"prism_economy_{name}") for name in ("interest_rate", "inflation", "gdp_growth", "unemployment", "total_value")
)
ECONOMY = board(
    "economy",
    "Economy",
    "Nations that set one interest rate together. Economy runs only.",
    {
        "Now": (
            number("Total value | short | Of all nations, in the unit of the configuration.", VALUE, width=12),
            number("Quarters | locale | Rounds committed.", now("prism_round"), width=12),
        ),
        "Policy": (
            lines(
                "Interest rate and inflation | percent | The Taylor principle: the rate should rise by more than "
                "inflation does.",
                {"interest rate": RATE, "inflation": INFLATION},
            ),
            lines(
                "Growth and unemployment | percent | They mirror each other, with a delay: Okun's law.",
                {"growth": GROWTH, "unemployment": UNEMPLOYMENT},
            ),
        ),
        "Nations": (
            stacked(
                "Nations by state | short | Nations by the state of their proposal. Normal: the sum is the number of "
                "nations.",
                now("prism_agents", "state"),
                "state",
                NATIONS,
            ),
            stacked(
                "Decisions by source | ops | Transitions a second by source. Normal: no fallbacks.",
                rate("prism_decisions_total", "source"),
                "source",
                SOURCES,
            ),
            lines(
                "Proposals | short | Policies that nations proposed, by result, since the run began.",
                {"{{outcome}}": now("prism_economy_proposals_total", "outcome")},
                width=24,
            ),
        ),
    },
)

BOARDS: tuple[Mapping[str, Any], ...] = (OVERVIEW, ORACLE, COSTS, RUNTIME, ECONOMY)
